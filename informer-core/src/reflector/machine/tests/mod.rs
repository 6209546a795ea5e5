//! The machine, statement by statement: scripts of requests and outcomes, and a property over random outcomes. Here is
//! what drives it.
//!
//! A script has one line a step, `request -> outcome`; `wait 2` is a delay in [2 s, 4 s). The back-off of these tests
//! doubles from 1 s to 32 s, so that a delay tells its step.

mod lists;
mod property;
mod streaming;
mod watches;

use std::time::{Duration, Instant};

use kube_core::Status;

use super::*;
use crate::key::KeyRef;
use crate::list_watch::ListEnd;
use crate::time::Clock as _;

/// A machine, driven by scripts.
struct Drive {
    machine: Machine,
    now: Instant,
    /// What the last outcome led to.
    after: Aftermath,
    refused: Option<Error>,
    lowered: bool,
    last_wait: Duration,
}

fn settings(streaming: bool) -> Settings {
    let backoff = (Duration::from_secs(1), Duration::from_secs(32));
    Settings { streaming, backoff, ..Settings::default() }
}

/// Lists by pages only.
fn paged() -> Drive {
    Drive::new(settings(false))
}

/// Streaming lists first.
fn streaming() -> Drive {
    Drive::new(settings(true))
}

/// By pages, synced at version 10, watching.
fn synced() -> Drive {
    let mut drive = paged();
    drive.run("LIST rv=0 limit=500 -> list 10");
    drive
}

impl Drive {
    fn new(settings: Settings) -> Self {
        Drive::seeded(settings, 1)
    }

    fn seeded(settings: Settings, seed: u64) -> Self {
        Drive {
            machine: Machine::new(settings, true, Random::seeded(seed)),
            now: crate::time::SystemClock.now(),
            after: Aftermath::default(),
            refused: None,
            lowered: false,
            last_wait: Duration::ZERO,
        }
    }

    #[track_caller]
    fn run(&mut self, script: &str) {
        let lines: Vec<&str> = script.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        for (at, line) in lines.iter().enumerate() {
            let (want, outcome) = line.split_once("->").map_or((*line, ""), |(a, b)| (a.trim(), b.trim()));
            let step = self.machine.next(self.now);
            let got = self.render(&step);
            assert_eq!(got, want, "line {} of the script:\n{}", at + 1, lines.join("\n"));
            // Without an outcome the request stays under way.
            if !outcome.is_empty() || matches!(step, Step::Wait(_)) {
                self.apply(&step, outcome);
            }
        }
    }

    /// The next request or wait, as text.
    fn render(&self, step: &Step) -> String {
        let list = |request: &ListRequest| {
            let mut text = match &request.continue_token {
                Some(token) => format!("LIST continue={token}"),
                None => format!("LIST rv={}", request.resource_version),
            };
            if let Some(limit) = request.limit {
                text += &format!(" limit={limit}");
            }
            text
        };
        match step {
            Step::List { request, .. } => list(request),
            Step::Probe(request) => format!("PROBE {}", list(request)),
            Step::Watch(request) => {
                let name = if request.initial_events { "STREAM" } else { "WATCH" };
                format!("{name} rv={}", request.resource_version)
            }
            Step::Wait(delay) => {
                let seconds = delay.as_secs();
                format!("wait {}", if seconds == 0 { 0 } else { 1 << seconds.ilog2() })
            }
        }
    }

    fn apply(&mut self, step: &Step, outcome: &str) {
        let words: Vec<&str> = outcome.split_whitespace().collect();
        match step {
            Step::Wait(delay) => {
                self.last_wait = *delay;
                self.now += *delay;
            }
            Step::List { .. } => self.listed(&words),
            Step::Probe(_) => match words[..] {
                ["list", version] => self.after = self.machine.probed(version),
                [error] => self.after = self.machine.probe_failed(&failure(error)),
                _ => panic!("no outcome of a probe: {outcome}"),
            },
            Step::Watch(request) => self.watched(request, &words),
        }
    }

    /// `list VERSION`, `page VERSION TOKEN`, or an error. `of a` is a page that begins with that key, `of nothing` one
    /// without items.
    fn listed(&mut self, words: &[&str]) {
        let first = words.get(4).copied().filter(|first| *first != "nothing");
        let items = usize::from(first.is_some() || words.len() < 5);
        let end = match *words {
            ["list"] => ListEnd::default(),
            ["list", version] => ListEnd { resource_version: version.to_owned(), continue_token: None },
            ["page", version, token] | ["page", version, token, "of", _] => {
                ListEnd { resource_version: version.to_owned(), continue_token: Some(token.to_owned()) }
            }
            [error] => {
                self.after = self.machine.list_failed(&failure(error));
                return;
            }
            _ => panic!("no outcome of a list: {words:?}"),
        };
        let first = first.map(|name| KeyRef { namespace: "", name });
        let (verdict, after) = self.machine.page(&Page { end: &end, items, first });
        self.after = after;
        self.judged(verdict);
    }

    fn judged(&mut self, verdict: Verdict) {
        self.lowered = matches!(verdict, Verdict::Accept { lowered: true });
        self.refused = match verdict {
            Verdict::Refuse(error) => Some(error),
            _ => None,
        };
    }

    /// `closed 5s`, `silent 90s`, `overdue 400s`, `refuse 410`, `error 500 5s`, `back`, `unidentified`, `late`, each with `events 3`,
    /// `bookmark` and `to 12`; a stream is `streamed 10` first; `headless` has not been opened, `head 5s` took
    /// so long to open.
    fn watched(&mut self, request: &WatchRequest, words: &[&str]) {
        let (mut lasted, mut head) = (Duration::ZERO, Duration::ZERO);
        let (mut events, mut bookmarks, mut opened, mut live) = (0, 0, true, !request.initial_events);
        let mut version = self.machine.version().to_owned();
        let mut error = None;
        let mut end = "closed";
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let mut argument = || words.next().unwrap();
            match word {
                "closed" | "silent" | "overdue" => {
                    end = word;
                    lasted = seconds(argument());
                }
                "refuse" => {
                    (end, opened) = (word, false);
                    error = Some(failure(argument()));
                }
                "error" => {
                    end = word;
                    error = Some(failure(argument()));
                    lasted = seconds(argument());
                }
                "full" => lasted = request.timeout,
                "back" | "unidentified" | "late" => end = word,
                "events" => events += argument().parse::<u64>().unwrap(),
                "bookmark" => (events, bookmarks) = (events + 1, bookmarks + 1),
                "to" => version = argument().to_owned(),
                "headless" => opened = false,
                "head" => head = seconds(argument()),
                "streamed" => {
                    version = argument().to_owned();
                    let verdict = self.machine.streamed(&version);
                    live = matches!(verdict, Verdict::Accept { .. });
                    end = if live { "closed" } else { "refused" };
                    self.judged(verdict);
                    events += 1;
                }
                _ => panic!("no outcome of a watch: {word}"),
            }
        }
        self.now += head + lasted;
        let ended = match (end, &error) {
            ("refuse", Some(error)) => Ended::NotOpened(error),
            ("error", Some(error)) => Ended::Error(error),
            ("silent", _) => Ended::Silent,
            ("overdue", _) => Ended::Overdue,
            ("back", _) => Ended::WentBack,
            ("unidentified", _) => Ended::Unidentified,
            ("late", _) => Ended::TooLong,
            ("refused", _) => Ended::Refused,
            _ => Ended::Closed,
        };
        let alive = if opened && live { lasted } else { Duration::ZERO };
        let lasted = head + lasted;
        let watch = Watched { ended, opened, lasted, alive, events, bookmarks, version: &version };
        self.after = self.machine.watched(&watch, self.now);
    }

    fn complaint(&self) -> Option<ErrorKind> {
        self.after.complaint.map(|(kind, _)| kind)
    }

    /// The outcome of the watch that was asked for by [`watch`](Drive::watch).
    fn run_watch(&mut self, outcome: &str) {
        let request = WatchRequest {
            resource_version: self.machine.version().to_owned(),
            initial_events: false,
            timeout: self.machine.watch.timeout,
            idle: Duration::ZERO,
        };
        let words: Vec<&str> = outcome.split_whitespace().collect();
        self.watched(&request, &words);
    }

    /// The watch that is asked for now.
    fn watch(&mut self) -> WatchRequest {
        match self.machine.next(self.now) {
            Step::Watch(request) => request,
            step => panic!("no watch: {step:?}"),
        }
    }
}

fn seconds(text: &str) -> Duration {
    Duration::from_secs_f64(text.trim_end_matches('s').parse().unwrap())
}

/// `410`, `too-large`, `refused`, …; `429+5` asks to wait 5 s.
fn failure(text: &str) -> Error {
    let (name, retry_after) = text.split_once('+').map_or((text, None), |(name, wait)| (name, Some(wait)));
    let error = match name {
        "too-large" => Error::new(ErrorKind::TooLargeVersion, name),
        "refused" => Error::new(ErrorKind::Refused, name),
        "network" => Error::new(ErrorKind::Network, name),
        "tls" => Error::new(ErrorKind::Tls, name),
        "decode" => Error::new(ErrorKind::Decode, name),
        "panic" => Error::new(ErrorKind::Panic, name),
        code => Error::from_status(Status::failure("no", "").with_code(code.parse().unwrap())),
    };
    match retry_after {
        Some(wait) => error.with_retry_after(Duration::from_secs(wait.parse().unwrap())),
        None => error,
    }
}
