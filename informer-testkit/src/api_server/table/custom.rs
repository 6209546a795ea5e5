//! Tables of custom resources: the name, then what `additionalPrinterColumns` says, or the age where it says nothing.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::duration::age;
use super::json_path::find;
use crate::api_server::resource::Resource;

/// What a real server says of the one column that no definition names.
const CREATED: &str = ".metadata.creationTimestamp";

pub(super) fn definitions(resource: &Resource) -> Value {
    let mut columns = vec![super::definition("Name", "string", 0)];
    if resource.columns.is_empty() {
        columns.push(json!({
            "name": "Age", "type": "date", "format": "", "description": super::AGE, "priority": 0,
        }));
    }
    columns.extend(resource.columns.iter().map(|column| {
        let description = if column.description.is_empty() {
            format!("Custom resource definition column (in JSONPath format): {}", column.json_path)
        } else {
            column.description.clone()
        };
        json!({
            "name": column.name,
            "type": column.kind,
            "format": column.format,
            "description": description,
            "priority": column.priority,
        })
    }));
    Value::Array(columns)
}

pub(super) fn cells(resource: &Resource, object: &Value, now: Timestamp) -> Vec<Value> {
    let mut cells = vec![object["metadata"]["name"].clone()];
    if resource.columns.is_empty() {
        cells.push(cell("date", find(CREATED, object), now));
    }
    cells.extend(
        resource.columns.iter().map(|column| cell(&column.kind, find(&column.json_path, object), now)),
    );
    cells
}

/// A value as a cell of its column's type; null where it is of another.
fn cell(kind: &str, value: Option<&Value>, now: Timestamp) -> Value {
    let Some(value) = value else { return Value::Null };
    match (kind, value) {
        ("integer", Value::Number(number)) => {
            let whole = || number.as_f64().map(|number| number as i64);
            number.as_i64().or_else(whole).map_or(Value::Null, Value::from)
        }
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) | ("string", Value::String(_)) => {
            value.clone()
        }
        ("string", Value::Null) => Value::Null,
        ("string", other) => Value::String(other.to_string()),
        ("date", Value::String(_)) => Value::String(age(value, now)),
        _ => Value::Null,
    }
}
