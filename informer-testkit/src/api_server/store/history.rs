//! [`Change`]: one entry of a storage's history, and [`Shelf`]: the objects of one storage with it.
//!
//! Invariant: the objects and the history tell the same story. Undoing changes from the newest gives the objects as
//! they were at any revision down to the floor.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use informer_core::sync::Mutex;

use super::object::{Key, Object};

/// What became of one object at one revision. One of the two states is there.
#[derive(Debug)]
pub(in crate::api_server) struct Change {
    pub(in crate::api_server) revision: u64,
    pub(in crate::api_server) old: Option<Arc<Object>>,
    pub(in crate::api_server) new: Option<Arc<Object>>,
    /// Lines that were told to a watch and will be told to others.
    lines: Mutex<Vec<(Line, Arc<[u8]>)>>,
}

/// How many lines of a change are kept. There are no more forms than that, but rows of tables tell an age, and so differ
/// from second to second.
const LINES: usize = 24;

/// What became of an object, as a watch tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::api_server) enum Told {
    Added,
    Modified,
    Deleted,
}

/// A line of a change: what is told, and in which form. Two of the same form have the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::api_server) struct Line {
    pub(in crate::api_server) told: Told,
    pub(in crate::api_server) form: Arc<str>,
}

impl Change {
    /// A change from `old` to `new`.
    pub(super) fn new(revision: u64, old: Option<Arc<Object>>, new: Option<Arc<Object>>) -> Self {
        Change { revision, old, new, lines: Mutex::default() }
    }

    /// The line, made by `make` the first time it is asked for; who asks meanwhile waits for it.
    pub(in crate::api_server) fn line(&self, line: Line, make: impl FnOnce() -> Arc<[u8]>) -> Arc<[u8]> {
        let mut lines = self.lines.lock();
        if let Some((_, bytes)) = lines.iter().find(|(known, _)| *known == line) {
            return Arc::clone(bytes);
        }
        let bytes = make();
        if lines.len() < LINES {
            lines.push((line, Arc::clone(&bytes)));
        }
        bytes
    }

    /// Where the object is.
    pub(in crate::api_server) fn key(&self) -> Option<&Key> {
        self.new.as_ref().or(self.old.as_ref()).map(|object| &object.key)
    }
}

/// The objects of one storage.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelf {
    pub(super) objects: BTreeMap<Key, Arc<Object>>,
    history: VecDeque<Arc<Change>>,
    /// States before this revision cannot be told.
    pub(super) floor: u64,
    /// The newest change that is forgotten: who has seen it has missed nothing, whatever the floor.
    pub(super) lost: u64,
}

impl Shelf {
    /// An empty shelf that tells nothing from before `floor`.
    pub(super) fn new(floor: u64) -> Self {
        Shelf { floor, ..Shelf::default() }
    }

    /// Takes in a change, and forgets the oldest beyond `keep`.
    pub(super) fn push(&mut self, change: Arc<Change>, keep: usize) {
        match (&change.new, &change.old) {
            (Some(new), _) => drop(self.objects.insert(new.key.clone(), Arc::clone(new))),
            (None, Some(old)) => drop(self.objects.remove(&old.key)),
            (None, None) => return,
        }
        self.history.push_back(change);
        while self.history.len() > keep {
            self.forget_first();
        }
    }

    /// Forgets every change up to `revision`.
    pub(super) fn compact(&mut self, revision: u64) {
        while self.history.front().is_some_and(|change| change.revision <= revision) {
            self.forget_first();
        }
        self.floor = self.floor.max(revision);
    }

    fn forget_first(&mut self) {
        if let Some(change) = self.history.pop_front() {
            self.lost = change.revision;
            self.floor = self.floor.max(change.revision);
        }
    }

    /// The changes after `revision`, oldest first.
    pub(super) fn after(&self, revision: u64) -> impl Iterator<Item = &Arc<Change>> {
        let start = self.history.partition_point(|change| change.revision <= revision);
        self.history.range(start..)
    }

    /// The states that differ at `revision` from those of now, by key: `None` where there was nothing.
    pub(super) fn undone(&self, revision: u64) -> BTreeMap<&Key, Option<&Arc<Object>>> {
        let mut undone = BTreeMap::new();
        let newer = self.history.iter().rev().take_while(|change| change.revision > revision);
        for change in newer {
            if let Some(key) = change.key() {
                undone.insert(key, change.old.as_ref());
            }
        }
        undone
    }
}
