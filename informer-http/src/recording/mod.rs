//! [`Recording`]: what an informer reads, kept in a file, so that a failure in the field becomes a test.
//!
//! Invariants: no header and no credential reaches the file, and of Secrets nothing but lengths; whatever becomes of
//! the file, the informer goes on as if there were none.

mod line;
mod load;
mod replay;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use informer_core::{Clock, Error, ErrorKind, ListRequest, Result, Stage, SystemClock, WatchRequest};

use crate::transport::error_in;
use line::{Failing, First, Line, Listing, PIECE, VERSION, Watching, What};

pub use replay::ReplaySource;

/// How large a recording may become unless told otherwise: 64 MiB.
const MOST: u64 = 64 << 20;

/// A file that takes in what informers read, byte for byte, with times. Clones write to the same file.
///
/// Given to [`HttpListWatch::record`](crate::HttpListWatch::record), or to the options of a factory. What it holds is
/// played again by [`ReplaySource`], without a server.
///
/// # The file
/// One JSON object a line. The first is `{"informer_recording":1}`, the version of the format. Each other one has the
/// milliseconds since the start (`at`), the number of the exchange (`n`), and one of:
///
/// | field | meaning |
/// |---|---|
/// | `list`, `watch` | a request goes out: which of the sources (`source`), what it lists (`of`), and its parameters |
/// | `opened` | the server has answered with a success |
/// | `failed` | there is no answer that counts: `kind`, `message`, `retry_after_ms`, the server's `status` |
/// | `text`, `base64` | bytes of the body, decompressed and without their framing, as they were read; at most 32 KiB |
/// | `withheld` | so many bytes that are not recorded |
/// | `end`, `broke` | the body has ended, or broke off with this error |
/// | `left` | the informer read no further |
/// | `full` | the limit was reached; nothing follows |
///
/// Each line is written at once and whole, so a program that is killed leaves a file that can be played up to there.
///
/// # What is in it
/// Objects, as the server sent them, in full: a recording is as confidential as they are, and only its owner may read
/// it (mode 0600). No header is recorded, so no credential is. Of the resource `secrets`, metadata included, bodies are
/// left out (`withheld`).
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use informer_core::SharedInformer;
/// use informer_http::{Client, HttpListWatch, Recording, ReplaySource};
/// use informer_testkit::{Recorder, ScriptedServer, script::Script, within};
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// // In the field. Here the server is a script.
/// let server = ScriptedServer::start(Script::parse(
///     "
///     C> LIST rv=0     S< list(10;a@8)
///     C> WATCH rv=10   S< 200, ev(MODIFIED,a,uid-a,11), STALL
///     ",
/// )?);
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("configmaps.jsonl");
/// let source = HttpListWatch::<ConfigMap>::new(&Client::from_url(&server.url())?).record(&Recording::create(&file)?);
/// let told = run(SharedInformer::builder(source).streaming(false).build())?;
///
/// // In the test.
/// let replayed = run(SharedInformer::builder(ReplaySource::<ConfigMap>::open(&file)?).streaming(false).build())?;
/// assert_eq!(told, "Added(default/a@8, initial)\nUpdated(default/a@8→11)");
/// assert_eq!(replayed, told);
///
/// fn run(informer: SharedInformer<ConfigMap>) -> informer_core::Result<String> {
///     let seen = Recorder::new();
///     informer.add_event_handler(seen.clone())?;
///     informer.start()?;
///     seen.wait_for(2);
///     informer.stop();
///     within("the end", move || informer.join())?;
///     Ok(seen.trace())
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Recording {
    shared: Arc<Shared>,
}

struct Shared {
    /// Opened for appending: each line is one write, so writers need no lock.
    file: File,
    clock: Arc<dyn Clock>,
    began: Instant,
    most: u64,
    written: AtomicU64,
    /// Nothing more is written: it is full, or the disk is.
    over: AtomicBool,
    /// Numbers of exchanges and of sources.
    exchanges: AtomicU64,
    sources: AtomicU32,
}

/// How a [`Recording`] is made; from [`Recording::options`].
#[derive(Clone, Debug)]
pub struct RecordingOptions {
    most: u64,
    clock: Arc<dyn Clock>,
}

impl RecordingOptions {
    /// The file takes so many bytes, 64 MiB by default; what comes after is not recorded.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.most = bytes;
        self
    }

    /// Times are those of `clock`; by default of the system's.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Creates the file.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] when it is there already or cannot be created; the text names it.
    pub fn create(self, path: impl AsRef<Path>) -> Result<Recording> {
        let path = path.as_ref();
        let wrong = |error: io::Error| {
            let text = format!("cannot create the recording {}", path.display());
            Error::new(ErrorKind::Config, text).with_source(error).at(Stage::Config)
        };
        let mut options = OpenOptions::new();
        let file = options.append(true).create_new(true).mode(0o600).open(path).map_err(wrong)?;
        let shared = Shared {
            file,
            began: self.clock.now(),
            clock: self.clock,
            most: self.most,
            written: AtomicU64::new(0),
            over: AtomicBool::new(false),
            exchanges: AtomicU64::new(0),
            sources: AtomicU32::new(0),
        };
        shared.put(&First { informer_recording: VERSION }).map_err(wrong)?;
        Ok(Recording { shared: Arc::new(shared) })
    }
}

impl Recording {
    /// Creates the file of a recording, which must not be there yet.
    ///
    /// # Errors
    /// As [`RecordingOptions::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Recording::options().create(path)
    }

    /// What may be chosen.
    #[must_use]
    pub fn options() -> RecordingOptions {
        RecordingOptions { most: MOST, clock: Arc::new(SystemClock) }
    }

    /// How many bytes the file has.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.shared.written.load(Ordering::Relaxed)
    }

    /// Whether nothing more is recorded: the limit was reached, or the file could not be written, which the log tells.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::Relaxed)
    }

    /// Whether both write to one file.
    #[must_use]
    pub fn is_same(&self, other: &Recording) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// A further source that writes to it.
    pub(crate) fn source(&self, of: String) -> Recorded {
        let number = self.shared.sources.fetch_add(1, Ordering::Relaxed);
        Recorded { shared: Arc::clone(&self.shared), number, withheld: of == "secrets", of }
    }
}

impl Shared {
    /// Appends a line. Of a file that is over nothing is said again.
    fn line(&self, n: u64, what: What<'_>) {
        // Relaxed: it only ends the writing.
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        let elapsed = self.clock.now().saturating_duration_since(self.began);
        let at = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        if let Err(error) = self.put(&Line { at, n, what }) {
            if !self.over.swap(true, Ordering::Relaxed) {
                log::warn!(target: "informer::http", "the recording ends here: {error}");
            }
        } else if self.most <= self.written.load(Ordering::Relaxed)
            && !self.over.swap(true, Ordering::Relaxed)
        {
            // Another writer's line may come after it; it is one of an exchange that is cut off anyway.
            let _ = self.put(&Line { at, n, what: What::Full(true) });
            log::warn!(target: "informer::http", "the recording ends here: it has {} bytes", self.most);
        }
    }

    fn put(&self, line: &impl serde::Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        (&self.file).write_all(&bytes)?;
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// One source's way to a recording.
pub(crate) struct Recorded {
    shared: Arc<Shared>,
    number: u32,
    of: String,
    withheld: bool,
}

impl Recorded {
    pub(crate) fn list(&self, request: &ListRequest) -> Tape<'_> {
        self.begin(What::List(Listing::new(self.number, &self.of, request)))
    }

    pub(crate) fn watch(&self, request: &WatchRequest) -> Tape<'_> {
        self.begin(What::Watch(Watching::new(self.number, &self.of, request)))
    }

    fn begin(&self, what: What<'_>) -> Tape<'_> {
        let n = self.shared.exchanges.fetch_add(1, Ordering::Relaxed);
        self.shared.line(n, what);
        Tape { recorded: self, n, ended: false }
    }
}

/// One exchange while it is recorded. Dropped before its end, it says that the informer read no further.
pub(crate) struct Tape<'a> {
    recorded: &'a Recorded,
    n: u64,
    ended: bool,
}

impl Tape<'_> {
    /// The request failed. A stop is no failure of the server's.
    pub(crate) fn failed(mut self, error: &Error) {
        if !error.is_stopped() {
            self.end(What::Failed(Failing::new(error)));
        }
    }

    pub(crate) fn opened(&self) {
        self.recorded.shared.line(self.n, What::Opened(true));
    }

    fn read(&mut self, read: &io::Result<usize>, buffer: &[u8]) {
        match read {
            Ok(0) if buffer.is_empty() => {}
            Ok(0) => self.end(What::End(true)),
            Ok(count) => {
                for piece in buffer[..*count].chunks(PIECE) {
                    let what = if self.recorded.withheld {
                        What::Withheld(piece.len())
                    } else {
                        line::body_piece(piece)
                    };
                    self.recorded.shared.line(self.n, what);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let error = match error_in(error) {
                    Some(ours) => ours.clone(),
                    None => Error::new(ErrorKind::Network, error.to_string()),
                };
                // A stop is the informer's own doing.
                if !error.is_stopped() {
                    self.end(What::Broke(Failing::new(&error)));
                }
            }
        }
    }

    fn end(&mut self, what: What<'_>) {
        if !std::mem::replace(&mut self.ended, true) {
            self.recorded.shared.line(self.n, what);
        }
    }
}

impl Drop for Tape<'_> {
    fn drop(&mut self) {
        self.end(What::Left(true));
    }
}

/// A body that is recorded while it is read; without a tape it is merely read.
pub(crate) struct Taped<'a, R> {
    pub(crate) body: &'a mut R,
    pub(crate) tape: Option<Tape<'a>>,
}

impl<R: Read> Read for Taped<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.body.read(buffer);
        if let Some(tape) = &mut self.tape {
            tape.read(&read, buffer);
        }
        read
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("written", &self.written()).finish_non_exhaustive()
    }
}
