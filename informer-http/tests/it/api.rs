//! [`Api`]: what each call asks, and what it makes of the answer.

use informer_core::ListWatch;
use informer_core::kube_core::params::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions,
};
use informer_core::kube_core::{ApiResource, DynamicObject, ResourceExt};
use informer_http::{Api, Client};
use informer_testkit::script::{Expect, Reply, Script};
use informer_testkit::{Request, ScriptedServer};
use k8s_openapi::api::core::v1::ConfigMap;

const MAP: &str =
    r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","uid":"u"}}"#;

/// Answers each request with the next of these, all on one connection.
fn scripted(answers: &[(u16, &str)]) -> ScriptedServer {
    let exchange =
        |(code, body): &(u16, &str)| Expect::any().on_connection(0).reply(Reply::new(*code, *body));
    ScriptedServer::start(Script::in_order(answers.iter().map(exchange)))
}

/// Each request: method, target, content type, body.
fn asked(server: &ScriptedServer) -> Vec<String> {
    let line = |request: &Request| {
        let kind = request.header("Content-Type").unwrap_or_default();
        let body = String::from_utf8_lossy(&request.body);
        format!("{} {} {kind} {body}", request.method, request.target).trim_end().to_owned()
    };
    server.requests().iter().map(line).collect()
}

#[test]
fn every_verb_asks_what_it_should() {
    let server = scripted(&[
        (200, MAP),
        (201, MAP),
        (200, MAP),
        (200, MAP),
        (200, MAP),
        (200, MAP),
        (200, r#"{"kind":"Status","status":"Success"}"#),
        (200, MAP),
        (200, r#"{"kind":"ConfigMapList","items":[]}"#),
    ]);
    let api = Api::<ConfigMap>::namespaced(&Client::from_url(&server.url()).unwrap(), "ns");
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
    let told = asked(&server);
    server.finish();

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
    let server = scripted(&[
        (200, r#"{"metadata":{"resourceVersion":"9","continue":"t"},"items":[{"metadata":{"name":"a"}}]}"#),
        (200, r#"{"metadata":{"resourceVersion":"9","continue":""},"items":[{"metadata":{"name":"b"}}]}"#),
    ]);
    let api = Api::<ConfigMap>::all(&Client::from_url(&server.url()).unwrap());
    let objects = api.list_all(&ListParams::default().at("0").limit(1)).unwrap();
    let names: Vec<_> = objects.iter().map(ResourceExt::name_any).collect();
    assert_eq!(names, ["a", "b"]);
    let told = asked(&server);
    server.finish();
    assert_eq!(told[0], "GET /api/v1/configmaps?resourceVersion=0&limit=1");
    assert_eq!(told[1], "GET /api/v1/configmaps?limit=1&continue=t");
}

#[test]
fn dy_1_kinds_of_run_time_use_the_resource_they_are_given() {
    let server = scripted(&[(
        200,
        r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":3}}"#,
    )]);
    let resource = ApiResource {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        api_version: "example.com/v1".to_owned(),
        kind: "Widget".to_owned(),
        plural: "widgets".to_owned(),
    };
    let client = Client::from_url(&server.url()).unwrap();
    let api: Api<DynamicObject> = Api::dynamic(&client, &resource, Some("ns"));
    assert_eq!(api.get("w").unwrap().data["spec"]["size"], 3);
    assert_eq!(api.list_watch().name(), "widgets.example.com");
    assert_eq!(asked(&server), ["GET /apis/example.com/v1/namespaces/ns/widgets/w"]);
    server.finish();
}

#[test]
fn d13_what_does_not_decode_of_an_answer_is_not_repeated() {
    let secret = r#"{"kind":"Secret","metadata":{"name":"a"},"data":"hunter2"}"#;
    let server = scripted(&[(200, secret), (200, secret)]);
    let api = Api::<ConfigMap>::namespaced(&Client::from_url(&server.url()).unwrap(), "ns");
    for error in [api.get("a").unwrap_err(), api.delete("a", &DeleteParams::default()).unwrap_err()] {
        assert_eq!(error.kind(), informer_core::ErrorKind::Decode);
        let shown = format!("{error} {error:?} {}", error.chain());
        assert!(shown.contains("does not decode") && !shown.contains("hunter2"), "{shown}");
    }
    server.finish();
}

#[test]
fn errors_name_verb_resource_and_object() {
    let server = scripted(&[
        (404, r#"{"kind":"Status","reason":"NotFound","message":"configmaps \"x\" not found","code":404}"#),
        (409, r#"{"kind":"Status","reason":"AlreadyExists","message":"there","code":409}"#),
        (200, r#"{"metadata":[]}"#),
    ]);
    let api = Api::<ConfigMap>::namespaced(&Client::from_url(&server.url()).unwrap(), "ns");
    let error = api.get("x").unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), "get configmaps \"x\": configmaps \"x\" not found");
    assert!(api.create(&PostParams::default(), &ConfigMap::default()).unwrap_err().is_already_exists());
    assert_eq!(api.get("y").unwrap_err().kind(), informer_core::ErrorKind::Decode);
    // Refused here: with an empty name the request would be about all objects.
    for error in [api.get("").unwrap_err(), api.delete("", &DeleteParams::default()).unwrap_err()] {
        assert_eq!(error.kind(), informer_core::ErrorKind::Config);
    }
    server.finish();
}

/// A token that has expired is the caller's to hear of, on whatever page and in whatever form, and so is every other
/// error; half a list is never an answer.
#[test]
fn p_5_p_6_p_7_a_list_of_all_pages_is_whole_or_an_error() {
    const PAGE: &str =
        r#"{"metadata":{"resourceVersion":"9","continue":"t"},"items":[{"metadata":{"name":"a"}}]}"#;
    const EXPIRED: &str = r#"{"kind":"Status","reason":"Expired","message":"too old","code":410}"#;
    for (answers, gone) in [
        (vec![(410, EXPIRED)], true),
        (vec![(200, PAGE), (410, EXPIRED)], true),
        (vec![(200, PAGE), (410, "")], true),
        (vec![(200, PAGE), (500, "{}")], false),
        (vec![(200, PAGE), (200, r#"{"metadata":{},"items":[{"metadata":[]}]}"#)], false),
    ] {
        let server = scripted(&answers);
        let api = Api::<ConfigMap>::all(&Client::from_url(&server.url()).unwrap());
        let error = api.list_all(&ListParams::default().limit(1)).unwrap_err();
        assert_eq!(error.is_gone(), gone, "{answers:?}: {error:?}");
        assert_eq!(server.requests().len(), answers.len(), "nothing more is asked");
        server.finish();
    }
}

#[test]
fn d_14_a_list_that_would_never_end_is_an_error() {
    let page = |token: &str, item: &str| {
        format!(
            r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"9","continue":"{token}"}},"items":[{item}]}}"#
        )
    };
    let round = [page("c1", MAP), page("c2", MAP), page("c1", MAP)];
    let empty: Vec<String> = (0..100).map(|at| page(&format!("c{at}"), "")).collect();
    for (pages, want) in [(&round[..], "same continue token twice"), (&empty[..], "without an object")] {
        let answers: Vec<(u16, &str)> = pages.iter().map(|page| (200, page.as_str())).collect();
        let server = scripted(&answers);
        let api = Api::<ConfigMap>::namespaced(&Client::from_url(&server.url()).unwrap(), "ns");
        let error = api.list_all(&ListParams::default().limit(1)).unwrap_err();
        assert!(error.to_string().contains(want), "{error}");
        server.wait_for_script();
    }
}
