//! HTTP as the embedded API server speaks it: whatever bytes come, the next client is served.

use std::net::TcpStream;

use informer_testkit::{ApiServer, ThreadMark, alone, open_sockets, within};
use serde_json::json;

use crate::wire::Wire;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WATCH: &str = "/api/v1/namespaces/default/configmaps?watch=1";

fn config_map(name: &str) -> String {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } }).to_string()
}

#[test]
fn a_connection_serves_request_after_request() {
    let server = ApiServer::start().unwrap();
    let mut wire = Wire::new(&server);
    for name in ["a", "b", "c"] {
        assert_eq!(wire.ask("POST", CONFIG_MAPS, &config_map(name)).status, 201);
    }
    let list = wire.ask("GET", CONFIG_MAPS, "").json();
    assert_eq!(list["items"].as_array().unwrap().len(), 3);
    // All at once: answered one after the other, in their order.
    wire.get("/version", "").get("/nowhere", "").get("/healthz", "Connection: close\r\n");
    assert_eq!(wire.answer().json()["minor"], "37");
    assert_eq!(wire.answer().status, 404);
    let last = wire.answer();
    assert_eq!((last.text(), last.header("connection")), ("ok", Some("close")));
    assert!(wire.is_at_end());
}

#[test]
fn what_is_no_http_is_refused_and_harms_nobody() {
    let server = ApiServer::start().unwrap();
    let long = format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "x".repeat(2 << 20));
    let fields = format!("GET / HTTP/1.1\r\nHost: h\r\n{}\r\n", "a: b\r\n".repeat(5000));
    let coded = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n";
    for (bytes, status) in [
        (&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"[..], 400),
        (b"garbage\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (coded.as_bytes(), 501),
        (long.as_bytes(), 431),
        (fields.as_bytes(), 431),
    ] {
        let mut wire = Wire::new(&server);
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
        wire.send(bytes).half_close();
        assert_eq!(wire.answer().status, status, "{start:?}");
        assert!(wire.is_at_end(), "{start:?}");
    }
    // In these words.
    for (bytes, head, text) in [
        ("garbage\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n", "400 Bad Request"),
        (
            "GET / HTTP/1.1\r\n\r\n",
            "HTTP/1.1 400 Bad Request: missing required Host header\r\n",
            "400 Bad Request: missing required Host header",
        ),
        (coded, "HTTP/1.1 501 Not Implemented\r\n", "Unsupported transfer encoding"),
        (&long, "HTTP/1.1 431 Request Header Fields Too Large\r\n", "431 Request Header Fields Too Large"),
    ] {
        let answer = Wire::new(&server).send(bytes).half_close().answer();
        assert!(answer.head.starts_with(head), "{}", answer.head);
        assert_eq!(answer.text(), text);
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    }
    // Requests that end early: nobody is there to be told.
    for bytes in ["", "GET /", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab"] {
        Wire::new(&server).send(bytes);
    }
    assert_eq!(Wire::once(&server, "GET", "/healthz", "").text(), "ok");
}

#[test]
fn a_body_over_the_limit_is_refused_with_a_status() {
    let server = ApiServer::start().unwrap();
    let most = 3 << 20;
    let length = format!("Content-Length: {}\r\n", most + 1);
    let mut wire = Wire::new(&server);
    wire.send(format!("POST {CONFIG_MAPS} HTTP/1.1\r\nHost: h\r\n{length}\r\n"));
    wire.send(vec![b'x'; most + 1]);
    let answer = wire.answer();
    assert_eq!((answer.status, answer.json()["reason"].clone()), (413, json!("RequestEntityTooLarge")));
    assert_eq!(answer.json()["message"], "Request entity too large: limit is 3145728");
    assert!(wire.is_at_end());
    let mut chunked = Wire::new(&server);
    chunked.send(format!("POST {CONFIG_MAPS} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"));
    chunked.send(format!("{most:x}\r\n")).send(vec![b'x'; most]).send("\r\n1\r\nx\r\n0\r\n\r\n");
    assert_eq!(chunked.answer().status, 413);
    // One that says it would wait is told before it sends.
    let mut asks = Wire::new(&server);
    asks.send(format!("POST {CONFIG_MAPS} HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n{length}\r\n"));
    assert_eq!(asks.answer().status, 413);
}

#[test]
fn a_body_may_come_in_chunks_and_after_a_question() {
    let server = ApiServer::start().unwrap();
    let mut wire = Wire::new(&server);
    let object = config_map("chunked");
    let (one, two) = object.split_at(10);
    wire.send(format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n{:x};x=y\r\n{one}\r\n{:x}\r\n{two}\r\n\
         0\r\nTrailer: z\r\n\r\n",
        one.len(),
        two.len(),
    ));
    assert_eq!(wire.answer().status, 201);
    let object = config_map("asked");
    wire.send(format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        object.len()
    ));
    assert!(wire.head().starts_with("HTTP/1.1 100 Continue\r\n"));
    wire.send(object);
    assert_eq!(wire.answer().status, 201);
}

#[test]
fn a_client_that_only_stops_sending_gets_its_answer() {
    let server = ApiServer::start().unwrap();
    let mut wire = Wire::new(&server);
    wire.get("/version", "").half_close();
    assert_eq!(wire.answer().status, 200);
    assert!(wire.is_at_end());
}

#[test]
fn f_33_a_list_and_a_watch_and_another_list_on_one_connection() {
    let server = ApiServer::start().unwrap();
    let mut wire = Wire::new(&server);
    assert_eq!(wire.ask("GET", CONFIG_MAPS, "").status, 200);
    let target = format!("{WATCH}&timeoutSeconds=1");
    assert!(wire.get(&target, "").head().contains("Transfer-Encoding: chunked"));
    assert_eq!(wire.chunk(), None);
    assert_eq!(wire.ask("GET", CONFIG_MAPS, "").status, 200);
}

#[test]
fn a_watch_tells_what_is_written_from_rust() {
    let server = ApiServer::start().unwrap();
    let mut wire = Wire::new(&server);
    wire.get(WATCH, "").head();
    server.create("configmaps", json!({ "metadata": { "name": "a" } })).unwrap();
    let event = wire.event();
    assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&json!("ADDED"), &json!("a")));
    server.delete("configmaps", "a").unwrap();
    assert_eq!(wire.event()["type"], "DELETED");
    within("the stop", move || server.stop());
    assert_eq!(wire.chunk(), None);
    assert!(wire.is_at_end());
}

#[test]
fn stop_with_open_watches_leaves_no_thread_and_no_socket() {
    alone(|| {
        let (mark, sockets) = (ThreadMark::of("api-"), open_sockets());
        let server = ApiServer::start().unwrap();
        let mut watches: Vec<Wire> = (0..300).map(|_| Wire::new(&server)).collect();
        for wire in &mut watches {
            assert!(wire.get(WATCH, "").head().starts_with("HTTP/1.1 200 OK\r\n"));
        }
        server.create("configmaps", json!({ "metadata": { "name": "a" } })).unwrap();
        for wire in &mut watches {
            assert_eq!(wire.event()["type"], "ADDED");
        }
        let addr = server.url().split_once("://").unwrap().1.to_owned();
        let idle = TcpStream::connect(&addr).unwrap();
        let server = within("the stop", move || {
            server.stop();
            server
        });
        mark.assert_none_left();
        for mut wire in watches.drain(..) {
            assert_eq!(wire.chunk(), None);
        }
        drop(idle);
        assert_eq!(open_sockets(), sockets);
        assert!(TcpStream::connect(addr).is_err(), "nobody listens any more");
        assert_eq!(server.list("configmaps").unwrap().len(), 1, "objects can still be read");
    });
}

#[test]
fn watches_of_clients_that_have_gone_end_though_nothing_happens() {
    alone(|| {
        let server = ApiServer::start().unwrap();
        let mark = ThreadMark::of("api-conn");
        let mut watches: Vec<Wire> = (0..20).map(|_| Wire::new(&server)).collect();
        for wire in &mut watches {
            wire.get(WATCH, "").head();
        }
        assert_eq!(mark.left(), 20);
        drop(watches);
        mark.assert_none_left();
    });
}

#[test]
fn a_port_that_is_taken_is_named() {
    let server = ApiServer::start().unwrap();
    let port = server.url().rsplit_once(':').unwrap().1.parse().unwrap();
    let error = ApiServer::builder().port(port).start().unwrap_err();
    assert!(error.to_string().contains(&format!("port {port}")), "{error}");
    drop(server);
    let again = ApiServer::builder().port(port).start().unwrap();
    assert!(again.url().ends_with(&format!(":{port}")));
}
