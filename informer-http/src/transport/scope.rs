//! The request that runs on this thread: which stop ends it, and what became of it on the wire.
//!
//! ureq runs resolver, connector and transport on the caller's thread, so a thread-local carries what they need
//! and ureq does not pass on. Invariant: outside [`scoped`] there is no current scope, also after a panic in it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use informer_core::{OnStop, Stop};

thread_local!(static CURRENT: RefCell<Option<Scope>> = const { RefCell::new(None) });

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
            reused: Cell::new(false),
            answered: Cell::new(false),
        }),
    };
    let restore = Restore(CURRENT.replace(Some(scope.clone())));
    let answer = f();
    drop(restore);
    (answer, Trace { reused: scope.shared.reused.get(), answered: scope.shared.answered.get() })
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
    fn the_trace_tells_what_was_noted() {
        let (_, trace) = scoped(&Stop::new(), || current().unwrap().note_reused());
        assert_eq!(trace, Trace { reused: true, answered: false });
    }
}
