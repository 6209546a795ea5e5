//! Recorded exchanges with a real server, asked again in their order.
//!
//! Compared are the status, the headers that mean something, the body with uids, times and versions masked, and, for
//! kinds whose fields a real server writes in the alphabet's order too, the order of the fields.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Bench, Watching, normalised, read};
use crate::api_server::exchange::{Answer, Call, Whole};

/// One recorded exchange.
struct Recorded {
    name: &'static str,
    call: Call,
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

fn recorded(name: &'static str) -> Recorded {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../informer-http/tests/wire");
    let text = |ending: &str| {
        let path = folder.join(format!("{name}.{ending}"));
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let (head, body) = parts(&text("request"));
    let (line, lines) = head.split_once("\r\n").unwrap();
    let mut words = line.split(' ');
    let mut call = Bench::call(words.next().unwrap(), words.next().unwrap(), body);
    call.headers = headers(lines);
    let (head, mut body) = parts(&text("response"));
    let (line, lines) = head.split_once("\r\n").unwrap();
    let headers = headers(lines);
    if headers.iter().any(|(name, _)| name == "Transfer-Encoding") {
        body = unchunked(&body);
    }
    let status = line.split(' ').nth(1).unwrap().parse().unwrap();
    Recorded { name, call, status, headers, body: String::from_utf8(body).unwrap() }
}

fn parts(bytes: &[u8]) -> (String, Vec<u8>) {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    (String::from_utf8(bytes[..end].to_vec()).unwrap(), bytes[end + 4..].to_vec())
}

fn headers(lines: &str) -> Vec<(String, String)> {
    let pairs = lines.split("\r\n").filter_map(|line| line.split_once(": "));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let end = bytes.iter().position(|byte| *byte == b'\r').unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return whole;
        }
        whole.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 4 + size..];
    }
}

/// The names of all fields, in the order in which they are written.
fn fields(json: &str) -> Vec<&str> {
    let mut fields = Vec::new();
    let mut rest = json;
    while let Some(start) = rest.find('"') {
        let inner = &rest[start + 1..];
        let mut end = 0;
        while inner.as_bytes()[end] != b'"' {
            end += if inner.as_bytes()[end] == b'\\' { 2 } else { 1 };
        }
        rest = &inner[end + 1..];
        if rest.starts_with(':') {
            fields.push(&inner[..end]);
        }
    }
    fields
}

impl Recorded {
    /// Names another version than the recorded one.
    fn at(mut self, version: &str) -> Self {
        for (key, value) in &mut self.call.query {
            if key == "resourceVersion" {
                version.clone_into(value);
            }
        }
        self
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    fn is_what(&self, answer: &Whole) {
        let ours =
            |name: &str| answer.headers.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str());
        let body = String::from_utf8(answer.body.clone()).unwrap();
        assert_eq!(answer.status, self.status, "{}: {body}", self.name);
        for name in ["Content-Type", "Cache-Control", "Retry-After"] {
            assert_eq!(ours(name), self.header(name), "{}: {name}", self.name);
        }
        if self.header("Content-Type") == Some("application/json") {
            let (theirs, ours) = (value(&self.body), value(&body));
            assert_eq!(
                normalised(&ours),
                normalised(&theirs),
                "{}\nours:   {body}\ntheirs: {}",
                self.name,
                self.body
            );
        } else {
            assert_eq!(body, self.body, "{}", self.name);
        }
    }

    /// The same, down to the order of the fields.
    #[track_caller]
    fn is_exactly(&self, answer: &Whole) {
        self.is_what(answer);
        let body = std::str::from_utf8(&answer.body).unwrap();
        assert_eq!(fields(body), fields(&self.body), "{}", self.name);
        assert_eq!(body.ends_with('\n'), self.body.ends_with('\n'), "{}: the last byte", self.name);
    }

    #[track_caller]
    fn events_are(&self, events: &[Value]) {
        let theirs: Vec<Value> = self.body.lines().map(value).collect();
        assert_eq!(
            normalised(&Value::Array(events.to_vec())),
            normalised(&Value::Array(theirs)),
            "{}\nours:   {events:#?}",
            self.name
        );
    }
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The world of the recordings: a namespace with five ConfigMaps and a Pod.
fn wired() -> Bench {
    let bench = Bench::new();
    bench.done("POST", "/api/v1/namespaces", json!({"metadata": {"name": "wire"}}));
    for n in 0..5 {
        let labels = json!({"n": (n % 2).to_string()});
        let body = json!({"metadata": {"name": format!("cm-{n}"), "labels": labels}, "data": {"k": "v"}});
        bench.done("POST", "/api/v1/namespaces/wire/configmaps", body);
    }
    // Something else happened before the first list.
    bench.done("POST", "/api/v1/namespaces/wire/secrets", json!({"metadata": {"name": "other"}}));
    bench
}

fn pod(bench: &Bench) {
    let container = json!({"name": "c", "image": "registry.example.com/web:1"});
    let body =
        json!({"metadata": {"name": "web-0", "labels": {"app": "web"}}, "spec": {"containers": [container]}});
    bench.done("POST", "/api/v1/namespaces/wire/pods", body);
}

/// Asks what was asked, and compares.
#[track_caller]
fn same(bench: &Bench, name: &'static str) {
    let recorded = recorded(name);
    recorded.is_what(&bench.ask(&recorded.call));
}

#[track_caller]
fn exactly_same(bench: &Bench, name: &'static str) {
    let recorded = recorded(name);
    recorded.is_exactly(&bench.ask(&recorded.call));
}

#[test]
fn lists_are_those_of_a_real_server() {
    let bench = wired();
    exactly_same(&bench, "01-list-limit-2");
    let first = recorded("01-list-limit-2");
    let (_, page) = read(&bench.ask(&first.call));
    let mut second = recorded("02-list-page-2");
    for (key, value) in &mut second.call.query {
        if key == "continue" {
            page.pointer("/metadata/continue").and_then(Value::as_str).unwrap().clone_into(value);
        }
    }
    second.is_exactly(&bench.ask(&second.call));
    exactly_same(&bench, "03-list-rv0");
    exactly_same(&bench, "04-list-rv0-limit");
    exactly_same(&bench, "05-list-empty");
    let revision = bench.revision();
    let fresh = recorded("06-list-not-older-than").at(&revision);
    fresh.is_exactly(&bench.ask(&fresh.call));
    let (waited, ()) = bench.until_the_alarm(|| exactly_same(&bench, "07-list-rv-future"));
    assert_eq!(waited, Duration::from_secs(3));
    exactly_same(&bench, "08-list-exact-too-old");
    exactly_same(&bench, "09-list-bad-continue");
    exactly_same(&bench, "10-list-label-selector");
    exactly_same(&bench, "11-list-field-selector");
    exactly_same(&bench, "12-list-bad-selector");
    exactly_same(&bench, "13-list-bad-field");
    exactly_same(&bench, "14-list-metadata-only");
    exactly_same(&bench, "32-not-found-object");
    exactly_same(&bench, "33-not-found-resource");
    exactly_same(&bench, "65-method-not-allowed");
}

#[test]
fn a_token_is_what_a_real_server_makes_of_the_same_place() {
    let recorded = recorded("02-list-page-2");
    let token = recorded.call.parameter("continue").unwrap();
    let parsed = crate::api_server::token::Token::parse(token, Some("wire")).unwrap();
    assert_eq!((parsed.revision, parsed.after.name.as_str()), (Some(401), "cm-1"));
    assert_eq!(parsed.text(Some("wire")), token);
}

#[test]
fn what_is_forgotten_is_refused_as_by_a_real_server() {
    let bench = wired();
    let (_, page) = bench.get("/api/v1/namespaces/wire/configmaps?limit=1");
    let revision = bench.revision();
    bench.done("DELETE", "/api/v1/namespaces/wire/configmaps/cm-4", Value::Null);
    bench.engine.compact();
    let mut list = recorded("69-list-continue-expired");
    for (key, value) in &mut list.call.query {
        if key == "continue" {
            page.pointer("/metadata/continue").and_then(Value::as_str).unwrap().clone_into(value);
        }
    }
    list.is_exactly(&bench.ask(&list.call));
    let exact = recorded("70-list-exact-compacted").at(&revision);
    exact.is_exactly(&bench.ask(&exact.call));
    for name in ["67-watch-gone", "68-watch-gone-selector"] {
        let recorded = recorded(name);
        recorded.events_are(&watched(&bench, &recorded).rest());
    }
}

#[test]
fn writes_are_answered_as_by_a_real_server() {
    let bench = wired();
    exactly_same(&bench, "34-create");
    exactly_same(&bench, "35-create-exists");
    exactly_same(&bench, "36-create-invalid");
    exactly_same(&bench, "37-create-malformed");
    let mut stale = recorded("38-update-conflict");
    let (_, new) = bench.get("/api/v1/namespaces/wire/configmaps/new");
    let mut body = value(std::str::from_utf8(&stale.call.body).unwrap());
    body["metadata"]["uid"] = new["metadata"]["uid"].clone();
    stale.call.body = body.to_string().into_bytes();
    stale.is_exactly(&bench.ask(&stale.call));
    exactly_same(&bench, "39-patch-merge");
    exactly_same(&bench, "40-patch-json");
    exactly_same(&bench, "45-delete");
    exactly_same(&bench, "46-delete-uid-mismatch");
    exactly_same(&bench, "47-delete-finalizer");
    exactly_same(&bench, "48-delete-with-finalizer");
    exactly_same(&bench, "49-deletecollection");
}

#[test]
fn other_kinds_are_written_as_by_a_real_server() {
    let bench = wired();
    same(&bench, "50-lease-create");
    same(&bench, "51-event-create");
    same(&bench, "52-events-k8s-io-create");
}

#[test]
fn pods_are_patched_as_by_a_real_server() {
    let bench = wired();
    pod(&bench);
    for name in ["43-patch-strategic", "44-patch-status"] {
        let recorded = recorded(name);
        let (status, ours) = read(&bench.ask(&recorded.call));
        assert_eq!(status, 200, "{ours}");
        assert_eq!(normalised(&ours), normalised(&value(&recorded.body)), "{name}");
    }
}

#[test]
fn custom_resources_are_those_of_a_real_server() {
    let bench = wired();
    same(&bench, "60-crd-create");
    exactly_same(&bench, "61-cr-create");
    exactly_same(&bench, "62-cr-list");
    let revision = bench.revision();
    let watch = recorded("63-cr-watch-crd-deleted").at(&revision);
    let watching = watched(&bench, &watch);
    bench.done(
        "DELETE",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com",
        Value::Null,
    );
    watch.events_are(&watching.rest());
    exactly_same(&bench, "64-cr-list-after-crd-deleted");
}

/// A watch as it was asked for.
fn watched(bench: &Bench, recorded: &Recorded) -> Watching {
    match bench.engine.answer(&recorded.call) {
        Answer::Stream(stream) => Watching::new(stream.feed),
        Answer::Whole(whole) => panic!("{}: {}", recorded.name, String::from_utf8_lossy(&whole.body)),
    }
}

#[test]
fn watches_are_those_of_a_real_server() {
    let bench = wired();
    let maps = "/api/v1/namespaces/wire/configmaps";
    let revision = bench.revision();
    let watch = recorded("17-watch-from-rv").at(&revision);
    let watching = watched(&bench, &watch);
    bench.done("POST", maps, json!({"metadata": {"name": "w-1"}, "data": {"k": "v"}}));
    bench.patch(&format!("{maps}/w-1"), "merge-patch", json!({"data": {"k": "v2 – naïve 日本"}}));
    bench.patch(&format!("{maps}/w-1"), "merge-patch", json!({"metadata": {"labels": {"n": "1"}}}));
    bench.done("DELETE", &format!("{maps}/w-1"), Value::Null);
    let mut events: Vec<Value> = (0..4).map(|_| watching.next()).collect();
    bench.clock.wait_for_alarms(1);
    bench.clock.advance_to_next();
    events.push(watching.next());
    bench.clock.wait_for_alarms(1);
    bench.clock.advance_to_next();
    events.extend(watching.rest());
    watch.events_are(&events);

    let revision = bench.revision();
    let watch = recorded("18-watch-selector").at(&revision);
    let watching = watched(&bench, &watch);
    bench.done("POST", maps, json!({"metadata": {"name": "s-1", "labels": {"n": "1"}}, "data": {"k": "v"}}));
    bench.patch(&format!("{maps}/s-1"), "merge-patch", json!({"data": {"k": "x"}}));
    bench.patch(&format!("{maps}/s-1"), "merge-patch", json!({"metadata": {"labels": {"n": "0"}}}));
    bench.patch(&format!("{maps}/s-1"), "merge-patch", json!({"metadata": {"labels": {"n": "1"}}}));
    let events: Vec<Value> = (0..4).map(|_| watching.next()).collect();
    watch.events_are(&events);
}

#[test]
fn watches_from_nowhere_are_those_of_a_real_server() {
    let bench = wired();
    let maps = "/api/v1/namespaces/wire/configmaps";
    bench.done("POST", maps, json!({"metadata": {"name": "s-1", "labels": {"n": "1"}}, "data": {"k": "x"}}));
    for name in [
        "19-watch-rv-empty",
        "20-watch-rv-0",
        "24-watchlist",
        "25-watchlist-metadata-only",
        "27-watchlist-no-bookmarks",
    ] {
        let recorded = recorded(name);
        let watching = watched(&bench, &recorded);
        bench.clock.wait_for_alarms(1);
        bench.clock.advance_to_next();
        let events = watching.rest();
        let theirs: Vec<Value> = recorded.body.lines().map(value).collect();
        let shape = |events: &[Value]| {
            let masked = |event: &Value| {
                let mut event = event.clone();
                event["object"]["metadata"]["resourceVersion"] = Value::Null; // its order is that of the recording's past
                normalised(&event)
            };
            events.iter().map(masked).collect::<Vec<_>>()
        };
        assert_eq!(shape(&events), shape(&theirs), "{name}");
    }
    let future = recorded("22-watch-rv-future");
    let watching = watched(&bench, &future);
    bench.clock.wait_for_alarms(1);
    bench.clock.advance_to_next();
    future.events_are(&watching.rest());
    exactly_same(&bench, "23-watch-rv-garbage");
    exactly_same(&bench, "26-watchlist-no-match");
}
