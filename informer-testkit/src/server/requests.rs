//! What a test asks of the requests that a [`ScriptedServer`] has seen: which, how often, how far apart.

use std::time::Duration;

use super::ScriptedServer;
use crate::http::Request;
use crate::script::Expect;

impl ScriptedServer {
    /// The requests so far that `expect` accepts, in their order.
    ///
    /// ```
    /// use informer_testkit::ScriptedServer;
    /// use informer_testkit::script::{Expect, Script, stall};
    ///
    /// let server = ScriptedServer::start(Script::always([stall()]));
    /// assert!(server.matching(&Expect::list().rv("")).is_empty());
    /// ```
    #[must_use]
    pub fn matching(&self, expect: &Expect) -> Vec<Request> {
        let state = self.shared.monitor.lock();
        state.requests.iter().filter(|request| expect.accepts(request)).cloned().collect()
    }

    /// How far apart the requests so far are that `expect` accepts, by the clock of the script: one less than there are
    /// requests.
    #[must_use]
    pub fn gaps(&self, expect: &Expect) -> Vec<Duration> {
        let times: Vec<_> = self.matching(expect).iter().map(|request| request.at).collect();
        times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
    }

    /// Waits until the requests, one a line as [`trace`](ScriptedServer::trace) has them, are these.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// As soon as a request came that is not the next of `trace`, and when the wait takes more than 20 seconds; the
    /// message has the requests.
    #[track_caller]
    pub fn wait_for_trace(&self, trace: &str) {
        let wanted: Vec<_> = trace.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let came = self.wait(&format!("the requests {wanted:?}"), |state| {
            let came: Vec<_> = state.requests.iter().map(ToString::to_string).collect();
            let begins = came.iter().zip(&wanted).all(|(came, wanted)| came == wanted);
            (!begins || wanted.len() <= came.len()).then_some(came)
        });
        assert_eq!(came, wanted, "the requests, and what was expected");
    }

    /// Asserts that no request so far is one that `expect` accepts.
    ///
    /// # Panics
    /// When there is one; the message has all requests.
    #[track_caller]
    pub fn assert_none(&self, expect: &Expect) {
        let found = self.matching(expect).len();
        assert!(found == 0, "{found} requests are {expect}, of:\n{}", self.trace());
    }

    /// Asserts that no span of the length `per` has more than `most` requests, by the clock of the script: that a
    /// client does not storm.
    ///
    /// # Panics
    /// When one has; the message has all requests.
    #[track_caller]
    pub fn assert_rate(&self, most: usize, per: Duration) {
        let times: Vec<_> = self.requests().iter().map(|request| request.at).collect();
        if let Some(span) = times.windows(most + 1).find(|span| span[most].saturating_sub(span[0]) < per) {
            panic!("more than {most} requests within {per:?}, from {:?} on, of:\n{}", span[0], self.trace());
        }
    }
}
