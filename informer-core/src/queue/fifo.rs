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
    /// How often something was pushed or the tail moved.
    news: u64,
    /// `news` at the last take.
    taken: u64,
    /// Somebody wants the consumer's attention for something else.
    poked: bool,
    /// The consumer is not waiting here, and has not been told yet that something waits.
    away: bool,
    closed: bool,
}

/// What the consumer got.
pub(crate) enum Taken<T> {
    /// Everything that was queued, the version after it, and the count of news up to here.
    Batch { deltas: Vec<Delta<T>>, tail: String, timeline: u64, news: u64 },
    /// Nothing: the wait was cut short by a poke or the deadline.
    Nothing,
    /// The queue is closed.
    Closed,
}

impl<T: Object> DeltaFifo<T> {
    /// An empty queue that folds above `limit` entries.
    pub(crate) fn new(limit: usize) -> Self {
        DeltaFifo {
            monitor: Arc::new(Monitor::new(State {
                queue: FoldQueue::new(limit),
                tail: String::new(),
                timeline: 0,
                news: 0,
                taken: 0,
                poked: false,
                away: true,
                closed: false,
            })),
        }
    }

    /// Appends `delta` and moves the tail. Answers the count of news when the consumer is away and has not been told
    /// yet that something waits.
    pub(crate) fn push(&self, delta: Delta<T>, tail: &str) -> Option<u64> {
        let mut waste = Vec::new();
        let mut state = self.monitor.lock();
        if state.closed {
            drop(state);
            delta.discard();
            return None;
        }
        if let Delta::Replace(list) = &delta
            && list.lowered
        {
            state.timeline += 1; // with the list in one section: versions of two timelines never mix
        }
        state.queue.push(delta, &mut waste);
        state.news += 1;
        tail.clone_into(&mut state.tail);
        let tell = state.tell();
        drop(state);
        self.monitor.notify_all();
        waste.into_iter().for_each(Delta::discard); // outside the lock
        tell
    }

    /// Moves the tail without an entry: a bookmark. Answers as [`push`](DeltaFifo::push).
    pub(crate) fn set_tail(&self, tail: &str) -> Option<u64> {
        let mut state = self.monitor.lock();
        if state.closed || state.tail == tail {
            return None;
        }
        tail.clone_into(&mut state.tail);
        state.news += 1;
        let tell = state.tell();
        drop(state);
        self.monitor.notify_all();
        tell
    }

    /// Cuts the consumer's wait short.
    pub(crate) fn poke(&self) {
        self.monitor.lock().poked = true;
        self.monitor.notify_all();
    }

    /// Ends every wait for good. Answers what was queued, which nobody will be told of (C-11).
    pub(crate) fn close(&self) -> Vec<Delta<T>> {
        let mut state = self.monitor.lock();
        state.closed = true;
        let dropped = state.queue.take();
        drop(state);
        self.monitor.notify_all();
        dropped
    }

    /// How many entries wait, and how many were folded away.
    pub(crate) fn gauges(&self) -> (usize, u64) {
        let state = self.monitor.lock();
        (state.queue.weight(), state.queue.folded())
    }

    /// Waits until there is something, somebody pokes, the queue closes, or `clock` reaches `until`.
    ///
    /// Outside this call the consumer counts as away, whatever the answer was.
    pub(crate) fn take(&self, clock: &dyn Clock, until: Option<Instant>) -> Taken<T> {
        let mut state = self.monitor.lock();
        state.away = false;
        let taken = loop {
            if state.closed {
                break Taken::Closed;
            }
            if state.taken != state.news {
                state.taken = state.news;
                state.poked = false;
                break Taken::Batch {
                    deltas: state.queue.take(),
                    tail: state.tail.clone(),
                    timeline: state.timeline,
                    news: state.news,
                };
            }
            if std::mem::take(&mut state.poked) {
                break Taken::Nothing;
            }
            let in_time = self.monitor.wait_until(&mut state, clock, until);
            // Look once more at the deadline: what came with it must not wait for the next one.
            if !in_time && !state.closed && state.taken == state.news {
                break Taken::Nothing;
            }
        };
        state.away = true;
        taken
    }
}

impl<T> State<T> {
    fn tell(&mut self) -> Option<u64> {
        std::mem::take(&mut self.away).then_some(self.news)
    }
}
