//! The one place that names locks, condition variables and threads.
//!
//! Everything else in the workspace takes them from here, so that a model checker can stand in for them
//! and so that every thread has a name and is counted.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

pub use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::thread::JoinHandle;

use crate::time::Clock;

/// A value behind a mutex with the condition variable that tells of its changes.
///
/// The rule of use: change the value under the lock, then notify; wait in a loop on the value.
pub struct Monitor<T> {
    state: Mutex<T>,
    changed: parking_lot::Condvar,
}

impl<T> fmt::Debug for Monitor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor").finish_non_exhaustive()
    }
}

impl<T> Monitor<T> {
    /// Puts `state` behind a lock.
    pub fn new(state: T) -> Self {
        Monitor { state: Mutex::new(state), changed: parking_lot::Condvar::new() }
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
            return !self.changed.wait_until(guard, at).timed_out();
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

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// How many threads that this library spawned are running now, in the whole process.
///
/// The process-wide watchdog (`informer-watchdog`) is not counted: it is shared and never ends.
pub fn live_threads() -> usize {
    LIVE.load(Ordering::SeqCst)
}

/// Spawns a named, counted thread.
///
/// # Errors
/// The operating system's, when it has no thread to give.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    struct Live;
    impl Drop for Live {
        fn drop(&mut self) {
            LIVE.fetch_sub(1, Ordering::SeqCst);
        }
    }
    LIVE.fetch_add(1, Ordering::SeqCst);
    let live = Live; // counted down also when the spawn fails or the body panics
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        let _live = live;
        body();
    })
}
