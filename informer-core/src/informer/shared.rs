//! [`Shared`]: what the handles, the reader and the pop role of one informer have in common.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::builder::HandlerOptions;
use super::dispatch::{BoxHandler, Dispatcher, Due, Latch, PATIENCE, SlotId, Waste};
use super::feed::Feed;
use super::gauges::Turn;
use super::identity::{enter, next_id, runs_on_thread_of, visit};
use super::pop;
use super::status::{Failed, Progress, Status};
use super::todo::{Todo, discard_events};
use crate::backoff::Random;
use crate::contain::{contain, discard, discard_all};
use crate::error::{Error, ErrorKind, Result, Stage};
use crate::key::ObjectKey;
use crate::list_watch::ListWatch;
use crate::meta::Object;
use crate::metrics::{Counter, Meter, Metrics};
use crate::queue::{Delta, DeltaFifo};
use crate::reflector::{ErrorHook, NextStep, Reflector, Report, Settings, Transform};
use crate::stop::Stop;
use crate::store::{Store, StoreWriter};
use crate::sync::{JoinHandle, Monitor, Mutex, spawn};
use crate::time::{Alarm, Clock, deadline};

/// What an informer is made of; chosen with its builder.
pub(super) struct Parts<T> {
    pub(super) source: Arc<dyn ListWatch<T>>,
    pub(super) settings: Settings,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) random: Random,
    pub(super) transform: Option<Arc<Transform<T>>>,
    pub(super) on_error: Option<Arc<ErrorHook>>,
    pub(super) metrics: Option<Arc<dyn Metrics>>,
    pub(super) metrics_name: String,
    pub(super) resync: Option<Duration>,
    pub(super) queue_limit: usize,
}

/// See the module. No two of its locks are held at once.
pub(super) struct Shared<T> {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) stop: Stop,
    pub(super) fifo: DeltaFifo<T>,
    pub(super) dispatch: Arc<Monitor<Dispatcher<T>>>,
    pub(super) store: Store<T>,
    /// Taken by the owner of the pop role while it applies a batch; nobody else asks for it.
    pub(super) writer: Mutex<Option<StoreWriter<T>>>,
    pub(super) threads: Threads,
    pub(super) progress: Mutex<Progress>,
    pub(super) on_error: Option<Arc<ErrorHook>>,
    pub(super) meter: Meter,
    /// Who tells the gauges of the queue and of the handlers.
    pub(super) queue_turn: Turn,
    pub(super) backlog_turn: Turn,
    /// The watchdog's alarm, while it is set.
    alarm: Mutex<Option<Alarm>>,
    resync: Option<Duration>,
    queue_limit: usize,
    /// What the reader thread will need; `None` once started.
    reader: Mutex<Option<Reflector<T>>>,
}

impl<T: Object> Shared<T> {
    pub(super) fn new(parts: Parts<T>) -> Arc<Self> {
        let id = next_id();
        let stop = Stop::new();
        let (store, writer) = Store::new(Arc::clone(&parts.clock), id);
        let name = parts.source.name();
        Arc::new(Shared {
            id,
            meter: Meter::new(parts.metrics, parts.metrics_name, name.clone()),
            queue_turn: Turn::default(),
            backlog_turn: Turn::default(),
            name,
            clock: Arc::clone(&parts.clock),
            stop: stop.clone(),
            fifo: DeltaFifo::new(parts.queue_limit),
            dispatch: Arc::new(Monitor::new(Dispatcher::new(parts.queue_limit))),
            store,
            writer: Mutex::new(Some(writer)),
            threads: Threads::default(),
            progress: Mutex::new(Progress::default()),
            on_error: parts.on_error,
            alarm: Mutex::new(None),
            resync: parts.resync,
            queue_limit: parts.queue_limit,
            reader: Mutex::new(Some(Reflector {
                source: parts.source,
                settings: parts.settings,
                random: parts.random,
                transform: parts.transform,
                clock: parts.clock,
                stop,
            })),
        })
    }

    pub(super) fn start(self: &Arc<Self>) -> Result<()> {
        if self.stop.is_set() {
            let text =
                format!("{}: the informer was stopped; an informer runs once, build a new one", self.name);
            return Err(Error::new(ErrorKind::Stopped, text).at(Stage::Start));
        }
        let reader = self.reader.lock().take();
        let Some(reflector) = reader else { return Ok(()) };
        let now = self.clock.now();
        let (epoch, own) = self.dispatch.lock().start(now);
        let mine = Arc::clone(self);
        let mut outcome = self.spawn("pop", move || pop::run(&mine, epoch));
        for slot in own {
            outcome = outcome.and_then(|()| self.spawn_own(slot));
        }
        outcome = outcome.and_then(|()| {
            let mut feed = Feed::new(Arc::clone(self));
            self.spawn("read", move || reflector.run(&mut feed))
        });
        if outcome.is_err() {
            self.stop();
        }
        outcome
    }

    /// Gives handler `slot` its own thread.
    pub(super) fn spawn_own(self: &Arc<Self>, slot: SlotId) -> Result<()> {
        let mine = Arc::clone(self);
        self.spawn("handler", move || pop::run_own(&mine, slot))
    }

    /// Spawns a thread of this informer.
    pub(super) fn spawn(self: &Arc<Self>, role: &str, body: impl FnOnce() + Send + 'static) -> Result<()> {
        let mine = Arc::clone(self);
        self.threads.spawn(&format!("{role} {}", self.name), move || {
            enter(mine.id);
            if contain(body).is_none() {
                mine.died();
            }
        })
    }

    /// A thread ended by a panic: of `Object::meta`, say, or of an index value's `Hash`. What it left undone cannot be
    /// made good, so the informer stops where everybody can see it.
    fn died(&self) {
        let text = format!(
            "{}: a thread of the informer panicked in user code; the informer has stopped",
            self.name
        );
        log::error!(target: "informer", "{text}");
        let error = Error::new(ErrorKind::Panic, text);
        self.progress.lock().last_error = Some(Failed::last(error, self.clock.now()));
        self.stop();
    }

    pub(super) fn stop(&self) {
        let mut waste = Waste::default();
        self.dispatch.lock().stop(&mut waste);
        self.dispatch.notify_all();
        self.threads.close();
        let queued = self.fifo.close();
        self.stop.set();
        self.store.stop_waits();
        let alarm = self.alarm.lock().take();
        drop(alarm);
        self.discard(waste);
        queued.into_iter().for_each(Delta::discard);
        // A reader that was never started takes its source and transform with it.
        let reader = self.reader.lock().take();
        if let Some(reflector) = reader {
            reflector.discard();
        }
        self.tell_queue();
        self.tell_backlog();
    }

    pub(super) fn add_handler(
        self: &Arc<Self>,
        options: HandlerOptions,
        handler: BoxHandler<T>,
    ) -> Result<(SlotId, Latch)> {
        let resync = options.resync.or(self.resync).filter(|period| !period.is_zero());
        if resync.is_some_and(|period| period < Duration::from_secs(1)) {
            discard(handler);
            let text = "a handler's resync period is at least 1 s; zero means none";
            return Err(Error::new(ErrorKind::Config, text).at(Stage::Handler));
        }
        let delivery = options.delivery;
        let mut dispatch = self.dispatch.lock();
        let outcome = dispatch.register(handler, delivery, resync);
        let due = dispatch.arm();
        drop(dispatch);
        match outcome {
            Ok(registered) => {
                self.fifo.poke();
                self.set_alarm(due);
                Ok(registered)
            }
            Err(handler) => {
                discard(handler);
                let text = format!("{}: the informer was stopped and takes no more handlers", self.name);
                Err(Error::new(ErrorKind::Stopped, text).at(Stage::Handler))
            }
        }
    }

    pub(super) fn remove_handler(self: &Arc<Self>, id: SlotId) {
        let mut waste = Waste::default();
        let mut dispatch = self.dispatch.lock();
        dispatch.remove(id, &mut waste);
        let due = dispatch.arm(); // a removed handler that blocks may be moved off, whatever its delivery
        drop(dispatch);
        self.dispatch.notify_all();
        self.set_alarm(due);
        self.discard(waste);
    }

    /// Drops what must be dropped outside the lock, and tells those who wait for a handler's end.
    pub(super) fn discard(&self, waste: Waste<T>) {
        if waste.is_empty() {
            return;
        }
        let Waste { handlers, erased, todos, spent } = waste;
        // A handler that is dropped counts as one that runs: waiting for its own end would never end (D12).
        let _visit = visit(self.id);
        discard_all(handlers);
        if !erased.is_empty() {
            self.dispatch.lock().dropped(&erased);
            self.dispatch.notify_all();
        }
        todos.into_iter().for_each(Todo::discard);
        spent.batches.into_iter().for_each(discard_events);
        discard_all(spent.objects);
    }

    pub(super) fn wait_dropped(&self, id: SlotId) {
        let mut dispatch = self.dispatch.lock();
        while !dispatch.is_dropped(id) {
            self.dispatch.wait(&mut dispatch);
        }
    }

    /// Waits for something the dispatcher knows.
    pub(super) fn wait_dispatch(
        &self,
        what: &str,
        timeout: Duration,
        done: impl Fn(&Dispatcher<T>) -> bool,
    ) -> Result<()> {
        if runs_on_thread_of(self.id) {
            return Err(Error::would_block("wait for the cache"));
        }
        let until = deadline(&*self.clock, timeout);
        let mut dispatch = self.dispatch.lock();
        let mut in_time = true;
        loop {
            if done(&dispatch) {
                return Ok(());
            }
            if dispatch.is_stopped() {
                let text = format!("{} was stopped before it could {what}", self.name);
                return Err(Error::new(ErrorKind::Stopped, text).at(Stage::Wait));
            }
            if !in_time {
                break;
            }
            in_time = self.dispatch.wait_until(&mut dispatch, &*self.clock, until);
        }
        drop(dispatch);
        let text = format!("{} could not {what} within {timeout:?}", self.name);
        let now = self.clock.now();
        let last = self.progress.lock().last_error.as_ref().map(|last| last.seen(now));
        let error = Error::new(ErrorKind::TimedOut, text).at(Stage::Wait);
        Err(match last {
            Some(last) => error.with_source(last.error),
            None => error,
        })
    }

    /// Something has come into the queue while the pop role was away.
    pub(super) fn arrived(self: &Arc<Self>, news: u64) {
        let mut dispatch = self.dispatch.lock();
        dispatch.arrived(news);
        let due = dispatch.arm();
        drop(dispatch);
        self.set_alarm(due);
    }

    /// Sets the watchdog, if it is to be set.
    pub(super) fn set_alarm(self: &Arc<Self>, at: Option<Instant>) {
        let mut next = at;
        while let Some(at) = next.take() {
            let shared = Arc::downgrade(self);
            let ring = Box::new(move || {
                if let Some(shared) = shared.upgrade() {
                    let next = shared.watchdog();
                    shared.set_alarm(next);
                }
            });
            // Registered and kept in one section: an alarm that rings in between may set the next one, which must not
            // be dropped for it.
            let mut kept = self.alarm.lock();
            match self.clock.alarm(at, ring) {
                Some(alarm) => {
                    let old = kept.replace(alarm);
                    drop(kept);
                    drop(old);
                }
                None => {
                    drop(kept);
                    next = self.watchdog(); // it is time already
                }
            }
        }
    }

    /// Looks whether a handler has held the pop thread for too long. Answers when to look again.
    fn watchdog(self: &Arc<Self>) -> Option<Instant> {
        let now = self.clock.now();
        let due = self.dispatch.lock().due(now);
        match due {
            Due::Nothing => None,
            Due::Later(at) => Some(at),
            Due::Promote(call) => {
                let mine = Arc::clone(self);
                // The spare is listed before it decides (T6): if the call is over by then, it just ends.
                let spare = self.spawn("pop", move || {
                    let mut dispatch = mine.dispatch.lock();
                    let epoch = dispatch.promote(call);
                    let due = if epoch.is_none() { dispatch.arm() } else { None };
                    drop(dispatch);
                    mine.set_alarm(due);
                    if let Some(epoch) = epoch {
                        mine.meter.count(Counter::HandlerPromotions, 1);
                        log::info!(
                            target: "informer::handler",
                            "{}: a handler has held the pop thread for over {PATIENCE:?} and gets a thread of its own",
                            mine.name
                        );
                        pop::run(&mine, epoch);
                    }
                });
                let error = spare.err().filter(|error| !error.is_stopped())?;
                log::warn!(target: "informer::handler", "{}: a slow handler stays on the pop thread: {error}", self.name);
                let mut dispatch = self.dispatch.lock();
                dispatch.unpromoted();
                dispatch.arm()?;
                now.checked_add(PATIENCE)
            }
        }
    }

    /// An index function did not manage an object.
    pub(super) fn bad_value(&self, key: &ObjectKey, error: Error) {
        self.progress.lock().counters.bad_objects += 1;
        self.meter.count(Counter::BadObjects, 1);
        let error = error.context(key).at(Stage::Index);
        log::warn!(target: "informer::store", "{}: {error}", self.name);
        self.tell_hook(
            &Report { error: &error, consecutive: 0, next_attempt: None, next: NextStep::GoOn },
            "informer::store",
        );
    }

    /// Calls the error hook, if there is one; should it panic, the log says so at `target`.
    pub(super) fn tell_hook(&self, report: &Report<'_>, target: &str) {
        if let Some(hook) = &self.on_error
            && contain(|| hook(report)).is_none()
        {
            log::error!(target: target, "{}: the error hook panicked", self.name);
        }
    }

    pub(super) fn status(&self) -> Status {
        let (queued, folded) = self.fifo.gauges();
        let dispatch = self.dispatch.lock();
        let (handlers, synced) = (dispatch.statuses(), dispatch.is_primed());
        let (promotions, failed_promotions) = dispatch.promotions();
        drop(dispatch);
        let (objects, resource_version, stale) = self
            .store
            .with_table(|table| (table.len(), table.version.clone(), table.stale.keys().cloned().collect()));
        let now = self.clock.now();
        let progress = self.progress.lock();
        Status {
            name: self.name.clone(),
            phase: progress.phase,
            synced,
            objects,
            resource_version,
            last_contact: progress.last_contact.map(|at| now.saturating_duration_since(at)),
            not_served: progress.not_served(),
            last_relist: progress.last_relist,
            relists: progress.relists.clone(),
            last_error: progress.last_error.as_ref().map(|last| last.seen(now)),
            queued,
            queue_limit: self.queue_limit,
            folded,
            stale,
            handlers,
            promotions,
            failed_promotions,
            counters: progress.counters,
        }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        discard(self.on_error.take()); // what else is the user's has gone at the stop, or goes with the store
    }
}

/// The threads of one informer: listed as they are spawned, taken as they are joined.
#[derive(Default)]
pub(super) struct Threads {
    list: Arc<Monitor<List>>,
}

#[derive(Default)]
struct List {
    handles: Vec<JoinHandle<()>>,
    /// Threads that have not come to their end.
    running: usize,
    /// Somebody joins what has ended; others wait until that is done.
    joining: bool,
    closed: bool,
}

impl Default for Monitor<List> {
    fn default() -> Self {
        Monitor::new(List::default())
    }
}

impl Threads {
    fn spawn(&self, name: &str, body: impl FnOnce() + Send + 'static) -> Result<()> {
        let mut list = self.list.lock();
        if list.closed {
            return Err(Error::stopped().at(Stage::Start));
        }
        // An ended thread keeps its stack until it is joined: handlers that come and go must not add up.
        for ended in list.handles.extract_if(.., |handle| handle.is_finished()) {
            let _ = ended.join();
        }
        let monitor = Arc::clone(&self.list);
        let handle = spawn(name, move || {
            // Whatever ends the body, a panic too, the thread is seen to have ended.
            struct Ended(Arc<Monitor<List>>);
            impl Drop for Ended {
                fn drop(&mut self) {
                    self.0.lock().running -= 1;
                    self.0.notify_all();
                }
            }
            let _ended = Ended(monitor);
            body();
        });
        match handle {
            Ok(handle) => {
                list.running += 1;
                list.handles.push(handle);
                Ok(())
            }
            Err(source) => {
                let text = format!("no thread for {name:?}; raise the limit of threads of this process");
                Err(Error::new(ErrorKind::Spawn, text).with_source(source).at(Stage::Start))
            }
        }
    }

    /// No more threads.
    fn close(&self) {
        self.list.lock().closed = true;
    }

    /// Waits until every thread has ended.
    pub(super) fn join_all(&self) {
        let mut list = self.list.lock();
        while list.running > 0 || list.joining {
            self.list.wait(&mut list);
        }
        let handles = std::mem::take(&mut list.handles);
        list.joining = true;
        drop(list);
        for handle in handles {
            // A panic was printed by its thread; there is nobody to pass it to.
            let _ = handle.join();
        }
        self.list.lock().joining = false;
        self.list.notify_all();
    }

    /// As [`join_all`](Threads::join_all), for at most `patience` of real time. Answers whether all have ended.
    pub(super) fn join_within(&self, patience: Duration) -> bool {
        let clock = crate::time::SystemClock;
        let until = deadline(&clock, patience);
        let mut list = self.list.lock();
        while list.running > 0 {
            if !self.list.wait_until(&mut list, &clock, until) {
                return false;
            }
        }
        drop(list);
        self.join_all();
        true
    }
}
