//! What watches tell, when, and how they end.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use informer_core::Stop;
use serde_json::{Value, json};

use super::{Bench, MAPS, short};
use crate::api_server::backlog::{BUFFER, PATIENCE};
use crate::api_server::exchange::{Answer, Feed, Stream};

/// Lets the watch that waits get its next bookmark or its end.
fn advance(bench: &Bench, seconds: u64) {
    bench.clock.wait_for_alarms(1);
    bench.clock.advance(Duration::from_secs(seconds));
}

#[test]
fn a_watch_tells_what_comes_after_its_version() {
    let bench = Bench::new();
    bench.config_map("a", "1", "x");
    let from = bench.revision();
    let watch = bench.watch(&format!("{MAPS}?watch=1&resourceVersion={from}"));
    bench.config_map("b", "1", "x");
    assert_eq!(watch.told(), "ADDED b@7");
    bench.patch(&format!("{MAPS}/a"), "merge-patch", json!({"data": {"k": "y"}}));
    assert_eq!(watch.told(), "MODIFIED a@8");
    bench.done("DELETE", &format!("{MAPS}/a"), Value::Null);
    assert_eq!(watch.told(), "DELETED a@9");
    watch.assert_quiet();
}

#[test]
fn a_watch_is_of_its_namespace_and_its_resource() {
    let bench = Bench::new();
    let all = bench.watch("/api/v1/configmaps?watch=1&resourceVersion=5");
    let one = bench.watch(&format!("{MAPS}?watch=true&resourceVersion=5"));
    bench.done("POST", "/api/v1/namespaces/kube-system/configmaps", json!({"metadata": {"name": "s"}}));
    bench.done("POST", "/api/v1/namespaces/default/secrets", json!({"metadata": {"name": "t"}}));
    bench.config_map("a", "1", "x");
    bench.config_map("b", "1", "x");
    assert_eq!([all.told(), all.told(), all.told()], ["ADDED s@6", "ADDED a@8", "ADDED b@9"]);
    assert_eq!([one.told(), one.told()], ["ADDED a@8", "ADDED b@9"]);
    let single = bench.done("GET", &format!("{MAPS}/b?watch=true&resourceVersion=5"), Value::Null);
    assert_eq!(
        single["metadata"]["resourceVersion"], "9",
        "one object is got, whatever is said of watching it"
    );
}

#[test]
fn a_deleted_object_is_told_as_it_last_matched_under_the_version_of_its_end() {
    let bench = Bench::new();
    let from = bench.revision();
    let watch = bench.watch(&format!("{MAPS}?watch=1&resourceVersion={from}&labelSelector=n%3D1"));
    bench.config_map("a", "1", "x");
    assert_eq!(watch.told(), "ADDED a@6");
    bench.patch(
        &format!("{MAPS}/a"),
        "merge-patch",
        json!({"metadata": {"labels": {"n": "2"}}, "data": {"k": "y"}}),
    );
    let left = watch.next();
    assert_eq!(short(&left), "DELETED a@7");
    assert_eq!(
        (&left["object"]["metadata"]["labels"]["n"], &left["object"]["data"]["k"]),
        (&json!("1"), &json!("x"))
    );
    bench.done("DELETE", &format!("{MAPS}/a"), Value::Null);
    bench.config_map("b", "1", "x");
    assert_eq!(watch.told(), "ADDED b@9", "what had left is not told again");
}

#[test]
fn bookmarks_come_once_a_minute_and_before_the_end() {
    let bench = Bench::new();
    let from = bench.revision();
    let watch = bench
        .watch(&format!("{MAPS}?watch=1&resourceVersion={from}&allowWatchBookmarks=true&timeoutSeconds=100"));
    advance(&bench, 59);
    bench.done("POST", "/api/v1/namespaces/default/secrets", json!({"metadata": {"name": "other"}}));
    advance(&bench, 1);
    assert_eq!(watch.told(), "BOOKMARK @6", "it is at the newest version, whatever that was about");
    advance(&bench, 38);
    assert_eq!(watch.told(), "BOOKMARK @6");
    advance(&bench, 2);
    assert_eq!(watch.rest(), [] as [Value; 0]);
}

#[test]
fn a_watch_without_a_word_ends_after_half_an_hour_and_has_no_bookmarks() {
    let bench = Bench::new();
    let watch = bench.watch(&format!("{MAPS}?watch=1&resourceVersion=5"));
    bench.clock.wait_for_alarms(1);
    assert_eq!(bench.clock.advance_to_next(), Duration::from_secs(1800));
    assert_eq!(watch.rest(), [] as [Value; 0]);
}

#[test]
fn a_watch_from_a_version_to_come_is_silent_until_then() {
    let bench = Bench::new();
    let watch =
        bench.watch(&format!("{MAPS}?watch=1&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=600"));
    bench.config_map("a", "1", "x");
    bench.config_map("b", "1", "x");
    bench.config_map("c", "1", "x");
    assert_eq!(watch.told(), "ADDED c@8");
    let ahead = bench
        .watch(&format!("{MAPS}?watch=1&resourceVersion=900&allowWatchBookmarks=true&timeoutSeconds=90"));
    bench.clock.wait_for_alarms(2);
    bench.clock.advance(Duration::from_secs(60));
    assert_eq!(watch.told(), "BOOKMARK @8");
    bench.clock.wait_for_alarms(2);
    bench.clock.advance(Duration::from_secs(30));
    assert_eq!(ahead.rest(), [] as [Value; 0]);
}

#[test]
fn a_streaming_list_from_a_version_to_come_is_refused_in_the_stream() {
    let bench = Bench::new();
    let target =
        format!("{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99");
    let (waited, watch) = bench.until_the_alarm(|| bench.watch(&target));
    assert_eq!(waited, Duration::from_secs(3));
    let events = watch.rest();
    assert_eq!(events[0]["type"], "ERROR");
    assert_eq!(events[0]["object"]["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
    assert_eq!(events.len(), 1);
}

#[test]
fn without_initial_events_and_without_a_version_a_watch_begins_now() {
    let bench = Bench::new();
    bench.config_map("a", "1", "x");
    let watch =
        bench.watch(&format!("{MAPS}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"));
    bench.config_map("b", "1", "x");
    assert_eq!(watch.told(), "ADDED b@7");
}

#[test]
fn what_is_there_is_told_in_chunks_that_end_with_an_event() {
    let bench = Bench::new();
    for n in 0..60 {
        let body = json!({"metadata": {"name": format!("m-{n:02}")}, "data": {"k": "v".repeat(2000)}});
        bench.done("POST", MAPS, body);
    }
    let watch = bench.watch(&format!("{MAPS}?watch=1&allowWatchBookmarks=true"));
    let told: Vec<String> = (0..60).map(|_| watch.told()).collect();
    assert_eq!(told[59], "ADDED m-59@65");
    let end = watch.next();
    assert_eq!(end["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
}

#[test]
fn a_watch_that_is_not_asked_while_history_goes_is_told_that_it_is_gone() {
    let bench = Bench::new();
    let mut call = Bench::call("GET", &format!("{MAPS}?watch=1&resourceVersion=5"), "");
    call.headers.clear();
    let crate::api_server::exchange::Answer::Stream(stream) = bench.engine.answer(&call) else { panic!() };
    let mut feed = stream.feed;
    bench.config_map("a", "1", "x");
    bench.engine.compact();
    let line = feed.next(&informer_core::Stop::new()).unwrap();
    let event: Value = serde_json::from_slice(&line).unwrap();
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert!(feed.next(&informer_core::Stop::new()).is_none());
}

#[test]
fn compaction_does_not_end_a_watch_that_has_seen_everything() {
    let bench = Bench::new();
    bench.config_map("a", "1", "x");
    let from = bench.revision();
    let watch = bench.watch(&format!("{MAPS}?watch=1&resourceVersion={from}"));
    bench.done("POST", "/api/v1/namespaces/default/secrets", json!({"metadata": {"name": "other"}}));
    bench.engine.compact();
    bench.config_map("b", "1", "x");
    assert_eq!(watch.told(), "ADDED b@8");
}

#[test]
fn stop_ends_every_watch_and_those_to_come() {
    let bench = Bench::new();
    let before = bench.watch(&format!("{MAPS}?watch=1&resourceVersion=5"));
    bench.clock.wait_for_alarms(1);
    bench.engine.stop();
    assert_eq!(before.rest(), [] as [Value; 0]);
    assert_eq!(bench.watch(&format!("{MAPS}?watch=1&resourceVersion=5")).rest(), [] as [Value; 0]);
}

#[test]
fn tables_are_told_row_by_row_and_their_columns_once() {
    let bench = Bench::new();
    bench.config_map("a", "1", "x");
    let watch = bench.watch_as(&format!("{MAPS}?watch=1"), "application/json;as=Table;v=v1;g=meta.k8s.io");
    let first = watch.next();
    assert_eq!(first["object"]["rows"][0]["cells"][0], "a");
    assert!(first["object"]["columnDefinitions"].is_array());
    bench.config_map("b", "1", "x");
    let second = watch.next();
    assert_eq!((&second["type"], &second["object"]["rows"][0]["cells"][0]), (&json!("ADDED"), &json!("b")));
    assert_eq!(second["object"]["columnDefinitions"], Value::Null);
}

#[test]
fn events_are_watched_in_both_groups() {
    let bench = Bench::new();
    let core = bench.watch("/api/v1/events?watch=1&resourceVersion=5");
    let other = bench.watch("/apis/events.k8s.io/v1/events?watch=1&resourceVersion=5");
    let body = json!({"metadata": {"name": "e"}, "note": "n", "regarding": {"name": "web"}, "action": "a"});
    bench.done("POST", "/apis/events.k8s.io/v1/namespaces/default/events", body);
    let (core, other) = (core.next(), other.next());
    assert_eq!((&core["object"]["message"], &core["object"]["apiVersion"]), (&json!("n"), &json!("v1")));
    assert_eq!(
        (&other["object"]["note"], &other["object"]["regarding"]["name"]),
        (&json!("n"), &json!("web"))
    );
}

#[test]
fn a_watch_that_has_come_no_further_than_it_began_gets_no_bookmark() {
    let bench = Bench::new();
    let from = bench.revision();
    let watch = bench
        .watch(&format!("{MAPS}?watch=1&resourceVersion={from}&allowWatchBookmarks=true&timeoutSeconds=100"));
    advance(&bench, 60);
    advance(&bench, 37);
    bench.done("POST", "/api/v1/namespaces/default/secrets", json!({"metadata": {"name": "other"}}));
    advance(&bench, 1);
    assert_eq!(watch.told(), "BOOKMARK @6");
    advance(&bench, 2);
    assert_eq!(watch.rest(), [] as [Value; 0]);
}

#[test]
fn a_version_that_comes_in_time_is_answered() {
    let bench = Bench::new();
    let listed = std::thread::scope(|scope| {
        let list = scope.spawn(|| bench.get(&format!("{MAPS}?resourceVersion=7")));
        bench.clock.wait_for_alarms(1);
        bench.config_map("a", "1", "x");
        bench.config_map("b", "1", "x");
        list.join().unwrap()
    });
    assert_eq!((listed.0, listed.1["items"].as_array().unwrap().len()), (200, 2));
    assert_eq!(bench.clock.elapsed(), Duration::ZERO);
}

#[test]
fn whoever_waits_for_a_version_to_come_does_not_keep_the_engine_from_stopping() {
    let bench = Bench::new();
    let (status, _) = std::thread::scope(|scope| {
        let list = scope.spawn(|| bench.get(&format!("{MAPS}/none?resourceVersion=99")));
        bench.clock.wait_for_alarms(1);
        bench.engine.stop();
        list.join().unwrap()
    });
    assert_eq!(status, 504);
}

/// The chunks of a feed that has them ready, one at a time.
fn feed(bench: &Bench, target: &str, accept: &str) -> Box<dyn Feed> {
    let mut call = Bench::call("GET", target, "");
    call.headers.push(("Accept".to_owned(), accept.to_owned()));
    match bench.engine.answer(&call) {
        Answer::Stream(Stream { feed, .. }) => feed,
        Answer::Whole(whole) => panic!("no stream: {}", whole.status),
    }
}

#[test]
fn an_event_is_encoded_once_in_each_representation_however_many_watch() {
    let bench = Bench::new();
    let target = format!("{MAPS}?watch=1&resourceVersion={}", bench.revision());
    let partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let stop = Stop::new();
    let mut feeds: Vec<_> = ["application/json", partial]
        .iter()
        .flat_map(|accept| (0..25).map(|_| feed(&bench, &target, accept)).collect::<Vec<_>>())
        .collect();
    bench.config_map("a", "1", "x");
    let told: Vec<_> = feeds.iter_mut().map(|feed| feed.next(&stop).unwrap()).collect();
    // Kept in `told`, no two of them can be in the same place unless they are the same.
    let encodings: HashSet<_> = told.iter().map(|line| line.as_ptr()).collect();
    assert_eq!((told.len(), encodings.len()), (50, 2));
    // Selectors choose, but do not change what is told.
    let selecting = format!("{target}&labelSelector=n%3D2");
    let mut feeds: Vec<_> = (0..3).map(|_| feed(&bench, &selecting, "application/json")).collect();
    bench.config_map("b", "2", "x");
    let told: Vec<_> = feeds.iter_mut().map(|feed| feed.next(&stop).unwrap()).collect();
    assert!(told.iter().all(|line| Arc::ptr_eq(line, &told[0])));
}

#[test]
fn rows_and_second_versions_are_encoded_once_too() {
    let bench = Bench::new();
    let (stop, json) = (Stop::new(), "application/json");
    let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let scalers =
        |version: &str| format!("/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers");
    let watch = |version: &str, more: &str| {
        format!("{}?watch=1&resourceVersion={}{more}", scalers(version), bench.revision())
    };
    let mut feeds: Vec<_> =
        [("v1", json, ""), ("v2", json, ""), ("v2", table, ""), ("v1", table, "&includeObject=None")]
            .iter()
            .flat_map(|(version, accept, more)| {
                (0..3).map(|_| feed(&bench, &watch(version, more), accept)).collect::<Vec<_>>()
            })
            .collect();
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let scaler = json!({"metadata": {"name": "web"}, "spec": {"scaleTargetRef": target, "maxReplicas": 3}});
    bench.done("POST", &scalers("v2"), scaler);
    for columns in [true, false] {
        let told: Vec<_> = feeds.iter_mut().map(|feed| feed.next(&stop).unwrap()).collect();
        let encodings: HashSet<_> = told.iter().map(|line| line.as_ptr()).collect();
        assert_eq!((told.len(), encodings.len()), (12, 4));
        let texts: Vec<_> = told.iter().map(|line| String::from_utf8_lossy(line)).collect();
        assert!(texts[0].contains("autoscaling/v1\"") && texts[3].contains("autoscaling/v2\""));
        assert_eq!(
            !texts[6].contains("\"columnDefinitions\":null"),
            columns,
            "columns come once: {}",
            texts[6]
        );
        bench.patch(
            &format!("{}/web", scalers("v2")),
            "merge-patch",
            json!({"metadata": {"labels": {"n": "1"}}}),
        );
    }
    // A row tells an age: a later one is another.
    let mut late = feed(&bench, &watch("v2", ""), table);
    bench.clock.advance(Duration::from_secs(5));
    let mut later = feed(&bench, &watch("v2", ""), table);
    bench.done("DELETE", &format!("{}/web", scalers("v2")), json!({}));
    let first = late.next(&stop).unwrap();
    bench.clock.advance(Duration::from_secs(5));
    let second = later.next(&stop).unwrap();
    assert!(
        first != second && String::from_utf8_lossy(&second).contains("10s"),
        "{}",
        String::from_utf8_lossy(&second)
    );
}

/// Reads so many events, with a pause after each chunk.
fn take(bench: &Bench, feed: &mut Box<dyn Feed>, events: usize, pause: Duration) {
    let mut told = 0;
    while told < events {
        let chunk = feed.next(&Stop::new()).unwrap_or_else(|| panic!("it ends after {told}"));
        told += chunk.iter().filter(|byte| **byte == b'\n').count();
        bench.clock.advance(pause);
    }
    assert_eq!(told, events);
}

#[test]
fn a_watch_that_takes_nothing_while_its_buffer_is_full_is_closed_in_good_order() {
    let bench = Bench::new();
    let open = || feed(&bench, &format!("{MAPS}?watch=1&resourceVersion={}", bench.revision()), "");
    let (mut slow, mut in_time) = (open(), open());
    bench.config_map("first", "1", "x");
    let mut never_asked = open();
    take(&bench, &mut slow, 1, Duration::ZERO);
    take(&bench, &mut in_time, 1, Duration::ZERO);
    bench.done("POST", "/api/v1/namespaces", json!({"metadata": {"name": "elsewhere"}}));
    for number in 0..BUFFER {
        bench.config_map(&format!("map-{number}"), "1", "x");
    }
    // This is nothing to them.
    bench.done("POST", "/api/v1/namespaces/elsewhere/configmaps", json!({"metadata": {"name": "o"}}));
    let mut newest = open();
    // Buffers that are full to the brim are not too full.
    bench.clock.advance(10 * PATIENCE);
    bench.config_map("last", "1", "x");
    bench.clock.advance(PATIENCE - Duration::from_millis(1));
    take(&bench, &mut in_time, BUFFER + 1, Duration::ZERO);
    bench.clock.advance(Duration::from_millis(1));
    assert!(slow.next(&Stop::new()).is_none(), "an end, and no error");
    assert!(slow.next(&Stop::new()).is_none(), "which stays");
    assert!(never_asked.next(&Stop::new()).is_none());
    take(&bench, &mut newest, 1, Duration::ZERO);
}

#[test]
fn a_watch_that_takes_something_now_and_then_is_kept_however_far_behind_it_is() {
    let bench = Bench::new();
    let target = format!("{MAPS}?watch=1&resourceVersion={}", bench.revision());
    let mut steady = feed(&bench, &target, "");
    for number in 0..3 * BUFFER {
        bench.config_map(&format!("map-{number}"), "1", "x");
    }
    take(&bench, &mut steady, 3 * BUFFER, PATIENCE - Duration::from_millis(1));
}
