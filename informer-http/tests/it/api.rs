//! [`Api`]: what each call asks, and what it makes of the answer.

use informer_core::ListWatch;
use informer_http::{Api, Client};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::params::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube_core::{ApiResource, DynamicObject, ResourceExt};

use crate::server::{Peer, Server};

const MAP: &str =
    r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","uid":"u"}}"#;

/// Answers each request with its text and gives the request lines, types and bodies back.
fn scripted(answers: &'static [(&'static str, &'static str)]) -> (Server, std::sync::mpsc::Receiver<String>) {
    let (tell, told) = std::sync::mpsc::channel();
    let server = Server::start(move |listener| {
        let mut peer = Peer::accept(listener);
        for (status, body) in answers {
            let request = peer.request();
            let kind = request.header("content-type").unwrap_or_default();
            tell.send(format!("{} {kind} {}", request.line(), request.body).trim_end().to_owned()).unwrap();
            peer.answer(status, "", body);
        }
    });
    (server, told)
}

#[test]
fn every_verb_asks_what_it_should() {
    let (server, told) = scripted(&[
        ("200 OK", MAP),
        ("201 Created", MAP),
        ("200 OK", MAP),
        ("200 OK", MAP),
        ("200 OK", MAP),
        ("200 OK", MAP),
        ("200 OK", r#"{"kind":"Status","status":"Success"}"#),
        ("200 OK", MAP),
        ("200 OK", r#"{"kind":"ConfigMapList","items":[]}"#),
    ]);
    let api = Api::<ConfigMap>::namespaced(&Client::from_url(&server.url).unwrap(), "ns");
    let map = api.get("a").unwrap();
    assert_eq!(map.name_any(), "a");
    api.create(&PostParams { field_manager: Some("me".to_owned()), ..PostParams::default() }, &map).unwrap();
    api.replace("a", &PostParams::default(), &map).unwrap();
    let merge = Patch::Merge(serde_json::json!({"data": {"k": "v"}}));
    api.patch("a", &PatchParams::default(), &merge).unwrap();
    let apply = Patch::Apply(serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap"}));
    api.patch("a", &PatchParams::apply("me").force(), &apply).unwrap();
    api.patch_status("a", &PatchParams::default(), &merge).unwrap();
    let only = Preconditions { uid: Some("u".to_owned()), resource_version: None };
    assert!(api.delete("a", &DeleteParams::default().preconditions(only)).unwrap().is_none());
    assert!(api.delete("a", &DeleteParams::default()).unwrap().is_some());
    api.delete_collection(&DeleteParams::default(), &ListParams::default().labels("n=0")).unwrap();
    server.join();

    let told: Vec<String> = told.iter().collect();
    let path = "/api/v1/namespaces/ns/configmaps";
    let object =
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"ns","uid":"u"}}"#;
    assert_eq!(told[0], format!("GET {path}/a"));
    assert_eq!(told[1], format!("POST {path}?fieldManager=me application/json {object}"));
    assert_eq!(told[2], format!("PUT {path}/a application/json {object}"));
    assert_eq!(told[3], format!("PATCH {path}/a application/merge-patch+json {{\"data\":{{\"k\":\"v\"}}}}"));
    assert!(told[4].starts_with(&format!("PATCH {path}/a?")), "{}", told[4]);
    assert!(told[4].contains("fieldManager=me") && told[4].contains("force=true"), "{}", told[4]);
    assert!(told[4].contains(" application/apply-patch+yaml "), "{}", told[4]);
    assert!(told[5].starts_with(&format!("PATCH {path}/a/status application/merge-patch+json ")));
    assert!(told[6].starts_with(&format!("DELETE {path}/a application/json ")), "{}", told[6]);
    assert!(told[6].contains(r#""preconditions":{"uid":"u"}"#), "{}", told[6]);
    assert_eq!(told[8], format!("DELETE {path}?labelSelector=n%3D0"));
}

#[test]
fn all_pages_are_one_list_and_the_version_goes_with_the_first_only() {
    let (server, told) = scripted(&[
        (
            "200 OK",
            r#"{"metadata":{"resourceVersion":"9","continue":"t"},"items":[{"metadata":{"name":"a"}}]}"#,
        ),
        (
            "200 OK",
            r#"{"metadata":{"resourceVersion":"9","continue":""},"items":[{"metadata":{"name":"b"}}]}"#,
        ),
    ]);
    let api = Api::<ConfigMap>::all(&Client::from_url(&server.url).unwrap());
    let objects = api.list_all(&ListParams::default().at("0").limit(1)).unwrap();
    let names: Vec<_> = objects.iter().map(ResourceExt::name_any).collect();
    assert_eq!(names, ["a", "b"]);
    server.join();
    let told: Vec<String> = told.iter().collect();
    assert_eq!(told[0], "GET /api/v1/configmaps?resourceVersion=0&limit=1");
    assert_eq!(told[1], "GET /api/v1/configmaps?limit=1&continue=t");
}

#[test]
fn dy_1_kinds_of_run_time_use_the_resource_they_are_given() {
    let (server, told) = scripted(&[(
        "200 OK",
        r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":3}}"#,
    )]);
    let resource = ApiResource {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        api_version: "example.com/v1".to_owned(),
        kind: "Widget".to_owned(),
        plural: "widgets".to_owned(),
    };
    let client = Client::from_url(&server.url).unwrap();
    let api: Api<DynamicObject> = Api::dynamic(&client, &resource, Some("ns"));
    assert_eq!(api.get("w").unwrap().data["spec"]["size"], 3);
    assert_eq!(api.list_watch().name(), "widgets.example.com");
    server.join();
    assert_eq!(told.recv().unwrap(), "GET /apis/example.com/v1/namespaces/ns/widgets/w");
}

#[test]
fn errors_name_verb_resource_and_object() {
    let (server, _told) = scripted(&[
        (
            "404 Not Found",
            r#"{"kind":"Status","reason":"NotFound","message":"configmaps \"x\" not found","code":404}"#,
        ),
        ("409 Conflict", r#"{"kind":"Status","reason":"AlreadyExists","message":"there","code":409}"#),
        ("200 OK", r#"{"metadata":[]}"#),
    ]);
    let api = Api::<ConfigMap>::namespaced(&Client::from_url(&server.url).unwrap(), "ns");
    let error = api.get("x").unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), "get configmaps \"x\": configmaps \"x\" not found");
    assert!(api.create(&PostParams::default(), &ConfigMap::default()).unwrap_err().is_already_exists());
    assert_eq!(api.get("y").unwrap_err().kind(), informer_core::ErrorKind::Decode);
    // Refused here: with an empty name the request would be about all objects.
    for error in [api.get("").unwrap_err(), api.delete("", &DeleteParams::default()).unwrap_err()] {
        assert_eq!(error.kind(), informer_core::ErrorKind::Config);
    }
    server.join();
}
