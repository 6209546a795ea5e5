//! [`Delta`]: what the reflector learnt, in order; and how deltas fold (spec: the DeltaFIFO table).
//!
//! A delta is a wire fact. Whether it is an add or an update is decided against the store when it is applied (C-1).

use std::sync::Arc;

use super::fold::{Fold, Folded};
use crate::key::ObjectKey;
use crate::meta::Object;

/// One thing the reflector learnt.
pub(crate) enum Delta<T> {
    /// ADDED or MODIFIED.
    Upsert {
        /// Key of `object`.
        key: ObjectKey,
        /// The new state.
        object: Arc<T>,
    },
    /// DELETED.
    Delete {
        /// Key of what was deleted.
        key: ObjectKey,
        /// What is known of it.
        what: Deletion<T>,
        /// An upsert of the key was folded into this: whatever is stored goes, of whichever UID.
        forced: bool,
    },
    /// ADDED or MODIFIED with a body that cannot be decoded (D8).
    Unreadable {
        /// Key of the object.
        key: ObjectKey,
        /// Its UID, if it could be read.
        uid: String,
        /// Its version, if it could be read.
        resource_version: String,
    },
    /// A complete list.
    Replace(Replace<T>),
}

/// What is known of a deleted object.
pub(crate) enum Deletion<T> {
    /// Its final state.
    Final(Arc<T>),
    /// Only its UID (possibly empty): the body could not be decoded.
    Unseen(String),
}

/// A complete list, to take the place of what the store holds.
pub(crate) struct Replace<T> {
    /// The objects, in list order.
    pub(crate) items: Vec<Arc<T>>,
    /// Objects of the list that could not be decoded: their stored state is kept. Key, UID, version.
    pub(crate) unreadable: Vec<(ObjectKey, String, String)>,
    /// Whether every key of the list is known; if not, nothing is deleted (D8).
    pub(crate) complete: bool,
    /// Whether this is the first complete list: its adds are initial.
    pub(crate) initial: bool,
    /// Whether it lowered the version (D7).
    pub(crate) lowered: bool,
}

impl<T: Object> Fold for Delta<T> {
    type Waste = Delta<T>;

    fn key(&self) -> Option<ObjectKey> {
        match self {
            Delta::Upsert { key, .. } | Delta::Delete { key, .. } | Delta::Unreadable { key, .. } => {
                Some(key.clone())
            }
            Delta::Replace(_) => None,
        }
    }

    fn weight(&self) -> usize {
        match self {
            Delta::Replace(list) => list.items.len().max(1),
            _ => 1,
        }
    }

    fn fold(older: Self, newer: Self, waste: &mut Vec<Self>) -> Folded<Self> {
        match (older, newer) {
            (old @ Delta::Upsert { .. }, new @ Delta::Upsert { .. }) => {
                if uid(&old) == uid(&new) {
                    waste.push(old);
                    Folded::One(new)
                } else {
                    Folded::Both(old, new)
                }
            }
            (old @ Delta::Upsert { .. }, Delta::Delete { key, what, .. }) => {
                // Only an upsert of another UID would have made the deletion void; after this one it is not.
                let what = match (what, old) {
                    (Deletion::Unseen(_), Delta::Upsert { object, .. }) => {
                        Deletion::Unseen(object.meta().uid.to_owned())
                    }
                    (what, old) => {
                        waste.push(old);
                        what
                    }
                };
                Folded::One(Delta::Delete { key, what, forced: true })
            }
            // The first deletion told the end of what the store holds; an upsert between them was folded away.
            (old @ Delta::Delete { .. }, new @ Delta::Delete { .. }) => {
                waste.push(new);
                Folded::One(old)
            }
            (old @ Delta::Unreadable { .. }, new) => {
                waste.push(old);
                Folded::One(new)
            }
            (old, new) => Folded::Both(old, new),
        }
    }

    fn superseded(self, by: &mut Self, waste: &mut Vec<Self>) -> Option<Self> {
        match self {
            // Real final states are news that the list cannot tell.
            Delta::Delete { what: Deletion::Final(_), .. } => Some(self),
            Delta::Replace(ref older) => {
                if let Delta::Replace(newer) = by {
                    newer.initial |= older.initial;
                }
                waste.push(self);
                None
            }
            _ => {
                waste.push(self);
                None
            }
        }
    }
}

fn uid<T: Object>(delta: &Delta<T>) -> &str {
    match delta {
        Delta::Upsert { object, .. } => object.meta().uid,
        _ => "",
    }
}

/// Shows kinds and keys, never objects.
impl<T> std::fmt::Debug for Delta<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Delta::Upsert { key, .. } => write!(f, "Upsert({key})"),
            Delta::Delete { key, .. } => write!(f, "Delete({key})"),
            Delta::Unreadable { key, .. } => write!(f, "Unreadable({key})"),
            Delta::Replace(list) => write!(f, "Replace({} items)", list.items.len()),
        }
    }
}
