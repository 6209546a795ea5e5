//! Streaming lists, and what becomes of them on servers that cannot, or only say they can.

use informer_core::WatchRequest;
use informer_testkit::{Streaming, WatchFault};

use super::*;

#[test]
fn r_46_r_47_r_49_one_stream_lists_and_watches() {
    let rig = Rig::streaming();
    rig.start();
    rig.wait_synced();
    rig.source.update(object("default/a").value(1));
    rig.seen.wait_for_returned(4);
    assert_eq!(rig.source.trace(), "WATCH rv= initial");
    assert!(rig.seen.trace().ends_with("Updated(default/a@1→4)"));
    assert_eq!(rig.informer.store().resource_version(), "4");
    let status = rig.informer.status();
    assert_eq!((status.counters.lists, status.counters.watches), (1, 1));
    rig.converged();
}

#[test]
fn x_10_a_server_without_streaming_lists_is_listed_at_once() {
    let rig = Rig::streaming();
    rig.source.set_streaming(Streaming::Refused);
    rig.start();
    rig.wait_synced();
    rig.quiet();
    assert_eq!(rig.source.trace(), "WATCH rv= initial\nLIST rv=0 limit=500\nWATCH rv=3");
    assert_eq!(rig.failures(), ["invalid watch_open #1 now"]);
    // It is remembered: the relist does not ask again (r_54).
    rig.let_time_pass();
    rig.source.fail_watches(&status(500));
    rig.back_off();
    rig.source.wait_for_requests(5);
    assert_eq!(rig.trace_from(3), "LIST rv=3\nWATCH rv=3");
}

#[test]
fn r_57_a_source_that_declares_no_streaming_is_never_asked() {
    let source = FakeSource::new();
    source.set_streaming(Streaming::Undeclared);
    let rig = Rig::on(source, ManualClock::new(), |builder| builder);
    rig.start();
    rig.quiet();
    assert_eq!(rig.source.trace(), "LIST rv=0 limit=500\nWATCH rv=3");
}

#[test]
fn x_10_r_53_a_stream_interrupted_twice_is_tried_again() {
    let rig = Rig::streaming();
    rig.source.on_next_watch(WatchFault::CloseAfter(1));
    rig.source.on_next_watch(WatchFault::CloseAfter(2));
    rig.start();
    let first = rig.back_off();
    // What the first attempt told is forgotten.
    rig.source.delete("default/a");
    let delays = [first, rig.back_off()];
    rig.wait_synced();
    rig.quiet();
    assert_eq!(rig.source.trace(), "WATCH rv= initial\nWATCH rv= initial\nWATCH rv= initial");
    assert_schedule(&delays);
    rig.seen.wait_for_returned(2);
    assert_eq!(rig.seen.trace(), "Added(default/b@2, initial)\nAdded(default/c@3, initial)");
}

#[test]
fn x_10_f_16_r_54_a_stream_without_its_end_falls_back_to_a_list() {
    let clock = ManualClock::new();
    let source = FakeSource::new().with_clock(clock.clone());
    source.set_streaming(Streaming::Endless);
    let rig = Rig::on(source, clock, |builder| builder);
    rig.start();
    rig.quiet();
    rig.source.bookmark(); // without the annotation
    rig.quiet();
    assert!(!rig.informer.has_synced());
    rig.clock.advance(Duration::from_secs(90)); // silence
    rig.back_off();
    rig.wait_synced();
    rig.quiet();
    assert_eq!(rig.source.trace(), "WATCH rv= initial\nLIST rv=0 limit=500\nWATCH rv=3");
    assert_eq!(rig.failures(), ["silent watch #1 later"]);
    assert!(rig.clock.elapsed() < Duration::from_secs(92), "bounded");
    rig.seen.wait_for_returned(3);
    rig.converged();
}

#[test]
fn f_16_a_stream_that_talks_for_ever_without_its_end_falls_back_too() {
    let clock = ManualClock::new();
    let source = FakeSource::new().with_clock(clock.clone());
    source.set_streaming(Streaming::Endless);
    let rig = Rig::on(source, clock, |builder| builder);
    rig.start();
    for _ in 0..2 {
        rig.quiet();
        rig.clock.advance(Duration::from_secs(60));
        rig.source.bookmark();
    }
    rig.failures.wait("the end of the stream", |failures| failures.len() == 1);
    rig.back_off();
    rig.wait_synced();
    assert_eq!(rig.failures(), ["timed_out watch #1 later"]);
    assert_eq!(rig.source.requests()[1].to_string(), "LIST rv=0 limit=500");
}

#[test]
fn d_7_the_stream_has_the_idle_limit_of_a_watch_once_it_is_one() {
    let clock = ManualClock::new();
    let source = FakeSource::new().with_clock(clock.clone());
    let rig = Rig::on(source, clock, |builder| builder).sync();
    rig.clock.advance(Duration::from_secs(61));
    rig.quiet();
    rig.source.bookmark(); // once a minute, about
    rig.quiet();
    rig.clock.advance(Duration::from_secs(61));
    rig.quiet();
    assert_eq!(rig.source.requests().len(), 1, "it is still open");
    assert_eq!(rig.failures(), [""; 0]);
}

#[test]
fn r_52_r_56_an_expired_version_streams_again_without_one() {
    let rig = Rig::streaming().sync();
    rig.let_time_pass();
    rig.source.on_next_watch(WatchFault::Refuse(gone()));
    rig.source.fail_watches(&status(500));
    rig.back_off();
    rig.source.wait_for_requests(3);
    rig.quiet();
    assert_eq!(rig.source.trace(), "WATCH rv= initial\nWATCH rv=3 initial\nWATCH rv= initial");
    assert_eq!(rig.failures(), ["internal watch #1 later", "gone watch_open #2 now"]);
    assert!(rig.seen.is_empty(), "d_5: nothing has changed, so nothing is told");
}

#[test]
fn r_21_r_22_every_watch_has_a_time_out_and_an_idle_limit() {
    let rig = Rig::streaming();
    rig.source.on_next_watch(WatchFault::CloseAfter(1));
    rig.start();
    rig.back_off();
    rig.wait_synced();
    rig.let_time_pass();
    rig.source.close_watches();
    for request in rig.source.wait_for_requests(3) {
        let SourceRequest::Watch(WatchRequest { timeout, idle, .. }) = request else {
            panic!("not a watch: {request}");
        };
        assert!((300..=600).contains(&timeout.as_secs()), "{timeout:?}");
        assert_eq!(idle, Duration::from_secs(90));
    }
}
