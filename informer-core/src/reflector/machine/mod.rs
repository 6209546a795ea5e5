//! [`Machine`]: what the reflector asks for next (R, P, D6, D7). Pure: no thread, no clock, no I/O.
//!
//! The shell asks [`next`](Machine::next) for a step, carries it out, and tells the machine how it went: `list` has
//! what follows a list, `watch` what follows a watch. Nothing here looks at objects; versions are compared only as
//! safety nets.
//!
//! Invariant: what fails is repeated at once only a bounded number of times; then there is a delay.

mod list;
mod settings;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::backoff::{Backoff, Random};
use crate::error::{Error, ErrorKind};
use crate::list_watch::{ListRequest, WatchRequest};
use crate::reflector::NextStep;

pub(crate) use list::Page;
use settings::LONGEST_WAIT;
pub(crate) use settings::Settings;
pub(crate) use watch::{Ended, Watched};

/// What the shell does next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Read a page; `first` starts a new list.
    List { request: ListRequest, first: bool },
    /// Open a watch, or a streaming list.
    Watch(WatchRequest),
    /// List one object at `""`, only for the list's version (D7: has the server's history been replaced?).
    Probe(ListRequest),
    /// Wait, then ask again.
    Wait(Duration),
}

/// What becomes of a list, once its end has been read.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// There are further pages.
    More,
    /// It is complete: replace the store's content. `lowered`: the version went back (counted, logged).
    Accept { lowered: bool },
    /// It cannot be used: throw it away (F-29).
    Refuse(Error),
}

/// Whether something went wrong, and how long it is until the next request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Aftermath {
    /// What to report, if the shell has no error of its own.
    pub(crate) complaint: Option<(ErrorKind, &'static str)>,
    /// `None`: the next request goes out at once.
    pub(crate) delay: Option<Duration>,
}

enum Plan {
    /// List, one way or the other.
    List,
    Page(String),
    Watch,
    Probe,
}

/// See the module.
pub(crate) struct Machine {
    settings: Settings,
    backoff: Backoff,
    random: Random,
    plan: Plan,
    wait: Option<Duration>,
    /// Where a watch resumes.
    version: String,
    /// A list has been accepted.
    listed: bool,
    /// The server cannot serve at `version`: the next list asks for `""`.
    unavailable: bool,
    /// A watch from this version was answered 410 and brought nothing: it must not be watched again (F-26).
    expired: Option<String>,
    /// The version that the list under way asked for.
    asked: String,
    pages: Pages,
    stream: Streaming,
    watch: Watching,
}

/// What a paged list remembers.
#[derive(Default)]
struct Pages {
    /// The list's version, from the first page.
    version: Option<String>,
    /// Hashes of the tokens answered so far; none on the first page.
    tokens: HashSet<u64>,
    /// Hashes of the keys that the pages began with.
    firsts: HashSet<u64>,
    /// Pages without an item, in a row.
    empty: u32,
    restarts: u32,
    /// Its tokens expire before it is through: the next one is asked for without a limit.
    whole: bool,
    /// Lists at a version of their own that were answered 500, in a row.
    internal: u32,
    /// A list at `0` came in pages, so the server does not answer it from its cache.
    paginated: bool,
}

/// What is known of streaming lists.
struct Streaming {
    /// The settings and the source have nothing against them.
    possible: bool,
    /// The watch under way is a streaming list whose initial phase has not ended.
    under_way: bool,
    /// In a row.
    failures: u32,
    /// The fall-back to paged lists is remembered until then.
    barred_until: Option<Instant>,
    /// The next list is a paged one.
    skip: bool,
}

/// What is known of watches. Numbers count in a row.
#[derive(Default)]
struct Watching {
    /// Fruitless ones at `version`, and lists that did not help.
    fruitless: u32,
    fruitless_lists: u32,
    /// Ended in under a second, but with events.
    short: u32,
    /// Could not be opened.
    unopened: u32,
    /// Ended by the idle limit.
    expiries: u32,
    /// Without a sign of life for their full length; an outage counts as one.
    quiet: u32,
    /// How long those without a sign of life have lasted that ended before their time.
    quiet_for: Duration,
    bookmark_seen: bool,
    idle_raised: bool,
    /// Time-out asked of the watch under way.
    timeout: Duration,
}

impl Machine {
    pub(crate) fn new(settings: Settings, can_stream: bool, mut random: Random) -> Self {
        let (start, cap) = settings.backoff;
        Machine {
            backoff: Backoff::new(start, cap, Random::seeded(random.bits())),
            random,
            plan: Plan::List,
            wait: None,
            version: String::new(),
            listed: false,
            unavailable: false,
            expired: None,
            asked: String::new(),
            pages: Pages::default(),
            stream: Streaming {
                possible: settings.streaming && can_stream,
                under_way: false,
                failures: 0,
                barred_until: None,
                skip: false,
            },
            watch: Watching::default(),
            settings,
        }
    }

    /// The step to carry out now.
    pub(crate) fn next(&mut self, now: Instant) -> Step {
        if let Some(delay) = self.wait.take() {
            return Step::Wait(delay);
        }
        match std::mem::replace(&mut self.plan, Plan::List) {
            Plan::Page(token) => self.next_page(token),
            Plan::Watch => self.open_watch(false),
            Plan::Probe => Step::Probe(ListRequest { limit: Some(1), ..ListRequest::default() }),
            Plan::List if self.may_stream(now) => self.open_watch(true),
            Plan::List => self.first_page(),
        }
    }

    /// What comes after the wait, if there is one.
    pub(crate) fn next_step(&self) -> NextStep {
        match self.plan {
            Plan::Watch => NextStep::Watch,
            Plan::List | Plan::Page(_) | Plan::Probe => NextStep::List,
        }
    }

    /// The version a watch resumes from; empty before the first list.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Whether a list has been accepted.
    pub(crate) fn has_listed(&self) -> bool {
        self.listed
    }

    /// The shell itself failed, whatever it was doing: everything is listed again, after a delay (D18).
    pub(crate) fn crashed(&mut self) -> Aftermath {
        self.stream.under_way = false;
        self.retry_list(None)
    }

    fn retry_list(&mut self, retry_after: Option<Duration>) -> Aftermath {
        self.plan = Plan::List;
        self.pause(retry_after)
    }

    fn retry_watch(&mut self, retry_after: Option<Duration>) -> Aftermath {
        self.plan = Plan::Watch;
        self.pause(retry_after)
    }

    /// D6: the larger of the back-off and what the server asked for.
    fn pause(&mut self, retry_after: Option<Duration>) -> Aftermath {
        let delay = self.backoff.delay().max(retry_after.unwrap_or_default().min(LONGEST_WAIT));
        self.wait = Some(delay);
        Aftermath { complaint: None, delay: Some(delay) }
    }

    /// The most recent state, by a paged list, at once.
    fn list_afresh(&mut self) -> Aftermath {
        self.unavailable = true;
        self.stream.skip = true;
        self.plan = Plan::List;
        Aftermath::default()
    }
}

impl Aftermath {
    fn with(mut self, kind: ErrorKind, complaint: &'static str) -> Self {
        self.complaint = Some((kind, complaint));
        self
    }
}
