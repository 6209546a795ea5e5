//! Objects as bytes, in the order of fields in which a real server writes them.
//!
//! Built-in objects have `metadata` first, with its fields in the order of the Go type; custom resources are
//! alphabetical throughout. The rest of a built-in object is alphabetical here, which JSON does not care about.

use std::sync::Arc;

use serde_json::{Map, Value};

/// The fields of `metadata`, in the order of the Go type.
const METADATA: &[&str] = &[
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// Those of an entry of `managedFields`.
const MANAGED: &[&str] =
    &["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"];

/// An object without `kind` and `apiVersion`.
pub(in crate::api_server) fn body(mut value: Value, custom: bool) -> Arc<[u8]> {
    let mut out = Vec::with_capacity(512);
    if let Value::Object(map) = &mut value {
        map.remove("kind");
        map.remove("apiVersion");
        if !custom {
            out.push(b'{');
            if let Some(metadata) = map.remove("metadata") {
                out.extend_from_slice(b"\"metadata\":");
                write_metadata(&metadata, &mut out);
                if !map.is_empty() {
                    out.push(b',');
                }
            }
            write_fields(map.iter(), &mut out);
            out.push(b'}');
            return out.into();
        }
    }
    write(&value, &mut out);
    out.into()
}

/// The `metadata` of an object.
pub(super) fn metadata(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    write_metadata(value, &mut out);
    out
}

fn write_metadata(value: &Value, out: &mut Vec<u8>) {
    let Value::Object(map) = value else { return write(value, out) };
    out.push(b'{');
    let mut first = true;
    for (key, value) in ordered(map, METADATA) {
        comma(&mut first, out);
        write_key(key, out);
        match value {
            Value::Array(entries) if key == "managedFields" => write_managed(entries, out),
            value => write(value, out),
        }
    }
    out.push(b'}');
}

fn write_managed(entries: &[Value], out: &mut Vec<u8>) {
    out.push(b'[');
    let mut first = true;
    for entry in entries {
        comma(&mut first, out);
        match entry {
            Value::Object(map) => {
                out.push(b'{');
                write_fields(ordered(map, MANAGED), out);
                out.push(b'}');
            }
            other => write(other, out),
        }
    }
    out.push(b']');
}

/// The fields of `map`: those of `order` first, then the others.
fn ordered<'a>(
    map: &'a Map<String, Value>,
    order: &'static [&'static str],
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let known = order.iter().filter_map(|key| map.get_key_value(*key));
    known.chain(map.iter().filter(|(key, _)| !order.contains(&key.as_str())))
}

fn write_fields<'a>(fields: impl Iterator<Item = (&'a String, &'a Value)>, out: &mut Vec<u8>) {
    let mut first = true;
    for (key, value) in fields {
        comma(&mut first, out);
        write_key(key, out);
        write(value, out);
    }
}

fn comma(first: &mut bool, out: &mut Vec<u8>) {
    if !std::mem::take(first) {
        out.push(b',');
    }
}

fn write_key(key: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(&mut *out, key).expect("a string can be written to memory");
    out.push(b':');
}

fn write(value: &Value, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("a tree with keys of text can be written to memory");
}
