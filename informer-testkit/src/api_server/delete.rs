//! Deletion of objects, one by one and by the collection.
//!
//! An object with finalizers is not removed but marked, and goes with the last of them. A namespace takes what is in
//! it along; it stays, marked, while something in it does.

use std::sync::Arc;

use serde_json::{Value, json};

use super::body::{self, is_dry, meta_mut};
use super::engine::{Engine, State};
use super::exchange::{Call, Whole};
use super::get::{json_answer, object_answer};
use super::go_json;
use super::list;
use super::options::{check_dry, refuse};
use super::representation::{Asked, Representation};
use super::resource::Resource;
use super::route::Route;
use super::selector::Selector;
use super::status::{Cause, Result, Status};
use super::store::{Key, Object, Page};

/// What a deletion may ask for.
#[derive(Debug, Default)]
struct Options {
    uid: Option<String>,
    resource_version: Option<String>,
    dry: bool,
}

/// What a real server calls them.
const KIND: &str = "DeleteOptions";

/// Answers a deletion.
pub(super) fn answer(engine: &Engine, call: &Call, route: &Route, name: &str) -> Result<Whole> {
    let form = Representation::of(call, Asked::One, &route.resource)?;
    let options = Options::parse(call)?;
    let resource = &route.resource;
    let key = Key::new(route.namespace.as_deref().unwrap_or_default(), name);
    let now = engine.now();
    let mut state = engine.lock();
    let object = state.store.get(&resource.storage, &key).cloned();
    let object = object.ok_or_else(|| Status::not_found(resource, name))?;
    options.check(resource, &object)?;
    if resource.storage == "namespaces" && ["default", "kube-system", "kube-public"].contains(&name) {
        return Err(Status::forbidden(resource, name, "this namespace may not be deleted", Vec::new()));
    }
    if options.dry {
        return Ok(Status::deleted(resource, name, &object.uid).answer());
    }
    let outcome = delete(&mut state, resource, &object, &now);
    drop(state);
    match outcome {
        Outcome::Marked(object) => Ok(object_answer(engine, 200, form, resource, &object)),
        Outcome::Gone(object) if tells_object(resource) => {
            Ok(object_answer(engine, 200, form, resource, &object))
        }
        Outcome::Gone(object) => Ok(Status::deleted(resource, name, &object.uid).answer()),
    }
}

/// Answers a deletion of everything that a list would give.
pub(super) fn answer_collection(engine: &Engine, call: &Call, route: &Route) -> Result<Whole> {
    let form = Representation::of(call, Asked::Several, &route.resource)?;
    let options = Options::parse(call)?;
    let resource = &route.resource;
    let selector =
        Selector::parse(resource, call.parameter("labelSelector"), call.parameter("fieldSelector"))?;
    let now = engine.now();
    let mut state = engine.lock();
    let revision = state.store.revision();
    let objects = list::objects(&state.store, route, &selector);
    if !options.dry {
        for object in &objects {
            delete(&mut state, resource, object, &now);
        }
    }
    drop(state);
    let page = Page { revision, objects, remaining: 0 };
    Ok(json_answer(200, list::body(engine, form, resource, &page, "", None)))
}

/// Whether a deletion is answered with what was deleted. Most are not.
fn tells_object(resource: &Resource) -> bool {
    let kinds = ["pods", "services", "serviceaccounts", "persistentvolumeclaims", "persistentvolumes"];
    resource.group.is_empty() && kinds.contains(&&*resource.plural)
}

enum Outcome {
    /// It is still there.
    Marked(Arc<Object>),
    /// As it was last.
    Gone(Object),
}

fn delete(state: &mut State, resource: &Resource, object: &Arc<Object>, now: &str) -> Outcome {
    let value = object.value();
    let is_namespace = resource.storage == "namespaces";
    let is_definition = resource.storage == super::custom::STORAGE;
    if !is_namespace && !is_definition && !has_finalizers(&value) {
        if resource.storage == "pods" {
            // A Pod is marked first, for its node to see; here, where there is none, it goes at once.
            state.put(resource, marked(value, false, false, now));
        }
        return match state.remove(resource, &object.key) {
            Some(last) => Outcome::Gone(last),
            None => Outcome::Marked(Arc::clone(object)),
        };
    }
    let marked = if value.pointer("/metadata/deletionTimestamp").is_some() {
        Arc::clone(object)
    } else {
        state.put(resource, marked(value, is_namespace || is_definition, is_namespace, now))
    };
    if is_namespace {
        for (storage, key) in state.store.contents(&object.key.name) {
            let content = state.store.get(&storage, &key).cloned();
            let resource = state.registry.of_storage(&storage).cloned();
            if let (Some(content), Some(resource)) = (content, resource) {
                delete(state, &resource, &content, now);
            }
        }
        after_remove(state, &object.key.name);
    } else if is_definition && !has_finalizers(&object.value()) {
        state.remove(resource, &object.key);
    }
    Outcome::Marked(marked)
}

/// The state of an object that is to go.
fn marked(mut value: Value, has_contents: bool, is_namespace: bool, now: &str) -> Value {
    let metadata = meta_mut(&mut value);
    metadata.insert("deletionTimestamp".to_owned(), now.into());
    if is_namespace {
        value["status"] = json!({"phase": "Terminating"});
    } else if !has_contents {
        metadata.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
        if let Some(generation) = metadata.get("generation").and_then(Value::as_u64) {
            metadata.insert("generation".to_owned(), generation.saturating_add(1).into());
        }
    }
    value
}

fn has_finalizers(value: &Value) -> bool {
    value.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|all| !all.is_empty())
}

/// Whether an object is marked, and nothing holds it any more.
pub(super) fn is_due(value: &Value) -> bool {
    // A namespace goes when it is empty, which is looked after elsewhere.
    value.pointer("/metadata/deletionTimestamp").is_some()
        && !has_finalizers(value)
        && value.pointer("/status/phase").is_none_or(|phase| phase != "Terminating")
}

/// Removes a namespace that is marked and has become empty.
pub(super) fn after_remove(state: &mut State, namespace: &str) {
    if namespace.is_empty() {
        return;
    }
    let key = Key::new("", namespace);
    let Some(place) = state.store.get("namespaces", &key) else { return };
    let value = place.value();
    if value.pointer("/metadata/deletionTimestamp").is_none() || has_finalizers(&value) {
        return;
    }
    if !state.store.is_vacant(namespace) {
        return;
    }
    if let Some(resource) = state.registry.find("", "v1", "namespaces").cloned() {
        state.remove(&resource, &key);
    }
}

fn check_policy(policy: &str, faults: &mut Vec<Cause>) {
    if !["", "Foreground", "Background", "Orphan"].contains(&policy) {
        let known = r#""Foreground", "Background", "Orphan", "nil""#;
        faults.push(Cause::unsupported("propagationPolicy", policy, known));
    }
}

impl Options {
    fn parse(call: &Call) -> Result<Self> {
        let mut options = Options { dry: is_dry(call), ..Options::default() };
        let mut faults = Vec::new();
        if call.body.iter().all(u8::is_ascii_whitespace) {
            check_policy(call.parameter("propagationPolicy").unwrap_or_default(), &mut faults);
            check_dry(&call.parameters("dryRun").collect::<Vec<_>>(), &mut faults);
            return refuse(KIND, faults).map(|()| options);
        }
        let value: Value = serde_json::from_slice(&call.body).map_err(|_| {
            let why = go_json::fault(&call.body);
            Status::bad_request(format!("couldn't get version/kind; json parse error: {why}"))
        })?;
        if !value.is_object() {
            let (kind, types) = (body::type_name(&value), body::TYPES);
            return Err(Status::bad_request(format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal {kind} into Go value of type {types}"
            )));
        }
        let named = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
        if !matches!(named("kind"), "" | "DeleteOptions") {
            let (kind, version) = (named("kind"), named("apiVersion"));
            return Err(Status::bad_request(format!(
                "no kind {kind:?} is registered for version {version:?}"
            )));
        }
        check_policy(named("propagationPolicy"), &mut faults);
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        options.uid = text("/preconditions/uid");
        options.resource_version = text("/preconditions/resourceVersion");
        let dry = value.get("dryRun").and_then(Value::as_array).into_iter().flatten();
        let dry: Vec<&str> = dry.map(|one| one.as_str().unwrap_or_default()).collect();
        options.dry |= !dry.is_empty();
        check_dry(&dry, &mut faults);
        refuse(KIND, faults).map(|()| options)
    }

    fn check(&self, resource: &Resource, object: &Object) -> Result<()> {
        let name = &object.key.name;
        if let Some(uid) = self.uid.as_ref().filter(|uid| **uid != object.uid) {
            let why = format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been \
                 deleted and then recreated",
                object.uid
            );
            return Err(Status::precondition(resource, name, &why));
        }
        let revision = object.revision.to_string();
        if let Some(told) = self.resource_version.as_ref().filter(|told| **told != revision) {
            let why = format!(
                "the ResourceVersion in the precondition ({told}) does not match the ResourceVersion in record \
                 ({revision}). The object might have been modified"
            );
            return Err(Status::precondition(resource, name, &why));
        }
        Ok(())
    }
}
