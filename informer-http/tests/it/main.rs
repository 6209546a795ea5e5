//! The integration tests of the crate, one binary.
#![expect(clippy::unwrap_used, reason = "in a test, to panic is to fail")]

mod api;
mod cancel;
mod client;
mod discovery;
mod in_cluster;
mod kubeconfig;
mod server;
mod sink;
mod tls_config;
