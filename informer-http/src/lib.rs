//! Blocking Kubernetes API client: list, watch, get, create, patch, delete, without an async runtime.
//!
//! ```no_run
//! use informer_http::{Api, Client};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use informer_core::kube_core::params::ListParams;
//!
//! fn main() -> informer_core::Result<()> {
//!     let client = Client::try_default()?;
//!     let maps = Api::<ConfigMap>::namespaced(&client, "default");
//!     for map in maps.list(&ListParams::default())? {
//!         println!("{}", map.metadata.name.unwrap_or_default());
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # Map
//! `config` (kubeconfig, in-cluster, proxy) and `auth`, `tls` say whom to talk to and as whom; `transport` is HTTP by
//! ureq over a connector chain of our own, which a stop can end in every state; `client` sends one request;
//! `path`, `status` are the pure halves of it; `frame`, `list`, `event`, `item` decode; [`HttpListWatch`] is the
//! source of an informer, `recording` keeps what it reads and plays it again; [`Api`] the client of single requests, [`Watch`] the changes after a version, [`find_resource`] kubectl's way to name a resource.

mod api;
mod auth;
mod bounded;
mod buffer;
mod client;
mod config;
mod decode;
mod discovery;
mod document;
mod event;
mod frame;
#[cfg(any(test, feature = "fuzz-internals"))]
#[doc(hidden)]
pub mod fuzz;
mod item;
mod known;
mod list;
mod list_watch;
mod path;
mod patience;
mod recording;
mod scan;
mod secret;
mod status;
mod text;
mod tls;
mod transport;
mod watch;

pub use api::Api;
pub use client::Client;
pub use config::{Config, Environment, Kubeconfig, KubeconfigOptions};
pub use discovery::{ServedResource, find_resource};
pub use list_watch::HttpListWatch;
pub use recording::{Recording, RecordingOptions, ReplaySource};
pub use watch::{Watch, WatchEvent};

#[cfg(test)]
mod decode_tests;
#[cfg(test)]
mod tests;
