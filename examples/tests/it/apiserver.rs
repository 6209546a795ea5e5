//! The server as an example: another program works on it by the kubeconfig that it writes, until it is told to end.

use rustix::process::Signal;

use crate::program::{Program, command, command_of};

#[test]
fn another_program_works_on_it_by_its_kubeconfig() {
    for tls in ["", "--tls"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        let args = format!("--kubeconfig-out {} {tls}", file.display());
        let server = Program::start(command_of("apiserver", &args));
        server.wait_for("kubectl get configmaps -w"); // the last line of its greeting

        let other = Program::start(command(&format!("--kubeconfig {} -o json namespaces", file.display())));
        other.wait_for("synced");
        other.send(Signal::TERM);
        let lines = other.end().went_well();
        assert!(lines.iter().any(|line| line.contains(r#""key":"kube-system""#)), "{lines:#?}");

        server.send(Signal::TERM);
        let lines = server.end().went_well();
        let kubeconfig = std::fs::read_to_string(&file).unwrap();
        assert_eq!(kubeconfig.contains("token"), !tls.is_empty(), "else kubectl asks a person for a name");
        let scheme = if tls.is_empty() { "http" } else { "https" };
        assert!(lines[0].starts_with(&format!("listening on {scheme}://127.0.0.1:")), "{lines:#?}");
        assert!(
            lines.iter().any(|line| *line == format!("  export KUBECONFIG={}", file.display())),
            "{lines:#?}"
        );
        assert_eq!(lines.last().unwrap(), "stopped");
    }
}

#[test]
fn it_ends_after_the_time_of_for() {
    let lines = Program::start(command_of("apiserver", "--for 0s")).end().went_well();
    assert_eq!(lines.last().unwrap(), "stopped");
}

#[test]
fn what_cannot_be_is_one_line_that_names_it() {
    for (args, code, part) in [
        ("--port 99999", 2, "99999"),
        ("--for soon", 2, "soon"),
        ("--bogus", 2, "--bogus"),
        ("--kubeconfig-out /nonexistent/kubeconfig", 1, "/nonexistent/kubeconfig"),
    ] {
        let outcome = Program::start(command_of("apiserver", args)).end();
        assert_eq!(outcome.status.code(), Some(code), "{args}: {}", outcome.errors);
        assert!(outcome.errors.starts_with("error: ") && outcome.errors.contains(part), "{}", outcome.errors);
        assert_eq!(outcome.errors.lines().count(), 1, "{}", outcome.errors);
    }
}
