//! [`Backlog`]: how far a watch is behind, and whether it is too slow to be kept.
//!
//! A real server has a buffer of events for each watch. One whose buffer is full, and that takes nothing for a while,
//! is closed: its client sees a watch that ends in good order, and begins another. Here events stay in the history,
//! and the buffer is a number; what is counted and when a watch is closed are the same.

use std::time::{Duration, Instant};

/// How many changes may wait for a watch. The largest buffer of a real server.
pub(super) const BUFFER: usize = 1_000;

/// How long a watch may take nothing while more than that wait.
pub(super) const PATIENCE: Duration = Duration::from_millis(100);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    waiting: usize,
    /// Since when too many have been waiting, or when something was taken last, whichever is later.
    since: Option<Instant>,
}

impl Backlog {
    /// One more change waits.
    pub(super) fn push(&mut self, now: impl FnOnce() -> Instant) {
        self.waiting += 1;
        if BUFFER < self.waiting && self.since.is_none() {
            self.since = Some(now());
        }
    }

    /// So many of them have been taken.
    pub(super) fn took(&mut self, changes: usize) {
        self.waiting = self.waiting.saturating_sub(changes);
    }

    /// The watch goes on with what it has taken.
    pub(super) fn goes_on(&mut self, now: Instant) {
        self.since = (BUFFER < self.waiting).then_some(now);
    }

    /// Whether the watch is to be closed.
    pub(super) fn is_too_long(&self, now: Instant) -> bool {
        self.since.is_some_and(|since| PATIENCE <= now.saturating_duration_since(since))
    }
}
