//! The integration tests of the crate, one binary.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod guarantees;
mod handlers;
mod lifecycle;
mod metrics;
mod reflector;
mod selecting;
mod wait;
