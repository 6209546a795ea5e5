//! The folding table of a handler's backlog, row by row, and its property: folding at any moments keeps the contract
//! of handlers, the end state and the count of initial adds.
//!
//! Events are written `A a/u1@1` (`I` for an initial add), `U a/u1@1>2` (`U a/u1@1>@2` for a state without a UID),
//! `D a/u1@2` (`L` for one whose end was not seen) and `R a/u1@2`.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::fixture::{Item, Known, item, known, tell};

fn event(text: &str) -> Event<Item> {
    let (kind, rest) = text.split_at(1);
    match kind {
        "A" | "I" => Event::Added { object: item(rest), initial: kind == "I" },
        "D" | "L" => Event::Deleted { object: item(rest), final_state_unknown: kind == "L" },
        "R" => Event::Resynced { object: item(rest) },
        "U" => {
            let (old, new) = rest.split_once('>').unwrap();
            let old = item(old);
            let (uid, version) = new.split_once('@').unwrap_or((&old.uid, new));
            let new = Item { uid: uid.to_owned(), version: version.to_owned(), ..Item::clone(&old) };
            Event::Updated { old, new: Arc::new(new) }
        }
        _ => panic!("{text}"),
    }
}

fn text(event: &Event<Item>) -> String {
    let meta = event.meta();
    let show = |version: &str| format!("{}/{}@{version}", meta.name, meta.uid);
    match event {
        Event::Added { initial, .. } => {
            format!("{}{}", if *initial { 'I' } else { 'A' }, show(meta.resource_version))
        }
        Event::Updated { old, .. } => format!("U{}>{}", show(&old.version), meta.resource_version),
        Event::Deleted { final_state_unknown, .. } => {
            format!("{}{}", if *final_state_unknown { 'L' } else { 'D' }, show(meta.resource_version))
        }
        Event::Resynced { .. } => format!("R{}", show(meta.resource_version)),
    }
}

/// Each word is one batch. Answers what is left, how many initial adds vanished, and the places.
fn fold(limit: usize, pushes: &str) -> (String, usize, Vec<Place>) {
    let mut todo = Todo::new(limit);
    let mut waste = Spent::default();
    let mut vanished = 0;
    for (batch, push) in pushes.split(' ').enumerate() {
        vanished += todo.push(batch as u64, &Arc::new(vec![event(push)]), &mut waste);
    }
    let (mut left, mut places) = (Vec::new(), Vec::new());
    while let Some(place) = todo.front() {
        places.push(place);
        left.push(text(&todo.pop().unwrap().0));
    }
    assert!(todo.is_empty() && todo.pop().is_none());
    assert_eq!(todo.folds() as usize, pushes.split(' ').count() - left.len());
    (left.join(" "), vanished, places)
}

/// Between an old entry and a young one, keys come and go; what is folded away leaves no room behind for long.
#[test]
fn d2_a_backlog_is_hardly_longer_than_what_is_in_it() {
    let mut todo = Todo::new(1);
    let mut waste = Spent::default();
    let mut longest = 0;
    let mut push = |todo: &mut Todo<Item>, batch, text: &str| {
        todo.push(batch, &Arc::new(vec![event(text)]), &mut waste);
        longest = longest.max(todo.folded.as_ref().map_or(0, FoldQueue::slots));
    };
    push(&mut todo, 0, "Ux/u1@1>2");
    push(&mut todo, 1, "Ak1/u1@1");
    for batch in 2..1000 {
        push(&mut todo, batch, &format!("Ak{batch}/u{batch}@{batch}"));
        push(&mut todo, batch, &format!("Dk{before}/u{before}@{batch}", before = batch - 1));
        assert_eq!(todo.len(), 2);
    }
    assert!((10..24).contains(&longest), "{longest} places for three entries at most");
    assert_eq!(todo.pop().map(|(event, _)| text(&event)).as_deref(), Some("Ux/u1@1>2"));
    assert_eq!(todo.pop().map(|(event, _)| text(&event)).as_deref(), Some("Ak999/u999@999"));
}

#[test]
fn d2_every_row_of_the_table_of_handlers() {
    for (pushes, want, vanished) in [
        // x + R → x, except ∅ + R → R
        ("Ra/u1@1", "Ra/u1@1", 0),
        ("Aa/u1@1 Ra/u1@1", "Aa/u1@1", 0),
        ("Ua/u1@1>2 Ra/u1@2", "Ua/u1@1>2", 0),
        ("Ra/u1@1 Ra/u1@1", "Ra/u1@1", 0),
        ("Da/u1@1 Aa/u2@2 Ra/u2@2", "Da/u1@1 Aa/u2@2", 0),
        // A + U → A of the new state, initial kept
        ("Aa/u1@1 Ua/u1@1>2 Ua/u1@2>3", "Aa/u1@3", 0),
        ("Ia/u1@1 Ua/u1@1>2", "Ia/u1@2", 0),
        // A + D → nothing; an initial one counts as handled
        ("Aa/u1@1 Da/u1@2", "", 0),
        ("Ia/u1@1 Da/u1@2", "", 1),
        ("Ia/u1@1 Ua/u1@1>2 La/u1@2", "", 1),
        ("Ia/u1@1 Da/u1@2 Aa/u2@3", "Aa/u2@3", 1),
        // U + U → from the oldest to the newest
        ("Ua/u1@1>2 Ua/u1@2>3 Ua/u1@3>4", "Ua/u1@1>4", 0),
        // U + D, R + D → D; R + U → U
        ("Ua/u1@1>2 Da/u1@3", "Da/u1@3", 0),
        ("Ua/u1@1>2 La/u1@2", "La/u1@2", 0),
        ("Ra/u1@1 Da/u1@2", "Da/u1@2", 0),
        ("Ra/u1@1 Ua/u1@1>2", "Ua/u1@1>2", 0),
        // A state without a UID between two objects does not make them one (D4)
        ("Ua/u1@1>@2 Ua/@2>u2@3", "La/u1@1 Aa/u2@3", 0),
        ("Ua/u1@1>@2 Ua/@2>u2@3 Ua/u2@3>4", "La/u1@1 Aa/u2@4", 0),
        ("Ua/u1@1>@2 Ua/@2>u2@3 Da/u2@4", "La/u1@1", 0),
        ("Ua/u1@1>@2 Da/u2@4", "La/u1@1", 0),
        ("Ua/u1@1>@2 Ua/@2>u1@3", "Ua/u1@1>3", 0),
        // D + A → both, same UID too
        ("Da/u1@1 Aa/u1@2", "Da/u1@1 Aa/u1@2", 0),
        ("Da/u1@1 Aa/u2@2 Ua/u2@2>3", "Da/u1@1 Aa/u2@3", 0),
        // D, A + D → the first D
        ("Da/u1@1 Aa/u2@2 Da/u2@3", "Da/u1@1", 0),
        ("Da/u1@1 Aa/u2@2 Da/u2@3 Aa/u3@4 Da/u3@5 Aa/u4@6", "Da/u1@1 Aa/u4@6", 0),
        ("Ua/u1@1>2 Da/u1@3 Aa/u2@4 Ua/u2@4>5", "Da/u1@3 Aa/u2@5", 0),
        // Another key does not matter
        ("Aa/u1@1 Ub/u2@1>2 Ua/u1@1>3 Db/u2@4", "Aa/u1@3 Db/u2@4", 0),
    ] {
        let (left, gone, _) = fold(1, pushes);
        assert_eq!((left.as_str(), gone), (want, vanished), "{pushes}");
    }
}

#[test]
fn d2_a_folded_entry_keeps_the_oldest_place() {
    let (left, _, places) = fold(1, "Aa/u1@1 Ab/u2@2 Ua/u1@1>3 Ub/u2@2>4 Ac/u3@5 Ua/u1@3>6");
    assert_eq!(left, "Aa/u1@6 Ab/u2@4 Ac/u3@5");
    assert_eq!(places, [(0, 0), (1, 0), (4, 0)]);
}

#[test]
fn d2_nothing_folds_below_the_limit() {
    let pushes = "Ua/u1@1>2 Ua/u1@2>3 Ua/u1@3>4";
    assert_eq!(fold(3, pushes).0, pushes);
    assert_eq!(fold(2, pushes).0, "Ua/u1@1>4");
}

#[test]
fn a_backlog_is_pointers_into_shared_batches_until_it_folds() {
    let object = item("a/u1@1");
    let events: Events<Item> = Arc::new(vec![Event::Added { object: Arc::clone(&object), initial: false }]);
    let mut todos: Vec<Todo<Item>> = (0..100).map(|_| Todo::new(10)).collect();
    let mut waste = Spent::default();
    for todo in &mut todos {
        todo.push(1, &events, &mut waste);
    }
    assert_eq!(Arc::strong_count(&object), 2, "f_48: one shared batch, whatever the number of handlers");
    assert_eq!(Arc::strong_count(&events), 101);
    let (_, spent) = todos[0].pop().unwrap();
    assert!(
        spent.is_some_and(|spent| Arc::ptr_eq(&spent, &events)),
        "the batch goes out with its last event"
    );
}

/// One thing that happens to a cache: of key `.0`.
#[derive(Clone, Debug)]
enum Op {
    Set(u8),
    Recreate(u8),
    Remove(u8),
    Resync,
    /// The batch ends here, and the backlog folds at this moment, or does not.
    Cut(bool),
    /// The handler takes so many events.
    Take(u8),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => (0..4u8).prop_map(Op::Set),
        1 => (0..4u8).prop_map(Op::Recreate),
        3 => (0..4u8).prop_map(Op::Remove),
        1 => Just(Op::Resync),
        4 => any::<bool>().prop_map(Op::Cut),
        2 => (0..5u8).prop_map(Op::Take),
    ];
    prop::collection::vec(op, 0..80)
}

/// The true state, and the events of a batch.
#[derive(Default)]
struct Truth {
    objects: BTreeMap<u8, Arc<Item>>,
    version: u32,
    batch: Vec<Event<Item>>,
}

impl Truth {
    fn object(&mut self, name: u8, uid: Option<&str>) -> Arc<Item> {
        self.version += 1;
        let uid = uid.map_or_else(|| format!("u{}", self.version), str::to_owned);
        item(&format!("{name}/{uid}@{}", self.version))
    }

    fn set(&mut self, name: u8, initial: bool) {
        let old = self.objects.get(&name).cloned();
        let new = self.object(name, old.as_ref().map(|old| old.uid.as_str()));
        self.objects.insert(name, Arc::clone(&new));
        self.batch.push(match old {
            Some(old) => Event::Updated { old, new },
            None => Event::Added { object: new, initial },
        });
    }

    fn remove(&mut self, name: u8) {
        if let Some(object) = self.objects.remove(&name) {
            self.batch.push(Event::Deleted { object, final_state_unknown: false });
        }
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Set(name) => self.set(*name, false),
            Op::Recreate(name) => {
                self.remove(*name);
                self.set(*name, false);
            }
            Op::Remove(name) => self.remove(*name),
            Op::Resync => {
                let resyncs =
                    self.objects.values().map(|object| Event::Resynced { object: Arc::clone(object) });
                self.batch.extend(resyncs);
            }
            Op::Cut(_) | Op::Take(_) => {}
        }
    }
}

proptest! {
    #[test]
    fn d2_folding_at_any_moments_keeps_the_contract_and_the_end_state(first in 0..4u8, ops in ops()) {
        let mut truth = Truth::default();
        let mut todo = Todo::new(usize::MAX);
        let (mut handler, mut waste) = (Known::new(), Spent::default());
        let mut batch = 0;
        let mut initial_left = 0usize;
        for name in 0..first {
            truth.set(name, true); // the replay
        }
        let mut take = |todo: &mut Todo<Item>, initial_left: &mut usize| {
            let Some((event, _)) = todo.pop() else { return false };
            tell(&mut handler, &event);
            *initial_left -= usize::from(event.is_initial());
            true
        };
        for op in ops.iter().chain([&Op::Cut(false)]) {
            truth.apply(op);
            match op {
                Op::Cut(fold) => {
                    let events: Events<Item> = Arc::new(std::mem::take(&mut truth.batch));
                    let (before, come) = (todo.len(), events.len());
                    initial_left += events.iter().filter(|event| event.is_initial()).count();
                    todo.set_limit(if *fold { 0 } else { usize::MAX });
                    initial_left -= todo.push(batch, &events, &mut waste);
                    batch += 1;
                    prop_assert!(todo.len() <= before + come);
                    prop_assert!(*fold || todo.len() == before + come, "nothing folds below the limit");
                }
                Op::Take(count) => {
                    for _ in 0..*count {
                        take(&mut todo, &mut initial_left);
                    }
                }
                _ => {}
            }
        }
        while take(&mut todo, &mut initial_left) {}
        prop_assert_eq!(initial_left, 0);
        prop_assert_eq!(handler, known(truth.objects.values()));
    }

    /// The bound: above the limit, two entries for each of four keys.
    #[test]
    fn d2_a_backlog_over_its_limit_has_at_most_two_entries_for_each_key(limit in 1..8usize, ops in ops()) {
        let mut truth = Truth::default();
        let mut todo = Todo::new(limit);
        let mut waste = Spent::default();
        for (batch, op) in ops.iter().enumerate() {
            truth.apply(op);
            if matches!(op, Op::Cut(_)) {
                let events: Events<Item> = Arc::new(std::mem::take(&mut truth.batch));
                let longest = todo.len().max(limit) + events.len();
                todo.push(batch as u64, &events, &mut waste);
                prop_assert!(todo.len() <= longest);
                prop_assert!(todo.folded.is_none() || todo.len() <= limit + 8);
            }
        }
    }
}
