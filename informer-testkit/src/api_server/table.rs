//! Tables, as `kubectl get` asks for them.

use serde_json::{Value, json};

use super::representation::Include;
use super::resource::Resource;

/// The `Table` of some objects, which have their `kind` and `apiVersion`; `metadata` is the list's.
///
/// `now` is the time of day, for ages.
pub(super) fn table(
    resource: &Resource,
    objects: &[Value],
    metadata: &Value,
    include: Include,
    now: &str,
) -> Value {
    let _ = (resource, now);
    let columns =
        json!([{"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}]);
    let row = |object: &Value| {
        let mut row = json!({"cells": [object.pointer("/metadata/name")]});
        match include {
            Include::None => {}
            Include::Metadata => {
                row["object"] = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                    "metadata": object.get("metadata")});
            }
            Include::Object => row["object"] = object.clone(),
        }
        row
    };
    json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": columns,
        "rows": objects.iter().map(row).collect::<Vec<_>>()})
}
