//! The script of the recorded exchanges: one of each thing that clients do, in an order in which each makes sense.
//!
//! It is a cell, so both servers are compared over it, and what the recorder writes down again.

use serde_json::{Value, json};

use super::live::{Script, Step};
use crate::exchange::Ask;

const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
const PODS: &str = "/api/v1/namespaces/{ns}/pods";
const GADGETS: &str = "/apis/gadgets.example.com/v1/namespaces/{ns}/gadgets";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Everything that a server without anything special answers.
pub(super) fn script() -> Script {
    Script([lists(), watches(), refusals(), writes(), deletions(), discovery(), custom()].concat())
}

/// What a server answers once it has forgotten the past.
pub(super) fn forgotten() -> Script {
    let gone = "watch=1&resourceVersion={compacted}&timeoutSeconds=2";
    Script(vec![
        get("08-list-exact-too-old", &format!("{MAPS}?resourceVersion=1&resourceVersionMatch=Exact")),
        get("67-watch-gone", &format!("{MAPS}?{gone}")),
        get("68-watch-gone-selector", &format!("{MAPS}?{gone}&allowWatchBookmarks=true&labelSelector=n%3D1")),
        get("69-list-continue-expired", &format!("{MAPS}?limit=1&continue={{expired}}")),
        get(
            "70-list-exact-compacted",
            &format!("{MAPS}?resourceVersion={{compacted}}&resourceVersionMatch=Exact&limit=1"),
        ),
    ])
}

fn get(name: &'static str, target: &str) -> Step {
    Step::Note(name, Ask::get(target))
}

fn get_as(name: &'static str, target: &str, accept: &str) -> Step {
    Step::Note(name, Ask::get(target).accept(accept))
}

fn send(name: &'static str, method: &str, target: &str, body: &Value) -> Step {
    Step::Note(name, Ask::send(method, target, "application/json", body.to_string()))
}

fn patch(name: &'static str, target: &str, kind: &str, body: &Value) -> Step {
    Step::Note(name, Ask::send("PATCH", target, &format!("application/{kind}"), body.to_string()))
}

fn write(method: &str, target: &str, media: &str, body: &Value) -> Step {
    Step::Write(Ask::send(method, target, media, body.to_string()))
}

fn lists() -> Vec<Step> {
    let list = |name, query: &str| get(name, &format!("{MAPS}?{query}"));
    vec![
        list("01-list-limit-2", "limit=2"),
        list("02-list-page-2", "limit=2&continue={next}"),
        list("03-list-rv0", "resourceVersion=0"),
        list("04-list-rv0-limit", "resourceVersion=0&limit=2"),
        get("05-list-empty", "/api/v1/namespaces/none/configmaps"),
        list("06-list-not-older-than", "resourceVersion=1&resourceVersionMatch=NotOlderThan"),
        list("07-list-rv-future", "resourceVersion={future}&resourceVersionMatch=NotOlderThan"),
        list("09-list-bad-continue", "limit=2&continue=bm9wZQ"),
        list("10-list-label-selector", "labelSelector=n%3D1"),
        list("11-list-field-selector", "fieldSelector=metadata.name%3D{name3}"),
        list("12-list-bad-selector", "labelSelector=%21%21"),
        list("13-list-bad-field", "fieldSelector=spec.foo%3D1"),
        get_as("14-list-metadata-only", &format!("{MAPS}?limit=2"), METADATA_LIST),
        get_as("15-list-table", &format!("{MAPS}?limit=2"), TABLE),
        Step::Note("16-list-gzip", Ask::get(MAPS).with("Accept-Encoding", "gzip")),
    ]
}

fn watches() -> Vec<Step> {
    let watch = |name, query: &str| get(name, &format!("{MAPS}?watch=1&{query}"));
    let initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let one = format!("{MAPS}/w-1");
    let merge = "application/merge-patch+json";
    vec![
        write("POST", MAPS, "application/json", &json!({"metadata": {"name": "w-1"}, "data": {"k": "v"}})),
        write("PATCH", &one, merge, &json!({"data": {"k": "v2 – naïve 日本"}})),
        write("PATCH", &one, merge, &json!({"metadata": {"labels": {"n": "1"}}})),
        write("DELETE", &one, "application/json", &json!({})),
        watch("17-watch-from-rv", "resourceVersion={current}&timeoutSeconds=1"),
        watch("18-watch-selector", "resourceVersion={current}&labelSelector=n%3D1&timeoutSeconds=1"),
        watch("19-watch-rv-empty", "timeoutSeconds=1"),
        watch("20-watch-rv-0", "resourceVersion=0&timeoutSeconds=1"),
        watch("21-watch-too-old", "resourceVersion=1&timeoutSeconds=2"),
        watch("22-watch-rv-future", "resourceVersion={future}&timeoutSeconds=2"),
        watch("23-watch-rv-garbage", "resourceVersion=abc&timeoutSeconds=2"),
        watch("24-watchlist", &format!("{initial}&allowWatchBookmarks=true&timeoutSeconds=1")),
        get_as(
            "25-watchlist-metadata-only",
            &format!(
                "{MAPS}?watch=1&{initial}&allowWatchBookmarks=true&timeoutSeconds=1&labelSelector=n%3D1"
            ),
            METADATA,
        ),
        watch("26-watchlist-no-match", "sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=2"),
        watch("27-watchlist-no-bookmarks", &format!("{initial}&timeoutSeconds=1")),
    ]
}

fn refusals() -> Vec<Step> {
    vec![
        Step::NoteAs("28-unauthorized", Some("wrong"), Ask::get(MAPS)),
        Step::NoteAs("29-anonymous", None, Ask::get(MAPS)),
        get("32-not-found-object", &format!("{MAPS}/none")),
        get("33-not-found-resource", "/apis/none.example.com/v1/widgets"),
        send(
            "65-method-not-allowed",
            "POST",
            &format!("{MAPS}/{{name1}}"),
            &json!({"metadata": {"name": "a"}}),
        ),
    ]
}

fn writes() -> Vec<Step> {
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {}}, "data": {"k": "v"}});
    let new = format!("{MAPS}/new");
    let old = json!({"metadata": {"name": "new", "resourceVersion": "1"}, "data": {"k": "w"}});
    let applied = |value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"x": value}});
    let apply = |by: &str| format!("{MAPS}/applied?{by}");
    vec![
        send("34-create", "POST", MAPS, &map("new")),
        send("35-create-exists", "POST", MAPS, &map("new")),
        send("36-create-invalid", "POST", MAPS, &map("Bad_Name")),
        Step::Note("37-create-malformed", Ask::send("POST", MAPS, "application/json", "{nope")),
        send("38-update-conflict", "PUT", &new, &old),
        patch("39-patch-merge", &new, "merge-patch+json", &json!({"data": {"a": "b"}})),
        patch(
            "40-patch-json",
            &new,
            "json-patch+json",
            &json!([{"op": "add", "path": "/data/z", "value": "1"}]),
        ),
        patch("41-patch-apply", &apply("fieldManager=demo&force=true"), "apply-patch+yaml", &applied("1")),
        patch("42-patch-apply-conflict", &apply("fieldManager=other"), "apply-patch+yaml", &applied("2")),
        patch(
            "43-patch-strategic",
            &format!("{PODS}/p"),
            "strategic-merge-patch+json",
            &json!({"metadata": {"labels": {"p": "1"}}}),
        ),
        patch(
            "44-patch-status",
            &format!("{PODS}/p/status"),
            "merge-patch+json",
            &json!({"status": {"phase": "Running"}}),
        ),
        send(
            "50-lease-create",
            "POST",
            "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
            &json!({"metadata": {"name": "leader"}, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15,
                "acquireTime": "2026-11-30T10:00:00.000000Z", "leaseTransitions": 0}}),
        ),
        send(
            "51-event-create",
            "POST",
            "/api/v1/namespaces/{ns}/events",
            &json!({"metadata": {"name": "p.1"}, "involvedObject": {"kind": "Pod", "namespace": "{ns}", "name": "p",
                "apiVersion": "v1"}, "reason": "Started", "message": "It runs", "type": "Normal", "count": 1,
                "source": {"component": "demo"}, "firstTimestamp": "2026-11-30T10:00:00Z",
                "lastTimestamp": "2026-11-30T10:00:00Z"}),
        ),
        send(
            "52-events-k8s-io-create",
            "POST",
            "/apis/events.k8s.io/v1/namespaces/{ns}/events",
            &json!({"metadata": {"name": "p.2"}, "eventTime": "2026-11-30T10:00:00.000000Z", "action": "Starting",
                "reportingController": "example.com/demo", "reportingInstance": "demo-1", "reason": "Started",
                "regarding": {"kind": "Pod", "namespace": "{ns}", "name": "p", "apiVersion": "v1"},
                "note": "It runs", "type": "Normal"}),
        ),
    ]
}

fn deletions() -> Vec<Step> {
    let held = format!("{MAPS}/{{name0}}");
    vec![
        Step::Note("45-delete", Ask::send("DELETE", format!("{MAPS}/new"), "application/json", "")),
        send(
            "46-delete-uid-mismatch",
            "DELETE",
            &held,
            &json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "0000"}}),
        ),
        patch(
            "47-delete-finalizer",
            &held,
            "merge-patch+json",
            &json!({"metadata": {"finalizers": ["example.com/f"]}}),
        ),
        Step::Note("48-delete-with-finalizer", Ask::send("DELETE", &*held, "application/json", "")),
        Step::Note(
            "49-deletecollection",
            Ask::send("DELETE", format!("{MAPS}?labelSelector=n%3D1"), "application/json", ""),
        ),
    ]
}

fn discovery() -> Vec<Step> {
    vec![
        get("53-version", "/version"),
        get("54-readyz", "/readyz?verbose"),
        get("55-discovery-api", "/api"),
        get("56-discovery-apis", "/apis"),
        get("57-discovery-core-v1", "/api/v1"),
        get("58-discovery-apps-v1", "/apis/apps/v1"),
        get_as("59-discovery-aggregated", "/apis", AGGREGATED),
    ]
}

fn custom() -> Vec<Step> {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.gadgets.example.com"},
        "spec": {"group": "gadgets.example.com", "scope": "Namespaced",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]},
    });
    let gadget = json!({"apiVersion": "gadgets.example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": 1}});
    vec![
        send("60-crd-create", "POST", DEFINITIONS, &definition),
        Step::Served(GADGETS),
        send("61-cr-create", "POST", GADGETS, &gadget),
        get("62-cr-list", GADGETS),
        Step::Open("63-cr-watch-crd-deleted", Ask::get(format!("{GADGETS}?watch=1&resourceVersion=0"))),
        write(
            "DELETE",
            &format!("{DEFINITIONS}/gadgets.gadgets.example.com"),
            "application/json",
            &json!({}),
        ),
        Step::ReadToEnd,
        Step::Gone(GADGETS),
        get("64-cr-list-after-crd-deleted", GADGETS),
    ]
}
