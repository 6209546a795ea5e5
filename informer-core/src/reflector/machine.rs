//! [`Machine`]: what the reflector asks for next (R, P, D6, D7). Pure: no thread, no clock, no I/O.
//!
//! The shell asks [`next`](Machine::next) for a step, carries it out, and tells the machine how it went. Nothing
//! here looks at objects; versions are compared only as safety nets.

use std::time::{Duration, Instant};

use crate::backoff::{Backoff, Random};
use crate::error::{Error, ErrorKind};
use crate::list_watch::{ListEnd, ListRequest, WatchRequest};
use crate::version;

/// A watch shorter than this that brought nothing is fruitless.
const SHORT: Duration = Duration::from_secs(1);
/// A stream alive for this long proves health: the back-off starts again.
const HEALTHY: Duration = Duration::from_secs(30);
/// Fruitless watches at one version before a list is forced (F-12).
const FRUITLESS: u32 = 3;
/// Streaming lists that fail in a row before the paged list takes over.
const STREAM_ATTEMPTS: u32 = 3;
/// Fresh starts of a paged list whose continue token expired, before it counts as failed.
const PAGE_RESTARTS: u32 = 3;
/// The most a server may make us wait.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// Settings of a reflector, all with client-go's defaults.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Whether streaming lists are tried first.
    pub(crate) streaming: bool,
    /// `limit` of every list, if set.
    pub(crate) page_size: Option<u32>,
    /// `timeoutSeconds` is uniform between these.
    pub(crate) watch_timeout: (Duration, Duration),
    /// Silence that ends a watch.
    pub(crate) idle: Duration,
    /// Silence that ends the initial phase of a streaming list.
    pub(crate) initial_idle: Duration,
    /// How long a streaming list may take in all.
    pub(crate) initial_limit: Duration,
    /// How long a fall-back to paged lists is remembered.
    pub(crate) fallback: Duration,
    pub(crate) backoff: (Duration, Duration),
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            streaming: true,
            page_size: None,
            watch_timeout: (Duration::from_secs(300), Duration::from_secs(600)),
            idle: Duration::from_secs(90),
            initial_idle: Duration::from_secs(30),
            initial_limit: Duration::from_secs(120),
            fallback: Duration::from_secs(600),
            backoff: (Duration::from_millis(800), Duration::from_secs(30)),
        }
    }
}

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

/// What becomes of a list that has been read to its end.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// There are further pages.
    More,
    /// It is complete: replace the store's content. `lowered`: the version went back (counted, logged).
    Accept { lowered: bool },
    /// It is older than what we have: throw it away (F-29).
    Refuse(Error),
}

/// How a watch ended.
#[derive(Debug)]
pub(crate) enum Ended<'a> {
    /// The stream ended.
    Closed,
    /// Nothing came for the idle limit.
    Silent,
    /// An event below the version the watch started at (D7).
    WentBack,
    /// An event whose object's key cannot be read: its loss cannot be told, so everything is listed again (D8).
    Unidentified,
    /// The streaming list took too long.
    TooLong,
    /// Opening it failed.
    NotOpened(&'a Error),
    /// The server sent an error, or something that is no event.
    Error(&'a Error),
}

/// What is known of a watch that has ended.
#[derive(Debug)]
pub(crate) struct Watched<'a> {
    pub(crate) ended: Ended<'a>,
    /// From before the request to the end.
    pub(crate) lasted: Duration,
    /// Events that counted, bookmarks among them.
    pub(crate) events: u64,
    pub(crate) bookmarks: u64,
    /// The version to resume from.
    pub(crate) version: &'a str,
}

/// Whether something went wrong, and how long it is until the next request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aftermath {
    /// What to report, if the shell has no error of its own.
    pub(crate) complaint: Option<&'static str>,
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
    /// The version the list under way asked for.
    asked: String,
    /// Its version, from the first page.
    list_version: Option<String>,
    last_token: String,
    restarts: u32,
    /// A list at `0` came in pages, so the server does not answer it from its cache.
    paginated: bool,
    can_stream: bool,
    /// The watch under way is a streaming list whose initial phase has not ended.
    streaming: bool,
    stream_failures: u32,
    no_stream_until: Option<Instant>,
    plain_next: bool,
    /// Fruitless watches in a row at `version`; lists that did not help.
    fruitless: u32,
    fruitless_lists: u32,
    short_streams: u32,
    expiries: u32,
    bookmark_seen: bool,
    idle_raised: bool,
    quiet_watches: u32,
    /// Time-out asked of the watch under way.
    timeout: Duration,
}

impl Machine {
    pub(crate) fn new(settings: Settings, can_stream: bool, mut random: Random) -> Self {
        let (start, cap) = settings.backoff;
        Machine {
            backoff: Backoff::new(start, cap, Random::seeded(random.bits())),
            settings,
            random,
            plan: Plan::List,
            wait: None,
            version: String::new(),
            listed: false,
            unavailable: false,
            asked: String::new(),
            list_version: None,
            last_token: String::new(),
            restarts: 0,
            paginated: false,
            can_stream,
            streaming: false,
            stream_failures: 0,
            no_stream_until: None,
            plain_next: false,
            fruitless: 0,
            fruitless_lists: 0,
            short_streams: 0,
            expiries: 0,
            bookmark_seen: false,
            idle_raised: false,
            quiet_watches: 0,
            timeout: Duration::ZERO,
        }
    }

    /// The step to carry out now.
    pub(crate) fn next(&mut self, now: Instant) -> Step {
        if let Some(delay) = self.wait.take() {
            return Step::Wait(delay);
        }
        match std::mem::replace(&mut self.plan, Plan::List) {
            Plan::Page(token) => {
                // P-2: a continuation carries neither version nor match.
                let limit = self.limit();
                Step::List {
                    request: ListRequest {
                        resource_version: String::new(),
                        limit,
                        continue_token: Some(token),
                    },
                    first: false,
                }
            }
            Plan::Watch => self.watch(false),
            Plan::Probe => Step::Probe(ListRequest { limit: Some(1), ..ListRequest::default() }),
            Plan::List if self.may_stream(now) => self.watch(true),
            Plan::List => {
                self.plain_next = false;
                self.asked = self.list_at();
                self.list_version = None;
                self.last_token.clear();
                Step::List {
                    request: ListRequest {
                        resource_version: self.asked.clone(),
                        limit: self.limit(),
                        continue_token: None,
                    },
                    first: true,
                }
            }
        }
    }

    /// Whether the watch under way is in the initial phase of a streaming list; and how long that may take.
    pub(crate) fn initial_phase(&self) -> Option<Duration> {
        self.streaming.then_some(self.settings.initial_limit)
    }

    fn may_stream(&mut self, now: Instant) -> bool {
        if self.no_stream_until.is_some_and(|until| until <= now) {
            self.no_stream_until = None;
            self.stream_failures = 0;
        }
        self.settings.streaming && self.can_stream && self.no_stream_until.is_none() && !self.plain_next
    }

    fn list_at(&self) -> String {
        if self.unavailable {
            String::new()
        } else if self.version.is_empty() {
            "0".to_owned()
        } else {
            self.version.clone()
        }
    }

    fn limit(&self) -> Option<u32> {
        let cached = !self.asked.is_empty() && self.asked != "0";
        match self.settings.page_size {
            Some(size) => Some(size),
            None if cached && !self.paginated => None,
            None => Some(500),
        }
    }

    fn watch(&mut self, initial_events: bool) -> Step {
        let (low, high) = self.settings.watch_timeout;
        let seconds = self.random.between(low.as_secs(), high.as_secs().max(low.as_secs()));
        self.timeout = Duration::from_secs(seconds);
        self.streaming = initial_events;
        let resource_version =
            if initial_events && self.unavailable { String::new() } else { self.version.clone() };
        self.asked.clone_from(&resource_version);
        let idle = if initial_events {
            self.settings.initial_idle
        } else if self.idle_raised {
            self.timeout + Duration::from_secs(30)
        } else {
            self.settings.idle
        };
        Step::Watch(WatchRequest { resource_version, initial_events, timeout: self.timeout, idle })
    }

    /// A page has been read whole. `identified`: the key of every item could be read.
    pub(crate) fn page(&mut self, end: &ListEnd, identified: bool) -> Verdict {
        let version = self.list_version.get_or_insert_with(|| end.resource_version.clone()).clone(); // P-3
        match &end.continue_token {
            Some(token) if *token == self.last_token => {
                self.retry_list(None);
                return Verdict::Refuse(Error::new(
                    ErrorKind::Decode,
                    "the server answered the same continue token twice; the list would never end",
                ));
            }
            Some(token) => {
                self.paginated |= self.asked == "0";
                self.last_token.clone_from(token);
                self.plan = Plan::Page(token.clone());
                return Verdict::More;
            }
            None => {}
        }
        self.restarts = 0;
        let verdict = self.judge(&version);
        if matches!(verdict, Verdict::Accept { .. }) {
            self.accept(version);
            if !identified {
                // D8: what the list lacks may still be there; it is asked for again, at the back-off's pace.
                self.retry_list(None);
            }
        }
        verdict
    }

    /// The end bookmark of a streaming list has come.
    pub(crate) fn streamed(&mut self, version: &str) -> Verdict {
        let verdict = self.judge(version);
        if matches!(verdict, Verdict::Accept { .. }) {
            self.accept(version.to_owned());
            self.streaming = false;
            self.stream_failures = 0;
        }
        verdict
    }

    /// F-29: only a list at `""` may lower the version.
    fn judge(&mut self, version: &str) -> Verdict {
        let lowered = version::below(version, &self.version);
        if lowered && !self.asked.is_empty() {
            let error = Error::new(
                ErrorKind::NotComparable,
                format!(
                    "the server answered version {version}, older than {} which this cache has; asking for the most recent state",
                    self.version
                ),
            );
            self.unavailable = true;
            self.plan = Plan::List;
            return Verdict::Refuse(error);
        }
        Verdict::Accept { lowered }
    }

    fn accept(&mut self, version: String) {
        self.fruitless_lists = if self.version == version { self.fruitless_lists } else { 0 };
        self.version = version;
        self.listed = true;
        self.unavailable = false;
        self.fruitless = 0;
        self.plan = Plan::Watch;
    }

    /// A list, or a page of one, has failed.
    pub(crate) fn list_failed(&mut self, error: &Error) -> Aftermath {
        let continued = !self.last_token.is_empty();
        if error.is_gone() && continued {
            // D6: start afresh, bounded; the inconsistent token is never used.
            self.restarts += 1;
            if self.restarts <= PAGE_RESTARTS {
                self.plan = Plan::List;
                self.plain_next = true;
                return Aftermath { complaint: None, delay: None };
            }
        } else if (error.is_gone() || error.is_too_large_version()) && !self.asked.is_empty() {
            self.unavailable = true; // once more at "", at once
            self.plan = Plan::List;
            self.plain_next = true;
            return Aftermath { complaint: None, delay: None };
        }
        self.restarts = 0;
        self.retry_list(error.retry_after())
    }

    fn retry_list(&mut self, retry_after: Option<Duration>) -> Aftermath {
        self.plan = Plan::List;
        self.pause(retry_after)
    }

    fn retry_watch(&mut self, retry_after: Option<Duration>) -> Aftermath {
        self.plan = Plan::Watch;
        self.pause(retry_after)
    }

    fn pause(&mut self, retry_after: Option<Duration>) -> Aftermath {
        let delay = self.backoff.delay().max(retry_after.unwrap_or_default().min(LONGEST_WAIT));
        self.wait = Some(delay);
        Aftermath { complaint: None, delay: Some(delay) }
    }

    /// The probe has answered with the version of the server's present state.
    pub(crate) fn probed(&mut self, version: Option<&str>) {
        self.quiet_watches = 0;
        self.plan = Plan::Watch;
        if version.is_some_and(|version| version::below(version, &self.version)) {
            self.unavailable = true;
            self.plan = Plan::List;
            self.plain_next = true;
        }
    }

    /// A watch has ended.
    pub(crate) fn watched(&mut self, watch: &Watched<'_>) -> Aftermath {
        if watch.lasted >= HEALTHY && (watch.events > 0 || !self.streaming) {
            self.backoff.reset();
        }
        if self.streaming {
            return self.stream_failed(watch);
        }
        watch.version.clone_into(&mut self.version);
        if watch.bookmarks > 0 {
            self.bookmark_seen = true;
            self.idle_raised = false;
        }
        if !matches!(watch.ended, Ended::Silent) {
            self.expiries = 0;
        }
        match watch.ended {
            Ended::Closed => self.closed(watch),
            Ended::Silent => {
                // A fresh connection at the same version; no list, no delay.
                self.expiries += 1;
                if self.expiries >= 2 && !self.bookmark_seen {
                    self.idle_raised = true;
                }
                self.plan = Plan::Watch;
                Aftermath {
                    complaint: Some("nothing came for the idle limit; the connection is given up"),
                    delay: None,
                }
            }
            Ended::WentBack => {
                self.unavailable = true;
                self.plan = Plan::List;
                self.plain_next = true;
                let mut after = self.pause(None);
                after.complaint =
                    Some("the server sent an event older than the watch's start; listing afresh");
                after
            }
            Ended::Unidentified => {
                let mut after = self.retry_list(None);
                after.complaint = Some("an event's object has no readable key; listing afresh");
                after
            }
            Ended::TooLong => self.retry_list(None), // only streaming lists are too long
            Ended::NotOpened(error) => {
                use ErrorKind::{ServerTimeout, TooManyRequests, Unavailable};
                let busy = matches!(error.kind(), TooManyRequests | Unavailable | ServerTimeout);
                if busy
                    || error.is_transport()
                    || (error.retry_after().is_some() && !error.is_too_large_version())
                {
                    self.retry_watch(error.retry_after()) // F-64: the version may still be good
                } else {
                    self.retry_list(error.retry_after())
                }
            }
            Ended::Error(error) if error.is_too_many_requests() => self.retry_watch(error.retry_after()),
            Ended::Error(error) => self.retry_list(error.retry_after()),
        }
    }

    fn closed(&mut self, watch: &Watched<'_>) -> Aftermath {
        self.plan = Plan::Watch;
        if watch.lasted < SHORT && watch.events == 0 {
            self.fruitless += 1;
            if self.fruitless >= FRUITLESS {
                self.fruitless = 0;
                self.fruitless_lists += 1;
                self.unavailable |= self.fruitless_lists > 1; // F-12: a list at the version did not help
                self.plan = Plan::List;
            }
            let mut after = self.pause(None);
            after.complaint = Some("the watch ended at once without an event");
            return after;
        }
        self.fruitless = 0;
        if watch.lasted < SHORT {
            // F-13: events alone are no proof of health; the first time is free.
            self.short_streams += 1;
            if self.short_streams > 1 {
                return self.pause(None);
            }
            return Aftermath { complaint: None, delay: None };
        }
        self.short_streams = 0;
        // D7: a full-length watch in which not even a bookmark came, though they used to.
        let full = watch.lasted + Duration::from_secs(5) >= self.timeout;
        if full && watch.events == 0 && self.bookmark_seen {
            self.quiet_watches += 1;
            if self.quiet_watches >= 2 {
                self.plan = Plan::Probe;
            }
        } else {
            self.quiet_watches = 0;
        }
        Aftermath { complaint: None, delay: None }
    }

    /// A streaming list has ended before its end bookmark.
    fn stream_failed(&mut self, watch: &Watched<'_>) -> Aftermath {
        use ErrorKind::{
            BadRequest, Dns, Invalid, MethodNotAllowed, NotAcceptable, Refused, TooManyRequests,
            UnsupportedMediaType,
        };
        self.streaming = false;
        self.plan = Plan::List;
        let error = match watch.ended {
            Ended::NotOpened(error) | Ended::Error(error) => error,
            _ => {
                let mut after = self.stream_failure(None);
                after.complaint = Some("the streaming list ended before its end bookmark");
                return after;
            }
        };
        match error.kind() {
            // once more at "", at once.
            ErrorKind::Gone | ErrorKind::TooLargeVersion if !self.asked.is_empty() => {
                self.unavailable = true;
                Aftermath { complaint: None, delay: None }
            }
            // R-51, R-54a: the server says that it does not know the parameters; remembered for a while.
            Invalid | BadRequest | MethodNotAllowed | NotAcceptable | UnsupportedMediaType => {
                self.stream_failures = STREAM_ATTEMPTS;
                Aftermath { complaint: None, delay: None }
            }
            // The server is not to be had: that says nothing about streaming.
            Refused | Dns | TooManyRequests => self.pause(error.retry_after()),
            _ if error.is_transport() => self.stream_failure(error.retry_after()),
            // One request a step: the next one is a plain list, in case only watching is refused.
            _ => {
                self.plain_next = true;
                self.pause(error.retry_after())
            }
        }
    }

    fn stream_failure(&mut self, retry_after: Option<Duration>) -> Aftermath {
        self.stream_failures += 1;
        self.pause(retry_after)
    }

    /// Called with the time after each streaming attempt, so that a fall-back can be remembered.
    pub(crate) fn settle(&mut self, now: Instant) {
        if self.stream_failures >= STREAM_ATTEMPTS && self.no_stream_until.is_none() {
            self.no_stream_until = now.checked_add(self.settings.fallback);
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
}
