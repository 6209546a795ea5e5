//! The integration tests of the crate, one binary.
#![expect(clippy::unwrap_used, reason = "in a test, to panic is to fail")]

mod api;
mod bench;
mod cancel;
mod client;
mod cut;
mod discovery;
mod fault;
mod gzip;
mod hygiene;
mod in_cluster;
mod kubeconfig;
mod recording;
mod stream;
mod support;
mod tls_config;
