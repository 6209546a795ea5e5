//! Bodies of requests: an object of the resource that the path names.

use serde_json::{Map, Value};

use super::convert;
use super::exchange::Call;
use super::go_json;
use super::resource::Resource;
use super::route::Route;
use super::status::{Cause, Result, Status};

/// How much of a body that is not understood is told back.
const TOLD: usize = 30;

/// How deep an object may be. Its fields are told once more in `managedFields`, four levels down, and JSON of more
/// than 127 levels cannot be read again.
pub(super) const DEEPEST: usize = 100;

/// What a real server reads first, in its own words.
pub(super) const TYPES: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// The object in a body, as it is stored.
pub(super) fn object(call: &Call, route: &Route) -> Result<Value> {
    check_media_type(call, "application/json")?;
    let resource = &route.resource;
    let value = parse(&call.body, resource)?;
    let value = of_kind(value, resource, &call.body)?;
    Ok(convert::to_store(resource, value))
}

/// Refuses what is not said to be JSON. Who says nothing is taken to send it.
pub(super) fn check_media_type(call: &Call, known: &str) -> Result<()> {
    let media = call.header("content-type").unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim();
    if media.is_empty() || media.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Status::unsupported_media_type(known))
}

fn parse(body: &[u8], resource: &Resource) -> Result<Value> {
    let refuse = |why: String| {
        let told = if body.is_empty() { "<empty>".to_owned() } else { told(body) };
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: \
             {why} ({told})",
            resource.kind
        ))
    };
    match serde_json::from_slice::<Value>(body) {
        Ok(value) if depth(&value) > DEEPEST => {
            Err(Status::bad_request(format!("json: exceeded max depth: this server takes {DEEPEST} levels")))
        }
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(other) => {
            Err(refuse(format!("json: cannot unmarshal {} into Go value of type {TYPES}", type_name(&other))))
        }
        Err(_) => Err(refuse(go_json::fault(body))),
    }
}

/// The beginning of a body, as it is told back: as text if it looks like JSON, else as digits.
fn told(body: &[u8]) -> String {
    if body.first() == Some(&b'{') {
        let text = String::from_utf8_lossy(body);
        return match text.char_indices().nth(TOLD) {
            Some((end, _)) => format!("{} ...", &text[..end]),
            None => text.into_owned(),
        };
    }
    let digits: String = body.iter().take(TOLD).map(|byte| format!("{byte:02x}")).collect();
    if body.len() > TOLD { digits + " ..." } else { digits }
}

/// How deep a tree is.
pub(super) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(all) => 1 + all.iter().map(depth).max().unwrap_or_default(),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

/// Refuses an object of another kind or version. Built-in objects need not say what they are.
fn of_kind(mut value: Value, resource: &Resource, body: &[u8]) -> Result<Value> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, version) = (text("kind"), text("apiVersion"));
    let expected = resource.api_version();
    if resource.custom {
        if kind.is_empty() {
            let compact = String::from_utf8_lossy(body);
            return Err(Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing in '{compact}' ({})",
                resource.kind,
                told(body)
            )));
        }
        if version != expected {
            return Err(Status::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({expected})"
            )));
        }
        if kind != *resource.kind {
            let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            let cause = Cause::invalid("kind", &format!("{kind:?}"), &format!("must be {}", resource.kind));
            return Err(Status::invalid_kind(&resource.group, &kind, name, vec![cause]));
        }
    } else {
        if !kind.is_empty() && kind != *resource.kind {
            return Err(Status::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {}",
                resource.kind
            )));
        }
        if !version.is_empty() && version != expected {
            let what = if kind.is_empty() { &resource.kind } else { kind.as_str() };
            return Err(Status::bad_request(format!(
                "{what} in version {version:?} cannot be handled as a {}: no kind {what:?} is registered for version \
                 {version:?}",
                resource.kind
            )));
        }
    }
    if let Value::Object(map) = &mut value {
        map.remove("kind");
        map.remove("apiVersion");
        tidy(map, resource)?;
    }
    Ok(value)
}

/// Makes `metadata` an object without empty parts, and refuses one that cannot be.
pub(super) fn tidy(map: &mut Map<String, Value>, resource: &Resource) -> Result<()> {
    let wrong = |what: &str, field: &str| {
        Status::bad_request(format!(
            "{0} in version \"{1}\" cannot be handled as a {0}: json: cannot unmarshal into Go struct field \
             {0}.{field} of type {what}",
            resource.kind, resource.version
        ))
    };
    let metadata = map.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    let Value::Object(metadata) = metadata else { return Err(wrong("ObjectMeta", "metadata")) };
    metadata.retain(|_, value| !matches!(value, Value::Null) && !is_empty(value));
    for field in ["labels", "annotations"] {
        texts(metadata.get_mut(field));
    }
    for (key, value) in metadata.iter() {
        let field = || format!("metadata.{key}");
        match key.as_str() {
            "name" | "namespace" | "generateName" | "uid" | "resourceVersion" if !value.is_string() => {
                return Err(wrong("string", &field()));
            }
            "labels" | "annotations" => match value {
                Value::Object(map) if map.values().all(Value::is_string) => {}
                Value::Object(_) => return Err(wrong("string", &field())),
                _ => return Err(wrong("map[string]string", &field())),
            },
            "finalizers" => match value {
                Value::Array(all) if all.iter().all(Value::is_string) => {}
                _ => return Err(wrong("[]string", &field())),
            },
            "ownerReferences" | "managedFields" => match value {
                Value::Array(all) if all.iter().all(Value::is_object) => {}
                _ => return Err(wrong("[]object", &field())),
            },
            _ => {}
        }
    }
    if resource.group.is_empty() && ["configmaps", "secrets"].contains(&&*resource.plural) {
        for field in ["data", "binaryData", "stringData"] {
            texts(map.get_mut(field));
            let entries = map.get(field).and_then(Value::as_object).into_iter().flatten();
            if let Some((_, entry)) = entries.into_iter().find(|(_, entry)| !entry.is_string()) {
                return Err(Status::bad_request(format!(
                    "{0} in version \"v1\" cannot be handled as a {0}: json: cannot unmarshal {1} into Go struct field \
                     {0}.{field} of type string",
                    resource.kind,
                    type_name(entry)
                )));
            }
        }
    }
    Ok(())
}

/// In a map of texts, null is the empty one.
fn texts(map: Option<&mut Value>) {
    for value in map.and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        if value.is_null() {
            *value = Value::String(String::new());
        }
    }
}

/// What a real server calls the type of a value.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Null => "null",
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(all) => all.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// A text of an object's metadata; empty if it is not there.
pub(super) fn meta<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_str).unwrap_or_default()
}

/// The metadata of an object that has passed [`tidy`]; an object without it gets it.
pub(super) fn meta_mut(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let map = value.as_object_mut().expect("it was made one");
    let metadata = map.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut().expect("it was made one")
}

/// Refuses an object whose namespace is not that of the path; an object without one gets it.
pub(super) fn check_namespace(value: &mut Value, route: &Route) -> Result<()> {
    let told = meta(value, "namespace");
    let Some(namespace) = &route.namespace else {
        if told.is_empty() {
            return Ok(());
        }
        meta_mut(value).remove("namespace");
        return Ok(());
    };
    if !told.is_empty() && told != namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    meta_mut(value).insert("namespace".to_owned(), namespace.clone().into());
    Ok(())
}

/// Whether a request is only to be checked.
pub(super) fn is_dry(call: &Call) -> bool {
    call.parameter("dryRun") == Some("All")
}

/// Who writes, for `managedFields`: what the parameter says, or the program's name.
pub(super) fn manager(call: &Call) -> String {
    match call.parameter("fieldManager").filter(|name| !name.is_empty()) {
        Some(name) => name.to_owned(),
        None => {
            let agent = call.header("user-agent").unwrap_or_default();
            let name = agent.split('/').next().unwrap_or_default().trim();
            if name.is_empty() { "unknown".to_owned() } else { name.to_owned() }
        }
    }
}
