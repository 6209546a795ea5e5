//! The oracle against the contract, and its decisions one by one.

use std::collections::BTreeMap;

use informer_core::{BadObject, ChangeKind, Error, ErrorKind, ObjectKey};
use informer_testkit::{Listed, Oracle, Record, TestObject, replay, states};
use proptest::prelude::*;

use crate::waiting::message_of;

fn object(name: &str, uid: &str, version: &str) -> TestObject {
    TestObject::new(&format!("ns/{name}")).uid(uid).version(version)
}

fn bad(name: Option<&str>, uid: &str, version: &str) -> BadObject {
    BadObject {
        key: name.map(|name| ObjectKey::new("ns", name)),
        uid: uid.to_owned(),
        resource_version: version.to_owned(),
        error: Error::new(ErrorKind::Decode, "bad"),
    }
}

/// An oracle that has a@1 and b@2, and has forgotten how it got them.
fn two() -> Oracle<TestObject> {
    let mut oracle = Oracle::new();
    oracle.replace(vec![object("a", "ua", "1").into(), object("b", "ub", "2").into()]);
    oracle
}

fn trace(events: &[informer_core::Event<TestObject>]) -> String {
    let lines: Vec<_> = events.iter().map(|event| format!("{event:?}")).collect();
    lines.join("\n")
}

#[test]
fn d_5_a_relist_is_a_difference() {
    let mut oracle = two();
    let events = oracle.replace(vec![
        object("c", "uc", "9").into(),
        object("b", "ub", "2").into(), // unchanged
    ]);
    assert_eq!(trace(&events), "Deleted(ns/a@1, final state unknown)\nAdded(ns/c@9)");
    let events = oracle.replace(vec![object("b", "ub", "10").into(), object("c", "uc", "9").into()]);
    assert_eq!(trace(&events), "Updated(ns/b@2→10)");
}

#[test]
fn d_5_empty_versions_are_never_equal() {
    let mut oracle = Oracle::new();
    oracle.replace(vec![object("a", "ua", "").into()]);
    assert_eq!(trace(&oracle.replace(vec![object("a", "ua", "").into()])), "Updated(ns/a@→)");
}

#[test]
fn d_4_another_uid_is_a_delete_and_an_add() {
    let expected = "Deleted(ns/a@1, final state unknown)\nAdded(ns/a@5)";
    let mut oracle = two();
    assert_eq!(trace(&oracle.change(ChangeKind::Modified, object("a", "new", "5"))), expected);
    let mut oracle = two();
    let relist = vec![object("a", "new", "5").into(), object("b", "ub", "2").into()];
    assert_eq!(trace(&oracle.replace(relist)), expected);
    assert_eq!(trace(&oracle.change(ChangeKind::Deleted, object("a", "ua", "6"))), "");
    assert_eq!(trace(&oracle.change(ChangeKind::Deleted, object("a", "new", "7"))), "Deleted(ns/a@7)");
    assert_eq!(trace(&oracle.change(ChangeKind::Deleted, object("a", "new", "8"))), "");
}

#[test]
fn c_1_added_and_modified_are_what_the_store_makes_of_them() {
    let mut oracle = two();
    assert_eq!(trace(&oracle.change(ChangeKind::Added, object("a", "ua", "3"))), "Updated(ns/a@1→3)");
    assert_eq!(trace(&oracle.change(ChangeKind::Modified, object("c", "uc", "4"))), "Added(ns/c@4)");
}

#[test]
fn d_8_a_bad_object_keeps_what_is_stored() {
    let mut oracle = two();
    let relist = |second| vec![Listed::Bad(bad(Some("a"), "ua", "8")), second];
    assert_eq!(trace(&oracle.replace(relist(object("b", "ub", "2").into()))), "");
    let unreadable = vec![Listed::Bad(bad(None, "", ""))];
    assert_eq!(trace(&oracle.replace(unreadable)), "", "no deletions when a key is unreadable");
    assert_eq!(trace(&oracle.bad_change(ChangeKind::Modified, &bad(Some("a"), "ua", "9"))), "");
    let replaced = "Deleted(ns/a@1, final state unknown)";
    assert_eq!(trace(&oracle.bad_change(ChangeKind::Modified, &bad(Some("a"), "new", "9"))), replaced);
    let deleted = "Deleted(ns/b@2, final state unknown)";
    assert_eq!(trace(&oracle.bad_change(ChangeKind::Deleted, &bad(Some("b"), "other", "9"))), "");
    assert_eq!(trace(&oracle.bad_change(ChangeKind::Deleted, &bad(Some("b"), "ub", "9"))), deleted);
    assert!(oracle.objects().is_empty());
}

#[test]
fn late_handlers_and_resyncs_see_the_store() {
    let oracle = two();
    assert_eq!(trace(&oracle.late_handler()), "Added(ns/a@1, initial)\nAdded(ns/b@2, initial)");
    assert_eq!(trace(&oracle.resync()), "Resynced(ns/a@1)\nResynced(ns/b@2)");
    assert_eq!(oracle.records().len(), 2);
}

#[test]
fn comparing_per_key_leaves_the_order_over_keys_open() {
    let oracle = two();
    let mut seen = oracle.records().to_vec();
    seen.reverse();
    oracle.assert_same_per_key(&seen);
    seen[0].uid = "other".to_owned();
    assert!(message_of(|| oracle.assert_same_per_key(&seen)).contains("events of ns/b"));
    seen.remove(0);
    assert!(message_of(|| oracle.assert_same_per_key(&seen)).contains("events of ns/b"));
}

#[derive(Clone, Debug)]
enum Step {
    Change(ChangeKind, TestObject),
    Bad(ChangeKind, BadObject),
    Relist(Vec<(TestObject, bool)>),
}

fn any_object() -> impl Strategy<Value = TestObject> {
    ("[a-d]", "u[12]", "[1-5]?").prop_map(|(name, uid, version)| object(&name, &uid, &version))
}

fn any_kind() -> impl Strategy<Value = ChangeKind> {
    prop_oneof![Just(ChangeKind::Added), Just(ChangeKind::Modified), Just(ChangeKind::Deleted)]
}

fn any_step() -> impl Strategy<Value = Step> {
    let any_bad = (prop::option::of("[a-d]"), "(u[12])?", "[1-5]?")
        .prop_map(|(name, uid, version)| bad(name.as_deref(), &uid, &version));
    prop_oneof![
        4 => (any_kind(), any_object()).prop_map(|(kind, object)| Step::Change(kind, object)),
        1 => (any_kind(), any_bad).prop_map(|(kind, bad)| Step::Bad(kind, bad)),
        1 => prop::collection::vec((any_object(), prop::bool::weighted(0.2)), 0..6).prop_map(Step::Relist),
    ]
}

proptest! {
    /// Whatever happens, a handler's events keep the contract and give exactly the store.
    #[test]
    fn i_2_replaying_the_events_gives_the_store(steps in prop::collection::vec(any_step(), 0..30)) {
        let mut oracle = Oracle::new();
        let mut events = Vec::new();
        for step in steps {
            let more = match step {
                Step::Change(kind, object) => oracle.change(kind, object),
                Step::Bad(kind, bad) => oracle.bad_change(kind, &bad),
                Step::Relist(items) => {
                    let good: BTreeMap<_, _> =
                        items.iter().map(|(object, bad)| (object.key(), !bad)).collect();
                    let listed = items.iter().map(|(object, is_bad)| {
                        if *is_bad {
                            Listed::Bad(bad(Some(&object.name), &object.uid, &object.resource_version))
                        } else {
                            object.clone().into()
                        }
                    });
                    let more = oracle.replace(listed.collect());
                    for (key, good) in &good {
                        prop_assert!(!good || oracle.states().contains_key(key));
                    }
                    prop_assert!(oracle.states().keys().all(|key| good.contains_key(key)));
                    more
                }
            };
            events.extend(more.iter().map(Record::from));
            prop_assert_eq!(replay(&events), Ok(oracle.states()));
        }
        prop_assert_eq!(&events, oracle.records());
        prop_assert_eq!(states(oracle.objects().iter().map(|object| &**object)), oracle.states());
    }
}
