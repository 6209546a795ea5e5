//! Autoscalers in autoscaling/v1, which knows of one number for the CPU: everything else is text in annotations.
//!
//! They are stored as v2 has them.

use serde_json::{Map, Value, json};

use super::super::body::meta_mut;

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// The percentage of the CPU where nobody says anything.
const CPU: i64 = 80;

/// A kind of metric: what it is called, its field, and the fields in it: in v1, in v2 of a spec, in v2 of a status.
struct Metric {
    kind: &'static str,
    field: &'static str,
    spec: &'static [(&'static str, &'static str)],
    status: &'static [(&'static str, &'static str)],
}

#[rustfmt::skip] // a table, in v1's order
const KINDS: &[Metric] = &[
    Metric {
        kind: "Object", field: "object",
        spec: &[("target", "/describedObject"), ("metricName", "/metric/name"), ("targetValue", "/target/value"), ("selector", "/metric/selector"), ("averageValue", "/target/averageValue")],
        status: &[("target", "/describedObject"), ("metricName", "/metric/name"), ("currentValue", "/current/value"), ("selector", "/metric/selector"), ("averageValue", "/current/averageValue")],
    },
    Metric {
        kind: "Pods", field: "pods",
        spec: &[("metricName", "/metric/name"), ("targetAverageValue", "/target/averageValue"), ("selector", "/metric/selector")],
        status: &[("metricName", "/metric/name"), ("currentAverageValue", "/current/averageValue"), ("selector", "/metric/selector")],
    },
    Metric {
        kind: "Resource", field: "resource",
        spec: &[("name", "/name"), ("targetAverageUtilization", "/target/averageUtilization"), ("targetAverageValue", "/target/averageValue")],
        status: &[("name", "/name"), ("currentAverageUtilization", "/current/averageUtilization"), ("currentAverageValue", "/current/averageValue")],
    },
    Metric {
        kind: "ContainerResource", field: "containerResource",
        spec: &[("name", "/name"), ("targetAverageUtilization", "/target/averageUtilization"), ("targetAverageValue", "/target/averageValue"), ("container", "/container")],
        status: &[("name", "/name"), ("currentAverageUtilization", "/current/averageUtilization"), ("currentAverageValue", "/current/averageValue"), ("container", "/container")],
    },
    Metric {
        kind: "External", field: "external",
        spec: &[("metricName", "/metric/name"), ("metricSelector", "/metric/selector"), ("targetValue", "/target/value"), ("targetAverageValue", "/target/averageValue")],
        status: &[("metricName", "/metric/name"), ("metricSelector", "/metric/selector"), ("currentValue", "/current/value"), ("currentAverageValue", "/current/averageValue")],
    },
];

/// A stored autoscaler as v1 shows it.
pub(super) fn seen(value: &mut Value) {
    let mut notes = Vec::new();
    if let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) {
        let (cpu, others): (Vec<Value>, Vec<Value>) = taken(spec, "metrics").into_iter().partition(is_cpu);
        if let Some(percent) = cpu.first().and_then(|cpu| cpu.pointer("/resource/target/averageUtilization"))
        {
            spec.insert("targetCPUUtilizationPercentage".to_owned(), percent.clone());
        }
        notes.push((METRICS, all(&others, |metric| old_metric(metric, |kind| kind.spec))));
        if let Some(behavior) = spec.remove("behavior").filter(|behavior| !behavior.is_null()) {
            let rules = |of: &str| behavior.get(of).map_or_else(|| "null".to_owned(), old_rules);
            notes.push((
                BEHAVIOR,
                ordered([("ScaleUp", rules("scaleUp")), ("ScaleDown", rules("scaleDown"))]),
            ));
        }
    }
    if let Some(status) = value.get_mut("status").and_then(Value::as_object_mut) {
        let current = taken(status, "currentMetrics");
        let cpu = current.iter().find(|metric| metric.pointer("/resource/name").is_some_and(|n| n == "cpu"));
        if let Some(percent) = cpu.and_then(|cpu| cpu.pointer("/resource/current/averageUtilization")) {
            status.insert("currentCPUUtilizationPercentage".to_owned(), percent.clone());
        }
        notes.push((CURRENT, all(&current, |metric| old_metric(metric, |kind| kind.status))));
        let conditions = taken(status, "conditions");
        let fields = ["type", "status", "lastTransitionTime", "reason", "message"];
        let told = all(&conditions, |condition| {
            let there =
                fields.into_iter().filter_map(|field| Some((field, condition.get(field)?.to_string())));
            ordered(there)
        });
        notes.push((CONDITIONS, told));
        status.entry("currentReplicas").or_insert_with(|| 0.into());
        status.entry("desiredReplicas").or_insert_with(|| 0.into());
    }
    let notes: Vec<_> = notes.into_iter().filter(|(_, text)| text != "[]").collect();
    if !notes.is_empty() {
        let annotations = meta_mut(value).entry("annotations").or_insert_with(|| json!({}));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.extend(notes.into_iter().map(|(name, text)| (name.to_owned(), text.into())));
        }
    }
}

/// Whether an autoscaler of v1 has no metric at all.
pub(super) fn says_nothing(seen: &Value) -> bool {
    seen["spec"]["targetCPUUtilizationPercentage"].is_null()
        && seen["metadata"]["annotations"][METRICS].is_null()
}

/// An autoscaler of v1 as it is stored.
pub(super) fn stored(value: &mut Value) {
    let mut note = |name: &str| {
        let annotations = value.pointer_mut("/metadata/annotations")?.as_object_mut()?;
        let text = annotations.remove(name)?;
        serde_json::from_str::<Value>(text.as_str()?).ok()
    };
    let (metrics, current, conditions, behavior) =
        (note(METRICS), note(CURRENT), note(CONDITIONS), note(BEHAVIOR));
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut)
        && metadata.get("annotations").is_some_and(|all| all.as_object().is_some_and(Map::is_empty))
    {
        metadata.remove("annotations");
    }
    if let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) {
        let mut told: Vec<Value> = items(metrics.as_ref())
            .filter(|metric| metric.is_object())
            .map(|metric| new_metric(metric, "target", |kind| kind.spec))
            .collect();
        let percent = spec.remove("targetCPUUtilizationPercentage").filter(|percent| !percent.is_null());
        if percent.is_some() || told.is_empty() {
            told.push(cpu(&percent.unwrap_or_else(|| CPU.into())));
        }
        spec.insert("metrics".to_owned(), told.into());
        if let Some(behavior) = behavior.filter(Value::is_object) {
            spec.insert("behavior".to_owned(), uncapitalised(behavior));
        }
    }
    if let Some(status) = value.get_mut("status").and_then(Value::as_object_mut) {
        status.remove("currentCPUUtilizationPercentage");
        let told: Vec<Value> = items(current.as_ref())
            .filter(|metric| metric.is_object())
            .map(|metric| new_metric(metric, "current", |kind| kind.status))
            .collect();
        status.insert("currentMetrics".to_owned(), if told.is_empty() { Value::Null } else { told.into() });
        if let Some(conditions) = conditions.filter(Value::is_array) {
            status.insert("conditions".to_owned(), conditions);
        }
    }
}

/// That the CPU is to be used to so many percent.
pub(in crate::api_server) fn cpu(percent: &Value) -> Value {
    json!({"type": "Resource", "resource": {"name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": percent}}})
}

/// The same, as nobody has asked for otherwise.
pub(in crate::api_server) fn usual_cpu() -> Value {
    cpu(&CPU.into())
}

fn is_cpu(metric: &Value) -> bool {
    metric["type"] == "Resource"
        && metric.pointer("/resource/name").is_some_and(|name| name == "cpu")
        && metric.pointer("/resource/target/averageUtilization").is_some()
}

type Fields = &'static [(&'static str, &'static str)];

/// A metric as v1 spells it.
fn old_metric(metric: &Value, of: fn(&Metric) -> Fields) -> String {
    let mut told = vec![("type", metric["type"].to_string())];
    for kind in KINDS {
        let Some(inner) = metric.get(kind.field) else { continue };
        let fields = of(kind).iter().filter_map(|(old, new)| Some((*old, inner.pointer(new)?.to_string())));
        told.push((kind.field, ordered(fields)));
    }
    ordered(told)
}

/// A metric as v2 spells it; what it is or should be is in `part`.
fn new_metric(metric: &Value, part: &str, of: fn(&Metric) -> Fields) -> Value {
    let mut told = json!({"type": metric["type"]});
    let kind = KINDS.iter().find(|kind| metric["type"] == kind.kind);
    let Some((kind, inner)) = kind.and_then(|kind| Some((kind, metric.get(kind.field)?))) else {
        return told;
    };
    let mut new = json!({});
    for (old, pointer) in of(kind) {
        let Some(value) = inner.get(old).filter(|value| !value.is_null()) else { continue };
        match pointer.trim_start_matches('/').split_once('/') {
            Some((outer, field)) => new[outer][field] = value.clone(),
            None => new[&pointer[1..]] = value.clone(),
        }
    }
    if part == "target" {
        let told = if new["target"]["averageUtilization"].is_number() {
            "Utilization"
        } else if new["target"]["averageValue"].is_string() {
            "AverageValue"
        } else {
            "Value"
        };
        new["target"]["type"] = told.into();
    }
    told[kind.field] = new;
    told
}

/// Rules of scaling as v1 writes them: as Go does where nobody says what a field is called.
fn old_rules(rules: &Value) -> String {
    let field = |name: &str| rules.get(name).map_or_else(|| "null".to_owned(), Value::to_string);
    let policies = all(&items(rules.get("policies")).cloned().collect::<Vec<_>>(), |policy| {
        let field = |name: &str| policy[name].to_string();
        ordered([
            ("Type", field("type")),
            ("Value", field("value")),
            ("PeriodSeconds", field("periodSeconds")),
        ])
    });
    ordered([
        ("StabilizationWindowSeconds", field("stabilizationWindowSeconds")),
        ("SelectPolicy", field("selectPolicy")),
        ("Policies", policies),
        ("Tolerance", field("tolerance")),
    ])
}

/// The same as v2 writes it; what is null is not there.
fn uncapitalised(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let fields = map.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| {
                let mut letters = name.chars();
                let first = letters.next().map(|first| first.to_ascii_lowercase());
                (first.into_iter().chain(letters).collect(), uncapitalised(value))
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(uncapitalised).collect()),
        other => other,
    }
}

fn taken(map: &mut Map<String, Value>, field: &str) -> Vec<Value> {
    match map.remove(field) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// An object as text, its fields in this order.
fn ordered<'a>(fields: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let fields: Vec<String> = fields.into_iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

fn all(items: &[Value], told: impl Fn(&Value) -> String) -> String {
    format!("[{}]", items.iter().map(told).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(spec: &Value, status: &Value) -> (Value, Value) {
        let stored_before = json!({"metadata": {"name": "h"}, "spec": spec, "status": status});
        let mut value = stored_before.clone();
        seen(&mut value);
        let shown = value.clone();
        stored(&mut value);
        assert_eq!(value, stored_before, "{shown}");
        (shown, value)
    }

    #[test]
    fn every_kind_of_metric_survives_v1() {
        let object = json!({"kind": "Service", "name": "s", "apiVersion": "v1"});
        let spec = json!({
            "maxReplicas": 3,
            "metrics": [
                {"type": "Object", "object": {"describedObject": object, "metric": {"name": "m"},
                    "target": {"type": "Value", "value": "3"}}},
                {"type": "Pods", "pods": {"metric": {"name": "m", "selector": {"matchLabels": {"a": "b"}}},
                    "target": {"type": "AverageValue", "averageValue": "3"}}},
                {"type": "Resource", "resource": {"name": "memory",
                    "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
                {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c",
                    "target": {"type": "Utilization", "averageUtilization": 7}}},
                {"type": "External", "external": {"metric": {"name": "m"},
                    "target": {"type": "Value", "value": "3"}}},
                {"type": "Resource", "resource": {"name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 50}}},
            ],
            "behavior": {"scaleUp": {"selectPolicy": "Max", "stabilizationWindowSeconds": 0,
                "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]}},
        });
        let status = json!({
            "currentReplicas": 1, "desiredReplicas": 2,
            "currentMetrics": [
                {"type": "Resource", "resource": {"name": "cpu",
                    "current": {"averageUtilization": 40, "averageValue": "4m"}}},
                {"type": "External", "external": {"metric": {"name": "m"}, "current": {"value": "3"}}},
            ],
            "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-11-30T18:05:48Z",
                "reason": "R", "message": "It does"}],
        });
        let (shown, _) = there_and_back(&spec, &status);
        assert_eq!(shown["spec"], json!({"maxReplicas": 3, "targetCPUUtilizationPercentage": 50}));
        assert_eq!(
            shown["status"],
            json!({"currentReplicas": 1, "desiredReplicas": 2, "currentCPUUtilizationPercentage": 40})
        );
        assert_eq!(
            shown["metadata"]["annotations"][CURRENT],
            r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":40,"currentAverageValue":"4m"}},{"type":"External","external":{"metricName":"m","currentValue":"3"}}]"#
        );
    }

    #[test]
    fn what_annotations_say_need_not_make_sense() {
        for text in ["", "{", "[1, null, {}]", r#"[{"type": "Object"}]"#, "7", r#"{"ScaleUp": 1, "": 2}"#] {
            let notes = json!({METRICS: text, CURRENT: text, CONDITIONS: text, BEHAVIOR: text});
            let mut value =
                json!({"metadata": {"annotations": notes}, "spec": {"maxReplicas": 1}, "status": {}});
            stored(&mut value);
            seen(&mut value);
            assert_eq!(value["spec"]["maxReplicas"], 1, "{text}");
        }
        let mut bare = json!({"metadata": {}, "spec": {"maxReplicas": 1}});
        stored(&mut bare);
        assert_eq!(bare["spec"]["metrics"], json!([usual_cpu()]));
    }
}
