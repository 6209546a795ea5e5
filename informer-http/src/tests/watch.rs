//! [`Watch`]: a watch by itself, request by request, by a clock in the test's hand.

use std::sync::Arc;
use std::time::Duration;

use informer_core::kube_core::params::WatchParams;
use informer_core::sync::{JoinHandle, Mutex, spawn};
use informer_core::{ChangeKind, ErrorKind, Stage, Stop};
use informer_testkit::script::{
    Action, Exchange, Expect, Reply, Script, added, bookmark, chunk, deleted, end, error_event, event, head,
    modified, rst, stall,
};
use informer_testkit::{ManualClock, ScriptedServer, within};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use crate::api::Api;
use crate::client::{Client, Connection};
use crate::watch::Watch;

fn map(name: &str, version: &str) -> Value {
    json!({ "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": { "namespace": "ns", "name": name, "uid": name, "resourceVersion": version } })
}

struct Rig {
    server: ScriptedServer,
    clock: ManualClock,
    stop: Stop,
    api: Api<ConfigMap>,
}

impl Rig {
    fn new(exchanges: impl IntoIterator<Item = Exchange>) -> Self {
        let server = ScriptedServer::start(Script::in_order(exchanges));
        let clock = ManualClock::new();
        let connection =
            Connection { clock: Arc::new(clock.clone()), ..Connection::new(&server.url()).unwrap() };
        let stop = Stop::new();
        let api = Api::namespaced(&Client::connect(connection), "ns").stopped_by(&stop);
        Rig { server, clock, stop, api }
    }

    fn watch(&self, version: &str) -> Watch<ConfigMap> {
        self.api.watch(&WatchParams::default(), version).unwrap()
    }

    /// All items on a thread of its own, `Added a@6` or `gone watch`, until the watch ends.
    fn all(&self, version: &str) -> All {
        let (watch, told) = (self.watch(version), Arc::new(Mutex::new(Vec::new())));
        let theirs = Arc::clone(&told);
        let work = move || watch.for_each(|item| theirs.lock().push(text(item)));
        All { told, thread: spawn("watching", work).unwrap() }
    }

    /// Lets the time pass that the watch waits for, and says how long it was.
    fn pass(&self) -> Duration {
        let by = self.clock.wait_for_alarm("the next request", |_| true);
        self.clock.advance(by);
        by
    }
}

struct All {
    told: Arc<Mutex<Vec<String>>>,
    thread: JoinHandle<()>,
}

impl All {
    fn end(self) -> Vec<String> {
        within("the end of the watch", move || self.thread.join()).unwrap();
        std::mem::take(&mut self.told.lock())
    }
}

fn text(item: informer_core::Result<crate::WatchEvent<ConfigMap>>) -> String {
    match item {
        Ok(event) => {
            let meta = event.object.metadata;
            format!("{:?} {}@{}", event.kind, meta.name.unwrap(), meta.resource_version.unwrap())
        }
        Err(error) => format!("{} {}", error.kind(), error.stage().map_or("?", Stage::as_str)),
    }
}

fn watched(rv: &str, actions: impl IntoIterator<Item = Action>) -> Exchange {
    Expect::watch().rv(rv).answer([head()].into_iter().chain(actions))
}

#[test]
fn w_30_there_must_be_a_version_to_begin_at() {
    let rig = Rig::new([]);
    for version in ["", "0"] {
        let error = rig.api.watch(&WatchParams::default(), version).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains("resourceVersion"), "{error}");
    }
    let initial = WatchParams { send_initial_events: true, ..WatchParams::default() };
    assert_eq!(rig.api.watch(&initial, "5").unwrap_err().kind(), ErrorKind::Config);
    assert_eq!(rig.server.trace(), "");
}

#[test]
fn w_31_it_goes_on_where_it_was_and_nothing_is_lost_or_comes_twice() {
    let rig = Rig::new([
        watched("1", [added(&map("a", "3")), modified(&map("a", "5")), end()]),
        // The bookmark moves it, and is told to nobody; a frame that is cut off does not.
        watched("5", [bookmark("8"), chunk(r#"{"type":"ADDED","obj"#), rst()]),
        watched("8", [deleted(&map("a", "9")), error_event(410, "Expired", "too old")]),
    ]);
    let all = rig.all("1");
    assert_eq!((rig.pass(), rig.pass()), (Duration::from_secs(1), Duration::from_secs(1)));
    assert_eq!(all.end(), ["Added a@3", "Modified a@5", "Deleted a@9", "gone watch"]);
    rig.server.wait_for_script();
    assert_eq!(rig.server.trace(), "WATCH rv=1\nWATCH rv=5\nWATCH rv=8");
}

#[test]
fn w_31_each_change_is_given_out_when_it_comes() {
    let rig = Rig::new([watched("1", [added(&map("a", "3")), modified(&map("a", "5")), stall()])]);
    let mut watch = rig.watch("1");
    assert_eq!(watch.version(), "1");
    let event = watch.next().unwrap().unwrap();
    assert_eq!((event.kind, watch.version()), (ChangeKind::Added, "3"), "not 5, which came with it");
    let event = watch.next().unwrap().unwrap();
    assert_eq!((event.kind, watch.version()), (ChangeKind::Modified, "5"));
    rig.stop.set();
    assert!(watch.next().is_none(), "a stop is no error");
}

#[test]
fn w_32_requests_are_a_second_apart_and_further_while_they_fail() {
    let busy = || Expect::watch().rv("1").reply(Reply::status(503, "ServiceUnavailable", "not yet"));
    let rig = Rig::new(
        [watched("1", [end()])]
            .into_iter()
            .chain([busy(), busy(), busy(), busy(), busy(), busy()])
            .chain([watched("1", [added(&map("a", "2")), end()]), watched("2", [end()])])
            .chain([Expect::watch().rv("2").reply(Reply::status(403, "Forbidden", "no"))]),
    );
    let all = rig.all("1");
    let waits: Vec<u64> = std::iter::repeat_with(|| rig.pass().as_secs()).take(9).collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 1, 1]);
    assert_eq!(all.end(), ["Added a@2", "forbidden watch_open"]);
}

#[test]
fn w_32_what_the_server_asks_for_is_waited() {
    let rig = Rig::new([
        Expect::watch()
            .rv("1")
            .reply(Reply::status(429, "TooManyRequests", "slow").header("Retry-After", "7")),
        watched("1", [error_event(410, "Expired", "too old")]),
    ]);
    let all = rig.all("1");
    assert_eq!(rig.pass(), Duration::from_secs(7));
    assert_eq!(all.end(), ["gone watch"]);
}

#[test]
fn w_33_410_is_one_error_and_the_end_wherever_it_comes() {
    for gone in [
        Expect::watch().reply(Reply::status(410, "Expired", "too old")),
        watched(
            "7",
            [added(&map("a", "8")), error_event(410, "Expired", "too old"), added(&map("b", "9")), stall()],
        ),
    ] {
        let rig = Rig::new([gone]);
        let told = rig.all("7").end();
        assert_eq!(told.iter().filter(|told| told.starts_with("gone")).count(), 1, "{told:?}");
        assert!(told.last().unwrap().starts_with("gone"), "{told:?}");
    }
}

#[test]
fn d_8_an_object_that_cannot_be_decoded_stops_no_other() {
    let mut bad = map("b", "4");
    bad["data"] = json!(7);
    let rig = Rig::new([
        watched("1", [modified(&bad), added(&map("c", "5")), end()]),
        watched("5", [error_event(410, "Expired", "too old")]),
    ]);
    let all = rig.all("1");
    rig.pass();
    assert_eq!(all.end(), ["decode decode", "Added c@5", "gone watch"]);
}

#[test]
fn d_7_what_nobody_could_go_on_after_is_the_end() {
    let mut unversioned = map("b", "");
    unversioned["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    let nonsense = json!({ "kind": "ConfigMap", "apiVersion": "v1" });
    for last in [added(&unversioned), event("MOVED", &nonsense), chunk("[]\n")] {
        let rig = Rig::new([watched("1", [added(&map("a", "2")), last, added(&map("c", "3")), stall()])]);
        assert_eq!(rig.all("1").end(), ["Added a@2", "decode watch"]);
    }
}

#[test]
fn d_12_a_stop_ends_it_in_a_read_and_in_a_wait() {
    let rig = Rig::new([watched("1", [stall()])]);
    let all = rig.all("1");
    rig.server.wait_for_requests(1);
    rig.stop.set();
    assert_eq!(all.end(), [""; 0]);

    let rig = Rig::new([watched("1", [end()])]);
    let all = rig.all("1");
    rig.clock.wait_for_alarm("the next request", |_| true);
    rig.stop.set();
    assert_eq!(all.end(), [""; 0]);
}
