//! Relists: expired versions, servers that are behind, continue tokens that expire.

use informer_testkit::{Gate, ListFault, Recorder, WatchFault};

use super::*;

#[test]
fn x_2_a_disconnection_with_changes_missed_and_the_version_expired() {
    let rig = Rig::synced();
    rig.let_time_pass();
    rig.source.edit(|world| {
        world.close_watches();
        world.delete("default/b");
        world.create(object("default/d"));
        world.compact();
    });
    let delay = rig.back_off();
    rig.source.wait_for_requests(5);
    rig.quiet();
    rig.seen.wait_for_returned(2);
    assert_eq!(rig.trace_from(2), "WATCH rv=3\nLIST rv=3\nWATCH rv=5", "r_25, r_8");
    assert_eq!(rig.seen.trace(), "Deleted(default/b@2, final state unknown)\nAdded(default/d@5)");
    assert_eq!(rig.failures(), ["gone watch #1 later"]);
    assert_schedule(&[delay]);
}

#[test]
fn x_3_a_server_restarted_with_an_older_history() {
    let rig = Rig::synced();
    let backup = rig.source.edit(|world| world.backup());
    rig.source.delete("default/a");
    rig.source.create(object("default/lost"));
    rig.seen.wait_for_returned(2);
    rig.quiet();
    rig.let_time_pass();
    rig.source.on_next_watch(WatchFault::Refuse(gone()));
    rig.source.edit(|world| world.restore(&backup));
    rig.back_off();
    rig.source.wait_for_requests(6);
    rig.quiet();
    // r_10, w_20: the list at a version from the future is answered at once, by asking for none.
    assert_eq!(rig.trace_from(2), "WATCH rv=5\nLIST rv=5\nLIST rv= limit=500\nWATCH rv=3");
    assert_eq!(rig.failures(), ["gone watch_open #1 later", "too_large_version list #2 now"]);
    assert_eq!(rig.informer.status().counters.lowered, 1);
    rig.seen.wait_for_returned(4);
    // The handler was told of the loss, and of what came back.
    let stored = rig.informer.store();
    assert!(stored.get("default/a").is_some() && stored.get("default/lost").is_none());
    assert_eq!(stored.resource_version(), "3");
}

#[test]
fn f_26_a_relist_that_is_gone_as_well_asks_for_the_most_recent_state() {
    let rig = Rig::synced();
    rig.source.edit(|world| world.skip_versions(897));
    rig.source.on_next_list(ListFault::Fail(gone()));
    rig.source.fail_watches(&gone());
    rig.back_off();
    rig.source.wait_for_requests(5);
    rig.quiet();
    assert_eq!(
        rig.source.trace(),
        "LIST rv=0 limit=500\nWATCH rv=3\nLIST rv=3\nLIST rv= limit=500\nWATCH rv=900"
    );
}

#[test]
fn f_26_a_list_at_the_version_that_expired_is_not_watched_again() {
    let rig = Rig::synced();
    // A server whose cache is behind answers the very version that its other half has forgotten.
    rig.source.fail_watches(&gone());
    rig.back_off();
    rig.source.wait_for_requests(5);
    assert_eq!(rig.trace_from(2), "LIST rv=3\nLIST rv= limit=500\nWATCH rv=3");
    assert_eq!(rig.failures(), ["gone watch #1 later", "not_comparable list #2 now"]);
}

#[test]
fn f_27_lists_that_expire_as_soon_as_they_are_read_back_off_and_still_converge() {
    let rig = Rig::new();
    for _ in 0..6 {
        rig.source.on_next_watch(WatchFault::FailAfter(0, gone()));
    }
    rig.start();
    let mut delays = Vec::new();
    for round in 1..=6u64 {
        rig.clock.wait_for_alarm("a back-off", |by| by >= Duration::from_millis(800));
        rig.source.update(object("default/a").value(round));
        delays.push(rig.back_off());
        // Each list reaches the handlers, and what has not changed is told once.
        rig.seen.wait_for_returned(3 + usize::try_from(round).unwrap());
    }
    rig.quiet();
    assert_schedule(&delays);
    let failures = rig.failures();
    assert_eq!(failures[5], "gone watch #6 later", "the count is there to alert on");
    assert_eq!(rig.seen.len(), 9);
    assert_eq!(rig.lists(), 7);
    assert!(rig.informer.status().last_error.is_none(), "the watch works now");
    rig.converged();
}

#[test]
fn f_28_a_lagging_server_is_asked_for_what_it_has_and_a_plain_504_is_not_that() {
    let rig = Rig::synced();
    rig.source.edit(|world| world.fail_watches(&status(500)));
    // The server answers "too large resource version" for what it has not reached.
    rig.source.on_next_list(ListFault::Fail(too_large()));
    rig.back_off();
    rig.source.wait_for_requests(5);
    assert_eq!(rig.trace_from(2), "LIST rv=3\nLIST rv= limit=500\nWATCH rv=3");

    let rig = Rig::synced();
    rig.source.edit(|world| world.fail_watches(&status(500)));
    rig.source.on_next_list(ListFault::Fail(status(504)));
    let delays = [rig.back_off(), rig.back_off()];
    rig.source.wait_for_requests(5);
    assert_eq!(rig.trace_from(2), "LIST rv=3\nLIST rv=3\nWATCH rv=3");
    assert_schedule(&delays);
}

fn too_large() -> Error {
    Error::new(ErrorKind::TooLargeVersion, "too large resource version").with_retry_after(LONG)
}

#[test]
fn f_24_f_29_a_list_from_an_older_world_reaches_nobody() {
    let rig = Rig::synced();
    let older = rig.source.edit(|world| world.backup());
    rig.source.delete("default/b");
    rig.seen.wait_for_returned(1);
    rig.let_time_pass();
    rig.source.on_next_list(ListFault::From(older));
    rig.source.fail_watches(&status(500));
    rig.back_off();
    rig.source.wait_for_requests(5);
    rig.quiet();
    assert_eq!(rig.trace_from(2), "LIST rv=4\nLIST rv= limit=500\nWATCH rv=4");
    assert_eq!(rig.seen.trace(), "Deleted(default/b@4)", "it does not come back");
    assert_eq!(rig.failures(), ["internal watch #1 later", "not_comparable list #2 now"]);
    assert_eq!(rig.informer.status().counters.lowered, 0);
    let again: Vec<String> = rig.source.requests()[1..].iter().map(ToString::to_string).collect();
    assert!(!again.iter().any(|request| request.starts_with("LIST rv=0")), "{again:?}");
}

/// An informer by pages of two, in the middle of a relist: the second page waits for the gate.
fn between_two_pages() -> (Rig, Gate) {
    let rig = Rig::with(|builder| builder.streaming(false).page_size(2)).sync();
    let gate = Gate::new("the second page may come");
    rig.source.on_next_list(ListFault::Pass);
    rig.source.on_next_list(ListFault::hold(&gate));
    rig.source.fail_watches(&status(500));
    rig.back_off();
    gate.wait_for_waiting(1);
    (rig, gate)
}

#[test]
fn f_31_a_continue_token_that_expires_starts_the_list_again() {
    let (rig, gate) = between_two_pages();
    rig.source.edit(|world| {
        world.delete("default/a"); // it was on the first page
        world.expire_continue_tokens();
    });
    gate.open();
    rig.source.wait_for_requests(6);
    rig.quiet();
    rig.seen.wait_for_returned(1);
    assert_eq!(
        rig.trace_from(2),
        "LIST rv=3 limit=2\nLIST rv= limit=2 continue\nLIST rv=3 limit=2\nWATCH rv=4"
    );
    assert_eq!(rig.seen.trace(), "Deleted(default/a@1, final state unknown)");
    assert_eq!(rig.failures(), ["internal watch #1 later", "gone list #2 now"]);
}

#[test]
fn p_3_a_change_between_two_pages_is_watched_from_the_first() {
    let (rig, gate) = between_two_pages();
    rig.source.delete("default/a");
    gate.open();
    rig.seen.wait_for_returned(1);
    assert_eq!(rig.trace_from(2), "LIST rv=3 limit=2\nLIST rv= limit=2 continue\nWATCH rv=3");
    rig.quiet();
    assert_eq!(rig.seen.trace(), "Deleted(default/a@4)", "seen, not guessed");
}

#[test]
fn f_18_a_list_that_is_cut_replaces_nothing() {
    let rig = Rig::synced();
    rig.source.delete("default/c");
    rig.quiet();
    rig.seen.wait_for_returned(1);
    let cut = Error::new(ErrorKind::Network, "the body ended early");
    rig.source.on_next_list(ListFault::FailAfter(1, cut));
    rig.source.fail_watches(&status(500));
    rig.back_off();
    rig.source.wait_for_requests(3);
    rig.back_off();
    rig.source.wait_for_requests(5);
    rig.quiet();
    assert_eq!(rig.failures(), ["internal watch #1 later", "network list #2 later"]);
    assert_eq!(rig.seen.trace(), "Deleted(default/c@4)");
}

#[test]
fn r_20_an_empty_list_syncs_and_is_watched() {
    let source = FakeSource::<TestObject>::new();
    source.edit(|world| world.skip_versions(5));
    let informer = SharedInformer::builder(source.clone()).streaming(false).build();
    let seen = Recorder::new();
    informer.add_event_handler(seen.clone()).unwrap();
    informer.start().unwrap();
    informer.wait_synced(LONG).unwrap();
    source.wait_for_idle_watches(1);
    assert_eq!(source.trace(), "LIST rv=0 limit=500\nWATCH rv=5");
    assert!(informer.store().is_empty() && seen.is_empty());
    assert_eq!(informer.store().resource_version(), "5");
}
