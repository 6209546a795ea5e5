//! [`Table`]: the objects by key, and their indexes. Pure; the [`Store`](super::Store) puts it behind a lock.
//!
//! Objects are grouped by namespace, so that the namespace index costs nothing of its own (S, LS-2).
//! Invariant: a namespace without objects has no entry; `len` is the number of objects.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use super::index::AnyIndex;
use crate::contain::discard_all;
use crate::key::{KeyRef, Keyed, ObjectKey};

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

/// See the module.
pub(crate) struct Table<T> {
    namespaces: HashMap<Box<str>, HashMap<ObjectKey, Arc<T>>>,
    len: usize,
    /// Version of the latest thing applied.
    pub(crate) version: String,
    /// How often a list lowered the version; versions of two timelines do not compare.
    pub(crate) timeline: u64,
    /// Objects whose stored state is older than what the server has.
    pub(crate) stale: HashMap<ObjectKey, Stale>,
    /// Only ever appended to.
    pub(crate) indexes: Vec<Box<dyn AnyIndex<T>>>,
}

impl<T> Table<T> {
    pub(crate) fn new() -> Self {
        Table {
            namespaces: HashMap::new(),
            len: 0,
            version: String::new(),
            timeline: 0,
            stale: HashMap::new(),
            indexes: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, key: KeyRef<'_>) -> Option<&Arc<T>> {
        self.namespaces.get(key.namespace)?.get(&key as &dyn Keyed)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Arc<T>)> {
        self.namespaces.values().flatten()
    }

    pub(crate) fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Arc<T>> {
        self.namespaces.get(namespace).into_iter().flat_map(HashMap::values)
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

    /// Drops everything, object by object: of several destructors that panic, each is caught. Not under a lock.
    pub(crate) fn discard(&mut self) {
        for objects in std::mem::take(&mut self.namespaces).into_values() {
            discard_all(objects.into_values());
        }
        discard_all(std::mem::take(&mut self.indexes));
    }

    fn insert(&mut self, key: &ObjectKey, object: &Arc<T>) -> Option<Arc<T>> {
        let objects = match self.namespaces.get_mut(key.namespace()) {
            Some(objects) => objects,
            None => self.namespaces.entry(key.namespace().into()).or_default(),
        };
        let old = objects.insert(key.clone(), Arc::clone(object));
        self.len += usize::from(old.is_none());
        old
    }

    fn remove(&mut self, key: &ObjectKey) -> Option<Arc<T>> {
        let objects = self.namespaces.get_mut(key.namespace())?;
        let old = objects.remove(key)?;
        self.len -= 1;
        if objects.is_empty() {
            self.namespaces.remove(key.namespace());
        }
        Some(old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Item;
    use crate::store::tests::change;

    #[test]
    fn ls_2_a_namespace_without_objects_takes_no_room() {
        let mut table = Table::<Item>::new();
        let mut apply = |changes: &str| {
            let changes: Vec<_> = changes.split(' ').map(change).collect();
            table.apply(&changes, &mut [], &mut Vec::new());
            (table.len(), table.namespaces.len())
        };
        assert_eq!(apply("x:a/u1@1 x:b/u2@2 y:c/u3@3 node/u4@4"), (4, 3));
        assert_eq!(apply("-x:a -y:c"), (2, 2));
        assert_eq!(apply("-x:b -x:b -z:d"), (1, 1));
        assert_eq!(apply("-node"), (0, 0));
    }
}
