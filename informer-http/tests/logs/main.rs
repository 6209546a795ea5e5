//! The log contract of `informer::http`: each request is a debug line, no event is one, and no object's content is in any.
//! The two lines of a token file are not driven here: credentials go over TLS only. The logger is the process's, so this
//! is a binary of its own with one test.

use std::time::Duration;

use informer_core::SharedInformer;
use informer_core::sync::Mutex;
use informer_http::{Api, Client, HttpListWatch};
use informer_testkit::script::{Expect, Reply, Script, bookmark, head, list, modified, object, stall};
use informer_testkit::{Recorder, ScriptedServer};
use k8s_openapi::api::core::v1::ConfigMap;
use log::{Level, LevelFilter, Log, Metadata, Record};
use serde_json::json;

const CONTENT: &str = "sekrit-content";

static CAPTURE: Capture = Capture(Mutex::new(Vec::new()));

struct Capture(Mutex<Vec<(Level, String)>>);

impl Log for Capture {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("informer")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let line = format!("{}: {}", record.target(), record.args());
            self.0.lock().push((record.level(), line));
        }
    }

    fn flush(&self) {}
}

/// The lines of `informer::http` since the last time.
fn lines() -> Vec<(Level, String)> {
    let lines = std::mem::take(&mut *CAPTURE.0.lock());
    for (_, line) in &lines {
        assert!(!line.contains(CONTENT), "{line}");
    }
    lines.into_iter().filter(|(_, line)| line.starts_with("informer::http: ")).collect()
}

fn levels() -> Vec<Level> {
    lines().into_iter().map(|(level, _)| level).collect()
}

#[test]
fn d_17_requests_are_debug_lines_and_events_are_none() {
    log::set_logger(&CAPTURE).unwrap();
    log::set_max_level(LevelFilter::Trace);
    let map = |version: &str| object("ns/a", "u", version).field("data", json!({ "k": CONTENT }));
    let mut events = vec![head()];
    events.extend((10..60).map(|version| modified(&map(&version.to_string()))));
    events.extend([bookmark("99"), stall()]);
    let denied = || Reply::status(401, "Unauthorized", "Unauthorized");
    let server = ScriptedServer::start(Script::any_order([
        Expect::list().reply(list("9", &[map("5")])),
        Expect::watch().answer(events),
        Expect::get("/api/v1/namespaces/ns/configmaps/a").reply(denied()).any_times(),
    ]));
    let client = Client::from_url(&server.url()).unwrap();
    let source = HttpListWatch::<ConfigMap>::new(&client);
    let informer = SharedInformer::builder(source).streaming(false).build();
    let seen = Recorder::new();
    informer.add_event_handler(seen.clone()).unwrap();
    informer.start().unwrap();
    seen.wait_for(51);
    informer.store().wait_until("99", Duration::from_secs(20)).unwrap();
    assert_eq!(levels(), [Level::Debug; 2], "a list and a watch; none of fifty events and a bookmark");

    let api = Api::<ConfigMap>::namespaced(&client, "ns");
    assert!(api.get("a").is_err());
    assert_eq!(levels(), [Level::Debug], "a request that is refused is its caller's affair");
    informer.stop();
    informer.join().unwrap();
    lines();
}
