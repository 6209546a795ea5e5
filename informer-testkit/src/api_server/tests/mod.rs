//! The engine, asked without HTTP. What a real server answered is in `wire.rs`; time is moved by hand.

#![expect(clippy::needless_pass_by_value, reason = "bodies are written where they are sent")]

mod races;
mod reading;
mod shapes;
mod watching;
mod wire;
mod writing;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::time::Duration;

use informer_core::Stop;
use informer_core::sync::{JoinHandle, spawn};
use serde_json::{Value, json};

use super::engine::Engine;
use super::exchange::{Answer, Call, Feed, Stream, Whole};
use super::memory::History;
use crate::{ManualClock, within};

/// An engine and the hands of a test.
struct Bench {
    engine: Arc<Engine>,
    clock: ManualClock,
}

impl Bench {
    fn new() -> Self {
        let clock = ManualClock::new();
        Bench { engine: Engine::new(Arc::new(clock.clone()), History::default()), clock }
    }

    fn call(method: &str, target: &str, body: impl Into<Vec<u8>>) -> Call {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pair = |pair: &str| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(key), decoded(value))
        };
        Call {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.split('&').filter(|text| !text.is_empty()).map(pair).collect(),
            headers: vec![("User-Agent".to_owned(), "wire-recorder/1".to_owned())],
            body: body.into(),
            user: None,
        }
    }

    fn ask(&self, call: &Call) -> Whole {
        match self.engine.answer(call) {
            Answer::Whole(whole) => whole,
            Answer::Stream(_) => panic!("a stream for {call:?}"),
        }
    }

    /// Does what has to wait for the clock, while the clock moves on to the first alarm. Answers how far that was.
    fn until_the_alarm<R: Send>(&self, wait: impl FnOnce() -> R + Send) -> (Duration, R) {
        std::thread::scope(|scope| {
            let waiting = scope.spawn(wait);
            let passed = self.clock.advance_to_next();
            (passed, waiting.join().unwrap())
        })
    }

    /// Asks, and gives status and body.
    fn send(&self, method: &str, target: &str, body: Value) -> (u16, Value) {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        read(&self.ask(&Self::call(method, target, bytes)))
    }

    fn get(&self, target: &str) -> (u16, Value) {
        self.send("GET", target, Value::Null)
    }

    fn patch(&self, target: &str, kind: &str, body: Value) -> (u16, Value) {
        let mut call = Self::call("PATCH", target, body.to_string());
        call.headers.push(("content-type".to_owned(), format!("application/{kind}+json")));
        read(&self.ask(&call))
    }

    /// Asks for what must work.
    #[track_caller]
    fn done(&self, method: &str, target: &str, body: Value) -> Value {
        let (status, body) = self.send(method, target, body);
        assert!(status < 300, "{method} {target}: {status} {body}");
        body
    }

    /// A ConfigMap in `default`.
    #[track_caller]
    fn config_map(&self, name: &str, label: &str, value: &str) -> Value {
        let body = json!({"metadata": {"name": name, "labels": {"n": label}}, "data": {"k": value}});
        self.done("POST", MAPS, body)
    }

    fn revision(&self) -> String {
        self.engine.lock().store.revision().to_string()
    }

    fn watch(&self, target: &str) -> Watching {
        self.watch_as(target, "application/json")
    }

    fn watch_as(&self, target: &str, accept: &str) -> Watching {
        let mut call = Self::call("GET", target, "");
        call.headers.push(("Accept".to_owned(), accept.to_owned()));
        match self.engine.answer(&call) {
            Answer::Stream(Stream { feed, .. }) => Watching::new(feed),
            Answer::Whole(whole) => panic!("no stream: {}", String::from_utf8_lossy(&whole.body)),
        }
    }
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn read(whole: &Whole) -> (u16, Value) {
    let body = serde_json::from_slice(&whole.body)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&whole.body).into_owned()));
    (whole.status, body)
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let hex = [rest.next().unwrap(), rest.next().unwrap()];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// A watch whose feed is asked on a thread of its own.
struct Watching {
    stop: Stop,
    lines: Receiver<Value>,
    thread: Option<JoinHandle<()>>,
}

impl Watching {
    fn new(mut feed: Box<dyn Feed>) -> Self {
        let stop = Stop::new();
        let (tell, lines) = mpsc::channel();
        let theirs = stop.clone();
        let thread = spawn("watching", move || {
            while let Some(chunk) = feed.next(&theirs) {
                for line in chunk.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                    let _ = tell.send(serde_json::from_slice(line).unwrap());
                }
            }
        });
        Watching { stop, lines, thread: Some(thread.unwrap()) }
    }

    /// The next event.
    #[track_caller]
    fn next(&self) -> Value {
        self.lines.recv_timeout(Duration::from_secs(20)).expect("an event comes")
    }

    /// The next event, as `TYPE name@version`.
    #[track_caller]
    fn told(&self) -> String {
        short(&self.next())
    }

    /// Everything to the end of the stream, which must come by itself.
    #[track_caller]
    fn rest(mut self) -> Vec<Value> {
        let thread = self.thread.take().unwrap();
        within("the stream ends", move || thread.join().unwrap());
        self.lines.try_iter().collect()
    }

    #[track_caller]
    fn assert_quiet(&self) {
        assert_eq!(self.lines.try_recv().unwrap_err(), TryRecvError::Empty);
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(thread) = self.thread.take() {
            within("the watch ends at its stop", move || thread.join().unwrap());
        }
    }
}

fn short(event: &Value) -> String {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    format!(
        "{} {}@{}",
        text("/type"),
        text("/object/metadata/name"),
        text("/object/metadata/resourceVersion")
    )
}

/// A document with uids, times and versions replaced by what they are, the same for the same.
fn normalised(value: &Value) -> Value {
    Normaliser::default().of("", value)
}

#[derive(Default)]
struct Normaliser {
    versions: BTreeMap<String, usize>,
}

impl Normaliser {
    fn of(&mut self, key: &str, value: &Value) -> Value {
        match (key, value) {
            ("uid", Value::String(_)) => json!("UID"),
            ("creationTimestamp" | "deletionTimestamp" | "time" | "lastTransitionTime", Value::String(_)) => {
                json!("TIME")
            }
            ("continue", Value::String(text)) if !text.is_empty() => json!("TOKEN"),
            ("resourceVersion", Value::String(version)) => {
                let next = self.versions.len();
                let index = *self.versions.entry(version.clone()).or_insert(next);
                json!(format!("V{index}"))
            }
            ("message", Value::String(text)) => json!(masked(text)),
            (_, Value::Object(map)) => map
                .iter()
                .map(|(key, value)| (key.clone(), self.of(key, value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            (_, Value::Array(all)) => all.iter().map(|value| self.of("", value)).collect(),
            (_, other) => other.clone(),
        }
    }
}

/// A message with its uids and its numbers masked.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    for word in text.split_inclusive(' ') {
        let core = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let uid = core.len() == 36 && core.matches('-').count() == 4;
        let number = !core.is_empty() && core.bytes().all(|b| b.is_ascii_digit());
        masked.push_str(&if uid || number { word.replace(core, "#") } else { word.to_owned() });
    }
    masked
}
