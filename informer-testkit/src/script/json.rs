//! The bodies an API server sends, as JSON.
//!
//! They have the shape of a real server's: items of a list carry neither `kind` nor `apiVersion`.

use serde::Serialize;
use serde_json::{Value, json};

/// A `ConfigMap` of this key (`namespace/name`, or `name`).
#[must_use]
pub fn object(key: &str, uid: &str, resource_version: &str) -> Value {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    let mut object = json!({
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": { "name": name, "uid": uid, "resourceVersion": resource_version },
        "data": { "k": "v" },
    });
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = Value::from(namespace);
    }
    object
}

/// A `ConfigMapList` of this version.
#[must_use]
pub fn list(resource_version: &str, items: &[Value]) -> Value {
    list_of("ConfigMap", "v1", resource_version, items)
}

/// A page of a `ConfigMapList`, with a token for the next page.
#[must_use]
pub fn page(resource_version: &str, continue_token: &str, items: &[Value]) -> Value {
    let mut list = list(resource_version, items);
    list["metadata"]["continue"] = Value::from(continue_token);
    list
}

/// A list of any kind.
#[must_use]
pub fn list_of(kind: &str, api_version: &str, resource_version: &str, items: &[Value]) -> Value {
    let bare = |item: &Value| {
        let mut item = item.clone();
        if let Some(fields) = item.as_object_mut() {
            fields.remove("kind");
            fields.remove("apiVersion");
        }
        item
    };
    json!({
        "kind": format!("{kind}List"),
        "apiVersion": api_version,
        "metadata": { "resourceVersion": resource_version },
        "items": items.iter().map(bare).collect::<Vec<_>>(),
    })
}

/// A `Status` that tells of a failure.
#[must_use]
pub fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    })
}

/// One line of a watch: the event and a newline.
///
/// ```
/// use informer_testkit::script::frame;
/// assert_eq!(frame("ADDED", &serde_json::json!({})), b"{\"type\":\"ADDED\",\"object\":{}}\n");
/// ```
///
/// # Panics
/// When the object is none that JSON can say.
#[must_use]
pub fn frame(kind: &str, object: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Frame<'a, T> {
        r#type: &'a str,
        object: &'a T,
    }
    let mut line = serde_json::to_vec(&Frame { r#type: kind, object }).expect("test objects are JSON");
    line.push(b'\n');
    line
}
