//! Every way to end: the time is up, a signal, a reader that has gone, an output that is stuck.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;

use informer_testkit::script::initial_events as initial;
use informer_testkit::script::{Expect, Script, chunk, frame, hold, stall};
use informer_testkit::{ClosedBy, Gate, ScriptedServer, within};
use rustix::process::Signal;

use crate::program::{Program, command, map, parsed, send};

fn quiet() -> ScriptedServer {
    let mut actions = initial("10", &[map("ns/a", "5")]);
    actions.push(stall());
    ScriptedServer::start(Script::in_order([Expect::watch().answer(actions)]))
}

#[test]
fn the_end_of_for_is_the_end_and_stopped_is_the_last_line() {
    for form in ["-o json --for 300ms", "-o json --for 0.3s --lazy"] {
        let server = quiet();
        let lines = parsed(&Program::on(&server, &format!("{form} -A configmaps")).end().went_well());
        assert_eq!(lines.last().unwrap()["event"], "stopped");
        drop(server);
    }
}

/// However early it comes.
#[test]
fn for_no_time_at_all_prints_stopped_alone_or_last() {
    let server = ScriptedServer::start(Script::always([stall()]));
    for _ in 0..10 {
        let lines = parsed(&Program::on(&server, "-o json --for 0 -A configmaps").end().went_well());
        assert_eq!(lines, [serde_json::json!({"event": "stopped", "objects": 0})]);
    }
}

#[test]
fn signals_end_it_like_the_end_of_for() {
    for signal in [Signal::TERM, Signal::INT] {
        let server = quiet();
        let program = Program::on(&server, "-o json -A configmaps");
        program.wait_for("synced");
        program.send(signal);
        let lines = parsed(&program.end().went_well());
        assert_eq!(lines.last().unwrap(), &serde_json::json!({"event": "stopped", "objects": 1}));
        server.finish();
    }
}

/// Whoever keeps the output must not take half of it for the whole.
#[test]
#[cfg(target_os = "linux")]
fn an_output_that_cannot_be_written_is_a_failure() {
    for form in ["", "-o json", "-o json --for 0"] {
        let server = quiet();
        let mut command = command(&format!("--server {} {form} -A configmaps", server.url()));
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = within("the end of the program", move || command.stdout(full).output().unwrap());
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.starts_with("error: cannot write to standard output"), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
        drop(server);
    }
}

#[test]
fn a_reader_that_has_gone_ends_it_quietly() {
    for form in ["", "-o json"] {
        let gate = Gate::new("the reader has gone");
        let mut actions = initial("10", &[map("ns/a", "5")]);
        // More than the pipe holds: another test that starts a program just now may have its reading end for a moment.
        let many: Vec<u8> =
            (11..6011).flat_map(|v| frame("MODIFIED", &map("ns/a", &v.to_string()))).collect();
        actions.extend([hold(&gate), chunk(many), stall()]);
        let server = ScriptedServer::start(Script::in_order([Expect::watch().answer(actions)]));
        let mut command = command(&format!("--server {} {form} -A configmaps", server.url()));
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        // `| head -1`
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(first.contains("ns/a"), "{first}");
        gate.open();
        let (status, errors) = within("the end of the program", move || {
            let mut errors = String::new();
            child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
            (child.wait().unwrap(), errors)
        });
        assert_eq!((status.code(), errors.as_str()), (Some(0), ""));
        server.finish();
    }
}

/// Nobody reads, so not even `stopped` can be printed; the second signal ends it all the same.
#[test]
fn a_second_signal_ends_it_though_the_output_is_stuck() {
    let (_reader, mut writer) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    while writer.write(&[b'\n'; 512]).is_ok() {}
    while writer.write(b"\n").is_ok() {}
    rustix::io::ioctl_fionbio(&writer, false).unwrap();
    let server = quiet();
    let mut command = command(&format!("--server {} -A configmaps", server.url()));
    let mut child = command.stdout(writer).spawn().unwrap();
    drop(command); // with its handle on the pipe
    server.wait_for_requests(1);
    send(&child, Signal::TERM);
    assert_eq!(server.wait_for_close(0), ClosedBy::Client); // the first one has arrived
    send(&child, Signal::TERM);
    let status = within("the end of the program", move || child.wait().unwrap());
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()));
}
