//! Handlers: when they come and go, what they are told, on which thread, and what becomes of slow and panicking ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use informer_core::sync::{Mutex, spawn};
use informer_core::{
    Delivery, Event, EventHandler, HandlerOptions, Index, Registration, Result, SharedInformer,
};
use informer_testkit::{Gate, ManualClock, Probe, RecordKind, Recorder, TestObject, states, within};

use crate::support::{LONG, PATIENCE, has_last, lose_patience, object, reach, source_of, synced, synced_by};

#[test]
fn i_21_f_53_handlers_added_while_events_flow_miss_nothing_and_get_nothing_twice() {
    let source = source_of(&["default/first"]);
    let informer = synced(&source);
    let theirs = source.clone();
    let writer = spawn("writer", move || {
        for round in 0..3000u64 {
            let key = format!("default/{}", round % 17);
            theirs.edit(|world| match (world.get(&key), round % 5) {
                (Some(_), 0) => drop(world.delete(&key)),
                (Some(_), 1) => {
                    world.delete(&key);
                    world.create(object(&key));
                }
                _ => drop(world.apply(object(&key).value(round))),
            });
        }
    })
    .unwrap();
    let deliveries = [Delivery::Auto, Delivery::Thread, Delivery::Inline];
    let mut added: Vec<(Recorder, Registration<TestObject>)> = Vec::new();
    for at in 0..45 {
        let recorder = Recorder::new();
        let options = HandlerOptions::new().delivery(deliveries[at % 3]);
        let registration = informer.add_event_handler_with(options, recorder.clone()).unwrap();
        if at % 9 == 8 {
            registration.wait_synced(LONG).unwrap();
        }
        added.push((recorder, registration));
    }
    writer.join().unwrap();
    source.create(object("default/last"));
    let mut want = None;
    for (recorder, registration) in &added {
        recorder.wait_until("the last object", has_last);
        assert!(registration.has_synced());
        let want = want.get_or_insert_with(|| states(informer.store().list().iter().map(Arc::as_ref)));
        assert_eq!(recorder.replay(), *want);
    }
}

#[test]
fn i_22_i_24_one_handler_twice_is_told_twice_and_removing_one_leaves_the_other() {
    let source = source_of(&["default/a"]);
    let informer = synced(&source);
    let seen = Recorder::new();
    let first = informer.add_event_handler(seen.clone()).unwrap();
    let second = informer.add_event_handler(seen.clone()).unwrap();
    assert_ne!(first.id(), second.id());
    seen.wait_for(2);
    first.remove();
    second.wait_synced(LONG).unwrap();
    source.update(object("default/a").value(1));
    source.create(object("default/last"));
    seen.wait_until("the last object", has_last);
    assert_eq!(seen.len(), 4);
    first.remove(); // again is nothing
    assert_eq!(informer.status().handlers.len(), 1);
    drop(second);
    assert_eq!(informer.status().handlers.len(), 1, "dropping a registration removes nothing");
}

/// A handler that tells when it is dropped, and stands at a gate in its first call.
struct Standing {
    gate: informer_testkit::Pass,
    dropped: Arc<AtomicBool>,
    panic: bool,
}

impl EventHandler<TestObject> for Standing {
    fn on_event(&mut self, _: &Event<TestObject>) {
        self.gate.wait();
        assert!(!self.panic, "told to");
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::SeqCst);
    }
}

#[test]
fn i_23_i_25_removal_returns_at_once_and_the_waiting_form_after_the_call_and_the_drop() {
    for (delivery, panic) in [
        (Delivery::Auto, false),
        (Delivery::Thread, false),
        (Delivery::Inline, true),
        (Delivery::Thread, true),
    ] {
        let source = source_of(&["default/a", "default/b"]);
        let informer = synced(&source);
        let (gate, dropped) = (Gate::new("a call in progress"), Arc::new(AtomicBool::new(false)));
        let handler = Standing { gate: gate.pass(), dropped: Arc::clone(&dropped), panic };
        let options = HandlerOptions::new().delivery(delivery);
        let registration = Arc::new(informer.add_event_handler_with(options, handler).unwrap());
        gate.wait_for_waiting(1);
        registration.remove();
        assert!(!dropped.load(Ordering::SeqCst), "a call is in progress");
        let (theirs, flag) = (Arc::clone(&registration), Arc::clone(&dropped));
        let waiter = spawn("waiter", move || {
            theirs.remove_and_wait().unwrap();
            assert!(flag.load(Ordering::SeqCst), "only once it has been dropped");
        });
        assert!(!dropped.load(Ordering::SeqCst));
        gate.open();
        within("the waiting removal", move || waiter.unwrap().join().unwrap());
        registration.remove_and_wait().unwrap(); // again, and long gone
        let error = registration.wait_synced(LONG).unwrap_err();
        assert!(error.is_stopped(), "a handler that is gone never syncs: {error}");
    }
}

#[test]
fn t_7_f_51_a_handler_removes_itself_its_siblings_and_is_not_waited_for() {
    let source = source_of(&["default/a"]);
    let informer = SharedInformer::builder(source.clone()).build();
    let siblings: Arc<Mutex<Vec<Registration<TestObject>>>> = Arc::default();
    let answers = Probe::new(None);
    let (before, after) = (Recorder::new(), Recorder::new());
    let first = informer.add_event_handler(before.clone()).unwrap();
    let (theirs, tell) = (Arc::clone(&siblings), answers.clone());
    let own = informer
        .on_event(move |_| {
            let all = std::mem::take(&mut *theirs.lock());
            let answer: Vec<_> = all.iter().map(Registration::remove_and_wait).collect();
            tell.set(Some(answer));
        })
        .unwrap();
    let last = informer.add_event_handler(after.clone()).unwrap();
    siblings.lock().extend([first, own, last]);
    informer.start().unwrap();
    let answers: Vec<Result<()>> = answers.wait_for("the answers", Option::take);
    assert_eq!(answers.len(), 3);
    for answer in answers {
        assert!(answer.unwrap_err().is_would_block());
    }
    let witness = Recorder::new();
    informer.add_event_handler(witness.clone()).unwrap().wait_synced(LONG).unwrap();
    assert_eq!((before.len(), after.len()), (1, 0));
    assert_eq!(informer.status().handlers.len(), 1);
}

#[test]
fn a_destructor_that_waits_for_its_own_end_is_told_that_it_would_block() {
    struct Clinging(Arc<Mutex<Option<Registration<TestObject>>>>, Probe<Option<bool>>);
    impl EventHandler<TestObject> for Clinging {}
    impl Drop for Clinging {
        fn drop(&mut self) {
            let own = self.0.lock().take();
            let answer = own.map(|own| own.remove_and_wait().is_err_and(|error| error.is_would_block()));
            self.1.set(answer);
        }
    }
    let informer = synced(&source_of(&[]));
    let (slot, answer) = (Arc::default(), Probe::new(None));
    let registration = informer.add_event_handler(Clinging(Arc::clone(&slot), answer.clone())).unwrap();
    registration.wait_synced(LONG).unwrap();
    let id = registration.id();
    *slot.lock() = Some(registration);
    assert_eq!(informer.status().handlers[0].id, id);
    within("stop", move || informer.stop());
    assert_eq!(answer.get(), Some(true));
}

#[test]
fn s_14_a_panic_in_an_index_function_is_reported_and_the_object_is_there() {
    let source = source_of(&["default/a", "default/b"]);
    let reports = Probe::new(0);
    let hook = reports.clone();
    let picky: Index<TestObject, u64> = Index::new("picky", |object: &TestObject| {
        assert!(object.value != 13, "told to");
        [object.value]
    });
    let informer = SharedInformer::builder(source.clone())
        .index(&picky)
        .on_error(move |report| {
            assert!(report.error.to_string().contains("default/a"), "{}", report.error);
            hook.update(|count| *count += 1);
        })
        .build();
    informer.start().unwrap();
    informer.wait_synced(LONG).unwrap();
    let written = source.update(object("default/a").value(13));
    reach(&informer, written);
    reports.wait("a report", |count| *count == 1);
    assert_eq!(picky.get(&informer.store(), &0).unwrap().len(), 1);
    assert_eq!(informer.status().counters.bad_objects, 1);
    let written = source.update(object("default/a").value(14));
    reach(&informer, written);
    assert_eq!(picky.get(&informer.store(), &14).unwrap().len(), 1);
}

#[test]
fn i_60_d8_a_transform_that_panics_on_an_object_leaves_its_older_state() {
    let source = source_of(&["default/a", "default/b"]);
    let informer = SharedInformer::builder(source.clone())
        .transform(|object: &mut TestObject| {
            assert!(object.value != 13, "told to");
            object.value += 100;
        })
        .build();
    informer.start().unwrap();
    informer.wait_synced(LONG).unwrap();
    source.update(object("default/a").value(13));
    let written = source.update(object("default/b").value(2));
    reach(&informer, written);
    let store = informer.store();
    assert_eq!((store.get("default/a").unwrap().value, store.get("default/b").unwrap().value), (100, 102));
    assert_eq!(informer.status().stale.len(), 1);
}

#[test]
fn i_40_f_45_handlers_are_resynced_at_their_own_periods_without_a_request() {
    let clock = ManualClock::new();
    let source = source_of(&["default/a", "default/b"]);
    let informer =
        SharedInformer::builder(source.clone()).clock(clock.clone()).resync(Duration::from_secs(3)).build();
    let recorders = [Recorder::new(), Recorder::new(), Recorder::new()];
    let [never, second, third] = &recorders;
    let every = |seconds| HandlerOptions::new().resync(Duration::from_secs(seconds));
    informer.add_event_handler_with(every(0), never.clone()).unwrap();
    informer.add_event_handler_with(every(2), second.clone()).unwrap();
    informer.add_event_handler(third.clone()).unwrap(); // the informer's own
    informer.start().unwrap();
    for recorder in &recorders {
        recorder.wait_for(2);
    }
    source.wait_for_idle_watches(1);
    let requests = source.requests().len();
    let mut want = [2, 2, 2];
    for (at, due) in [(2, &[1][..]), (3, &[2]), (4, &[1]), (6, &[1, 2]), (8, &[1]), (9, &[2])] {
        let until = Duration::from_secs(at) - clock.elapsed();
        clock.wait_for_alarm("the resync", |alarm| alarm == until);
        clock.advance(until);
        for handler in due {
            want[*handler] += 2;
            recorders[*handler].wait_for(want[*handler]);
        }
        clock.wait_for_alarm("the next resync", |alarm| alarm <= Duration::from_secs(2));
        assert_eq!(recorders.each_ref().map(Recorder::len), want, "at {at} s");
    }
    let resynced = second.records().iter().filter(|record| record.kind == RecordKind::Resynced).count();
    assert_eq!(resynced, 8);
    assert_eq!(source.requests().len(), requests, "resync is not a relist");
    let error = informer
        .add_event_handler_with(HandlerOptions::new().resync(Duration::from_millis(500)), Recorder::new());
    assert!(error.is_err(), "i_42: at least 1 s");
}

#[test]
fn i_43_i_44_a_resync_is_an_update_with_the_same_object_twice() {
    struct Same(Probe<u32>);
    impl EventHandler<TestObject> for Same {
        fn on_update(&mut self, old: &Arc<TestObject>, new: &Arc<TestObject>) {
            assert!(Arc::ptr_eq(old, new));
            self.0.update(|count| *count += 1);
        }
    }
    let clock = ManualClock::new();
    let source = source_of(&["default/a", "default/b"]);
    let informer = synced_by(&clock, &source);
    let count = Probe::new(0);
    let options = HandlerOptions::new().resync(Duration::from_secs(5));
    informer.add_event_handler_with(options, Same(count.clone())).unwrap();
    // Added late, it is resynced all the same.
    clock.wait_for_alarm("the resync", |until| until == Duration::from_secs(5));
    clock.advance(Duration::from_secs(5));
    count.wait("two resyncs", |count| *count == 2);
}

#[test]
fn a_resync_period_of_zero_is_none() {
    let clock = ManualClock::new();
    let informer = SharedInformer::builder(source_of(&["default/a"]))
        .clock(clock.clone())
        .resync(Duration::ZERO)
        .build();
    let seen = Recorder::new();
    informer.add_event_handler(seen.clone()).unwrap();
    informer.start().unwrap();
    seen.wait_for(1);
    assert!(clock.alarms().iter().all(|until| *until > Duration::from_secs(1)), "{:?}", clock.alarms());
}

#[test]
fn d3_each_delivery_has_its_thread() {
    let source = source_of(&["default/a"]).named("pods");
    // By a clock that stands still: on a busy machine an inline call may take its time.
    let informer = SharedInformer::builder(source).clock(ManualClock::new()).build();
    let recorders = [Delivery::Auto, Delivery::Inline, Delivery::Thread].map(|delivery| {
        let recorder = Recorder::new();
        let options = HandlerOptions::new().delivery(delivery);
        informer.add_event_handler_with(options, recorder.clone()).unwrap();
        recorder
    });
    informer.start().unwrap();
    let threads = recorders.each_ref().map(|recorder| {
        recorder.wait_for(1);
        recorder.threads()[0].clone()
    });
    assert_eq!(threads, ["pop pods", "pop pods", "handler pods"]);
    assert_eq!(
        informer.status().handlers.iter().map(|handler| handler.own_thread).collect::<Vec<_>>(),
        [false, false, true]
    );
}

#[test]
fn d3_an_inline_handler_is_never_moved_off_until_it_is_removed() {
    let clock = ManualClock::new();
    let source = source_of(&["default/a"]);
    let informer = synced_by(&clock, &source);
    let (gate, slow) = (Gate::new("inline"), Recorder::new());
    slow.block_at(1, &gate);
    let options = HandlerOptions::new().delivery(Delivery::Inline);
    let registration = informer.add_event_handler_with(options, slow.clone()).unwrap();
    gate.wait_for_waiting(1);
    let written = source.update(object("default/a").value(1));
    source.wait_for_idle_watches(1); // the reader has queued it
    clock.advance(Duration::from_secs(60));
    assert_eq!((informer.status().promotions, informer.status().queued), (0, 1));
    registration.remove(); // its time is over already
    reach(&informer, written);
    assert_eq!(informer.status().promotions, 1);
}

#[test]
fn i_27_a_replay_that_blocks_for_ever_stops_nobody() {
    let clock = ManualClock::new();
    let source = source_of(&["default/a"]);
    let informer = synced_by(&clock, &source);
    let (gate, late) = (Gate::new("the replay"), Recorder::new());
    late.block_at(1, &gate);
    informer.add_event_handler(late.clone()).unwrap();
    gate.wait_for_waiting(1);
    let written = source.update(object("default/a").value(1));
    lose_patience(&clock);
    reach(&informer, written);
    // Another comes, blocks as well, and is moved off as well.
    let (second, third) = (Recorder::new(), Recorder::new());
    second.block_at(1, &gate);
    informer.add_event_handler(second.clone()).unwrap();
    gate.wait_for_waiting(2);
    informer.add_event_handler(third.clone()).unwrap();
    lose_patience(&clock);
    third.wait_for(1);
    assert_eq!(informer.status().promotions, 2);
    gate.open();
    late.wait_for(2);
    assert_eq!(late.trace(), "Added(default/a@1, initial)\nUpdated(default/a@1→2)");
}

#[test]
fn i_27_a_resync_that_blocks_for_ever_stops_nobody() {
    let clock = ManualClock::new();
    let source = source_of(&["default/a"]);
    let informer = synced_by(&clock, &source);
    let (gate, slow) = (Gate::new("a resync"), Recorder::new());
    slow.block_at(2, &gate);
    let options = HandlerOptions::new().resync(Duration::from_secs(5));
    informer.add_event_handler_with(options, slow.clone()).unwrap();
    slow.wait_for_returned(1);
    clock.wait_for_alarm("the resync", |until| until == Duration::from_secs(5));
    clock.advance(Duration::from_secs(5));
    gate.wait_for_waiting(1);
    let written = source.update(object("default/a").value(1));
    lose_patience(&clock);
    reach(&informer, written);
}

#[test]
fn i_15_one_blocked_handler_does_not_keep_the_other_from_syncing() {
    let clock = ManualClock::new();
    let source = source_of(&["default/a", "default/b"]);
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).build();
    let (gate, slow, quick) = (Gate::new("blocked"), Recorder::new(), Recorder::new());
    slow.block_at(1, &gate);
    let blocked = informer.add_event_handler(slow.clone()).unwrap();
    let free = informer.add_event_handler(quick.clone()).unwrap();
    informer.start().unwrap();
    gate.wait_for_waiting(1);
    lose_patience(&clock);
    within("the other handler", move || free.wait_synced(LONG)).unwrap();
    assert!(!blocked.has_synced());
    gate.open();
    within("the slow handler", move || blocked.wait_synced(LONG)).unwrap();
}

#[test]
fn i_11_f_52_a_registration_syncs_once_its_last_initial_add_has_returned() {
    let source = source_of(&["default/a", "default/b", "default/c"]);
    let informer = SharedInformer::builder(source.clone()).build();
    let gates = [1, 2, 3].map(|nth| (nth, Gate::new("an add")));
    let seen = Recorder::new();
    for (nth, gate) in &gates {
        seen.block_at(*nth, gate);
    }
    let registration = informer.add_event_handler(seen.clone()).unwrap();
    informer.start().unwrap();
    informer.wait_synced(LONG).unwrap();
    for (_, gate) in &gates {
        gate.wait_for_waiting(1);
        assert!(!registration.has_synced());
        gate.open();
    }
    registration.wait_synced(LONG).unwrap();
    assert_eq!(seen.len(), 3);
    drop(informer);
    assert!(registration.has_synced(), "it stays, also beyond the informer");
}

#[test]
fn f_52_an_object_that_is_deleted_before_its_add_is_delivered_counts_as_handled() {
    let source = source_of(&["default/a", "default/b"]);
    let informer = SharedInformer::builder(source.clone()).queue_limit(1).build();
    let (gate, seen, witness) = (Gate::new("the first add"), Recorder::new(), Recorder::new());
    seen.block_at(1, &gate);
    let options = HandlerOptions::new().delivery(Delivery::Thread);
    let registration = informer.add_event_handler_with(options, seen.clone()).unwrap();
    informer.add_event_handler(witness.clone()).unwrap();
    informer.start().unwrap();
    gate.wait_for_waiting(1);
    for key in ["default/a", "default/b"] {
        source.delete(key);
    }
    witness.wait_until("the deletes", |records| records.len() >= 4);
    gate.open();
    registration.wait_synced(LONG).unwrap();
    seen.wait_for(2);
    assert!(seen.replay().is_empty(), "{}", seen.trace());
    assert_eq!(seen.len(), 2, "one add and its delete; the other pair was folded away:\n{}", seen.trace());
}

#[test]
fn f_48_a_blocked_handler_costs_nobody_anything_and_little_memory() {
    const UPDATES: u64 = 100_000;
    let clock = ManualClock::new();
    let source = source_of(&["default/a"]);
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).build();
    let (gate, slow, quick) = (Gate::new("blocked for ever"), Recorder::new(), Probe::new(0));
    slow.block_at(1, &gate);
    informer.add_event_handler(slow.clone()).unwrap();
    let count = quick.clone();
    informer.on_event(move |_| count.update(|count| *count += 1)).unwrap();
    informer.start().unwrap();
    gate.wait_for_waiting(1);
    lose_patience(&clock);
    quick.wait("the add", |count| *count == 1);
    let requests = source.requests().len();
    for update in 1..=UPDATES {
        source.update(object("default/a").value(update));
        if update % 1000 == 0 {
            // Paced by the quick one: the queue between never folds.
            quick.wait("the updates so far", |count| *count == update + 1);
        }
    }
    let status = informer.status();
    assert!(status.handlers[0].pending <= 4098, "{}", status.handlers[0].pending);
    assert!(status.handlers[0].folded > UPDATES - 5000);
    assert_eq!(status.folded, 0);
    assert_eq!(source.requests().len(), requests, "the watch is never restarted");
    gate.open();
    let version = source.version();
    slow.wait_until("the last state", |records| {
        records.last().is_some_and(|record| record.version == version)
    });
    assert_eq!(slow.replay(), states(informer.store().list().iter().map(Arc::as_ref)));
}

#[test]
fn d2_unpaced_every_handlers_replay_equals_the_store() {
    let source = source_of(&["default/0", "default/1", "default/2"]);
    let informer = SharedInformer::builder(source.clone()).queue_limit(16).build();
    let recorders = [Delivery::Auto, Delivery::Thread, Delivery::Thread].map(|delivery| {
        let recorder = Recorder::new();
        let options = HandlerOptions::new().delivery(delivery);
        informer.add_event_handler_with(options, recorder.clone()).unwrap();
        recorder
    });
    let gate = Gate::new("behind");
    recorders[2].block_at(2, &gate);
    informer.start().unwrap();
    gate.wait_for_waiting(1);
    for round in 0..5000u64 {
        let key = format!("default/{}", round * 7 % 40);
        source.edit(|world| match (world.get(&key), round % 3) {
            (Some(_), 0) => drop(world.delete(&key)),
            (Some(_), 1) => {
                world.delete(&key);
                world.create(object(&key));
            }
            _ => drop(world.apply(object(&key).value(round))),
        });
        if round == 4000 {
            gate.open();
        }
    }
    source.create(object("default/last"));
    for recorder in &recorders {
        recorder.wait_until("the last object", has_last);
        assert_eq!(recorder.replay(), states(informer.store().list().iter().map(Arc::as_ref)));
    }
    assert_eq!(informer.store().len(), source.objects().len());
    let status = informer.status();
    assert!(status.folded + status.handlers[2].folded > 0, "somewhere it had to fold");
}

#[test]
fn c_9_f_42_a_filter_passes_deletes_whose_end_was_not_seen() {
    let clock = ManualClock::new();
    let source = source_of(&["default/a", "default/b"]);
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).build();
    let (seen, all) = (Recorder::new(), Recorder::new());
    informer.add_event_handler(seen.clone().filter(|object: &TestObject| object.name == "a")).unwrap();
    informer.add_event_handler(all.clone()).unwrap();
    informer.start().unwrap();
    all.wait_for(2);
    source.edit(|world| {
        world.close_watches();
        world.delete("default/a");
        world.delete("default/b");
        world.compact();
    });
    let backoff = clock.wait_for_alarm("the back-off after 410", |until| PATIENCE < until);
    clock.advance(backoff);
    all.wait_for(4);
    assert_eq!(seen.trace(), "Added(default/a@1, initial)\nDeleted(default/a@1, final state unknown)");
}
