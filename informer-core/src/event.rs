//! [`Event`]: what a handler is told.

use std::sync::Arc;

use crate::key::ObjectKey;
use crate::meta::{MetaView, Object};

/// One notification of an informer. Objects are shared and cannot be changed.
///
/// For each handler and key: first `Added`, then `Updated` or `Resynced`, then `Deleted`; replaying a handler's
/// events gives exactly the store.
#[non_exhaustive]
pub enum Event<T> {
    /// The object is new to the handler.
    Added {
        /// Its present state.
        object: Arc<T>,
        /// Whether it comes from the first complete list or stream, or from the replay to a late handler.
        initial: bool,
    },
    /// The object changed.
    Updated {
        /// The state this handler saw last.
        old: Arc<T>,
        /// The state now.
        new: Arc<T>,
    },
    /// The object is gone, or has left the selection.
    Deleted {
        /// Its last state; the last *known* one if `final_state_unknown`.
        object: Arc<T>,
        /// Whether the end was not seen: the object was missing in a relist, replaced by another of the same
        /// name, or its last state could not be read (client-go's `DeletedFinalStateUnknown`).
        final_state_unknown: bool,
    },
    /// Periodic resync: nothing changed (client-go's update with equal versions).
    Resynced {
        /// The present state.
        object: Arc<T>,
    },
}

impl<T> Event<T> {
    /// The object the event is about: the new state of an update, the last state of a delete.
    pub fn object(&self) -> &Arc<T> {
        match self {
            Event::Added { object, .. } | Event::Deleted { object, .. } | Event::Resynced { object } => {
                object
            }
            Event::Updated { new, .. } => new,
        }
    }

    /// Whether it is an `Added` of the initial state.
    pub fn is_initial(&self) -> bool {
        matches!(self, Event::Added { initial: true, .. })
    }
}

impl<T: Object> Event<T> {
    /// The metadata of [`object`](Event::object).
    pub fn meta(&self) -> MetaView<'_> {
        self.object().meta()
    }

    /// The key of [`object`](Event::object).
    pub fn key(&self) -> ObjectKey {
        self.meta().key()
    }
}

impl<T> Clone for Event<T> {
    fn clone(&self) -> Self {
        match self {
            Event::Added { object, initial } => {
                Event::Added { object: Arc::clone(object), initial: *initial }
            }
            Event::Updated { old, new } => Event::Updated { old: Arc::clone(old), new: Arc::clone(new) },
            Event::Deleted { object, final_state_unknown } => {
                Event::Deleted { object: Arc::clone(object), final_state_unknown: *final_state_unknown }
            }
            Event::Resynced { object } => Event::Resynced { object: Arc::clone(object) },
        }
    }
}

/// Shows kind, key and versions; never the object, which may be a Secret.
impl<T: Object> std::fmt::Debug for Event<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let meta = self.meta();
        let (key, version) = (meta.key_ref(), meta.resource_version);
        match self {
            Event::Added { initial: true, .. } => write!(f, "Added({key}@{version}, initial)"),
            Event::Added { .. } => write!(f, "Added({key}@{version})"),
            Event::Updated { old, .. } => {
                write!(f, "Updated({key}@{}→{version})", old.meta().resource_version)
            }
            Event::Deleted { final_state_unknown: true, .. } => {
                write!(f, "Deleted({key}@{version}, final state unknown)")
            }
            Event::Deleted { .. } => write!(f, "Deleted({key}@{version})"),
            Event::Resynced { .. } => write!(f, "Resynced({key}@{version})"),
        }
    }
}
