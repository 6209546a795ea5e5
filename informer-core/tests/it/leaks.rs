//! What is left when an informer has ended: no object, no thread, no alarm.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informer_core::{Delivery, EventHandler, HandlerOptions, Index, MetaView, Object, SharedInformer};
use informer_testkit::{
    FakeSource, Gate, ManualClock, Recorder, TestObject, ThreadMark, Versioned, alone, within,
};

use crate::support::{LONG, lose_patience, object, source_of};

/// An object that is counted while it is the informer's: from the transform, which marks it, to its end.
struct Counted {
    object: TestObject,
    count: Option<Arc<()>>,
}

impl Object for Counted {
    fn meta(&self) -> MetaView<'_> {
        self.object.meta()
    }
}

/// What the source keeps is not the informer's.
impl Clone for Counted {
    fn clone(&self) -> Self {
        Counted { object: self.object.clone(), count: None }
    }
}

impl Versioned for Counted {
    fn set_identity(&mut self, uid: &str, resource_version: &str) {
        self.object.set_identity(uid, resource_version);
    }
}

fn counted(key: &str, value: u64) -> Counted {
    Counted { object: object(key).value(value), count: None }
}

/// A source of ten objects, and an informer that counts what it holds.
fn ground(clock: &ManualClock, limit: usize) -> (FakeSource<Counted>, SharedInformer<Counted>, Arc<()>) {
    let source = FakeSource::<Counted>::new();
    for at in 0..10 {
        source.create(counted(&format!("default/{at}"), 0));
    }
    let count = Arc::new(());
    let mark = Arc::clone(&count);
    let by_value: Index<Counted, u64> = Index::new("by-value", |object: &Counted| [object.object.value]);
    let informer = SharedInformer::builder(source.clone())
        .clock(clock.clone())
        .queue_limit(limit)
        .index(&by_value)
        .transform(move |object: &mut Counted| object.count = Some(Arc::clone(&mark)))
        .build();
    (source, informer, count)
}

/// How many objects there are. The test and the transform have a count each.
fn live(count: &Arc<()>, transform: bool) -> usize {
    Arc::strong_count(count) - 1 - usize::from(transform)
}

fn reach(informer: &SharedInformer<Counted>, source: &FakeSource<Counted>) {
    let (store, version) = (informer.store(), source.version());
    within("the store to catch up", move || store.wait_until(&version, LONG)).unwrap();
}

/// Waits until the pop thread has come to its next boundary: only then has it let go of the batch before.
fn settle(informer: &SharedInformer<Counted>) {
    for _ in 0..2 {
        let registration = informer.on_event(|_| ()).unwrap();
        within("a boundary", move || {
            registration.wait_synced(LONG).unwrap();
            registration.remove_and_wait().unwrap();
        });
    }
}

#[test]
fn f_56_changed_and_deleted_objects_are_let_go() {
    let clock = ManualClock::new();
    let (source, informer, count) = ground(&clock, 4096);
    let seen = Recorder::new();
    let registrations = [Delivery::Auto, Delivery::Thread].map(|delivery| {
        let options = HandlerOptions::new().delivery(delivery);
        informer.add_event_handler_with(options, seen.clone()).unwrap()
    });
    informer.start().unwrap();
    let told = seen.wait_for_returned(20).len();
    for round in 1..=50 {
        for at in 0..10 {
            source.update(counted(&format!("default/{at}"), round));
        }
    }
    seen.wait_for_returned(told + 1000);
    for at in 0..5 {
        source.delete(&format!("default/{at}"));
    }
    seen.wait_for_returned(told + 1010);
    // Their last calls let go of what they were told of.
    within("the removal", move || registrations.map(|registration| registration.remove_and_wait().unwrap()));
    settle(&informer);
    assert_eq!(informer.store().len(), 5);
    assert_eq!(live(&count, true), 5, "what the store holds, and nothing else");
}

#[test]
fn d_2_f_48_a_blocked_handler_holds_what_it_has_still_to_be_told_and_no_more() {
    let clock = ManualClock::new();
    let (source, informer, count) = ground(&clock, 8);
    let (gate, slow, quick) = (Gate::new("blocked"), Recorder::new(), Recorder::new());
    slow.block_at(11, &gate); // the first change after the first list
    let registration = informer.add_event_handler(slow.clone()).unwrap();
    informer.add_event_handler(quick.clone()).unwrap();
    informer.start().unwrap();
    quick.wait_for_returned(10);
    source.update(counted("default/0", 0));
    gate.wait_for_waiting(1);
    lose_patience(&clock);
    quick.wait_for_returned(11);
    for round in 1..=100 {
        for at in 0..10 {
            source.update(counted(&format!("default/{at}"), round));
        }
        reach(&informer, &source);
    }
    settle(&informer);
    // Ten in the store; of each the state that the blocked handler knows; and the state it is told of now.
    let now = live(&count, true);
    assert!((20..=22).contains(&now), "{now} objects live");
    assert!(informer.status().handlers[0].folded > 900);
    // A removal lets go of the backlog at once, of the call's object with its return.
    registration.remove();
    settle(&informer);
    assert!(live(&count, true) <= 12, "{}", live(&count, true));
    gate.open();
    within("the end of the call", move || registration.remove_and_wait()).unwrap();
    settle(&informer);
    assert_eq!(live(&count, true), 10);
}

#[test]
fn f_56_no_object_outlives_a_stopped_informer_and_its_store() {
    for started in [true, false] {
        for blocked in [true, false] {
            let clock = ManualClock::new();
            let (source, informer, count) = ground(&clock, 4096);
            let (gate, seen) = (Gate::new("a call"), Recorder::new());
            if blocked {
                seen.block_at(3, &gate);
            }
            let registration = informer.add_event_handler(seen.clone()).unwrap();
            let (store, weak) = (informer.store(), informer.downgrade());
            if started {
                informer.start().unwrap();
                seen.wait_for(3);
                reach(&informer, &source);
                source.update(counted("default/0", 1)); // perhaps in the queue, perhaps in a backlog
            }
            informer.stop();
            gate.open();
            let theirs = informer.clone();
            within("the join", move || theirs.join()).unwrap();
            let held = store.len();
            assert_eq!(held, if started { 10 } else { 0 });
            assert_eq!(live(&count, false), held, "the frozen store alone holds objects");
            drop(informer);
            assert!(weak.upgrade().is_none());
            drop(store);
            // A registration and a weak handle hold nothing.
            assert_eq!(Arc::strong_count(&count), 1, "started {started}, blocked {blocked}");
            drop(registration);
        }
    }
}

#[test]
fn d_12_a_drop_lets_go_of_everything_that_was_handed_over() {
    for started in [true, false] {
        let token = Arc::new(());
        let held = || Arc::clone(&token);
        let (transform, hook, index, closure, filter) = (held(), held(), held(), held(), held());
        let by_value: Index<TestObject, u64> = Index::new("by-value", move |object: &TestObject| {
            let _ = &index;
            [object.value]
        });
        let source = source_of(&["default/a"]);
        let informer = SharedInformer::builder(source)
            .transform(move |_| _ = &transform)
            .on_error(move |_| _ = &hook)
            .index(&by_value)
            .build();
        drop(by_value);
        informer.on_event(move |_| _ = &closure).unwrap();
        let filtered = Recorder::new().filter(move |_: &TestObject| Arc::strong_count(&filter) > 0);
        let options = HandlerOptions::new().delivery(Delivery::Thread).resync(Duration::from_secs(1));
        informer.add_event_handler_with(options, filtered).unwrap();
        if started {
            informer.start().unwrap();
            informer.wait_synced(LONG).unwrap();
        }
        assert_eq!(Arc::strong_count(&token), 6);
        within("the drop", move || drop(informer));
        assert_eq!(Arc::strong_count(&token), 1, "started {started}");
    }
}

#[test]
fn i_4_f_56_handlers_that_come_and_go_leave_no_thread_and_are_dropped_once() {
    struct Once(Arc<AtomicUsize>);
    impl EventHandler<TestObject> for Once {}
    impl Drop for Once {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    alone(|| {
        let mark = ThreadMark::new();
        let drops = Arc::new(AtomicUsize::new(0));
        let informer = crate::support::synced(&source_of(&["default/a"]));
        for at in 0..200 {
            let delivery = [Delivery::Thread, Delivery::Auto][at % 2];
            let options = HandlerOptions::new().delivery(delivery);
            let registration = informer.add_event_handler_with(options, Once(Arc::clone(&drops))).unwrap();
            if at % 3 == 0 {
                registration.wait_synced(LONG).unwrap();
            }
            registration.remove_and_wait().unwrap();
            assert_eq!(drops.load(Ordering::SeqCst), at + 1);
        }
        // One that stays, one that is removed after the stop, one that comes to an informer that never runs.
        let options = HandlerOptions::new().delivery(Delivery::Thread);
        informer.add_event_handler_with(options, Once(Arc::clone(&drops))).unwrap();
        let after = informer.add_event_handler(Once(Arc::clone(&drops))).unwrap();
        let never = SharedInformer::builder(source_of(&[])).build();
        never.add_event_handler_with(options, Once(Arc::clone(&drops))).unwrap();
        informer.stop();
        informer.join().unwrap();
        mark.assert_none_left_now();
        after.remove_and_wait().unwrap();
        drop(never);
        assert_eq!(drops.load(Ordering::SeqCst), 203);
        mark.assert_none_left_now();
    });
}
