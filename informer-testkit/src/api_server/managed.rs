//! `metadata.managedFields`: who wrote which field, in the form of a real server.
//!
//! A field belongs to whoever wrote its present value last; that is what updates and patches need. Where a real server
//! knows the types of all fields, this one knows the names of the few lists and maps that are written as one, and what
//! an object has though nobody has said anything: a map in it belongs to nobody.

use serde_json::{Map, Value, json};

use super::body::meta_mut;
use super::convert;
use super::merge_keys;
use super::resource::Resource;

/// Objects that are written as one.
const ATOMIC: &[&str] = &[
    "configMapKeyRef",
    "fieldRef",
    "involvedObject",
    "namespaceSelector",
    "nodeSelector",
    "podSelector",
    "regarding",
    "roleRef",
    "secretKeyRef",
    "selector",
];

/// What is written as one in objects of one resource, though others have maps or lists of that name.
const ATOMIC_IN: &[(&str, &str)] = &[("controllerrevisions", "data"), ("endpointslices", "ports")];

/// Who writes, and when.
#[derive(Clone, Debug)]
pub(super) struct Write {
    manager: String,
    api_version: String,
    subresource: String,
    pub(super) time: String,
    plural: String,
    custom: bool,
    has_status: bool,
    /// The maps of an object of which nobody has said anything.
    empty: Value,
    /// Whether top-level fields have other names than they are stored under.
    renamed: bool,
    /// Whether it is an autoscaler of v1, whose fields are others than what is stored.
    old_autoscaler: bool,
}

impl Write {
    pub(super) fn new(resource: &Resource, manager: &str, subresource: &str, time: String) -> Self {
        Write {
            manager: manager.to_owned(),
            api_version: resource.api_version(),
            subresource: subresource.to_owned(),
            time,
            plural: resource.plural.to_string(),
            custom: resource.custom,
            has_status: resource.has("status"),
            empty: convert::stored_names(resource, maps(&resource.empty())),
            renamed: convert::differs(resource),
            old_autoscaler: convert::is_old_autoscaler(resource),
        }
    }

    fn is_atomic(&self, key: &str) -> bool {
        // What an autoscaler scales is one thing in the first version and three in the second.
        let scaled = key == "scaleTargetRef" && self.api_version == "autoscaling/v1";
        !self.custom && (scaled || ATOMIC.contains(&key) || ATOMIC_IN.contains(&(self.plural.as_str(), key)))
    }
}

/// A tree without its plain values.
fn maps(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| value.is_object() || value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), maps(value))).collect())
        }
        _ => Value::Null,
    }
}

/// Notes that everything in a new object is its creator's.
pub(super) fn created(write: &Write, value: &mut Value) {
    let fields = fields(write, Some(&write.empty), value);
    if !fields.is_empty() {
        let entry = entry(write, fields);
        meta_mut(value).insert("managedFields".to_owned(), Value::Array(vec![entry]));
    }
}

/// Notes that what differs between two states is the writer's, and forgets fields that are no more.
pub(super) fn changed(write: &Write, before: &Value, after: &mut Value) {
    let written = fields(write, Some(before), after);
    let all = fields(write, None, after);
    let known = before.pointer("/metadata/managedFields").and_then(Value::as_array);
    if known.is_none_or(Vec::is_empty) {
        // Of an object that nobody has had a field of, nobody gets one.
        meta_mut(after).remove("managedFields");
        return;
    }
    let mut entries: Vec<Value> = Vec::new();
    let mut mine = Map::new();
    for known in known.into_iter().flatten() {
        let Some(Value::Object(had)) = known.get("fieldsV1") else { continue };
        // What a subresource holds is not seen from the object itself, nor the other way round.
        let elsewhere =
            known.get("subresource").and_then(Value::as_str).unwrap_or_default() != write.subresource;
        let kept = if elsewhere { had.clone() } else { common(had, &all) };
        if is_of(known, write) {
            mine = kept;
            continue;
        }
        let rest = without(&kept, &written);
        if !rest.is_empty() {
            let mut known = known.clone();
            known["fieldsV1"] = Value::Object(rest);
            entries.push(known);
        }
    }
    let before_it = mine.clone();
    unite(&mut mine, &written);
    if !mine.is_empty() {
        let mut entry = entry(write, mine);
        let old = known.into_iter().flatten().find(|entry| is_of(entry, write));
        if let (true, Some(old)) = (written.is_empty() && !before_it.is_empty(), old) {
            entry["time"] = old.get("time").cloned().unwrap_or_default();
        }
        entries.push(entry);
        entries.sort_by_key(place);
    }
    let metadata = meta_mut(after);
    if entries.is_empty() {
        metadata.remove("managedFields");
    } else {
        metadata.insert("managedFields".to_owned(), Value::Array(entries));
    }
}

fn is_of(entry: &Value, write: &Write) -> bool {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    text("manager") == write.manager
        && text("operation") == "Update"
        && text("apiVersion") == write.api_version
        && text("subresource") == write.subresource
}

fn entry(write: &Write, fields: Map<String, Value>) -> Value {
    let mut entry = json!({
        "manager": write.manager, "operation": "Update", "apiVersion": write.api_version, "time": write.time,
        "fieldsType": "FieldsV1",
    });
    entry["fieldsV1"] = Value::Object(fields);
    if !write.subresource.is_empty() {
        entry["subresource"] = write.subresource.clone().into();
    }
    entry
}

/// Where an entry stands among others: the oldest first.
fn place(entry: &Value) -> [String; 4] {
    ["time", "manager", "apiVersion", "subresource"]
        .map(|field| entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned())
}

/// The fields of `new` that `old` does not have or has otherwise; without `old`, all of them.
fn fields(write: &Write, old: Option<&Value>, new: &Value) -> Map<String, Value> {
    if write.old_autoscaler {
        let write = Write { old_autoscaler: false, ..write.clone() };
        let old = old.map(convert::seen_autoscaler);
        return fields(&write, old.as_ref(), &convert::seen_autoscaler(new));
    }
    let mut fields = Map::new();
    for (key, value) in new.as_object().into_iter().flatten() {
        let of_status = key == "status" && write.has_status;
        let old = old.and_then(|old| old.get(key));
        match key.as_str() {
            "kind" | "apiVersion" => {}
            "metadata" => metadata_fields(write, old, value, &mut fields),
            _ if of_status != (write.subresource == "status") => {}
            _ => insert(write, key, old, value, &mut fields),
        }
    }
    if write.renamed {
        return fields.into_iter().map(|(key, inner)| (convert::seen_field(&key), inner)).collect();
    }
    fields
}

fn metadata_fields(write: &Write, old: Option<&Value>, new: &Value, fields: &mut Map<String, Value>) {
    let mut found = Map::new();
    for key in ["annotations", "finalizers", "generateName", "labels", "ownerReferences"] {
        if let Some(value) = new.get(key) {
            // Metadata has the same type everywhere, whoever defined the rest.
            let write = Write { custom: false, ..write.clone() };
            insert(&write, key, old.and_then(|old| old.get(key)), value, &mut found);
        }
    }
    if !found.is_empty() {
        fields.insert("f:metadata".to_owned(), Value::Object(found));
    }
}

fn insert(write: &Write, key: &str, old: Option<&Value>, new: &Value, fields: &mut Map<String, Value>) {
    if new.is_null() {
        return;
    }
    if let Some(inner) = difference(write, key, old, new) {
        fields.insert(format!("f:{key}"), Value::Object(inner));
    }
}

/// The fields inside of `new` that differ; an empty map means the value itself, `None` nothing.
fn difference(write: &Write, key: &str, old: Option<&Value>, new: &Value) -> Option<Map<String, Value>> {
    match new {
        Value::Object(map) if !map.is_empty() && !write.is_atomic(key) => {
            let mut inner = Map::new();
            if old.is_none() {
                inner.insert(".".to_owned(), json!({}));
            }
            for (key, value) in map {
                insert(write, key, old.and_then(|old| old.get(key)), value, &mut inner);
            }
            (!inner.is_empty()).then_some(inner)
        }
        Value::Array(items) if !items.is_empty() && !write.custom && !write.is_atomic(key) => {
            list_difference(write, key, old, items)
        }
        _ => (old != Some(new)).then(Map::new),
    }
}

fn list_difference(
    write: &Write,
    key: &str,
    old: Option<&Value>,
    items: &[Value],
) -> Option<Map<String, Value>> {
    let olds = old.and_then(Value::as_array);
    let mut inner = Map::new();
    if old.is_none() {
        inner.insert(".".to_owned(), json!({}));
    }
    // The second is one to who writes it, though patches replace it.
    if merge_keys::is_set(key) || key == "volumeLifecycleModes" {
        for item in items {
            if !olds.is_some_and(|olds| olds.contains(item)) {
                inner.insert(format!("v:{item}"), json!({}));
            }
        }
        return (!inner.is_empty()).then_some(inner);
    }
    let merge_key = merge_keys::of(key, items.first());
    let Some(merge_key) = merge_key.filter(|name| items.iter().all(|item| item.get(name).is_some())) else {
        return (old.and_then(Value::as_array).map(Vec::as_slice) != Some(items)).then(Map::new);
    };
    for item in items {
        let name = item.get(merge_key).unwrap_or(&Value::Null);
        let before = olds.and_then(|olds| olds.iter().find(|old| old.get(merge_key) == Some(name)));
        let mut fields = Map::new();
        if before.is_none() {
            fields.insert(".".to_owned(), json!({}));
        }
        for (key, value) in item.as_object().into_iter().flatten() {
            insert(write, key, before.and_then(|before| before.get(key)), value, &mut fields);
        }
        if fields.is_empty() {
            continue;
        }
        let mut name = json!({ merge_key: name });
        match key {
            // Owners are written as one; ports are told apart by their protocol too.
            "ownerReferences" => fields.clear(),
            "ports" => name["protocol"] = item.get("protocol").cloned().unwrap_or_default(),
            _ => {}
        }
        inner.insert(format!("k:{name}"), Value::Object(fields));
    }
    (!inner.is_empty()).then_some(inner)
}

/// The fields of `a` that are also in `b`.
fn common(a: &Map<String, Value>, b: &Map<String, Value>) -> Map<String, Value> {
    let mut common_fields = Map::new();
    for (key, inner) in a {
        // A dot stands for the map itself, which is there as long as anything in it.
        match (inner, b.get(key)) {
            (Value::Object(inner), Some(Value::Object(other))) if !inner.is_empty() && !other.is_empty() => {
                let rest = common(inner, other);
                if !rest.is_empty() {
                    common_fields.insert(key.clone(), Value::Object(rest));
                }
            }
            (inner, Some(_)) => drop(common_fields.insert(key.clone(), inner.clone())),
            (_, None) => {}
        }
    }
    common_fields
}

/// The fields of `a` that are not in `b`.
fn without(a: &Map<String, Value>, b: &Map<String, Value>) -> Map<String, Value> {
    let mut rest = Map::new();
    for (key, inner) in a {
        match (inner, b.get(key)) {
            (_, None) => drop(rest.insert(key.clone(), inner.clone())),
            (Value::Object(inner), Some(Value::Object(other))) if !inner.is_empty() => {
                let inner = without(inner, other);
                if !inner.is_empty() {
                    rest.insert(key.clone(), Value::Object(inner));
                }
            }
            _ => {}
        }
    }
    rest
}

/// Adds the fields of `b` to `a`.
fn unite(a: &mut Map<String, Value>, b: &Map<String, Value>) {
    for (key, inner) in b {
        match (a.get_mut(key), inner) {
            (Some(Value::Object(mine)), Value::Object(inner)) => unite(mine, inner),
            _ => drop(a.insert(key.clone(), inner.clone())),
        }
    }
}
