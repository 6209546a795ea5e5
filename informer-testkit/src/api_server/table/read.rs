//! Looking into an object whose shape nobody has checked: what is not there is nothing.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::duration::age;

pub(super) fn name(object: &Value) -> Value {
    object["metadata"]["name"].clone()
}

pub(super) fn age_of(object: &Value, now: Timestamp) -> Value {
    json!(age(&object["metadata"]["creationTimestamp"], now))
}

/// The text at a pointer; empty where there is none.
pub(super) fn at<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The same, or `other` where it is empty.
pub(super) fn at_or<'a>(object: &'a Value, pointer: &str, other: &'a str) -> &'a str {
    match at(object, pointer) {
        "" => other,
        text => text,
    }
}

pub(super) fn number_at(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

pub(super) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn count(object: &Value, field: &str) -> usize {
    object[field].as_object().map_or(0, serde_json::Map::len)
}

pub(super) fn joined<T: AsRef<str>>(parts: impl IntoIterator<Item = T>, none: &str) -> String {
    let parts: Vec<T> = parts.into_iter().collect();
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { none.to_owned() } else { parts.join(",") }
}

/// `a=b,c=d`, or `<none>`.
pub(super) fn labels(labels: Option<&Value>) -> String {
    let labels = labels.and_then(Value::as_object).into_iter().flatten();
    joined(labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())), "<none>")
}

/// A selector of labels and expressions.
pub(super) fn selector(selector: Option<&Value>) -> String {
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
pub(super) fn containers(object: &Value) -> [Value; 2] {
    let containers = list(object, "/spec/template/spec/containers");
    let all = |field: &str| json!(joined(containers.iter().map(|container| at(container, field)), ""));
    [all("/name"), all("/image")]
}

/// Whether a flag is set.
pub(super) fn is(object: &Value, pointer: &str) -> bool {
    object.pointer(pointer).is_some_and(|value| value == true)
}

/// A value of any kind as text; what is not there as `<unset>`.
pub(super) fn printed(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "<unset>".to_owned(),
        Some(Value::Bool(true)) => "True".to_owned(),
        Some(Value::Bool(false)) => "False".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
