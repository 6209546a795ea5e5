//! Integration tests.

mod in_cluster;
mod kubeconfig;
mod tls_config;
