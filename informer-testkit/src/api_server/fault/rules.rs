//! [`Rules`]: the faults a server has now, and what each of them has done so far.

use std::sync::Arc;

use informer_core::Stop;
use informer_core::sync::{Monitor, Mutex};

use super::plan::Plan;
use super::{Act, Fault, Phase};
use crate::api_server::requests::ServedRequest;
use crate::deadline::Deadline;

/// The faults of a server, in the order in which it was given them.
#[derive(Debug, Default)]
pub(in crate::api_server) struct Rules {
    rules: Mutex<Vec<Arc<Rule>>>,
}

/// A fault with its counts.
#[derive(Debug)]
pub(super) struct Rule {
    fault: Fault,
    tally: Arc<Monitor<Tally>>,
    removed: Stop,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Requests that it was for.
    matches: u64,
    hits: u64,
}

/// A fault that a server has; from [`ApiServer::fault`](crate::ApiServer::fault). Clones are the same fault, and
/// dropping them removes nothing.
#[derive(Clone, Debug)]
pub struct Injected {
    rule: Arc<Rule>,
    rules: Arc<Rules>,
}

impl Injected {
    /// How often it has happened. What holds an answer counts from its beginning.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.rule.tally.lock().hits
    }

    /// How many requests, or connections, it was for, whether it has happened to them or not.
    #[must_use]
    pub fn matches(&self) -> u64 {
        self.rule.tally.lock().matches
    }

    /// Waits until it has happened at least so often.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds of real time.
    #[track_caller]
    pub fn wait_for_hits(&self, hits: u64) {
        let what = format!("{hits} hits of {:?}", self.rule.fault);
        let ready = |tally: &mut Tally| (hits <= tally.hits).then_some(());
        Deadline::new().wait_on(&self.rule.tally, &what, ready, |tally| format!("{tally:?}"));
    }

    /// Takes the fault from the server. What it holds or slows goes on at once; what it has closed stays closed.
    pub fn remove(&self) {
        self.rules.remove(&self.rule);
    }
}

impl Rules {
    /// Adds a fault.
    ///
    /// # Panics
    /// When it can never happen.
    #[track_caller]
    pub(in crate::api_server) fn add(self: &Arc<Self>, fault: Fault) -> Injected {
        if let Some(why) = fault.contradiction() {
            panic!("this fault cannot be: {why}; it is {fault:?}");
        }
        let tally = Arc::new(Monitor::new(Tally::default()));
        let rule = Arc::new(Rule { fault, tally, removed: Stop::new() });
        self.rules.lock().push(Arc::clone(&rule));
        Injected { rule, rules: Arc::clone(self) }
    }

    /// Removes every fault.
    pub(in crate::api_server) fn clear(&self) {
        let rules = std::mem::take(&mut *self.rules.lock());
        for rule in rules {
            rule.removed.set();
        }
    }

    fn remove(&self, rule: &Arc<Rule>) {
        self.rules.lock().retain(|other| !Arc::ptr_eq(rule, other));
        rule.removed.set();
    }

    /// What awaits a connection that has been accepted.
    pub(in crate::api_server) fn of_connection(&self) -> Plan {
        self.plan(|rule| rule.phase() == Phase::Connect)
    }

    /// What awaits the answer to a request.
    pub(in crate::api_server) fn of_request(&self, request: &ServedRequest) -> Plan {
        self.plan(|rule| rule.phase() != Phase::Connect && rule.fault.calls.matches(request))
    }

    fn plan(&self, is_for: impl Fn(&Rule) -> bool) -> Plan {
        let mut plan = Plan::default();
        for rule in self.rules.lock().iter().filter(|rule| is_for(rule)) {
            let index = rule.count();
            if rule.fault.turns.includes(index, rule.fault.seed) {
                plan.add(Arc::clone(rule), rule.fault.reach_of(index));
            }
        }
        plan
    }
}

impl Rule {
    pub(super) fn act(&self) -> &Act {
        &self.fault.act
    }

    pub(super) fn phase(&self) -> Phase {
        self.fault.phase()
    }

    pub(super) fn removed(&self) -> &Stop {
        &self.removed
    }

    /// Counts one more request; answers how many there were before.
    fn count(&self) -> u64 {
        let mut tally = self.tally.lock();
        tally.matches += 1;
        tally.matches - 1
    }

    /// Counts one more hit, if one more may be.
    pub(super) fn claim(&self) -> bool {
        let mut tally = self.tally.lock();
        let allowed = !self.removed.is_set() && self.fault.turns.limit.is_none_or(|limit| tally.hits < limit);
        tally.hits += u64::from(allowed);
        drop(tally);
        self.tally.notify_all();
        allowed
    }
}
