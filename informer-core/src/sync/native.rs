//! Locks and threads of a program: `parking_lot`'s and the operating system's.
//!
//! Invariant: nothing here decides anything; each name stands for one of a library.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

pub use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub(crate) use std::sync::atomic;
pub use std::thread::JoinHandle;
pub(crate) use std::thread_local;

/// `parking_lot`'s condition variable.
pub(super) struct Condvar(parking_lot::Condvar);

impl Condvar {
    pub(super) const fn new() -> Self {
        Condvar(parking_lot::Condvar::new())
    }

    pub(super) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(super) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        self.0.wait(guard);
    }

    /// Answers `false` once the operating system's clock has reached `at`.
    pub(super) fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, at: Instant) -> bool {
        !self.0.wait_until(guard, at).timed_out()
    }
}

static LIVE: AtomicUsize = AtomicUsize::new(0);

pub(super) fn live() -> usize {
    LIVE.load(Ordering::SeqCst)
}

pub(super) fn count_up() {
    LIVE.fetch_add(1, Ordering::SeqCst);
}

pub(super) fn count_down() {
    LIVE.fetch_sub(1, Ordering::SeqCst);
}

pub(super) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(body)
}
