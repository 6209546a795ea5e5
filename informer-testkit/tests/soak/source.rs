//! [`Paced`]: a source that keeps account of when it is asked: that what was announced is kept, and that nobody storms.

use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_core::sync::Mutex;
use informer_core::{
    Clock, ListEnd, ListRequest, ListSink, ListWatch, Report, Result, Stop, WatchEnd, WatchRequest, WatchSink,
};
use informer_http::HttpListWatch;
use informer_testkit::ManualClock;
use k8s_openapi::api::core::v1::ConfigMap;

/// Real silence after which a list or a watch is given up: short, since stalls are waited for.
pub(crate) const SILENCE: Duration = Duration::from_millis(20);

/// What an informer asked for, and when.
#[derive(Default)]
pub(crate) struct Ledger {
    /// The next request may come then: a failure has announced it.
    due: Option<Instant>,
    /// Requests in a row that nothing had to be waited for.
    free: u32,
    pub(crate) most_free: u32,
    pub(crate) requests: u64,
    pub(crate) waits: u64,
    /// Requests that came before they were due.
    pub(crate) early: u32,
}

impl Ledger {
    fn ask(&mut self, now: Instant) {
        self.requests += 1;
        match self.due.take() {
            Some(due) => {
                self.waits += 1;
                self.early += u32::from(now < due);
                self.free = 0;
            }
            None => self.free += 1,
        }
        self.most_free = self.most_free.max(self.free);
    }

    pub(crate) fn reported(&mut self, report: &Report<'_>, now: Instant) {
        if let Some(wait) = report.next_attempt {
            self.due = now.checked_add(wait);
        }
    }
}

/// See the module.
pub(crate) struct Paced {
    pub(crate) inner: HttpListWatch<ConfigMap>,
    pub(crate) clock: ManualClock,
    pub(crate) ledger: Arc<Mutex<Ledger>>,
}

impl ListWatch<ConfigMap> for Paced {
    fn list(
        &self,
        request: &ListRequest,
        stop: &Stop,
        sink: &mut dyn ListSink<ConfigMap>,
    ) -> Result<ListEnd> {
        if request.continue_token.is_none() {
            self.ledger.lock().ask(self.clock.now());
        }
        self.inner.list(request, stop, sink)
    }

    fn watch(
        &self,
        request: &WatchRequest,
        stop: &Stop,
        sink: &mut dyn WatchSink<ConfigMap>,
    ) -> Result<WatchEnd> {
        let began = self.clock.now();
        self.ledger.lock().ask(began);
        let request = WatchRequest { idle: SILENCE, ..request.clone() };
        let end = self.inner.watch(&request, stop, sink);
        // A watch that lasted, or that was silent for the (real) limit, may be opened again at once.
        if matches!(end, Ok(WatchEnd::Silent)) || self.clock.now() - began >= Duration::from_secs(1) {
            self.ledger.lock().free = 0;
        }
        end
    }

    fn name(&self) -> String {
        self.inner.name()
    }
}
