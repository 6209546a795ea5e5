//! The rules of the store: revisions, histories, pages of the past.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::{Key, Object, Store};

/// How many changes these stores remember.
const KEEP: usize = 100;

const STORAGE: &str = "things";

fn put(store: &mut Store, namespace: &str, name: &str) -> u64 {
    let make = |revision: u64| {
        let metadata = json!({"name": name, "namespace": namespace, "resourceVersion": revision.to_string()});
        Object::new(json!({ "metadata": metadata }), revision, false, &[])
    };
    store.put(STORAGE, make).revision
}

fn names(store: &Store, namespace: Option<&str>, at: Option<u64>) -> Vec<String> {
    let page = store.page(STORAGE, namespace, at, None, usize::MAX, |_| true);
    page.objects.iter().map(|object| format!("{}@{}", object.key.name, object.revision)).collect()
}

#[test]
fn every_change_takes_the_next_revision_whatever_it_changes() {
    let mut store = Store::new(KEEP);
    let first = put(&mut store, "a", "x");
    assert_eq!(put(&mut store, "b", "y"), first + 1);
    assert_eq!(store.remove(STORAGE, &Key::new("a", "x")).map(|(_, revision)| revision), Some(first + 2));
    assert!(store.remove(STORAGE, &Key::new("a", "x")).is_none());
    assert_eq!(store.revision(), first + 2);
}

#[test]
fn a_namespace_is_a_range_and_ends_where_the_next_begins() {
    let mut store = Store::new(KEEP);
    for (namespace, name) in [("b", "x"), ("a", "z"), ("ab", "y"), ("a", "w"), ("", "v")] {
        put(&mut store, namespace, name);
    }
    assert_eq!(names(&store, Some("a"), None), ["w@5", "z@3"]);
    assert_eq!(names(&store, None, None), ["v@6", "w@5", "z@3", "y@4", "x@2"]);
}

#[test]
fn a_page_is_of_its_revision_whatever_happens_between_pages() {
    let mut store = Store::new(KEEP);
    for name in ["a", "b", "c", "d"] {
        put(&mut store, "n", name);
    }
    let first = store.page(STORAGE, Some("n"), None, None, 2, |_| true);
    assert_eq!((first.revision, first.remaining), (5, 2));
    put(&mut store, "n", "bb");
    put(&mut store, "n", "c");
    store.remove(STORAGE, &Key::new("n", "d"));
    let after = first.objects.last().map(|object| object.key.clone());
    let second = store.page(STORAGE, Some("n"), Some(first.revision), after.as_ref(), 2, |_| true);
    let told: Vec<_> = second.objects.iter().map(|o| (o.key.name.as_str(), o.revision)).collect();
    assert_eq!(told, [("c", 4), ("d", 5)]);
    assert_eq!(second.remaining, 0);
}

#[test]
fn news_are_all_changes_after_a_revision_in_batches() {
    let mut store = Store::new(KEEP);
    put(&mut store, "n", "a");
    put(&mut store, "n", "a");
    store.remove(STORAGE, &Key::new("n", "a"));
    let news = store.news(STORAGE, 2, 1).unwrap();
    assert_eq!((news.changes.len(), news.seen), (1, 3));
    let news = store.news(STORAGE, 3, 10).unwrap();
    assert_eq!((news.changes[0].revision, news.changes[0].new.is_none(), news.seen), (4, true, 4));
    let news = store.news("others", 0, 10).unwrap();
    assert!(news.changes.is_empty(), "a storage that is not there has none");
}

#[test]
fn compaction_forgets_the_past_but_nothing_that_a_live_watch_has_seen() {
    let mut store = Store::new(KEEP);
    let early = put(&mut store, "n", "a");
    let late = put(&mut store, "n", "b");
    store.put("others", |revision| Object::new(json!({"metadata": {"name": "o"}}), revision, false, &[]));
    store.compact(store.revision());
    assert!(!store.remembers(STORAGE, late));
    assert!(store.remembers(STORAGE, store.revision()));
    assert!(store.news(STORAGE, early, 10).is_none());
    assert!(store.news(STORAGE, late, 10).is_some(), "it has seen everything that is forgotten");
    assert_eq!(store.floor("never stored"), store.revision());
}

#[test]
fn the_oldest_changes_go_first_when_there_are_too_many() {
    let mut store = Store::new(KEEP);
    let first = put(&mut store, "n", "a");
    for _ in 0..KEEP {
        put(&mut store, "n", "a");
    }
    assert_eq!(store.floor(STORAGE), first);
    assert!(store.news(STORAGE, first - 1, 1).is_none());
    assert!(store.news(STORAGE, first, 1).is_some());
}

proptest! {
    /// Whatever is written, every revision that is remembered can be told again as it was.
    #[test]
    fn the_past_is_what_it_was(writes in prop::collection::vec((0..3u8, 0..4u8, any::<bool>()), 0..40)) {
        let mut store = Store::new(KEEP);
        let mut was: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for (namespace, name, remove) in writes {
            let (namespace, name) = (format!("n{namespace}"), format!("o{name}"));
            if remove {
                store.remove(STORAGE, &Key::new(&namespace, &name));
            } else {
                put(&mut store, &namespace, &name);
            }
            was.insert(store.revision(), names(&store, None, None));
        }
        for (revision, then) in was {
            prop_assert_eq!(names(&store, None, Some(revision)), then);
        }
    }
}
