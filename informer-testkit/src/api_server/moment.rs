//! Wall-clock times of objects, told by the engine's clock.
//!
//! A [`Clock`] knows instants only, so the calendar is read once, at the start; from then on a manual clock moves
//! timestamps too.

use std::time::{Instant, SystemTime};

use informer_core::Clock;
use k8s_openapi::jiff::Timestamp;

/// One instant of the clock, and what time of day it was then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calendar {
    start: Instant,
    then: SystemTime,
}

impl Calendar {
    /// Reads the time of day.
    pub(super) fn new(clock: &dyn Clock) -> Self {
        Calendar { start: clock.now(), then: SystemTime::now() }
    }

    /// The time of day of `now`, in whole seconds: `2026-11-30T18:05:48Z`.
    pub(super) fn text(&self, now: Instant) -> String {
        let then = self.then + now.saturating_duration_since(self.start);
        let seconds = then.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        i64::try_from(seconds)
            .ok()
            .and_then(|seconds| Timestamp::from_second(seconds).ok())
            .unwrap_or(Timestamp::UNIX_EPOCH)
            .to_string()
    }
}
