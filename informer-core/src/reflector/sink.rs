//! The sinks of one list and of one watch: what the source reads on its way to the [`Target`].

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::machine::Machine;
use super::machine::Verdict;
use super::{Heard, Listed, Report, Target};
use crate::error::{Error, ErrorKind, Stage};
use crate::key::{KeyRef, ObjectKey};
use crate::list_watch::{BadObject, ChangeKind, Flow, ListSink, WatchSink};
use crate::meta::Object;
use crate::time::Clock;
use crate::version;

/// User code that may change an object before it is shared.
pub(crate) type Transform<T> = dyn Fn(&mut T) + Send + Sync;

/// What an object becomes on its way in.
enum Taken<T> {
    Object(Arc<T>),
    Bad(BadObject),
}

/// Transforms once, on the reader thread, before the object is shared (I-62).
fn take<T: Object>(mut object: T, transform: Option<&Transform<T>>) -> Taken<T> {
    let meta = object.meta();
    if meta.name.is_empty() {
        let error = Error::new(ErrorKind::Decode, "the object has no metadata.name").at(Stage::Decode);
        return Taken::Bad(BadObject {
            key: None,
            uid: String::new(),
            resource_version: String::new(),
            error,
        });
    }
    let Some(transform) = transform else { return Taken::Object(Arc::new(object)) };
    let (key, uid, version) = (meta.key(), meta.uid.to_owned(), meta.resource_version.to_owned());
    let ran = catch_unwind(AssertUnwindSafe(|| transform(&mut object)));
    let meta = object.meta();
    let kept = meta.key_ref() == key.as_ref() && meta.uid == uid && meta.resource_version == version;
    let error = match ran {
        Ok(()) if kept => return Taken::Object(Arc::new(object)),
        Ok(()) => Error::new(
            ErrorKind::Decode,
            format!(
                "the transform changed the namespace, name, uid or resourceVersion of {key}; it must leave them"
            ),
        ),
        Err(_) => Error::new(ErrorKind::Panic, format!("the transform panicked on {key}")),
    };
    // The half-transformed object may panic once more on its way out.
    drop(catch_unwind(AssertUnwindSafe(|| drop(object))));
    Taken::Bad(BadObject {
        key: Some(key),
        uid,
        resource_version: version,
        error: error.at(Stage::Transform),
    })
}

fn report_bad<T>(target: &mut dyn Target<T>, bad: &BadObject) {
    target.report(&Report { error: &bad.error, consecutive: 0, next_attempt: None });
}

/// Collects the pages of one list.
pub(super) struct Pages<T> {
    items: Vec<Arc<T>>,
    unreadable: Vec<(ObjectKey, String, String)>,
    identified: bool,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Pages { items: Vec::new(), unreadable: Vec::new(), identified: true }
    }
}

impl<T: Object> Pages<T> {
    pub(super) fn identified(&self) -> bool {
        self.identified
    }

    pub(super) fn into_list(self, version: String, lowered: bool, initial: bool) -> Listed<T> {
        Listed {
            items: self.items,
            unreadable: self.unreadable,
            complete: self.identified,
            version,
            lowered,
            initial,
        }
    }

    fn bad(&mut self, bad: BadObject, target: &mut dyn Target<T>) {
        report_bad(target, &bad);
        match bad.key {
            Some(key) => self.unreadable.push((key, bad.uid, bad.resource_version)),
            None => self.identified = false,
        }
    }
}

/// The sink of one page.
pub(super) struct PageSink<'a, T> {
    pub(super) pages: &'a mut Pages<T>,
    pub(super) target: &'a mut dyn Target<T>,
    pub(super) transform: Option<&'a Transform<T>>,
}

impl<T: Object> ListSink<T> for PageSink<'_, T> {
    fn have(&self, key: KeyRef<'_>, uid: &str, resource_version: &str) -> Option<Arc<T>> {
        self.target.have(key, uid, resource_version)
    }

    fn may_have(&self) -> bool {
        self.target.may_have()
    }

    fn item(&mut self, object: T) {
        match take(object, self.transform) {
            Taken::Object(object) => self.pages.items.push(object),
            Taken::Bad(bad) => self.pages.bad(bad, self.target),
        }
    }

    fn unchanged(&mut self, object: Arc<T>) {
        self.pages.items.push(object);
    }

    fn bad_item(&mut self, bad: BadObject) {
        self.pages.bad(bad, self.target);
    }
}

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

    fn into_list(self, version: &str, lowered: bool, initial: bool) -> Listed<T> {
        Listed {
            items: self.items.into_iter().flatten().collect(),
            unreadable: self
                .unreadable
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

/// Why a watch's sink asked for its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Why {
    WentBack,
    Unidentified,
    TooLong,
}

/// The sink of one watch.
pub(super) struct Stream<'a, T> {
    pub(super) target: &'a mut dyn Target<T>,
    transform: Option<&'a Transform<T>>,
    machine: &'a mut Machine,
    clock: &'a dyn Clock,
    /// `Some` until the end bookmark of a streaming list.
    initial: Option<Gathered<T>>,
    initial_until: Option<Instant>,
    /// Events below this version have no business on this watch.
    start: String,
    /// Where the next watch resumes.
    pub(super) resume: String,
    /// opened at `""` or `0`, and only synthetic ADDED events so far.
    replaying: bool,
    pub(super) events: u64,
    pub(super) bookmarks: u64,
    pub(super) opened: bool,
    pub(super) why: Option<Why>,
}

impl<'a, T: Object> Stream<'a, T> {
    pub(super) fn new(
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
            resume: machine.version().to_owned(),
            start: start.to_owned(),
            target,
            transform,
            machine,
            clock,
            events: 0,
            bookmarks: 0,
            opened: false,
            why: None,
        }
    }

    fn end(&mut self, why: Why) -> Flow {
        self.why = Some(why);
        Flow::End
    }

    /// Counts an event and looks at its version. `Err` ends the watch.
    fn arrived(&mut self, kind: Option<ChangeKind>, version: &str) -> Result<(), Why> {
        self.events += 1;
        self.target.heard(if kind.is_some() { Heard::Event } else { Heard::Bookmark });
        if self.initial.is_some() {
            let late = self.initial_until.is_some_and(|until| until <= self.clock.now());
            return if late { Err(Why::TooLong) } else { Ok(()) };
        }
        if kind != Some(ChangeKind::Deleted) && version::below(version, &self.start) {
            return Err(Why::WentBack);
        }
        self.replaying &= kind == Some(ChangeKind::Added);
        if !self.replaying && !version.is_empty() && !version::below(version, &self.resume) {
            version.clone_into(&mut self.resume);
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
        self.opened = true;
        self.target.heard(Heard::Opened);
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
            (None, ChangeKind::Deleted) => self.target.delete(key, object, &self.resume),
            (None, _) => self.target.upsert(key, object, &self.resume),
        }
        Flow::Continue
    }

    fn unchanged(&mut self, object: Arc<T>) -> Flow {
        let meta = object.meta();
        if let Err(why) = self.arrived(Some(ChangeKind::Added), meta.resource_version) {
            return self.end(why);
        }
        let key = meta.key();
        match &mut self.initial {
            Some(gathered) => gathered.put(key, Some(object)),
            None => self.target.upsert(key, object, &self.resume),
        }
        Flow::Continue
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
            (Some(key), None, ChangeKind::Deleted) => self.target.delete_unseen(key, bad.uid, &self.resume),
            (Some(key), None, _) => self.target.unreadable(key, bad.uid, bad.resource_version, &self.resume),
        }
        Flow::Continue
    }

    fn bookmark(&mut self, resource_version: &str, initial_events_end: bool) -> Flow {
        self.bookmarks += 1;
        if let Err(why) = self.arrived(None, resource_version) {
            return self.end(why);
        }
        if self.initial.is_none() {
            self.target.bookmark(&self.resume);
            return Flow::Continue;
        }
        if !initial_events_end {
            return Flow::Continue;
        }
        let initial = !self.machine.has_listed();
        match self.machine.streamed(resource_version) {
            Verdict::Accept { lowered } => {
                resource_version.clone_into(&mut self.resume);
                resource_version.clone_into(&mut self.start);
                let Some(gathered) = self.initial.take() else { return Flow::Continue };
                let identified = gathered.identified;
                self.target.replace(gathered.into_list(resource_version, lowered, initial));
                self.target.phase(super::Phase::Watching);
                if identified { Flow::Continue } else { self.end(Why::Unidentified) }
            }
            Verdict::Refuse(error) => {
                self.target.report(&Report { error: &error, consecutive: 0, next_attempt: None });
                self.end(Why::WentBack)
            }
            Verdict::More => Flow::Continue, // only pages have more
        }
    }
}
