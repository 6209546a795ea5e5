//! Pauses, and what the server remembers of the requests it got.

use informer_testkit::{ApiServer, Calls, Ending, ServedRequest, within};
use serde_json::json;

use crate::wire::Wire;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WATCH: &str = "/api/v1/namespaces/default/configmaps?watch=1";

fn create(server: &ApiServer, name: &str) {
    server.create("configmaps", json!({ "metadata": { "name": name } })).unwrap();
}

#[test]
fn a_paused_server_accepts_and_does_nothing_until_it_is_resumed() {
    let server = ApiServer::start().unwrap();
    let (mut watch, mut writer) = (Wire::new(&server), Wire::new(&server));
    watch.get(WATCH, "").head();
    assert_eq!(writer.ask("GET", "/healthz", "").text(), "ok");
    server.pause();
    server.pause();
    let body = json!({ "metadata": { "name": "over-http" } }).to_string();
    let length = body.len();
    writer.send(format!("POST {MAPS} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n{body}"));
    let mut late = Wire::new(&server);
    late.get("/healthz", "");
    server.wait_for_requests(1, &Calls::create("configmaps"));
    assert!(server.list("configmaps").unwrap().is_empty(), "it has not been carried out");
    create(&server, "from-rust");
    server.resume();
    server.resume();
    assert_eq!(late.answer().text(), "ok");
    assert_eq!(writer.answer().status, 201);
    // The two may come in one chunk.
    let mut told = watch.chunk().unwrap();
    if told.lines().count() == 1 {
        told += &watch.chunk().unwrap();
    }
    let at = |name: &str| told.find(&format!("\"name\":\"{name}\"")).unwrap();
    assert!(at("from-rust") < at("over-http"), "{told}");
}

#[test]
fn a_paused_server_can_be_stopped_and_a_client_can_go() {
    let server = ApiServer::start().unwrap();
    server.pause();
    let mut idle = Wire::new(&server);
    let mut gone = Wire::new(&server);
    idle.get("/healthz", "");
    gone.get("/healthz", "");
    drop(gone);
    let server = within("the stop", move || {
        server.stop();
        server
    });
    assert!(idle.is_at_end());
    assert!(server.requests(&Calls::any()).is_empty(), "nothing was read");
}

#[test]
fn requests_are_remembered_without_their_secrets() {
    let server = ApiServer::builder().token("s3cret", "jane").start().unwrap();
    let mut wire = Wire::new(&server);
    let secret = "Authorization: Bearer s3cret\r\nCookie: s3cret\r\nUser-Agent: me/1\r\n";
    wire.get(&format!("{MAPS}?limit=5&fieldSelector=metadata.name%3Da"), secret);
    assert_eq!(wire.answer().status, 200);
    wire.get("/api/v1/secrets", "");
    assert_eq!(wire.answer().status, 403);
    let all = server.wait_for_endings(2, &Calls::any());
    assert!(!format!("{all:?}").contains("s3cret"));
    let list = &all[0];
    assert_eq!((list.method(), list.path(), list.verb()), ("GET", MAPS, "list"));
    assert_eq!((list.query("limit"), list.query("fieldSelector")), (Some("5"), Some("metadata.name=a")));
    assert_eq!((list.header("user-agent"), list.header("authorization")), (Some("me/1"), Some("…")));
    assert_eq!((list.status(), list.ending()), (Some(200), Some(Ending::Complete)));
    assert_eq!(list.to_string(), "list configmaps in default limit=5");
    assert_eq!(all[1].status(), Some(403));
    assert_eq!(server.requests(&Calls::of("secrets")).len(), 1);
    server.forget_requests();
    assert!(server.requests(&Calls::any()).is_empty());
    wire.get("/version", secret);
    wire.answer();
    assert_eq!(server.wait_for_endings(1, &Calls::any())[0].path(), "/version");
}

#[test]
fn how_a_watch_ended_is_remembered() {
    let server = ApiServer::start().unwrap();
    let (mut one, mut two) = (Wire::new(&server), Wire::new(&server));
    one.get(WATCH, "").head();
    two.get(WATCH, "").head();
    let watches = server.wait_for_requests(2, &Calls::watch("configmaps"));
    assert!(watches.iter().all(|watch| watch.ending().is_none() && watch.status() == Some(200)));
    create(&server, "a");
    let length = one.chunk().unwrap().len() as u64;
    drop(one);
    let ended = server.wait_for_endings(1, &Calls::watch("configmaps"));
    assert_eq!((ended[0].ending(), ended[0].body_bytes()), (Some(Ending::ClientGone), length));
    server.stop();
    let endings: Vec<_> =
        server.requests(&Calls::watch("configmaps")).iter().map(ServedRequest::ending).collect();
    assert_eq!(endings.len(), 2);
    assert!(endings.contains(&Some(Ending::Stopped)) && endings.contains(&Some(Ending::ClientGone)));
}

#[test]
fn only_the_newest_requests_are_kept() {
    let server = ApiServer::start().unwrap();
    let mut wire = Wire::new(&server);
    for number in 0..4_100 {
        wire.get(&format!("/healthz?number={number}"), "");
        assert_eq!(wire.answer().status, 200);
    }
    let kept = server.wait_for_endings(4_096, &Calls::path("/healthz"));
    assert_eq!((kept.len(), kept[0].query("number")), (4_096, Some("4")));
}
