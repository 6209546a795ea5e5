//! [`Stream`]: takes in a watch; before the end bookmark of a streaming list, into [`Gathered`].
//!
//! Invariant: the version to resume from never moves back (D7).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::{Taken, Transform, report_bad, take};
use crate::contain::discard_all;
use crate::error::Error;
use crate::key::{KeyRef, ObjectKey};
use crate::list_watch::{BadObject, ChangeKind, Flow, WatchSink};
use crate::meta::Object;
use crate::reflector::machine::{Machine, Verdict};
use crate::reflector::{Heard, Listed, Phase, Target};
use crate::time::Clock;
use crate::version;

/// What a streaming list has brought before its end bookmark: the survivors, in order of arrival.
struct Gathered<T> {
    items: Vec<Option<Arc<T>>>,
    places: HashMap<ObjectKey, usize>,
    unreadable: HashMap<ObjectKey, (String, String)>,
    identified: bool,
}

impl<T: Object> Gathered<T> {
    fn new() -> Self {
        Gathered { items: Vec::new(), places: HashMap::new(), unreadable: HashMap::new(), identified: true }
    }

    fn put(&mut self, key: ObjectKey, object: Option<Arc<T>>) {
        self.unreadable.remove(&key);
        match self.places.get(&key) {
            Some(&at) => self.items[at] = object,
            None if object.is_some() => {
                self.places.insert(key, self.items.len());
                self.items.push(object);
            }
            None => {}
        }
    }

    fn into_list(mut self, version: &str, lowered: bool, initial: bool) -> Listed<T> {
        Listed {
            items: std::mem::take(&mut self.items).into_iter().flatten().collect(),
            unreadable: std::mem::take(&mut self.unreadable)
                .into_iter()
                .map(|(key, (uid, version))| (key, uid, version))
                .collect(),
            complete: self.identified,
            version: version.to_owned(),
            lowered,
            initial,
        }
    }
}

/// As of [`Pages`](super::Pages).
impl<T> Drop for Gathered<T> {
    fn drop(&mut self) {
        discard_all(std::mem::take(&mut self.items));
    }
}

/// Why a watch's sink asked for its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::reflector) enum Why {
    WentBack,
    Unidentified,
    TooLong,
    /// Bytes, but no event, for longer than the watch was to last.
    Overdue,
    /// With an error in [`Told::refused`].
    Refused,
}

/// What a watch has told by its end.
#[derive(Default)]
pub(in crate::reflector) struct Told {
    /// Where the next watch resumes.
    pub(in crate::reflector) resume: String,
    pub(in crate::reflector) events: u64,
    /// Without those of the initial phase: what ends a streaming list is no sign that bookmarks come now and then.
    pub(in crate::reflector) bookmarks: u64,
    pub(in crate::reflector) opened: bool,
    /// Since when changes could come.
    pub(in crate::reflector) live_since: Option<Instant>,
    pub(in crate::reflector) why: Option<Why>,
    pub(in crate::reflector) refused: Option<Error>,
}

/// The sink of one watch.
pub(in crate::reflector) struct Stream<'a, T> {
    target: &'a mut dyn Target<T>,
    transform: Option<&'a Transform<T>>,
    machine: &'a mut Machine,
    clock: &'a dyn Clock,
    /// `Some` until the end bookmark of a streaming list.
    initial: Option<Gathered<T>>,
    initial_until: Option<Instant>,
    /// Events below this version have no business on this watch.
    start: String,
    /// opened at `""` or `0`, and only synthetic ADDED events so far.
    replaying: bool,
    /// How many events there were at a read, and when that was: since then there have been no more.
    quiet: (u64, Instant),
    told: Told,
}

impl<'a, T: Object> Stream<'a, T> {
    pub(in crate::reflector) fn new(
        target: &'a mut dyn Target<T>,
        transform: Option<&'a Transform<T>>,
        machine: &'a mut Machine,
        clock: &'a dyn Clock,
        start: &str,
    ) -> Self {
        let limit = machine.initial_phase();
        Stream {
            initial: limit.map(|_| Gathered::new()),
            initial_until: limit.and_then(|limit| clock.now().checked_add(limit)),
            replaying: limit.is_none() && (start.is_empty() || start == "0"),
            quiet: (0, clock.now()),
            told: Told { resume: machine.version().to_owned(), ..Told::default() },
            start: start.to_owned(),
            target,
            transform,
            machine,
            clock,
        }
    }

    /// What it has told; called at its end.
    pub(in crate::reflector) fn told(self) -> Told {
        self.told
    }

    fn end(&mut self, why: Why) -> Flow {
        self.told.why = Some(why);
        Flow::End
    }

    fn live(&mut self) {
        self.told.live_since = Some(self.clock.now());
        self.target.heard(Heard::Live);
    }

    /// Whether the initial phase has taken too long. Asked after each event but the one that ends it, and before each
    /// read.
    fn late(&self) -> bool {
        self.initial.is_some() && self.initial_until.is_some_and(|until| until <= self.clock.now())
    }

    /// Goes on, unless it has taken too long.
    fn go_on(&mut self) -> Flow {
        if self.late() { self.end(Why::TooLong) } else { Flow::Continue }
    }

    /// Counts an event and looks at its version. `Err` ends the watch.
    fn arrived(&mut self, kind: Option<ChangeKind>, version: &str) -> Result<(), Why> {
        self.told.events += 1;
        self.target.heard(if kind.is_some() { Heard::Event } else { Heard::Bookmark });
        if self.initial.is_some() {
            return Ok(()); // in no order of versions
        }
        if kind != Some(ChangeKind::Deleted) && version::goes_back(version, &self.start) {
            return Err(Why::WentBack);
        }
        self.replaying &= kind == Some(ChangeKind::Added);
        if !self.replaying && !version.is_empty() && !version::goes_back(version, &self.told.resume) {
            version.clone_into(&mut self.told.resume);
        }
        Ok(())
    }
}

impl<T: Object> WatchSink<T> for Stream<'_, T> {
    fn have(&self, key: KeyRef<'_>, uid: &str, resource_version: &str) -> Option<Arc<T>> {
        self.initial.as_ref().and_then(|_| self.target.have(key, uid, resource_version))
    }

    fn may_have(&self) -> bool {
        self.initial.is_some() && self.target.may_have()
    }

    fn opened(&mut self) {
        self.told.opened = true;
        self.target.heard(Heard::Opened);
        if self.initial.is_none() {
            self.live();
        }
    }

    fn change(&mut self, kind: ChangeKind, object: T) -> Flow {
        // A final state is shown as every other state was: transformed.
        let object = match take(object, self.transform) {
            Taken::Object(object) => object,
            Taken::Bad(bad) => return self.bad_change(kind, bad),
        };
        let meta = object.meta();
        if let Err(why) = self.arrived(Some(kind), meta.resource_version) {
            return self.end(why);
        }
        let key = meta.key();
        match (&mut self.initial, kind) {
            (Some(gathered), ChangeKind::Deleted) => gathered.put(key, None),
            (Some(gathered), _) => gathered.put(key, Some(object)),
            (None, ChangeKind::Deleted) => self.target.delete(key, object, &self.told.resume),
            (None, _) => self.target.upsert(key, object, &self.told.resume),
        }
        self.go_on()
    }

    fn unchanged(&mut self, object: Arc<T>) -> Flow {
        let meta = object.meta();
        if let Err(why) = self.arrived(Some(ChangeKind::Added), meta.resource_version) {
            return self.end(why);
        }
        let key = meta.key();
        match &mut self.initial {
            Some(gathered) => gathered.put(key, Some(object)),
            None => self.target.upsert(key, object, &self.told.resume),
        }
        self.go_on()
    }

    fn bad_change(&mut self, kind: ChangeKind, bad: BadObject) -> Flow {
        report_bad(self.target, &bad);
        if let Err(why) = self.arrived(Some(kind), &bad.resource_version) {
            return self.end(why);
        }
        match (bad.key, &mut self.initial, kind) {
            (None, Some(gathered), _) => gathered.identified = false,
            (None, None, _) => return self.end(Why::Unidentified),
            (Some(key), Some(gathered), ChangeKind::Deleted) => gathered.put(key, None),
            (Some(key), Some(gathered), _) => {
                gathered.put(key.clone(), None);
                gathered.unreadable.insert(key, (bad.uid, bad.resource_version));
            }
            (Some(key), None, ChangeKind::Deleted) => {
                self.target.delete_unseen(key, bad.uid, &self.told.resume);
            }
            (Some(key), None, _) => {
                self.target.unreadable(key, bad.uid, bad.resource_version, &self.told.resume);
            }
        }
        self.go_on()
    }

    fn bookmark(&mut self, resource_version: &str, initial_events_end: bool) -> Flow {
        if let Err(why) = self.arrived(None, resource_version) {
            return self.end(why);
        }
        if self.initial.is_none() {
            self.told.bookmarks += 1;
            self.target.bookmark(&self.told.resume);
            return Flow::Continue;
        }
        if !initial_events_end {
            return self.go_on();
        }
        let initial = !self.machine.has_listed();
        match self.machine.streamed(resource_version) {
            Verdict::Accept { lowered } => {
                resource_version.clone_into(&mut self.told.resume);
                resource_version.clone_into(&mut self.start);
                let Some(gathered) = self.initial.take() else { return Flow::Continue };
                let identified = gathered.identified;
                self.target.replace(gathered.into_list(resource_version, lowered, initial));
                self.target.phase(Phase::Watching);
                self.live();
                if identified { Flow::Continue } else { self.end(Why::Unidentified) }
            }
            Verdict::Refuse(error) => {
                self.told.refused = Some(error);
                self.end(Why::Refused)
            }
            Verdict::More => Flow::Continue, // only pages have more
        }
    }

    fn received(&mut self, bytes: u64) {
        self.target.heard(Heard::Bytes(bytes));
    }

    fn read_on(&mut self) -> Flow {
        if self.initial.is_some() {
            return self.go_on();
        }
        let now = self.clock.now();
        if self.told.events != self.quiet.0 {
            self.quiet = (self.told.events, now);
        }
        let overdue = self.machine.patience() <= now.saturating_duration_since(self.quiet.1);
        if overdue { self.end(Why::Overdue) } else { Flow::Continue }
    }
}
