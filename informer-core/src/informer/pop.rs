//! The pop role: applies batches to the store and calls handlers, as the [`Dispatcher`](super::dispatch::Dispatcher)
//! says. Thin: every decision is there.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use super::apply::{Batch, apply};
use super::dispatch::{BoxHandler, Lent, Next, SlotId, Waste};
use super::shared::Shared;
use super::todo::{discard_event, discard_events};
use crate::contain::{contain, discard, discard_all};
use crate::event::Event;
use crate::key::KeyRef;
use crate::meta::Object;
use crate::metrics::{Counter, Histogram};
use crate::queue::{Delta, Taken};
use crate::store::{Change, Published};

/// A call that has ended.
struct Returned<T> {
    slot: SlotId,
    handler: BoxHandler<T>,
    initial: bool,
    panicked: bool,
}

/// Owns the pop role from `epoch` on, until it stops or is promoted away.
pub(super) fn run<T: Object>(shared: &Arc<Shared<T>>, epoch: u64) {
    let mut returned: Option<Returned<T>> = None;
    let mut served = None;
    loop {
        match turn(shared, returned.take(), |dispatch, now| dispatch.next(epoch, now)) {
            Next::Call(lent) => {
                served = Some(lent.slot);
                returned = Some(call(shared, lent));
            }
            Next::Boundary => {
                if !boundary(shared, epoch) {
                    return;
                }
            }
            Next::Own => match served {
                // T6 has happened: the role went on, and this thread stays with the handler it sits in.
                Some(slot) => return run_own(shared, slot),
                None => return,
            },
            Next::Exit | Next::Wait => return,
        }
    }
}

/// Serves one handler on a thread of its own.
pub(super) fn run_own<T: Object>(shared: &Arc<Shared<T>>, slot: SlotId) {
    let mut returned: Option<Returned<T>> = None;
    loop {
        match turn(shared, returned.take(), |dispatch, now| dispatch.next_own(slot, now)) {
            Next::Call(lent) => returned = Some(call(shared, lent)),
            Next::Wait => {
                shared.tell_backlog();
                let mut dispatch = shared.dispatch.lock();
                while dispatch.must_wait(slot) {
                    shared.dispatch.wait(&mut dispatch);
                }
            }
            Next::Exit | Next::Boundary | Next::Own => return,
        }
    }
}

/// One lock section: gives a call back and asks what is next.
fn turn<T: Object>(
    shared: &Arc<Shared<T>>,
    returned: Option<Returned<T>>,
    next: impl FnOnce(&mut super::dispatch::Dispatcher<T>, Instant) -> Next<T>,
) -> Next<T> {
    let now = shared.clock.now();
    let mut waste = Waste::default();
    let mut news = false;
    let mut dispatch = shared.dispatch.lock();
    if let Some(Returned { slot, handler, initial, panicked }) = returned {
        news = dispatch.returned(slot, handler, initial, panicked, now, &mut waste);
    }
    let next = next(&mut dispatch, now);
    let due = if matches!(next, Next::Call(_)) { dispatch.arm() } else { None };
    drop(dispatch);
    if news {
        shared.dispatch.notify_all();
    }
    shared.discard(waste);
    shared.set_alarm(due);
    next
}

/// Calls user code. No lock is held.
fn call<T: Object>(shared: &Arc<Shared<T>>, lent: Lent<T>) -> Returned<T> {
    let Lent { slot, mut handler, event, spent } = lent;
    let initial = event.is_initial();
    let panicked = contain(|| handler.on_event(&event)).is_none();
    if panicked {
        shared.progress.lock().counters.panics += 1;
        shared.meter.count(Counter::HandlerPanics, 1);
        log::error!(
            target: "informer::handler",
            "{}: handler {slot} panicked on {event:?}; the event counts as handled", shared.name
        );
    }
    discard_event(event);
    if let Some(events) = spent {
        discard_events(events);
    }
    Returned { slot, handler, initial, panicked }
}

/// T4: takes handlers in, waits for something to do, does it. `false` ends the role.
fn boundary<T: Object>(shared: &Arc<Shared<T>>, epoch: u64) -> bool {
    let mut dispatch = shared.dispatch.lock();
    let waiting = dispatch.boundary(epoch);
    let until = dispatch.next_resync();
    drop(dispatch);
    match waiting {
        None => return false,
        Some(true) => {
            admit(shared);
            return true;
        }
        Some(false) => {}
    }
    shared.tell_backlog();
    match shared.fifo.take(&*shared.clock, until) {
        Taken::Batch { deltas, tail, timeline, news } => publish(shared, deltas, &tail, timeline, news),
        Taken::Nothing => resync(shared, &[]),
        Taken::Closed => return false,
    }
    true
}

/// Takes in the handlers that wait, with a replay of the store, which stands still meanwhile.
fn admit<T: Object>(shared: &Arc<Shared<T>>) {
    let replay: Vec<Event<T>> =
        shared.store.list().into_iter().map(|object| Event::Added { object, initial: true }).collect();
    let replay = Arc::new(replay);
    let mut waste = Waste::default();
    let now = shared.clock.now();
    let own = shared.dispatch.lock().admit(&replay, now, &mut waste);
    shared.dispatch.notify_all();
    for slot in own {
        if let Err(error) = shared.spawn_own(slot) {
            if error.is_stopped() {
                break;
            }
            // It is served by nobody then; saying so is all that is left.
            log::error!(target: "informer::handler", "{}: handler {slot} is removed: {error}", shared.name);
            shared.remove_handler(slot);
        }
    }
    shared.discard(waste);
    discard_events(replay);
}

/// Applies a batch: store first, then handlers (T5).
fn publish<T: Object>(shared: &Arc<Shared<T>>, deltas: Vec<Delta<T>>, tail: &str, timeline: u64, news: u64) {
    let began = shared.meter.is_on().then(|| shared.clock.now());
    shared.tell_queue();
    let Batch { changes, stale, events, first_list, spent } = apply(&shared.store, deltas);
    let writer = shared.writer.lock().take();
    let Some(mut writer) = writer else { return }; // it is only away while this very function runs
    let bad = writer.publish(Published { changes: &changes, stale, version: tail, timeline });
    *shared.writer.lock() = Some(writer);
    let mut progress = shared.progress.lock();
    progress.counters.batches += 1;
    progress.counters.changes += changes.len() as u64;
    drop(progress);
    shared.tell_store();
    for (key, error) in bad {
        shared.bad_value(&key, error);
    }
    let tell = !events.is_empty() || first_list;
    let events = Arc::new(events);
    let mut waste = Waste::default();
    let mut dispatch = shared.dispatch.lock();
    dispatch.took(news);
    let mut folded = 0;
    if tell {
        let before = shared.folded(&dispatch);
        dispatch.publish(&events, first_list, &mut waste);
        folded = shared.folded(&dispatch) - before;
    }
    drop(dispatch);
    if tell {
        shared.dispatch.notify_all();
    }
    if let Some(began) = began {
        shared.meter.took(Histogram::ProcessingLatency, shared.clock.now().saturating_duration_since(began));
        shared.meter.count(Counter::Events, events.len() as u64);
        shared.meter.count(Counter::HandlerFolded, folded);
        shared.tell_backlog();
    }
    shared.discard(waste);
    discard_events(events);
    resync(shared, &changes);
    discard_all(spent);
    for change in changes {
        discard(change.new);
    }
}

/// Gives the handlers whose resync is due every stored object that has not changed just now (D5).
fn resync<T: Object>(shared: &Arc<Shared<T>>, but: &[Change<T>]) {
    let now = shared.clock.now();
    if !shared.dispatch.lock().resync_due(now) {
        return;
    }
    let but: HashSet<KeyRef<'_>> = but.iter().map(|change| change.key.as_ref()).collect();
    let mut objects = shared.store.list();
    objects.retain(|object| !but.contains(&object.meta().key_ref()));
    let events = Arc::new(objects.into_iter().map(|object| Event::Resynced { object }).collect());
    let mut waste = Waste::default();
    let mut dispatch = shared.dispatch.lock();
    let before = shared.folded(&dispatch);
    dispatch.resync(&events, now, &mut waste);
    let folded = shared.folded(&dispatch) - before;
    drop(dispatch);
    shared.dispatch.notify_all();
    shared.meter.count(Counter::HandlerFolded, folded);
    shared.tell_backlog();
    shared.discard(waste);
    discard_events(events);
}
