//! Indexes: by statement, while a writer runs, and compared with a recomputation after any history.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;

use super::*;
use crate::fixture::{Item, key};
use crate::store::tests::Bench;

/// Objects by the characters of their UID: none, one or many values, some of them twice.
fn by_letter() -> Index<Item, char> {
    Index::new("by-letter", |item: &Item| item.uid.chars().collect::<Vec<_>>())
}

fn keys(index: &Index<Item, char>, store: &Store<Item>, letter: char) -> String {
    let keys: Vec<_> = index.keys(store, &letter).unwrap().iter().map(ToString::to_string).collect();
    keys.join(" ")
}

fn values(index: &Index<Item, char>, store: &Store<Item>) -> String {
    let mut values = index.values(store).unwrap();
    values.sort_unstable();
    values.into_iter().collect()
}

#[test]
fn s_4_s_7_an_object_is_under_all_its_values_and_keys_are_sorted() {
    let (mut bench, index) = (Bench::new(), by_letter());
    bench.store.add_index(&index).unwrap();
    bench.write("b/xy@1 a/xx@2 c/@3", "3");
    assert_eq!(keys(&index, &bench.store, 'x'), "a b");
    assert_eq!(keys(&index, &bench.store, 'y'), "b");
    assert_eq!(index.get(&bench.store, &'x').unwrap().len(), 2, "no duplicates");
    bench.write("b/yz@4", "4");
    assert_eq!(keys(&index, &bench.store, 'x'), "a", "vanished values go");
    assert_eq!(keys(&index, &bench.store, 'y'), "b", "shared ones stay");
    assert_eq!(keys(&index, &bench.store, 'z'), "b");
    bench.write("c/z@5", "5");
    assert_eq!(keys(&index, &bench.store, 'z'), "b c");
    assert_eq!(keys(&index, &bench.store, 'q'), "");
}

#[test]
fn s_5_s_6_s_10_a_value_without_objects_is_freed() {
    let (mut bench, index) = (Bench::new(), by_letter());
    bench.store.add_index(&index).unwrap();
    bench.write("a/xy@1 b/x@2", "2");
    assert_eq!(values(&index, &bench.store), "xy");
    bench.write("-a", "3");
    assert_eq!(values(&index, &bench.store), "x", "s_6: one of two keeps the set");
    bench.write("-b", "4");
    assert_eq!(values(&index, &bench.store), "");
    bench.store.with_table(|table| {
        let buckets = table.indexes[0].as_any().downcast_ref::<Buckets<Item, char>>().unwrap();
        assert!(buckets.objects.is_empty() && buckets.values.is_empty());
    });
}

#[test]
fn s_8_an_unknown_index_is_an_error_with_its_name() {
    let (bench, index) = (Bench::new(), by_letter());
    for error in [
        index.get(&bench.store, &'x').unwrap_err(),
        index.keys(&bench.store, &'x').unwrap_err(),
        index.values(&bench.store).unwrap_err(),
    ] {
        assert!(
            error.kind() == ErrorKind::UnknownIndex && error.to_string().contains("by-letter"),
            "{error}"
        );
    }
    // One of the same name is not the same index.
    bench.store.add_index(&by_letter()).unwrap();
    assert!(index.get(&bench.store, &'x').is_err());
}

#[test]
fn s_9_i_51_a_late_index_has_everything_and_its_name_is_taken() {
    let (mut bench, index) = (Bench::new(), by_letter());
    bench.write("a/xy@1 b/x@2", "2");
    bench.store.add_index(&index).unwrap();
    assert_eq!(keys(&index, &bench.store, 'x'), "a b");
    let error = bench.store.add_index(&index).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateIndex);
    assert!(bench.store.add_index(&by_letter()).is_err());
    bench.write("-a", "3");
    assert_eq!(keys(&index, &bench.store, 'x'), "b", "no change");
}

#[test]
fn s_14_a_function_that_panics_is_reported_and_counts_as_no_values() {
    let mut bench = Bench::new();
    let index: Index<Item, char> = Index::new("picky", |item: &Item| {
        assert!(item.uid != "bad", "told to");
        item.uid.chars().collect::<Vec<_>>()
    });
    bench.store.add_index(&index).unwrap();
    let bad = bench.write("a/x@1 b/bad@2 c/x@3", "3");
    assert_eq!(bad.len(), 1);
    assert_eq!((&bad[0].0, bad[0].1.kind()), (&key("b"), ErrorKind::Panic));
    assert_eq!(keys(&index, &bench.store, 'x'), "a c");
    assert_eq!(bench.store.len(), 3, "the object is there all the same");
    bench.write("a/bad@4", "4");
    assert_eq!(keys(&index, &bench.store, 'x'), "c", "no entry of its former state stays");
    // Late, over the same objects
    let late: Index<Item, char> = Index::new("late", |item: &Item| {
        assert!(item.uid != "bad", "told to");
        item.uid.chars().collect::<Vec<_>>()
    });
    assert_eq!(bench.store.add_index(&late).unwrap().len(), 2);
    assert_eq!(keys(&late, &bench.store, 'x'), "c");
}

#[test]
fn a_function_that_is_not_pure_leaves_no_entry_behind() {
    let (mut bench, calls) = (Bench::new(), AtomicU32::new(0));
    let index: Index<Item, u32> =
        Index::new("impure", move |_: &Item| [calls.fetch_add(1, Ordering::SeqCst)]);
    bench.store.add_index(&index).unwrap();
    bench.write("a/u@1", "1");
    bench.write("a/u@2", "2");
    bench.write("-a", "3");
    assert_eq!(index.values(&bench.store).unwrap(), [0u32; 0]);
}

/// An index that, as the writer asks it for the first values of `b`, adds `late`.
fn adds_while_values_are_computed(store: &Store<Item>, late: &Index<Item, char>) -> Index<Item, char> {
    let (store, late) = (store.clone(), late.clone());
    Index::new("first", move |item: &Item| {
        if item.name == "b" {
            let _ = store.add_index(&late);
        }
        item.uid.chars().collect::<Vec<_>>()
    })
}

#[test]
fn i_50_an_index_that_comes_while_a_batch_is_prepared_misses_nothing_of_it() {
    let (mut bench, late) = (Bench::new(), by_letter());
    let first = adds_while_values_are_computed(&bench.store, &late);
    bench.store.add_index(&first).unwrap();
    bench.write("a/x@1 c/q@1", "1");
    // The writer has not heard of `late` when it begins, and `late` stands complete when it writes.
    bench.write("a/y@2 b/x@2 -c", "2");
    for (letter, want) in [('x', "b"), ('y', "a"), ('q', "")] {
        assert_eq!(keys(&late, &bench.store, letter), want, "{letter}");
        assert_eq!(keys(&first, &bench.store, letter), want, "{letter}");
    }
}

#[test]
fn i_50_what_changes_while_a_late_index_is_computed_is_newer_than_its_snapshot() {
    let mut bench = Bench::new();
    bench.write("a/x@1 b/x@1 c/x@1", "1");
    let store = bench.store.clone();
    let writer = crate::sync::Mutex::new(bench);
    let calls = AtomicU32::new(0);
    let late: Index<Item, char> = Index::new("late", move |item: &Item| {
        // In the middle of the snapshot the writer changes, removes and adds.
        if calls.fetch_add(1, Ordering::SeqCst) == 1 {
            writer.lock().write("a/y@2 -b d/y@2", "2");
        }
        item.uid.chars().collect::<Vec<_>>()
    });
    store.add_index(&late).unwrap();
    assert_eq!(keys(&late, &store, 'x'), "c");
    assert_eq!(keys(&late, &store, 'y'), "a d");
    for object in late.get(&store, &'y').unwrap() {
        assert!(
            Arc::ptr_eq(&object, &store.get(&object.meta().key()).unwrap()),
            "{object:?} is the newer one"
        );
    }
}

/// What an index must hold for `objects`, name to UID, worked out anew.
fn recomputed<V: Ord>(
    objects: &BTreeMap<u8, String>,
    values: impl Fn(&str) -> Vec<V>,
) -> BTreeMap<V, BTreeSet<String>> {
    let mut want = BTreeMap::<V, BTreeSet<String>>::new();
    for (name, uid) in objects {
        for value in values(uid) {
            want.entry(value).or_default().insert(name.to_string());
        }
    }
    want
}

/// What it does hold; and that it holds nothing else: no empty set, no values of an object that is gone.
fn held<V: Hash + Eq + Ord + Clone + Send + Sync + 'static>(
    index: &Index<Item, V>,
    store: &Store<Item>,
) -> BTreeMap<V, BTreeSet<String>> {
    store.with_table(|table| {
        let buckets = index.buckets(&table.indexes).unwrap();
        assert!(buckets.objects.values().all(|keys| !keys.is_empty()), "an empty set");
        let entries: usize = buckets.objects.values().map(Map::len).sum();
        assert_eq!(entries, buckets.values.values().map(|values| values.as_slice().len()).sum::<usize>());
        assert!(
            buckets.values.keys().all(|key| table.get(key.as_ref()).is_some()),
            "of an object that is gone"
        );
    });
    // It is the stored object itself that is found, not an older one of the same values.
    let current =
        |object: &Arc<Item>| store.get(&object.meta().key()).is_some_and(|there| Arc::ptr_eq(&there, object));
    let names = |value: &V| -> BTreeSet<String> {
        let keys = index.keys(store, value).unwrap();
        assert!(keys.is_sorted());
        let objects = index.get(store, value).unwrap();
        assert!(objects.len() == keys.len() && objects.iter().all(current));
        keys.iter().map(ToString::to_string).collect()
    };
    index.values(store).unwrap().into_iter().map(|value| (value.clone(), names(&value))).collect()
}

proptest! {
    /// Two indexes of different types, each added at any time.
    #[test]
    fn s_10_s_13_an_index_equals_its_recomputation_after_any_history(
        batches in prop::collection::vec(
            prop::collection::btree_map(0..6u8, prop::option::of("[xyz]{0,3}"), 0..5),
            0..12,
        ),
        late in prop::array::uniform2(0..13usize),
    ) {
        let mut bench = Bench::new();
        let by_letter = by_letter();
        let by_length: Index<Item, usize> =
            Index::new("by-length", |item: &Item| Some(item.uid.len()).filter(|length| *length > 0));
        let mut truth: BTreeMap<u8, String> = BTreeMap::new();
        let add = |store: &Store<Item>, at: usize| {
            if late[0].min(batches.len()) == at {
                store.add_index(&by_letter).unwrap();
            }
            if late[1].min(batches.len()) == at {
                store.add_index(&by_length).unwrap();
            }
        };
        for (at, batch) in batches.iter().enumerate() {
            add(&bench.store, at);
            let changes: Vec<String> = batch
                .iter()
                .map(|(name, uid)| uid.as_ref().map_or(format!("-{name}"), |uid| format!("{name}/{uid}@{at}")))
                .collect();
            for (name, uid) in batch {
                match uid {
                    Some(uid) => truth.insert(*name, uid.clone()),
                    None => truth.remove(name),
                };
            }
            bench.write(&changes.join(" "), &at.to_string());
            if late[0] <= at {
                prop_assert_eq!(held(&by_letter, &bench.store), recomputed(&truth, |uid| uid.chars().collect()));
            }
        }
        add(&bench.store, batches.len());
        prop_assert_eq!(held(&by_letter, &bench.store), recomputed(&truth, |uid| uid.chars().collect()));
        let length = |uid: &str| Some(uid.len()).filter(|length| *length > 0).into_iter().collect();
        prop_assert_eq!(held(&by_length, &bench.store), recomputed(&truth, length));
        prop_assert_eq!(bench.store.len(), truth.len());
    }
}
