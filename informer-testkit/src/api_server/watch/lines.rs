//! The lines of a watch: an event each, in the representation that was asked for.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::get::{seen_body, write_value};
use super::super::representation::{Include, Representation, tree, write_full, write_partial};
use super::super::status::Status;
use super::super::store::{Object, Told, body as body_of};
use super::super::table;
use super::Watch;

impl Watch {
    /// What tells lines of one change apart, but for what they tell.
    pub(super) fn form_of_lines(&self) -> Arc<str> {
        match self.form {
            Representation::Full => Arc::clone(&self.types),
            Representation::Metadata => Arc::clone(&self.no_types),
            Representation::Unfit => "nothing".into(),
            Representation::Table(include) => {
                format!("{include:?} {} {} {}", self.headed, self.engine.now(), self.types).into()
            }
        }
    }

    pub(super) fn line(&mut self, told: Told, object: &Object) -> Arc<[u8]> {
        let kind = match told {
            Told::Added => "ADDED",
            Told::Modified => "MODIFIED",
            Told::Deleted => "DELETED",
        };
        let mut out = line_head(kind, object.body.len() + 128);
        match self.form {
            Representation::Full => {
                write_full(&seen_body(&self.resource, object), Some(&self.types), &mut out);
            }
            Representation::Metadata => write_partial(object.metadata(), &mut out),
            Representation::Unfit => {}
            Representation::Table(include) => {
                let metadata = json!({"resourceVersion": object.revision.to_string()});
                self.write_table(&tree(&self.resource, object), &metadata, include, &mut out);
            }
        }
        line_end(out)
    }

    pub(super) fn bookmark_line(&mut self, initial: bool) -> Arc<[u8]> {
        let mut metadata = json!({"resourceVersion": self.position.to_string()});
        if initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let mut out = line_head("BOOKMARK", 192);
        let mut body = Vec::new();
        match self.form {
            Representation::Full => {
                let object = self.empty(&metadata);
                body.extend_from_slice(&body_of(object, self.resource.custom));
                write_full(&body, Some(&self.types), &mut out);
            }
            Representation::Metadata => {
                write_value(&metadata, &mut body);
                write_partial(&body, &mut out);
            }
            Representation::Unfit => {}
            Representation::Table(include) => {
                let mut object = self.empty(&metadata);
                object["kind"] = (*self.resource.kind).into();
                object["apiVersion"] = self.resource.api_version().into();
                let list = json!({"resourceVersion": self.position.to_string()});
                self.write_table(&object, &list, include, &mut out);
            }
        }
        line_end(out)
    }

    /// The object of a bookmark: nothing but its metadata, and what its kind cannot be without.
    fn empty(&self, metadata: &Value) -> Value {
        let mut object = self.resource.empty();
        object["metadata"] = metadata.clone();
        object
    }

    /// Columns are told once; a client keeps them.
    fn write_table(&mut self, object: &Value, metadata: &Value, include: Include, out: &mut Vec<u8>) {
        let rows = std::slice::from_ref(object);
        let mut table = table::table(&self.resource, rows, metadata, include, &self.engine.now());
        if std::mem::replace(&mut self.headed, true) {
            table["columnDefinitions"] = Value::Null;
        }
        write_value(&table, out);
    }
}

fn line_head(kind: &str, room: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(room);
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    out
}

fn line_end(mut out: Vec<u8>) -> Arc<[u8]> {
    out.extend_from_slice(b"}\n");
    out.into()
}

/// The line that tells a watch why it is over.
pub(in crate::api_server) fn error_line(status: &Status) -> Arc<[u8]> {
    let mut out = line_head("ERROR", 256);
    out.extend_from_slice(&status.body());
    line_end(out)
}
