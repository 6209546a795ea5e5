//! Locks and threads of a model: shuttle's or loom's, in the shape of `native`'s.
//!
//! Invariant: a wait ends by a notification alone. Time does not pass by itself in a model: it arrives as the ring of
//! a model's clock, on a thread of the model.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LockResult, PoisonError};
use std::time::Instant;

#[cfg(informer_loom)]
use loom as checker;
#[cfg(informer_shuttle)]
use shuttle as checker;

#[cfg(informer_loom)]
pub(crate) use by_loom::thread_local;
#[cfg(informer_loom)]
pub use by_loom::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub(crate) use checker::sync::atomic;
#[cfg(informer_shuttle)]
pub(crate) use checker::thread_local;
// With parking_lot's rules of admission: a reader queues behind a writer that waits.
#[cfg(informer_shuttle)]
pub use shuttle_parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A mutex without poisoning, as `parking_lot`'s.
pub struct Mutex<T>(checker::sync::Mutex<T>);

/// The lock on a [`Mutex`].
pub struct MutexGuard<'a, T> {
    /// Away while its owner waits on a condition variable.
    inner: Option<checker::sync::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    /// Puts `value` behind a lock.
    pub fn new(value: T) -> Self {
        Mutex(checker::sync::Mutex::new(value))
    }

    /// Locks the value.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { inner: Some(unpoisoned(self.0.lock())) }
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mutex")
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner.as_deref().expect("only a wait takes it, and gives it back")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_deref_mut().expect("only a wait takes it, and gives it back")
    }
}

impl<T> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MutexGuard")
    }
}

fn unpoisoned<G>(lock: LockResult<G>) -> G {
    lock.unwrap_or_else(PoisonError::into_inner)
}

/// The checker's condition variable.
pub(super) struct Condvar(checker::sync::Condvar);

impl Condvar {
    pub(super) fn new() -> Self {
        Condvar(checker::sync::Condvar::new())
    }

    pub(super) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(super) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let inner = guard.inner.take().expect("only a wait takes it, and gives it back");
        guard.inner = Some(unpoisoned(self.0.wait(inner)));
    }

    /// The operating system's clock never gets anywhere in a model.
    pub(super) fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, _: Instant) -> bool {
        self.wait(guard);
        true
    }
}

// All threads of a model are one of the operating system's, and models run beside each other: this counts by model.
std::thread_local!(static LIVE: Cell<usize> = const { Cell::new(0) });

pub(super) fn live() -> usize {
    LIVE.get()
}

pub(super) fn count_up() {
    LIVE.set(LIVE.get() + 1);
}

pub(super) fn count_down() {
    LIVE.set(LIVE.get() - 1);
}

/// The handle of a thread.
#[derive(Debug)]
pub struct JoinHandle<T> {
    inner: checker::thread::JoinHandle<T>,
    finished: Arc<AtomicBool>,
}

impl<T> JoinHandle<T> {
    /// Waits for the thread's end.
    ///
    /// # Errors
    /// The thread's panic.
    pub fn join(self) -> std::thread::Result<T> {
        self.inner.join()
    }

    /// Whether the thread has ended.
    pub fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Relaxed)
    }
}

pub(super) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let finished = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&finished);
    let inner = checker::thread::Builder::new().name(name.to_owned()).spawn(move || {
        body();
        theirs.store(true, Ordering::Relaxed);
    })?;
    Ok(JoinHandle { inner, finished })
}

/// loom's read-write lock, without poisoning, and its thread-locals.
#[cfg(informer_loom)]
mod by_loom {
    use std::ops::{Deref, DerefMut};

    use super::unpoisoned;

    /// loom's own does not know the `const` form.
    macro_rules! local {
        ($vis:vis static $name:ident: $t:ty = const { $init:expr }) => {
            loom::thread_local!($vis static $name: $t = $init);
        };
    }
    pub(crate) use local as thread_local;

    /// A read-write lock without poisoning.
    #[derive(Debug)]
    pub struct RwLock<T>(loom::sync::RwLock<T>);

    /// The shared lock on a [`RwLock`].
    #[derive(Debug)]
    pub struct RwLockReadGuard<'a, T>(Reading<'a, T>);

    /// loom's lock cannot be made shared once it is exclusive: it stays so, and readers wait a little longer.
    #[derive(Debug)]
    enum Reading<'a, T> {
        Shared(loom::sync::RwLockReadGuard<'a, T>),
        Alone(RwLockWriteGuard<'a, T>),
    }

    impl<T> Deref for RwLockReadGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            match &self.0 {
                Reading::Shared(guard) => guard,
                Reading::Alone(guard) => guard,
            }
        }
    }

    /// The exclusive lock on a [`RwLock`].
    #[derive(Debug)]
    pub struct RwLockWriteGuard<'a, T>(loom::sync::RwLockWriteGuard<'a, T>);

    impl<'a, T> RwLockWriteGuard<'a, T> {
        /// Lets other readers in.
        pub fn downgrade(guard: Self) -> RwLockReadGuard<'a, T> {
            RwLockReadGuard(Reading::Alone(guard))
        }
    }

    impl<T> Deref for RwLockWriteGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.0
        }
    }

    impl<T> DerefMut for RwLockWriteGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            &mut self.0
        }
    }

    impl<T> RwLock<T> {
        /// Puts `value` behind a lock.
        pub fn new(value: T) -> Self {
            RwLock(loom::sync::RwLock::new(value))
        }

        /// Locks the value, shared.
        pub fn read(&self) -> RwLockReadGuard<'_, T> {
            RwLockReadGuard(Reading::Shared(unpoisoned(self.0.read())))
        }

        /// Locks the value, alone.
        pub fn write(&self) -> RwLockWriteGuard<'_, T> {
            RwLockWriteGuard(unpoisoned(self.0.write()))
        }
    }
}
