//! [`Object`]: one state of one object, as bytes ready to be sent, with what has to be known without reading them.
//!
//! An object never changes; a change makes another. Its bytes leave out `kind` and `apiVersion`, which are the
//! resource's: one state is sent in several versions, and inside lists without either.

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

/// Where an object is in its storage: by namespace, then by name, which is the order of lists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::api_server) struct Key {
    /// Empty for what has none.
    pub(in crate::api_server) namespace: String,
    pub(in crate::api_server) name: String,
}

impl Key {
    pub(in crate::api_server) fn new(namespace: &str, name: &str) -> Self {
        Key { namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// One state of one object.
#[derive(Debug)]
pub(in crate::api_server) struct Object {
    pub(in crate::api_server) key: Key,
    pub(in crate::api_server) uid: String,
    /// The revision that made this state.
    pub(in crate::api_server) revision: u64,
    pub(in crate::api_server) labels: Vec<(String, String)>,
    /// What can be selected by besides name and namespace: path, value.
    pub(in crate::api_server) fields: Vec<(String, String)>,
    /// The JSON of the object without `kind` and `apiVersion`.
    pub(in crate::api_server) body: Arc<[u8]>,
    /// The JSON of its `metadata`, made when it is first asked for.
    metadata: OnceLock<Arc<[u8]>>,
}

impl Object {
    /// The state that `value` describes. `value` has its version, uid and key; `custom` says how it is written.
    pub(in crate::api_server) fn new(
        value: Value,
        revision: u64,
        custom: bool,
        paths: &[Vec<String>],
    ) -> Self {
        let text =
            |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let key = Key { namespace: text("/metadata/namespace"), name: text("/metadata/name") };
        let uid = text("/metadata/uid");
        let labels =
            value.pointer("/metadata/labels").and_then(Value::as_object).map(pairs).unwrap_or_default();
        let fields = paths.iter().map(|path| (path.join("."), at(&value, path))).collect();
        let body = super::encode::body(value, custom);
        Object { key, uid, revision, labels, fields, body, metadata: OnceLock::new() }
    }

    /// This state, told under another version: what is deleted is told as it was last, at the revision of its end.
    pub(in crate::api_server) fn at(&self, revision: u64, custom: bool) -> Self {
        let mut value = self.value();
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".to_owned(), Value::String(revision.to_string()));
        }
        Object {
            key: self.key.clone(),
            uid: self.uid.clone(),
            revision,
            labels: self.labels.clone(),
            fields: self.fields.clone(),
            body: super::encode::body(value, custom),
            metadata: OnceLock::new(),
        }
    }

    /// The value of a label.
    pub(in crate::api_server) fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// The object as a tree, without `kind` and `apiVersion`.
    pub(in crate::api_server) fn value(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| Value::Object(Map::new()))
    }

    /// The JSON of its `metadata`.
    pub(in crate::api_server) fn metadata(&self) -> &Arc<[u8]> {
        self.metadata.get_or_init(|| {
            let value = self.value();
            super::encode::metadata(value.get("metadata").unwrap_or(&Value::Null)).into()
        })
    }
}

fn pairs(map: &Map<String, Value>) -> Vec<(String, String)> {
    map.iter().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// The value at a path, as text; what is missing is what its type makes of nothing.
fn at(value: &Value, path: &[String]) -> String {
    let found = path.iter().try_fold(value, |value, step| value.get(step.as_str()));
    match found {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => match path.last().map(String::as_str) {
            Some("unschedulable" | "hostNetwork") => "false".to_owned(),
            Some("replicas" | "successful") => "0".to_owned(),
            _ => String::new(),
        },
        Some(other) => other.to_string(),
    }
}
