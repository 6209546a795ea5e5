//! The `JSONPath` that `additionalPrinterColumns` may use: fields, indexes, and filters on equality.
//!
//! A path is either understood as a whole or finds nothing.

use serde_json::Value;

/// One step down.
#[derive(Debug, PartialEq)]
enum Step {
    Field(String),
    /// From the end where it is negative.
    Index(i64),
    /// All elements.
    All,
    /// Elements whose field has this value.
    Filter(Vec<String>, Value),
}

/// The first value that the path finds.
pub(super) fn find<'a>(path: &str, object: &'a Value) -> Option<&'a Value> {
    let steps = Parser { rest: path.trim() }.path()?;
    let mut found = vec![object];
    for step in &steps {
        found = found.into_iter().flat_map(|value| step.take(value)).collect();
    }
    found.into_iter().next()
}

impl Step {
    fn take<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let array = value.as_array().map(Vec::as_slice).unwrap_or_default();
        match self {
            Step::Field(name) => value.get(name).into_iter().collect(),
            Step::Index(index) => {
                let from_end = || array.len().checked_sub(usize::try_from(index.unsigned_abs()).ok()?);
                let at = usize::try_from(*index).ok().or_else(from_end);
                at.and_then(|at| array.get(at)).into_iter().collect()
            }
            Step::All => match value {
                Value::Object(fields) => fields.values().collect(),
                _ => array.iter().collect(),
            },
            Step::Filter(fields, wanted) => {
                let field =
                    |element: &'a Value| fields.iter().try_fold(element, |value, name| value.get(name));
                array.iter().filter(|element| field(element) == Some(wanted)).collect()
            }
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn path(mut self) -> Option<Vec<Step>> {
        let mut steps = Vec::new();
        self.eat("$");
        while !self.rest.is_empty() {
            if self.eat("[") {
                steps.push(self.bracket()?);
            } else if self.eat(".") {
                if !self.rest.starts_with('[') {
                    steps.push(self.field()?);
                }
            } else {
                return None;
            }
        }
        Some(steps)
    }

    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// A name up to the next dot or bracket; a backslash takes the next character as it is.
    fn field(&mut self) -> Option<Step> {
        let mut name = String::new();
        let mut chars = self.rest.char_indices();
        let mut end = self.rest.len();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => name.push(chars.next()?.1),
                '.' | '[' => {
                    end = at;
                    break;
                }
                c => name.push(c),
            }
        }
        self.rest = &self.rest[end..];
        match &*name {
            "" => None,
            "*" => Some(Step::All),
            _ => Some(Step::Field(name)),
        }
    }

    /// What stands in brackets, with the closing one.
    fn bracket(&mut self) -> Option<Step> {
        if self.eat("?(@") {
            return self.filter();
        }
        if let Some(name) = self.quoted() {
            return self.eat("]").then_some(Step::Field(name));
        }
        let (inner, rest) = self.rest.split_once(']')?;
        self.rest = rest;
        match inner.trim() {
            "*" => Some(Step::All),
            index => index.parse().ok().map(Step::Index),
        }
    }

    /// `.a.b=="value")]`
    fn filter(&mut self) -> Option<Step> {
        let (path, rest) = self.rest.split_once("==")?;
        self.rest = rest.trim_start();
        let steps = Parser { rest: path.trim() }.path()?;
        let names: Option<Vec<String>> = steps
            .into_iter()
            .map(|step| if let Step::Field(name) = step { Some(name) } else { None })
            .collect();
        let wanted = match self.quoted() {
            Some(text) => Value::String(text),
            None => {
                let end = self.rest.find(')')?;
                let literal = serde_json::from_str(self.rest[..end].trim()).ok()?;
                self.rest = &self.rest[end..];
                literal
            }
        };
        self.rest = self.rest.trim_start();
        (self.eat(")]")).then_some(Step::Filter(names?, wanted))
    }

    fn quoted(&mut self) -> Option<String> {
        let quote = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (text, rest) = self.rest[1..].split_once(quote)?;
        self.rest = rest;
        Some(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_find_what_they_name() {
        let object = json!({
            "spec": { "size": 3, "list": ["a", "b"], "a.b": 1 },
            "metadata": { "labels": { "example.com/x": "y" } },
            "status": { "conditions": [
                { "type": "Synced", "status": "False", "n": 1 },
                { "type": "Ready", "status": "True", "n": 2 },
            ] },
        });
        for (path, want) in [
            (".spec.size", json!(3)),
            ("$.spec.size", json!(3)),
            (" .spec.list[1]", json!("b")),
            (".spec.list[-1]", json!("b")),
            (".spec.list[*]", json!("a")),
            (".spec.list", json!(["a", "b"])),
            (".spec.a\\.b", json!(1)),
            (".spec['a.b']", json!(1)),
            (".metadata.labels.example\\.com/x", json!("y")),
            (".status.conditions[?(@.type==\"Ready\")].status", json!("True")),
            (".status.conditions[?(@.type=='Synced')].status", json!("False")),
            (".status.conditions[?(@.n == 2)].type", json!("Ready")),
            (".status.conditions[*].type", json!("Synced")),
        ] {
            assert_eq!(find(path, &object), Some(&want), "{path}");
        }
    }

    #[test]
    fn other_paths_find_nothing() {
        let object = json!({ "a": { "b": 1 }, "l": [1] });
        for path in [
            ".c",
            ".a.c",
            ".a.b.c",
            ".l[1]",
            ".l[-2]",
            ".l[",
            ".l[]",
            ".l[x]",
            "a",
            ".",
            "..",
            ".a[?(@.b==1)]",
            ".l[?(@.b==)]",
            ".l[?(@.b==1]",
            ".l[?(@",
            ".a\\",
            ".l['a",
            ".l[?(@[0]==1)]",
            ".l[9999999999999999999]",
            ".l[-9223372036854775808]",
            ".é[é]",
        ] {
            assert_eq!(find(path, &object), None, "{path}");
        }
    }
}
