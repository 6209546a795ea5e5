//! What a real server adds to objects that leave it open: only what clients look at.

mod workloads;

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
            if spec.get("type").is_some_and(|kind| kind != "ExternalName") {
                spec.entry("internalTrafficPolicy").or_insert_with(|| "Cluster".into());
            }
            for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                let target = port.get("port").cloned().unwrap_or_default();
                default(port, "protocol", "TCP".into());
                default(port, "targetPort", target);
            }
        }),
        ("apps", "controllerrevisions") => {}
        ("apps" | "batch" | "autoscaling", plural) | ("", plural @ ("pods" | "replicationcontrollers")) => {
            within(value, "spec", |spec| workloads::fill(plural, spec));
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
        "pods" => within(value, "spec", admit),
        "services" => within(value, "spec", address_families),
        _ => {}
    }
}

/// What admission adds to a Pod.
fn admit(spec: &mut Map<String, Value>) {
    spec.entry("priority").or_insert_with(|| 0.into());
    spec.entry("preemptionPolicy").or_insert_with(|| "PreemptLowerPriority".into());
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    let Some(tolerations) = tolerations.as_array_mut() else { return };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        if !tolerations.iter().any(|known| known["key"] == key) {
            tolerations.push(json!({
                "effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": 300,
            }));
        }
    }
}

/// What a Service has to have that has an address, or none on purpose.
fn address_families(spec: &mut Map<String, Value>) {
    if spec.get("type").is_some_and(|kind| kind == "ExternalName") {
        return;
    }
    if let Some(address) = spec.get("clusterIP").cloned() {
        spec.entry("clusterIPs").or_insert_with(|| json!([address]));
    }
    spec.entry("ipFamilies").or_insert_with(|| json!(["IPv4"]));
    spec.entry("ipFamilyPolicy").or_insert_with(|| "SingleStack".into());
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
    if resource.storage == "nodes" {
        return node(value);
    }
    let status = match (&*resource.group, &*resource.plural) {
        ("", "namespaces") => json!({"phase": "Active"}),
        ("", "pods") => json!({"phase": "Pending", "qosClass": "BestEffort"}),
        ("", "services") => json!({"loadBalancer": {}}),
        ("apps", "deployments") => json!({}),
        ("apps", "statefulsets") => json!({"replicas": 0, "availableReplicas": 0}),
        ("apps", "daemonsets") => json!({
            "currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0,
        }),
        ("batch", "jobs") => json!({}),
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

/// A new Node is not ready until somebody says so, and tells nothing of itself.
fn node(value: &mut Value) {
    default(value, "spec", json!({}));
    default(&mut value["spec"], "taints", json!([]));
    let taint = json!({"effect": "NoSchedule", "key": "node.kubernetes.io/not-ready"});
    if let Some(taints) = value["spec"]["taints"].as_array_mut()
        && !taints.contains(&taint)
    {
        taints.push(taint);
    }
    default(value, "status", json!({}));
    let status = &mut value["status"];
    default(status, "daemonEndpoints", json!({"kubeletEndpoint": {"Port": 0}}));
    default(status, "nodeInfo", json!({}));
    for field in [
        "architecture",
        "bootID",
        "containerRuntimeVersion",
        "kernelVersion",
        "kubeProxyVersion",
        "kubeletVersion",
        "machineID",
        "operatingSystem",
        "osImage",
        "systemUUID",
    ] {
        default(&mut status["nodeInfo"], field, "".into());
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
