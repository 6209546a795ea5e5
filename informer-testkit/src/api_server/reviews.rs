//! Reviews: who somebody is, whose a token is, what somebody may. They are created, answered, and never stored.
//!
//! Rights are those of [`Access`]: whoever has a token may do everything, and without tokens everybody may.

use std::sync::Arc;

use serde_json::{Value, json};

use super::access::Access;
use super::body::{self, meta_mut};
use super::engine::Engine;
use super::exchange::{Call, Whole};
use super::get::{json_answer, write_value};
use super::managed::{self, Write};
use super::options::check_write;
use super::representation::{Asked, Representation};
use super::resource::Registry;
use super::route::Route;
use super::status::{Cause, Result, Status};

const RIGHTS: &str = "authorization.k8s.io";

/// Answers the paths of reviews; `None` for every other path.
pub(super) fn answer(call: &Call, registry: &Registry, engine: &Engine, access: &Access) -> Option<Whole> {
    let route = route(call, registry)?;
    let answer = if call.method == "POST" {
        review(call, &route, engine, access)
    } else {
        Err(Status::method_not_allowed())
    };
    Some(answer.unwrap_or_else(|status| status.answer()))
}

fn route(call: &Call, registry: &Registry) -> Option<Route> {
    let segments: Vec<&str> = call.path.trim_matches('/').split('/').collect();
    let (group, plural, namespace) = match segments.as_slice() {
        ["apis", group @ ("authentication.k8s.io" | RIGHTS), "v1", plural] => (*group, *plural, None),
        ["apis", RIGHTS, "v1", "namespaces", namespace, plural] => (RIGHTS, *plural, Some(*namespace)),
        _ => return None,
    };
    let resource = registry.resources().iter().find(|r| r.group == group && r.plural == plural)?;
    (resource.namespaced == namespace.is_some()).then(|| Route {
        resource: Arc::clone(resource),
        namespace: namespace.map(str::to_owned),
        name: None,
        subresource: String::new(),
    })
}

fn review(call: &Call, route: &Route, engine: &Engine, access: &Access) -> Result<Whole> {
    let resource = &route.resource;
    if Representation::of(call, Asked::One, resource)? != Representation::Full {
        return Err(Status::no_such_form());
    }
    check_write(call, "CreateOptions")?;
    let mut value = body::object(call, route)?;
    body::check_namespace(&mut value, route)?;
    // Go's clients send an empty one.
    if let Some(map) = value.as_object_mut() {
        map.remove("status");
    }
    let write = Write::new(resource, &body::manager(call), "", engine.now());
    managed::created(&write, &mut value);
    let status = match &*resource.kind {
        "SelfSubjectReview" => {
            meta_mut(&mut value).insert("creationTimestamp".to_owned(), engine.now().into());
            json!({ "userInfo": user_info(call.user.as_deref()) })
        }
        "TokenReview" => token(&value, access)?,
        "SelfSubjectRulesReview" => rules(&value)?,
        kind => rights(kind, route, &value, access)?,
    };
    if let Some(map) = value.as_object_mut() {
        map.entry("spec").or_insert_with(|| json!({}));
        match &*resource.kind {
            "SelfSubjectReview" => drop(map.remove("spec")),
            // Told without what was asked.
            "SelfSubjectRulesReview" => {
                map.insert("spec".to_owned(), json!({}));
                map.insert("metadata".to_owned(), json!({}));
            }
            _ => {}
        }
        map.insert("status".to_owned(), status);
        map.insert("kind".to_owned(), (*resource.kind).into());
        map.insert("apiVersion".to_owned(), resource.api_version().into());
    }
    let mut body = Vec::new();
    write_value(&value, &mut body);
    Ok(json_answer(201, body))
}

/// Who may do everything is one of the masters, as a real server calls them.
fn user_info(user: Option<&str>) -> Value {
    match user {
        Some(user) => json!({ "username": user, "groups": ["system:masters", "system:authenticated"] }),
        None => json!({ "username": "system:anonymous", "groups": ["system:unauthenticated"] }),
    }
}

fn token(value: &Value, access: &Access) -> Result<Value> {
    match value.pointer("/spec/token").and_then(Value::as_str).unwrap_or_default() {
        "" => Err(Status::bad_request("token is required for TokenReview in authentication")),
        token => Ok(match access.user_of(token) {
            Some(user) => json!({ "authenticated": true, "user": user_info(Some(user)) }),
            None => json!({ "user": {}, "error": "invalid bearer token" }),
        }),
    }
}

fn rules(value: &Value) -> Result<Value> {
    let namespace = value.pointer("/spec/namespace").and_then(Value::as_str).unwrap_or_default();
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    Ok(json!({
        "resourceRules": [{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }],
        "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["*"] }],
        "incomplete": false,
    }))
}

/// Whether somebody may do something.
fn rights(kind: &str, route: &Route, value: &Value, access: &Access) -> Result<Value> {
    let spec =
        |field: &str| value.get("spec").and_then(|spec| spec.get(field)).filter(|told| !told.is_null());
    let (resource, path) = (spec("resourceAttributes"), spec("nonResourceAttributes"));
    let mut causes = Vec::new();
    if resource.is_some() == path.is_some() {
        let told = path.map_or_else(|| "null".to_owned(), Value::to_string);
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        causes.push(Cause::invalid("spec", &told, why));
    }
    let user = spec("user").and_then(Value::as_str).unwrap_or_default();
    let groups = spec("groups").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let of_self = kind == "SelfSubjectAccessReview";
    if !of_self && user.is_empty() && groups.is_empty() {
        causes.push(Cause::invalid("spec.user", "\"\"", "at least one of user or group must be specified"));
    }
    if let Some(namespace) = &route.namespace {
        let told =
            resource.map(|resource| resource.get("namespace").and_then(Value::as_str).unwrap_or_default());
        if let Some(told) = told.filter(|told| told != namespace) {
            let field = "spec.resourceAttributes.namespace";
            causes.push(Cause::invalid(field, &format!("{told:?}"), "must match metadata.namespace"));
        }
        if let Some(path) = path {
            let why = "disallowed on this kind of request";
            causes.push(Cause::invalid("spec.nonResourceAttributes", &path.to_string(), why));
        }
    }
    if !causes.is_empty() {
        return Err(Status::invalid_kind(RIGHTS, "", "", causes));
    }
    let master = || groups.iter().any(|group| group == "system:masters");
    Ok(json!({ "allowed": of_self || master() || access.may(user) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ManualClock;
    use crate::api_server::memory::History;

    fn ask(user: Option<&str>, tokens: bool, target: &str, body: &Value) -> (u16, Value) {
        let engine = Engine::new(Arc::new(ManualClock::new()), History::default());
        let mut access = Access::default();
        if tokens {
            access.admit("secret".to_owned(), "jane".to_owned());
        }
        let call = Call {
            method: "POST".to_owned(),
            path: format!("/apis/{target}"),
            body: body.to_string().into_bytes(),
            user: user.map(str::to_owned),
            ..Call::default()
        };
        let whole = answer(&call, &engine.registry(), &engine, &access).unwrap();
        (whole.status, serde_json::from_slice(&whole.body).unwrap())
    }

    #[test]
    fn who_has_a_token_may_everything_and_is_told_so() {
        let may = json!({ "spec": { "user": "x", "nonResourceAttributes": { "path": "/", "verb": "get" } } });
        let they = "authorization.k8s.io/v1/subjectaccessreviews";
        for (user, tokens, allowed) in [("x", true, false), ("jane", true, true), ("x", false, true)] {
            let mut may = may.clone();
            may["spec"]["user"] = user.into();
            assert_eq!(
                ask(Some("jane"), tokens, they, &may).1["status"],
                json!({ "allowed": allowed }),
                "{user}"
            );
        }
        let (status, me) = ask(Some("jane"), true, "authentication.k8s.io/v1/selfsubjectreviews", &json!({}));
        assert_eq!((status, &me["status"]["userInfo"]["username"]), (201, &json!("jane")));
        let whose = "authentication.k8s.io/v1/tokenreviews";
        let (_, told) = ask(Some("jane"), true, whose, &json!({ "spec": { "token": "secret" } }));
        assert_eq!(told["status"]["user"]["username"], "jane");
        let (_, told) = ask(Some("jane"), true, whose, &json!({ "spec": { "token": "other" } }));
        assert_eq!(told["status"]["authenticated"], Value::Null);
        let rules = "authorization.k8s.io/v1/selfsubjectrulesreviews";
        let (_, told) = ask(None, false, rules, &json!({ "spec": { "namespace": "default" } }));
        assert_eq!(told["status"]["resourceRules"][0]["verbs"], json!(["*"]));
        assert_eq!(ask(None, false, rules, &json!({ "spec": {} })).0, 400);
    }

    #[test]
    fn shapes_that_make_no_sense_are_answered_too() {
        for kind in [
            "localsubjectaccessreviews",
            "selfsubjectaccessreviews",
            "subjectaccessreviews",
            "selfsubjectrulesreviews",
        ] {
            let place = if kind.starts_with("local") { "namespaces/a/" } else { "" };
            for spec in [
                json!(null),
                json!(7),
                json!("x"),
                json!([1]),
                json!({ "resourceAttributes": 1, "groups": {} }),
            ] {
                let target = format!("authorization.k8s.io/v1/{place}{kind}");
                let (status, _) = ask(None, true, &target, &json!({ "spec": spec }));
                assert!(matches!(status, 201 | 400 | 422), "{kind} {spec}: {status}");
            }
        }
    }
}
