//! [`Printer`]: events as lines, for a person or as JSON.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use informer_examples::one_line;
use informer_examples::terminal::Terminal;
use informer_factory::sync::Mutex;
use informer_factory::{Error, ErrorKind, Event, Object, Report, Stage, Status, Stop};
use serde::Serialize;

use crate::show::{Show, changes};

/// Prints; counts what it prints. Threads take turns.
pub(crate) struct Printer {
    json: bool,
    terminal: Terminal,
    /// Values of Secrets are never shown.
    hide: bool,
    /// Set when nobody reads any more, or nothing can come.
    stop: Stop,
    state: Mutex<State>,
    added: AtomicU64,
    updated: AtomicU64,
    deleted: AtomicU64,
}

struct State {
    fatal: Option<Error>,
    /// A failure that has to be waited for has been told.
    waited: bool,
    /// Width of the key column, as wide as the widest key so far; wide enough for most from the first line on.
    width: usize,
}

impl Default for State {
    fn default() -> Self {
        State { fatal: None, waited: false, width: 24 }
    }
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line<'a> {
    Added { key: String, uid: &'a str, rv: &'a str, initial: bool },
    Updated { key: String, uid: &'a str, rv: &'a str, old_rv: &'a str },
    Deleted { key: String, uid: &'a str, rv: &'a str, final_state_unknown: bool },
    Resynced { key: String, uid: &'a str, rv: &'a str },
    Synced { objects: usize, rv: &'a str },
    Error { kind: &'a str, stage: &'a str, message: String },
    Status(Health<'a>),
    Stopped { objects: usize },
}

/// An informer's status in JSON.
#[derive(Serialize)]
struct Health<'a> {
    phase: &'a str,
    synced: bool,
    objects: usize,
    rv: &'a str,
    last_contact_ms: Option<u64>,
    lists: u64,
    relists: BTreeMap<&'a str, u64>,
    watches: u64,
    fruitless_watches: u64,
    events: u64,
    bookmarks: u64,
    bytes: u64,
    errors: u64,
    last_error: Option<String>,
}

impl Printer {
    pub(crate) fn new(json: bool, kind: &str, stop: Stop) -> Self {
        Printer {
            json,
            terminal: Terminal::of_output(),
            hide: kind == "Secret",
            stop,
            state: Mutex::new(State::default()),
            added: AtomicU64::new(0),
            updated: AtomicU64::new(0),
            deleted: AtomicU64::new(0),
        }
    }

    pub(crate) fn event<T: Object + Show>(&self, event: &Event<T>) {
        let meta = event.meta();
        let (uid, rv, key) = (meta.uid, meta.resource_version, meta.key_ref().to_string());
        match event {
            Event::Added { initial, .. } => {
                self.added.fetch_add(1, Ordering::Relaxed);
                let text = format!("version {rv}{}", if *initial { ", initial" } else { "" });
                self.line(
                    &Line::Added { key: key.clone(), uid, rv, initial: *initial },
                    "ADDED",
                    GREEN,
                    &key,
                    &text,
                );
            }
            Event::Updated { old, new } => {
                self.updated.fetch_add(1, Ordering::Relaxed);
                let old_rv = old.meta().resource_version;
                let text = if self.json {
                    String::new()
                } else {
                    changes(&old.content(), &new.content(), self.hide).join("  ")
                };
                self.line(
                    &Line::Updated { key: key.clone(), uid, rv, old_rv },
                    "UPDATED",
                    YELLOW,
                    &key,
                    &text,
                );
            }
            Event::Deleted { final_state_unknown, .. } => {
                self.deleted.fetch_add(1, Ordering::Relaxed);
                let text = if *final_state_unknown { "its end was not seen" } else { "" };
                let line =
                    Line::Deleted { key: key.clone(), uid, rv, final_state_unknown: *final_state_unknown };
                self.line(&line, "DELETED", RED, &key, text);
            }
            Event::Resynced { .. } => {
                self.line(&Line::Resynced { key: key.clone(), uid, rv }, "RESYNCED", BLUE, &key, "");
            }
            _ => {}
        }
    }

    pub(crate) fn synced(&self, objects: usize, rv: &str) {
        let text = format!("{objects} objects at version {rv}");
        self.line(&Line::Synced { objects, rv }, "SYNCED", BLUE, &text, "");
    }

    pub(crate) fn stopped(&self, objects: usize) {
        let [added, updated, deleted] =
            [&self.added, &self.updated, &self.deleted].map(|count| count.load(Ordering::Relaxed));
        let text = format!("{objects} objects; {added} added, {updated} updated, {deleted} deleted");
        self.line(&Line::Stopped { objects }, "STOPPED", BLUE, &text, "");
    }

    /// Tells how it goes.
    pub(crate) fn status(&self, status: &Status) {
        let relists = status.relists.iter().map(|(reason, times)| (reason.as_str(), *times)).collect();
        let counters = &status.counters;
        let health = Health {
            phase: status.phase.as_str(),
            synced: status.synced,
            objects: status.objects,
            rv: &status.resource_version,
            last_contact_ms: status.last_contact.map(millis),
            lists: counters.lists,
            relists,
            watches: counters.watches,
            fruitless_watches: counters.fruitless_watches,
            events: counters.events,
            bookmarks: counters.bookmarks,
            bytes: counters.bytes,
            errors: counters.errors,
            last_error: status.last_error.as_ref().map(ToString::to_string),
        };
        self.line(&Line::Status(health), "STATUS", BLUE, &status.to_string(), "");
    }

    /// Tells a failure. One before anything good was `heard` from the server, which waiting will not mend, ends the
    /// program; one that is followed by another way of asking at once is kept quiet until then.
    pub(crate) fn report(&self, report: &Report<'_>, heard: bool) {
        let error = report.error;
        let bad_object = report.consecutive == 0;
        if !heard && !bad_object {
            if report.next_attempt.is_none() {
                return;
            }
            let mut state = self.state.lock();
            if is_hopeless(error, state.waited) {
                state.fatal = Some(error.clone());
                drop(state);
                self.stop.set();
                return;
            }
            state.waited = true;
        }
        let stage = error.stage().map_or("", |stage| stage.as_str());
        let line = Line::Error { kind: error.kind().as_str(), stage, message: error.chain().to_string() };
        self.line(&line, "ERROR", RED, &report.to_string(), "");
    }

    /// What ended the program, if something did.
    pub(crate) fn fatal(&self) -> Option<Error> {
        self.state.lock().fatal.take()
    }

    fn line(&self, line: &Line<'_>, word: &str, colour: &str, subject: &str, text: &str) {
        let mut state = self.state.lock();
        let keyed = !matches!(
            line,
            Line::Synced { .. } | Line::Stopped { .. } | Line::Error { .. } | Line::Status(_)
        );
        let out = if self.json {
            // These lines are plain data: serialising them cannot fail.
            serde_json::to_string(line).unwrap_or_default()
        } else {
            let (subject, text) = (one_line(subject), one_line(text));
            if keyed {
                state.width = state.width.max(subject.len()).min(60);
            }
            let width = if keyed && !text.is_empty() { state.width } else { 0 };
            let plain = format!("{word:<9} {subject:<width$}  {text}");
            let line = self.terminal.fit(plain.trim_end());
            match line.split_at_checked(word.len()) {
                Some((word, rest)) if self.terminal.has_colour() => format!("{colour}{word}{RESET}{rest}"),
                _ => line.into_owned(),
            }
        };
        if let Err(error) = writeln!(io::stdout().lock(), "{out}") {
            // Whoever reads has gone (`| head`): there is nothing left to do. Else lines are lost, on a full disk say.
            if error.kind() != io::ErrorKind::BrokenPipe && state.fatal.is_none() {
                let text = "cannot write to standard output; what was to be written there is not complete";
                state.fatal = Some(Error::new(ErrorKind::Config, text).with_source(error));
            }
            self.stop.set();
        }
        drop(state);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Whether waiting will not mend what failed: a server that was `waited` for before may be on its way up.
fn is_hopeless(error: &Error, waited: bool) -> bool {
    use ErrorKind::{BadRequest, Dns, Forbidden, Invalid, NotFound, Proxy, Refused, Tls, Unauthorized};
    match error.kind() {
        Refused | Dns | Tls | Proxy | Unauthorized | Forbidden | NotFound => !waited,
        // A streaming list may be refused for being one; a plain list is refused for its selectors.
        BadRequest | Invalid => error.stage() == Some(Stage::List),
        _ => false,
    }
}

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const BLUE: &str = "\x1b[34m";
const RESET: &str = "\x1b[0m";

/// The usage, because it was asked for.
pub(crate) fn help(usage: &str) {
    let _ = writeln!(io::stdout(), "{usage}");
}

/// What is wrong with the command line.
pub(crate) fn usage_error(text: &str) {
    let _ = writeln!(io::stderr(), "error: {}; --help lists the options", one_line(text));
}
