//! The scripts: selections that are entered and left, finalizers, changes of nothing, definitions that go and come.

use serde_json::{Value, json};

use super::Cell;
use super::live::{END, Script, Step};
use crate::exchange::Ask;

const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/{ns}/widgets";
const PODS: &str = "/api/v1/namespaces/{ns}/pods";
const GADGETS: &str = "/apis/example.com/v1/namespaces/{ns}/gadgets";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

/// All of them.
pub(super) fn all() -> Vec<Cell> {
    vec![
        Cell::live("live/labels", labels()),
        Cell::live("live/custom-fields", custom_fields()),
        Cell::live("live/pod-phase", pod_phase()),
        Cell::live("live/finalizers", finalizers()),
        Cell::live("live/nothing-changes", nothing_changes()),
        Cell::live("live/definition-goes-and-comes", definition_goes_and_comes()),
    ]
}

fn watch(name: &'static str, collection: &str, query: &str) -> Step {
    watch_as(name, collection, query, "application/json")
}

fn watch_as(name: &'static str, collection: &str, query: &str, accept: &str) -> Step {
    Step::Open(name, Ask::get(format!("{collection}?watch=1&{query}")).accept(accept))
}

fn create(collection: &str, object: &Value) -> Step {
    Step::Write(Ask::send("POST", collection, "application/json", object.to_string()))
}

fn patch(target: &str, patch: &Value) -> Step {
    Step::Write(Ask::send("PATCH", target, "application/merge-patch+json", patch.to_string()))
}

fn delete(target: &str) -> Step {
    Step::Write(Ask::send("DELETE", target, "application/json", ""))
}

fn label(value: &str) -> Value {
    json!({"metadata": {"labels": {"sel": value}}})
}

fn map(name: &str, value: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"sel": value}}, "data": {"k": "v"}})
}

fn labels() -> Script {
    let selected = "labelSelector=sel%3Da";
    let one = format!("{MAPS}/zm");
    Script(vec![
        watch("all", MAPS, "resourceVersion={current}"),
        watch("everywhere", "/api/v1/configmaps", "resourceVersion={current}"),
        watch("selected", MAPS, &format!("resourceVersion={{current}}&{selected}")),
        watch("selected-initial", MAPS, selected),
        watch_as("metadata", MAPS, &format!("resourceVersion={{current}}&{selected}"), METADATA),
        watch_as("table", MAPS, &format!("resourceVersion={{current}}&{selected}"), TABLE),
        watch("from-version-to-come", MAPS, "resourceVersion={current}&labelSelector=sel"),
        create(MAPS, &map("zm", "a")),
        patch(&one, &json!({"data": {"k": "w"}})),
        patch(&one, &label("b")),
        patch(&one, &json!({"data": {"k": "x"}})),
        patch(&one, &label("a")),
        delete(&one),
        create(MAPS, &map("zn", "b")),
        delete(&format!("{MAPS}/zn")),
        create(MAPS, &map(END, "a")),
        Step::ReadToMark,
        Step::Note(
            "from-before",
            Ask::get(format!("{MAPS}?watch=1&resourceVersion={{current}}&timeoutSeconds=1&{selected}")),
        ),
        delete(&format!("{MAPS}/{END}")),
    ])
}

fn widget(name: &str, color: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name, "labels": {"sel": "a"}},
        "spec": {"size": 3, "color": color}})
}

fn custom_fields() -> Script {
    let selected = "resourceVersion={wcurrent}&fieldSelector=spec.color%3Dred";
    let one = format!("{WIDGETS}/zm");
    let color = |color: &str| json!({"spec": {"color": color}});
    Script(vec![
        watch("all", WIDGETS, "resourceVersion={wcurrent}"),
        watch("selected", WIDGETS, selected),
        watch_as("metadata", WIDGETS, selected, METADATA),
        watch_as("table", WIDGETS, selected, TABLE),
        create(WIDGETS, &widget("zm", "red")),
        patch(&one, &json!({"spec": {"size": 4}})),
        patch(&format!("{one}/status"), &json!({"status": {"phase": "Ready"}})),
        patch(&one, &color("blue")),
        patch(&one, &json!({"spec": {"size": 5}})),
        patch(&one, &color("red")),
        delete(&one),
        create(WIDGETS, &widget(END, "red")),
        Step::ReadToMark,
        delete(&format!("{WIDGETS}/{END}")),
    ])
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}})
}

fn pod_phase() -> Script {
    let selected = "fieldSelector=status.phase%3DRunning&resourceVersion={old}";
    let phase = |phase: &str| json!({"status": {"phase": phase}});
    Script(vec![
        watch("selected", PODS, selected),
        watch_as("metadata", PODS, selected, METADATA),
        watch_as("table", PODS, selected, TABLE),
        create(PODS, &pod("zm")),
        patch(&format!("{PODS}/zm/status"), &phase("Running")),
        patch(&format!("{PODS}/zm"), &json!({"metadata": {"labels": {"a": "b"}}})),
        patch(&format!("{PODS}/zm/status"), &phase("Succeeded")),
        create(PODS, &pod(END)),
        patch(&format!("{PODS}/{END}/status"), &phase("Running")),
        Step::ReadToMark,
    ])
}

fn finalizers() -> Script {
    let one = format!("{MAPS}/zf");
    Script(vec![
        watch("all", MAPS, "resourceVersion={current}&fieldSelector=metadata.name%21%3Dzm"),
        create(
            MAPS,
            &json!({"metadata": {"name": "zf", "finalizers": ["example.com/f"], "labels": {"sel": "f"}}}),
        ),
        delete(&one),
        patch(&one, &json!({"metadata": {"annotations": {"still": "here"}}})),
        patch(&one, &json!({"metadata": {"finalizers": null}})),
        Step::Note("after", Ask::get(&*one)),
        create(MAPS, &map(END, "f")),
        Step::ReadToMark,
        delete(&format!("{MAPS}/{END}")),
    ])
}

fn nothing_changes() -> Script {
    let one = format!("{MAPS}/zz");
    Script(vec![
        create(MAPS, &map("zz", "z")),
        watch("all", MAPS, "labelSelector=sel%20in%20%28z%2Cy%29"),
        patch(&one, &json!({"data": {"k": "v"}})),
        patch(&one, &json!({})),
        patch(&one, &label("y")),
        patch(&one, &label("y")),
        create(MAPS, &map(END, "z")),
        Step::ReadToMark,
        delete(&one),
        delete(&format!("{MAPS}/{END}")),
    ])
}

fn gadgets() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    })
}

fn gadget(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name}, "size": 1})
}

fn definition_goes_and_comes() -> Script {
    let initial = "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    Script(vec![
        create(DEFINITIONS, &gadgets()),
        Step::Served(GADGETS),
        create(GADGETS, &gadget("a")),
        create(GADGETS, &gadget("b")),
        watch("plain", GADGETS, "resourceVersion=0"),
        watch("streaming", GADGETS, initial),
        watch_as("metadata", GADGETS, initial, METADATA),
        watch_as("table", GADGETS, "", TABLE),
        delete(&format!("{DEFINITIONS}/gadgets.example.com")),
        Step::ReadToEnd,
        Step::Gone(GADGETS),
        Step::Note("list-gone", Ask::get(GADGETS)),
        Step::Note("watch-gone", Ask::get(format!("{GADGETS}?watch=1&timeoutSeconds=1"))),
        Step::Note("discovery-gone", Ask::get("/apis/example.com/v1")),
        create(DEFINITIONS, &gadgets()),
        Step::Served(GADGETS),
        Step::Note("list-again", Ask::get(GADGETS)),
        Step::Note("metadata-again", Ask::get(GADGETS).accept(METADATA_LIST)),
        watch("again", GADGETS, initial),
        create(GADGETS, &gadget(END)),
        Step::ReadToMark,
        delete(&format!("{DEFINITIONS}/gadgets.example.com")),
        Step::Gone(GADGETS),
    ])
}
