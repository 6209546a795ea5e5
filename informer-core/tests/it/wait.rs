//! Waiting for one's own write.

use std::time::Duration;

use informer_core::sync::spawn;
use informer_core::{ErrorKind, SharedInformer, Store};
use informer_testkit::{FakeSource, Legible, ManualClock, TestObject, within};

const LONG: Duration = Duration::from_secs(20);

fn object(key: &str) -> TestObject {
    TestObject::new(key)
}

fn running() -> (FakeSource, SharedInformer<TestObject>) {
    let source = FakeSource::new();
    source.create(object("default/a"));
    source.create(object("default/b"));
    let informer = SharedInformer::builder(source.clone()).build();
    informer.start().unwrap();
    informer.wait_synced(LONG).unwrap();
    (source, informer)
}

fn wait_for(store: &Store<TestObject>, written: &TestObject) -> informer_core::Result<()> {
    store.wait_for(&written.key(), &written.uid, &written.resource_version, LONG)
}

#[test]
fn sc_2_after_the_wait_the_store_shows_the_write_while_others_write_too() {
    let (source, informer) = running();
    let writers: Vec<_> = (0..3)
        .map(|writer| {
            let (source, store) = (source.clone(), informer.store());
            spawn("writer", move || {
                let key = format!("default/w{writer}");
                for value in 0..300 {
                    let written = source.apply(object(&key).value(value));
                    wait_for(&store, &written).unwrap();
                    assert_eq!(store.get(&written.key()).unwrap().value, value);
                }
                let gone = source.delete(&key);
                store.wait_gone(&gone.key(), &gone.uid, LONG).unwrap();
                assert!(store.get(&gone.key()).is_none());
            })
            .unwrap()
        })
        .collect();
    within("the writers", move || writers.into_iter().for_each(|writer| writer.join().unwrap()));
}

#[test]
fn d1_deleted_replaced_and_passed_versions_are_reached() {
    let (source, informer) = running();
    let store = informer.store();
    // Deleted before it was seen
    let (written, _) =
        source.edit(|world| (world.update(object("default/a").value(1)), world.delete("default/a")));
    wait_for(&store, &written).unwrap();
    // Made again under its name
    let (written, again) = source.edit(|world| {
        let written = world.update(object("default/b").value(1));
        world.delete("default/b");
        (written, world.create(object("default/b")))
    });
    wait_for(&store, &written).unwrap();
    wait_for(&store, &again).unwrap();
    store.wait_gone("default/b", &written.uid, LONG).unwrap();
    // Nothing of it is selected here: the bookmark tells (sc_1)
    source.edit(|world| {
        world.skip_versions(10);
        world.bookmark();
    });
    store.wait_until(&source.version(), LONG).unwrap();
    assert_eq!(store.resource_version(), source.version());
}

#[test]
fn d8_a_write_that_does_not_decode_is_told_at_once() {
    let (source, informer) = running();
    source.edit(|world| world.break_object("default/a", Legible::Metadata));
    let (uid, version) = (informer.store().get("default/a").unwrap().uid.clone(), source.version());
    let error = informer.store().wait_for("default/a", &uid, &version, LONG).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreadable);
    let written = source.update(object("default/a").value(3));
    wait_for(&informer.store(), &written).unwrap();
    assert!(informer.status().stale.is_empty());
}

#[test]
fn d1_a_wait_ends_at_its_time_by_the_informers_clock() {
    let clock = ManualClock::new();
    let source = FakeSource::new();
    source.create(object("default/a"));
    let informer = SharedInformer::builder(source).clock(clock.clone()).build();
    informer.start().unwrap();
    let store = informer.store();
    let waiter = spawn("waiter", move || {
        let error = store.wait_until("100", Duration::from_secs(3600)).unwrap_err();
        assert!(error.is_timed_out(), "{error}");
    })
    .unwrap();
    clock.wait_for_alarm("the time-out", |until| until == Duration::from_secs(3600));
    clock.advance(Duration::from_secs(3600));
    within("the waiter", move || waiter.join().unwrap());
}

#[test]
fn d1_versions_that_do_not_compare_are_an_error_not_a_wait() {
    let (_source, informer) = running();
    for version in ["", "x7", "0"] {
        let error = informer.store().wait_for("default/a", "u", version, LONG).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotComparable, "{version:?}");
    }
}
