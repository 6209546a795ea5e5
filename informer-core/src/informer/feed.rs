//! [`Feed`]: the reader thread's way into the queue; the informer's [`Target`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::shared::Shared;
use crate::error::ErrorKind;
use crate::key::{KeyRef, ObjectKey};
use crate::meta::Object;
use crate::metrics::{Counter, Histogram};
use crate::queue::{Deletion, Delta, Replace};
use crate::reflector::{Heard, Listed, Phase, Report, Target};

/// See the module.
pub(super) struct Feed<T> {
    shared: Arc<Shared<T>>,
    /// When the list and the watch under way began.
    list: Option<Instant>,
    watch: Option<Instant>,
    /// Events of that watch.
    events: u64,
    /// The last failure since the last complete list: why there is another one.
    failed: Option<ErrorKind>,
    /// How many entries the queue has folded away, as far as that was told.
    folded: u64,
}

impl<T: Object> Feed<T> {
    pub(super) fn new(shared: Arc<Shared<T>>) -> Self {
        Feed { shared, list: None, watch: None, events: 0, failed: None, folded: 0 }
    }

    /// Counts and measures what was heard; under no lock.
    fn meter(&mut self, what: Heard, now: Instant) {
        let meter = &self.shared.meter;
        match what {
            Heard::List { again } => {
                self.list = Some(now);
                meter.count(Counter::Lists, 1);
                if again {
                    meter.count(Counter::Relists(self.why()), 1);
                }
            }
            Heard::Watch => {
                self.watch = Some(now);
                self.events = 0;
                meter.count(Counter::Watches, 1);
            }
            Heard::Event => self.events += 1,
            Heard::Ended { fruitless } => {
                meter.count(Counter::ShortWatches, u64::from(fruitless));
                meter.observe(Histogram::ItemsPerWatch, self.events);
                meter.took(Histogram::WatchDuration, since(self.watch, now));
            }
            Heard::Bytes(bytes) => meter.count(Counter::Bytes, bytes),
            Heard::Page | Heard::Opened | Heard::Live | Heard::Bookmark => {}
        }
    }

    /// Why there is another list. The one that no failure leads to is that after a probe: the server's version is below
    /// the store's.
    fn why(&self) -> ErrorKind {
        self.failed.unwrap_or(ErrorKind::NotComparable)
    }

    fn push(&mut self, delta: Delta<T>, version: &str) {
        if let Some(news) = self.shared.fifo.push(delta, version) {
            self.shared.arrived(news);
        }
        if self.shared.meter.is_on() {
            self.shared.tell_queue();
            let (_, folded) = self.shared.fifo.gauges();
            self.shared
                .meter
                .count(Counter::QueueFolded, folded - std::mem::replace(&mut self.folded, folded));
        }
    }
}

impl<T: Object> Target<T> for Feed<T> {
    fn have(&self, key: KeyRef<'_>, uid: &str, resource_version: &str) -> Option<Arc<T>> {
        let object = self.shared.store.get(key)?;
        let meta = object.meta();
        let same =
            !resource_version.is_empty() && meta.resource_version == resource_version && meta.uid == uid;
        same.then_some(object)
    }

    fn may_have(&self) -> bool {
        !self.shared.store.is_empty()
    }

    fn replace(&mut self, list: Listed<T>) {
        if list.lowered {
            log::warn!(
                target: "informer::reflector",
                "{}: the server's version went back to {}; its history was replaced",
                self.shared.name, list.version
            );
            self.shared.progress.lock().counters.lowered += 1;
        }
        if list.initial {
            log::info!(
                target: "informer::reflector",
                "{}: listed {} objects at version {}",
                self.shared.name, list.items.len(), list.version
            );
        }
        let Listed { items, unreadable, complete, version, initial, lowered } = list;
        self.failed = None;
        let meter = &self.shared.meter;
        if meter.is_on() {
            meter.observe(Histogram::ItemsPerList, items.len() as u64);
            meter.took(Histogram::ListDuration, since(self.list, self.shared.clock.now()));
        }
        self.push(Delta::Replace(Replace { items, unreadable, complete, initial, lowered }), &version);
    }

    fn upsert(&mut self, key: ObjectKey, object: Arc<T>, version: &str) {
        self.push(Delta::Upsert { key, object }, version);
    }

    fn delete(&mut self, key: ObjectKey, object: Arc<T>, version: &str) {
        self.push(Delta::Delete { key, what: Deletion::Final(object), forced: false }, version);
    }

    fn delete_unseen(&mut self, key: ObjectKey, uid: String, version: &str) {
        self.push(Delta::Delete { key, what: Deletion::Unseen(uid), forced: false }, version);
    }

    fn unreadable(&mut self, key: ObjectKey, uid: String, resource_version: String, version: &str) {
        self.push(Delta::Unreadable { key, uid, resource_version }, version);
    }

    fn bookmark(&mut self, version: &str) {
        if let Some(news) = self.shared.fifo.set_tail(version) {
            self.shared.arrived(news);
        }
    }

    fn heard(&mut self, what: Heard) {
        let now = self.shared.clock.now();
        let mut progress = self.shared.progress.lock();
        if let Heard::List { again: true } = what {
            progress.relist(self.why());
        }
        let recovered = progress.heard(what, now);
        drop(progress);
        self.meter(what, now);
        if recovered > 1 {
            log::info!(
                target: "informer::reflector",
                "{}: works again after {recovered} failures", self.shared.name
            );
        }
    }

    fn phase(&mut self, phase: Phase) {
        self.shared.progress.lock().phase = phase;
    }

    fn report(&mut self, report: &Report<'_>) {
        let error = report.error;
        let now = self.shared.clock.now();
        let changed = self.shared.progress.lock().failed(report, now);
        if report.consecutive == 0 {
            self.shared.meter.count(Counter::BadObjects, 1);
        } else {
            self.failed = Some(error.kind());
            self.shared.meter.count(Counter::Errors(error.kind()), 1);
        }
        let name = &self.shared.name;
        let next = report.next_attempt;
        let stage = error.stage().map_or("informer", |stage| stage.as_str());
        // One line a change of state: the rest at debug level. A server that has gone silent or forgotten a version is
        // ordinary.
        let ordinary = matches!(error.kind(), ErrorKind::Gone | ErrorKind::Silent);
        let level = if changed && !ordinary { log::Level::Warn } else { log::Level::Debug };
        log::log!(target: "informer::reflector", level, "{name}: {stage}: {}{}", error.chain(), After(next));
        self.shared.tell_hook(report, "informer::reflector");
    }
}

fn since(began: Option<Instant>, now: Instant) -> Duration {
    began.map_or(Duration::ZERO, |began| now.saturating_duration_since(began))
}

struct After(Option<std::time::Duration>);

impl std::fmt::Display for After {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(delay) => write!(f, "; next attempt in {:.1} s", delay.as_secs_f64()),
            None => Ok(()),
        }
    }
}
