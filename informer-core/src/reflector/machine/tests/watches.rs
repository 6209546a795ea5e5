//! Watches: opening them, their ends, and whether they are alive.

use std::time::Duration;

use super::*;

#[test]
fn r_21_the_time_out_is_random_between_5_and_10_minutes() {
    let mut drive = synced();
    let mut drawn = std::collections::HashSet::new();
    for _ in 0..40 {
        let request = drive.watch();
        assert_eq!(request.timeout.subsec_nanos(), 0);
        assert!((300..=600).contains(&request.timeout.as_secs()));
        drawn.insert(request.timeout);
        drive.watched(&request, &["closed", "5s"]);
    }
    assert!(drawn.len() > 20, "{drawn:?}");
}

#[test]
fn r_23_r_24_refused_and_429_wait_and_watch_again_however_often() {
    let mut drive = synced();
    for (error, step) in [("refused", 1), ("429", 2), ("429", 4), ("refused", 8), ("refused", 16)] {
        drive.run(&format!(
            "WATCH rv=10 -> refuse {error}
             wait {step}"
        ));
    }
    for _ in 0..20 {
        drive.run(
            "WATCH rv=10 -> refuse refused
             wait 32",
        );
    }
}

#[test]
fn f_64_a_watch_that_breaks_is_watched_again_not_listed() {
    synced().run(
        "WATCH rv=10 -> refuse network
         wait 1
         WATCH rv=10 -> refuse 503
         wait 2
         WATCH rv=10 -> refuse 504
         wait 4
         WATCH rv=10 -> error network 2s
         wait 8
         WATCH rv=10",
    );
}

#[test]
fn w_22_a_watch_that_can_never_be_opened_is_listed_now_and_then() {
    let mut drive = synced();
    for round in 0..2 {
        for at in 0..10 {
            drive.run("WATCH rv=10 -> refuse 503");
            if round == 1 || at > 5 {
                drive.run("wait 32");
            } else {
                let step = 1u32 << at;
                drive.run(&format!("wait {step}"));
            }
        }
        drive.run("LIST rv=10 -> list 10");
    }
}

#[test]
fn r_25_410_when_opening_lists_at_the_last_version() {
    synced().run(
        "WATCH rv=10 -> refuse 410
         wait 1
         LIST rv=10 -> list 20
         WATCH rv=20",
    );
}

#[test]
fn r_26_other_refusals_list_after_a_delay() {
    for error in ["403", "404", "500", "401", "decode", "panic"] {
        synced().run(&format!(
            "WATCH rv=10 -> refuse {error}
             wait 1
             LIST rv=10"
        ));
    }
}

#[test]
fn f_26_a_version_that_got_410_is_never_watched_again() {
    // With a Retry-After, and with a list that answers the very version that has expired.
    for outcome in ["refuse 410+3", "error 410 0s"] {
        synced().run(&format!(
            "WATCH rv=10 -> {outcome}
             wait {}
             LIST rv=10 -> list 10
             LIST rv= limit=500 -> list 900
             WATCH rv=900",
            if outcome.contains('+') { 2 } else { 1 }
        ));
    }
}

#[test]
fn f_26_the_most_recent_state_is_taken_whatever_its_version() {
    synced().run(
        "WATCH rv=10 -> error 410 0s
         wait 1
         LIST rv=10 -> list 10
         LIST rv= limit=500 -> list 10
         WATCH rv=10",
    );
}

#[test]
fn f_66_what_the_server_asks_for_is_waited_up_to_a_cap() {
    for (outcome, wait) in [
        ("refuse 429+30", 30),
        ("refuse 503+30", 30),
        ("refuse 500+30", 30),
        ("refuse 403+30", 30),
        ("error 429 0s", 1),
        ("error 429+30 5s", 30),
        ("error 500+30 5s", 30),
        ("refuse 429+999999999", 300),
    ] {
        let mut drive = synced();
        drive.run(&format!("WATCH rv=10 -> {outcome}"));
        let Step::Wait(delay) = drive.machine.next(drive.now) else { panic!("no wait after {outcome}") };
        assert_eq!(delay.as_secs(), wait, "{outcome}");
        assert_eq!(drive.after.delay, Some(delay));
    }
    // The larger of the two counts.
    let mut drive = paged();
    drive.run(
        "LIST rv=0 limit=500 -> 503+3
         wait 2
         LIST rv=0 limit=500 -> 503+1
         wait 2
         LIST rv=0 limit=500 -> 429+40
         wait 32",
    );
    assert_eq!(drive.last_wait, Duration::from_secs(40));
}

#[test]
fn w_21_500_with_a_retry_after_keeps_the_version() {
    synced().run(
        "WATCH rv=10 -> refuse 500+1
         wait 1
         WATCH rv=10",
    );
}

#[test]
fn r_28_r_29_f_08_an_end_after_a_second_is_watched_on_at_once() {
    let mut drive = synced();
    drive.run(
        "WATCH rv=10 -> events 2 closed 5s to 12
         WATCH rv=12 -> closed 1s",
    );
    assert_eq!(drive.after, Aftermath::default(), "nothing to report");
    for _ in 0..50 {
        drive.run("WATCH rv=12 -> closed 2s");
    }
}

#[test]
fn r_30_f_12_fruitless_watches_back_off_and_the_third_lists() {
    let mut drive = synced();
    drive.run("WATCH rv=10 -> closed 0.2s");
    assert_eq!(drive.complaint(), Some(ErrorKind::Network));
    drive.run(
        "wait 1
         WATCH rv=10 -> silent 0.2s
         wait 2
         WATCH rv=10 -> error network 0.2s
         wait 4
         LIST rv=10 -> list 900
         WATCH rv=900",
    );
}

#[test]
fn f_12_a_list_that_does_not_help_is_followed_by_one_at_the_most_recent_state() {
    let mut drive = synced();
    drive.run(
        "WATCH rv=10 -> closed 0s
         wait 1
         WATCH rv=10 -> closed 0s
         wait 2
         WATCH rv=10 -> closed 0s
         wait 4
         LIST rv=10 -> list 10
         WATCH rv=10 -> closed 0s
         wait 8
         WATCH rv=10 -> closed 0s
         wait 16
         WATCH rv=10 -> closed 0s
         wait 32
         LIST rv= limit=500 -> list 10",
    );
    // A watch that works in between makes it a new case.
    drive.run(
        "WATCH rv=10 -> closed 400s
         WATCH rv=10 -> closed 0s
         wait 1
         WATCH rv=10 -> closed 0s
         wait 2
         WATCH rv=10 -> closed 0s
         wait 4
         LIST rv=10",
    );
}

#[test]
fn r_31_a_bookmark_counts_as_an_event() {
    synced().run(
        "WATCH rv=10 -> bookmark closed 0.1s to 50
         WATCH rv=50",
    );
}

#[test]
fn f_13_short_streams_with_events_back_off_but_the_first() {
    let mut drive = synced();
    drive.run("WATCH rv=10 -> events 1 closed 0.1s to 11");
    assert_eq!(drive.after, Aftermath::default());
    drive.run("WATCH rv=11 -> events 1 closed 0.1s to 12");
    assert!(drive.complaint().is_some(), "what delays is reported");
    drive.run(
        "wait 1
         WATCH rv=12 -> events 1 closed 0.1s to 13
         wait 2
         WATCH rv=13 -> events 1 closed 2s to 14
         WATCH rv=14 -> events 1 closed 0.1s to 15
         WATCH rv=15 -> events 1 closed 0.1s to 16
         wait 4",
    );
}

#[test]
fn f_13_a_long_silent_watch_makes_the_next_short_one_the_first() {
    synced().run(
        "WATCH rv=10 -> events 1 closed 0.1s to 11
         WATCH rv=11 -> events 1 silent 95s to 12
         WATCH rv=12 -> events 1 closed 0.1s to 13
         WATCH rv=13",
    );
}

#[test]
fn r_33_r_35_r_36_r_37_errors_in_the_stream_list_at_the_last_version() {
    for error in ["410", "500", "403", "decode", "504"] {
        synced().run(&format!(
            "WATCH rv=10 -> events 1 error {error} 5s to 11
             wait 1
             LIST rv=11"
        ));
    }
}

#[test]
fn r_34_429_in_the_stream_watches_again() {
    synced().run(
        "WATCH rv=10 -> events 1 error 429 5s to 11
         wait 1
         WATCH rv=11",
    );
}

#[test]
fn w_2_a_connection_that_breaks_keeps_the_version() {
    synced().run(
        "WATCH rv=10 -> events 1 error network 5s to 11
         wait 1
         WATCH rv=11",
    );
}

#[test]
fn d_7_an_expiry_watches_on_without_a_list_and_without_a_delay() {
    let mut drive = synced();
    assert_eq!(drive.watch().idle, Duration::from_secs(90));
    drive.run_watch("silent 90s");
    assert_eq!(drive.complaint(), Some(ErrorKind::Silent));
    drive.run("WATCH rv=10");
}

#[test]
fn d_7_two_expiries_without_any_bookmark_raise_the_limit_and_a_bookmark_restores_it() {
    let mut drive = synced();
    drive.run(
        "WATCH rv=10 -> silent 90s
         WATCH rv=10 -> silent 90s
         PROBE LIST rv= limit=1 -> list 10",
    );
    let raised = drive.watch();
    assert_eq!(raised.idle, raised.timeout + Duration::from_secs(30));
    drive.watched(&raised, &["full", "closed", "400s"]);
    let raised = drive.watch();
    assert!(raised.idle > raised.timeout, "no bookmark yet");
    drive.watched(&raised, &["bookmark", "closed", "400s"]);
    assert_eq!(drive.watch().idle, Duration::from_secs(90));
    drive.run_watch("silent 90s");
    drive.run(
        "WATCH rv=10 -> silent 90s
         PROBE LIST rv= limit=1 -> list 10",
    );
    assert_eq!(drive.watch().idle, Duration::from_secs(90), "bookmarks have been seen");
}

#[test]
fn d_7_two_expiries_must_be_running() {
    let mut drive = synced();
    drive.run(
        "WATCH rv=10 -> silent 90s
         WATCH rv=10 -> events 1 closed 600s to 11
         WATCH rv=11 -> silent 90s",
    );
    assert_eq!(drive.watch().idle, Duration::from_secs(90));
}

#[test]
fn d_7_a_stream_keeps_the_limit_of_a_watch() {
    let request = streaming().watch();
    assert!(request.initial_events);
    assert_eq!(
        request.idle,
        Duration::from_secs(90),
        "it goes on as a watch, where bookmarks come once a minute"
    );
}

#[test]
fn d_7_silence_where_bookmarks_used_to_come_is_probed() {
    let mut drive = synced();
    drive.run(
        "WATCH rv=10 -> bookmark closed 400s to 20
         WATCH rv=20 -> silent 90s
         WATCH rv=20 -> silent 90s
         PROBE LIST rv= limit=1 -> list 25
         WATCH rv=20 -> silent 90s
         WATCH rv=20 -> silent 90s
         PROBE LIST rv= limit=1 -> list 7",
    );
    assert_eq!(drive.complaint(), Some(ErrorKind::NotComparable), "it is told before it is repaired");
    // Every informer of that server finds out at the same time.
    drive.run(
        "wait 1
         LIST rv= limit=500 -> list 7",
    );
    assert!(drive.lowered);
    drive.run("WATCH rv=7");
}

#[test]
fn d_7_full_length_watches_are_probed_as_expiries_are() {
    let mut drive = synced();
    drive.run("WATCH rv=10 -> bookmark closed 400s to 20");
    for _ in 0..2 {
        drive.run("WATCH rv=20 -> closed 600s");
    }
    drive.run("PROBE LIST rv= limit=1 -> 503+7");
    assert_eq!(drive.after.delay, Some(Duration::from_secs(7)), "a failed probe is reported and waited for");
    drive.run(
        "wait 4
         WATCH rv=20 -> silent 90s
         PROBE LIST rv= limit=1 -> list 20
         WATCH rv=20",
    );
}

#[test]
fn d_7_a_quiet_server_that_never_sent_bookmarks_is_probed_too() {
    let mut drive = synced();
    for _ in 0..5 {
        drive.run(
            "WATCH rv=10 -> closed 600s
             WATCH rv=10 -> closed 600s
             PROBE LIST rv= limit=1 -> list 10",
        );
    }
    // The end of a streaming list is a sign of life, and a head that is held back is none.
    let mut drive = streaming();
    drive.run(
        "STREAM rv= -> streamed 10 silent 90s
         WATCH rv=10 -> silent 90s
         WATCH rv=10 -> headless silent 90s
         PROBE LIST rv= limit=1 -> list 10
         WATCH rv=10 -> events 1 closed 600s to 11
         WATCH rv=11 -> closed 600s
         WATCH rv=11",
    );
}

#[test]
fn d_7_f_29_a_server_that_was_replaced_before_its_first_bookmark_is_found_by_one_silence() {
    for outage in ["refused", "network", "503", "504"] {
        let mut drive = synced();
        drive.run(&format!(
            "WATCH rv=10 -> events 1 closed 20s to 11
             WATCH rv=11 -> refuse {outage}
             wait 1
             WATCH rv=11 -> refuse {outage}
             wait 2
             WATCH rv=11 -> silent 90s
             PROBE LIST rv= limit=1 -> list 3
             wait 1
             LIST rv= limit=500 -> list 3"
        ));
        assert!(drive.lowered, "{outage}");
        drive.run("WATCH rv=3");
    }
}

#[test]
fn d_7_f_64_a_server_that_comes_back_and_gives_a_sign_of_life_is_not_probed() {
    for sign in ["bookmark", "events 1"] {
        synced().run(&format!(
            "WATCH rv=10 -> refuse refused
             wait 1
             WATCH rv=10 -> {sign} silent 90s to 11
             WATCH rv=11 -> silent 90s
             WATCH rv=11"
        ));
    }
    // Being busy is no outage.
    synced().run(
        "WATCH rv=10 -> refuse 429
         wait 1
         WATCH rv=10 -> silent 90s
         WATCH rv=10",
    );
}

#[test]
fn d_7_a_watch_whose_head_never_comes_is_listed_now_and_then() {
    let mut drive = synced();
    for _ in 0..5 {
        drive.run(
            "WATCH rv=10 -> headless silent 90s
             WATCH rv=10 -> headless silent 90s",
        );
        if drive.machine.watch.unopened > 0 {
            drive.run("PROBE LIST rv= limit=1 -> list 10");
        }
    }
    drive.run("LIST rv=10");
}

#[test]
fn d_7_an_event_below_the_start_forces_the_most_recent_state() {
    let mut drive = synced();
    drive.run("WATCH rv=10 -> events 1 back");
    assert_eq!(drive.complaint(), Some(ErrorKind::NotComparable));
    drive.run(
        "wait 1
         LIST rv= limit=500 -> list 7
         WATCH rv=7",
    );
}

#[test]
fn d_8_an_event_without_a_key_lists_again() {
    let mut drive = synced();
    drive.run("WATCH rv=10 -> events 1 unidentified to 11");
    assert_eq!(drive.complaint(), Some(ErrorKind::Decode));
    drive.run(
        "wait 1
         LIST rv=11",
    );
}

#[test]
fn d_8_a_list_with_an_item_without_a_key_is_repeated_with_back_off() {
    let mut drive = paged();
    for step in [1, 2, 4] {
        let rv = if step == 1 { "0 limit=500" } else { "10" };
        drive.run(&format!("LIST rv={rv} -> list 10"));
        let after = drive.machine.incomplete();
        assert!(after.complaint.is_some() && after.delay.is_some());
        drive.run(&format!("wait {step}"));
    }
}

/// No API server lists at version 0; one that is made for a test may, as long as it has nothing.
#[test]
fn r_40_a_watch_from_zero_that_ends_is_followed_by_a_list() {
    for end in ["closed 5s", "closed 5s events 3", "silent 90s events 1", "error network 5s"] {
        let mut drive = paged();
        drive.run(&format!("LIST rv=0 limit=500 -> list 0\nWATCH rv=0 -> {end}"));
        if end.starts_with("error") {
            drive.run("wait 1");
        }
        drive.run("LIST rv= limit=500 -> list 7\nWATCH rv=7 -> closed 5s\nWATCH rv=7");
    }
    // With a version of its own it is resumed as every other.
    let mut drive = paged();
    drive.run("LIST rv=0 limit=500 -> list 0\nWATCH rv=0 -> closed 5s events 3 to 12\nWATCH rv=12");
}

#[test]
fn f_12_a_head_that_takes_its_time_makes_a_watch_no_longer() {
    let mut drive = synced();
    drive.run(
        "WATCH rv=10 -> head 5s closed 0.2s
         WATCH rv=10 -> head 29s closed 0s
         wait 1
         WATCH rv=10 -> head 2s closed 0.9s
         wait 2
         WATCH rv=10 -> head 5s events 1 closed 0.2s to 11
         wait 4
         WATCH rv=11 -> head 5s closed 0s
         wait 8
         WATCH rv=11 -> head 5s closed 0s
         wait 16
         WATCH rv=11 -> head 5s closed 0s
         wait 32
         LIST rv=11 -> list 900",
    );
}

#[test]
fn f_06_a_head_that_is_held_as_long_as_nothing_happens_is_no_failure() {
    let mut drive = synced();
    drive.run(
        "WATCH rv=10 -> head 20s events 1 closed 5s to 11
         WATCH rv=11 -> head 60s closed 0s
         WATCH rv=11 -> head 30s closed 0s
         WATCH rv=11",
    );
    assert_eq!(drive.after, Aftermath::default());
}

#[test]
fn d_7_bytes_that_are_no_events_do_not_keep_a_watch_for_ever() {
    let mut drive = synced();
    let request = drive.watch();
    assert_eq!(drive.machine.patience(), request.timeout + Duration::from_secs(30));
    drive.run_watch("overdue 700s");
    assert_eq!(drive.complaint(), Some(ErrorKind::Silent));
    drive.run(
        "WATCH rv=10 -> overdue 700s
         PROBE LIST rv= limit=1 -> list 10
         WATCH rv=10",
    );
    // Nor do they prove health.
    synced().run(
        "WATCH rv=10 -> error 500 0s
         wait 1
         LIST rv=10 -> list 10
         WATCH rv=10 -> overdue 700s
         WATCH rv=10 -> error 500 0s
         wait 2",
    );
}

#[test]
fn d_7_f_29_a_server_that_was_replaced_at_once_is_found_by_one_silence() {
    // Nobody saw it gone: the watch was merely ended, or cut, before its time.
    for (end, wait) in [("closed 20s", ""), ("error network 20s", "wait 1"), ("closed 0.1s", "wait 1")] {
        let mut drive = synced();
        drive.run(&format!(
            "WATCH rv=10 -> {end}
             {wait}
             WATCH rv=10 -> silent 90s
             PROBE LIST rv= limit=1 -> list 3"
        ));
    }
    // A sign of life, and all is well again.
    synced().run(
        "WATCH rv=10 -> closed 20s
         WATCH rv=10 -> bookmark silent 90s
         WATCH rv=10 -> silent 90s
         WATCH rv=10",
    );
}

#[test]
fn d_7_where_no_watch_lasts_until_the_idle_limit_silences_add_up() {
    let sum = (Duration::from_secs(300), Duration::from_secs(300));
    let mut drive = Drive::new(Settings { watch_timeout: sum, ..settings(false) });
    drive.run(
        "LIST rv=0 limit=500 -> list 10
         WATCH rv=10 -> closed 100s
         WATCH rv=10 -> closed 100s
         WATCH rv=10 -> closed 100s
         PROBE LIST rv= limit=1 -> list 10
         WATCH rv=10 -> closed 200s
         WATCH rv=10 -> events 1 closed 200s to 11
         WATCH rv=11 -> closed 200s
         WATCH rv=11 -> error network 99s
         wait 1
         WATCH rv=11 -> closed 1s
         PROBE LIST rv= limit=1 -> list 11",
    );
}
