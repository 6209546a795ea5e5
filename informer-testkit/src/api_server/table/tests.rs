//! Rows as `kubectl get -o wide` shows them.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::table;
use crate::api_server::representation::Include;
use crate::api_server::resource::{Column, Registry, Resource};

const NOW: &str = "2026-11-30T18:05:51Z";

fn cells(plural: &str, object: &Value) -> String {
    let registry = Registry::new();
    let resource = registry.named(plural).unwrap();
    let table = table(resource, std::slice::from_ref(object), &json!({}), Include::None, NOW);
    let (columns, cells) = (&table["columnDefinitions"], &table["rows"][0]["cells"]);
    assert_eq!(columns.as_array().unwrap().len(), cells.as_array().unwrap().len(), "{plural}");
    cells.to_string()
}

#[test]
fn every_kind_has_a_cell_for_each_column_of_an_object_that_says_nothing() {
    for resource in Registry::new().resources() {
        for object in [json!({}), json!({ "metadata": 1, "spec": [], "status": "x", "data": 7 }), json!(null)]
        {
            cells(&resource.full_name(), &object);
        }
    }
}

#[test]
fn rows_say_what_a_real_server_says() {
    let metadata = json!({ "name": "x", "creationTimestamp": "2026-11-30T18:05:48Z" });
    let with = |mut object: Value| {
        object["metadata"] = metadata.clone();
        object
    };
    let template =
        json!({ "spec": { "containers": [{ "name": "c", "image": "i" }, { "name": "d", "image": "j" }] } });
    for (plural, object, want) in [
        ("configmaps", json!({ "data": { "a": "b" }, "binaryData": { "c": "" } }), r#"["x",2,"3s"]"#),
        ("secrets", json!({ "type": "Opaque", "data": { "a": "b" } }), r#"["x","Opaque",1,"3s"]"#),
        ("serviceaccounts", json!({}), r#"["x","3s"]"#),
        ("namespaces", json!({ "status": { "phase": "Active" } }), r#"["x","Active","3s"]"#),
        ("leases.coordination.k8s.io", json!({ "spec": { "holderIdentity": "me" } }), r#"["x","me","3s"]"#),
        (
            "services",
            json!({ "spec": {
                "type": "ClusterIP", "clusterIPs": ["10.0.0.1"], "selector": { "app": "a" },
                "ports": [{ "port": 80, "protocol": "TCP" }, { "port": 1, "nodePort": 2, "protocol": "UDP" }],
            } }),
            r#"["x","ClusterIP","10.0.0.1","<none>","80/TCP,1:2/UDP","3s","app=a"]"#,
        ),
        (
            "pods",
            json!({
                "spec": { "containers": [{}, {}], "nodeName": "n" },
                "status": { "phase": "Running", "podIP": "10.1.1.1", "containerStatuses": [
                    { "ready": true, "restartCount": 2, "state": { "running": {} } },
                    { "ready": false, "restartCount": 1, "state": { "waiting": { "reason": "CrashLoopBackOff" } } },
                ] },
            }),
            r#"["x","1/2","CrashLoopBackOff","3","3s","10.1.1.1","n","<none>","<none>"]"#,
        ),
        (
            "nodes",
            json!({ "spec": { "unschedulable": true }, "status": {
                "conditions": [{ "type": "Ready", "status": "True" }],
                "nodeInfo": { "kubeletVersion": "v1.33.0" },
                "addresses": [{ "type": "InternalIP", "address": "10.0.0.5" }],
            } }),
            r#"["x","Ready,SchedulingDisabled","<none>","3s","v1.33.0","10.0.0.5","<none>","<unknown>","<unknown>","<unknown>"]"#,
        ),
        (
            "deployments.apps",
            json!({
                "spec": { "replicas": 3, "template": template, "selector": { "matchLabels": { "a": "b" } } },
                "status": { "readyReplicas": 1, "updatedReplicas": 2 },
            }),
            r#"["x","1/3",2,0,"3s","c,d","i,j","a=b"]"#,
        ),
        (
            "events",
            json!({
                "type": "Normal", "reason": "Made", "message": "it is made\n", "count": 2,
                "involvedObject": { "kind": "Pod", "name": "p" }, "source": { "component": "me" },
                "firstTimestamp": "2026-11-30T18:05:41Z", "lastTimestamp": "2026-11-30T18:05:50Z",
            }),
            r#"["1s","Normal","Made","pod/p","","me","it is made","10s",2,"x"]"#,
        ),
        (
            "events.events.k8s.io",
            json!({
                "type": "Normal", "reason": "Made", "note": "it is made", "eventTime": "2026-11-30T18:05:50.000001Z",
                "regarding": { "kind": "Pod", "name": "p" }, "reportingController": "me", "reportingInstance": "1",
            }),
            r#"["1s","Normal","Made","pod/p","","me, 1","it is made","1s",1,"x"]"#,
        ),
    ] {
        assert_eq!(cells(plural, &with(object)), want, "{plural}");
    }
    let mut going = json!({ "spec": { "containers": [{}] }, "status": { "phase": "Running" } });
    going["metadata"] = json!({ "name": "x", "deletionTimestamp": "2026-11-30T18:05:48Z" });
    assert!(cells("pods", &going).contains(r#""Terminating""#));
}

#[test]
fn a_definition_chooses_its_columns() {
    let column = |name: &str, kind: &str, json_path: &str| Column {
        name: name.to_owned(),
        kind: kind.to_owned(),
        format: String::new(),
        description: String::new(),
        priority: 0,
        json_path: json_path.to_owned(),
    };
    let registry = Registry::new();
    let mut resource: Resource = (**registry.named("configmaps").unwrap()).clone();
    (resource.custom, resource.kind) = (true, Cow::Borrowed("Widget"));
    let object = json!({
        "kind": "Widget",
        "metadata": { "name": "w", "creationTimestamp": "2026-11-30T18:05:48Z", "resourceVersion": "7" },
        "spec": { "size": 3.0, "on": true, "list": [1] },
    });
    let of = |resource: &Resource, include| {
        table(resource, std::slice::from_ref(&object), &object["metadata"], include, NOW)
    };
    assert_eq!(of(&resource, Include::None)["rows"], json!([{ "cells": ["w", "3s"], "object": null }]));
    resource.columns = vec![
        column("Size", "integer", ".spec.size"),
        column("On", "boolean", ".spec.on"),
        column("List", "string", ".spec.list"),
        column("Born", "date", ".metadata.creationTimestamp"),
        column("None", "string", ".spec.none"),
        column("Bad", "integer", ".spec.on"),
    ];
    let told = of(&resource, Include::Object);
    assert_eq!(told["rows"], json!([{ "cells": ["w", 3, true, "[1]", "3s", null, null], "object": object }]));
    assert_eq!(told["columnDefinitions"].as_array().unwrap().len(), 7);
    assert_eq!(told["metadata"], json!({ "resourceVersion": "7" }));
    let later = of(&resource, Include::Metadata);
    let partial = &later["rows"][0]["object"];
    assert_eq!(
        (&partial["kind"], &partial["metadata"]),
        (&json!("PartialObjectMetadata"), &object["metadata"])
    );
}
