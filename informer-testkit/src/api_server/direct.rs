//! Reading and writing from Rust: the calls that a client would make, without the bytes.
//!
//! A resource is named as kubectl takes it, an object by `namespace/name`, or by its name alone where it has no
//! namespace or is in `default`.

use informer_core::kube_core;
use informer_core::{Error, ErrorKind, Result, kind_of_code};
use serde_json::Value;

use super::ApiServer;
use super::exchange::{Answer, Call};
use super::resource::Resource;

/// Where objects are that do not say where.
const DEFAULT: &str = "default";

/// Who writes: the manager of the fields that are written so.
const MANAGER: &str = "informer-testkit";

impl ApiServer {
    /// Creates an object; answers it as it is stored. Kind and API version may be left out.
    ///
    /// # Errors
    /// What the server answers a client: the error has its [`status`](Error::status). An unknown `resource` is
    /// [`ErrorKind::NotFound`].
    pub fn create(&self, resource: &str, object: Value) -> Result<Value> {
        let resource = self.resource(resource)?;
        let namespace = text(&object, "namespace");
        let path = collection(&resource, namespace);
        self.write("POST", path, "application/json", &typed(&resource, object))
    }

    /// Replaces an object, which says its own name; answers it as it is stored.
    ///
    /// With a `resourceVersion` in it the object must still have it, without one it is replaced whatever it was.
    ///
    /// # Errors
    /// As [`create`](ApiServer::create).
    pub fn update(&self, resource: &str, object: Value) -> Result<Value> {
        let resource = self.resource(resource)?;
        let path = item(&resource, text(&object, "namespace"), text(&object, "name"))?;
        self.write("PUT", path, "application/json", &typed(&resource, object))
    }

    /// Merges `patch` (RFC 7396) into an object; answers it as it is stored.
    ///
    /// # Errors
    /// As [`create`](ApiServer::create).
    pub fn merge_patch(&self, resource: &str, key: &str, patch: &Value) -> Result<Value> {
        let path = self.path(resource, key)?;
        self.write("PATCH", path, "application/merge-patch+json", patch)
    }

    /// Merges `patch` into the status of an object, `{"status": …}`; answers the object as it is stored.
    ///
    /// # Errors
    /// As [`create`](ApiServer::create); [`ErrorKind::NotFound`] too where the resource has no such part.
    pub fn patch_status(&self, resource: &str, key: &str, patch: &Value) -> Result<Value> {
        let path = format!("{}/status", self.path(resource, key)?);
        self.write("PATCH", path, "application/merge-patch+json", patch)
    }

    /// Deletes an object. One that has finalizers stays, with a `deletionTimestamp`.
    ///
    /// # Errors
    /// As [`create`](ApiServer::create).
    pub fn delete(&self, resource: &str, key: &str) -> Result<()> {
        let path = self.path(resource, key)?;
        self.call(&Call { method: "DELETE".to_owned(), path, ..Call::default() }).map(|_| ())
    }

    /// An object as it is now.
    ///
    /// # Errors
    /// As [`create`](ApiServer::create).
    pub fn get(&self, resource: &str, key: &str) -> Result<Value> {
        let path = self.path(resource, key)?;
        self.call(&Call { method: "GET".to_owned(), path, ..Call::default() })
    }

    /// All objects of a resource, in every namespace, by key.
    ///
    /// # Errors
    /// As [`create`](ApiServer::create).
    pub fn list(&self, resource: &str) -> Result<Vec<Value>> {
        let resource = self.resource(resource)?;
        let path = collection_of_all(&resource);
        let mut list = self.call(&Call { method: "GET".to_owned(), path, ..Call::default() })?;
        match list["items"].take() {
            // Items of built-in lists leave out what the list says.
            Value::Array(items) => Ok(items.into_iter().map(|item| typed(&resource, item)).collect()),
            _ => Ok(Vec::new()),
        }
    }

    fn resource(&self, name: &str) -> Result<std::sync::Arc<Resource>> {
        let registry = self.engine.registry();
        registry.named(name).cloned().ok_or_else(|| {
            let hint = "name it by its plural, as in pods or deployments.apps";
            Error::new(ErrorKind::NotFound, format!("the server has no resource {name:?}; {hint}"))
        })
    }

    fn path(&self, resource: &str, key: &str) -> Result<String> {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        item(&*self.resource(resource)?, namespace, name)
    }

    fn write(&self, method: &str, path: String, media: &str, body: &Value) -> Result<Value> {
        self.call(&Call {
            method: method.to_owned(),
            path,
            query: vec![("fieldManager".to_owned(), MANAGER.to_owned())],
            headers: vec![("Content-Type".to_owned(), media.to_owned())],
            body: body.to_string().into_bytes(),
            user: None,
        })
    }

    fn call(&self, call: &Call) -> Result<Value> {
        let Answer::Whole(answer) = self.engine.answer(call) else {
            return Err(Error::new(ErrorKind::Internal, "the server streams where it should answer"));
        };
        if answer.status < 300 {
            return serde_json::from_slice(&answer.body).map_err(|error| {
                Error::new(ErrorKind::Decode, "the server's own answer is no JSON").with_source(error)
            });
        }
        Err(match serde_json::from_slice::<kube_core::Status>(&answer.body) {
            Ok(status) => Error::from_status(status),
            // A path that leads nowhere is answered with a line of text.
            Err(_) => Error::new(
                kind_of_code(answer.status),
                String::from_utf8_lossy(&answer.body).trim().to_owned(),
            ),
        })
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// The object with the kind that its resource says.
fn typed(resource: &Resource, mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.entry("kind").or_insert_with(|| resource.kind.as_ref().into());
        fields.entry("apiVersion").or_insert_with(|| resource.api_version().into());
    }
    object
}

fn collection_of_all(resource: &Resource) -> String {
    let root = if resource.group.is_empty() { "api" } else { "apis" };
    format!("/{root}/{}/{}", resource.api_version(), resource.plural)
}

fn collection(resource: &Resource, namespace: &str) -> String {
    if !resource.namespaced {
        return collection_of_all(resource);
    }
    let root = if resource.group.is_empty() { "api" } else { "apis" };
    let namespace = if namespace.is_empty() { DEFAULT } else { namespace };
    format!("/{root}/{}/namespaces/{}/{}", resource.api_version(), escaped(namespace), resource.plural)
}

/// The path of an object; without a name it would be that of them all.
fn item(resource: &Resource, namespace: &str, name: &str) -> Result<String> {
    if name.is_empty() {
        let what = format!("an object of {:?} needs a name, as in namespace/name", resource.full_name());
        return Err(Error::new(ErrorKind::Config, what));
    }
    Ok(format!("{}/{}", collection(resource, namespace), escaped(name)))
}

/// A segment of a path: whatever has a meaning there is escaped.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}
