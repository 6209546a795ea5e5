//! What follows a watch or a streaming list (R-21 to, D6, D7, F-12, F-13, F-16).

use std::time::{Duration, Instant};

use super::settings::{FRUITLESS, HEALTHY, OPEN_ATTEMPTS, OVERDUE, QUIET, SHORT, STREAM_ATTEMPTS};
use super::{Aftermath, Machine, Plan, Step, Verdict, Watching};
use crate::error::{Error, ErrorKind};
use crate::list_watch::WatchRequest;

/// How a watch ended.
#[derive(Debug)]
pub(crate) enum Ended<'a> {
    /// The stream ended.
    Closed,
    /// Nothing came for the idle limit.
    Silent,
    /// Bytes came, but no event, for longer than the watch was to last.
    Overdue,
    /// An event below the version the watch started at (D7).
    WentBack,
    /// An event whose object's key cannot be read: its loss cannot be told, so everything is listed again (D8).
    Unidentified,
    /// The streaming list took too long.
    TooLong,
    /// The end of the streaming list came, but the list cannot be used.
    Refused,
    /// Opening it failed.
    NotOpened(&'a Error),
    /// The server sent an error, or something that is no event.
    Error(&'a Error),
}

/// What is known of a watch that has ended.
#[derive(Debug)]
pub(crate) struct Watched<'a> {
    pub(crate) ended: Ended<'a>,
    /// Whether the server accepted it.
    pub(crate) opened: bool,
    /// From before the request to the end (F-06).
    pub(crate) lasted: Duration,
    /// How long changes could come: without the time to open it and without the initial phase of a streaming list.
    pub(crate) alive: Duration,
    /// Events that counted, bookmarks among them.
    pub(crate) events: u64,
    /// Bookmarks that came while it was alive.
    pub(crate) bookmarks: u64,
    /// The version to resume from.
    pub(crate) version: &'a str,
}

impl Watched<'_> {
    /// Whether it worked for so long. Silence proves nothing: the connection may have been half open.
    pub(crate) fn worked_for(&self, time: Duration) -> bool {
        self.alive >= time && !(matches!(self.ended, Ended::Silent | Ended::Overdue) && self.events == 0)
    }

    /// Whether it worked at all.
    pub(crate) fn worked(&self) -> bool {
        self.worked_for(SHORT)
    }

    /// Whether it ended at once, be it after a head that took its time, unless that took so long that it alone keeps
    /// requests apart: a proxy may hold the head of a quiet watch for the whole of it (F-06).
    fn is_short(&self) -> bool {
        self.lasted < SHORT || self.alive < SHORT && self.lasted < HEALTHY
    }

    /// Whether it ended at once with nothing, counted from the request (F-06, F-12).
    pub(crate) fn is_fruitless(&self) -> bool {
        let ended = match self.ended {
            Ended::Closed | Ended::Silent => true,
            Ended::Error(error) => error.is_transport(),
            _ => false,
        };
        ended && self.lasted < SHORT && self.events == 0
    }
}

impl Machine {
    pub(super) fn may_stream(&mut self, now: Instant) -> bool {
        if self.stream.barred_until.is_some_and(|until| until <= now) {
            self.stream.barred_until = None;
            self.stream.failures = 0;
        }
        self.stream.possible && self.stream.barred_until.is_none() && !self.stream.skip
    }

    pub(super) fn open_watch(&mut self, initial_events: bool) -> Step {
        let (low, high) = self.settings.watch_timeout;
        let seconds = self.random.between(low.as_secs(), high.as_secs().max(low.as_secs()));
        let timeout = Duration::from_secs(seconds);
        self.watch.timeout = timeout;
        self.stream.under_way = initial_events;
        let resource_version = if initial_events {
            self.known_version()
        } else {
            self.version.clone()
        };
        if initial_events {
            self.asked.clone_from(&resource_version);
        }
        // The limit holds for the whole stream, so a streaming list has that of the watch it becomes.
        let idle =
            if self.watch.idle_raised { timeout + Duration::from_secs(30) } else { self.settings.idle };
        Step::Watch(WatchRequest { resource_version, initial_events, timeout, idle })
    }

    /// How long the initial phase of the streaming list under way may take; `None` if there is none.
    pub(crate) fn initial_phase(&self) -> Option<Duration> {
        self.stream.under_way.then_some(self.settings.initial_limit)
    }

    /// How long the watch under way may bring bytes but no event. The server was asked to end it before.
    pub(crate) fn patience(&self) -> Duration {
        self.watch.timeout + OVERDUE
    }

    /// The end bookmark of a streaming list has come.
    pub(crate) fn streamed(&mut self, version: &str) -> Verdict {
        let verdict = self.complete(version);
        if matches!(verdict, Verdict::Accept { .. }) {
            self.stream.under_way = false;
            self.stream.failures = 0;
        }
        verdict
    }

    /// A watch has ended.
    pub(crate) fn watched(&mut self, watch: &Watched<'_>, now: Instant) -> Aftermath {
        if self.stream.under_way {
            self.stream.under_way = false;
            self.plan = Plan::List;
            let after = self.stream_failed(watch);
            if self.stream.failures >= STREAM_ATTEMPTS && self.stream.barred_until.is_none() {
                self.stream.barred_until = now.checked_add(self.settings.fallback);
            }
            return after;
        }
        self.note(watch);
        let after = self.ended(watch);
        // a watch from "0" begins with what there is, and tells of no deletion before it. Without a version of its
        // own to resume from, only a list tells what is gone.
        if self.version == "0" && matches!(self.plan, Plan::Watch) {
            self.plan = Plan::List;
        }
        after
    }

    fn ended(&mut self, watch: &Watched<'_>) -> Aftermath {
        match watch.ended {
            _ if watch.is_fruitless() => self.fruitless(),
            Ended::Closed => self.closed(watch),
            Ended::Silent => self.silent(watch),
            Ended::Overdue => {
                self.plan = Plan::Watch;
                self.quiet(watch);
                Aftermath::default().with(
                    ErrorKind::Silent,
                    "bytes came but no event, and the server did not end the watch in time; the connection is given up",
                )
            }
            // D7: only the most recent state may lower the version.
            Ended::WentBack => {
                self.list_afresh();
                self.retry_list(None).with(
                    ErrorKind::NotComparable,
                    "the server sent an event older than the watch's start; listing afresh",
                )
            }
            Ended::Unidentified => self
                .retry_list(None)
                .with(ErrorKind::Decode, "an event's object has no readable key; listing afresh"),
            Ended::TooLong | Ended::Refused => self.retry_list(None), // only streaming lists are
            Ended::NotOpened(error) => self.not_opened(error, watch),
            // R-34, and W-2 should a source tell a broken connection so: the version is still good.
            Ended::Error(error) if error.is_transport() => {
                self.broken(watch);
                self.retry_watch(error.retry_after())
            }
            Ended::Error(error) if error.is_too_many_requests() => self.retry_watch(error.retry_after()),
            Ended::Error(error) => {
                self.note_gone(error, watch);
                self.retry_list(error.retry_after())
            }
        }
    }

    /// What every end of a watch says about the server.
    fn note(&mut self, watch: &Watched<'_>) {
        watch.version.clone_into(&mut self.version);
        if watch.worked_for(HEALTHY) {
            self.backoff.reset();
        }
        let seen = &mut self.watch;
        if watch.opened {
            seen.unopened = 0;
        }
        if watch.worked() {
            seen.fruitless = 0;
            seen.fruitless_lists = 0;
            seen.short = 0;
        }
        if watch.events > 0 {
            seen.forget_quiet();
        }
        if watch.bookmarks > 0 {
            seen.bookmark_seen = true;
            seen.idle_raised = false;
        }
        if !matches!(watch.ended, Ended::Silent) {
            seen.expiries = 0;
        }
    }

    fn fruitless(&mut self) -> Aftermath {
        self.plan = Plan::Watch;
        self.suspect();
        let seen = &mut self.watch;
        seen.fruitless += 1;
        if seen.fruitless >= FRUITLESS {
            seen.fruitless = 0;
            seen.fruitless_lists += 1;
            self.unavailable |= seen.fruitless_lists > 1; // F-12: a list at the version did not help
            self.plan = Plan::List;
        }
        self.pause(None).with(ErrorKind::Network, "the watch ended at once without an event")
    }

    fn closed(&mut self, watch: &Watched<'_>) -> Aftermath {
        self.plan = Plan::Watch;
        if watch.lasted + Duration::from_secs(5) >= self.watch.timeout {
            self.quiet(watch);
        } else {
            self.broken(watch);
        }
        if watch.is_short() {
            // F-13: neither events nor a slow head are a proof of health; the first time is free.
            self.watch.short += 1;
            if self.watch.short > 1 {
                if watch.events == 0 {
                    return self.fruitless();
                }
                self.watch.fruitless = 0;
                return self
                    .pause(None)
                    .with(ErrorKind::Network, "the watch ended within a second of its start, again");
            }
            return Aftermath::default();
        }
        self.watch.short = 0;
        self.watch.fruitless = 0;
        Aftermath::default()
    }

    /// A fresh connection at the same version; no list, no delay (D7).
    fn silent(&mut self, watch: &Watched<'_>) -> Aftermath {
        self.plan = Plan::Watch;
        let seen = &mut self.watch;
        seen.expiries += 1;
        if seen.expiries >= 2 && !seen.bookmark_seen {
            seen.idle_raised = true;
        }
        self.quiet(watch);
        if !watch.opened {
            self.count_unopened();
        }
        Aftermath::default()
            .with(ErrorKind::Silent, "nothing came for the idle limit; the connection is given up")
    }

    /// D7: not even a bookmark came for the watch's full length, be it by the server's limit or by ours. The server may
    /// be waiting for a version that its new history has not reached. Whether bookmarks ever came does not matter: a
    /// server may be replaced before its first one, and to a server that sends none a list of one object is no burden.
    fn quiet(&mut self, watch: &Watched<'_>) {
        if watch.events == 0 {
            self.watch.quiet += 1;
            if self.watch.quiet >= QUIET {
                self.plan = Plan::Probe;
            }
        }
    }

    /// D7: the watch ended before its time, so the server may have been restarted: as [`suspect`](Machine::suspect).
    /// Where each watch is cut early, by a proxy say, their silences add up to that of one that was not.
    fn broken(&mut self, watch: &Watched<'_>) {
        if watch.events == 0 {
            self.watch.quiet_for += watch.lasted;
            if self.watch.quiet_for >= self.watch.timeout {
                self.watch.quiet_for = Duration::ZERO;
                self.quiet(watch);
            }
        }
        self.suspect();
    }

    fn not_opened(&mut self, error: &Error, watch: &Watched<'_>) -> Aftermath {
        use ErrorKind::{Internal, Refused, ServerTimeout, TooManyRequests, Unavailable};
        let retry_after = error.retry_after();
        match error.kind() {
            TooManyRequests => return self.retry_watch(retry_after),
            Refused => {
                self.suspect();
                return self.retry_watch(retry_after);
            }
            Unavailable | ServerTimeout => {}
            Internal if retry_after.is_some() => {} // W-21
            _ if error.is_transport() => {}         // F-64
            _ => {
                self.note_gone(error, watch);
                return self.retry_list(retry_after);
            }
        }
        // The version may still be good, unless it is only watches that fail.
        self.suspect();
        self.plan = Plan::Watch;
        self.count_unopened();
        self.pause(retry_after)
    }

    /// D7: the server was gone, so another one may come back in its place: if that one is silent, once is enough.
    pub(super) fn suspect(&mut self) {
        self.watch.quiet = QUIET - 1;
    }

    fn count_unopened(&mut self) {
        self.watch.unopened += 1;
        if self.watch.unopened >= OPEN_ATTEMPTS {
            self.watch.unopened = 0;
            self.plan = Plan::List;
        }
    }

    fn note_gone(&mut self, error: &Error, watch: &Watched<'_>) {
        if error.is_gone() && watch.events == 0 {
            self.expired = Some(self.version.clone());
        }
    }

    /// A streaming list has ended before its end bookmark.
    fn stream_failed(&mut self, watch: &Watched<'_>) -> Aftermath {
        use ErrorKind::{
            BadRequest, Dns, Invalid, MethodNotAllowed, NotAcceptable, Refused, TooManyRequests,
            UnsupportedMediaType,
        };
        const EARLY: &str = "the streaming list ended before its end bookmark";
        const LATE: &str = "the end bookmark of the streaming list did not come in time; listing by pages";
        let error = match watch.ended {
            Ended::NotOpened(error) | Ended::Error(error) => error,
            Ended::Refused => {
                let after = self.refused();
                self.stream.skip = false; // this server can stream
                self.stream.failures += u32::from(after.delay.is_some());
                return after;
            }
            // The server does not know of the end bookmark, or is too slow with it (F-16): no second try.
            Ended::TooLong => {
                self.stream.failures = STREAM_ATTEMPTS;
                return self.pause(None).with(ErrorKind::TimedOut, LATE);
            }
            Ended::Silent | Ended::Overdue if watch.opened => {
                self.stream.failures = STREAM_ATTEMPTS;
                return self.pause(None).with(ErrorKind::Silent, LATE);
            }
            _ => {
                self.stream.failures += 1;
                return self.pause(None).with(ErrorKind::Network, EARLY);
            }
        };
        match error.kind() {
            // once more at "", at once.
            ErrorKind::Gone | ErrorKind::TooLargeVersion if !self.asked.is_empty() => {
                self.unavailable = true;
                Aftermath::default()
            }
            // R-51, R-54a: the server says that it does not know the parameters; remembered for a while.
            Invalid | BadRequest | MethodNotAllowed | NotAcceptable | UnsupportedMediaType => {
                self.stream.failures = STREAM_ATTEMPTS;
                Aftermath::default()
            }
            // The server is not to be had: that says nothing about streaming.
            Refused | Dns | TooManyRequests => self.pause(error.retry_after()),
            _ if error.is_transport() => {
                self.stream.failures += 1;
                self.pause(error.retry_after())
            }
            // One request a step: the next one is a paged list, in case only watching is refused.
            _ => {
                self.stream.skip = true;
                self.pause(error.retry_after())
            }
        }
    }
}

impl Watching {
    /// There was a sign of life.
    pub(super) fn forget_quiet(&mut self) {
        self.quiet = 0;
        self.quiet_for = Duration::ZERO;
    }
}
