//! One object of each common kind, for tables, and the definition of the custom ones.

use std::io;

use serde_json::{Value, json};

use super::world::World;
use crate::exchange::Peer;

/// Creates them.
pub(super) fn make(world: &mut World, peer: &Peer) -> io::Result<()> {
    world.write(peer, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition())?;
    for (collection, object) in samples() {
        world.write(peer, "POST", collection, &object)?;
    }
    Ok(())
}

/// Widgets, with a status and columns of their own.
fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList",
                "shortNames": ["wd"], "categories": ["all"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer"}, "color": {"type": "string"}}},
                    "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
                }}},
                "subresources": {"status": {}},
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "additionalPrinterColumns": [
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                    {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1,
                     "description": "What it looks like."},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
            }],
        },
    })
}

/// What is created where.
fn samples() -> Vec<(&'static str, Value)> {
    let pod = json!({"containers": [{"name": "c", "image": "nginx"}]});
    let labels = json!({"app": "web"});
    let template = json!({"metadata": {"labels": labels}, "spec": pod});
    vec![
        ("/api/v1/namespaces/{ns}/pods", json!({"metadata": {"name": "p", "labels": labels}, "spec": pod})),
        ("/api/v1/namespaces/{ns}/secrets", json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}})),
        (
            "/api/v1/namespaces/{ns}/services",
            json!({"metadata": {"name": "svc"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}],
                "selector": labels}}),
        ),
        ("/api/v1/namespaces/{ns}/serviceaccounts", json!({"metadata": {"name": "sa"}})),
        ("/api/v1/nodes", json!({"metadata": {"name": "node-1"}})),
        (
            "/apis/apps/v1/namespaces/{ns}/deployments",
            json!({"metadata": {"name": "d"}, "spec": {"replicas": 2, "selector": {"matchLabels": labels},
                "template": template}}),
        ),
        (
            "/apis/apps/v1/namespaces/{ns}/replicasets",
            json!({"metadata": {"name": "r"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}),
        ),
        (
            "/apis/apps/v1/namespaces/{ns}/statefulsets",
            json!({"metadata": {"name": "st"}, "spec": {"serviceName": "svc", "selector": {"matchLabels": labels},
                "template": template}}),
        ),
        (
            "/apis/apps/v1/namespaces/{ns}/daemonsets",
            json!({"metadata": {"name": "ds"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}),
        ),
        (
            "/apis/batch/v1/namespaces/{ns}/jobs",
            json!({"metadata": {"name": "j"}, "spec": {"template": {"spec": {"restartPolicy": "Never",
                "containers": [{"name": "c", "image": "nginx"}]}}}}),
        ),
        (
            "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
            json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}}),
        ),
    ]
}
