//! What models of a whole informer share: a source with a script, a clock whose time is a thread of the model, and
//! handlers that note what they are told.
//!
//! Invariant: nothing here polls or gives up; what should come and does not is a deadlock, which the checker reports.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::event::Event;
use crate::fixture::{Item, Known, item, known, tell, trace};
use crate::handler::EventHandler;
use crate::informer::{Delivery, HandlerOptions, Registration, SharedInformer};
use crate::list_watch::{ChangeKind, Flow, ListEnd, ListRequest, ListSink, ListWatch};
use crate::list_watch::{WatchEnd, WatchRequest, WatchSink};
use crate::stop::Stop;
use crate::store::Store;
use crate::sync::{JoinHandle, Monitor, live_threads, spawn};
use crate::time::{Alarm, Clock, SystemClock};

/// A limit that no model reaches.
pub(super) const NEVER: Duration = Duration::from_secs(1 << 20);

/// Alarms further away than this do not ring.
const HORIZON: Duration = Duration::from_secs(3600);

/// A thread of the model.
pub(super) fn thread(name: &str, body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    spawn(name, body).unwrap()
}

/// Something that happens once.
#[derive(Clone)]
pub(super) struct Gate(Arc<Monitor<bool>>);

impl Gate {
    pub(super) fn new() -> Self {
        Gate(Arc::new(Monitor::new(false)))
    }

    pub(super) fn open(&self) {
        *self.0.lock() = true;
        self.0.notify_all();
    }

    pub(super) fn pass(&self) {
        let mut open = self.0.lock();
        while !*open {
            self.0.wait(&mut open);
        }
    }
}

/// A list, then changes, written `+a/u1@11`, `~a/u1@12`, `-a/u1@13`; then nothing until the stop.
struct Script {
    list: Vec<Item>,
    changes: Vec<(ChangeKind, Item)>,
}

impl Script {
    fn new(list: &[&str], changes: &[&str]) -> Self {
        let own = |text: &str| Item::clone(&item(text));
        let change = |text: &&str| {
            let kind = match &text[..1] {
                "+" => ChangeKind::Added,
                "~" => ChangeKind::Modified,
                _ => ChangeKind::Deleted,
            };
            (kind, own(&text[1..]))
        };
        Script {
            list: list.iter().map(|text| own(text)).collect(),
            changes: changes.iter().map(change).collect(),
        }
    }

    /// The objects at the end.
    fn outcome(&self) -> Known {
        let mut known = known(&self.list.iter().cloned().map(Arc::new).collect::<Vec<_>>());
        for (kind, item) in &self.changes {
            match kind {
                ChangeKind::Deleted => known.remove(&item.name),
                _ => known.insert(item.name.clone(), (item.uid.clone(), item.version.clone())),
            };
        }
        known
    }
}

impl ListWatch<Item> for Script {
    fn list(&self, _: &ListRequest, _: &Stop, sink: &mut dyn ListSink<Item>) -> Result<ListEnd> {
        self.list.iter().for_each(|item| sink.item(item.clone()));
        Ok(ListEnd { resource_version: "10".to_owned(), continue_token: None })
    }

    fn watch(&self, _: &WatchRequest, stop: &Stop, sink: &mut dyn WatchSink<Item>) -> Result<WatchEnd> {
        sink.opened();
        for (kind, item) in &self.changes {
            if sink.change(*kind, item.clone()) == Flow::End {
                return Ok(WatchEnd::Ended);
            }
        }
        stop.wait();
        Err(Error::stopped())
    }

    fn name(&self) -> String {
        "items".to_owned()
    }
}

/// A clock that stands still until a thread of the model moves it on to the next alarm: whenever the checker likes.
#[derive(Clone)]
pub(super) struct Time {
    start: Instant,
    /// Milliseconds since `start`. Written by the thread that rings, under `alarms`.
    now: Arc<AtomicU64>,
    alarms: Arc<Monitor<Alarms>>,
}

#[derive(Default)]
struct Alarms {
    next: u64,
    pending: BTreeMap<(Instant, u64), Box<dyn FnOnce() + Send>>,
    over: bool,
}

impl Time {
    pub(super) fn new() -> Self {
        Time {
            start: SystemClock.now(),
            now: Arc::default(),
            alarms: Arc::new(Monitor::new(Alarms::default())),
        }
    }

    /// Rings one alarm after another, until [`end`](Time::end).
    pub(super) fn pass(&self) {
        let mut alarms = self.alarms.lock();
        while !alarms.over {
            let due = alarms.pending.first_entry().filter(|first| first.key().0 < self.start + HORIZON);
            let Some(due) = due else {
                self.alarms.wait(&mut alarms);
                continue;
            };
            let ((at, _), ring) = due.remove_entry();
            let now = u64::try_from((at - self.start).as_millis()).unwrap();
            self.now.fetch_max(now, Ordering::Relaxed);
            drop(alarms);
            ring();
            alarms = self.alarms.lock();
        }
    }

    /// Waits until an alarm is set: until somebody waits for a time.
    pub(super) fn wait_for_alarm(&self) {
        let mut alarms = self.alarms.lock();
        while alarms.pending.is_empty() {
            self.alarms.wait(&mut alarms);
        }
    }

    pub(super) fn end(&self) {
        self.alarms.lock().over = true;
        self.alarms.notify_all();
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Time")
    }
}

impl Clock for Time {
    fn now(&self) -> Instant {
        self.start + Duration::from_millis(self.now.load(Ordering::Relaxed))
    }

    fn alarm(&self, at: Instant, ring: Box<dyn FnOnce() + Send>) -> Option<Alarm> {
        let mut alarms = self.alarms.lock();
        if at <= self.now() {
            drop(alarms);
            drop(ring);
            return None;
        }
        let id = (at, alarms.next);
        alarms.next += 1;
        alarms.pending.insert(id, ring);
        drop(alarms);
        self.alarms.notify_all();
        let alarms = Arc::clone(&self.alarms);
        Some(Alarm::new(move || {
            let ring = alarms.lock().pending.remove(&id);
            drop(ring);
        }))
    }
}

/// What one handler was told. Its faults are kept and told at the end: a panic in a handler would be contained.
#[derive(Clone)]
pub(super) struct Log(Arc<Monitor<Seen>>);

#[derive(Default)]
struct Seen {
    begun: usize,
    inside: bool,
    events: Vec<Event<Item>>,
    dropped: bool,
    faults: Vec<String>,
}

impl Log {
    pub(super) fn new() -> Self {
        Log(Arc::new(Monitor::new(Seen::default())))
    }

    fn begin(&self, event: &Event<Item>, store: &Store<Item>) {
        let at = store.resource_version(); // promise 1: the store is there already
        let mut seen = self.0.lock();
        if seen.inside || seen.dropped {
            seen.faults.push(format!("{event:?}: called within a call, or after its end"));
        }
        if number(&at) < number(&event.object().version) {
            seen.faults.push(format!("{event:?}: the store is at {at} only"));
        }
        seen.inside = true;
        seen.begun += 1;
        drop(seen);
        self.0.notify_all();
    }

    fn end(&self, event: Option<&Event<Item>>) {
        let mut seen = self.0.lock();
        seen.inside = false;
        seen.events.extend(event.cloned());
        drop(seen);
        self.0.notify_all();
    }

    fn wait(&self, done: impl Fn(&Seen) -> bool) {
        let mut seen = self.0.lock();
        while !done(&seen) {
            self.0.wait(&mut seen);
        }
    }

    /// Waits until `count` calls have begun.
    pub(super) fn wait_begun(&self, count: usize) {
        self.wait(|seen| count <= seen.begun);
    }

    /// Waits until `count` calls have ended.
    pub(super) fn wait_told(&self, count: usize) {
        self.wait(|seen| count <= seen.events.len());
    }

    /// Waits until the handler has been told everything of `outcome`.
    pub(super) fn wait_outcome(&self, outcome: &Known) {
        self.wait(|seen| replay(&seen.events) == *outcome);
    }

    /// Waits until the handler has been dropped.
    pub(super) fn wait_dropped(&self) {
        self.wait(|seen| seen.dropped);
    }

    pub(super) fn begun(&self) -> usize {
        self.0.lock().begun
    }

    pub(super) fn is_dropped(&self) -> bool {
        self.0.lock().dropped
    }

    /// What its events come to, each of them within the contract.
    pub(super) fn known(&self) -> Known {
        let seen = self.0.lock();
        assert!(seen.faults.is_empty(), "{:?}", seen.faults);
        replay(&seen.events)
    }

    pub(super) fn trace(&self) -> String {
        trace(&self.0.lock().events)
    }
}

fn number(version: &str) -> u64 {
    version.parse().unwrap_or(0)
}

fn replay(events: &[Event<Item>]) -> Known {
    let mut known = Known::new();
    events.iter().for_each(|event| tell(&mut known, event));
    known
}

/// A handler that notes what it is told and then does what a model wants.
struct Handler<F> {
    log: Log,
    store: Store<Item>,
    then: F,
}

impl<F: FnMut(&Event<Item>) + Send + 'static> EventHandler<Item> for Handler<F> {
    fn on_event(&mut self, event: &Event<Item>) {
        /// Also when the model's part panics.
        struct Inside<'a>(&'a Log, Option<&'a Event<Item>>);
        impl Drop for Inside<'_> {
            fn drop(&mut self) {
                self.0.end(self.1);
            }
        }
        self.log.begin(event, &self.store);
        let _inside = Inside(&self.log, Some(event));
        (self.then)(event);
    }
}

impl<F> Drop for Handler<F> {
    fn drop(&mut self) {
        let mut seen = self.log.0.lock();
        if seen.inside || seen.dropped {
            seen.faults.push("dropped within a call, or twice".to_owned());
        }
        seen.dropped = true;
        drop(seen);
        self.log.0.notify_all();
    }
}

/// An informer with its source and its clock.
pub(super) struct Stage {
    pub(super) informer: SharedInformer<Item>,
    pub(super) outcome: Known,
    time: Time,
    passing: JoinHandle<()>,
}

impl Stage {
    pub(super) fn new(list: &[&str], changes: &[&str]) -> Self {
        Stage::with_limit(list, changes, 4096)
    }

    /// Queues fold above `limit`.
    pub(super) fn with_limit(list: &[&str], changes: &[&str], limit: usize) -> Self {
        let script = Script::new(list, changes);
        let outcome = script.outcome();
        let time = Time::new();
        let theirs = time.clone();
        let passing = thread("time", move || theirs.pass());
        let informer = SharedInformer::builder(script)
            .clock(time.clone())
            .streaming(false)
            .seed(1)
            .queue_limit(limit)
            .build();
        Stage { informer, outcome, time, passing }
    }

    /// Adds a handler that notes what it is told, then calls `then`.
    pub(super) fn add(
        &self,
        delivery: Delivery,
        log: &Log,
        then: impl FnMut(&Event<Item>) + Send + 'static,
    ) -> Registration<Item> {
        add(&self.informer, delivery, log, then).unwrap()
    }

    /// Drops the informer instead of stopping it.
    pub(super) fn drop_informer(self) {
        drop(self.informer);
        self.time.end();
        self.passing.join().unwrap();
    }

    /// Joins the informer. Nothing but the thread that lets time pass may be left then.
    pub(super) fn join(&self) {
        self.informer.join().unwrap();
        self.is_alone();
    }

    /// No thread of the informer is left.
    pub(super) fn is_alone(&self) {
        assert_eq!(live_threads(), 1, "a thread of the informer outlives its join");
    }

    /// Stops and joins. Whoever was to spawn a thread has spawned it by the end.
    pub(super) fn end(self) {
        self.informer.stop();
        self.join();
        self.time.end();
        self.passing.join().unwrap();
        assert_eq!(live_threads(), 0, "a thread of the informer outlives its join");
    }
}

/// Adds a handler to `informer`, which may have stopped.
pub(super) fn add(
    informer: &SharedInformer<Item>,
    delivery: Delivery,
    log: &Log,
    then: impl FnMut(&Event<Item>) + Send + 'static,
) -> Result<Registration<Item>> {
    let handler = Handler { log: log.clone(), store: informer.store(), then };
    informer.add_event_handler_with(HandlerOptions::new().delivery(delivery), handler)
}
