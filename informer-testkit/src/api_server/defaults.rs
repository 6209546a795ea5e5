//! What a real server adds to objects that leave it open: only what clients look at.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::body::{meta, meta_mut};
use super::resource::Resource;

/// Fills in what an object leaves open, apart from its status.
pub(super) fn fill(resource: &Resource, value: &mut Value) {
    match (&*resource.group, &*resource.plural) {
        ("", "namespaces") => {
            let name = meta(value, "name").to_owned();
            let labels = meta_mut(value).entry("labels").or_insert_with(|| json!({}));
            if let Some(labels) = labels.as_object_mut() {
                labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
            }
        }
        ("", "configmaps") => {
            if let Some(map) = value.as_object_mut() {
                map.retain(|_, value| value.as_object().is_none_or(|map| !map.is_empty()));
            }
        }
        ("", "secrets") => {
            let plain = value.as_object_mut().and_then(|map| map.remove("stringData"));
            if let Some(Value::Object(plain)) = plain {
                encode(plain, value);
            }
            default(value, "type", "Opaque".into());
        }
        ("", "services") => within(value, "spec", |spec| {
            for (field, fallback) in [("type", "ClusterIP"), ("sessionAffinity", "None")] {
                spec.entry(field).or_insert_with(|| fallback.into());
            }
            for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                let target = port.get("port").cloned().unwrap_or_default();
                default(port, "protocol", "TCP".into());
                default(port, "targetPort", target);
            }
        }),
        ("", "pods") => within(value, "spec", |spec| {
            spec.entry("enableServiceLinks").or_insert_with(|| true.into());
            pod(spec);
        }),
        ("apps", "deployments" | "statefulsets" | "replicasets" | "daemonsets") => {
            let replicas = resource.plural != "daemonsets";
            within(value, "spec", |spec| {
                if replicas {
                    spec.entry("replicas").or_insert_with(|| 1.into());
                }
                if resource.plural == "deployments" {
                    deployment(spec);
                }
                let template = spec.get_mut("template").and_then(Value::as_object_mut);
                if let Some(inner) = template.and_then(|t| t.get_mut("spec")).and_then(Value::as_object_mut) {
                    pod(inner);
                }
            });
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => within(value, "spec", definition),
        _ => {}
    }
}

/// Fills in what is nobody's: what is written even where it is nothing, and what the server sees to.
pub(super) fn fill_empty(resource: &Resource, value: &mut Value) {
    match &*resource.storage {
        "events" => {
            default(value, "source", json!({}));
            default(value, "firstTimestamp", Value::Null);
            default(value, "lastTimestamp", Value::Null);
            default(value, "eventTime", Value::Null);
            default(value, "reportingComponent", "".into());
            default(value, "reportingInstance", "".into());
        }
        "namespaces" => default(value, "spec", json!({"finalizers": ["kubernetes"]})),
        _ => {}
    }
}

/// Gives a Service that asks for one an address: another for each `number` within a range that is long enough.
pub(super) fn fill_address(resource: &Resource, value: &mut Value, number: u64) {
    if resource.storage != "services" {
        return;
    }
    within(value, "spec", |spec| {
        if spec.get("type").is_some_and(|kind| kind == "ExternalName") || spec.contains_key("clusterIP") {
            return;
        }
        let address = format!("10.96.{}.{}", (number >> 8) & 0xff, number & 0xff);
        spec.insert("clusterIPs".to_owned(), json!([address]));
        spec.insert("clusterIP".to_owned(), address.into());
    });
}

/// Fills in the status of a new object.
pub(super) fn fill_status(resource: &Resource, value: &mut Value) {
    let status = match (&*resource.group, &*resource.plural) {
        ("", "namespaces") => json!({"phase": "Active"}),
        ("", "pods") => json!({"phase": "Pending", "qosClass": "BestEffort"}),
        ("", "services") => json!({"loadBalancer": {}}),
        ("apps", "deployments") => json!({}),
        ("apps", "statefulsets") => json!({"replicas": 0}),
        ("apps", "replicasets") => json!({"replicas": 0}),
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            let all = value.pointer("/spec/versions").and_then(Value::as_array);
            let stored = all.into_iter().flatten().filter(|version| version["storage"] == true);
            let stored: Vec<_> = stored.map(|version| version["name"].clone()).collect();
            json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored})
        }
        _ => return,
    };
    default(value, "status", status);
}

fn pod(spec: &mut Map<String, Value>) {
    for (field, fallback) in [
        ("restartPolicy", json!("Always")),
        ("terminationGracePeriodSeconds", json!(30)),
        ("dnsPolicy", json!("ClusterFirst")),
        ("securityContext", json!({})),
        ("schedulerName", json!("default-scheduler")),
    ] {
        spec.entry(field).or_insert(fallback);
    }
    for container in spec.get_mut("containers").and_then(Value::as_array_mut).into_iter().flatten() {
        let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
        let moving =
            image.ends_with(":latest") || !image.rsplit('/').next().unwrap_or_default().contains(':');
        let policy = if moving { "Always" } else { "IfNotPresent" };
        for (field, fallback) in [
            ("resources", json!({})),
            ("terminationMessagePath", json!("/dev/termination-log")),
            ("terminationMessagePolicy", json!("File")),
            ("imagePullPolicy", json!(policy)),
        ] {
            default(container, field, fallback);
        }
        for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            default(port, "protocol", "TCP".into());
        }
    }
}

fn deployment(spec: &mut Map<String, Value>) {
    spec.entry("progressDeadlineSeconds").or_insert_with(|| 600.into());
    spec.entry("revisionHistoryLimit").or_insert_with(|| 10.into());
    let strategy = spec.entry("strategy").or_insert_with(|| json!({}));
    default(strategy, "type", "RollingUpdate".into());
    if strategy["type"] == "RollingUpdate" {
        default(strategy, "rollingUpdate", json!({}));
        for field in ["maxSurge", "maxUnavailable"] {
            default(&mut strategy["rollingUpdate"], field, "25%".into());
        }
    }
}

fn definition(spec: &mut Map<String, Value>) {
    spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        names.entry("listKind").or_insert_with(|| format!("{kind}List").into());
        names.entry("singular").or_insert_with(|| kind.to_lowercase().into());
    }
}

fn encode(plain: Map<String, Value>, value: &mut Value) {
    let Some(map) = value.as_object_mut() else { return };
    let data = map.entry("data").or_insert_with(|| json!({}));
    let Some(data) = data.as_object_mut() else { return };
    for (key, text) in plain {
        if let Some(text) = text.as_str() {
            data.insert(key, STANDARD.encode(text).into());
        }
    }
}

fn within(value: &mut Value, field: &str, fill: impl FnOnce(&mut Map<String, Value>)) {
    if let Some(inner) = value.get_mut(field).and_then(Value::as_object_mut) {
        fill(inner);
    }
}

fn default(value: &mut Value, field: &str, fallback: Value) {
    if let Some(map) = value.as_object_mut() {
        map.entry(field).or_insert(fallback);
    }
}
