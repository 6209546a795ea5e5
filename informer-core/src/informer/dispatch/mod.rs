//! [`Dispatcher`]: who is told what, by which thread. The state machine of D3.
//!
//! Pure data behind one lock: no clock, no I/O, no user code inside; each method is one lock section and says which
//! transition (T1–T9) of `docs/design/dispatcher.md` it is. Handlers and events that must be dropped are handed out
//! as [`Waste`], to be dropped outside the lock.
//!
//! Why it is sound: the store is written only by the owner of `epoch`, and `epoch` moves only in
//! [`promote`](Dispatcher::promote), while that owner is inside a call: never two writers. A handler is one token
//! (`Here` or `Out`): never two calls at once. A backlog does not move when its drain changes: order unbroken.
//! Registration is between batches: no gap, nothing twice.

mod slot;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::slot::{Call, Code, Drain, Slot};
use super::todo::{Events, Place, Spent, Todo};
use crate::event::Event;
use crate::handler::EventHandler;
use crate::meta::Object;
use crate::sync::atomic::{AtomicBool, Ordering};

/// How long handlers may hold the pop thread, in sum between two boundaries, while something waits.
pub(crate) const PATIENCE: Duration = Duration::from_millis(250);

/// On which thread a handler is called (D3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// On the pop thread; moved to a thread of its own, for good, once it has held the pop thread for over 250 ms
    /// while something waited.
    #[default]
    Auto,
    /// Always on the pop thread. A handler that blocks then delays everything: the store, the other handlers,
    /// registration.
    Inline,
    /// On a thread of its own from the start.
    Thread,
}

pub(crate) type SlotId = u64;
pub(crate) type BoxHandler<T> = Box<dyn EventHandler<T>>;

/// A handler's request to be taken in.
pub(crate) struct Registration<T> {
    pub(crate) id: SlotId,
    pub(crate) handler: BoxHandler<T>,
    pub(crate) delivery: Delivery,
    pub(crate) resync: Option<Duration>,
    pub(crate) synced: Latch,
}

/// T9: set once the handler has handled every initial add; outlives handler and informer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latch(Arc<AtomicBool>);

impl Latch {
    pub(crate) fn is_set(&self) -> bool {
        // Acquire pairs with the release in `set`: who sees it sees what the handler did.
        self.0.load(Ordering::Acquire)
    }

    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A handler on loan: to be called outside the lock and given back.
pub(crate) struct Lent<T> {
    pub(crate) slot: SlotId,
    pub(crate) handler: BoxHandler<T>,
    pub(crate) event: Event<T>,
    /// A batch that everybody has been told of, perhaps: dropped with the event.
    pub(crate) spent: Option<Events<T>>,
}

/// What a thread does next.
pub(crate) enum Next<T> {
    /// Call this handler.
    Call(Lent<T>),
    /// The pop role has gone on without this thread: it now serves the handler it called last.
    Own,
    /// Every handler of the pop thread has been told: take the next batch.
    Boundary,
    /// The thread of an own handler waits for news.
    Wait,
    /// The thread ends.
    Exit,
}

/// What must be dropped outside the lock.
pub(crate) struct Waste<T> {
    pub(crate) handlers: Vec<BoxHandler<T>>,
    /// Whose `handlers` they were: to be told to [`dropped`](Dispatcher::dropped) once that has happened.
    pub(crate) erased: Vec<SlotId>,
    pub(crate) todos: Vec<Todo<T>>,
    pub(crate) spent: Spent<T>,
}

impl<T> Default for Waste<T> {
    fn default() -> Self {
        Waste { handlers: Vec::new(), erased: Vec::new(), todos: Vec::new(), spent: Spent::default() }
    }
}

impl<T> Waste<T> {
    /// Whether there is nothing to be dropped, as after most calls.
    pub(crate) fn is_empty(&self) -> bool {
        let Spent { objects, batches } = &self.spent;
        self.handlers.is_empty()
            && self.erased.is_empty()
            && self.todos.is_empty()
            && objects.is_empty()
            && batches.is_empty()
    }
}

/// What the watchdog finds.
#[derive(Debug, PartialEq)]
pub(crate) enum Due {
    /// This call has held the pop thread for too long: promote it.
    Promote(u64),
    /// Look again then.
    Later(Instant),
    /// Nothing to watch.
    Nothing,
}

/// See the module.
pub(crate) struct Dispatcher<T> {
    epoch: u64,
    started: bool,
    /// In order of their numbers.
    slots: Vec<Slot<T>>,
    /// The place of the event that the pop role lent last, and the slot after the one it went to. Nobody on the pop
    /// thread waits for an earlier event, so whoever waits for this one is next: with many handlers, it is not looked
    /// through all of them for each call.
    cursor: Option<(Place, usize)>,
    next_slot: SlotId,
    next_call: u64,
    /// Number of the batch the store is at.
    batch: u64,
    /// The first complete list is in the store.
    primed: bool,
    commands: VecDeque<Registration<T>>,
    /// The latest news of the queue that came while the pop role was away, and the latest it has taken: if the first
    /// is ahead, the queue waits.
    arrived: u64,
    taken: u64,
    /// The watchdog will look, or is about to promote.
    armed: bool,
    stop: bool,
    limit: usize,
    promotions: u64,
    unpromoted: u64,
    /// Handlers that are erased, but perhaps not dropped yet.
    dropping: Vec<SlotId>,
}

/// One handler, seen from outside.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HandlerStatus {
    /// The number of the registration.
    pub id: u64,
    /// Events it has not been told yet.
    pub pending: usize,
    /// Events folded away because it was too far behind (D2).
    pub folded: u64,
    /// Events it has handled.
    pub handled: u64,
    /// Events during which it panicked.
    pub panics: u64,
    /// Whether it has handled every initial add.
    pub synced: bool,
    /// Whether it has a thread of its own.
    pub own_thread: bool,
    /// Whether it got that thread for being slow.
    pub promoted: bool,
}

impl<T: Object> Dispatcher<T> {
    pub(crate) fn new(limit: usize) -> Self {
        Dispatcher {
            epoch: 0,
            started: false,
            slots: Vec::new(),
            cursor: None,
            next_slot: 0,
            next_call: 0,
            batch: 0,
            primed: false,
            commands: VecDeque::new(),
            arrived: 0,
            taken: 0,
            armed: false,
            stop: false,
            limit,
            promotions: 0,
            unpromoted: 0,
            dropping: Vec::new(),
        }
    }

    /// The pop role's first owner sets out; from now on handlers join at boundaries. Answers the epoch, and the
    /// handlers that want a thread of their own.
    pub(crate) fn start(&mut self, now: Instant) -> (u64, Vec<SlotId>) {
        self.started = true;
        for slot in &mut self.slots {
            slot.next_resync = slot.resync.and_then(|period| now.checked_add(period));
        }
        let own = self.slots.iter().filter(|slot| matches!(slot.drain, Drain::Own)).map(|slot| slot.id);
        (self.epoch, own.collect())
    }

    /// Asks for a handler to be taken in. Answers its number and latch, or the handler if the informer has stopped.
    pub(crate) fn register(
        &mut self,
        handler: BoxHandler<T>,
        delivery: Delivery,
        resync: Option<Duration>,
    ) -> Result<(SlotId, Latch), BoxHandler<T>> {
        if self.stop {
            return Err(handler);
        }
        let id = self.next_slot;
        self.next_slot += 1;
        let synced = Latch::default();
        let registration = Registration { id, handler, delivery, resync, synced: synced.clone() };
        if self.started {
            self.commands.push_back(registration);
        } else {
            self.insert(registration, None);
        }
        Ok((id, synced))
    }

    /// T1: what the holder of `epoch` does next.
    pub(crate) fn next(&mut self, epoch: u64, now: Instant) -> Next<T> {
        if epoch != self.epoch {
            return Next::Own;
        }
        if self.stop {
            return Next::Exit;
        }
        let beside = self.cursor.and_then(|(place, from)| {
            let rest = self.slots.iter().enumerate().skip(from);
            rest.filter(|(_, slot)| slot.waits() == Some(place)).map(|(at, _)| (place, at)).next()
        });
        let first = || self.slots.iter().enumerate().filter_map(|(at, slot)| Some((slot.waits()?, at))).min();
        debug_assert!(beside.is_none() || beside == first(), "somebody waits for an earlier event");
        let Some((place, at)) = beside.or_else(first) else { return Next::Boundary };
        self.cursor = Some((place, at + 1));
        self.lend(at, Some(epoch), now).map_or(Next::Boundary, Next::Call)
    }

    /// T2: what the own thread of `slot` does next.
    pub(crate) fn next_own(&mut self, slot: SlotId, now: Instant) -> Next<T> {
        let Some(at) = self.find(slot) else { return Next::Exit };
        if self.stop || self.slots[at].removed {
            return Next::Exit;
        }
        self.lend(at, None, now).map_or(Next::Wait, Next::Call)
    }

    /// Whether the own thread of `slot` has nothing to do, as yet.
    pub(crate) fn must_wait(&self, slot: SlotId) -> bool {
        let found = self.find(slot).map(|at| &self.slots[at]);
        !self.stop && found.is_some_and(|slot| !slot.removed && slot.todo.is_empty())
    }

    fn find(&self, slot: SlotId) -> Option<usize> {
        self.slots.binary_search_by_key(&slot, |other| other.id).ok()
    }

    fn lend(&mut self, at: usize, epoch: Option<u64>, now: Instant) -> Option<Lent<T>> {
        let slot = &mut self.slots[at];
        if matches!(slot.code, Code::Out(_)) {
            return None;
        }
        let (event, spent) = slot.todo.pop()?;
        let no = self.next_call;
        self.next_call += 1;
        match std::mem::replace(&mut slot.code, Code::Out(Call { no, epoch, since: now })) {
            Code::Here(handler) => Some(Lent { slot: slot.id, handler, event, spent }),
            Code::Out(_) => None,
        }
    }

    /// T3: a call has come back, by returning or by panicking. Answers whether somebody may be waiting for this.
    pub(crate) fn returned(
        &mut self,
        slot: SlotId,
        handler: BoxHandler<T>,
        initial: bool,
        panicked: bool,
        now: Instant,
        waste: &mut Waste<T>,
    ) -> bool {
        let Some(at) = self.find(slot) else {
            waste.handlers.push(handler);
            return true;
        };
        let slot = &mut self.slots[at];
        slot.handled += 1;
        slot.panics += u64::from(panicked);
        slot.initial_left = slot.initial_left.saturating_sub(usize::from(initial));
        if let Code::Out(call) = &slot.code
            && call.epoch.is_some()
        {
            slot.held += now.saturating_duration_since(call.since);
        }
        slot.code = Code::Here(handler);
        let synced = slot.latch();
        if slot.removed || self.stop {
            self.erase(at, waste);
            return true;
        }
        synced
    }

    /// The call being out, is the watchdog to be set? Answers when it must look.
    pub(crate) fn arm(&mut self) -> Option<Instant> {
        if self.armed {
            return None;
        }
        match self.look() {
            Look::Watch { due, .. } => {
                self.armed = true;
                Some(due)
            }
            Look::Nothing => None,
        }
    }

    /// The watchdog looks.
    pub(crate) fn due(&mut self, now: Instant) -> Due {
        match self.look() {
            Look::Nothing => {
                self.armed = false;
                Due::Nothing
            }
            Look::Watch { due, .. } if now < due => Due::Later(due),
            // Armed until that is decided: there is one promotion at a time.
            Look::Watch { call, .. } => Due::Promote(call),
        }
    }

    fn look(&self) -> Look {
        let out = self.slots.iter().find_map(|slot| match &slot.code {
            Code::Out(call) if call.epoch == Some(self.epoch) => Some((slot, call)),
            _ => None,
        });
        let Some((slot, call)) = out else { return Look::Nothing };
        if self.stop || !(slot.delivery == Delivery::Auto || slot.removed) {
            return Look::Nothing;
        }
        let sibling = |other: &Slot<T>| {
            other.id != slot.id && matches!(other.drain, Drain::Pop) && !other.todo.is_empty()
        };
        if !(self.taken < self.arrived || !self.commands.is_empty() || self.slots.iter().any(sibling)) {
            return Look::Nothing;
        }
        let left = PATIENCE.saturating_sub(slot.held);
        Look::Watch { call: call.no, due: call.since + left }
    }

    /// The queue has got something, `news` in its count, while the pop role was away.
    pub(crate) fn arrived(&mut self, news: u64) {
        self.arrived = self.arrived.max(news);
    }

    /// The pop role has taken everything up to `news`. Being told late of what was in it changes nothing.
    pub(crate) fn took(&mut self, news: u64) {
        self.taken = news;
    }

    /// T4: the pop role is at a boundary. Answers whether handlers wait to be taken in; `None` ends the role.
    pub(crate) fn boundary(&mut self, epoch: u64) -> Option<bool> {
        if epoch != self.epoch || self.stop {
            return None;
        }
        for slot in &mut self.slots {
            slot.held = Duration::ZERO;
        }
        Some(!self.commands.is_empty())
    }

    /// T4: takes in every handler that waits, each with a replay of what the store holds: the store stands still
    /// while the pop role is at a boundary. Answers those that want a thread of their own.
    pub(crate) fn admit(&mut self, replay: &Events<T>, now: Instant, waste: &mut Waste<T>) -> Vec<SlotId> {
        let mut own = Vec::new();
        self.cursor = None; // a replay has the places of its batch again
        while let Some(registration) = self.commands.pop_front() {
            let at = self.insert(registration, Some(now));
            let (batch, primed) = (self.batch, self.primed);
            let slot = &mut self.slots[at];
            slot.initial_left = replay.len();
            slot.primed = primed;
            slot.told(batch, replay, &mut waste.spent);
            if matches!(slot.drain, Drain::Own) {
                own.push(slot.id);
            }
        }
        own
    }

    fn insert(&mut self, registration: Registration<T>, now: Option<Instant>) -> usize {
        let Registration { id, handler, delivery, resync, synced } = registration;
        self.slots.push(Slot {
            id,
            drain: if delivery == Delivery::Thread { Drain::Own } else { Drain::Pop },
            code: Code::Here(handler),
            todo: Todo::new(self.limit),
            held: Duration::ZERO,
            initial_left: 0,
            primed: false,
            synced,
            removed: false,
            delivery,
            promoted: false,
            resync,
            next_resync: now.zip(resync).and_then(|(now, period)| now.checked_add(period)),
            handled: 0,
            panics: 0,
        });
        self.slots.len() - 1
    }

    /// T5: the store shows a batch; handlers are to be told of it. Also used for the end of an empty first list.
    pub(crate) fn publish(&mut self, events: &Events<T>, primed: bool, waste: &mut Waste<T>) {
        self.batch += 1;
        self.primed |= primed;
        if self.stop {
            return;
        }
        let initial = events.iter().filter(|event| event.is_initial()).count();
        for slot in &mut self.slots {
            if slot.removed {
                continue;
            }
            slot.initial_left += initial;
            slot.primed |= self.primed;
            slot.told(self.batch, events, &mut waste.spent);
        }
    }

    /// The next instant at which some handler wants a resync.
    pub(crate) fn next_resync(&self) -> Option<Instant> {
        if !self.primed {
            return None;
        }
        self.slots.iter().filter(|slot| !slot.removed).filter_map(|slot| slot.next_resync).min()
    }

    /// Whether some handler's resync is due.
    pub(crate) fn resync_due(&self, now: Instant) -> bool {
        self.next_resync().is_some_and(|at| at <= now)
    }

    /// T4: gives the handlers whose resync is due `events`, and sets their next times.
    pub(crate) fn resync(&mut self, events: &Events<T>, now: Instant, waste: &mut Waste<T>) {
        self.batch += 1;
        for slot in &mut self.slots {
            let (Some(period), Some(due)) = (slot.resync, slot.next_resync) else { continue };
            if slot.removed || now < due {
                continue;
            }
            slot.told(self.batch, events, &mut waste.spent);
            // The period is exact: it counts from the last due time, and times that were missed are left out.
            let mut next = due.checked_add(period);
            while let Some(at) = next
                && at <= now
            {
                next = at.checked_add(period);
            }
            slot.next_resync = next;
        }
    }

    /// T6: the pop role goes on in a fresh thread, the slow handler keeps the thread it sits in. Answers the new
    /// epoch, or `None` when the call is over or must stay; then [`arm`](Dispatcher::arm) is due.
    pub(crate) fn promote(&mut self, call: u64) -> Option<u64> {
        self.armed = false;
        let epoch = self.epoch;
        let stop = self.stop;
        let slot = self.slots.iter_mut().find(
            |slot| matches!(&slot.code, Code::Out(out) if out.no == call && out.epoch == Some(epoch)),
        )?;
        if stop || !(slot.delivery == Delivery::Auto || slot.removed) {
            return None;
        }
        slot.drain = Drain::Own;
        slot.promoted = true;
        self.promotions += 1;
        self.epoch += 1;
        Some(self.epoch)
    }

    /// No thread could be had for a promotion; then [`arm`](Dispatcher::arm) is due.
    pub(crate) fn unpromoted(&mut self) {
        self.armed = false;
        self.unpromoted += 1;
    }

    /// T7: removes a handler. A call in progress ends first.
    pub(crate) fn remove(&mut self, slot: SlotId, waste: &mut Waste<T>) {
        if let Some(at) = self.commands.iter().position(|waiting| waiting.id == slot) {
            waste.handlers.extend(self.commands.remove(at).map(|waiting| waiting.handler));
            waste.erased.push(slot);
            self.dropping.push(slot);
            return;
        }
        let Some(at) = self.find(slot) else { return };
        let limit = self.limit;
        let slot = &mut self.slots[at];
        slot.removed = true;
        waste.todos.push(std::mem::replace(&mut slot.todo, Todo::new(limit)));
        if matches!(slot.code, Code::Here(_)) {
            self.erase(at, waste);
        }
    }

    fn erase(&mut self, at: usize, waste: &mut Waste<T>) {
        let slot = self.slots.remove(at);
        self.cursor = None;
        waste.erased.push(slot.id);
        self.dropping.push(slot.id);
        waste.todos.push(slot.todo);
        if let Code::Here(handler) = slot.code {
            waste.handlers.push(handler);
        }
    }

    /// T8: stops. Handlers that are not being called go at once, the others when their call ends.
    pub(crate) fn stop(&mut self, waste: &mut Waste<T>) {
        self.stop = true;
        for waiting in self.commands.drain(..) {
            waste.erased.push(waiting.id);
            self.dropping.push(waiting.id);
            waste.handlers.push(waiting.handler);
        }
        let limit = self.limit;
        for at in (0..self.slots.len()).rev() {
            let slot = &mut self.slots[at];
            waste.todos.push(std::mem::replace(&mut slot.todo, Todo::new(limit)));
            if matches!(slot.code, Code::Here(_)) {
                self.erase(at, waste);
            }
        }
    }

    /// Whether it has stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop
    }

    /// T7: the handlers in some waste have been dropped. Whoever waits for that is to be woken.
    pub(crate) fn dropped(&mut self, erased: &[SlotId]) {
        self.dropping.retain(|id| !erased.contains(id));
    }

    /// Whether the handler is neither registered nor waiting to be.
    pub(crate) fn is_erased(&self, slot: SlotId) -> bool {
        self.find(slot).is_none() && !self.commands.iter().any(|waiting| waiting.id == slot)
    }

    /// Whether the handler is erased and has been dropped.
    pub(crate) fn is_dropped(&self, slot: SlotId) -> bool {
        self.is_erased(slot) && !self.dropping.contains(&slot)
    }

    /// Whether the first complete list is in the store.
    pub(crate) fn is_primed(&self) -> bool {
        self.primed
    }

    /// How many handlers were moved off the pop thread, and how often no thread could be had for it.
    pub(crate) fn promotions(&self) -> (u64, u64) {
        (self.promotions, self.unpromoted)
    }

    pub(crate) fn statuses(&self) -> Vec<HandlerStatus> {
        let status = |slot: &Slot<T>| HandlerStatus {
            id: slot.id,
            pending: slot.todo.len() + usize::from(matches!(slot.code, Code::Out(_))),
            folded: slot.todo.folds(),
            handled: slot.handled,
            panics: slot.panics,
            synced: slot.synced.is_set(),
            own_thread: matches!(slot.drain, Drain::Own),
            promoted: slot.promoted,
        };
        self.slots.iter().map(status).collect()
    }
}

enum Look {
    Watch { call: u64, due: Instant },
    Nothing,
}

#[cfg(test)]
mod tests;
