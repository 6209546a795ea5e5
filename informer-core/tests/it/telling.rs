//! What handlers are told: what is initial, what a relist tells, at which period they are resynced, and what a transform
//! makes of it all.

use std::sync::Arc;
use std::time::Duration;

use informer_core::{Delivery, ErrorKind, Event, HandlerOptions, SharedInformer, Stage};
use informer_testkit::{
    FakeSource, Gate, ManualClock, Probe, Recorder, Streaming, TestObject, status_error, within,
};

use crate::logged;
use crate::support::{LONG, PATIENCE, object, reach, source_of, synced};

/// Breaks the watch, changes the world unseen and makes the next watch learn that its version is too old. The relist
/// comes after the back-off.
fn change_unseen(
    source: &FakeSource,
    clock: &ManualClock,
    change: impl FnOnce(&mut informer_testkit::World<TestObject>),
) {
    source.edit(|world| {
        world.close_watches();
        change(world);
        world.compact();
    });
    let backoff = clock.wait_for_alarm("the back-off after 410", |until| {
        PATIENCE < until && until < Duration::from_secs(60)
    });
    clock.advance(backoff);
}

#[test]
fn i_10_i_2_an_informer_is_synced_from_its_first_list_on_and_stopped_from_its_stop_on() {
    let source = source_of(&["default/a"]);
    let gate = Gate::new("the list");
    source.on_next_list(informer_testkit::ListFault::hold(&gate));
    let informer = SharedInformer::builder(source.clone()).streaming(false).build();
    assert!(!informer.has_synced() && !informer.is_stopped(), "before the start");
    informer.start().unwrap();
    gate.wait_for_waiting(1);
    assert!(!informer.has_synced() && !informer.is_stopped(), "while it lists");
    gate.open();
    informer.wait_synced(LONG).unwrap();
    assert!(informer.has_synced() && !informer.is_stopped());
    assert_eq!(informer.store().len(), 1, "synced means that the store has it");
    source.fail_watches(&status_error(410, "Expired", "too old"));
    assert!(informer.has_synced(), "a relist changes nothing");
    informer.stop();
    assert!(informer.is_stopped() && informer.has_synced());
    informer.join().unwrap();
    assert!(informer.is_stopped());
}

#[test]
fn i_12_nothing_there_syncs_the_informer_and_its_handlers() {
    for streaming in [Streaming::Supported, Streaming::Undeclared] {
        let source = source_of(&[]);
        source.set_streaming(streaming);
        let informer = SharedInformer::builder(source).build();
        let seen = Recorder::new();
        let registration = informer.add_event_handler(seen.clone()).unwrap();
        informer.start().unwrap();
        informer.wait_synced(LONG).unwrap();
        registration.wait_synced(LONG).unwrap();
        // I-14: one that comes now is synced without being told anything.
        informer.add_event_handler(seen.clone()).unwrap().wait_synced(LONG).unwrap();
        assert!(seen.is_empty());
    }
}

#[test]
fn i_16_the_first_list_and_replays_are_initial_and_what_comes_later_is_not() {
    for streaming in [Streaming::Supported, Streaming::Undeclared] {
        let source = source_of(&["default/a"]);
        source.set_streaming(streaming);
        let clock = ManualClock::new();
        let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).build();
        let (early, late) = (Recorder::new(), Recorder::new());
        informer.add_event_handler(early.clone()).unwrap();
        informer.start().unwrap();
        early.wait_for(1);
        source.wait_for_idle_watches(1);
        source.create(object("default/watched"));
        early.wait_for(2);
        change_unseen(&source, &clock, |world| _ = world.create(object("default/relisted")));
        early.wait_for(3);
        let registration = informer.add_event_handler(late.clone()).unwrap();
        within("the replay", move || registration.wait_synced(LONG)).unwrap();
        assert_eq!(
            early.trace(),
            "Added(default/a@1, initial)\nAdded(default/watched@2)\nAdded(default/relisted@3)"
        );
        let mut replay: Vec<_> = late.records().iter().map(ToString::to_string).collect();
        replay.sort();
        assert_eq!(
            replay,
            [
                "Added(default/a@1, initial)",
                "Added(default/relisted@3, initial)",
                "Added(default/watched@2, initial)"
            ]
        );
    }
}

/// The scenario of client-go's test: after the relist `plain` has been told of the change and the new object, and so has
/// `resynced`. There, unchanged objects depend on what the last tick marked; here a relist tells of none, and a resync
/// of all, whatever the handler was told before.
#[test]
fn i_29_i_45_i_46_a_relist_tells_every_handler_what_changed_and_a_resync_is_another_thing() {
    let source = source_of(&["default/same", "default/changed", "default/gone"]);
    let clock = ManualClock::new();
    let second = Duration::from_secs(1);
    let informer =
        SharedInformer::builder(source.clone()).clock(clock.clone()).resync(second).seed(7).build();
    let (plain, resynced) = (Recorder::new(), Recorder::new());
    let none = HandlerOptions::new().resync(Duration::ZERO);
    informer.add_event_handler_with(none, plain.clone()).unwrap();
    informer.add_event_handler(resynced.clone()).unwrap();
    informer.start().unwrap();
    plain.wait_for(3);
    resynced.wait_for(3);
    clock.wait_for_alarm("the resync", |until| until == second);
    clock.advance(second);
    resynced.wait_for(6);
    for handler in [&plain, &resynced] {
        handler.clear();
    }
    source.edit(|world| {
        world.close_watches();
        world.update(object("default/changed").value(1));
        world.delete("default/gone");
        world.create(object("default/new"));
        world.compact();
    });
    // Both the resync and the back-off are about a second away: each comes at its own time.
    while plain.len() < 3 {
        clock.wait_for_alarms(1);
        clock.advance(Duration::from_millis(50));
    }
    let relist =
        "Deleted(default/gone@3, final state unknown)\nUpdated(default/changed@2→4)\nAdded(default/new@6)";
    assert_eq!(plain.trace(), relist);
    resynced.wait_until("the relist", |records| records.iter().any(|record| record.key.name() == "new"));
    let mut told = resynced.records();
    told.retain(|record| record.kind != informer_testkit::RecordKind::Resynced);
    assert_eq!(told.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"), relist);
    let before = plain.len();
    clock.advance(10 * second);
    assert_eq!(plain.len(), before, "who asked for no resync gets none");
}

/// There is no check period of the informer's that handlers would lower before the start and be raised to after it.
#[test]
fn i_41_i_42_i_43_every_period_is_kept_whatever_the_informers_and_whenever_it_comes() {
    const HOUR: Duration = Duration::from_secs(3600);
    let periods = [60, 55, 5].map(Duration::from_secs);
    for informers in [None, Some(Duration::from_secs(5)), Some(12 * HOUR)] {
        for late in [false, true] {
            let clock = ManualClock::new();
            let source = source_of(&["default/a"]);
            let mut builder = SharedInformer::builder(source.clone()).clock(clock.clone());
            if let Some(period) = informers {
                builder = builder.resync(period);
            }
            let informer = builder.build();
            let recorders = periods.map(|_| Recorder::new());
            if late {
                informer.start().unwrap();
                source.wait_for_idle_watches(1);
                let theirs = informer.clone();
                within("the first list", move || theirs.wait_synced(LONG)).unwrap();
            }
            for (period, recorder) in periods.iter().zip(&recorders) {
                let options = HandlerOptions::new().resync(*period);
                informer.add_event_handler_with(options, recorder.clone()).unwrap();
            }
            informer.start().unwrap();
            recorders.iter().for_each(|recorder| _ = recorder.wait_for_returned(1));
            for _ in 0..12 {
                clock.wait_for_alarm("the resync", |until| until == Duration::from_secs(5));
                clock.advance(Duration::from_secs(5));
                let due = clock.elapsed().as_secs() as usize / 5;
                recorders[2].wait_for_returned(1 + due);
            }
            for (recorder, want) in recorders.iter().zip([1, 1, 12]) {
                recorder.wait_for_returned(1 + want);
                assert_eq!(recorder.len(), 1 + want, "informer {informers:?}, late {late}");
            }
            let short = HandlerOptions::new().resync(Duration::from_millis(500));
            let error = informer.add_event_handler_with(short, Recorder::new()).unwrap_err();
            assert_eq!((error.kind(), error.stage()), (ErrorKind::Config, Some(Stage::Handler)));
        }
    }
}

#[test]
fn i_24_a_registration_is_of_its_own_informer() {
    let (one, other) = (synced(&source_of(&["default/a"])), source_of(&["default/a"]));
    let other_informer = synced(&other);
    let (mine, theirs) = (Recorder::new(), Recorder::new());
    let registration = one.add_event_handler(mine.clone()).unwrap();
    let foreign = other_informer.add_event_handler(theirs.clone()).unwrap();
    assert_eq!(registration.id(), foreign.id(), "the numbers are each informer's own");
    foreign.wait_synced(LONG).unwrap();
    registration.remove_and_wait().unwrap();
    registration.remove();
    let written = other.update(object("default/a").value(1));
    reach(&other_informer, written);
    theirs.wait_for(2);
    assert_eq!((one.status().handlers.len(), other_informer.status().handlers.len()), (0, 1));
}

#[test]
fn i_6_the_hook_is_told_why_the_list_failed() {
    let source = source_of(&["default/a"]);
    let clock = ManualClock::new();
    source.set_streaming(Streaming::Undeclared);
    source.start_outage(status_error(403, "Forbidden", "pods is forbidden"));
    let told = Probe::new(None);
    let tell = told.clone();
    let informer = SharedInformer::builder(source.clone())
        .streaming(false)
        .clock(clock.clone())
        .on_error(move |report| {
            tell.set(Some((report.error.clone(), report.consecutive, report.next_attempt)));
        })
        .build();
    informer.start().unwrap();
    for attempt in 1..=3 {
        let (error, consecutive, next) = told.wait_for("the report", Option::take);
        assert!(error.is_forbidden() && error.to_string().contains("pods is forbidden"), "{error}");
        assert_eq!((error.stage(), consecutive), (Some(Stage::List), attempt));
        let wait = next.unwrap();
        clock.wait_for_alarm("the back-off that was told", |until| until == wait);
        if attempt == 3 {
            source.end_outage();
        }
        clock.advance(wait);
    }
    within("the first list", move || informer.wait_synced(LONG)).unwrap();
}

#[test]
fn i_60_i_61_i_62_a_transform_changes_each_object_once_on_the_reader_before_it_is_shared() {
    for streaming in [Streaming::Supported, Streaming::Undeclared] {
        let source = source_of(&["default/a", "default/b"]).named("changed");
        source.set_streaming(streaming);
        let clock = ManualClock::new();
        let calls = Probe::new(Vec::new());
        let note = calls.clone();
        let informer = SharedInformer::builder(source.clone())
            .clock(clock.clone())
            .resync(Duration::from_secs(3600))
            .transform(move |object: &mut TestObject| {
                object.value += 100; // in place: nobody else has it yet
                let thread = std::thread::current().name().unwrap_or_default().to_owned();
                note.update(|calls| calls.push((thread, object.to_string())));
            })
            .build();
        let values = Probe::new(Vec::new());
        let tell = values.clone();
        informer
            .on_event(move |event| {
                let seen = match event {
                    Event::Updated { old, new } => (old.value, new.value),
                    event => (event.object().value, event.object().value),
                };
                tell.update(|values| values.push(seen));
            })
            .unwrap();
        informer.start().unwrap();
        values.wait("the first list", |values| values.len() == 2);
        source.wait_for_idle_watches(1);
        source.update(object("default/a").value(1));
        values.wait("the update", |values| values.len() == 3);
        source.delete("default/a"); // a final state is shown as every other state was
        values.wait("the delete", |values| values.len() == 4);
        assert_eq!(values.get(), [(100, 100), (100, 100), (100, 101), (101, 101)]);
        assert_eq!(informer.store().get("default/b").unwrap().value, 100);
        let before = calls.get().len();
        assert_eq!(before, 4, "two of the list, a change, a final state: {:?}", calls.get());

        // Missing in a relist, and resynced: what is told of was transformed already.
        change_unseen(&source, &clock, |world| _ = world.delete("default/b"));
        values.wait("the tombstone", |values| values.len() == 5);
        source.wait_for_idle_watches(1);
        source.create(object("default/c"));
        values.wait("an object to resync", |values| values.len() == 6);
        let resync = clock.wait_for_alarm("the resync", |until| Duration::from_secs(3000) < until);
        clock.advance(resync);
        values.wait("the resync", |values| values.len() == 7);
        assert_eq!(values.get()[4..], [(100, 100); 3]);
        let calls = calls.get();
        assert_eq!(calls.len(), before + 1, "for the new object alone: {calls:?}");
        assert!(calls.iter().all(|(thread, _)| thread == "read changed"), "{calls:?}");
    }
}

#[test]
fn i_20_f_53_a_late_handler_of_each_delivery_is_told_what_is_there_and_then_what_happens() {
    let source = source_of(&["default/a", "default/b"]);
    let informer = synced(&source);
    for delivery in [Delivery::Auto, Delivery::Inline, Delivery::Thread] {
        let late = Recorder::new();
        let options = HandlerOptions::new().delivery(delivery);
        let registration = informer.add_event_handler_with(options, late.clone()).unwrap();
        registration.wait_synced(LONG).unwrap();
        assert!(late.records().iter().all(|record| record.to_string().ends_with(", initial)")));
        source.update(object("default/a").value(1));
        source.delete("default/b");
        source.create(object("default/b"));
        late.wait_for(5);
        assert_eq!(late.replay(), informer_testkit::states(informer.store().list().iter().map(Arc::as_ref)));
        registration.remove_and_wait().unwrap();
    }
}

#[test]
fn f_63_d_17_a_kind_that_is_gone_for_an_hour_is_one_line_in_the_log() {
    const NAME: &str = "widgets-that-went";
    logged::keep();
    let source = source_of(&["default/a"]).named(NAME);
    let clock = ManualClock::new();
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).build();
    informer.start().unwrap();
    source.wait_for_idle_watches(1);
    source.start_outage(status_error(404, "NotFound", "the server could not find the requested resource"));
    source.fail_watches(&status_error(410, "Expired", "too old"));
    let mut attempts = 0;
    while clock.elapsed() < Duration::from_secs(3600) {
        let backoff = clock.wait_for_alarm("a back-off", |until| Duration::from_millis(800) <= until);
        clock.advance(backoff);
        attempts += 1;
    }
    clock.wait_for_alarms(1);
    assert!(attempts > 60);
    let said = logged::about(NAME);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("could not find the requested resource"), "{said:?}");
}
