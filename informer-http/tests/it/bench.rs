//! [`Bench`]: an informer on a scripted server, with a clock in the test's hand.

use std::sync::Arc;
use std::time::Duration;

use informer_core::{ErrorKind, SharedInformer, Stage};
use informer_http::HttpListWatch;
use informer_testkit::script::{Exchange, Expect, Script, WireObject, head, list, object, stall};
use informer_testkit::{ManualClock, Probe, Recorder, ScriptedServer, states, within};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::source;

/// See the module.
pub(crate) struct Bench {
    pub(crate) server: ScriptedServer,
    pub(crate) clock: ManualClock,
    pub(crate) informer: SharedInformer<ConfigMap>,
    pub(crate) seen: Recorder,
    /// Kind and stage of everything that was reported.
    pub(crate) reports: Probe<Vec<(ErrorKind, Option<Stage>)>>,
}

impl Bench {
    /// Starts an informer that lists in pages.
    pub(crate) fn start(exchanges: impl IntoIterator<Item = Exchange>) -> Self {
        Bench::with(exchanges, |source| source)
    }

    pub(crate) fn with(
        exchanges: impl IntoIterator<Item = Exchange>,
        change: impl FnOnce(HttpListWatch<ConfigMap>) -> HttpListWatch<ConfigMap>,
    ) -> Self {
        let server = ScriptedServer::start(Script::in_order(exchanges));
        let (clock, seen, reports) = (ManualClock::new(), Recorder::new(), Probe::new(Vec::new()));
        let told = reports.clone();
        let informer = SharedInformer::builder(change(source(&server)))
            .streaming(false)
            .clock(clock.clone())
            .on_error(move |report| {
                told.update(|all| all.push((report.error.kind(), report.error.stage())));
            })
            .build();
        informer.add_event_handler(seen.clone()).unwrap();
        informer.start().unwrap();
        Bench { server, clock, informer, seen, reports }
    }

    /// Waits for the informer's next back-off: 0.8 s and more. The watchdog of handlers looks at 0.25 s.
    #[track_caller]
    pub(crate) fn wait_for_backoff(&self) -> Duration {
        self.clock.wait_for_alarm("a back-off", |distance| Duration::from_millis(800) <= distance)
    }

    /// The same, and ends it.
    #[track_caller]
    pub(crate) fn skip_backoff(&self) -> Duration {
        let wait = self.wait_for_backoff();
        self.clock.advance(wait);
        wait
    }

    /// Waits for the end of the script and for the handler's last words, stops, and asserts the standing promises.
    #[track_caller]
    pub(crate) fn finish(self, trace: &str, requests: &str) {
        self.server.wait_for_script();
        let count = trace.lines().count();
        self.seen.wait_for(count);
        assert_eq!(self.seen.trace(), trace);
        let stored = self.informer.store().list();
        assert_eq!(self.seen.replay(), states(stored.iter().map(Arc::as_ref)));
        assert_eq!(self.server.trace(), requests);
        self.informer.stop();
        let informer = self.informer.clone();
        within("the join", move || informer.join()).unwrap();
        self.server.finish();
    }
}

/// The first list: a at 5, b at 6, version 10.
pub(crate) fn first() -> Exchange {
    Expect::list().rv("0").reply(list("10", &[map("a", "5"), map("b", "6")]))
}

pub(crate) const ADDS: &str = "Added(ns/a@5, initial)\nAdded(ns/b@6, initial)";

pub(crate) fn map(name: &str, version: &str) -> WireObject {
    object(&format!("ns/{name}"), &format!("uid-{name}"), version)
}

pub(crate) fn quiet(version: &str) -> Exchange {
    Expect::watch().rv(version).answer([head(), stall()])
}
