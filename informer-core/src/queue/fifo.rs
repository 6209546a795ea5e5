//! [`DeltaFifo`]: the queue between the reader and the pop thread, behind one lock.
//!
//! It holds deltas in order of arrival and the *tail*: the version up to which everything has been queued. The
//! tail moves with bookmarks and with entries that were folded away, so the store's version never lags for them.

use std::sync::Arc;
use std::time::Instant;

use super::delta::Delta;
use super::fold::FoldQueue;
use crate::meta::Object;
use crate::sync::Monitor;
use crate::time::Clock;

/// See the module. One producer, one consumer at a time.
pub(crate) struct DeltaFifo<T> {
    monitor: Arc<Monitor<State<T>>>,
}

struct State<T> {
    queue: FoldQueue<Delta<T>>,
    /// The reflector's resume version after the last push.
    tail: String,
    /// How often a list lowered the version.
    timeline: u64,
    /// Whether `tail` or `timeline` moved since the last take.
    moved: bool,
    /// Somebody wants the consumer's attention for something else.
    poked: bool,
    /// The consumer has taken a batch and not come back. The first push of that time must tell the dispatcher.
    away: bool,
    closed: bool,
}

/// What the consumer got.
pub(crate) enum Taken<T> {
    /// Everything that was queued, and the version after it.
    Batch { deltas: Vec<Delta<T>>, tail: String, timeline: u64 },
    /// Nothing: the wait was cut short by a poke or the deadline.
    Nothing,
    /// The queue is closed; what was queued is dropped (C-11).
    Closed(Vec<Delta<T>>),
}

impl<T: Object> DeltaFifo<T> {
    /// An empty queue that folds above `limit` entries.
    pub(crate) fn new(limit: usize) -> Self {
        DeltaFifo {
            monitor: Arc::new(Monitor::new(State {
                queue: FoldQueue::new(limit),
                tail: String::new(),
                timeline: 0,
                moved: false,
                poked: false,
                away: false,
                closed: false,
            })),
        }
    }

    /// Appends `delta` and moves the tail. Answers whether the consumer is away and has not been told yet that
    /// something waits.
    pub(crate) fn push(&self, delta: Delta<T>, tail: &str) -> bool {
        let mut waste = Vec::new();
        let mut state = self.monitor.lock();
        if state.closed {
            drop(state);
            return false;
        }
        if let Delta::Replace(list) = &delta
            && list.lowered
        {
            state.timeline += 1; // with the list in one section: versions of two timelines never mix
        }
        state.queue.push(delta, &mut waste);
        state.set_tail(tail);
        let tell = std::mem::take(&mut state.away);
        drop(state);
        self.monitor.notify_all();
        tell // `waste` is dropped here, outside the lock
    }

    /// Moves the tail without an entry: a bookmark. Answers as [`push`](DeltaFifo::push).
    pub(crate) fn set_tail(&self, tail: &str) -> bool {
        let mut state = self.monitor.lock();
        state.set_tail(tail);
        let tell = state.moved && std::mem::take(&mut state.away);
        drop(state);
        self.monitor.notify_all();
        tell
    }

    /// Cuts the consumer's wait short.
    pub(crate) fn poke(&self) {
        self.monitor.lock().poked = true;
        self.monitor.notify_all();
    }

    /// Ends every wait for good.
    pub(crate) fn close(&self) {
        self.monitor.lock().closed = true;
        self.monitor.notify_all();
    }

    /// How many entries wait, and how many were folded away.
    pub(crate) fn gauges(&self) -> (usize, u64) {
        let state = self.monitor.lock();
        (state.queue.weight(), state.queue.folded())
    }

    /// Waits until there is something, somebody pokes, the queue closes, or `clock` reaches `until`.
    ///
    /// From a batch on, the consumer counts as away until it calls again.
    pub(crate) fn take(&self, clock: &dyn Clock, until: Option<Instant>) -> Taken<T> {
        let mut state = self.monitor.lock();
        state.away = false;
        loop {
            if state.closed {
                return Taken::Closed(state.queue.take());
            }
            if state.moved || !state.queue.is_empty() {
                state.away = true;
                state.moved = false;
                state.poked = false;
                return Taken::Batch {
                    deltas: state.queue.take(),
                    tail: state.tail.clone(),
                    timeline: state.timeline,
                };
            }
            if std::mem::take(&mut state.poked) {
                return Taken::Nothing;
            }
            if !self.monitor.wait_until(&mut state, clock, until) {
                // Look once more: what came with the deadline must not wait for the next one.
                if state.closed || state.moved || !state.queue.is_empty() {
                    continue;
                }
                return Taken::Nothing;
            }
        }
    }
}

impl<T> State<T> {
    fn set_tail(&mut self, tail: &str) {
        if self.tail != tail {
            tail.clone_into(&mut self.tail);
            self.moved = true;
        }
    }
}
