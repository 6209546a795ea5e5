//! The reflector: lists and watches a source and tells a [`Target`] what it learns (client-go's `Reflector`).
//!
//! [`machine`] decides, [`run`] carries out, [`sink`] takes in what the source reads. The reflector knows neither
//! queue nor store nor handlers; [`Target`] is all it sees of them.

mod machine;
mod report;
mod run;
mod sink;

use std::fmt;
use std::sync::Arc;

use crate::key::{KeyRef, ObjectKey};

pub(crate) use machine::Settings;
pub(crate) use report::{Failure, Then};
pub use report::{NextStep, Report};
pub(crate) use run::Reflector;
pub(crate) use sink::Transform;

/// A complete list, read to its end.
pub(crate) struct Listed<T> {
    /// The objects, in list order, transformed.
    pub(crate) items: Vec<Arc<T>>,
    /// Objects that cannot be shown: key, UID, version.
    pub(crate) unreadable: Vec<(ObjectKey, String, String)>,
    /// Whether every key is known.
    pub(crate) complete: bool,
    /// The list's version.
    pub(crate) version: String,
    /// Whether it lowered the version.
    pub(crate) lowered: bool,
    /// Whether it is the first one.
    pub(crate) initial: bool,
}

/// Where a reflector puts what it learns. `version` is always the version to resume from after the call.
pub(crate) trait Target<T>: Send {
    /// The stored object, if it is in exactly this state.
    fn have(&self, key: KeyRef<'_>, uid: &str, resource_version: &str) -> Option<Arc<T>>;
    /// Whether anything is stored.
    fn may_have(&self) -> bool;
    /// A complete list.
    fn replace(&mut self, list: Listed<T>);
    /// ADDED or MODIFIED.
    fn upsert(&mut self, key: ObjectKey, object: Arc<T>, version: &str);
    /// DELETED, with the final state.
    fn delete(&mut self, key: ObjectKey, object: Arc<T>, version: &str);
    /// DELETED, with a body that cannot be decoded.
    fn delete_unseen(&mut self, key: ObjectKey, uid: String, version: &str);
    /// ADDED or MODIFIED, with a body that cannot be decoded.
    fn unreadable(&mut self, key: ObjectKey, uid: String, resource_version: String, version: &str);
    /// A bookmark.
    fn bookmark(&mut self, version: &str);
    /// Something was heard from the server.
    fn heard(&mut self, what: Heard);
    /// What the reflector does now.
    fn phase(&mut self, phase: Phase);
    /// Something went wrong.
    fn report(&mut self, report: &Report<'_>);
}

/// What was heard from the server, for counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// A list request goes out: the first page, `true` if something is cached already.
    List { again: bool },
    /// A watch request goes out.
    Watch,
    /// A page has been read.
    Page,
    /// A watch was accepted.
    Opened,
    /// Changes can come: a watch was accepted, or a streaming list is complete.
    Live,
    /// An event.
    Event,
    /// A bookmark.
    Bookmark,
    /// A watch ended.
    Ended { fruitless: bool },
    /// So many bytes of a body.
    Bytes(u64),
}

/// The error hook: called for everything that goes wrong.
pub(crate) type ErrorHook = dyn Fn(&Report<'_>) + Send + Sync;

/// What an informer's reflector is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Not started yet.
    #[default]
    NotStarted,
    /// Listing, or in the initial phase of a streaming list.
    Listing,
    /// Watching.
    Watching,
    /// Waiting before the next attempt.
    Waiting,
    /// Stopped.
    Stopped,
}

impl Phase {
    /// The phase in one word or two.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::NotStarted => "not started",
            Phase::Listing => "listing",
            Phase::Watching => "watching",
            Phase::Waiting => "waiting",
            Phase::Stopped => "stopped",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
