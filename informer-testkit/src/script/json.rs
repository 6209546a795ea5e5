//! The bodies an API server sends, as JSON.
//!
//! Fields come in the order of a real server's (`kind`, `apiVersion`, `metadata`, then the rest), and items of a list
//! carry neither `kind` nor `apiVersion`: readers that look at the head of an object first see what they would see
//! there.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::Reply;

/// An object on the wire; made by [`object`].
///
/// ```
/// use informer_testkit::script::object;
/// use serde_json::json;
///
/// let pod = object("ns/a", "u1", "10").of("Pod", "v1").meta("labels", json!({ "app": "x" }));
/// assert_eq!(
///     serde_json::to_string(&pod).unwrap(),
///     concat!(
///         r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","#,
///         r#""uid":"u1","resourceVersion":"10","labels":{"app":"x"}}}"#
///     )
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WireObject {
    kind: String,
    api_version: String,
    metadata: Fields,
    rest: Fields,
}

/// Fields in the order they are written.
#[derive(Clone, Debug, Default, PartialEq)]
struct Fields(Vec<(String, Value)>);

/// A `ConfigMap` of this key (`namespace/name`, or `name`); empty texts leave the field out.
#[must_use]
pub fn object(key: &str, uid: &str, resource_version: &str) -> WireObject {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    let mut metadata = Fields::default();
    for (field, text) in
        [("name", name), ("namespace", namespace), ("uid", uid), ("resourceVersion", resource_version)]
    {
        if !text.is_empty() {
            metadata.set(field, Value::from(text));
        }
    }
    WireObject {
        kind: "ConfigMap".to_owned(),
        api_version: "v1".to_owned(),
        metadata,
        rest: Fields::default(),
    }
}

impl WireObject {
    /// The same object of another kind.
    #[must_use]
    pub fn of(mut self, kind: &str, api_version: &str) -> Self {
        kind.clone_into(&mut self.kind);
        api_version.clone_into(&mut self.api_version);
        self
    }

    /// The same object with this field of its metadata set.
    #[must_use]
    pub fn meta(mut self, field: &str, value: Value) -> Self {
        self.metadata.set(field, value);
        self
    }

    /// The same object with this field beside its metadata set.
    #[must_use]
    pub fn field(mut self, field: &str, value: Value) -> Self {
        self.rest.set(field, value);
        self
    }
}

/// A list of this version: a reply of 200. Its kind is that of the items, or `ConfigMapList` if there are none.
#[must_use]
pub fn list(resource_version: &str, items: &[WireObject]) -> Reply {
    let none = object("", "", "");
    let first = items.first().unwrap_or(&none);
    list_of(&first.kind, &first.api_version, resource_version, items)
}

/// A page of a list, with a token for the next page.
#[must_use]
pub fn page(resource_version: &str, continue_token: &str, items: &[WireObject]) -> Reply {
    let none = object("", "", "");
    let first = items.first().unwrap_or(&none);
    page_of(&first.kind, &first.api_version, resource_version, continue_token, items)
}

/// As [`page`], of this kind.
pub(super) fn page_of(
    kind: &str,
    api_version: &str,
    resource_version: &str,
    continue_token: &str,
    items: &[WireObject],
) -> Reply {
    let metadata = json!({ "continue": continue_token, "resourceVersion": resource_version });
    reply(kind, api_version, metadata, items)
}

/// A list of this kind, which matters when it is empty.
#[must_use]
pub fn list_of(kind: &str, api_version: &str, resource_version: &str, items: &[WireObject]) -> Reply {
    reply(kind, api_version, json!({ "resourceVersion": resource_version }), items)
}

fn reply(kind: &str, api_version: &str, metadata: Value, items: &[WireObject]) -> Reply {
    let items: Vec<_> = items.iter().map(Bare).collect();
    let list = List { kind: &format!("{kind}List"), api_version, metadata, items };
    Reply::json(200, &list)
}

/// A `Status` that tells of a failure.
#[must_use]
pub fn status(code: u16, reason: &str, message: &str) -> WireObject {
    object("", "", "")
        .of("Status", "v1")
        .field("status", Value::from("Failure"))
        .field("message", Value::from(message))
        .field("reason", Value::from(reason))
        .field("code", Value::from(code))
}

/// One line of a watch: the event and a newline.
///
/// ```
/// use informer_testkit::script::frame;
/// assert_eq!(frame("ADDED", &serde_json::json!({})), b"{\"type\":\"ADDED\",\"object\":{}}\n");
/// ```
///
/// # Panics
/// When the object is none that JSON can say.
#[must_use]
pub fn frame(kind: &str, object: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Frame<'a, T> {
        r#type: &'a str,
        object: &'a T,
    }
    let mut line = serde_json::to_vec(&Frame { r#type: kind, object }).expect("test objects are JSON");
    line.push(b'\n');
    line
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    kind: &'a str,
    api_version: &'a str,
    metadata: Value,
    items: Vec<Bare<'a>>,
}

/// An item of a list.
struct Bare<'a>(&'a WireObject);

impl Fields {
    fn set(&mut self, field: &str, value: Value) {
        match self.0.iter_mut().find(|(name, _)| name == field) {
            Some((_, held)) => *held = value,
            None => self.0.push((field.to_owned(), value)),
        }
    }

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.0.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.write(&mut map)?;
        map.end()
    }
}

impl Serialize for WireObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("apiVersion", &self.api_version)?;
        map.serialize_entry("metadata", &self.metadata)?;
        self.rest.write(&mut map)?;
        map.end()
    }
}

impl Serialize for Bare<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("metadata", &self.0.metadata)?;
        self.0.rest.write(&mut map)?;
        map.end()
    }
}
