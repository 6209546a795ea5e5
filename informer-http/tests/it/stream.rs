//! Informers over sockets: what is wrong within a watch, and the exact requests that follow.

use informer_core::{ErrorKind, Stage};
use informer_testkit::script::{Expect, added, chunk, event, frame, head, list, modified, object, stall};
use serde_json::json;

use crate::bench::{ADDS, Bench, first, map, quiet};

/// What is no event, in every shape, ends the watch and leads to a list at the last version that was told.
#[test]
fn r_36_r_37_w_3_w_4_what_is_no_event_is_reported_and_listed_again() {
    let pod = object("ns/p", "u", "12").of("Pod", "v1");
    let shapes: [(&str, Vec<u8>); 9] = [
        ("no JSON", b"{\"type\":\"ADDED\",\"object\":{\"metadata\":}}\n".to_vec()),
        ("another type", frame("RENAMED", &map("a", "12"))),
        ("no type", b"{\"object\":{\"metadata\":{\"name\":\"a\"}}}\n".to_vec()),
        ("no object", b"{\"type\":\"ADDED\"}\n".to_vec()),
        ("a page", b"<html><body>504</body></html>\n".to_vec()),
        ("text", b"upstream timed out\n".to_vec()),
        ("bytes", vec![0xff, 0xfe, b'\n']),
        ("an error that is no status", frame("ERROR", &pod)),
        ("the end of a list in a bookmark without a version", {
            let marked = json!({"kind": "ConfigMap", "apiVersion": "v1",
                "metadata": {"annotations": {"k8s.io/initial-events-end": "true"}}});
            frame("BOOKMARK", &marked)
        }),
    ];
    for (shape, bytes) in shapes {
        let bench = Bench::start([
            first(),
            Expect::watch().rv("10").answer([head(), modified(&map("a", "11")), chunk(bytes), stall()]),
            Expect::list().rv("11").reply(list("20", &[map("a", "11"), map("b", "6")])),
            quiet("20"),
        ]);
        bench.skip_backoff();
        assert_eq!(bench.reports.get(), [(ErrorKind::Decode, Some(Stage::Watch))], "{shape}");
        bench.finish(
            &format!("{ADDS}\nUpdated(ns/a@5→11)"),
            "LIST rv=0 limit=500\nWATCH rv=10\nLIST rv=11\nWATCH rv=20",
        );
    }
}

/// Objects without a name, and objects of another kind: one of them costs a list, the other nothing but a report.
#[test]
fn d_8_r_41_an_object_of_another_kind_is_passed_over_and_one_without_a_name_is_listed() {
    let bench = Bench::start([
        first(),
        Expect::watch().rv("10").answer([
            head(),
            added(&object("ns/p", "u", "11").of("Pod", "v1")),
            modified(&map("a", "12")),
            event(
                "ADDED",
                &json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"resourceVersion": "13"}}),
            ),
            stall(),
        ]),
        Expect::list().rv("13").reply(list("20", &[map("a", "12"), map("b", "6")])),
        quiet("20"),
    ]);
    bench.skip_backoff();
    let decode = |stage| (ErrorKind::Decode, Some(stage));
    let reports = [decode(Stage::Decode), decode(Stage::Decode), decode(Stage::Watch)];
    assert_eq!(bench.reports.get(), reports);
    bench.finish(
        &format!("{ADDS}\nUpdated(ns/a@5→12)"),
        "LIST rv=0 limit=500\nWATCH rv=10\nLIST rv=13\nWATCH rv=20",
    );
}

/// An event over the limit is one bad object if its head tells which, and costs a list if not.
#[test]
fn w_5_f_17_d_11_an_event_over_the_limit_is_one_bad_object_or_costs_a_list() {
    let long = || "x".repeat(8000);
    let known = map("a", "11").field("data", json!({ "k": long() }));
    let unknown = json!({"a": long(), "kind": "ConfigMap"});
    let bench = Bench::with(
        [
            first(),
            Expect::watch().rv("10").answer([
                head(),
                modified(&known),
                modified(&map("b", "12")),
                event("MODIFIED", &unknown),
                stall(),
            ]),
            Expect::list().rv("12").reply(list("20", &[map("a", "20"), map("b", "12")])),
            quiet("20"),
        ],
        |source| source.max_frame(4000),
    );
    bench.skip_backoff();
    let too_large = |stage| (ErrorKind::FrameTooLarge, Some(stage));
    assert_eq!(bench.reports.get(), [too_large(Stage::Decode), too_large(Stage::Watch)]);
    bench.finish(
        &format!("{ADDS}\nUpdated(ns/b@6→12)\nUpdated(ns/a@5→20)"),
        "LIST rv=0 limit=500\nWATCH rv=10\nLIST rv=12\nWATCH rv=20",
    );
}
