//! Counting threads: what a test says to be sure that nothing outlives its handle.
//!
//! A count is only worth something when nobody else starts or ends threads meanwhile, and the tests of one binary
//! run side by side. There are two ways out, and both are here:
//!
//! - [`alone`] runs a test in a process of its own. Then counts are exact, and so are
//!   [`thread_names`] and [`open_sockets`].
//! - [`ThreadMark::of`] looks only at threads whose names contain a given text. Name the source of the informer under
//!   test so that no other test uses the name; threads are named after their source.
//!
//! Threads of this crate (scripted servers, [`within`](crate::within)) are never counted.

use std::io;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informer_core::Stop;
use informer_core::SystemClock;
use informer_core::sync::{self, JoinHandle};
use informer_core::time::deadline;

use crate::deadline::Deadline;

/// How many threads there were at some moment.
#[derive(Debug)]
#[must_use = "a mark does nothing until it is asked"]
pub struct ThreadMark {
    scope: Scope,
    before: usize,
}

#[derive(Debug)]
enum Scope {
    /// All threads of the library in this process.
    Process,
    /// Threads whose names contain this.
    Named(String),
}

impl ThreadMark {
    /// Marks how many threads of the library run now in the whole process. Use it inside [`alone`].
    pub fn new() -> Self {
        ThreadMark::with(Scope::Process)
    }

    /// Marks how many threads run now whose name contains `text`, at most 15 bytes of it (Linux keeps no more).
    ///
    /// Linux only: elsewhere names cannot be seen, and the mark finds nothing left. A thread can be missed while another
    /// one of the process ends, so where the exact count matters the test runs [`alone`].
    pub fn of(text: &str) -> Self {
        ThreadMark::with(Scope::Named(text.to_owned()))
    }

    fn with(scope: Scope) -> Self {
        let before = scope.count();
        ThreadMark { scope, before }
    }

    /// How many more there are now than at the mark.
    #[must_use]
    pub fn left(&self) -> usize {
        self.scope.count().saturating_sub(self.before)
    }

    /// Asserts that every thread started since the mark has ended or ends now.
    ///
    /// A joined thread leaves the library's count before the join returns, but the kernel may list it a moment
    /// longer, and a thread that was only told to stop needs a moment as well; so this waits.
    ///
    /// # Blocking
    /// Until none is left.
    ///
    /// # Panics
    /// When some are left after 20 seconds; the message names all threads of the process.
    #[track_caller]
    pub fn assert_none_left(&self) {
        let limit = Deadline::new();
        while 0 < self.left() {
            assert!(
                !limit.has_passed(),
                "{} threads are left ({:?}); the process has {:?}",
                self.left(),
                self.scope,
                thread_names()
            );
            // Neither the kernel nor the counter tells when a thread ends, so this one wait looks again each
            // millisecond.
            Stop::new().wait_until(&SystemClock, deadline(&SystemClock, Duration::from_millis(1)));
        }
    }

    /// Asserts that no thread started since the mark runs now, without waiting: what holds after a `join`.
    ///
    /// # Panics
    /// When some are left; the message names all threads of the process.
    #[track_caller]
    pub fn assert_none_left_now(&self) {
        assert!(self.left() == 0, "{} threads are left; the process has {:?}", self.left(), thread_names());
    }
}

impl Default for ThreadMark {
    fn default() -> Self {
        ThreadMark::new()
    }
}

impl Scope {
    fn count(&self) -> usize {
        match self {
            // A thread of ours comes first into the library's count and leaves it last: never too low.
            Scope::Process => sync::live_threads().saturating_sub(OURS.load(Ordering::SeqCst)),
            Scope::Named(text) => thread_names().iter().filter(|name| name.contains(text.as_str())).count(),
        }
    }
}

/// The names of all threads of the process, as the kernel has them: at most 15 bytes each.
///
/// Linux only; elsewhere the answer is empty.
#[must_use]
pub fn thread_names() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    // A thread that ends between the two calls has no name any more, and is left out.
    tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
        .map(|name| name.trim_end().to_owned())
        .collect()
}

/// How many sockets the process has open. Use it inside [`alone`].
///
/// Linux only; elsewhere the answer is 0.
#[must_use]
pub fn open_sockets() -> usize {
    let files = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    files
        .filter_map(|file| std::fs::read_link(file.path()).ok())
        .filter(|target| target.to_string_lossy().starts_with("socket:"))
        .count()
}

const ALONE: &str = "INFORMER_TESTKIT_ALONE";

/// Runs `body` in a process that runs nothing but the calling test; call it as all that a `#[test]` does.
///
/// The test binary is started again for this one test, `body` runs there, and its outcome and output are passed
/// on here.
///
/// ```no_run
/// # use informer_testkit::{alone, ThreadMark};
/// #[test]
/// fn stop_leaves_no_thread() {
///     alone(|| {
///         let mark = ThreadMark::new();
///         // build, start, stop and join an informer
///         mark.assert_none_left_now();
///     });
/// }
/// ```
///
/// # Blocking
/// Until the other process has ended.
///
/// # Panics
/// When `body` panics there, or when this is not a thread of a test: the thread's name is how the test is found.
#[track_caller]
pub fn alone(body: impl FnOnce()) {
    let current = std::thread::current();
    let test =
        current.name().filter(|name| *name != "main").expect("`alone` is called on the thread of a test");
    if std::env::var_os(ALONE).is_some_and(|name| name == test) {
        return body();
    }
    let binary = std::env::current_exe().expect("a test knows its own binary");
    let output = Command::new(binary)
        .args([test, "--exact", "--nocapture", "--include-ignored"])
        .env(ALONE, test)
        .stdin(Stdio::null())
        .output()
        .expect("a test can start its own binary");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let ran = text.contains("1 passed");
    assert!(output.status.success() && ran, "{test}, run alone ({}):\n{text}\n{errors}", output.status);
}

/// How many threads of this crate run now.
static OURS: AtomicUsize = AtomicUsize::new(0);

/// As [`try_spawn`], where a test has threads to spare.
pub(crate) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    try_spawn(name, body).expect("a test has threads to spare")
}

/// Spawns a thread of this crate: counted, so that marks can leave it out.
pub(crate) fn try_spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    struct Ours;
    impl Drop for Ours {
        fn drop(&mut self) {
            OURS.fetch_sub(1, Ordering::SeqCst);
        }
    }
    sync::spawn(name, move || {
        OURS.fetch_add(1, Ordering::SeqCst);
        let _ours = Ours;
        body();
    })
}
