//! Integration tests.

mod api;
mod cancel;
mod client;
mod discovery;
mod server;
mod sink;
