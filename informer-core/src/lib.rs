//! Kubernetes informer machinery for programs without an async runtime.

pub mod sync;
pub mod time;

mod error;
mod event;
mod handler;
mod json;
mod key;
mod lazy;
mod list_watch;
mod meta;
mod representation;
mod stop;
pub mod version;

pub use error::{Error, ErrorKind, Result, Stage, kind_of_code};
pub use event::Event;
pub use handler::{EventHandler, Filter};
pub use json::decode_error;
pub use key::{KeyRef, ObjectKey};
pub use kube_core;
pub use lazy::{Lazy, OwnerView};
pub use list_watch::{
    BadObject, ChangeKind, Flow, ListEnd, ListRequest, ListSink, ListWatch, WatchEnd, WatchRequest, WatchSink,
};
pub use meta::{Labels, MetaView, Object};
pub use representation::{DecodeOptions, Representation};
pub use stop::{OnStop, Stop};
pub use time::{Clock, SystemClock};
