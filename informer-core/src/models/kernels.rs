//! The two smallest kernels under loom: every schedule of at most three preemptions, and every order that the flags'
//! memory orderings allow.

use std::sync::Arc;

use loom::model::Builder;

use crate::fixture::{Item, item};
use crate::meta::Object;
use crate::stop::Stop;
use crate::store::{Change, Published, Store};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::spawn;
use crate::time::SystemClock;

fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(usize::try_from(super::number("INFORMER_PREEMPTIONS", 3)).unwrap());
    builder.check(model);
}

/// Edits: `a-signal-before-its-flag`, `a-stop-that-is-read-relaxed`.
#[test]
fn a_stop_wakes_who_waits_and_calls_a_hook_once() {
    explore(|| {
        let stop = Stop::new();
        let (waits, hooks) = (stop.clone(), stop.clone());
        let written = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&written);
        let waiter = spawn("waiter", move || {
            if waits.is_set() {
                assert_eq!(seen.load(Ordering::Relaxed), 1, "what was written before is not seen after");
            }
            waits.wait();
            assert!(waits.is_set());
        });
        let calls = Arc::new(AtomicUsize::new(0));
        let theirs = Arc::clone(&calls);
        let hooking = spawn("hooking", move || {
            let kept = hooks.on_stop(move || {
                theirs.fetch_add(1, Ordering::Relaxed);
            });
            std::mem::forget(kept); // dropping it would take the hook back
        });
        written.store(1, Ordering::Relaxed);
        stop.set();
        hooking.unwrap().join().unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        waiter.unwrap().join().unwrap();
    });
}

/// Edit: `wake-before-the-batch`.
#[test]
fn a_batch_wakes_who_waits_for_its_version() {
    explore(|| {
        let (store, mut writer) = Store::<Item>::new(Arc::new(SystemClock), 0);
        let theirs = store.clone();
        let waiter = spawn("waiter", move || {
            theirs.wait_until("2", std::time::Duration::from_secs(3600)).unwrap();
            assert_eq!(theirs.get("a").unwrap().version, "2");
        });
        for version in ["1", "2"] {
            let object = item(&format!("a/u1@{version}"));
            let changes = [Change { key: object.meta().key(), new: Some(object) }];
            writer.publish(Published { changes: &changes, stale: Vec::new(), version, timeline: 0 });
        }
        waiter.unwrap().join().unwrap();
    });
}
