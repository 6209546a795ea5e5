//! The recording handler and the contract it checks.

use std::sync::Arc;

use informer_core::sync::spawn;
use informer_core::{Event, EventHandler};
use informer_testkit::{Gate, Record, Recorder, TestObject, replay, states, within};

use crate::waiting::message_of;

fn a(uid: &str, version: &str) -> Arc<TestObject> {
    Arc::new(TestObject::new("ns/a").uid(uid).version(version))
}

fn added(object: Arc<TestObject>) -> Event<TestObject> {
    Event::Added { object, initial: false }
}

fn updated(old: Arc<TestObject>, new: Arc<TestObject>) -> Event<TestObject> {
    Event::Updated { old, new }
}

fn deleted(object: Arc<TestObject>) -> Event<TestObject> {
    Event::Deleted { object, final_state_unknown: false }
}

#[test]
fn a_trace_reads_as_events_do() {
    let events = [
        Event::Added { object: a("u", "1"), initial: true },
        updated(a("u", "1"), a("u", "2")),
        Event::Resynced { object: a("u", "2") },
        Event::Deleted { object: a("u", "2"), final_state_unknown: true },
        added(a("v", "3")),
    ];
    let recorder = Recorder::new();
    let mut handler = recorder.clone();
    events.iter().for_each(|event| handler.on_event(event));
    let debug: Vec<_> = events.iter().map(|event| format!("{event:?}")).collect();
    assert_eq!(recorder.trace(), debug.join("\n"));
    assert_eq!(recorder.replay(), states([&*a("v", "3")]));
    assert_eq!(recorder.threads().len(), 5);
}

#[test]
fn replay_refuses_what_breaks_the_contract() {
    for (events, why) in [
        (vec![added(a("u", "1")), added(a("u", "2"))], "has it already"),
        (vec![updated(a("u", "1"), a("u", "2"))], "does not have it"),
        (vec![deleted(a("u", "1"))], "does not have it"),
        (vec![Event::Resynced { object: a("u", "1") }], "does not have it"),
        (vec![added(a("u", "1")), updated(a("u", "2"), a("u", "3"))], "not the one the handler has"),
        (vec![added(a("u", "1")), updated(a("u", "1"), a("v", "2"))], "another object is told as an update"),
        (vec![added(a("u", "1")), deleted(a("v", "2"))], "another object of this name"),
        (vec![added(a("u", "1")), Event::Resynced { object: a("u", "2") }], "another state"),
        (vec![added(a("u", "1")), deleted(a("u", "2")), deleted(a("u", "2"))], "event 3"),
    ] {
        let records: Vec<_> = events.iter().map(Record::from).collect();
        let broken = replay(&records).unwrap_err();
        assert!(broken.contains(why), "{broken}");
    }
}

#[test]
fn a_recorder_blocks_and_panics_to_order() {
    let recorder = Recorder::new();
    let gate = Gate::new("second event");
    recorder.block_at(2, &gate);
    recorder.panic_at(3);
    let mut handler = recorder.clone();
    let caller = spawn("caller", move || {
        handler.on_event(&added(a("u", "1")));
        handler.on_event(&updated(a("u", "1"), a("u", "2")));
        let message = message_of(|| handler.on_event(&deleted(a("u", "2"))));
        assert!(message.contains("event 3"));
    })
    .unwrap();
    assert_eq!(recorder.wait_for(2).len(), 2);
    gate.wait_for_waiting(1);
    assert_eq!(recorder.len(), 2, "the call is inside");
    gate.open();
    recorder.wait_for_returned(3);
    within("the caller", move || caller.join().unwrap());
    assert!(recorder.replay().is_empty());
}

#[test]
fn overlapping_calls_are_found() {
    let recorder = Recorder::new();
    let gate = Gate::new("inside");
    recorder.block_always(&gate);
    let callers: Vec<_> = ["1", "2"]
        .into_iter()
        .map(|name| {
            let mut handler = recorder.clone();
            spawn(name, move || handler.on_event(&added(Arc::new(TestObject::new(name))))).unwrap()
        })
        .collect();
    gate.wait_for_waiting(2);
    gate.open();
    within("the callers", move || callers.into_iter().for_each(|caller| caller.join().unwrap()));
    assert!(message_of(|| recorder.replay()).contains("overlapped"));
}
