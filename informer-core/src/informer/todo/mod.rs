//! [`Todo`]: what one handler has still to be told, in order.
//!
//! Events of a batch are one shared slice; a handler's backlog is a few pointers, whatever its length. Only when a
//! backlog is over the limit and more comes does it turn into single entries that fold per key (D2).

use std::collections::VecDeque;
use std::sync::Arc;

use crate::contain::let_go;
use crate::event::Event;
use crate::key::ObjectKey;
use crate::meta::{Object, other_uid};
use crate::queue::{Fold, FoldQueue, Folded};

/// Where an event stands among all events of the informer: batch, then index. Handlers on the pop thread are
/// called in this order.
pub(crate) type Place = (u64, usize);

/// The events of one batch, shared by all handlers.
pub(crate) type Events<T> = Arc<Vec<Event<T>>>;

/// Drops an event outside every lock, object by object: of two destructors that panic, each is caught.
pub(crate) fn discard_event<T>(event: Event<T>) {
    match event {
        Event::Added { object, .. } | Event::Deleted { object, .. } | Event::Resynced { object } => {
            let_go(object);
        }
        Event::Updated { old, new } => {
            let_go(old);
            let_go(new);
        }
    }
}

/// Lets go of a batch; the last one to do so drops its events as [`discard_event`] does.
pub(crate) fn discard_events<T>(events: Events<T>) {
    for event in Arc::into_inner(events).into_iter().flatten() {
        discard_event(event);
    }
}

/// See the module.
pub(crate) struct Todo<T> {
    segments: VecDeque<Segment<T>>,
    len: usize,
    /// `Some` while the backlog is folded; then `segments` is empty.
    folded: Option<FoldQueue<Entry<T>>>,
    folds: u64,
    limit: usize,
}

/// What a push leaves over, to be dropped outside the lock.
pub(crate) struct Spent<T> {
    pub(crate) objects: Vec<Arc<T>>,
    pub(crate) batches: Vec<Events<T>>,
}

impl<T> Default for Spent<T> {
    fn default() -> Self {
        Spent { objects: Vec::new(), batches: Vec::new() }
    }
}

struct Segment<T> {
    batch: u64,
    events: Events<T>,
    next: usize,
}

struct Entry<T> {
    place: Place,
    event: Event<T>,
}

impl<T: Object> Todo<T> {
    pub(crate) fn new(limit: usize) -> Self {
        Todo { segments: VecDeque::new(), len: 0, folded: None, folds: 0, limit }
    }

    /// Lets a test choose the moments at which it folds.
    #[cfg(test)]
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
        if let Some(queue) = &mut self.folded {
            queue.set_limit(limit);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.folded.as_ref().map_or(self.len, FoldQueue::weight)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many events were folded away so far.
    pub(crate) fn folds(&self) -> u64 {
        self.folds + self.folded.as_ref().map_or(0, FoldQueue::folded)
    }

    /// The place of the next event.
    pub(crate) fn front(&self) -> Option<Place> {
        match &self.folded {
            Some(queue) => queue.front().map(|entry| entry.place),
            None => self.segments.front().map(|segment| (segment.batch, segment.next)),
        }
    }

    /// Appends the events of `batch`. Answers how many initial adds a fold has swallowed.
    pub(crate) fn push(&mut self, batch: u64, events: &Events<T>, waste: &mut Spent<T>) -> usize {
        if events.is_empty() {
            return 0;
        }
        if self.folded.is_none() && self.len < self.limit {
            self.len += events.len();
            self.segments.push_back(Segment { batch, events: Arc::clone(events), next: 0 });
            return 0;
        }
        let mut vanished = 0;
        let mut queue = self.folded.take().unwrap_or_else(|| FoldQueue::new(self.limit));
        self.len = 0;
        let fresh = Segment { batch, events: Arc::clone(events), next: 0 };
        for segment in self.segments.drain(..).chain([fresh]) {
            for (index, event) in segment.events.iter().enumerate().skip(segment.next) {
                let entry = Entry { place: (segment.batch, index), event: event.clone() };
                vanished += queue.push(entry, &mut waste.objects);
            }
            waste.batches.push(segment.events);
        }
        self.folded = Some(queue);
        vanished
    }

    /// Drops what is left, outside every lock.
    pub(crate) fn discard(mut self) {
        for entry in self.folded.take().iter_mut().flat_map(FoldQueue::take) {
            discard_event(entry.event);
        }
        for segment in self.segments {
            discard_events(segment.events);
        }
    }

    /// Takes the next event; with the last one of a batch the batch itself, to be dropped outside the lock.
    pub(crate) fn pop(&mut self) -> Option<(Event<T>, Option<Events<T>>)> {
        if let Some(queue) = &mut self.folded {
            let entry = queue.pop();
            if queue.is_empty() {
                self.folds += queue.folded();
                self.folded = None;
            }
            return entry.map(|entry| (entry.event, None));
        }
        let segment = self.segments.front_mut()?;
        let event = segment.events[segment.next].clone();
        segment.next += 1;
        self.len -= 1;
        let spent = if segment.next == segment.events.len() { self.segments.pop_front() } else { None };
        Some((event, spent.map(|segment| segment.events)))
    }
}

/// Whether both are known to be different objects of one name.
fn is_another<T: Object>(a: &Arc<T>, b: &Arc<T>) -> bool {
    other_uid(a.meta().uid, b.meta().uid)
}

impl<T: Object> Fold for Entry<T> {
    type Waste = Arc<T>;

    fn key(&self) -> Option<ObjectKey> {
        Some(self.event.key())
    }

    fn is_initial(&self) -> bool {
        self.event.is_initial()
    }

    /// The table of the specification, section 3. The older entry's place stays.
    fn fold(older: Self, newer: Self, waste: &mut Vec<Arc<T>>) -> Folded<Self> {
        use Event::{Added, Deleted, Resynced, Updated};
        let place = older.place;
        let one = |event| Folded::One(Entry { place, event });
        match (older.event, newer.event) {
            (old, Resynced { object }) => {
                waste.push(object);
                one(old)
            }
            (Added { object, initial }, Updated { old, new }) => {
                waste.extend([object, old]);
                one(Added { object: new, initial })
            }
            (Added { object, .. }, Deleted { object: last, .. }) => {
                waste.extend([object, last]);
                Folded::Nothing
            }
            (Updated { old, new: between }, Updated { old: same, new }) => {
                waste.extend([between, same]);
                if is_another(&old, &new) {
                    // Between them was a state without a UID; one update would now tell two objects as one (D4).
                    let gone = Deleted { object: old, final_state_unknown: true };
                    let added = Added { object: new, initial: false };
                    return Folded::Both(
                        Entry { place, event: gone },
                        Entry { place: newer.place, event: added },
                    );
                }
                one(Updated { old, new })
            }
            (Updated { old, new }, Deleted { object, .. }) if is_another(&old, &object) => {
                waste.extend([new, object]); // likewise: it is the end of the one it knows
                one(Deleted { object: old, final_state_unknown: true })
            }
            (Updated { old, new }, gone @ Deleted { .. }) => {
                waste.extend([old, new]);
                one(gone)
            }
            (Resynced { object }, later @ (Updated { .. } | Deleted { .. })) => {
                waste.push(object);
                one(later)
            }
            (gone @ Deleted { .. }, added @ Added { .. }) => {
                Folded::Both(Entry { place, event: gone }, Entry { place: newer.place, event: added })
            }
            (old, new) => {
                debug_assert!(false, "no handler is told {old:?} and then {new:?}");
                Folded::Both(Entry { place, event: old }, Entry { place: newer.place, event: new })
            }
        }
    }
}

#[cfg(test)]
mod tests;
