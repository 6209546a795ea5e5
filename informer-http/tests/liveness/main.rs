//! Dead peers, by the clock on the wall: each limit of the transport as it really is, once. (By a clock in the test's
//! hand: `informer-core/tests/it/reflector`.)
//!
//! Takes 100 s, so it is run by `.ci/run` and by hand: `cargo test -p informer-http --test liveness -- --ignored`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use informer_core::sync::spawn;
use informer_core::{
    Clock as _, ErrorKind, ListRequest, ListWatch as _, SharedInformer, Stage, Stop, SystemClock,
};
use informer_http::{Client, Config, HttpListWatch};
use informer_testkit::script::{
    Exchange, Expect, Script, chunk, frame, head, hold, list, modified, object, raw, stall,
};
use informer_testkit::{ClosedBy, Deadline, Gate, Probe, Recorder, ScriptedServer, Transcript, within_limit};
use k8s_openapi::api::core::v1::ConfigMap;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

const SCENARIOS: &[(&str, fn())] = &[
    ("f_01", f_01_a_half_open_watch_is_given_up_after_90_s),
    ("f_05", f_05_a_watch_with_a_sign_of_life_now_and_then_is_cut_by_no_limit),
    ("f_06", f_06_a_head_that_is_held_back_for_a_while_is_waited_for),
    ("d_7", d_7_a_watch_whose_head_never_comes_is_given_up_after_90_s),
    ("d_7", d_7_a_list_whose_head_never_comes_is_given_up_after_30_s),
    ("d_7", d_7_a_list_that_stops_in_the_middle_is_given_up_after_30_s),
    ("f_100", f_100_an_address_that_does_not_answer_is_given_up_after_10_s),
    ("f_100", f_100_a_handshake_that_never_starts_is_given_up_after_10_s),
];

/// Side by side, each on a thread of its own.
#[test]
#[ignore = "takes 100 s of real time"]
fn dead_peers_are_given_up_when_they_should_be() {
    let running: Vec<_> =
        SCENARIOS.iter().map(|(name, scenario)| (*name, spawn(name, *scenario).unwrap())).collect();
    let failed: Vec<&str> =
        running.into_iter().filter_map(|(name, thread)| thread.join().is_err().then_some(name)).collect();
    assert!(failed.is_empty(), "{failed:?}, see above");
}

/// An informer that lists in pages, by the system's clock.
struct Bench {
    server: ScriptedServer,
    informer: SharedInformer<ConfigMap>,
    seen: Recorder,
    reports: Probe<Vec<(ErrorKind, Option<Stage>)>>,
    started: Instant,
}

impl Bench {
    fn start(exchanges: impl IntoIterator<Item = Exchange>) -> Self {
        let server = ScriptedServer::start(Script::in_order(exchanges));
        let source = HttpListWatch::<ConfigMap>::new(&Client::from_url(&server.url()).unwrap());
        let (seen, reports) = (Recorder::new(), Probe::new(Vec::new()));
        let told = reports.clone();
        let informer = SharedInformer::builder(source)
            .streaming(false)
            .on_error(move |report| told.update(|all| all.push((report.error.kind(), report.error.stage()))))
            .build();
        informer.add_event_handler(seen.clone()).unwrap();
        informer.start().unwrap();
        Bench { server, informer, seen, reports, started: SystemClock.now() }
    }

    /// Waits until so many events have been told, and answers how long after the start that was.
    fn told(&self, count: usize) -> Duration {
        let store = self.informer.store();
        let newest = (3 + count).to_string();
        within_limit("the events", patient(), move || store.wait_until(&newest, Duration::MAX)).unwrap();
        self.seen.wait_for(count);
        SystemClock.now() - self.started
    }

    #[track_caller]
    fn finish(self, requests: &str) {
        assert_eq!(self.server.trace(), requests);
        drop(self.informer);
        self.server.finish();
    }
}

/// Longer than the longest scenario.
fn patient() -> Deadline {
    Deadline::after(Duration::from_secs(150))
}

/// Lets real time pass.
fn pass(seconds: u64) {
    Stop::new().wait_until(&SystemClock, Some(SystemClock.now() + Duration::from_secs(seconds)));
}

#[track_caller]
fn about(took: Duration, seconds: u64) {
    let least = Duration::from_secs(seconds);
    // A busy machine may be late, but not by a third limit.
    assert!(least <= took && took < least + Duration::from_secs(8), "{took:?} for {seconds} s");
}

/// Version `4`, with one object.
fn first() -> Exchange {
    Expect::list().rv("0").reply(list("4", &[object("ns/a", "u", "4")]))
}

fn event(version: u32) -> informer_testkit::script::Action {
    modified(&object("ns/a", "u", &version.to_string()))
}

fn f_01_a_half_open_watch_is_given_up_after_90_s() {
    let bench = Bench::start([
        first(),
        Expect::watch().rv("4").on_connection(0).answer([head(), event(5), stall()]),
        Expect::watch().rv("5").on_connection(1).answer([head(), event(6), stall()]),
    ]);
    bench.told(2);
    about(bench.told(3), 90);
    assert_eq!(bench.server.wait_for_close(0), ClosedBy::Client);
    assert_eq!(bench.reports.get(), [(ErrorKind::Silent, Some(Stage::Watch))]);
    assert_eq!(bench.seen.len(), 3, "nothing twice");
    bench.finish("LIST rv=0 limit=500\nWATCH rv=4\nWATCH rv=5");
}

/// Longer than every limit but the one for silence.
fn f_05_a_watch_with_a_sign_of_life_now_and_then_is_cut_by_no_limit() {
    let gates: Vec<Gate> = (0..11).map(|_| Gate::new("the next event")).collect();
    let mut actions = vec![head(), event(5)];
    for (gate, version) in gates.iter().zip(6..) {
        actions.extend([hold(gate), event(version)]);
    }
    actions.push(stall());
    let bench = Bench::start([first(), Expect::watch().rv("4").answer(actions)]);
    for gate in gates {
        pass(9);
        gate.open();
    }
    assert!(bench.told(13) >= Duration::from_secs(99));
    assert_eq!(bench.reports.get(), []);
    bench.finish("LIST rv=0 limit=500\nWATCH rv=4");
}

fn f_06_a_head_that_is_held_back_for_a_while_is_waited_for() {
    let gate = Gate::new("the first event");
    let line = frame("MODIFIED", &object("ns/a", "u", "5"));
    let head = informer_testkit::script::Head::new(200, informer_testkit::script::Framing::Close);
    let together = [head.to_bytes(), line].concat();
    let bench =
        Bench::start([first(), Expect::watch().rv("4").answer([hold(&gate), raw(together), stall()])]);
    pass(35); // more than an ordinary answer may take
    gate.open();
    bench.told(2);
    assert_eq!(bench.reports.get(), []);
    bench.finish("LIST rv=0 limit=500\nWATCH rv=4");
}

fn d_7_a_watch_whose_head_never_comes_is_given_up_after_90_s() {
    let bench = Bench::start([
        first(),
        Expect::watch().rv("4").on_connection(0).answer([stall()]),
        Expect::watch().rv("4").on_connection(1).answer([head(), event(5), stall()]),
    ]);
    about(bench.told(2), 90);
    assert_eq!(bench.server.wait_for_close(0), ClosedBy::Client);
    bench.finish("LIST rv=0 limit=500\nWATCH rv=4\nWATCH rv=4");
}

/// The first list ends as `answer` does; the back-off after it is less than 1.6 s.
fn listed_again_after_30_s(answer: Exchange) {
    let bench = Bench::start([
        answer,
        Expect::list().rv("0").on_connection(1).reply(list("4", &[object("ns/a", "u", "4")])),
        Expect::watch().rv("4").answer([head(), stall()]),
    ]);
    about(bench.told(1), 30);
    assert_eq!(bench.server.wait_for_close(0), ClosedBy::Client);
    assert_eq!(bench.reports.get(), [(ErrorKind::Silent, Some(Stage::List))]);
    bench.server.wait_for_script();
    bench.finish("LIST rv=0 limit=500\nLIST rv=0 limit=500\nWATCH rv=4");
}

fn d_7_a_list_whose_head_never_comes_is_given_up_after_30_s() {
    listed_again_after_30_s(Expect::list().rv("0").answer([stall()]));
}

fn d_7_a_list_that_stops_in_the_middle_is_given_up_after_30_s() {
    listed_again_after_30_s(Expect::list().rv("0").answer([
        head(),
        chunk(r#"{"kind":"ConfigMapList","apiVersion":"v1","items":["#),
        stall(),
    ]));
}

/// One list, and how it fails.
fn list_fails(client: &Client) -> (ErrorKind, Duration) {
    let begun = SystemClock.now();
    let source = HttpListWatch::<ConfigMap>::new(client);
    let error = source.list(&ListRequest::default(), &Stop::new(), &mut Transcript::new()).unwrap_err();
    assert_eq!(error.stage(), Some(Stage::List));
    (error.kind(), SystemClock.now() - begun)
}

fn f_100_an_address_that_does_not_answer_is_given_up_after_10_s() {
    let (address, _full) = black_hole();
    let (kind, took) = list_fails(&Client::from_url(&format!("http://{address}")).unwrap());
    assert_eq!(kind, ErrorKind::Network);
    about(took, 10);
}

/// It takes connections, but never says a word.
fn f_100_a_handshake_that_never_starts_is_given_up_after_10_s() {
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = mute.local_addr().unwrap();
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'https://{address}', insecure-skip-tls-verify: true}}}}]\n"
    );
    let client = Client::new(Config::from_kubeconfig_str(&kubeconfig).unwrap()).unwrap();
    let (kind, took) = list_fails(&client);
    assert_eq!(kind, ErrorKind::Network);
    about(took, 10);
}

/// A listener whose queue is full: the system answers no further connect.
fn black_hole() -> (SocketAddr, (TcpListener, Vec<OwnedFd>)) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 0).unwrap(); // shortens the queue
    let address = listener.local_addr().unwrap();
    let fill = || {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
        let _ = rustix::net::connect(&socket, &address);
        socket
    };
    let queued = (0..4).map(|_| fill()).collect();
    (address, (listener, queued))
}
