//! What the tests of handlers and of the lifecycle share.

use std::time::Duration;

use informer_core::SharedInformer;
use informer_testkit::{FakeSource, ManualClock, Record, TestObject, within};

pub(crate) const LONG: Duration = Duration::from_secs(20);
pub(crate) const PATIENCE: Duration = Duration::from_millis(251);

pub(crate) fn object(key: &str) -> TestObject {
    TestObject::new(key)
}

pub(crate) fn source_of(keys: &[&str]) -> FakeSource {
    let source = FakeSource::new();
    for key in keys {
        source.create(object(key));
    }
    source
}

/// An informer on `source` that has synced.
pub(crate) fn synced(source: &FakeSource) -> SharedInformer<TestObject> {
    let informer = SharedInformer::builder(source.clone()).build();
    informer.start().unwrap();
    informer.wait_synced(LONG).unwrap();
    informer
}

/// As `synced`, by a clock of the test's.
pub(crate) fn synced_by(clock: &ManualClock, source: &FakeSource) -> SharedInformer<TestObject> {
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).build();
    informer.start().unwrap();
    let theirs = informer.clone();
    within("the first list", move || theirs.wait_synced(LONG)).unwrap();
    informer
}

/// Waits until the store has got `written`; a wait by a manual clock would not end by itself.
pub(crate) fn reach(informer: &SharedInformer<TestObject>, written: TestObject) {
    let store = informer.store();
    within("the store to show a write", move || {
        store.wait_for(&written.key(), &written.uid, &written.resource_version, LONG)
    })
    .unwrap();
}

/// Waits until the watchdog is armed, and lets its time pass.
pub(crate) fn lose_patience(clock: &ManualClock) {
    clock.wait_for_alarm("the watchdog", |until| until <= PATIENCE);
    clock.advance(PATIENCE);
}

pub(crate) fn has_last(records: &[Record]) -> bool {
    records.iter().any(|record| record.key.name() == "last")
}
