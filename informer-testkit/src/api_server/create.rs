//! Creation of objects.

use serde_json::{Value, json};

use super::body::{self, meta, meta_mut};
use super::engine::{Engine, State};
use super::exchange::{Call, Whole};
use super::get::object_answer;
use super::managed::{self, Write};
use super::names::{check_label, check_name};
use super::options::check_write;
use super::representation::{Asked, Representation};
use super::resource::Resource;
use super::route::Route;
use super::status::{Cause, Result, Status};
use super::store::{Key, Object};
use super::{custom, defaults, schema};

/// The namespaces that every cluster has.
const FIRST: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// How often a generated name is tried.
const NAMES: usize = 8;

/// Answers a creation.
pub(super) fn answer(engine: &Engine, call: &Call, route: &Route) -> Result<Whole> {
    let form = Representation::of(call, Asked::One, &route.resource)?;
    let resource = &route.resource;
    check_write(call, "CreateOptions")?;
    let mut value = body::object(call, route)?;
    body::check_namespace(&mut value, route)?;
    if !matches!(meta(&value, "resourceVersion"), "" | "0") {
        return Err(Status::new(500, "", "resourceVersion should not be set on objects to be created"));
    }
    let write = Write::new(resource, &body::manager(call), "", engine.now());
    let mut state = engine.lock();
    check_place(&state, route, &value)?;
    let value = prepare(&mut state, resource, value, &write)?;
    let key = Key::new(meta(&value, "namespace"), meta(&value, "name"));
    if let Some(there) = state.store.get(&resource.storage, &key) {
        let mut status = Status::already_exists(resource, &key.name);
        if there.value().pointer("/metadata/deletionTimestamp").is_some() {
            status.message = format!("object is being deleted: {}", status.message);
        }
        return Err(status);
    }
    let object = if body::is_dry(call) {
        std::sync::Arc::new(Object::new(value, 0, resource.custom, &[]))
    } else {
        state.put(resource, value)
    };
    drop(state);
    Ok(object_answer(engine, 201, form, resource, &object))
}

/// Puts in what the server adds, and refuses what it does not take.
pub(super) fn prepare(
    state: &mut State,
    resource: &Resource,
    mut value: Value,
    write: &Write,
) -> Result<Value> {
    name(state, resource, &mut value);
    let uid = state.dice.uid();
    let metadata = meta_mut(&mut value);
    for of_the_server in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "generation",
        "managedFields",
        "resourceVersion",
    ] {
        metadata.remove(of_the_server);
    }
    metadata.insert("uid".to_owned(), uid.into());
    metadata.insert("creationTimestamp".to_owned(), write.time.clone().into());
    if resource.counts_generations {
        metadata.insert("generation".to_owned(), 1.into());
    }
    // What is a matter of its own is not created with the object, except for nodes, which report themselves.
    if resource.has("status")
        && resource.plural != "nodes"
        && let Some(map) = value.as_object_mut()
    {
        map.remove("status");
    }
    defaults::fill(resource, &mut value);
    if let Some(schema) = &resource.schema {
        schema::shape(schema, &mut value);
    }
    check(resource, &value)?;
    managed::created(write, &mut value);
    defaults::fill_status(resource, &mut value);
    defaults::fill_empty(resource, &mut value, &write.time);
    defaults::fill_address(resource, &mut value, state.store.revision());
    Ok(value)
}

fn name(state: &mut State, resource: &Resource, value: &mut Value) {
    let base = meta(value, "generateName").to_owned();
    if !meta(value, "name").is_empty() || base.is_empty() {
        return;
    }
    let mut name = state.dice.name(&base);
    for _ in 1..NAMES {
        let key = Key::new(meta(value, "namespace"), &name);
        if state.store.get(&resource.storage, &key).is_none() {
            break;
        }
        name = state.dice.name(&base);
    }
    meta_mut(value).insert("name".to_owned(), name.into());
}

/// Refuses values that cannot be.
pub(super) fn check(resource: &Resource, value: &Value) -> Result<()> {
    let name = meta(value, "name");
    let mut causes = Vec::new();
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else {
        causes.extend(check_name(resource, name));
    }
    if let Some(labels) = value.pointer("/metadata/labels").and_then(Value::as_object) {
        causes.extend(
            labels.iter().filter_map(|(key, value)| check_label(key, value.as_str().unwrap_or_default())),
        );
    }
    custom::check(resource, value, &mut causes);
    if let Some(schema) = &resource.schema {
        schema::check(schema, "", value, &mut causes);
    }
    if causes.is_empty() { Ok(()) } else { Err(Status::invalid(resource, name, causes)) }
}

/// Refuses objects in a namespace that is not there, or that is going.
fn check_place(state: &State, route: &Route, value: &Value) -> Result<()> {
    let Some(namespace) = &route.namespace else { return Ok(()) };
    let Some(place) = state.store.get("namespaces", &Key::new("", namespace)) else {
        let namespaces = state.registry.find("", "v1", "namespaces").ok_or_else(Status::no_resource)?;
        return Err(Status::not_found(namespaces, namespace));
    };
    if place.value().pointer("/metadata/deletionTimestamp").is_some() {
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let message = format!("namespace {namespace} is being terminated");
        let field = "metadata.namespace".to_owned();
        let cause = Cause { reason: "NamespaceTerminating", message, field };
        return Err(Status::forbidden(&route.resource, meta(value, "name"), &why, vec![cause]));
    }
    Ok(())
}

/// Creates the namespaces that every cluster has.
pub(super) fn first_namespaces(engine: &Engine) {
    let mut state = engine.lock();
    let Some(resource) = state.registry.find("", "v1", "namespaces").cloned() else { return };
    for name in FIRST {
        let write = Write::new(&resource, "kube-apiserver", "", engine.now());
        let value = json!({"metadata": {"name": name}});
        if let Ok(value) = prepare(&mut state, &resource, value, &write) {
            state.put(&resource, value);
        }
    }
}
