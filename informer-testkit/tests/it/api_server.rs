//! What the embedded API server tells of itself, who may ask, and writing from Rust.

use std::collections::BTreeSet;

use informer_core::ErrorKind;
use informer_testkit::ApiServer;
use serde_json::{Value, json};

use crate::wire::{Answer, Wire};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn get(server: &ApiServer, target: &str, fields: &str) -> Answer {
    Wire::new(server).get(target, fields).answer()
}

/// A recorded answer of a real server, its body.
fn recorded(name: &str) -> Value {
    let path = format!("{}/../informer-http/tests/wire/{name}.response", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let text = String::from_utf8(bytes).unwrap();
    let (head, mut rest) = text.split_once("\r\n\r\n").unwrap();
    if !head.contains("chunked") {
        return serde_json::from_str(rest).unwrap();
    }
    let mut body = String::new();
    loop {
        let (size, after) = rest.split_once("\r\n").unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return serde_json::from_str(&body).unwrap();
        }
        body.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
}

fn by_name<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    list.as_array().unwrap().iter().find(|entry| entry["name"] == name || entry["metadata"]["name"] == name)
}

/// A group that a server has had since the recordings were made.
const LATER: &str = "storagemigration.k8s.io";

#[test]
fn discovery_tells_of_what_is_served_as_a_real_server_does() {
    let server = ApiServer::start().unwrap();
    let api = get(&server, "/api", "Accept: application/json\r\n").json();
    let address = server.url().strip_prefix("http://").unwrap();
    assert_eq!(api["serverAddressByClientCIDRs"][0]["serverAddress"], address);
    assert_eq!(api["versions"], json!(["v1"]));
    for (target, name, list) in [
        ("/apis", "56-discovery-apis", "groups"),
        ("/api/v1", "57-discovery-core-v1", "resources"),
        ("/apis/apps/v1", "58-discovery-apps-v1", "resources"),
    ] {
        let (ours, theirs) = (get(&server, target, "").json(), recorded(name));
        assert_eq!(
            (&ours["kind"], &ours["apiVersion"]),
            (&theirs["kind"], &theirs["apiVersion"]),
            "{target}"
        );
        for theirs in theirs[list].as_array().unwrap() {
            let name = theirs["name"].as_str().unwrap();
            assert_eq!(by_name(&ours[list], name), Some(theirs), "{target}: {name}");
        }
        let known = |entry: &&Value| by_name(&theirs[list], entry["name"].as_str().unwrap()).is_none();
        let more: Vec<_> = ours[list].as_array().unwrap().iter().filter(known).collect();
        assert!(more.iter().all(|group| group["name"] == LATER), "{target}: {more:?}");
    }
    let (ours, theirs) =
        (get(&server, "/apis", &format!("Accept: {AGGREGATED}\r\n")), recorded("59-discovery-aggregated"));
    assert_eq!(ours.header("content-type"), Some(AGGREGATED));
    let document = ours.json();
    assert_eq!(document["apiVersion"], theirs["apiVersion"]);
    for theirs in theirs["items"].as_array().unwrap() {
        let name = theirs["metadata"]["name"].as_str().unwrap();
        let group = by_name(&document["items"], name).unwrap_or_else(|| panic!("no {name} here"));
        for version in theirs["versions"].as_array().unwrap() {
            let versions = group["versions"].as_array().unwrap().iter();
            let ours = versions.filter(|ours| ours["version"] == version["version"]);
            let ours: Vec<_> = ours.flat_map(|ours| ours["resources"].as_array().unwrap()).collect();
            for resource in version["resources"].as_array().unwrap() {
                let mut resource = resource.clone();
                if resource["resource"] == "csinodes" {
                    // So have these their status.
                    let status = json!({ "subresource": "status", "verbs": ["get", "patch", "update"] });
                    resource["subresources"] = json!([status]);
                    resource["subresources"][0]["responseKind"] = resource["responseKind"].clone();
                }
                assert!(ours.contains(&&resource), "{name}: {resource}");
            }
        }
    }
    let tag = ours.header("etag").unwrap();
    let again = get(&server, "/apis", &format!("Accept: {AGGREGATED}\r\nIf-None-Match: {tag}\r\n"));
    assert_eq!((again.status, again.body.len()), (304, 0));
}

#[test]
fn both_discoveries_tell_of_the_same_resources_and_of_definitions() {
    let server = ApiServer::start().unwrap();
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let version = |name: &str, storage: bool| json!({ "name": name, "served": true, "storage": storage, "schema": { "openAPIV3Schema": schema } });
    let definition = json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": { "kind": "Widget", "plural": "widgets", "singular": "widget", "shortNames": ["wd"] },
            "versions": [version("v1alpha1", false), version("v1beta2", false), version("v1", true)],
        },
    });
    server.create("customresourcedefinitions.apiextensions.k8s.io", definition).unwrap();
    let group = get(&server, "/apis/example.com", "").json();
    assert_eq!(group["preferredVersion"]["version"], "v1");
    let versions: Vec<&str> = group["versions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|version| version["version"].as_str())
        .collect();
    assert_eq!(versions, ["v1", "v1beta2", "v1alpha1"]);
    let list = get(&server, "/apis/example.com/v1", "").json();
    assert_eq!(list["resources"][0]["shortNames"], json!(["wd"]));
    let mut legacy = BTreeSet::new();
    let groups = get(&server, "/apis", "").json();
    let mut homes = vec!["/api/v1".to_owned()];
    for version in
        groups["groups"].as_array().unwrap().iter().flat_map(|group| group["versions"].as_array().unwrap())
    {
        homes.push(format!("/apis/{}", version["groupVersion"].as_str().unwrap()));
    }
    for home in &homes {
        for resource in get(&server, home, "").json()["resources"].as_array().unwrap() {
            legacy.insert(format!("{home}/{}", resource["name"].as_str().unwrap()));
        }
    }
    let mut aggregated = BTreeSet::new();
    for root in ["/api", "/apis"] {
        let document = get(&server, root, &format!("Accept: {AGGREGATED},application/json\r\n")).json();
        for group in document["items"].as_array().unwrap() {
            for version in group["versions"].as_array().unwrap() {
                let group =
                    group["metadata"]["name"].as_str().map(|name| format!("/{name}")).unwrap_or_default();
                let home = format!("{root}{group}/{}", version["version"].as_str().unwrap());
                for resource in version["resources"].as_array().unwrap() {
                    let name = resource["resource"].as_str().unwrap();
                    aggregated.insert(format!("{home}/{name}"));
                    for part in resource["subresources"].as_array().into_iter().flatten() {
                        aggregated.insert(format!("{home}/{name}/{}", part["subresource"].as_str().unwrap()));
                    }
                }
            }
        }
    }
    assert_eq!(legacy, aggregated);
    assert!(legacy.contains("/apis/example.com/v1beta2/widgets"));
    let openapi = get(&server, "/openapi/v3", "").json();
    let place = openapi["paths"]["apis/example.com/v1"]["serverRelativeURL"].as_str().unwrap().to_owned();
    let patch = &get(&server, &place, "").json()["paths"]["/apis/example.com/v1/widgets/{name}"]["patch"];
    assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Widget");
}

#[test]
fn what_discovery_does_not_have_is_refused_as_a_real_server_does() {
    let server = ApiServer::start().unwrap();
    for (method, target, status, text) in [
        ("GET", "/apis/nope", 404, "404 page not found\n"),
        ("GET", "/apis/nope/v1", 404, "404 page not found\n"),
        ("GET", "/nope", 404, "404 page not found\n"),
        ("GET", "/openapi/v3/nope", 404, "404 page not found\n"),
        ("GET", "/apis/apps/v2", 404, "the server could not find the requested resource"),
        ("POST", "/version", 405, "the server does not allow this method on the requested resource"),
        ("POST", "/api", 405, "the server does not allow this method on the requested resource"),
    ] {
        let answer = Wire::once(&server, method, target, "");
        assert!(
            answer.status == status && answer.text().contains(text),
            "{method} {target}: {}",
            answer.text()
        );
    }
    assert_eq!(get(&server, "/apis", "Accept: application/vnd.kubernetes.protobuf\r\n").status, 406);
    for (target, want) in [("/readyz", "ok"), ("/livez?verbose", "[+]ping ok\nlivez check passed\n")] {
        assert_eq!(get(&server, target, "").text(), want);
    }
    assert!(get(&server, "/", "").json()["paths"].as_array().unwrap().contains(&json!("/apis/apps/v1")));
}

#[test]
fn tokens_say_who_may_ask() {
    let server = ApiServer::builder().token("s3cret", "jane").token("other", "joe").start().unwrap();
    let target = "/api/v1/namespaces/wire/configmaps";
    for token in ["s3cret", "other"] {
        assert_eq!(get(&server, target, &format!("Authorization: Bearer {token}\r\n")).status, 200);
    }
    let wrong = get(&server, target, "Authorization: Bearer wrong\r\n");
    assert_eq!((wrong.status, wrong.json()), (401, recorded("28-unauthorized")));
    let silent = get(&server, target, "");
    assert_eq!((silent.status, silent.json()), (403, recorded("29-anonymous")));
    assert_eq!(get(&server, "/version", "").status, 200);
    assert_eq!(get(&server, "/apis", "").status, 403);
    assert!(server.list("configmaps").unwrap().is_empty(), "Rust needs no token");
    let shown = format!("{server:?} {:?}", ApiServer::builder().token("s3cret", "jane"));
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[test]
fn rust_writes_what_clients_read() {
    let server = ApiServer::start().unwrap();
    let made = server.create(
        "deployments.apps",
        json!({
            "metadata": { "name": "web", "namespace": "kube-system" },
            "spec": { "replicas": 2, "selector": { "matchLabels": { "a": "b" } }, "template": {
                "metadata": { "labels": { "a": "b" } },
                "spec": { "containers": [{ "name": "c", "image": "i" }] },
            } },
        }),
    );
    let made = made.unwrap();
    assert_eq!((&made["kind"], &made["apiVersion"]), (&json!("Deployment"), &json!("apps/v1")));
    let target = "/apis/apps/v1/namespaces/kube-system/deployments/web";
    assert_eq!(Wire::once(&server, "GET", target, "").json(), made);
    let mut next = made.clone();
    next["spec"]["replicas"] = json!(3);
    let updated = server.update("deployments.apps", next.clone()).unwrap();
    assert_eq!(updated["metadata"]["generation"], 2);
    let stale = server.update("deployments.apps", next).unwrap_err();
    assert!(stale.is_conflict() && stale.status().is_some(), "{stale}");
    let key = "kube-system/web";
    let patched =
        server.patch_status("deployments.apps", key, &json!({ "status": { "readyReplicas": 1 } })).unwrap();
    assert_eq!((&patched["status"]["readyReplicas"], &patched["spec"]["replicas"]), (&json!(1), &json!(3)));
    assert_eq!(server.list("deployments.apps").unwrap(), std::slice::from_ref(&patched));
    assert_eq!(server.get("deployments.apps", key).unwrap(), patched);
    server.delete("deployments.apps", key).unwrap();
    assert!(server.get("deployments.apps", key).unwrap_err().is_not_found());
}

#[test]
fn what_rust_may_not_write_says_why() {
    let server = ApiServer::start().unwrap();
    let error = server.create("pots", json!({})).unwrap_err();
    assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("\"pots\""), "{error}");
    let error = server.create("configmaps", json!({ "metadata": { "name": "No" } })).unwrap_err();
    assert!(error.is_invalid(), "{error}");
    let error =
        server.create("configmaps", json!({ "metadata": { "name": "a", "namespace": "b" } })).unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("\"b\""), "{error}");
    for odd in [json!(null), json!([1]), json!("x"), json!({ "metadata": 7 })] {
        assert!(server.create("configmaps", odd.clone()).is_err(), "{odd}");
        assert!(server.update("configmaps", odd.clone()).is_err(), "{odd}");
    }
    for key in ["", "/", "a/b/c", "../x", "a?b", "%"] {
        assert!(server.get("configmaps", key).is_err(), "{key}");
        assert!(server.delete("configmaps", key).is_err(), "{key}");
    }
    assert!(server.patch_status("configmaps", "a", &json!({})).unwrap_err().is_not_found());
}

#[test]
fn the_kubeconfig_can_be_written_to_a_file() {
    let server = ApiServer::builder().token("s3\"cret", "jane").start().unwrap();
    assert!(server.kubeconfig().contains(r#"token: "s3\"cret""#), "{}", server.kubeconfig());
    assert!(!server.kubeconfig_of("nobody").contains("token"));
    let error = server.write_kubeconfig("/nowhere/at/all").unwrap_err();
    assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
}
