//! [`ListWatch`]: the seam between the reflector and whatever lists and watches: HTTP, a fake, a recording.
//!
//! The reflector decides *what* is asked for and when; an implementation carries out one page or one watch and
//! tells a sink what it reads. It never retries and never decides about versions.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::key::{KeyRef, ObjectKey};
use crate::stop::Stop;

/// A source of objects (client-go's `ListerWatcher`).
pub trait ListWatch<T>: Send + Sync {
    /// Reads one page of a list.
    ///
    /// Answers only after the whole page has been read and told to `sink`: an answer that was cut short is an
    /// error, whatever the sink has been told.
    ///
    /// # Blocking
    /// On the network. Returns promptly with [`ErrorKind::Stopped`](crate::ErrorKind::Stopped) once `stop` is set.
    ///
    /// # Errors
    /// Whatever kept the page from being complete; objects that cannot be decoded are told to the sink instead.
    fn list(&self, request: &ListRequest, stop: &Stop, sink: &mut dyn ListSink<T>) -> Result<ListEnd>;

    /// Carries out one watch, from the request to its end.
    ///
    /// # Blocking
    /// For the life of the watch. Returns promptly with [`ErrorKind::Stopped`](crate::ErrorKind::Stopped) once
    /// `stop` is set.
    ///
    /// # Errors
    /// [`Stage::WatchOpen`](crate::Stage::WatchOpen) when the watch could not be opened; [`Stage::Watch`](crate::Stage::Watch)
    /// when the server sent an `ERROR` event or something that is no event. A stream that merely ends, even
    /// within a frame, is not an error (W-2).
    fn watch(&self, request: &WatchRequest, stop: &Stop, sink: &mut dyn WatchSink<T>) -> Result<WatchEnd>;

    /// What is listed, for logs and thread names: `pods`, `widgets.example.com`.
    fn name(&self) -> String;

    /// Whether streaming lists (`sendInitialEvents`) may be tried.
    fn can_stream(&self) -> bool {
        true
    }
}

impl<T, L: ListWatch<T> + ?Sized> ListWatch<T> for Arc<L> {
    fn list(&self, request: &ListRequest, stop: &Stop, sink: &mut dyn ListSink<T>) -> Result<ListEnd> {
        (**self).list(request, stop, sink)
    }

    fn watch(&self, request: &WatchRequest, stop: &Stop, sink: &mut dyn WatchSink<T>) -> Result<WatchEnd> {
        (**self).watch(request, stop, sink)
    }

    fn name(&self) -> String {
        (**self).name()
    }

    fn can_stream(&self) -> bool {
        (**self).can_stream()
    }
}

/// One page of a list, as the API reference's list parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListRequest {
    /// `resourceVersion`: empty is the most recent state, `0` whatever the server has at hand, another at least
    /// that. Empty on continuations.
    pub resource_version: String,
    /// `limit`; none asks for everything.
    pub limit: Option<u32>,
    /// `continue`: the token of the page before.
    pub continue_token: Option<String>,
}

/// How a page of a list ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListEnd {
    /// `metadata.resourceVersion` of the list.
    pub resource_version: String,
    /// `metadata.continue`, if there are further pages.
    pub continue_token: Option<String>,
}

/// One watch, as the API reference's watch parameters. Bookmarks are always asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchRequest {
    /// `resourceVersion` to start after.
    pub resource_version: String,
    /// `sendInitialEvents=true&resourceVersionMatch=NotOlderThan`: a streaming list.
    pub initial_events: bool,
    /// `timeoutSeconds`, in whole seconds: when the server ends the watch.
    pub timeout: Duration,
    /// How long the client waits for a byte before it gives the connection up (D7).
    pub idle: Duration,
}

/// How a watch ended, if not by an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchEnd {
    /// The stream ended: by the server, by a broken connection, or within a frame, which is then dropped.
    Closed,
    /// Nothing came for [`WatchRequest::idle`].
    Silent,
    /// The sink asked for the end.
    Ended,
}

/// Whether the source should go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    /// Read on.
    Continue,
    /// Close the stream and return [`WatchEnd::Ended`].
    End,
}

/// What happened to an object, by the type of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// `ADDED`.
    Added,
    /// `MODIFIED`.
    Modified,
    /// `DELETED`.
    Deleted,
}

/// An object that could not be decoded or transformed (D8), with as much of its identity as could be read.
#[derive(Clone)]
pub struct BadObject {
    /// Its key, if it could be read.
    pub key: Option<ObjectKey>,
    /// Its UID; empty if it could not be read.
    pub uid: String,
    /// Its version; empty if it could not be read.
    pub resource_version: String,
    /// What is wrong with it.
    pub error: Error,
}

impl fmt::Debug for BadObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BadObject")
            .field("key", &self.key)
            .field("resource_version", &self.resource_version)
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

/// What a list tells.
pub trait ListSink<T> {
    /// The stored object, if it is in exactly this state: then it is told as [`unchanged`](ListSink::unchanged)
    /// and need not be built (D5).
    fn have(&self, key: KeyRef<'_>, uid: &str, resource_version: &str) -> Option<Arc<T>>;

    /// Whether [`have`](ListSink::have) can ever answer with an object; if not, looking at the metadata first is
    /// wasted work.
    fn may_have(&self) -> bool;

    /// An item of the list.
    fn item(&mut self, object: T);

    /// An item that `have` answered for.
    fn unchanged(&mut self, object: Arc<T>);

    /// An item that could not be decoded.
    fn bad_item(&mut self, bad: BadObject);

    /// So many bytes of the body were read, decompressed if they came compressed; for counters. May be told at any time,
    /// in any portions, and not at all by sources without bytes.
    fn received(&mut self, bytes: u64) {
        let _ = bytes;
    }
}

/// What a watch tells.
pub trait WatchSink<T> {
    /// As [`ListSink::have`]; asked during a streaming list.
    fn have(&self, key: KeyRef<'_>, uid: &str, resource_version: &str) -> Option<Arc<T>>;

    /// As [`ListSink::may_have`]; may change during the watch.
    fn may_have(&self) -> bool;

    /// The server accepted the watch.
    fn opened(&mut self);

    /// An `ADDED`, `MODIFIED` or `DELETED` event with its object.
    fn change(&mut self, kind: ChangeKind, object: T) -> Flow;

    /// An `ADDED` event of an object that `have` answered for.
    fn unchanged(&mut self, object: Arc<T>) -> Flow;

    /// An event whose object could not be decoded.
    fn bad_change(&mut self, kind: ChangeKind, bad: BadObject) -> Flow;

    /// A `BOOKMARK`; `initial_events_end` is the annotation `k8s.io/initial-events-end: "true"`.
    fn bookmark(&mut self, resource_version: &str, initial_events_end: bool) -> Flow;

    /// Asked before each read: a stream that brings bytes but no events, by blank lines or an event without an end,
    /// can be ended too.
    fn read_on(&mut self) -> Flow {
        Flow::Continue
    }

    /// As [`ListSink::received`].
    fn received(&mut self, bytes: u64) {
        let _ = bytes;
    }
}
