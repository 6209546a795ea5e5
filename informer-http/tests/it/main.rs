//! Integration tests.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and so do its helpers")]

mod in_cluster;
mod kubeconfig;
mod tls_config;
