//! [`Recorder`]: a handler that writes down what it is told, and can be made to block or to panic.
//!
//! It keeps metadata, never objects, so it does not change what a memory test measures.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use informer_core::sync::Monitor;
use informer_core::{Event, EventHandler, Object, ObjectKey};

use crate::deadline::Deadline;
use crate::gate::{Gate, Pass};

/// A handler that records its events. Clones share one record: register one of them and ask another.
///
/// ```
/// use std::sync::Arc;
/// use informer_core::{Event, EventHandler};
/// use informer_testkit::{Recorder, TestObject};
///
/// let recorder = Recorder::new();
/// let mut handler = recorder.clone(); // this one goes to the informer
/// let object = Arc::new(TestObject::new("default/a").uid("u1").version("10"));
/// handler.on_event(&Event::Added { object: object.clone(), initial: true });
/// handler.on_event(&Event::Deleted { object, final_state_unknown: false });
///
/// recorder.wait_for(2);
/// assert_eq!(recorder.trace(), "Added(default/a@10, initial)\nDeleted(default/a@10)");
/// assert!(recorder.replay().is_empty()); // the contract was kept, and nothing is left
/// ```
#[derive(Clone)]
pub struct Recorder {
    monitor: Arc<Monitor<State>>,
}

/// One event, as metadata. Prints as the event does: `Updated(default/a@10→11)`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    /// What happened.
    pub kind: RecordKind,
    /// The object's key.
    pub key: ObjectKey,
    /// Its UID: that of the new state of an update.
    pub uid: String,
    /// Its version: that of the new state of an update, of the last state of a delete.
    pub version: String,
}

/// What happened, with what only this kind of event has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordKind {
    /// `Event::Added`.
    Added {
        /// Whether it belongs to the initial state.
        initial: bool,
    },
    /// `Event::Updated`.
    Updated {
        /// UID of the state before.
        old_uid: String,
        /// Version of the state before.
        old_version: String,
    },
    /// `Event::Deleted`.
    Deleted {
        /// Whether the end was not seen.
        final_state_unknown: bool,
    },
    /// `Event::Resynced`.
    Resynced,
}

/// UID and version: which state of which object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StateId {
    /// The UID.
    pub uid: String,
    /// The version.
    pub version: String,
}

#[derive(Default)]
struct State {
    /// In the order of the calls, with the name of the thread each came on.
    records: Vec<(Record, String)>,
    /// How many calls have returned.
    returned: usize,
    /// How many calls are inside now.
    inside: usize,
    /// Whether two calls were ever inside at once.
    overlapped: bool,
    /// What to do at the n-th event; counted from 1.
    plans: BTreeMap<usize, Plan>,
    /// What to do at every event without a plan of its own.
    always: Option<Pass>,
}

enum Plan {
    Block(Pass),
    Panic,
}

impl Recorder {
    /// A recorder that has heard nothing.
    #[must_use]
    pub fn new() -> Self {
        Recorder { monitor: Arc::new(Monitor::new(State::default())) }
    }

    /// The `nth` event (counted from 1) is recorded and then stands at `gate`.
    pub fn block_at(&self, nth: usize, gate: &Gate) {
        self.monitor.lock().plans.insert(nth, Plan::Block(gate.pass()));
    }

    /// Every event from now on is recorded and then stands at `gate`.
    pub fn block_always(&self, gate: &Gate) {
        self.monitor.lock().always = Some(gate.pass());
    }

    /// The `nth` event (counted from 1) is recorded and then panics.
    pub fn panic_at(&self, nth: usize) {
        self.monitor.lock().plans.insert(nth, Plan::Panic);
    }

    /// How many events have come.
    #[must_use]
    pub fn len(&self) -> usize {
        self.monitor.lock().records.len()
    }

    /// Whether none has come.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The events so far.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        self.monitor.lock().records.iter().map(|(record, _)| record.clone()).collect()
    }

    /// The names of the threads the events came on, one for each event.
    #[must_use]
    pub fn threads(&self) -> Vec<String> {
        self.monitor.lock().records.iter().map(|(_, thread)| thread.clone()).collect()
    }

    /// The events so far as text, one a line: what to compare a sequence with.
    #[must_use]
    pub fn trace(&self) -> String {
        self.monitor.lock().trace()
    }

    /// Forgets the events so far. Numbers given to [`block_at`](Recorder::block_at) and
    /// [`panic_at`](Recorder::panic_at) count from here.
    pub fn clear(&self) {
        let mut state = self.monitor.lock();
        state.records.clear();
        state.returned = 0;
        drop(state);
        self.monitor.notify_all();
    }

    /// Waits until at least `count` events have come and answers all there are. The last call may still be inside.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds of real time; the message has the events.
    #[track_caller]
    pub fn wait_for(&self, count: usize) -> Vec<Record> {
        self.wait(&format!("{count} events"), |state| count <= state.records.len())
    }

    /// Waits until at least `count` calls have returned and answers all events there are.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds of real time; the message has the events.
    #[track_caller]
    pub fn wait_for_returned(&self, count: usize) -> Vec<Record> {
        self.wait(&format!("{count} events that are handled"), |state| count <= state.returned)
    }

    /// Waits until `wanted` accepts the events and answers them.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds of real time; the message has `what` and the events.
    #[track_caller]
    pub fn wait_until(&self, what: &str, mut wanted: impl FnMut(&[Record]) -> bool) -> Vec<Record> {
        self.wait(what, |state| {
            let records: Vec<_> = state.records.iter().map(|(record, _)| record.clone()).collect();
            wanted(&records)
        })
    }

    /// Folds the events into what the handler now knows, and checks the contract on the way.
    ///
    /// # Panics
    /// When the contract was broken ([`replay`] says how), or when calls overlapped; the message has the events.
    #[track_caller]
    #[must_use = "compare it with the store"]
    pub fn replay(&self) -> BTreeMap<ObjectKey, StateId> {
        let state = self.monitor.lock();
        let overlapped = state.overlapped;
        let trace = state.trace();
        drop(state);
        assert!(!overlapped, "two calls of the handler overlapped:\n{trace}");
        match replay(&self.records()) {
            Ok(known) => known,
            Err(broken) => panic!("{broken}:\n{trace}"),
        }
    }

    #[track_caller]
    fn wait(&self, what: &str, wanted: impl FnMut(&State) -> bool) -> Vec<Record> {
        let mut wanted = wanted;
        let ready = |state: &mut State| {
            wanted(state).then(|| state.records.iter().map(|(record, _)| record.clone()).collect())
        };
        Deadline::new().wait_on(&self.monitor, what, ready, |state| {
            format!("a handler that has seen {}:\n{}", state.records.len(), state.trace())
        })
    }
}

/// Folds events into what a handler that got them knows.
///
/// # Errors
/// The first event that breaks the contract of handlers, and why: an `Added` of a key it has; anything else of a key
/// it has not; an `Updated` whose old state is not the one it has, or whose UID changes; a `Resynced` of another
/// state; a `Deleted` of another UID.
pub fn replay<'a>(
    records: impl IntoIterator<Item = &'a Record>,
) -> Result<BTreeMap<ObjectKey, StateId>, String> {
    let mut known: BTreeMap<ObjectKey, StateId> = BTreeMap::new();
    for (at, record) in records.into_iter().enumerate() {
        let held = known.get(&record.key);
        let now = StateId { uid: record.uid.clone(), version: record.version.clone() };
        let broken = match (&record.kind, held) {
            (RecordKind::Added { .. }, None) => None,
            (RecordKind::Added { .. }, Some(_)) => Some("the handler has it already"),
            (_, None) => Some("the handler does not have it"),
            (RecordKind::Updated { old_uid, old_version }, Some(held)) => {
                if held.uid != *old_uid || held.version != *old_version {
                    Some("its old state is not the one the handler has")
                } else if held.uid != now.uid {
                    Some("another object is told as an update")
                } else {
                    None
                }
            }
            (RecordKind::Deleted { .. }, Some(held)) => {
                (held.uid != now.uid).then_some("another object of this name is deleted")
            }
            (RecordKind::Resynced, Some(held)) => (*held != now).then_some("the handler has another state"),
        };
        if let Some(why) = broken {
            return Err(format!("event {} breaks the contract: {record}: {why}", at + 1));
        }
        if let RecordKind::Deleted { .. } = record.kind {
            known.remove(&record.key);
        } else {
            known.insert(record.key.clone(), now);
        }
    }
    Ok(known)
}

/// Key, UID and version of each object: what to compare [`Recorder::replay`] with.
///
/// ```
/// use informer_testkit::{states, TestObject};
///
/// let store = [TestObject::new("default/a").uid("u1").version("10")];
/// assert_eq!(states(&store).len(), 1);
/// ```
pub fn states<'a, T: Object>(objects: impl IntoIterator<Item = &'a T>) -> BTreeMap<ObjectKey, StateId> {
    objects
        .into_iter()
        .map(|object| {
            let meta = object.meta();
            let state = StateId { uid: meta.uid.to_owned(), version: meta.resource_version.to_owned() };
            (meta.key(), state)
        })
        .collect()
}

impl<T: Object> EventHandler<T> for Recorder {
    fn on_event(&mut self, event: &Event<T>) {
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        let mut state = self.monitor.lock();
        state.records.push((Record::from(event), thread));
        state.overlapped |= 0 < state.inside;
        state.inside += 1;
        let nth = state.records.len();
        let plan = state.plans.remove(&nth).or_else(|| state.always.clone().map(Plan::Block));
        drop(state);
        self.monitor.notify_all();
        let _inside = Inside { monitor: &self.monitor };
        match plan {
            None => {}
            Some(Plan::Block(pass)) => pass.wait(),
            Some(Plan::Panic) => panic!("the recorder was told to panic at event {nth}"),
        }
    }
}

/// Counts a call as returned, also when it panics.
struct Inside<'a> {
    monitor: &'a Monitor<State>,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let mut state = self.monitor.lock();
        state.inside -= 1;
        state.returned += 1;
        drop(state);
        self.monitor.notify_all();
    }
}

impl State {
    fn trace(&self) -> String {
        let lines: Vec<_> = self.records.iter().map(|(record, _)| record.to_string()).collect();
        lines.join("\n")
    }
}

impl<T: Object> From<&Event<T>> for Record {
    fn from(event: &Event<T>) -> Self {
        let kind = match event {
            Event::Added { initial, .. } => RecordKind::Added { initial: *initial },
            Event::Updated { old, .. } => {
                let old = old.meta();
                RecordKind::Updated {
                    old_uid: old.uid.to_owned(),
                    old_version: old.resource_version.to_owned(),
                }
            }
            Event::Deleted { final_state_unknown, .. } => {
                RecordKind::Deleted { final_state_unknown: *final_state_unknown }
            }
            Event::Resynced { .. } => RecordKind::Resynced,
            _ => unreachable!("the test kit is built with the core it tests"),
        };
        let meta = event.meta();
        Record { kind, key: meta.key(), uid: meta.uid.to_owned(), version: meta.resource_version.to_owned() }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Record { kind, key, version, .. } = self;
        match kind {
            RecordKind::Added { initial: true } => write!(f, "Added({key}@{version}, initial)"),
            RecordKind::Added { initial: false } => write!(f, "Added({key}@{version})"),
            RecordKind::Updated { old_version, .. } => write!(f, "Updated({key}@{old_version}→{version})"),
            RecordKind::Deleted { final_state_unknown: true } => {
                write!(f, "Deleted({key}@{version}, final state unknown)")
            }
            RecordKind::Deleted { final_state_unknown: false } => write!(f, "Deleted({key}@{version})"),
            RecordKind::Resynced => write!(f, "Resynced({key}@{version})"),
        }
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Recorder::new()
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("events", &self.len()).finish_non_exhaustive()
    }
}
