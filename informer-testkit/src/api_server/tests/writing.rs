//! What writes do to objects, and which are refused.

use serde_json::{Value, json};
use std::time::Duration;

use super::{Bench, MAPS, read};

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "selectableFields": [{"jsonPath": ".spec.color"}],
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                        "spec": {"type": "object", "properties": {"size": {"type": "integer"}, "color": {"type": "string"}}},
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}},
                {"name": "v2", "served": true, "storage": false, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}},
            ],
        },
    })
}

fn widget(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": 1}})
}

#[test]
fn creations_that_cannot_be_are_refused() {
    let bench = Bench::new();
    bench.config_map("a", "1", "x");
    let map = |metadata: Value| json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata});
    for (body, status, message) in [
        (
            map(json!({"name": "b", "namespace": "other"})),
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            json!({"kind": "ConfigMap", "apiVersion": "v2", "metadata": {"name": "b"}}),
            400,
            "ConfigMap in version \"v2\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is registered for \
             version \"v2\"",
        ),
        (
            map(json!({})),
            422,
            "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required",
        ),
        (
            map(json!({"name": "b", "resourceVersion": "4"})),
            500,
            "resourceVersion should not be set on objects to be created",
        ),
        (map(json!({"name": "a"})), 409, "configmaps \"a\" already exists"),
    ] {
        let (told, answer) = bench.send("POST", MAPS, body.clone());
        assert_eq!((told, answer["message"].as_str().unwrap()), (status, message), "{body}");
    }
    for body in [
        json!({"metadata": []}),
        json!({"metadata": {"name": 5}}),
        json!({"metadata": {"labels": {"a": 1}}}),
        json!([]),
    ] {
        let (told, answer) = bench.send("POST", MAPS, body.clone());
        assert_eq!(told, 400, "{body}: {answer}");
    }
    let (status, answer) =
        bench.send("POST", "/api/v1/namespaces/none/configmaps", map(json!({"name": "a"})));
    assert_eq!((status, answer["message"].as_str().unwrap()), (404, "namespaces \"none\" not found"));
    let mut call = Bench::call("POST", MAPS, "{}");
    call.headers.push(("Content-Type".to_owned(), "text/plain".to_owned()));
    assert_eq!(bench.ask(&call).status, 415);
}

#[test]
fn names_are_generated_from_their_beginning() {
    let bench = Bench::new();
    let body = json!({"metadata": {"generateName": "gen-"}});
    let (one, two) = (bench.done("POST", MAPS, body.clone()), bench.done("POST", MAPS, body));
    let name = one["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("gen-") && name.len() == 9, "{name}");
    assert_ne!(one["metadata"]["name"], two["metadata"]["name"]);
    assert_ne!(one["metadata"]["uid"], two["metadata"]["uid"]);
}

#[test]
fn times_are_those_of_the_clock() {
    let bench = Bench::new();
    let first = bench.config_map("a", "1", "x");
    bench.clock.advance(Duration::from_secs(3600));
    let second = bench.config_map("b", "1", "x");
    let hour = |object: &Value| {
        object["metadata"]["creationTimestamp"].as_str().unwrap()[11..13].parse::<u32>().unwrap()
    };
    assert_eq!(hour(&second), (hour(&first) + 1) % 24);
}

#[test]
fn a_change_of_nothing_is_no_change() {
    let bench = Bench::new();
    let made = bench.config_map("a", "1", "x");
    bench.clock.advance(Duration::from_secs(60));
    assert_eq!(bench.done("PUT", &format!("{MAPS}/a"), made.clone()), made);
    let (_, patched) = bench.patch(&format!("{MAPS}/a"), "merge-patch", json!({"data": {"k": "x"}}));
    assert_eq!(patched, made);
}

#[test]
fn updates_of_something_else_are_refused() {
    let bench = Bench::new();
    let made = bench.config_map("a", "1", "x");
    let target = format!("{MAPS}/a");
    bench.patch(&target, "merge-patch", json!({"data": {"k": "y"}}));
    assert_eq!(bench.send("PUT", &target, made.clone()).0, 409, "it is of a version before");
    for (change, status) in [
        (json!({"metadata": {"name": "b"}}), 400),
        (json!({"metadata": {"namespace": "other"}}), 400),
        (json!({"metadata": {"uid": "1234"}}), 409),
        (json!({"metadata": {"resourceVersion": "abc"}}), 500),
        (json!({"metadata": {"resourceVersion": null}}), 200),
    ] {
        let mut body = made.clone();
        json_patch::merge(&mut body, &change);
        assert_eq!(bench.send("PUT", &target, body).0, status, "{change}");
    }
    assert_eq!(bench.send("PUT", &format!("{MAPS}/none"), json!({"metadata": {"name": "none"}})).0, 404);
    // A lease may only be replaced by whoever knows what it replaces.
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    bench.done("POST", leases, json!({"metadata": {"name": "l"}}));
    assert_eq!(bench.send("PUT", &format!("{leases}/l"), json!({"metadata": {"name": "l"}})).0, 422);
}

#[test]
fn what_the_server_decides_cannot_be_written() {
    let bench = Bench::new();
    let made = bench.config_map("a", "1", "x");
    let patch = json!({"metadata": {"creationTimestamp": "2000-01-01T00:00:00Z", "deletionTimestamp": "2000-01-01T00:00:00Z",
        "managedFields": [], "generation": 7, "generateName": "x"}, "data": {"k": "y"}});
    let (_, after) = bench.patch(&format!("{MAPS}/a"), "merge-patch", patch);
    let (before, after) = (&made["metadata"], &after["metadata"]);
    assert_eq!(after["creationTimestamp"], before["creationTimestamp"]);
    assert!(after["managedFields"].is_array());
    for field in ["deletionTimestamp", "generation", "generateName"] {
        assert!(after.get(field).is_none(), "{field}");
    }
}

#[test]
fn patches_are_refused_as_by_a_real_server() {
    let bench = Bench::new();
    bench.config_map("a", "1", "x");
    let target = format!("{MAPS}/a");
    let ask = |kind: &str, body: &str| {
        let mut call = Bench::call("PATCH", &target, body);
        call.headers.push(("content-type".to_owned(), kind.to_owned()));
        let (status, body) = read(&bench.ask(&call));
        (status, body["message"].as_str().unwrap_or_default().to_owned())
    };
    let misfit = "the server rejected our request due to an error in our request";
    for (kind, body, status, message) in [
        ("application/x-patch", "{}", 415, "415: Unsupported Media Type"),
        ("application/json", "{}", 415, "415: Unsupported Media Type"),
        ("application/json-patch+json", r#"[{"op":"remove","path":"/data/nope"}]"#, 422, misfit),
        ("application/json-patch+json", r#"{"op":"#, 400, "invalid JSON patch"),
        ("application/merge-patch+json", r#"{"op":"#, 400, "invalid JSON patch"),
        (
            "application/merge-patch+json",
            "[]",
            400,
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            "application/merge-patch+json",
            r#"{"metadata":{"name":"zz"}}"#,
            400,
            "the name of the object (zz) does not match the name on the URL (a)",
        ),
        (
            "application/merge-patch+json",
            r#"{"metadata":{"resourceVersion":"1"}}"#,
            409,
            "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your \
             changes to the latest version and try again",
        ),
        (
            "application/merge-patch+json",
            r#"{"metadata":{"uid":"1"}}"#,
            422,
            "ConfigMap \"a\" is invalid: metadata.uid: Invalid value: \"1\": field is immutable",
        ),
        ("application/json-patch+json", r#"[{"op":"replace","path":"","value":5}]"#, 422, misfit),
    ] {
        assert_eq!(ask(kind, body), (status, message.to_owned()), "{kind} {body}");
    }
}

#[test]
fn generations_count_what_is_asked_for() {
    let bench = Bench::new();
    bench.done("POST", DEFINITIONS, definition());
    let made = bench.done("POST", WIDGETS, widget("w"));
    assert_eq!(made["metadata"]["generation"], 1);
    let target = format!("{WIDGETS}/w");
    for (path, patch, generation) in [
        ("", json!({"metadata": {"labels": {"a": "b"}}}), 1),
        ("", json!({"spec": {"size": 2}}), 2),
        ("/status", json!({"status": {"seen": 2}}), 2),
        ("", json!({"spec": {"size": 3}}), 3),
    ] {
        let (_, after) = bench.patch(&format!("{target}{path}"), "merge-patch", patch.clone());
        assert_eq!(after["metadata"]["generation"], generation, "{patch}");
    }
}

#[test]
fn status_is_written_apart_from_everything_else() {
    let bench = Bench::new();
    bench.done("POST", DEFINITIONS, definition());
    let mut made = widget("w");
    made["status"] = json!({"seen": 1});
    let made = bench.done("POST", WIDGETS, made);
    assert!(made.get("status").is_none(), "it is not created with the object");
    let target = format!("{WIDGETS}/w");
    let (_, after) = bench.patch(
        &format!("{target}/status"),
        "merge-patch",
        json!({"status": {"seen": 1}, "spec": {"size": 9}, "metadata": {"labels": {"a": "b"}}}),
    );
    assert_eq!((&after["status"]["seen"], &after["spec"]["size"]), (&json!(1), &json!(1)));
    assert!(after["metadata"].get("labels").is_none());
    let (_, after) = bench.patch(&target, "merge-patch", json!({"status": {"seen": 2}, "spec": {"size": 3}}));
    assert_eq!((&after["status"]["seen"], &after["spec"]["size"]), (&json!(1), &json!(3)));
}

#[test]
fn managed_fields_say_who_wrote_what_last() {
    let bench = Bench::new();
    bench.config_map("a", "1", "x");
    let target = format!("{MAPS}/a?fieldManager=other");
    let (_, after) = bench.patch(
        &target,
        "merge-patch",
        json!({"data": {"k": "y", "l": "z"}, "metadata": {"labels": null}}),
    );
    let managed = after["metadata"]["managedFields"].as_array().unwrap();
    let told: Vec<_> =
        managed.iter().map(|entry| (entry["manager"].as_str().unwrap(), &entry["fieldsV1"])).collect();
    assert_eq!(
        told,
        [
            // Of one second, so by name.
            ("other", &json!({"f:data": {"f:k": {}, "f:l": {}}})),
            ("wire-recorder", &json!({"f:data": {".": {}}})),
        ]
    );
}

#[test]
fn finalizers_hold_an_object_until_the_last_is_gone() {
    let bench = Bench::new();
    let body = json!({"metadata": {"name": "a", "finalizers": ["x.io/a", "x.io/b"]}});
    bench.done("POST", MAPS, body);
    let target = format!("{MAPS}/a");
    let marked = bench.done("DELETE", &target, Value::Null);
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(bench.done("DELETE", &target, Value::Null), marked, "a second deletion changes nothing");
    bench.patch(&target, "merge-patch", json!({"metadata": {"finalizers": ["x.io/b"]}}));
    assert_eq!(bench.get(&target).0, 200);
    let (status, _) =
        bench.patch(&target, "json-patch", json!([{"op": "remove", "path": "/metadata/finalizers"}]));
    assert_eq!((status, bench.get(&target).0), (200, 404));
}

#[test]
fn a_namespace_takes_its_contents_along() {
    let bench = Bench::new();
    bench.done("POST", "/api/v1/namespaces", json!({"metadata": {"name": "n"}}));
    let maps = "/api/v1/namespaces/n/configmaps";
    bench.done("POST", maps, json!({"metadata": {"name": "a"}}));
    bench.done("POST", maps, json!({"metadata": {"name": "held", "finalizers": ["x.io/a"]}}));
    bench.config_map("elsewhere", "1", "x");
    let going = bench.done("DELETE", "/api/v1/namespaces/n", Value::Null);
    assert_eq!(going["status"]["phase"], "Terminating");
    assert_eq!(bench.get(&format!("{maps}/a")).0, 404);
    let (status, refusal) = bench.send("POST", maps, json!({"metadata": {"name": "late"}}));
    assert_eq!((status, &refusal["details"]["causes"][0]["reason"]), (403, &json!("NamespaceTerminating")));
    assert_eq!(bench.get("/api/v1/namespaces/n").0, 200);
    bench.patch(&format!("{maps}/held"), "merge-patch", json!({"metadata": {"finalizers": null}}));
    assert_eq!(bench.get("/api/v1/namespaces/n").0, 404);
    assert_eq!(bench.get(&format!("{MAPS}/elsewhere")).0, 200);
    assert_eq!(bench.send("DELETE", "/api/v1/namespaces/default", Value::Null).0, 403);
}

#[test]
fn dry_runs_change_nothing() {
    let bench = Bench::new();
    let before = bench.revision();
    bench.done("POST", &format!("{MAPS}?dryRun=All"), json!({"metadata": {"name": "a"}}));
    assert_eq!(bench.revision(), before);
    bench.config_map("a", "1", "x");
    let before = bench.revision();
    let patched = bench.patch(&format!("{MAPS}/a?dryRun=All"), "merge-patch", json!({"data": {"k": "y"}}));
    assert_eq!((patched.0, &patched.1["data"]["k"]), (200, &json!("y")));
    bench.done("DELETE", &format!("{MAPS}/a?dryRun=All"), Value::Null);
    bench.done("DELETE", &format!("{MAPS}?dryRun=All"), Value::Null);
    assert_eq!(bench.revision(), before);
}

#[test]
fn a_definition_makes_a_resource_in_each_of_its_versions() {
    let bench = Bench::new();
    let made = bench.done("POST", DEFINITIONS, definition());
    assert_eq!(made["status"]["conditions"], Value::Null, "it is established by a change of its own");
    let (_, now) = bench.get(&format!("{DEFINITIONS}/widgets.example.com"));
    assert_eq!(now["status"]["conditions"][1]["type"], "Established");
    bench.done("POST", WIDGETS, widget("w"));
    let (_, other) = bench.get("/apis/example.com/v2/namespaces/default/widgets/w");
    assert_eq!((&other["apiVersion"], &other["spec"]["size"]), (&json!("example.com/v2"), &json!(1)));
    for (body, status) in [
        (json!({"apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"name": "x"}}), 400),
        (json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "x"}}), 422),
        (json!({"metadata": {"name": "x"}}), 400),
    ] {
        assert_eq!(bench.send("POST", WIDGETS, body.clone()).0, status, "{body}");
    }
    let mut unfit = definition();
    unfit["metadata"]["name"] = json!("gadgets.example.com");
    assert_eq!(bench.send("POST", DEFINITIONS, unfit).0, 422);
}

#[test]
fn custom_resources_are_selected_by_the_fields_of_their_definition() {
    let bench = Bench::new();
    bench.done("POST", DEFINITIONS, definition());
    for (name, color) in [("a", "red"), ("b", "blue")] {
        let mut body = widget(name);
        body["spec"]["color"] = json!(color);
        bench.done("POST", WIDGETS, body);
    }
    let (_, list) = bench.get(&format!("{WIDGETS}?fieldSelector=spec.color%3Dblue"));
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert_eq!(list["items"][0]["metadata"]["name"], "b");
    assert_eq!(bench.get(&format!("{WIDGETS}?fieldSelector=spec.size%3D1")).0, 400);
}

#[test]
fn a_version_that_is_not_served_any_more_ends_its_watches() {
    let bench = Bench::new();
    bench.done("POST", DEFINITIONS, definition());
    let first = bench.watch(&format!("{WIDGETS}?watch=1&resourceVersion={}", bench.revision()));
    let second = bench.watch(&format!(
        "/apis/example.com/v2/namespaces/default/widgets?watch=1&resourceVersion={}",
        bench.revision()
    ));
    let patch = json!([{"op": "replace", "path": "/spec/versions/1/served", "value": false}]);
    let (status, answer) = bench.patch(&format!("{DEFINITIONS}/widgets.example.com"), "json-patch", patch);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(second.rest(), [] as [Value; 0]);
    bench.done("POST", WIDGETS, widget("w"));
    assert_eq!(first.next()["type"], "ADDED");
}

#[test]
fn a_definition_that_comes_again_starts_anew() {
    let bench = Bench::new();
    bench.done("POST", DEFINITIONS, definition());
    bench.done("POST", WIDGETS, widget("w"));
    bench.done("DELETE", &format!("{DEFINITIONS}/widgets.example.com"), Value::Null);
    assert_eq!(bench.get(WIDGETS).0, 404);
    bench.done("POST", DEFINITIONS, definition());
    let (_, list) = bench.get(WIDGETS);
    assert_eq!(list["items"], json!([]));
    bench.done("POST", WIDGETS, widget("w"));
}

#[test]
fn scale_is_read_and_written() {
    let bench = Bench::new();
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": {"spec": {"containers": []}}});
    bench.done("POST", deployments, json!({"metadata": {"name": "d"}, "spec": spec}));
    let (_, scale) = bench.get(&format!("{deployments}/d/scale"));
    assert_eq!((&scale["kind"], &scale["spec"]["replicas"]), (&json!("Scale"), &json!(1)));
    assert_eq!(scale["status"]["selector"], "a=b");
    let (_, scale) =
        bench.patch(&format!("{deployments}/d/scale"), "merge-patch", json!({"spec": {"replicas": 3}}));
    assert_eq!(scale["spec"]["replicas"], 3);
    let (_, after) = bench.get(&format!("{deployments}/d"));
    assert_eq!((&after["spec"]["replicas"], &after["metadata"]["generation"]), (&json!(3), &json!(2)));
    let mut scale = scale;
    scale["spec"]["replicas"] = json!(5);
    bench.done("PUT", &format!("{deployments}/d/scale"), scale);
    assert_eq!(bench.get(&format!("{deployments}/d")).1["spec"]["replicas"], 5);
}

#[test]
fn services_get_an_address_and_keep_it() {
    let bench = Bench::new();
    let services = "/api/v1/namespaces/default/services";
    let body = |name: &str| json!({"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}});
    let one = bench.done("POST", services, body("a"));
    let two = bench.done("POST", services, body("b"));
    assert_ne!(one["spec"]["clusterIP"], two["spec"]["clusterIP"]);
    let after = bench.done("PUT", &format!("{services}/a"), body("a"));
    assert_eq!(after["spec"], one["spec"]);
}

#[test]
fn secrets_take_plain_text() {
    let bench = Bench::new();
    let body = json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}});
    let made = bench.done("POST", "/api/v1/namespaces/default/secrets", body);
    assert_eq!((&made["data"], &made["type"]), (&json!({"a": "Yg=="}), &json!("Opaque")));
    assert!(made.get("stringData").is_none());
}
