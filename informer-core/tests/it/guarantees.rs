//! One test for each numbered promise of `SharedInformer`.

use std::sync::Arc;
use std::time::Duration;

use informer_core::{Error, ErrorKind, Event, EventHandler, Index, Object, ObjectKey, SharedInformer};
use informer_testkit::{FakeSource, Gate, ManualClock, Probe, Recorder, TestObject, ThreadMark, states};

const LONG: Duration = Duration::from_secs(20);

fn object(key: &str) -> TestObject {
    TestObject::new(key)
}

/// Three objects, and an informer on them that has synced.
fn running() -> (FakeSource, SharedInformer<TestObject>) {
    let source = FakeSource::new();
    for key in ["default/a", "default/b", "other/c"] {
        source.create(object(key));
    }
    let informer = SharedInformer::builder(source.clone()).build();
    informer.start().unwrap();
    informer.wait_synced(LONG).unwrap();
    (source, informer)
}

#[test]
fn promise_1_store_before_handler() {
    let (source, informer) = running();
    let store = informer.store();
    let wrong = Probe::new(Vec::<String>::new());
    let seen = Recorder::new();
    let (theirs, note) = (store.clone(), wrong.clone());
    informer
        .on_event(move |event| {
            let there = theirs.get(&event.key());
            let right = match event {
                Event::Deleted { .. } => there.is_none(),
                // The store may already be further, never behind.
                _ => there.is_some_and(|there| {
                    informer_core::version::at_least(
                        there.meta().resource_version,
                        event.meta().resource_version,
                    )
                }),
            };
            if !right {
                note.update(|wrong| wrong.push(format!("{event:?}")));
            }
        })
        .unwrap();
    informer.add_event_handler(seen.clone()).unwrap().wait_synced(LONG).unwrap();
    source.update(object("default/a").value(1));
    source.create(object("default/d"));
    seen.wait_for(5);
    source.delete("default/a");
    seen.wait_for(6);
    assert_eq!(wrong.get(), Vec::<String>::new());
}

#[test]
fn promise_2_i_20_events_replay_to_the_store() {
    let (source, informer) = running();
    let seen = Recorder::new();
    informer.add_event_handler(seen.clone()).unwrap().wait_synced(LONG).unwrap();
    source.update(object("default/a").value(1));
    source.delete("default/b");
    source.create(object("default/b"));
    source.delete("other/c");
    source.create(object("other/last"));
    seen.wait_until("the last object", |records| records.iter().any(|record| record.key.name() == "last"));
    let stored = informer.store().list();
    assert_eq!(seen.replay(), states(stored.iter().map(Arc::as_ref)));
    assert_eq!(stored.len(), source.objects().len());
}

#[test]
fn promise_3_i_26_every_handler_hears_the_order_of_arrival() {
    let (source, informer) = running();
    let handlers = [Recorder::new(), Recorder::new()];
    for handler in &handlers {
        informer.add_event_handler(handler.clone()).unwrap().wait_synced(LONG).unwrap();
        handler.clear();
    }
    let mut expected = Vec::new();
    for value in 0..50 {
        for key in ["default/b", "other/c", "default/a"] {
            let written = source.update(object(key).value(value));
            expected.push((key.to_owned(), written.meta().resource_version.to_owned()));
        }
    }
    for handler in &handlers {
        let heard = handler.wait_for(150);
        let heard: Vec<_> =
            heard.into_iter().map(|record| (record.key.to_string(), record.version)).collect();
        assert_eq!(heard, expected);
    }
}

#[test]
fn promise_4_calls_to_one_handler_never_overlap() {
    let source = FakeSource::new();
    let clock = ManualClock::new();
    source.create(object("default/a"));
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).build();
    let gate = Gate::new("the slow call");
    let slow = Recorder::new(); // it notices calls that overlap, and `replay` says so
    slow.block_at(1, &gate);
    informer.add_event_handler(slow.clone()).unwrap();
    informer.start().unwrap();
    gate.wait_for_waiting(1);
    source.update(object("default/a").value(1));
    clock.wait_for_alarms(1);
    clock.advance(Duration::from_millis(251)); // its thread becomes its own; the pop role goes on elsewhere
    informer.store().wait_until(&source.version(), LONG).unwrap();
    assert_eq!(slow.len(), 1, "the next call waits for the first");
    gate.open();
    slow.wait_for_returned(2);
    assert_eq!(slow.replay().len(), 1);
}

#[test]
fn promise_5_i_13_a_late_handler_gets_a_replay_and_syncs() {
    let (source, informer) = running();
    let gate = Gate::new("first add");
    let late = Recorder::new();
    late.block_at(1, &gate);
    let registration = informer.add_event_handler(late.clone()).unwrap();
    gate.wait_for_waiting(1);
    assert!(informer.has_synced());
    assert!(!registration.has_synced(), "i_13: not before the replay is handled");
    source.create(object("default/new"));
    gate.open();
    registration.wait_synced(LONG).unwrap();
    let records = late.wait_for(4);
    assert!(
        records[..3]
            .iter()
            .all(|record| matches!(record.kind, informer_testkit::RecordKind::Added { initial: true }))
    );
    assert!(matches!(records[3].kind, informer_testkit::RecordKind::Added { initial: false }));
}

#[test]
fn promise_6_a_new_uid_is_a_delete_and_an_add() {
    let source = FakeSource::new();
    source.create(object("default/a"));
    let clock = ManualClock::new();
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).build();
    informer.start().unwrap();
    let seen = Recorder::new();
    informer.add_event_handler(seen.clone()).unwrap();
    seen.wait_for(1);
    source.edit(|world| {
        world.close_watches();
        world.delete("default/a");
        world.create(object("default/a"));
        world.compact();
    });
    clock.wait_for_alarms(1); // 410, back-off, relist
    clock.advance_to_next();
    seen.wait_for(3);
    assert_eq!(
        seen.trace(),
        "Added(default/a@1, initial)\nDeleted(default/a@1, final state unknown)\nAdded(default/a@3)"
    );
}

#[test]
fn promise_7_i_45_a_relist_is_a_diff() {
    let source = FakeSource::new();
    for key in ["default/same", "default/changed", "default/gone"] {
        source.create(object(key));
    }
    let clock = ManualClock::new();
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).build();
    let seen = Recorder::new();
    informer.add_event_handler(seen.clone()).unwrap();
    informer.start().unwrap();
    seen.wait_for(3);
    seen.clear();
    let before = informer.store().get("default/same").unwrap();
    source.edit(|world| {
        world.close_watches();
        world.update(object("default/changed").value(1));
        world.delete("default/gone");
        world.create(object("default/new"));
        world.compact();
    });
    clock.wait_for_alarms(1); // 410, back-off, relist
    clock.advance_to_next();
    seen.wait_for(3);
    informer.store().wait_until(&source.version(), LONG).unwrap();
    assert_eq!(
        seen.trace(),
        "Deleted(default/gone@3, final state unknown)\nUpdated(default/changed@2→4)\nAdded(default/new@6)"
    );
    let after = informer.store().get("default/same").unwrap();
    assert!(Arc::ptr_eq(&before, &after), "an unchanged object is not even built again");
}

#[test]
fn promise_8_a_blocked_handler_delays_nobody_and_its_backlog_is_bounded() {
    const LIMIT: usize = 16;
    let source = FakeSource::new();
    let clock = ManualClock::new();
    source.create(object("default/a"));
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).queue_limit(LIMIT).build();
    let gate = Gate::new("blocked handler");
    let (slow, quick) = (Recorder::new(), Recorder::new());
    slow.block_at(1, &gate);
    informer.add_event_handler(slow.clone()).unwrap();
    informer.add_event_handler(quick.clone()).unwrap();
    informer.start().unwrap();
    gate.wait_for_waiting(1);
    clock.wait_for_alarms(1);
    clock.advance(Duration::from_millis(251));
    quick.wait_for(1);
    for value in 0..LIMIT as u64 - 1 {
        source.update(object("default/a").value(value));
    }
    quick.wait_for(LIMIT);
    let status = informer.status();
    assert_eq!((status.promotions, status.handlers[0].folded), (1, 0), "up to the limit all is kept");
    for value in 0..100 {
        source.update(object("default/a").value(value));
        quick.wait_for(LIMIT + 1 + value as usize);
        assert!(informer.status().handlers[0].pending <= LIMIT + 2);
    }
    assert!(informer.status().handlers[0].folded > 80);
    assert_eq!(informer.status().counters.watches, 1, "the watch is not disturbed");
    gate.open();
    let version = source.version();
    slow.wait_until("the last state", |records| {
        records.last().is_some_and(|record| record.version == version)
    });
    assert_eq!(slow.replay(), quick.replay());
}

#[test]
fn promise_9_a_panic_harms_nobody_else() {
    let (source, informer) = running();
    let (bad, good) = (Recorder::new(), Recorder::new());
    bad.panic_at(2);
    let registration = informer.add_event_handler(bad.clone()).unwrap();
    informer.add_event_handler(good.clone()).unwrap();
    registration.wait_synced(LONG).unwrap();
    source.create(object("default/d"));
    good.wait_for(4);
    bad.wait_for(4);
    assert_eq!(informer.status().handlers[0].panics, 1);
}

#[test]
fn promise_10_stop_is_prompt_and_joins_everything() {
    informer_testkit::alone(|| {
        let mark = ThreadMark::new();
        let (_source, informer) = running();
        informer.stop();
        informer.join().unwrap();
        mark.assert_none_left_now();
        assert_eq!(informer.store().len(), 3, "the store stays readable");
        assert!(informer.start().unwrap_err().is_stopped());
        assert!(informer.on_event(|_| ()).unwrap_err().is_stopped());
    });
}

#[test]
fn d_12_waits_on_the_informers_own_threads_answer_would_block() {
    let (_source, informer) = running();
    let answers = Probe::new(None::<Vec<Error>>);
    let (weak, tell) = (informer.downgrade(), answers.clone());
    informer
        .on_event(move |event| {
            let Some(informer) = weak.upgrade() else { return };
            let all = vec![
                informer.join().unwrap_err(),
                informer.wait_synced(LONG).unwrap_err(),
                informer.store().wait_until("1", LONG).unwrap_err(),
                informer.store().wait_gone(&event.key(), "u", LONG).unwrap_err(),
            ];
            tell.set(Some(all));
        })
        .unwrap();
    let all = answers.wait_for("the answers", Option::take);
    assert!(all.iter().all(Error::is_would_block), "{all:?}");
}

#[test]
fn d_1_wait_for_shows_your_own_write() {
    let (source, informer) = running();
    let written = source.update(object("default/a").value(7));
    let meta = written.meta();
    informer.store().wait_for("default/a", meta.uid, meta.resource_version, LONG).unwrap();
    assert_eq!(informer.store().get("default/a").unwrap().value, 7);
    let gone = source.delete("default/b");
    informer.store().wait_gone("default/b", gone.meta().uid, LONG).unwrap();
    assert!(informer.store().get("default/b").is_none());
}

#[test]
fn i_50_i_51_an_index_can_come_late_and_follows() {
    let (source, informer) = running();
    let by_value: Index<TestObject, u64> = Index::new("by-value", |object: &TestObject| [object.value]);
    assert!(by_value.get(&informer.store(), &0).is_err());
    informer.add_index(&by_value).unwrap();
    assert_eq!(by_value.get(&informer.store(), &0).unwrap().len(), 3);
    let written = source.update(object("default/a").value(7));
    informer
        .store()
        .wait_for("default/a", written.meta().uid, written.meta().resource_version, LONG)
        .unwrap();
    assert_eq!(by_value.keys(&informer.store(), &7).unwrap(), [ObjectKey::new("default", "a")]);
    assert_eq!(by_value.get(&informer.store(), &0).unwrap().len(), 2);
    let again: Index<TestObject, String> =
        Index::new("by-value", |object: &TestObject| [object.name.clone()]);
    for error in [informer.add_index(&by_value).unwrap_err(), informer.add_index(&again).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::DuplicateIndex);
    }
    assert!(again.get(&informer.store(), "a").is_err(), "nothing was added");
    assert_eq!(by_value.get(&informer.store(), &0).unwrap().len(), 2, "and the first one is as it was");
}

#[test]
fn c_9_a_filter_turns_updates_into_adds_and_deletes() {
    let (source, informer) = running();
    let seen = Recorder::new();
    let registration =
        informer.add_event_handler(seen.clone().filter(|object: &TestObject| object.value > 0)).unwrap();
    registration.wait_synced(LONG).unwrap();
    source.update(object("default/a").value(1));
    source.update(object("default/a").value(2));
    source.update(object("default/a").value(0));
    source.update(object("default/b").value(1));
    let records = seen.wait_for(4);
    let kinds: Vec<String> = records
        .iter()
        .map(|record| format!("{:?}", record.kind).split(" ").next().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["Added", "Updated", "Deleted", "Added"]);
}
