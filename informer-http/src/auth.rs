//! [`Credentials`]: the value of the `Authorization` header, asked for at each request.
//!
//! A token file is read without any lock: whoever asks meanwhile gets the token that is there. A reading that began
//! later wins over one that began earlier, so a slow reader never brings an old token back.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use informer_core::sync::Mutex;
use informer_core::{Clock, Error, ErrorKind, Result, Stage};
use ureq::http::HeaderValue;

use crate::bounded;
use crate::secret::Secret;

/// A token file is read again when the last reading is this old (AU-5).
const MAX_AGE: Duration = Duration::from_secs(60);
/// How requests say who is asking, as the configuration has it. A client certificate is not among them: that is TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum AuthSource {
    #[default]
    None,
    Token(Secret),
    TokenFile {
        path: PathBuf,
        /// Used while the file cannot be read.
        fallback: Option<Secret>,
    },
    Basic {
        username: String,
        password: Secret,
    },
}

/// What answers for the `Authorization` header while a client lives; shared by its threads.
pub(crate) struct Credentials {
    kind: Kind,
}

enum Kind {
    None,
    Fixed(HeaderValue),
    File(TokenFile),
}

impl Credentials {
    /// Prepares the header; a token file is read now.
    ///
    /// # Errors
    /// `Config`: the token cannot be a header's value, or the file cannot be read and there is no other token.
    pub(crate) fn new(source: &AuthSource, clock: Arc<dyn Clock>) -> Result<Self> {
        Credentials::with_reader(source, clock, Box::new(read_file))
    }

    fn with_reader(source: &AuthSource, clock: Arc<dyn Clock>, read: Box<ReadToken>) -> Result<Self> {
        let kind = match source {
            AuthSource::None => Kind::None,
            AuthSource::Token(token) => Kind::Fixed(bearer(token.expose()).ok_or_else(|| bad("the token"))?),
            AuthSource::Basic { username, password } => Kind::Fixed(basic(username, password)?),
            AuthSource::TokenFile { path, fallback } => {
                Kind::File(TokenFile::open(path.clone(), fallback.as_ref(), clock, read)?)
            }
        };
        Ok(Credentials { kind })
    }

    /// The value of the `Authorization` header, marked as sensitive; none for nobody.
    ///
    /// # Blocking
    /// About once a minute one caller reads the token file; the others do not wait for it.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        match &self.kind {
            Kind::None => None,
            Kind::Fixed(value) => Some(value.clone()),
            Kind::File(file) => Some(file.header()),
        }
    }

    /// Reads the token file now, whatever its age: for a 401, before the one repetition (AU-6).
    ///
    /// # Blocking
    /// Reads a file.
    pub(crate) fn refresh(&self) {
        if let Kind::File(file) = &self.kind {
            file.refresh();
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::None => f.write_str("Credentials(none)"),
            Kind::Fixed(_) => f.write_str("Credentials(fixed)"),
            Kind::File(file) => write!(f, "Credentials(token file {})", file.path.display()),
        }
    }
}

type ReadToken = dyn Fn(&Path) -> io::Result<String> + Send + Sync;

struct TokenFile {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    read: Box<ReadToken>,
    state: Mutex<State>,
}

/// Short looks only: no file is read while this is locked.
struct State {
    /// The last good token.
    value: HeaderValue,
    /// When the last reading began, good or not; none while the token beside the file stands in from the start.
    asked_at: Option<Instant>,
    /// The number of the last reading that began.
    begun: u64,
    /// The number of the reading `value` is from.
    taken: u64,
    /// Whether the last reading failed; then the log has said so.
    failing: bool,
}

impl TokenFile {
    fn open(
        path: PathBuf,
        fallback: Option<&Secret>,
        clock: Arc<dyn Clock>,
        read: Box<ReadToken>,
    ) -> Result<Self> {
        let now = clock.now();
        let (value, asked_at) = match (token(&path, &*read), fallback) {
            (Ok(value), _) => (value, Some(now)),
            (Err(error), None) => return Err(error),
            // The first request tries again, and says in the log that it failed.
            (Err(_), Some(fallback)) => (bearer(fallback.expose()).ok_or_else(|| bad("the token"))?, None),
        };
        let state = State { value, asked_at, begun: 0, taken: 0, failing: false };
        Ok(TokenFile { path, clock, read, state: Mutex::new(state) })
    }

    fn header(&self) -> HeaderValue {
        let now = self.clock.now();
        let mut state = self.state.lock();
        if state.asked_at.is_some_and(|at| now.saturating_duration_since(at) < MAX_AGE) {
            return state.value.clone();
        }
        // Setting the time first is what keeps the others from reading too.
        let reading = state.begin(now);
        drop(state);
        self.finish(reading)
    }

    fn refresh(&self) {
        let reading = self.state.lock().begin(self.clock.now());
        self.finish(reading);
    }

    /// Does the reading that was begun, and answers the token that is good now.
    fn finish(&self, reading: u64) -> HeaderValue {
        let outcome = token(&self.path, &*self.read);
        let mut state = self.state.lock();
        let report = state.settle(reading, outcome);
        let value = state.value.clone();
        drop(state);
        match report {
            Some(Report::Failing(error)) => {
                log::warn!(target: "informer::http", "{error}; the token known so far is used");
            }
            Some(Report::Recovered) => {
                log::info!(target: "informer::http", "token file {} can be read again", self.path.display());
            }
            None => {}
        }
        value
    }
}

/// A change that the log tells.
enum Report {
    Failing(Error),
    Recovered,
}

impl State {
    fn begin(&mut self, now: Instant) -> u64 {
        self.asked_at = Some(now);
        self.begun += 1;
        self.begun
    }

    /// Takes the outcome of a reading, unless a later one was taken already.
    fn settle(&mut self, reading: u64, outcome: Result<HeaderValue>) -> Option<Report> {
        if reading <= self.taken {
            return None;
        }
        match outcome {
            Ok(value) => {
                self.value = value;
                self.taken = reading;
                std::mem::take(&mut self.failing).then_some(Report::Recovered)
            }
            Err(error) => (!std::mem::replace(&mut self.failing, true)).then_some(Report::Failing(error)),
        }
    }
}

/// The header of the token in the file at `path`.
fn token(path: &Path, read: &ReadToken) -> Result<HeaderValue> {
    let text = read(path).map_err(|error| {
        let message = format!("token file {} cannot be read: {error}", path.display());
        Error::new(ErrorKind::Config, message).at(Stage::Config).with_source(error)
    })?;
    let token = text.trim();
    if token.is_empty() {
        let message = format!("token file {} is empty", path.display());
        return Err(Error::new(ErrorKind::Config, message).at(Stage::Config));
    }
    bearer(token).ok_or_else(|| bad(&format!("the token in {}", path.display())))
}

fn read_file(path: &Path) -> io::Result<String> {
    // The error of a failed conversion would carry the bytes.
    String::from_utf8(bounded::read(path, 1, "token")?).map_err(|_| io::Error::other("it is not text"))
}

fn bearer(token: &str) -> Option<HeaderValue> {
    sensitive(&format!("Bearer {}", token.trim()))
}

fn basic(username: &str, password: &Secret) -> Result<HeaderValue> {
    if username.contains(':') {
        let message = "the username holds a colon, which basic authentication cannot carry";
        return Err(Error::new(ErrorKind::Config, message).at(Stage::Config));
    }
    let pair = STANDARD.encode(format!("{username}:{}", password.expose()));
    sensitive(&format!("Basic {pair}")).ok_or_else(|| bad("the username or password"))
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn bad(what: &str) -> Error {
    let message = format!("{what} holds a line break or another character that no header can carry");
    Error::new(ErrorKind::Config, message).at(Stage::Config)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use informer_core::SystemClock;
    use informer_core::sync::spawn;
    use informer_core::time::Alarm;

    use super::*;

    #[derive(Debug)]
    struct ByHand(Mutex<Instant>);

    impl ByHand {
        fn new() -> Arc<Self> {
            Arc::new(ByHand(Mutex::new(SystemClock.now())))
        }

        fn advance(&self, seconds: u64) {
            *self.0.lock() += Duration::from_secs(seconds);
        }
    }

    impl Clock for ByHand {
        fn now(&self) -> Instant {
            *self.0.lock()
        }

        fn alarm(&self, _at: Instant, _ring: Box<dyn FnOnce() + Send>) -> Option<Alarm> {
            unreachable!("credentials look at the clock when they are asked")
        }
    }

    fn shown(credentials: &Credentials) -> String {
        credentials.header().map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
    }

    fn file(path: &Path) -> AuthSource {
        AuthSource::TokenFile { path: path.to_owned(), fallback: None }
    }

    #[test]
    fn each_kind_answers_its_header_and_hides_it() {
        let make = |source: AuthSource| Credentials::new(&source, Arc::new(SystemClock)).unwrap();
        assert!(make(AuthSource::None).header().is_none());
        let token = make(AuthSource::Token(Secret::new("abc\n")));
        assert_eq!(shown(&token), "Bearer abc");
        let basic = make(AuthSource::Basic { username: "me".into(), password: Secret::new("hunter2") });
        assert_eq!(shown(&basic), "Basic bWU6aHVudGVyMg==");
        assert!(basic.header().unwrap().is_sensitive());
        assert!(!format!("{basic:?}{:?}", basic.header()).contains("bWU6"));
    }

    #[test]
    fn what_no_header_can_carry_is_an_error_without_the_secret() {
        let broken = [
            AuthSource::Token(Secret::new("hunter2\nx")),
            AuthSource::Basic { username: "a:hunter2".into(), password: Secret::new("p") },
        ];
        for source in broken {
            let error = Credentials::new(&source, Arc::new(SystemClock)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(!format!("{error} {error:?}").contains("hunter2"));
        }
    }

    #[test]
    fn au_5_f_67_a_rotated_token_is_used_after_a_minute() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "a\n").unwrap();
        let clock = ByHand::new();
        let credentials = Credentials::new(&file(&path), clock.clone()).unwrap();
        std::fs::write(&path, "b").unwrap();
        clock.advance(59);
        assert_eq!(shown(&credentials), "Bearer a");
        clock.advance(1);
        assert_eq!(shown(&credentials), "Bearer b");
    }

    #[cfg(unix)]
    #[test]
    fn f_67_the_swap_of_a_projected_volume_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        for (name, token) in [("1", "a"), ("2", "b")] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
            std::fs::write(dir.path().join(name).join("token"), token).unwrap();
        }
        let data = dir.path().join("..data");
        std::os::unix::fs::symlink("1", &data).unwrap();
        std::os::unix::fs::symlink("..data/token", dir.path().join("token")).unwrap();
        let credentials = Credentials::new(&file(&dir.path().join("token")), ByHand::new()).unwrap();
        std::os::unix::fs::symlink("2", dir.path().join("new")).unwrap();
        std::fs::rename(dir.path().join("new"), &data).unwrap();
        credentials.refresh();
        assert_eq!(shown(&credentials), "Bearer b");
    }

    #[test]
    fn au_6_a_refresh_reads_at_once_and_counts_as_a_reading() {
        let reads = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&reads);
        let read = move |_: &Path| Ok(format!("t{}", counted.fetch_add(1, Ordering::SeqCst)));
        let clock = ByHand::new();
        let credentials =
            Credentials::with_reader(&file(Path::new("x")), clock.clone(), Box::new(read)).unwrap();
        clock.advance(30);
        credentials.refresh();
        assert_eq!(shown(&credentials), "Bearer t1");
        clock.advance(59);
        assert_eq!(shown(&credentials), "Bearer t1");
        clock.advance(1);
        assert_eq!(shown(&credentials), "Bearer t2");
        assert_eq!(reads.load(Ordering::SeqCst), 3);
    }

    #[test]
    fn au_5_a_read_error_keeps_the_old_token() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "a").unwrap();
        let clock = ByHand::new();
        let credentials = Credentials::new(&file(&path), clock.clone()).unwrap();
        for broken in [None, Some(""), Some("two\nlines"), Some("\u{7f}")] {
            match broken {
                None => std::fs::remove_file(&path).unwrap(),
                Some(text) => std::fs::write(&path, text).unwrap(),
            }
            clock.advance(61);
            assert_eq!(shown(&credentials), "Bearer a", "{broken:?}");
        }
        std::fs::write(&path, "b").unwrap();
        clock.advance(61);
        assert_eq!(shown(&credentials), "Bearer b");
    }

    #[test]
    fn a_file_that_is_not_there_at_the_start_is_an_error_or_the_token_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let error = Credentials::new(&file(&path), ByHand::new()).unwrap_err();
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
        let both = AuthSource::TokenFile { path: path.clone(), fallback: Some(Secret::new("static")) };
        let clock = ByHand::new();
        let credentials = Credentials::new(&both, clock.clone()).unwrap();
        assert_eq!(shown(&credentials), "Bearer static");
        std::fs::write(&path, "file").unwrap();
        clock.advance(60);
        assert_eq!(shown(&credentials), "Bearer file");
    }

    /// Readings of a file whose every reading blocks until it is told what to find.
    struct Slow {
        credentials: Arc<Credentials>,
        clock: Arc<ByHand>,
        began: mpsc::Receiver<mpsc::Sender<&'static str>>,
    }

    impl Slow {
        fn new() -> Self {
            let (tell_began, began) = mpsc::channel();
            let first = AtomicUsize::new(0);
            let tell_began = Mutex::new(tell_began);
            let read = move |_: &Path| {
                if first.fetch_add(1, Ordering::SeqCst) == 0 {
                    return Ok("a".to_owned());
                }
                let (tell, told) = mpsc::channel::<&'static str>();
                tell_began.lock().send(tell).unwrap();
                Ok(told.recv().unwrap().to_owned())
            };
            let clock = ByHand::new();
            let credentials =
                Credentials::with_reader(&file(Path::new("x")), clock.clone(), Box::new(read)).unwrap();
            Slow { credentials: Arc::new(credentials), clock, began }
        }

        /// What ends the reading that begins next. The limit only turns a missing reading into a failure.
        fn begun(&self) -> mpsc::Sender<&'static str> {
            self.began.recv_timeout(Duration::from_secs(60)).unwrap()
        }
    }

    #[test]
    fn a_slow_reading_holds_up_nobody_else() {
        let slow = Slow::new();
        slow.clock.advance(61);
        let theirs = Arc::clone(&slow.credentials);
        let reader = spawn("reader", move || assert_eq!(shown(&theirs), "Bearer b")).unwrap();
        let tell = slow.begun();
        assert_eq!(shown(&slow.credentials), "Bearer a");
        tell.send("b").unwrap();
        reader.join().unwrap();
        assert_eq!(shown(&slow.credentials), "Bearer b");
    }

    #[test]
    fn a_reading_that_began_earlier_never_brings_an_old_token_back() {
        let slow = Slow::new();
        let refresh = || {
            let theirs = Arc::clone(&slow.credentials);
            let thread = spawn("reader", move || theirs.refresh()).unwrap();
            (thread, slow.begun())
        };
        let (early, tell_early) = refresh();
        let (late, tell_late) = refresh();
        tell_late.send("new").unwrap();
        late.join().unwrap();
        tell_early.send("old").unwrap();
        early.join().unwrap();
        assert_eq!(shown(&slow.credentials), "Bearer new");
    }
}
