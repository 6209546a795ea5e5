//! [`StoreWriter`]: the one way into a store; and how a late index catches up.

use std::sync::Arc;

use super::index::{Function, IndexInstance, IndexOf, prepare};
use super::table::{Change, Stale};
use super::{Shared, Store};
use crate::contain::{discard, discard_all};
use crate::error::{Error, ErrorKind, Result, Stage};
use crate::key::ObjectKey;
use crate::meta::Object;
use crate::sync::RwLockWriteGuard;

/// The pop thread's hold on a store. There is one.
pub(crate) struct StoreWriter<T> {
    shared: Arc<Shared<T>>,
    /// The functions of the first so many indexes, so that they can be called without the table.
    functions: Vec<Arc<dyn Function<T>>>,
}

/// A batch, ready to appear.
pub(crate) struct Published<'a, T> {
    pub(crate) changes: &'a [Change<T>],
    /// `Some` marks a key, `None` unmarks it.
    pub(crate) stale: Vec<(ObjectKey, Option<Stale>)>,
    pub(crate) version: &'a str,
    pub(crate) timeline: u64,
}

impl<T: Object> StoreWriter<T> {
    pub(super) fn new(shared: Arc<Shared<T>>) -> Self {
        StoreWriter { shared, functions: Vec::new() }
    }

    /// Makes a batch appear: objects, indexes and version in one write section. Answers what index functions did
    /// wrong.
    pub(crate) fn publish(&mut self, batch: Published<'_, T>) -> Vec<(ObjectKey, Error)> {
        let mut garbage = Vec::with_capacity(batch.changes.len());
        let stale_keys: Vec<ObjectKey> = batch.stale.iter().map(|(key, _)| key.clone()).collect();

        let mut prepared = Vec::new();
        let mut bad = Vec::new();
        // An index may come while values are computed; then those for it are computed as well. An index that is in
        // the table never misses a change.
        let mut table = loop {
            self.learn_functions();
            let (more, worse) = prepare(&self.functions[prepared.len()..], batch.changes);
            prepared.extend(more);
            bad.extend(worse);
            let table = self.shared.table.write();
            if table.indexes.len() == prepared.len() {
                break table;
            }
        };
        table.apply(batch.changes, &mut prepared, &mut garbage);
        for (key, stale) in batch.stale {
            match stale {
                Some(stale) => table.stale.insert(key, stale),
                None => table.stale.remove(&key),
            };
        }
        batch.version.clone_into(&mut table.version);
        let lowered = table.timeline != batch.timeline;
        table.timeline = batch.timeline;
        drop(table);

        self.shared.wake(batch.changes, &stale_keys, batch.version, lowered);
        // Replaced objects and index values end here, outside the lock: dropping them is user code.
        discard_all(garbage);
        discard_all(prepared);
        bad
    }

    fn learn_functions(&mut self) {
        let table = self.shared.table.read();
        let known = self.functions.len();
        self.functions.extend(table.indexes.iter().skip(known).map(|index| index.function()));
    }
}

impl<T> Drop for StoreWriter<T> {
    fn drop(&mut self) {
        discard_all(std::mem::take(&mut self.functions));
    }
}

impl<T: Object> Store<T> {
    /// Ends every wait on this store, now and later.
    pub(crate) fn stop_waits(&self) {
        self.shared.stop_waits();
    }

    /// Adds an index; when this returns it has every object. The writer goes on meanwhile.
    ///
    /// From the moment the index stands in the table, the writer computes its values for each change; this thread
    /// computes those of the snapshot taken at that moment, and puts them under what came by since.
    pub(crate) fn add_index(&self, index: &dyn IndexOf<T>) -> Result<Vec<(ObjectKey, Error)>> {
        let IndexInstance(instance) = index.instance();
        let (function, mut base) = (instance.function(), instance.base());
        let mut table = self.shared.table.write();
        if table.indexes.iter().any(|other| other.name() == index.name()) {
            drop(table);
            return Err(Error::new(
                ErrorKind::DuplicateIndex,
                format!("the store has an index named {:?} already", index.name()),
            )
            .at(Stage::Index));
        }
        let place = table.indexes.len();
        table.indexes.push(instance);
        // Nothing may come between the index and the snapshot; readers go on.
        let table = RwLockWriteGuard::downgrade(table);
        let mut objects = Vec::with_capacity(table.len());
        objects.extend(table.iter().map(|(_, object)| Arc::clone(object)));
        drop(table);

        let snapshot: Vec<Change<T>> = objects
            .into_iter()
            .map(|object| Change { key: object.meta().key(), new: Some(object) })
            .collect();
        let (mut prepared, bad) = prepare(&[function], &snapshot);
        base.apply(&snapshot, prepared[0].as_mut());
        let (overlay, replaced) = self.shared.table.write().indexes[place].install(base);
        overlay.discard();
        discard(replaced);
        discard_all(prepared);
        for change in snapshot {
            discard(change.new);
        }
        Ok(bad)
    }
}
