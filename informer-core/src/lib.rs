//! Kubernetes informer machinery for programs without an async runtime.
//!
//! An informer keeps a store equal to what an API server lists and watches, and tells handlers of every change. This
//! crate is the machinery, on plain threads and without any I/O: whatever lists and watches is behind [`ListWatch`].
//! `informer-http` implements it for an API server, `informer-testkit` in memory; `informer-factory` is the crate
//! that a program takes.
//!
//! ```
//! use std::time::Duration;
//!
//! use informer_core::{Event, Index, SharedInformer};
//! use informer_testkit::{FakeSource, TestObject};
//!
//! fn main() -> informer_core::Result<()> {
//!     let source = FakeSource::new(); // in a program: informer_http::HttpListWatch
//!     source.create(TestObject::new("default/web-0").label("app", "web"));
//!
//!     let by_app = Index::new("by-app", |object: &TestObject| object.labels.get("app").cloned());
//!     let informer = SharedInformer::builder(source).index(&by_app).build();
//!     let printer = informer.on_event(|event| match event {
//!         Event::Added { object, .. } => println!("new: {object}"),
//!         Event::Updated { old, new } => println!("changed: {old} to {new}"),
//!         Event::Deleted { object, .. } => println!("gone: {object}"),
//!         _ => {}
//!     })?;
//!     informer.start()?;
//!     printer.wait_synced(Duration::from_secs(30))?; // the handler has been told everything there is
//!
//!     assert_eq!(informer.lister().in_namespace("default").get("web-0")?.value, 0);
//!     assert_eq!(by_app.get(&informer.store(), "web")?.len(), 1);
//!     informer.stop();
//!     informer.join()
//! }
//! ```
//!
//! # The way of an event
//! ```text
//!             reader thread                            pop thread
//!  ListWatch ─→ Reflector ═══ DeltaFifo ═══→ apply ─→ Store (one write section a batch)
//!   list, watch   what to ask   in order of           └→ handlers, under no lock
//!                 for, and when arrival
//! ```
//! Two threads an informer; one more for each handler that asks for its own or holds the pop thread for over 250 ms
//! while something waits. What is promised to handlers and readers is numbered in the documentation of
//! [`SharedInformer`].
//!
//! # Concepts
//! - [`Object`] is what can be cached: every `kube_core::Resource`, and [`Lazy`] of one, which keeps the body as JSON.
//!   [`Representation`] says how it is decoded.
//! - [`SharedInformer`] is one reflector, one store and any number of handlers. [`Store`], [`Lister`] and [`Index`] read
//!   it from any thread, without the network and without waiting for handlers.
//! - [`EventHandler`] or a closure is told of changes as [`Event`]s; its [`Registration`] tells whether it has synced
//!   and removes it. [`HandlerOptions`] choose its thread and its resync.
//! - [`Stop`] ends every wait; [`Clock`] is where time comes from; both can be a test's.
//! - [`Error`] is the one error type of the workspace: state machines branch on its [`ErrorKind`], and its [`Stage`]
//!   names what failed.
//! - [`Status`] is an informer seen from outside, [`Metrics`] the same told as it happens, by client-go's names.
//!
//! # Map
//! | modules | |
//! |---|---|
//! | [`sync`], [`time`], `stop` | locks, threads, clocks, the one signal |
//! | `error`, `key`, `meta`, `event`, `handler`, `list_watch` | the vocabulary |
//! | `representation`, `lazy`, `json` | objects from JSON |
//! | `reflector`, `backoff`, [`version`] | what to ask for, and when |
//! | `queue` | what was learnt and not yet applied |
//! | `store`, `selector`, `lister` | what is known, and which of it |
//! | `informer` | all of it together, and who is told what |
//! | [`metrics`] | what is counted and measured |
//! | `contain` | user code with a net under it |
//!
//! # Logs
//! By the [`log`] crate. Targets and levels are part of what this crate promises; texts are not. No object's content
//! and no secret is ever logged.
//!
//! | target | error | warn | info | debug |
//! |---|---|---|---|---|
//! | `informer` | a thread died of user code; the informer has stopped; the metrics panicked, once | a thread outlives a dropped informer by 5 s | | |
//! | `informer::reflector` | the error hook panicked | the first failure in a row; an object that does not decode; a version that went back | the first complete list; works again after more than one failure | further failures; an expired version, a silent connection |
//! | `informer::handler` | a handler or a destructor of an object panicked; no thread for a handler that wants its own, which is removed | no thread for a slow handler | a slow handler gets its own thread | |
//! | `informer::store` | the error hook panicked | an index function failed on an object | | |
//! | `informer::watchdog` | no thread for the watchdog | | | |
//! | `informer::http` | | a token file cannot be read | it can be read again | each request with its status; repeats; addresses that do not answer; watches that break off; bookmarks without a version; discovery that fails; system roots |
//! | `informer::factory` | | | | a factory was dropped without waiting for every thread |
//!
//! Nothing is logged above `debug` for an event, but for objects that do not decode, handlers that panic and index
//! functions that fail.

pub mod metrics;
pub mod sync;
pub mod time;

mod backoff;
#[cfg(feature = "bench-internals")]
#[doc(hidden)]
pub mod bench;
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
#[cfg(test)]
#[cfg(any(informer_shuttle, informer_loom))]
mod models;
mod queue;
mod reflector;
mod representation;
mod selector;
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
pub use metrics::Metrics;
pub use reflector::{NextStep, Phase, Report};
pub use representation::{DecodeOptions, Representation};
pub use selector::Selector;
pub use stop::{OnStop, Stop};
pub use store::{Index, IndexInstance, IndexOf, Snapshot, Store};
pub use time::{Clock, SystemClock};
