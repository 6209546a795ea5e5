//! The columns of the built-in kinds, and the cells of their objects.
//!
//! Column by column what a real server prints; a kind that has no layout here has a name and an age.

use std::fmt::Write as _;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::duration::age;
use crate::api_server::resource::Resource;

/// Name, type and priority; what has a priority above 0 is for `-o wide`.
type Column = (&'static str, &'static str, i64);

/// How an object fills the columns of its kind.
type Cells = fn(&Value, Timestamp) -> Vec<Value>;

/// The columns of a kind, and how an object fills them.
pub(super) struct Layout {
    pub(super) columns: &'static [Column],
    pub(super) cells: Cells,
}

const NAME: Column = ("Name", "string", 0);
const AGE: Column = ("Age", "string", 0);

const fn text(name: &'static str) -> Column {
    (name, "string", 0)
}

const fn number(name: &'static str) -> Column {
    (name, "integer", 0)
}

const fn wide(name: &'static str) -> Column {
    (name, "string", 1)
}

impl Layout {
    pub(super) fn of(resource: &Resource) -> Layout {
        let (columns, cells): (&'static [Column], Cells) = match (&*resource.group, &*resource.plural) {
            ("", "pods") => (PODS, pod),
            ("", "configmaps") => (CONFIG_MAPS, config_map),
            ("", "secrets") => (SECRETS, secret),
            ("", "services") => (SERVICES, service),
            ("", "nodes") => (NODES, node),
            ("", "namespaces") => (NAMESPACES, namespace),
            ("" | "events.k8s.io", "events") => (EVENTS, event),
            ("apps", "deployments") => (DEPLOYMENTS, deployment),
            ("apps", "replicasets") | ("", "replicationcontrollers") => (REPLICA_SETS, replica_set),
            ("apps", "statefulsets") => (STATEFUL_SETS, stateful_set),
            ("apps", "daemonsets") => (DAEMON_SETS, daemon_set),
            ("coordination.k8s.io", "leases") => (LEASES, lease),
            ("rbac.authorization.k8s.io", "roles" | "clusterroles") => {
                (&[NAME, ("Created At", "date", 0)], created)
            }
            ("apiextensions.k8s.io", _) => (DEFINITIONS, definition),
            _ => (&[NAME, AGE], generic),
        };
        Layout { columns, cells }
    }
}

const CONFIG_MAPS: &[Column] = &[NAME, text("Data"), AGE];
const SECRETS: &[Column] = &[NAME, text("Type"), text("Data"), AGE];
const NAMESPACES: &[Column] = &[NAME, text("Status"), AGE];
const LEASES: &[Column] = &[NAME, text("Holder"), AGE];
const PODS: &[Column] = &[
    NAME,
    text("Ready"),
    text("Status"),
    text("Restarts"),
    AGE,
    wide("IP"),
    wide("Node"),
    wide("Nominated Node"),
    wide("Readiness Gates"),
];
const SERVICES: &[Column] =
    &[NAME, text("Type"), text("Cluster-IP"), text("External-IP"), text("Port(s)"), AGE, wide("Selector")];
const NODES: &[Column] = &[
    NAME,
    text("Status"),
    text("Roles"),
    AGE,
    text("Version"),
    wide("Internal-IP"),
    wide("External-IP"),
    wide("OS-Image"),
    wide("Kernel-Version"),
    wide("Container-Runtime"),
];
const EVENTS: &[Column] = &[
    text("Last Seen"),
    text("Type"),
    text("Reason"),
    text("Object"),
    wide("Subobject"),
    wide("Source"),
    text("Message"),
    wide("First Seen"),
    wide("Count"),
    ("Name", "string", 1),
];
const DEPLOYMENTS: &[Column] = &[
    NAME,
    text("Ready"),
    text("Up-to-date"),
    text("Available"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
const REPLICA_SETS: &[Column] = &[
    NAME,
    number("Desired"),
    number("Current"),
    number("Ready"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
const STATEFUL_SETS: &[Column] = &[NAME, text("Ready"), AGE, wide("Containers"), wide("Images")];
const DAEMON_SETS: &[Column] = &[
    NAME,
    number("Desired"),
    number("Current"),
    number("Ready"),
    number("Up-to-date"),
    number("Available"),
    text("Node Selector"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
const DEFINITIONS: &[Column] = &[
    NAME,
    text("Scope"),
    text("Versions"),
    ("Created At", "date", 0),
    wide("Group"),
    wide("Kind"),
    wide("ShortNames"),
    ("Established", "boolean", 1),
];

fn name(object: &Value) -> Value {
    object["metadata"]["name"].clone()
}

fn age_of(object: &Value, now: Timestamp) -> Value {
    json!(age(&object["metadata"]["creationTimestamp"], now))
}

/// The text at a pointer; empty where there is none.
fn at<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The same, or `other` where it is empty.
fn at_or<'a>(object: &'a Value, pointer: &str, other: &'a str) -> &'a str {
    match at(object, pointer) {
        "" => other,
        text => text,
    }
}

fn number_at(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn count(object: &Value, field: &str) -> usize {
    object[field].as_object().map_or(0, serde_json::Map::len)
}

fn joined<T: AsRef<str>>(parts: impl IntoIterator<Item = T>, none: &str) -> String {
    let parts: Vec<T> = parts.into_iter().collect();
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { none.to_owned() } else { parts.join(",") }
}

/// `a=b,c=d`, or `<none>`.
fn labels(labels: Option<&Value>) -> String {
    let labels = labels.and_then(Value::as_object).into_iter().flatten();
    joined(labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())), "<none>")
}

/// A selector of labels and expressions.
fn selector(selector: Option<&Value>) -> String {
    let Some(selector) = selector else { return "<none>".to_owned() };
    let mut parts = Vec::new();
    match labels(selector.get("matchLabels")).as_str() {
        "<none>" => {}
        labels => parts.push(labels.to_owned()),
    }
    for expression in list(selector, "/matchExpressions") {
        let key = at(expression, "/key");
        let values = || joined(list(expression, "/values").iter().filter_map(Value::as_str), "");
        parts.push(match at(expression, "/operator") {
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            "In" => format!("{key} in ({})", values()),
            _ => format!("{key} notin ({})", values()),
        });
    }
    joined(parts, "<none>")
}

/// Names and images of the containers of a template.
fn containers(object: &Value) -> [Value; 2] {
    let containers = list(object, "/spec/template/spec/containers");
    let all = |field: &str| json!(joined(containers.iter().map(|container| at(container, field)), ""));
    [all("/name"), all("/image")]
}

fn generic(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), age_of(object, now)]
}

fn created(object: &Value, _: Timestamp) -> Vec<Value> {
    vec![name(object), object["metadata"]["creationTimestamp"].clone()]
}

fn config_map(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(count(object, "data") + count(object, "binaryData")), age_of(object, now)]
}

fn secret(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(at(object, "/type")), json!(count(object, "data")), age_of(object, now)]
}

fn namespace(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(at(object, "/status/phase")), age_of(object, now)]
}

fn lease(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(at(object, "/spec/holderIdentity")), age_of(object, now)]
}

fn pod(object: &Value, now: Timestamp) -> Vec<Value> {
    let statuses = list(object, "/status/containerStatuses");
    let ready = statuses.iter().filter(|status| status["ready"] == true).count();
    let restarts: i64 = statuses.iter().map(|status| number_at(status, "/restartCount")).sum();
    let gates = list(object, "/spec/readinessGates");
    let gates = if gates.is_empty() {
        "<none>".to_owned()
    } else {
        let conditions = list(object, "/status/conditions");
        let open = gates.iter().filter(|gate| {
            conditions
                .iter()
                .any(|condition| condition["type"] == gate["conditionType"] && condition["status"] == "True")
        });
        format!("{}/{}", open.count(), gates.len())
    };
    vec![
        name(object),
        json!(format!("{ready}/{}", list(object, "/spec/containers").len())),
        json!(pod_status(object)),
        json!(restarts.to_string()),
        age_of(object, now),
        json!(at_or(object, "/status/podIP", "<none>")),
        json!(at_or(object, "/spec/nodeName", "<none>")),
        json!(at_or(object, "/status/nominatedNodeName", "<none>")),
        json!(gates),
    ]
}

/// The phase, unless something says it better.
fn pod_status(pod: &Value) -> String {
    let phase = at(pod, "/status/phase");
    if pod.pointer("/metadata/deletionTimestamp").is_some() && !matches!(phase, "Succeeded" | "Failed") {
        return (if at(pod, "/status/reason") == "NodeLost" { "Unknown" } else { "Terminating" }).to_owned();
    }
    let (mut reason, mut running) = (at_or(pod, "/status/reason", phase).to_owned(), false);
    for status in list(pod, "/status/containerStatuses").iter().rev() {
        let waiting = at(status, "/state/waiting/reason");
        let terminated = status.pointer("/state/terminated");
        if !waiting.is_empty() {
            waiting.clone_into(&mut reason);
        } else if let Some(end) = terminated {
            reason = match (at(end, "/reason"), number_at(end, "/signal")) {
                ("", 0) => format!("ExitCode:{}", number_at(end, "/exitCode")),
                ("", signal) => format!("Signal:{signal}"),
                (why, _) => why.to_owned(),
            };
        } else if status["ready"] == true && status.pointer("/state/running").is_some() {
            running = true;
        }
    }
    // One container has ended and another one runs.
    if reason == "Completed" && running {
        let ready = list(pod, "/status/conditions")
            .iter()
            .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
        (if ready { "Running" } else { "NotReady" }).clone_into(&mut reason);
    }
    reason
}

fn service(object: &Value, now: Timestamp) -> Vec<Value> {
    let kind = at(object, "/spec/type");
    let strings = |pointer: &str| list(object, pointer).iter().filter_map(Value::as_str).collect::<Vec<_>>();
    let outside = strings("/spec/externalIPs");
    let external = match kind {
        "ExternalName" => at(object, "/spec/externalName").to_owned(),
        "LoadBalancer" => {
            let balancers = list(object, "/status/loadBalancer/ingress").iter();
            let balancers = balancers.map(|ingress| at_or(ingress, "/ip", at(ingress, "/hostname")));
            joined(balancers.chain(outside), "<pending>")
        }
        _ => joined(outside, "<none>"),
    };
    let ports = list(object, "/spec/ports").iter().map(|port| {
        let mut text = number_at(port, "/port").to_string();
        if let node @ 1.. = number_at(port, "/nodePort") {
            let _ = write!(text, ":{node}"); // a string takes every text
        }
        format!("{text}/{}", at(port, "/protocol"))
    });
    vec![
        name(object),
        json!(kind),
        json!(strings("/spec/clusterIPs").first().copied().unwrap_or("<none>")),
        json!(external),
        json!(joined(ports, "<none>")),
        age_of(object, now),
        json!(labels(object.pointer("/spec/selector"))),
    ]
}

fn node(object: &Value, now: Timestamp) -> Vec<Value> {
    let ready = list(object, "/status/conditions").iter().find(|condition| condition["type"] == "Ready");
    let mut status = match ready {
        None => "Unknown",
        Some(condition) if condition["status"] == "True" => "Ready",
        Some(_) => "NotReady",
    }
    .to_owned();
    if object.pointer("/spec/unschedulable") == Some(&Value::Bool(true)) {
        status.push_str(",SchedulingDisabled");
    }
    let roles = object.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
    let mut roles: Vec<&str> = roles
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None => value.as_str().filter(|_| key == "kubernetes.io/role"),
        })
        .collect();
    roles.sort_unstable();
    let address = |kind: &str| {
        let found = list(object, "/status/addresses").iter().find(|address| address["type"] == kind);
        json!(found.map_or("<none>", |address| at(address, "/address")))
    };
    let info = |field: &str| json!(at_or(object, &format!("/status/nodeInfo/{field}"), "<unknown>"));
    vec![
        name(object),
        json!(status),
        json!(joined(roles, "<none>")),
        age_of(object, now),
        json!(at(object, "/status/nodeInfo/kubeletVersion")),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage"),
        info("kernelVersion"),
        info("containerRuntimeVersion"),
    ]
}

/// Of both groups: events.k8s.io has other names for the same things.
fn event(object: &Value, now: Timestamp) -> Vec<Value> {
    let either = |first: &str, second: &str| match at(object, first) {
        "" => at(object, second).to_owned(),
        text => text.to_owned(),
    };
    let time = |pointers: &[&str]| {
        let found = pointers.iter().map(|pointer| at(object, pointer)).find(|text| !text.is_empty());
        json!(age(&found.map_or(Value::Null, Value::from), now))
    };
    const FIRST: [&str; 3] = ["/firstTimestamp", "/deprecatedFirstTimestamp", "/eventTime"];
    let last = ["/series/lastObservedTime", "/lastTimestamp", "/deprecatedLastTimestamp"];
    let of = either("/involvedObject/kind", "/regarding/kind").to_lowercase();
    let target = match either("/involvedObject/name", "/regarding/name").as_str() {
        "" => of,
        name => format!("{of}/{name}"),
    };
    let source = match either("/source/component", "/deprecatedSource/component").as_str() {
        "" => {
            let reporter = either("/reportingComponent", "/reportingController");
            joined([&*reporter, at(object, "/reportingInstance")], "").replace(',', ", ")
        }
        component => {
            let host = either("/source/host", "/deprecatedSource/host");
            joined([component, &host], "").replace(',', ", ")
        }
    };
    let count = ["/series/count", "/count", "/deprecatedCount"].map(|pointer| number_at(object, pointer));
    vec![
        time(&[last.as_slice(), &FIRST].concat()),
        json!(at(object, "/type")),
        json!(at(object, "/reason")),
        json!(target),
        json!(either("/involvedObject/fieldPath", "/regarding/fieldPath")),
        json!(source),
        json!(either("/message", "/note").trim()),
        time(&FIRST),
        json!(count.into_iter().find(|count| *count != 0).unwrap_or(1)),
        name(object),
    ]
}

fn deployment(object: &Value, now: Timestamp) -> Vec<Value> {
    let status = |field: &str| number_at(object, &format!("/status/{field}"));
    let [names, images] = containers(object);
    vec![
        name(object),
        json!(format!("{}/{}", status("readyReplicas"), number_at(object, "/spec/replicas"))),
        json!(status("updatedReplicas")),
        json!(status("availableReplicas")),
        age_of(object, now),
        names,
        images,
        json!(selector(object.pointer("/spec/selector"))),
    ]
}

/// Replication controllers too, whose selector has labels alone.
fn replica_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let chosen = object.pointer("/spec/selector");
    let plain = chosen.is_some_and(|chosen| {
        chosen.get("matchLabels").is_none() && chosen.get("matchExpressions").is_none()
    });
    let [names, images] = containers(object);
    vec![
        name(object),
        json!(number_at(object, "/spec/replicas")),
        json!(number_at(object, "/status/replicas")),
        json!(number_at(object, "/status/readyReplicas")),
        age_of(object, now),
        names,
        images,
        json!(if plain { labels(chosen) } else { selector(chosen) }),
    ]
}

fn stateful_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let [names, images] = containers(object);
    let ready = number_at(object, "/status/readyReplicas");
    let ready = format!("{ready}/{}", number_at(object, "/spec/replicas"));
    vec![name(object), json!(ready), age_of(object, now), names, images]
}

fn daemon_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let status = |field: &str| json!(number_at(object, &format!("/status/{field}")));
    let [names, images] = containers(object);
    vec![
        name(object),
        status("desiredNumberScheduled"),
        status("currentNumberScheduled"),
        status("numberReady"),
        status("updatedNumberScheduled"),
        status("numberAvailable"),
        json!(labels(object.pointer("/spec/template/spec/nodeSelector"))),
        age_of(object, now),
        names,
        images,
        json!(selector(object.pointer("/spec/selector"))),
    ]
}

fn definition(object: &Value, _: Timestamp) -> Vec<Value> {
    // What is stored and what is served no longer is said in words.
    let versions = list(object, "/spec/versions").iter().map(|version| {
        let name = at(version, "/name");
        if version["storage"] == true { format!("{name}(storage)") } else { name.to_owned() }
    });
    let short = list(object, "/spec/names/shortNames").iter().filter_map(Value::as_str);
    let established = list(object, "/status/conditions")
        .iter()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
    vec![
        name(object),
        json!(at(object, "/spec/scope")),
        json!(joined(versions, "")),
        object["metadata"]["creationTimestamp"].clone(),
        json!(at(object, "/spec/group")),
        json!(at(object, "/spec/names/kind")),
        json!(joined(short, "")),
        json!(established),
    ]
}
