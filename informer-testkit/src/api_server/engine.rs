//! [`Engine`]: the pure store behind one lock, with a clock and with whoever waits for changes.
//!
//! It has no threads: requests run on the threads that bring them, and a [`Feed`](super::exchange::Feed) waits on the
//! thread that asks it. A change wakes only the watches of its storage whose namespace it is in; they take their news
//! in batches, and filter and encode outside the lock.
//!
//! Locks: `state`, then one bell, then the inside of a manual clock.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use informer_core::Clock;
use informer_core::sync::{Monitor, Mutex, MutexGuard};

use super::backlog::Backlog;
use super::exchange::{Answer, Call};
use super::memory::{History, Memory};
use super::moment::Calendar;
use super::names::Dice;
use super::options::flag;
use super::past::Snapshot;
use super::resource::{Registry, Resource};
use super::route::Route;
use super::status::{Result, Status};
use super::store::{Key, News, Object, Store};
use super::{create, custom, delete, get, list, patch, update, watch};

/// How long a request waits for a version that is not there yet, as in a real server.
const PATIENCE: Duration = Duration::from_secs(3);

/// The API server below HTTP.
pub(super) struct Engine {
    state: Mutex<State>,
    pub(super) clock: Arc<dyn Clock>,
    calendar: Calendar,
    pub(super) history: History,
}

/// What the lock guards.
pub(super) struct State {
    pub(super) store: Store,
    pub(super) registry: Arc<Registry>,
    pub(super) dice: Dice,
    /// By storage: who waits for its changes.
    bells: HashMap<String, Vec<Waiter>>,
    /// Who waits for a version that is not there yet.
    ahead: Vec<Weak<Monitor<Bell>>>,
    memory: Memory,
    clock: Arc<dyn Clock>,
    stopped: bool,
}

/// A watch that is open.
struct Waiter {
    /// `None`: it waits for changes in any namespace.
    namespace: Option<String>,
    resource: Arc<Resource>,
    bell: Weak<Monitor<Bell>>,
}

/// What a watch is woken with.
#[derive(Debug, Default)]
pub(super) struct Bell {
    /// There may be news.
    pub(super) rung: bool,
    /// There will be no more: the watch ends after what there is.
    pub(super) last: bool,
    /// The engine has stopped: the watch ends now.
    pub(super) stopped: bool,
    pub(super) backlog: Backlog,
}

impl Engine {
    /// An engine with the namespaces that every cluster has.
    pub(super) fn new(clock: Arc<dyn Clock>, history: History) -> Arc<Self> {
        let store = Store::new(history.changes);
        let engine = Engine::with(clock, history, store, Arc::new(Registry::new()));
        create::first_namespaces(&engine);
        Arc::new(engine)
    }

    /// An engine that has what a snapshot has, with its past.
    ///
    /// What it has of the past it keeps until it is too much or forgotten by hand: nobody knows how old it is.
    pub(super) fn restored(clock: Arc<dyn Clock>, history: History, snapshot: &Snapshot) -> Arc<Self> {
        Arc::new(Engine::with(clock, history, snapshot.store.clone(), Arc::clone(&snapshot.registry)))
    }

    fn with(clock: Arc<dyn Clock>, history: History, store: Store, registry: Arc<Registry>) -> Self {
        let calendar = Calendar::new(&clock);
        let state = State {
            store,
            registry,
            dice: Dice::new(),
            bells: HashMap::new(),
            ahead: Vec::new(),
            memory: Memory::new(history.age),
            clock: Arc::clone(&clock),
            stopped: false,
        };
        Engine { state: Mutex::new(state), clock, calendar, history }
    }

    /// Everything there is now.
    pub(super) fn snapshot(&self) -> Snapshot {
        let state = self.lock();
        Snapshot { store: state.store.clone(), registry: Arc::clone(&state.registry) }
    }

    /// Answers one request.
    pub(super) fn answer(self: &Arc<Self>, call: &Call) -> Answer {
        self.try_answer(call).unwrap_or_else(|status| Answer::Whole(status.answer()))
    }

    fn try_answer(self: &Arc<Self>, call: &Call) -> Result<Answer> {
        self.forget_old();
        let route = Route::parse(&self.registry(), &call.path)?;
        let mut answer = self.routed(call, &route).unwrap_or_else(|status| Answer::Whole(status.answer()));
        if !route.resource.warning.is_empty() {
            answer.headers().push(("Warning", format!("299 - \"{}\"", route.resource.warning)));
        }
        Ok(answer)
    }

    fn routed(self: &Arc<Self>, call: &Call, route: &Route) -> Result<Answer> {
        let allowed = |verb: &str| route.resource.verbs.contains(&verb);
        let whole = match (call.method.as_str(), &route.name, route.subresource.as_str()) {
            ("GET", None, _) if flag(call, "watch") => return watch::answer(self, call, route),
            ("GET", None, _) => list::answer(self, call, route)?,
            // One object is got, whatever is said of watching it.
            ("GET", Some(name), _) => get::answer(self, call, route, name)?,
            ("POST", None, _) if route.is_one_collection() => create::answer(self, call, route)?,
            ("PUT", Some(name), _) => update::answer(self, call, route, name)?,
            ("PATCH", Some(name), _) => patch::answer(self, call, route, name)?,
            ("DELETE", Some(name), "") => delete::answer(self, call, route, name)?,
            ("DELETE", None, _) if allowed("deletecollection") && route.is_one_collection() => {
                delete::answer_collection(self, call, route)?
            }
            _ => return Err(Status::method_not_allowed()),
        };
        Ok(Answer::Whole(whole))
    }

    /// Ends every watch, and those that are opened from now on.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        for waiter in state.bells.values().flatten() {
            waiter.ring(|bell| bell.stopped = true);
        }
        for bell in &state.ahead {
            ring(bell, |bell| bell.stopped = true);
        }
    }

    /// Lets every watch end once it has told what there is.
    #[cfg(any(test, feature = "fuzz-internals"))]
    pub(super) fn finish_watches(&self) {
        for waiter in self.lock().bells.values().flatten() {
            waiter.ring(|bell| bell.last = true);
        }
    }

    /// Lets watches be opened again.
    pub(super) fn resume(&self) {
        self.lock().stopped = false;
    }

    /// What is served now.
    pub(super) fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.lock().registry)
    }

    /// Forgets every change so far: watches and lists from before are refused.
    pub(super) fn compact(&self) {
        let mut state = self.lock();
        let revision = state.store.revision();
        state.store.compact(revision);
    }

    /// Forgets what has become too old since anybody asked.
    fn forget_old(&self) {
        if self.history.age.is_none() {
            return;
        }
        let now = self.clock.now();
        let mut state = self.lock();
        if let Some(revision) = state.memory.forget(now) {
            state.store.compact(revision);
        }
    }

    /// Waits until the store has come to `revision`.
    ///
    /// # Errors
    /// 504 if it has not within three seconds, or the engine stops.
    pub(super) fn reach(&self, revision: u64) -> Result<()> {
        let bell = {
            let mut state = self.lock();
            if revision <= state.store.revision() {
                return Ok(());
            }
            let bell = Arc::new(Monitor::new(Bell { stopped: state.stopped, ..Bell::default() }));
            state.ahead.retain(|waiting| waiting.strong_count() > 0);
            state.ahead.push(Arc::downgrade(&bell));
            bell
        };
        let until = self.clock.now().checked_add(PATIENCE);
        loop {
            let in_time = {
                let mut told = bell.lock();
                told.rung = told.rung || told.stopped;
                while !told.rung && bell.wait_until(&mut told, &self.clock, until) {}
                std::mem::take(&mut told.rung) && !told.stopped
            };
            let current = self.lock().store.revision();
            if revision <= current {
                return Ok(());
            }
            if !in_time {
                return Err(Status::too_large(revision, current));
            }
        }
    }

    /// The time of day.
    pub(super) fn now(&self) -> String {
        self.calendar.text(self.clock.now())
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The news of a storage after `revision`, and whether others watch it too. `None`: some of them are forgotten.
    pub(super) fn news(&self, storage: &str, revision: u64, limit: usize) -> Option<(News, bool)> {
        let state = self.lock();
        let news = state.store.news(storage, revision, limit)?;
        let shared = state.bells.get(storage).is_some_and(|waiters| waiters.len() > 1);
        Some((news, shared))
    }
}

impl State {
    /// A bell that rings at every change of a storage, in one namespace or in any.
    pub(super) fn bell(&mut self, resource: &Arc<Resource>, namespace: Option<&str>) -> Arc<Monitor<Bell>> {
        let bell = Arc::new(Monitor::new(Bell { stopped: self.stopped, ..Bell::default() }));
        let waiters = self.bells.entry(resource.storage.to_string()).or_default();
        waiters.retain(|waiter| waiter.bell.strong_count() > 0);
        waiters.push(Waiter {
            namespace: namespace.map(str::to_owned),
            resource: Arc::clone(resource),
            bell: Arc::downgrade(&bell),
        });
        bell
    }

    /// Stores a new state of an object: `value`, with the version it gets.
    pub(super) fn put(&mut self, resource: &Resource, mut value: serde_json::Value) -> Arc<Object> {
        let paths = self.registry.selectable(&resource.storage);
        let object = self.store.put(&resource.storage, |revision| {
            if let Some(metadata) = value.get_mut("metadata").and_then(serde_json::Value::as_object_mut) {
                metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
            }
            Object::new(value, revision, resource.custom, &paths)
        });
        self.changed(&resource.storage, &object.key.namespace);
        custom::after_put(self, resource, &object);
        object
    }

    /// Removes an object, and answers its last state, told at the revision of the removal.
    pub(super) fn remove(&mut self, resource: &Resource, key: &Key) -> Option<Object> {
        let (old, revision) = self.store.remove(&resource.storage, key)?;
        self.changed(&resource.storage, &key.namespace);
        custom::after_remove(self, resource, &old);
        delete::after_remove(self, &key.namespace);
        Some(old.at(revision, resource.custom))
    }

    /// Ends, after what they still have to tell, the watches of resources that are not served any more.
    pub(super) fn end_watches(&mut self, storage: &str) {
        let registry = Arc::clone(&self.registry);
        let served = |r: &Resource| registry.find(&r.group, &r.version, &r.plural).is_some();
        for waiter in self.bells.get(storage).into_iter().flatten().filter(|waiter| !served(&waiter.resource))
        {
            waiter.ring(|bell| bell.last = true);
        }
    }

    /// Tells everybody of a change that has just been made.
    fn changed(&mut self, storage: &str, namespace: &str) {
        let clock = &self.clock;
        self.memory.mark(|| clock.now(), self.store.revision());
        for bell in &self.ahead {
            ring(bell, |_| ());
        }
        let waiters = self.bells.get(storage).into_iter().flatten();
        for waiter in waiters.filter(|w| w.namespace.as_deref().is_none_or(|scope| scope == namespace)) {
            waiter.ring(|bell| bell.backlog.push(|| self.clock.now()));
        }
    }
}

impl Waiter {
    fn ring(&self, with: impl FnOnce(&mut Bell)) {
        ring(&self.bell, with);
    }
}

fn ring(bell: &Weak<Monitor<Bell>>, with: impl FnOnce(&mut Bell)) {
    if let Some(bell) = bell.upgrade() {
        let mut state = bell.lock();
        state.rung = true;
        with(&mut state);
        drop(state);
        bell.notify_all();
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}
