//! Strategic merge patches: as merge patches, but lists that are maps in disguise are merged by their keys.
//!
//! Directives: `$patch` (`replace`, `delete`), `$deleteFromPrimitiveList/X`, `$setElementOrder/X`, `$retainKeys`.
//! Every other name that begins with a dollar is a field like any.

use serde_json::{Map, Value};

use crate::api_server::merge_keys;

const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";

/// Applies a patch.
pub(super) fn apply(value: &mut Value, patch: &Value) {
    match (value, patch) {
        (Value::Object(map), Value::Object(patch)) => merge(map, patch),
        (value, patch) => *value = stripped(patch),
    }
}

fn merge(map: &mut Map<String, Value>, patch: &Map<String, Value>) {
    match patch.get(DIRECTIVE).and_then(Value::as_str) {
        Some("replace") => {
            *map = strip(patch);
            return;
        }
        Some("delete") => {
            map.clear();
            return;
        }
        _ => {}
    }
    if let Some(Value::Array(kept)) = patch.get(RETAIN) {
        map.retain(|key, _| kept.iter().any(|name| name == key));
    }
    for (key, change) in patch {
        if let Some(list) = key.strip_prefix(DELETE_FROM) {
            let mine = map.get_mut(list).and_then(Value::as_array_mut);
            if let (Some(mine), Value::Array(gone)) = (mine, change) {
                mine.retain(|item| !gone.contains(item));
            }
        } else if key == DIRECTIVE || key == RETAIN || key.starts_with(ORDER) {
        } else if change.is_null() {
            map.remove(key);
        } else {
            match (map.get_mut(key), change) {
                (Some(Value::Object(mine)), Value::Object(change)) => merge(mine, change),
                (Some(Value::Array(mine)), Value::Array(change)) => {
                    let before = mine.clone();
                    merge_list(key, mine, change);
                    if !patch.contains_key(&format!("{ORDER}{key}")) {
                        arrange(key, mine, change, &before);
                    }
                }
                _ => drop(map.insert(key.clone(), stripped(change))),
            }
        }
    }
    for (key, order) in patch {
        let list = key.strip_prefix(ORDER).and_then(|list| Some((list, map.get_mut(list)?)));
        if let (Some((list, Value::Array(mine))), Value::Array(order)) = (list, order) {
            sort(list, mine, order);
        }
    }
}

fn merge_list(list: &str, mine: &mut Vec<Value>, change: &[Value]) {
    if change.iter().any(|item| item.get(DIRECTIVE).is_some_and(|what| what == "replace")) {
        let rest = change.iter().filter(|item| item.get(DIRECTIVE).is_none());
        *mine = rest.map(stripped).collect();
        return;
    }
    if merge_keys::is_set(list) {
        for item in change {
            if !mine.contains(item) {
                mine.push(item.clone());
            }
        }
        return;
    }
    let example = mine.first().or_else(|| change.first());
    let Some(key) = merge_keys::of(list, example) else {
        *mine = change.iter().map(stripped).collect();
        return;
    };
    for item in change {
        let name = item.get(key);
        let found = mine.iter().position(|old| name.is_some() && old.get(key) == name);
        if item.get(DIRECTIVE).is_some_and(|what| what == "delete") {
            if let Some(found) = found {
                mine.remove(found);
            }
        } else if let Some(found) = found {
            apply(&mut mine[found], item);
        } else {
            mine.push(stripped(item));
        }
    }
}

/// Puts what a patch names first, in its order, but for items that have stood before one of those.
fn arrange(list: &str, items: &mut Vec<Value>, change: &[Value], before: &[Value]) {
    let key = merge_keys::of(list, items.first());
    if key.is_none() && !merge_keys::is_set(list) {
        return; // a list that is replaced is as the patch has it
    }
    let same = |a: &Value, b: &Value| match key {
        Some(key) => a.get(key).is_some() && a.get(key) == b.get(key),
        None => a == b,
    };
    let place = |all: &[Value], item: &Value| all.iter().position(|other| same(other, item));
    let (mut named, others): (Vec<_>, Vec<_>) =
        items.drain(..).partition(|item| place(change, item).is_some());
    named.sort_by_key(|item| place(change, item));
    let mut others = others.into_iter().peekable();
    for item in named {
        let stood = place(before, &item);
        while let Some(other) = others.next_if(|other| stood.is_some() && place(before, other) < stood) {
            items.push(other);
        }
        items.push(item);
    }
    items.extend(others);
}

/// Puts items in the order that is asked for; those it does not name stay behind what they stood behind.
fn sort(list: &str, items: &mut Vec<Value>, order: &[Value]) {
    let key = merge_keys::of(list, items.first());
    let place = |item: &Value| {
        let named = |wanted: &Value| match key {
            Some(key) => wanted.get(key).is_some() && wanted.get(key) == item.get(key),
            None => wanted == item,
        };
        order.iter().position(named)
    };
    let mut last = None;
    let mut placed: Vec<(Option<usize>, Value)> = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        last = place(&item).or(last);
        placed.push((last, item));
    }
    placed.sort_by_key(|(place, _)| *place);
    items.extend(placed.into_iter().map(|(_, item)| item));
}

/// A part of a patch that meets nothing: without what is only meant for a merge.
fn stripped(patch: &Value) -> Value {
    match patch {
        Value::Object(map) => Value::Object(strip(map)),
        Value::Array(items) => {
            let kept = items.iter().filter(|item| item.get(DIRECTIVE).is_none_or(|what| what != "delete"));
            Value::Array(kept.map(stripped).collect())
        }
        other => other.clone(),
    }
}

fn strip(map: &Map<String, Value>) -> Map<String, Value> {
    let own = map.iter().filter(|(key, value)| {
        let directive =
            *key == DIRECTIVE || *key == RETAIN || key.starts_with(DELETE_FROM) || key.starts_with(ORDER);
        !directive && !value.is_null()
    });
    own.map(|(key, value)| (key.clone(), stripped(value))).collect()
}
