//! The cells of what bounds and allows: roles bound to somebody, quotas, classes of runtime, requests to be signed.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::read::*;
use crate::api_server::convert::stored_autoscaler;

pub(super) fn role_binding(object: &Value, now: Timestamp) -> Vec<Value> {
    let subjects = list(object, "/subjects");
    let of = |kind: &str| {
        let mine = subjects.iter().filter(|subject| subject["kind"] == kind);
        let names = mine.map(|subject| match (kind, at(subject, "/namespace")) {
            ("ServiceAccount", namespace) => format!("{namespace}/{}", at(subject, "/name")),
            _ => at(subject, "/name").to_owned(),
        });
        json!(names.collect::<Vec<_>>().join(", "))
    };
    vec![
        name(object),
        json!(format!("{}/{}", at(object, "/roleRef/kind"), at(object, "/roleRef/name"))),
        age_of(object, now),
        of("User"),
        of("Group"),
        of("ServiceAccount"),
    ]
}

pub(super) fn quota(object: &Value, now: Timestamp) -> Vec<Value> {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (resource, hard) in object.pointer("/status/hard").and_then(Value::as_object).into_iter().flatten() {
        let used = object.pointer("/status/used").and_then(|used| used.get(resource));
        let used = used.and_then(Value::as_str).unwrap_or("0");
        let told = format!("{resource}: {used}/{}", hard.as_str().unwrap_or_default());
        if resource.starts_with("limits") { limits.push(told) } else { requests.push(told) }
    }
    vec![name(object), json!(requests.join(", ")), json!(limits.join(", ")), age_of(object, now)]
}

pub(super) fn runtime_class(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(at(object, "/handler")), age_of(object, now)]
}

pub(super) fn signing_request(object: &Value, now: Timestamp) -> Vec<Value> {
    let conditions = list(object, "/status/conditions");
    let has = |kind: &str| conditions.iter().any(|condition| condition["type"] == kind);
    let mut status = if has("Approved") {
        "Approved".to_owned()
    } else if has("Denied") {
        "Denied".to_owned()
    } else {
        "Pending".to_owned()
    };
    if has("Failed") {
        status.push_str(",Failed");
    }
    if !at(object, "/status/certificate").is_empty() {
        status.push_str(",Issued");
    }
    let lasts = object.pointer("/spec/expirationSeconds").and_then(Value::as_i64);
    let lasts = lasts.map_or_else(|| "<none>".to_owned(), super::duration::human);
    vec![
        name(object),
        age_of(object, now),
        json!(at_or(object, "/spec/signerName", "<none>")),
        json!(at(object, "/spec/username")),
        json!(lasts),
        json!(status),
    ]
}

pub(super) fn autoscaler(object: &Value, now: Timestamp) -> Vec<Value> {
    if object["apiVersion"] == "autoscaling/v1" {
        let mut stored = stored_autoscaler(object);
        stored["apiVersion"] = Value::Null;
        return autoscaler(&stored, now);
    }
    let target = object.pointer("/spec/scaleTargetRef").unwrap_or(&Value::Null);
    let least = object.pointer("/spec/minReplicas").and_then(Value::as_i64);
    let metrics = list(object, "/spec/metrics").iter().enumerate().map(|(index, metric)| {
        let now =
            |part: &str| object.pointer(&format!("/status/currentMetrics/{index}/resource/current/{part}"));
        let wanted = |part: &str| metric.pointer(&format!("/resource/target/{part}"));
        let name = at(metric, "/resource/name");
        match wanted("averageUtilization") {
            Some(wanted) => {
                let now = now("averageUtilization").map_or("<unknown>".to_owned(), |now| format!("{now}%"));
                format!("{name}: {now}/{wanted}%")
            }
            None => {
                let now = now("averageValue").and_then(Value::as_str).unwrap_or("<unknown>");
                format!(
                    "{name}: {now}/{}",
                    wanted("averageValue").and_then(Value::as_str).unwrap_or("<auto>")
                )
            }
        }
    });
    let metrics: Vec<String> = metrics.collect();
    let metrics = if metrics.is_empty() { "<none>".to_owned() } else { metrics.join(", ") };
    vec![
        name(object),
        json!(format!("{}/{}", at(target, "/kind"), at(target, "/name"))),
        json!(metrics),
        json!(least.map_or_else(|| "<unset>".to_owned(), |least| least.to_string())),
        json!(number_at(object, "/spec/maxReplicas")),
        json!(number_at(object, "/status/currentReplicas")),
        age_of(object, now),
    ]
}
