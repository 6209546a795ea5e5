//! [`Deadline`]: the net under every wait of this crate, which turns a hang into a failure that says what was missed.
//!
//! Nothing here waits *for* the deadline: waits are woken by what they wait for, and a test that passes never
//! meets it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_core::sync::Monitor;
use informer_core::{Clock, SystemClock};

use crate::probe::Probe;
use crate::threads;

/// How long a wait may take in real time before the test fails.
///
/// The default of 20 seconds is for machines that do ten other things; pass a longer one to
/// [`after`](Deadline::after) where the work itself is long.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    limit: Duration,
    at: Instant,
}

impl Deadline {
    /// A deadline 20 seconds from now.
    #[must_use]
    pub fn new() -> Self {
        Deadline::after(Duration::from_secs(20))
    }

    /// A deadline `limit` from now.
    #[must_use]
    pub fn after(limit: Duration) -> Self {
        Deadline { limit, at: SystemClock.now() + limit }
    }

    /// Whether it has passed.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.at <= SystemClock.now()
    }

    /// When it is.
    #[must_use]
    pub fn at(&self) -> Instant {
        self.at
    }

    /// Waits until `ready` answers `Some` for the value behind `monitor`; it is asked again after each
    /// notification.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When the deadline passes first. The message has `what` and `shown`, the value as text.
    #[track_caller]
    pub fn wait_on<T, R>(
        &self,
        monitor: &Arc<Monitor<T>>,
        what: &str,
        mut ready: impl FnMut(&mut T) -> Option<R>,
        shown: impl FnOnce(&T) -> String,
    ) -> R
    where
        T: Send + 'static,
    {
        let mut state = monitor.lock();
        loop {
            if let Some(answer) = ready(&mut state) {
                return answer;
            }
            if self.has_passed() {
                let shown = shown(&state);
                drop(state); // a panic must not keep others from the value
                panic!("waited {:?} for {what}; it is {shown}", self.limit);
            }
            monitor.wait_until(&mut state, &SystemClock, Some(self.at));
        }
    }
}

impl Default for Deadline {
    fn default() -> Self {
        Deadline::new()
    }
}

/// Runs `body` on a thread of its own and gives back what it answers: for calls that would hang, not fail,
/// when the code under test is wrong (`join`, `stop`, a blocking `list`).
///
/// ```
/// let three = informer_testkit::within("the sum", || 1 + 2);
/// assert_eq!(three, 3);
/// ```
///
/// # Blocking
/// Until `body` returns.
///
/// # Panics
/// When `body` takes more than 20 seconds, naming `what`; its thread is left behind. A panic of `body` goes on
/// here.
#[track_caller]
pub fn within<R: Send + 'static>(what: &str, body: impl FnOnce() -> R + Send + 'static) -> R {
    within_limit(what, Deadline::new(), body)
}

/// As [`within`], with a deadline of the caller's.
///
/// # Blocking
/// Until `body` returns.
///
/// # Panics
/// When the deadline passes first, naming `what`; its thread is left behind. A panic of `body` goes on here.
#[track_caller]
pub fn within_limit<R: Send + 'static>(
    what: &str,
    deadline: Deadline,
    body: impl FnOnce() -> R + Send + 'static,
) -> R {
    let answer = Probe::new(None);
    let theirs = answer.clone();
    let thread = threads::spawn("testkit-within", move || {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        theirs.set(Some(outcome));
    });
    let outcome = deadline.wait_on(answer.monitor(), what, Option::take, |_| "still running".to_owned());
    // It has nothing left to do but end.
    let _ = thread.join();
    match outcome {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
