//! What goes over the wire, what comes back, and what is made of it.

use std::time::Duration;

use informer_core::kube_core::params::PostParams;
use informer_core::{ErrorKind, ListRequest, ListWatch, Stage, Stop, WatchEnd};
use informer_http::{Api, Client, HttpListWatch};
use informer_testkit::script::{
    Expect, Framing, Head, Reply, Script, added, chunk, end, fin, head, raw, stall, status,
};
use informer_testkit::{ClosedBy, ScriptedServer, Transcript};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use crate::support::{LIST, LONG, a, a_list, list_now, source, watch_now};

const SHORT: Duration = Duration::from_millis(60);
/// Where the only object is.
const ONE: &str = "/api/v1/namespaces/ns/configmaps/a";

fn api(server: &ScriptedServer) -> Api<ConfigMap> {
    Api::namespaced(&Client::from_url(&server.url()).unwrap(), "ns")
}

#[test]
fn list_watch_list_use_one_connection() {
    let path = "/prefix/api/v1/namespaces/ns/configmaps";
    let asked = |expect: Expect| expect.on_connection(0).header("Accept", "application/json");
    let script = Script::in_order([
        asked(Expect::get(path)).header("Accept-Encoding", "gzip").reply(a_list()),
        asked(Expect::get(path)).header("Accept-Encoding", "identity").answer([head(), added(&a()), end()]), // F-98
        asked(Expect::get(path)).reply(a_list()),
    ]);
    let server = ScriptedServer::start(script);
    let client = Client::from_url(&format!("{}/prefix/", server.url())).unwrap();
    let source = HttpListWatch::new(&client).namespace("ns");
    let (listed, text) = list_now(&source, &Stop::new());
    assert_eq!((listed.unwrap().resource_version.as_str(), text.as_str()), ("7", "item ns/a@6"));
    let (watched, text) = watch_now(&source, LONG);
    assert_eq!((watched.unwrap(), text.as_str()), (WatchEnd::Closed, "opened\nADDED ns/a@6"));
    list_now(&source, &Stop::new()).0.unwrap();
    let requests = server.requests();
    assert_eq!(requests[0].target, path);
    assert_eq!(
        requests[1].target,
        format!("{path}?watch=true&resourceVersion=5&allowWatchBookmarks=true&timeoutSeconds=300")
    );
    assert!(requests.iter().all(|request| request.header("User-Agent").unwrap().starts_with("informer/")));
    assert!(requests.iter().all(|request| request.header("Authorization").is_none()));
    drop((source, client));
    assert_eq!(server.wait_for_close(0), ClosedBy::Client);
    server.finish();
}

#[test]
fn f_94_a_get_goes_out_again_when_the_pooled_connection_was_closed() {
    let script = Script::in_order([
        Expect::get(ONE).on_connection(0).reply(Reply::json(200, &a())),
        Expect::get(ONE).on_connection(0).answer([fin()]), // exactly when the second request has come
        Expect::get(ONE).on_connection(1).reply(Reply::json(200, &a())),
    ]);
    let server = ScriptedServer::start(script);
    let api = api(&server);
    api.get("a").unwrap();
    api.get("a").unwrap();
    server.finish();
}

#[test]
fn f_94_a_get_on_a_new_connection_goes_out_once() {
    let script = Script::in_order([
        Expect::get(ONE).on_connection(0).answer([fin()]),
        Expect::get("/api/v1/namespaces/ns/configmaps/b").on_connection(1).reply(Reply::json(200, &a())),
    ]);
    let server = ScriptedServer::start(script);
    let api = api(&server);
    let error = api.get("a").unwrap_err();
    assert_eq!((error.kind(), error.stage()), (ErrorKind::Network, Some(Stage::Request)));
    assert!(error.to_string().starts_with("get configmaps \"a\": "), "{error}");
    api.get("b").unwrap();
    server.finish();
}

#[test]
fn w_14_a_write_is_never_repeated() {
    let script = Script::in_order([
        Expect::get(ONE).on_connection(0).reply(Reply::json(200, &a())),
        Expect::request("POST", "/api/v1/namespaces/ns/configmaps").on_connection(0).answer([fin()]),
        Expect::get(ONE).on_connection(1).reply(Reply::json(200, &a())),
    ]);
    let server = ScriptedServer::start(script);
    let api = api(&server);
    let object = api.get("a").unwrap();
    let error = api.create(&PostParams::default(), &object).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Network);
    api.get("a").unwrap();
    server.finish();
}

#[test]
fn a_large_head_is_read_and_a_larger_one_is_not_taken_for_a_cut() {
    for (size, large) in [(12_000, false), (20_000, true), (100_000, true)] {
        let reply = a_list().header("X-Large", &"x".repeat(size));
        let server = ScriptedServer::start(Script::in_order([Expect::list().reply(reply)]));
        let (listed, text) = list_now(&source(&server), &Stop::new());
        match listed {
            Ok(_) => assert!(!large && text == "item ns/a@6", "{size}"),
            Err(error) => {
                assert!(large && error.kind() == ErrorKind::Decode, "{size}: {error}");
                assert!(error.to_string().contains("the head of the answer"), "{error}");
            }
        }
    }
}

#[test]
fn f_97_a_list_cut_short_is_an_error_in_every_form() {
    let half = &LIST[..LIST.len() / 2];
    let forms = [
        vec![head(), raw(format!("{:x}\r\n{half}", LIST.len()))],
        vec![head(), chunk(half)],
        vec![Head::new(200, Framing::Length(LIST.len())).into(), chunk(half)],
        vec![Head::new(200, Framing::Close).into(), chunk(half)],
    ];
    for form in forms {
        for closing in [fin(), informer_testkit::script::rst()] {
            let actions = form.iter().cloned().chain([closing]);
            let server = ScriptedServer::start(Script::in_order([Expect::list().answer(actions)]));
            let (listed, text) = list_now(&source(&server), &Stop::new());
            let error = listed.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Network | ErrorKind::Decode), "{form:?}: {error:?}");
            assert_eq!(error.stage(), Some(Stage::List));
            assert_eq!(text, "");
            server.finish();
        }
    }
}

#[test]
fn f_97_a_complete_list_without_length_is_a_list() {
    let old = raw(format!("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{LIST}"));
    for actions in [vec![old, fin()], vec![Head::new(200, Framing::Close).into(), chunk(LIST), fin()]] {
        let server = ScriptedServer::start(Script::in_order([Expect::list().answer(actions)]));
        let (listed, text) = list_now(&source(&server), &Stop::new());
        assert_eq!((listed.unwrap().resource_version.as_str(), text.as_str()), ("7", "item ns/a@6"));
        server.finish();
    }
}

#[test]
fn f_01_a_silent_watch_is_given_up_and_the_next_one_has_a_fresh_connection() {
    let script = Script::in_order([
        Expect::watch().rv("5").on_connection(0).answer([head(), added(&a()), stall()]),
        Expect::watch().rv("5").on_connection(1).answer([stall()]), // F-06: even the head is held back
        Expect::watch().rv("5").on_connection(2).answer([head(), added(&a()), end()]),
    ]);
    let server = ScriptedServer::start(script);
    let source = source(&server);
    let (first, text) = watch_now(&source, SHORT);
    assert_eq!((first.unwrap(), text.as_str()), (WatchEnd::Silent, "opened\nADDED ns/a@6"));
    let (second, text) = watch_now(&source, SHORT);
    assert_eq!((second.unwrap(), text.as_str()), (WatchEnd::Silent, ""));
    let (third, text) = watch_now(&source, LONG);
    assert_eq!((third.unwrap(), text.as_str()), (WatchEnd::Closed, "opened\nADDED ns/a@6"));
    for abandoned in [0, 1] {
        assert_eq!(server.wait_for_close(abandoned), ClosedBy::Client);
    }
    server.finish();
}

#[test]
fn f_95_f_66_an_error_answer_keeps_its_status_and_what_it_asks() {
    let plain = Reply::new(404, "404 page not found\n").header("Content-Type", "text/plain");
    // One connection: error bodies are read to their ends.
    let script = Script::in_order([
        Expect::list().reply(Reply::status(429, "TooManyRequests", "too many").header("Retry-After", "3")),
        Expect::watch().on_connection(0).reply(Reply::status(410, "Expired", "too old")),
        Expect::list().on_connection(0).reply(plain),
    ]);
    let server = ScriptedServer::start(script);
    let source = source(&server);
    let error = list_now(&source, &Stop::new()).0.unwrap_err();
    assert!(error.is_too_many_requests());
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
    assert_eq!(error.to_string(), "list configmaps: too many");
    let error = watch_now(&source, LONG).0.unwrap_err();
    assert!(error.is_gone());
    assert_eq!((error.stage(), error.retry_after()), (Some(Stage::WatchOpen), None));
    let error = list_now(&source, &Stop::new()).0.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), "list configmaps: status 404 Not Found: 404 page not found");
    server.finish();
}

#[test]
fn f_95_every_field_of_a_status_can_be_reached() {
    let causes = json!([{"reason": "FieldValueInvalid", "message": "no", "field": "spec.x"}]);
    for (code, reason) in [(410, "Expired"), (403, "Forbidden"), (429, "TooManyRequests"), (422, "Invalid")] {
        let details = json!({"name": "a", "kind": "configmaps", "retryAfterSeconds": 7, "causes": causes});
        let body = status(code, reason, "the message").field("details", details);
        let reply = Reply::json(code, &body);
        let script = [Expect::list().reply(reply.clone()), Expect::watch().reply(reply)];
        let server = ScriptedServer::start(Script::in_order(script));
        let source = source(&server);
        for error in [list_now(&source, &Stop::new()).0.unwrap_err(), watch_now(&source, LONG).0.unwrap_err()]
        {
            let status = error.status().unwrap();
            assert_eq!((status.code, status.reason.as_str()), (code, reason));
            assert_eq!(status.message, "the message");
            let details = status.details.as_ref().unwrap();
            assert_eq!((details.name.as_str(), details.causes[0].field.as_str()), ("a", "spec.x"));
            assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
        }
        server.finish();
    }
}

#[test]
fn f_102_redirects_and_login_pages_are_errors() {
    let script = Script::in_order([
        Expect::list().reply(Reply::new(307, "").header("Location", "http://127.0.0.1:9/x?token=secret")),
        Expect::watch().reply(Reply::new(302, "").header("Location", "https://sso.example.com/")),
        Expect::list().reply(Reply::new(200, "<html>").header("Content-Type", "text/html; charset=utf-8")),
    ]);
    let server = ScriptedServer::start(script);
    let source = source(&server);
    let error = list_now(&source, &Stop::new()).0.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Redirect);
    assert!(error.to_string().contains("http://127.0.0.1:9"), "{error}");
    assert!(!error.to_string().contains("secret"));
    let error = watch_now(&source, LONG).0.unwrap_err();
    assert_eq!((error.kind(), error.stage()), (ErrorKind::Redirect, Some(Stage::WatchOpen)));
    let error = list_now(&source, &Stop::new()).0.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert!(error.to_string().contains("text/html"), "{error}");
    server.finish();
}

#[test]
fn f_98_a_gzip_answer_is_decoded_whoever_asked_for_it() {
    let gzip = |framing| Head::new(200, framing).header("Content-Encoding", "gzip").into();
    let whole = [gzip(Framing::Length(GZIP_LIST.len())), chunk(GZIP_LIST), end()];
    // Within the data, and within the head of the compressed data: no clean end.
    let cut = |at: usize| [gzip(Framing::Close), chunk(&GZIP_LIST[..at]), fin()];
    let script = Script::in_order([
        Expect::list().answer(whole),
        Expect::list().answer(cut(60)),
        Expect::list().answer(cut(5)),
    ]);
    let server = ScriptedServer::start(script);
    let source = source(&server);
    let (listed, text) = list_now(&source, &Stop::new());
    assert_eq!((listed.unwrap().resource_version.as_str(), text.as_str()), ("7", "item ns/a@"));
    for _ in 0..2 {
        list_now(&source, &Stop::new()).0.unwrap_err();
    }
    server.finish();
}

#[test]
fn w_23_refused_connections_say_so() {
    let server = ScriptedServer::start_refusing(Script::in_order([]));
    let error = list_now(&source(&server), &Stop::new()).0.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(
        error.to_string(),
        format!(
            "list configmaps: connect to {}: connection refused; is the API server running and the \
             address right?",
            server.url()
        )
    );
}

#[test]
fn r_57_selectors_and_further_parameters_go_with_every_request() {
    let server = ScriptedServer::start(Script::in_order([Expect::list().reply(a_list())]));
    let client = Client::from_url(&server.url()).unwrap();
    let source = HttpListWatch::<ConfigMap>::new(&client)
        .label_selector("a=b")
        .field_selector("c=d")
        .query("x", "y")
        .streaming(false);
    assert!(!source.can_stream());
    assert_eq!(source.name(), "configmaps");
    let request = ListRequest { resource_version: "0".to_owned(), limit: Some(2), continue_token: None };
    source.list(&request, &Stop::new(), &mut Transcript::new()).unwrap();
    assert_eq!(
        server.requests()[0].target,
        "/api/v1/configmaps?resourceVersion=0&limit=2&labelSelector=a%3Db&fieldSelector=c%3Dd&x=y"
    );
    server.finish();
}

#[test]
fn dy_6_a_metadata_informer_asks_for_metadata_and_takes_whole_objects() {
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
    let script = Script::in_order([
        Expect::list().header("Accept", accept).reply(a_list()),
        Expect::list().header("Accept", accept).reply(Reply::new(406, "{}")),
    ]);
    let server = ScriptedServer::start(script);
    let client = Client::from_url(&server.url()).unwrap();
    let source = HttpListWatch::<informer_core::kube_core::PartialObjectMeta<ConfigMap>>::new(&client);
    let told = Transcript::new();
    source.list(&ListRequest::default(), &Stop::new(), &mut told.clone()).unwrap();
    assert_eq!(told.text(), "item ns/a@6");
    let error = source.list(&ListRequest::default(), &Stop::new(), &mut told.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotAcceptable);
    server.finish();
}

#[test]
fn addresses_that_are_none_are_refused_without_repeating_them() {
    for url in ["http://user:hunter2@host", "ftp://host", "http://host?token=hunter2", "http://"] {
        let error = Client::from_url(url).unwrap_err();
        assert_eq!((error.kind(), error.stage()), (ErrorKind::Config, Some(Stage::Config)), "{url}");
        assert!(!format!("{error:?} {}", error.chain()).contains("hunter2"), "{error:?}");
    }
    assert_eq!(Client::from_url("host:8001").unwrap().server(), "http://host:8001");
    assert_eq!(Client::from_url("http://[::1]").unwrap().server(), "http://[::1]:80");
}

const GZIP_LIST: &[u8] = &[
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x55, 0x8c, 0xb1, 0x0a, 0x84, 0x30, 0x10,
    0x44, 0xff, 0x65, 0x6a, 0x1b, 0xab, 0x83, 0xb4, 0xb6, 0xda, 0x5e, 0x73, 0x5c, 0xb1, 0xe8, 0x2a, 0x8b,
    0x64, 0x13, 0xb2, 0xd1, 0x26, 0xe4, 0xdf, 0x8d, 0x95, 0xd8, 0xcd, 0xcc, 0x7b, 0x4c, 0xc1, 0x2e, 0xba,
    0xc0, 0x61, 0x08, 0xba, 0xca, 0x36, 0x51, 0x1c, 0xc5, 0x32, 0x3a, 0x50, 0x94, 0x2f, 0x27, 0x93, 0xa0,
    0x0d, 0x9e, 0x7d, 0x5b, 0x3c, 0x67, 0x5a, 0x28, 0x13, 0x5c, 0x41, 0x62, 0x0b, 0x47, 0x9a, 0xf9, 0x51,
    0x3e, 0xa8, 0x1d, 0x24, 0xb3, 0x37, 0xb8, 0x5f, 0x79, 0xc9, 0x4a, 0x9e, 0x9b, 0x41, 0xed, 0xe3, 0x8e,
    0x16, 0x69, 0xbe, 0xbb, 0x1a, 0x6a, 0xfd, 0xd7, 0x0b, 0x85, 0xdd, 0x45, 0x2d, 0x82, 0x00, 0x00, 0x00,
];
