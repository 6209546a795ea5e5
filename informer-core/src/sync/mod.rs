//! The one place that names locks, condition variables and threads.
//!
//! Everything else in the workspace takes them from here, so that a model checker can stand in for them
//! and so that every thread has a name and is counted.
//!
//! One API, three ways: `parking_lot` and the standard library (`native`); shuttle or loom (`checked`) under the
//! private cfgs `informer_shuttle` and `informer_loom`, for the models. [`Monitor`] is the same code in all three.

#[cfg(any(informer_shuttle, informer_loom))]
mod checked;
#[cfg(not(any(informer_shuttle, informer_loom)))]
mod native;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Instant;

#[cfg(any(informer_shuttle, informer_loom))]
use checked as imp;
#[cfg(not(any(informer_shuttle, informer_loom)))]
use native as imp;

pub use imp::{JoinHandle, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub(crate) use imp::{atomic, thread_local};

use crate::time::Clock;

/// A value behind a mutex with the condition variable that tells of its changes.
///
/// The rule of use: change the value under the lock, then notify; wait in a loop on the value.
pub struct Monitor<T> {
    state: Mutex<T>,
    changed: imp::Condvar,
}

impl<T> fmt::Debug for Monitor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor").finish_non_exhaustive()
    }
}

impl<T> Monitor<T> {
    /// Puts `state` behind a lock.
    pub fn new(state: T) -> Self {
        Monitor { state: Mutex::new(state), changed: imp::Condvar::new() }
    }

    /// Locks the value.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.state.lock()
    }

    /// Wakes every thread that waits for a change.
    pub fn notify_all(&self) {
        self.changed.notify_all();
    }

    /// Gives up the lock until the next notification. Wakes without one are possible.
    pub fn wait(&self, guard: &mut MutexGuard<'_, T>) {
        self.changed.wait(guard);
    }
}

impl<T: Send + 'static> Monitor<T> {
    /// Gives up the lock until the next notification, or until `clock` reaches `at` (`None`: no limit).
    ///
    /// Answers `false` once the clock has reached `at`. Wakes without either are possible.
    pub fn wait_until(
        self: &Arc<Self>,
        guard: &mut MutexGuard<'_, T>,
        clock: &dyn Clock,
        at: Option<Instant>,
    ) -> bool {
        let Some(at) = at else {
            self.changed.wait(guard);
            return true;
        };
        if clock.is_real() {
            return self.changed.wait_until(guard, at);
        }
        let monitor = Arc::downgrade(self);
        let alarm = clock.alarm(
            at,
            Box::new(move || {
                if let Some(monitor) = monitor.upgrade() {
                    // Taking the lock orders this wake after the waiter has begun to wait.
                    drop(monitor.lock());
                    monitor.notify_all();
                }
            }),
        );
        if alarm.is_none() {
            return false;
        }
        self.changed.wait(guard);
        clock.now() < at
    }
}

/// How many threads that this library spawned are running now, in the whole process.
///
/// The process-wide watchdog (`informer-watchdog`) is not counted: it is shared and never ends.
pub fn live_threads() -> usize {
    imp::live()
}

/// Spawns a named, counted thread.
///
/// # Errors
/// The operating system's, when it has no thread to give.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    struct Live;
    impl Drop for Live {
        fn drop(&mut self) {
            imp::count_down();
        }
    }
    imp::count_up();
    let live = Live; // counted down also when the spawn fails or the body panics
    imp::spawn(name, move || {
        let _live = live;
        body();
    })
}
