//! Blocking Kubernetes API client.

mod client;
mod decode;
mod event;
mod list;
mod list_watch;
mod path;
mod status;
mod transport;

pub use client::Client;
pub use list_watch::HttpListWatch;
