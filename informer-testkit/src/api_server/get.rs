//! One object.

use std::sync::Arc;

use serde_json::{Value, json};

use super::engine::Engine;
use super::exchange::{Call, Whole};
use super::options::version;
use super::representation::{Asked, Representation, tree, type_fields, write_full, write_partial};
use super::resource::Resource;
use super::route::Route;
use super::status::{Result, Status};
use super::store::{Key, Object};
use super::{convert, scale, store, table};

/// Answers a get.
pub(super) fn answer(engine: &Engine, call: &Call, route: &Route, name: &str) -> Result<Whole> {
    let form = Representation::of(call, Asked::One, &route.resource)?;
    let key = Key::new(route.namespace.as_deref().unwrap_or_default(), name);
    let wanted = wanted(call)?;
    engine.reach(wanted)?;
    let object = engine.lock().store.get(&route.resource.storage, &key).cloned();
    let object = object.ok_or_else(|| Status::not_found(&route.resource, name))?;
    if route.subresource == "scale" {
        return Ok(json_answer(200, scale::of(&object).to_string().into_bytes()));
    }
    Ok(object_answer(engine, 200, form, &route.resource, &object))
}

/// The version that an object is wanted at, or after.
fn wanted(call: &Call) -> Result<u64> {
    let text = call.parameter("resourceVersion").filter(|text| !text.is_empty());
    text.map_or(Ok(0), version).map_err(|why| {
        let text = text.unwrap_or_default();
        Status::new(500, "", format!("resourceVersion: Invalid value: {text:?}: {why}"))
    })
}

/// The answer that is one object.
pub(super) fn object_answer(
    engine: &Engine,
    status: u16,
    form: Representation,
    resource: &Resource,
    object: &Object,
) -> Whole {
    let mut body = Vec::with_capacity(object.body.len() + 64);
    write(engine, form, resource, object, &mut body);
    json_answer(status, body)
}

/// Appends an object in a form.
pub(super) fn write(
    engine: &Engine,
    form: Representation,
    resource: &Resource,
    object: &Object,
    out: &mut Vec<u8>,
) {
    match form {
        Representation::Full => {
            write_full(&seen_body(resource, object), Some(&type_fields(resource)), out);
        }
        Representation::Metadata => write_partial(object.metadata(), out),
        Representation::Unfit => {} // watches alone have it
        Representation::Table(include) => {
            let metadata = json!({"resourceVersion": object.revision.to_string()});
            let rows = [tree(resource, object)];
            write_value(&table::table(resource, &rows, &metadata, include, &engine.now()), out);
        }
    }
}

/// The body of an object, as this resource shows it.
pub(super) fn seen_body(resource: &Resource, object: &Object) -> Arc<[u8]> {
    if convert::differs(resource) {
        store::body(convert::seen_as(resource, object.value()), resource.custom)
    } else {
        Arc::clone(&object.body)
    }
}

/// Appends a tree of ours.
pub(super) fn write_value(value: &Value, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("a tree with keys of text can be written to memory");
}

/// An answer of JSON.
pub(super) fn json_answer(status: u16, mut body: Vec<u8>) -> Whole {
    body.push(b'\n');
    let headers = vec![
        ("Cache-Control", "no-cache, private".to_owned()),
        ("Content-Type", "application/json".to_owned()),
    ];
    Whole { status, headers, body }
}
