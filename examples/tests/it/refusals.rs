//! What cannot work is one clear line on standard error and an exit code, never a backtrace.

use std::fs;
use std::process::Command;

use informer_testkit::ScriptedServer;
use informer_testkit::script::{Expect, Reply, Script};

use crate::program::{Program, command};

/// Runs the program and asserts how it refuses: with `code`, and one line that contains `parts`.
#[track_caller]
fn refuses(command: Command, code: i32, parts: &[&str]) {
    let outcome = Program::start(command).end();
    let errors = &outcome.errors;
    assert_eq!(outcome.status.code(), Some(code), "{errors}");
    assert_eq!(outcome.lines, [""; 0], "nothing goes to standard output");
    assert!(errors.starts_with("error: ") && errors.ends_with('\n'), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    for part in parts {
        assert!(errors.contains(*part), "{part:?} is not in: {errors}");
    }
    assert!(!errors.contains("backtrace") && !errors.contains("panicked"), "{errors}");
}

/// A server with the groups of these answers, and nothing else.
fn discovery() -> ScriptedServer {
    let empty = |body: &str| Reply::new(200, body);
    let reviews = r#"{"resources":[
        {"name":"tokenreviews","singularName":"tokenreview","namespaced":false,"kind":"TokenReview","verbs":["create"]}]}"#;
    let groups = r#"{"groups":[{"name":"a.io","versions":[{"groupVersion":"a.io/v1","version":"v1"}]}]}"#;
    ScriptedServer::start(Script::any_order([
        Expect::get("/apis/a.io/v1").reply(empty(reviews)).any_times(),
        Expect::get("/api").reply(empty(r#"{"versions":["v1"]}"#)).any_times(),
        Expect::get("/apis").reply(empty(groups)).any_times(),
        Expect::get("/api/v1")
            .reply(empty(r#"{"resources":[{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["list"]}]}"#))
            .any_times(),
    ]))
}

#[test]
fn wrong_options_are_2() {
    for (args, part) in [
        ("", "RESOURCE"),
        ("pods nodes", "nodes"),
        ("--bogus pods", "--bogus"),
        ("--for ten pods", "ten"),
        ("--resync 10ms pods", "at least 1s"),
        ("-o yaml pods", "yaml"),
        ("-n", "-n"),
        ("-n a -A pods", "-n and -A"),
        ("--server x --context y pods", "--server and --context"),
    ] {
        refuses(command(args), 2, &[part, "--help"]);
    }
}

#[test]
fn help_is_on_standard_output_and_fits_a_terminal() {
    let lines = Program::start(command("--help")).end().went_well();
    assert!(lines[0].starts_with("usage: watch "));
    let long: Vec<_> = lines.iter().filter(|line| 80 < line.chars().count()).collect();
    assert!(long.is_empty(), "{long:?}");
}

#[test]
fn an_unknown_resource() {
    let server = discovery();
    let url = server.url();
    refuses(command(&format!("--server {url} podz")), 1, &["\"podz\"", "did you mean pod"]);
    refuses(command(&format!("--server {url} pods.nowhere.io")), 1, &["\"pods.nowhere.io\""]);
    server.finish();
}

/// It would be refused for ever.
#[test]
fn a_resource_that_can_be_neither_listed_nor_watched() {
    let server = discovery();
    let line = format!("--server {} tokenreviews", server.url());
    refuses(command(&line), 1, &["no list and no watch of \"tokenreviews\"", "kubectl api-resources"]);
    server.finish();
}

#[test]
fn an_unreachable_server() {
    let server = ScriptedServer::start_refusing(Script::in_order([]));
    let url = server.url();
    for resource in ["pods", "widgets.example.com"] {
        refuses(command(&format!("--server {url} {resource}")), 1, &[&url, "connection refused"]);
    }
}

#[test]
fn kubeconfigs_that_are_missing_broken_or_lack_the_context() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.into_os_string().into_string().unwrap()
    };
    let missing = folder.path().join("missing").into_os_string().into_string().unwrap();
    refuses(command(&format!("--kubeconfig {missing} pods")), 1, &[&missing, "does not exist"]);
    let broken = file("broken", "apiVersion: v1\nclusters: [");
    refuses(command(&format!("--kubeconfig {broken} pods")), 1, &[&broken, "line 2"]);
    let server = ScriptedServer::start(Script::in_order([]));
    let good = file("good", &server.kubeconfig());
    refuses(command(&format!("--kubeconfig {good} --context prod pods")), 1, &["\"prod\"", &good, "test"]);
    refuses(command("pods"), 1, &["no Kubernetes configuration", "KUBECONFIG"]);
    let mut by_variable = command("--context prod pods");
    by_variable.env("KUBECONFIG", &good);
    refuses(by_variable, 1, &["\"prod\"", &good]);
    refuses(command("--server ftp://host pods"), 1, &["ftp://host", "http"]);
    server.finish();
}

#[test]
fn f_59_a_first_list_that_is_not_allowed() {
    let message = "pods is forbidden: User \"eve\" cannot list resource \"pods\"\nin API group \"\"";
    for (code, reason, message, part) in [
        (
            403,
            "Forbidden",
            message,
            "pods is forbidden: User \"eve\" cannot list resource \"pods\" in API group",
        ),
        (401, "Unauthorized", "Unauthorized", "Unauthorized"),
        (404, "NotFound", "the server could not find the requested resource", "could not find"),
    ] {
        for form in ["", "--no-streaming", "-o json"] {
            let server = ScriptedServer::start(Script::in_order([
                Expect::any().reply(Reply::status(code, reason, message))
            ]));
            refuses(command(&format!("--server {} {form} pods", server.url())), 1, &[part]);
            server.finish();
        }
    }
}

#[test]
fn f_59_a_refused_streaming_list_is_no_reason_to_wait_for_what_is_not_allowed() {
    let server = ScriptedServer::start(Script::in_order([
        Expect::watch().reply(Reply::status(422, "Invalid", "sendInitialEvents is forbidden")),
        Expect::list().reply(Reply::status(403, "Forbidden", "pods is forbidden")),
    ]));
    refuses(
        command(&format!("--server {} -o json pods", server.url())),
        1,
        &["list pods: pods is forbidden"],
    );
    server.finish();
}

/// What a real server says to `-l ==`: to the streaming list first, and then to the plain one.
#[test]
fn a_selector_that_is_none() {
    for form in ["", "-o json", "--no-streaming"] {
        let message = "unable to parse requirement: found '==', expected: identifier";
        let server =
            ScriptedServer::start(Script::always([Reply::status(400, "BadRequest", message).into()]));
        refuses(command(&format!("--server {} {form} -l == pods", server.url())), 1, &["list pods", message]);
        server.finish();
    }
}
