//! Replacement of objects, and what it has in common with patches: the step from an old state to a new one.

use std::sync::Arc;

use serde_json::Value;

use super::body::{self, meta, meta_mut};
use super::engine::Engine;
use super::exchange::{Call, Whole};
use super::get::{json_answer, object_answer};
use super::managed::{self, Write};
use super::options::{check_write, version};
use super::representation::{Asked, Representation};
use super::resource::Resource;
use super::route::Route;
use super::status::{Cause, Result, Status};
use super::store::{Key, Object};
use super::{create, defaults, delete, scale, schema};

/// Who came first is told in these words.
const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Answers a replacement.
pub(super) fn answer(engine: &Engine, call: &Call, route: &Route, name: &str) -> Result<Whole> {
    let form = Representation::of(call, Asked::One, &route.resource)?;
    check_write(call, "UpdateOptions")?;
    if route.subresource == "scale" {
        return answer_scale(engine, call, route, name);
    }
    let mut value = body::object(call, route)?;
    if meta(&value, "name").is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )));
    }
    check_name(&value, name)?;
    body::check_namespace(&mut value, route)?;
    let object = change(engine, call, route, name, |_| Ok(value))?;
    Ok(object_answer(engine, 200, form, &route.resource, &object))
}

fn answer_scale(engine: &Engine, call: &Call, route: &Route, name: &str) -> Result<Whole> {
    body::check_media_type(call, "application/json")?;
    let asked: Value = serde_json::from_slice(&call.body)
        .map_err(|_| Status::bad_request("the object provided is unrecognized (must be of type Scale)"))?;
    let object = change(engine, call, route, name, |old| {
        let mut value = old.clone();
        scale::apply(&asked, &mut value);
        Ok(value)
    })?;
    Ok(json_answer(200, scale::of(&object).to_string().into_bytes()))
}

pub(super) fn check_name(value: &Value, name: &str) -> Result<()> {
    let told = meta(value, "name");
    if told.is_empty() || told == name {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the name of the object ({told}) does not match the name on the URL ({name})"
    )))
}

/// Changes an object: `make` gives the state that is asked for from the present one. Answers the state that results.
pub(super) fn change(
    engine: &Engine,
    call: &Call,
    route: &Route,
    name: &str,
    make: impl FnOnce(&Value) -> Result<Value>,
) -> Result<Arc<Object>> {
    let resource = &route.resource;
    let write = Write::new(resource, &body::manager(call), &route.subresource, engine.now());
    let key = Key::new(route.namespace.as_deref().unwrap_or_default(), name);
    let mut state = engine.lock();
    let old = state.store.get(&resource.storage, &key).cloned();
    let old = old.ok_or_else(|| Status::not_found(resource, name))?;
    let before = old.value();
    let asked = make(&before)?;
    check_identity(resource, &old, &asked, name, call.method == "PUT" && route.subresource != "scale")?;
    let mut value = merged(resource, &before, asked, &route.subresource);
    defaults::fill(resource, &mut value);
    if let Some(schema) = &resource.schema {
        schema::shape(schema, &mut value);
    }
    create::check(resource, &value)?;
    managed::changed(&write, &before, &mut value);
    defaults::fill_empty(resource, &mut value, &write.time);
    if same(&before, &value) {
        return Ok(old);
    }
    count_generation(resource, &before, &mut value);
    if body::is_dry(call) {
        return Ok(Arc::new(Object::new(value, old.revision, resource.custom, &[])));
    }
    if delete::is_due(&value) {
        // What held it is gone: it is removed as it was, and the state that was asked for is told but never stored.
        state.remove(resource, &key);
        return Ok(Arc::new(Object::new(value, old.revision, resource.custom, &[])));
    }
    Ok(state.put(resource, value))
}

/// Refuses a write of another object, or of another state of this one.
fn check_identity(
    resource: &Resource,
    old: &Object,
    asked: &Value,
    name: &str,
    replaced: bool,
) -> Result<()> {
    let (uid, told) = (meta(asked, "uid"), meta(asked, "resourceVersion"));
    if !uid.is_empty() && uid != old.uid {
        if !replaced {
            let cause = Cause::invalid("metadata.uid", &format!("{uid:?}"), "field is immutable");
            return Err(Status::invalid(resource, name, vec![cause]));
        }
        let place =
            if old.key.namespace.is_empty() { String::new() } else { format!("{}/", old.key.namespace) };
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{}/{place}{name}, ResourceVersion: 0, \
             AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            resource.plural, old.uid
        );
        return Err(Status::conflict(resource, name, &why));
    }
    if matches!(told, "" | "0") {
        if replaced && needs_version(resource) {
            let cause = Cause::invalid("metadata.resourceVersion", "0", "must be specified for an update");
            // Told of the resource, where other values that cannot be are told of the kind.
            return Err(Status::invalid_kind(&resource.group, &resource.plural, name, vec![cause]));
        }
        return Ok(());
    }
    let told = version(told).map_err(|why| Status::new(500, "", why))?;
    if told == old.revision { Ok(()) } else { Err(Status::conflict(resource, name, MODIFIED)) }
}

/// Whether a replacement has to say what it replaces.
fn needs_version(resource: &Resource) -> bool {
    resource.custom
        || matches!(
            &*resource.plural,
            "leases" | "customresourcedefinitions" | "poddisruptionbudgets" | "endpointslices"
        )
}

/// What results if `asked` is asked for: its own part of it, and the server's fields as they were.
fn merged(resource: &Resource, before: &Value, asked: Value, subresource: &str) -> Value {
    let status = asked.get("status").cloned();
    let mut value = match subresource {
        "" | "scale" | "finalize" => asked,
        _ => {
            let mut value = before.clone();
            if !resource.custom {
                // The labels and annotations of built-in objects can be written along with their status.
                for field in ["labels", "annotations"] {
                    let told = asked.pointer(&format!("/metadata/{field}")).cloned();
                    put(meta_mut(&mut value), field, told);
                }
            }
            value
        }
    };
    let status = match subresource {
        "status" => status,
        _ if resource.has("status") => before.get("status").cloned(),
        _ => status,
    };
    if let Some(map) = value.as_object_mut() {
        put(map, "status", status);
        map.remove("kind");
        map.remove("apiVersion");
    }
    if resource.storage == "services" {
        keep_address(before, &mut value);
    }
    let old = before.get("metadata").and_then(Value::as_object);
    let metadata = meta_mut(&mut value);
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generateName",
        "managedFields",
    ] {
        put(metadata, field, old.and_then(|old| old.get(field)).cloned());
    }
    metadata.remove("selfLink");
    value
}

/// A Service keeps its address where a replacement leaves it open.
fn keep_address(before: &Value, after: &mut Value) {
    for field in ["clusterIP", "clusterIPs"] {
        let old = before.get("spec").and_then(|spec| spec.get(field));
        let spec = after.get_mut("spec").and_then(Value::as_object_mut);
        if let (Some(old), Some(spec)) = (old, spec) {
            spec.entry(field).or_insert_with(|| old.clone());
        }
    }
}

fn put(map: &mut serde_json::Map<String, Value>, field: &str, value: Option<Value>) {
    match value {
        Some(value) => drop(map.insert(field.to_owned(), value)),
        None => drop(map.remove(field)),
    }
}

/// Whether two states differ in nothing but when who wrote what.
fn same(before: &Value, after: &Value) -> bool {
    let (Value::Object(before), Value::Object(after)) = (before, after) else { return before == after };
    let apart = |map: &serde_json::Map<String, Value>| {
        let mut metadata = map.get("metadata").cloned().unwrap_or(Value::Null);
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.remove("managedFields");
        }
        metadata
    };
    before.len() == after.len()
        && before.iter().all(|(key, value)| key == "metadata" || after.get(key) == Some(value))
        && apart(before) == apart(after)
}

/// Counts a change of anything but metadata and status.
fn count_generation(resource: &Resource, before: &Value, after: &mut Value) {
    if !resource.counts_generations {
        return;
    }
    let asked = |value: &Value| {
        let mut value = value.clone();
        if let Some(map) = value.as_object_mut() {
            map.remove("metadata");
            if resource.has("status") {
                map.remove("status");
            }
        }
        value
    };
    if asked(before) != asked(after) {
        let generation = before.pointer("/metadata/generation").and_then(Value::as_u64).unwrap_or_default();
        meta_mut(after).insert("generation".to_owned(), generation.saturating_add(1).into());
    }
}
