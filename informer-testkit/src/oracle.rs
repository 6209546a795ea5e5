//! [`Oracle`]: the naive informer that property tests compare the real one with.
//!
//! A `Vec` of objects, no index, no queue, no thread: every input changes it at once and answers the events it
//! means. It knows the decisions about identity, relists and bad objects, and nothing about versions (which list or
//! watch to make is not its business).

use std::collections::BTreeMap;
use std::sync::Arc;

use informer_core::{BadObject, ChangeKind, Event, KeyRef, Object, ObjectKey};

use crate::record::{Record, StateId, states};

/// An informer as a `Vec`.
///
/// ```
/// use informer_core::ChangeKind;
/// use informer_testkit::{Oracle, TestObject};
///
/// let mut oracle = Oracle::new();
/// let a = TestObject::new("default/a").uid("u1").version("10");
/// oracle.replace(vec![a.clone().into()]);
/// oracle.change(ChangeKind::Modified, a.clone().version("11"));
/// oracle.replace(vec![TestObject::new("default/a").uid("u2").version("30").into()]);
/// assert_eq!(
///     oracle.trace(),
///     "Added(default/a@10, initial)\n\
///      Updated(default/a@10→11)\n\
///      Deleted(default/a@11, final state unknown)\n\
///      Added(default/a@30)"
/// );
/// ```
#[derive(Debug)]
pub struct Oracle<T> {
    /// The store, in no particular order; one object a key.
    objects: Vec<Arc<T>>,
    /// Whether the first complete list is in.
    listed: bool,
    /// Every event so far.
    records: Vec<Record>,
}

/// An item of a list: an object, or one that could not be decoded.
#[derive(Debug)]
pub enum Listed<T> {
    /// A readable one.
    Good(T),
    /// One that could not be decoded.
    Bad(BadObject),
}

impl<T> From<T> for Listed<T> {
    fn from(object: T) -> Self {
        Listed::Good(object)
    }
}

impl<T: Object> Oracle<T> {
    /// An oracle that has heard nothing.
    #[must_use]
    pub fn new() -> Self {
        Oracle { objects: Vec::new(), listed: false, records: Vec::new() }
    }

    /// A complete list, or a streaming list that came to its end (D4, D5, D8).
    ///
    /// What is missing is deleted with its final state unknown, unless an item's key could not be read; equal states
    /// (version not empty) are no event; another UID is a delete and an add. Of several items with one key the last
    /// counts.
    pub fn replace(&mut self, items: Vec<Listed<T>>) -> Vec<Event<T>> {
        let initial = !self.listed;
        self.listed = true;
        let mut events = Vec::new();
        if items.iter().all(|item| item.key().is_some()) {
            let kept = |object: &Arc<T>| items.iter().any(|item| item.key() == Some(object.meta().key()));
            let (kept, gone) = std::mem::take(&mut self.objects).into_iter().partition(kept);
            self.objects = kept;
            let gone: Vec<_> = gone;
            events.extend(gone.into_iter().map(|object| deleted(object, true)));
        }
        let mut last: Vec<Listed<T>> = Vec::new();
        for item in items {
            last.retain(|earlier| earlier.key().is_none() || earlier.key() != item.key());
            last.push(item);
        }
        for item in last {
            match item {
                Listed::Good(object) => events.extend(self.upsert(object, initial)),
                Listed::Bad(bad) => events.extend(self.spoil(&bad)),
            }
        }
        self.note(&events);
        events
    }

    /// A watch event with its object (C-1, D4). `ADDED` and `MODIFIED` are the same.
    pub fn change(&mut self, kind: ChangeKind, object: T) -> Vec<Event<T>> {
        let events = match kind {
            ChangeKind::Added | ChangeKind::Modified => self.upsert(object, false),
            ChangeKind::Deleted => {
                let meta = object.meta();
                match self.find(meta.key_ref()) {
                    Some(at) if self.objects[at].meta().uid == meta.uid => {
                        self.objects.swap_remove(at);
                        vec![deleted(Arc::new(object), false)]
                    }
                    _ => Vec::new(),
                }
            }
        };
        self.note(&events);
        events
    }

    /// A watch event whose object could not be decoded (D8).
    pub fn bad_change(&mut self, kind: ChangeKind, bad: &BadObject) -> Vec<Event<T>> {
        let events = match kind {
            ChangeKind::Added | ChangeKind::Modified => self.spoil(bad),
            ChangeKind::Deleted => match bad.key.as_ref().and_then(|key| self.find(key.as_ref())) {
                Some(at) if bad.uid.is_empty() || self.objects[at].meta().uid == bad.uid => {
                    vec![deleted(self.objects.swap_remove(at), true)]
                }
                _ => Vec::new(),
            },
        };
        self.note(&events);
        events
    }

    /// A resync of one handler: every object, by key. Not part of [`records`](Oracle::records).
    #[must_use]
    pub fn resync(&self) -> Vec<Event<T>> {
        self.sorted().into_iter().map(|object| Event::Resynced { object }).collect()
    }

    /// What a handler that comes now is told first: every object, by key.
    #[must_use]
    pub fn late_handler(&self) -> Vec<Event<T>> {
        self.sorted().into_iter().map(|object| Event::Added { object, initial: true }).collect()
    }

    /// The objects, by key.
    #[must_use]
    pub fn objects(&self) -> Vec<Arc<T>> {
        self.sorted()
    }

    /// Key, UID and version of each object: what [`Recorder::replay`](crate::Recorder::replay) must answer.
    #[must_use]
    pub fn states(&self) -> BTreeMap<ObjectKey, StateId> {
        states(self.objects.iter().map(|object| &**object))
    }

    /// Every event so far.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Every event so far as text, one a line.
    #[must_use]
    pub fn trace(&self) -> String {
        let lines: Vec<_> = self.records.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    /// Asserts that `seen`, the events of one handler, is what it should be: for each key the same events in the same
    /// order. The order over keys is left open, as deletes of one relist have none.
    ///
    /// # Panics
    /// When it is not; the message has both sides for the first key that differs.
    #[track_caller]
    pub fn assert_same_per_key(&self, seen: &[Record]) {
        let (expected, seen) = (per_key(&self.records), per_key(seen));
        for key in expected.keys().chain(seen.keys()) {
            let text =
                |side: &BTreeMap<_, Vec<_>>| side.get(key).map_or_else(String::new, |all| all.join("\n"));
            let (expected, seen) = (text(&expected), text(&seen));
            assert!(expected == seen, "events of {key}; expected:\n{expected}\nseen:\n{seen}");
        }
    }

    fn upsert(&mut self, object: T, initial: bool) -> Vec<Event<T>> {
        let new = Arc::new(object);
        let Some(at) = self.find(new.meta().key_ref()) else {
            self.objects.push(Arc::clone(&new));
            return vec![Event::Added { object: new, initial }];
        };
        if self.objects[at].meta().same_state(&new.meta()) {
            return Vec::new(); // the old one is kept
        }
        let old = std::mem::replace(&mut self.objects[at], Arc::clone(&new));
        if old.meta().uid == new.meta().uid {
            vec![Event::Updated { old, new }]
        } else {
            vec![deleted(old, true), Event::Added { object: new, initial }]
        }
    }

    /// An unreadable state: what is stored stays, unless it is another object.
    fn spoil(&mut self, bad: &BadObject) -> Vec<Event<T>> {
        match bad.key.as_ref().and_then(|key| self.find(key.as_ref())) {
            Some(at) if !bad.uid.is_empty() && self.objects[at].meta().uid != bad.uid => {
                vec![deleted(self.objects.swap_remove(at), true)]
            }
            _ => Vec::new(),
        }
    }

    fn find(&self, key: KeyRef<'_>) -> Option<usize> {
        self.objects.iter().position(|object| object.meta().key_ref() == key)
    }

    fn sorted(&self) -> Vec<Arc<T>> {
        let mut objects = self.objects.clone();
        objects.sort_by_key(|object| object.meta().key());
        objects
    }

    fn note(&mut self, events: &[Event<T>]) {
        self.records.extend(events.iter().map(Record::from));
    }
}

impl<T: Object> Listed<T> {
    fn key(&self) -> Option<ObjectKey> {
        match self {
            Listed::Good(object) => Some(object.meta().key()),
            Listed::Bad(bad) => bad.key.clone(),
        }
    }
}

impl<T: Object> Default for Oracle<T> {
    fn default() -> Self {
        Oracle::new()
    }
}

fn deleted<T>(object: Arc<T>, final_state_unknown: bool) -> Event<T> {
    Event::Deleted { object, final_state_unknown }
}

/// Events by key, as text with their UIDs.
fn per_key(records: &[Record]) -> BTreeMap<ObjectKey, Vec<String>> {
    let mut keys: BTreeMap<ObjectKey, Vec<String>> = BTreeMap::new();
    for record in records {
        keys.entry(record.key.clone()).or_default().push(format!("{record} {}", record.uid));
    }
    keys
}
