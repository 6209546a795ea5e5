//! What a [`ScriptedServer`](crate::ScriptedServer) expects and does, in the words of a protocol sketch.
//!
//! A script is a sequence of exchanges: a request that is expected and the actions that answer it. Below, a watch is
//! opened from version 100, tells one event and then goes quiet; the client opens another from 101.
//!
//! ```
//! use informer_testkit::script::{Expect, Script, added, head, list, object, stall};
//!
//! // As text:
//! let text = Script::parse(
//!     "
//!     C> LIST rv=0       S< list(100;)
//!     C> WATCH rv=100    S< 200, ev(ADDED,a,u1,101), STALL
//!     C> WATCH rv=101    S< 200, STALL
//!     ",
//! )
//! .unwrap();
//!
//! // The same in Rust, where every byte can be chosen:
//! let a = object("default/a", "u1", "101");
//! let script = Script::in_order([
//!     Expect::list().rv("0").reply(list("100", &[])),
//!     Expect::watch().rv("100").answer([head(), added(&a), stall()]),
//!     Expect::watch().rv("101").answer([head(), stall()]),
//! ]);
//! # let _ = (text, script);
//! ```

mod action;
mod expect;
mod json;
mod notation;

pub use action::{
    Action, Framing, Head, Reply, added, bookmark, chunk, deleted, end, error_event, event, fin, head, hold,
    initial_events, initial_events_end, modified, pause, raw, rst, stall,
};
pub use expect::{Exchange, Expect};
pub use json::{WireObject, frame, list, list_of, object, page, status};
pub use notation::ScriptError;

pub(crate) use action::chunk_bytes;

use std::sync::Arc;

use crate::clock::ManualClock;
use crate::http::Request;

/// Exchanges, and how strictly their order counts.
#[derive(Debug)]
pub struct Script {
    exchanges: Vec<Exchange>,
    order: Order,
    clock: Option<ManualClock>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Strict,
    Any,
}

impl Script {
    /// Requests must come in this order, over all connections.
    #[must_use]
    pub fn in_order(exchanges: impl IntoIterator<Item = Exchange>) -> Self {
        Script { exchanges: exchanges.into_iter().collect(), order: Order::Strict, clock: None }
    }

    /// Each request meets the first exchange that accepts it and is not used up: for several informers at once.
    #[must_use]
    pub fn any_order(exchanges: impl IntoIterator<Item = Exchange>) -> Self {
        Script { exchanges: exchanges.into_iter().collect(), order: Order::Any, clock: None }
    }

    /// Every request gets this answer.
    #[must_use]
    pub fn always(actions: impl IntoIterator<Item = Action>) -> Self {
        Script::any_order([Expect::any().answer(actions).any_times()])
    }

    /// The same, with its pauses and the times of its requests by `clock`.
    #[must_use]
    pub fn clock(mut self, clock: &ManualClock) -> Self {
        self.clock = Some(clock.clone());
        self
    }

    /// What the script goes by.
    ///
    /// # Panics
    /// When it has pauses, but no clock to measure them by.
    pub(crate) fn take_clock(&mut self) -> Option<ManualClock> {
        let pauses =
            |exchange: &Exchange| exchange.actions.iter().any(|action| matches!(action, Action::Pause(_)));
        assert!(
            self.clock.is_some() || !self.exchanges.iter().any(pauses),
            "the script has pauses but no clock: give it one with Script::clock"
        );
        self.clock.take()
    }

    pub(crate) fn begin(self) -> Progress {
        let used = vec![0; self.exchanges.len()];
        Progress { script: self, used, at: 0 }
    }
}

/// How far a script has come.
pub(crate) struct Progress {
    script: Script,
    /// How often each exchange was used.
    used: Vec<usize>,
    /// In strict order: the exchange that was used last, or the first one.
    at: usize,
}

impl Progress {
    /// What to do about `request`; `None` if the script does not expect it.
    pub(crate) fn take(&mut self, request: &Request) -> Option<Arc<[Action]>> {
        self.take_if(|expect| expect.accepts(request))
    }

    /// What to do about a new connection before anything is read, if the script has something next.
    pub(crate) fn take_connection(&mut self) -> Option<Arc<[Action]>> {
        self.take_if(Expect::is_connection)
    }

    fn take_if(&mut self, accepts: impl Fn(&Expect) -> bool) -> Option<Arc<[Action]>> {
        for at in self.at..self.script.exchanges.len() {
            let exchange = &self.script.exchanges[at];
            let left = exchange.most.is_none_or(|most| self.used[at] < most);
            if left && accepts(&exchange.expect) {
                self.used[at] += 1;
                if self.script.order == Order::Strict {
                    self.at = at;
                }
                return Some(Arc::clone(&exchange.actions));
            }
            if self.script.order == Order::Strict && self.used[at] < exchange.least {
                return None; // this one must come first
            }
        }
        None
    }

    /// The exchanges that have not been used often enough, as text.
    pub(crate) fn missing(&self) -> Vec<String> {
        let exchanges = self.script.exchanges.iter().zip(&self.used);
        exchanges
            .filter(|(exchange, used)| **used < exchange.least)
            .map(|(exchange, used)| match exchange.least {
                1 => exchange.expect.to_string(),
                least => format!("{} ({used} of {least})", exchange.expect),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::read::read_request;

    fn request(target: &str) -> Request {
        let text = format!("GET {target} HTTP/1.1\r\n\r\n");
        read_request(&mut text.as_bytes(), 0).unwrap().unwrap()
    }

    const LIST: &str = "/api/v1/pods?resourceVersion=1";
    const WATCH: &str = "/api/v1/pods?watch=1&resourceVersion=1";

    #[test]
    fn strict_order_refuses_what_comes_too_early() {
        let exchanges = [Expect::list().answer([end()]), Expect::watch().answer([end()])];
        let mut progress = Script::in_order(exchanges).begin();
        assert!(progress.take(&request(WATCH)).is_none());
        assert!(progress.take(&request(LIST)).is_some());
        assert!(progress.take(&request(LIST)).is_none());
        assert!(progress.take(&request(WATCH)).is_some());
        assert!(progress.missing().is_empty());
    }

    #[test]
    fn repeated_exchanges_may_be_left_once_satisfied() {
        let exchanges = [
            Expect::list().answer([end()]).times(2),
            Expect::list().answer([end()]).any_times(),
            Expect::watch().answer([end()]),
        ];
        let mut progress = Script::in_order(exchanges).begin();
        assert!(progress.take(&request(LIST)).is_some());
        assert!(progress.take(&request(WATCH)).is_none(), "one list is missing");
        assert_eq!(progress.missing(), ["LIST (1 of 2)", "WATCH"]);
        for _ in 0..5 {
            assert!(progress.take(&request(LIST)).is_some());
        }
        assert!(progress.take(&request(WATCH)).is_some());
        assert!(progress.take(&request(LIST)).is_none(), "the script has gone on");
    }

    #[test]
    fn any_order_takes_the_first_that_fits() {
        let exchanges = [Expect::list().rv("1").answer([end()]), Expect::watch().rv("2").answer([end()])];
        let mut progress = Script::any_order(exchanges).begin();
        assert!(progress.take(&request(WATCH)).is_none());
        assert!(progress.take(&request("/api/v1/pods?watch=1&resourceVersion=2")).is_some());
        assert!(progress.take(&request(LIST)).is_some());
        assert!(progress.take(&request(LIST)).is_none());
    }

    #[test]
    fn a_connection_is_only_taken_when_it_is_next() {
        let exchanges = [Expect::list().answer([end()]), Expect::connection().answer([rst()])];
        let mut progress = Script::in_order(exchanges).begin();
        assert!(progress.take_connection().is_none());
        assert!(progress.take(&request(LIST)).is_some());
        assert!(progress.take_connection().is_some());
        assert!(progress.take_connection().is_none());
    }
}
