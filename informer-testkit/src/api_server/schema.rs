//! What a definition says of the fields of its objects: which there are, of what type, and what they are by default.
//!
//! The part of structural schemas that changes what is stored, or that people rely on to be refused. Patterns,
//! formats and rules in CEL are not looked at.

use serde_json::{Map, Value};

use super::body::type_name;
use super::status::Cause;

/// Drops the fields that a schema does not know, and fills in those it has a default for.
pub(super) fn shape(schema: &Value, value: &mut Value) {
    let Some(map) = value.as_object_mut() else { return };
    // These are everybody's, whatever the schema says.
    let common: Vec<_> = ["kind", "apiVersion", "metadata"]
        .into_iter()
        .filter_map(|field| Some((field.to_owned(), map.remove(field)?)))
        .collect();
    object(schema, map);
    map.extend(common);
}

fn inner(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(map) => object(schema, map),
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| inner(schema, item));
            }
        }
        _ => {}
    }
}

fn object(schema: &Value, map: &mut Map<String, Value>) {
    let known = schema.get("properties").and_then(Value::as_object);
    let others = schema.get("additionalProperties").filter(|others| others.is_object());
    let keeps =
        says(schema, "x-kubernetes-preserve-unknown-fields") || schema.get("additionalProperties").is_some();
    map.retain(|key, _| keeps || known.is_some_and(|known| known.contains_key(key)));
    for (key, value) in map.iter_mut() {
        if let Some(schema) = known.and_then(|known| known.get(key)).or(others) {
            inner(schema, value);
        }
    }
    for (key, schema) in known.into_iter().flatten() {
        if let (false, Some(default)) = (map.contains_key(key), schema.get("default")) {
            let mut default = default.clone();
            inner(schema, &mut default);
            map.insert(key.clone(), default);
        }
    }
}

fn says(schema: &Value, word: &str) -> bool {
    schema.get(word).and_then(Value::as_bool).unwrap_or_default()
}

/// Finds values that a schema does not allow.
pub(super) fn check(schema: &Value, path: &str, value: &Value, causes: &mut Vec<Cause>) {
    let wanted = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    if value.is_null() && says(schema, "nullable") {
        return;
    }
    let either = says(schema, "x-kubernetes-int-or-string") && (value.is_string() || is_integer(value));
    if !either && !is_of(wanted, value) {
        let found = match value {
            Value::Number(_) if is_integer(value) => "integer",
            Value::Bool(_) => "boolean",
            other => type_name(other),
        };
        let message = format!("Invalid value: {found:?}: {path} in body must be of type {wanted}: {found:?}");
        causes.push(Cause { reason: "FieldValueTypeInvalid", message, field: path.to_owned() });
        return;
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let known: Vec<String> = allowed.iter().map(Value::to_string).collect();
        causes.push(Cause::unsupported(path, value.as_str().unwrap_or_default(), &known.join(", ")));
    }
    bounds(schema, path, value, causes);
    match value {
        Value::Object(map) => {
            for field in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
                let field = field.as_str().unwrap_or_default();
                if !map.contains_key(field) {
                    causes.push(Cause::required(&below(path, field), ""));
                }
            }
            for (key, value) in map {
                let known = schema.get("properties").and_then(|known| known.get(key));
                let schema = known.or_else(|| schema.get("additionalProperties"));
                if let Some(schema) = schema.filter(|schema| schema.is_object()) {
                    check(schema, &below(path, key), value, causes);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for (index, item) in items.iter().enumerate() {
                    check(schema, &format!("{path}[{index}]"), item, causes);
                }
            }
        }
        _ => {}
    }
}

fn bounds(schema: &Value, path: &str, value: &Value, causes: &mut Vec<Cause>) {
    let Some(number) = value.as_f64() else { return };
    let limit = |word: &str| schema.get(word).filter(|limit| limit.is_number());
    for (word, phrase, beyond) in [
        ("minimum", "greater than or equal to", |number: f64, limit: f64| number < limit),
        ("maximum", "less than or equal to", |number, limit| number > limit),
    ] as [(&str, &str, fn(f64, f64) -> bool); 2]
    {
        if let Some(limit) =
            limit(word).filter(|limit| limit.as_f64().is_some_and(|limit| beyond(number, limit)))
        {
            let why = format!("{path} in body should be {phrase} {limit}");
            causes.push(Cause::invalid(path, &value.to_string(), &why));
        }
    }
}

fn is_of(wanted: &str, value: &Value) -> bool {
    match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => is_integer(value),
        "number" => value.is_number(),
        _ => true,
    }
}

fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn below(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "properties": {
            "spec": {"type": "object", "required": ["size"], "properties": {
                "size": {"type": "integer", "minimum": 1}, "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                "port": {"x-kubernetes-int-or-string": true}, "maybe": {"type": "string", "nullable": true},
                "tags": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
            }},
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }})
    }

    #[test]
    fn unknown_fields_go_and_defaults_come() {
        let mut value = json!({"metadata": {"name": "a", "x": 1}, "bar": 2, "any": {"x": {"y": 1}},
            "spec": {"size": 1, "foo": 1, "tags": [{"a": "1", "b": 2}], "map": {"k": "v"}}});
        shape(&schema(), &mut value);
        let expected = json!({"metadata": {"name": "a", "x": 1}, "any": {"x": {"y": 1}},
            "spec": {"size": 1, "color": "red", "tags": [{"a": "1"}], "map": {"k": "v"}}});
        assert_eq!(value, expected);
    }

    #[test]
    fn values_that_do_not_fit_are_named() {
        for (spec, causes) in [
            (json!({"size": 1, "port": "http", "maybe": null}), vec![]),
            (json!({"size": 1, "port": 80, "map": {"k": "v"}}), vec![]),
            (
                json!({"size": "x"}),
                vec![
                    "spec.size: Invalid value: \"string\": spec.size in body must be of type integer: \"string\"",
                ],
            ),
            (json!({}), vec!["spec.size: Required value"]),
            (
                json!({"size": 0}),
                vec!["spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"],
            ),
            (
                json!({"size": 1, "color": "green"}),
                vec!["spec.color: Unsupported value: \"green\": supported values: \"red\", \"blue\""],
            ),
            (
                json!({"size": 1, "tags": [{"a": 1}]}),
                vec![
                    "spec.tags[0].a: Invalid value: \"integer\": spec.tags[0].a in body must be of type string: \"integer\"",
                ],
            ),
        ] {
            let mut found = Vec::new();
            check(&schema(), "", &json!({ "spec": spec }), &mut found);
            let told: Vec<_> =
                found.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
            assert_eq!(told, causes, "{spec}");
        }
    }
}
