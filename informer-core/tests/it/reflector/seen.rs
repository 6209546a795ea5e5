//! The reflector seen from outside: the error hook, the status, and a reader that outlives panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use informer_core::time::Alarm;
use informer_core::{BadObject, ChangeKind, Clock, Phase};
use informer_testkit::{Gate, Legible, ListFault, Recorder, WatchFault};

use super::*;

#[test]
fn r_44_the_error_hook_sees_everything() {
    let rig = Rig::new();
    rig.source.edit(|world| world.break_object("default/c", Legible::Metadata));
    rig.source.on_next_list(ListFault::Fail(status(403)));
    for fault in [
        WatchFault::Refuse(refused()),
        WatchFault::CloseAfter(0),
        WatchFault::FailAfter(0, status(500)),
        WatchFault::Pass,
        WatchFault::SilentAfter(0),
    ] {
        rig.source.on_next_watch(fault);
    }
    rig.start();
    for _ in 0..4 {
        rig.back_off();
    }
    rig.quiet();
    rig.let_time_pass();
    rig.source.edit(|world| world.send_bad(ChangeKind::Modified, nobody()));
    rig.back_off();
    // The list, and the silent watch after it, which is too short for a limit to have passed.
    rig.back_off();
    rig.quiet();
    assert_eq!(
        rig.failures(),
        [
            "forbidden list #1 later",
            "decode decode #0 now", // the object that is broken, by the first list
            "refused watch_open #2 later",
            "network watch #3 later",
            "internal watch #4 later",
            "decode decode #0 now", // and by the second
            "decode decode #0 now", // the event without a key
            "decode watch #1 later",
            "decode decode #0 now",
            "network watch #2 later",
        ]
    );
    let counters = rig.informer.status().counters;
    assert_eq!((counters.errors, counters.bad_objects), (10, 4));
}

fn nobody() -> BadObject {
    BadObject {
        key: None,
        uid: String::new(),
        resource_version: String::new(),
        error: Error::new(ErrorKind::Decode, "no metadata").at(Stage::Decode),
    }
}

#[test]
fn r_44_a_hook_that_panics_harms_nobody() {
    let source = FakeSource::new();
    let clock = ManualClock::new();
    source.create(object("default/a"));
    source.on_next_list(ListFault::Fail(status(500)));
    let informer = SharedInformer::builder(source.clone())
        .clock(clock.clone())
        .on_error(|_| panic!("the hook was told to"))
        .build();
    source.on_next_watch(WatchFault::Refuse(status(403)));
    informer.start().unwrap();
    for _ in 0..2 {
        clock.wait_for_alarms(1);
        clock.advance_to_next();
    }
    informer.wait_synced(LONG).unwrap();
    assert_eq!(informer.status().counters.errors, 2);
}

#[test]
fn d_17_the_phase_is_what_the_reader_does() {
    let rig = Rig::new();
    assert_eq!(rig.informer.status().phase, Phase::NotStarted);
    let gate = Gate::new("the list may answer");
    rig.source.on_next_list(ListFault::hold(&gate));
    rig.start();
    gate.wait_for_waiting(1);
    assert_eq!(rig.informer.status().phase, Phase::Listing);
    assert_eq!(rig.informer.status().last_contact, None);
    gate.open();
    rig.quiet();
    assert_eq!(rig.informer.status().phase, Phase::Watching);
    rig.source.start_outage(refused());
    rig.clock.wait_for_alarm("a back-off", |by| by >= Duration::from_millis(800));
    assert_eq!(rig.informer.status().phase, Phase::Waiting);
    rig.informer.stop();
    rig.informer.join().unwrap();
    assert_eq!(rig.informer.status().phase, Phase::Stopped);
}

#[test]
fn f_04_the_age_of_the_last_contact_grows_until_something_is_heard() {
    let rig = Rig::synced();
    let age = || rig.informer.status().last_contact.unwrap();
    assert_eq!(age(), Duration::ZERO);
    for _ in 0..3 {
        rig.let_time_pass();
    }
    assert_eq!(age(), Duration::from_secs(15));
    rig.source.bookmark();
    rig.quiet();
    assert_eq!(age(), Duration::ZERO, "a bookmark");
    rig.let_time_pass();
    rig.source.update(object("default/a").value(1));
    rig.quiet();
    assert_eq!(age(), Duration::ZERO, "an event");
    // A server that only fails is not heard.
    rig.source.start_outage(status(500));
    let mut last = age();
    for _ in 0..5 {
        rig.back_off();
        rig.clock.wait_for_alarm("the next back-off", |by| by >= Duration::from_millis(800));
        assert!(age() > last);
        last = age();
    }
    let error = rig.informer.status().last_error.unwrap();
    assert_eq!((error.error.kind(), error.consecutive), (ErrorKind::Internal, 6));
    rig.source.end_outage();
    rig.back_off();
    rig.quiet();
    assert_eq!(age(), Duration::ZERO);
    assert!(rig.informer.status().last_error.is_none());
}

#[test]
fn d_17_the_counters_count() {
    let rig = Rig::synced();
    rig.source.create(object("default/d"));
    rig.source.bookmark();
    rig.quiet();
    rig.let_time_pass();
    rig.source.fail_watches(&gone());
    rig.back_off();
    rig.source.wait_for_requests(4);
    rig.quiet();
    let counters = rig.informer.status().counters;
    assert_eq!((counters.lists, counters.relists, counters.watches), (2, 1, 2));
    assert_eq!((counters.events, counters.bookmarks), (1, 1));
    assert_eq!((counters.errors, counters.bad_objects, counters.fruitless_watches), (1, 0, 0));
}

#[test]
fn d_8_a_list_with_an_object_without_a_key_syncs_deletes_nothing_and_is_repeated() {
    let rig = Rig::synced();
    rig.let_time_pass();
    rig.source.edit(|world| {
        world.close_watches();
        world.delete("default/a");
        world.break_object("default/b", Legible::Nothing);
        world.create(object("default/d"));
        world.compact();
    });
    rig.back_off(); // 410
    rig.seen.wait_for_returned(1);
    assert_eq!(rig.seen.trace(), "Added(default/d@6)", "what the list lacks may be the one without a key");
    rig.source.update(object("default/b").value(1)); // mended
    rig.back_off();
    rig.quiet();
    rig.seen.wait_for_returned(3);
    assert_eq!(rig.trace_from(2), "WATCH rv=3\nLIST rv=3\nLIST rv=6\nWATCH rv=7");
    assert_eq!(rig.failures(), ["gone watch #1 later", "decode decode #0 now", "decode list #2 later"]);
    rig.converged();
}

#[test]
fn d_18_a_source_that_panics_is_one_more_failure() {
    let rig = Rig::new();
    rig.source.on_next_list(ListFault::Panic("the list was told to".to_owned()));
    rig.source.on_next_watch(WatchFault::Panic("the watch was told to".to_owned()));
    rig.start();
    let delays = [rig.back_off(), rig.back_off()];
    rig.source.wait_for_requests(5);
    rig.quiet();
    assert_schedule(&delays);
    assert_eq!(rig.failures(), ["panic list #1 later", "panic watch_open #2 later"]);
    rig.source.create(object("default/d"));
    rig.seen.wait_for_returned(4);
    rig.converged();
}

/// A clock that can be made to panic, once, where the reader asks it between two requests.
#[derive(Debug)]
struct Fused {
    clock: ManualClock,
    fuse: AtomicBool,
}

impl Clock for Fused {
    fn now(&self) -> Instant {
        let reader = std::thread::current().name().is_some_and(|name| name.starts_with("read "));
        assert!(!(reader && self.fuse.swap(false, Ordering::SeqCst)), "the clock was told to panic");
        self.clock.now()
    }

    fn alarm(&self, at: Instant, ring: Box<dyn FnOnce() + Send>) -> Option<Alarm> {
        self.clock.alarm(at, ring)
    }
}

#[test]
fn d_18_a_reader_that_panics_goes_on_after_a_delay() {
    let source = FakeSource::new();
    let clock = Arc::new(Fused { clock: ManualClock::new(), fuse: AtomicBool::new(false) });
    source.create(object("default/a"));
    source.on_next_list(ListFault::Fail(status(500)));
    let failures = Probe::new(Vec::new());
    let note = failures.clone();
    let theirs: Arc<dyn Clock> = clock.clone();
    let informer = SharedInformer::builder(source.clone())
        .clock(theirs)
        .streaming(false)
        .on_error(move |report| note.update(|all| all.push(Failure::from(report).to_string())))
        .build();
    let seen = Recorder::new();
    informer.add_event_handler(seen.clone()).unwrap();
    informer.start().unwrap();
    clock.clock.wait_for_alarms(1);
    clock.fuse.store(true, Ordering::SeqCst);
    clock.clock.advance_to_next();
    failures.wait("the panic", |failures| failures.len() == 2);
    clock.clock.wait_for_alarms(1);
    clock.clock.advance_to_next();
    seen.wait_for_returned(1);
    assert_eq!(failures.get(), ["internal list #1 later", "panic ? #2 later"]);
    assert!(informer.has_synced() && informer.store().get("default/a").is_some());
}
