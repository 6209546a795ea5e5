//! Tools for testing informers, and programs that use them, without sleeping and without a cluster.
//!
//! A test takes three things into its own hands: the server, the time and the moment. Here the source is a
//! [`FakeSource`], and the moment is when its watch has told everything:
//!
//! ```
//! use informer_core::{ListWatch, Stop, WatchRequest};
//! use informer_testkit::{FakeSource, TestObject, Transcript, within};
//! use std::time::Duration;
//!
//! let source = FakeSource::new();
//! source.create(TestObject::new("default/a"));
//!
//! // Something that reads the source on a thread of its own: here just a sink that writes down what it is told.
//! let transcript = Transcript::new();
//! let stop = Stop::new();
//! let (theirs, mut sink, until) = (source.clone(), transcript.clone(), stop.clone());
//! let reader = informer_core::sync::spawn("reader", move || {
//!     let request = WatchRequest {
//!         resource_version: "1".to_owned(),
//!         initial_events: false,
//!         timeout: Duration::ZERO,
//!         idle: Duration::ZERO,
//!     };
//!     assert!(theirs.watch(&request, &until, &mut sink).unwrap_err().is_stopped());
//! })
//! .unwrap();
//!
//! source.wait_for_idle_watches(1);
//! source.update(TestObject::new("default/a").value(7));
//! source.delete("default/a");
//! source.wait_for_idle_watches(1);
//! assert_eq!(transcript.text(), "opened\nMODIFIED default/a@2\nDELETED default/a@3");
//! assert_eq!(source.trace(), "WATCH rv=1");
//!
//! stop.set();
//! within("the reader ends", move || reader.join().unwrap());
//! ```
//!
//! # What is here
//!
//! | in place of | there is | to hold in the hand |
//! |---|---|---|
//! | an API server | [`ApiServer`] | a Kubernetes API server in the process, for any client |
//! | its source | [`FakeSource`] | objects, versions, history, faults; no bytes |
//! | an HTTP server | [`ScriptedServer`] with a [`script`] | every byte, every close |
//! | the clock | [`ManualClock`] | when alarms ring |
//! | a handler | [`Recorder`] | what it is told, when it blocks or panics |
//! | a reflector | [`Transcript`] | what a list or a watch tells |
//! | an informer | [`Oracle`] | what the events must be |
//! | a sleep | [`Probe`], [`Gate`], every `wait_…` | the moment |
//! | a leak detector | [`ThreadMark`], [`alone`] | threads and sockets that are left |
//!
//! # How tests wait
//!
//! Every wait is woken by what it waits for and has a net of 20 seconds of *real* time under it ([`Deadline`]). The
//! net turns a hang into a failure that names what was waited for; a test that passes never touches it.
//! [`within`] puts the same net under a call that blocks by itself.

mod api_server;
mod clock;
mod deadline;
mod gate;
mod http;
mod object;
mod oracle;
mod probe;
mod record;
pub mod script;
mod server;
mod source;
mod threads;
mod transcript;

#[cfg(any(test, feature = "fuzz-internals"))]
#[doc(hidden)]
pub use api_server::fuzz;
pub use api_server::{
    ApiServer, ApiServerBuilder, Calls, Ending, Fault, Injected, Phase, ServedRequest, Snapshot,
};
pub use clock::ManualClock;
pub use deadline::{Deadline, within, within_limit};
pub use gate::{Gate, Pass};
pub use http::{Request, Verb};
pub use object::{TestObject, Versioned, config_map};
pub use oracle::{Listed, Oracle};
pub use probe::Probe;
pub use record::{Record, RecordKind, Recorder, StateId, replay, states};
pub use server::{ClosedBy, ScriptedServer};
pub use source::{
    Backup, FakeSource, Legible, ListFault, SourceRequest, Streaming, WatchFault, World, status_error,
};
pub use threads::{ThreadMark, alone, open_sockets, thread_names};
pub use transcript::Transcript;

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
