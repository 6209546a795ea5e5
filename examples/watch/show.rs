//! [`Show`]: an object's content as JSON, to say what changed in it.

use informer_factory::Lazy;
use informer_factory::kube_core::{DynamicObject, PartialObjectMeta};
use serde_json::Value;

/// An object that can show its content.
pub(crate) trait Show {
    fn content(&self) -> Value;
}

impl Show for DynamicObject {
    fn content(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Show for PartialObjectMeta<DynamicObject> {
    fn content(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Show for Lazy<DynamicObject> {
    fn content(&self) -> Value {
        serde_json::from_str(self.json()).unwrap_or_default()
    }
}

/// What differs between two objects: a path and its change each, the telling ones first, since a line may end with the
/// window. Values are left out if `hide`.
pub(crate) fn changes(old: &Value, new: &Value, hide: bool) -> Vec<String> {
    let mut found = Vec::new();
    compare("", old, new, hide, &mut found);
    found.sort_by_key(|change| change.rank);
    found.into_iter().map(|change| change.text).collect()
}

struct Change {
    /// Plain values come before lists and objects, what is gone after what has come, and `status.phase` before
    /// `status.conditions[Ready].status`.
    rank: (usize, usize),
    text: String,
}

/// Fields that change with every write and say nothing.
const NOISE: [&str; 3] = ["metadata.resourceVersion", "metadata.generation", "metadata.managedFields"];

fn compare(path: &str, old: &Value, new: &Value, hide: bool, found: &mut Vec<Change>) {
    if old == new || NOISE.contains(&path) {
        return;
    }
    if let (Value::Object(old), Value::Object(new)) = (old, new) {
        let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        for (key, value) in new {
            compare(&join(key), old.get(key).unwrap_or(&Value::Null), value, hide, found);
        }
        for key in old.keys().filter(|key| !new.contains_key(*key)) {
            compare(&join(key), &old[key], &Value::Null, hide, found);
        }
        return;
    }
    if let (Value::Array(old), Value::Array(new)) = (old, new)
        && old.len() == new.len()
    {
        for (at, (old, new)) in old.iter().zip(new).enumerate() {
            let at = name(old)
                .filter(|name| Some(*name) == self::name(new))
                .map_or_else(|| at.to_string(), str::to_owned);
            compare(&format!("{path}[{at}]"), old, new, hide, found);
        }
        return;
    }
    let show = |value: &Value| if hide { "…".to_owned() } else { short(value) };
    let text = match (old, new) {
        (Value::Null, new) => format!("+{path}={}", show(new)),
        (_, Value::Null) => format!("-{path}"),
        (old, new) => format!("{path}={}→{}", show(old), show(new)),
    };
    let whole = |value: &Value| value.is_object() || value.is_array();
    let rank = if whole(new) {
        1
    } else if whole(old) {
        2
    } else {
        0
    };
    found.push(Change { rank: (rank, path.matches(['.', '[']).count()), text });
}

/// What an element of a list calls itself: `status.conditions[Ready]` says more than a number.
fn name(element: &Value) -> Option<&str> {
    ["type", "name"].into_iter().find_map(|field| element.get(field)?.as_str())
}

/// A value in a few words.
fn short(value: &Value) -> String {
    const LONGEST: usize = 32;
    let text = match value {
        Value::String(text) if !text.contains(char::is_whitespace) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn changes_name_paths_and_values() {
        let old = json!({"metadata": {"resourceVersion": "1", "labels": {"a": "1"}}, "data": {"k": "v", "gone": "x"}, "list": [1, 2]});
        let new = json!({"metadata": {"resourceVersion": "2", "labels": {"a": "1", "b": "2"}}, "data": {"k": "w"}, "list": [1, 3]});
        assert_eq!(
            changes(&old, &new, false),
            ["data.k=v→w", "-data.gone", "list[1]=2→3", "+metadata.labels.b=2"]
        );
        assert_eq!(changes(&old, &new, true)[0], "data.k=…→…");
    }

    #[test]
    fn what_tells_most_comes_first_and_elements_have_names() {
        let old = json!({"status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "containers": [{"name": "web", "restarts": 0, "state": {"running": {}}}],
            "phase": "Running",
        }});
        let new = json!({"status": {
            "conditions": [{"type": "Ready", "status": "False"}],
            "containers": [{"name": "web", "restarts": 1, "state": {"waiting": {"reason": "Crash"}}}],
            "phase": "Pending",
        }});
        assert_eq!(
            changes(&old, &new, false),
            [
                "status.phase=Running→Pending",
                "status.conditions[Ready].status=True→False",
                "status.containers[web].restarts=0→1",
                r#"+status.containers[web].state.waiting={"reason":"Crash"}"#,
                "-status.containers[web].state.running",
            ]
        );
    }

    #[test]
    fn elements_that_have_changed_places_are_numbered() {
        let (old, new) = (json!({"l": [{"name": "a", "v": 1}]}), json!({"l": [{"name": "b", "v": 1}]}));
        assert_eq!(changes(&old, &new, false), ["l[0].name=a→b"]);
    }
}
