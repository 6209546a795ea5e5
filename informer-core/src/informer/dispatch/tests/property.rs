//! Whatever the order of lock sections, T1 to T9 keep the contract of handlers: a naive oracle listens.
//!
//! The test plays every thread: the one with the pop role, those that lost it, the handlers' own, the watchdog, and
//! outsiders that register, remove and stop. Each step is one lock section of one of them.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::fixture::{Known, known, tell};

/// Small, so that backlogs fold.
const LIMIT: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// The thread with the pop role: its call returns, or it asks for work.
    Pop,
    /// A handler's own thread, likewise.
    Own,
    /// The call of a thread that lost the pop role returns.
    Lost,
    Register(Delivery),
    Remove,
    /// The queue has something.
    Arrive,
    Wait,
    /// The watchdog looks.
    Look,
    /// What it has decided is carried out.
    Promote,
    Stop,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => Just(Step::Pop),
        6 => Just(Step::Own),
        2 => Just(Step::Lost),
        2 => prop_oneof![3 => Just(Auto), 1 => Just(Inline), 2 => Just(Thread)].prop_map(Step::Register),
        1 => Just(Step::Remove),
        3 => Just(Step::Arrive),
        3 => Just(Step::Wait),
        4 => Just(Step::Look),
        3 => Just(Step::Promote),
    ]
}

/// Every thread, and what has come of it.
struct World {
    bench: Bench,
    /// What the store holds: name to UID and version.
    store: BTreeMap<String, (u32, u32)>,
    version: u32,
    listed: bool,
    stopped: bool,
    /// What each handler has been told.
    told: BTreeMap<SlotId, Known>,
    /// The objects of the first list, or of its replay, that each has not handled; those that are gone left out.
    owed: BTreeMap<SlotId, BTreeSet<String>>,
    latches: BTreeMap<SlotId, Latch>,
    removed: BTreeSet<SlotId>,
    /// The handlers that are being called.
    inside: BTreeSet<SlotId>,
    /// The call of the thread with the pop role.
    pop: Option<Lent<Item>>,
    /// Threads that lost the role in the middle of a call, by the epoch they had.
    lost: Vec<(u64, Lent<Item>)>,
    own: BTreeMap<SlotId, Option<Lent<Item>>>,
    decided: Option<u64>,
}

fn object(name: &str, (uid, version): (u32, u32)) -> Arc<Item> {
    item(&format!("{name}/u{uid}@{version}"))
}

impl World {
    fn new(early: &[Delivery]) -> Self {
        let mut bench = Bench::new();
        bench.dispatch = Dispatcher::new(LIMIT);
        let mut world = World {
            bench,
            store: BTreeMap::new(),
            version: 0,
            listed: false,
            stopped: false,
            told: BTreeMap::new(),
            owed: BTreeMap::new(),
            latches: BTreeMap::new(),
            removed: BTreeSet::new(),
            inside: BTreeSet::new(),
            pop: None,
            lost: Vec::new(),
            own: BTreeMap::new(),
            decided: None,
        };
        for delivery in early {
            world.register(*delivery, 1);
        }
        let (_, own) = world.bench.dispatch.start(world.bench.now);
        world.own.extend(own.into_iter().map(|slot| (slot, None)));
        world
    }

    fn step(&mut self, step: Step, pick: usize) {
        match step {
            Step::Pop => self.pop_step(pick),
            Step::Own => {
                if let Some(slot) = self.own.keys().nth(pick % self.own.len().max(1)).copied() {
                    self.own_step(slot, pick);
                }
            }
            Step::Lost if !self.lost.is_empty() => {
                let (epoch, lent) = self.lost.remove(pick % self.lost.len());
                let slot = lent.slot;
                self.give_back(lent, pick);
                assert_eq!(self.bench.next(epoch).0, "own", "a role that has gone does not come back");
                self.own.insert(slot, None);
            }
            Step::Lost => {}
            Step::Register(delivery) => self.register(delivery, pick),
            Step::Remove => {
                // One that never was, now and then.
                let slot = self.latches.keys().nth(pick % (self.latches.len() + 1)).copied().unwrap_or(999);
                self.bench.dispatch.remove(slot, &mut self.bench.waste);
                self.removed.insert(slot);
            }
            Step::Arrive => self.bench.arrive(),
            Step::Wait => self.bench.wait(pick as u64 % 4 * 100),
            Step::Look if self.decided.is_none() => {
                self.bench.dispatch.arm();
                if let Due::Promote(call) = self.bench.dispatch.due(self.bench.now) {
                    self.decided = Some(call);
                }
            }
            Step::Look => {}
            Step::Promote => {
                let Some(call) = self.decided.take() else { return };
                let before = self.bench.epoch;
                if self.bench.promote(call) {
                    let lent = self.pop.take().expect("only who is inside a call loses the role");
                    self.lost.push((before, lent));
                } else {
                    self.bench.dispatch.arm();
                }
            }
            Step::Stop => {
                self.bench.dispatch.stop(&mut self.bench.waste);
                self.stopped = true;
            }
        }
    }

    /// T9: no latch is set before its handler has handled what it is owed.
    fn check_latches(&self) {
        for (slot, latch) in &self.latches {
            assert!(!latch.is_set() || self.owed[slot].is_empty(), "{slot} is owed {:?}", self.owed[slot]);
        }
    }

    fn register(&mut self, delivery: Delivery, pick: usize) {
        let handler = Box::new(Handler { drops: Arc::clone(&self.bench.drops) });
        let resync = (pick.is_multiple_of(3)).then(|| Duration::from_secs(1));
        match self.bench.dispatch.register(handler, delivery, resync) {
            Ok((slot, latch)) => {
                self.told.insert(slot, Known::new());
                self.owed.insert(slot, BTreeSet::new());
                self.latches.insert(slot, latch);
            }
            Err(handler) => {
                assert!(self.stopped, "only who has stopped takes no handler");
                std::mem::forget(handler); // it is not counted among those that were taken
            }
        }
    }

    fn lend(&mut self, lent: &Lent<Item>) {
        assert!(!self.stopped, "i_8: no call begins after the stop");
        assert!(!self.removed.contains(&lent.slot), "i_23: no call begins after the removal");
        assert!(self.inside.insert(lent.slot), "two calls of one handler");
        tell(self.told.get_mut(&lent.slot).expect("it was registered"), &lent.event);
    }

    fn give_back(&mut self, lent: Lent<Item>, pick: usize) {
        let Lent { slot, handler, event, .. } = lent;
        self.inside.remove(&slot);
        if event.is_initial() {
            self.owed.entry(slot).and_modify(|owed| _ = owed.remove(&event.object().name));
        }
        let (dispatch, waste) = (&mut self.bench.dispatch, &mut self.bench.waste);
        let panicked = pick.is_multiple_of(5);
        dispatch.returned(slot, handler, event.is_initial(), panicked, self.bench.now, waste);
    }

    fn pop_step(&mut self, pick: usize) {
        if let Some(lent) = self.pop.take() {
            return self.give_back(lent, pick);
        }
        match self.bench.dispatch.next(self.bench.epoch, self.bench.now) {
            Next::Call(lent) => {
                self.lend(&lent);
                self.pop = Some(lent);
            }
            Next::Boundary => match self.bench.dispatch.boundary(self.bench.epoch) {
                Some(true) => self.admit(),
                Some(false) => self.publish(pick),
                None => assert!(self.stopped),
            },
            Next::Exit => assert!(self.stopped),
            Next::Own | Next::Wait => panic!("the role is not gone"),
        }
    }

    fn own_step(&mut self, slot: SlotId, pick: usize) {
        if let Some(lent) = self.own.insert(slot, None).flatten() {
            return self.give_back(lent, pick);
        }
        match self.bench.dispatch.next_own(slot, self.bench.now) {
            Next::Call(lent) => {
                self.lend(&lent);
                self.own.insert(slot, Some(lent));
            }
            Next::Wait => assert!(self.bench.dispatch.must_wait(slot)),
            Next::Exit => {
                assert!(self.stopped || self.removed.contains(&slot));
                self.own.remove(&slot);
            }
            Next::Own | Next::Boundary => panic!("it has no role"),
        }
    }

    fn admit(&mut self) {
        let replay = self
            .store
            .iter()
            .map(|(name, state)| Event::Added { object: object(name, *state), initial: true });
        let replay = Arc::new(replay.collect());
        for waiting in &self.bench.dispatch.commands {
            self.owed.insert(waiting.id, self.store.keys().cloned().collect());
        }
        let own = self.bench.dispatch.admit(&replay, self.bench.now, &mut self.bench.waste);
        self.own.extend(own.into_iter().map(|slot| (slot, None)));
    }

    /// A batch: the first list, or up to three changes.
    fn publish(&mut self, pick: usize) {
        self.bench.dispatch.took(self.bench.news);
        let mut events = Vec::new();
        for change in 0..pick % 4 {
            self.change(["a", "b", "c", "d"][(pick / 4 + change) % 4], pick / 16 + change, &mut events);
        }
        let first = !self.listed;
        self.listed = true;
        if first || !events.is_empty() {
            let there: Vec<_> = self.bench.dispatch.statuses().iter().map(|status| status.id).collect();
            for event in &events {
                for (slot, owed) in self.owed.iter_mut().filter(|(slot, _)| there.contains(slot)) {
                    match event {
                        Event::Added { object, initial: true } => _ = owed.insert(object.name.clone()),
                        Event::Deleted { object, .. } => _ = owed.remove(&object.name),
                        _ => {}
                    }
                    assert!(!self.latches[slot].is_set() || !first, "synced before the first list");
                }
            }
            self.bench.dispatch.publish(&Arc::new(events), first, &mut self.bench.waste);
        }
        if self.bench.dispatch.resync_due(self.bench.now) {
            let all = self.store.iter().map(|(name, state)| Event::Resynced { object: object(name, *state) });
            let all = Arc::new(all.collect());
            self.bench.dispatch.resync(&all, self.bench.now, &mut self.bench.waste);
        }
    }

    fn change(&mut self, name: &str, what: usize, events: &mut Vec<Event<Item>>) {
        self.version += 1;
        let initial = !self.listed;
        let before = self.store.get(name).copied();
        let uid = before.map_or(self.version, |(uid, _)| uid);
        let again = what.is_multiple_of(4);
        if let Some(before) = before
            && what.is_multiple_of(2)
        {
            events.push(Event::Deleted { object: object(name, before), final_state_unknown: again });
            self.store.remove(name);
            if !again {
                return;
            }
        }
        let state = if again { (self.version, self.version) } else { (uid, self.version) };
        let new = object(name, state);
        events.push(match self.store.insert(name.to_owned(), state) {
            Some(before) => Event::Updated { old: object(name, before), new },
            None => Event::Added { object: new, initial },
        });
    }

    /// Every call returns, and every thread works until it has nothing to do.
    fn settle(&mut self) {
        self.step(Step::Promote, 0);
        loop {
            while !self.lost.is_empty() {
                self.step(Step::Lost, 1);
            }
            for slot in self.own.keys().copied().collect::<Vec<_>>() {
                while self.own.get(&slot).is_some_and(|call| {
                    call.is_some() || self.stopped || !self.bench.dispatch.must_wait(slot)
                }) {
                    self.own_step(slot, 1);
                }
            }
            if self.pop.is_none() {
                match self.bench.dispatch.next(self.bench.epoch, self.bench.now) {
                    Next::Call(lent) => {
                        self.lend(&lent);
                        self.pop = Some(lent);
                    }
                    Next::Boundary if self.bench.dispatch.boundary(self.bench.epoch) == Some(true) => {
                        self.admit();
                        continue;
                    }
                    Next::Boundary if !self.listed => self.publish(0),
                    _ => return,
                }
            }
            if let Some(lent) = self.pop.take() {
                self.give_back(lent, 1);
            }
        }
    }

    fn check(mut self) {
        self.settle();
        if !self.stopped {
            let objects: Vec<_> = self.store.iter().map(|(name, state)| object(name, *state)).collect();
            for (slot, told) in self.told.iter().filter(|(slot, _)| !self.removed.contains(slot)) {
                assert_eq!(*told, known(&objects), "handler {slot} knows what the store holds");
                assert!(self.latches[slot].is_set(), "handler {slot} has synced");
            }
            self.step(Step::Stop, 0);
            self.settle();
        }
        assert!(self.bench.dispatch.statuses().is_empty() && self.own.is_empty());
        let (taken, waste) = (self.latches.len(), std::mem::take(&mut self.bench.waste));
        assert_eq!(waste.handlers.len(), taken, "each is handed out once, to be dropped outside the lock");
        assert_eq!(self.bench.drops.load(Ordering::SeqCst), 0, "none was dropped inside");
        self.bench.dispatch.dropped(&waste.erased);
        assert!(self.latches.keys().all(|slot| self.bench.dispatch.is_dropped(*slot)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn d_3_t_1_to_t_9_in_any_order_every_handler_hears_the_truth_once(
        early in proptest::collection::vec(prop_oneof![Just(Auto), Just(Inline), Just(Thread)], 0..3),
        steps in proptest::collection::vec((step(), 0usize..64), 0..160),
        stop in proptest::option::weighted(0.3, 0usize..160),
    ) {
        let mut world = World::new(&early);
        for (at, (step, pick)) in steps.into_iter().enumerate() {
            if stop == Some(at) {
                world.step(Step::Stop, 0);
            }
            world.step(step, pick);
            world.check_latches();
        }
        world.check();
    }
}
