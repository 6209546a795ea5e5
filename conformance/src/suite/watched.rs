//! [`Watched`]: an informer under test, with a handler that writes down what it is told and a hook for failures.
//!
//! Whatever happens, [`Watched::finish`] holds it to the contract: the events replay to the store, and every thread
//! ends.

use std::sync::Arc;
use std::time::Duration;

use informer_core::sync::Monitor;
use informer_core::{
    Error, ErrorKind, Event, EventHandler, InformerBuilder, KeyRef, Object, Registration, Result,
    SharedInformer, Store,
};
use informer_testkit::{Deadline, Recorder, states, within};

/// How long the server may take for anything; a net for a hang, not a wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// See the module.
pub(crate) struct Watched<T: Object> {
    pub(crate) informer: SharedInformer<T>,
    pub(crate) seen: Recorder,
    registration: Registration<T>,
    failures: Failures,
}

/// What went wrong so far. Its monitor is told of events too, so that one wait is enough for both.
type Failures = Arc<Monitor<Vec<(ErrorKind, String)>>>;

/// Records, then wakes the waits.
struct Handler {
    seen: Recorder,
    wake: Failures,
}

impl<T: Object> EventHandler<T> for Handler {
    fn on_event(&mut self, event: &Event<T>) {
        self.seen.on_event(event);
        drop(self.wake.lock()); // orders this wake after the wait has begun
        self.wake.notify_all();
    }
}

impl<T: Object> Watched<T> {
    /// Builds and starts the informer.
    pub(crate) fn start(builder: InformerBuilder<T>) -> Result<Self> {
        let failures = Failures::new(Monitor::new(Vec::new()));
        let theirs = Arc::clone(&failures);
        let informer = builder
            .on_error(move |report| {
                theirs.lock().push((report.error.kind(), report.error.chain().to_string()));
                theirs.notify_all();
            })
            .build();
        let watched = Watched::attach(informer, failures)?;
        watched.informer.start()?;
        Ok(watched)
    }

    /// As [`start`](Watched::start), and waits until the handler has been told everything.
    pub(crate) fn synced(builder: InformerBuilder<T>) -> Result<Self> {
        let watched = Watched::start(builder)?;
        watched.wait_synced()?;
        Ok(watched)
    }

    /// A handler on an informer of somebody else's; its failures are not seen.
    pub(crate) fn on(informer: SharedInformer<T>) -> Result<Self> {
        Watched::attach(informer, Failures::new(Monitor::new(Vec::new())))
    }

    fn attach(informer: SharedInformer<T>, failures: Failures) -> Result<Self> {
        let seen = Recorder::new();
        let handler = Handler { seen: seen.clone(), wake: Arc::clone(&failures) };
        let registration = informer.add_event_handler(handler)?;
        Ok(Watched { informer, seen, registration, failures })
    }

    pub(crate) fn wait_synced(&self) -> Result<()> {
        self.registration.wait_synced(PATIENCE)
    }

    pub(crate) fn store(&self) -> Store<T> {
        self.informer.store()
    }

    /// What the handler was told since the last call, one event a line.
    pub(crate) fn news(&self) -> String {
        let trace = self.seen.trace();
        self.seen.clear();
        trace
    }

    /// What went wrong so far.
    pub(crate) fn failures(&self) -> Vec<(ErrorKind, String)> {
        self.failures.lock().clone()
    }

    /// Waits for the first failure that `wanted` accepts, and answers its text.
    #[track_caller]
    pub(crate) fn wait_failure(&self, what: &str, mut wanted: impl FnMut(ErrorKind) -> bool) -> String {
        self.wait(what, |failures| {
            failures.iter().find(|(kind, _)| wanted(*kind)).map(|(_, text)| text.clone())
        })
    }

    /// Waits until `ready`, which is asked again after each event and each failure.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, mut ready: impl FnMut() -> bool) {
        self.wait(what, |_| ready().then_some(()));
    }

    /// Waits until the handler has been told of `key` at this very state.
    #[track_caller]
    pub(crate) fn wait_told(&self, object: &impl Object) {
        let meta = object.meta();
        let (key, version) = (meta.key(), meta.resource_version);
        self.wait_until(&format!("{key}@{version}"), || {
            self.seen.records().iter().any(|record| record.key == key && record.version == version)
        });
    }

    /// Waits until the last thing the handler was told of `key` is its end.
    #[track_caller]
    pub(crate) fn wait_gone<'k>(&self, key: impl Into<KeyRef<'k>>) {
        let key = key.into().to_key();
        self.wait_until(&format!("the end of {key}"), || {
            let records = self.seen.records();
            let last = records.iter().rev().find(|record| record.key == key);
            last.is_some_and(|record| record.to_string().starts_with("Deleted"))
        });
    }

    #[track_caller]
    fn wait<R>(&self, what: &str, mut ready: impl FnMut(&[(ErrorKind, String)]) -> Option<R>) -> R {
        Deadline::after(PATIENCE).wait_on(
            &self.failures,
            what,
            |failures| ready(failures),
            |failures| format!("not so; told:\n{}\nfailures: {failures:?}", self.seen.trace()),
        )
    }

    /// Stops it and waits for its threads. Nothing may have been forgotten of the record.
    #[track_caller]
    pub(crate) fn finish(self) -> Result<()> {
        let told = self.seen.replay();
        let store = self.store().list();
        assert_eq!(
            told,
            states(store.iter().map(|object| &**object)),
            "the handler's events replay to the store"
        );
        self.end()
    }

    /// Stops it and waits for its threads.
    #[track_caller]
    pub(crate) fn end(self) -> Result<()> {
        let informer = self.informer;
        informer.stop();
        within("every thread of a stopped informer to end", move || informer.join())
    }
}

/// The version of an object.
pub(crate) fn version_of(object: &impl Object) -> &str {
    object.meta().resource_version
}

/// The UID of an object.
pub(crate) fn uid_of(object: &impl Object) -> &str {
    object.meta().uid
}

/// The server's answer where it was to refuse.
#[track_caller]
pub(crate) fn refused<R>(outcome: Result<R>) -> Error {
    match outcome {
        Ok(_) => panic!("the server was to refuse this"),
        Err(error) => error,
    }
}
