//! Informers over sockets: what a server does wrong, and the exact requests that follow.

use std::time::Duration;

use informer_core::{ErrorKind, SharedInformer};
use informer_testkit::script::{
    Action, Exchange, Expect, Framing, Head, Reply, Script, added, chunk, deleted, end, error_event, event,
    fin, frame, head, hold, list, modified, raw, rst, stall, status,
};
use informer_testkit::{Gate, ManualClock, Probe, ScriptedServer, within};
use serde_json::json;

use crate::bench::{ADDS, Bench, first, map, quiet};
use crate::support::{LIST, source};

#[test]
fn f_08_fifty_normal_ends_are_fifty_watches_and_one_list() {
    let gates: Vec<Gate> = (0..50).map(|_| Gate::new("the watch has lived")).collect();
    let rounds = gates.iter().enumerate().map(|(round, gate)| {
        let version = 10 + 2 * round;
        let next = |by: usize| map("a", &(version + by).to_string());
        let actions = [head(), modified(&next(1)), modified(&next(2)), hold(gate), end()];
        Expect::watch().rv(&version.to_string()).on_connection(0).answer(actions)
    });
    let exchanges: Vec<Exchange> = [first()].into_iter().chain(rounds).chain([quiet("110")]).collect();
    let bench = Bench::start(exchanges);
    for (round, gate) in gates.into_iter().enumerate() {
        bench.seen.wait_for(4 + 2 * round);
        bench.clock.advance(Duration::from_secs(2));
        gate.open();
    }
    bench.server.wait_for_script();
    assert_eq!(bench.reports.get(), [], "no error, and so no delay");
    assert_eq!(bench.informer.status().counters.lists, 1);
    let (trace, requests) = (bench.seen.trace(), bench.server.trace());
    assert_eq!(requests.lines().filter(|line| line.starts_with("LIST")).count(), 1);
    bench.finish(&trace, &requests);
}

#[test]
fn f_09_a_watch_without_a_byte_of_body_is_a_normal_end() {
    let gate = Gate::new("the watch has lived");
    let bench =
        Bench::start([first(), Expect::watch().rv("10").answer([head(), hold(&gate), end()]), quiet("10")]);
    gate.wait_for_waiting(1);
    bench.clock.advance(Duration::from_secs(2));
    gate.open();
    bench.server.wait_for_script();
    assert_eq!(bench.reports.get(), []);
    bench.finish(ADDS, "LIST rv=0 limit=500\nWATCH rv=10\nWATCH rv=10");
}

/// The forms in which a server ends a watch with an error, and what each leads to.
#[test]
fn f_10_error_answers_and_error_events_lead_to_the_same() {
    let relist = || vec![Expect::list().rv("10").reply(list("20", &[map("a", "5")])), quiet("20")];
    let listed = "LIST rv=0 limit=500\nWATCH rv=10\nLIST rv=10\nWATCH rv=20";
    let watched = "LIST rv=0 limit=500\nWATCH rv=10\nWATCH rv=10";
    let busy = status(429, "TooManyRequests", "slow down").field("details", json!({"retryAfterSeconds": 3}));
    let in_stream = |event: Action| vec![head(), event, fin()];
    let gone = "too old resource version: 10 (15)";
    let forms = [
        ("a", vec![Reply::status(410, "Expired", gone).into()], relist(), listed, ErrorKind::Gone, 0.0),
        ("b", in_stream(error_event(410, "Expired", gone)), relist(), listed, ErrorKind::Gone, 0.0),
        ("c", in_stream(event("ERROR", &busy)), vec![quiet("10")], watched, ErrorKind::TooManyRequests, 3.0),
        (
            "c by status",
            vec![Reply::json(429, &busy).into()],
            vec![quiet("10")],
            watched,
            ErrorKind::TooManyRequests,
            3.0,
        ),
        ("d", in_stream(error_event(500, "InternalError", "oh")), relist(), listed, ErrorKind::Internal, 0.0),
        (
            "d by status",
            vec![Reply::status(500, "InternalError", "oh").into()],
            relist(),
            listed,
            ErrorKind::Internal,
            0.0,
        ),
    ];
    for (form, answer, then, requests, kind, least) in forms {
        let exchanges = [first(), Expect::watch().rv("10").answer(answer)].into_iter().chain(then);
        let bench = Bench::start(exchanges);
        let waited = bench.skip_backoff().as_secs_f64();
        assert!((f64::max(least, 0.8)..3.1).contains(&waited), "{form}: {waited}");
        assert_eq!(bench.reports.get().iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [kind], "{form}");
        let trace = if requests == listed {
            format!("{ADDS}\nDeleted(ns/b@6, final state unknown)")
        } else {
            ADDS.to_owned()
        };
        bench.finish(&trace, requests);
    }
}

#[test]
fn f_26_when_the_relist_is_gone_too_the_next_one_asks_for_the_newest() {
    let bench = Bench::start([
        first(),
        Expect::watch().rv("10").answer([head(), error_event(410, "Expired", "too old"), fin()]),
        Expect::list().rv("10").reply(Reply::status(410, "Expired", "too old")),
        Expect::list().rv("").reply(list("900", &[map("a", "800"), map("b", "6")])),
        quiet("900"),
    ]);
    bench.skip_backoff();
    bench.finish(
        &format!("{ADDS}\nUpdated(ns/a@5→800)"),
        "LIST rv=0 limit=500\nWATCH rv=10\nLIST rv=10\nLIST rv= limit=500\nWATCH rv=900",
    );
}

#[test]
fn f_28_a_lagging_server_is_asked_for_the_newest_and_a_plain_timeout_again() {
    let causes = json!([{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]);
    let details = json!({"causes": causes, "retryAfterSeconds": 1});
    let lagging = status(504, "Timeout", "Timeout: Too large resource version: 10, current: 8");
    let gone = || Expect::watch().rv("10").reply(Reply::status(410, "Expired", "too old"));
    let bench = Bench::start([
        first(),
        gone(),
        Expect::list().rv("10").reply(Reply::json(504, &lagging.field("details", details))),
        Expect::list().rv("").reply(list("20", &[map("a", "5"), map("b", "6")])),
        quiet("20"),
    ]);
    bench.skip_backoff();
    bench.finish(ADDS, "LIST rv=0 limit=500\nWATCH rv=10\nLIST rv=10\nLIST rv= limit=500\nWATCH rv=20");

    let bench = Bench::start([
        first(),
        gone(),
        Expect::list().rv("10").reply(Reply::status(504, "Timeout", "the request timed out")),
        Expect::list().rv("10").reply(list("20", &[map("a", "5"), map("b", "6")])),
        quiet("20"),
    ]);
    bench.skip_backoff();
    bench.skip_backoff();
    bench.finish(ADDS, "LIST rv=0 limit=500\nWATCH rv=10\nLIST rv=10\nLIST rv=10\nWATCH rv=20");
}

#[test]
fn f_33_what_happens_between_list_and_watch_is_seen() {
    let bench = Bench::start([
        Expect::list().rv("0").reply(list("10", &[map("x", "9")])),
        Expect::watch().rv("10").answer([head(), deleted(&map("x", "11")), stall()]),
    ]);
    bench.finish("Added(ns/x@9, initial)\nDeleted(ns/x@11)", "LIST rv=0 limit=500\nWATCH rv=10");
}

#[test]
fn f_36_a_first_list_is_tried_until_it_succeeds() {
    let server = ScriptedServer::start_refusing(Script::in_order([
        Expect::list().rv("0").reply(Reply::status(503, "ServiceUnavailable", "starting")),
        Expect::list().rv("0").reply(Reply::new(500, "oops").header("Content-Type", "text/plain")),
        first(),
        quiet("10"),
    ]));
    let (clock, reports) = (ManualClock::new(), Probe::new(Vec::new()));
    let told = reports.clone();
    let informer = SharedInformer::builder(source(&server))
        .streaming(false)
        .clock(clock.clone())
        .on_error(move |report| told.update(|all| all.push((report.error.kind(), report.consecutive))))
        .build();
    informer.start().unwrap();
    let mut waits = Vec::new();
    for attempt in 0..5 {
        clock.wait_for_alarms(1);
        if attempt == 2 {
            server.accept_connections();
        }
        waits.push(clock.advance_to_next().as_secs_f64());
    }
    let waiting = informer.clone();
    within("the list", move || waiting.wait_synced(Duration::MAX)).unwrap();
    let kinds = [
        ErrorKind::Refused,
        ErrorKind::Refused,
        ErrorKind::Refused,
        ErrorKind::Unavailable,
        ErrorKind::Internal,
    ];
    assert_eq!(reports.get(), kinds.into_iter().zip(1..).collect::<Vec<_>>());
    for (waited, base) in waits.iter().zip([0.8, 1.6, 3.2, 6.4, 12.8]) {
        assert!((base..2.0 * base).contains(waited), "{waits:?}");
    }
    server.wait_for_script();
    drop(informer);
    server.finish();
}

#[test]
fn f_64_a_server_that_is_gone_for_a_while_is_watched_again_without_a_list() {
    let gate = Gate::new("the server goes");
    let bench = Bench::start([
        first(),
        Expect::watch().rv("10").answer([head(), modified(&map("a", "11")), hold(&gate), rst()]),
        Expect::watch().rv("11").answer([head(), added(&map("c", "12")), stall()]),
    ]);
    bench.seen.wait_for(3);
    bench.server.refuse_connections();
    bench.clock.advance(Duration::from_secs(2));
    gate.open();
    for _ in 0..3 {
        bench.skip_backoff(); // refused
    }
    let wait = bench.wait_for_backoff();
    bench.server.accept_connections();
    bench.clock.advance(wait);
    bench.finish(
        &format!("{ADDS}\nUpdated(ns/a@5→11)\nAdded(ns/c@12)"),
        "LIST rv=0 limit=500\nWATCH rv=10\nWATCH rv=11",
    );
}

#[test]
fn f_94_w_24_a_pooled_connection_that_dies_under_a_request_is_no_failure() {
    let bench = Bench::start([
        first(),
        Expect::watch().rv("10").on_connection(0).answer([fin()]),
        Expect::watch().rv("10").on_connection(1).answer([head(), added(&map("c", "11")), stall()]),
    ]);
    bench.seen.wait_for(3);
    assert_eq!(bench.reports.get(), []);
    assert_eq!(bench.clock.elapsed(), Duration::ZERO, "no back-off");
    bench.finish(&format!("{ADDS}\nAdded(ns/c@11)"), "LIST rv=0 limit=500\nWATCH rv=10\nWATCH rv=10");
}

/// Every form of a body that is cut, with an orderly close and with a reset.
fn cuts(body: &str) -> Vec<Vec<Action>> {
    let half = &body[..body.len() / 2];
    let forms = [
        vec![head(), raw(format!("{:x}\r\n{half}", body.len()))],
        vec![head(), chunk(half)],
        vec![Head::new(200, Framing::Length(body.len())).into(), chunk(half)],
        vec![Head::new(200, Framing::Close).into(), chunk(half)],
    ];
    let closings = [fin(), rst()];
    let mut all = Vec::new();
    for form in forms {
        for closing in &closings {
            all.push(form.iter().cloned().chain([closing.clone()]).collect());
        }
    }
    all
}

#[test]
fn f_97_a_list_cut_in_half_touches_nothing_and_is_asked_for_again() {
    for cut in cuts(LIST) {
        let bench = Bench::start([
            first(),
            Expect::watch().rv("10").reply(Reply::status(410, "Expired", "too old")),
            Expect::list().rv("10").answer(cut),
            Expect::list().rv("10").reply(list("20", &[map("b", "6")])),
            quiet("20"),
        ]);
        bench.skip_backoff();
        let wait = bench.wait_for_backoff();
        bench.seen.wait_for(2);
        assert_eq!(bench.informer.store().len(), 2, "the store is as it was");
        assert_eq!(bench.seen.trace(), ADDS);
        bench.clock.advance(wait);
        bench.finish(
            &format!("{ADDS}\nDeleted(ns/a@5, final state unknown)"),
            "LIST rv=0 limit=500\nWATCH rv=10\nLIST rv=10\nLIST rv=10\nWATCH rv=20",
        );
    }
}

#[test]
fn f_97_a_watch_cut_within_an_event_goes_on_from_the_one_before() {
    let line = frame("MODIFIED", &map("a", "12"));
    let half = &line[..line.len() / 2];
    for framing in [Framing::Chunked, Framing::Length(10_000), Framing::Close] {
        for closing in [fin(), rst()] {
            let gate = Gate::new("the first event is handled");
            let partial =
                if framing == Framing::Chunked { [b"fff\r\n", half].concat() } else { half.to_vec() };
            let bench = Bench::start([
                first(),
                Expect::watch().rv("10").answer([
                    Head::new(200, framing).into(),
                    modified(&map("a", "11")),
                    raw(partial),
                    hold(&gate),
                    closing,
                ]),
                Expect::watch().rv("11").answer([head(), modified(&map("a", "12")), stall()]),
            ]);
            bench.seen.wait_for(3);
            bench.clock.advance(Duration::from_secs(2));
            gate.open();
            bench.server.wait_for_script();
            assert_eq!(bench.reports.get(), [], "{framing:?}: a normal end");
            bench.finish(
                &format!("{ADDS}\nUpdated(ns/a@5→11)\nUpdated(ns/a@11→12)"),
                "LIST rv=0 limit=500\nWATCH rv=10\nWATCH rv=11",
            );
        }
    }
}

#[test]
fn f_12_an_empty_watch_that_closes_at_once_leads_to_a_list() {
    let empty = || Expect::watch().rv("10").answer([head(), end()]).times(3);
    let bench = Bench::start([
        first(),
        empty(),
        Expect::list().rv("10").reply(list("900", &[map("a", "5"), map("b", "6")])),
        quiet("900"),
    ]);
    let waits: Vec<f64> = (0..3).map(|_| bench.skip_backoff().as_secs_f64()).collect();
    assert!(waits.windows(2).all(|pair| pair[0] < pair[1]), "the spacing grows: {waits:?}");
    bench
        .finish(ADDS, "LIST rv=0 limit=500\nWATCH rv=10\nWATCH rv=10\nWATCH rv=10\nLIST rv=10\nWATCH rv=900");
}
