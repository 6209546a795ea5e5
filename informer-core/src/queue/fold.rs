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

    /// How many slots there are, empty ones among them.
    #[cfg(test)]
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Lets a test choose the moments at which it folds.
    #[cfg(test)]
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
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
            let vanished = self.supersede(&mut entry, waste);
            self.append(entry);
            return vanished;
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

    /// What is left of the older entries folds anew: barriers between them may have gone.
    fn supersede(&mut self, by: &mut E, waste: &mut Vec<E::Waste>) -> usize {
        let older: Vec<E> = std::mem::take(&mut self.slots).into_iter().flatten().collect();
        let before = older.len();
        let kept = E::supersede(older, by, waste);
        self.folded += before.saturating_sub(kept.len()) as u64;
        self.places = Some(HashMap::new());
        self.first = 0;
        self.live = 0;
        self.weight = 0;
        kept.into_iter().map(|entry| self.fold_in(entry, waste)).sum()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::key;

    /// An entry that folds as adds and deletes of handlers do: `A` and `D` cancel out, two `A` become the later one.
    #[derive(Debug, PartialEq)]
    struct Entry(&'static str, char);

    impl Fold for Entry {
        type Waste = Entry;

        fn key(&self) -> Option<ObjectKey> {
            Some(key(self.0))
        }

        fn is_initial(&self) -> bool {
            self.1 == 'I'
        }

        fn fold(older: Self, newer: Self, waste: &mut Vec<Entry>) -> Folded<Self> {
            match (older.1, newer.1) {
                ('A' | 'I', 'D') => {
                    waste.extend([older, newer]);
                    Folded::Nothing
                }
                ('D', _) => Folded::Both(older, newer),
                _ => {
                    waste.push(older);
                    Folded::One(newer)
                }
            }
        }
    }

    fn room(queue: &FoldQueue<Entry>) -> (usize, usize) {
        let places = queue.places.as_ref();
        (queue.slots.len(), places.map_or(0, |places| places.values().map(Vec::len).sum()))
    }

    #[test]
    fn d2_keys_that_come_and_go_take_no_room() {
        let mut queue = FoldQueue::new(1);
        let mut waste = Vec::new();
        let mut vanished = 0;
        queue.push(Entry("first", 'A'), &mut waste);
        queue.push(Entry("b", 'A'), &mut waste);
        for _ in 0..1000 {
            // Interleaved, so that the last slot is never the one that empties.
            for (come, go) in [("a", "b"), ("b", "a")] {
                vanished += queue.push(Entry(come, if come == "a" { 'I' } else { 'A' }), &mut waste);
                vanished += queue.push(Entry(go, 'D'), &mut waste);
            }
            waste.clear();
        }
        assert_eq!(vanished, 1000, "each swallowed initial entry is answered");
        let (slots, places) = room(&queue);
        assert!(slots <= 20 && places == 2, "{slots} slots, {places} places");
        assert_eq!(queue.take(), [Entry("first", 'A'), Entry("b", 'A')]);
    }

    #[test]
    fn d2_numbers_of_taken_entries_are_forgotten() {
        let mut queue = FoldQueue::new(4);
        let mut waste = Vec::new();
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        for name in names {
            queue.push(Entry(name, 'A'), &mut waste);
        }
        for round in 0..1000 {
            let name = names[round % names.len()];
            assert_eq!(queue.pop(), Some(Entry(name, 'A')));
            queue.push(Entry(name, 'A'), &mut waste);
            assert_eq!(room(&queue), (8, 8));
        }
        assert_eq!(queue.folded(), 0, "an entry that was taken folds with nothing");
    }

    #[test]
    fn d2_far_below_the_limit_folding_ends() {
        let mut queue = FoldQueue::new(4);
        let mut waste = Vec::new();
        for name in ["a", "b", "c", "d", "a"] {
            queue.push(Entry(name, 'A'), &mut waste);
        }
        assert_eq!((queue.weight(), queue.folded()), (4, 1));
        queue.pop();
        queue.pop();
        queue.push(Entry("c", 'A'), &mut waste);
        assert_eq!((queue.weight(), queue.folded()), (3, 1));
        assert_eq!(queue.front(), Some(&Entry("c", 'A')));
    }

    #[test]
    fn f_17_a_queue_that_was_long_gives_its_memory_back() {
        let mut queue = FoldQueue::new(1 << 20);
        let mut waste = Vec::new();
        for _ in 0..5000 {
            queue.push(Entry("a", 'A'), &mut waste);
        }
        assert_eq!(queue.take().len(), 5000);
        assert!(queue.slots.capacity() <= 1024, "{}", queue.slots.capacity());
        assert!(queue.is_empty() && queue.front().is_none() && queue.pop().is_none());
    }
}
