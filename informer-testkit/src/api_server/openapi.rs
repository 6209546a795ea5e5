//! What `OpenAPI` is asked for by kubectl: whether the server checks the fields of what it is sent.
//!
//! kubectl looks up `fieldValidation` among the parameters of a kind's PATCH, and sends objects without checking them
//! itself where it is there. There are no schemas: `kubectl explain` finds nothing.

use serde_json::{Map, Value, json};

use super::exchange::{Call, Whole};
use super::resource::{Registry, Resource};
use super::status::Status;

/// Answers the paths of `OpenAPI` v3; `None` for every other path.
pub(super) fn answer(call: &Call, registry: &Registry) -> Option<Whole> {
    let rest = call.path.strip_prefix("/openapi/v3")?;
    if call.method != "GET" {
        return Some(Status::method_not_allowed().answer());
    }
    let document = match rest.trim_matches('/') {
        "" => index(registry),
        place => {
            let resources: Vec<&Resource> = registry
                .resources()
                .iter()
                .map(|resource| &**resource)
                .filter(|resource| home(resource) == place)
                .collect();
            if resources.is_empty() {
                return Some(Status::no_page().answer());
            }
            document(&resources)
        }
    };
    let headers = vec![("Content-Type", "application/json".to_owned())];
    Some(Whole { status: 200, headers, body: document.to_string().into_bytes() })
}

/// `api/v1`, `apis/apps/v1`.
fn home(resource: &Resource) -> String {
    format!("{}/{}", if resource.group.is_empty() { "api" } else { "apis" }, resource.api_version())
}

fn index(registry: &Registry) -> Value {
    let homes = registry.resources().iter().map(|resource| home(resource));
    let paths: Map<String, Value> = homes
        .map(|home| {
            // Without a hash nobody keeps the document for longer than one command.
            let place = json!({ "serverRelativeURL": format!("/openapi/v3/{home}") });
            (home, place)
        })
        .collect();
    json!({ "paths": paths })
}

fn document(resources: &[&Resource]) -> Value {
    let paths: Map<String, Value> = resources
        .iter()
        .map(|resource| {
            let namespace = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
            let path = format!("/{}{namespace}/{}/{{name}}", home(resource), resource.plural);
            let text = json!({ "type": "string", "uniqueItems": true });
            let patch = json!({
                "x-kubernetes-action": "patch",
                "x-kubernetes-group-version-kind": {
                    "group": resource.group, "version": resource.version, "kind": resource.kind,
                },
                "parameters": [
                    { "name": "dryRun", "in": "query", "schema": text },
                    { "name": "fieldManager", "in": "query", "schema": text },
                    { "name": "fieldValidation", "in": "query", "schema": text },
                ],
                "responses": { "200": { "description": "OK" } },
            });
            (path, json!({ "patch": patch }))
        })
        .collect();
    json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": super::about::VERSION },
        "paths": paths,
        "components": { "schemas": {} },
    })
}
