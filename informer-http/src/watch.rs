//! [`Watch`]: the changes of a resource from a version on, one after the other, without a cache (client-go's
//! `RetryWatcher`).
//!
//! Invariant: no event is lost and none comes twice; what would break that ends the watch with an error.

use std::collections::VecDeque;
use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_core::{
    BadObject, ChangeKind, Error, ErrorKind, Flow, KeyRef, Representation, Result, Stage, Stop, WatchRequest,
    WatchSink,
};

use crate::event::WatchStream;
use crate::list_watch::HttpListWatch;
use crate::transport::Body;

/// The least time from the start of one request to the start of the next (W-32).
const SPACING: Duration = Duration::from_secs(1);
/// What the spacing grows to while requests fail.
const LONGEST: Duration = Duration::from_secs(30);
/// Silence that ends a request (D7): bookmarks come once a minute.
const IDLE: Duration = Duration::from_secs(90);
/// `timeoutSeconds` where the caller has no wish.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A change of an object, as a [`Watch`] tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchEvent<K> {
    /// What happened to it. Of a selection, entering it is [`Added`](ChangeKind::Added), leaving it
    /// [`Deleted`](ChangeKind::Deleted).
    pub kind: ChangeKind,
    /// Its new state; of a deletion the last one.
    pub object: K,
}

/// The changes of a resource after a version, as a blocking iterator; made by [`Api::watch`](crate::Api::watch).
///
/// Each request ends after some minutes, by the server or by a fault on the way. The iterator then opens the next one at
/// the version of the last change, so that none is lost and none comes twice; at most once a second, and more slowly, up
/// to twice a minute, while that fails. Bookmarks are asked for and consumed.
///
/// An [`informer`](informer_core::SharedInformer) is what most programs want: it knows what there is, and finds out by
/// itself what it missed. A watch without one is for those who need nothing but what comes.
///
/// # Blocking
/// [`next`](Iterator::next) blocks until there is a change. A stop of [`Api::stopped_by`](crate::Api::stopped_by) ends the
/// iteration, at once and without an error.
///
/// # Errors
/// An object that cannot be decoded is an error by itself ([`ErrorKind::Decode`], with its key); the iteration goes on.
/// Every other error is the last item: [`is_gone`](Error::is_gone) when the server has forgotten the version, so that
/// changes may have been missed; a refusal such as [`is_forbidden`](Error::is_forbidden); bytes that are no events.
/// Broken connections, 429 and 5xx are not told but logged, and tried again.
pub struct Watch<K> {
    source: HttpListWatch<K>,
    stop: Stop,
    timeout: Duration,
    /// The version of the last item.
    version: String,
    open: Option<(Body, WatchStream)>,
    told: VecDeque<Told<K>>,
    /// When the last request began.
    began: Option<Instant>,
    /// The time from that to the next.
    spacing: Duration,
    over: bool,
}

/// What the stream told: the version after it, and what to give out.
struct Told<K> {
    version: String,
    item: Option<Result<WatchEvent<K>>>,
    last: bool,
}

impl<K: Representation> Watch<K> {
    /// # Errors
    /// [`ErrorKind::Config`] for a version from which nothing can be followed without a gap (W-30).
    pub(crate) fn new(
        source: HttpListWatch<K>,
        version: &str,
        timeout: Option<Duration>,
        stop: &Stop,
    ) -> Result<Self> {
        if matches!(version, "" | "0") {
            let text = format!(
                "watch {}: there is no version to begin at; give the resourceVersion of a list or an object",
                source.collection_name()
            );
            return Err(Error::new(ErrorKind::Config, text).at(Stage::WatchOpen));
        }
        Ok(Watch {
            source,
            stop: stop.clone(),
            timeout: timeout.unwrap_or(TIMEOUT),
            version: version.to_owned(),
            open: None,
            told: VecDeque::new(),
            began: None,
            spacing: SPACING,
            over: false,
        })
    }

    /// The version after the last item: where another watch would go on.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Opens the next request when it is due. `false`: stopped.
    fn open(&mut self) -> Result<bool> {
        let clock = self.source.clock();
        if let Some(due) = self.began.and_then(|began| began.checked_add(self.spacing)) {
            self.stop.wait_until(&*clock, Some(due));
        }
        if self.stop.is_set() {
            return Ok(false);
        }
        self.began = Some(clock.now());
        let request = WatchRequest {
            resource_version: self.version.clone(),
            initial_events: false,
            timeout: self.timeout,
            idle: IDLE,
        };
        match self.source.open_watch(&request, &self.stop) {
            Ok(body) => self.open = Some((body, self.source.watch_stream())),
            Err(error) => self.failed(error.at(Stage::WatchOpen))?,
        }
        Ok(true)
    }

    /// Tells what has come, and reads on if that is nothing.
    fn read(&mut self) -> Result<()> {
        let Some((body, stream)) = &mut self.open else { return Ok(()) };
        let mut sink = Collect(&mut self.told);
        let end = match stream.tell(self.source.settings(), &mut sink) {
            Ok(_) if !self.told.is_empty() => Ok(None),
            Ok(_) => stream.read(body, self.source.settings(), &mut Collect(&mut self.told)),
            Err(error) => Err(error),
        };
        match end {
            Ok(None) => {}
            Ok(Some(_)) => self.open = None,
            Err(error) => {
                self.open = None;
                let error = if error.is_stopped() { error } else { self.source.of_watch(error) };
                let failed = self.failed(error);
                // What was told before it comes before it.
                if let Err(error) = failed {
                    self.told.push_back(Told { version: String::new(), item: Some(Err(error)), last: true });
                }
            }
        }
        Ok(())
    }

    /// A request has failed: the next one comes later, or it was the last.
    fn failed(&mut self, error: Error) -> Result<()> {
        use ErrorKind::{Internal, ServerTimeout, TooManyRequests, Unavailable};
        let again = error.is_transport()
            || matches!(error.kind(), TooManyRequests | Internal | Unavailable | ServerTimeout);
        if error.is_stopped() {
            return Ok(());
        }
        if !again {
            return Err(error);
        }
        self.spacing = (self.spacing * 2).min(LONGEST).max(error.retry_after().unwrap_or_default());
        log::warn!(target: "informer::http", "{}; once more in at most {} s", error.chain(), self.spacing.as_secs());
        Ok(())
    }
}

impl<K: Representation> Iterator for Watch<K> {
    type Item = Result<WatchEvent<K>>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.over && !self.stop.is_set() {
            if let Some(told) = self.told.pop_front() {
                if !told.version.is_empty() {
                    self.version = told.version;
                    self.spacing = SPACING;
                }
                self.over = told.last;
                match told.item {
                    Some(item) => return Some(item),
                    None => continue,
                }
            }
            let outcome = if self.open.is_some() { self.read().map(|()| true) } else { self.open() };
            match outcome {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
        self.over = true;
        self.open = None;
        None
    }
}

impl<K: Representation> FusedIterator for Watch<K> {}

impl<K> fmt::Debug for Watch<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("source", &self.source)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// Keeps what is told until it is asked for.
struct Collect<'a, K>(&'a mut VecDeque<Told<K>>);

impl<K> Collect<'_, K> {
    fn tell(&mut self, version: &str, item: Option<Result<WatchEvent<K>>>) {
        self.0.push_back(Told { version: version.to_owned(), item, last: false });
    }

    /// Without a version nobody could go on after it.
    fn unversioned(&mut self, what: &str) -> Flow {
        let text = format!("{what} has no resourceVersion; the watch cannot go on after it");
        let error = Error::new(ErrorKind::Decode, text).at(Stage::Watch);
        self.0.push_back(Told { version: String::new(), item: Some(Err(error)), last: true });
        Flow::End
    }
}

impl<K: Representation> WatchSink<K> for Collect<'_, K> {
    fn have(&self, _: KeyRef<'_>, _: &str, _: &str) -> Option<Arc<K>> {
        None
    }

    fn may_have(&self) -> bool {
        false
    }

    fn opened(&mut self) {}

    fn change(&mut self, kind: ChangeKind, object: K) -> Flow {
        let meta = object.meta();
        if meta.resource_version.is_empty() {
            let key = meta.key();
            return self.unversioned(&key.to_string());
        }
        let version = meta.resource_version.to_owned();
        self.tell(&version, Some(Ok(WatchEvent { kind, object })));
        Flow::Continue
    }

    fn unchanged(&mut self, _: Arc<K>) -> Flow {
        Flow::Continue // nothing is had
    }

    fn bad_change(&mut self, _: ChangeKind, bad: BadObject) -> Flow {
        self.tell(&bad.resource_version, Some(Err(bad.error)));
        if bad.resource_version.is_empty() {
            self.unversioned("an object that cannot be decoded")
        } else {
            Flow::Continue
        }
    }

    fn bookmark(&mut self, resource_version: &str, _: bool) -> Flow {
        self.tell(resource_version, None);
        Flow::Continue
    }
}
