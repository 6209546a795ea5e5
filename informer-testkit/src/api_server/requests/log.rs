//! [`Requests`]: the newest requests of a server, in the order in which they came, for whoever waits for one.

use std::collections::VecDeque;
use std::sync::Arc;

use informer_core::sync::Monitor;

use super::{Ending, ServedRequest};
use crate::api_server::fault::Calls;
use crate::deadline::Deadline;

/// How many requests are remembered.
const KEPT: usize = 4096;

/// The newest requests of a server.
#[derive(Clone)]
pub(in crate::api_server) struct Requests {
    log: Arc<Monitor<Log>>,
}

#[derive(Debug, Default)]
struct Log {
    /// How many were forgotten: the number of the first that is kept.
    first: u64,
    kept: VecDeque<ServedRequest>,
}

/// A request whose answer is under way. If nobody says how that ended, it is broken.
pub(in crate::api_server) struct Ticket {
    requests: Requests,
    number: u64,
    ended: bool,
}

impl Requests {
    /// None so far.
    pub(in crate::api_server) fn new() -> Self {
        Requests { log: Arc::new(Monitor::new(Log::default())) }
    }

    /// Takes in a request that has come.
    pub(in crate::api_server) fn add(&self, request: ServedRequest) -> Ticket {
        let mut log = self.log.lock();
        log.kept.push_back(request);
        let number = log.first + log.kept.len() as u64 - 1;
        let oldest = if log.kept.len() > KEPT {
            log.first += 1;
            log.kept.pop_front()
        } else {
            None
        };
        drop(log);
        drop(oldest); // outside the lock
        self.log.notify_all();
        Ticket { requests: self.clone(), number, ended: false }
    }

    /// Every request that is kept and meant.
    pub(in crate::api_server) fn of(&self, calls: &Calls) -> Vec<ServedRequest> {
        self.log.lock().kept.iter().filter(|request| calls.matches(request)).cloned().collect()
    }

    /// Forgets every request so far.
    pub(in crate::api_server) fn forget(&self) {
        let mut log = self.log.lock();
        log.first += log.kept.len() as u64;
        let kept = std::mem::take(&mut log.kept);
        drop(log);
        drop(kept); // outside the lock
    }

    /// Waits until `count` requests are meant and `are` so.
    #[track_caller]
    pub(in crate::api_server) fn wait(
        &self,
        count: usize,
        calls: &Calls,
        what: &str,
        are: impl Fn(&ServedRequest) -> bool,
    ) -> Vec<ServedRequest> {
        let meant = |request: &&ServedRequest| calls.matches(request) && are(request);
        let ready = |log: &mut Log| {
            let there = count <= log.kept.iter().filter(meant).take(count).count();
            there.then(|| log.kept.iter().filter(meant).cloned().collect())
        };
        let shown = |log: &Log| {
            let lines: Vec<_> = log.kept.iter().map(|request| format!("\n  {request:?}")).collect();
            format!("a server with these requests:{}", lines.concat())
        };
        Deadline::new().wait_on(&self.log, &format!("{count} {what}: {calls}"), ready, shown)
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut ServedRequest)) {
        let mut log = self.log.lock();
        let at = number.checked_sub(log.first).and_then(|at| usize::try_from(at).ok());
        if let Some(request) = at.and_then(|at| log.kept.get_mut(at)) {
            change(request);
        }
        drop(log);
        self.log.notify_all();
    }
}

impl Ticket {
    /// The answer has this status.
    pub(in crate::api_server) fn status(&self, status: u16) {
        self.requests.change(self.number, |request| request.status = Some(status));
    }

    /// So many more bytes of the body have been sent.
    pub(in crate::api_server) fn sent(&self, bytes: usize) {
        self.requests.change(self.number, |request| request.body_bytes += bytes as u64);
    }

    /// The answer is over.
    pub(in crate::api_server) fn end(&mut self, ending: Ending) {
        self.ended = true;
        self.requests.change(self.number, |request| request.ending = Some(ending));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.ended {
            self.end(Ending::Broken);
        }
    }
}
