//! The write side of store and queue, for the benches of the workspace: what no user may call must still be timed.
//!
//! Behind the feature `bench-internals`, hidden from the documentation, and free to change with every commit.
//! Invariant: nothing here adds work of its own to what is timed, but for building the values that go in.

use std::sync::Arc;

use crate::key::ObjectKey;
use crate::meta::Object;
use crate::queue::{DeltaFifo, Replace, Taken};
use crate::store::{Index, IndexOf, Published, Store, StoreWriter};
use crate::time::SystemClock;

/// A queue between reader and pop thread.
pub struct Queue<T>(DeltaFifo<T>);

/// One thing to put into a [`Queue`].
pub struct Delta<T>(crate::queue::Delta<T>);

/// A store with its writer.
pub struct Writer<T> {
    store: Store<T>,
    writer: StoreWriter<T>,
}

/// A store that gets indexes while its writer writes.
pub struct Late<T>(Store<T>);

/// The net changes of one batch.
pub struct Batch<T>(Vec<crate::store::Change<T>>);

impl<T: Object> Delta<T> {
    /// What the reflector makes of an ADDED or MODIFIED event.
    #[must_use]
    pub fn upsert(object: Arc<T>) -> Self {
        Delta(crate::queue::Delta::Upsert { key: object.meta().key(), object })
    }

    /// What it makes of a complete list.
    #[must_use]
    pub fn replace(items: Vec<Arc<T>>) -> Self {
        let list = Replace { items, unreadable: Vec::new(), complete: true, initial: false, lowered: false };
        Delta(crate::queue::Delta::Replace(list))
    }
}

impl<T: Object> Queue<T> {
    /// An empty queue that folds above `limit` entries.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Queue(DeltaFifo::new(limit))
    }

    /// The reader's side.
    pub fn push(&self, delta: Delta<T>, version: &str) {
        self.0.push(delta.0, version);
    }

    /// The pop thread's side: how many entries a take gets. The entries are dropped.
    #[must_use]
    pub fn take(&self) -> usize {
        match self.0.take(&SystemClock, Some(crate::time::Clock::now(&SystemClock))) {
            Taken::Batch { deltas, .. } => deltas.len(),
            Taken::Nothing | Taken::Closed => 0,
        }
    }

    /// How many entries were folded away.
    #[must_use]
    pub fn folded(&self) -> u64 {
        self.0.gauges().1
    }
}

impl<T: Object> Batch<T> {
    /// The batch that puts `objects` in.
    #[must_use]
    pub fn of(objects: &[Arc<T>]) -> Self {
        let change = |object: &Arc<T>| crate::store::Change {
            key: object.meta().key(),
            new: Some(Arc::clone(object)),
        };
        Batch(objects.iter().map(change).collect())
    }

    /// The batch that takes `keys` out.
    #[must_use]
    pub fn without(keys: &[ObjectKey]) -> Self {
        Batch(keys.iter().map(|key| crate::store::Change { key: key.clone(), new: None }).collect())
    }
}

impl<T: Object> Default for Writer<T> {
    fn default() -> Self {
        let (store, writer) = Store::new(Arc::new(SystemClock), 0);
        Writer { store, writer }
    }
}

impl<T: Object> Writer<T> {
    /// Adds an index.
    ///
    /// # Errors
    /// As [`SharedInformer::add_index`](crate::SharedInformer::add_index).
    pub fn add_index<V>(&self, index: &Index<T, V>) -> crate::Result<()>
    where
        Index<T, V>: IndexOf<T>,
    {
        self.store.add_index(index).map(drop)
    }

    /// What another thread adds indexes with, while this one writes.
    #[must_use]
    pub fn late(&self) -> Late<T> {
        Late(self.store.clone())
    }

    /// Makes a batch appear, as the pop thread does.
    pub fn publish(&mut self, batch: &Batch<T>, version: &str) {
        let published = Published { changes: &batch.0, stale: Vec::new(), version, timeline: 0 };
        drop(self.writer.publish(published));
    }

    /// The store that it writes.
    #[must_use]
    pub fn store(&self) -> &Store<T> {
        &self.store
    }
}

impl<T: Object> Late<T> {
    /// Adds an index.
    ///
    /// # Errors
    /// As [`SharedInformer::add_index`](crate::SharedInformer::add_index).
    pub fn add_index<V>(&self, index: &Index<T, V>) -> crate::Result<()>
    where
        Index<T, V>: IndexOf<T>,
    {
        self.0.add_index(index).map(drop)
    }
}

impl<T> std::fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queue")
    }
}

impl<T> std::fmt::Debug for Delta<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> std::fmt::Debug for Writer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Writer")
    }
}

impl<T> std::fmt::Debug for Late<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Late")
    }
}

impl<T> std::fmt::Debug for Batch<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Batch({} changes)", self.0.len())
    }
}
