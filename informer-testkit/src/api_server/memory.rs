//! How long the past is kept: a number of changes, an age, or until it is forgotten by hand.
//!
//! [`Memory`] is pure: it is told when what was written, and tells what has become too old.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::{ApiServer, ApiServerBuilder};

/// How many changes of a resource are kept where nobody says otherwise.
const CHANGES: usize = 10_000;

/// What is kept of the past.
#[derive(Clone, Copy, Debug)]
pub(super) struct History {
    /// How many changes of each resource.
    pub(super) changes: usize,
    /// For how long; `None`: for ever.
    pub(super) age: Option<Duration>,
}

impl Default for History {
    fn default() -> Self {
        History { changes: CHANGES, age: None }
    }
}

/// When the newest revisions were written.
#[derive(Debug)]
pub(super) struct Memory {
    age: Option<Duration>,
    /// Oldest first: when a revision was written. Empty where nothing grows too old.
    marks: VecDeque<(Instant, u64)>,
}

impl Memory {
    pub(super) fn new(age: Option<Duration>) -> Self {
        Memory { age, marks: VecDeque::new() }
    }

    /// Takes in that `revision` is written `now`.
    pub(super) fn mark(&mut self, now: impl FnOnce() -> Instant, revision: u64) {
        if self.age.is_some() {
            self.marks.push_back((now(), revision));
        }
    }

    /// The newest revision that has become too old at `now`, once.
    pub(super) fn forget(&mut self, now: Instant) -> Option<u64> {
        let age = self.age?;
        let mut forgotten = None;
        while let Some((_, revision)) =
            self.marks.pop_front_if(|(at, _)| now.saturating_duration_since(*at) >= age)
        {
            forgotten = Some(revision);
        }
        forgotten
    }
}

impl ApiServerBuilder {
    /// Keeps the newest `changes` changes of each resource, 10,000 where nothing is said: a watch or a list from
    /// before them is told that its version has expired (410).
    pub fn keep_changes(mut self, changes: usize) -> Self {
        self.history.changes = changes;
        self
    }

    /// Forgets every change once it is as old as `age`, by the clock of the server; for ever where nothing is said.
    ///
    /// ```
    /// use std::time::Duration;
    /// use informer_testkit::{ApiServer, ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let server = ApiServer::builder().clock(clock.clone()).keep_for(Duration::from_secs(300)).start()?;
    /// server.create("configmaps", serde_json::json!({ "metadata": { "name": "a" } }))?;
    /// clock.advance(Duration::from_secs(300));
    /// // From here on nobody can watch from a version before that object.
    /// assert_eq!(server.list("configmaps")?.len(), 1);
    /// # Ok::<(), informer_core::Error>(())
    /// ```
    pub fn keep_for(mut self, age: Duration) -> Self {
        self.history.age = Some(age);
        self
    }
}

impl ApiServer {
    /// Forgets every change so far, as a real server does every few minutes. What was, nobody can ask for any more:
    /// a watch or a list from a version before is told that it has expired (410), and so is the next page of a list.
    /// Objects stay, and so do watches that have seen everything.
    ///
    /// ```
    /// let server = informer_testkit::ApiServer::start()?;
    /// server.create("configmaps", serde_json::json!({ "metadata": { "name": "a" } }))?;
    /// server.compact();
    /// assert!(server.get("configmaps", "default/a").is_ok());
    /// # Ok::<(), informer_core::Error>(())
    /// ```
    pub fn compact(&self) {
        self.engine.compact();
    }
}

#[cfg(test)]
mod tests {
    use informer_core::{Clock as _, SystemClock};

    use super::*;

    #[test]
    fn what_is_old_enough_is_forgotten_once() {
        let start = SystemClock.now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut memory = Memory::new(Some(Duration::from_secs(10)));
        memory.mark(|| start, 2);
        memory.mark(|| start, 3);
        memory.mark(|| after(5), 8);
        assert_eq!(memory.forget(after(9)), None);
        assert_eq!(memory.forget(after(10)), Some(3));
        assert_eq!(memory.forget(after(14)), None);
        assert_eq!(memory.forget(after(99)), Some(8));
        assert_eq!(memory.forget(after(999)), None);
        let mut for_ever = Memory::new(None);
        for_ever.mark(|| start, 3);
        assert_eq!(for_ever.forget(after(9_999_999)), None);
    }
}
