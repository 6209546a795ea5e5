//! A [`Status`] as one line: first what is wrong and what comes next, then what there is, then what has happened.

use std::fmt;
use std::time::Duration;

use super::status::{LastError, Status};
use crate::reflector::{Failure, Then};

/// One line, to be read by somebody who knows nothing of the program:
///
/// ```text
/// pods: waiting; list (unavailable): the server is starting; failed 3 times in a row, lists again in 2.4 s; not synced; 0 objects; never heard; 3 lists, 0 watches, 0 events, 512 B; 3 errors
/// pods: watching; synced; 12 objects at version 77; heard 3 s ago; 2 lists (again for gone 1), 3 watches (1 fruitless), 120 events, 4.2 MB; 1 error
/// ```
///
/// What is zero and would be a trouble is left out. The words are for people and may change; programs read the fields.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.phase)?;
        if self.not_served {
            f.write_str("; the server does not serve it")?;
        }
        if let Some(last) = &self.last_error {
            write!(f, "; {last}")?;
        }
        f.write_str(if self.synced { "; synced; " } else { "; not synced; " })?;
        count(f, self.objects as u64, "object")?;
        if !self.resource_version.is_empty() {
            write!(f, " at version {}", self.resource_version)?;
        }
        match self.last_contact {
            Some(ago) => write!(f, "; heard {} ago", Span(ago))?,
            None => f.write_str("; never heard")?,
        }
        self.history(f)?;
        self.trouble(f)
    }
}

impl Status {
    fn history(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counters = &self.counters;
        f.write_str("; ")?;
        count(f, counters.lists, "list")?;
        for (at, (reason, times)) in self.relists.iter().enumerate() {
            write!(f, "{}{reason} {times}", if at == 0 { " (again for " } else { ", " })?;
        }
        f.write_str(if self.relists.is_empty() { ", " } else { "), " })?;
        count(f, counters.watches, "watch")?;
        if counters.fruitless_watches > 0 {
            write!(f, " ({} fruitless)", counters.fruitless_watches)?;
        }
        f.write_str(", ")?;
        count(f, counters.events, "event")?;
        write!(f, ", {}", Bytes(counters.bytes))
    }

    fn trouble(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut part = |number: u64, what: &str| {
            if number == 0 {
                return Ok(());
            }
            f.write_str("; ")?;
            count(f, number, what)
        };
        let backlog = self.handlers.iter().map(|handler| handler.pending).max().unwrap_or_default();
        part(self.counters.errors, "error")?;
        part(self.stale.len() as u64, "unreadable object")?;
        part(self.queued as u64, "queued change")?;
        part(backlog as u64, "event that a handler is behind")?;
        part(self.counters.panics, "panic of handlers")?;
        part(self.promotions, "handler moved to a thread of its own")
    }
}

impl fmt::Display for LastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; ", Failure(&self.error))?;
        if self.consecutive > 1 {
            write!(f, "failed {} times in a row, ", self.consecutive)?;
        }
        match self.next_attempt {
            Some(wait) => write!(f, "{}", Then(self.next, Some(wait))),
            None => write!(f, "{} ago", Span(self.ago)),
        }
    }
}

/// `1 watch`, `2 watches`; the first word is the one that has a plural.
fn count(f: &mut fmt::Formatter<'_>, number: u64, what: &str) -> fmt::Result {
    let (noun, rest) = match what {
        "unreadable object" | "queued change" => (what, ""),
        what => what.split_once(' ').unwrap_or((what, "")),
    };
    let plural = match noun {
        _ if number == 1 => "",
        "watch" => "es",
        _ => "s",
    };
    let space = if rest.is_empty() { "" } else { " " };
    write!(f, "{number} {noun}{plural}{space}{rest}")
}

/// A time in its largest unit.
struct Span(Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            0 => write!(f, "{} ms", self.0.as_millis()),
            seconds @ 1..120 => write!(f, "{seconds} s"),
            seconds @ 120..7_200 => write!(f, "{} min", seconds / 60),
            seconds => write!(f, "{} h", seconds / 3_600),
        }
    }
}

/// Bytes in a unit that leaves few digits.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_precision_loss, reason = "it is shown with one digit after the point")]
        let bytes = self.0 as f64;
        match self.0 {
            0..1_000 => write!(f, "{} B", self.0),
            1_000..1_000_000 => write!(f, "{:.1} kB", bytes / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.1} MB", bytes / 1e6),
            _ => write!(f, "{:.1} GB", bytes / 1e9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d_17_units_leave_few_digits() {
        let shown = |bytes| Bytes(bytes).to_string();
        assert_eq!(
            [0, 999, 4_200, 999_999, 4_200_000, 7_000_000_000].map(shown),
            ["0 B", "999 B", "4.2 kB", "1000.0 kB", "4.2 MB", "7.0 GB"]
        );
        let shown = |seconds| Span(Duration::from_secs(seconds)).to_string();
        assert_eq!(
            [0, 1, 119, 120, 7_199, 7_200].map(shown),
            ["0 ms", "1 s", "119 s", "2 min", "119 min", "2 h"]
        );
    }
}
