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

/// What differs between two objects: a path and its change each. Values are left out if `hide`.
pub(crate) fn changes(old: &Value, new: &Value, hide: bool) -> Vec<String> {
    let mut out = Vec::new();
    compare("", old, new, hide, &mut out);
    out
}

/// Fields that change with every write and say nothing.
const NOISE: [&str; 3] = ["metadata.resourceVersion", "metadata.generation", "metadata.managedFields"];

fn compare(path: &str, old: &Value, new: &Value, hide: bool, out: &mut Vec<String>) {
    if old == new || NOISE.contains(&path) {
        return;
    }
    if let (Value::Object(old), Value::Object(new)) = (old, new) {
        let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        for (key, value) in new {
            compare(&join(key), old.get(key).unwrap_or(&Value::Null), value, hide, out);
        }
        for key in old.keys().filter(|key| !new.contains_key(*key)) {
            compare(&join(key), &old[key], &Value::Null, hide, out);
        }
        return;
    }
    if let (Value::Array(old), Value::Array(new)) = (old, new)
        && old.len() == new.len()
    {
        for (at, (old, new)) in old.iter().zip(new).enumerate() {
            compare(&format!("{path}[{at}]"), old, new, hide, out);
        }
        return;
    }
    let show = |value: &Value| if hide { "…".to_owned() } else { short(value) };
    out.push(match (old, new) {
        (Value::Null, new) => format!("+{path}={}", show(new)),
        (_, Value::Null) => format!("-{path}"),
        (old, new) => format!("{path}={}→{}", show(old), show(new)),
    });
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
}
