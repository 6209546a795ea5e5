//! Lists: their versions, pages and failures, and the delays between them.

use std::time::Duration;

use super::*;

#[test]
fn r_1_the_first_list_goes_out_at_once() {
    paged().run("LIST rv=0 limit=500");
    streaming().run("STREAM rv=");
}

#[test]
fn r_2_failing_lists_are_one_back_off_step_apart() {
    paged().run(
        "LIST rv=0 limit=500 -> 500
         wait 1
         LIST rv=0 limit=500 -> 403
         wait 2
         LIST rv=0 limit=500 -> refused
         wait 4
         LIST rv=0 limit=500 -> 404
         wait 8
         LIST rv=0 limit=500 -> 503
         wait 16
         LIST rv=0 limit=500 -> decode
         wait 32
         LIST rv=0 limit=500 -> panic
         wait 32
         LIST rv=0 limit=500 -> list 5
         WATCH rv=5",
    );
}

#[test]
fn r_2_the_defaults_are_those_of_client_go() {
    let mut machine =
        Machine::new(Settings { streaming: false, ..Settings::default() }, true, Random::seeded(7));
    let now = crate::time::SystemClock.now();
    for base in [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0] {
        assert!(matches!(machine.next(now), Step::List { .. }));
        let told = machine.list_failed(&failure("500")).delay;
        let Step::Wait(delay) = machine.next(now) else { panic!("no wait") };
        assert_eq!(told, Some(delay), "what is told is what is waited");
        assert!((base..2.0 * base).contains(&delay.as_secs_f64()), "{delay:?} of {base}");
    }
}

#[test]
fn r_3_a_watch_that_ends_with_410_is_followed_by_a_delay() {
    synced().run(
        "WATCH rv=10 -> error 410 0s
         wait 1
         LIST rv=10",
    );
}

#[test]
fn r_4_only_a_stream_alive_for_30_s_resets_the_back_off() {
    synced().run(
        "WATCH rv=10 -> error 500 0s
         wait 1
         LIST rv=10 -> list 10
         WATCH rv=10 -> events 5 error 500 29s to 15
         wait 2
         LIST rv=15 -> list 15
         WATCH rv=15 -> events 1 error 500 30s to 16
         wait 1
         LIST rv=16",
    );
}

#[test]
fn r_4_an_open_that_hangs_is_no_stream_that_lives() {
    let mut drive = synced();
    // The head of a watch may take 90 s; that proves nothing.
    for step in ["1", "2", "4"] {
        drive.run("WATCH rv=10");
        let error = failure("network");
        let watch = Watched {
            ended: Ended::NotOpened(&error),
            opened: false,
            lasted: Duration::from_secs(90),
            alive: Duration::ZERO,
            events: 0,
            bookmarks: 0,
            version: "10",
        };
        drive.machine.watched(&watch, drive.now);
        drive.run(&format!("wait {step}"));
    }
}

#[test]
fn r_4_a_long_initial_phase_is_no_stream_that_lives() {
    // F-27 by streaming: the list takes 35 s, and by then its version has expired.
    let mut drive = streaming();
    for (version, step) in [("10", "1"), ("20", "2"), ("30", "4")] {
        let Step::Watch(request) = drive.machine.next(drive.now) else { panic!("no stream") };
        assert!(request.initial_events);
        drive.machine.streamed(version);
        let error = failure("410");
        let watch = Watched {
            ended: Ended::Error(&error),
            opened: true,
            lasted: Duration::from_secs(35),
            alive: Duration::ZERO,
            events: 1000,
            bookmarks: 0,
            version,
        };
        drive.machine.watched(&watch, drive.now);
        drive.run(&format!("wait {step}"));
    }
}

#[test]
fn r_7_and_r_8_the_first_list_is_at_0_and_a_relist_at_the_last_version() {
    paged().run(
        "LIST rv=0 limit=500 -> list 10
         WATCH rv=10 -> events 2 error 500 5s to 12
         wait 1
         LIST rv=12",
    );
}

#[test]
fn r_9_p_5_an_expired_list_is_repeated_at_once_at_the_most_recent_state() {
    let mut drive = synced();
    drive.run(
        "WATCH rv=10 -> error 410 0s
         wait 1
         LIST rv=10 -> 410",
    );
    assert_eq!(drive.after.delay, None);
    drive.run(
        "LIST rv= limit=500 -> list 20
         WATCH rv=20",
    );
}

#[test]
fn r_10_a_too_large_version_behaves_like_an_expired_one() {
    synced().run(
        "WATCH rv=10 -> error 500 0s
         wait 1
         LIST rv=10 -> too-large+1
         LIST rv= limit=500 -> list 30
         WATCH rv=30 -> error 500 0s
         wait 2
         LIST rv=30 -> too-large+1
         LIST rv= limit=500 -> list 40
         WATCH rv=40",
    );
}

#[test]
fn r_11_the_most_recent_state_is_tried_once_a_step_and_stays_wanted() {
    synced().run(
        "WATCH rv=10 -> error 410 0s
         wait 1
         LIST rv=10 -> 410
         LIST rv= limit=500 -> 410
         wait 2
         LIST rv= limit=500 -> 500
         wait 4
         LIST rv= limit=500 -> list 20
         WATCH rv=20",
    );
}

#[test]
fn r_12_a_list_that_succeeds_brings_back_the_last_version() {
    synced().run(
        "WATCH rv=10 -> error 410 0s
         wait 1
         LIST rv=10 -> 410
         LIST rv= limit=500 -> list 20
         WATCH rv=20 -> error 500 0s
         wait 2
         LIST rv=20",
    );
}

#[test]
fn r_13_without_any_version_the_next_list_is_at_0_again() {
    paged().run(
        "LIST rv=0 limit=500 -> 500
         wait 1
         LIST rv=0 limit=500",
    );
}

#[test]
fn r_14_and_r_15_the_first_list_has_a_limit_and_a_relist_has_none() {
    synced().run(
        "WATCH rv=10 -> error 500 0s
         wait 1
         LIST rv=10 -> list 11",
    );
}

#[test]
fn r_16_a_server_that_pages_at_0_gets_limits_later() {
    paged().run(
        "LIST rv=0 limit=500 -> page 10 c1
         LIST continue=c1 limit=500 -> list 10
         WATCH rv=10 -> error 500 0s
         wait 1
         LIST rv=10 limit=500",
    );
}

#[test]
fn r_17_a_page_size_is_on_every_list() {
    let mut drive = Drive::new(Settings { page_size: Some(4), ..settings(false) });
    drive.run(
        "LIST rv=0 limit=4 -> page 10 c1
         LIST continue=c1 limit=4 -> list 10
         WATCH rv=10 -> error 410 0s
         wait 1
         LIST rv=10 limit=4 -> 410
         LIST rv= limit=4 -> list 20",
    );
}

#[test]
fn r_19_the_retry_at_the_most_recent_state_is_paged() {
    synced().run(
        "WATCH rv=10 -> error 410 0s
         wait 1
         LIST rv=10 -> 410
         LIST rv= limit=500",
    );
}

#[test]
fn p_2_continuations_carry_the_limit_and_no_version() {
    paged().run(
        "LIST rv=0 limit=500 -> page 10 c1
         LIST continue=c1 limit=500 -> page 10 c2
         LIST continue=c2 limit=500 -> list 10",
    );
    let mut machine = paged().machine;
    let now = crate::time::SystemClock.now();
    machine.next(now);
    let end = ListEnd { resource_version: "10".to_owned(), continue_token: Some("c1".to_owned()) };
    machine.page(&Page { end: &end, items: 1, first: None });
    let Step::List { request, first } = machine.next(now) else { panic!("no page") };
    assert_eq!((request.resource_version.as_str(), first), ("", false));
}

#[test]
fn p_3_a_list_has_the_version_of_its_first_page() {
    paged().run(
        "LIST rv=0 limit=500 -> page 10 c1
         LIST continue=c1 limit=500 -> list 12
         WATCH rv=10",
    );
}

#[test]
fn p_4_r_18_f_31_a_token_that_expires_restarts_the_list_a_few_times() {
    let mut drive = synced();
    drive.run(
        "WATCH rv=10 -> error 410 0s
         wait 1
         LIST rv=10 -> 410",
    );
    for _ in 0..3 {
        drive.run(
            "LIST rv= limit=500 -> page 20 c1
             LIST continue=c1 limit=500 -> 410",
        );
        assert_eq!(drive.after.delay, None);
    }
    drive.run(
        "LIST rv= limit=500 -> page 20 c1
         LIST continue=c1 limit=500 -> 410
         wait 2
         LIST rv= -> 503
         wait 4
         LIST rv= -> list 30
         WATCH rv=30 -> error 410 0s
         wait 8
         LIST rv=30 -> 410
         LIST rv= limit=500",
    );
}

#[test]
fn p_4_a_list_in_one_piece_ends_what_its_pages_cannot() {
    let mut drive = Drive::new(Settings { page_size: Some(4), ..settings(false) });
    for _ in 0..4 {
        drive.run(
            "LIST rv=0 limit=4 -> page 20 c1
             LIST continue=c1 limit=4 -> 410",
        );
    }
    drive.run(
        "wait 1
         LIST rv=0 -> list 30
         WATCH rv=30 -> error 500 0s
         wait 2
         LIST rv=30 limit=4",
    );
}

#[test]
fn p_4_a_restart_is_a_paged_list_though_streaming_would_be_possible() {
    let mut drive = streaming();
    drive.run(
        "STREAM rv= -> refuse 403
         wait 1
         LIST rv=0 limit=500 -> page 10 c1
         LIST continue=c1 limit=500 -> 410
         LIST rv=0 limit=500 -> list 10
         WATCH rv=10",
    );
}

#[test]
fn p_6_another_error_on_a_later_page_fails_the_list() {
    paged().run(
        "LIST rv=0 limit=500 -> page 10 c1
         LIST continue=c1 limit=500 -> 500
         wait 1
         LIST rv=0 limit=500",
    );
}

#[test]
fn a_token_that_repeats_does_not_loop() {
    let mut drive = paged();
    drive.run(
        "LIST rv=0 limit=500 -> page 10 c1
         LIST continue=c1 limit=500 -> page 10 c1",
    );
    assert!(drive.refused.is_some());
    drive.run(
        "LIST rv= limit=500 -> page 10 c1
         LIST continue=c1 limit=500 -> page 10 c1
         wait 1
         LIST rv= limit=500",
    );
}

#[test]
fn f_29_an_older_list_is_refused_and_the_most_recent_state_is_asked_for_at_once() {
    let mut drive = paged();
    drive.run(
        "LIST rv=0 limit=500 -> list 100
         WATCH rv=100 -> error 410 0s
         wait 1
         LIST rv=100 -> list 80",
    );
    assert_eq!(drive.refused.as_ref().unwrap().kind(), ErrorKind::NotComparable);
    assert_eq!(drive.machine.version(), "100");
    drive.run("LIST rv= limit=500 -> list 80");
    assert!(drive.lowered, "counted and logged");
    drive.run("WATCH rv=80");
}

#[test]
fn f_29_the_first_list_can_ask_for_the_most_recent_state() {
    let consistent = |streaming| Settings { consistent_start: true, ..settings(streaming) };
    Drive::new(consistent(false)).run(
        "LIST rv= limit=500 -> 500
         wait 1
         LIST rv= limit=500 -> list 10
         WATCH rv=10 -> error 500 5s
         wait 2
         LIST rv=10",
    );
    Drive::new(consistent(true)).run(
        "STREAM rv= -> refuse 422
         LIST rv= limit=500",
    );
}

#[test]
fn f_29_a_streaming_list_is_held_to_it_too() {
    let mut drive = streaming();
    drive.run(
        "STREAM rv= -> streamed 100 error 410 5s
         wait 1
         STREAM rv=100 -> streamed 80",
    );
    assert_eq!(drive.refused.as_ref().unwrap().kind(), ErrorKind::NotComparable);
    assert_eq!(drive.machine.version(), "100");
    drive.run("STREAM rv= -> streamed 80 closed 100s");
    assert!(drive.lowered);
    drive.run("WATCH rv=80");
}

#[test]
fn f_35_versions_that_are_no_numbers_are_never_compared() {
    synced().run(
        "WATCH rv=10 -> error 500 5s
         wait 1
         LIST rv=10 -> list a-7
         WATCH rv=a-7 -> error 500 5s
         wait 2
         LIST rv=a-7 -> list 3
         WATCH rv=3",
    );
}

#[test]
fn a_list_without_a_version_is_refused() {
    let mut drive = synced();
    drive.run(
        "WATCH rv=10 -> error 500 0s
         wait 1
         LIST rv=10 -> list",
    );
    assert_eq!(drive.refused.as_ref().unwrap().kind(), ErrorKind::Decode);
    drive.run(
        "LIST rv= limit=500 -> list
         wait 2
         LIST rv= limit=500 -> list 11
         WATCH rv=11",
    );
}

#[test]
fn d_18_a_crash_of_the_shell_lists_again_after_a_delay() {
    let mut drive = synced();
    drive.run("WATCH rv=10");
    assert!(drive.machine.crashed().delay.is_some());
    drive.run(
        "wait 1
         LIST rv=10",
    );
}

#[test]
fn f_29_a_server_that_lists_at_zero_is_asked_for_the_most_recent_state_ever_after() {
    let mut drive = paged();
    drive.run(
        "LIST rv=0 limit=500 -> list 0
         WATCH rv=0 -> events 2 closed 5s
         LIST rv= limit=500 -> list 0
         WATCH rv=0 -> events 2 closed 5s
         LIST rv= limit=500 -> list 12
         WATCH rv=12",
    );
    let mut drive = streaming();
    drive.run(
        "STREAM rv= -> streamed 0 closed 5s
         STREAM rv=",
    );
}

#[test]
fn f_29_zero_is_below_every_version_that_a_cache_can_have() {
    let mut drive = synced();
    drive.run(
        "WATCH rv=10 -> error 410 0s
         wait 1
         LIST rv=10 -> list 0",
    );
    assert!(drive.refused.is_some(), "an older state is no news");
    drive.run("LIST rv= limit=500 -> list 0");
    assert!(drive.lowered, "the most recent one counts, and that it went back is told");
}

#[test]
fn r_10_a_version_that_the_server_cannot_read_is_given_up() {
    for unread in ["400", "422"] {
        synced().run(&format!(
            "WATCH rv=10 -> refuse {unread}
             wait 1
             LIST rv=10 -> {unread}
             LIST rv= limit=500 -> {unread}
             wait 2
             LIST rv= limit=500 -> list a7
             WATCH rv=a7"
        ));
    }
    // Some say so with a 500, which may also be anything else: so it takes two.
    synced().run(
        "WATCH rv=10 -> refuse 500
         wait 1
         LIST rv=10 -> 500
         wait 2
         LIST rv=10 -> 503
         wait 4
         LIST rv=10 -> 500
         wait 8
         LIST rv=10 -> 500
         wait 16
         LIST rv= limit=500 -> list 20
         WATCH rv=20 -> error 410 0s
         wait 32
         LIST rv=20 -> 500
         wait 32
         LIST rv=20",
    );
    // Of a continuation it is the token that cannot be read.
    paged().run(
        "LIST rv=0 limit=500 -> page 10 c1
         LIST continue=c1 limit=500 -> 400
         wait 1
         LIST rv=0 limit=500",
    );
}

#[test]
fn p_a_list_that_comes_round_again_is_refused() {
    let mut drive = paged();
    drive.run(
        "LIST rv=0 limit=500 -> page 10 c1 of a
         LIST continue=c1 limit=500 -> page 10 c2 of b
         LIST continue=c2 limit=500 -> page 10 c1 of c",
    );
    assert!(drive.refused.as_ref().unwrap().to_string().contains("same continue token"));
    // New tokens, but the same pages.
    drive.run(
        "LIST rv= limit=500 -> page 10 c1 of a
         LIST continue=c1 limit=500 -> page 10 c2 of b
         LIST continue=c2 limit=500 -> page 10 c3 of a",
    );
    assert!(drive.refused.as_ref().unwrap().to_string().contains("begins as an earlier one"));
    drive.run(
        "wait 1
         LIST rv= limit=500 -> page 10 c1 of a
         LIST continue=c1 limit=500 -> list 10",
    );
}

#[test]
fn p_pages_without_items_are_read_on_but_not_for_ever() {
    let mut drive = paged();
    drive.run("LIST rv=0 limit=500 -> page 10 c0 of nothing");
    for page in 1..99 {
        let before = page - 1;
        drive.run(&format!("LIST continue=c{before} limit=500 -> page 10 c{page} of nothing"));
    }
    drive.run("LIST continue=c98 limit=500 -> page 10 c99 of a");
    for page in 100..200 {
        let before = page - 1;
        drive.run(&format!("LIST continue=c{before} limit=500 -> page 10 c{page} of nothing"));
        assert_eq!(drive.refused.is_some(), page == 199, "{page}");
    }
    assert!(drive.refused.as_ref().unwrap().to_string().contains("without an item"));
    drive.run("LIST rv= limit=500");
}
