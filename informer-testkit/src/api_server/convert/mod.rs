//! Objects that are served in more than one group or version: events and autoscalers.
//!
//! Events are stored as core/v1 has them, autoscalers as v2 has. Custom resources need nothing: their versions differ in
//! name alone.

mod autoscaler;

use serde_json::{Map, Value, json};

use super::resource::Resource;

pub(super) use autoscaler::usual_cpu;

/// Fields of the two groups that mean the same: core/v1, events.k8s.io/v1.
const RENAMED: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// Whether what is served differs from what is stored.
pub(super) fn differs(resource: &Resource) -> bool {
    is_event(resource) || is_old_autoscaler(resource)
}

fn is_event(resource: &Resource) -> bool {
    resource.group == "events.k8s.io"
}

/// Whether it is of the version that has annotations for most of an autoscaler.
pub(super) fn is_old_autoscaler(resource: &Resource) -> bool {
    resource.group == "autoscaling" && resource.version == "v1"
}

/// A stored autoscaler as v1 shows it, for its `managedFields`.
pub(super) fn seen_autoscaler(stored: &Value) -> Value {
    let mut seen = stored.clone();
    autoscaler::seen(&mut seen);
    seen
}

/// An autoscaler of v1 as it is stored, but that one of which nobody has said anything has no metrics.
pub(super) fn stored_autoscaler(seen: &Value) -> Value {
    let mut stored = seen.clone();
    autoscaler::stored(&mut stored);
    if let (true, Some(spec)) =
        (autoscaler::says_nothing(seen), stored.get_mut("spec").and_then(Value::as_object_mut))
    {
        spec.remove("metrics");
    }
    stored
}

/// The entry of `managedFields` for a stored field, `f:NAME`, where events.k8s.io shows it.
pub(super) fn seen_field(stored: &str) -> String {
    let name = stored.strip_prefix("f:").unwrap_or(stored);
    let renamed = RENAMED.iter().find(|(core, _)| *core == name);
    renamed.map_or_else(|| stored.to_owned(), |(_, other)| format!("f:{other}"))
}

/// A stored object as `resource` shows it.
pub(super) fn seen_as(resource: &Resource, mut stored: Value) -> Value {
    if is_old_autoscaler(resource) {
        autoscaler::seen(&mut stored);
    }
    if let (true, Value::Object(map)) = (is_event(resource), &mut stored) {
        for (core, other) in RENAMED {
            rename(map, core, other);
        }
        // Core writes these even where they are nothing.
        for field in ["reportingController", "reportingInstance"] {
            if map.get(field).is_some_and(|value| value == "") {
                map.remove(field);
            }
        }
        map.entry("deprecatedSource").or_insert_with(|| json!({}));
        map.entry("deprecatedFirstTimestamp").or_insert(Value::Null);
        map.entry("deprecatedLastTimestamp").or_insert(Value::Null);
    }
    stored
}

/// An object of `resource` as it is stored.
pub(super) fn to_store(resource: &Resource, mut seen: Value) -> Value {
    if is_old_autoscaler(resource) {
        autoscaler::stored(&mut seen);
    }
    stored_names(resource, seen)
}

/// The same, but for what is not a matter of names.
pub(super) fn stored_names(resource: &Resource, mut seen: Value) -> Value {
    if let (true, Value::Object(map)) = (is_event(resource), &mut seen) {
        for (core, other) in RENAMED {
            rename(map, other, core);
        }
    }
    seen
}

fn rename(map: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = map.remove(from) {
        map.insert(to.to_owned(), value);
    }
}
