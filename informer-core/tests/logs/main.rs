//! The log contract: which line comes at which target and level, one for a change of state, none above debug for an
//! event. The logger is the process's, so this is a binary of its own; each test has an informer of its own name.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod capture;

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use informer_core::metrics::{Gauge, InformerName};
use informer_core::{EventHandler, Index, InformerBuilder, Metrics, SharedInformer};
use informer_testkit::{
    FakeSource, Gate, Legible, ListFault, ManualClock, Recorder, TestObject, WatchFault, status_error, within,
};
use log::Level::{Debug, Error, Info, Warn};

use capture::{Lines, SECRET, contract, every_line};

const LONG: Duration = Duration::from_secs(20);

/// An informer on a source of two objects, both of this name, and the lines that begin with it.
struct Rig {
    source: FakeSource,
    clock: ManualClock,
    informer: SharedInformer<TestObject>,
    lines: Lines,
}

impl Rig {
    fn new(name: &str) -> Self {
        Rig::with(name, |builder| builder)
    }

    fn with(
        name: &str,
        change: impl FnOnce(InformerBuilder<TestObject>) -> InformerBuilder<TestObject>,
    ) -> Self {
        let lines = Lines::of(name);
        let source = FakeSource::new().named(name);
        source.create(object("default/a"));
        source.create(object("default/b"));
        let clock = ManualClock::new();
        let builder = SharedInformer::builder(source.clone()).clock(clock.clone()).seed(1).streaming(false);
        Rig { source, clock, informer: change(builder).build(), lines }
    }

    #[track_caller]
    fn watching(self) -> Self {
        self.informer.start().unwrap();
        self.quiet();
        let informer = self.informer.clone();
        within("the first list", move || informer.wait_synced(LONG)).unwrap();
        self
    }

    /// Waits until the watch has told everything.
    #[track_caller]
    fn quiet(&self) {
        self.source.wait_for_idle_watches(1);
    }

    /// Waits until the reader waits for its next attempt, and lets the time pass.
    #[track_caller]
    fn back_off(&self) {
        let back_off = Duration::from_millis(800)..Duration::from_secs(60);
        let by = self.clock.wait_for_alarm("a back-off", |by| back_off.contains(&by));
        self.clock.advance(by);
    }

    /// Ends the informer and answers its lines.
    #[track_caller]
    fn end(self) -> Vec<String> {
        self.informer.stop();
        let informer = self.informer.clone();
        within("the join", move || informer.join()).unwrap();
        self.lines.all()
    }
}

fn object(key: &str) -> TestObject {
    TestObject::new(key).value(SECRET)
}

fn no(code: u16) -> informer_core::Error {
    status_error(code, "", "no")
}

#[test]
fn d_17_a_life_without_trouble_is_one_line_however_many_events_there_are() {
    let rig = Rig::new("calm").watching();
    let seen = Recorder::new();
    rig.informer.add_event_handler(seen.clone()).unwrap();
    // A handler that comes late is told what is there then: b must be, or it never hears of b.
    seen.wait_until("the first list", |records| records.len() == 2);
    for round in 0..500 {
        rig.source.update(TestObject::new("default/a").value(SECRET + round));
        rig.source.bookmark();
    }
    rig.source.delete("default/b");
    rig.quiet();
    rig.source.close_watches(); // an ordinary end
    rig.quiet();
    seen.wait_until("the deletion", |records| records.iter().any(|record| record.key.name() == "b"));
    assert_eq!(rig.end(), ["INFO informer::reflector: listed 2 objects at version 2"]);
}

#[test]
fn d_17_an_outage_is_one_warning_and_its_end_one_line() {
    let rig = Rig::new("outage").watching();
    let before = rig.lines.all().len();
    rig.source.start_outage(no(503));
    for _ in 0..4 {
        rig.back_off();
    }
    rig.clock.wait_for_alarm("a back-off", |by| by >= Duration::from_millis(800));
    assert_eq!(rig.lines.levels(before), [Warn, Debug, Debug, Debug, Debug]);
    rig.source.end_outage();
    rig.back_off();
    rig.quiet();
    assert_eq!(rig.lines.levels(before).len(), 5, "that it is open proves nothing");
    rig.source.create(object("default/c"));
    rig.quiet();
    rig.source.create(object("default/d"));
    rig.quiet();
    let lines = rig.end();
    assert_eq!(lines[before + 5..], ["INFO informer::reflector: works again after 5 failures"]);
}

#[test]
fn d_17_a_single_failure_that_heals_has_no_line_for_its_end() {
    let rig = Rig::new("hiccup").watching();
    rig.source.fail_watches(&no(500));
    rig.back_off();
    rig.quiet();
    rig.source.create(object("default/c"));
    rig.quiet();
    let lines = rig.end();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].starts_with("WARN informer::reflector: watch: no; next attempt in "), "{}", lines[1]);
}

#[test]
fn r_45_d_17_an_expired_version_and_a_silent_connection_are_ordinary() {
    let rig = Rig::new("ordinary").watching();
    rig.source.edit(|world| world.skip_versions(10));
    rig.source.fail_watches(&status_error(410, "Expired", "too old"));
    rig.back_off();
    rig.source.wait_for_requests(4);
    rig.quiet();
    rig.source.create(object("default/c"));
    rig.clock.advance(Duration::from_secs(5));
    rig.source.silence_watches();
    rig.source.wait_for_requests(5);
    rig.quiet();
    let levels = rig.lines.levels(1);
    rig.end();
    assert_eq!(levels, [Debug, Debug], "gone, silent");
}

#[test]
fn d_17_that_a_kind_is_not_served_is_a_change_of_state_of_its_own() {
    let rig = Rig::new("unserved");
    rig.source.on_next_list(ListFault::Fail(no(500)));
    for _ in 0..2 {
        rig.source.on_next_list(ListFault::Fail(no(404)));
    }
    rig.source.on_next_list(ListFault::Fail(no(403)));
    rig.informer.start().unwrap();
    for _ in 0..4 {
        rig.back_off();
    }
    rig.quiet();
    assert_eq!(rig.lines.levels(0), [Warn, Warn, Debug, Warn, Info]);
    rig.end();
}

#[test]
fn d_8_d_17_of_bad_objects_one_a_list_is_told() {
    let rig = Rig::new("bad");
    rig.source.edit(|world| {
        world.break_object("default/a", Legible::Metadata);
        world.break_object("default/b", Legible::Metadata);
    });
    rig.informer.start().unwrap();
    rig.quiet();
    assert_eq!(rig.lines.levels(0), [Warn, Debug, Info]);
    rig.end();
}

#[test]
fn d_7_a_version_that_went_back_is_a_warning() {
    let rig = Rig::new("restored").watching();
    let backup = rig.source.edit(|world| world.backup());
    rig.source.create(object("default/c"));
    rig.quiet();
    rig.source.on_next_watch(WatchFault::Refuse(status_error(410, "Expired", "too old")));
    rig.source.edit(|world| world.restore(&backup));
    rig.back_off();
    rig.source.wait_for_requests(5);
    rig.quiet();
    let lines = rig.end();
    let warnings: Vec<_> = lines.iter().filter(|line| line.starts_with("WARN")).collect();
    assert_eq!(
        warnings,
        ["WARN informer::reflector: the server's version went back to 2; its history was replaced"]
    );
}

#[test]
fn r_44_a_hook_that_panics_is_an_error_at_the_target_of_what_it_was_told() {
    let by_value: Index<TestObject, u64> = Index::new("by-value", |object: &TestObject| {
        assert_ne!(object.namespace, "odd", "the index was told to");
        [object.value]
    });
    let rig =
        Rig::with("hook", |builder| builder.index(&by_value).on_error(|_| panic!("the hook was told to")));
    rig.source.on_next_list(ListFault::Fail(no(500)));
    rig.informer.start().unwrap();
    rig.back_off();
    rig.quiet();
    rig.source.create(object("odd/c"));
    rig.quiet();
    let store = rig.informer.store();
    within("the store", move || store.wait_until("3", LONG)).unwrap();
    let lines = rig.end();
    assert!(lines[0].starts_with("WARN informer::reflector: list: no; next attempt in "), "{lines:?}");
    assert_eq!(lines[1], "ERROR informer::reflector: the error hook panicked");
    assert!(lines[2].starts_with("INFO informer::reflector: listed"), "{lines:?}");
    assert!(lines[3].starts_with("WARN informer::store: odd/c: "), "{lines:?}");
    assert_eq!(lines[4], "ERROR informer::store: the error hook panicked");
    assert_eq!(lines.len(), 5);
}

#[test]
fn d_3_a_handler_that_panics_is_an_error_each_time_and_a_destructor_too() {
    struct Angry;
    impl EventHandler<TestObject> for Angry {
        fn on_event(&mut self, _: &informer_core::Event<TestObject>) {
            panic!("the handler was told to");
        }
    }
    impl Drop for Angry {
        fn drop(&mut self) {
            panic!("the destructor was told to");
        }
    }
    let rig = Rig::new("angry").watching();
    let registration = rig.informer.add_event_handler(Angry).unwrap();
    let theirs = rig.informer.clone();
    within("the adds", move || {
        registration.wait_synced(LONG).unwrap();
        registration.remove_and_wait().unwrap();
        drop(theirs);
    });
    let lines = rig.end();
    let mut panics: Vec<&str> = lines[1..].iter().map(String::as_str).collect();
    panics.sort_unstable();
    let panicked = |event: &str| {
        format!("ERROR informer::handler: handler 0 panicked on {event}; the event counts as handled")
    };
    assert_eq!(panics, [panicked("Added(default/a@1, initial)"), panicked("Added(default/b@2, initial)")]);
    assert!(
        every_line().contains(&(
            Error,
            "informer::handler".to_owned(),
            "a destructor of user data panicked".to_owned()
        )),
        "which informer's is not known there"
    );
}

#[test]
fn d_3_a_slow_handler_that_gets_a_thread_is_told_once() {
    let rig = Rig::new("slow");
    let (seen, gate) = (Recorder::new(), Gate::new("the handler may go on"));
    seen.block_at(1, &gate);
    rig.informer.add_event_handler(seen.clone()).unwrap();
    let rig = rig.watching();
    gate.wait_for_waiting(1);
    for _ in 0..10 {
        rig.source.update(object("default/a"));
    }
    rig.clock.wait_for_alarm("the watchdog", |until| until <= Duration::from_millis(251));
    rig.clock.advance(Duration::from_millis(251));
    let store = rig.informer.store();
    within("the store", move || store.wait_until("12", LONG)).unwrap();
    gate.open();
    seen.wait_for_returned(2);
    let lines = rig.end();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].starts_with("INFO informer::handler: a handler has held the pop thread"), "{lines:?}");
}

#[test]
fn d_3_metrics_that_panic_are_an_error_once() {
    struct Panics;
    impl Metrics for Panics {
        fn set(&self, _: &InformerName<'_>, _: Gauge, _: f64) {
            panic!("the metrics were told to");
        }
    }
    let rig = Rig::with("gauge", |builder| builder.metrics(Panics)).watching();
    rig.source.create(object("default/c"));
    rig.quiet();
    let lines = rig.end();
    let errors: Vec<_> = lines.iter().filter(|line| !line.starts_with("INFO")).collect();
    assert_eq!(errors, ["ERROR informer: the metrics panicked; what they miss is not told again"]);
}

/// A value whose hash panics on the pop thread, where nothing can be made good.
#[derive(Clone)]
struct Broken(Arc<AtomicBool>);

impl PartialEq for Broken {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Broken {}

impl Hash for Broken {
    fn hash<H: Hasher>(&self, _: &mut H) {
        assert!(!self.0.load(Ordering::SeqCst), "the hash was told to");
    }
}

#[test]
fn d_3_a_thread_that_dies_of_user_code_is_an_error() {
    let broken = Broken(Arc::new(AtomicBool::new(false)));
    let theirs = broken.clone();
    let index: Index<TestObject, Broken> = Index::new("broken", move |_: &TestObject| [theirs.clone()]);
    let rig = Rig::with("dead", |builder| builder.index(&index)).watching();
    broken.0.store(true, Ordering::SeqCst);
    rig.source.create(object("default/c"));
    let informer = rig.informer.clone();
    within("the end", move || informer.join()).unwrap();
    let lines = rig.end();
    assert_eq!(
        lines[1..],
        ["ERROR informer: a thread of the informer panicked in user code; the informer has stopped"]
    );
}

#[test]
fn f_51_a_thread_that_outlives_a_dropped_informer_is_a_warning() {
    let rig = Rig::new("late");
    let gate = Gate::new("the handler may end");
    let seen = Recorder::new();
    seen.block_at(1, &gate);
    rig.informer.add_event_handler(seen).unwrap();
    rig.informer.start().unwrap();
    gate.wait_for_waiting(1);
    let Rig { informer, lines, .. } = rig;
    drop(informer); // waits for its full patience, which is real time
    let lines = lines.all();
    assert!(lines[1].starts_with("WARN informer: a thread has not ended 5s after"), "{lines:?}");
    gate.open();
}

/// Every cell of the table is either driven above or has its reason here.
#[test]
fn d_17_the_table_in_the_documentation_is_what_is_tested() {
    let pair = |(target, level): (&str, log::Level)| (target.to_owned(), level);
    let driven = [
        ("informer", Error),
        ("informer", Warn),
        ("informer::reflector", Error),
        ("informer::reflector", Warn),
        ("informer::reflector", Info),
        ("informer::reflector", Debug),
        ("informer::handler", Error),
        ("informer::handler", Info),
        ("informer::store", Error),
        ("informer::store", Warn),
    ];
    let elsewhere = [
        // No thread can be had: a limit of the process, which would hit the other tests.
        ("informer::handler", Warn),
        ("informer::watchdog", Error),
        // Other crates.
        ("informer::http", Warn),
        ("informer::http", Info),
        ("informer::http", Debug),
        ("informer::factory", Debug),
    ];
    let tested: BTreeSet<_> = driven.into_iter().chain(elsewhere).map(pair).collect();
    assert_eq!(tested, contract());
}
