//! Test tools.
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
