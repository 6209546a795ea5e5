//! Tables: objects as rows of cells, what `kubectl get` asks for and prints.
//!
//! A table is made from what an object says and the time alone; an object that says nothing of a column has a cell
//! all the same, so every row has as many cells as there are columns.

mod core;
mod custom;
mod duration;
mod governance;
mod json_path;
mod layout;
mod networking;
mod read;
mod storage;
#[cfg(test)]
mod tests;
mod workloads;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::convert::stored_autoscaler;
use super::representation::Include;
use super::resource::Resource;
use layout::Layout;

/// The `Table` of some objects, which have their `kind` and `apiVersion`, as seen at `now`, the time of day.
///
/// `metadata` is that of the list, or of the object where there is one: its version counts.
pub(super) fn table(
    resource: &Resource,
    objects: &[Value],
    metadata: &Value,
    include: Include,
    now: &str,
) -> Value {
    let columns = Columns::of(resource);
    let now = now.parse().unwrap_or(Timestamp::UNIX_EPOCH); // the engine's calendar writes what can be read
    let mut list = serde_json::Map::new();
    for field in ["resourceVersion", "continue", "remainingItemCount"] {
        if let Some(value) = metadata.get(field) {
            list.insert(field.to_owned(), value.clone());
        }
    }
    let rows: Vec<Value> = objects.iter().map(|object| row(&columns, object, include, now)).collect();
    // Kinds without columns of their own have no rows at all where there is nothing.
    let rows = if rows.is_empty() && columns.are_plain() { Value::Null } else { Value::Array(rows) };
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": list,
        "columnDefinitions": columns.definitions(),
        "rows": rows,
    })
}

fn row(columns: &Columns<'_>, object: &Value, include: Include, now: Timestamp) -> Value {
    let mut cells = columns.cells(object, now);
    // The object of a bookmark has no name.
    if let Some(name) = cells.get_mut(columns.name())
        && name.is_null()
    {
        *name = "".into();
    }
    let mut row = json!({ "cells": cells });
    match include {
        Include::None => row["object"] = Value::Null,
        Include::Metadata => {
            let mut metadata = object["metadata"].clone();
            if object["apiVersion"] == "autoscaling/v1" {
                // Its annotations are a matter of that version, and this form has none.
                metadata = stored_autoscaler(object)["metadata"].take();
            }
            row["object"] = json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata,
            });
        }
        Include::Object => row["object"] = object.clone(),
    }
    row
}

/// Which columns there are: those of a built-in kind, or those of a definition.
enum Columns<'a> {
    BuiltIn(Layout),
    Custom(&'a Resource),
}

impl<'a> Columns<'a> {
    fn of(resource: &'a Resource) -> Self {
        if resource.custom { Columns::Custom(resource) } else { Columns::BuiltIn(Layout::of(resource)) }
    }

    fn definitions(&self) -> Value {
        match self {
            Columns::BuiltIn(layout) => layout
                .columns
                .iter()
                .map(|&(name, kind, priority)| definition(name, kind, priority))
                .collect(),
            Columns::Custom(resource) => custom::definitions(resource),
        }
    }

    /// Whether its kind has no columns of its own.
    fn are_plain(&self) -> bool {
        matches!(self, Columns::BuiltIn(layout) if layout.columns == layout::CREATED_AT)
    }

    /// Which column is the name.
    fn name(&self) -> usize {
        match self {
            Columns::BuiltIn(layout) => {
                layout.columns.iter().position(|(name, ..)| *name == "Name").unwrap_or(0)
            }
            Columns::Custom(_) => 0,
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        match self {
            Columns::BuiltIn(layout) => (layout.cells)(object, now),
            Columns::Custom(resource) => custom::cells(resource, object, now),
        }
    }
}

fn definition(name: &str, kind: &str, priority: i64) -> Value {
    let (format, description) = match name {
        "Name" => ("name", NAME),
        "Age" => ("", AGE),
        "Attacher" => ("name", ""),
        _ => ("", ""),
    };
    json!({ "name": name, "type": kind, "format": format, "description": description, "priority": priority })
}

/// What a real server says of the column "Name".
const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some \
     resources may allow a client to request the generation of an appropriate name automatically. Name is primarily \
     intended for creation idempotence and configuration definition. Cannot be updated. More info: \
     https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

/// What a real server says of the column "Age".
const AGE: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is \
     not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It \
     is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: \
     https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
