//! Tests of lists and watches from bytes to what a sink is told, which no test outside the crate can reach yet
//! without a connection.
//!
//! What was told is compared as text, one line for each call.

mod list;
mod property;
mod watch;
mod wire;

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;

use informer_core::kube_core::TypeMeta;
use informer_core::{
    BadObject, ChangeKind, Error, Flow, KeyRef, ListEnd, ListSink, Representation, Result, WatchEnd,
    WatchSink,
};

use crate::decode::DecodeSettings;
use crate::event::read_watch;
use crate::list::read_list;

/// Writes down what it is told.
struct Recorder<T> {
    told: Vec<String>,
    objects: Vec<Arc<T>>,
    /// What `have` answers with.
    stored: Vec<Arc<T>>,
    /// After so many calls, the end is asked for.
    end_after: usize,
    /// How many reads may follow.
    reads: usize,
}

impl<T: Representation> Recorder<T> {
    fn new() -> Self {
        Recorder {
            told: Vec::new(),
            objects: Vec::new(),
            stored: Vec::new(),
            end_after: usize::MAX,
            reads: usize::MAX,
        }
    }

    fn note(&mut self, line: String) -> Flow {
        self.told.push(line);
        if self.told.len() < self.end_after { Flow::Continue } else { Flow::End }
    }

    fn find(&self, key: KeyRef<'_>, uid: &str, version: &str) -> Option<Arc<T>> {
        let same = |object: &&Arc<T>| {
            let meta = object.meta();
            meta.key_ref() == key && meta.uid == uid && meta.resource_version == version
        };
        self.stored.iter().find(same).cloned()
    }
}

fn identity<T: Representation>(object: &T) -> String {
    let meta = object.meta();
    format!("{}@{}", meta.key_ref(), meta.resource_version)
}

fn describe(bad: &BadObject) -> String {
    let key = bad.key.as_ref().map_or("?", |key| key.as_str());
    format!("{key}@{} {}", bad.resource_version, bad.error.kind())
}

impl<T: Representation> ListSink<T> for Recorder<T> {
    fn have(&self, key: KeyRef<'_>, uid: &str, resource_version: &str) -> Option<Arc<T>> {
        self.find(key, uid, resource_version)
    }

    fn may_have(&self) -> bool {
        !self.stored.is_empty()
    }

    fn item(&mut self, object: T) {
        let _ = self.note(format!("item {}", identity(&object)));
        self.objects.push(Arc::new(object));
    }

    fn unchanged(&mut self, object: Arc<T>) {
        let _ = self.note(format!("unchanged {}", identity(&*object)));
        self.objects.push(object);
    }

    fn bad_item(&mut self, bad: BadObject) {
        let _ = self.note(format!("bad {}", describe(&bad)));
    }
}

impl<T: Representation> WatchSink<T> for Recorder<T> {
    fn have(&self, key: KeyRef<'_>, uid: &str, resource_version: &str) -> Option<Arc<T>> {
        self.find(key, uid, resource_version)
    }

    fn may_have(&self) -> bool {
        !self.stored.is_empty()
    }

    fn opened(&mut self) {
        unreachable!("whoever opens the watch says so");
    }

    fn change(&mut self, kind: ChangeKind, object: T) -> Flow {
        let line = format!("{kind:?} {}", identity(&object));
        self.objects.push(Arc::new(object));
        self.note(line)
    }

    fn unchanged(&mut self, object: Arc<T>) -> Flow {
        let line = format!("unchanged {}", identity(&*object));
        self.objects.push(object);
        self.note(line)
    }

    fn bad_change(&mut self, kind: ChangeKind, bad: BadObject) -> Flow {
        self.note(format!("bad {kind:?} {}", describe(&bad)))
    }

    fn bookmark(&mut self, resource_version: &str, initial_events_end: bool) -> Flow {
        self.note(format!("bookmark {resource_version}{}", if initial_events_end { " end" } else { "" }))
    }

    fn read_on(&mut self) -> Flow {
        let may = self.reads.checked_sub(1);
        self.reads = may.unwrap_or_default();
        may.map_or(Flow::End, |_| Flow::Continue)
    }
}

/// A body that comes in the given pieces.
struct Pieces {
    pieces: VecDeque<io::Result<Vec<u8>>>,
}

impl Pieces {
    fn of<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let full = pieces.into_iter().filter(|piece| !piece.is_empty());
        Pieces { pieces: full.map(|piece| Ok(piece.to_vec())).collect() }
    }

    /// Then this error.
    fn then(mut self, error: impl Into<io::Error>) -> Self {
        self.pieces.push_back(Err(error.into()));
        self
    }
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some(mut piece) = self.pieces.pop_front().transpose()? else { return Ok(0) };
        let n = piece.len().min(out.len());
        out[..n].copy_from_slice(&piece[..n]);
        if n < piece.len() {
            self.pieces.push_front(Ok(piece.split_off(n)));
        }
        Ok(n)
    }
}

fn transport(error: Error) -> io::Error {
    io::Error::other(error)
}

fn settings() -> DecodeSettings {
    DecodeSettings::default()
}

fn expecting(api_version: &str, kind: &str) -> DecodeSettings {
    let expected = TypeMeta { api_version: api_version.to_owned(), kind: kind.to_owned() };
    DecodeSettings { expected: Some(expected), ..settings() }
}

/// What a watch told, and how it ended.
fn watch<T: Representation>(
    body: &mut dyn Read,
    settings: &DecodeSettings,
) -> (Vec<String>, Result<WatchEnd>) {
    let mut recorder = Recorder::<T>::new();
    let end = read_watch(body, settings, &mut recorder);
    (recorder.told, end)
}

/// What a list told, and how it ended.
fn list<T: Representation>(body: &mut dyn Read, settings: &DecodeSettings) -> (Vec<String>, Result<ListEnd>) {
    let mut recorder = Recorder::<T>::new();
    let end = read_list(body, settings, &mut recorder);
    (recorder.told, end)
}

fn config_map(name: &str, version: u32) -> String {
    format!(
        r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"{name}","namespace":"n","uid":"u-{name}","resourceVersion":"{version}"}},"data":{{"k":"é😀 \"}}{{\" \\ 日本"}}}}"#
    )
}

fn event(event_type: &str, object: &str) -> String {
    format!("{{\"type\":\"{event_type}\",\"object\":{object}}}\n")
}
