//! Deltas against the store: which events they mean, and what is left of them for the store (D4, D5, D8).
//!
//! Pure. [`Batch`] holds the outcome of one take from the queue: the net change of each key, and the events in
//! order. Whether a delta is an add or an update is decided by what the store held just before it (C-1).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::event::Event;
use crate::key::{KeyRef, ObjectKey};
use crate::meta::{Object, other_uid};
use crate::queue::{Deletion, Delta, Replace};
use crate::store::{Change, Stale, Store};

/// What a batch of deltas comes to.
pub(crate) struct Batch<T> {
    /// Net change of each key, in the order the keys were first touched.
    pub(crate) changes: Vec<Change<T>>,
    /// Keys whose newest state could not be decoded (`Some`), or can be again (`None`).
    pub(crate) stale: Vec<(ObjectKey, Option<Stale>)>,
    /// What handlers are told, in order.
    pub(crate) events: Vec<Event<T>>,
    /// Whether the first complete list is among the deltas.
    pub(crate) first_list: bool,
    /// Objects that came and went within the batch: dropped with it, outside every lock.
    pub(crate) spent: Vec<Arc<T>>,
}

struct Work<'a, T> {
    store: &'a Store<T>,
    batch: Batch<T>,
    /// Position in `batch.changes`.
    touched: HashMap<ObjectKey, usize>,
    /// The keys that are marked now.
    marked: HashSet<ObjectKey>,
    /// What becomes of the marks of the store.
    stale: HashMap<ObjectKey, Option<Stale>>,
}

/// Works out what `deltas` mean for `store`. The caller is the store's only writer.
pub(crate) fn apply<T: Object>(store: &Store<T>, deltas: Vec<Delta<T>>) -> Batch<T> {
    let mut work = Work {
        store,
        batch: Batch {
            changes: Vec::with_capacity(deltas.len()),
            stale: Vec::new(),
            events: Vec::with_capacity(deltas.len()),
            first_list: false,
            spent: Vec::new(),
        },
        touched: HashMap::new(),
        marked: store.with_table(|table| table.stale.keys().cloned().collect()),
        stale: HashMap::new(),
    };
    for delta in deltas {
        match delta {
            Delta::Upsert { key, object } => work.upsert(key, object, false),
            Delta::Delete { key, what, forced } => work.delete(key, what, forced),
            Delta::Unreadable { key, uid, resource_version } => work.unreadable(key, uid, resource_version),
            Delta::Replace(list) => work.replace(list),
        }
    }
    work.batch.stale = work.stale.into_iter().collect();
    work.batch
}

impl<T: Object> Work<'_, T> {
    /// What the store would hold for `key` now.
    fn get(&self, key: &ObjectKey) -> Option<Arc<T>> {
        match self.touched.get(key) {
            Some(&at) => self.batch.changes[at].new.clone(),
            None => self.store.get(key),
        }
    }

    fn set(&mut self, key: ObjectKey, new: Option<Arc<T>>) {
        match self.touched.get(&key) {
            Some(&at) => {
                let old = std::mem::replace(&mut self.batch.changes[at].new, new);
                self.batch.spent.extend(old);
            }
            None => {
                self.touched.insert(key.clone(), self.batch.changes.len());
                self.batch.changes.push(Change { key, new });
            }
        }
    }

    /// The newest state of `key` is known, or `key` is gone.
    fn fresh(&mut self, key: &ObjectKey) {
        if self.marked.remove(key) {
            self.stale.insert(key.clone(), None);
        }
    }

    fn upsert(&mut self, key: ObjectKey, object: Arc<T>, initial: bool) {
        self.fresh(&key);
        match self.get(&key) {
            None => {
                self.batch.events.push(Event::Added { object: Arc::clone(&object), initial });
                self.set(key, Some(object));
            }
            // D5: the same state again is no event, and the old object stays.
            Some(old) if old.meta().same_state(&object.meta()) => self.batch.spent.push(object),
            Some(old) => {
                if other_uid(old.meta().uid, object.meta().uid) {
                    // D4: another object of the same name.
                    self.batch.events.push(Event::Deleted { object: old, final_state_unknown: true });
                    self.batch.events.push(Event::Added { object: Arc::clone(&object), initial });
                } else {
                    self.batch.events.push(Event::Updated { old, new: Arc::clone(&object) });
                }
                self.set(key, Some(object));
            }
        }
    }

    fn delete(&mut self, key: ObjectKey, what: Deletion<T>, forced: bool) {
        let uid = match &what {
            Deletion::Final(object) => object.meta().uid,
            Deletion::Unseen(uid) => uid,
        };
        let Some(old) = self.get(&key) else {
            self.fresh(&key);
            if let Deletion::Final(object) = what {
                self.batch.spent.push(object);
            }
            return; // D3: a delete of an unknown key is not told
        };
        let same = !other_uid(old.meta().uid, uid);
        if !same && !forced {
            if let Deletion::Final(object) = what {
                self.batch.spent.push(object);
            }
            return; // D4: it speaks of another object of this name
        }
        self.fresh(&key);
        self.batch.events.push(match what {
            Deletion::Final(object) if same => Event::Deleted { object, final_state_unknown: false },
            _ => Event::Deleted { object: old, final_state_unknown: true },
        });
        self.set(key, None);
    }

    fn unreadable(&mut self, key: ObjectKey, uid: String, resource_version: String) {
        if let Some(old) = self.get(&key)
            && other_uid(old.meta().uid, &uid)
        {
            // D8: the stored object is gone for certain; what took its place cannot be shown.
            self.batch.events.push(Event::Deleted { object: old, final_state_unknown: true });
            self.set(key.clone(), None);
        }
        self.marked.insert(key.clone());
        self.stale.insert(key, Some(Stale { uid, resource_version }));
    }

    /// D5: deletions first, then changes in list order.
    fn replace(&mut self, list: Replace<T>) {
        self.batch.first_list |= list.initial;
        if list.complete {
            self.delete_missing(&list);
        }
        // A key may come twice in a list: the last one counts (C-13).
        let mut last: HashMap<KeyRef<'_>, usize> = HashMap::new();
        if self.batch_has_duplicates(&list, &mut last) {
            let keep: HashSet<usize> = last.into_values().collect();
            for (at, object) in list.items.into_iter().enumerate() {
                if keep.contains(&at) {
                    self.upsert(object.meta().key(), object, list.initial);
                } else {
                    self.batch.spent.push(object);
                }
            }
        } else {
            drop(last);
            for object in list.items {
                self.upsert(object.meta().key(), object, list.initial);
            }
        }
        for (key, uid, resource_version) in list.unreadable {
            self.unreadable(key, uid, resource_version);
        }
    }

    fn batch_has_duplicates<'l>(&self, list: &'l Replace<T>, last: &mut HashMap<KeyRef<'l>, usize>) -> bool {
        last.reserve(list.items.len());
        let mut twice = false;
        for (at, object) in list.items.iter().enumerate() {
            twice |= last.insert(object.meta().key_ref(), at).is_some();
        }
        twice
    }

    fn delete_missing(&mut self, list: &Replace<T>) {
        let mut known: Vec<(ObjectKey, Arc<T>)> = self.store.with_table(|table| {
            table
                .iter()
                .filter(|(key, _)| !self.touched.contains_key(*key))
                .map(|(key, object)| (key.clone(), Arc::clone(object)))
                .collect()
        });
        known.extend(
            self.batch
                .changes
                .iter()
                .filter_map(|change| Some((change.key.clone(), Arc::clone(change.new.as_ref()?)))),
        );
        if known.is_empty() && self.marked.is_empty() {
            return;
        }
        let listed: HashSet<KeyRef<'_>> = list
            .items
            .iter()
            .map(|object| object.meta().key_ref())
            .chain(list.unreadable.iter().map(|(key, ..)| key.as_ref()))
            .collect();
        known.retain(|(key, _)| !listed.contains(&key.as_ref()));
        // Marks of objects that are gone go with them.
        let gone: Vec<ObjectKey> =
            self.marked.iter().filter(|key| !listed.contains(&key.as_ref())).cloned().collect();
        for key in gone {
            self.fresh(&key);
        }
        for (key, object) in known {
            self.batch.events.push(Event::Deleted { object, final_state_unknown: true });
            self.set(key, None);
        }
    }
}

#[cfg(test)]
mod tests;
