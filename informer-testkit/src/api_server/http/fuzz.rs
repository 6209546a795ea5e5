//! The body of a fuzz target: what a client may send to an API server, and what must hold whatever it is.
//!
//! Behind the feature `fuzz-internals`, for the workspace in `fuzz/`; the test below runs it on that target's corpus
//! and on recorded requests. An input is what comes over one connection.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use informer_core::sync::Mutex;
use informer_core::time::Alarm;
use informer_core::{Clock, Stop, SystemClock};
use serde_json::{Value, json};

use super::Service;
use super::connection::{LIMITS, call_of, refusal_of};
use super::reply::{self, Manner};
use crate::api_server::engine::Engine;
use crate::api_server::exchange::{Answer, Call, Feed, Whole};
use crate::api_server::fault::Calls;
use crate::api_server::memory::History;
use crate::api_server::past::Snapshot;
use crate::api_server::requests::ServedRequest;
use crate::api_server::{Access, Control, Front};
use crate::http::read::{Fault, read_body, read_head};

/// So many requests of an input are answered.
const MOST: usize = 16;

/// Everything that comes over one connection to a server with a few objects. No input makes it panic or wait; each
/// answer has a head that can be read, and a body that is what the head says it is; watches tell events.
///
/// # Panics
/// When that does not hold.
pub fn api_requests(mut data: &[u8]) {
    let clock: Arc<dyn Clock> = Arc::new(Hurried(Mutex::new(SystemClock.now())));
    let engine = Engine::restored(Arc::clone(&clock), History::default(), snapshot());
    let front = Front {
        engine: Arc::clone(&engine),
        access: Access::default(),
        control: Arc::new(Control::new(clock)),
        replica: Arc::default(),
        address: "127.0.0.1:1".to_owned(),
    };
    for _ in 0..MOST {
        let read = match read_head(&mut data, LIMITS) {
            Ok(None) => return,
            Ok(Some(head)) => read_body(&mut data, head.framing, LIMITS).map(|body| (head, body)),
            Err(fault) => Err(fault),
        };
        match read {
            Ok((head, body)) => {
                let manner = Manner { old: head.old, closes: head.closes(), bodiless: head.method == "HEAD" };
                answer(&front, &engine, call_of(head, body), manner);
            }
            Err(Fault::Broken(error)) => panic!("memory cannot break: {error}"),
            Err(fault) => return check_head(&refusal_of(&fault).unwrap_or_default()),
        }
    }
}

fn answer(front: &Front, engine: &Engine, call: Call, manner: Manner) {
    let request = ServedRequest::new(&call);
    let shown = format!("{request} {request:?}");
    assert!(!shown.contains('\n'), "{shown:?} is more than a line");
    assert!(Calls::any().matches(&request));
    let head_only = call.method == "HEAD";
    match front.answer(call) {
        Answer::Whole(whole) => {
            check_head(&reply::whole_head(&whole, &[], manner));
            if !head_only {
                check_body(&whole);
            }
        }
        Answer::Stream(stream) => {
            check_head(&reply::stream_head(&stream.headers, manner));
            engine.finish_watches();
            check_events(stream.feed);
        }
    }
}

fn check_head(bytes: &[u8]) {
    let mut fields = [httparse::EMPTY_HEADER; 32];
    let mut response = httparse::Response::new(&mut fields);
    let parsed = response.parse(bytes);
    assert!(matches!(parsed, Ok(httparse::Status::Complete(_))), "{parsed:?}: {}", text(bytes));
    assert!(response.code.is_some_and(|code| (200..600).contains(&code)), "{}", text(bytes));
}

fn check_body(whole: &Whole) {
    let is_json =
        |(name, value): &(&str, String)| name.eq_ignore_ascii_case("content-type") && value.contains("json");
    if whole.headers.iter().any(is_json) {
        let body: Result<Value, _> = serde_json::from_slice(&whole.body);
        assert!(body.is_ok(), "{body:?}: {}", text(&whole.body));
    }
}

fn check_events(mut feed: Box<dyn Feed>) {
    let stop = Stop::new();
    while let Some(chunk) = feed.next(&stop) {
        let lines = chunk.strip_suffix(b"\n").expect("a chunk ends with an event");
        for line in lines.split(|byte| *byte == b'\n') {
            let event: Value = serde_json::from_slice(line).unwrap_or_else(|error| {
                panic!("{error}: {}", text(line));
            });
            let kind = event["type"].as_str().unwrap_or_default();
            assert!(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"].contains(&kind), "{event}");
            assert!(event["object"].is_object(), "{event}");
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What every input finds; made once.
fn snapshot() -> &'static Snapshot {
    static SNAPSHOT: OnceLock<Snapshot> = OnceLock::new();
    SNAPSHOT.get_or_init(|| {
        let engine = Engine::new(Arc::new(SystemClock), History::default());
        let version = json!({
            "name": "v1", "served": true, "storage": true,
            "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                "spec": { "type": "object", "properties": { "size": { "type": "integer", "default": 1 } } },
            } } },
            "additionalPrinterColumns": [{ "name": "Size", "type": "integer", "jsonPath": ".spec.size" }],
        });
        let definition = json!({
            "metadata": { "name": "widgets.test.dev" },
            "spec": {
                "group": "test.dev", "scope": "Namespaced", "versions": [version],
                "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            },
        });
        let wire = "/api/v1/namespaces/wire";
        for (path, object) in [
            ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition),
            ("/apis/test.dev/v1/namespaces/default/widgets", json!({ "apiVersion": "test.dev/v1", "kind": "Widget", "metadata": { "name": "w" } })),
            ("/api/v1/namespaces", json!({ "metadata": { "name": "wire" } })),
            (&format!("{wire}/configmaps"), json!({ "metadata": { "name": "cm-1" }, "data": { "k": "v" } })),
            (
                &format!("{wire}/configmaps"),
                json!({ "metadata": { "name": "cm-2", "labels": { "n": "2" }, "finalizers": ["a/b"] } }),
            ),
        ] {
            let body = object.to_string().into_bytes();
            let (method, path) = ("POST".to_owned(), path.to_owned());
            let Answer::Whole(made) = engine.answer(&Call { method, path, body, ..Call::default() }) else {
                panic!("a write is not answered with a stream")
            };
            assert_eq!(made.status, 201, "{}", text(&made.body));
        }
        engine.snapshot()
    })
}

/// A clock that goes on to whatever is waited for.
#[derive(Debug)]
struct Hurried(Mutex<Instant>);

impl Clock for Hurried {
    fn now(&self) -> Instant {
        *self.0.lock()
    }

    fn alarm(&self, at: Instant, _: Box<dyn FnOnce() + Send>) -> Option<Alarm> {
        let mut now = self.0.lock();
        *now = at.max(*now);
        None
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    /// The files of a folder of the repository.
    fn files(folder: &str, ending: &str) -> Vec<(PathBuf, Vec<u8>)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
        let mut files: Vec<_> = fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.to_string_lossy().ends_with(ending))
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        assert!(files.len() >= 10, "{} has only {} files", folder.display(), files.len());
        files
    }

    /// Runs the target on each file, and on some that differ from it in a byte or lack their end.
    fn replay(files: &[(PathBuf, Vec<u8>)]) {
        for (path, bytes) in files {
            let run = |bytes: &[u8], how: &str| {
                let ran = std::panic::catch_unwind(|| api_requests(bytes));
                assert!(ran.is_ok(), "{} fails {how}", path.display());
            };
            run(bytes, "as it is");
            let mut state = bytes.len() as u64;
            for round in 0..24 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let mut spoilt = bytes.clone();
                let at = (state >> 33) as usize % bytes.len().max(1);
                if round % 6 == 0 {
                    spoilt.truncate(at);
                } else if let Some(byte) = spoilt.get_mut(at) {
                    *byte = b"{}[]\",:\\\n\0\xff9/?&=%"[(state >> 20) as usize % 17];
                }
                run(&spoilt, &format!("in round {round}"));
            }
        }
    }

    #[test]
    fn no_request_makes_the_server_fail() {
        replay(&files("fuzz/corpus/api_requests", ""));
        replay(&files("informer-http/tests/wire", ".request"));
    }
}
