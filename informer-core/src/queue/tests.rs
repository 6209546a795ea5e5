//! The folding table of the DeltaFIFO, row by row, and what [`DeltaFifo`] promises its two threads.
//!
//! Deltas are written `+a/u1@10` (upsert), `-a/u1@20` (deletion with its final state), `~a/u1` (without), `?a/u1@5`
//! (unreadable) and `=a/u1@10,b/u2@11;c/u3@12` (list, with what of it is unreadable; `==` incomplete, `=1` the first one);
//! a forced deletion ends in `!`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::fixture::{Item, item};
use crate::sync::spawn;
use crate::time::{Clock, SystemClock};

fn delta(text: &str) -> Delta<Item> {
    let (sign, rest) = text.split_at(1);
    let object = item(rest);
    let key = crate::meta::Object::meta(&*object).key();
    match sign {
        "+" => Delta::Upsert { key, object },
        "-" => Delta::Delete { key, what: Deletion::Final(object), forced: false },
        "~" => Delta::Delete { key, what: Deletion::Unseen(object.uid.clone()), forced: false },
        "?" => Delta::Unreadable { key, uid: object.uid.clone(), resource_version: object.version.clone() },
        "=" => {
            let (complete, rest) = rest.strip_prefix('=').map_or((true, rest), |rest| (false, rest));
            let (initial, rest) = rest.strip_prefix('1').map_or((false, rest), |rest| (true, rest));
            let (items, unreadable) = rest.split_once(';').unwrap_or((rest, ""));
            let all =
                |text: &str| text.split(',').filter(|item| !item.is_empty()).map(item).collect::<Vec<_>>();
            let identity = |object: &Arc<Item>| {
                (crate::meta::Object::meta(&**object).key(), object.uid.clone(), object.version.clone())
            };
            let unreadable = all(unreadable).iter().map(identity).collect();
            Delta::Replace(Replace { items: all(items), unreadable, complete, initial, lowered: false })
        }
        _ => panic!("{text}"),
    }
}

fn text(delta: &Delta<Item>) -> String {
    let show = |item: &Item| format!("{}/{}@{}", item.name, item.uid, item.version);
    match delta {
        Delta::Upsert { object, .. } => format!("+{}", show(object)),
        Delta::Delete { key, what, forced } => {
            let force = if *forced { "!" } else { "" };
            match what {
                Deletion::Final(object) => format!("-{}{force}", show(object)),
                Deletion::Unseen(uid) => format!("~{key}/{uid}{force}"),
            }
        }
        Delta::Unreadable { key, uid, resource_version } => format!("?{key}/{uid}@{resource_version}"),
        Delta::Replace(list) => {
            let items: Vec<_> = list.items.iter().map(|item| show(item)).collect();
            let complete = if list.complete { "" } else { "=" };
            let initial = if list.initial { "1" } else { "" };
            let unreadable =
                list.unreadable.iter().map(|(key, uid, version)| format!(";{key}/{uid}@{version}"));
            format!("={complete}{initial}{}{}", items.join(","), unreadable.collect::<String>())
        }
    }
}

/// Pushes to a queue that folds above `limit`; answers what is left, in order.
fn fold(limit: usize, pushes: &str) -> String {
    let mut queue = FoldQueue::new(limit);
    let mut waste = Vec::new();
    let pushes: Vec<_> = pushes.split(' ').collect();
    for push in &pushes {
        assert_eq!(queue.push(delta(push), &mut waste), 0);
    }
    let weight = queue.weight();
    let left: Vec<_> = queue.take().iter().map(text).collect();
    if !pushes.iter().any(|push| push.starts_with(['=', '?'])) {
        assert_eq!(weight, left.len());
        assert_eq!(waste.len(), pushes.len() - left.len(), "what is folded away is handed out");
    }
    left.join(" ")
}

#[test]
fn d2_every_row_of_the_table_of_deltas() {
    for (pushes, want) in [
        // Upsert + Upsert
        ("+a/u1@1 +a/u1@2 +a/u1@3", "+a/u1@3"),
        ("+a/u1@1 +a/u2@2", "+a/u1@1 +a/u2@2"),
        // Upsert + Delete: the consumer drops it if the store lacks the key
        ("+a/u1@1 -a/u1@2", "-a/u1@2!"),
        ("+a/u1@1 ~a/u1", "~a/u1!"),
        ("+a/u1@1 ~a/", "~a/!"),
        ("+a/u2@5 -a/u1@2", "+a/u2@5"), // void: it speaks of another object
        // Delete + Upsert stays
        ("-a/u1@1 +a/u1@2", "-a/u1@1 +a/u1@2"),
        ("-a/u1@1 +a/u2@2 +a/u2@3", "-a/u1@1 +a/u2@3"),
        // Delete + Upsert + Delete
        ("-a/u1@1 +a/u2@2 -a/u2@3", "-a/u1@1!"),
        ("-a/u1@1 +a/u1@2 -a/u1@3", "-a/u1@3!"), // of one object, the later final state
        ("-a/u1@1 +a/u2@2 -a/u2@3 +a/u3@4 -a/u3@5 +a/u4@6", "-a/u1@1! +a/u4@6"),
        // Delete + Delete without an upsert between: each removes its own
        ("-a/u1@1 -a/u2@2", "-a/u1@1 -a/u2@2"),
        ("-a/u1@1 -a/u1@2", "-a/u1@2"),
        ("-a/u1@1 ~a/", "-a/u1@1!"),
        ("~a/u1 -a/u1@2", "-a/u1@2"),
        // Unreadable
        ("?a/u1@1 +a/u1@2", "+a/u1@2"),
        ("?a/u1@1 ?a/u1@2", "?a/u1@2"),
        ("?a/u1@1 ?a/@2", "?a/u1@2"),
        ("?a/u1@1 ?a/u2@2", "?a/u1@1 ?a/u2@2"),
        ("+a/u1@1 ?a/u1@2 +a/u1@3", "+a/u1@3"),
        ("+a/u1@1 ?a/u1@2", "+a/u1@1 ?a/u1@2"),
        ("?a/u2@1 -a/u2@2", "-a/u2@2!"),
        ("?a/@1 -a/u2@2", "-a/u2@2"),
        ("-a/u1@1 ?a/u2@2 ~a/u2", "-a/u1@1!"),
        // Other keys do not matter; a folded entry keeps the oldest place (a hot key is not starved)
        ("+a/u1@1 +b/u2@2 +a/u1@3 +c/u3@4 +b/u2@5", "+a/u1@3 +b/u2@5 +c/u3@4"),
        ("+a/u1@1 +b/u2@2 -a/u1@3 +a/u3@4 -a/u3@5", "-a/u1@3! +b/u2@2"),
    ] {
        assert_eq!(fold(1, pushes), want, "{pushes}");
    }
}

#[test]
fn d2_a_list_is_a_barrier_and_supersedes_all_but_real_final_states() {
    for (pushes, want) in [
        ("+a/u1@1 ~b/u2 ?c/u3@3 -d/u4@4 =a/u1@9 +a/u1@10", "-d/u4@4 =a/u1@9 +a/u1@10"),
        // Nothing folds across it
        ("-a/u1@4 =a/u2@9 -a/u2@10", "-a/u1@4 =a/u2@9 -a/u2@10"),
        // One final state a key: the first, which is that of what the store holds
        ("-a/u1@4 =a/u2@9 -a/u2@10 =b/u3@12", "-a/u1@4 =b/u3@12"),
        // A list that supersedes the first one is the first one
        ("=1a/u1@1 =a/u1@2", "=1a/u1@2"),
        ("=1a/u1@1 +b/u2@2 =a/u1@3,b/u2@2", "=1a/u1@3,b/u2@2"),
        // An incomplete list deletes nothing, so it can only take the place of its like
        ("+a/u1@1 ~b/u2 ==c/u3@3", "+a/u1@1 ~b/u2 ==c/u3@3"),
        ("=1a/u1@1 ==c/u3@3", "=1a/u1@1 ==c/u3@3"),
        ("==1c/u3@3 ==c/u3@4", "==1c/u3@4"),
        ("==1c/u3@3 =c/u3@4", "=1c/u3@4"),
        ("-a/u1@4 -a/u2@6 ==c/u3@9", "-a/u1@4 -a/u2@6 ==c/u3@9"),
        ("==a/u1@1,b/u2@2 ==b/u2@5", "+a/u1@1 ==b/u2@5"),
        // What of it is unreadable keeps its older state, and that state only
        ("+a/u1@1 +b/u2@2 =c/u3@9;a/u1@9", "+a/u1@1 =c/u3@9;a/u1@9"),
        ("=a/u1@1,c/u3@3 =b/u2@5;a/u1@9", "+a/u1@1 =b/u2@5;a/u1@9"),
        ("=b/u2@2 =b/u2@5;a/u1@9", "~a/! =b/u2@5;a/u1@9"),
    ] {
        assert_eq!(fold(1, pushes), want, "{pushes}");
    }
}

#[test]
fn d2_nothing_folds_below_the_limit() {
    let pushes = "+a/u1@1 +a/u1@2 -a/u1@3 +a/u2@4 =a/u2@4 +a/u2@5";
    assert_eq!(fold(6, pushes), pushes);
    // The first one above it folds everything, as if it came now.
    assert_eq!(fold(6, &format!("{pushes} +a/u2@6")), "-a/u1@3! =a/u2@4 +a/u2@6");
    // A list counts by its items.
    assert_eq!(fold(3, "=a/u1@1,b/u2@2,c/u3@3 +a/u1@4 +a/u1@5"), "=a/u1@1,b/u2@2,c/u3@3 +a/u1@5");
}

/// What is taken one by one weighs no more: the room is there again, and nothing folds.
#[test]
fn d2_what_is_popped_makes_room() {
    let mut queue = FoldQueue::new(3);
    let mut waste = Vec::new();
    queue.push(delta("=a/u1@1,b/u2@2"), &mut waste);
    queue.push(delta("+a/u1@3"), &mut waste);
    assert_eq!(queue.weight(), 3);
    queue.pop();
    assert_eq!(queue.weight(), 1);
    queue.push(delta("+a/u1@4"), &mut waste);
    queue.push(delta("+a/u1@5"), &mut waste);
    assert_eq!((queue.weight(), queue.folded()), (3, 0));
    queue.push(delta("+a/u1@6"), &mut waste);
    assert_eq!((queue.weight(), queue.folded()), (1, 3));
    queue.pop();
    assert_eq!((queue.weight(), queue.is_empty()), (0, true));
}

/// Long enough that whoever waits for it has hung.
fn never() -> Option<Instant> {
    SystemClock.now().checked_add(Duration::from_secs(60))
}

/// Whatever a batch has, for a test that knows that there is one.
fn batch(fifo: &DeltaFifo<Item>) -> (String, String, u64) {
    match fifo.take(&SystemClock, never()) {
        Taken::Batch { deltas, tail, timeline, .. } => {
            (deltas.iter().map(text).collect::<Vec<_>>().join(" "), tail, timeline)
        }
        Taken::Nothing | Taken::Closed => panic!("a batch was expected"),
    }
}

#[test]
fn f_1_d_1_deltas_come_in_order_with_the_version_after_them() {
    let fifo = DeltaFifo::new(100);
    for (push, tail) in [("+a/u1@1", "1"), ("+a/u1@2", "2"), ("-a/u1@3", "3"), ("+a/u2@4", "4")] {
        fifo.push(delta(push), tail);
    }
    let want = ("+a/u1@1 +a/u1@2 -a/u1@3 +a/u2@4".to_owned(), "4".to_owned(), 0);
    assert_eq!(batch(&fifo), want);
    fifo.set_tail("9");
    assert_eq!(batch(&fifo), (String::new(), "9".to_owned(), 0), "sc_1: a bookmark is news");
    fifo.push(delta("+b/u3@10"), "10");
    let Delta::Replace(list) = delta("=b/u3@5") else { panic!() };
    fifo.push(Delta::Replace(Replace { lowered: true, ..list }), "5");
    assert_eq!(batch(&fifo), ("+b/u3@10 =b/u3@5".to_owned(), "5".to_owned(), 1));
}

#[test]
fn f_2_a_list_is_one_entry_with_its_objects_in_order_and_its_version() {
    let fifo = DeltaFifo::new(100);
    fifo.push(delta("=1b/u2@2,a/u1@1"), "7");
    let Taken::Batch { deltas, tail, news, .. } = fifo.take(&SystemClock, never()) else { panic!() };
    assert_eq!((deltas.len(), text(&deltas[0]).as_str(), tail.as_str()), (1, "=1b/u2@2,a/u1@1", "7"));
    assert_eq!(news, 1, "it comes as one");
    fifo.push(delta("=1"), "8");
    assert_eq!(batch(&fifo).0, "=1", "f_3: an empty one is an entry too, for the pop thread to see");
}

#[test]
fn f_10_d1_one_take_brings_everything_that_is_queued() {
    let fifo = DeltaFifo::new(usize::MAX);
    for at in 0..2500 {
        fifo.push(delta(&format!("+{at}/u{at}@{at}")), &at.to_string());
    }
    let Taken::Batch { deltas, tail, .. } = fifo.take(&SystemClock, never()) else { panic!() };
    assert_eq!((deltas.len(), tail.as_str()), (2500, "2499"));
    assert_eq!(text(&deltas[2499]), "+2499/u2499@2499");
}

#[test]
fn f_13_d2_a_push_never_waits_for_the_consumer() {
    let fifo = DeltaFifo::new(16);
    for at in 0..5000 {
        // One thread: a push that waited would be the end of this test.
        fifo.push(delta(&format!("+{}/u@{at}", at % 3)), &at.to_string());
    }
    let (waiting, folded) = fifo.gauges();
    assert!(waiting <= 16 && folded > 4900, "{waiting} wait, {folded} folded");
    let (left, tail, _) = batch(&fifo);
    for (name, last) in [(0, 4998), (1, 4999), (2, 4997)] {
        let newest = left.split(' ').rfind(|delta| delta.starts_with(&format!("+{name}/")));
        assert_eq!(newest, Some(format!("+{name}/u@{last}").as_str()), "the last state of each: {left}");
    }
    assert_eq!(tail, "4999", "and the version of the last push");
}

#[test]
fn f_14_what_was_taken_or_folded_away_is_kept_by_nobody() {
    for limit in [1, 100] {
        let fifo = DeltaFifo::new(limit);
        let objects = ["a/u1@1", "a/u1@2", "b/u2@3", "b/u2@4"].map(item);
        for object in &objects {
            let key = crate::meta::Object::meta(&**object).key();
            fifo.push(Delta::Upsert { key, object: Arc::clone(object) }, "1");
        }
        drop(fifo.take(&SystemClock, never()));
        assert!(objects.iter().all(|object| Arc::strong_count(object) == 1), "limit {limit}");
        // Entry by entry, as a handler's backlog is taken
        let mut queue = FoldQueue::new(limit);
        for object in &objects {
            let key = crate::meta::Object::meta(&**object).key();
            queue.push(Delta::Upsert { key, object: Arc::clone(object) }, &mut Vec::new());
        }
        while queue.pop().is_some() {}
        assert!(objects.iter().all(|object| Arc::strong_count(object) == 1), "limit {limit}");
    }
}

#[test]
fn d1_the_tail_moves_with_what_is_folded_away() {
    let fifo = DeltaFifo::new(1);
    fifo.push(delta("+a/u1@1"), "1");
    fifo.push(delta("+b/u2@2"), "2");
    fifo.push(delta("-b/u2@3"), "3");
    fifo.push(delta("+a/u1@2"), "4");
    assert_eq!(batch(&fifo), ("+a/u1@2 -b/u2@3!".to_owned(), "4".to_owned(), 0));
    assert_eq!(fifo.gauges(), (0, 2));
}

#[test]
fn the_consumer_is_told_once_whenever_it_is_not_waiting() {
    let fifo = DeltaFifo::new(100);
    assert_eq!(fifo.push(delta("+a/u1@1"), "1"), Some(1), "not there yet");
    assert_eq!(fifo.push(delta("+a/u1@2"), "2"), None, "it knows");
    assert!(matches!(fifo.take(&SystemClock, never()), Taken::Batch { news: 2, .. }));
    assert_eq!(fifo.set_tail("2"), None, "nothing moved");
    assert_eq!(fifo.set_tail("3"), Some(3));
    assert_eq!(fifo.push(delta("+a/u1@4"), "4"), None);
    assert!(matches!(fifo.take(&SystemClock, never()), Taken::Batch { news: 4, .. }));
    // A wait that was cut short brings nothing, and the consumer is away all the same: it may admit a handler now.
    fifo.poke();
    assert!(matches!(fifo.take(&SystemClock, never()), Taken::Nothing));
    assert_eq!(fifo.push(delta("+a/u1@5"), "5"), Some(5));
    // The same after a deadline.
    assert!(matches!(fifo.take(&SystemClock, never()), Taken::Batch { .. }));
    assert!(matches!(fifo.take(&SystemClock, Some(SystemClock.now())), Taken::Nothing));
    assert_eq!(fifo.set_tail("6"), Some(6));
}

#[test]
fn q_5_a_push_a_poke_and_the_end_wake_a_consumer_that_waits() {
    let wakes: [fn(&DeltaFifo<Item>); 3] = [
        |fifo| assert!(fifo.push(delta("+a/u1@1"), "1").is_none_or(|news| news == 1)),
        |fifo| fifo.poke(),
        |fifo| assert!(fifo.close().is_empty()),
    ];
    for (at, wake) in wakes.into_iter().enumerate() {
        let fifo = Arc::new(DeltaFifo::new(100));
        let theirs = Arc::clone(&fifo);
        let consumer = spawn("consumer", move || {
            let taken = theirs.take(&SystemClock, never());
            let right = match at {
                0 => matches!(taken, Taken::Batch { .. }),
                1 => matches!(taken, Taken::Nothing),
                _ => matches!(taken, Taken::Closed),
            };
            assert!(right);
        });
        wake(&fifo);
        consumer.unwrap().join().unwrap();
    }
}

#[test]
fn c_11_what_is_queued_at_the_end_is_handed_out_and_nothing_is_taken_in() {
    let fifo = DeltaFifo::new(100);
    fifo.push(delta("+a/u1@1"), "1");
    assert_eq!(fifo.close().len(), 1);
    let late = item("b/u2@2");
    let key = crate::meta::Object::meta(&*late).key();
    assert_eq!(fifo.push(Delta::Upsert { key, object: Arc::clone(&late) }, "2"), None);
    assert_eq!(Arc::strong_count(&late), 1, "f_14: nothing keeps it");
    assert!(matches!(fifo.take(&SystemClock, never()), Taken::Closed));
}

/// What a server does with one of four objects, or that it is listed.
#[derive(Clone, Copy, Debug)]
enum Op {
    Set(u8),
    Recreate(u8),
    Remove(u8),
    List,
}

proptest! {
    /// The bound of D2, for a server that tells the truth: for each of four keys a delete and an upsert after the last
    /// list, its place in that list, and a final state before it.
    #[test]
    fn d2_a_queue_over_its_limit_is_bounded_by_keys_not_by_time(
        limit in 1..8usize,
        ops in prop::collection::vec(
            prop_oneof![
                4 => (0..4u8).prop_map(Op::Set),
                2 => (0..4u8).prop_map(Op::Recreate),
                2 => (0..4u8).prop_map(Op::Remove),
                1 => Just(Op::List),
            ],
            0..300,
        ),
    ) {
        let mut queue = FoldQueue::new(limit);
        let mut waste = Vec::new();
        let mut objects: BTreeMap<u8, String> = BTreeMap::new();
        for (version, op) in ops.iter().enumerate() {
            let mut push = |text: &str| queue.push(delta(text), &mut waste);
            match *op {
                Op::Set(name) => {
                    let uid = objects.entry(name).or_insert_with(|| format!("u{version}"));
                    push(&format!("+k{name}/{uid}@{version}"));
                }
                Op::Recreate(name) | Op::Remove(name) => {
                    if let Some(uid) = objects.remove(&name) {
                        push(&format!("-k{name}/{uid}@{version}"));
                    }
                    if matches!(op, Op::Recreate(_)) {
                        push(&format!("+k{name}/u{version}@{version}"));
                        objects.insert(name, format!("u{version}"));
                    }
                }
                Op::List => {
                    let items: Vec<_> =
                        objects.iter().map(|(name, uid)| format!("k{name}/{uid}@{version}")).collect();
                    push(&format!("={}", items.join(",")));
                }
            }
            waste.clear();
            prop_assert!(queue.weight() <= limit + 4 * 4, "{} entries", queue.weight());
        }
    }
}
