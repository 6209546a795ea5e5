//! Field selectors: `metadata.name=a,status.phase!=Running`, over the few fields that a resource allows.

use crate::api_server::resource::Resource;
use crate::api_server::status::{Result, Status};
use crate::api_server::store::Object;

/// One requirement. All of a selector's have to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    field: Field,
    equal: bool,
    value: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Field {
    Name,
    Namespace,
    /// The path under which objects have its value.
    Path(String),
}

impl Requirement {
    /// Whether it asks for one name.
    pub(super) fn is_name(&self) -> bool {
        self.field == Field::Name && self.equal
    }

    /// Whether it holds.
    pub(super) fn holds(&self, object: &Object) -> bool {
        let value = match &self.field {
            Field::Name => object.key.name.as_str(),
            Field::Namespace => object.key.namespace.as_str(),
            Field::Path(path) => {
                let found = object.fields.iter().find(|(known, _)| known == path);
                found.map_or("", |(_, value)| value.as_str())
            }
        };
        (value == self.value) == self.equal
    }
}

/// Reads a selector; an empty one has no requirements.
pub(super) fn parse(resource: &Resource, text: &str) -> Result<Vec<Requirement>> {
    let terms = split(text).into_iter().filter(|term| !term.is_empty());
    terms.map(|term| requirement(resource, term)).collect()
}

/// Cuts at commas that no backslash escapes.
fn split(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\\' if !escaped => escaped = true,
            b',' if !escaped => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => escaped = false,
        }
    }
    terms.push(&text[start..]);
    terms
}

fn requirement(resource: &Resource, term: &str) -> Result<Requirement> {
    let at = term.find(['=', '!']);
    let cut = at.and_then(|at| {
        let (name, rest) = term.split_at(at);
        let found = [("!=", false), ("==", true), ("=", true)];
        let (symbol, equal) = found.into_iter().find(|(symbol, _)| rest.starts_with(symbol))?;
        Some((name, equal, &rest[symbol.len()..]))
    });
    let Some((name, equal, value)) = cut else {
        return Err(Status::bad_request(format!("invalid selector: '{term}'; can't understand '{term}'")));
    };
    Ok(Requirement { field: field(resource, name)?, equal, value: unescaped(term, value)? })
}

fn field(resource: &Resource, name: &str) -> Result<Field> {
    match name {
        "metadata.name" => return Ok(Field::Name),
        "metadata.namespace" if resource.namespaced => return Ok(Field::Namespace),
        "metadata.namespace" if !resource.custom => return Ok(Field::Namespace),
        _ => {}
    }
    if let Some((_, path)) = resource.selectable.iter().find(|(known, _)| known == name) {
        return Ok(Field::Path(path.join(".")));
    }
    // Kinds with fields of their own have a function of their own in a real server, with a shorter message.
    Err(Status::bad_request(if resource.custom {
        format!("field label not supported: {name}")
    } else if resource.selectable.is_empty() {
        format!("{name:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
    } else {
        format!("field label not supported: {name}")
    }))
}

fn unescaped(term: &str, value: &str) -> Result<String> {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(next @ ('\\' | ',' | '=')) => plain.push(next),
                _ => {
                    return Err(Status::bad_request(format!(
                        "invalid field selector: invalid escape in {term:?}"
                    )));
                }
            },
            ',' | '=' => {
                return Err(Status::bad_request(format!(
                    "invalid field selector: unescaped {c:?} in {term:?}"
                )));
            }
            c => plain.push(c),
        }
    }
    Ok(plain)
}
