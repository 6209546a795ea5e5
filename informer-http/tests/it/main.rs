//! Integration tests.

#![expect(clippy::unwrap_used, reason = "in a test, to panic is to fail")]

mod api;
mod cancel;
mod client;
mod discovery;
mod server;
mod sink;
