//! Waiting for a version: `wait_for`, `wait_until`, `wait_gone` (D1; the verdict order of the specification).
//!
//! [`Goal::verdict`] is pure. The shell computes it while holding the waiters' lock, taking the store's read lock
//! inside; the writer takes the waiters' lock only after its write section has ended. So no wake-up is lost and the
//! store's lock is never held when the waiters' lock is taken.

use std::time::Duration;

use super::Shared;
use super::table::{Change, Table};
use crate::error::{Error, ErrorKind, Result, Stage};
use crate::key::ObjectKey;
use crate::meta::Object;
use crate::time::deadline;
use crate::version;

/// What a waiter waits for.
#[derive(Clone, Debug)]
pub(crate) struct Goal {
    /// `None`: any object, only the version counts.
    key: Option<ObjectKey>,
    uid: String,
    /// `None`: the object is to be gone.
    resource_version: Option<String>,
}

/// The waiters of one store.
#[derive(Default)]
pub(crate) struct Waits {
    pub(crate) stopped: bool,
    next: u64,
    waiting: Vec<(u64, Goal)>,
}

#[derive(Debug, PartialEq)]
enum Verdict {
    Reached,
    Stopped,
    NotComparable,
    Unreadable,
    Wait,
}

impl Goal {
    pub(crate) fn object(key: ObjectKey, uid: &str, resource_version: &str) -> Self {
        Goal { key: Some(key), uid: uid.to_owned(), resource_version: Some(resource_version.to_owned()) }
    }

    pub(crate) fn version(resource_version: &str) -> Self {
        Goal { key: None, uid: String::new(), resource_version: Some(resource_version.to_owned()) }
    }

    pub(crate) fn gone(key: ObjectKey, uid: &str) -> Self {
        Goal { key: Some(key), uid: uid.to_owned(), resource_version: None }
    }

    /// The first match wins.
    fn verdict<T: Object>(&self, stopped: bool, table: &Table<T>, timeline: u64) -> Verdict {
        let stored = self.key.as_ref().and_then(|key| table.get(key.as_ref())).map(|object| object.meta());
        if stopped {
            return Verdict::Stopped;
        }
        let Some(wanted) = &self.resource_version else {
            let there = stored.is_some_and(|meta| meta.uid == self.uid);
            return if there { Verdict::Wait } else { Verdict::Reached };
        };
        if table.timeline != timeline {
            return Verdict::NotComparable;
        }
        if let Some(meta) = &stored
            && meta.uid == self.uid
            && reaches(meta.resource_version, wanted)
        {
            return Verdict::Reached;
        }
        if let Some(stale) = self.key.as_ref().and_then(|key| table.stale.get(key))
            && (stale.uid.is_empty() || stale.uid == self.uid)
            && (stale.resource_version.is_empty() || reaches(&stale.resource_version, wanted))
        {
            return Verdict::Unreadable;
        }
        if let Some(meta) = &stored
            && meta.uid != self.uid
            && version::below(wanted, meta.resource_version)
        {
            return Verdict::Reached; // replaced by a newer object
        }
        if reaches(&table.version, wanted) {
            return Verdict::Reached; // deleted, outside the selection, or folded away
        }
        if !version::is_comparable(wanted) {
            return Verdict::NotComparable;
        }
        Verdict::Wait
    }

    /// Whether a batch may have changed the verdict.
    fn touched_by<T>(&self, changes: &[Change<T>], stale: &[ObjectKey], at: &str) -> bool {
        let by_key = self
            .key
            .as_ref()
            .is_some_and(|key| changes.iter().any(|change| change.key == *key) || stale.contains(key));
        by_key || self.resource_version.as_ref().is_some_and(|wanted| reaches(at, wanted))
    }
}

/// Whether `version` is known to be `wanted` or later: the same text, or the greater of two numbers.
fn reaches(version: &str, wanted: &str) -> bool {
    (!wanted.is_empty() && version == wanted) || version::at_least(version, wanted)
}

impl Waits {
    /// Whether a batch concerns anybody who waits.
    pub(crate) fn concerned<T>(&self, changes: &[Change<T>], stale: &[ObjectKey], at: &str) -> bool {
        self.waiting.iter().any(|(_, goal)| goal.touched_by(changes, stale, at))
    }
}

impl<T: Object> Shared<T> {
    /// Waits for `goal`. See [`Store::wait_for`](super::Store::wait_for).
    pub(super) fn wait(&self, goal: &Goal, timeout: Duration) -> Result<()> {
        let until = deadline(&*self.clock, timeout);
        let timeline = self.table.read().timeline;
        let mut waits = self.waits.lock();
        let id = waits.next;
        waits.next += 1;
        waits.waiting.push((id, goal.clone()));
        let mut in_time = true;
        let outcome = loop {
            let verdict = goal.verdict(waits.stopped, &self.table.read(), timeline);
            match verdict {
                Verdict::Reached => break Ok(()),
                Verdict::Stopped => break Err(Error::stopped().context("wait for a version")),
                Verdict::NotComparable => {
                    break Err(
                        goal.error(ErrorKind::NotComparable, "cannot be compared with the store's version")
                    );
                }
                Verdict::Unreadable => {
                    break Err(goal.error(ErrorKind::Unreadable, "is there, but the object does not decode"));
                }
                Verdict::Wait if !in_time => {
                    let at = self.table.read().version.clone();
                    break Err(goal.error(
                        ErrorKind::TimedOut,
                        &format!("was not reached within {timeout:?}; the store is at {at:?}"),
                    ));
                }
                Verdict::Wait => in_time = self.waits.wait_until(&mut waits, &*self.clock, until),
            }
        };
        waits.waiting.retain(|(other, _)| *other != id);
        drop(waits);
        outcome.map_err(|error| error.at(Stage::Wait))
    }

    /// Ends every wait, now and later.
    pub(super) fn stop_waits(&self) {
        self.waits.lock().stopped = true;
        self.waits.notify_all();
    }

    /// Wakes those whom a batch concerns.
    pub(super) fn wake(&self, changes: &[Change<T>], stale: &[ObjectKey], at: &str, all: bool) {
        let waits = self.waits.lock();
        let concerned = all || waits.concerned(changes, stale, at);
        drop(waits);
        if concerned {
            self.waits.notify_all();
        }
    }
}

impl Goal {
    fn error(&self, kind: ErrorKind, what: &str) -> Error {
        let text = match (&self.key, &self.resource_version) {
            (Some(key), Some(version)) => format!("version {version:?} of {key} {what}"),
            (Some(key), None) => format!("the end of {key} {what}"),
            (None, version) => format!("version {:?} {what}", version.as_deref().unwrap_or_default()),
        };
        Error::new(kind, text)
    }
}

#[cfg(test)]
mod tests;
