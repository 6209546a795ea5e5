//! The request that runs on this thread: which stop ends it, and what became of it on the wire.
//!
//! ureq runs resolver, connector and transport on the caller's thread, so a thread-local carries what they need
//! and ureq does not pass on. Invariant: outside [`scoped`] there is no current scope, also after a panic in it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use informer_core::{Clock, OnStop, Stop, SystemClock};

thread_local!(static CURRENT: RefCell<Option<Scope>> = const { RefCell::new(None) });
thread_local!(static UNTIL: Cell<Option<Instant>> = const { Cell::new(None) });

/// One attempt of one request.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    shared: Rc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Tells scopes apart; never used twice in a process.
    id: u64,
    stop: Stop,
    began: Instant,
    reused: Cell<bool>,
    answered: Cell<bool>,
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trace {
    /// It went out on a connection that an earlier request had opened.
    pub reused: bool,
    /// At least one byte came back.
    pub answered: bool,
}

/// Runs `f`, one call of ureq, under `stop`.
pub(super) fn scoped<T>(stop: &Stop, f: impl FnOnce() -> T) -> (T, Trace) {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    struct Restore(Option<Scope>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let scope = Scope {
        shared: Rc::new(Shared {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            stop: stop.clone(),
            began: SystemClock.now(),
            reused: Cell::new(false),
            answered: Cell::new(false),
        }),
    };
    let restore = Restore(CURRENT.replace(Some(scope.clone())));
    let answer = f();
    drop(restore);
    (answer, Trace { reused: scope.shared.reused.get(), answered: scope.shared.answered.get() })
}

/// Runs `f`, in which no socket of this thread waits beyond `at`, however often it is read and written: limits for each
/// read and write do not end what comes drop by drop. Of nested ones the earliest holds.
pub(super) fn until<T>(at: Option<Instant>, f: impl FnOnce() -> T) -> T {
    struct Restore(Option<Instant>);
    impl Drop for Restore {
        fn drop(&mut self) {
            UNTIL.set(self.0);
        }
    }
    let before = UNTIL.get();
    let _restore = Restore(before);
    UNTIL.set(match (before, at) {
        (Some(before), Some(at)) => Some(before.min(at)),
        (before, at) => before.or(at),
    });
    f()
}

/// When sockets of this thread stop waiting.
pub(super) fn deadline() -> Option<Instant> {
    UNTIL.get()
}

/// The scope in force on this thread.
pub(super) fn current() -> Option<Scope> {
    CURRENT.with_borrow(Clone::clone)
}

/// The id of the scope in force, 0 if there is none.
pub(super) fn current_id() -> u64 {
    CURRENT.with_borrow(|scope| scope.as_ref().map_or(0, |scope| scope.shared.id))
}

impl Scope {
    pub(super) fn id(&self) -> u64 {
        self.shared.id
    }

    /// When the attempt began.
    pub(super) fn began(&self) -> Instant {
        self.shared.began
    }

    /// Registers `hook` with the stop of this scope.
    pub(super) fn on_stop(&self, hook: impl FnOnce() + Send + 'static) -> OnStop {
        self.shared.stop.on_stop(hook)
    }

    pub(super) fn note_reused(&self) {
        self.shared.reused.set(true);
    }

    pub(super) fn note_answered(&self) {
        self.shared.answered.set(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_nest_and_end_with_a_panic() {
        let stop = Stop::new();
        let ((outer, inner, back), _) = scoped(&stop, || {
            let outer = current_id();
            let (inner, _) = scoped(&Stop::new(), current_id);
            (outer, inner, current_id())
        });
        assert_eq!(outer, back);
        assert_ne!(outer, inner);
        let panicked = std::panic::catch_unwind(|| scoped(&Stop::new(), || panic!("within a scope")));
        assert!(panicked.is_err());
        assert_eq!(current_id(), 0);
    }

    #[test]
    fn the_earliest_of_nested_limits_holds_and_a_panic_ends_it() {
        let (early, late) = (SystemClock.now(), SystemClock.now() + std::time::Duration::from_secs(1));
        let seen = until(Some(early), || (until(Some(late), deadline), until(None, deadline), deadline()));
        assert_eq!(seen, (Some(early), Some(early), Some(early)));
        assert_eq!(until(Some(late), || until(Some(early), deadline)), Some(early));
        assert!(std::panic::catch_unwind(|| until(Some(early), || panic!("within a limit"))).is_err());
        assert_eq!(deadline(), None);
    }

    #[test]
    fn the_trace_tells_what_was_noted() {
        let (_, trace) = scoped(&Stop::new(), || current().unwrap().note_reused());
        assert_eq!(trace, Trace { reused: true, answered: false });
    }
}
