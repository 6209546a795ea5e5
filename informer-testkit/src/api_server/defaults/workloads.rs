//! Of workloads: Pods and what makes Pods, and who says how many.

use serde_json::{Map, Value, json};

use super::default;
use crate::api_server::convert::usual_cpu;

/// What nobody has to say of a Pod, or of what makes Pods.
pub(super) fn fill(plural: &str, spec: &mut Map<String, Value>) {
    match plural {
        "pods" => {
            spec.entry("enableServiceLinks").or_insert_with(|| true.into());
            return pod(spec);
        }
        "deployments" => deployment(spec),
        "statefulsets" => stateful_set(spec),
        "daemonsets" => daemon_set(spec),
        "jobs" => job(spec),
        "cronjobs" => return cron_job(spec),
        "horizontalpodautoscalers" => return autoscaler(spec),
        _ => {}
    }
    if matches!(plural, "deployments" | "statefulsets" | "replicasets" | "replicationcontrollers") {
        spec.entry("replicas").or_insert_with(|| 1.into());
    }
    template(spec);
}

fn cron_job(spec: &mut Map<String, Value>) {
    for (field, fallback) in [
        ("concurrencyPolicy", json!("Allow")),
        ("suspend", json!(false)),
        ("successfulJobsHistoryLimit", json!(3)),
        ("failedJobsHistoryLimit", json!(1)),
    ] {
        spec.entry(field).or_insert(fallback);
    }
    let inner = spec.get_mut("jobTemplate").and_then(|template| template.get_mut("spec"));
    if let Some(inner) = inner.and_then(Value::as_object_mut) {
        template(inner);
    }
}

fn autoscaler(spec: &mut Map<String, Value>) {
    spec.entry("minReplicas").or_insert_with(|| 1.into());
    let metrics = spec.entry("metrics").or_insert_with(|| json!([]));
    if metrics.as_array().is_none_or(Vec::is_empty) {
        *metrics = json!([usual_cpu()]);
    }
    let Some(behavior) = spec.get_mut("behavior").filter(|behavior| behavior.is_object()) else { return };
    let by_half = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    let by_four = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
    for (way, policies) in [("scaleUp", json!([by_four, by_half])), ("scaleDown", json!([by_half]))] {
        default(behavior, way, json!({}));
        default(&mut behavior[way], "selectPolicy", "Max".into());
        default(&mut behavior[way], "policies", policies);
    }
    default(&mut behavior["scaleUp"], "stabilizationWindowSeconds", 0.into());
}

/// What a template says counts for what it makes, where nothing else is said.
pub(super) fn controller(value: &mut Value) {
    let Some(labels) = value.pointer("/spec/template/metadata/labels").cloned() else { return };
    default(value, "metadata", json!({}));
    default(&mut value["metadata"], "labels", labels.clone());
    default(&mut value["spec"], "selector", labels);
}

/// The Pod of a template.
pub(super) fn template(spec: &mut Map<String, Value>) {
    let template = spec.get_mut("template").and_then(Value::as_object_mut);
    if let Some(inner) = template.and_then(|template| template.get_mut("spec")).and_then(Value::as_object_mut)
    {
        pod(inner);
    }
}

fn stateful_set(spec: &mut Map<String, Value>) {
    spec.entry("podManagementPolicy").or_insert_with(|| "OrderedReady".into());
    spec.entry("revisionHistoryLimit").or_insert_with(|| 10.into());
    let retention = spec.entry("persistentVolumeClaimRetentionPolicy").or_insert_with(|| json!({}));
    for field in ["whenDeleted", "whenScaled"] {
        default(retention, field, "Retain".into());
    }
    let strategy = spec.entry("updateStrategy").or_insert_with(|| json!({}));
    default(strategy, "type", "RollingUpdate".into());
    if strategy["type"] == "RollingUpdate" {
        default(strategy, "rollingUpdate", json!({}));
        default(&mut strategy["rollingUpdate"], "partition", 0.into());
        default(&mut strategy["rollingUpdate"], "maxUnavailable", 1.into());
    }
}

fn daemon_set(spec: &mut Map<String, Value>) {
    spec.entry("revisionHistoryLimit").or_insert_with(|| 10.into());
    let strategy = spec.entry("updateStrategy").or_insert_with(|| json!({}));
    default(strategy, "type", "RollingUpdate".into());
    if strategy["type"] == "RollingUpdate" {
        default(strategy, "rollingUpdate", json!({}));
        default(&mut strategy["rollingUpdate"], "maxUnavailable", 1.into());
        default(&mut strategy["rollingUpdate"], "maxSurge", 0.into());
    }
}

fn job(spec: &mut Map<String, Value>) {
    // A Job without either number is done once one Pod is.
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        spec.insert("completions".to_owned(), 1.into());
    }
    for (field, fallback) in [
        ("parallelism", json!(1)),
        ("backoffLimit", json!(6)),
        ("completionMode", json!("NonIndexed")),
        ("manualSelector", json!(false)),
        ("suspend", json!(false)),
        ("podReplacementPolicy", json!("TerminatingOrFailed")),
    ] {
        spec.entry(field).or_insert(fallback);
    }
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
