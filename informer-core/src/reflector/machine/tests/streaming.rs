//! Streaming lists, and the fall-back to lists by pages.

use std::time::Duration;

use super::*;

#[test]
fn r_46_the_first_request_is_a_streaming_list_without_a_version() {
    let mut drive = streaming();
    let request = drive.watch();
    assert!(request.initial_events);
    assert_eq!(request.resource_version, "");
    assert_eq!(drive.machine.initial_phase(), Some(Duration::from_secs(120)));
}

#[test]
fn r_49_the_stream_goes_on_as_a_watch() {
    let mut drive = streaming();
    drive.run(
        "STREAM rv= -> streamed 10 events 3 closed 400s to 13
         WATCH rv=13",
    );
    assert_eq!(drive.machine.initial_phase(), None);
}

#[test]
fn r_51_r_54a_x_10_a_server_that_does_not_know_streaming_is_listed_at_once_and_remembered() {
    for code in ["422", "400", "405", "406", "415"] {
        let mut drive = streaming();
        drive.run(&format!("STREAM rv= -> refuse {code}"));
        assert_eq!(drive.after.delay, None);
        drive.run(
            "LIST rv=0 limit=500 -> list 10
             WATCH rv=10 -> error 500 5s
             wait 1
             LIST rv=10 -> list 11
             WATCH rv=11 -> closed 600s
             WATCH rv=11 -> error 500 5s
             wait 1
             STREAM rv=11",
        );
    }
}

#[test]
fn r_52_an_expired_version_is_streamed_again_without() {
    for code in ["410", "too-large"] {
        streaming().run(&format!(
            "STREAM rv= -> streamed 10 error 410 5s
             wait 1
             STREAM rv=10 -> refuse {code}
             STREAM rv= -> refuse {code}
             wait 2
             LIST rv= limit=500 -> list 20
             WATCH rv=20"
        ));
    }
}

#[test]
fn r_53_x_10_a_stream_that_ends_early_is_tried_again_with_back_off() {
    let mut drive = streaming();
    drive.run("STREAM rv= -> events 3 closed 5s");
    assert!(drive.complaint().is_some());
    drive.run(
        "wait 1
         STREAM rv= -> events 3 closed 0.1s
         wait 2
         STREAM rv= -> streamed 10 closed 100s
         WATCH rv=10",
    );
}

#[test]
fn r_54_x_10_after_three_early_ends_the_paged_list_takes_over_for_a_while() {
    streaming().run(
        "STREAM rv= -> events 3 closed 5s
         wait 1
         STREAM rv= -> refuse network
         wait 2
         STREAM rv= -> closed 0s
         wait 4
         LIST rv=0 limit=500 -> list 10
         WATCH rv=10 -> error 410 100s
         wait 1
         LIST rv=10 -> list 20
         WATCH rv=20 -> error 410 600s
         wait 1
         STREAM rv=20",
    );
}

#[test]
fn f_16_a_stream_whose_end_bookmark_does_not_come_is_given_up_after_one_wait() {
    for (outcome, kind) in
        [("events 3 silent 90s", ErrorKind::Silent), ("events 9 late", ErrorKind::TimedOut)]
    {
        let mut drive = streaming();
        drive.run(&format!("STREAM rv= -> {outcome}"));
        assert_eq!(drive.complaint(), Some(kind));
        drive.run(
            "wait 1
             LIST rv=0 limit=500 -> list 10
             WATCH rv=10",
        );
    }
}

#[test]
fn r_56_a_relist_streams_from_the_last_version() {
    streaming().run(
        "STREAM rv= -> streamed 10 error 500 5s
         wait 1
         STREAM rv=10 -> streamed 12 error 410 5s
         wait 2
         STREAM rv=12 -> refuse 410
         STREAM rv= -> streamed 20 closed 5s
         WATCH rv=20",
    );
}

#[test]
fn r_57_a_source_that_cannot_stream_is_listed_from_the_start() {
    let mut machine = Machine::new(settings(true), false, Random::seeded(1));
    assert!(matches!(machine.next(crate::time::SystemClock.now()), Step::List { .. }));
}

#[test]
fn r_58_after_one_other_failure_the_next_list_is_paged_and_the_one_after_streams_again() {
    for code in ["403", "404", "500", "503", "decode", "panic"] {
        streaming().run(&format!(
            "STREAM rv= -> refuse {code}
             wait 1
             LIST rv=0 limit=500 -> {code}
             wait 2
             STREAM rv= -> streamed 10 error 500 5s
             wait 4
             STREAM rv=10"
        ));
    }
}

#[test]
fn a_server_that_is_down_says_nothing_about_streaming() {
    let mut drive = streaming();
    for step in [1, 2, 4, 8, 16, 32, 32, 32] {
        drive.run(&format!(
            "STREAM rv= -> refuse refused
             wait {step}"
        ));
    }
    drive.run("STREAM rv= -> streamed 10 closed 100s");
}

#[test]
fn f_66_a_streaming_list_waits_as_the_server_asks() {
    let mut drive = streaming();
    drive.run(
        "STREAM rv= -> refuse 429+30
         wait 16
         STREAM rv= -> error 503+30 0s",
    );
    assert_eq!(drive.after.delay, Some(Duration::from_secs(30)));
}
