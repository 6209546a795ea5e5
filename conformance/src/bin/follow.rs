//! Whether programs that watch end up with what the server has, whatever happens to it.
//!
//! ```text
//! cargo run --release -p informer-conformance --bin follow -- [--changes N] [--seed N] COMMAND...
//! ```
//!
//! Each COMMAND, with `{}` for the kubeconfig, watches the ConfigMaps of the namespace `default` and prints the JSON
//! lines of the `watch` example, as `benches/peers/kube-rs` does for kube-rs. They follow the embedded API server
//! through changes (10,000 unless told otherwise), a compaction, restarts and a restore. After each, what a program has
//! told is replayed and compared with what the server has, until they are equal; what is still missing after a while is
//! printed. Exit status 1 if anything is.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_core::sync::{JoinHandle, Monitor, spawn};
use informer_core::{Clock as _, SystemClock};
use informer_testkit::ApiServer;
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

/// Key to UID and version.
type State = BTreeMap<String, (String, String)>;

/// How long a program may take to notice something; that a server was restored shows in nothing but silence.
const SOON: Duration = Duration::from_secs(60);
const SILENCE: Duration = Duration::from_secs(240);

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Whether all programs had everything each time.
fn run() -> Result<bool, Failure> {
    let (mut changes, mut seed, mut commands) = (10_000, 1, Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--changes" => changes = words.next().ok_or("--changes wants a number")?.parse()?,
            "--seed" => seed = words.next().ok_or("--seed wants a number")?.parse()?,
            _ => commands.push(word),
        }
    }
    let mut server = ApiServer::start()?;
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    server.write_kubeconfig(&kubeconfig)?;
    let mut life = Life { seed, live: Vec::new(), made: 0 };
    life.go_on(&server, 100)?;
    let programs = commands
        .iter()
        .map(|command| Program::start(&command.replace("{}", &kubeconfig.to_string_lossy())))
        .collect::<Result<Vec<_>, _>>()?;
    let mut well = look("the first list", &server, &programs, SOON)?;

    life.go_on(&server, changes / 2)?;
    well &= look("the first half of the changes", &server, &programs, SOON)?;
    let snapshot = server.snapshot();
    life.go_on(&server, changes - changes / 2)?;
    well &= look("the second half", &server, &programs, SOON)?;
    server.compact();
    life.go_on(&server, 100)?;
    well &= look("a compaction and 100 changes", &server, &programs, SOON)?;
    server.restart()?;
    life.go_on(&server, 100)?;
    well &= look("a restart and 100 changes", &server, &programs, SOON)?;
    // What nobody could hear of: whoever comes back with the version of before gets 410.
    server.create("configmaps", json!({"metadata": {"name": "unheard", "namespace": "kube-system"}}))?;
    server.restart()?;
    life.go_on(&server, 100)?;
    well &= look("a restart that forgets versions, and 100 changes", &server, &programs, SOON)?;
    server.restore(&snapshot)?;
    life = Life { seed: life.seed, live: names(&server)?, made: life.made };
    life.go_on(&server, 100)?;
    well &= look("a restore to the first half, and 100 changes", &server, &programs, SILENCE)?;
    Ok(well)
}

fn names(server: &ApiServer) -> Result<Vec<String>, Failure> {
    let keys = server.list("configmaps")?.into_iter().map(|object| key(&object["metadata"]));
    Ok(keys.filter_map(|key| key.strip_prefix("default/").map(str::to_owned)).collect())
}

/// Waits until each program has told what the server has. Whether all have.
fn look(what: &str, server: &ApiServer, programs: &[Program], patience: Duration) -> Result<bool, Failure> {
    let objects = server.list("configmaps")?;
    let metadata = objects.iter().map(|object| &object["metadata"]);
    let want: State = metadata
        .filter(|metadata| metadata["namespace"] == "default")
        .map(|metadata| (key(metadata), (text(&metadata["uid"]), text(&metadata["resourceVersion"]))))
        .collect();
    let (began, mut well) = (SystemClock.now(), true);
    for program in programs {
        let mut told = program.told.lock();
        while told.state != want && !told.ended && SystemClock.now() < began + patience {
            program.told.wait_until(&mut told, &SystemClock, Some(began + patience));
        }
        let mut line = format!(
            "{what}: {}: {} added, {} updated, {} deleted, {} errors",
            program.name, told.added, told.updated, told.deleted, told.errors
        );
        if told.state == want {
            // When it told the last of it; the programs before it in line may have taken longer.
            let took = told.at.map_or(Duration::ZERO, |at| at.saturating_duration_since(began));
            write!(line, "; its {} objects are the server's after {:.1} s", want.len(), took.as_secs_f64())?;
        } else {
            well = false;
            let missing = want.iter().filter(|(key, _)| !told.state.contains_key(*key)).count();
            let extra = told.state.keys().filter(|key| !want.contains_key(*key)).count();
            let old =
                want.iter().filter(|(key, state)| told.state.get(*key).is_some_and(|has| has != *state));
            write!(
                line,
                "; NOT the server's {} objects after {:.0} s: {missing} missing, {extra} that are gone, {} old",
                want.len(),
                patience.as_secs_f64(),
                old.count()
            )?;
        }
        say(&line);
    }
    Ok(well)
}

/// Objects come, change and go; the same with the same seed.
struct Life {
    seed: u64,
    live: Vec<String>,
    made: u32,
}

impl Life {
    fn roll(&mut self, sides: usize) -> usize {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        usize::try_from(self.seed % sides as u64).unwrap_or_default()
    }

    fn go_on(&mut self, server: &ApiServer, changes: usize) -> Result<(), Failure> {
        for at in 0..changes {
            let dice = self.roll(10);
            if dice < 4 || self.live.len() < 5 {
                self.made += 1;
                let name = format!("map-{:05}", self.made);
                let metadata = json!({"name": name, "namespace": "default"});
                server.create("configmaps", json!({"metadata": metadata, "data": {"value": "0"}}))?;
                self.live.push(name);
                continue;
            }
            let chosen = self.roll(self.live.len());
            if dice < 8 {
                let change = json!({"data": {"value": at.to_string()}});
                server.merge_patch("configmaps", &format!("default/{}", self.live[chosen]), &change)?;
            } else {
                server.delete("configmaps", &format!("default/{}", self.live.swap_remove(chosen)))?;
            }
        }
        Ok(())
    }
}

/// A program that watches, until this is dropped.
struct Program {
    name: String,
    child: Child,
    reader: Option<JoinHandle<()>>,
    told: Arc<Monitor<Told>>,
}

/// What a program has told.
#[derive(Default)]
struct Told {
    state: State,
    added: usize,
    updated: usize,
    deleted: usize,
    errors: usize,
    /// When it last told something.
    at: Option<Instant>,
    ended: bool,
}

impl Program {
    fn start(command: &str) -> Result<Self, Failure> {
        let mut words = command.split_whitespace();
        let program = words.next().ok_or("an empty command")?;
        let name = program.rsplit('/').next().unwrap_or(program).to_owned();
        let mut child = Command::new(program)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{program}: {error}"))?;
        let stdout = child.stdout.take().ok_or("no output")?;
        let told = Arc::new(Monitor::new(Told::default()));
        let theirs = Arc::clone(&told);
        let reader = spawn("follow", move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let Ok(line) = serde_json::from_str::<Value>(&line) else { continue };
                theirs.lock().take(&line);
                theirs.notify_all();
            }
            theirs.lock().ended = true;
            theirs.notify_all();
        })?;
        Ok(Program { name, child, reader: Some(reader), told })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill(); // if it has ended by itself, all the better
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl Told {
    fn take(&mut self, line: &Value) {
        self.at = Some(SystemClock.now());
        let key = text(&line["key"]);
        let state = (text(&line["uid"]), text(&line["rv"]));
        match line["event"].as_str() {
            Some("added") => {
                self.added += 1;
                self.state.insert(key, state);
            }
            Some("updated") => {
                self.updated += 1;
                self.state.insert(key, state);
            }
            Some("deleted") => {
                self.deleted += 1;
                self.state.remove(&key);
            }
            Some("error") => self.errors += 1,
            _ => {}
        }
    }
}

fn key(metadata: &Value) -> String {
    format!("{}/{}", text(&metadata["namespace"]), text(&metadata["name"]))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}"); // nobody is left to tell
}
