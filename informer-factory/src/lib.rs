//! Shared Kubernetes informers for programs without an async runtime: the façade of the workspace.
//!
//! One [`SharedInformerFactory`] a program; ask it for the kinds you need, start it, wait until the caches are full,
//! then read listers and react in handlers. Whoever asks for one kind twice gets the same informer: one list, one
//! watch, two threads.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use informer_factory::{Client, Event, Result, SharedInformerFactory};
//! use k8s_openapi::api::core::v1::Pod;
//!
//! fn main() -> Result<()> {
//!     let factory = SharedInformerFactory::builder(Client::try_default()?).build();
//!     let pods = factory.informer::<Pod>();
//!     pods.on_event(|event| match event {
//!         Event::Added { object, .. } => println!("new: {}", object.metadata.name.as_deref().unwrap_or_default()),
//!         Event::Deleted { .. } => println!("gone: {}", event.key()),
//!         _ => {}
//!     })?;
//!     factory.start()?;
//!     factory.wait_for_cache_sync(Duration::from_secs(30))?;
//!     println!("{} pods in kube-system", pods.lister().in_namespace("kube-system").list().len());
//!     factory.shutdown()
//! }
//! ```
//!
//! # Map
//! [`factory`](SharedInformerFactory) has the factory, `options` what may be chosen per kind, `registry` who is
//! registered under which key, [`multi`](MultiInformer) several namespaces as one, `waiting` waits for several
//! informers at once. Everything else a program needs is re-exported from `informer-core` (informers,
//! handlers, stores, indexes) and `informer-http` (client, configuration, `Api`).

mod factory;
mod multi;
mod options;
mod registry;
mod waiting;

pub use factory::{FactoryBuilder, SharedInformerFactory};
pub use informer_core::{
    ChangeKind, Clock, Counters, DecodeOptions, Delivery, Error, ErrorKind, Event, EventHandler,
    HandlerOptions, HandlerStatus, Index, IndexOf, KeyRef, Lazy, ListWatch, Lister, MetaView, Metrics,
    NamespaceLister, NextStep, Object, ObjectKey, Phase, Registration, Report, Representation, Result,
    Selector, SharedInformer, Snapshot, Stage, Status, Stop, Store, SystemClock, WeakInformer,
};
pub use informer_core::{OnStop, kube_core, metrics, sync};
pub use informer_http::{
    Api, Client, Config, Environment, HttpListWatch, Kubeconfig, KubeconfigOptions, Recording,
    RecordingOptions, ReplaySource, ServedResource, Watch, WatchEvent, find_resource,
};
pub use multi::{MultiInformer, MultiLister, MultiRegistration};
pub use options::InformerOptions;
