//! Scripts written as text: what they expect, what they send, when, and what a test asks of the requests.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use informer_testkit::script::{Expect, Script, head, pause, stall};
use informer_testkit::{ManualClock, ScriptedServer, within};

use crate::waiting::message_of;

const SECOND: Duration = Duration::from_secs(1);

/// Sends a GET and reads to the end of the connection.
fn get(server: &ScriptedServer, target: &str) -> String {
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    within("the answer", move || {
        let mut answer = Vec::new();
        // A reset ends it too.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    })
}

fn json_lines(answer: &str) -> Vec<serde_json::Value> {
    answer
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_script_of_text_sends_what_it_says() {
    let script = Script::parse(
        "
        kind Pod v1
        C> LIST rv=0               S< list(100;a@10,kube-system/b@11@u2)
        C> LIST -limit             S< list(100;a@10;token)
        C> WATCH rv=100 initial    S< 200, ev(ADDED,a,u1,101), bookmark(102), initial-end(103), error(429,3), END
        C> WATCH rv=103            S< 200
                                   S< ev(DELETED,a,u1,104), RST
        C> GET /version            S< 429(7)
        C> GET /gone x2            S< 410
        ",
    );
    let server = ScriptedServer::start(script.unwrap());
    let list = json_lines(&get(&server, "/api/v1/pods?resourceVersion=0")).remove(0);
    assert_eq!(
        list.to_string(),
        serde_json::json!({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "100"}, "items": [
            {"metadata": {"name": "a", "namespace": "default", "uid": "uid-a", "resourceVersion": "10"}},
            {"metadata": {"name": "b", "namespace": "kube-system", "uid": "u2", "resourceVersion": "11"}},
        ]})
        .to_string()
    );
    assert_eq!(json_lines(&get(&server, "/api/v1/pods"))[0]["metadata"]["continue"], "token");
    let events = json_lines(&get(&server, "/api/v1/pods?watch=1&resourceVersion=100&sendInitialEvents=true"));
    let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["ADDED", "BOOKMARK", "BOOKMARK", "ERROR"]);
    assert_eq!(events[0]["object"]["kind"], "Pod");
    assert_eq!(events[3]["object"]["details"]["retryAfterSeconds"], 3);
    get(&server, "/api/v1/pods?watch=1&resourceVersion=103");
    let busy = get(&server, "/version");
    assert!(busy.starts_with("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\n"), "{busy}");
    get(&server, "/gone");
    assert_eq!(json_lines(&get(&server, "/gone"))[0]["reason"], "Expired");
    server.finish();
}

#[test]
fn f_6_a_pause_is_as_long_as_the_clock_says() {
    let clock = ManualClock::new();
    let script = Script::parse("C> WATCH rv=5 S< wait(20s), 200, ev(ADDED,a,u1,6), FIN").unwrap();
    let server = ScriptedServer::start(script.clock(&clock));
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    stream.write_all(b"GET /api/v1/pods?watch=1&resourceVersion=5 HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(clock.advance_to_next(), 20 * SECOND);
    let answer = within("the answer", move || {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    assert_eq!(json_lines(&answer)[0]["type"], "ADDED");
    server.finish();
}

#[test]
fn a_pause_ends_with_the_server() {
    let clock = ManualClock::new();
    let script = Script::always([head(), pause(SECOND), stall()]).clock(&clock);
    let server = ScriptedServer::start(script);
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    clock.wait_for_alarms(1);
    within("the drop", move || drop(server));
}

#[test]
fn a_pause_without_a_clock_is_refused_at_once() {
    let message = message_of(|| drop(ScriptedServer::start(Script::always([pause(SECOND)]))));
    assert!(message.contains("give it one with Script::clock"), "{message}");
}

#[test]
fn f_13_requests_are_counted_and_timed() {
    let clock = ManualClock::new();
    let script = Script::parse("C> LIST x* S< 500").unwrap().clock(&clock);
    let server = ScriptedServer::start(script);
    for wait in [0, 1, 2, 4] {
        clock.advance(wait * SECOND);
        get(&server, "/api/v1/pods?resourceVersion=0");
    }
    server.wait_for_trace("LIST rv=0\nLIST rv=0\nLIST rv=0\nLIST rv=0");
    assert_eq!(server.matching(&Expect::list().rv("0")).len(), 4);
    assert_eq!(server.gaps(&Expect::list()), [SECOND, 2 * SECOND, 4 * SECOND]);
    server.assert_none(&Expect::watch());
    server.assert_rate(2, 3 * SECOND);
    let stormy = message_of(|| server.assert_rate(2, 4 * SECOND));
    assert!(stormy.contains("more than 2 requests within 4s, from 0ns on"), "{stormy}");
    let found = message_of(|| server.assert_none(&Expect::list()));
    assert!(found.contains("4 requests are LIST"), "{found}");
    let other = message_of(|| server.wait_for_trace("LIST rv=0\nWATCH rv=0"));
    assert!(other.contains("the requests, and what was expected"), "{other}");
}
