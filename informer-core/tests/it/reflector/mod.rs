//! The reflector end to end: an informer on a source in memory, with a clock that the tests move.

mod outage;
mod relist;
mod seen;
mod stop;
mod streaming;
mod watch;

use std::fmt;
use std::time::Duration;

use informer_core::{Error, ErrorKind, InformerBuilder, Report, SharedInformer, Stage};
use informer_testkit::{
    FakeSource, ManualClock, Probe, Recorder, SourceRequest, TestObject, replay, states, within,
};

const LONG: Duration = Duration::from_secs(20);

/// One failure, as the error hook saw it. Prints `gone watch #1 later`, or `now` without a delay.
#[derive(Clone, Debug)]
struct Failure {
    kind: ErrorKind,
    stage: Option<Stage>,
    consecutive: u32,
    next_attempt: Option<Duration>,
}

impl From<&Report<'_>> for Failure {
    fn from(report: &Report<'_>) -> Self {
        Failure {
            kind: report.error.kind(),
            stage: report.error.stage(),
            consecutive: report.consecutive,
            next_attempt: report.next_attempt,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = self.stage.map_or("?", Stage::as_str);
        let next = if self.next_attempt.is_some() { "later" } else { "now" };
        write!(f, "{} {stage} #{} {next}", self.kind, self.consecutive)
    }
}

/// An informer on a source with `default/a`, `default/b` and `default/c` at the versions 1 to 3.
struct Rig {
    source: FakeSource,
    clock: ManualClock,
    informer: SharedInformer<TestObject>,
    /// What a handler was told; a test may clear it.
    seen: Recorder,
    /// The same, never cleared.
    all: Recorder,
    failures: Probe<Vec<Failure>>,
}

impl Rig {
    /// Not yet started; by pages.
    fn new() -> Self {
        Rig::with(|builder| builder.streaming(false))
    }

    /// Not yet started; streaming lists first.
    fn streaming() -> Self {
        Rig::with(|builder| builder)
    }

    fn with(change: impl FnOnce(InformerBuilder<TestObject>) -> InformerBuilder<TestObject>) -> Self {
        let clock = ManualClock::new();
        Rig::on(FakeSource::new(), clock, change)
    }

    /// Watches end by the clock: at their time-out, and at the idle limit.
    fn timed() -> Self {
        let clock = ManualClock::new();
        Rig::on(FakeSource::new().with_clock(clock.clone()), clock, |builder| builder.streaming(false))
    }

    fn on(
        source: FakeSource,
        clock: ManualClock,
        change: impl FnOnce(InformerBuilder<TestObject>) -> InformerBuilder<TestObject>,
    ) -> Self {
        for key in ["default/a", "default/b", "default/c"] {
            source.create(TestObject::new(key));
        }
        let failures = Probe::new(Vec::new());
        let note = failures.clone();
        let builder = SharedInformer::builder(source.clone())
            .clock(clock.clone())
            .seed(1)
            .on_error(move |report| note.update(|failures| failures.push(Failure::from(report))));
        let informer = change(builder).build();
        let seen = Recorder::new();
        let all = Recorder::new();
        informer.add_event_handler(seen.clone()).unwrap();
        informer.add_event_handler(all.clone()).unwrap();
        Rig { source, clock, informer, seen, all, failures }
    }

    fn start(&self) {
        self.informer.start().unwrap();
    }

    /// By pages, synced and watching at version 3; the three initial events are handled and forgotten.
    fn synced() -> Self {
        Rig::new().sync()
    }

    fn sync(self) -> Self {
        self.start();
        self.wait_synced();
        self.quiet();
        self.seen.wait_for_returned(3);
        self.all.wait_for_returned(3);
        self.seen.clear();
        self
    }

    /// Waits until the store holds the first list. (The time-out of the wait is on a clock that stands still.)
    #[track_caller]
    fn wait_synced(&self) {
        let informer = self.informer.clone();
        within("the informer to sync", move || informer.wait_synced(LONG).unwrap());
    }

    /// Waits until the watch has told everything.
    #[track_caller]
    fn quiet(&self) {
        self.source.wait_for_idle_watches(1);
    }

    /// Waits until the reader waits for its next attempt, and lets the time pass. Answers how long it was.
    #[track_caller]
    fn back_off(&self) -> Duration {
        let back_off = Duration::from_millis(800)..Duration::from_secs(60);
        let by = self.clock.wait_for_alarm("a back-off", |by| back_off.contains(&by));
        self.clock.advance(by);
        by
    }

    /// Lets a second and more pass, so that the watch that ends next is not a short one.
    fn let_time_pass(&self) {
        self.clock.advance(Duration::from_secs(5));
    }

    /// The requests from the `from`-th on, as text.
    fn trace_from(&self, from: usize) -> String {
        let lines: Vec<String> = self.source.requests()[from..].iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    fn failures(&self) -> Vec<String> {
        self.failures.with(|failures| failures.iter().map(ToString::to_string).collect())
    }

    fn lists(&self) -> usize {
        self.source.requests().iter().filter(|request| matches!(request, SourceRequest::List(_))).count()
    }

    /// The store is what the source holds, and what the handler was told of.
    #[track_caller]
    fn converged(&self) {
        let held = states(&self.source.objects());
        // The store comes first, so that it is there when the handler has been told.
        self.all.wait_until("what the source holds", |records| replay(records).unwrap() == held);
        let stored = self.informer.store().list();
        assert_eq!(states(stored.iter().map(std::sync::Arc::as_ref)), held);
    }
}

/// Whether `delays` are the steps of the back-off from the first one on.
#[track_caller]
fn assert_schedule(delays: &[Duration]) {
    for (at, delay) in delays.iter().enumerate() {
        let base = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6].get(at).copied().unwrap_or(30.0);
        assert!((base..2.0 * base).contains(&delay.as_secs_f64()), "delay {at} is {delay:?}: {delays:?}");
    }
}

fn object(key: &str) -> TestObject {
    TestObject::new(key)
}

fn gone() -> Error {
    informer_testkit::status_error(410, "Expired", "too old resource version")
}

fn status(code: u16) -> Error {
    informer_testkit::status_error(code, "", "no")
}

fn refused() -> Error {
    Error::new(ErrorKind::Refused, "connection refused")
}
