//! The cells of the core kinds, of leases and of definitions.

use std::fmt::Write as _;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::duration::age;
use super::read::*;

pub(super) fn generic(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), age_of(object, now)]
}

pub(super) fn created(object: &Value, _: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        match &object["metadata"]["creationTimestamp"] {
            Value::Null => json!("0001-01-01T00:00:00Z"), // Go's zero
            time => time.clone(),
        },
    ]
}

pub(super) fn config_map(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(count(object, "data") + count(object, "binaryData")), age_of(object, now)]
}

pub(super) fn secret(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(at(object, "/type")), json!(count(object, "data")), age_of(object, now)]
}

pub(super) fn namespace(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(at(object, "/status/phase")), age_of(object, now)]
}

pub(super) fn lease(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(at(object, "/spec/holderIdentity")), age_of(object, now)]
}

pub(super) fn pod(object: &Value, now: Timestamp) -> Vec<Value> {
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

pub(super) fn service(object: &Value, now: Timestamp) -> Vec<Value> {
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
        "ClusterIP" | "NodePort" => joined(outside, "<none>"),
        _ => "<unknown>".to_owned(),
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
        json!(strings("/spec/clusterIPs").first().copied().unwrap_or_else(|| at_or(
            object,
            "/spec/clusterIP",
            "<none>"
        ))),
        json!(external),
        json!(joined(ports, "<none>")),
        age_of(object, now),
        json!(labels(object.pointer("/spec/selector"))),
    ]
}

pub(super) fn node(object: &Value, now: Timestamp) -> Vec<Value> {
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
pub(super) fn event(object: &Value, now: Timestamp) -> Vec<Value> {
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

pub(super) fn definition(object: &Value, _: Timestamp) -> Vec<Value> {
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
