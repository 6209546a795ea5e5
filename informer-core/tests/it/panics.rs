//! Panics in every kind of user code: each is caught and told, and harms nobody else (F-49, D3).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use informer_core::metrics::{Counter, InformerName};
use informer_core::{
    ChangeKind, Delivery, ErrorKind, Event, EventHandler, Flow, HandlerOptions, Index, Labels, ListEnd,
    ListRequest, ListSink, ListWatch, MetaView, Metrics, Object, Result, SharedInformer, Stop, WatchEnd,
    WatchRequest, WatchSink,
};
use informer_testkit::{FakeSource, Gate, ManualClock, Probe, Recorder, TestObject, alone, within};

use crate::support::{LONG, lose_patience, object, source_of, synced};

#[test]
fn f_49_a_panic_in_a_handler_is_skipped_and_counted() {
    let source = source_of(&["default/a", "default/b", "default/c", "default/d", "default/e"]);
    let informer = SharedInformer::builder(source.clone()).build();
    let seen = Recorder::new();
    seen.panic_at(2);
    seen.panic_at(5);
    let registration = informer.add_event_handler(seen.clone()).unwrap();
    informer.start().unwrap();
    registration.wait_synced(LONG).unwrap();
    assert_eq!(seen.len(), 5, "it gets all the others");
    assert_eq!(informer.lister().list().len(), 5);
    source.create(object("default/f"));
    seen.wait_for_returned(6);
    let status = informer.status();
    assert_eq!((status.handlers[0].panics, status.handlers[0].synced), (2, true));
}

#[test]
fn d_3_a_panic_in_the_destructor_of_a_handler_ends_there() {
    struct Loud;
    impl EventHandler<TestObject> for Loud {
        fn on_event(&mut self, _: &Event<TestObject>) {
            std::panic::panic_any(Loud); // the payload's destructor panics as well
        }
    }
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("told to");
        }
    }
    let source = source_of(&["default/a"]);
    let informer = synced(&source);
    let seen = Recorder::new();
    let loud = informer.add_event_handler(Loud).unwrap();
    informer.add_event_handler(seen.clone()).unwrap();
    loud.wait_synced(LONG).unwrap();
    loud.remove_and_wait().unwrap();
    source.create(object("default/b"));
    seen.wait_for(2);
}

#[test]
fn f_49_a_panic_in_a_call_that_was_moved_off_is_one_like_every_other() {
    let clock = ManualClock::new();
    let source = source_of(&["default/a", "default/b"]);
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).build();
    let (gate, done) = (Gate::new("the slow call"), Probe::new(Vec::new()));
    let (pass, tell) = (gate.pass(), done.clone());
    let slow = informer
        .on_event(move |event| {
            let key = event.key().to_string();
            let first = tell.with(Vec::is_empty);
            tell.update(|seen| seen.push(key));
            if first {
                pass.wait();
                panic!("told to");
            }
        })
        .unwrap();
    let quick = Recorder::new();
    informer.add_event_handler(quick.clone()).unwrap();
    informer.start().unwrap();
    gate.wait_for_waiting(1);
    lose_patience(&clock);
    quick.wait_for(2);
    gate.open();
    within("the slow handler", move || slow.wait_synced(LONG)).unwrap();
    assert_eq!(done.get().len(), 2, "it goes on with the next event");
    let status = informer.status();
    assert_eq!((status.promotions, status.handlers[0].panics, status.handlers[1].panics), (1, 1, 0));
}

#[test]
fn f_49_a_panic_in_a_filter_is_the_handlers() {
    let source = source_of(&["default/a", "default/b", "default/c"]);
    let informer = SharedInformer::builder(source.clone()).build();
    let (seen, all) = (Recorder::new(), Recorder::new());
    let picky = seen.clone().filter(|object: &TestObject| {
        assert!(object.name != "b", "told to");
        true
    });
    let registration = informer.add_event_handler(picky).unwrap();
    informer.add_event_handler(all.clone()).unwrap();
    informer.start().unwrap();
    registration.wait_synced(LONG).unwrap();
    all.wait_for(3);
    assert_eq!(seen.len(), 2);
    assert_eq!(informer.status().handlers[0].panics, 1);
    source.update(object("default/b").value(1));
    source.update(object("default/c").value(1));
    seen.wait_for(3);
}

/// A closure's captive whose destructor panics, and counts.
struct Captive(Arc<AtomicUsize>);

impl Drop for Captive {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("told to");
    }
}

/// Metrics that say nothing, and panic in the end.
struct Holding(Captive);

impl Metrics for Holding {
    fn count(&self, _: &InformerName<'_>, _: Counter, _: u64) {
        let _ = &self.0;
    }
}

#[test]
fn d_3_panics_in_the_destructors_of_everything_that_was_handed_over_end_there() {
    // Two panics at once would end the process: it is one of its own.
    alone(|| {
        for started in [true, false] {
            let drops = Arc::new(AtomicUsize::new(0));
            let captive = || Captive(Arc::clone(&drops));
            let (transform, hook, index, meter) = (captive(), captive(), captive(), captive());
            let index: Index<TestObject, u64> = Index::new("by-value", move |object: &TestObject| {
                let _ = &index;
                [object.value]
            });
            let source = source_of(&["default/a"]);
            let informer = SharedInformer::builder(source.clone())
                .transform(move |_| _ = &transform)
                .on_error(move |_| _ = &hook)
                .metrics(Holding(meter))
                .index(&index)
                .build();
            drop(index);
            for delivery in [Delivery::Auto, Delivery::Inline, Delivery::Thread] {
                let options = HandlerOptions::new().delivery(delivery);
                let captive = captive();
                let filter = move |_: &TestObject| Arc::strong_count(&captive.0) > 0;
                informer.add_event_handler_with(options, Recorder::new().filter(filter)).unwrap();
            }
            if started {
                informer.start().unwrap();
                informer.wait_synced(LONG).unwrap();
            }
            within("the drop", move || drop(informer));
            assert_eq!(drops.load(Ordering::SeqCst), 7, "started {started}");
        }
    });
}

/// An object whose destructor panics.
struct Loud {
    version: String,
}

impl Object for Loud {
    fn meta(&self) -> MetaView<'_> {
        MetaView {
            namespace: "",
            name: "loud",
            uid: "u",
            resource_version: &self.version,
            labels: Labels::from_map(None),
        }
    }
}

impl Drop for Loud {
    fn drop(&mut self) {
        panic!("told to");
    }
}

/// Lists one object, sends some updates of it, and waits for the stop.
struct LoudSource;

impl ListWatch<Loud> for LoudSource {
    fn list(&self, _: &ListRequest, _: &Stop, sink: &mut dyn ListSink<Loud>) -> Result<ListEnd> {
        sink.item(Loud { version: "1".to_owned() });
        Ok(ListEnd { resource_version: "1".to_owned(), continue_token: None })
    }

    fn watch(&self, _: &WatchRequest, stop: &Stop, sink: &mut dyn WatchSink<Loud>) -> Result<WatchEnd> {
        sink.opened();
        for version in 2..50 {
            let kind = if version == 25 { ChangeKind::Deleted } else { ChangeKind::Modified };
            if sink.change(kind, Loud { version: version.to_string() }) == Flow::End {
                return Ok(WatchEnd::Ended);
            }
        }
        stop.wait();
        Err(informer_core::Error::stopped())
    }

    fn name(&self) -> String {
        "loud".to_owned()
    }

    fn can_stream(&self) -> bool {
        false
    }
}

#[test]
fn d_3_a_panic_in_the_destructor_of_an_object_ends_there() {
    let informer = SharedInformer::builder(LoudSource).queue_limit(2).build();
    let seen = Probe::new(Vec::new());
    let theirs = seen.clone();
    informer
        .on_event(move |event| {
            let version = event.meta().resource_version.to_owned();
            theirs.update(|seen| seen.push(version));
        })
        .unwrap();
    informer.start().unwrap();
    seen.wait("the last update", |seen| seen.last().is_some_and(|version| version == "49"));
    assert_eq!(informer.status().counters.watches, 1, "the reader did not notice");
    informer.stop();
    informer.join().unwrap();
    // The last one is the store's; its destructor would end this test.
    let last = informer.store().list();
    std::mem::forget(last);
}

/// Two objects of a store whose destructors panic, one after the other: without a net under each this ends the process.
#[test]
fn d_3_panics_in_the_destructors_of_stored_objects_end_there() {
    alone(|| {
        let source = PairSource { drops: Arc::default(), streaming: false, half: None };
        let drops = Arc::clone(&source.drops);
        let informer = SharedInformer::builder(source).build();
        informer.start().unwrap();
        informer.wait_synced(LONG).unwrap();
        let store = informer.store();
        within("the drop", move || drop(informer));
        assert_eq!((store.len(), drops.load(Ordering::SeqCst)), (3, 0));
        drop(store);
        assert_eq!(drops.load(Ordering::SeqCst), 3);
    });
}

/// A list, by pages or streamed, that never comes to its end: what was read of it goes with the stop.
#[test]
fn d_3_panics_in_the_destructors_of_half_a_list_end_there() {
    alone(|| {
        for (streaming, started) in [(true, Probe::new(false)), (false, Probe::new(false))] {
            let drops: Arc<AtomicUsize> = Arc::default();
            let source = PairSource { drops: Arc::clone(&drops), streaming, half: Some(started.clone()) };
            let informer = SharedInformer::builder(source).build();
            informer.start().unwrap();
            started.wait("half a list", |started| *started);
            within("the drop", move || drop(informer));
            assert_eq!(drops.load(Ordering::SeqCst), 3, "streaming {streaming}");
        }
    });
}

/// Three objects that panic as they go.
struct PairSource {
    drops: Arc<AtomicUsize>,
    streaming: bool,
    /// The list stops in its middle, and says so.
    half: Option<Probe<bool>>,
}

impl PairSource {
    fn objects(&self) -> impl Iterator<Item = Pair> {
        ["a", "b", "c"].into_iter().map(|name| Pair { name, captive: Captive(Arc::clone(&self.drops)) })
    }

    /// Stands in the middle of a list until the stop, if it is to.
    fn stand(&self, stop: &Stop) -> Result<()> {
        let Some(half) = &self.half else { return Ok(()) };
        half.set(true);
        stop.wait();
        Err(informer_core::Error::stopped())
    }
}

struct Pair {
    name: &'static str,
    captive: Captive,
}

impl Object for Pair {
    fn meta(&self) -> MetaView<'_> {
        let _ = &self.captive;
        MetaView {
            namespace: "",
            name: self.name,
            uid: self.name,
            resource_version: "1",
            labels: Labels::from_map(None),
        }
    }
}

impl ListWatch<Pair> for PairSource {
    fn list(&self, _: &ListRequest, stop: &Stop, sink: &mut dyn ListSink<Pair>) -> Result<ListEnd> {
        self.objects().for_each(|object| sink.item(object));
        self.stand(stop)?;
        Ok(ListEnd { resource_version: "1".to_owned(), continue_token: None })
    }

    fn watch(&self, _: &WatchRequest, stop: &Stop, sink: &mut dyn WatchSink<Pair>) -> Result<WatchEnd> {
        sink.opened();
        if self.streaming {
            self.objects().for_each(|object| _ = sink.change(ChangeKind::Added, object));
            self.stand(stop)?;
        }
        stop.wait();
        Err(informer_core::Error::stopped())
    }

    fn name(&self) -> String {
        "pairs".to_owned()
    }

    fn can_stream(&self) -> bool {
        self.streaming
    }
}

#[test]
fn d_3_a_panic_where_nothing_can_be_made_good_stops_the_informer_visibly() {
    #[derive(Clone, PartialEq, Eq)]
    struct Touchy(u64);
    impl std::hash::Hash for Touchy {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            assert!(self.0 < 5, "told to");
            state.write_u64(self.0);
        }
    }
    let index: Index<TestObject, Touchy> = Index::new("touchy", |object: &TestObject| [Touchy(object.value)]);
    let source = FakeSource::new();
    source.create(TestObject::new("default/a"));
    let informer = SharedInformer::builder(source.clone()).index(&index).build();
    informer.start().unwrap();
    informer.wait_synced(LONG).unwrap();
    source.update(TestObject::new("default/a").value(5));
    let error = informer.store().wait_until(&source.version(), LONG).unwrap_err();
    assert!(error.is_stopped() || error.is_timed_out(), "{error:?}");
    informer.join().unwrap();
    assert!(informer.is_stopped());
    let last = informer.status().last_error.unwrap();
    assert_eq!(last.error.kind(), ErrorKind::Panic);
}
