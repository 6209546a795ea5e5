//! Blocking Kubernetes API client.

#[cfg_attr(not(test), expect(dead_code, reason = "the client, which asks for headers, is a part of its own"))]
mod auth;
#[cfg_attr(not(test), expect(dead_code, reason = "the client, which is built from it, is a part of its own"))]
mod config;
mod secret;
mod tls;

pub use config::{Config, Environment, Kubeconfig, KubeconfigOptions};
