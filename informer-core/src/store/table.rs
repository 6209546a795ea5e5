//! [`Table`]: the objects by key, and their indexes. Pure; the [`Store`](super::Store) puts it behind a lock.
//!
//! Objects are grouped by namespace, so that the namespace index costs nothing of its own (S, LS-2).
//! Invariant: a namespace without objects has no entry; `len` is the number of objects.

use std::any::Any;
use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::index::AnyIndex;
use crate::key::{KeyRef, Map, ObjectKey};

/// The net effect of a batch on one key. Keys are unique within a batch.
pub(crate) struct Change<T> {
    pub(crate) key: ObjectKey,
    /// The new state; `None` removes.
    pub(crate) new: Option<Arc<T>>,
}

/// What marks an object whose newest state could not be decoded (D8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stale {
    pub(crate) uid: String,
    pub(crate) resource_version: String,
}

/// A key among those of its namespace: its name is all that is hashed and compared.
struct Named(ObjectKey);

impl Borrow<str> for Named {
    fn borrow(&self) -> &str {
        self.0.name()
    }
}

impl Hash for Named {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name().hash(state);
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Eq for Named {}

/// See the module.
pub(crate) struct Table<T> {
    namespaces: Map<Box<str>, Map<Named, Arc<T>>>,
    len: usize,
    /// Version of the latest thing applied.
    pub(crate) version: String,
    /// How often a list lowered the version; versions of two timelines do not compare.
    pub(crate) timeline: u64,
    /// Objects whose stored state is older than what the server has.
    pub(crate) stale: Map<ObjectKey, Stale>,
    /// Only ever appended to.
    pub(crate) indexes: Vec<Box<dyn AnyIndex<T>>>,
}

impl<T> Table<T> {
    pub(crate) fn new() -> Self {
        Table {
            namespaces: Map::default(),
            len: 0,
            version: String::new(),
            timeline: 0,
            stale: Map::default(),
            indexes: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, key: KeyRef<'_>) -> Option<&Arc<T>> {
        self.namespaces.get(key.namespace)?.get(key.name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Arc<T>)> {
        self.namespaces.values().flatten().map(|(Named(key), object)| (key, object))
    }

    pub(crate) fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Arc<T>> {
        self.namespaces.get(namespace).into_iter().flat_map(Map::values)
    }

    /// Applies a batch. `prepared` has the values for each index, and keeps the replaced ones; replaced objects go to
    /// `garbage`. Both are to be dropped outside the lock.
    pub(crate) fn apply(
        &mut self,
        changes: &[Change<T>],
        prepared: &mut [Box<dyn Any + Send>],
        garbage: &mut Vec<Arc<T>>,
    ) {
        for change in changes {
            let old = match &change.new {
                Some(object) => self.insert(&change.key, object),
                None => self.remove(&change.key),
            };
            garbage.extend(old);
        }
        for (index, values) in self.indexes.iter_mut().zip(prepared) {
            index.apply(changes, values.as_mut());
        }
    }

    fn insert(&mut self, key: &ObjectKey, object: &Arc<T>) -> Option<Arc<T>> {
        let objects = match self.namespaces.get_mut(key.namespace()) {
            Some(objects) => objects,
            None => self.namespaces.entry(key.namespace().into()).or_default(),
        };
        let old = objects.insert(Named(key.clone()), Arc::clone(object));
        self.len += usize::from(old.is_none());
        old
    }

    fn remove(&mut self, key: &ObjectKey) -> Option<Arc<T>> {
        let objects = self.namespaces.get_mut(key.namespace())?;
        let old = objects.remove(key.name())?;
        self.len -= 1;
        if objects.is_empty() {
            self.namespaces.remove(key.namespace());
        }
        Some(old)
    }
}
