//! From kubectl's spellings to resources, by the legacy discovery documents.

use informer_core::{ErrorKind, Stage};
use informer_http::{Client, find_resource};
use informer_testkit::ScriptedServer;
use informer_testkit::script::{Expect, Reply, Script};

/// Answers discovery as a server with core, apps and a custom group.
fn server() -> ScriptedServer {
    let documents = [
        ("/api", r#"{"kind":"APIVersions","versions":["v1"]}"#),
        (
            "/apis",
            r#"{"groups":[
            {"name":"apps","versions":[{"version":"v1"}],"preferredVersion":{"version":"v1"}},
            {"name":"broken.io","versions":[{"version":"v1"}],"preferredVersion":{"version":"v1"}},
            {"name":"example.com","versions":[{"version":"v1"},{"version":"v2"}],
             "preferredVersion":{"version":"v2"}}]}"#,
        ),
        (
            "/api/v1",
            r#"{"resources":[
            {"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["list"],"shortNames":["po"]},
            {"name":"pods/log","singularName":"","namespaced":true,"kind":"Pod","verbs":["get"]},
            {"name":"services","singularName":"service","namespaced":true,"kind":"Service","verbs":["list"],"shortNames":["svc"]}]}"#,
        ),
        (
            "/apis/apps/v1",
            r#"{"resources":[{"name":"deployments","singularName":"deployment","namespaced":true,
            "kind":"Deployment","verbs":["list","watch"],"shortNames":["deploy"]}]}"#,
        ),
        (
            "/apis/example.com/v2",
            r#"{"resources":[{"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget","verbs":["list"]},
            {"name":"svc","singularName":"svc","namespaced":false,"kind":"Svc","verbs":["list"]}]}"#,
        ),
        (
            "/apis/example.com/v1",
            r#"{"resources":[{"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget","verbs":["list"]},
            {"name":"gadgets","singularName":"","namespaced":false,"kind":"Gadget","verbs":["list"]}]}"#,
        ),
    ];
    let served = documents.map(|(path, body)| Expect::get(path).reply(Reply::new(200, body)).any_times());
    let broken = Expect::get("/apis/broken.io/v1").reply(Reply::new(503, "{}")).any_times();
    ScriptedServer::start(Script::any_order(served.into_iter().chain([broken])))
}

#[test]
fn spellings_find_what_kubectl_finds() {
    let server = server();
    let client = Client::from_url(&server.url()).unwrap();
    for (spelling, want, namespaced) in [
        ("pods", "v1 pods Pod", true),
        ("po", "v1 pods Pod", true),
        ("Pod", "v1 pods Pod", true),
        ("deployments", "apps/v1 deployments Deployment", true),
        ("deployments.apps", "apps/v1 deployments Deployment", true),
        ("deployment.v1.apps", "apps/v1 deployments Deployment", true),
        ("Deployment", "apps/v1 deployments Deployment", true),
        ("deploy", "apps/v1 deployments Deployment", true),
        ("widgets", "example.com/v2 widgets Widget", true),
        ("widgets.example.com", "example.com/v2 widgets Widget", true),
        ("widgets.v1.example.com", "example.com/v1 widgets Widget", true),
        // In no preferred version, with no singular name.
        ("gadget", "example.com/v1 gadgets Gadget", false),
        // A real name of a later group wins over a short name of the core group.
        ("svc", "example.com/v2 svc Svc", false),
    ] {
        let found = find_resource(&client, spelling).unwrap();
        let resource = &found.resource;
        assert_eq!(
            format!("{} {} {}", resource.api_version, resource.plural, resource.kind),
            want,
            "{spelling}"
        );
        assert_eq!(found.namespaced, namespaced, "{spelling}");
    }
    let error = find_resource(&client, "deploymnts").unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.stage(), Some(Stage::Discovery));
    assert_eq!(
        error.to_string(),
        "the server has no resource \"deploymnts\"; did you mean deployments, deployment? (no answer for \
         /apis/broken.io/v1)"
    );
    assert!(find_resource(&client, "pods.nowhere.io").unwrap_err().is_not_found());
    server.finish();
}

#[test]
fn without_discovery_core_v1_is_known() {
    let missing = Expect::get("/api").on_connection(0).reply(Reply::new(404, ""));
    let server = ScriptedServer::start(Script::in_order([missing.times(2)]));
    let client = Client::from_url(&server.url()).unwrap();
    assert_eq!(find_resource(&client, "configmaps").unwrap().resource.kind, "ConfigMap");
    assert_eq!(find_resource(&client, "cm").unwrap().resource.kind, "ConfigMap");
    let error = find_resource(&client, "widgets").unwrap_err();
    assert!(error.is_not_found());
    assert!(error.to_string().contains("widgets"), "{error}");
    server.finish();
}

#[test]
fn a_server_that_is_not_there_is_not_a_missing_resource() {
    let server = ScriptedServer::start_refusing(Script::in_order([]));
    let client = Client::from_url(&server.url()).unwrap();
    let error = find_resource(&client, "widgets").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
}
