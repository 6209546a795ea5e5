//! Kubernetes informer machinery for programs without an async runtime.

pub mod sync;
pub mod time;

pub mod backoff;
mod contain;
mod error;
mod event;
#[cfg(test)]
mod fixture;
mod handler;
mod informer;
mod json;
mod key;
mod lazy;
mod list_watch;
mod lister;
mod meta;
mod queue;
mod reflector;
mod representation;
mod stop;
mod store;
pub mod version;

pub use error::{Error, ErrorKind, Result, Stage, kind_of_code};
pub use event::Event;
pub use handler::{EventHandler, Filter};
pub use informer::{
    AnyInformer, Counters, Delivery, HandlerOptions, HandlerStatus, InformerBuilder, LastError, Registration,
    SharedInformer, Status, WeakInformer,
};
pub use json::decode_error;
pub use key::{KeyRef, ObjectKey};
pub use kube_core;
pub use lazy::{Lazy, OwnerView};
pub use list_watch::{
    BadObject, ChangeKind, Flow, ListEnd, ListRequest, ListSink, ListWatch, WatchEnd, WatchRequest, WatchSink,
};
pub use lister::{Lister, NamespaceLister};
pub use meta::{Labels, MetaView, Object};
pub use reflector::{Phase, Report};
pub use representation::{DecodeOptions, Representation};
pub use stop::{OnStop, Stop};
pub use store::{Index, IndexInstance, IndexOf, Snapshot, Store};
pub use time::{Clock, SystemClock};
