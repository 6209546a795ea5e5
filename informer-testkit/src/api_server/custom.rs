//! `CustomResourceDefinition`s: from a definition to the resources that it makes, and back.
//!
//! A definition is established as soon as it is created, by a second change of it, as a real server's controller does
//! a moment later. When it goes, its objects go before it, and then the watches of them end.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::builtin::CUSTOM_VERBS;
use super::engine::State;
use super::resource::{Column, Registry, Resource};
use super::status::Cause;
use super::store::Object;

/// Where definitions are.
pub(super) const STORAGE: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Refuses a definition that cannot be.
pub(super) fn check(resource: &Resource, value: &Value, causes: &mut Vec<Cause>) {
    if resource.storage != STORAGE {
        return;
    }
    for field in ["group", "scope", "names/plural", "names/kind", "versions"] {
        if value.pointer(&format!("/spec/{field}")).is_none_or(is_empty) {
            causes.push(Cause::required(&format!("spec.{}", field.replace('/', ".")), ""));
        }
    }
    let name = text(value, "/metadata/name");
    let (plural, group) = (text(value, "/spec/names/plural"), text(value, "/spec/group"));
    if name != format!("{plural}.{group}") {
        let why = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid("metadata.name", &format!("{name:?}"), why));
    }
    let versions = value.pointer("/spec/versions").and_then(Value::as_array);
    let stored = versions.into_iter().flatten().filter(|version| version["storage"] == true).count();
    if versions.is_some() && stored != 1 {
        causes.push(Cause::invalid(
            "spec.versions",
            "[]",
            "must have exactly one version marked as storage version",
        ));
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(all) => all.is_empty(),
        Value::Null => true,
        _ => false,
    }
}

/// Establishes a definition that is not, and serves what it defines.
pub(super) fn after_put(state: &mut State, resource: &Resource, object: &Object) {
    if resource.storage != STORAGE {
        return;
    }
    let mut value = object.value();
    if is_established(&value) {
        serve(state, &value);
        return;
    }
    let now = text(&value, "/metadata/creationTimestamp").to_owned();
    value["status"]["conditions"] = json!([
        {"type": "NamesAccepted", "status": "True", "lastTransitionTime": now, "reason": "NoConflicts",
            "message": "no conflicts found"},
        {"type": "Established", "status": "True", "lastTransitionTime": now, "reason": "InitialNamesAccepted",
            "message": "the initial names have been accepted"},
    ]);
    value["status"]["acceptedNames"] = value["spec"]["names"].clone();
    state.put(resource, value);
}

/// Removes what a definition defined.
pub(super) fn after_remove(state: &mut State, resource: &Resource, object: &Object) {
    if resource.storage != STORAGE {
        return;
    }
    let storage = object.key.name.as_str();
    if let Some(resource) = state.registry.of_storage(storage).cloned() {
        for key in state.store.keys(storage) {
            state.remove(&resource, &key);
        }
    }
    serve(state, &Value::Null);
    state.end_watches(storage);
}

/// Makes the registry again, and ends the watches of versions that a changed definition does not serve any more.
fn serve(state: &mut State, changed: &Value) {
    let definitions: Vec<Value> = state
        .store
        .keys(STORAGE)
        .iter()
        .filter_map(|key| Some(state.store.get(STORAGE, key)?.value()))
        .filter(is_established)
        .collect();
    state.registry = Arc::new(Registry::with(definitions.iter().flat_map(resources).map(Arc::new)));
    let name = text(changed, "/metadata/name");
    if !name.is_empty() {
        state.end_watches(name);
    }
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|one| one["type"] == "Established" && one["status"] == "True")
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// What a definition defines: a resource for each served version.
fn resources(definition: &Value) -> Vec<Resource> {
    let owned = |pointer: &str| Cow::Owned(text(definition, pointer).to_owned());
    let texts = |pointer: &str| {
        let all = definition.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_str).map(|text| Cow::Owned(text.to_owned())).collect::<Vec<_>>()
    };
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    let served = versions.filter(|version| version["served"] == true);
    let served = served.enumerate().map(|(index, version)| Resource {
        group: owned("/spec/group"),
        version: Cow::Owned(text(version, "/name").to_owned()),
        plural: owned("/spec/names/plural"),
        singular: owned("/spec/names/singular"),
        kind: owned("/spec/names/kind"),
        list_kind: owned("/spec/names/listKind"),
        namespaced: text(definition, "/spec/scope") == "Namespaced",
        short_names: texts("/spec/names/shortNames"),
        categories: texts("/spec/names/categories"),
        verbs: CUSTOM_VERBS,
        kept: true,
        subresources: subresources(version),
        others: Vec::new(),
        empty: "{}",
        warning: "",
        storage_version_hash: "",
        storage: owned("/metadata/name"),
        first: index == 0,
        custom: true,
        counts_generations: true,
        columns: columns(version),
        schema: version.pointer("/schema/openAPIV3Schema").cloned(),
        selectable: selectable(version),
    });
    served.collect()
}

fn subresources(version: &Value) -> Vec<Cow<'static, str>> {
    let known = ["scale", "status"].into_iter();
    known
        .filter(|name| version.pointer(&format!("/subresources/{name}")).is_some())
        .map(Cow::Borrowed)
        .collect()
}

fn columns(version: &Value) -> Vec<Column> {
    let all = version["additionalPrinterColumns"].as_array().into_iter().flatten();
    let owned = |column: &Value, name: &str| column[name].as_str().unwrap_or_default().to_owned();
    let columns = all.map(|column| Column {
        name: owned(column, "name"),
        kind: owned(column, "type"),
        format: owned(column, "format"),
        description: owned(column, "description"),
        priority: column["priority"].as_i64().unwrap_or_default(),
        json_path: owned(column, "jsonPath"),
    });
    columns.collect()
}

fn selectable(version: &Value) -> Vec<(Cow<'static, str>, Vec<String>)> {
    let all = version["selectableFields"].as_array().into_iter().flatten();
    let paths = all.filter_map(|field| field["jsonPath"].as_str()?.strip_prefix('.'));
    paths.map(|path| (Cow::Owned(path.to_owned()), path.split('.').map(str::to_owned).collect())).collect()
}
