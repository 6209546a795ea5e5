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

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::todo::{Events, Place, Spent, Todo};
use crate::event::Event;
use crate::handler::EventHandler;
use crate::meta::Object;

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
    pub(crate) todos: Vec<Todo<T>>,
    pub(crate) spent: Spent<T>,
}

impl<T> Default for Waste<T> {
    fn default() -> Self {
        Waste { handlers: Vec::new(), todos: Vec::new(), spent: Spent::default() }
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

enum Drain {
    Pop,
    Own,
}

enum Code<T> {
    Here(BoxHandler<T>),
    Out(Call),
}

struct Call {
    no: u64,
    /// The epoch of the pop role that lent it; `None`: lent to its own thread.
    epoch: Option<u64>,
    since: Instant,
}

struct Slot<T> {
    id: SlotId,
    drain: Drain,
    code: Code<T>,
    todo: Todo<T>,
    /// Time its calls held the pop thread since the last boundary.
    held: Duration,
    initial_left: usize,
    /// The first list is among what it has been given.
    primed: bool,
    /// Latched: primed, and every initial add handled.
    synced: bool,
    removed: bool,
    delivery: Delivery,
    promoted: bool,
    resync: Option<Duration>,
    next_resync: Option<Instant>,
    handled: u64,
    panics: u64,
}

/// See the module.
pub(crate) struct Dispatcher<T> {
    epoch: u64,
    started: bool,
    slots: Vec<Slot<T>>,
    next_slot: SlotId,
    next_call: u64,
    /// Number of the batch the store is at.
    batch: u64,
    /// The first complete list is in the store.
    primed: bool,
    commands: VecDeque<Registration<T>>,
    /// The queue has something and the pop role has not come for it.
    fifo_waits: bool,
    /// The watchdog will look.
    armed: bool,
    stop: bool,
    limit: usize,
    promotions: u64,
    unpromoted: u64,
    /// Latches of handlers that are gone.
    synced_and_gone: Vec<SlotId>,
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
            next_slot: 0,
            next_call: 0,
            batch: 0,
            primed: false,
            commands: VecDeque::new(),
            fifo_waits: false,
            armed: false,
            stop: false,
            limit,
            promotions: 0,
            unpromoted: 0,
            synced_and_gone: Vec::new(),
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

    /// Asks for a handler to be taken in. Answers its number, or the handler if the informer has stopped.
    pub(crate) fn register(
        &mut self,
        handler: BoxHandler<T>,
        delivery: Delivery,
        resync: Option<Duration>,
    ) -> Result<SlotId, BoxHandler<T>> {
        if self.stop {
            return Err(handler);
        }
        let id = self.next_slot;
        self.next_slot += 1;
        let registration = Registration { id, handler, delivery, resync };
        if self.started {
            self.commands.push_back(registration);
        } else {
            self.insert(registration, None);
        }
        Ok(id)
    }

    /// T1: what the holder of `epoch` does next.
    pub(crate) fn next(&mut self, epoch: u64, now: Instant) -> Next<T> {
        if epoch != self.epoch {
            return Next::Own;
        }
        if self.stop {
            return Next::Exit;
        }
        let ready = self.slots.iter_mut().enumerate().filter_map(|(at, slot)| {
            let place: Place = slot.todo.front()?;
            (matches!(slot.drain, Drain::Pop) && matches!(slot.code, Code::Here(_))).then_some((place, at))
        });
        match ready.min() {
            Some((_, at)) => self.lend(at, Some(epoch), now).map_or(Next::Boundary, Next::Call),
            None => Next::Boundary,
        }
    }

    /// T2: what the own thread of `slot` does next.
    pub(crate) fn next_own(&mut self, slot: SlotId, now: Instant) -> Next<T> {
        let Some(at) = self.slots.iter().position(|other| other.id == slot) else { return Next::Exit };
        if self.stop || self.slots[at].removed {
            return Next::Exit;
        }
        self.lend(at, None, now).map_or(Next::Wait, Next::Call)
    }

    /// Whether the own thread of `slot` has nothing to do, as yet.
    pub(crate) fn must_wait(&self, slot: SlotId) -> bool {
        let found = self.slots.iter().find(|other| other.id == slot);
        !self.stop && found.is_some_and(|slot| !slot.removed && slot.todo.is_empty())
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
        let Some(at) = self.slots.iter().position(|other| other.id == slot) else {
            waste.handlers.push(handler);
            return true;
        };
        let slot = &mut self.slots[at];
        slot.handled += 1;
        slot.panics += u64::from(panicked);
        slot.initial_left -= usize::from(initial && slot.initial_left > 0);
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
            Look::Watch { call, .. } => {
                self.armed = false;
                Due::Promote(call)
            }
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
        if !(self.fifo_waits || !self.commands.is_empty() || self.slots.iter().any(sibling)) {
            return Look::Nothing;
        }
        let left = PATIENCE.saturating_sub(slot.held);
        Look::Watch { call: call.no, due: call.since + left }
    }

    /// The queue has got something while the pop role is away.
    pub(crate) fn arrived(&mut self) {
        self.fifo_waits = true;
    }

    /// T4: the pop role is at a boundary. Answers whether handlers wait to be taken in; `None` ends the role.
    pub(crate) fn boundary(&mut self, epoch: u64) -> Option<bool> {
        if epoch != self.epoch || self.stop {
            return None;
        }
        self.fifo_waits = false;
        for slot in &mut self.slots {
            slot.held = Duration::ZERO;
        }
        Some(!self.commands.is_empty())
    }

    /// T4: takes in every handler that waits, each with a replay of what the store holds: the store stands still
    /// while the pop role is at a boundary. Answers those that want a thread of their own.
    pub(crate) fn admit(&mut self, replay: &Events<T>, now: Instant, waste: &mut Waste<T>) -> Vec<SlotId> {
        let mut own = Vec::new();
        while let Some(registration) = self.commands.pop_front() {
            let at = self.insert(registration, Some(now));
            let (batch, primed) = (self.batch, self.primed);
            let slot = &mut self.slots[at];
            slot.initial_left = replay.len();
            slot.todo.push(batch, replay, &mut waste.spent);
            slot.primed = primed;
            slot.latch();
            if matches!(slot.drain, Drain::Own) {
                own.push(slot.id);
            }
        }
        own
    }

    fn insert(&mut self, registration: Registration<T>, now: Option<Instant>) -> usize {
        let Registration { id, handler, delivery, resync } = registration;
        self.slots.push(Slot {
            id,
            drain: if delivery == Delivery::Thread { Drain::Own } else { Drain::Pop },
            code: Code::Here(handler),
            todo: Todo::new(self.limit),
            held: Duration::ZERO,
            initial_left: 0,
            primed: false,
            synced: false,
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
            let vanished = slot.todo.push(self.batch, events, &mut waste.spent);
            slot.initial_left -= vanished.min(slot.initial_left);
            slot.primed |= self.primed;
            slot.latch();
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
            let (Some(period), Some(mut next)) = (slot.resync, slot.next_resync) else { continue };
            if slot.removed || now < next {
                continue;
            }
            slot.todo.push(self.batch, events, &mut waste.spent);
            // The period is exact: it counts from the last due time, and times that were missed are left out.
            while next <= now {
                match next.checked_add(period) {
                    Some(later) => next = later,
                    None => break,
                }
            }
            slot.next_resync = Some(next);
        }
    }

    /// T6: the pop role goes on in a fresh thread, the slow handler keeps the thread it sits in. Answers the new
    /// epoch, or `None` when the call is over or must stay.
    pub(crate) fn promote(&mut self, call: u64) -> Option<u64> {
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

    /// No thread could be had for a promotion.
    pub(crate) fn unpromoted(&mut self) {
        self.unpromoted += 1;
    }

    /// T7: removes a handler. A call in progress ends first.
    pub(crate) fn remove(&mut self, slot: SlotId, waste: &mut Waste<T>) {
        if let Some(at) = self.commands.iter().position(|waiting| waiting.id == slot) {
            waste.handlers.extend(self.commands.remove(at).map(|waiting| waiting.handler));
            return;
        }
        let Some(at) = self.slots.iter().position(|other| other.id == slot) else { return };
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
        if slot.synced {
            self.synced_and_gone.push(slot.id);
        }
        waste.todos.push(slot.todo);
        if let Code::Here(handler) = slot.code {
            waste.handlers.push(handler);
        }
    }

    /// T8: stops. Handlers that are not being called go at once, the others when their call ends.
    pub(crate) fn stop(&mut self, waste: &mut Waste<T>) {
        self.stop = true;
        waste.handlers.extend(self.commands.drain(..).map(|waiting| waiting.handler));
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

    /// T9: whether the handler has handled every initial add. Latched, also beyond its removal.
    pub(crate) fn has_synced(&self, slot: SlotId) -> bool {
        self.slots.iter().any(|other| other.id == slot && other.synced)
            || self.synced_and_gone.contains(&slot)
    }

    /// Whether the handler is neither registered nor waiting to be.
    pub(crate) fn is_erased(&self, slot: SlotId) -> bool {
        !self.slots.iter().any(|other| other.id == slot)
            && !self.commands.iter().any(|waiting| waiting.id == slot)
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
            synced: slot.synced,
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

impl<T> Slot<T> {
    /// T9. Answers whether it has synced just now.
    fn latch(&mut self) -> bool {
        let now = self.primed && self.initial_left == 0 && !self.synced;
        self.synced |= now;
        now
    }
}
