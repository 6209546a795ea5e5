//! Watches: cold start, ends that are ordinary, and ends that are not.

use std::time::Duration;

use informer_core::{BadObject, ChangeKind, ObjectKey};
use informer_testkit::{Gate, WatchFault};

use super::*;

#[test]
fn x_1_a_cold_start_and_the_changes_after_it() {
    let rig = Rig::new();
    rig.start();
    rig.seen.wait_for(3);
    rig.source.create(object("default/d"));
    rig.source.update(object("default/a").value(7));
    rig.source.delete("default/b");
    rig.seen.wait_for_returned(6);
    assert_eq!(
        rig.seen.trace(),
        "Added(default/a@1, initial)\nAdded(default/b@2, initial)\nAdded(default/c@3, initial)\n\
         Added(default/d@4)\nUpdated(default/a@1→5)\nDeleted(default/b@6)"
    );
    rig.let_time_pass();
    rig.source.close_watches();
    rig.source.wait_for_requests(3);
    rig.quiet();
    assert_eq!(rig.source.trace(), "LIST rv=0 limit=500\nWATCH rv=3\nWATCH rv=6", "r_7, r_28");
    assert_eq!(rig.failures(), [""; 0]);
    rig.converged();
}

#[test]
fn f_08_the_ordinary_end_of_a_watch_is_watched_on_for_ever() {
    let rig = Rig::synced();
    for round in 1..=50u64 {
        rig.clock.advance(Duration::from_secs(2));
        rig.source.update(object("default/a").value(round));
        rig.quiet();
        rig.source.close_watches();
        rig.source.wait_for_requests(2 + round as usize);
        rig.quiet();
    }
    assert_eq!(rig.lists(), 1);
    assert_eq!(rig.source.requests()[51].to_string(), "WATCH rv=53");
    assert_eq!(rig.failures(), [""; 0]);
    rig.seen.wait_for_returned(50);
    assert_eq!(rig.seen.len(), 50, "nothing twice, nothing lost");
}

#[test]
fn f_01_d_7_a_half_open_watch_is_given_up_and_opened_again() {
    let rig = Rig::timed().sync();
    rig.source.create(object("default/d"));
    rig.quiet();
    // The server is gone without a word: it sends no bookmark either.
    rig.clock.advance(Duration::from_secs(90));
    rig.source.wait_for_requests(3);
    rig.quiet();
    rig.source.create(object("default/e"));
    rig.seen.wait_for_returned(2);
    assert_eq!(rig.trace_from(1), "WATCH rv=3\nWATCH rv=4");
    assert_eq!(rig.seen.trace(), "Added(default/d@4)\nAdded(default/e@5)");
    assert_eq!(rig.failures(), ["silent watch #1 now"]);
}

#[test]
fn d_7_bookmarks_keep_a_quiet_watch_alive_to_its_time_out() {
    let rig = Rig::timed().sync();
    let mut minutes = 0;
    while rig.source.requests().len() == 2 {
        rig.clock.advance(Duration::from_secs(60));
        minutes += 1;
        rig.source.edit(|world| {
            world.skip_versions(1);
            world.bookmark();
        });
        if minutes >= 5 {
            // The watch may have come to its end, and the next one been opened.
            assert!(minutes <= 10, "a watch of more than 10 minutes");
        }
        rig.quiet();
    }
    assert_eq!(rig.lists(), 1);
    assert_eq!(rig.failures(), [""; 0]);
    assert!(rig.informer.status().counters.bookmarks >= 4);
}

#[test]
fn f_33_what_happens_between_list_and_watch_is_not_lost() {
    let rig = Rig::new();
    let gate = Gate::new("the first watch may open");
    rig.source.on_next_watch(WatchFault::hold(&gate));
    rig.start();
    gate.wait_for_waiting(1);
    rig.source.delete("default/b");
    gate.open();
    rig.seen.wait_for_returned(4);
    assert_eq!(rig.source.trace(), "LIST rv=0 limit=500\nWATCH rv=3");
    assert!(rig.seen.trace().ends_with("Deleted(default/b@4)"), "{}", rig.seen.trace());
    rig.converged();
}

#[test]
fn f_34_a_watch_resumes_from_the_list_not_from_an_item() {
    let rig = Rig::new();
    rig.source.edit(|world| world.skip_versions(897));
    rig.start();
    rig.wait_synced();
    rig.quiet();
    rig.let_time_pass();
    rig.source.close_watches();
    rig.source.wait_for_requests(3);
    assert_eq!(rig.trace_from(1), "WATCH rv=900\nWATCH rv=900");
}

#[test]
fn f_12_fruitless_watches_back_off_and_end_in_a_list() {
    let rig = Rig::new();
    for _ in 0..3 {
        rig.source.on_next_watch(WatchFault::CloseAfter(0));
    }
    rig.start();
    let mut delays = vec![rig.back_off(), rig.back_off()];
    rig.source.edit(|world| world.skip_versions(897)); // writes to other resources
    delays.push(rig.back_off());
    rig.source.wait_for_requests(6);
    rig.quiet();
    assert_eq!(
        rig.source.trace(),
        "LIST rv=0 limit=500\nWATCH rv=3\nWATCH rv=3\nWATCH rv=3\nLIST rv=3\nWATCH rv=900"
    );
    assert_schedule(&delays);
    assert_eq!(
        rig.failures(),
        ["network watch #1 later", "network watch #2 later", "network watch #3 later"],
        "r_44: short watches are told"
    );
    assert_eq!(rig.informer.status().counters.fruitless_watches, 3);
}

#[test]
fn f_13_streams_that_break_after_one_event_stay_under_the_ceiling() {
    let rig = Rig::synced();
    // The watch that is open may be long; what follows is not.
    rig.let_time_pass();
    rig.source.close_watches();
    rig.source.wait_for_requests(3);
    let start = rig.clock.elapsed();
    let mut requests = 0;
    let mut value = 0;
    while rig.clock.elapsed() - start < Duration::from_secs(60) {
        rig.quiet();
        requests += 1;
        value += 1;
        rig.source.edit(|world| {
            world.update(object("default/a").value(value));
            world.close_watches();
        });
        if requests > 1 {
            rig.back_off(); // the first short stream is free
        } else {
            rig.source.wait_for_requests(4);
        }
    }
    assert!(requests <= 8, "{requests} watches in a minute");
    assert_eq!(rig.lists(), 1);
    rig.quiet();
    rig.seen.wait_for_returned(usize::try_from(value).unwrap());
    rig.converged();
}

#[test]
fn d_7_an_event_from_the_past_forces_the_most_recent_state() {
    let rig = Rig::synced();
    rig.source.update(object("default/a").value(1));
    rig.quiet();
    rig.let_time_pass();
    rig.source.close_watches();
    rig.source.wait_for_requests(3);
    rig.quiet();
    rig.source.edit(|world| world.send(ChangeKind::Modified, object("default/a").uid("uid-1").version("2")));
    rig.back_off();
    rig.source.wait_for_requests(5);
    rig.quiet();
    assert_eq!(rig.trace_from(2), "WATCH rv=4\nLIST rv= limit=500\nWATCH rv=4");
    assert_eq!(rig.failures(), ["not_comparable watch #1 later"]);
    rig.seen.wait_for_returned(1);
    assert_eq!(rig.seen.trace(), "Updated(default/a@1→4)", "f_29: the old state is told to nobody");
}

#[test]
fn d_7_a_history_that_was_replaced_unseen_is_found_by_its_silence() {
    let rig = Rig::timed().sync();
    let backup = rig.source.edit(|world| world.backup());
    rig.source.edit(|world| {
        world.create(object("default/lost"));
        world.bookmark();
    });
    rig.quiet();
    rig.seen.wait_for_returned(1);
    rig.let_time_pass();
    // A watch from a version that is not reached is silent, as a real server's is.
    rig.source.edit(|world| world.restore(&backup));
    rig.source.wait_for_requests(3);
    rig.quiet();
    rig.clock.advance(Duration::from_secs(90));
    rig.source.wait_for_requests(4);
    rig.back_off();
    rig.source.wait_for_requests(6);
    rig.quiet();
    rig.seen.wait_for_returned(2);
    assert_eq!(rig.trace_from(2), "WATCH rv=4\nLIST rv= limit=1\nLIST rv= limit=500\nWATCH rv=3");
    assert_eq!(rig.failures(), ["silent watch #1 now", "not_comparable list #2 later"]);
    assert_eq!(rig.informer.status().counters.lowered, 1);
    rig.converged();
}

#[test]
fn d_7_f_29_a_server_that_comes_back_with_less_before_its_first_bookmark_is_found_by_one_silence() {
    let rig = Rig::timed().sync();
    let backup = rig.source.edit(|world| world.backup());
    rig.source.create(object("default/lost"));
    rig.quiet();
    rig.seen.wait_for_returned(1);
    rig.let_time_pass();
    rig.source.start_outage(refused());
    rig.back_off();
    rig.clock.wait_for_alarm("the second back-off", |by| by >= Duration::from_millis(1600));
    rig.source.edit(|world| world.restore(&backup));
    rig.source.end_outage();
    rig.back_off();
    rig.quiet();
    rig.clock.advance(Duration::from_secs(90));
    rig.source.wait_for_requests(6);
    rig.back_off();
    rig.source.wait_for_requests(8);
    rig.quiet();
    rig.seen.wait_for_returned(2);
    assert_eq!(
        rig.trace_from(2),
        "WATCH rv=4\nWATCH rv=4\nWATCH rv=4\nLIST rv= limit=1\nLIST rv= limit=500\nWATCH rv=3"
    );
    assert_eq!(rig.seen.trace(), "Added(default/lost@4)\nDeleted(default/lost@4, final state unknown)");
    assert_eq!(rig.informer.status().counters.lowered, 1);
    rig.converged();
}

/// An object that cannot be read counts as an event, so the stream that brought nothing else was not fruitless.
#[test]
fn r_32_d_8_a_short_stream_of_unreadable_objects_is_watched_on_past_them() {
    let rig = Rig::synced();
    rig.source.edit(|world| {
        world.skip_versions(6);
        world.send_bad(ChangeKind::Modified, unreadable("default/a", "9"));
        world.close_watches();
    });
    rig.source.wait_for_requests(3);
    rig.quiet();
    assert_eq!(rig.trace_from(1), "WATCH rv=3\nWATCH rv=9");
    assert_eq!(rig.failures(), ["decode decode #0 now"]);
    assert_eq!(rig.informer.status().counters.fruitless_watches, 0);
    assert_eq!(rig.informer.store().get("default/a").unwrap().resource_version, "1", "what was stored stays");
}

fn unreadable(key: &str, version: &str) -> BadObject {
    BadObject {
        key: Some(key.parse::<ObjectKey>().unwrap()),
        uid: "uid-1".to_owned(),
        resource_version: version.to_owned(),
        error: Error::new(ErrorKind::Decode, "no").at(Stage::Decode),
    }
}

/// The clock of a watch begins with the request: one whose head comes late is not a short one.
#[test]
fn f_06_a_watch_whose_head_comes_late_is_no_short_one() {
    let rig = Rig::new();
    let gate = Gate::new("the head of the watch");
    rig.source.on_next_watch(WatchFault::hold(&gate));
    rig.start();
    gate.wait_for_waiting(1);
    rig.clock.advance(Duration::from_secs(20));
    gate.open();
    rig.quiet();
    rig.source.close_watches();
    rig.source.wait_for_requests(3);
    rig.quiet();
    assert_eq!(rig.source.trace(), "LIST rv=0 limit=500\nWATCH rv=3\nWATCH rv=3");
    assert_eq!(rig.failures(), [""; 0], "no short watch, no back-off");
    rig.converged();
}

/// Gone from the selection looks like gone: DELETED with the last content that matched; then it comes back.
#[test]
fn f_25_what_leaves_a_selection_and_enters_it_again_is_deleted_and_added() {
    let rig = Rig::synced();
    let x = |version: &str| object("default/x").uid("x").version(version);
    rig.source.edit(|world| {
        world.skip_versions(20);
        world.send(ChangeKind::Added, x("10"));
        world.send(ChangeKind::Deleted, x("11"));
        world.send(ChangeKind::Added, x("12"));
        // ADDED of what is known changes it, MODIFIED of what is not known adds it.
        world.send(ChangeKind::Added, x("13"));
        world.send(ChangeKind::Modified, object("default/y").uid("y").version("14"));
    });
    rig.seen.wait_for_returned(5);
    assert_eq!(
        rig.seen.trace(),
        "Added(default/x@10)\nDeleted(default/x@11)\nAdded(default/x@12)\nUpdated(default/x@12→13)\n\
         Added(default/y@14)"
    );
    assert_eq!(rig.failures(), [""; 0]);
}
