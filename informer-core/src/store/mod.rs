//! [`Store`]: what an informer knows, readable from any thread (client-go's `Store` and `Indexer`).
//!
//! One writer (the pop thread, through [`StoreWriter`]), many readers. A batch and its version appear in one write
//! section. No public method exposes a guard and no user code runs under the lock, but for `Hash`, `Eq` and `Clone`
//! of index values.

mod index;
mod table;
mod wait;
mod writer;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use self::index::{Index, IndexInstance, IndexOf};
pub(crate) use self::table::{Change, Stale, Table};
use self::wait::{Goal, Waits};
pub(crate) use self::writer::{Published, StoreWriter};
use crate::error::{Error, Result};
use crate::key::{KeyRef, ObjectKey};
use crate::meta::Object;
use crate::selector::Selector;
use crate::sync::{Monitor, RwLock};
use crate::time::Clock;

/// A read handle on the objects of an informer. Clones read the same store; none keeps a thread alive.
///
/// Answers are shared, unchangeable objects. Each call reads one state; [`snapshot`](Store::snapshot) gives one
/// state with its version. Reading never waits for the network or for handlers.
pub struct Store<T> {
    shared: Arc<Shared<T>>,
}

pub(crate) struct Shared<T> {
    table: RwLock<Table<T>>,
    waits: Arc<Monitor<Waits>>,
    clock: Arc<dyn Clock>,
    /// The informer whose threads must not wait on this store.
    owner: u64,
}

/// One consistent state of a store.
#[derive(Debug)]
pub struct Snapshot<T> {
    /// The objects, in no order.
    pub objects: Vec<Arc<T>>,
    /// The version they are the state of; empty before the first list.
    pub resource_version: String,
}

impl<T: Object> Store<T> {
    pub(crate) fn new(clock: Arc<dyn Clock>, owner: u64) -> (Self, StoreWriter<T>) {
        let shared = Arc::new(Shared {
            table: RwLock::new(Table::new()),
            waits: Arc::new(Monitor::new(Waits::default())),
            clock,
            owner,
        });
        (Store { shared: Arc::clone(&shared) }, StoreWriter::new(shared))
    }

    pub(crate) fn with_table<R>(&self, read: impl FnOnce(&Table<T>) -> R) -> R {
        read(&self.shared.table.read())
    }

    /// The object with `key`: an [`ObjectKey`], `(namespace, name)`, or text as `"default/web-0"`.
    #[must_use]
    pub fn get<'k>(&self, key: impl Into<KeyRef<'k>>) -> Option<Arc<T>> {
        let key = key.into();
        self.with_table(|table| table.get(key).cloned())
    }

    /// All objects, in no order.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<T>> {
        self.with_table(|table| {
            let mut objects = Vec::with_capacity(table.len());
            objects.extend(table.iter().map(|(_, object)| Arc::clone(object)));
            objects
        })
    }

    /// The objects of `namespace`, in no order; an empty namespace means all of them (LS-2).
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<T>> {
        if namespace.is_empty() {
            return self.list();
        }
        self.with_table(|table| table.in_namespace(namespace).cloned().collect())
    }

    /// The objects whose labels `selector` matches, in no order (LS-1): a [`Selector`], or kube-core's.
    ///
    /// ```
    /// # use informer_core::{Object, Result, Selector, Store};
    /// # fn count<T: Object>(store: &Store<T>) -> Result<usize> {
    /// let web = Selector::parse("app=web,tier notin (cache,db)")?;
    /// Ok(store.select(&web).len())
    /// # }
    /// ```
    #[must_use]
    pub fn select(&self, selector: impl Into<Selector>) -> Vec<Arc<T>> {
        selected(self.list(), &selector.into())
    }

    /// The keys of all objects, in no order.
    #[must_use]
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.with_table(|table| table.iter().map(|(key, _)| key.clone()).collect())
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.with_table(Table::len)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All objects and the version they are the state of.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<T> {
        self.with_table(|table| Snapshot {
            objects: table.iter().map(|(_, object)| Arc::clone(object)).collect(),
            resource_version: table.version.clone(),
        })
    }

    /// The version of the latest thing applied: of an object, a deletion, a list or a bookmark (SC-1, SC-2). Empty
    /// before the first list.
    #[must_use]
    pub fn resource_version(&self) -> String {
        self.with_table(|table| table.version.clone())
    }

    /// The keys of objects whose newest state could not be decoded: the store holds an older one, or none (D8).
    #[must_use]
    pub fn stale_keys(&self) -> Vec<ObjectKey> {
        self.with_table(|table| table.stale.keys().cloned().collect())
    }

    /// Waits until the store shows your own write: `resource_version` and `uid` as the server answered it.
    ///
    /// Returns once the object is stored at that version or a later one, was replaced by a newer object of its name,
    /// or the store has passed the version without it (deleted, or outside the selection). On a watch with a
    /// selector or a namespace the last may take until the next bookmark, about a minute.
    ///
    /// # Blocking
    /// Until then, until `timeout` has passed, or until the informer stops.
    ///
    /// # Errors
    /// [`is_timed_out`](Error::is_timed_out); [`is_stopped`](Error::is_stopped);
    /// [`ErrorKind::NotComparable`](crate::ErrorKind::NotComparable) when versions do not compare or the server's
    /// history was replaced; [`ErrorKind::Unreadable`](crate::ErrorKind::Unreadable) when the object is there but
    /// does not decode; [`is_would_block`](Error::is_would_block) on a thread of this informer.
    pub fn wait_for<'k>(
        &self,
        key: impl Into<KeyRef<'k>>,
        uid: &str,
        resource_version: &str,
        timeout: Duration,
    ) -> Result<()> {
        self.wait(&Goal::object(key.into().to_key(), uid, resource_version), timeout)
    }

    /// Waits until the store has reached `resource_version`, whatever of it is selected: the coarse form of
    /// [`wait_for`](Store::wait_for).
    ///
    /// # Blocking
    /// As [`wait_for`](Store::wait_for).
    ///
    /// # Errors
    /// As [`wait_for`](Store::wait_for).
    pub fn wait_until(&self, resource_version: &str, timeout: Duration) -> Result<()> {
        self.wait(&Goal::version(resource_version), timeout)
    }

    /// Waits until the object `uid` is not in the store: for a deletion whose answer carries no version.
    ///
    /// An object that the store has not been told of yet is not in it either: of an object that was only just made,
    /// [`wait_for`](Store::wait_for) its creation first.
    ///
    /// # Blocking
    /// As [`wait_for`](Store::wait_for).
    ///
    /// # Errors
    /// As [`wait_for`](Store::wait_for).
    pub fn wait_gone<'k>(&self, key: impl Into<KeyRef<'k>>, uid: &str, timeout: Duration) -> Result<()> {
        self.wait(&Goal::gone(key.into().to_key(), uid), timeout)
    }

    fn wait(&self, goal: &Goal, timeout: Duration) -> Result<()> {
        if crate::informer::runs_on_thread_of(self.shared.owner) {
            return Err(Error::would_block("wait for a version"));
        }
        self.shared.wait(goal, timeout)
    }
}

/// Those of `objects` that `selector` matches. They were cloned under the lock and are looked at outside it: matching
/// is the user's type at work.
pub(crate) fn selected<T: Object>(mut objects: Vec<Arc<T>>, selector: &Selector) -> Vec<Arc<T>> {
    objects.retain(|object| selector.matches(&object.meta().labels));
    objects
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        self.table.write().discard();
    }
}

impl<T> Clone for Store<T> {
    fn clone(&self) -> Self {
        Store { shared: Arc::clone(&self.shared) }
    }
}

impl<T: Object> fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("objects", &self.len())
            .field("resource_version", &self.resource_version())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
