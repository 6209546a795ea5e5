//! What deltas mean for a store: by table, and compared with themselves folded.
//!
//! Deltas are written as in the queue's tests: `+a/u1@10`, `-a/u1@20`, `~a/u1`, `?a/u1@5`, `=a/u1@10,?b/u2@3`
//! (`==` incomplete, `=1` the first one; a `?` item does not decode).

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::fixture::{Item, Known, item, key, known, tell, trace};
use crate::informer::todo::{Spent, Todo};
use crate::queue::FoldQueue;
use crate::store::{Published, StoreWriter};
use crate::time::SystemClock;

fn delta(text: &str) -> Delta<Item> {
    let (sign, rest) = text.split_at(1);
    let object = item(rest);
    let key = object.meta().key();
    match sign {
        "+" => Delta::Upsert { key, object },
        "-" => Delta::Delete { key, what: Deletion::Final(object), forced: false },
        "~" => Delta::Delete { key, what: Deletion::Unseen(object.uid.clone()), forced: false },
        "!" => Delta::Delete { key, what: Deletion::Final(object), forced: true },
        "?" => Delta::Unreadable { key, uid: object.uid.clone(), resource_version: object.version.clone() },
        "=" => {
            let (complete, rest) = rest.strip_prefix('=').map_or((true, rest), |rest| (false, rest));
            let (initial, rest) = rest.strip_prefix('1').map_or((false, rest), |rest| (true, rest));
            let (bad, good): (Vec<&str>, Vec<&str>) =
                rest.split(',').filter(|item| !item.is_empty()).partition(|item| item.starts_with('?'));
            let unreadable = bad.into_iter().map(|bad| {
                let bad = item(&bad[1..]);
                (bad.meta().key(), bad.uid.clone(), bad.version.clone())
            });
            Delta::Replace(Replace {
                items: good.into_iter().map(item).collect(),
                unreadable: unreadable.collect(),
                complete,
                initial,
                lowered: false,
            })
        }
        _ => panic!("{text}"),
    }
}

/// A store and what a handler of it knows.
struct Cache {
    store: Store<Item>,
    writer: StoreWriter<Item>,
    handler: Known,
    synced: u32,
}

impl Cache {
    fn new() -> Self {
        let (store, writer) = Store::new(Arc::new(SystemClock), 0);
        Cache { store, writer, handler: Known::new(), synced: 0 }
    }

    /// Applies a batch, checks the contract of handlers and that they replay to the store; answers the events.
    #[track_caller]
    fn apply(&mut self, deltas: Vec<Delta<Item>>) -> Vec<Event<Item>> {
        let Batch { changes, stale, events, first_list, .. } = apply(&self.store, deltas);
        self.writer.publish(Published { changes: &changes, stale, version: "", timeline: 0 });
        for event in &events {
            tell(&mut self.handler, event);
        }
        self.synced += u32::from(first_list);
        assert_eq!(self.handler, known(&self.store.list()), "{}", trace(&events));
        events
    }

    fn stale(&self) -> BTreeMap<String, String> {
        self.store.with_table(|table| {
            table.stale.iter().map(|(key, mark)| (key.to_string(), mark.resource_version.clone())).collect()
        })
    }
}

/// Batches are separated by `|`. Answers the events of the last one, the store, and the marks.
#[track_caller]
fn run(batches: &str) -> (String, String, String) {
    let mut cache = Cache::new();
    let mut events = Vec::new();
    for batch in batches.split('|') {
        events = cache.apply(batch.split_whitespace().map(delta).collect());
    }
    let stored = cache.handler.iter().map(|(name, (uid, version))| format!("{name}/{uid}@{version}"));
    let marks = cache.stale().into_iter().map(|(key, version)| format!("{key}@{version}"));
    (trace(&events), stored.collect::<Vec<_>>().join(" "), marks.collect::<Vec<_>>().join(" "))
}

#[track_caller]
fn check(batches: &str, events: &str, stored: &str) {
    let (got, store, _) = run(batches);
    assert_eq!((got.as_str(), store.as_str()), (events, stored), "{batches}");
    // The same in one batch comes to the same objects.
    let (_, store, _) = run(&batches.replace('|', " "));
    assert_eq!(store, stored, "{batches} in one batch");
}

#[test]
fn c_1_what_the_store_holds_decides_between_add_and_update() {
    check("+a/u1@1", "Added(a@1)", "a/u1@1"); // ADDED or MODIFIED of an unknown key
    check("+a/u1@1 | +a/u1@2", "Updated(a@1→2)", "a/u1@2"); // of a known one
    check("| +a/u1@1 +a/u1@2 +a/u1@3", "Added(a@1), Updated(a@1→2), Updated(a@2→3)", "a/u1@3");
}

#[test]
fn c_2_d3_a_delete_of_an_unknown_key_is_not_told() {
    check("-a/u1@1", "", "");
    check("+a/u1@1 | -a/u1@2 -a/u1@3", "Deleted(a@2)", "");
    check("~a/", "", "");
}

#[test]
fn c_3_c_6_d_4_a_relist_is_deletes_first_then_changes_in_list_order() {
    check(
        "+a/u1@1 +b/u2@2 +c/u3@3 | =d/u4@9,c/u3@8,b/u2@2",
        "Deleted(a@1, final state unknown), Added(d@9), Updated(c@3→8)",
        "b/u2@2 c/u3@8 d/u4@9",
    );
}

#[test]
fn c_4_a_deleted_event_carries_its_own_object() {
    check("+a/u1@1 | -a/u1@7", "Deleted(a@7)", "");
}

#[test]
fn c_10_f_41_d4_a_new_uid_is_a_delete_and_an_add() {
    let both = "Deleted(a@1, final state unknown), Added(a@9)";
    check("+a/u1@1 | +a/u2@9", both, "a/u2@9"); // in the stream
    check("+a/u1@1 | =a/u2@9", both, "a/u2@9"); // across a relist
    check("+a/u1@1 | +a/@9", "Updated(a@1→9)", "a/@9"); // no UID known: nothing says it is another
}

#[test]
fn d4_a_deleted_of_another_uid_removes_nothing() {
    check("+a/u2@5 | -a/u1@9", "", "a/u2@5");
    check("+a/u2@5 | ~a/u1", "", "a/u2@5");
    check("+a/u2@5 | !a/u1@9", "Deleted(a@5, final state unknown)", ""); // unless an upsert was folded into it
}

#[test]
fn c_13_of_a_key_that_is_listed_twice_the_last_counts() {
    check("=a/u1@1,b/u2@2,a/u1@3", "Added(b@2), Added(a@3)", "a/u1@3 b/u2@2");
}

#[test]
fn d5_the_same_state_again_is_no_event_and_keeps_the_object() {
    check("+a/u1@1 | +a/u1@1", "", "a/u1@1");
    check("+a/u1@1 | =a/u1@1", "", "a/u1@1");
    check("+a/u1@ | +a/u1@", "Updated(a@→)", "a/u1@"); // without a version nobody knows
    let mut cache = Cache::new();
    cache.apply(vec![delta("+a/u1@1")]);
    let before = cache.store.get("a").unwrap();
    cache.apply(vec![delta("=a/u1@1")]);
    assert!(Arc::ptr_eq(&before, &cache.store.get("a").unwrap()));
}

#[test]
fn f_8_i_16_only_the_first_list_is_initial() {
    check("=1a/u1@1,b/u2@2", "Added(a@1, initial), Added(b@2, initial)", "a/u1@1 b/u2@2");
    check("=1a/u1@1 | =a/u1@1,b/u2@2 +c/u3@3", "Added(b@2), Added(c@3)", "a/u1@1 b/u2@2 c/u3@3");
    // Also of what was queued before the list was applied
    check("| =1a/u1@1 +b/u2@2 +a/u1@3", "Added(a@1, initial), Added(b@2), Updated(a@1→3)", "a/u1@3 b/u2@2");
    let mut cache = Cache::new();
    cache.apply(vec![delta("=1")]);
    assert_eq!(cache.synced, 1, "i_12: an empty first list is one too");
    cache.apply(vec![delta("=")]);
    assert_eq!(cache.synced, 1);
}

#[test]
fn f_38_a_changed_object_of_a_relist_is_told() {
    check("=1a/u1@10 | =a/u1@40", "Updated(a@10→40)", "a/u1@40");
}

#[test]
fn f_39_a_delete_in_the_queue_does_not_swallow_the_add_of_a_relist() {
    check("=1a/u1@10 | -a/u1@20 =a/u2@29", "Deleted(a@20), Added(a@29)", "a/u2@29");
}

#[test]
fn f_40_d_5_no_ghost_stays_of_an_object_that_is_in_the_queue_only() {
    check("=1 | +g/u9@20 =", "Added(g@20), Deleted(g@20, final state unknown)", "");
}

#[test]
fn c_8_s_11_d8_an_unreadable_object_keeps_its_stored_state_and_a_mark() {
    let old = "+a/u1@1 +b/u2@2 |";
    for (batches, events, stored, marks) in [
        ("?a/u1@5", "", "a/u1@1 b/u2@2", "a@5"),
        ("?a/@", "", "a/u1@1 b/u2@2", "a@"),
        // Another UID: the stored one is gone for certain, nothing is added
        ("?a/u9@5", "Deleted(a@1, final state unknown)", "b/u2@2", "a@5"),
        ("?c/u3@5", "", "a/u1@1 b/u2@2", "c@5"),
        // The next readable state clears the mark, and so does the end
        ("?a/u1@5 | +a/u1@6", "Updated(a@1→6)", "a/u1@6 b/u2@2", ""),
        ("?a/u1@5 | -a/u1@6", "Deleted(a@6)", "b/u2@2", ""),
        ("?c/u3@5 | ~c/u3", "", "a/u1@1 b/u2@2", ""),
        ("?a/u1@5 +a/u1@6 ?a/u1@7", "Updated(a@1→6)", "a/u1@6 b/u2@2", "a@7"),
        // DELETED needs metadata only
        ("~a/u1", "Deleted(a@1, final state unknown)", "b/u2@2", ""),
        ("~a/", "Deleted(a@1, final state unknown)", "b/u2@2", ""),
        // A relist that contains it does not count it as deleted
        ("=?a/u1@5,b/u2@2", "", "a/u1@1 b/u2@2", "a@5"),
        ("=?a/u9@5,b/u2@2", "Deleted(a@1, final state unknown)", "b/u2@2", "a@5"),
        // A relist without it clears the mark, whatever else is stored
        ("?a/u1@5 | =b/u2@2", "Deleted(a@1, final state unknown)", "b/u2@2", ""),
        ("?c/u3@5 =a/u1@1,b/u2@2", "", "a/u1@1 b/u2@2", ""),
        ("= | ?c/u3@5 | =", "", "", ""),
        ("= | ?c/u3@5 =", "", "", ""),
        // An incomplete list deletes nothing and clears nothing
        ("?c/u3@5 | ==d/u4@9", "Added(d@9)", "a/u1@1 b/u2@2 d/u4@9", "c@5"),
        ("==", "", "a/u1@1 b/u2@2", ""),
    ] {
        let (got, store, stale) = run(&format!("{old} {batches}"));
        assert_eq!((got.as_str(), store.as_str(), stale.as_str()), (events, stored, marks), "{batches}");
    }
}

#[test]
fn bad_objects_do_not_hold_up_sync() {
    let mut cache = Cache::new();
    cache.apply(vec![delta("==1?a/u1@5,b/u2@2")]);
    assert_eq!(cache.synced, 1);
}

#[test]
fn f_16_deleted_and_made_again_in_one_batch_is_both_in_order() {
    for again in ["u1", "u2"] {
        check(
            &format!("+a/u1@1 | -a/u1@2 +a/{again}@3"),
            "Deleted(a@2), Added(a@3)",
            &format!("a/{again}@3"),
        );
    }
    check("| +a/u1@1 -a/u1@2 +a/u2@3", "Added(a@1), Deleted(a@2), Added(a@3)", "a/u2@3");
}

#[test]
fn f_11_d1_a_list_in_the_middle_of_a_batch_stands_where_it_came() {
    check(
        "=1a/u1@1 | +a/u1@2 +b/u2@3 =a/u1@4,c/u3@4 +b/u9@5 -c/u3@6",
        "Updated(a@1→2), Added(b@3), Deleted(b@3, final state unknown), Updated(a@2→4), Added(c@4), \
         Added(b@5), Deleted(c@6)",
        "a/u1@4 b/u9@5",
    );
}

#[test]
fn d_2_c_2_a_second_delete_of_a_key_is_nothing() {
    check("+a/u1@1 | -a/u1@2 -a/u1@3", "Deleted(a@2)", "");
    check("+a/u1@1 | -a/u1@2 ~a/u1", "Deleted(a@2)", "");
    check("+a/u1@1 | -a/u1@2 =", "Deleted(a@2)", ""); // nor does a list that misses it tell it again
}

#[test]
fn f_9_a_key_has_one_change_a_batch_whatever_happened_to_it() {
    let (store, _writer) = Store::<Item>::new(Arc::new(SystemClock), 0);
    let deltas = ["+a/u1@1", "+a/u1@2", "-a/u1@3", "+a/u2@4", "+b/u3@5", "-b/u3@6"].map(delta);
    let batch = apply(&store, deltas.into());
    let changes: Vec<_> =
        batch.changes.iter().map(|change| (change.key.clone(), change.new.is_some())).collect();
    assert_eq!(changes, [(key("a"), true), (key("b"), false)]);
}

fn name() -> impl Strategy<Value = char> {
    prop::char::range('a', 'c') // no digit: `=1` is the first list
}

fn any_delta() -> impl Strategy<Value = String> {
    let object = || {
        (name(), prop_oneof![4 => (1..4u8).prop_map(|n| format!("u{n}")), 1 => Just(String::new())], 1..60u8)
            .prop_map(|(name, uid, version)| format!("{name}/{uid}@{version}"))
    };
    let list = (any::<bool>(), prop::collection::vec((object(), prop::bool::weighted(0.2)), 0..3));
    prop_oneof![
        6 => object().prop_map(|object| format!("+{object}")),
        4 => object().prop_map(|object| format!("-{object}")),
        1 => object().prop_map(|object| format!("~{object}")),
        1 => object().prop_map(|object| format!("?{object}")),
        1 => list.prop_map(|(complete, items)| {
            let mut keys = HashSet::new();
            let items: Vec<_> = items
                .into_iter()
                .filter(|(item, _)| keys.insert(item.split('/').next().unwrap().to_owned()))
                .map(|(item, bad)| if bad { format!("?{item}") } else { item })
                .collect();
            format!("={}{}", if complete { "" } else { "=" }, items.join(","))
        }),
    ]
}

/// One delta, whether the queue folds at this moment, and whether the batch ends here.
type Push = (String, bool, bool);

/// A limit at which a queue folds at once, or never.
fn limit(fold: bool) -> usize {
    if fold { 0 } else { usize::MAX }
}

/// The first complete list, and what comes after it.
fn history() -> impl Strategy<Value = Vec<Push>> {
    let first = prop::collection::btree_set(name(), 0..3).prop_map(|names| {
        let items: Vec<_> = names.into_iter().map(|name| format!("{name}/u1@1")).collect();
        format!("=1{}", items.join(","))
    });
    let push = (any_delta(), any::<bool>(), prop::bool::weighted(0.3));
    (first, any::<bool>(), prop::collection::vec(push, 0..40)).prop_map(|(first, take, mut pushes)| {
        pushes.insert(0, (first, false, take));
        pushes
    })
}

proptest! {
    /// Even of a server that lies: folded at whatever moments or never, one batch or many, deltas come to the same
    /// objects and to one first list, and each handler replays to the store (checked in `apply`).
    #[test]
    fn d2_folding_deltas_at_any_moments_keeps_the_contract_and_the_end_state(pushes in history()) {
        let (mut one_by_one, mut folded) = (Cache::new(), Cache::new());
        let mut queue = FoldQueue::new(usize::MAX);
        let mut waste = Vec::new();
        for (text, fold, take) in &pushes {
            one_by_one.apply(vec![delta(text)]);
            queue.set_limit(limit(*fold));
            queue.push(delta(text), &mut waste);
            if *take {
                folded.apply(queue.take());
            }
        }
        folded.apply(queue.take());
        prop_assert_eq!(&one_by_one.handler, &folded.handler);
        prop_assert_eq!((one_by_one.synced, folded.synced), (1, 1));
    }

    /// Both queues, one behind the other, as in an informer: a handler that is slow at any moments, behind a store
    /// that is slow at any moments.
    #[test]
    fn d2_folding_both_queues_at_any_moments_replays_to_the_store_and_syncs(
        pushes in history(),
        paces in prop::collection::vec((any::<bool>(), 0..4u8), 41),
    ) {
        let mut cache = Cache::new();
        let mut queue = FoldQueue::new(usize::MAX);
        let mut todo = Todo::new(usize::MAX);
        let (mut waste, mut spent) = (Vec::new(), Spent::default());
        let (mut slow, mut initial_left, mut primed) = (Known::new(), 0usize, false);
        let last = (String::new(), false, true);
        for (at, (text, fold, take)) in pushes.iter().chain([&last]).enumerate() {
            if !text.is_empty() {
                queue.set_limit(limit(*fold));
                queue.push(delta(text), &mut waste);
            }
            if *take {
                let events = Arc::new(cache.apply(queue.take()));
                initial_left += events.iter().filter(|event| event.is_initial()).count();
                let (fold, _) = paces[at % paces.len()];
                todo.set_limit(limit(fold));
                initial_left -= todo.push(at as u64, &events, &mut spent);
                // Whoever has nothing initial left once the list is in has synced, for good.
                primed |= cache.synced > 0;
            }
            for _ in 0..paces[at % paces.len()].1 {
                let Some((event, _)) = todo.pop() else { break };
                tell(&mut slow, &event);
                initial_left -= usize::from(event.is_initial());
            }
        }
        while let Some((event, _)) = todo.pop() {
            tell(&mut slow, &event);
            initial_left -= usize::from(event.is_initial());
        }
        prop_assert_eq!(slow, cache.handler);
        prop_assert!(primed && initial_left == 0);
    }
}
