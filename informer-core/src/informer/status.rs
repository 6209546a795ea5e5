//! [`Status`]: an informer seen from outside (D17, F-04).

use std::time::{Duration, Instant};

use super::dispatch::HandlerStatus;
use crate::error::{Error, ErrorKind};
use crate::key::ObjectKey;
use crate::reflector::{Heard, NextStep, Phase, Report};

/// A picture of an informer at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// What is informed about.
    pub name: String,
    /// What the reflector is doing.
    pub phase: Phase,
    /// Whether the store holds the first complete list.
    pub synced: bool,
    /// How many objects the store holds.
    pub objects: usize,
    /// The store's version.
    pub resource_version: String,
    /// How long ago the server was last heard: a page, an opened watch, an event, a bookmark.
    pub last_contact: Option<Duration>,
    /// The last failure, until a watch works again.
    pub last_error: Option<LastError>,
    /// Whether the resource is not served: its definition is absent or gone. Objects are kept.
    pub not_served: bool,
    /// Why there was a list after the first complete one, the last time: the kind of the failure that led to it;
    /// [`ErrorKind::NotComparable`] if the server's version went back.
    pub last_relist: Option<ErrorKind>,
    /// How many lists there were after the first complete one for each reason, in the order in which the reasons first
    /// came up.
    pub relists: Vec<(ErrorKind, u64)>,
    /// Entries between reader and pop thread.
    pub queued: usize,
    /// Above so many, entries of one object fold together; it holds for each handler's backlog too.
    pub queue_limit: usize,
    /// Entries folded away between reader and pop thread (D2).
    pub folded: u64,
    /// Objects whose newest state does not decode (D8).
    pub stale: Vec<ObjectKey>,
    /// Every handler.
    pub handlers: Vec<HandlerStatus>,
    /// How many handlers were moved to a thread of their own for being slow.
    pub promotions: u64,
    /// How often no thread could be had for that.
    pub failed_promotions: u64,
    /// What has happened so far.
    pub counters: Counters,
}

/// The last failure of an informer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LastError {
    /// What failed.
    pub error: Error,
    /// How many failures there have been in a row.
    pub consecutive: u32,
    /// How long ago it was.
    pub ago: Duration,
    /// What comes next.
    pub next: NextStep,
    /// How long it is until then; `None` once it is under way.
    pub next_attempt: Option<Duration>,
}

/// The last failure, by the clock.
#[derive(Debug)]
pub(super) struct Failed {
    error: Error,
    consecutive: u32,
    at: Instant,
    next: NextStep,
    /// When the next attempt is.
    until: Option<Instant>,
}

impl Failed {
    /// A failure that ends the informer.
    pub(super) fn last(error: Error, at: Instant) -> Self {
        Failed { error, consecutive: 1, at, next: NextStep::Nothing, until: None }
    }

    pub(super) fn seen(&self, now: Instant) -> LastError {
        LastError {
            error: self.error.clone(),
            consecutive: self.consecutive,
            ago: now.saturating_duration_since(self.at),
            next: self.next,
            next_attempt: self
                .until
                .and_then(|until| until.checked_duration_since(now))
                .filter(|wait| !wait.is_zero()),
        }
    }
}

/// What has happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Lists begun, streaming ones included.
    pub lists: u64,
    /// Of these, those after the first complete one.
    pub relists: u64,
    /// Watches begun, streaming lists included.
    pub watches: u64,
    /// Watches that ended in under 1 s with nothing.
    pub fruitless_watches: u64,
    /// Events read.
    pub events: u64,
    /// Bookmarks read.
    pub bookmarks: u64,
    /// Bytes of bodies read, decompressed; 0 with a source that has none.
    pub bytes: u64,
    /// Failures reported.
    pub errors: u64,
    /// Objects that could not be decoded, transformed or indexed.
    pub bad_objects: u64,
    /// Lists that lowered the version: the server's history was replaced.
    pub lowered: u64,
    /// Batches applied to the store.
    pub batches: u64,
    /// Objects set in the store or taken out of it.
    pub changes: u64,
    /// Panics of handlers, removed ones included.
    pub panics: u64,
}

/// What the reader thread keeps up to date.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) phase: Phase,
    pub(super) last_contact: Option<Instant>,
    pub(super) last_error: Option<Failed>,
    pub(super) counters: Counters,
    pub(super) last_relist: Option<ErrorKind>,
    pub(super) relists: Vec<(ErrorKind, u64)>,
    /// The server has answered with what was asked for since the last failure.
    answered: bool,
    /// Failures before the watch that is open, until it proves to work by telling something.
    overcome: u32,
    /// A bad object of the list under way, or of the watch after it, has been told in the log.
    bad_told: bool,
}

impl Progress {
    /// Takes in what was heard. Answers how many failures in a row are over now, if there were any.
    pub(super) fn heard(&mut self, what: Heard, now: Instant) -> u32 {
        let counters = &mut self.counters;
        match what {
            Heard::List { again } => {
                self.bad_told = false;
                counters.lists += 1;
                counters.relists += u64::from(again);
                return 0;
            }
            Heard::Watch => {
                counters.watches += 1;
                return 0;
            }
            Heard::Ended { fruitless } => {
                counters.fruitless_watches += u64::from(fruitless);
                return 0;
            }
            // Blank lines are no sign of life: what tells something is heard by itself.
            Heard::Bytes(bytes) => {
                counters.bytes += bytes;
                return 0;
            }
            // The objects that follow are told with the kind known to be served.
            Heard::Page | Heard::Opened => self.answered = true,
            Heard::Live => {
                if let Some(last) = self.last_error.take() {
                    self.overcome = last.consecutive;
                }
            }
            Heard::Event => counters.events += 1,
            Heard::Bookmark => counters.bookmarks += 1,
        }
        self.last_contact = Some(now);
        let proven = matches!(what, Heard::Event | Heard::Bookmark) && self.phase == Phase::Watching;
        if proven { std::mem::take(&mut self.overcome) } else { 0 }
    }

    /// There is another list after the first complete one.
    pub(super) fn relist(&mut self, why: ErrorKind) {
        self.last_relist = Some(why);
        match self.relists.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, times)) => *times += 1,
            None => self.relists.push((why, 1)),
        }
    }

    /// Whether the last that the server said is that it does not serve the kind.
    pub(super) fn not_served(&self) -> bool {
        !self.answered && self.last_error.as_ref().is_some_and(|last| last.error.is_not_found())
    }

    /// Takes in a failure. Answers whether it is a change of state, worth a line in the log. Of bad objects, which may
    /// be many, one a list is.
    pub(super) fn failed(&mut self, report: &Report<'_>, now: Instant) -> bool {
        self.counters.errors += 1;
        if report.consecutive == 0 {
            self.counters.bad_objects += 1;
            return !std::mem::replace(&mut self.bad_told, true);
        }
        let last = Failed {
            error: report.error.clone(),
            consecutive: report.consecutive,
            at: now,
            next: report.next,
            until: report.next_attempt.and_then(|wait| now.checked_add(wait)),
        };
        let before = self.last_error.replace(last);
        self.answered = false;
        self.overcome = 0;
        // That a kind is not served, or is again, is a change of state of its own (D17).
        let served = |error: &Error| !error.is_not_found();
        report.consecutive == 1 || before.is_some_and(|before| served(&before.error) != served(report.error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::time::{Clock as _, SystemClock};

    fn fail(progress: &mut Progress, kind: ErrorKind, consecutive: u32) -> bool {
        let error = Error::new(kind, "no");
        let report = Report { error: &error, consecutive, next_attempt: None, next: NextStep::List };
        progress.failed(&report, SystemClock.now())
    }

    #[test]
    fn d_17_a_failure_is_a_change_of_state_once() {
        let mut progress = Progress::default();
        assert!(fail(&mut progress, ErrorKind::Refused, 1));
        assert!(!fail(&mut progress, ErrorKind::Refused, 2));
        assert!(!fail(&mut progress, ErrorKind::Unavailable, 3));
        assert!(fail(&mut progress, ErrorKind::NotFound, 4), "the kind is not served any more");
        assert!(!fail(&mut progress, ErrorKind::NotFound, 5));
        assert!(fail(&mut progress, ErrorKind::Internal, 6));
    }

    #[test]
    fn d_17_bad_objects_are_told_once_a_list() {
        let now = SystemClock.now();
        let mut progress = Progress::default();
        progress.heard(Heard::List { again: false }, now);
        assert!(fail(&mut progress, ErrorKind::Decode, 0));
        assert!(!fail(&mut progress, ErrorKind::Decode, 0));
        progress.heard(Heard::List { again: true }, now);
        assert!(fail(&mut progress, ErrorKind::Decode, 0));
        assert_eq!((progress.counters.bad_objects, progress.counters.errors), (3, 3));
        assert!(progress.last_error.is_none(), "nothing has failed");
    }

    #[test]
    fn d_17_it_works_again_when_something_is_told_not_when_it_is_open() {
        let now = SystemClock.now();
        let mut progress = Progress { phase: Phase::Watching, ..Progress::default() };
        fail(&mut progress, ErrorKind::Gone, 1);
        fail(&mut progress, ErrorKind::Gone, 2);
        assert_eq!(progress.heard(Heard::Live, now), 0);
        assert!(progress.last_error.is_none());
        fail(&mut progress, ErrorKind::Gone, 3);
        assert_eq!(progress.heard(Heard::Live, now), 0);
        assert_eq!(progress.heard(Heard::Event, now), 3);
        assert_eq!(progress.heard(Heard::Event, now), 0, "told once");
    }

    /// A handler that is told of an object of that list must not find the kind unserved.
    #[test]
    fn dy_9_a_kind_is_served_from_the_answer_on_not_from_the_watch_after_it() {
        let now = SystemClock.now();
        for answer in [Heard::Page, Heard::Opened] {
            let mut progress = Progress::default();
            fail(&mut progress, ErrorKind::NotFound, 1);
            assert!(progress.not_served());
            progress.heard(answer, now);
            assert!(!progress.not_served());
            assert!(progress.last_error.is_some(), "until a watch works");
            fail(&mut progress, ErrorKind::NotFound, 2);
            assert!(progress.not_served());
        }
    }
}
