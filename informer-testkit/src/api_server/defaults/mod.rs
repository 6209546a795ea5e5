//! What a real server adds to objects that leave it open: only what clients look at.

mod storage;
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
        ("", "podtemplates") => {
            if let Some(map) = value.as_object_mut() {
                workloads::template(map);
            }
        }
        ("", "replicationcontrollers") => {
            workloads::controller(value);
            within(value, "spec", |spec| workloads::fill("replicationcontrollers", spec));
        }
        ("discovery.k8s.io", "endpointslices") => {
            for endpoint in value.get_mut("endpoints").and_then(Value::as_array_mut).into_iter().flatten() {
                default(endpoint, "conditions", json!({}));
            }
        }
        ("networking.k8s.io", "networkpolicies") => within(value, "spec", |spec| {
            let both = spec.contains_key("egress");
            let types = if both { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
            spec.entry("policyTypes").or_insert(types);
        }),
        ("", "persistentvolumes" | "persistentvolumeclaims") | ("storage.k8s.io", _) => {
            storage::fill(&resource.plural, value);
        }
        ("apps", "controllerrevisions") => {}
        ("apps" | "batch" | "autoscaling", plural) | ("", plural @ "pods") => {
            within(value, "spec", |spec| workloads::fill(plural, spec));
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => within(value, "spec", definition),
        _ => {}
    }
}

/// Fills in what is nobody's: what is written even where it is nothing, and what the server sees to. `time` is now.
pub(super) fn fill_empty(resource: &Resource, value: &mut Value, time: &str) {
    if !resource.custom && resource.first {
        fill_maps(value, &resource.empty());
    }
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
        "persistentvolumes" => storage::transition(value, time),
        "pods" => within(value, "spec", admit),
        "services" => within(value, "spec", address_families),
        _ => {}
    }
}

/// Puts in the maps of `empty` that are not there.
fn fill_maps(value: &mut Value, empty: &Value) {
    let (Some(map), Some(empty)) = (value.as_object_mut(), empty.as_object()) else { return };
    for (name, empty) in empty.iter().filter(|(name, empty)| empty.is_object() && *name != "status") {
        fill_maps(map.entry(name).or_insert_with(|| json!({})), empty);
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
        ("", "persistentvolumes" | "persistentvolumeclaims") => json!({"phase": "Pending"}),
        ("", "pods") => json!({"phase": "Pending", "qosClass": "BestEffort"}),
        ("autoscaling", _) => json!({"desiredReplicas": 0, "currentMetrics": null}),
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            let all = value.pointer("/spec/versions").and_then(Value::as_array);
            let stored = all.into_iter().flatten().filter(|version| version["storage"] == true);
            let stored: Vec<_> = stored.map(|version| version["name"].clone()).collect();
            json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored})
        }
        _ => match resource.empty().get("status") {
            Some(status) => status.clone(),
            None => return,
        },
    };
    default(value, "status", status);
}

/// A new Node is not ready until somebody says so, and tells nothing of itself.
fn node(value: &mut Value) {
    default(value, "spec", json!({}));
    within(value, "spec", |spec| {
        let taint = json!({"effect": "NoSchedule", "key": "node.kubernetes.io/not-ready"});
        let taints = spec.entry("taints").or_insert_with(|| json!([]));
        if let Some(taints) = taints.as_array_mut().filter(|taints| !taints.contains(&taint)) {
            taints.push(taint);
        }
    });
    default(value, "status", json!({}));
    within(value, "status", |status| {
        status.entry("daemonEndpoints").or_insert_with(|| json!({"kubeletEndpoint": {"Port": 0}}));
        let info = status.entry("nodeInfo").or_insert_with(|| json!({}));
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
            default(info, field, "".into());
        }
    });
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
