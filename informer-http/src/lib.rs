//! Blocking Kubernetes API client.

mod api;
mod client;
mod decode;
mod discovery;
mod event;
mod known;
mod list;
mod list_watch;
mod path;
mod status;
mod transport;

pub use api::Api;
pub use client::Client;
pub use discovery::{ServedResource, find_resource};
pub use list_watch::HttpListWatch;

#[cfg(test)]
mod tests;
