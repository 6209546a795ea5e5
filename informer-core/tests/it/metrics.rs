//! Metrics: each moves when its thing happens, none is told under a lock, and one that panics harms nobody.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use informer_core::metrics::{Counter, Gauge, Histogram, InformerName};
use informer_core::sync::Mutex;
use informer_core::{
    Delivery, ErrorKind, HandlerOptions, Index, InformerBuilder, Metrics, SharedInformer, WeakInformer,
};
use informer_testkit::{
    FakeSource, Gate, Legible, ManualClock, Probe, RecordKind, Recorder, TestObject, WatchFault,
    status_error, within,
};

const LONG: Duration = Duration::from_secs(20);

/// What was told, by the names that Prometheus shows. Of histograms: the sum, and the number of values.
#[derive(Clone)]
struct Meters(Probe<BTreeMap<String, f64>>);

impl Meters {
    fn new() -> Self {
        Meters(Probe::new(BTreeMap::new()))
    }

    fn change(&self, of: &InformerName<'_>, name: String, change: impl Fn(&mut f64)) {
        assert_eq!((of.name, of.resource), ("mine", "pods"), "me_1");
        self.0.update(|all| change(all.entry(name).or_default()));
    }

    fn get(&self, name: &str) -> f64 {
        self.0.with(|all| all.get(name).copied().unwrap_or_default())
    }

    #[track_caller]
    fn wait(&self, name: &str, value: f64) {
        self.0.wait(&format!("{name} to be {value}"), |all| all.get(name) == Some(&value));
    }
}

impl Metrics for Meters {
    fn count(&self, of: &InformerName<'_>, counter: Counter, by: u64) {
        assert_ne!(by, 0);
        let label = counter.label().map(|(key, value)| format!("{{{key}={value}}}")).unwrap_or_default();
        self.change(of, format!("{}{label}", counter.name()), |value| *value += by as f64);
    }

    fn set(&self, of: &InformerName<'_>, gauge: Gauge, to: f64) {
        self.change(of, gauge.name().to_owned(), |value| *value = to);
    }

    fn observe(&self, of: &InformerName<'_>, histogram: Histogram, what: f64) {
        self.change(of, format!("{} sum", histogram.name()), |value| *value += what);
        self.change(of, format!("{} count", histogram.name()), |value| *value += 1.0);
    }
}

fn object(key: &str) -> TestObject {
    TestObject::new(key)
}

/// A source of two objects.
fn source() -> FakeSource {
    let source = FakeSource::new().named("pods");
    source.create(object("default/a"));
    source.create(object("default/b"));
    source
}

fn builder(source: &FakeSource, meters: &Meters) -> InformerBuilder<TestObject> {
    SharedInformer::builder(source.clone()).metrics(meters.clone()).metrics_name("mine")
}

/// Starts an informer and waits until it watches.
#[track_caller]
fn watches(informer: &SharedInformer<TestObject>, source: &FakeSource) {
    informer.start().unwrap();
    let theirs = informer.clone();
    within("the first list", move || theirs.wait_synced(LONG)).unwrap();
    source.wait_for_idle_watches(1);
}

#[test]
fn d_17_lists_and_watches_are_counted_and_measured() {
    let (source, meters, clock) = (source(), Meters::new(), ManualClock::new());
    let informer = builder(&source, &meters).clock(clock.clone()).streaming(false).build();
    watches(&informer, &source);
    assert_eq!((meters.get("reflector_lists_total"), meters.get("reflector_watches_total")), (1.0, 1.0));
    let list = |what: &str| meters.get(&format!("reflector_items_per_list {what}"));
    assert_eq!((list("sum"), list("count")), (2.0, 1.0));
    assert_eq!(meters.get("reflector_list_duration_seconds count"), 1.0);
    assert_eq!(meters.get("reflector_items_per_watch count"), 0.0, "it has not ended");

    source.create(object("default/c"));
    source.bookmark();
    source.wait_for_idle_watches(1);
    clock.advance(Duration::from_secs(5));
    source.on_next_watch(WatchFault::CloseAfter(0));
    source.close_watches();
    // The watch after it is a short one, and so is waited for.
    clock.wait_for_alarm("a back-off", |by| by >= Duration::from_millis(800));
    let watch = |what: &str| meters.get(&format!("reflector_{what}"));
    assert_eq!((watch("items_per_watch sum"), watch("items_per_watch count")), (1.0, 2.0));
    assert_eq!((watch("watch_duration_seconds sum"), watch("watch_duration_seconds count")), (5.0, 2.0));
    assert_eq!(watch("short_watches_total"), 1.0);
    assert_eq!(watch("errors_total{kind=network}"), 1.0);
    assert_eq!(watch("watches_total"), 2.0);
    let counters = informer.status().counters;
    assert_eq!((counters.watches, counters.fruitless_watches, counters.relists), (2, 1, 0));
}

#[test]
fn d_17_relists_are_told_by_what_led_to_them() {
    let (source, meters, clock) = (source(), Meters::new(), ManualClock::new());
    let informer = builder(&source, &meters).clock(clock.clone()).streaming(false).build();
    watches(&informer, &source);
    assert_eq!(informer.status().last_relist, None);
    source.fail_watches(&status_error(410, "Expired", "too old"));
    clock.wait_for_alarm("a back-off", |by| by >= Duration::from_millis(800));
    assert_eq!(meters.get("reflector_errors_total{kind=gone}"), 1.0);
    assert_eq!(informer.status().last_relist, None, "not yet");
    // The list at the version that is gone is refused, and followed by one at "".
    clock.advance_to_next();
    meters.wait("reflector_relists_total{reason=not_comparable}", 1.0);
    assert_eq!(meters.get("reflector_relists_total{reason=gone}"), 1.0);
    source.wait_for_idle_watches(1);
    assert_eq!(informer.status().last_relist, Some(ErrorKind::NotComparable));
    source.create(object("default/c"));
    source.wait_for_idle_watches(1);
    source.fail_watches(&status_error(500, "", "no"));
    clock.wait_for_alarm("a back-off", |by| by >= Duration::from_millis(800));
    clock.advance_to_next();
    meters.wait("reflector_relists_total{reason=internal}", 1.0);
    assert_eq!(informer.status().last_relist, Some(ErrorKind::Internal));
}

#[test]
fn me_3_the_stores_gauges_follow_events_and_bookmarks() {
    let (source, meters) = (source(), Meters::new());
    let informer = builder(&source, &meters).build();
    watches(&informer, &source);
    meters.wait("informer_store_objects", 2.0);
    meters.wait("informer_store_resource_version", 2.0);
    source.create(object("default/c"));
    meters.wait("informer_store_objects", 3.0);
    source.delete("default/a");
    source.edit(|world| world.skip_versions(100));
    source.bookmark();
    meters.wait("informer_store_resource_version", 104.0);
    meters.wait("informer_store_objects", 2.0);
    let theirs = meters.clone();
    informer.stop();
    informer.join().unwrap();
    assert_eq!(theirs.get("informer_events_total"), 4.0);
    assert!(theirs.get("informer_processing_latency_seconds count") >= 3.0);
    let counters = informer.status().counters;
    assert_eq!(counters.changes, 4);
}

#[test]
fn me_2_d_2_the_queues_gauge_grows_folds_and_comes_back_to_zero() {
    let (source, meters) = (source(), Meters::new());
    let informer = builder(&source, &meters).queue_limit(4).build();
    let (gate, seen) = (Gate::new("the handler may go on"), Recorder::new());
    seen.block_at(2, &gate);
    informer.add_event_handler_with(HandlerOptions::new().delivery(Delivery::Inline), seen.clone()).unwrap();
    informer.start().unwrap();
    gate.wait_for_waiting(1);
    for round in 1..=20 {
        source.update(object("default/a").value(round));
    }
    source.wait_for_idle_watches(1);
    let status = informer.status();
    assert!((1..=5).contains(&status.queued) && status.folded >= 15, "{status:?}");
    assert_eq!(status.queue_limit, 4);
    assert_eq!(meters.get("informer_queued_items"), status.queued as f64);
    assert_eq!(meters.get("informer_queue_folded_total"), status.folded as f64);
    gate.open();
    meters.wait("informer_queued_items", 0.0);
    meters.wait("informer_handler_backlog", 0.0);
}

#[test]
fn me_2_d_2_a_handlers_backlog_grows_folds_and_comes_back_to_zero() {
    let (source, meters) = (source(), Meters::new());
    let informer = builder(&source, &meters).queue_limit(4).build();
    let (gate, seen, quick) = (Gate::new("the handler may go on"), Recorder::new(), Recorder::new());
    seen.block_at(1, &gate);
    informer.add_event_handler_with(HandlerOptions::new().delivery(Delivery::Thread), seen.clone()).unwrap();
    informer.add_event_handler(quick.clone()).unwrap();
    informer.start().unwrap();
    gate.wait_for_waiting(1);
    meters.wait("informer_handler_backlog", 2.0);
    for round in 1..=20 {
        source.update(object("default/b").value(round));
        quick.wait_for_returned(2 + usize::try_from(round).unwrap()); // paced: the queue between never folds
    }
    let status = informer.status();
    let (slow, quick) = (&status.handlers[0], &status.handlers[1]);
    assert!(slow.folded > 0 && quick.folded == 0 && status.folded == 0, "{status:?}");
    meters.wait("informer_handler_backlog", slow.pending as f64);
    meters.wait("informer_handler_folded_total", slow.folded as f64);
    gate.open();
    meters.wait("informer_handler_backlog", 0.0);
}

#[test]
fn d_17_promotions_panics_and_bad_objects_are_counted() {
    let (source, meters, clock) = (source(), Meters::new(), ManualClock::new());
    source.edit(|world| world.break_object("default/b", Legible::Metadata));
    let by_value: Index<TestObject, u64> = Index::new("by-value", |object: &TestObject| {
        assert_ne!(object.value, 7, "the index was told to");
        [object.value]
    });
    let informer = builder(&source, &meters).clock(clock.clone()).index(&by_value).build();
    let (gate, seen) = (Gate::new("the handler may go on"), Recorder::new());
    seen.panic_at(1);
    seen.block_at(2, &gate);
    let registration = informer.add_event_handler(seen.clone()).unwrap();
    watches(&informer, &source);
    meters.wait("informer_handler_panics_total", 1.0);
    meters.wait("informer_bad_objects_total", 1.0);
    source.update(object("default/a").value(7));
    gate.wait_for_waiting(1);
    meters.wait("informer_bad_objects_total", 2.0);
    source.create(object("default/c"));
    clock.wait_for_alarm("the watchdog", |until| until <= Duration::from_millis(251));
    clock.advance(Duration::from_millis(251));
    meters.wait("informer_handler_promotions_total", 1.0);
    assert_eq!(
        meters.0.with(|all| all.keys().filter(|name| name.starts_with("reflector_errors")).count()),
        0
    );
    gate.open();
    seen.wait_for_returned(2);
    registration.remove_and_wait().unwrap();
    let status = informer.status();
    assert_eq!((status.promotions, status.counters.panics, status.counters.bad_objects), (1, 1, 2));
    assert!(status.handlers.is_empty(), "the panic is counted though its handler is gone");
}

/// Asks its own informer for everything that takes a lock.
struct Asks(Mutex<WeakInformer<TestObject>>, Probe<u64>);

impl Asks {
    fn ask(&self) {
        let informer = self.0.lock().upgrade();
        let Some(informer) = informer else { return };
        let _ =
            (informer.status(), informer.store().len(), informer.store().snapshot(), informer.has_synced());
        self.1.update(|count| *count += 1);
    }
}

impl Metrics for Asks {
    fn count(&self, _: &InformerName<'_>, _: Counter, _: u64) {
        self.ask();
    }
    fn set(&self, _: &InformerName<'_>, _: Gauge, _: f64) {
        self.ask();
    }
    fn observe(&self, _: &InformerName<'_>, _: Histogram, _: f64) {
        self.ask();
    }
}

/// A lock of ours that were held would be held for ever.
#[test]
fn d_3_metrics_are_told_under_no_lock() {
    let (source, clock) = (source(), ManualClock::new());
    let other = SharedInformer::builder(FakeSource::new()).build();
    let asks = Arc::new(Asks(Mutex::new(other.downgrade()), Probe::new(0)));
    let by_value: Index<TestObject, u64> = Index::new("by-value", |object: &TestObject| {
        assert_ne!(object.value, 7, "the index was told to");
        [object.value]
    });
    let informer = SharedInformer::builder(source.clone())
        .metrics(Arc::clone(&asks))
        .clock(clock.clone())
        .queue_limit(2)
        .resync(Duration::from_secs(300))
        .index(&by_value)
        .build();
    *asks.0.lock() = informer.downgrade();
    let (seen, gate) = (Recorder::new(), Gate::new("the handler may go on"));
    seen.panic_at(1);
    seen.block_at(4, &gate);
    informer.add_event_handler(seen.clone()).unwrap();
    let own = Recorder::new();
    informer.add_event_handler_with(HandlerOptions::new().delivery(Delivery::Thread), own.clone()).unwrap();
    watches(&informer, &source);
    seen.wait_for_returned(2);
    source.update(object("default/a").value(7)); // the index fails
    seen.wait_for_returned(3);
    for round in 10..30 {
        source.update(object("default/a").value(round)); // the handler blocks, the queue folds
    }
    gate.wait_for_waiting(1);
    source.create(object("default/late"));
    clock.wait_for_alarm("the watchdog", |until| until <= Duration::from_millis(251));
    clock.advance(Duration::from_millis(251)); // a promotion
    gate.open();
    let store = informer.store();
    within("the store", move || store.wait_until("23", LONG)).unwrap();
    source.fail_watches(&status_error(410, "Expired", "too old"));
    let first = Duration::from_millis(800)..Duration::from_millis(1600);
    let by = clock.wait_for_alarm("the back-off", |by| first.contains(&by));
    clock.advance(by); // a relist
    source.wait_for_idle_watches(1);
    // What still waits in a backlog above its limit takes a resync in.
    own.wait_until("the last object", |records| records.iter().any(|record| record.key.name() == "late"));
    clock.advance(Duration::from_secs(300)); // a resync
    own.wait_until("the resync", |records| records.iter().any(|record| record.kind == RecordKind::Resynced));
    within("the stop", move || {
        informer.stop();
        informer.join()
    })
    .unwrap();
    assert!(asks.1.get() > 50);
}

/// Panics whatever it is told.
struct Panics;

impl Metrics for Panics {
    fn count(&self, _: &InformerName<'_>, _: Counter, _: u64) {
        panic!("the counter was told to");
    }
    fn set(&self, _: &InformerName<'_>, _: Gauge, _: f64) {
        panic!("the gauge was told to");
    }
    fn observe(&self, _: &InformerName<'_>, _: Histogram, _: f64) {
        panic!("the histogram was told to");
    }
}

#[test]
fn d_3_metrics_that_panic_harm_nobody() {
    let source = source();
    let informer = SharedInformer::builder(source.clone()).metrics(Panics).build();
    let seen = Recorder::new();
    informer.add_event_handler(seen.clone()).unwrap();
    watches(&informer, &source);
    source.create(object("default/c"));
    seen.wait_for_returned(3);
    assert_eq!(informer.store().len(), 3);
    let status = informer.status();
    assert!(status.last_error.is_none() && status.counters.panics == 0 && !informer.is_stopped());
    informer.stop();
    informer.join().unwrap();
}

/// Whoever implements none of it is told in vain, at no cost of its own.
#[test]
fn every_method_has_a_default() {
    struct Nothing;
    impl Metrics for Nothing {}
    let source = source();
    let informer = SharedInformer::builder(source.clone()).metrics(Arc::new(Nothing)).build();
    watches(&informer, &source);
}
