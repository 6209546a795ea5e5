//! Stop, in each state of the reader.

use informer_core::Phase;
use informer_testkit::{Gate, ListFault, WatchFault, within};

use super::*;

/// Stops the informer and waits for its threads; afterwards there are no requests any more.
#[track_caller]
fn stop_is_prompt(rig: &Rig) {
    let requests = rig.source.requests().len();
    let elapsed = rig.clock.elapsed();
    let informer = rig.informer.clone();
    within("the stopped informer's threads to end", move || {
        informer.stop();
        informer.join().unwrap();
    });
    assert_eq!(rig.clock.elapsed(), elapsed, "no time had to pass");
    rig.clock.advance(Duration::from_secs(3600));
    assert_eq!(rig.source.requests().len(), requests);
    let status = rig.informer.status();
    assert_eq!(status.phase, Phase::Stopped);
    assert_eq!(rig.clock.pending(), 0, "no alarm is left");
}

#[test]
fn r_5_in_the_back_off() {
    let rig = Rig::new();
    rig.source.start_outage(status(500));
    rig.start();
    rig.clock.wait_for_alarm("a back-off", |by| by >= Duration::from_millis(800));
    let failures = rig.failures();
    stop_is_prompt(&rig);
    assert_eq!(rig.failures(), failures, "a stop is no failure");
}

#[test]
fn r_27_r_55_in_the_wait_before_a_watch_or_a_stream() {
    let rig = Rig::synced();
    rig.source.start_outage(refused());
    rig.clock.wait_for_alarm("a back-off", |by| by >= Duration::from_millis(800));
    stop_is_prompt(&rig);

    let rig = Rig::streaming();
    rig.source.start_outage(status(429).with_retry_after(Duration::from_secs(60)));
    rig.start();
    rig.clock.wait_for_alarm("the wait", |by| by >= Duration::from_secs(60));
    stop_is_prompt(&rig);
}

#[test]
fn r_6_in_an_idle_watch() {
    let rig = Rig::timed().sync();
    stop_is_prompt(&rig);
    assert_eq!(rig.source.edit(|world| world.open_watches()), 0);
    assert_eq!(rig.failures(), [""; 0], "a stop is no failure");
    assert_eq!(rig.informer.store().len(), 3, "the store stays readable");
}

#[test]
fn p_8_in_a_list_and_between_its_pages() {
    let rig = Rig::new();
    let gate = Gate::new("the list may answer");
    rig.source.on_next_list(ListFault::hold(&gate));
    rig.start();
    gate.wait_for_waiting(1);
    stop_is_prompt(&rig);
    assert!(!rig.informer.has_synced());

    let rig = Rig::with(|builder| builder.streaming(false).page_size(2)).sync();
    let gate = Gate::new("the second page may come");
    rig.source.on_next_list(ListFault::Pass);
    rig.source.on_next_list(ListFault::hold(&gate));
    rig.source.create(object("default/d"));
    rig.quiet();
    rig.seen.wait_for_returned(1);
    rig.source.fail_watches(&status(500));
    rig.back_off();
    gate.wait_for_waiting(1);
    stop_is_prompt(&rig);
    assert_eq!(rig.seen.len(), 1, "half a list replaces nothing");
}

#[test]
fn r_6_in_a_watch_that_is_being_opened() {
    let rig = Rig::new();
    let gate = Gate::new("the watch may open");
    rig.source.on_next_watch(WatchFault::hold(&gate));
    rig.start();
    gate.wait_for_waiting(1);
    stop_is_prompt(&rig);
}

#[test]
fn r_6_in_the_initial_phase_of_a_streaming_list() {
    let rig = Rig::streaming();
    let gate = Gate::new("the stream may go on");
    rig.source.on_next_watch(WatchFault::hold_after(2, &gate));
    rig.start();
    gate.wait_for_waiting(1);
    stop_is_prompt(&rig);
    assert!(
        rig.seen.is_empty() && rig.informer.store().is_empty(),
        "r_47: nothing is visible before its end"
    );
}
