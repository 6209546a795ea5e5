//! [`ReplaySource`]: the source that an informer had, from a [`Recording`](super::Recording).
//!
//! Invariant: it decodes with the code that reads from a server, and answers only what was asked then.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_core::kube_core::{ApiResource, Resource};
use informer_core::sync::Monitor;
use informer_core::{
    Clock, DecodeOptions, Error, ErrorKind, ListEnd, ListRequest, ListSink, ListWatch, Representation,
    Result, Stage, Stop, SystemClock, WatchEnd, WatchRequest, WatchSink,
};

use super::line;
use super::load::{Asked, Exchange, Part, load};
use crate::decode::DecodeSettings;

/// Plays a [`Recording`](super::Recording): an informer's source without a server.
///
/// Each list and each watch gets what the next recorded one got, to the byte and to the error. It must be the same
/// request; another one fails, and [`wait_played`](ReplaySource::wait_played) says what was expected: the informer has
/// other options than it had, or the program does otherwise now. Time-outs are not compared, they are drawn by lot.
/// After the last exchange, and in one that the recording does not tell the end of, it is silent until it is stopped.
///
/// It answers at once, or, with a [`clock`](ReplaySource::clock), as late as the server did: what an informer does next
/// depends on how long a watch lasted, so a test that is about that gives the informer and the source one manual
/// clock. Clones are the same source.
///
/// [`Recording`](super::Recording) has an example.
pub struct ReplaySource<T> {
    name: String,
    settings: DecodeSettings,
    clock: Option<Arc<dyn Clock>>,
    cut: bool,
    progress: Arc<Monitor<Progress>>,
    object: PhantomData<fn() -> T>,
}

struct Progress {
    left: VecDeque<Exchange>,
    /// Exchanges that are being played.
    playing: usize,
    /// Why it cannot go on.
    wrong: Option<Error>,
}

impl<T: Representation> ReplaySource<T> {
    /// Opens the recording of an informer of the resource of `T`: what the first source in it read.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] when the file cannot be read or is no recording; the text names line and cause.
    pub fn open(path: impl AsRef<Path>) -> Result<Self>
    where
        T::Resource: Resource<DynamicType = ()>,
    {
        Self::of(path, &ApiResource::erase::<T::Resource>(&()))
    }

    /// As [`open`](ReplaySource::open), for kinds that are known only at run time.
    ///
    /// # Errors
    /// As [`open`](ReplaySource::open).
    pub fn of(path: impl AsRef<Path>, resource: &ApiResource) -> Result<Self> {
        Self::source(path, resource, 0)
    }

    /// As [`of`](ReplaySource::of): what the source of this number read, counted from 0 in the order in which they were
    /// given to the recording.
    ///
    /// # Errors
    /// As [`open`](ReplaySource::open); also when there is no such source.
    pub fn source(path: impl AsRef<Path>, resource: &ApiResource, number: u32) -> Result<Self> {
        let path = path.as_ref();
        let recorded = load(path)?;
        let left: VecDeque<_> =
            recorded.exchanges.into_iter().filter(|exchange| exchange.source == number).collect();
        let Some(first) = left.front() else {
            let text = format!("the recording {}: source {number} asked for nothing", path.display());
            return Err(Error::new(ErrorKind::Config, text).at(Stage::Config));
        };
        Ok(ReplaySource {
            name: first.of.clone(),
            settings: DecodeSettings {
                expected: crate::list_watch::expected::<T>(resource),
                ..DecodeSettings::default()
            },
            clock: None,
            cut: recorded.cut,
            progress: Arc::new(Monitor::new(Progress { left, playing: 0, wrong: None })),
            object: PhantomData,
        })
    }

    /// Everything comes as late after its request as it came then, by `clock`.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// As [`HttpListWatch::decode`](crate::HttpListWatch::decode).
    #[must_use]
    pub fn decode(mut self, options: DecodeOptions) -> Self {
        self.settings.options = options;
        self
    }

    /// As [`HttpListWatch::max_frame`](crate::HttpListWatch::max_frame).
    #[must_use]
    pub fn max_frame(mut self, bytes: usize) -> Self {
        self.settings.max_frame = bytes;
        self
    }

    /// Whether the recording was cut off: by the end of the program that wrote it, or by its limit.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Waits until everything was played: each exchange was asked for and told to its end. One that the recording does
    /// not tell the end of counts once its bytes were told.
    ///
    /// # Blocking
    /// Until then, at most for `limit` of real time. Any other thread may play meanwhile.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] when something else was asked for than was recorded: what, and what was to come;
    /// [`is_timed_out`](Error::is_timed_out) after `limit`, with what is left.
    pub fn wait_played(&self, limit: Duration) -> Result<()> {
        let until = SystemClock.now().checked_add(limit);
        let mut progress = self.progress.lock();
        loop {
            if let Some(wrong) = &progress.wrong {
                return Err(wrong.clone());
            }
            if progress.left.is_empty() && progress.playing == 0 {
                return Ok(());
            }
            if !self.progress.wait_until(&mut progress, &SystemClock, until) {
                let left = progress.left.len();
                let next = progress
                    .left
                    .front()
                    .map_or("the end of the last one".to_owned(), |next| show(&next.asked));
                let text = format!("{left} exchanges of the recording are left, next {next}");
                return Err(Error::new(ErrorKind::TimedOut, text).at(Stage::Wait));
            }
        }
    }

    /// The exchange that `asked` is the request of; none if all have been played.
    fn take(&self, asked: &Asked) -> Result<Option<Exchange>> {
        let mut progress = self.progress.lock();
        if let Some(wrong) = &progress.wrong {
            return Err(wrong.clone());
        }
        let Some(next) = progress.left.front() else { return Ok(None) };
        if !is_same(asked, &next.asked) {
            let text =
                format!("the recording goes on with {}, asked for is {}", show(&next.asked), show(asked));
            let wrong = Error::new(ErrorKind::Config, text);
            progress.wrong = Some(wrong.clone());
            drop(progress);
            self.progress.notify_all();
            return Err(wrong);
        }
        progress.playing += 1;
        Ok(progress.left.pop_front())
    }

    /// The body of the answer to `asked`, or the error it got.
    fn begin(&self, asked: &Asked, stop: &Stop) -> Result<Body<'_>> {
        let Some(exchange) = self.take(asked)? else {
            stop.wait();
            return Err(Error::stopped());
        };
        let clock = self.clock.as_deref();
        let mut body = Body {
            parts: exchange.parts.into(),
            asked: clock.map(Clock::now),
            clock,
            stop: stop.clone(),
            bytes: Vec::new(),
            at: 0,
            failed: None,
            playing: Some(&self.progress),
        };
        match body.next()? {
            Part::Opened => Ok(body),
            Part::Failed(failing) | Part::Broke(failing) => {
                Err(failing.error().unwrap_or_else(Error::stopped))
            }
            // The informer was stopped then, before there was an answer.
            Part::Left | Part::End | Part::Bytes(_) => body.silence(),
        }
    }
}

impl<T: Representation> ListWatch<T> for ReplaySource<T> {
    fn list(&self, request: &ListRequest, stop: &Stop, sink: &mut dyn ListSink<T>) -> Result<ListEnd> {
        let at = |error: Error| {
            if error.is_stopped() { error } else { error.context(format!("list {}", self.name)) }
        };
        let asked = Asked::List(request.clone());
        let mut body = self.begin(&asked, stop).map_err(|error| at(error).at(line::stage(true)))?;
        crate::list::read_list(&mut body, &self.settings, sink).map_err(|error| at(error).at(Stage::List))
    }

    fn watch(&self, request: &WatchRequest, stop: &Stop, sink: &mut dyn WatchSink<T>) -> Result<WatchEnd> {
        let at = |error: Error| {
            if error.is_stopped() { error } else { error.context(format!("watch {}", self.name)) }
        };
        let asked = Asked::Watch(request.clone());
        let mut body = match self.begin(&asked, stop) {
            Ok(body) => body,
            Err(error) if error.kind() == ErrorKind::Silent => return Ok(WatchEnd::Silent),
            Err(error) => return Err(at(error).at(line::stage(false))),
        };
        sink.opened();
        crate::event::read_watch(&mut body, &self.settings, sink).map_err(|error| at(error).at(Stage::Watch))
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}

/// The body of an answer, as it came.
struct Body<'a> {
    parts: VecDeque<(u64, Part)>,
    clock: Option<&'a dyn Clock>,
    /// When the request came, by that clock.
    asked: Option<Instant>,
    stop: Stop,
    /// Bytes that have come; those before `at` were read.
    bytes: Vec<u8>,
    at: usize,
    failed: Option<Error>,
    /// Where it counts as being played, until it has told everything.
    playing: Option<&'a Arc<Monitor<Progress>>>,
}

impl Body<'_> {
    /// The next part, when it is time for it.
    fn next(&mut self) -> Result<Part> {
        let Some((after, part)) = self.parts.pop_front() else { return self.silence() };
        if let (Some(clock), Some(asked)) = (self.clock, self.asked) {
            self.stop.wait_until(clock, asked.checked_add(Duration::from_millis(after)));
        }
        if self.stop.is_set() {
            return Err(Error::stopped());
        }
        Ok(part)
    }

    /// Nothing more comes, until the stop.
    fn silence<R>(&mut self) -> Result<R> {
        self.played();
        self.stop.wait();
        Err(Error::stopped())
    }

    fn played(&mut self) {
        if let Some(progress) = self.playing.take() {
            progress.lock().playing -= 1;
            progress.notify_all();
        }
    }

    fn fail(&mut self, error: Error) -> io::Error {
        self.failed = Some(error.clone());
        io::Error::other(error)
    }
}

impl Read for Body<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = &self.failed {
            return Err(io::Error::other(error.clone()));
        }
        while self.at == self.bytes.len() {
            match self.next() {
                Ok(Part::Bytes(bytes)) => (self.bytes, self.at) = (bytes, 0),
                Ok(Part::End) => return Ok(0),
                Ok(Part::Broke(failing) | Part::Failed(failing)) => {
                    let error = failing.error().unwrap_or_else(Error::stopped);
                    return Err(self.fail(error));
                }
                // The informer that was recorded read no further, nor will this one, or it is asked by its stop.
                Ok(Part::Left | Part::Opened) => {
                    let stopped = self.silence::<()>().err().unwrap_or_else(Error::stopped);
                    return Err(self.fail(stopped));
                }
                Err(error) => return Err(self.fail(error)),
            }
        }
        let rest = &self.bytes[self.at..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

impl Drop for Body<'_> {
    fn drop(&mut self) {
        self.played();
    }
}

/// Whether it is the same request. The time-out of a watch is drawn by lot, and its idle limit follows from it at times.
fn is_same(asked: &Asked, recorded: &Asked) -> bool {
    match (asked, recorded) {
        (Asked::List(asked), Asked::List(recorded)) => asked == recorded,
        (Asked::Watch(asked), Asked::Watch(recorded)) => {
            (&asked.resource_version, asked.initial_events)
                == (&recorded.resource_version, recorded.initial_events)
        }
        _ => false,
    }
}

/// In the notation of traces.
fn show(asked: &Asked) -> String {
    match asked {
        Asked::List(request) => {
            let limit = request.limit.map_or(String::new(), |limit| format!(" limit={limit}"));
            let further = if request.continue_token.is_some() { " continue" } else { "" };
            format!("LIST rv={}{limit}{further}", request.resource_version)
        }
        Asked::Watch(request) => {
            let initial = if request.initial_events { " initial" } else { "" };
            format!("WATCH rv={}{initial}", request.resource_version)
        }
    }
}

impl<T> Clone for ReplaySource<T> {
    fn clone(&self) -> Self {
        ReplaySource {
            name: self.name.clone(),
            settings: self.settings.clone(),
            clock: self.clock.clone(),
            cut: self.cut,
            progress: Arc::clone(&self.progress),
            object: PhantomData,
        }
    }
}

impl<T> fmt::Debug for ReplaySource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplaySource")
            .field("name", &self.name)
            .field("cut", &self.cut)
            .finish_non_exhaustive()
    }
}
