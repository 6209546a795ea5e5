//! Stop, join and drop: at every stage from outside, and from inside every kind of user code (D12, F-51, F-56).
//!
//! The table is stages or places by ways to end; each cell ends with every thread gone.

use std::sync::Arc;
use std::time::Duration;

use informer_core::metrics::{Counter, InformerName};
use informer_core::sync::{JoinHandle, Mutex, spawn};
use informer_core::{
    Delivery, Error, Event, EventHandler, HandlerOptions, Index, InformerBuilder, MetaView, Metrics, Object,
    Phase, SharedInformer,
};
use informer_testkit::{
    FakeSource, Gate, ListFault, ManualClock, Probe, Recorder, TestObject, ThreadMark, Versioned, WatchFault,
    status_error, within,
};

use crate::logged;
use crate::support::{LONG, lose_patience, object};

/// Threads are told apart by the name of their source: no two cells have one.
fn source(name: &str) -> FakeSource {
    let source = FakeSource::new().named(name);
    source.create(object("default/a"));
    source.create(object("default/b"));
    source
}

/// Where the informer stands when it is ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    NotStarted,
    Listing,
    Streaming,
    Live,
    BackOff,
    Blocked,
    OwnBlocked,
    Promoted,
}

/// How it is ended from outside.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Stop,
    Join,
    Drop,
}

/// An informer that has come to some stage.
struct Ground {
    informer: SharedInformer<TestObject>,
    source: FakeSource,
    clock: ManualClock,
    /// Holds a handler, where one is held.
    gate: Gate,
    /// How many calls the held handler has had.
    calls: Recorder,
    mark: ThreadMark,
}

impl Ground {
    fn at(stage: Stage, name: &str) -> Self {
        let (source, clock, gate) = (source(name), ManualClock::new(), Gate::new("what holds it"));
        let mark = ThreadMark::of(name);
        let calls = Recorder::new();
        let informer = SharedInformer::builder(source.clone())
            .clock(clock.clone())
            .streaming(stage != Stage::Listing)
            .build();
        let add = |delivery, recorder: &Recorder| {
            let options = HandlerOptions::new().delivery(delivery);
            informer.add_event_handler_with(options, recorder.clone()).unwrap();
        };
        match stage {
            Stage::NotStarted => add(Delivery::Auto, &calls),
            Stage::Listing => source.on_next_list(ListFault::hold(&gate)),
            Stage::Streaming => source.on_next_watch(WatchFault::hold_after(1, &gate)),
            Stage::Live => add(Delivery::Thread, &calls),
            Stage::BackOff => source.start_outage(status_error(503, "ServiceUnavailable", "down")),
            Stage::Blocked | Stage::OwnBlocked | Stage::Promoted => {
                calls.block_at(1, &gate);
                add(if stage == Stage::OwnBlocked { Delivery::Thread } else { Delivery::Auto }, &calls);
            }
        }
        let sibling = Recorder::new();
        if stage == Stage::Promoted {
            add(Delivery::Auto, &sibling); // it waits, so the other one is moved off
        }
        if stage != Stage::NotStarted {
            informer.start().unwrap();
        }
        match stage {
            Stage::NotStarted => {}
            Stage::Listing | Stage::Streaming | Stage::Blocked | Stage::OwnBlocked => {
                gate.wait_for_waiting(1);
            }
            Stage::Live => {
                source.wait_for_idle_watches(1);
                calls.wait_for_returned(2);
            }
            Stage::BackOff => clock.wait_for_alarms(1),
            Stage::Promoted => {
                gate.wait_for_waiting(1);
                lose_patience(&clock);
                sibling.wait_for_returned(2);
                assert_eq!(informer.status().promotions, 1);
            }
        }
        Ground { informer, source, clock, gate, calls, mark }
    }

    /// What every end comes to.
    #[track_caller]
    fn check(self, what: &str) {
        let Ground { source, clock, gate, mark, .. } = self;
        mark.assert_none_left();
        assert_eq!(clock.pending(), 0, "{what}: nothing waits for time any more");
        assert_eq!(source.edit(|world| world.open_watches()), 0, "{what}: no watch is left open");
        drop(gate);
    }
}

/// Runs `body` on a thread that the test joins.
fn aside(body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    spawn("aside", body).unwrap()
}

fn end_at(stage: Stage, name: &str) {
    for end in [End::Stop, End::Join, End::Drop] {
        let what = format!("{end:?} at {stage:?}");
        let ground = Ground::at(stage, &format!("{name}-{}", &format!("{end:?}")[..1]));
        let informer = ground.informer.clone();
        let held = matches!(stage, Stage::Blocked | Stage::OwnBlocked | Stage::Promoted);
        let calls = ground.calls.len();
        let mut helper = None;
        match end {
            End::Stop => {
                within("the stop", move || informer.stop()); // at once, also while a handler is called
            }
            End::Join => {
                let early = informer.join_timeout(Duration::ZERO);
                assert_eq!(early.is_ok(), stage == Stage::NotStarted, "{what}: {early:?}");
                if stage != Stage::NotStarted {
                    assert!(early.unwrap_err().is_timed_out(), "{what}");
                    let (begun, theirs) = (Probe::new(false), informer.clone());
                    let tell = begun.clone();
                    helper = Some(aside(move || {
                        tell.set(true);
                        theirs.join().unwrap(); // waits for the stop that follows
                    }));
                    begun.wait("the join", |begun| *begun);
                }
                informer.stop();
            }
            End::Drop => {
                let (store, weak) = (informer.store(), informer.downgrade());
                drop(informer);
                let Ground { informer, source, clock, gate, calls, mark } = ground;
                let dropper = aside(move || drop(informer));
                // The drop has begun: the waits on the store end.
                let waiting = store.clone();
                within("the stop", move || assert!(waiting.wait_until("99", LONG).unwrap_err().is_stopped()));
                assert!(weak.upgrade().is_none());
                gate.open();
                within("the drop", move || dropper.join().unwrap());
                let other = SharedInformer::builder(source.clone()).build();
                Ground { informer: other, source, clock, gate, calls, mark }.check(&what);
                continue;
            }
        }
        assert!(ground.informer.is_stopped(), "{what}");
        if held {
            let early = ground.informer.join_timeout(Duration::ZERO);
            assert!(early.unwrap_err().is_timed_out(), "{what}: i_7, a call is in progress");
            assert_eq!(ground.informer.store().len(), 2, "{what}: the store stays readable");
        }
        ground.gate.open();
        let theirs = ground.informer.clone();
        within("the join", move || theirs.join()).unwrap();
        if let Some(helper) = helper {
            within("the join that came before the stop", move || helper.join().unwrap());
        }
        assert_eq!(ground.calls.len(), calls, "{what}: i_8, no call begins after the stop");
        if stage != Stage::NotStarted {
            assert_eq!(ground.informer.status().phase, Phase::Stopped, "{what}");
        }
        assert!(ground.informer.start().unwrap_err().is_stopped(), "{what}");
        assert!(ground.informer.on_event(|_| ()).unwrap_err().is_stopped(), "{what}");
        ground.informer.stop();
        ground.check(&what);
    }
}

#[test]
fn d_12_an_informer_ends_before_its_start() {
    end_at(Stage::NotStarted, "e-new");
}

#[test]
fn d_12_f_56_an_informer_ends_while_it_lists() {
    end_at(Stage::Listing, "e-list");
}

#[test]
fn d_12_f_56_an_informer_ends_in_the_middle_of_a_streaming_list() {
    end_at(Stage::Streaming, "e-stream");
}

#[test]
fn d_12_f_56_an_informer_ends_while_it_watches() {
    end_at(Stage::Live, "e-live");
}

#[test]
fn d_12_f_56_an_informer_ends_during_a_back_off() {
    end_at(Stage::BackOff, "e-backoff");
}

#[test]
fn d_12_i_7_i_8_an_informer_ends_while_a_handler_is_called() {
    end_at(Stage::Blocked, "e-block");
    end_at(Stage::OwnBlocked, "e-own");
}

#[test]
fn d_12_i_7_i_8_an_informer_ends_while_a_handler_that_was_moved_off_is_called() {
    end_at(Stage::Promoted, "e-moved");
}

/// What is done inside user code.
#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    /// Stop, and then everything that would wait.
    Stop,
    /// The last handle is dropped.
    Drop,
    /// Everything that may be called there, which is all that does not wait (F-50).
    Call,
}

/// Does it, once, and tells what came of it.
#[derive(Clone)]
struct Inside {
    slot: Arc<Mutex<Option<SharedInformer<TestObject>>>>,
    /// Where the informer is afterwards, unless it was dropped.
    back: Arc<Mutex<Option<SharedInformer<TestObject>>>>,
    what: What,
    /// Nothing happens before the test has filled the slot.
    filled: informer_testkit::Pass,
    /// A handler that is added inside.
    late: Recorder,
    done: Probe<Option<bool>>,
}

impl Inside {
    fn new(what: What, gate: &Gate) -> Self {
        Inside {
            slot: Arc::default(),
            back: Arc::default(),
            what,
            filled: gate.pass(),
            late: Recorder::new(),
            done: Probe::new(None),
        }
    }

    fn act(&self) {
        self.filled.wait();
        let Some(informer) = self.slot.lock().take() else { return };
        let outcome = match self.what {
            What::Drop => {
                drop(informer);
                true
            }
            What::Stop => {
                informer.stop();
                let waits = [
                    informer.join().unwrap_err(),
                    informer.join_timeout(LONG).unwrap_err(),
                    informer.wait_synced(LONG).unwrap_err(),
                    informer.store().wait_until("99", LONG).unwrap_err(),
                    informer.store().wait_gone("default/a", "u", LONG).unwrap_err(),
                ];
                *self.back.lock() = Some(informer);
                waits.iter().all(Error::is_would_block)
            }
            What::Call => {
                let stays = informer.add_event_handler(self.late.clone()).unwrap();
                let goes = informer.on_event(|_| ()).unwrap();
                goes.remove();
                let index: Index<TestObject, u64> =
                    Index::new("inside", |object: &TestObject| [object.value]);
                informer.add_index(&index).unwrap();
                let found = index.get(&informer.store(), &0).unwrap().len();
                let _ = (informer.lister().list(), informer.store().snapshot(), informer.status());
                let _ = (informer.has_synced(), stays.has_synced(), informer.is_stopped());
                informer.start().unwrap();
                let waits = [
                    goes.remove_and_wait().unwrap_err(),
                    stays.wait_synced(LONG).unwrap_err(),
                    informer.wait_synced(LONG).unwrap_err(),
                ];
                *self.back.lock() = Some(informer);
                found <= 2 && waits.iter().all(Error::is_would_block)
            }
        };
        self.done.set(Some(outcome));
    }
}

/// Builds an informer with `place`, which calls [`Inside::act`]; lets `trigger` bring it to do so.
fn end_inside(
    name: &str,
    build: impl Fn(InformerBuilder<TestObject>, &Inside) -> SharedInformer<TestObject>,
    trigger: impl Fn(&FakeSource, &ManualClock),
) {
    for what in [What::Stop, What::Drop, What::Call] {
        let name = format!("{name}-{}", &format!("{what:?}")[..1]);
        logged::keep();
        let (source, clock, gate) = (source(&name), ManualClock::new(), Gate::new("the slot is filled"));
        let mark = ThreadMark::of(&name);
        let inside = Inside::new(what, &gate);
        let informer = build(SharedInformer::builder(source.clone()).clock(clock.clone()), &inside);
        let store = informer.store();
        *inside.slot.lock() = Some(informer.clone());
        informer.start().unwrap();
        drop(informer);
        trigger(&source, &clock);
        gate.open();
        assert!(inside.done.wait_for("what is done inside", Option::take), "{name}");
        if what == What::Call {
            inside.late.wait_for(2);
            assert!(inside.late.records().iter().all(|record| record.to_string().ends_with(", initial)")));
            let informer = inside.back.lock().clone().unwrap();
            within("the stop", move || informer.stop());
        }
        assert!(within("the end of waits", move || store.wait_until("99", LONG)).unwrap_err().is_stopped());
        // From outside: with a handle a join, without one there is nothing left to wait for.
        let left = inside.back.lock().take();
        if let Some(informer) = left {
            within("the join", move || informer.join()).unwrap();
        }
        mark.assert_none_left();
        assert_eq!(clock.pending(), 0, "{name}");
        // A drop that waits for its own thread waits in vain, and says so in the end.
        let said: Vec<_> =
            logged::about(&name).into_iter().filter(|line| line.contains("has not ended")).collect();
        assert!(said.is_empty(), "{said:?}");
    }
}

fn nothing(_: &FakeSource, _: &ManualClock) {}

fn add(
    informer: SharedInformer<TestObject>,
    delivery: Delivery,
    inside: &Inside,
) -> SharedInformer<TestObject> {
    let inside = inside.clone();
    struct Acting(Inside);
    impl EventHandler<TestObject> for Acting {
        fn on_event(&mut self, _: &Event<TestObject>) {
            self.0.act();
        }
    }
    informer.add_event_handler_with(HandlerOptions::new().delivery(delivery), Acting(inside)).unwrap();
    informer
}

#[test]
fn d_12_f_50_f_51_stop_drop_and_every_call_in_a_handler() {
    end_inside("w-auto", |builder, inside| add(builder.build(), Delivery::Auto, inside), nothing);
    end_inside("w-inline", |builder, inside| add(builder.build(), Delivery::Inline, inside), nothing);
    end_inside("w-own", |builder, inside| add(builder.build(), Delivery::Thread, inside), nothing);
}

#[test]
fn d_12_f_50_f_51_stop_drop_and_every_call_in_a_handler_that_was_moved_off() {
    let build = |builder: InformerBuilder<TestObject>, inside: &Inside| {
        let informer = add(builder.build(), Delivery::Auto, inside);
        informer.on_event(|_| ()).unwrap(); // it waits
        informer
    };
    // It stands before the slot, inside its call, while the clock goes on.
    end_inside("w-moved", build, |_, clock| lose_patience(clock));
}

#[test]
fn d_12_f_50_f_51_stop_drop_and_every_call_in_a_filter() {
    let build = |builder: InformerBuilder<TestObject>, inside: &Inside| {
        let (informer, inside) = (builder.build(), inside.clone());
        let filter = move |_: &TestObject| {
            inside.act();
            true
        };
        informer.add_event_handler(Recorder::new().filter(filter)).unwrap();
        informer
    };
    end_inside("w-filter", build, nothing);
}

#[test]
fn d_12_f_50_f_51_stop_drop_and_every_call_in_a_transform() {
    let build = |builder: InformerBuilder<TestObject>, inside: &Inside| {
        let inside = inside.clone();
        builder.transform(move |_| inside.act()).build()
    };
    end_inside("w-transform", build, nothing);
}

#[test]
fn d_12_f_50_f_51_stop_drop_and_every_call_in_an_index_function() {
    let build = |builder: InformerBuilder<TestObject>, inside: &Inside| {
        let inside = inside.clone();
        let index: Index<TestObject, u64> = Index::new("acting", move |object: &TestObject| {
            inside.act();
            [object.value]
        });
        builder.index(&index).build()
    };
    end_inside("w-index", build, nothing);
}

#[test]
fn d_12_f_50_f_51_stop_drop_and_every_call_in_the_error_hook() {
    let build = |builder: InformerBuilder<TestObject>, inside: &Inside| {
        let inside = inside.clone();
        builder.on_error(move |_| inside.act()).build()
    };
    end_inside("w-hook", build, |source, _| {
        source.wait_for_idle_watches(1);
        source.fail_watches(&status_error(410, "Expired", "too old"));
    });
}

#[test]
fn d_12_f_50_f_51_stop_drop_and_every_call_in_the_metrics() {
    struct Acting(Inside);
    impl Metrics for Acting {
        fn count(&self, _: &InformerName<'_>, _: Counter, _: u64) {
            // They are told on whatever thread something happens; here it is the reader.
            if std::thread::current().name().is_some_and(|name| name.starts_with("read ")) {
                self.0.act();
            }
        }
    }
    let build = |builder: InformerBuilder<TestObject>, inside: &Inside| {
        builder.metrics(Acting(inside.clone())).build()
    };
    end_inside("w-metrics", build, nothing);
}

/// An object whose destructor acts, once a transform has told it to.
struct Dropping {
    object: TestObject,
    inside: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Object for Dropping {
    fn meta(&self) -> MetaView<'_> {
        self.object.meta()
    }
}

impl Clone for Dropping {
    fn clone(&self) -> Self {
        Dropping { object: self.object.clone(), inside: None }
    }
}

impl Versioned for Dropping {
    fn set_identity(&mut self, uid: &str, resource_version: &str) {
        self.object.set_identity(uid, resource_version);
    }
}

impl Drop for Dropping {
    fn drop(&mut self) {
        if let Some(inside) = self.inside.take() {
            inside();
        }
    }
}

#[test]
fn d_12_f_51_stop_join_and_drop_in_the_destructor_of_an_object() {
    for drops in [false, true] {
        let name = if drops { "w-object-d" } else { "w-object-s" };
        let mark = ThreadMark::of(name);
        logged::keep();
        let slot: Arc<Mutex<Option<SharedInformer<Dropping>>>> = Arc::default();
        let done = Probe::new(None);
        let (theirs, tell) = (Arc::clone(&slot), done.clone());
        let inside: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
            let Some(informer) = theirs.lock().take() else { return };
            if drops {
                drop(informer);
                return tell.set(Some(true));
            }
            informer.stop();
            let blocks = informer.join().is_err_and(|error| error.is_would_block());
            *theirs.lock() = Some(informer);
            tell.set(Some(blocks));
        });
        let source = FakeSource::<Dropping>::new().named(name);
        source.create(Dropping { object: object("default/a"), inside: None });
        let informer = SharedInformer::builder(source.clone())
            .transform(move |object: &mut Dropping| object.inside = Some(Arc::clone(&inside)))
            .build();
        let store = informer.store();
        informer.start().unwrap();
        informer.wait_synced(LONG).unwrap();
        *slot.lock() = Some(informer);
        // The old state is replaced, and dropped by the pop thread.
        source.update(Dropping { object: object("default/a").value(1), inside: None });
        assert!(done.wait_for("what is done inside", Option::take), "{name}");
        assert!(within("the end of waits", move || store.wait_until("99", LONG)).unwrap_err().is_stopped());
        let left = slot.lock().take();
        if let Some(informer) = left {
            within("the join", move || informer.join()).unwrap();
        }
        mark.assert_none_left();
        assert!(logged::about(name).iter().all(|line| !line.contains("has not ended")), "{name}");
    }
}

/// A handler that waits for its own end where it is dropped: the removal is on a thread of nobody's, the stop too.
#[test]
fn d_12_f_51_stop_and_join_in_the_destructor_of_a_handler() {
    struct Ending(Inside);
    impl EventHandler<TestObject> for Ending {}
    impl Drop for Ending {
        fn drop(&mut self) {
            self.0.act();
        }
    }
    for removed in [true, false] {
        let name = if removed { "w-removed" } else { "w-stopped" };
        let (mark, gate) = (ThreadMark::of(name), Gate::new("the slot is filled"));
        gate.open();
        let inside = Inside::new(What::Stop, &gate);
        let informer = SharedInformer::builder(source(name)).build();
        let registration = informer.add_event_handler(Ending(inside.clone())).unwrap();
        informer.start().unwrap();
        registration.wait_synced(LONG).unwrap();
        *inside.slot.lock() = Some(informer.clone());
        let theirs = informer.clone();
        within("the removal", move || if removed { registration.remove() } else { theirs.stop() });
        assert!(inside.done.wait_for("the destructor", Option::take), "{name}");
        within("the join", move || informer.join()).unwrap();
        mark.assert_none_left();
    }
}
