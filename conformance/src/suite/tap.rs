//! [`Tap`]: between a reflector and its source, it writes down what is asked for and interferes on demand.
//!
//! What it lets through goes to the server unchanged, so that every answer is the server's own.

use std::sync::Arc;
use std::time::Duration;

use informer_core::sync::Monitor;
use informer_core::{
    Error, ErrorKind, ListEnd, ListRequest, ListSink, ListWatch, Result, Stage, Stop, WatchEnd, WatchRequest,
    WatchSink,
};
use informer_testkit::Deadline;

/// A source behind a tap; made by [`TapHandle::on`].
pub(crate) struct Tap<L> {
    source: L,
    handle: TapHandle,
}

/// Reads the tap and turns it. Clones are the same tap.
#[derive(Clone)]
pub(crate) struct TapHandle {
    state: Arc<Monitor<State>>,
}

#[derive(Default)]
struct State {
    requests: Vec<String>,
    /// The watch under way; setting this ends it for the reflector as a stream that closes.
    under_way: Option<Stop>,
    /// Watches wait here before they are sent.
    held: bool,
    waiting: bool,
    /// The next watch is not sent, but fails.
    fail: bool,
    /// What `timeoutSeconds` and the idle limit of every watch are cut down to.
    shorter: Option<(Duration, Duration)>,
}

impl TapHandle {
    /// A tap that lets everything through.
    pub(crate) fn new() -> Self {
        TapHandle { state: Arc::new(Monitor::new(State::default())) }
    }

    /// `source`, behind this tap.
    pub(crate) fn on<L>(&self, source: L) -> Tap<L> {
        Tap { source, handle: self.clone() }
    }

    /// What was asked for: `LIST 0 limit=2`, `LIST continue limit=2`, `WATCH 17`, `STREAM` (a streaming list).
    pub(crate) fn requests(&self) -> Vec<String> {
        self.state.lock().requests.clone()
    }

    /// Cuts down how long every watch from now on may last, and how long it may be silent.
    ///
    /// A server sends a bookmark once a minute, and one two seconds before the end of a watch: so a short watch is
    /// the way to one.
    pub(crate) fn shorten(&self, timeout: Duration, idle: Duration) {
        self.state.lock().shorter = Some((timeout, idle));
    }

    /// Ends the watch under way, as a stream that closes, and holds the next one back until
    /// [`release`](TapHandle::release). Returns when the reflector stands there: it hears nothing any more.
    pub(crate) fn interrupt(&self) {
        let mut state = self.state.lock();
        state.held = true;
        let watch = state.under_way.take();
        drop(state);
        if let Some(watch) = watch {
            watch.set();
        }
        Deadline::new().wait_on(
            &self.state,
            "the reflector to open its next watch",
            |state| state.waiting.then_some(()),
            |state| format!("{:?}", state.requests),
        );
    }

    /// Lets the held watch go.
    pub(crate) fn release(&self) {
        self.state.lock().held = false;
        self.state.notify_all();
    }

    /// Lets the held watch go, but fails it: the reflector has to list.
    pub(crate) fn release_into_a_failure(&self) {
        let mut state = self.state.lock();
        (state.held, state.fail) = (false, true);
        drop(state);
        self.state.notify_all();
    }

    fn note(&self, request: String) {
        self.state.lock().requests.push(request);
    }

    /// Waits at the gate. Answers the signal that ends the watch, or why it is not sent.
    fn enter(&self, stop: &Stop) -> Result<(Stop, Option<(Duration, Duration)>)> {
        let theirs = Arc::clone(&self.state);
        let _wake = stop.on_stop(move || {
            drop(theirs.lock()); // orders this wake after the wait has begun
            theirs.notify_all();
        });
        let mut state = self.state.lock();
        while state.held && !stop.is_set() {
            state.waiting = true;
            self.state.notify_all();
            self.state.wait(&mut state);
        }
        state.waiting = false;
        if std::mem::take(&mut state.fail) {
            let error = Error::new(ErrorKind::Internal, "the test lets this watch fail");
            return Err(error.at(Stage::WatchOpen));
        }
        let cut = Stop::new();
        state.under_way = Some(cut.clone());
        Ok((cut, state.shorter))
    }
}

impl<T, L: ListWatch<T>> ListWatch<T> for Tap<L> {
    fn list(&self, request: &ListRequest, stop: &Stop, sink: &mut dyn ListSink<T>) -> Result<ListEnd> {
        let from = request.continue_token.as_ref().map_or(&*request.resource_version, |_| "continue");
        let limit = request.limit.map(|limit| format!(" limit={limit}")).unwrap_or_default();
        self.handle.note(format!("LIST {from}{limit}"));
        self.source.list(request, stop, sink)
    }

    fn watch(&self, request: &WatchRequest, stop: &Stop, sink: &mut dyn WatchSink<T>) -> Result<WatchEnd> {
        let what = if request.initial_events { "STREAM" } else { "WATCH" };
        self.handle.note(format!("{what} {}", request.resource_version).trim_end().to_owned());
        let (cut, shorter) = self.handle.enter(stop)?;
        let theirs = cut.clone();
        let _both = stop.on_stop(move || theirs.set());
        let mut request = request.clone();
        if let Some((timeout, idle)) = shorter {
            (request.timeout, request.idle) = (timeout.min(request.timeout), idle.min(request.idle));
        }
        match self.source.watch(&request, &cut, sink) {
            Err(error) if error.is_stopped() && !stop.is_set() => Ok(WatchEnd::Closed),
            outcome => outcome,
        }
    }

    fn name(&self) -> String {
        self.source.name()
    }

    fn can_stream(&self) -> bool {
        self.source.can_stream()
    }
}
