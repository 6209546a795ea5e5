//! The controller on a server that the test writes to: every reason for a copy to come, to change and to go.

use informer_testkit::ApiServer;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{Program, command_of};

fn namespace(server: &ApiServer, name: &str, target: bool) {
    let labels = if target { json!({"copy.example.com/target": "true"}) } else { json!({}) };
    server.create("namespaces", json!({"metadata": {"name": name, "labels": labels}})).unwrap();
}

fn map(server: &ApiServer, key: &str, source: bool, value: &str) {
    let (namespace, name) = key.split_once('/').unwrap();
    let labels = if source { json!({"copy.example.com/source": "true"}) } else { json!({}) };
    let metadata = json!({"namespace": namespace, "name": name, "labels": labels});
    server.create("configmaps", json!({"metadata": metadata, "data": {"k": value}})).unwrap();
}

fn value(server: &ApiServer, key: &str) -> Option<Value> {
    server.get("configmaps", key).ok().map(|map| map["data"]["k"].clone())
}

fn start(server: &ApiServer) -> Program {
    Program::start(command_of("controller", &format!("--server {}", server.url())))
}

#[track_caller]
fn end(program: Program) -> Vec<String> {
    program.send(Signal::TERM);
    program.end().went_well()
}

#[test]
fn a_copy_comes_changes_and_goes_with_its_reasons() {
    let server = ApiServer::start().unwrap();
    namespace(&server, "red", true);
    namespace(&server, "plain", false);
    map(&server, "default/settings", true, "1");
    map(&server, "default/other", false, "1");
    let program = start(&server);
    program.wait_for("copied  red/settings, from default");
    assert_eq!(value(&server, "red/settings"), Some(json!("1")));

    // Another namespace, another value, a copy that somebody has changed, one that somebody has deleted.
    namespace(&server, "blue", true);
    program.wait_for("copied  blue/settings");
    server.merge_patch("configmaps", "default/settings", &json!({"data": {"k": "2"}})).unwrap();
    program.wait_for_lines(2, "copied  blue/settings");
    program.wait_for_lines(2, "copied  red/settings");
    server.merge_patch("configmaps", "red/settings", &json!({"data": {"k": "mine"}})).unwrap();
    program.wait_for_lines(3, "copied  red/settings");
    server.delete("configmaps", "blue/settings").unwrap();
    program.wait_for_lines(3, "copied  blue/settings");
    assert_eq!(value(&server, "red/settings"), Some(json!("2")));
    assert_eq!(value(&server, "blue/settings"), Some(json!("2")));

    // A namespace loses its label, and then the source its own.
    let unlabelled = |label: &str| json!({"metadata": {"labels": {label: null}}});
    server.merge_patch("namespaces", "red", &unlabelled("copy.example.com/target")).unwrap();
    program.wait_for("removed red/settings");
    assert_eq!(value(&server, "red/settings"), None);
    server.merge_patch("configmaps", "default/settings", &unlabelled("copy.example.com/source")).unwrap();
    program.wait_for("removed blue/settings");
    assert_eq!(value(&server, "blue/settings"), None);

    let lines = end(program);
    // It reads its own writes: nothing is written twice for one reason, and nothing is tried in vain.
    assert_eq!(lines.len(), 8, "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("other") || line.contains("plain")), "{lines:#?}");
}

#[test]
fn the_source_goes_and_a_namespace_goes() {
    let server = ApiServer::start().unwrap();
    namespace(&server, "red", true);
    namespace(&server, "blue", true);
    map(&server, "default/settings", true, "1");
    let program = start(&server);
    program.wait_for("copied  red/settings");
    program.wait_for("copied  blue/settings");
    server.delete("namespaces", "blue").unwrap();
    server.delete("configmaps", "default/settings").unwrap();
    program.wait_for("removed red/settings");
    end(program);
}

/// What went while it was away is noticed at its start.
#[test]
fn copies_without_a_source_are_removed_at_the_start() {
    let server = ApiServer::start().unwrap();
    namespace(&server, "red", true);
    let metadata =
        json!({"namespace": "red", "name": "old", "annotations": {"copy.example.com/from": "default"}});
    server.create("configmaps", json!({"metadata": metadata})).unwrap();
    map(&server, "red/own", false, "mine");
    let program = start(&server);
    program.wait_for("removed red/old");
    end(program);
    assert_eq!(value(&server, "red/own"), Some(json!("mine")));
}

/// Somebody else's ConfigMap is in the way: it stays as it is, the others are made, and once it is gone all is well.
#[test]
fn a_failure_is_tried_again_later_and_stops_nobody_else() {
    let server = ApiServer::start().unwrap();
    for name in ["blue", "green", "red"] {
        namespace(&server, name, true);
    }
    map(&server, "green/settings", false, "mine");
    map(&server, "default/settings", true, "1");
    let program = start(&server);
    program.wait_for("copied  red/settings");
    program.wait_for("copied  blue/settings");
    program.wait_for(
        r#"failed  green/settings, again in 400ms: create configmaps: configmaps "settings" already exists"#,
    );
    assert_eq!(value(&server, "green/settings"), Some(json!("mine")));
    server.delete("configmaps", "green/settings").unwrap();
    program.wait_for("copied  green/settings");
    end(program);
}

/// Two sources of one name: the first by key wins everywhere, but a source is never overwritten.
#[test]
fn sources_of_one_name_do_not_fight() {
    let server = ApiServer::start().unwrap();
    for name in ["a", "b", "c"] {
        namespace(&server, name, true);
    }
    map(&server, "b/settings", true, "of b");
    map(&server, "a/settings", true, "of a");
    let program = start(&server);
    program.wait_for("copied  c/settings, from a");
    server.delete("configmaps", "a/settings").unwrap();
    program.wait_for("copied  c/settings, from b");
    program.wait_for("copied  a/settings, from b");
    let lines = end(program);
    assert!(!lines.iter().any(|line| line.contains("b/settings")), "{lines:#?}");
    assert_eq!(value(&server, "b/settings"), Some(json!("of b")));
}

/// After a write the cache is behind for a moment, and a look in that moment would make the copy a second time: the
/// server would say that it exists.
#[test]
fn it_reads_its_own_writes() {
    let server = ApiServer::start().unwrap();
    namespace(&server, "red", true);
    let program = start(&server);
    for number in 0..100 {
        map(&server, &format!("default/settings-{number}"), true, "1");
        // Every source is looked at again.
        let note = json!({"metadata": {"annotations": {"note": number.to_string()}}});
        server.merge_patch("namespaces", "red", &note).unwrap();
    }
    program.wait_for_lines(100, "copied  red/settings-");
    let lines = end(program);
    assert!(!lines.iter().any(|line| line.starts_with("failed")), "{lines:#?}");
}
