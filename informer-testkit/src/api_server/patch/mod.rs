//! Patches: which kind, and what becomes of the object.

mod json;
mod strategic;

#[cfg(test)]
mod tests;

use serde_json::Value;

use super::body::{self, meta_mut};
use super::engine::Engine;
use super::exchange::{Call, Whole};
use super::get::{json_answer, object_answer};
use super::options::check_write;
use super::representation::{Asked, Representation};
use super::resource::Resource;
use super::route::Route;
use super::status::{Result, Status};
use super::{convert, scale, update};

/// A patch that has been read.
enum Patch {
    Merge(Value),
    Json(json_patch::Patch),
    Strategic(Value),
}

/// Answers a patch.
pub(super) fn answer(engine: &Engine, call: &Call, route: &Route, name: &str) -> Result<Whole> {
    let form = Representation::of(call, Asked::One, &route.resource)?;
    let resource = &route.resource;
    check_write(call, "PatchOptions")?;
    let patch = Patch::read(call, resource)?;
    let of_scale = route.subresource == "scale";
    let object = update::change(engine, call, route, name, |old| {
        let before = with_types(resource, old);
        if of_scale {
            let mut scale = scale::of_value(&before);
            patch.apply(&mut scale)?;
            let mut value = old.clone();
            scale::apply(&scale, &mut value);
            return Ok(value);
        }
        let mut value = before.clone();
        patch.apply(&mut value)?;
        checked(resource, &before, value, name)
    })?;
    if of_scale {
        return Ok(json_answer(200, scale::of(&object).to_string().into_bytes()));
    }
    Ok(object_answer(engine, 200, form, resource, &object))
}

/// A stored object as a client sees it.
fn with_types(resource: &Resource, stored: &Value) -> Value {
    let mut value = convert::seen_as(resource, stored.clone());
    if let Some(map) = value.as_object_mut() {
        map.insert("kind".to_owned(), resource.kind.to_string().into());
        map.insert("apiVersion".to_owned(), resource.api_version().into());
    }
    value
}

/// Refuses what is no object of this resource any more, and gives it as it is stored.
fn checked(resource: &Resource, before: &Value, mut value: Value, name: &str) -> Result<Value> {
    if body::depth(&value) > body::DEEPEST {
        return Err(Status::unfit_patch());
    }
    if value.get("kind") != before.get("kind") || value.get("apiVersion") != before.get("apiVersion") {
        return Err(Status::unfit_patch());
    }
    let Some(map) = value.as_object_mut() else { return Err(Status::unfit_patch()) };
    map.remove("kind");
    map.remove("apiVersion");
    // It was no object before: what is wrong is the patch.
    body::tidy(map, resource).map_err(|_| Status::unfit_patch())?;
    update::check_name(&value, name)?;
    if let Some(namespace) = before.pointer("/metadata/namespace") {
        let told = value.pointer("/metadata/namespace").unwrap_or(namespace);
        if told != namespace {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
    }
    meta_mut(&mut value).insert("name".to_owned(), name.into());
    Ok(convert::to_store(resource, value))
}

impl Patch {
    fn read(call: &Call, resource: &Resource) -> Result<Self> {
        let media = call.header("content-type").unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let no_json = |_| Status::bad_request("invalid JSON patch");
        match media.as_str() {
            "application/json-patch+json" => Ok(Patch::Json(json::read(&call.body)?)),
            "application/merge-patch+json" => {
                let value = serde_json::from_slice(&call.body).map_err(no_json)?;
                Ok(Patch::Merge(object(value, "error decoding patch: ")?))
            }
            "application/strategic-merge-patch+json" if resource.custom => {
                let known =
                    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
                Err(Status::unsupported_media_type(known))
            }
            "application/strategic-merge-patch+json" => {
                let value = serde_json::from_slice(&call.body).map_err(no_json)?;
                Ok(Patch::Strategic(object(value, "")?))
            }
            _ => Err(Status::unsupported_patch()),
        }
    }

    fn apply(&self, value: &mut Value) -> Result<()> {
        match self {
            Patch::Merge(patch) => json_patch::merge(value, patch),
            Patch::Json(patch) => json::apply(patch, value)?,
            Patch::Strategic(patch) => strategic::apply(value, patch),
        }
        Ok(())
    }
}

fn object(value: Value, context: &str) -> Result<Value> {
    if value.is_object() {
        return Ok(value);
    }
    let kind = body::type_name(&value);
    Err(Status::bad_request(format!(
        "{context}json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    )))
}
