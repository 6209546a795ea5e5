//! The scripted server, looked at byte by byte.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use informer_testkit::script::{
    Expect, Framing, Head, Reply, Script, added, bookmark, chunk, deleted, end, error_event, fin, head, hold,
    initial_events_end, list, modified, object, page, raw, rst, stall, status,
};
use informer_testkit::{ClosedBy, Gate, ScriptedServer, within};

use crate::waiting::message_of;

const LIST: &str = "/api/v1/configmaps?resourceVersion=0";
const WATCH: &str = "/api/v1/configmaps?watch=1&resourceVersion=100";

/// A client that shows every byte.
struct Client {
    stream: TcpStream,
}

impl Client {
    fn new(server: &ScriptedServer) -> Self {
        Client { stream: TcpStream::connect(server.addr()).unwrap() }
    }

    fn get(&mut self, target: &str) -> &mut Self {
        write!(self.stream, "GET {target} HTTP/1.1\r\nHost: test\r\n\r\n").unwrap();
        self
    }

    /// Reads until `text` has come, and not a byte further.
    fn until(&mut self, text: &str) -> String {
        let mut stream = self.stream.try_clone().unwrap();
        let wanted = text.to_owned();
        within(&format!("{text:?}"), move || {
            let mut got = Vec::new();
            while !got.ends_with(wanted.as_bytes()) {
                let mut byte = [0];
                let count = stream.read(&mut byte).unwrap();
                assert_ne!(count, 0, "the end came first: {}", String::from_utf8_lossy(&got));
                got.push(byte[0]);
            }
            String::from_utf8(got).unwrap()
        })
    }

    /// Reads to the end of the connection.
    fn rest(&mut self) -> Result<String, ErrorKind> {
        let mut stream = self.stream.try_clone().unwrap();
        within("the end of the connection", move || {
            let mut got = String::new();
            stream.read_to_string(&mut got).map(|_| got).map_err(|error| error.kind())
        })
    }
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

#[test]
fn f_33_a_list_and_a_watch_on_one_connection() {
    let a = object("ns/a", "u1", "10");
    let script = Script::in_order([
        Expect::list().rv("0").on_connection(0).reply(list("100", std::slice::from_ref(&a))),
        Expect::watch().rv("100").on_connection(0).answer([
            head(),
            added(&object("ns/b", "u2", "101")),
            modified(&object("ns/b", "u2", "102")),
            deleted(&object("ns/b", "u2", "103")),
            bookmark("104"),
            end(),
        ]),
        Expect::get("/version").reply(Reply::new(200, "{}")),
    ]);
    let server = ScriptedServer::start(script);
    let mut client = Client::new(&server);
    let answer = client.get(LIST).until("]}");
    let answer: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
    assert_eq!(answer["kind"], "ConfigMapList");
    assert_eq!(answer["metadata"]["resourceVersion"], "100");
    assert_eq!(answer["items"][0]["metadata"]["name"], "a");
    assert_eq!(answer["items"][0]["kind"], serde_json::Value::Null);
    let stream = client.get(WATCH).until("0\r\n\r\n");
    let types: Vec<_> = stream.lines().filter(|line| line.starts_with('{')).map(|line| &line[..15]).collect();
    assert_eq!(
        types,
        [r#"{"type":"ADDED""#, r#"{"type":"MODIFI"#, r#"{"type":"DELETE"#, r#"{"type":"BOOKMA"#]
    );
    client.get("/version").until("{}");
    assert_eq!(server.trace(), "LIST rv=0\nWATCH rv=100\nGET /version");
    assert_eq!(server.connections(), 1);
    server.finish();
}

#[test]
fn f_19_bytes_are_sent_as_they_are_given() {
    let script = Script::in_order([Expect::any().answer([
        raw("HTTP/1.1 200 OK\r\nTransfer-"),
        raw("Encoding: chunked\r\n\r\n3\r"),
        raw("\nabc\r\n"),
    ])]);
    let server = ScriptedServer::start(script);
    let answer = Client::new(&server).get("/").rest().unwrap();
    assert_eq!(answer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    server.finish();
}

#[test]
fn chunks_follow_the_framing_of_the_head() {
    let script = Script::in_order([
        Expect::any().answer([head(), chunk("ab"), chunk(""), chunk("c"), end()]),
        Expect::any().answer([Head::new(200, Framing::Length(3)).into(), chunk("ab"), chunk("c"), end()]),
        Expect::any().answer([Head::new(200, Framing::Close).into(), chunk("abc"), end()]),
    ]);
    let server = ScriptedServer::start(script);
    let mut client = Client::new(&server);
    assert_eq!(body(&client.get("/").until("0\r\n\r\n")), "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
    assert!(client.get("/").until("abc").contains("Content-Length: 3\r\n\r\nabc"));
    assert!(client.get("/").rest().unwrap().ends_with("Connection: close\r\n\r\nabc"));
    server.finish();
}

#[test]
fn pages_carry_their_token_and_bare_items() {
    let items = [object("node-1", "u", "1").of("Node", "v1").field("spec", serde_json::json!({}))];
    let server = ScriptedServer::start(Script::in_order([Expect::list().reply(page("7", "token", &items))]));
    let wire = concat!(
        r#"{"kind":"NodeList","apiVersion":"v1","metadata":{"continue":"token","resourceVersion":"7"},"#,
        r#""items":[{"metadata":{"name":"node-1","uid":"u","resourceVersion":"1"},"spec":{}}]}"#
    );
    Client::new(&server).get(LIST).until(wire);
    server.finish();
}

#[test]
fn raw_bytes_are_a_whole_response_when_the_script_says_so() {
    let whole = raw("HTTP/1.1 204 No Content\r\n\r\n");
    let script = Script::in_order([
        Expect::any().answer([whole.clone(), end()]),
        Expect::any().on_connection(0).answer([whole]),
    ]);
    let server = ScriptedServer::start(script);
    let mut client = Client::new(&server);
    client.get("/").until("\r\n\r\n");
    assert_eq!(client.get("/").rest().as_deref(), Ok("HTTP/1.1 204 No Content\r\n\r\n"));
    server.finish();
}

#[test]
fn a_body_is_cut_short() {
    let cut = list("100", &[]).cut_after(10);
    let server = ScriptedServer::start(Script::in_order([Expect::list().reply(cut)]));
    let answer = Client::new(&server).get(LIST).rest().unwrap();
    assert_eq!(body(&answer).len(), 10);
    server.finish();
}

#[test]
fn fin_and_rst_are_told_apart() {
    let script = Script::in_order([
        Expect::any().answer([head(), chunk("x"), fin()]),
        Expect::any().answer([head(), rst()]),
        Expect::connection().answer([rst()]),
        Expect::connection().answer([raw("nonsense"), fin()]),
    ]);
    let server = ScriptedServer::start(script);
    assert!(Client::new(&server).get("/").rest().is_ok());
    assert_eq!(Client::new(&server).get("/").rest(), Err(ErrorKind::ConnectionReset));
    assert_eq!(Client::new(&server).rest(), Err(ErrorKind::ConnectionReset));
    assert_eq!(Client::new(&server).rest().as_deref(), Ok("nonsense"));
    assert_eq!(server.wait_for_close(0), ClosedBy::Server);
    server.finish();
}

#[test]
fn f_1_a_stall_lasts_until_the_client_goes() {
    let server = ScriptedServer::start(Script::in_order([Expect::watch().answer([head(), stall()])]));
    let mut client = Client::new(&server);
    client.get(WATCH).until("\r\n\r\n");
    drop(client);
    assert_eq!(server.wait_for_close(0), ClosedBy::Client);
    server.finish();
}

#[test]
fn a_gate_holds_the_answer_back() {
    let gate = Gate::new("half of the emoji");
    let emoji = "😀".as_bytes();
    let script = Script::in_order([Expect::watch().answer([
        head(),
        chunk(&emoji[..2]),
        hold(&gate),
        chunk(&emoji[2..]),
        fin(),
    ])]);
    let server = ScriptedServer::start(script);
    let mut client = Client::new(&server);
    client.get(WATCH);
    gate.wait_for_waiting(1);
    server.wait_for_script();
    gate.open();
    let mut bytes = Vec::new();
    client.stream.read_to_end(&mut bytes).unwrap();
    assert!(bytes.ends_with(b"2\r\n\xf0\x9f\r\n2\r\n\x98\x80\r\n"));
    server.finish();
}

#[test]
fn what_the_script_does_not_expect_is_500_and_a_failure() {
    let server = ScriptedServer::start(Script::in_order([Expect::list().rv("7").reply(list("8", &[]))]));
    let answer = Client::new(&server).get(WATCH).rest().unwrap();
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
    let message = message_of(|| server.finish());
    assert!(message.contains(r#"unexpected: ["WATCH rv=100"]; missing: ["LIST rv=7"]"#), "{message}");
}

#[test]
fn no_http_is_a_failure() {
    let server = ScriptedServer::start(Script::always([end()]));
    let mut client = Client::new(&server);
    client.stream.write_all(b"\x16\x03\x01\n").unwrap();
    assert!(client.rest().unwrap().starts_with("HTTP/1.1 400 "));
    assert!(message_of(|| server.finish()).contains("no HTTP request on connection 0"));
}

#[test]
fn requests_are_recorded_whole() {
    let script = Script::in_order([Expect::request("POST", "/api/v1/namespaces/ns/configmaps")
        .header("Authorization", "Bearer token")
        .query("fieldManager", "a b")
        .no_query("dryRun")
        .when("a body", |request| request.body == b"{}")
        .reply(Reply::status(409, "AlreadyExists", "there").header("Retry-After", "1"))]);
    let server = ScriptedServer::start(script);
    let mut client = Client::new(&server);
    let request = "POST /api/v1/namespaces/ns/configmaps?fieldManager=a%20b HTTP/1.1\r\n\
                   Authorization: Bearer token\r\nContent-Length: 2\r\n\r\n{}";
    client.stream.write_all(request.as_bytes()).unwrap();
    let answer = client.until("}");
    assert!(answer.starts_with("HTTP/1.1 409 Conflict\r\nRetry-After: 1\r\n"), "{answer}");
    let requests = server.wait_for_requests(1);
    assert_eq!((&*requests[0].method, requests[0].header("authorization")), ("POST", Some("Bearer token")));
    server.finish();
}

#[test]
fn f_36_connections_are_refused_and_accepted_on_one_port() {
    let server = ScriptedServer::start_refusing(Script::always([Reply::new(200, "{}").into()]));
    let connect = || TcpStream::connect(server.addr()).map_err(|error| error.kind());
    for _ in 0..3 {
        assert_eq!(connect().err(), Some(ErrorKind::ConnectionRefused));
    }
    server.accept_connections();
    let mut open = Client::new(&server);
    open.get("/").until("{}");
    server.refuse_connections();
    assert_eq!(connect().err(), Some(ErrorKind::ConnectionRefused));
    open.get("/").until("{}"); // goes on
    server.accept_connections();
    Client::new(&server).get("/").until("{}");
}

#[test]
fn dropping_the_server_ends_everything() {
    let gate = Gate::new("never");
    let script = Script::any_order([
        Expect::watch().answer([head(), stall()]),
        Expect::list().answer([hold(&gate)]),
        // More than any socket takes from a client that does not read.
        Expect::get("/big").answer([raw(vec![0; 64 << 20])]),
    ]);
    let server = ScriptedServer::start(script);
    let mut clients: Vec<_> = (0..4).map(|_| Client::new(&server)).collect();
    for (client, target) in clients.iter_mut().zip([WATCH, LIST, "/big"]) {
        client.get(target);
    }
    server.wait_for_script();
    within("the drop", move || drop(server));
}

#[test]
fn the_words_have_the_shape_of_the_wire() {
    let answer = |action| {
        let server = ScriptedServer::start(Script::always([head(), action, fin()]));
        let answer = Client::new(&server).get("/").rest().unwrap();
        let line = answer.lines().find(|line| line.starts_with('{')).unwrap();
        serde_json::from_str::<serde_json::Value>(line).unwrap()
    };
    let end = answer(initial_events_end("415"));
    assert_eq!(end["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    assert_eq!(end["object"]["metadata"]["resourceVersion"], "415");
    let gone = answer(error_event(410, "Expired", "too old resource version: 1 (500)"));
    assert_eq!((&gone["type"], &gone["object"]["code"]), (&"ERROR".into(), &410.into()));
    let text = serde_json::to_string(&status(410, "Expired", "old")).unwrap();
    let wire = concat!(
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","#,
        r#""message":"old","reason":"Expired","code":410}"#
    );
    assert_eq!(text, wire);
}
