//! [`Gate`]: a place where other threads stand until the test lets them go on.
//!
//! A gate opens when its last handle is dropped, so that a test that fails lets go of everything it held.

use std::fmt;
use std::sync::Arc;

use informer_core::Stop;
use informer_core::sync::Monitor;

use crate::deadline::Deadline;

/// Holds threads until [`open`](Gate::open). Clones are the same gate.
///
/// Give it to a [`Recorder`](crate::Recorder) to block a handler, to a [`FakeSource`](crate::FakeSource) to hold
/// back an answer, or to a script of [`ScriptedServer`](crate::ScriptedServer).
///
/// ```
/// use informer_testkit::{Gate, Probe};
///
/// let gate = Gate::new("the worker may finish");
/// let (pass, done) = (gate.pass(), Probe::new(false));
/// let theirs = done.clone();
/// let worker = informer_core::sync::spawn("worker", move || {
///     pass.wait();
///     theirs.set(true);
/// })
/// .unwrap();
/// gate.wait_for_waiting(1);
/// assert!(!done.get());
/// gate.open();
/// worker.join().unwrap();
/// assert!(done.get());
/// ```
#[derive(Clone)]
pub struct Gate {
    keeper: Arc<Keeper>,
}

/// The side of a [`Gate`] that waits; it does not keep the gate closed.
#[derive(Clone)]
pub struct Pass {
    inner: Arc<Inner>,
}

/// Opens the gate when the last handle goes.
struct Keeper {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    door: Arc<Monitor<Door>>,
}

#[derive(Debug, Default)]
struct Door {
    open: bool,
    /// Who stands at the gate now.
    waiting: usize,
    /// Who has ever come to the gate.
    arrived: usize,
}

impl Gate {
    /// A closed gate; `name` is what failures call it.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let inner = Inner { name: name.to_owned(), door: Arc::new(Monitor::new(Door::default())) };
        Gate { keeper: Arc::new(Keeper { inner: Arc::new(inner) }) }
    }

    /// Opens the gate for good.
    pub fn open(&self) {
        self.keeper.inner.open();
    }

    /// The side that waits.
    #[must_use]
    pub fn pass(&self) -> Pass {
        Pass { inner: Arc::clone(&self.keeper.inner) }
    }

    /// Waits until at least `count` threads stand at the gate.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds of real time.
    #[track_caller]
    pub fn wait_for_waiting(&self, count: usize) {
        self.wait_until(&format!("{count} threads at the gate {:?}", self.keeper.inner.name), |door| {
            count <= door.waiting
        });
    }

    /// Waits until `count` threads have come to the gate since it was made, whether they still stand there or not.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds of real time.
    #[track_caller]
    pub fn wait_for_arrived(&self, count: usize) {
        self.wait_until(&format!("{count} arrivals at the gate {:?}", self.keeper.inner.name), |door| {
            count <= door.arrived
        });
    }

    #[track_caller]
    fn wait_until(&self, what: &str, wanted: impl Fn(&Door) -> bool) {
        let ready = |door: &mut Door| wanted(door).then_some(());
        Deadline::new().wait_on(&self.keeper.inner.door, what, ready, |door| format!("{door:?}"));
    }
}

impl Pass {
    /// Stands at the gate until it opens.
    ///
    /// # Blocking
    /// Until the gate is opened, or its last handle dropped.
    pub fn wait(&self) {
        self.wait_or_stop(&Stop::new());
    }

    /// As [`wait`](Pass::wait), but goes on when `stop` is set. Answers whether the gate is open.
    ///
    /// # Blocking
    /// Until the gate opens or `stop` is set.
    pub fn wait_or_stop(&self, stop: &Stop) -> bool {
        let monitor = &self.inner.door;
        let theirs = Arc::clone(monitor);
        let _hook = stop.on_stop(move || {
            // Taking the lock orders this wake after the waiter has begun to wait.
            drop(theirs.lock());
            theirs.notify_all();
        });
        let mut door = monitor.lock();
        door.waiting += 1;
        door.arrived += 1;
        monitor.notify_all();
        while !door.open && !stop.is_set() {
            monitor.wait(&mut door);
        }
        door.waiting -= 1;
        monitor.notify_all();
        door.open
    }
}

impl Inner {
    fn open(&self) {
        self.door.lock().open = true;
        self.door.notify_all();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.inner.open();
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gate").field(&self.keeper.inner.name).finish()
    }
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pass").field(&self.inner.name).finish()
    }
}
