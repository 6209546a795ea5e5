//! What is printed while everything goes well, or goes wrong and heals.

use informer_testkit::script::initial_events as initial;
use informer_testkit::script::{
    Expect, Script, WireObject, added, deleted, end, error_event, fin, head, hold, list, modified, stall,
};
use informer_testkit::{Gate, ScriptedServer};
use rustix::process::Signal;
use serde_json::json;

use crate::program::{Program, map, parsed};

const MAPS: &str = "/api/v1/configmaps";

/// Every event, in an order that does not depend on threads: the second half comes when `gate` opens.
fn everything(gate: &Gate) -> ScriptedServer {
    let mut first = initial("10", &[map("ns/a", "5"), map("ns/c", "6")]);
    first.extend([
        hold(gate),
        added(&map("ns/b", "11")),
        modified(&map("ns/b", "12").field("data", json!({"k": "new value"}))),
        deleted(&map("ns/a", "13")),
        error_event(410, "Expired", "too old resource version: 5 (7)"),
        fin(),
    ]);
    let mut second = initial("20", &[map("ns/b", "12").field("data", json!({"k": "new value"}))]);
    second.push(stall());
    ScriptedServer::start(Script::in_order([
        Expect::watch().path(MAPS).rv("").answer(first),
        Expect::watch().path(MAPS).rv("13").answer(second),
    ]))
}

#[test]
fn json_lines_have_exactly_the_fields_they_promise() {
    let gate = Gate::new("synced is printed");
    let server = everything(&gate);
    let program = Program::on(&server, "-A -o json --resync 1s configmaps");
    program.wait_for(r#""event":"synced""#);
    gate.open();
    program.wait_for(r#""final_state_unknown":true"#); // it has healed
    program.wait_for(r#""event":"resynced""#);
    program.send(Signal::TERM);
    let lines = program.end().went_well();
    // Resyncs come when the clock says so.
    let (resynced, lines): (Vec<String>, Vec<String>) =
        lines.into_iter().partition(|line| line.contains(r#""event":"resynced""#));
    let wanted = [
        r#"{"event":"added","key":"ns/a","uid":"uid-ns/a","rv":"5","initial":true}"#,
        r#"{"event":"added","key":"ns/c","uid":"uid-ns/c","rv":"6","initial":true}"#,
        r#"{"event":"synced","objects":2,"rv":"10"}"#,
        r#"{"event":"added","key":"ns/b","uid":"uid-ns/b","rv":"11","initial":false}"#,
        r#"{"event":"updated","key":"ns/b","uid":"uid-ns/b","rv":"12","old_rv":"11"}"#,
        r#"{"event":"deleted","key":"ns/a","uid":"uid-ns/a","rv":"13","final_state_unknown":false}"#,
        r#"{"event":"error","kind":"gone","stage":"watch","message":"watch configmaps: too old resource version: 5 (7)"}"#,
        r#"{"event":"deleted","key":"ns/c","uid":"uid-ns/c","rv":"6","final_state_unknown":true}"#,
        r#"{"event":"stopped","objects":1}"#,
    ];
    let (mut got, mut wanted) = (parsed(&lines), parsed(&wanted.map(str::to_owned)));
    // The reader tells of the error while the events before it may still be on their way to the handler.
    let error = |value: &serde_json::Value| value["event"] == "error";
    got.sort_by_key(error);
    wanted.sort_by_key(error);
    assert_eq!(got, wanted);
    for line in parsed(&resynced) {
        let fields: Vec<&String> = line.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["event", "key", "rv", "uid"]);
    }
    server.finish();
}

#[test]
fn every_representation_prints_the_same() {
    let mut outputs = Vec::new();
    for form in ["", "--lazy", "--metadata-only", "--no-streaming", "--page-size 1"] {
        let pages = [map("ns/a", "5"), map("ns/c", "6")];
        let mut stream = initial("10", &pages);
        stream.push(stall());
        let server = ScriptedServer::start(Script::any_order([
            Expect::watch().query("sendInitialEvents", "true").answer(stream).any_times(),
            Expect::list().reply(list("10", &pages)).any_times(),
            Expect::watch().rv("10").answer([head(), stall()]).any_times(),
        ]));
        let program = Program::on(&server, &format!("{form} -o json -n ns -l app=x configmaps"));
        program.wait_for("synced");
        for request in server.requests() {
            assert_eq!(request.path(), "/api/v1/namespaces/ns/configmaps");
            assert_eq!(request.query("labelSelector").as_deref(), Some("app=x"));
            let accept = request.header("Accept").unwrap();
            assert_eq!(accept.contains("PartialObjectMetadata"), form == "--metadata-only", "{accept}");
        }
        program.send(Signal::TERM);
        outputs.push(program.end().went_well());
        server.finish();
    }
    assert!(outputs.iter().all(|output| *output == outputs[0]), "{outputs:#?}");
    assert_eq!(outputs[0].len(), 4);
}

#[test]
fn text_is_for_a_person() {
    let gate = Gate::new("synced is printed");
    let server = everything(&gate);
    let program = Program::on(&server, "-A configmaps");
    program.wait_for("SYNCED");
    gate.open();
    program.wait_for("its end was not seen");
    program.send(Signal::INT);
    let lines = program.end().went_well();
    let (errors, lines): (Vec<String>, Vec<String>) =
        lines.into_iter().partition(|line| line.starts_with("ERROR"));
    assert_eq!(
        lines,
        [
            "ADDED     ns/a                      version 5, initial",
            "ADDED     ns/c                      version 6, initial",
            "SYNCED    2 objects at version 10",
            "ADDED     ns/b                      version 11",
            "UPDATED   ns/b                      +data={\"k\":\"new value\"}",
            "DELETED   ns/a",
            "DELETED   ns/c                      its end was not seen",
            "STOPPED   1 objects; 3 added, 1 updated, 2 deleted",
        ]
    );
    let start = "ERROR     watch (gone): watch configmaps: too old resource version: 5 (7); lists again in ";
    assert!(errors.len() == 1 && errors[0].starts_with(start) && errors[0].ends_with(" s"), "{errors:?}");
    server.finish();
}

/// What is wrong, how often, what comes next and what there was so far: one line each, whole where it is piped.
#[test]
fn d_17_how_it_goes_is_one_line() {
    let refusal =
        informer_testkit::script::Reply::status(503, "ServiceUnavailable", "the server is starting");
    let script = || {
        Script::in_order([
            Expect::list().rv("0").reply(list("10", &[map("ns/a", "5")])),
            Expect::watch().rv("10").answer([head(), error_event(410, "Expired", "too old"), end()]),
            Expect::list().rv("10").reply(refusal.clone()),
            Expect::list().rv("10").reply(list("20", &[map("ns/a", "5")])),
            Expect::watch().rv("20").answer([head(), stall()]),
        ])
    };
    let server = ScriptedServer::start(script());
    let program = Program::on(&server, "-A --no-streaming --status 100ms configmaps");
    program.wait_for("configmaps: watching; synced; 1 object at version 20"); // not before the watch is open
    server.wait_for_script();
    program.send(Signal::TERM);
    let lines = program.end().went_well();
    let of = |word: &str| lines.iter().filter(|line| line.starts_with(word)).collect::<Vec<_>>();
    let errors = of("ERROR");
    let begin = "ERROR     list (unavailable): list configmaps: the server is starting; failed 2 times in a row; lists again in ";
    assert!(errors.iter().any(|line| line.starts_with(begin)), "{errors:#?}");
    let states = of("STATUS");
    let waiting = "STATUS    configmaps: waiting; watch (gone): watch configmaps: too old; lists again in ";
    assert!(states.iter().any(|line| line.starts_with(waiting)), "{states:#?}");
    let last = states.last().unwrap();
    assert!(
        last.starts_with("STATUS    configmaps: watching; synced; 1 object at version 20; heard "),
        "{last}"
    );
    assert!(
        last.contains(" ago; 3 lists (again for gone 1, unavailable 1), 2 watches, 0 events, "),
        "{last}"
    );
    assert!(last.ends_with("; 2 errors"), "{last}");
    server.finish();

    let server = ScriptedServer::start(script());
    let program = Program::on(&server, "-A -o json --no-streaming --status 1h configmaps");
    server.wait_for_script();
    program.send(Signal::TERM);
    let lines = parsed(&program.end().went_well());
    let status = lines.iter().rev().find(|line| line["event"] == "status").unwrap();
    assert_eq!(
        (&status["lists"], &status["watches"], &status["fruitless_watches"]),
        (&3.into(), &2.into(), &0.into())
    );
    assert_eq!(status["relists"], json!({"gone": 1, "unavailable": 1}));
    assert!(status["bytes"].as_u64().unwrap() > 300, "{status}");
    server.finish();
}

#[test]
fn what_is_read_can_be_recorded_and_played_again() {
    use informer_factory::kube_core::DynamicObject;
    use informer_factory::{ReplaySource, SharedInformer};

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recording.jsonl");
    let server = ScriptedServer::start(Script::in_order([
        Expect::list().rv("0").reply(list("10", &[map("ns/a", "5")])),
        Expect::watch().rv("10").answer([head(), stall()]),
    ]));
    let args = format!("--record {} -A --no-streaming configmaps", file.display());
    let program = Program::on(&server, &args);
    program.wait_for("SYNCED");
    server.wait_for_script();
    program.send(Signal::TERM);
    program.end().went_well();
    server.finish();

    let resource = informer_factory::kube_core::ApiResource {
        group: String::new(),
        version: "v1".into(),
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        plural: "configmaps".into(),
    };
    let replay = ReplaySource::<DynamicObject>::of(&file, &resource).unwrap();
    let informer = SharedInformer::builder(replay.clone()).streaming(false).build();
    let seen = informer_testkit::Recorder::new();
    informer.add_event_handler(seen.clone()).unwrap();
    informer.start().unwrap();
    replay.wait_played(std::time::Duration::from_secs(20)).unwrap();
    seen.wait_for(1);
    assert_eq!(seen.trace(), "Added(ns/a@5, initial)");
    informer.stop();

    // It is there: nothing is overwritten, and the program says so and ends.
    let outcome = Program::on(&server_of_nothing(), &args).end();
    assert!(outcome.errors.contains("cannot create the recording"), "{}", outcome.errors);
}

fn server_of_nothing() -> ScriptedServer {
    ScriptedServer::start(Script::always([stall()]))
}

/// A failure after the first list is told, even if nothing else has been printed by then.
#[test]
fn f_59_a_refused_watch_after_an_empty_list_is_an_error_line_and_heals() {
    let refusal = informer_testkit::script::Reply::status(403, "Forbidden", "you may not watch");
    let server = ScriptedServer::start(Script::in_order([
        Expect::list().rv("0").reply(list("10", &[])),
        Expect::watch().rv("10").reply(refusal),
        Expect::list().rv("10").reply(list("20", &[map("ns/a", "15")])),
        Expect::watch().rv("20").answer([head(), stall()]),
    ]));
    let program = Program::on(&server, "-A -o json --no-streaming configmaps");
    program.wait_for("added");
    server.wait_for_script();
    program.send(Signal::TERM);
    let lines = parsed(&program.end().went_well());
    let error = lines.iter().find(|line| line["event"] == "error").unwrap();
    assert_eq!((&error["kind"], &error["stage"]), (&"forbidden".into(), &"watch_open".into()));
    assert_eq!(lines.last().unwrap(), &json!({"event": "stopped", "objects": 1}));
    server.finish();
}

/// Nothing else would say why an object is not there.
#[test]
fn f_21_a_bad_object_of_the_first_list_is_an_error_line() {
    for form in ["", "--lazy", "--metadata-only", "--no-streaming", "--no-streaming --lazy"] {
        let objects = [map("ns/a", "5"), map("ns/bad", "6").meta("labels", json!(5))];
        let mut stream = initial("10", &objects);
        stream.push(stall());
        let server = ScriptedServer::start(Script::any_order([
            Expect::watch().query("sendInitialEvents", "true").answer(stream).any_times(),
            Expect::list().reply(list("10", &objects)).any_times(),
            Expect::watch().rv("10").answer([head(), stall()]).any_times(),
        ]));
        let program = Program::on(&server, &format!("{form} -o json -A configmaps"));
        program.wait_for("synced");
        program.send(Signal::TERM);
        let lines = parsed(&program.end().went_well());
        let errors: Vec<_> = lines.iter().filter(|line| line["event"] == "error").collect();
        assert_eq!(errors.len(), 1, "{form}: {lines:?}");
        let message = errors[0]["message"].as_str().unwrap();
        assert!(message.starts_with("ns/bad: ") && message.contains("labels"), "{form}: {message}");
        server.finish();
    }
}

fn secret(version: &str, value: &str) -> WireObject {
    map("ns/s", version)
        .of("Secret", "v1")
        .meta("annotations", json!({"kubectl.kubernetes.io/last-applied-configuration": value}))
        .field("data", json!({"password": value}))
        .field("stringData", json!([value]))
}

#[test]
fn values_of_secrets_are_never_shown() {
    for form in ["", "--lazy", "-o json", "-o json --lazy"] {
        let mut actions = initial("10", &[secret("5", "hunter-one")]);
        actions.extend([
            modified(&secret("11", "hunter-two")),
            deleted(&secret("12", "hunter-two")),
            stall(),
        ]);
        let server = ScriptedServer::start(Script::in_order([Expect::watch().answer(actions)]));
        let mut command = crate::program::command(&format!("--server {} -A {form} secrets", server.url()));
        command.env("RUST_LOG", "trace");
        let program = Program::start(command);
        program.wait_for(if form.contains("json") { r#""deleted""# } else { "DELETED" });
        program.send(Signal::TERM);
        let outcome = program.end();
        let all = format!("{:?} {}", outcome.lines, outcome.errors);
        assert!(!all.contains("hunter"), "{form}: {all}");
        assert_eq!(outcome.status.code(), Some(0));
        if !form.contains("json") {
            assert!(all.contains("data.password=…→…"), "{form}: {all}");
        }
        server.finish();
    }
}

#[test]
fn control_characters_of_objects_do_not_reach_the_terminal() {
    let with =
        |version, text: &str| map("ns/a", version).field("data", json!({"k": text, "\u{1b}[2Jkey": text}));
    let mut actions = initial("10", &[with("5", "x")]);
    actions.extend([modified(&with("11", "\u{1b}[31mred\u{9b}5n\u{7f}")), stall()]);
    let server = ScriptedServer::start(Script::in_order([Expect::watch().answer(actions)]));
    let program = Program::on(&server, "-A configmaps");
    program.wait_for("UPDATED");
    program.send(Signal::TERM);
    let lines = program.end().went_well();
    assert!(!lines.iter().any(|line| line.contains(char::is_control)), "{lines:?}");
    server.finish();
}
