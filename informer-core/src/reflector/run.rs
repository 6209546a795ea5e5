//! [`Reflector`]: carries out what the [`Machine`] decides, on the reader thread, until it is stopped.
//!
//! Invariant: only the stop signal ends it. Whatever panics, the source or user code, is one more failure (D18).

use std::sync::Arc;
use std::time::Duration;

use super::machine::{Ended, Machine, Page, Settings, Step, Verdict, Watched};
use super::sink::{PageSink, Pages, Stream, Transform, Why};
use super::{Heard, Phase, Report, Target};
use crate::backoff::Random;
use crate::contain::{contain, discard};
use crate::error::{Error, ErrorKind, Result, Stage};
use crate::key::KeyRef;
use crate::list_watch::{BadObject, ListRequest, ListSink, ListWatch, WatchEnd, WatchRequest};
use crate::meta::Object;
use crate::stop::Stop;
use crate::time::Clock;

/// See the module.
pub(crate) struct Reflector<T> {
    pub(crate) source: Arc<dyn ListWatch<T>>,
    pub(crate) settings: Settings,
    pub(crate) random: Random,
    pub(crate) transform: Option<Arc<Transform<T>>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) stop: Stop,
}

impl<T: Object> Reflector<T> {
    /// Lists and watches until stopped.
    pub(crate) fn run(self, target: &mut dyn Target<T>) {
        let name = contain(|| self.source.name()).unwrap_or_default();
        let can_stream = contain(|| self.source.can_stream()).unwrap_or(false);
        let mut run = Run {
            machine: Machine::new(self.settings.clone(), can_stream, self.random.clone()),
            pages: Pages::default(),
            failures: 0,
            name: &name,
            reflector: &self,
            target,
        };
        while !self.stop.is_set() {
            if let Err(error) = guarded(&name, || run.step()) {
                let after = run.machine.crashed();
                run.fail(&error, after.delay);
            }
        }
        run.target.phase(Phase::Stopped);
        self.discard();
    }

    /// Drops what is the user's piece by piece, so that of several destructors that panic each is caught.
    pub(crate) fn discard(self) {
        discard(self.source);
        discard(self.transform);
        discard(self.clock);
    }
}

/// What one run of a reflector goes by.
struct Run<'a, T> {
    reflector: &'a Reflector<T>,
    name: &'a str,
    machine: Machine,
    /// The pages read so far of the list under way.
    pages: Pages<T>,
    /// How many failures there have been since a watch last worked.
    failures: u32,
    target: &'a mut dyn Target<T>,
}

impl<T: Object> Run<'_, T> {
    fn step(&mut self) -> Result<()> {
        let clock = &*self.reflector.clock;
        match self.machine.next(clock.now()) {
            Step::Wait(delay) => {
                self.target.phase(Phase::Waiting);
                let until = clock.now().checked_add(delay);
                self.reflector.stop.wait_until(clock, until);
            }
            Step::List { request, first } => {
                if first {
                    self.pages = Pages::default();
                    self.begin_list();
                }
                self.pages.begin_page();
                self.list(&request);
            }
            Step::Probe(request) => self.probe(&request),
            Step::Watch(request) => {
                if request.initial_events {
                    self.begin_list();
                } else {
                    self.target.phase(Phase::Watching);
                }
                self.target.heard(Heard::Watch);
                self.watch(&request);
            }
        }
        Ok(())
    }

    fn begin_list(&mut self) {
        self.target.phase(Phase::Listing);
        self.target.heard(Heard::List { again: self.machine.has_listed() });
    }

    fn list(&mut self, request: &ListRequest) {
        let Reflector { source, stop, transform, .. } = self.reflector;
        let mut sink =
            PageSink { pages: &mut self.pages, target: self.target, transform: transform.as_deref() };
        let end = guarded(self.name, || source.list(request, stop, &mut sink));
        if stop.is_set() {
            return;
        }
        let end = match end {
            Ok(end) => end,
            Err(error) => {
                let after = self.machine.list_failed(&error);
                return self.fail(&error.at(Stage::List), after.delay);
            }
        };
        self.target.heard(Heard::Page);
        let initial = !self.machine.has_listed();
        let (items, first) = self.pages.page();
        let (verdict, after) = self.machine.page(&Page { end: &end, items, first });
        match verdict {
            Verdict::More => {}
            Verdict::Accept { lowered } => {
                let pages = std::mem::take(&mut self.pages);
                let identified = pages.identified();
                let version = self.machine.version().to_owned();
                self.target.replace(pages.into_list(version, lowered, initial));
                if !identified {
                    let after = self.machine.incomplete();
                    if let Some((kind, text)) = after.complaint {
                        self.fail(&Error::new(kind, text).at(Stage::List), after.delay);
                    }
                }
            }
            Verdict::Refuse(error) => self.fail(&error, after.delay),
        }
    }

    fn probe(&mut self, request: &ListRequest) {
        let Reflector { source, stop, .. } = self.reflector;
        let end = guarded(self.name, || source.list(request, stop, &mut Ignore));
        if stop.is_set() {
            return;
        }
        match end {
            Ok(end) => {
                self.target.heard(Heard::Page);
                let after = self.machine.probed(&end.resource_version);
                if let Some((kind, text)) = after.complaint {
                    self.fail(&Error::new(kind, text).at(Stage::List), after.delay);
                }
            }
            Err(error) => {
                let after = self.machine.probe_failed(&error);
                self.fail(&error.at(Stage::List), after.delay);
            }
        }
    }

    fn watch(&mut self, request: &WatchRequest) {
        let Reflector { source, stop, transform, clock, .. } = self.reflector;
        let clock = &**clock;
        let started = clock.now(); // before the request is sent (F-06)
        let mut sink = Stream::new(
            self.target,
            transform.as_deref(),
            &mut self.machine,
            clock,
            &request.resource_version,
        );
        let end = guarded(self.name, || source.watch(request, stop, &mut sink));
        let told = sink.told();
        if stop.is_set() {
            return;
        }
        let stage = if told.opened { Stage::Watch } else { Stage::WatchOpen };
        let end = match told.refused {
            Some(refused) => Err(refused),
            None => end,
        }
        .map_err(|error| error.at(stage));
        let ended = match (&end, told.why) {
            (_, Some(Why::WentBack)) => Ended::WentBack,
            (_, Some(Why::Unidentified)) => Ended::Unidentified,
            (_, Some(Why::TooLong)) => Ended::TooLong,
            (_, Some(Why::Overdue)) => Ended::Overdue,
            (_, Some(Why::Refused)) => Ended::Refused,
            (Ok(WatchEnd::Silent), None) => Ended::Silent,
            (Ok(WatchEnd::Closed | WatchEnd::Ended), None) => Ended::Closed,
            (Err(error), None) if error.stage() == Some(Stage::WatchOpen) => Ended::NotOpened(error),
            (Err(error), None) => Ended::Error(error),
        };
        let now = clock.now();
        let watched = Watched {
            ended,
            opened: told.opened,
            lasted: now.saturating_duration_since(started),
            alive: told.live_since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since)),
            events: told.events,
            bookmarks: told.bookmarks,
            version: &told.resume,
        };
        let (worked, fruitless) = (watched.worked(), watched.is_fruitless());
        let after = self.machine.watched(&watched, now);
        if worked {
            self.failures = 0;
        }
        self.target.heard(Heard::Ended { fruitless });
        match (end, after.complaint) {
            (Err(error), _) => self.fail(&error, after.delay),
            (Ok(_), Some((kind, text))) => self.fail(&Error::new(kind, text).at(stage), after.delay),
            (Ok(_), None) => {}
        }
    }

    fn fail(&mut self, error: &Error, next_attempt: Option<Duration>) {
        self.failures = self.failures.saturating_add(1);
        let next = self.machine.next_step();
        self.target.report(&Report { error, consecutive: self.failures, next_attempt, next });
    }
}

/// Calls what may hold the source's or the user's code. A panic is an error as every other (D18).
fn guarded<R>(name: &str, call: impl FnOnce() -> Result<R>) -> Result<R> {
    contain(call).unwrap_or_else(|| {
        let text = format!("the source of {name}, or user code that it called, panicked");
        Err(Error::new(ErrorKind::Panic, text))
    })
}

/// The sink of a probe: only the list's version counts.
struct Ignore;

impl<T> ListSink<T> for Ignore {
    fn have(&self, _: KeyRef<'_>, _: &str, _: &str) -> Option<Arc<T>> {
        None
    }

    fn may_have(&self) -> bool {
        false
    }

    fn item(&mut self, _: T) {}

    fn unchanged(&mut self, _: Arc<T>) {}

    fn bad_item(&mut self, _: BadObject) {}
}
