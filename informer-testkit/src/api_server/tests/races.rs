//! Watches while others write, and requests that nobody should send.

use std::collections::BTreeMap;
use std::sync::Arc;

use informer_core::sync::spawn;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Bench, MAPS, read};
use crate::api_server::exchange::Answer;
use crate::within;

/// What a watch has told, as the objects that are there.
fn replayed(events: &[Value]) -> BTreeMap<String, Value> {
    let mut objects = BTreeMap::new();
    for event in events {
        let object = &event["object"];
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str().unwrap() {
            "ADDED" => assert!(objects.insert(name, object.clone()).is_none(), "added twice: {event}"),
            "MODIFIED" => assert!(objects.insert(name, object.clone()).is_some(), "modified before: {event}"),
            "DELETED" => assert!(objects.remove(&name).is_some(), "deleted before: {event}"),
            other => panic!("{other}"),
        }
    }
    objects
}

#[test]
fn watches_of_several_selections_replay_to_the_list_of_each() {
    let bench = Arc::new(Bench::new());
    let targets = [
        MAPS.to_owned(),
        format!("{MAPS}?labelSelector=n%3D1"),
        format!("{MAPS}?labelSelector=n%21%3D1"),
        "/api/v1/configmaps".to_owned(),
    ];
    let watches: Vec<_> = targets
        .iter()
        .map(|target| {
            let sign = if target.contains('?') { '&' } else { '?' };
            bench.watch(&format!("{target}{sign}watch=1&resourceVersion=5&timeoutSeconds=60"))
        })
        .collect();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let bench = Arc::clone(&bench);
            spawn("writer", move || {
                for step in 0..60 {
                    let name = format!("m-{}", (step * 7 + writer) % 9);
                    let label = (step % 3).to_string();
                    match step % 4 {
                        0 => drop(bench.send("POST", MAPS, json!({"metadata": {"name": name, "labels": {"n": label}}}))),
                        3 => drop(bench.send("DELETE", &format!("{MAPS}/{name}"), Value::Null)),
                        _ => {
                            let patch = json!({"metadata": {"labels": {"n": label}}, "data": {"w": writer.to_string()}});
                            bench.patch(&format!("{MAPS}/{name}"), "merge-patch", patch);
                        }
                    }
                }
            })
            .unwrap()
        })
        .collect();
    within("the writers end", move || writers.into_iter().for_each(|writer| writer.join().unwrap()));
    let last = bench.config_map("last", "1", "x");
    bench.config_map("last-too", "2", "x");
    let lists: Vec<Value> = targets.iter().map(|target| bench.get(target).1).collect();
    for ((watch, list), target) in watches.into_iter().zip(lists).zip(&targets) {
        let wanted = list["items"].as_array().unwrap();
        let newest = wanted
            .iter()
            .filter_map(|item| item["metadata"]["resourceVersion"].as_str()?.parse::<u64>().ok())
            .max();
        let mut events = vec![watch.next()];
        let version = |event: &Value| {
            event["object"]["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse::<u64>().ok())
        };
        while version(&events[events.len() - 1]) < newest {
            events.push(watch.next());
        }
        assert!(events.iter().map(version).is_sorted(), "{target}");
        let mut replayed = replayed(&events);
        for object in replayed.values_mut() {
            let map = object.as_object_mut().unwrap();
            map.remove("kind");
            map.remove("apiVersion");
        }
        let wanted: BTreeMap<String, Value> = wanted
            .iter()
            .map(|item| (item["metadata"]["name"].as_str().unwrap().to_owned(), item.clone()))
            .collect();
        assert_eq!(replayed, wanted, "{target}");
    }
    drop(last);
}

/// Parts of requests, sensible and not.
fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("api".to_owned()),
        Just("apis".to_owned()),
        Just("v1".to_owned()),
        Just("apps".to_owned()),
        Just("namespaces".to_owned()),
        Just("default".to_owned()),
        Just("configmaps".to_owned()),
        Just("deployments".to_owned()),
        Just("a".to_owned()),
        Just("status".to_owned()),
        Just("scale".to_owned()),
        "[a-z%/.0-9]{0,6}",
        "\\PC{0,4}",
    ]
}

fn json_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(r#"{"metadata":{"name":"a","labels":{"n":"1"}},"data":{"k":"v"}}"#.to_owned()),
        Just(r#"{"metadata":{"name":"a","generateName":"é"},"spec":null,"status":[]}"#.to_owned()),
        Just(
            r#"[{"op":"add","path":"/metadata","value":7},{"op":"move","from":"/a","path":"/b"}]"#.to_owned()
        ),
        Just(r#"[{"op":"add","path":"/a/-","value":{}}]"#.to_owned()),
        Just(
            r#"{"$patch":"replace","$setElementOrder/x":[1],"$deleteFromPrimitiveList/metadata":[]}"#
                .to_owned()
        ),
        Just(r#"{"spec":{"replicas":-1},"metadata":{"finalizers":["a"],"ownerReferences":[{}]}}"#.to_owned()),
        Just("[".repeat(500)),
        Just("{\"a\":".repeat(120)),
        "[\\[\\]{}:,\"a1 ntf\\\\-]{0,24}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Whatever is asked, it is answered: with a status that there is, and with JSON where it is said to be.
    #[test]
    fn no_request_is_too_odd(
        method in prop::sample::select(vec!["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "BREW"]),
        parts in prop::collection::vec(part(), 0..8),
        query in prop::collection::vec(
            (
                prop::sample::select(vec!["limit", "continue", "resourceVersion", "resourceVersionMatch", "labelSelector",
                    "fieldSelector", "timeoutSeconds", "sendInitialEvents", "dryRun", "fieldManager", "includeObject"]),
                prop_oneof!["[a-z0-9!=,()<> -]{0,9}", "\\PC{0,5}", Just("18446744073709551616".to_owned()), Just("-1".to_owned())],
            ),
            0..3,
        ),
        accept in prop_oneof![Just(String::new()), Just("application/json".to_owned()), "[a-z/;=,*]{0,12}",
            Just("application/json;as=Table;v=v1;g=meta.k8s.io".to_owned())],
        kind in prop::sample::select(vec!["application/json", "application/json-patch+json", "application/merge-patch+json",
            "application/strategic-merge-patch+json", "x"]),
        body in json_text(),
    ) {
        let bench = Bench::new();
        bench.config_map("a", "1", "x");
        let mut call = Bench::call(method, "", body);
        call.path = format!("/{}", parts.join("/"));
        call.query = query.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        call.headers.push(("Accept".to_owned(), accept));
        call.headers.push(("Content-Type".to_owned(), kind.to_owned()));
        if let Answer::Whole(whole) = bench.engine.answer(&call) {
            prop_assert!((200..600).contains(&whole.status));
            let json = whole.headers.iter().any(|(name, value)| *name == "Content-Type" && value == "application/json");
            prop_assert!(!json || read(&whole).1.is_object(), "{}", String::from_utf8_lossy(&whole.body));
        }
        prop_assert!(bench.get(MAPS).0 == 200);
    }
}
