//! [`Transcript`]: a sink for lists and watches that writes down what it is told.
//!
//! It stands where the reflector stands, for tests of a `ListWatch` alone.

use std::fmt;
use std::sync::Arc;

use informer_core::{BadObject, ChangeKind, Flow, KeyRef, ListSink, Object, WatchSink};

use crate::probe::Probe;

/// A sink that records, as text, what a list or a watch tells. Clones share one transcript.
///
/// ```
/// use informer_core::{ListRequest, ListWatch, Stop};
/// use informer_testkit::{FakeSource, TestObject, Transcript};
///
/// let source = FakeSource::new();
/// source.create(TestObject::new("default/a"));
/// let transcript = Transcript::new();
/// let end = source.list(&ListRequest::default(), &Stop::new(), &mut transcript.clone())?;
/// assert_eq!(transcript.text(), "item default/a@1");
/// assert_eq!(end.resource_version, "1");
/// # Ok::<(), informer_core::Error>(())
/// ```
///
/// The lines are `item KEY@VERSION`, `unchanged KEY@VERSION`, `bad item KEY@VERSION`, `opened`, `ADDED KEY@VERSION`
/// (`MODIFIED`, `DELETED`), `bad ADDED KEY@VERSION`, `BOOKMARK VERSION` and `BOOKMARK VERSION end`. The key of a bad
/// object is `?` when it could not be read.
pub struct Transcript<T> {
    told: Probe<Vec<String>>,
    held: Vec<Arc<T>>,
    end_after: Option<usize>,
}

impl<T: Object> Transcript<T> {
    /// An empty transcript; it has no objects, and reads watches to their end.
    #[must_use]
    pub fn new() -> Self {
        Transcript { told: Probe::default(), held: Vec::new(), end_after: None }
    }

    /// The same, with an object that [`have`](ListSink::have) answers with.
    #[must_use]
    pub fn holding(mut self, object: Arc<T>) -> Self {
        self.held.push(object);
        self
    }

    /// The same, but a watch is asked to end at the line of this number, counted from 1.
    #[must_use]
    pub fn end_after(mut self, lines: usize) -> Self {
        self.end_after = Some(lines);
        self
    }

    /// What was told so far.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.told.get()
    }

    /// What was told so far, one a line.
    #[must_use]
    pub fn text(&self) -> String {
        self.lines().join("\n")
    }

    /// Waits until at least `count` lines were told and answers all there are.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds of real time; the message has the lines.
    #[track_caller]
    pub fn wait_for(&self, count: usize) -> Vec<String> {
        self.told.wait_for(&format!("{count} lines"), |lines| (count <= lines.len()).then(|| lines.clone()))
    }

    fn tell(&self, line: String) -> Flow {
        let count = self.told.update(|lines| {
            lines.push(line);
            lines.len()
        });
        match self.end_after {
            Some(last) if last <= count => Flow::End,
            _ => Flow::Continue,
        }
    }

    fn held(&self, key: KeyRef<'_>, uid: &str, resource_version: &str) -> Option<Arc<T>> {
        let same = |object: &&Arc<T>| {
            let meta = object.meta();
            meta.key_ref() == key && meta.uid == uid && meta.resource_version == resource_version
        };
        self.held.iter().find(same).map(Arc::clone)
    }
}

impl<T: Object> ListSink<T> for Transcript<T> {
    fn have(&self, key: KeyRef<'_>, uid: &str, resource_version: &str) -> Option<Arc<T>> {
        self.held(key, uid, resource_version)
    }

    fn may_have(&self) -> bool {
        !self.held.is_empty()
    }

    fn item(&mut self, object: T) {
        let _ = self.tell(format!("item {}", shown(&object)));
    }

    fn unchanged(&mut self, object: Arc<T>) {
        let _ = self.tell(format!("unchanged {}", shown(&*object)));
    }

    fn bad_item(&mut self, bad: BadObject) {
        let _ = self.tell(format!("bad item {}", shown_bad(&bad)));
    }
}

impl<T: Object> WatchSink<T> for Transcript<T> {
    fn have(&self, key: KeyRef<'_>, uid: &str, resource_version: &str) -> Option<Arc<T>> {
        self.held(key, uid, resource_version)
    }

    fn may_have(&self) -> bool {
        !self.held.is_empty()
    }

    fn opened(&mut self) {
        let _ = self.tell("opened".to_owned());
    }

    fn change(&mut self, kind: ChangeKind, object: T) -> Flow {
        self.tell(format!("{} {}", type_of(kind), shown(&object)))
    }

    fn unchanged(&mut self, object: Arc<T>) -> Flow {
        self.tell(format!("unchanged {}", shown(&*object)))
    }

    fn bad_change(&mut self, kind: ChangeKind, bad: BadObject) -> Flow {
        self.tell(format!("bad {} {}", type_of(kind), shown_bad(&bad)))
    }

    fn bookmark(&mut self, resource_version: &str, initial_events_end: bool) -> Flow {
        let end = if initial_events_end { " end" } else { "" };
        self.tell(format!("BOOKMARK {resource_version}{end}"))
    }
}

impl<T> Clone for Transcript<T> {
    fn clone(&self) -> Self {
        Transcript { told: self.told.clone(), held: self.held.clone(), end_after: self.end_after }
    }
}

impl<T: Object> Default for Transcript<T> {
    fn default() -> Self {
        Transcript::new()
    }
}

impl<T> fmt::Debug for Transcript<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transcript").field("told", &self.told.get()).finish_non_exhaustive()
    }
}

fn shown(object: &impl Object) -> String {
    let meta = object.meta();
    format!("{}@{}", meta.key_ref(), meta.resource_version)
}

fn shown_bad(bad: &BadObject) -> String {
    let key = bad.key.as_ref().map_or("?", |key| key.as_str());
    format!("{key}@{}", bad.resource_version)
}

fn type_of(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "ADDED",
        ChangeKind::Modified => "MODIFIED",
        ChangeKind::Deleted => "DELETED",
    }
}
