//! How a [`World`] answers: pages of lists, and what each open watch tells next.
//!
//! A page comes from one snapshot, whatever has happened since its first one; a watch never tells a change twice.

use informer_core::kube_core::Status;
use informer_core::kube_core::response::{StatusCause, StatusDetails};
use informer_core::{ChangeKind, Error, ListRequest, Result, Stage, WatchEnd, WatchRequest};

use super::{Backup, Ending, Entry, Item, Logged, Snapshot, Stored, Watch, World};
use crate::object::Versioned;
use crate::source::fault::Streaming;
use crate::source::request::status_error;

/// One page of a list.
pub(in crate::source) struct Page<T> {
    pub(in crate::source) items: Vec<Item<T>>,
    pub(in crate::source) version: String,
    pub(in crate::source) continue_token: Option<String>,
}

impl<T: Versioned> World<T> {
    /// Answers one page of a list; `older` is the state to answer from instead of the present one.
    pub(in crate::source) fn page(
        &mut self,
        request: &ListRequest,
        older: Option<&Backup<T>>,
    ) -> Result<Page<T>> {
        let (snapshot, offset) = match &request.continue_token {
            Some(token) => self.resume(token)?,
            None => {
                if older.is_none() {
                    self.check_reached(&request.resource_version).map_err(|error| error.at(Stage::List))?;
                }
                let snapshot = older.map_or_else(|| self.snapshot(), |older| older.0.clone());
                (snapshot, 0)
            }
        };
        // As a real server does, which answers version 0 from its cache: the limit does not count there.
        let limited = request.resource_version != "0";
        let limit = request.limit.filter(|limit| limited && 0 < *limit);
        let rest = &snapshot.objects[offset..];
        let count = limit.map_or(rest.len(), |limit| rest.len().min(limit as usize));
        let items = rest[..count].iter().map(Stored::item).collect();
        let version = snapshot.version.to_string();
        let continue_token = (count < rest.len()).then(|| {
            let id = self.take_id();
            self.snapshots.insert(id, snapshot);
            format!("{id}.{}", offset + count)
        });
        Ok(Page { items, version, continue_token })
    }

    /// What a continue token stands for: a state and how far the pages have come in it.
    fn resume(&self, token: &str) -> Result<(Snapshot<T>, usize)> {
        let parsed = token.split_once('.').and_then(|(id, offset)| {
            let (id, offset) = (id.parse::<u64>().ok()?, offset.parse::<usize>().ok()?);
            (id < self.next_id).then_some((id, offset))
        });
        let Some((id, offset)) = parsed else {
            return Err(status_error(400, "BadRequest", "continue key is not valid").at(Stage::List));
        };
        match self.snapshots.get(&id) {
            // Tokens come from here, so the offset is within the snapshot unless a test made one up.
            Some(snapshot) if offset <= snapshot.objects.len() => Ok((snapshot.clone(), offset)),
            _ => {
                let message =
                    "The provided continue parameter is too old to display a consistent list result.";
                Err(status_error(410, "Expired", message).at(Stage::List))
            }
        }
    }

    /// Whether this state is as new as the request asks for.
    fn check_reached(&self, version: &str) -> Result<()> {
        match parse_version(version)? {
            Some(asked) if self.version < asked => Err(too_large(asked, self.version)),
            _ => Ok(()),
        }
    }

    /// Opens a watch; answers its number and what it tells first.
    pub(in crate::source) fn open_watch(&mut self, request: &WatchRequest) -> Result<(u64, Vec<Entry<T>>)> {
        let asked = parse_version(&request.resource_version).map_err(|error| error.at(Stage::WatchOpen))?;
        let from = match asked {
            Some(asked) if request.initial_events => {
                if self.version < asked {
                    return Err(too_large(asked, self.version).at(Stage::WatchOpen));
                }
                self.version
            }
            // From a future version on a real server waits; so does this one, as nothing above it is in the log.
            Some(asked) if asked < self.compacted => {
                let message = format!("too old resource version: {asked} ({})", self.compacted);
                return Err(status_error(410, "Expired", &message).at(Stage::Watch));
            }
            Some(asked) => asked,
            None => self.version,
        };
        let mut initial = Vec::new();
        if asked.is_none() || request.initial_events {
            let added = |stored: &Stored<T>| Entry::Change(ChangeKind::Added, stored.item());
            initial.extend(self.objects.values().map(added));
        }
        if request.initial_events && self.streaming != Streaming::Endless {
            initial.push(Entry::Bookmark { version: self.version(), initial_events_end: true });
        }
        let id = self.take_id();
        let opened = self.log.len();
        let watch = Watch { from, opened, cursor: self.log_start, parked: false, end: None };
        self.watches.insert(id, watch);
        Ok((id, initial))
    }

    /// What the watch tells next; it is taken.
    pub(in crate::source) fn next_entry(&mut self, id: u64) -> Option<Entry<T>> {
        let watch = self.watches.get_mut(&id)?;
        let at = watch.next_in(&self.log)?;
        watch.cursor = at + 1;
        watch.parked = false;
        Some(self.log[at].entry.clone())
    }

    /// How the watch ends, if it has told what comes before its end.
    pub(in crate::source) fn watch_end(&self, id: u64) -> Result<Option<WatchEnd>> {
        let watch = self.watches.get(&id);
        match watch.and_then(|watch| watch.end.as_ref().filter(|_| watch.next_in(&self.log).is_none())) {
            None => Ok(None),
            Some((_, Ending::End(end))) => Ok(Some(*end)),
            Some((_, Ending::Fail(error))) => Err(error.clone().at(Stage::Watch)),
        }
    }

    /// The watch has nothing to tell and waits; answers whether that is new.
    pub(in crate::source) fn park(&mut self, id: u64) -> bool {
        self.watches.get_mut(&id).is_some_and(|watch| !std::mem::replace(&mut watch.parked, true))
    }

    pub(in crate::source) fn close_watch(&mut self, id: u64) {
        self.watches.remove(&id);
    }

    /// How many watches are open, if all of them wait with nothing to tell.
    pub(in crate::source) fn idle_watches(&self) -> Option<usize> {
        let idle = |watch: &Watch| watch.parked && watch.end.is_none() && watch.next_in(&self.log).is_none();
        self.watches.values().all(idle).then_some(self.watches.len())
    }

    pub(in crate::source) fn summary(&self) -> String {
        let requests: Vec<_> = self.requests.iter().map(ToString::to_string).collect();
        format!(
            "a source at version {} with {} open watches after the requests {requests:?}",
            self.version,
            self.watches.len()
        )
    }

    fn take_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }
}

impl Watch {
    /// The place in the log of what is told next.
    fn next_in<T>(&self, log: &[Logged<T>]) -> Option<usize> {
        let end = self.end.as_ref().map_or(log.len(), |(at, _)| *at);
        (self.cursor..end).find(|at| match log[*at].version {
            Some(version) => self.from < version,
            None => self.opened <= *at,
        })
    }
}

/// The version as a number; `None` for "whatever there is" (empty or `0`).
fn parse_version(version: &str) -> Result<Option<u64>> {
    match version {
        "" | "0" => Ok(None),
        text => text.parse().map(Some).map_err(|_| {
            let message = format!("invalid resource version {text:?}");
            status_error(400, "BadRequest", &message)
        }),
    }
}

fn too_large(asked: u64, current: u64) -> Error {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    let cause = StatusCause {
        reason: "ResourceVersionTooLarge".to_owned(),
        message: "Too large resource version".to_owned(),
        field: String::new(),
    };
    let details = StatusDetails {
        name: String::new(),
        group: String::new(),
        kind: String::new(),
        uid: String::new(),
        causes: vec![cause],
        retry_after_seconds: 1,
    };
    Error::from_status(Status::failure(&message, "Timeout").with_code(504).with_details(details))
}
