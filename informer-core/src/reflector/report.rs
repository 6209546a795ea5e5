//! [`Report`]: one failure of an informer, as a stranger should read it: what, how often, and what happens next.

use std::fmt;
use std::time::Duration;

use crate::error::Error;

/// One failure of an informer, as its error hook sees it: every list, watch, stream, decode failure (R-44).
///
/// Printed it is one line: where it failed and of what kind, the causes, the count, and what comes next.
///
/// ```text
/// list (unavailable): list pods: the server is starting; failed 3 times in a row; lists again in 2.4 s
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Report<'a> {
    /// What failed, with its kind and stage.
    pub error: &'a Error,
    /// How many failures there have been in a row, this one included; 0 for a bad object, which fails nothing.
    pub consecutive: u32,
    /// How long it is until the next request; `None` if it goes out at once, or the stream goes on.
    pub next_attempt: Option<Duration>,
    /// What that request is.
    pub next: NextStep,
}

/// What an informer does after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NextStep {
    /// It lists, be it from the start or the next page: what was missed is found by comparing.
    List,
    /// It opens a watch at the version it has: nothing is missed.
    Watch,
    /// It goes on with what it is doing: one object is left out.
    GoOn,
    /// It has ended.
    Nothing,
}

impl NextStep {
    /// In words, to be followed by when.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            NextStep::List => "lists again",
            NextStep::Watch => "watches again",
            NextStep::GoOn => "goes on without this object",
            NextStep::Nothing => "the informer has ended",
        }
    }
}

impl fmt::Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// `STAGE (KIND): MESSAGE AND CAUSES`.
pub(crate) struct Failure<'a>(pub(crate) &'a Error);

impl fmt::Display for Failure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = self.0.stage().map_or("informer", |stage| stage.as_str());
        write!(f, "{stage} ({}): {}", self.0.kind(), self.0.chain())
    }
}

/// `lists again in 2.4 s`.
pub(crate) struct Then(pub(crate) NextStep, pub(crate) Option<Duration>);

impl fmt::Display for Then {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (NextStep::List | NextStep::Watch, Some(wait)) => {
                write!(f, "{} in {:.1} s", self.0, wait.as_secs_f64())
            }
            (NextStep::List | NextStep::Watch, None) => write!(f, "{} at once", self.0),
            (NextStep::GoOn | NextStep::Nothing, _) => fmt::Display::fmt(&self.0, f),
        }
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; ", Failure(self.error))?;
        if self.consecutive > 1 {
            write!(f, "failed {} times in a row; ", self.consecutive)?;
        }
        write!(f, "{}", Then(self.next, self.next_attempt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{ErrorKind, Stage};

    fn line(consecutive: u32, next: NextStep, millis: Option<u64>) -> String {
        let error = Error::new(ErrorKind::Unavailable, "list pods: not yet").at(Stage::List);
        let next_attempt = millis.map(Duration::from_millis);
        Report { error: &error, consecutive, next_attempt, next }.to_string()
    }

    #[test]
    fn r_44_a_report_is_one_line_that_says_what_comes_next() {
        let begin = "list (unavailable): list pods: not yet; ";
        for ((consecutive, next, millis), end) in [
            ((1, NextStep::List, Some(1_640)), "lists again in 1.6 s"),
            ((3, NextStep::List, Some(2_400)), "failed 3 times in a row; lists again in 2.4 s"),
            ((1, NextStep::Watch, None), "watches again at once"),
            ((0, NextStep::GoOn, None), "goes on without this object"),
            ((1, NextStep::Nothing, None), "the informer has ended"),
        ] {
            assert_eq!(line(consecutive, next, millis), format!("{begin}{end}"));
        }
    }
}
