//! [`Slot`]: one handler in the dispatcher, with the events it has not been told.

use std::time::{Duration, Instant};

use super::{BoxHandler, Delivery, Latch, SlotId};
use crate::informer::todo::{Events, Place, Spent, Todo};
use crate::meta::Object;

/// Who calls it.
pub(super) enum Drain {
    Pop,
    Own,
}

/// Where its code is: one token, so that calls never overlap.
pub(super) enum Code<T> {
    Here(BoxHandler<T>),
    Out(Call),
}

/// A call that is out.
pub(super) struct Call {
    pub(super) no: u64,
    /// The epoch of the pop role that lent it; `None`: lent to its own thread.
    pub(super) epoch: Option<u64>,
    pub(super) since: Instant,
}

/// One handler.
pub(super) struct Slot<T> {
    pub(super) id: SlotId,
    pub(super) drain: Drain,
    pub(super) code: Code<T>,
    pub(super) todo: Todo<T>,
    /// Time its calls held the pop thread since the last boundary.
    pub(super) held: Duration,
    pub(super) initial_left: usize,
    /// The first list is among what it has been given.
    pub(super) primed: bool,
    /// Latched: primed, and every initial add handled.
    pub(super) synced: Latch,
    pub(super) removed: bool,
    pub(super) delivery: Delivery,
    pub(super) promoted: bool,
    pub(super) resync: Option<Duration>,
    pub(super) next_resync: Option<Instant>,
    pub(super) handled: u64,
    pub(super) panics: u64,
}

impl<T: Object> Slot<T> {
    /// The place of the event that it waits for on the pop thread.
    pub(super) fn waits(&self) -> Option<Place> {
        let here = matches!(self.drain, Drain::Pop) && matches!(self.code, Code::Here(_));
        if here { self.todo.front() } else { None }
    }

    /// Is to be told `events`. Initial adds that a fold swallows count as handled (D2).
    pub(super) fn told(&mut self, batch: u64, events: &Events<T>, waste: &mut Spent<T>) {
        let vanished = self.todo.push(batch, events, waste);
        self.initial_left -= vanished.min(self.initial_left);
        self.latch();
    }

    /// T9. Answers whether it has synced just now.
    pub(super) fn latch(&mut self) -> bool {
        let now = self.primed && self.initial_left == 0 && !self.synced.is_set();
        if now {
            self.synced.set();
        }
        now
    }
}
