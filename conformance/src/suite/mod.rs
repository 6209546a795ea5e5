//! The suite: named cases, run one after the other against one cluster, each in a namespace of its own.
//!
//! Names begin with the number of the statement they pin, where there is one. A case fails by an error or by a panic;
//! no case sees anything another one left.

mod access;
mod cluster;
mod custom;
mod ground;
mod informing;
mod listing;
mod recovering;
mod representing;
mod selecting;
mod sharing;
mod tap;
mod watched;
mod writing;

use std::cell::RefCell;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use informer_core::{Clock as _, Result, SystemClock};

pub use cluster::{Ability, Memory, TestCluster};
use ground::Ground;

/// One case.
struct Case {
    name: &'static str,
    needs: &'static [Ability],
    run: fn(&mut Ground<'_>) -> Result<()>,
}

/// A table of cases: the name is that of the function, the brackets hold what it needs of the cluster.
macro_rules! cases {
    ($($name:ident [$($need:ident),*],)*) => {
        pub(super) const CASES: &[super::Case] = &[$(super::Case {
            name: stringify!($name),
            needs: &[$(super::Ability::$need),*],
            run: $name,
        }),*];
    };
}
use cases;

/// The cases, the ones that restart the server last.
fn every_case() -> impl Iterator<Item = &'static Case> {
    [
        informing::CASES,
        listing::CASES,
        selecting::CASES,
        sharing::CASES,
        representing::CASES,
        custom::CASES,
        access::CASES,
        writing::CASES,
        recovering::CASES,
    ]
    .into_iter()
    .flatten()
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Cases that kept their promise.
    pub passed: usize,
    /// Cases that did not.
    pub failed: usize,
    /// Cases that need what the cluster cannot do.
    pub left_out: usize,
    /// How long all of it took.
    pub took: Duration,
}

/// Runs the cases whose names contain one of `filters` (without filters all of them), and prints a line a case.
///
/// # Errors
/// Those of `out`.
///
/// # Blocking
/// Until the last case has ended; a case that hangs is ended by the time limits of its waits.
pub fn run(cluster: &mut dyn TestCluster, filters: &[String], out: &mut dyn Write) -> io::Result<Summary> {
    let clock = SystemClock;
    let began = clock.now();
    let mut summary = Summary::default();
    let run = run_id();
    let _hook = PanicNotes::install();
    let chosen =
        every_case().filter(|case| filters.is_empty() || filters.iter().any(|text| case.name.contains(text)));
    for (number, case) in chosen.enumerate() {
        if let Some(missing) = case.needs.iter().find(|need| !cluster.can(**need)) {
            summary.left_out += 1;
            writeln!(out, "left out  {}: this cluster has no {missing}", case.name)?;
            continue;
        }
        let namespace = format!("informer-{run:x}-{number}");
        let case_began = clock.now();
        let outcome = attempt(case, cluster, namespace);
        let took = clock.now().saturating_duration_since(case_began).as_millis();
        match outcome {
            Ok(()) => {
                summary.passed += 1;
                writeln!(out, "ok {took:>6} ms  {}", case.name)?;
            }
            Err(why) => {
                summary.failed += 1;
                writeln!(out, "FAILED    {}: {why}", case.name)?;
            }
        }
        out.flush()?;
    }
    summary.took = clock.now().saturating_duration_since(began);
    Ok(summary)
}

/// Runs one case; why it failed, if it did.
fn attempt(case: &Case, cluster: &mut dyn TestCluster, namespace: String) -> Result<(), String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut ground = Ground::new(cluster, namespace)?;
        (case.run)(&mut ground)
    }));
    match outcome {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(error.chain().to_string()),
        Err(_) => Err(PanicNotes::take()),
    }
}

/// Another number for every run, so that two runs on one cluster do not meet.
fn run_id() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() << 12 | u64::from(std::process::id() & 0xfff)
}

/// Keeps the panics of this thread for the report instead of printing them; for as long as it lives.
struct PanicNotes;

thread_local! {
    /// The last panic of this thread, with its place.
    static NOTE: RefCell<String> = const { RefCell::new(String::new()) };
}

impl PanicNotes {
    fn install() -> Self {
        let before = std::panic::take_hook();
        let runner = std::thread::current().id();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().id() != runner {
                return before(panic);
            }
            let place = panic.location().map(|place| format!(" ({}:{})", place.file(), place.line()));
            let text = panic.payload_as_str().unwrap_or("a panic without words");
            NOTE.set(format!("{text}{}", place.unwrap_or_default()));
        }));
        PanicNotes
    }

    fn take() -> String {
        NOTE.take()
    }
}

impl Drop for PanicNotes {
    fn drop(&mut self) {
        let _ = std::panic::take_hook(); // back to the default
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use informer_core::sync::Mutex;
    use informer_core::{Error, ErrorKind};
    use informer_factory::Client;

    use super::*;

    /// A cluster that nobody can reach and that can do nothing.
    struct Nothing;

    impl TestCluster for Nothing {
        fn can(&self, _: Ability) -> bool {
            false
        }

        fn admin(&self) -> Result<Client> {
            Err(Error::new(ErrorKind::Config, "there is nothing here"))
        }

        fn nobody(&self) -> Result<Client> {
            self.admin()
        }

        fn restart(&mut self, _: Memory) -> Result<()> {
            self.admin().map(|_| ())
        }
    }

    /// The panic hook is the process's: one test at a time has it.
    static HOOK: Mutex<()> = Mutex::new(());

    fn run_on_nothing(filters: &[&str]) -> (Summary, String) {
        let _hook = HOOK.lock();
        let filters: Vec<String> = filters.iter().map(ToString::to_string).collect();
        let mut out = Vec::new();
        let summary = run(&mut Nothing, &filters, &mut out).unwrap();
        (summary, String::from_utf8(out).unwrap())
    }

    #[test]
    fn every_case_has_a_name_of_its_own_and_a_line() {
        let names: HashSet<_> = every_case().map(|case| case.name).collect();
        assert_eq!(names.len(), every_case().count());
        let (summary, out) = run_on_nothing(&[]);
        assert_eq!(out.lines().count(), names.len());
        assert_eq!((summary.passed, summary.failed + summary.left_out), (0, names.len()));
    }

    #[test]
    fn what_the_cluster_cannot_do_is_left_out_and_what_fails_says_why() {
        let (summary, out) = run_on_nothing(&["d_7_a_server_that_lost_everything_is"]);
        assert_eq!((summary.failed, summary.left_out), (0, 1));
        let line = "left out  d_7_a_server_that_lost_everything_is_noticed: this cluster has no server that may be restarted\n";
        assert_eq!(out, line);
        let (summary, out) = run_on_nothing(&["i_12", "no_such_case"]);
        assert_eq!((summary.failed, summary.left_out), (1, 0));
        assert!(out.starts_with("FAILED    i_12_") && out.ends_with(": there is nothing here\n"), "{out}");
    }

    #[test]
    fn a_panic_is_a_failure_with_its_place() {
        let _hook = (HOOK.lock(), PanicNotes::install());
        let _ = catch_unwind(|| panic!("because"));
        let note = PanicNotes::take();
        assert!(note.starts_with("because (") && note.contains("mod.rs:"), "{note}");
    }
}
