//! [`Reflector`]: carries out what the [`Machine`] decides, on the reader thread, until it is stopped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::machine::{Aftermath, Ended, Machine, Settings, Step, Verdict, Watched};
use super::sink::{PageSink, Pages, Stream, Transform, Why};
use super::{Heard, Phase, Report, Target};
use crate::backoff::Random;
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
        let mut machine = Machine::new(self.settings.clone(), self.source.can_stream(), self.random.clone());
        let mut pages = Pages::default();
        let mut failures = 0;
        while !self.stop.is_set() {
            match machine.next(self.clock.now()) {
                Step::Wait(delay) => {
                    target.phase(Phase::Waiting);
                    let until = self.clock.now().checked_add(delay);
                    self.stop.wait_until(&*self.clock, until);
                }
                Step::List { request, first } => {
                    if first {
                        pages = Pages::default();
                        target.phase(Phase::Listing);
                        target.heard(Heard::List { again: machine.has_listed() });
                    }
                    self.list(&request, &mut machine, &mut pages, target, &mut failures);
                }
                Step::Probe(request) => {
                    let end =
                        self.guarded(Stage::List, || self.source.list(&request, &self.stop, &mut Ignore));
                    machine.probed(end.ok().as_ref().map(|end| end.resource_version.as_str()));
                }
                Step::Watch(request) => {
                    target.phase(if request.initial_events { Phase::Listing } else { Phase::Watching });
                    if request.initial_events {
                        target.heard(Heard::List { again: machine.has_listed() });
                    }
                    target.heard(Heard::Watch);
                    self.watch(&request, &mut machine, target, &mut failures);
                    machine.settle(self.clock.now());
                }
            }
        }
        target.phase(Phase::Stopped);
    }

    fn list(
        &self,
        request: &ListRequest,
        machine: &mut Machine,
        pages: &mut Pages<T>,
        target: &mut dyn Target<T>,
        failures: &mut u32,
    ) {
        let mut sink = PageSink { pages, target, transform: self.transform.as_deref() };
        let end = self.guarded(Stage::List, || self.source.list(request, &self.stop, &mut sink));
        if self.stop.is_set() {
            return;
        }
        match end {
            Ok(end) => {
                target.heard(Heard::Page);
                let initial = !machine.has_listed();
                match machine.page(&end, pages.identified()) {
                    Verdict::More => {}
                    Verdict::Accept { lowered } => {
                        let pages = std::mem::take(pages);
                        let version = machine.version().to_owned();
                        target.replace(pages.into_list(version, lowered, initial));
                    }
                    Verdict::Refuse(error) => fail(target, &error.at(Stage::List), failures, None),
                }
            }
            Err(error) => {
                let after = machine.list_failed(&error);
                fail(target, &error.at(Stage::List), failures, after.delay);
            }
        }
    }

    fn watch(
        &self,
        request: &WatchRequest,
        machine: &mut Machine,
        target: &mut dyn Target<T>,
        failures: &mut u32,
    ) {
        let started = self.clock.now(); // before the request is sent: the short-watch clock (F-06)
        let mut sink =
            Stream::new(target, self.transform.as_deref(), machine, &*self.clock, &request.resource_version);
        let end = self.guarded(Stage::WatchOpen, || self.source.watch(request, &self.stop, &mut sink));
        let (opened, events, bookmarks, why) = (sink.opened, sink.events, sink.bookmarks, sink.why);
        let resume = std::mem::take(&mut sink.resume);
        drop(sink);
        if self.stop.is_set() {
            return;
        }
        let lasted = self.clock.now().saturating_duration_since(started);
        if opened && machine.initial_phase().is_none() && (events > 0 || lasted >= Duration::from_secs(1)) {
            *failures = 0;
        }
        let stage = if opened { Stage::Watch } else { Stage::WatchOpen };
        let end = end.map_err(|error| error.at(stage));
        let ended = match (&end, why) {
            (_, Some(Why::WentBack)) => Ended::WentBack,
            (_, Some(Why::Unidentified)) => Ended::Unidentified,
            (_, Some(Why::TooLong)) => Ended::TooLong,
            (Ok(WatchEnd::Silent), None) => Ended::Silent,
            (Ok(WatchEnd::Closed | WatchEnd::Ended), None) => Ended::Closed,
            (Err(error), None) if error.stage() == Some(Stage::WatchOpen) => Ended::NotOpened(error),
            (Err(error), None) => Ended::Error(error),
        };
        let after = machine.watched(&Watched { ended, lasted, events, bookmarks, version: &resume });
        target.heard(Heard::Ended { fruitless: events == 0 && lasted < Duration::from_secs(1) });
        let Aftermath { complaint, delay } = after;
        match (end, complaint) {
            (Err(error), _) => fail(target, &error, failures, delay),
            (Ok(WatchEnd::Silent), Some(text)) => {
                fail(target, &Error::new(ErrorKind::Silent, text).at(stage), failures, delay);
            }
            (Ok(_), Some(text)) => {
                fail(target, &Error::new(ErrorKind::Network, text).at(stage), failures, delay);
            }
            (Ok(_), None) => {}
        }
    }

    /// Calls the source. Its panic is an error as every other (D18).
    fn guarded<R>(&self, stage: Stage, call: impl FnOnce() -> Result<R>) -> Result<R> {
        catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| {
            let text = format!("the source of {} panicked", self.source.name());
            Err(Error::new(ErrorKind::Panic, text).at(stage))
        })
    }
}

fn fail<T>(target: &mut dyn Target<T>, error: &Error, failures: &mut u32, next_attempt: Option<Duration>) {
    *failures = failures.saturating_add(1);
    target.report(&Report { error, consecutive: *failures, next_attempt });
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
