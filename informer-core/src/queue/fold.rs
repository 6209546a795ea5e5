//! [`FoldQueue`]: a queue in order of arrival that folds entries of one key once it is over its limit.
//!
//! Below the limit nothing folds. A folded entry keeps the oldest place, so that a hot key is not starved.
//! Pure: no lock, no clock; whatever is folded away is handed out, to be dropped outside the caller's lock.

use std::collections::{HashMap, VecDeque};

use crate::key::ObjectKey;

/// An entry that knows how to fold with a later one of its key.
pub(crate) trait Fold: Sized {
    /// What is left over by a fold and must be dropped outside the lock.
    type Waste;

    /// The key, or `None` for a barrier: nothing folds across it.
    fn key(&self) -> Option<ObjectKey>;

    /// How many entries it counts as.
    fn weight(&self) -> usize {
        1
    }

    /// Whether somebody counts its being handled for `has_synced`.
    fn is_initial(&self) -> bool {
        false
    }

    /// Folds `newer` into `older`, both of one key, adjacent among the entries of that key.
    fn fold(older: Self, newer: Self, waste: &mut Vec<Self::Waste>) -> Folded<Self>;

    /// A barrier has arrived above the limit: what is left of this older entry.
    fn superseded(self, _by: &mut Self, _waste: &mut Vec<Self::Waste>) -> Option<Self> {
        Some(self)
    }
}

/// What two entries of one key become.
#[derive(Debug, PartialEq)]
pub(crate) enum Folded<E> {
    /// One entry, in the older one's place.
    One(E),
    /// They stay as they are.
    Both(E, E),
    /// They cancel out.
    Nothing,
}

/// See the module.
pub(crate) struct FoldQueue<E> {
    /// `None` where an entry was folded away.
    slots: VecDeque<Option<E>>,
    /// The number of `slots[0]`; numbers never change.
    first: u64,
    /// Numbers of the pending entries of each key since the last barrier, oldest first. Kept only while the queue
    /// is near its limit. Numbers below `first` are of entries already taken.
    places: Option<HashMap<ObjectKey, Vec<u64>>>,
    weight: usize,
    limit: usize,
    folded: u64,
}

impl<E: Fold> FoldQueue<E> {
    /// An empty queue that folds above `limit`.
    pub(crate) fn new(limit: usize) -> Self {
        FoldQueue { slots: VecDeque::new(), first: 0, places: None, weight: 0, limit, folded: 0 }
    }

    /// How many entries wait, barriers by their weight.
    pub(crate) fn weight(&self) -> usize {
        self.weight
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.weight == 0
    }

    /// How many entries have been folded away so far.
    pub(crate) fn folded(&self) -> u64 {
        self.folded
    }

    /// The oldest entry.
    pub(crate) fn front(&self) -> Option<&E> {
        self.slots.iter().flatten().next()
    }

    /// Appends `entry`, folding if the queue is over its limit. Answers how many initial entries vanished.
    pub(crate) fn push(&mut self, entry: E, waste: &mut Vec<E::Waste>) -> usize {
        if self.weight < self.limit {
            self.append(entry);
            return 0;
        }
        let mut vanished = 0;
        if self.places.is_none() {
            // Over the limit for the first time: fold what is there, once, as if it arrived now.
            self.places = Some(HashMap::new());
            let old = std::mem::take(&mut self.slots);
            self.first = 0;
            self.weight = 0;
            for entry in old.into_iter().flatten() {
                vanished += self.fold_in(entry, waste);
            }
        }
        vanished + self.fold_in(entry, waste)
    }

    /// Takes the oldest entry.
    pub(crate) fn pop(&mut self) -> Option<E> {
        loop {
            let slot = self.slots.pop_front()?;
            self.first += 1;
            if let Some(entry) = slot {
                self.weight -= entry.weight();
                self.relax();
                return Some(entry);
            }
        }
    }

    /// Takes everything, in order.
    pub(crate) fn take(&mut self) -> Vec<E> {
        self.first += self.slots.len() as u64;
        self.weight = 0;
        self.places = None;
        // A queue that has once been long gives its memory back (F-17, and client-go's ring that never shrinks).
        if self.slots.capacity() > 1024 {
            std::mem::take(&mut self.slots).into_iter().flatten().collect()
        } else {
            self.slots.drain(..).flatten().collect()
        }
    }

    /// Far below the limit again: places are no longer kept.
    fn relax(&mut self) {
        if self.places.is_some() && self.weight <= self.limit / 2 {
            self.places = None;
        }
    }

    fn append(&mut self, entry: E) {
        if let Some(places) = &mut self.places {
            match entry.key() {
                Some(key) => {
                    places.entry(key).or_default().push(self.first + self.slots.len() as u64);
                }
                None => places.clear(),
            }
        }
        self.weight += entry.weight();
        self.slots.push_back(Some(entry));
    }

    fn fold_in(&mut self, mut entry: E, waste: &mut Vec<E::Waste>) -> usize {
        let Some(key) = entry.key() else {
            self.supersede(&mut entry, waste);
            self.append(entry);
            return 0;
        };
        let Some(places) = &mut self.places else {
            self.append(entry);
            return 0;
        };
        let place = places.get_mut(&key).and_then(Vec::pop);
        let older = place
            .and_then(|place| place.checked_sub(self.first))
            .and_then(|at| Some((at, self.slots.get_mut(usize::try_from(at).ok()?)?.take()?)));
        let Some((at, older)) = older else {
            self.append(entry);
            return 0;
        };
        self.weight -= older.weight();
        let initial = older.is_initial();
        let put = |queue: &mut Self, entry: E| {
            queue.weight += entry.weight();
            if let Some(places) = &mut queue.places {
                places.entry(key).or_default().push(queue.first + at);
            }
            queue.slots[at as usize] = Some(entry);
        };
        match E::fold(older, entry, waste) {
            Folded::One(entry) => {
                self.folded += 1;
                put(self, entry);
                0
            }
            Folded::Both(older, newer) => {
                put(self, older);
                self.append(newer);
                0
            }
            Folded::Nothing => {
                self.folded += 2;
                usize::from(initial)
            }
        }
    }

    fn supersede(&mut self, by: &mut E, waste: &mut Vec<E::Waste>) {
        self.weight = 0;
        for slot in &mut self.slots {
            if let Some(entry) = slot.take() {
                match entry.superseded(by, waste) {
                    Some(entry) => {
                        self.weight += entry.weight();
                        *slot = Some(entry);
                    }
                    None => self.folded += 1,
                }
            }
        }
        self.slots.retain(Option::is_some); // `places` is emptied next: nothing folds across a barrier
    }
}

impl<E> std::fmt::Debug for FoldQueue<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FoldQueue")
            .field("weight", &self.weight)
            .field("folded", &self.folded)
            .finish_non_exhaustive()
    }
}
