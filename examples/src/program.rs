//! [`About`] and [`Program`]: from a command line to a client and a stop, in one call.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded};
use informer_factory::{
    Client, Clock as _, Error, ErrorKind, OnStop, Result, SharedInformerFactory, Stage, Stop, SystemClock,
};
use lexopt::prelude::{Long, Short};

use crate::demo::Demo;
use crate::target::{Cluster, Target, text};
use crate::{duration, init_log, one_line, run, spawn, stop_on_signal};

/// What a program says of itself: the beginning of its `--help`, and the options of its own.
#[derive(Clone, Copy, Debug)]
pub struct About {
    name: &'static str,
    /// Lines of at most 80 characters.
    text: &'static str,
    options: &'static [(&'static str, &'static str)],
}

/// A program that is under way.
pub struct Program {
    /// Speaks to the cluster.
    pub client: Client,
    /// The namespace of `-n`; empty for all of them, which is also what there is without `-n`.
    pub namespace: String,
    /// Set by SIGINT, by SIGTERM, and when the time of `--for` is over.
    pub stop: Stop,
    /// Nothing ever comes here: it closes when `stop` is set, and so wakes whoever selects on it.
    pub closed: Receiver<()>,
    /// The cluster of `--demo`; it ends with the program.
    pub demo: Option<Demo>,
    /// The time of `--for`.
    pub span: Option<Duration>,
    own: BTreeMap<&'static str, String>,
    _at_stop: OnStop,
}

#[derive(Debug, Default)]
struct Line {
    target: Target,
    namespace: String,
    span: Option<Duration>,
    own: BTreeMap<&'static str, String>,
}

impl About {
    /// A program without options of its own.
    #[must_use]
    pub const fn new(name: &'static str, text: &'static str) -> Self {
        About { name, text, options: &[] }
    }

    /// Options of its own, each with a value and without the dashes: `("listen ADDRESS", "where to listen")`.
    #[must_use]
    pub const fn options(self, options: &'static [(&'static str, &'static str)]) -> Self {
        About { options, ..self }
    }

    /// Runs a program: reads its command line, connects, and calls `main`.
    ///
    /// An error becomes one line on standard error and exit code 1; a wrong command line is exit code 2.
    pub fn run(self, main: impl FnOnce(&Program) -> Result<()>) -> ExitCode {
        init_log();
        match self.parse(std::env::args_os().skip(1)) {
            Ok(Some(line)) => run(|| {
                let program = Program::start(line)?;
                match main(&program) {
                    // It was asked to stop, and something has stopped because of that: all is well.
                    Err(error) if error.is_stopped() && program.stop.is_set() => Ok(()),
                    outcome => outcome,
                }
            }),
            Ok(None) => {
                let _ = writeln!(io::stdout(), "{}", self.usage());
                ExitCode::SUCCESS
            }
            Err(error) => {
                let text = one_line(&error.to_string());
                let _ = writeln!(io::stderr(), "error: {text}; --help lists the options");
                ExitCode::from(2)
            }
        }
    }

    fn usage(&self) -> String {
        let mut own = String::new();
        for (option, help) in self.options {
            own += &format!("  --{option:<22}{help}\n");
        }
        format!(
            "usage: {} [options]\n\n{}\n\n{own}{}\n  \
  -n, --namespace NAME    one namespace; by default all of them
  -A, --all-namespaces    all of them
  --for DURATION          end after that long; SIGINT and SIGTERM end it, too
  -h, --help              this text

DURATION is a number with a unit: 500ms, 30s, 5m, 1h",
            self.name,
            self.text,
            Target::USAGE
        )
    }

    fn parse(&self, words: impl IntoIterator<Item = OsString>) -> Result<Option<Line>, lexopt::Error> {
        let mut line = Line::default();
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(word) = parser.next()? {
            match word {
                Short('n') | Long("namespace") => line.namespace = text(&mut parser, "-n")?,
                Short('A') | Long("all-namespaces") => line.namespace.clear(),
                Long("for") => {
                    let span = text(&mut parser, "--for")?;
                    let wrong = || format!("--for: {span:?} is not a duration such as 500ms, 30s or 5m");
                    line.span = Some(duration(&span).ok_or_else(wrong)?);
                }
                Short('h') | Long("help") => return Ok(None),
                Long(name) => {
                    let name = name.to_owned();
                    let own = self.options.iter().map(|(option, _)| first_word(option));
                    if let Some(own) = own.into_iter().find(|option| *option == name) {
                        line.own.insert(own, text(&mut parser, &format!("--{own}"))?);
                    } else if !line.target.take(&name, &mut parser)? {
                        return Err(Long(&name).unexpected());
                    }
                }
                other => return Err(other.unexpected()),
            }
        }
        match line.target.clash() {
            Some(names) => Err(format!("{names} exclude each other").into()),
            None => Ok(Some(line)),
        }
    }
}

impl Program {
    fn start(line: Line) -> Result<Self> {
        let stop = Stop::new();
        stop_on_signal(&stop).map_err(|error| {
            Error::new(ErrorKind::Spawn, "cannot listen for signals").with_source(error).at(Stage::Start)
        })?;
        let (open, closed) = bounded(0);
        let at_stop = stop.on_stop(move || drop(open));
        let Cluster { client, demo } = line.target.connect()?;
        let (namespace, span, own) = (line.namespace, line.span, line.own);
        Ok(Program { client, namespace, stop, closed, demo, span, own, _at_stop: at_stop })
    }

    /// Starts the informers of `factory`, and waits until their caches are full.
    ///
    /// # Blocking
    /// Until then, for 30 seconds at most, or until the program is to end.
    ///
    /// # Errors
    /// Those of [`SharedInformerFactory::wait_for_cache_sync`].
    pub fn sync(&self, factory: &SharedInformerFactory) -> Result<()> {
        factory.start()?;
        // What a stop calls must not block, and a shutdown waits for threads: one of its own does that.
        let ending = factory.clone();
        let _at_stop = self.stop.on_stop(move || _ = spawn("shutdown", move || _ = ending.shutdown()));
        factory.wait_for_cache_sync(Duration::from_secs(30))
    }

    /// The value of an option of the program's own.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        self.own.get(name).map(String::as_str)
    }

    /// Waits until the program is to end: a signal, or the time of `--for`, which begins with this call.
    ///
    /// # Blocking
    /// Until then; [`stop`](Program::stop) is set afterwards.
    pub fn wait(&self) {
        let until = self.span.and_then(|span| SystemClock.now().checked_add(span));
        self.stop.wait_until(&SystemClock, until);
        self.stop.set();
    }
}

fn first_word(option: &str) -> &str {
    option.split(' ').next().unwrap_or(option)
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: About = About::new("test", "Tests.").options(&[("listen ADDR", "where to listen")]);

    fn of(line: &str) -> Result<Option<Line>, lexopt::Error> {
        ABOUT.parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn options_of_its_own_stand_beside_those_of_all() {
        let line = of("--demo --seed 7 --listen 127.0.0.1:80 --for 2s -n shop").unwrap().unwrap();
        assert!(line.target.demo && line.target.seed == 7);
        assert_eq!(line.own["listen"], "127.0.0.1:80");
        assert_eq!((line.namespace.as_str(), line.span), ("shop", Some(Duration::from_secs(2))));
        assert!(of("--help").unwrap().is_none());
        let usage = ABOUT.usage();
        assert!(usage.contains("--listen ADDR           where to listen"), "{usage}");
        assert!(usage.lines().all(|line| line.chars().count() <= 80), "{usage}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, part) in [
            ("--bogus", "--bogus"),
            ("--seed x", "--seed: \"x\""),
            ("--for 5", "--for: \"5\""),
            ("--demo --server http://x", "--demo and --server"),
            ("--listen", "--listen"),
            ("pods", "pods"),
        ] {
            let text = of(line).unwrap_err().to_string();
            assert!(text.contains(part), "{line}: {text}");
        }
    }
}
