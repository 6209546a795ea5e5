//! What an informer read is kept in a file, and played again without a server.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use informer_core::{ErrorKind, ListRequest, ListWatch, SharedInformer, Stop};
use informer_http::{Client, HttpListWatch, Recording, ReplaySource};
use informer_testkit::script::{Expect, Script, added, chunk, frame, head, list, object, pause, rst, stall};
use informer_testkit::{ManualClock, Probe, Recorder, ScriptedServer, Transcript, states, within};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::json;

const LIMIT: Duration = Duration::from_secs(20);

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// Runs an informer until it was told so much; answers its handler's trace, its reports and its counters.
fn run(
    source: impl ListWatch<ConfigMap> + 'static,
    clock: &ManualClock,
    events: usize,
    mut meanwhile: impl FnMut(),
) -> (String, Vec<(ErrorKind, String)>, u64) {
    let (seen, reports) = (Recorder::new(), Probe::new(Vec::new()));
    let told = reports.clone();
    let informer = SharedInformer::builder(source)
        .streaming(false)
        .clock(clock.clone())
        .on_error(move |report| told.update(|all| all.push((report.error.kind(), report.error.to_string()))))
        .build();
    informer.add_event_handler(seen.clone()).unwrap();
    informer.start().unwrap();
    meanwhile();
    seen.wait_for(events);
    let stored = informer.store().list();
    assert_eq!(seen.replay(), states(stored.iter().map(Arc::as_ref)));
    let lists = informer.status().counters.lists;
    informer.stop();
    within("the join", move || informer.join()).unwrap();
    (seen.trace(), reports.get(), lists)
}

fn skip(clock: &ManualClock, least: Duration) {
    let wait = clock.wait_for_alarm("a wait", |until| least <= until);
    clock.advance(wait);
}

/// A cut within a character, a reset, an error event, a 429 with Retry-After, a 410, a list that breaks off.
fn trouble() -> Script {
    let a = object("ns/a", "u1", "11").field("data", json!({"k": "é😀"}));
    let line = frame("ADDED", &a);
    let (front, back) = line.split_at(line.len() - 8);
    Script::in_order([
        Expect::list().rv("0").reply(list("10", &[object("ns/b", "u2", "9")])),
        Expect::watch().rv("10").answer([
            head(),
            chunk(front),
            chunk(back),
            pause(Duration::from_secs(2)),
            rst(),
        ]),
        Expect::watch().rv("11").reply(
            informer_testkit::script::Reply::status(429, "TooManyRequests", "slow")
                .header("Retry-After", "9"),
        ),
        Expect::watch().rv("11").reply(informer_testkit::script::Reply::status(410, "Expired", "too old")),
        Expect::list().rv("11").reply(list("20", &[object("ns/a", "u1", "15")]).cut_after(60)),
        Expect::list().rv("11").reply(list("20", &[object("ns/a", "u1", "15")])),
        Expect::watch().rv("20").answer([head(), added(&object("ns/c", "u3", "21")), stall()]),
    ])
}

#[test]
fn a_failure_in_the_field_is_the_same_when_it_is_played() {
    let folder = Folder::new();
    let file = folder.file("trouble.jsonl");
    let clock = ManualClock::new();
    let drive = |clock: &ManualClock| {
        let clock = clock.clone();
        move || {
            skip(&clock, Duration::from_secs(1)); // the watch has lasted 2 s
            skip(&clock, Duration::from_secs(9)); // Retry-After
            skip(&clock, Duration::from_millis(800)); // 410
            skip(&clock, Duration::from_millis(800)); // the list that broke off
        }
    };
    let server = ScriptedServer::start(trouble().clock(&clock));
    let recording = Recording::options().clock(clock.clone()).create(&file).unwrap();
    let source = HttpListWatch::new(&Client::from_url(&server.url()).unwrap()).namespace("ns");
    let field = run(source.record(&recording), &clock, 5, drive(&clock));
    server.finish();
    assert_eq!(
        field.0,
        "Added(ns/b@9, initial)\nAdded(ns/a@11)\nDeleted(ns/b@9, final state unknown)\nUpdated(ns/a@11→15)\nAdded(ns/c@21)"
    );
    let kinds: Vec<_> = field.1.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [ErrorKind::TooManyRequests, ErrorKind::Gone, ErrorKind::Network]);
    assert!(!recording.is_over());
    assert_eq!(recording.written(), fs::metadata(&file).unwrap().len());

    for _ in 0..2 {
        let clock = ManualClock::new();
        let replay = ReplaySource::<ConfigMap>::open(&file).unwrap().clock(clock.clone());
        let played = run(replay.clone(), &clock, 5, drive(&clock));
        assert_eq!((&played.0, played.2), (&field.0, field.2));
        let kinds = |told: &[(ErrorKind, String)]| told.iter().map(|(kind, _)| *kind).collect::<Vec<_>>();
        assert_eq!(kinds(&played.1), kinds(&field.1));
        replay.wait_played(LIMIT).unwrap();
        assert!(!replay.is_cut());
    }
}

#[test]
fn d_17_bytes_are_those_of_the_bodies_decompressed() {
    let watched = frame("ADDED", &object("ns/c", "u3", "21"));
    let server = ScriptedServer::start(Script::in_order([
        Expect::list().reply(crate::support::a_list()),
        Expect::watch().answer([head(), chunk(&watched[..]), stall()]),
    ]));
    let informer = SharedInformer::builder(crate::support::source(&server)).streaming(false).build();
    let seen = Recorder::new();
    informer.add_event_handler(seen.clone()).unwrap();
    informer.start().unwrap();
    seen.wait_for(2);
    let list = serde_json::json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"},
        "items": [{"metadata": {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "6"}}]});
    let bytes = list.to_string().len() + watched.len();
    assert_eq!(informer.status().counters.bytes, bytes as u64);
    informer.stop();
    within("the join", move || informer.join()).unwrap();
    server.finish();
}

#[test]
fn an_informer_that_asks_for_something_else_is_told_so() {
    let folder = Folder::new();
    let file = recorded(&folder, "a.jsonl");
    let replay = ReplaySource::<ConfigMap>::open(&file).unwrap();
    let request = ListRequest { resource_version: "7".to_owned(), ..ListRequest::default() };
    let error = replay.list(&request, &Stop::new(), &mut Transcript::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    let text = "the recording goes on with LIST rv=, asked for is LIST rv=7";
    assert!(error.to_string().ends_with(text), "{error}");
    assert_eq!(replay.wait_played(LIMIT).unwrap_err().to_string(), text);

    let replay = ReplaySource::<ConfigMap>::open(&file).unwrap();
    let error = replay.wait_played(Duration::ZERO).unwrap_err();
    assert_eq!(error.to_string(), "1 exchanges of the recording are left, next LIST rv=");
    assert!(error.is_timed_out());
    let transcript = Transcript::<ConfigMap>::new();
    replay.list(&ListRequest::default(), &Stop::new(), &mut transcript.clone()).unwrap();
    assert_eq!(transcript.text(), "item ns/a@6");
    replay.wait_played(LIMIT).unwrap();
    // Then it is silent, until it is stopped.
    let stop = Stop::new();
    let theirs = stop.clone();
    let waiting = informer_core::sync::spawn("replay", move || {
        let error =
            replay.list(&ListRequest::default(), &theirs, &mut Transcript::<ConfigMap>::new()).unwrap_err();
        assert!(error.is_stopped());
    });
    stop.set();
    within("the end", move || waiting.unwrap().join().unwrap());
}

/// Records one list with `a` in it.
fn recorded(folder: &Folder, name: &str) -> PathBuf {
    let file = folder.file(name);
    let server = ScriptedServer::start(Script::in_order([Expect::list().reply(crate::support::a_list())]));
    let source = crate::support::source(&server).record(&Recording::create(&file).unwrap());
    source.list(&ListRequest::default(), &Stop::new(), &mut Transcript::new()).unwrap();
    server.finish();
    file
}

#[test]
fn f_95_no_secret_is_in_the_file() {
    let folder = Folder::new();
    let file = folder.file("secrets.jsonl");
    let secret = object("ns/a", "u", "6").of("Secret", "v1").field("data", json!({"k": "dG9wIHMzY3JldA=="}));
    let exchanges = [
        Expect::list().reply(list("7", &[secret])),
        Expect::list().reply(informer_testkit::script::Reply::status(403, "Forbidden", "not for you")),
    ];
    let server = ScriptedServer::start(Script::in_order(exchanges));
    let client = Client::from_url(&server.url()).unwrap();
    let source = HttpListWatch::<Secret>::new(&client).record(&Recording::create(&file).unwrap());
    source.list(&ListRequest::default(), &Stop::new(), &mut Transcript::new()).unwrap();
    source.list(&ListRequest::default(), &Stop::new(), &mut Transcript::new()).unwrap_err();
    server.finish();

    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"withheld\":") && text.contains("\"forbidden\""), "{text}");
    for secret in ["dG9wIHMzY3JldA==", "\"a\""] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let error = ReplaySource::<Secret>::open(&file).unwrap_err().to_string();
    assert!(error.contains("line 4: exchange 0 has a body that was withheld"), "{error}");
}

#[test]
fn a_recording_that_is_full_ends_and_the_informer_goes_on() {
    let folder = Folder::new();
    let file = folder.file("full.jsonl");
    let server = ScriptedServer::start(Script::always([crate::support::a_list().into()]));
    let recording = Recording::options().max_bytes(1_000).create(&file).unwrap();
    let source = crate::support::source(&server).record(&recording);
    for _ in 0..10 {
        source.list(&ListRequest::default(), &Stop::new(), &mut Transcript::new()).unwrap();
    }
    assert!(recording.is_over());
    let bytes = fs::metadata(&file).unwrap().len();
    assert!((1_000..2_000).contains(&bytes), "{bytes}");
    let replay = ReplaySource::<ConfigMap>::open(&file).unwrap();
    assert!(replay.is_cut());
    replay.list(&ListRequest::default(), &Stop::new(), &mut Transcript::new()).unwrap();
}

#[test]
fn files_that_are_there_or_wrong_are_errors_that_name_them() {
    let folder = Folder::new();
    let file = recorded(&folder, "a.jsonl");
    let text = |error: informer_core::Error| format!("{}: {}", error.kind(), error.chain());
    let exists = text(Recording::create(&file).unwrap_err());
    assert!(
        exists.starts_with(&format!("config: cannot create the recording {}: ", file.display())),
        "{exists}"
    );
    let open = |path: &Path| text(ReplaySource::<ConfigMap>::open(path).unwrap_err());
    let missing = open(&folder.file("none"));
    assert!(missing.contains("none: cannot be opened: No such file"), "{missing}");
    assert!(open(folder.0.path()).contains("line 1: cannot be read"), "a folder is none");
    fs::write(folder.file("b"), "apiVersion: v1\nkind: Config\n").unwrap();
    assert!(
        open(&folder.file("b"))
            .ends_with("b: line 1: is not that of a recording: {\"informer_recording\":1}")
    );
}

#[test]
fn several_sources_share_a_file() {
    let folder = Folder::new();
    let file = folder.file("two.jsonl");
    let recording = Recording::create(&file).unwrap();
    for name in ["x", "y"] {
        let answer = list("7", &[object(&format!("ns/{name}"), "u", "6")]);
        let server = ScriptedServer::start(Script::in_order([Expect::list().reply(answer)]));
        let source = crate::support::source(&server).record(&recording);
        source.list(&ListRequest::default(), &Stop::new(), &mut Transcript::new()).unwrap();
    }
    let resource = informer_core::kube_core::ApiResource::erase::<ConfigMap>(&());
    for (number, item) in [(0, "item ns/x@6"), (1, "item ns/y@6")] {
        let replay = ReplaySource::<ConfigMap>::source(&file, &resource, number).unwrap();
        let transcript = Transcript::new();
        replay.list(&ListRequest::default(), &Stop::new(), &mut transcript.clone()).unwrap();
        assert_eq!(transcript.text(), item);
    }
    let error = ReplaySource::<ConfigMap>::source(&file, &resource, 2).unwrap_err().to_string();
    assert!(error.ends_with("source 2 asked for nothing"), "{error}");
}
