//! Time comes from a [`Clock`]: deadlines are absolute instants, and a test can move them by hand.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::contain::contain;
use crate::sync::Monitor;

/// Where the library gets its time from.
///
/// [`SystemClock`] is the one for programs; `informer-testkit` has a manual one. Its methods are called under locks of
/// the informer's, so they must not call back into it.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The present instant.
    fn now(&self) -> Instant;

    /// Calls `ring` once when the clock reaches `at`, on a thread of the clock, never inside this call.
    ///
    /// Answers `None`, and drops `ring`, when `at` is not in the future. Dropping the [`Alarm`] cancels it;
    /// a ring that has already begun is not waited for. `ring` must be short and must not block.
    fn alarm(&self, at: Instant, ring: Box<dyn FnOnce() + Send>) -> Option<Alarm>;

    /// Whether instants of this clock are those of the operating system, so that waits may use its time-outs.
    fn is_real(&self) -> bool {
        false
    }
}

impl Clock for Arc<dyn Clock> {
    fn now(&self) -> Instant {
        (**self).now()
    }

    fn alarm(&self, at: Instant, ring: Box<dyn FnOnce() + Send>) -> Option<Alarm> {
        (**self).alarm(at, ring)
    }

    fn is_real(&self) -> bool {
        (**self).is_real()
    }
}

/// A pending ring of a [`Clock`]; dropping it cancels the ring.
#[must_use = "dropping an alarm cancels it"]
pub struct Alarm {
    cancel: Option<Box<dyn FnOnce() + Send>>,
}

impl Alarm {
    /// Wraps the action that cancels the alarm.
    pub fn new(cancel: impl FnOnce() + Send + 'static) -> Self {
        Alarm { cancel: Some(Box::new(cancel)) }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if let Some(cancel) = self.cancel.take() {
            cancel();
        }
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Alarm")
    }
}

/// `timeout` from now, or `None` where that is too far away to be an instant.
pub fn deadline(clock: &dyn Clock, timeout: Duration) -> Option<Instant> {
    clock.now().checked_add(timeout)
}

/// The clock of the operating system.
///
/// Its alarms are rung by one thread a process, `informer-watchdog`, started with the first alarm.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn alarm(&self, at: Instant, ring: Box<dyn FnOnce() + Send>) -> Option<Alarm> {
        if at <= self.now() {
            return None;
        }
        let timers = watchdog();
        let mut state = timers.lock();
        let id = (at, state.next);
        state.next += 1;
        state.pending.insert(id, ring);
        drop(state);
        timers.notify_all();
        Some(Alarm::new(move || {
            // A user's data may hang on the ring: it is dropped outside the lock.
            let ring = timers.lock().pending.remove(&id);
            drop(ring);
        }))
    }

    fn is_real(&self) -> bool {
        true
    }
}

/// The rings that the watchdog thread waits for.
#[derive(Default)]
struct Timers {
    /// Tells alarms of one instant apart.
    next: u64,
    /// Ordered by time; an entry leaves when it rings or is cancelled.
    pending: BTreeMap<(Instant, u64), Box<dyn FnOnce() + Send>>,
}

fn watchdog() -> Arc<Monitor<Timers>> {
    static WATCHDOG: OnceLock<Arc<Monitor<Timers>>> = OnceLock::new();
    Arc::clone(WATCHDOG.get_or_init(|| {
        let timers = Arc::new(Monitor::new(Timers::default()));
        let theirs = Arc::clone(&timers);
        // Not through `sync::spawn`: this one belongs to the process and is never joined.
        let thread = std::thread::Builder::new().name("informer-watchdog".to_owned());
        if let Err(error) = thread.spawn(move || run_watchdog(&theirs)) {
            log::error!(target: "informer::watchdog", "no thread for the watchdog: {error}; slow handlers stay on the pop thread");
        }
        timers
    }))
}

fn run_watchdog(timers: &Arc<Monitor<Timers>>) {
    let clock = SystemClock;
    let mut state = timers.lock();
    loop {
        let next = state.pending.first_key_value().map(|(id, _)| id.0);
        match next {
            Some(at) if at <= clock.now() => {
                let due = state.pending.pop_first();
                drop(state);
                if let Some((_, ring)) = due {
                    // A ring is our own code; should it panic, the alarms of others must still come.
                    let _ = contain(ring);
                }
                state = timers.lock();
            }
            at => {
                timers.wait_until(&mut state, &clock, at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn alarms_ring_in_order_and_a_cancelled_one_does_not() {
        let clock = SystemClock;
        let (tell, told) = mpsc::channel();
        let at = clock.now() + Duration::from_millis(20);
        let ring = |n: u32| {
            let tell = tell.clone();
            Box::new(move || tell.send(n).unwrap()) as Box<dyn FnOnce() + Send>
        };
        let _second = clock.alarm(at + Duration::from_millis(1), ring(2));
        let _first = clock.alarm(at, ring(1));
        let cancelled = clock.alarm(at, ring(3));
        drop(cancelled);
        assert_eq!(told.recv().unwrap(), 1);
        assert_eq!(told.recv().unwrap(), 2);
        assert!(told.try_recv().is_err());
    }

    #[test]
    fn an_alarm_for_the_past_is_refused() {
        let clock = SystemClock;
        assert!(clock.alarm(clock.now(), Box::new(|| ())).is_none());
    }

    #[test]
    fn a_deadline_too_far_away_is_none() {
        assert_eq!(deadline(&SystemClock, Duration::MAX), None);
    }
}
