//! [`World`]: the objects, versions and history behind a [`FakeSource`](super::FakeSource), without lock or thread.
//!
//! The version only grows, one for each change, but for [`World::restore`]. The log keeps every change; a watch is a
//! place in it, and an end that was ordered comes after what was logged before it.

mod serve;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use informer_core::{BadObject, ChangeKind, Error, ErrorKind, KeyRef, ObjectKey, Stage, WatchEnd};

use super::fault::{ListFault, Streaming, WatchFault};
use super::request::SourceRequest;
use crate::object::Versioned;

/// The state of a [`FakeSource`](super::FakeSource), as [`edit`](super::FakeSource::edit) shows it.
pub struct World<T> {
    version: u64,
    /// Watches from below this version are answered 410.
    compacted: u64,
    objects: BTreeMap<ObjectKey, Stored<T>>,
    next_uid: u64,
    log: Vec<Logged<T>>,
    /// Where the history of this world begins in `log`: moved by `restore`.
    log_start: usize,
    /// What continue tokens stand for.
    snapshots: BTreeMap<u64, Snapshot<T>>,
    next_id: u64,
    watches: BTreeMap<u64, Watch>,
    pub(super) list_faults: VecDeque<ListFault<T>>,
    pub(super) watch_faults: VecDeque<WatchFault>,
    pub(super) outage: Option<Error>,
    pub(super) streaming: Streaming,
    pub(super) requests: Vec<SourceRequest>,
}

/// An earlier state of a source: objects and version. Made by [`World::backup`].
pub struct Backup<T>(Snapshot<T>);

/// How much can be read of an object that cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Legible {
    /// Key, UID and version.
    Metadata,
    /// Only the key.
    Key,
    /// Nothing.
    Nothing,
}

/// One object as it is told.
pub(super) enum Item<T> {
    Good(Arc<T>),
    Bad(BadObject),
}

/// One thing a watch tells.
pub(super) enum Entry<T> {
    Change(ChangeKind, Item<T>),
    Bookmark { version: String, initial_events_end: bool },
}

/// In which part of a watch something is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Initial,
    Live,
}

struct Stored<T> {
    object: Arc<T>,
    bad: Option<Legible>,
}

struct Snapshot<T> {
    version: u64,
    objects: Vec<Stored<T>>,
}

struct Logged<T> {
    /// The version it happened at; none for what only the watches open at that moment are told.
    version: Option<u64>,
    entry: Entry<T>,
}

struct Watch {
    /// Changes up to this version are not told.
    from: u64,
    /// Where in the log it was opened; entries without version before it are not told.
    opened: usize,
    /// The next entry of the log to look at.
    cursor: usize,
    /// It waits for something to tell.
    parked: bool,
    /// How it ends once it has come to this place in the log.
    end: Option<(usize, Ending)>,
}

#[derive(Clone)]
enum Ending {
    End(WatchEnd),
    Fail(Error),
}

impl<T: Versioned> World<T> {
    pub(super) fn new() -> Self {
        World {
            version: 0,
            compacted: 0,
            objects: BTreeMap::new(),
            next_uid: 0,
            log: Vec::new(),
            log_start: 0,
            snapshots: BTreeMap::new(),
            next_id: 0,
            watches: BTreeMap::new(),
            list_faults: VecDeque::new(),
            watch_faults: VecDeque::new(),
            outage: None,
            streaming: Streaming::Supported,
            requests: Vec::new(),
        }
    }

    /// Adds an object; it gets a new UID and the next version. Answers it as stored.
    ///
    /// # Panics
    /// When the object exists.
    pub fn create(&mut self, object: T) -> T {
        let key = object.meta().key();
        assert!(!self.objects.contains_key(&key), "{key} exists; update it, or apply it");
        self.next_uid += 1;
        let uid = format!("uid-{}", self.next_uid);
        self.store(object, &uid, ChangeKind::Added)
    }

    /// Replaces an object; it keeps its UID and gets the next version. Answers it as stored.
    ///
    /// # Panics
    /// When the object does not exist.
    pub fn update(&mut self, object: T) -> T {
        let uid = self.stored(object.meta().key_ref()).object.meta().uid.to_owned();
        self.store(object, &uid, ChangeKind::Modified)
    }

    /// Creates or updates an object. Answers it as stored.
    pub fn apply(&mut self, object: T) -> T {
        if self.objects.contains_key(&object.meta().key()) {
            self.update(object)
        } else {
            self.create(object)
        }
    }

    /// Removes an object. Its last state, with the version of the removal, is told and answered.
    ///
    /// # Panics
    /// When the object does not exist.
    pub fn delete(&mut self, key: &str) -> T {
        let bad = self.stored(KeyRef::from(key)).bad;
        self.remove(key, bad)
    }

    /// Removes an object with an event whose object cannot be decoded.
    ///
    /// # Panics
    /// When the object does not exist.
    pub fn delete_unreadable(&mut self, key: &str, legible: Legible) -> T {
        self.remove(key, Some(legible))
    }

    /// Changes an object to a state that cannot be decoded; the next [`update`](World::update) mends it.
    ///
    /// # Panics
    /// When the object does not exist.
    pub fn break_object(&mut self, key: &str, legible: Legible) {
        let stored = self.stored(KeyRef::from(key));
        let mut object = T::clone(&stored.object);
        let uid = object.meta().uid.to_owned();
        self.version += 1;
        object.set_identity(&uid, &self.version());
        self.put(object, Some(legible), ChangeKind::Modified);
    }

    /// Sends a bookmark of the present version to every open watch.
    pub fn bookmark(&mut self) {
        self.send_bookmark(&self.version(), false);
    }

    /// Sends an event to every open watch that is not true of the objects here: a server that lies.
    pub fn send(&mut self, kind: ChangeKind, object: T) {
        self.push(None, Entry::Change(kind, Item::Good(Arc::new(object))));
    }

    /// Sends an event whose object cannot be decoded to every open watch; nothing changes here.
    pub fn send_bad(&mut self, kind: ChangeKind, bad: BadObject) {
        self.push(None, Entry::Change(kind, Item::Bad(bad)));
    }

    /// Sends a bookmark of any version to every open watch.
    pub fn send_bookmark(&mut self, version: &str, initial_events_end: bool) {
        self.push(None, Entry::Bookmark { version: version.to_owned(), initial_events_end });
    }

    /// Moves the version on by `count` without a change: writes to other resources.
    pub fn skip_versions(&mut self, count: u64) {
        self.version += count;
    }

    /// Forgets all history: a watch from an earlier version than the present one, and a continue token from one, is
    /// answered 410. Open watches go on.
    pub fn compact(&mut self) {
        self.compacted = self.version;
        let kept = self.compacted;
        self.snapshots.retain(|_, snapshot| kept <= snapshot.version);
    }

    /// Every continue token that was given out is answered 410.
    pub fn expire_continue_tokens(&mut self) {
        self.snapshots.clear();
    }

    /// Closes every open watch, after what happened before this call has been told.
    pub fn close_watches(&mut self) {
        self.end_watches(&Ending::End(WatchEnd::Closed));
    }

    /// Every open watch is given up as silent, after what happened before this call has been told.
    pub fn silence_watches(&mut self) {
        self.end_watches(&Ending::End(WatchEnd::Silent));
    }

    /// Every open watch fails, after what happened before this call has been told.
    pub fn fail_watches(&mut self, error: &Error) {
        self.end_watches(&Ending::Fail(error.clone()));
    }

    /// The present state, to come back to with [`restore`](World::restore) or
    /// [`ListFault::From`].
    #[must_use]
    pub fn backup(&self) -> Backup<T> {
        Backup(self.snapshot())
    }

    /// Goes back to an earlier state, version included, as a restored etcd does. Open watches are closed.
    pub fn restore(&mut self, backup: &Backup<T>) {
        self.version = backup.0.version;
        self.compacted = self.version;
        self.objects = backup
            .0
            .objects
            .iter()
            .map(|stored| (stored.object.meta().key(), Stored::clone(stored)))
            .collect();
        self.close_watches();
        self.log_start = self.log.len();
        self.snapshots.clear();
    }

    /// The present version.
    #[must_use]
    pub fn version(&self) -> String {
        self.version.to_string()
    }

    /// The object of this key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<T> {
        self.objects.get(&KeyRef::from(key).to_key()).map(|stored| T::clone(&stored.object))
    }

    /// All objects, by key.
    #[must_use]
    pub fn objects(&self) -> Vec<T> {
        self.objects.values().map(|stored| T::clone(&stored.object)).collect()
    }

    /// How many watches are open.
    #[must_use]
    pub fn open_watches(&self) -> usize {
        self.watches.len()
    }

    fn stored(&self, key: KeyRef<'_>) -> &Stored<T> {
        self.objects.get(&key.to_key()).unwrap_or_else(|| panic!("{key} does not exist; create it first"))
    }

    fn store(&mut self, mut object: T, uid: &str, kind: ChangeKind) -> T {
        self.version += 1;
        object.set_identity(uid, &self.version());
        self.put(object.clone(), None, kind);
        object
    }

    fn put(&mut self, object: T, bad: Option<Legible>, kind: ChangeKind) {
        let key = object.meta().key();
        let stored = Stored { object: Arc::new(object), bad };
        let item = stored.item();
        self.objects.insert(key, stored);
        self.push(Some(self.version), Entry::Change(kind, item));
    }

    fn remove(&mut self, key: &str, bad: Option<Legible>) -> T {
        let mut object = T::clone(&self.stored(KeyRef::from(key)).object);
        let uid = object.meta().uid.to_owned();
        self.version += 1;
        object.set_identity(&uid, &self.version());
        self.objects.remove(&object.meta().key());
        let last = Stored { object: Arc::new(object.clone()), bad };
        self.push(Some(self.version), Entry::Change(ChangeKind::Deleted, last.item()));
        object
    }

    fn push(&mut self, version: Option<u64>, entry: Entry<T>) {
        self.log.push(Logged { version, entry });
    }

    fn end_watches(&mut self, ending: &Ending) {
        let at = self.log.len();
        for watch in self.watches.values_mut() {
            watch.end.get_or_insert_with(|| (at, ending.clone()));
        }
    }

    fn snapshot(&self) -> Snapshot<T> {
        Snapshot { version: self.version, objects: self.objects.values().map(Stored::clone).collect() }
    }
}

impl<T: Versioned> Stored<T> {
    fn item(&self) -> Item<T> {
        let Some(legible) = self.bad else {
            return Item::Good(Arc::clone(&self.object));
        };
        let meta = self.object.meta();
        let told = |text: &str| if legible == Legible::Metadata { text.to_owned() } else { String::new() };
        Item::Bad(BadObject {
            key: (legible != Legible::Nothing).then(|| meta.key()),
            uid: told(meta.uid),
            resource_version: told(meta.resource_version),
            error: Error::new(ErrorKind::Decode, "the object was broken by the test").at(Stage::Decode),
        })
    }
}

impl<T> Clone for Stored<T> {
    fn clone(&self) -> Self {
        Stored { object: Arc::clone(&self.object), bad: self.bad }
    }
}

impl<T> Clone for Snapshot<T> {
    fn clone(&self) -> Self {
        Snapshot { version: self.version, objects: self.objects.clone() }
    }
}

impl<T> Clone for Item<T> {
    fn clone(&self) -> Self {
        match self {
            Item::Good(object) => Item::Good(Arc::clone(object)),
            Item::Bad(bad) => Item::Bad(bad.clone()),
        }
    }
}

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Self {
        match self {
            Entry::Change(kind, item) => Entry::Change(*kind, item.clone()),
            Entry::Bookmark { version, initial_events_end } => {
                Entry::Bookmark { version: version.clone(), initial_events_end: *initial_events_end }
            }
        }
    }
}

impl<T> fmt::Debug for World<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("version", &self.version)
            .field("objects", &self.objects.len())
            .field("watches", &self.watches.len())
            .finish_non_exhaustive()
    }
}

impl<T> Clone for Backup<T> {
    fn clone(&self) -> Self {
        Backup(self.0.clone())
    }
}

impl<T> fmt::Debug for Backup<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backup").field("version", &self.0.version).finish_non_exhaustive()
    }
}
