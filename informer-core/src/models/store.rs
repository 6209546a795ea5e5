//! The hand-over of a batch from the writer to those who wait, read and index.

use std::sync::Arc;
use std::time::Duration;

use super::check;
use super::stage::{NEVER, Time, thread};
use crate::error::{ErrorKind, Result};
use crate::fixture::{Item, item};
use crate::meta::Object;
use crate::store::{Change, Index, Published, Store, StoreWriter};
use crate::sync::{JoinHandle, Mutex};

/// Writes `a/u1@1` (sets) and `-a` (removes) at `version`.
fn write(writer: &mut StoreWriter<Item>, changes: &[&str], version: &str, timeline: u64) {
    let change = |text: &&str| {
        let object = item(text.trim_start_matches('-'));
        Change { key: object.meta().key(), new: (!text.starts_with('-')).then_some(object) }
    };
    let changes: Vec<_> = changes.iter().map(change).collect();
    assert!(writer.publish(Published { changes: &changes, stale: Vec::new(), version, timeline }).is_empty());
}

/// A thread that waits, and what it was answered.
struct Waiter(JoinHandle<()>, Arc<Mutex<Option<Result<()>>>>);

impl Waiter {
    fn new(store: &Store<Item>, wait: impl FnOnce(&Store<Item>) -> Result<()> + Send + 'static) -> Self {
        let (store, answer) = (store.clone(), Arc::new(Mutex::new(None)));
        let theirs = Arc::clone(&answer);
        let body = move || {
            let answer = wait(&store);
            *theirs.lock() = Some(answer);
        };
        Waiter(thread("waiter", body), answer)
    }

    /// Its answer; `None` for success.
    fn end(self) -> Option<ErrorKind> {
        self.0.join().unwrap();
        let answer = self.1.lock().take();
        answer.expect("it has ended").err().map(|error| error.kind())
    }
}

/// Edit: `wake-before-the-batch`.
#[test]
fn d1_a_batch_wakes_whoever_waits_for_it() {
    check(|| {
        let (store, mut writer) = Store::new(Arc::new(Time::new()), 0);
        let waiters = [
            Waiter::new(&store, |store| store.wait_for("a", "u1", "2", NEVER)),
            Waiter::new(&store, |store| store.wait_until("3", NEVER)),
            Waiter::new(&store, |store| {
                store.wait_for("b", "u2", "1", NEVER)?;
                store.wait_gone("b", "u2", NEVER)
            }),
        ];
        write(&mut writer, &["a/u1@1", "b/u2@1"], "1", 0);
        write(&mut writer, &["a/u1@2"], "2", 0);
        write(&mut writer, &["-b"], "3", 0);
        for waiter in waiters {
            assert_eq!(waiter.end(), None);
        }
    });
}

/// Edit: `wake-inside-the-write-section`.
#[test]
fn d1_a_batch_and_its_version_appear_together() {
    check(|| {
        let (store, mut writer) = Store::new(Arc::new(Time::new()), 0);
        let waiters = [(); 2].map(|()| {
            Waiter::new(&store, |store| {
                store.wait_until("1", NEVER)?;
                let seen = store.snapshot();
                let at: u64 = seen.resource_version.parse().unwrap();
                assert!(seen.objects.iter().all(|object| object.version == seen.resource_version), "at {at}");
                store.wait_until("2", NEVER)
            })
        });
        write(&mut writer, &["a/u1@1", "b/u2@1"], "1", 0);
        write(&mut writer, &["a/u1@2", "b/u2@2"], "2", 0);
        for waiter in waiters {
            assert_eq!(waiter.end(), None);
        }
    });
}

/// Edit: `waits-stop-after-their-wake`.
#[test]
fn d1_a_stop_ends_waits_and_comes_first_in_the_verdict() {
    check(|| {
        let (store, mut writer) = Store::new(Arc::new(Time::new()), 0);
        let waiters = [
            Waiter::new(&store, |store| store.wait_for("a", "u1", "9", NEVER)),
            Waiter::new(&store, |store| store.wait_until("9", NEVER)),
        ];
        write(&mut writer, &["a/u1@1"], "1", 0);
        store.stop_waits();
        assert_eq!(store.wait_until("1", NEVER).unwrap_err().kind(), ErrorKind::Stopped);
        for waiter in waiters {
            assert_eq!(waiter.end(), Some(ErrorKind::Stopped));
        }
    });
}

/// Edit: `a-lowered-version-wakes-nobody`.
#[test]
fn d7_a_version_that_goes_back_ends_the_waits_for_those_before() {
    check(|| {
        let time = Time::new();
        let (store, mut writer) = Store::new(Arc::new(time.clone()), 0);
        let waiter = Waiter::new(&store, |store| store.wait_for("a", "u1", "9", NEVER));
        write(&mut writer, &["b/u2@5"], "5", 0);
        time.wait_for_alarm(); // it waits, for versions of the first timeline
        write(&mut writer, &["b/u2@3"], "3", 1);
        assert_eq!(waiter.end(), Some(ErrorKind::NotComparable));
    });
}

/// Edit: `an-alarm-that-does-not-take-the-lock`.
#[test]
fn d1_a_deadline_that_comes_as_the_waiter_goes_to_wait() {
    check(|| {
        let time = Time::new();
        let (store, mut writer) = Store::new(Arc::new(time.clone()), 0);
        let theirs = time.clone();
        let passing = thread("time", move || theirs.pass());
        let waiters =
            [(); 2].map(|()| Waiter::new(&store, |store| store.wait_until("2", Duration::from_secs(1))));
        write(&mut writer, &["a/u1@1"], "1", 0);
        for waiter in waiters {
            assert_eq!(waiter.end(), Some(ErrorKind::TimedOut));
        }
        time.end();
        passing.join().unwrap();
    });
}

/// Edit: `a-batch-without-the-new-index`.
#[test]
fn i_50_an_index_that_comes_while_batches_do_misses_nothing() {
    check(|| {
        let (store, mut writer) = Store::new(Arc::new(Time::new()), 0);
        write(&mut writer, &["a/u1@1", "b/u2@1"], "1", 0);
        let by_version = Index::new("by-version", |item: &Item| Some(item.version.clone()));
        let (theirs, index) = (store.clone(), by_version.clone());
        let adding = thread("adding", move || assert!(theirs.add_index(&index).unwrap().is_empty()));
        write(&mut writer, &["a/u1@2"], "2", 0);
        write(&mut writer, &["-b", "c/u3@3"], "3", 0);
        adding.join().unwrap();
        let names = |version: &str| -> Vec<String> {
            let objects = by_version.get(&store, version).unwrap();
            objects.iter().map(|object| object.name.clone()).collect()
        };
        assert_eq!((names("1"), names("2"), names("3")), (vec![], vec!["a".into()], vec!["c".into()]));
        write(&mut writer, &["c/u3@4"], "4", 0);
        assert_eq!((names("3"), names("4")), (vec![], vec!["c".into()]));
    });
}
