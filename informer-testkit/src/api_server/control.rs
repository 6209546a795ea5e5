//! [`Control`]: what a test says of how the server behaves towards its clients, and what it learns of them.
//!
//! It is the server's, not a listener's: it is still there after a restart.

use std::sync::Arc;
use std::time::Duration;

use informer_core::sync::Mutex;
use informer_core::time::deadline;
use informer_core::{Clock, OnStop, Stop};

use super::exchange::Call;
use super::fault::{Plan, Rules};
use super::requests::{Requests, ServedRequest, Ticket};

/// See the module.
pub(super) struct Control {
    pub(super) rules: Arc<Rules>,
    pub(super) requests: Requests,
    pub(super) pause: Pause,
    pub(super) clock: Arc<dyn Clock>,
}

/// A request that is being answered: what awaits the answer, and where it is noted.
pub(super) struct Visit {
    pub(super) plan: Plan,
    pub(super) ticket: Ticket,
}

/// Whether the server is paused.
#[derive(Default)]
pub(super) struct Pause {
    /// Set when the pause is over; none when there is none.
    resumed: Mutex<Option<Stop>>,
}

impl Control {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Control { rules: Arc::default(), requests: Requests::new(), pause: Pause::default(), clock }
    }

    /// Notes a request that has come, and answers what awaits it.
    pub(super) fn visit(&self, call: &Call) -> Visit {
        let request = ServedRequest::new(call);
        let plan = self.rules.of_request(&request);
        Visit { plan, ticket: self.requests.add(request) }
    }

    /// Waits for `time`, or until one of `signals` is set; without a time for the signals alone.
    pub(super) fn hold(&self, time: Option<Duration>, signals: &[&Stop]) {
        // A time that is too long for an instant is for ever.
        let until = time.and_then(|time| deadline(&self.clock, time));
        let any = Stop::new();
        let hook = |signal: &&Stop| {
            let any = any.clone();
            signal.on_stop(move || any.set())
        };
        let _hooks: Vec<OnStop> = signals.iter().map(hook).collect();
        any.wait_until(&self.clock, until);
    }
}

impl Pause {
    /// Begins a pause; one that is under way goes on.
    pub(super) fn begin(&self) {
        self.resumed.lock().get_or_insert_default();
    }

    /// Ends the pause, if there is one.
    pub(super) fn end(&self) {
        let resumed = self.resumed.lock().take();
        if let Some(resumed) = resumed {
            resumed.set();
        }
    }

    /// Set when the pause that is under way is over; `None` if there is none.
    pub(super) fn resumed(&self) -> Option<Stop> {
        self.resumed.lock().clone()
    }
}
