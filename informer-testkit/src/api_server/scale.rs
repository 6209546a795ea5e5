//! The `scale` subresource: how many there should be, apart from everything else.

use serde_json::{Value, json};

use super::store::Object;

/// The `Scale` of an object.
pub(super) fn of(object: &Object) -> Value {
    of_value(&object.value())
}

/// The same, of an object as a tree.
pub(super) fn of_value(value: &Value) -> Value {
    let at = |pointer: &str| value.pointer(pointer).cloned();
    let mut status = json!({"replicas": at("/status/replicas").unwrap_or(0.into())});
    let labels = at("/spec/selector/matchLabels").or_else(|| at("/spec/selector"));
    if let Some(Value::Object(labels)) = labels {
        let pair = |(key, value): (&String, &Value)| Some(format!("{key}={}", value.as_str()?));
        status["selector"] = labels.iter().filter_map(pair).collect::<Vec<_>>().join(",").into();
    }
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(known) = value.pointer(&format!("/metadata/{field}")) {
            metadata[field] = known.clone();
        }
    }
    json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
        "spec": {"replicas": at("/spec/replicas").unwrap_or(0.into())}, "status": status})
}

/// Puts what a `Scale` asks for into the object it is the scale of.
pub(super) fn apply(scale: &Value, object: &mut Value) {
    if let Some(replicas) = scale.pointer("/spec/replicas").filter(|replicas| replicas.is_u64()) {
        object["spec"]["replicas"] = replicas.clone();
    }
    if let Some(version) = scale.pointer("/metadata/resourceVersion") {
        object["metadata"]["resourceVersion"] = version.clone();
    }
}
