//! The integration tests of the crate, one binary.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod chaos;
mod guarantees;
mod handlers;
mod leaks;
mod lifecycle;
mod lister;
mod logged;
mod metrics;
mod panics;
mod queue;
mod reflector;
mod selecting;
mod stages;
mod summary;
mod support;
mod telling;
mod wait;
