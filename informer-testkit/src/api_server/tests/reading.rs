//! Lists, pages, forms and paths.

use serde_json::{Value, json};

use super::{Bench, MAPS, read};

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap();
    items.iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

#[test]
fn every_cluster_has_its_namespaces() {
    let bench = Bench::new();
    let (_, list) = bench.get("/api/v1/namespaces");
    assert_eq!(names(&list), ["default", "kube-node-lease", "kube-public", "kube-system"]);
    let labels = &list["items"][0]["metadata"]["labels"];
    assert_eq!(labels, &json!({"kubernetes.io/metadata.name": "default"}));
    assert_eq!(list["items"][0]["status"]["phase"], "Active");
}

#[test]
fn pages_are_one_consistent_list() {
    let bench = Bench::new();
    for name in ["a", "b", "c", "d", "e"] {
        bench.config_map(name, "1", "x");
    }
    let (_, first) = bench.get(&format!("{MAPS}?limit=2"));
    assert_eq!(names(&first), ["a", "b"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 3);
    bench.config_map("aa", "1", "x");
    bench.done("DELETE", &format!("{MAPS}/d"), Value::Null);
    let token = first["metadata"]["continue"].as_str().unwrap();
    let (_, second) = bench.get(&format!("{MAPS}?limit=2&continue={token}"));
    assert_eq!(names(&second), ["c", "d"]);
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    let token = second["metadata"]["continue"].as_str().unwrap();
    let (_, third) = bench.get(&format!("{MAPS}?limit=2&continue={token}"));
    assert_eq!(names(&third), ["e"]);
    assert!(third["metadata"].get("continue").is_none());
    // The same over all namespaces, whose tokens name theirs.
    let (_, all) = bench.get("/api/v1/configmaps?limit=4");
    let token = all["metadata"]["continue"].as_str().unwrap();
    let (_, rest) = bench.get(&format!("/api/v1/configmaps?limit=4&continue={token}"));
    assert_eq!((names(&all), names(&rest)), (vec!["a", "aa", "b", "c"], vec!["e"]));
}

#[test]
fn a_selection_in_pages_does_not_say_how_much_is_left() {
    let bench = Bench::new();
    for (name, label) in [("a", "1"), ("b", "2"), ("c", "1"), ("d", "1")] {
        bench.config_map(name, label, "x");
    }
    let (_, first) = bench.get(&format!("{MAPS}?limit=2&labelSelector=n%3D1"));
    assert_eq!(names(&first), ["a", "c"]);
    assert!(first["metadata"].get("remainingItemCount").is_none());
    assert!(first["metadata"]["continue"].is_string());
}

#[test]
fn a_version_is_exact_when_it_is_said_to_be_or_limited() {
    let bench = Bench::new();
    bench.config_map("a", "1", "x");
    let then = bench.revision();
    bench.config_map("b", "1", "x");
    for (query, expected) in [
        (format!("resourceVersion={then}"), vec!["a", "b"]),
        (format!("resourceVersion={then}&resourceVersionMatch=NotOlderThan"), vec!["a", "b"]),
        (format!("resourceVersion={then}&resourceVersionMatch=NotOlderThan&limit=10"), vec!["a", "b"]),
        (format!("resourceVersion={then}&resourceVersionMatch=Exact"), vec!["a"]),
        (format!("resourceVersion={then}&limit=10"), vec!["a"]),
        ("resourceVersion=0&limit=1".to_owned(), vec!["a", "b"]),
    ] {
        let (_, list) = bench.get(&format!("{MAPS}?{query}"));
        assert_eq!(names(&list), expected, "{query}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let bench = Bench::new();
    for (target, status, message) in [
        (
            format!("{MAPS}?resourceVersion=abc"),
            400,
            "invalid resource version: resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": \
             invalid syntax",
        ),
        (format!("{MAPS}?limit=abc"), 400, "strconv.ParseInt: parsing \"abc\": invalid syntax"),
        (
            format!("{MAPS}?continue=abc!"),
            400,
            "invalid continue token: continue key is not valid: illegal base64 data at input byte 3",
        ),
        (
            format!("{MAPS}?continue=abc"),
            400,
            "invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value",
        ),
        (
            format!("{MAPS}?resourceVersionMatch=Exact"),
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is \
             forbidden unless resourceVersion is provided",
        ),
        (
            format!("{MAPS}?resourceVersion=2&resourceVersionMatch=foo"),
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Unsupported value: \"foo\": supported \
             values: \"Exact\", \"NotOlderThan\", \"\"",
        ),
        ("/api/v1/nope".to_owned(), 404, "the server could not find the requested resource"),
        ("/api/v2/pods".to_owned(), 404, "the server could not find the requested resource"),
        ("/api/v1/pods/none".to_owned(), 404, "the server could not find the requested resource"),
        (format!("{MAPS}/a/status"), 404, "the server could not find the requested resource"),
        (
            "/api/v1/namespaces/default/nodes".to_owned(),
            404,
            "the server could not find the requested resource",
        ),
        ("/api/v1/nodes/none".to_owned(), 404, "nodes \"none\" not found"),
        ("/api/v1/namespaces/none".to_owned(), 404, "namespaces \"none\" not found"),
        (
            "/apis/apps/v1/namespaces/default/deployments/none".to_owned(),
            404,
            "deployments.apps \"none\" not found",
        ),
    ] {
        let (told, body) = bench.get(&target);
        assert_eq!((told, body["message"].as_str().unwrap()), (status, message), "{target}");
    }
    for target in [
        "/",
        "/api",
        "/apis/nope/v1/x",
        "/apis/example.com/v1/foos",
        "/x/y",
        "/api/v1/%zz",
        "//",
        "/api/v1/%ff",
    ] {
        let whole = bench.ask(&Bench::call("GET", target, ""));
        assert!(whole.status == 404, "{target}");
    }
}

#[test]
fn the_first_form_that_is_known_is_told() {
    let bench = Bench::new();
    bench.config_map("a", "1", "x");
    let ask = |target: &str, accept: &str| {
        let mut call = Bench::call("GET", target, "");
        call.headers.push(("accept".to_owned(), accept.to_owned()));
        read(&bench.ask(&call))
    };
    let one = format!("{MAPS}/a");
    for (target, accept, status, kind) in [
        (&*one, "", 200, "ConfigMap"),
        (&*one, "*/*", 200, "ConfigMap"),
        (&*one, "application/vnd.kubernetes.protobuf, application/json", 200, "ConfigMap"),
        (&*one, "text/plain", 406, "Status"),
        (&*one, "application/*", 406, "Status"),
        (&*one, "text/plain,*/*", 200, "ConfigMap"),
        (&*one, "application/vnd.kubernetes.protobuf", 406, "Status"),
        (&*one, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", 200, "PartialObjectMetadata"),
        (&*one, "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", 200, "ConfigMap"),
        (&*one, "application/json;as=Table;v=v1;g=meta.k8s.io", 200, "Table"),
        (MAPS, "application/json;as=Table;g=meta.k8s.io;v=v1", 200, "Table"),
        (
            MAPS,
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            200,
            "PartialObjectMetadataList",
        ),
        (MAPS, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", 406, "Status"),
        (
            MAPS,
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
            406,
            "Status",
        ),
    ] {
        let (told, body) = ask(target, accept);
        assert_eq!((told, body["kind"].as_str().unwrap()), (status, kind), "{accept}");
    }
    let (_, partial) = ask(&one, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    assert!(partial.get("data").is_none());
    assert_eq!(partial["metadata"]["name"], "a");
}
