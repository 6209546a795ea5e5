//! Watches: what there is, what has changed since, and what changes from now on.
//!
//! A watch knows the revision up to which it has seen everything. It takes the changes after it in batches, under
//! the lock as references, and selects and writes outside. A change reaches a watch with a selector as what it means
//! for the selection: an object that begins to match is added, one that ceases to is deleted. A watch that takes nothing
//! while too many changes wait for it is closed ([`backlog`](super::backlog)).

mod lines;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::coding;
use super::engine::{Bell, Engine};
use super::exchange::{Answer, Call, Feed, Stream};
use super::options::{ListOptions, flag, version};
use super::representation::{Asked, Representation, type_fields};
use super::resource::Resource;
use super::route::Route;
use super::selector::Selector;
use super::status::{Result, Status};
use super::store::{Change, Key, Line, Object, Told};
use informer_core::Stop;
use informer_core::sync::Monitor;

pub(super) use lines::error_line;

/// How often a watch that wants bookmarks gets one.
const BOOKMARKS: Duration = Duration::from_secs(60);

/// How long before its end a watch gets the last one. A real server repeats it if its timer is a little early.
const BEFORE_END: Duration = Duration::from_secs(2);

/// How long a watch lasts that does not say.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// How many changes are taken under one lock.
const BATCH: usize = 256;

/// About how many bytes are sent at once.
const CHUNK: usize = 32 * 1024;

/// Answers a watch of a collection.
pub(super) fn answer(engine: &Arc<Engine>, call: &Call, route: &Route) -> Result<Answer> {
    let selector =
        Selector::parse(&route.resource, call.parameter("labelSelector"), call.parameter("fieldSelector"))?;
    let form = Representation::of(call, Asked::Watch, &route.resource)?;
    let options = ListOptions::parse(call)?;
    let text = options.resource_version.as_str();
    let from = match text {
        "" => 0,
        text => version(text).map_err(|why| {
            Status::new(500, "", format!("resourceVersion: Invalid value: {text:?}: {why}"))
        })?,
    };
    let resource = Arc::clone(&route.resource);
    // What is there is told as of a version that has come, or not at all.
    let ahead = if options.initial_events { engine.reach(from).err() } else { None };
    let mut state = engine.lock();
    let current = state.store.revision();
    let floor = state.store.floor(&resource.storage);
    let refusal = if options.initial_events {
        ahead
    } else {
        (from > 0 && from < floor).then(|| Status::watch_too_old(from, floor))
    };
    let namespace = route.namespace.as_deref();
    let initial = if options.initial_events && refusal.is_none() {
        let all = state
            .store
            .page(&resource.storage, namespace, None, None::<&Key>, usize::MAX, |o| selector.matches(o));
        all.objects
    } else {
        Vec::new()
    };
    let bell = state.bell(&resource, namespace);
    drop(state);
    let now = engine.clock.now();
    let lasts = options.timeout_seconds.filter(|seconds| *seconds > 0).map_or(LONGEST, Duration::from_secs);
    let deadline = now.checked_add(lasts);
    // Without a version and without what is there, it begins now.
    let position = if options.initial_events || from == 0 { current } else { from };
    let watch = Watch {
        engine: Arc::clone(engine),
        types: type_fields(&resource).into(),
        no_types: "".into(),
        resource,
        namespace: route.namespace.clone(),
        selector,
        form,
        headed: false,
        bell,
        born: current,
        start: position,
        position,
        begins: options.initial_events && refusal.is_none() && (options.bookmarks || !initial.is_empty()),
        end_of_initial: options.initial_events && options.bookmarks && refusal.is_none(),
        initial: initial.into(),
        ready: refusal.iter().map(|status| error_line(status)).collect(),
        over: refusal.is_some(),
        bookmark: if options.bookmarks { next_bookmark(now, deadline) } else { None },
        deadline,
    };
    let mut headers = vec![
        ("Cache-Control", "no-cache, private".to_owned()),
        ("Content-Type", "application/json".to_owned()),
    ];
    // Not where what is there is told for want of a version.
    let compressed = flag(call, "sendInitialEvents") && coding::is_welcome(call);
    if compressed {
        headers.extend(coding::headers());
    }
    Ok(Answer::Stream(Stream { headers, feed: Box::new(watch), compressed }))
}

/// When the next bookmark is due: once a minute, and shortly before the end.
fn next_bookmark(now: Instant, deadline: Option<Instant>) -> Option<Instant> {
    let regular = now.checked_add(BOOKMARKS);
    let last = deadline.and_then(|deadline| deadline.checked_sub(BEFORE_END));
    let ahead = [regular, last].into_iter().flatten().filter(|at| *at > now);
    ahead.min().filter(|at| deadline.is_none_or(|deadline| *at < deadline))
}

/// A watch that is open.
struct Watch {
    engine: Arc<Engine>,
    resource: Arc<Resource>,
    /// The `kind` and `apiVersion` of what it tells; no two versions of a resource have the same.
    types: Arc<str>,
    /// Nothing: metadata is the same in all versions.
    no_types: Arc<str>,
    namespace: Option<String>,
    selector: Selector,
    form: Representation,
    /// Whether a table has told its columns.
    headed: bool,
    bell: Arc<Monitor<Bell>>,
    /// Where it began. A bookmark tells that it has come further; until then there is none.
    start: u64,
    /// The revision at which it was opened: its bell has counted every change after it.
    born: u64,
    /// Everything up to this revision has been told, or is in `initial` or `ready`.
    position: u64,
    /// What was there when it was opened, still to be told.
    initial: VecDeque<Arc<Object>>,
    /// Whether the bookmark after `initial` is still to be told.
    end_of_initial: bool,
    /// Whether there was something there when it was opened that has not all been sent.
    begins: bool,
    /// Lines to be sent.
    ready: VecDeque<Arc<[u8]>>,
    /// Whether nothing comes after `ready`.
    over: bool,
    bookmark: Option<Instant>,
    deadline: Option<Instant>,
}

/// What a look at the store has brought.
enum Look {
    /// There is more where this came from.
    More,
    /// Everything is seen.
    CaughtUp,
}

impl Feed for Watch {
    fn is_initial(&self) -> bool {
        self.begins
    }

    fn next(&mut self, stop: &Stop) -> Option<Arc<[u8]>> {
        if self.bell.lock().backlog.is_too_long(self.engine.clock.now()) {
            // What it has taken is still told.
            self.over = true;
            self.initial.clear();
            self.end_of_initial = false;
        }
        let chunk = self.find(stop);
        self.bell.lock().backlog.goes_on(self.engine.clock.now());
        chunk
    }
}

impl Watch {
    /// The next chunk, once there is one.
    fn find(&mut self, stop: &Stop) -> Option<Arc<[u8]>> {
        loop {
            if stop.is_set() {
                return None;
            }
            self.tell_initial();
            if let Some(chunk) = self.chunk() {
                return Some(chunk);
            }
            let now = self.engine.clock.now();
            if self.over || self.deadline.is_some_and(|deadline| deadline <= now) {
                return None;
            }
            // The bell is reset before the look: what rings during it is looked for again.
            let (last, stopped) = {
                let mut bell = self.bell.lock();
                bell.rung = false;
                (bell.last, bell.stopped)
            };
            if stopped {
                self.over = true;
                continue;
            }
            match self.look() {
                Look::More => {}
                Look::CaughtUp if !self.ready.is_empty() => {}
                Look::CaughtUp if last => self.over = true,
                Look::CaughtUp => {
                    if self.bookmark.is_some_and(|at| at <= now) {
                        self.bookmark = next_bookmark(now, self.deadline);
                        if self.start < self.position {
                            let line = self.bookmark_line(false);
                            self.ready.push_back(line);
                        }
                    } else {
                        self.wait(stop);
                    }
                }
            }
        }
    }

    /// Writes some of what was there when the watch was opened, and the bookmark after it.
    fn tell_initial(&mut self) {
        let mut size = self.ready.iter().map(|line| line.len()).sum::<usize>();
        while size < CHUNK {
            let Some(object) = self.initial.pop_front() else { break };
            let line = self.line(Told::Added, &object);
            size += line.len();
            self.ready.push_back(line);
        }
        if self.initial.is_empty() && std::mem::take(&mut self.end_of_initial) {
            let line = self.bookmark_line(true);
            self.ready.push_back(line);
        }
    }

    /// What is ready, as far as it makes a chunk. A line alone is sent as it is, which others may share.
    fn chunk(&mut self) -> Option<Arc<[u8]>> {
        if self.form == Representation::Unfit && !self.ready.is_empty() && !self.over {
            self.over = true;
            self.ready.clear();
        }
        let mut chunk = self.ready.pop_front()?;
        if !self.ready.is_empty() && chunk.len() < CHUNK {
            let mut lines = chunk.to_vec();
            while lines.len() < CHUNK {
                let Some(line) = self.ready.pop_front() else { break };
                lines.extend_from_slice(&line);
            }
            chunk = lines.into();
        }
        self.begins &= !self.ready.is_empty() || !self.initial.is_empty() || self.end_of_initial;
        Some(chunk)
    }

    /// Takes a batch of changes and makes lines of those that concern this watch.
    fn look(&mut self) -> Look {
        let Some((news, shared)) = self.engine.news(&self.resource.storage, self.position, BATCH) else {
            let status =
                Status::watch_too_old(self.position, self.engine.lock().store.floor(&self.resource.storage));
            self.ready.push_back(error_line(&status));
            self.over = true;
            return Look::More;
        };
        let in_scope = |change: &&Arc<Change>| {
            let namespace = change.key().map_or("", |key| key.namespace.as_str());
            self.born < change.revision && self.namespace.as_ref().is_none_or(|scope| scope == namespace)
        };
        let counted = news.changes.iter().filter(in_scope).count();
        self.bell.lock().backlog.took(counted);
        for change in &news.changes {
            self.tell(change, shared);
        }
        self.position = self.position.max(news.seen);
        if news.changes.len() == BATCH { Look::More } else { Look::CaughtUp }
    }

    fn tell(&mut self, change: &Change, shared: bool) {
        let selected = |object: &&Arc<Object>| {
            self.namespace.as_ref().is_none_or(|namespace| object.key.namespace == *namespace)
                && self.selector.matches(object)
        };
        let (old, new) = (change.old.as_ref().filter(selected), change.new.as_ref().filter(selected));
        let (told, object) = match (old, new) {
            (None, Some(new)) => (Told::Added, new),
            (Some(_), Some(new)) => (Told::Modified, new),
            (Some(old), None) => (Told::Deleted, old),
            (None, None) => return,
        };
        let custom = self.resource.custom;
        let make = |watch: &mut Watch| match told {
            Told::Deleted => watch.line(told, &object.at(change.revision, custom)),
            _ => watch.line(told, object),
        };
        let line = if shared {
            let form = self.form_of_lines();
            change.line(Line { told, form }, || make(self))
        } else {
            make(self)
        };
        self.headed = true;
        self.ready.push_back(line);
    }

    /// Waits for the bell, the stop, a bookmark or the end.
    fn wait(&self, stop: &Stop) {
        let bell = Arc::clone(&self.bell);
        let _hook = stop.on_stop(move || {
            bell.lock().rung = true;
            bell.notify_all();
        });
        let until = [self.bookmark, self.deadline].into_iter().flatten().min();
        let mut bell = self.bell.lock();
        while !bell.rung {
            if !self.bell.wait_until(&mut bell, &self.engine.clock, until) {
                break;
            }
        }
    }
}
