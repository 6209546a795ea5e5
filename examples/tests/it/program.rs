//! [`Program`]: a built example in a process of its own, its output line by line.
//!
//! Cargo tells a test where its package's binaries are, but not its examples: the program is looked for beside the
//! test, and all are built if one is not there or older than their sources.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;

use informer_factory::sync::{JoinHandle, spawn};
use informer_testkit::script::{WireObject, object};
use informer_testkit::{Probe, ScriptedServer, within};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A run of the program.
pub(crate) struct Program {
    child: Option<Child>,
    lines: Probe<Vec<String>>,
    readers: Vec<JoinHandle<()>>,
    errors: Probe<String>,
}

/// What a run came to.
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    pub(crate) lines: Vec<String>,
    pub(crate) errors: String,
}

impl Program {
    /// Starts the program on `server`.
    pub(crate) fn on(server: &ScriptedServer, args: &str) -> Self {
        Program::start(command(&format!("--server {} {args}", server.url())))
    }

    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let (lines, errors) = (Probe::new(Vec::new()), Probe::new(String::new()));
        let (stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (tell, complain) = (lines.clone(), errors.clone());
        let readers = vec![
            spawn("stdout", move || {
                for line in BufReader::new(stdout).lines() {
                    tell.update(|lines| lines.push(line.unwrap()));
                }
            })
            .unwrap(),
            spawn("stderr", move || {
                let mut text = String::new();
                stderr.read_to_string(&mut text).unwrap();
                complain.set(text);
            })
            .unwrap(),
        ];
        Program { child: Some(child), lines, readers, errors }
    }

    /// Waits until a line of standard output contains `text`.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        self.lines.wait(text, |lines| lines.iter().any(|line| line.contains(text)));
    }

    /// Waits until `count` lines of standard output contain `text`.
    #[track_caller]
    pub(crate) fn wait_for_lines(&self, count: usize, text: &str) {
        let enough = |lines: &Vec<String>| count <= lines.iter().filter(|line| line.contains(text)).count();
        self.lines.wait(text, enough);
    }

    pub(crate) fn send(&self, signal: Signal) {
        send(self.child.as_ref().unwrap(), signal);
    }

    /// Waits until the program has ended.
    #[track_caller]
    pub(crate) fn end(mut self) -> Outcome {
        let mut child = self.child.take().unwrap();
        let readers = std::mem::take(&mut self.readers);
        let status = within("the end of the program", move || {
            readers.into_iter().for_each(|reader| reader.join().unwrap());
            child.wait().unwrap()
        });
        Outcome { status, lines: self.lines.get(), errors: self.errors.get() }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill(); // a test that has failed leaves nothing behind
            let _ = child.wait();
        }
    }
}

impl Outcome {
    /// Asserts that it has ended as asked: code 0, nothing on standard error.
    #[track_caller]
    pub(crate) fn went_well(self) -> Vec<String> {
        assert_eq!((self.status.code(), self.errors.as_str()), (Some(0), ""), "after {:?}", self.lines);
        self.lines
    }
}

pub(crate) fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// `watch` with `args`, split at spaces, in an environment without a cluster.
pub(crate) fn command(args: &str) -> Command {
    command_of("watch", args)
}

/// The example `name` with `args`, split at spaces, in an environment without a cluster.
pub(crate) fn command_of(name: &str, args: &str) -> Command {
    let mut command = Command::new(binary(name));
    command.args(args.split_whitespace());
    command.env_clear().env("HOME", "/nonexistent").env("RUST_BACKTRACE", "1");
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

fn binary(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let profile = test.parent().and_then(Path::parent).unwrap();
        let folder = profile.join("examples");
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let programs = [
            "watch",
            "list_by_index",
            "graceful_stop",
            "embed",
            "custom_resource",
            "controller",
            "apiserver",
        ];
        let files = programs.map(|name| package.join(format!("{name}.rs")));
        let sources = [package.join("watch"), package.join("src")]
            .iter()
            .chain(&files)
            .filter_map(|file| newest(file))
            .max();
        if programs.iter().any(|name| changed(&program(&folder, name)) < sources) {
            build(package, profile);
        }
        folder
    });
    program(folder, name)
}

fn program(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// When a file, or the last one in a folder, was changed.
fn newest(path: &Path) -> Option<SystemTime> {
    if !path.is_dir() {
        return changed(path);
    }
    std::fs::read_dir(path).unwrap().filter_map(|entry| newest(&entry.unwrap().path())).max()
}

fn changed(file: &Path) -> Option<SystemTime> {
    file.metadata().and_then(|metadata| metadata.modified()).ok()
}

fn build(package: &Path, profile: &Path) {
    let name = match profile.file_name().and_then(|name| name.to_str()).unwrap() {
        "debug" => "dev",
        other => other,
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--examples", "--profile", name]).current_dir(package);
    let status = cargo.arg("--target-dir").arg(profile.parent().unwrap()).status().unwrap();
    assert!(status.success(), "the examples do not build");
}

/// A `ConfigMap`.
pub(crate) fn map(key: &str, version: &str) -> WireObject {
    object(key, &format!("uid-{key}"), version)
}

/// Lines of `-o json` as values.
#[track_caller]
pub(crate) fn parsed(lines: &[String]) -> Vec<Value> {
    lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect()
}
