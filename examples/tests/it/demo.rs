//! What each prints with `--demo`, to a pipe, and that it ends by itself and well.

use std::collections::BTreeSet;
use std::path::Path;

use informer_examples::demo::{Change, Life};
use informer_testkit::ApiServer;
use rustix::process::Signal;
use serde_json::Value;

use crate::program::{Program, command, command_of, parsed};

/// Runs an example on a cluster of its own, for as long as it takes until a line of it contains `text`.
#[track_caller]
fn until(name: &str, args: &str, text: &str) -> Vec<String> {
    let program = Program::start(command_of(name, &format!("--demo {args}")));
    program.wait_for(text);
    program.send(Signal::TERM);
    ended(program)
}

/// Waits for the end and answers what was printed. Standard error has the invitation and nothing else.
#[track_caller]
fn ended(program: Program) -> Vec<String> {
    let outcome = program.end();
    assert_eq!(outcome.status.code(), Some(0), "{} after {:?}", outcome.errors, outcome.lines);
    let invitation = outcome.errors.trim_end();
    let file = invitation
        .strip_prefix("join in: kubectl --kubeconfig ")
        .and_then(|rest| rest.strip_suffix(" get pods -A -w"))
        .unwrap_or_else(|| panic!("no invitation: {invitation}"));
    assert!(!Path::new(file).exists(), "{file} is left behind");
    outcome.lines
}

#[track_caller]
fn has(lines: &[String], part: &str) {
    assert!(lines.iter().any(|line| line.contains(part)), "{part:?} is not in {lines:#?}");
}

#[test]
fn watch_shows_pods_of_all_namespaces_that_come_change_and_go() {
    let lines = until("watch", "pods", "DELETED");
    has(&lines, "ADDED     shop/web-");
    has(&lines, "ADDED     media/encoder-");
    has(&lines, ", initial");
    has(&lines, " objects at version ");
    has(&lines, "status.phase=Pending→Running");
    assert!(lines.last().unwrap().starts_with("STOPPED   "), "{lines:#?}");
    assert!(lines.iter().all(|line| !line.contains('\u{1b}')), "colour in a pipe: {lines:#?}");
}

#[test]
fn watch_prints_nothing_but_json_with_o_json() {
    let lines = parsed(&until("watch", "-o json -n shop pods", r#""event":"updated""#));
    let of_shop = |line: &Value| line["key"].as_str().is_none_or(|key| key.starts_with("shop/"));
    assert!(lines.iter().all(of_shop), "{lines:#?}");
    assert!(lines.iter().any(|line| line["event"] == "synced"), "{lines:#?}");
    assert_eq!(lines.last().unwrap()["event"], "stopped");
}

/// Every kind of the demo's cluster, in every representation. Of Pods there may just be one more or one less.
#[test]
fn watch_follows_whatever_the_cluster_has() {
    for (args, objects) in [
        ("nodes", 3..=3),
        ("deployments.apps --lazy", 3..=3),
        ("deploy --metadata-only", 3..=3),
        ("cm -n shop", 1..=1),
        ("pods --no-streaming --page-size 2 -l app=encoder", 1..=2),
        ("pods --field-selector metadata.namespace=media", 1..=2),
    ] {
        let lines = parsed(&until("watch", &format!("-o json {args}"), "synced"));
        let synced = lines.iter().find(|line| line["event"] == "synced").unwrap();
        assert!(objects.contains(&synced["objects"].as_u64().unwrap()), "{args}: {lines:#?}");
    }
}

/// All that this seed ever creates, and nothing of another one.
#[test]
fn a_seed_is_a_life() {
    let pods = |seed| {
        let (mut life, mut changes) = Life::new(seed);
        changes.extend((0..1000).flat_map(|_| life.step().changes));
        let mut keys = BTreeSet::new();
        for change in changes {
            if let Change::Create("pods", object) = change {
                let meta = &object["metadata"];
                let [namespace, name] = ["namespace", "name"].map(|field| meta[field].as_str().unwrap());
                keys.insert(format!("{namespace}/{name}"));
            }
        }
        keys
    };
    let lines = parsed(&until("watch", "--seed 5 -o json pods", "synced"));
    let keys: BTreeSet<_> = lines.iter().filter_map(|line| line["key"].as_str().map(str::to_owned)).collect();
    assert!(6 < keys.len() && keys.is_subset(&pods(5)), "{keys:#?}");
    assert!(keys.is_disjoint(&pods(6)), "{keys:#?}");
}

#[test]
fn list_by_index_lists_in_every_way_twice() {
    let lines = ended(Program::start(command_of("list_by_index", "--demo --for 1s")));
    for part in [
        "by node, from an index:",
        "  node-",
        "by image, from another:",
        "  web:1.4                        3  shop/web-",
        "by namespace, from a lister:",
        "  media                          2  encoder-",
        "by label, with a selector:",
        "  app=web                        3",
    ] {
        has(&lines, part);
    }
    assert_eq!(lines.iter().filter(|line| line.contains(" pods at version ")).count(), 2, "{lines:#?}");
}

#[test]
fn graceful_stop_finishes_what_is_in_hand() {
    let lines = until("graceful_stop", "", "synced: ");
    has(&lines, "informers: every thread joined after ");
    has(&lines, "worker: ");
    assert!(lines.last().unwrap().starts_with("caches: "), "{lines:#?}");
}

#[test]
fn embed_answers_from_its_cache() {
    let lines = until("embed", "", "GET /nothing");
    has(&lines, "listening on http://127.0.0.1:");
    has(&lines, r#"GET /healthz: 200 {"last_error":null,"objects":"#);
    has(&lines, r#"GET /pods?node=node-1: 200 {"pods":["#);
    has(&lines, r#"GET /pods?node=nowhere: 200 {"pods":[],"version":""#);
    has(&lines, "GET /nothing: 404 ");
    assert_eq!(lines.last().unwrap(), "closed");
}

#[test]
fn custom_resource_defines_and_follows_its_own() {
    let lines = until("custom_resource", "", "gone: ");
    for line in [
        "backups.example.com is established",
        "synced: 0 backups",
        "new:     default/orders-daily  orders @daily, keeps 7",
        "backups of orders: orders-daily, orders-hourly",
        "changed: default/users  users @weekly, keeps 30",
        "gone:    default/orders-hourly",
    ] {
        assert!(lines.iter().any(|printed| printed == line), "{line:?} is not in {lines:#?}");
    }
}

#[test]
fn controller_copies_what_comes_and_takes_away_what_goes() {
    let lines = until("controller", "", "removed ");
    has(&lines, "copied  team-red/settings, from shop");
    has(&lines, "copied  team-red/palette, from media");
}

/// A cluster of one's own: without `--demo` nothing is said that was not asked for.
#[test]
fn every_example_works_on_a_server_of_ones_own() {
    let server = ApiServer::start().unwrap();
    for name in ["watch", "list_by_index", "graceful_stop", "embed", "custom_resource", "controller"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        server.write_kubeconfig(&file).unwrap();
        let resource = if name == "watch" { "pods" } else { "" };
        let args = format!("--kubeconfig {} --for 100ms {resource}", file.display());
        assert!(
            !Program::start(command_of(name, &args)).end().went_well().is_empty() || name == "controller",
            "{name}"
        );
    }
    server.stop();
}

#[test]
fn what_excludes_the_demo_is_said() {
    let outcome = Program::start(command("--demo --server http://127.0.0.1:1 pods")).end();
    assert_eq!(outcome.status.code(), Some(2));
    assert!(outcome.errors.contains("--demo and --server exclude each other"), "{}", outcome.errors);
    let outcome = Program::start(command_of("embed", "--demo --bogus")).end();
    assert_eq!(outcome.status.code(), Some(2));
    assert!(outcome.errors.contains("--bogus") && outcome.errors.contains("--help"), "{}", outcome.errors);
}
