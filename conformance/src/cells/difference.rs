//! What differs between two trees, a line for each place.

use serde_json::Value;

/// Appends a line for every place at which `real` and `ours` differ: where, what one has, what the other has.
pub(crate) fn find(real: &Value, ours: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    descend("", real, ours, &mut found);
    found
}

/// One place at which two answers differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// A JSON pointer.
    pub(crate) place: String,
    /// What the real server has there; `None`: nothing.
    pub(crate) real: Option<Value>,
    /// What the embedded one has.
    pub(crate) ours: Option<Value>,
}

impl Difference {
    /// As a line of a report.
    pub(crate) fn line(&self) -> String {
        let shown = |value: &Option<Value>| match value {
            None => "nothing".to_owned(),
            Some(value) => {
                let text = value.to_string();
                match text.char_indices().nth(600) {
                    Some((end, _)) => format!("{} …", &text[..end]),
                    None => text,
                }
            }
        };
        format!("{}: real {}, embedded {}", self.place, shown(&self.real), shown(&self.ours))
    }
}

fn descend(place: &str, real: &Value, ours: &Value, found: &mut Vec<Difference>) {
    match (real, ours) {
        (Value::Object(left), Value::Object(right)) => {
            let mut names: Vec<_> = left.keys().chain(right.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                let place = format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
                step(&place, left.get(name), right.get(name), found);
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            for at in 0..left.len().max(right.len()) {
                step(&format!("{place}/{at}"), left.get(at), right.get(at), found);
            }
        }
        _ if real == ours => {}
        _ => found.push(Difference {
            place: place.to_owned(),
            real: Some(real.clone()),
            ours: Some(ours.clone()),
        }),
    }
}

fn step(place: &str, real: Option<&Value>, ours: Option<&Value>, found: &mut Vec<Difference>) {
    match (real, ours) {
        (Some(real), Some(ours)) => descend(place, real, ours, found),
        _ => found.push(Difference { place: place.to_owned(), real: real.cloned(), ours: ours.cloned() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_place_that_differs_is_named_once() {
        let found =
            find(&json!({"a": [1, 2], "b": {"c/d": 1}, "e": 0}), &json!({"a": [1, 3, 4], "b": {}, "e": 0}));
        let lines: Vec<_> = found.iter().map(Difference::line).collect();
        assert_eq!(
            lines,
            [
                "/a/1: real 2, embedded 3",
                "/a/2: real nothing, embedded 4",
                "/b/c~1d: real 1, embedded nothing",
            ]
        );
        assert!(find(&json!({"a": null}), &json!({"a": null})).is_empty());
        assert_eq!(find(&json!({"a": null}), &json!({})).len(), 1, "null is not nothing");
    }
}
