//! [`Stop`]: one signal, set once, that wakes everything that waits.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use crate::contain::contain;
use crate::sync::Monitor;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::time::Clock;

type Hook = Box<dyn FnOnce() + Send>;

/// A signal that is set once and stays set. Clones are the same signal.
///
/// Waits look at it in one of three ways: [`is_set`](Stop::is_set) between two steps,
/// [`wait_until`](Stop::wait_until) instead of sleeping, and [`on_stop`](Stop::on_stop) to end a call
/// that blocks elsewhere (a socket read, a queue).
#[derive(Clone)]
pub struct Stop {
    shared: Arc<Shared>,
}

struct Shared {
    /// The same as `hooks.stopped`, readable without the lock. Written under the lock.
    set: AtomicBool,
    hooks: Arc<Monitor<Hooks>>,
}

#[derive(Default)]
struct Hooks {
    stopped: bool,
    next: u64,
    /// What to call on stop; empty once `stopped`.
    pending: BTreeMap<u64, Hook>,
}

impl Stop {
    /// A signal that is not set.
    #[must_use]
    pub fn new() -> Self {
        Stop {
            shared: Arc::new(Shared {
                set: AtomicBool::new(false),
                hooks: Arc::new(Monitor::new(Hooks::default())),
            }),
        }
    }

    /// Whether the signal is set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        // Acquire pairs with the release in `set`: who sees the signal sees what was written before it.
        self.shared.set.load(Ordering::Acquire)
    }

    /// Sets the signal, wakes every wait on it and calls every hook, on this thread. Later calls do nothing.
    ///
    /// A hook that panics keeps no other from being called, and the panic ends here.
    pub fn set(&self) {
        let mut hooks = self.shared.hooks.lock();
        if hooks.stopped {
            return;
        }
        hooks.stopped = true;
        self.shared.set.store(true, Ordering::Release);
        let pending = std::mem::take(&mut hooks.pending);
        drop(hooks);
        self.shared.hooks.notify_all();
        for hook in pending.into_values() {
            let _ = contain(hook);
        }
    }

    /// Calls `hook` when the signal is set: at once, on this thread, if it already is.
    ///
    /// Dropping the answer takes the hook back. A hook that is running is not waited for.
    /// The hook must be short and must not block.
    pub fn on_stop(&self, hook: impl FnOnce() + Send + 'static) -> OnStop {
        let mut hooks = self.shared.hooks.lock();
        if hooks.stopped {
            drop(hooks);
            hook();
            return OnStop { shared: None };
        }
        let id = hooks.next;
        hooks.next += 1;
        hooks.pending.insert(id, Box::new(hook));
        OnStop { shared: Some((Arc::clone(&self.shared), id)) }
    }

    /// Waits until the signal is set.
    ///
    /// # Blocking
    /// For as long as nobody sets it.
    pub fn wait(&self) {
        let mut hooks = self.shared.hooks.lock();
        while !hooks.stopped {
            self.shared.hooks.wait(&mut hooks);
        }
    }

    /// Waits until the signal is set or `clock` reaches `at` (`None`: no limit). Answers whether it is set.
    ///
    /// # Blocking
    /// Until the earlier of the two.
    pub fn wait_until(&self, clock: &dyn Clock, at: Option<Instant>) -> bool {
        let mut hooks = self.shared.hooks.lock();
        while !hooks.stopped {
            let in_time = self.shared.hooks.wait_until(&mut hooks, clock, at);
            if !in_time {
                break;
            }
        }
        hooks.stopped
    }
}

impl Default for Stop {
    fn default() -> Self {
        Stop::new()
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stop").field("is_set", &self.is_set()).finish_non_exhaustive()
    }
}

/// A registered hook of a [`Stop`]; dropping it takes the hook back.
#[must_use = "dropping this takes the hook back"]
pub struct OnStop {
    shared: Option<(Arc<Shared>, u64)>,
}

impl Drop for OnStop {
    fn drop(&mut self) {
        if let Some((shared, id)) = self.shared.take() {
            let hook = shared.hooks.lock().pending.remove(&id);
            drop(hook); // outside the lock
        }
    }
}

impl fmt::Debug for OnStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnStop")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::spawn;
    use crate::time::SystemClock;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    #[test]
    fn hooks_run_once_and_a_dropped_one_never() {
        let stop = Stop::new();
        let runs = Arc::new(AtomicUsize::new(0));
        let count = |by: usize| {
            let runs = Arc::clone(&runs);
            move || {
                runs.fetch_add(by, Ordering::SeqCst);
            }
        };
        let _kept = stop.on_stop(count(1));
        drop(stop.on_stop(count(10)));
        stop.set();
        stop.set();
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        let _late = stop.on_stop(count(100));
        assert_eq!(runs.load(Ordering::SeqCst), 101);
    }

    #[test]
    fn a_hook_that_panics_keeps_no_other_from_being_called() {
        let stop = Stop::new();
        let ran = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&ran);
        let _first = stop.on_stop(|| panic!("told to"));
        let _second = stop.on_stop(move || theirs.store(true, Ordering::SeqCst));
        stop.set();
        assert!(ran.load(Ordering::SeqCst));
    }

    #[test]
    fn set_wakes_a_wait_without_limit() {
        let stop = Stop::new();
        let theirs = stop.clone();
        let waiter = spawn("waiter", move || assert!(theirs.wait_until(&SystemClock, None))).unwrap();
        stop.set();
        waiter.join().unwrap();
        assert!(stop.wait_until(&SystemClock, Some(SystemClock.now() + Duration::from_secs(3600))));
    }

    #[test]
    fn a_wait_ends_at_its_deadline() {
        let at = SystemClock.now() + Duration::from_millis(5);
        assert!(!Stop::new().wait_until(&SystemClock, Some(at)));
        assert!(at <= SystemClock.now());
    }
}
