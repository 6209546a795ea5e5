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

    /// A barrier has arrived above the limit: what is left of all older entries, in order.
    fn supersede(older: Vec<Self>, _by: &mut Self, _waste: &mut Vec<Self::Waste>) -> Vec<Self> {
        older
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
///
/// Invariants: the first and the last slot are never empty; at most half of the slots are, beyond a small number;
/// `places`, where kept, has exactly the entries since the last barrier.
pub(crate) struct FoldQueue<E> {
    /// `None` where an entry was folded away.
    slots: VecDeque<Option<E>>,
    /// The number of `slots[0]`.
    first: u64,
    /// How many slots hold an entry.
    live: usize,
    /// Numbers of the pending entries of each key since the last barrier, oldest first. Kept only while the queue
    /// is near its limit.
    places: Option<HashMap<ObjectKey, Vec<u64>>>,
    weight: usize,
    limit: usize,
    folded: u64,
}

impl<E: Fold> FoldQueue<E> {
    /// An empty queue that folds above `limit`.
    pub(crate) fn new(limit: usize) -> Self {
        FoldQueue { slots: VecDeque::new(), first: 0, live: 0, places: None, weight: 0, limit, folded: 0 }
    }

    /// How many entries wait, barriers by their weight.
    pub(crate) fn weight(&self) -> usize {
        self.weight
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// How many entries have been folded away so far.
    pub(crate) fn folded(&self) -> u64 {
        self.folded
    }

    /// The oldest entry.
    pub(crate) fn front(&self) -> Option<&E> {
        self.slots.front()?.as_ref()
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
            self.live = 0;
            self.weight = 0;
            for entry in old.into_iter().flatten() {
                vanished += self.fold_in(entry, waste);
            }
        }
        vanished += self.fold_in(entry, waste);
        self.tidy();
        vanished
    }

    /// Takes the oldest entry.
    pub(crate) fn pop(&mut self) -> Option<E> {
        let entry = self.slots.pop_front()??; // the first slot is never empty
        if let Some(places) = &mut self.places
            && let Some(key) = entry.key()
            && let Some(numbers) = places.get_mut(&key)
            && numbers.first() == Some(&self.first)
        {
            numbers.remove(0);
            if numbers.is_empty() {
                places.remove(&key);
            }
        }
        self.first += 1;
        self.live -= 1;
        self.weight -= entry.weight();
        // Far below the limit again: places are no longer kept.
        if self.weight <= self.limit / 2 {
            self.places = None;
        }
        self.trim();
        Some(entry)
    }

    /// Takes everything, in order.
    pub(crate) fn take(&mut self) -> Vec<E> {
        self.first = 0;
        self.live = 0;
        self.weight = 0;
        self.places = None;
        // A queue that has once been long gives its memory back (F-17, and client-go's ring that never shrinks).
        if self.slots.capacity() > 1024 {
            std::mem::take(&mut self.slots).into_iter().flatten().collect()
        } else {
            self.slots.drain(..).flatten().collect()
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
        self.live += 1;
        self.slots.push_back(Some(entry));
    }

    /// Folds `entry` into the entries of its key: with the newest of them, and what comes of it with the one before,
    /// so that no key has more entries than its table says.
    fn fold_in(&mut self, mut entry: E, waste: &mut Vec<E::Waste>) -> usize {
        let Some(key) = entry.key() else {
            self.supersede(&mut entry, waste);
            self.append(entry);
            return 0;
        };
        // Where `entry` stands; at first nowhere.
        let mut place = None;
        loop {
            let Some((number, older)) = self.take_newest(&key) else {
                self.put(key, place, entry);
                return 0;
            };
            let initial = older.is_initial();
            match E::fold(older, entry, waste) {
                Folded::One(one) => {
                    self.folded += 1;
                    entry = one;
                    place = Some(number);
                }
                Folded::Both(older, newer) => {
                    self.put(key.clone(), Some(number), older);
                    self.put(key, place, newer);
                    return 0;
                }
                Folded::Nothing => {
                    self.folded += 2;
                    return usize::from(initial);
                }
            }
        }
    }

    /// Takes the newest entry of `key` out, with its number.
    fn take_newest(&mut self, key: &ObjectKey) -> Option<(u64, E)> {
        let places = self.places.as_mut()?;
        let numbers = places.get_mut(key)?;
        let number = numbers.pop()?;
        if numbers.is_empty() {
            places.remove(key);
        }
        let entry = self.slots.get_mut(usize::try_from(number - self.first).ok()?)?.take()?;
        self.live -= 1;
        self.weight -= entry.weight();
        Some((number, entry))
    }

    /// Puts the newest entry of `key` where `place` says, or at the end.
    fn put(&mut self, key: ObjectKey, place: Option<u64>, entry: E) {
        let slot = place.and_then(|number| {
            let at = usize::try_from(number - self.first).ok()?;
            Some((number, self.slots.get_mut(at)?))
        });
        let Some((number, slot)) = slot else { return self.append(entry) };
        self.weight += entry.weight();
        self.live += 1;
        *slot = Some(entry);
        if let Some(places) = &mut self.places {
            places.entry(key).or_default().push(number);
        }
    }

    fn supersede(&mut self, by: &mut E, waste: &mut Vec<E::Waste>) {
        let older = std::mem::take(&mut self.slots).into_iter().flatten().collect();
        let kept = E::supersede(older, by, waste);
        self.folded += (self.live - kept.len()) as u64;
        self.live = kept.len();
        self.weight = kept.iter().map(E::weight).sum();
        self.slots = kept.into_iter().map(Some).collect();
        // The caller appends a barrier next, which empties `places`: nothing folds across it.
    }

    /// Drops empty slots at both ends, and all of them once they are more than the entries: a key that comes and goes
    /// while nobody takes must not make the queue longer.
    fn tidy(&mut self) {
        self.trim();
        if self.slots.len() <= 2 * self.live + 16 {
            return;
        }
        self.slots.retain(Option::is_some);
        self.first = 0;
        let Some(places) = &mut self.places else { return };
        places.clear();
        for (number, entry) in self.slots.iter().flatten().enumerate() {
            match entry.key() {
                Some(key) => places.entry(key).or_default().push(number as u64),
                None => places.clear(),
            }
        }
    }

    fn trim(&mut self) {
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
            self.first += 1;
        }
        while let Some(None) = self.slots.back() {
            self.slots.pop_back();
        }
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
