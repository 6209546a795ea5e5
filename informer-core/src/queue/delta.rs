//! [`Delta`]: what the reflector learnt, in order; and how deltas fold (spec: the DeltaFIFO table).
//!
//! A delta is a wire fact. Whether it is an add or an update is decided against the store when it is applied (C-1).

use std::collections::HashSet;
use std::sync::Arc;

use super::fold::{Fold, Folded};
use crate::contain::{discard, discard_all};
use crate::key::{KeyRef, ObjectKey};
use crate::meta::{Object, other_uid};

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

    /// The table of the specification, with what it leaves open decided so that nothing is lost: whatever the store
    /// holds, applying what is left comes to the same objects as applying both.
    fn fold(older: Self, newer: Self, waste: &mut Vec<Self>) -> Folded<Self> {
        match (older, newer) {
            (old @ Delta::Upsert { .. }, new @ Delta::Upsert { .. }) if uid(&old) == uid(&new) => {
                waste.push(old);
                Folded::One(new)
            }
            (old @ Delta::Upsert { .. }, new @ Delta::Delete { .. }) => {
                if other_uid(uid(&old), uid(&new)) && !new.is_forced() {
                    waste.push(new); // void: after the upsert the store holds another object of this name
                    return Folded::One(old);
                }
                waste.push(old);
                Folded::One(new.forced())
            }
            (old @ Delta::Delete { .. }, new @ Delta::Delete { .. }) => fold_deletions(old, new, waste),
            (old @ Delta::Unreadable { .. }, new @ Delta::Upsert { .. }) => {
                waste.push(old);
                Folded::One(new)
            }
            (Delta::Unreadable { key, uid: before, .. }, Delta::Unreadable { uid, resource_version, .. })
                if !other_uid(&before, &uid) =>
            {
                let uid = if uid.is_empty() { before } else { uid };
                Folded::One(Delta::Unreadable { key, uid, resource_version })
            }
            (old @ Delta::Unreadable { .. }, new @ Delta::Delete { .. })
                if !other_uid(uid(&old), uid(&new)) =>
            {
                // Both UIDs known: the first would have removed any other object, the second this one.
                let sure = !uid(&old).is_empty() && !uid(&new).is_empty();
                waste.push(old);
                Folded::One(if sure { new.forced() } else { new })
            }
            (old, new) => Folded::Both(old, new),
        }
    }

    /// A list supersedes what was queued before it but real final states, which are news that it cannot tell: the
    /// first of each key, which is the one of what the store holds. What it leaves as it is, stays.
    fn supersede(older: Vec<Self>, by: &mut Self, waste: &mut Vec<Self>) -> Vec<Self> {
        let Delta::Replace(newer) = by else { return older };
        let mut kept = Vec::new();
        let mut told = HashSet::new();
        for delta in older {
            let keep = match &delta {
                // Below, it comes apart: what the newer list leaves of it is kept.
                Delta::Replace(list) if newer.complete || !list.complete => {
                    newer.initial |= list.initial;
                    false
                }
                Delta::Replace(_) => true,
                Delta::Delete { key, what: Deletion::Final(_), .. } if !newer.leaves(key) => {
                    told.insert(key.clone())
                }
                Delta::Upsert { key, .. } | Delta::Delete { key, .. } | Delta::Unreadable { key, .. } => {
                    newer.leaves(key)
                }
            };
            match delta {
                delta if keep => kept.push(delta),
                Delta::Replace(list) => newer.outlive(list, &mut kept, waste),
                delta => waste.push(delta),
            }
        }
        kept
    }
}

impl<T: Object> Replace<T> {
    /// Whether the list leaves what is stored under `key`, listed or not: an incomplete list deletes nothing, and
    /// what does not decode keeps its older state.
    fn leaves(&self, key: &ObjectKey) -> bool {
        !self.complete || self.unreadable.iter().any(|(other, ..)| other == key)
    }

    /// What is left of the `older` list after this one, as single deltas: whatever this one leaves.
    fn outlive(&self, older: Replace<T>, kept: &mut Vec<Delta<T>>, waste: &mut Vec<Delta<T>>) {
        let listed: HashSet<KeyRef<'_>> = self.items.iter().map(|object| object.meta().key_ref()).collect();
        let stays = |key: &ObjectKey| self.leaves(key) && !listed.contains(&key.as_ref());
        let mut seen = HashSet::new();
        for object in older.items {
            let key = object.meta().key();
            let delta = Delta::Upsert { key: key.clone(), object };
            if stays(&key) {
                seen.insert(key);
                kept.push(delta);
            } else {
                waste.push(delta);
            }
        }
        for (key, uid, resource_version) in older.unreadable {
            if stays(&key) {
                seen.insert(key.clone());
                kept.push(Delta::Unreadable { key, uid, resource_version });
            }
        }
        if older.complete {
            let missing = self.unreadable.iter().filter(|(key, ..)| !seen.contains(key) && stays(key));
            kept.extend(missing.map(|(key, ..)| Delta::Delete {
                key: key.clone(),
                what: Deletion::Unseen(String::new()),
                forced: true,
            }));
        }
    }
}

impl<T> Delta<T> {
    /// Drops it outside every lock, object by object.
    pub(crate) fn discard(self) {
        match self {
            Delta::Replace(list) => discard_all(list.items),
            delta => discard(delta),
        }
    }

    fn is_forced(&self) -> bool {
        matches!(self, Delta::Delete { forced: true, .. })
    }

    /// A deletion that removes whatever is stored.
    fn forced(mut self) -> Self {
        if let Delta::Delete { forced, .. } = &mut self {
            *forced = true;
        }
        self
    }
}

/// Two deletions of one key; what was between them has been folded into the second.
fn fold_deletions<T: Object>(old: Delta<T>, new: Delta<T>, waste: &mut Vec<Delta<T>>) -> Folded<Delta<T>> {
    let differ = other_uid(uid(&old), uid(&new));
    let any = old.is_forced() || new.is_forced() || uid(&old).is_empty() || uid(&new).is_empty();
    if differ && !any {
        return Folded::Both(old, new); // each removes its own object only
    }
    // The first tells the end of what the store holds. Of one object the later final state is the better one.
    let seen = matches!(&new, Delta::Delete { what: Deletion::Final(_), .. });
    let (kept, gone) = if !differ && seen { (new, old) } else { (old, new) };
    waste.push(gone);
    Folded::One(if any { kept.forced() } else { kept })
}

fn uid<T: Object>(delta: &Delta<T>) -> &str {
    match delta {
        Delta::Upsert { object, .. } | Delta::Delete { what: Deletion::Final(object), .. } => {
            object.meta().uid
        }
        Delta::Delete { what: Deletion::Unseen(uid), .. } | Delta::Unreadable { uid, .. } => uid,
        Delta::Replace(_) => "",
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
