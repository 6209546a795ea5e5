//! [`FakeSource`]: an in-memory `ListWatch` with versions, history and faults.
//!
//! It answers as an API server does (consistent pages, 410 after compaction, bookmarks, streaming lists) and does
//! to order what servers do at times. What happens to the objects is decided in [`World`], which has no lock;
//! this file is the lock, the waits and the telling.

mod fault;
mod request;
mod world;

pub use fault::{ListFault, Streaming, WatchFault};
pub use request::{SourceRequest, status_error};
pub use world::{Backup, Legible, World};

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_core::sync::Monitor;
use informer_core::{
    Clock, Error, Flow, ListEnd, ListRequest, ListSink, ListWatch, Result, Stage, Stop, WatchEnd,
    WatchRequest, WatchSink,
};

use crate::deadline::Deadline;
use crate::object::{TestObject, Versioned};
use fault::WatchPlan;
use world::{Entry, Item, Told};

/// A list and watch source in memory. Clones are the same source.
///
/// Changes are made with [`create`](FakeSource::create), [`update`](FakeSource::update),
/// [`apply`](FakeSource::apply) and [`delete`](FakeSource::delete), or several at once with
/// [`edit`](FakeSource::edit); open watches tell them in order. Faults are given for the
/// [next list](FakeSource::on_next_list) or the [next watch](FakeSource::on_next_watch).
/// Every blocking call ends at once on stop.
///
/// ```
/// use informer_testkit::{FakeSource, TestObject};
///
/// let source = FakeSource::<TestObject>::new();
/// source.create(TestObject::new("default/a"));
/// source.edit(|world| {
///     // no watch sees the object without its label
///     world.create(TestObject::new("default/b"));
///     world.update(TestObject::new("default/b").label("app", "web"));
/// });
/// assert_eq!(source.version(), "3");
/// ```
pub struct FakeSource<T = TestObject> {
    name: String,
    clock: Option<Arc<dyn Clock>>,
    monitor: Arc<Monitor<World<T>>>,
}

impl<T: Versioned> FakeSource<T> {
    /// An empty source at version `0` whose watches never end by themselves.
    #[must_use]
    pub fn new() -> Self {
        FakeSource {
            name: "testobjects".to_owned(),
            clock: None,
            monitor: Arc::new(Monitor::new(World::new())),
        }
    }

    /// The same source under another name; informers name their threads after it.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// The same source with watches that end by `clock`: closed after [`WatchRequest::timeout`], silent after
    /// [`WatchRequest::idle`] without an event. Each open watch keeps one alarm pending.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Makes several changes as one: a watch sees all of them or none, and no list comes in between.
    ///
    /// `change` must not use the source itself.
    pub fn edit<R>(&self, change: impl FnOnce(&mut World<T>) -> R) -> R {
        let answer = change(&mut self.monitor.lock());
        self.monitor.notify_all();
        answer
    }

    /// As [`World::create`].
    ///
    /// # Panics
    /// When the object exists.
    pub fn create(&self, object: T) -> T {
        self.edit(|world| world.create(object))
    }

    /// As [`World::update`].
    ///
    /// # Panics
    /// When the object does not exist.
    pub fn update(&self, object: T) -> T {
        self.edit(|world| world.update(object))
    }

    /// As [`World::apply`].
    pub fn apply(&self, object: T) -> T {
        self.edit(|world| world.apply(object))
    }

    /// As [`World::delete`].
    ///
    /// # Panics
    /// When the object does not exist.
    pub fn delete(&self, key: &str) -> T {
        self.edit(|world| world.delete(key))
    }

    /// As [`World::bookmark`].
    pub fn bookmark(&self) {
        self.edit(World::bookmark);
    }

    /// As [`World::compact`].
    pub fn compact(&self) {
        self.edit(World::compact);
    }

    /// As [`World::close_watches`].
    pub fn close_watches(&self) {
        self.edit(World::close_watches);
    }

    /// As [`World::fail_watches`].
    pub fn fail_watches(&self, error: &Error) {
        self.edit(|world| world.fail_watches(error));
    }

    /// As [`World::silence_watches`].
    pub fn silence_watches(&self) {
        self.edit(World::silence_watches);
    }

    /// Queues what the next list without one meets; each fault is used once, in order.
    pub fn on_next_list(&self, fault: ListFault<T>) {
        self.edit(|world| world.list_faults.push_back(fault));
    }

    /// Queues what the next watch without one meets; each fault is used once, in order.
    pub fn on_next_watch(&self, fault: WatchFault) {
        self.edit(|world| world.watch_faults.push_back(fault));
    }

    /// How the source takes streaming lists.
    pub fn set_streaming(&self, streaming: Streaming) {
        self.edit(|world| world.streaming = streaming);
    }

    /// From now on every list and watch fails with `error` and open watches are closed, until
    /// [`end_outage`](FakeSource::end_outage). Queued faults are kept.
    pub fn start_outage(&self, error: Error) {
        self.edit(|world| {
            world.outage = Some(error);
            world.close_watches();
        });
    }

    /// The source answers again.
    pub fn end_outage(&self) {
        self.edit(|world| world.outage = None);
    }

    /// The present version.
    #[must_use]
    pub fn version(&self) -> String {
        self.monitor.lock().version()
    }

    /// The objects now, by key.
    #[must_use]
    pub fn objects(&self) -> Vec<T> {
        self.monitor.lock().objects()
    }

    /// Every request so far.
    #[must_use]
    pub fn requests(&self) -> Vec<SourceRequest> {
        self.monitor.lock().requests.clone()
    }

    /// Every request so far as text, one a line: what to compare a sequence with.
    #[must_use]
    pub fn trace(&self) -> String {
        let lines: Vec<_> = self.monitor.lock().requests.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    /// Waits until there were at least `count` requests and answers all there were.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds of real time; the message has the requests.
    #[track_caller]
    pub fn wait_for_requests(&self, count: usize) -> Vec<SourceRequest> {
        self.wait(&format!("{count} requests to {}", self.name), |world| {
            (count <= world.requests.len()).then(|| world.requests.clone())
        })
    }

    /// Waits until exactly `count` watches are open and each has told everything there is to tell.
    ///
    /// This is where a source is quiet: what an informer then still has to do, it does by itself.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds of real time; the message has the requests.
    #[track_caller]
    pub fn wait_for_idle_watches(&self, count: usize) {
        self.wait(&format!("{count} idle watches of {}", self.name), |world| {
            (world.idle_watches() == Some(count)).then_some(())
        });
    }

    #[track_caller]
    fn wait<R>(&self, what: &str, mut ready: impl FnMut(&World<T>) -> Option<R>) -> R {
        Deadline::new().wait_on(&self.monitor, what, |world| ready(world), World::summary)
    }

    /// Wakes the waits of this source when `stop` is set.
    fn wake_on(&self, stop: &Stop) -> informer_core::OnStop {
        let monitor = Arc::clone(&self.monitor);
        stop.on_stop(move || {
            // Taking the lock orders this wake after the waiter has begun to wait.
            drop(monitor.lock());
            monitor.notify_all();
        })
    }

    /// Records the request, and meets whatever applies to every list.
    fn open_list(&self, request: &ListRequest) -> Result<Option<ListFault<T>>> {
        self.edit(|world| {
            world.requests.push(SourceRequest::List(request.clone()));
            if let Some(error) = &world.outage {
                return Err(error.clone().at(Stage::List));
            }
            Ok(world.list_faults.pop_front())
        })
    }

    fn open_watch(&self, request: &WatchRequest) -> Result<WatchFault> {
        self.edit(|world| {
            world.requests.push(SourceRequest::Watch(request.clone()));
            if let Some(error) = &world.outage {
                return Err(error.clone().at(Stage::WatchOpen));
            }
            Ok(world.watch_faults.pop_front().unwrap_or(WatchFault::Pass))
        })
    }

    /// Tells items and entries until the watch ends.
    fn run_watch(
        &self,
        request: &WatchRequest,
        stop: &Stop,
        sink: &mut dyn WatchSink<T>,
        plan: &WatchPlan,
    ) -> Result<WatchEnd> {
        let limits = Limits::new(self.clock.as_deref(), request);
        let opened = OpenWatch::new(self, request);
        if !matches!(&opened, Err(error) if error.stage() == Some(Stage::WatchOpen)) {
            sink.opened(); // an expired version is told in the stream, as a real server does
        }
        let (watch, initial) = opened?;
        let _wake = self.wake_on(stop);
        let mut told = 0;
        let mut heard = limits.now();
        for entry in initial {
            if let Some(end) = plan.end_after(told, stop)? {
                return Ok(end);
            }
            if stop.is_set() {
                return Err(Error::stopped().at(Stage::Watch));
            }
            if tell_entry(sink, entry, Told::Initial) == Flow::End {
                return Ok(WatchEnd::Ended);
            }
            told += 1;
        }
        loop {
            if let Some(end) = plan.end_after(told, stop)? {
                return Ok(end);
            }
            match watch.next(stop, &limits, heard)? {
                Next::Entry(entry) => {
                    if tell_entry(sink, entry, Told::Live) == Flow::End {
                        return Ok(WatchEnd::Ended);
                    }
                    told += 1;
                    heard = limits.now();
                }
                Next::End(end) => return Ok(end),
            }
        }
    }
}

impl<T: Versioned> ListWatch<T> for FakeSource<T> {
    fn list(&self, request: &ListRequest, stop: &Stop, sink: &mut dyn ListSink<T>) -> Result<ListEnd> {
        let fault = self.open_list(request)?.unwrap_or(ListFault::Pass);
        let mut cut = None;
        let mut renamed = None;
        let mut backup = None;
        match fault {
            ListFault::Pass => {}
            ListFault::Fail(error) => return Err(error.at(Stage::List)),
            ListFault::FailAfter(items, error) => cut = Some((items, error)),
            ListFault::Hold(pass) => {
                pass.wait_or_stop(stop);
            }
            ListFault::Version(version) => renamed = Some(version),
            ListFault::From(older) => backup = Some(older),
            ListFault::Panic(message) => panic!("{message}"),
        }
        let page = self.edit(|world| world.page(request, backup.as_ref()))?;
        for (at, item) in page.items.into_iter().enumerate() {
            if stop.is_set() {
                return Err(Error::stopped().at(Stage::List));
            }
            if let Some((items, error)) = &cut
                && *items <= at
            {
                return Err(error.clone().at(Stage::List));
            }
            tell_item(sink, item);
        }
        if stop.is_set() {
            return Err(Error::stopped().at(Stage::List));
        }
        match cut {
            // The cut came after the last item, before the end of the list.
            Some((_, error)) => Err(error.at(Stage::List)),
            None => Ok(ListEnd {
                resource_version: renamed.unwrap_or(page.version),
                continue_token: page.continue_token,
            }),
        }
    }

    fn watch(&self, request: &WatchRequest, stop: &Stop, sink: &mut dyn WatchSink<T>) -> Result<WatchEnd> {
        let plan = match self.open_watch(request)? {
            WatchFault::Refuse(error) => return Err(error.at(Stage::WatchOpen)),
            WatchFault::Panic(message) => panic!("{message}"),
            WatchFault::Hold(pass) => {
                if !pass.wait_or_stop(stop) {
                    return Err(Error::stopped().at(Stage::WatchOpen));
                }
                WatchPlan::default()
            }
            fault => WatchPlan::from(fault),
        };
        if request.initial_events && self.monitor.lock().streaming == Streaming::Refused {
            let message = "sendInitialEvents is forbidden for watch";
            return Err(status_error(422, "Invalid", message).at(Stage::WatchOpen));
        }
        self.run_watch(request, stop, sink, &plan)
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn can_stream(&self) -> bool {
        self.monitor.lock().streaming != Streaming::Undeclared
    }
}

/// A watch that is open: its place among the watches of the world, given up on drop.
struct OpenWatch<'a, T: Versioned> {
    source: &'a FakeSource<T>,
    id: u64,
}

/// What a watch meets next.
enum Next<T> {
    Entry(Entry<T>),
    End(WatchEnd),
}

impl<'a, T: Versioned> OpenWatch<'a, T> {
    /// Opens the watch; answers it and what it tells before the changes.
    fn new(source: &'a FakeSource<T>, request: &WatchRequest) -> Result<(Self, Vec<Entry<T>>)> {
        let (id, initial) = source.edit(|world| world.open_watch(request))?;
        Ok((OpenWatch { source, id }, initial))
    }

    /// Waits for what the watch meets next.
    fn next(&self, stop: &Stop, limits: &Limits<'_>, heard: Option<Instant>) -> Result<Next<T>> {
        let source = self.source;
        let mut world = source.monitor.lock();
        loop {
            if stop.is_set() {
                return Err(Error::stopped().at(Stage::Watch));
            }
            if let Some(end) = world.watch_end(self.id)? {
                return Ok(Next::End(end));
            }
            if let Some(entry) = world.next_entry(self.id) {
                return Ok(Next::Entry(entry));
            }
            if let Some(end) = limits.reached(heard) {
                return Ok(Next::End(end));
            }
            if world.park(self.id) {
                source.monitor.notify_all();
            }
            match limits.clock {
                Some(clock) => {
                    source.monitor.wait_until(&mut world, clock, limits.next(heard));
                }
                None => source.monitor.wait(&mut world),
            }
        }
    }
}

impl<T: Versioned> Drop for OpenWatch<'_, T> {
    fn drop(&mut self) {
        self.source.edit(|world| world.close_watch(self.id));
    }
}

/// When a watch ends by the clock.
struct Limits<'a> {
    clock: Option<&'a dyn Clock>,
    close: Option<Instant>,
    idle: Duration,
}

impl<'a> Limits<'a> {
    fn new(clock: Option<&'a dyn Clock>, request: &WatchRequest) -> Self {
        let timeout = (request.timeout != Duration::ZERO).then_some(request.timeout);
        let close = clock.zip(timeout).and_then(|(clock, timeout)| clock.now().checked_add(timeout));
        Limits { clock, close, idle: request.idle }
    }

    fn now(&self) -> Option<Instant> {
        self.clock.map(Clock::now)
    }

    fn silent(&self, heard: Option<Instant>) -> Option<Instant> {
        if self.idle == Duration::ZERO { None } else { heard?.checked_add(self.idle) }
    }

    /// The earliest limit.
    fn next(&self, heard: Option<Instant>) -> Option<Instant> {
        self.close.into_iter().chain(self.silent(heard)).min()
    }

    fn reached(&self, heard: Option<Instant>) -> Option<WatchEnd> {
        let now = self.now()?;
        if self.close.is_some_and(|at| at <= now) {
            return Some(WatchEnd::Closed);
        }
        self.silent(heard).is_some_and(|at| at <= now).then_some(WatchEnd::Silent)
    }
}

fn tell_item<T: Versioned>(sink: &mut dyn ListSink<T>, item: Item<T>) {
    match item {
        Item::Good(object) => {
            let meta = object.meta();
            let held = if sink.may_have() {
                sink.have(meta.key_ref(), meta.uid, meta.resource_version)
            } else {
                None
            };
            match held {
                Some(held) => sink.unchanged(held),
                None => sink.item(T::clone(&object)),
            }
        }
        Item::Bad(bad) => sink.bad_item(bad),
    }
}

fn tell_entry<T: Versioned>(sink: &mut dyn WatchSink<T>, entry: Entry<T>, told: Told) -> Flow {
    match entry {
        Entry::Change(kind, Item::Good(object)) => {
            let meta = object.meta();
            let held = if told == Told::Initial && sink.may_have() {
                sink.have(meta.key_ref(), meta.uid, meta.resource_version)
            } else {
                None
            };
            match held {
                Some(held) => sink.unchanged(held),
                None => sink.change(kind, T::clone(&object)),
            }
        }
        Entry::Change(kind, Item::Bad(bad)) => sink.bad_change(kind, bad),
        Entry::Bookmark { version, initial_events_end } => sink.bookmark(&version, initial_events_end),
    }
}

impl<T> Clone for FakeSource<T> {
    fn clone(&self) -> Self {
        FakeSource { name: self.name.clone(), clock: self.clock.clone(), monitor: Arc::clone(&self.monitor) }
    }
}

impl<T: Versioned> Default for FakeSource<T> {
    fn default() -> Self {
        FakeSource::new()
    }
}

impl<T> fmt::Debug for FakeSource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeSource").field("name", &self.name).finish_non_exhaustive()
    }
}
