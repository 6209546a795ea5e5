//! [`Probe`]: a value that callbacks set and tests wait on.
//!
//! Every change wakes every wait, so no test polls.

use std::fmt;
use std::sync::Arc;

use informer_core::sync::Monitor;

use crate::deadline::Deadline;

/// A shared value that tests wait on. Clones are the same value.
///
/// ```
/// use informer_testkit::Probe;
///
/// let seen = Probe::new(0);
/// let theirs = seen.clone();
/// let worker = informer_core::sync::spawn("worker", move || theirs.update(|n| *n += 1)).unwrap();
/// seen.wait("the worker", |n| *n == 1);
/// worker.join().unwrap();
/// ```
pub struct Probe<T> {
    monitor: Arc<Monitor<T>>,
}

impl<T> Probe<T> {
    /// A probe that holds `value`.
    pub fn new(value: T) -> Self {
        Probe { monitor: Arc::new(Monitor::new(value)) }
    }

    /// Replaces the value.
    pub fn set(&self, value: T) {
        let old = self.update(|held| std::mem::replace(held, value));
        drop(old); // outside the lock: it may be anything
    }

    /// Changes the value under its lock and wakes the waits. `change` must not use this probe.
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let answer = change(&mut self.monitor.lock());
        self.monitor.notify_all();
        answer
    }

    /// Looks at the value under its lock. `look` must not use this probe.
    pub fn with<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.monitor.lock())
    }

    /// A copy of the value.
    pub fn get(&self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }

    pub(crate) fn monitor(&self) -> &Arc<Monitor<T>> {
        &self.monitor
    }
}

impl<T: fmt::Debug + Send + 'static> Probe<T> {
    /// Waits until `wanted` accepts the value.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds of real time; the message has `what` and the value.
    #[track_caller]
    pub fn wait(&self, what: &str, mut wanted: impl FnMut(&T) -> bool) {
        self.wait_for(what, |value| wanted(value).then_some(()));
    }

    /// Waits until `ready` answers `Some`, and gives that back.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds of real time; the message has `what` and the value.
    #[track_caller]
    pub fn wait_for<R>(&self, what: &str, ready: impl FnMut(&mut T) -> Option<R>) -> R {
        Deadline::new().wait_on(&self.monitor, what, ready, |value| format!("{value:?}"))
    }
}

impl<T> Clone for Probe<T> {
    fn clone(&self) -> Self {
        Probe { monitor: Arc::clone(&self.monitor) }
    }
}

impl<T: Default> Default for Probe<T> {
    fn default() -> Self {
        Probe::new(T::default())
    }
}

impl<T> fmt::Debug for Probe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe").finish_non_exhaustive()
    }
}
