//! The cells of what runs Pods.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::read::*;

pub(super) fn deployment(object: &Value, now: Timestamp) -> Vec<Value> {
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
        // One that selects nothing is not one that is missing.
        json!(match object.pointer("/spec/selector") {
            Some(Value::Null) => String::new(),
            some => selector(some),
        }),
    ]
}

/// Replication controllers too, whose selector has labels alone.
pub(super) fn replica_set(object: &Value, now: Timestamp) -> Vec<Value> {
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

pub(super) fn stateful_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let [names, images] = containers(object);
    let ready = number_at(object, "/status/readyReplicas");
    let ready = format!("{ready}/{}", number_at(object, "/spec/replicas"));
    vec![name(object), json!(ready), age_of(object, now), names, images]
}

pub(super) fn daemon_set(object: &Value, now: Timestamp) -> Vec<Value> {
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

pub(super) fn pod_template(object: &Value, _: Timestamp) -> Vec<Value> {
    let containers = list(object, "/template/spec/containers");
    let all = |field: &str| json!(joined(containers.iter().map(|container| at(container, field)), ""));
    let labels = labels(object.pointer("/template/metadata/labels"));
    vec![name(object), all("/name"), all("/image"), json!(labels)]
}

pub(super) fn controller_revision(object: &Value, now: Timestamp) -> Vec<Value> {
    let owners = list(object, "/metadata/ownerReferences");
    let owner = owners.iter().find(|owner| owner["controller"] == true).map(|owner| {
        let group = at(owner, "/apiVersion").split_once('/').map_or("", |(group, _)| group);
        let dot = if group.is_empty() { "" } else { "." };
        format!("{}{dot}{group}/{}", at(owner, "/kind").to_lowercase(), at(owner, "/name"))
    });
    let owner = owner.unwrap_or_else(|| "<none>".to_owned());
    vec![name(object), json!(owner), json!(number_at(object, "/revision")), age_of(object, now)]
}

pub(super) fn job(object: &Value, now: Timestamp) -> Vec<Value> {
    let conditions = list(object, "/status/conditions");
    let is = |kind: &str| conditions.iter().any(|known| known["type"] == kind && known["status"] == "True");
    let status = if is("Complete") {
        "Complete"
    } else if is("Failed") {
        "Failed"
    } else if object.pointer("/metadata/deletionTimestamp").is_some() {
        "Terminating"
    } else if is("Suspended") {
        "Suspended"
    } else if is("FailureTarget") {
        "FailureTarget"
    } else if is("SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    };
    let done = number_at(object, "/status/succeeded");
    let wanted = match object.pointer("/spec/completions").and_then(Value::as_i64) {
        Some(wanted) => wanted.to_string(),
        None => match number_at(object, "/spec/parallelism") {
            many @ 2.. => format!("1 of {many}"),
            _ => "1".to_owned(),
        },
    };
    let instant = |pointer: &str| at(object, pointer).parse::<Timestamp>().ok();
    let took = instant("/status/startTime").map(|start| {
        let end = instant("/status/completionTime").unwrap_or(now);
        super::duration::human(end.as_second().saturating_sub(start.as_second()))
    });
    let [names, images] = containers(object);
    vec![
        name(object),
        json!(status),
        json!(format!("{done}/{wanted}")),
        json!(took.unwrap_or_default()),
        age_of(object, now),
        names,
        images,
        json!(selector(object.pointer("/spec/selector"))),
    ]
}

pub(super) fn cron_job(object: &Value, now: Timestamp) -> Vec<Value> {
    let last = object.pointer("/status/lastScheduleTime");
    let last = last.map_or_else(|| "<none>".to_owned(), |time| super::duration::age(time, now));
    let empty = json!({});
    let job = object.pointer("/spec/jobTemplate").unwrap_or(&empty);
    let [names, images] = containers(job);
    vec![
        name(object),
        json!(at(object, "/spec/schedule")),
        json!(at_or(object, "/spec/timeZone", "<none>")),
        json!(printed(object.pointer("/spec/suspend"))),
        json!(list(object, "/status/active").len()),
        json!(last),
        age_of(object, now),
        names,
        images,
        json!(selector(job.pointer("/spec/selector"))),
    ]
}

pub(super) fn disruption_budget(object: &Value, now: Timestamp) -> Vec<Value> {
    let limit = |pointer: &str| match object.pointer(pointer) {
        None | Some(Value::Null) => json!("N/A"),
        some => json!(printed(some)),
    };
    vec![
        name(object),
        limit("/spec/minAvailable"),
        limit("/spec/maxUnavailable"),
        json!(number_at(object, "/status/disruptionsAllowed")),
        age_of(object, now),
    ]
}
