//! [`ManualClock`]: time that moves only when a test moves it.
//!
//! Looking at the present and registering an alarm are one step under the clock's lock, so an alarm that is
//! registered while the clock moves is either rung by that move or refused as past; none is lost.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use informer_core::sync::Monitor;
use informer_core::time::Alarm;
use informer_core::{Clock, SystemClock};

use crate::deadline::Deadline;

/// A [`Clock`] that a test moves by hand. Clones are the same clock.
///
/// ```
/// use std::time::Duration;
/// use informer_core::{Clock, Stop};
/// use informer_testkit::ManualClock;
///
/// let clock = ManualClock::new();
/// let theirs = clock.clone();
/// let worker = informer_core::sync::spawn("worker", move || {
///     let in_an_hour = theirs.now() + Duration::from_secs(3600);
///     assert!(!Stop::new().wait_until(&theirs, Some(in_an_hour))); // waits until the clock gets there
/// })
/// .unwrap();
/// clock.wait_for_alarms(1); // instead of a sleep: the worker waits now
/// assert_eq!(clock.advance_to_next(), Duration::from_secs(3600));
/// worker.join().unwrap();
/// ```
#[derive(Clone)]
pub struct ManualClock {
    monitor: Arc<Monitor<State>>,
}

type Ring = Box<dyn FnOnce() + Send>;

struct State {
    start: Instant,
    now: Instant,
    /// Where the clock is going; `now` when nobody moves it.
    goal: Instant,
    /// The thread that moves it, and so the one that rings.
    mover: Option<ThreadId>,
    /// Tells alarms of one instant apart, and rings them in the order of their registration.
    next: u64,
    pending: BTreeMap<(Instant, u64), Ring>,
}

impl ManualClock {
    /// A clock that stands still at some instant.
    #[must_use]
    pub fn new() -> Self {
        let now = SystemClock.now();
        let state = State { start: now, now, goal: now, mover: None, next: 0, pending: BTreeMap::new() };
        ManualClock { monitor: Arc::new(Monitor::new(state)) }
    }

    /// Moves the clock on by `by`, ringing what is due on the way, in the order of time, on this thread.
    ///
    /// While an alarm rings, the clock stands at the alarm's instant, and alarms registered meanwhile are part of
    /// the same move if they are due. Moves of several threads add up; a move made by a ring only extends the one
    /// that is under way.
    ///
    /// # Blocking
    /// Until the clock is there. Threads that were woken have not necessarily run yet: wait for their effect.
    ///
    /// # Panics
    /// When `by` is too long for an instant, and with the panic of a ring.
    pub fn advance(&self, by: Duration) {
        let me = std::thread::current().id();
        let mut state = self.monitor.lock();
        let goal = state.goal.checked_add(by).expect("a test's durations fit an instant");
        state.goal = goal;
        if state.mover == Some(me) {
            return; // made by a ring: the loop below, further up this stack, goes on to the new goal
        }
        // At `goal` itself there may be more to ring; once the other thread is past it, there is not.
        while state.mover.is_some() && state.now <= goal {
            self.monitor.wait(&mut state);
        }
        if state.mover.is_some() {
            return;
        }
        state.mover = Some(me);
        drop(state);
        let _moving = Moving { clock: self };
        while let Some(ring) = self.step() {
            ring();
        }
    }

    /// Waits for an alarm, moves the clock to the earliest one and answers how far that was.
    ///
    /// # Blocking
    /// Until an alarm is pending.
    ///
    /// # Panics
    /// When there is none for 20 seconds of real time.
    #[track_caller]
    pub fn advance_to_next(&self) -> Duration {
        let by = self.wait("an alarm", |state| state.until_alarms().next());
        self.advance(by);
        by
    }

    /// How far the clock has been moved since it was made.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        let state = self.monitor.lock();
        state.now - state.start
    }

    /// How many alarms are pending.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.monitor.lock().pending.len()
    }

    /// How far away each pending alarm is, the earliest first.
    #[must_use]
    pub fn alarms(&self) -> Vec<Duration> {
        self.monitor.lock().until_alarms().collect()
    }

    /// Waits until at least `count` alarms are pending: until that many threads wait for time to pass.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds of real time.
    #[track_caller]
    pub fn wait_for_alarms(&self, count: usize) {
        self.wait(&format!("{count} pending alarms"), |state| (count <= state.pending.len()).then_some(()));
    }

    /// Waits until an alarm is pending whose distance from now `wanted` accepts, and answers the distance.
    ///
    /// This is how to wait for a back-off of about a second while longer alarms are pending too.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds of real time; the message has `what`.
    #[track_caller]
    pub fn wait_for_alarm(&self, what: &str, mut wanted: impl FnMut(Duration) -> bool) -> Duration {
        self.wait(what, |state| state.until_alarms().find(|until| wanted(*until)))
    }

    #[track_caller]
    fn wait<R>(&self, what: &str, mut ready: impl FnMut(&State) -> Option<R>) -> R {
        let shown = |state: &State| {
            let alarms: Vec<_> = state.until_alarms().collect();
            format!("a clock with alarms in {alarms:?}")
        };
        Deadline::new().wait_on(&self.monitor, what, |state| ready(state), shown)
    }

    /// Moves to the next instant at which something rings, or to the goal; answers what to ring.
    fn step(&self) -> Option<Ring> {
        let mut state = self.monitor.lock();
        let goal = state.goal;
        let due = match state.pending.first_entry() {
            Some(first) if first.key().0 <= goal => Some(first.remove_entry()),
            _ => None,
        };
        let ring = match due {
            Some(((at, _), ring)) => {
                // Never back: the alarm may be one that a panicking ring kept from its time.
                state.now = state.now.max(at);
                Some(ring)
            }
            None => {
                state.now = goal;
                // In the same lock section, so that a move by another thread is either seen here or sees no mover.
                state.mover = None;
                None
            }
        };
        drop(state);
        self.monitor.notify_all();
        ring
    }
}

impl State {
    fn until_alarms(&self) -> impl Iterator<Item = Duration> + '_ {
        self.pending.keys().map(|(at, _)| at.saturating_duration_since(self.now))
    }
}

/// Takes the mover's role away when a ring panics, so that the clock can still be moved.
struct Moving<'a> {
    clock: &'a ManualClock,
}

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        let mut state = self.clock.monitor.lock();
        if state.mover == Some(std::thread::current().id()) {
            state.mover = None;
            drop(state);
            self.clock.monitor.notify_all();
        }
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        self.monitor.lock().now
    }

    fn alarm(&self, at: Instant, ring: Box<dyn FnOnce() + Send>) -> Option<Alarm> {
        let mut state = self.monitor.lock();
        if at <= state.now {
            drop(state);
            drop(ring); // outside the lock: a user's data may hang on it
            return None;
        }
        let id = (at, state.next);
        state.next += 1;
        state.pending.insert(id, ring);
        drop(state);
        self.monitor.notify_all();
        let monitor = Arc::clone(&self.monitor);
        Some(Alarm::new(move || {
            let ring = monitor.lock().pending.remove(&id);
            drop(ring);
        }))
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        ManualClock::new()
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManualClock").field("elapsed", &self.elapsed()).finish_non_exhaustive()
    }
}
