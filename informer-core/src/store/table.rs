//! [`Table`]: the objects by key, and their indexes. Pure; the [`Store`](super::Store) puts it behind a lock.
//!
//! Objects are grouped by namespace, so that the namespace index costs nothing of its own (S, LS-2).
//! Invariant: a namespace without objects has no entry; `len` is the number of objects.

use std::any::Any;
use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::index::AnyIndex;
use crate::contain::discard_all;
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

    /// Drops everything, object by object: of several destructors that panic, each is caught. Not under a lock.
    pub(crate) fn discard(&mut self) {
        // Indexes first: they hold objects too, and where one ends inside an index, those after it would be lost.
        for index in std::mem::take(&mut self.indexes) {
            index.discard();
        }
        for objects in std::mem::take(&mut self.namespaces).into_values() {
            discard_all(objects.into_values());
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::fixture::Item;
    use crate::meta::{Labels, MetaView, Object};
    use crate::store::index::{Index, IndexOf, prepare};
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

    /// Counts its end, and panics there.
    struct Loud(Arc<AtomicUsize>);

    impl Object for Loud {
        fn meta(&self) -> MetaView<'_> {
            let labels = Labels::from_map(None);
            MetaView { namespace: "", name: "loud", uid: "u", resource_version: "1", labels }
        }
    }

    impl Drop for Loud {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
            panic!("told to");
        }
    }

    #[test]
    fn d3_every_object_ends_although_an_index_holds_it_and_each_end_panics() {
        let ends = Arc::new(AtomicUsize::new(0));
        let mut table = Table::<Loud>::new();
        let index: Index<Loud, u8> = Index::new("all", |_: &Loud| [1, 2]);
        table.indexes.push(index.instance().0);
        let changes: Vec<_> = ["a", "b", "c"]
            .map(|name| Change {
                key: ObjectKey::new("", name),
                new: Some(Arc::new(Loud(Arc::clone(&ends)))),
            })
            .into();
        let (mut prepared, _) = prepare(&[table.indexes[0].function()], &changes);
        table.apply(&changes, &mut prepared, &mut Vec::new());
        drop(changes);
        assert_eq!(ends.load(Ordering::SeqCst), 0);
        table.discard();
        assert_eq!(ends.load(Ordering::SeqCst), 3);
    }
}
