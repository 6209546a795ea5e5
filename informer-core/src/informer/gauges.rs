//! The gauges of an informer, told to its [`Metrics`](crate::Metrics) when they may have changed.
//!
//! Invariant: once nothing changes any more, what was told last is how it is, though several threads tell and none holds
//! a lock while it does.

use std::sync::atomic::{AtomicU8, Ordering};

use super::dispatch::Dispatcher;
use super::shared::Shared;
use crate::meta::Object;
use crate::metrics::Gauge;

/// One thread at a time tells; who comes meanwhile leaves word, and the first one tells once more.
#[derive(Default)]
pub(super) struct Turn(AtomicU8);

const IDLE: u8 = 0;
const TELLING: u8 = 1;
const AGAIN: u8 = 2;

impl Turn {
    fn take(&self, tell: impl Fn()) {
        let come = |now| Some(if now == IDLE { TELLING } else { AGAIN });
        // AcqRel throughout: what was changed before word was left is seen by the one who tells once more.
        if self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, come) != Ok(IDLE) {
            return;
        }
        loop {
            tell();
            if self.0.compare_exchange(TELLING, IDLE, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return;
            }
            self.0.swap(TELLING, Ordering::AcqRel);
        }
    }
}

impl<T: Object> Shared<T> {
    /// The queue has got or lost something. Called under no lock, as all of these.
    pub(super) fn tell_queue(&self) {
        if self.meter.is_on() {
            self.queue_turn.take(|| {
                let (queued, _) = self.fifo.gauges();
                self.meter.set(Gauge::QueuedItems, queued);
            });
        }
    }

    /// Handlers have got something to do, or have done it.
    pub(super) fn tell_backlog(&self) {
        if self.meter.is_on() {
            self.backlog_turn.take(|| {
                let handlers = self.dispatch.lock().statuses();
                let backlog = handlers.iter().map(|handler| handler.pending).max();
                self.meter.set(Gauge::HandlerBacklog, backlog.unwrap_or_default());
            });
        }
    }

    /// The store shows a batch. Only the owner of the pop role tells this, so there is one at a time.
    pub(super) fn tell_store(&self) {
        if self.meter.is_on() {
            let (objects, version) = self.store.with_table(|table| (table.len(), table.version.clone()));
            self.meter.set(Gauge::StoreObjects, objects);
            self.meter.set_version(&version);
        }
    }

    /// How many events have been folded away in backlogs; for differences within one lock section. Zero if nobody wants
    /// to know.
    pub(super) fn folded(&self, dispatch: &Dispatcher<T>) -> u64 {
        if self.meter.is_on() { dispatch.statuses().iter().map(|handler| handler.folded).sum() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::sync::spawn;

    #[test]
    fn me_2_what_is_told_last_is_how_it_is() {
        for _ in 0..200 {
            let all = Arc::new((Turn::default(), AtomicU64::new(0), AtomicU64::new(0)));
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    let all = Arc::clone(&all);
                    spawn("teller", move || {
                        let (turn, value, told) = &*all;
                        for _ in 0..50 {
                            value.fetch_add(1, Ordering::SeqCst);
                            turn.take(|| told.store(value.load(Ordering::SeqCst), Ordering::SeqCst));
                        }
                    })
                    .unwrap()
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!((all.1.load(Ordering::SeqCst), all.2.load(Ordering::SeqCst)), (200, 200));
        }
    }
}
