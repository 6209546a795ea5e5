//! Start, stop, join and drop: at every stage, from everywhere, leaving no thread behind.

use std::sync::Arc;
use std::time::Duration;

use informer_core::sync::{Mutex, spawn};
use informer_core::{
    Delivery, Event, EventHandler, HandlerOptions, Index, Phase, Registration, SharedInformer,
};
use informer_testkit::{
    FakeSource, Gate, ListFault, ManualClock, Probe, Recorder, TestObject, ThreadMark, WatchFault,
    status_error, within,
};

use crate::support::{LONG, object};

/// A source of two objects; threads are told apart by its name, so each test has its own.
fn source(name: &str) -> FakeSource {
    let source = FakeSource::new().named(name);
    source.create(object("default/a"));
    source.create(object("default/b"));
    source
}

/// Stops, joins, and looks whether every thread has gone.
#[track_caller]
fn end(informer: &SharedInformer<TestObject>, mark: &ThreadMark) {
    informer.stop();
    let theirs = informer.clone();
    within("the join", move || theirs.join()).unwrap();
    mark.assert_none_left();
    assert!(informer.is_stopped());
}

#[test]
fn i_1_f_55_starting_from_many_threads_starts_once() {
    let source = source("start-once");
    let mark = ThreadMark::of("start-once");
    let informer = SharedInformer::builder(source.clone()).build();
    let starters: Vec<_> = (0..8)
        .map(|_| {
            let theirs = informer.clone();
            spawn("starter", move || theirs.start().unwrap()).unwrap()
        })
        .collect();
    for starter in starters {
        starter.join().unwrap();
    }
    informer.wait_synced(LONG).unwrap();
    source.wait_for_idle_watches(1);
    assert_eq!(source.requests().len(), 1, "{}", source.trace());
    assert_eq!(mark.left(), 2, "a reader and a pop thread");
    end(&informer, &mark);
    let error = informer.start().unwrap_err();
    assert!(error.is_stopped(), "i_2: it runs once: {error}");
}

#[test]
fn i_4_stop_before_the_start() {
    let mark = ThreadMark::of("never-start");
    let informer = SharedInformer::builder(source("never-start")).build();
    let seen = Recorder::new();
    let registration = informer.add_event_handler(seen.clone()).unwrap();
    end(&informer, &mark);
    assert!(informer.start().unwrap_err().is_stopped());
    registration.remove();
    registration.remove_and_wait().unwrap();
    assert!(seen.is_empty());
}

#[test]
fn i_10_f_56_stop_while_a_list_is_on_its_way() {
    let source = source("stop-list");
    let (gate, mark) = (Gate::new("the list"), ThreadMark::of("stop-list"));
    source.on_next_list(ListFault::hold(&gate));
    let informer = SharedInformer::builder(source.clone()).streaming(false).build();
    informer.start().unwrap();
    gate.wait_for_waiting(1);
    assert_eq!(informer.status().phase, Phase::Listing);
    end(&informer, &mark);
    assert!(!informer.has_synced(), "i_10: it stays so");
    assert!(informer.store().is_empty());
}

#[test]
fn f_56_stop_while_a_watch_is_being_opened() {
    let source = source("stop-open");
    let (gate, mark) = (Gate::new("the head"), ThreadMark::of("stop-open"));
    source.on_next_watch(WatchFault::hold(&gate));
    let informer = SharedInformer::builder(source.clone()).build();
    informer.start().unwrap();
    gate.wait_for_waiting(1);
    end(&informer, &mark);
}

#[test]
fn f_56_stop_in_a_silent_watch() {
    let source = source("stop-idle");
    let mark = ThreadMark::of("stop-idle");
    let informer = SharedInformer::builder(source.clone()).build();
    informer.start().unwrap();
    informer.wait_synced(LONG).unwrap();
    source.wait_for_idle_watches(1);
    end(&informer, &mark);
}

#[test]
fn f_56_stop_during_a_back_off() {
    let source = source("stop-wait");
    let (clock, mark) = (ManualClock::new(), ThreadMark::of("stop-wait"));
    source.start_outage(status_error(503, "ServiceUnavailable", "down"));
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).build();
    informer.start().unwrap();
    clock.wait_for_alarms(1);
    end(&informer, &mark);
    assert_eq!(clock.pending(), 0, "nothing waits any more");
}

#[test]
fn f_56_stop_while_the_pop_thread_waits_for_a_resync() {
    let source = source("stop-resync");
    let (clock, mark) = (ManualClock::new(), ThreadMark::of("stop-resync"));
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).build();
    let options = HandlerOptions::new().resync(Duration::from_secs(3600));
    informer.add_event_handler_with(options, Recorder::new()).unwrap();
    informer.start().unwrap();
    clock.wait_for_alarm("the resync", |until| until == Duration::from_secs(3600));
    end(&informer, &mark);
}

#[test]
fn i_7_c_11_join_waits_for_a_handler_that_is_being_called() {
    for (name, delivery) in
        [("stop-auto", Delivery::Auto), ("stop-inline", Delivery::Inline), ("stop-own", Delivery::Thread)]
    {
        let source = source(name);
        let (gate, mark) = (Gate::new("a call"), ThreadMark::of(name));
        let informer = SharedInformer::builder(source.clone()).build();
        let seen = Recorder::new();
        seen.block_at(1, &gate);
        informer.add_event_handler_with(HandlerOptions::new().delivery(delivery), seen.clone()).unwrap();
        informer.start().unwrap();
        gate.wait_for_waiting(1);
        within("stop", {
            let theirs = informer.clone();
            move || theirs.stop()
        });
        let (joined, theirs) = (Probe::new(false), informer.clone());
        let tell = joined.clone();
        let joiner = spawn("joiner", move || {
            theirs.join().unwrap();
            tell.set(true);
        })
        .unwrap();
        assert!(!joined.get(), "not while it is called");
        gate.open();
        joiner.join().unwrap();
        mark.assert_none_left();
        assert_eq!(seen.len(), 1, "i_8, c_11: what it has not been given is dropped");
    }
}

#[test]
fn i_8_stop_with_a_long_backlog_ends_with_the_call_in_progress() {
    let source = source("stop-backlog");
    for at in 0..10_000 {
        source.create(object(&format!("default/more-{at}")));
    }
    let (gate, mark) = (Gate::new("the third call"), ThreadMark::of("stop-backlog"));
    let informer = SharedInformer::builder(source).build();
    let seen = Recorder::new();
    seen.block_at(3, &gate);
    informer.add_event_handler(seen.clone()).unwrap();
    informer.start().unwrap();
    gate.wait_for_waiting(1);
    assert_eq!(informer.status().handlers[0].pending, 10_000);
    informer.stop();
    gate.open();
    end(&informer, &mark);
    assert_eq!(seen.len(), 3);
    assert_eq!(informer.store().len(), 10_002, "the store stays readable");
}

#[test]
fn f_56_stop_after_a_promotion_joins_both_threads() {
    let source = source("stop-moved");
    let (clock, mark) = (ManualClock::new(), ThreadMark::of("stop-moved"));
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).build();
    let (gate, slow, quick) = (Gate::new("a slow call"), Recorder::new(), Recorder::new());
    slow.block_at(1, &gate);
    informer.add_event_handler(slow.clone()).unwrap();
    informer.add_event_handler(quick.clone()).unwrap();
    informer.start().unwrap();
    gate.wait_for_waiting(1);
    clock.wait_for_alarm("the watchdog", |until| until <= Duration::from_millis(250));
    clock.advance(Duration::from_millis(250));
    quick.wait_for(2);
    informer.stop();
    gate.open();
    end(&informer, &mark);
    assert_eq!(slow.len(), 1);
}

#[test]
fn d_12_stop_ends_every_wait_at_once() {
    let source = source("stop-waits");
    let clock = ManualClock::new();
    source.start_outage(status_error(403, "Forbidden", "no"));
    let informer = SharedInformer::builder(source).clock(clock.clone()).build();
    let registration = Arc::new(informer.on_event(|_| ()).unwrap());
    informer.start().unwrap();
    clock.wait_for_alarms(1); // the back-off
    let waits: Vec<Box<dyn FnOnce() -> informer_core::Result<()> + Send>> = vec![
        Box::new({
            let theirs = informer.clone();
            move || theirs.wait_synced(LONG)
        }),
        Box::new({
            let theirs = Arc::clone(&registration);
            move || theirs.wait_synced(LONG)
        }),
        Box::new({
            let store = informer.store();
            move || store.wait_until("5", LONG)
        }),
        Box::new({
            let store = informer.store();
            move || store.wait_for("default/a", "u", "5", LONG)
        }),
    ];
    let waiters: Vec<_> = waits
        .into_iter()
        .map(|wait| spawn("waiter", move || assert!(wait().unwrap_err().is_stopped())).unwrap())
        .collect();
    clock.wait_for_alarms(5); // each has its time-out
    informer.stop();
    within("the waits", move || waiters.into_iter().for_each(|waiter| waiter.join().unwrap()));
}

#[test]
fn f_59_a_wait_that_times_out_names_the_last_error() {
    let source = source("wait-403");
    let clock = ManualClock::new();
    source.start_outage(status_error(403, "Forbidden", "pods is forbidden"));
    let informer = SharedInformer::builder(source).clock(clock.clone()).build();
    informer.start().unwrap();
    clock.wait_for_alarms(1);
    let theirs = informer.clone();
    let (tell, told) = std::sync::mpsc::channel();
    let waiter =
        spawn("waiter", move || tell.send(theirs.wait_synced(Duration::from_millis(1))).unwrap()).unwrap();
    clock.wait_for_alarm("the time-out", |until| until == Duration::from_millis(1));
    clock.advance(Duration::from_millis(1));
    let error = told.recv().unwrap().unwrap_err();
    waiter.join().unwrap();
    assert!(error.is_timed_out() && error.chain().to_string().contains("pods is forbidden"), "{error}");
}

#[test]
fn f_54_i_3_i_51_a_stopped_informer_answers_every_call() {
    let source = source("after-stop");
    let mark = ThreadMark::of("after-stop");
    let informer = SharedInformer::builder(source.clone()).build();
    let registration = informer.on_event(|_| ()).unwrap();
    informer.start().unwrap();
    registration.wait_synced(LONG).unwrap();
    end(&informer, &mark);
    informer.stop(); // again
    informer.join().unwrap();
    assert!(informer.on_event(|_| ()).unwrap_err().is_stopped(), "i_3");
    let index: Index<TestObject, u64> = Index::new("late", |object: &TestObject| [object.value]);
    assert!(informer.add_index(&index).unwrap_err().is_stopped(), "i_51");
    registration.remove();
    registration.remove_and_wait().unwrap();
    assert!(registration.has_synced() && informer.has_synced(), "latched");
    assert_eq!(informer.lister().list().len(), 2, "from the frozen store");
    assert!(informer.store().wait_until("99", LONG).unwrap_err().is_stopped());
    assert_eq!(informer.status().phase, Phase::Stopped);
    let never = SharedInformer::builder(source).build();
    never.stop();
    assert!(never.wait_synced(LONG).unwrap_err().is_stopped());
}

#[test]
fn f_51_stop_from_a_handler_signals_and_a_join_from_there_would_block() {
    let source = source("stop-within");
    let mark = ThreadMark::of("stop-within");
    let informer = SharedInformer::builder(source).build();
    let (answers, weak) = (Probe::new(None), informer.downgrade());
    let tell = answers.clone();
    let calls = Recorder::new();
    informer
        .on_event(move |_| {
            let Some(informer) = weak.upgrade() else { return };
            informer.stop();
            tell.set(Some(informer.join().unwrap_err().is_would_block()));
        })
        .unwrap();
    informer.add_event_handler(calls.clone()).unwrap();
    informer.start().unwrap();
    assert!(answers.wait_for("the handler", Option::take));
    let theirs = informer.clone();
    within("the join", move || theirs.join()).unwrap();
    mark.assert_none_left();
    assert!(calls.is_empty(), "no further call after the stop");
}

#[test]
fn f_51_the_last_handle_may_be_dropped_in_a_handler() {
    for (name, delivery) in [("drop-within", Delivery::Auto), ("drop-own", Delivery::Thread)] {
        let mark = ThreadMark::of(name);
        let slot: Arc<Mutex<Option<SharedInformer<TestObject>>>> = Arc::default();
        let (gate, done, theirs) = (Gate::new("the slot is filled"), Probe::new(false), Arc::clone(&slot));
        let (pass, tell) = (gate.pass(), done.clone());
        struct Dropping<F>(F);
        impl<F: FnMut() + Send + 'static> EventHandler<TestObject> for Dropping<F> {
            fn on_event(&mut self, _: &Event<TestObject>) {
                (self.0)();
            }
        }
        let informer = SharedInformer::builder(source(name)).build();
        let handler = Dropping(move || {
            pass.wait();
            let last = theirs.lock().take();
            drop(last);
            tell.set(true);
        });
        informer.add_event_handler_with(HandlerOptions::new().delivery(delivery), handler).unwrap();
        informer.start().unwrap();
        *slot.lock() = Some(informer);
        gate.open();
        done.wait("the drop", |done| *done);
        mark.assert_none_left();
    }
}

#[test]
fn d12_dropping_the_last_handle_elsewhere_stops_and_waits() {
    let source = source("drop-last");
    let mark = ThreadMark::of("drop-last");
    let informer = SharedInformer::builder(source.clone()).build();
    let (store, weak) = (informer.store(), informer.downgrade());
    let registration = informer.on_event(|_| ()).unwrap();
    let other = informer.clone();
    assert!(other.is_same(&informer));
    informer.start().unwrap();
    registration.wait_synced(LONG).unwrap();
    drop(informer);
    assert!(!other.is_stopped() && weak.upgrade().is_some());
    within("the drop", move || drop(other));
    mark.assert_none_left();
    assert!(weak.upgrade().is_none());
    assert_eq!(store.len(), 2, "a store keeps no thread alive, but itself");
    assert!(store.wait_until("99", LONG).unwrap_err().is_stopped());
    assert!(registration.wait_synced(LONG).is_ok() && registration.has_synced());
    registration.remove_and_wait().unwrap();
}

/// F-50: on every add it lists, adds another handler, and removes itself.
struct Busy {
    informer: informer_core::WeakInformer<TestObject>,
    own: Arc<Mutex<Option<Registration<TestObject>>>>,
    depth: u32,
}

fn add_busy(informer: &SharedInformer<TestObject>, depth: u32, delivery: Delivery) {
    let own = Arc::new(Mutex::new(None));
    let handler = Busy { informer: informer.downgrade(), own: Arc::clone(&own), depth };
    let options = HandlerOptions::new().delivery(delivery).resync(Duration::from_secs(1));
    // After a stop there is nothing to add to.
    if let Ok(registration) = informer.add_event_handler_with(options, handler) {
        *own.lock() = Some(registration);
    }
}

impl EventHandler<TestObject> for Busy {
    fn on_add(&mut self, object: &Arc<TestObject>, _: bool) {
        let Some(informer) = self.informer.upgrade() else { return };
        assert!(informer.lister().list().len() <= 12, "{object}");
        if self.depth > 0 {
            add_busy(&informer, self.depth - 1, Delivery::Auto);
        }
        let own = self.own.lock().take();
        if let Some(own) = own {
            own.remove();
            let _ = own.has_synced();
        }
    }
}

#[test]
fn f_50_adding_removing_starting_listing_and_stopping_never_wait_for_each_other() {
    let mark = ThreadMark::of("f50");
    for round in 0..150u32 {
        let source = source("f50");
        let informer = SharedInformer::builder(source.clone()).build();
        let mut threads = Vec::new();
        for delivery in [Delivery::Auto, Delivery::Thread, Delivery::Inline] {
            let theirs = informer.clone();
            threads
                .push(spawn("adder", move || (0..3).for_each(|_| add_busy(&theirs, 2, delivery))).unwrap());
        }
        let theirs = informer.clone();
        // A stop may come before it.
        threads.push(spawn("starter", move || drop(theirs.start())).unwrap());
        let changes = source.clone();
        threads.push(
            spawn("writer", move || {
                for at in 0..10 {
                    changes.create(object(&format!("default/{at}")));
                }
            })
            .unwrap(),
        );
        let theirs = informer.clone();
        threads.push(
            spawn("stopper", move || {
                if round % 3 != 0 {
                    // At some moment after the first list.
                    let _ = theirs.wait_synced(LONG);
                }
                theirs.stop();
            })
            .unwrap(),
        );
        within("everything to end", move || {
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            informer.join()
        })
        .unwrap();
    }
    mark.assert_none_left();
}
