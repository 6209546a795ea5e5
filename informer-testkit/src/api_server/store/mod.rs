//! The pure store: objects, one counter of revisions, and the history of each storage.
//!
//! No lock, no clock, no I/O. Every change takes the next revision, whatever it changes, so revisions are ordered
//! over all objects and none is used twice.

mod encode;
mod history;
mod object;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

pub(super) use encode::body;
pub(super) use history::{Change, Line, Told};
pub(super) use object::{Key, Object};

use history::Shelf;

/// The revision before anything was stored. Nobody can ask for its state: a real server has compacted it long since.
const START: u64 = 1;

/// Everything that is stored. A clone shares the objects and the changes.
#[derive(Clone, Debug)]
pub(super) struct Store {
    revision: u64,
    compacted: u64,
    /// How many changes of a storage are remembered.
    keep: usize,
    shelves: HashMap<String, Shelf>,
}

/// Objects in the order of their keys, and whether they are all.
#[derive(Debug)]
pub(super) struct Page {
    /// The revision whose state this is.
    pub(super) revision: u64,
    pub(super) objects: Vec<Arc<Object>>,
    /// How many more objects the scope has after the last of these; selectors are not counted in.
    pub(super) remaining: usize,
}

/// Changes that a watch has not seen.
#[derive(Debug)]
pub(super) struct News {
    pub(super) changes: Vec<Arc<Change>>,
    /// The revision up to which these changes are all there are.
    pub(super) seen: u64,
}

impl Store {
    /// An empty store that remembers the newest `keep` changes of each storage.
    pub(super) fn new(keep: usize) -> Self {
        Store { revision: START, compacted: 0, keep, shelves: HashMap::new() }
    }

    /// The newest revision.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// The oldest revision whose state of `storage` can still be told.
    pub(super) fn floor(&self, storage: &str) -> u64 {
        self.shelves.get(storage).map_or(self.compacted, |shelf| shelf.floor)
    }

    /// Whether the state of `storage` at `revision` can still be told.
    pub(super) fn remembers(&self, storage: &str, revision: u64) -> bool {
        revision > START && revision >= self.floor(storage)
    }

    /// The present state of an object.
    pub(super) fn get(&self, storage: &str, key: &Key) -> Option<&Arc<Object>> {
        self.shelves.get(storage)?.objects.get(key)
    }

    /// Stores the state that `make` gives for the new revision, in place of whatever is there.
    pub(super) fn put(&mut self, storage: &str, make: impl FnOnce(u64) -> Object) -> Arc<Object> {
        self.revision += 1;
        let new = Arc::new(make(self.revision));
        let floor = self.compacted;
        let shelf = self.shelves.entry(storage.to_owned()).or_insert_with(|| Shelf::new(floor));
        let old = shelf.objects.get(&new.key).cloned();
        shelf.push(Arc::new(Change::new(self.revision, old, Some(Arc::clone(&new)))), self.keep);
        new
    }

    /// Removes an object, and answers its last state and the revision of the removal.
    pub(super) fn remove(&mut self, storage: &str, key: &Key) -> Option<(Arc<Object>, u64)> {
        let shelf = self.shelves.get_mut(storage)?;
        let old = Arc::clone(shelf.objects.get(key)?);
        self.revision += 1;
        shelf.push(Arc::new(Change::new(self.revision, Some(Arc::clone(&old)), None)), self.keep);
        Some((old, self.revision))
    }

    /// Forgets every change up to `revision`: watches and lists from before it are refused.
    pub(super) fn compact(&mut self, revision: u64) {
        let revision = revision.min(self.revision);
        self.compacted = self.compacted.max(revision);
        for shelf in self.shelves.values_mut() {
            shelf.compact(revision);
        }
    }

    /// The keys of everything in a storage.
    pub(super) fn keys(&self, storage: &str) -> Vec<Key> {
        self.shelves.get(storage).map(|shelf| shelf.objects.keys().cloned().collect()).unwrap_or_default()
    }

    /// Whether nothing is in a namespace.
    pub(super) fn is_vacant(&self, namespace: &str) -> bool {
        self.shelves.values().all(|shelf| within(&shelf.objects, Some(namespace), None).next().is_none())
    }

    /// The keys of everything in a namespace, by storage.
    pub(super) fn contents(&self, namespace: &str) -> Vec<(String, Key)> {
        let mut contents = Vec::new();
        for (storage, shelf) in &self.shelves {
            let keys =
                within(&shelf.objects, Some(namespace), None).map(|(key, _)| (storage.clone(), key.clone()));
            contents.extend(keys);
        }
        contents.sort();
        contents
    }

    /// The objects that `matches` takes, in the order of keys: those of a namespace or all, after a key or from the
    /// first, at most `limit`, at a revision that is [remembered](Store::remembers) or now.
    pub(super) fn page(
        &self,
        storage: &str,
        namespace: Option<&str>,
        at: Option<u64>,
        after: Option<&Key>,
        limit: usize,
        matches: impl Fn(&Object) -> bool,
    ) -> Page {
        let revision = at.unwrap_or(self.revision);
        let empty = BTreeMap::new();
        let shelf = self.shelves.get(storage);
        let objects = shelf.map_or(&empty, |shelf| &shelf.objects);
        let undone = match shelf {
            Some(shelf) if revision < self.revision => shelf.undone(revision),
            _ => BTreeMap::new(),
        };
        if undone.is_empty() {
            return take(within(objects, namespace, after).map(|(_, o)| o), limit, revision, matches);
        }
        // Something has changed since: the scope as it is, with those changes taken back.
        let mut then: BTreeMap<&Key, &Arc<Object>> = within(objects, namespace, after).collect();
        let mine = undone.into_iter().filter(|(key, _)| in_scope(key, namespace, after));
        for (key, old) in mine {
            match old {
                Some(old) => then.insert(key, old),
                None => then.remove(key),
            };
        }
        take(then.into_values(), limit, revision, matches)
    }

    /// The changes of `storage` after `revision`, at most `limit`. `None`: some of them are forgotten.
    pub(super) fn news(&self, storage: &str, revision: u64, limit: usize) -> Option<News> {
        let shelf = self.shelves.get(storage);
        if shelf.is_some_and(|shelf| revision < shelf.lost) {
            return None;
        }
        let changes: Vec<_> =
            shelf.into_iter().flat_map(|shelf| shelf.after(revision)).take(limit).cloned().collect();
        let seen = match changes.last() {
            Some(last) if changes.len() == limit => last.revision,
            _ => self.revision,
        };
        Some(News { changes, seen })
    }
}

fn in_scope(key: &Key, namespace: Option<&str>, after: Option<&Key>) -> bool {
    namespace.is_none_or(|namespace| key.namespace == namespace) && after.is_none_or(|after| key > after)
}

/// The entries of a namespace, or all, after a key.
fn within<'a>(
    objects: &'a BTreeMap<Key, Arc<Object>>,
    namespace: Option<&'a str>,
    after: Option<&Key>,
) -> impl Iterator<Item = (&'a Key, &'a Arc<Object>)> {
    let first = Key::new(namespace.unwrap_or_default(), "");
    let start = match after {
        Some(after) if *after >= first => Bound::Excluded(after.clone()),
        _ => Bound::Included(first),
    };
    let range = objects.range((start, Bound::Unbounded));
    range.take_while(move |(key, _)| namespace.is_none_or(|namespace| key.namespace == namespace))
}

fn take<'a>(
    objects: impl Iterator<Item = &'a Arc<Object>>,
    limit: usize,
    revision: u64,
    matches: impl Fn(&Object) -> bool,
) -> Page {
    let mut page = Page { revision, objects: Vec::new(), remaining: 0 };
    for object in objects {
        if page.objects.len() == limit {
            page.remaining += 1;
        } else if matches(object) {
            page.objects.push(Arc::clone(object));
        }
    }
    page
}
