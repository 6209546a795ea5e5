//! The store as a whole: objects, namespaces, version, marks, and that they appear together.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::fixture::{Item, item};
use crate::sync::spawn;
use crate::time::SystemClock;

/// A store that a test writes batches to: `a/u1@1` sets, `-a` removes.
pub(super) struct Bench {
    pub(super) store: Store<Item>,
    pub(super) writer: StoreWriter<Item>,
}

impl Bench {
    pub(super) fn new() -> Self {
        Bench::with_clock(SystemClock)
    }

    pub(super) fn with_clock(clock: impl Clock + 'static) -> Self {
        let (store, writer) = Store::new(Arc::new(clock), 0);
        Bench { store, writer }
    }

    /// Writes a batch at `version`; answers what index functions did wrong.
    pub(super) fn write(&mut self, changes: &str, version: &str) -> Vec<(ObjectKey, Error)> {
        self.write_with(changes, version, 0, Vec::new())
    }

    pub(super) fn write_with(
        &mut self,
        changes: &str,
        version: &str,
        timeline: u64,
        stale: Vec<(ObjectKey, Option<Stale>)>,
    ) -> Vec<(ObjectKey, Error)> {
        let changes: Vec<Change<Item>> = changes.split_whitespace().map(change).collect();
        self.writer.publish(Published { changes: &changes, stale, version, timeline })
    }
}

pub(super) fn change(text: &str) -> Change<Item> {
    let object = item(text.trim_start_matches('-'));
    let key = object.meta().key();
    Change { key, new: (!text.starts_with('-')).then_some(object) }
}

fn names(objects: &[Arc<Item>]) -> Vec<&str> {
    let mut names: Vec<_> = objects.iter().map(|object| object.name.as_str()).collect();
    names.sort_unstable();
    names
}

#[test]
fn s_1_set_get_list_and_remove() {
    let mut bench = Bench::new();
    bench.write("x:a/u1@1 x:b/u2@2 y:a/u3@3 n/u4@4", "4");
    let store = bench.store.clone();
    assert_eq!((store.len(), store.is_empty(), store.resource_version().as_str()), (4, false, "4"));
    assert_eq!(store.get("x/a").unwrap().uid, "u1");
    assert_eq!(store.get(("y", "a")).unwrap().uid, "u3");
    assert_eq!(store.get(&ObjectKey::new("", "n")).unwrap().uid, "u4");
    assert!(store.get("y/b").is_none() && store.get("x/n").is_none());
    assert_eq!(names(&store.list()), ["a", "a", "b", "n"]);
    assert_eq!(store.keys().len(), 4);
    bench.write("x:a/u1@5 -y:a", "6");
    assert_eq!(store.get("x/a").unwrap().version, "5");
    assert_eq!(names(&store.list()), ["a", "b", "n"]);
    assert_eq!(store.snapshot().resource_version, "6");
    assert_eq!(store.snapshot().objects.len(), 3);
}

#[test]
fn s_2_removing_what_is_not_there_is_nothing() {
    let mut bench = Bench::new();
    bench.write("-x:a x:b/u1@1 -x:c", "1");
    assert_eq!(bench.store.len(), 1);
}

#[test]
fn ls_2_a_namespace_is_found_and_an_empty_one_is_forgotten() {
    let mut bench = Bench::new();
    bench.write("x:a/u1@1 x:b/u2@2 y:c/u3@3", "3");
    assert_eq!(names(&bench.store.in_namespace("x")), ["a", "b"]);
    assert_eq!(names(&bench.store.in_namespace("")), ["a", "b", "c"], "all of them");
    assert!(bench.store.in_namespace("z").is_empty());
    bench.write("-x:a -x:b", "5");
    assert!(bench.store.in_namespace("x").is_empty());
    assert_eq!(format!("{:?}", bench.store), r#"Store { objects: 1, resource_version: "5", .. }"#);
}

#[test]
fn s_12_sc_1_the_version_moves_without_objects() {
    let mut bench = Bench::new();
    assert_eq!(bench.store.resource_version(), "");
    bench.write("", "50");
    assert_eq!(bench.store.resource_version(), "50");
}

#[test]
fn d8_marks_come_and_go_with_the_batch() {
    let mut bench = Bench::new();
    let (key, mark) =
        (ObjectKey::new("", "a"), Stale { uid: "u1".to_owned(), resource_version: "2".to_owned() });
    bench.write_with("a/u1@1", "2", 0, vec![(key.clone(), Some(mark))]);
    assert_eq!(bench.store.stale_keys(), std::slice::from_ref(&key));
    bench.write_with("a/u1@3", "3", 0, vec![(key, None)]);
    assert!(bench.store.stale_keys().is_empty());
}

#[test]
fn s_13_sc_2_objects_indexes_and_version_appear_together() {
    let mut bench = Bench::new();
    let by_version: Index<Item, String> = Index::new("by-version", |item: &Item| [item.version.clone()]);
    bench.store.add_index(&by_version).unwrap();
    let (store, done) = (bench.store.clone(), Arc::new(AtomicBool::new(false)));
    let theirs = Arc::clone(&done);
    let reader = spawn("reader", move || {
        while !theirs.load(Ordering::SeqCst) {
            let snapshot = store.snapshot();
            assert!(snapshot.objects.iter().all(|object| object.version == snapshot.resource_version));
            assert!(matches!(snapshot.objects.len(), 0 | 2));
            // Two calls may see two states; in each, an indexed value has both objects or none.
            let both = by_version.get(&store, &snapshot.resource_version).unwrap();
            assert!(matches!(both.len(), 0 | 2), "{}", both.len());
        }
    });
    for version in 1..2000 {
        bench.write(&format!("a/u1@{version} b/u2@{version}"), &version.to_string());
    }
    done.store(true, Ordering::SeqCst);
    reader.unwrap().join().unwrap();
}

#[test]
fn d3_what_was_read_is_one_state_and_holds_no_lock() {
    let mut bench = Bench::new();
    let index: Index<Item, String> = Index::new("by-uid", |item: &Item| [item.uid.clone()]);
    bench.store.add_index(&index).unwrap();
    bench.write("x:a/u@1 x:b/u@1 y:c/u@1", "1");
    let store = bench.store.clone();
    let reads = [
        store.list(),
        store.in_namespace(""),
        store.select(Selector::default()),
        store.snapshot().objects,
        index.get(&store, "u").unwrap(),
    ];
    for (version, objects) in (2..).zip(reads) {
        let mut count = 0;
        for object in objects {
            // One thread: a write that waited for the reader would be the end of this test.
            bench.write(&format!("x:a/u@{version} -x:b z:d{count}/v@{version}"), &version.to_string());
            bench.write(&format!("x:a/u@1 x:b/u@1 y:c/u@1 -z:d{count}"), &version.to_string());
            assert_eq!(object.version, "1");
            count += 1;
        }
        assert_eq!(count, 3, "read {version}");
    }
}

#[test]
fn replaced_objects_end_outside_the_lock_and_a_panic_there_harms_nobody() {
    struct Loud(Store<Loud>);
    impl Object for Loud {
        fn meta(&self) -> crate::MetaView<'_> {
            crate::MetaView {
                namespace: "",
                name: "a",
                uid: "u",
                resource_version: "1",
                labels: crate::Labels::from_map(None),
            }
        }
    }
    impl Drop for Loud {
        fn drop(&mut self) {
            assert_eq!(self.0.len(), 1, "the store can be read here");
            panic!("a destructor that panics");
        }
    }
    let (store, mut writer) = Store::new(Arc::new(SystemClock), 0);
    let key = ObjectKey::new("", "a");
    for version in ["1", "2"] {
        let new = Some(Arc::new(Loud(store.clone())));
        let changes = [Change { key: key.clone(), new }];
        writer.publish(Published { changes: &changes, stale: Vec::new(), version, timeline: 0 });
        let [Change { new, .. }] = changes;
        drop(new);
    }
    assert_eq!(store.resource_version(), "2");
    std::mem::forget(store.get("a")); // so that the test does not end in that destructor
}
