//! [`Terminal`]: whether standard output is one, how wide it is, and whether it wants colour.
//!
//! Invariant: what is not a terminal gets every line whole and plain.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};

/// Columns of a terminal that does not say how many it has.
const USUAL: usize = 80;

/// Standard output, as somebody sees it.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    is: bool,
    colour: bool,
}

impl Terminal {
    /// What standard output is. There is colour on a terminal, but not where `NO_COLOR` is set or `TERM` is `dumb`.
    #[must_use]
    pub fn of_output() -> Self {
        let is = io::stdout().is_terminal();
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        // https://no-color.org: whatever its value is, but not if it is empty.
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Terminal { is, colour: is && !dumb && !unwanted }
    }

    /// Whether colour is wanted.
    #[must_use]
    pub fn has_colour(self) -> bool {
        self.colour
    }

    /// `line`, cut where the terminal ends: asked each time, since a window can be made wider.
    #[must_use]
    pub fn fit(self, line: &str) -> Cow<'_, str> {
        match self.width() {
            Some(width) => cut(line, width),
            None => Cow::Borrowed(line),
        }
    }

    fn width(self) -> Option<usize> {
        if !self.is {
            return None;
        }
        let columns = rustix::termios::tcgetwinsize(io::stdout()).map_or(0, |size| usize::from(size.ws_col));
        if columns != 0 {
            return Some(columns);
        }
        // A terminal that does not know, over a serial line say: what it was told, or what most have.
        let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        Some(told.filter(|columns| *columns != 0).unwrap_or(USUAL))
    }
}

/// Writes one line to standard output, cut where a terminal ends. [`say!`](crate::say) is the way to call it.
pub fn say(line: fmt::Arguments<'_>) {
    let line = crate::one_line(&line.to_string());
    // Whoever reads may have gone (`| head`), and then wants no more lines.
    let _ = writeln!(io::stdout().lock(), "{}", Terminal::of_output().fit(&line));
}

/// Prints one line, as `println!` does, but survives a reader that has gone, cuts the line where the terminal ends, and
/// lets no control characters through.
#[macro_export]
macro_rules! say {
    ($($arguments:tt)*) => { $crate::terminal::say(::std::format_args!($($arguments)*)) };
}

/// `line` in at most `width` columns, with `…` where something is missing. A character counts as one column.
#[must_use]
pub fn cut(line: &str, width: usize) -> Cow<'_, str> {
    if line.len() <= width || line.chars().count() <= width {
        return Cow::Borrowed(line);
    }
    let end = line.char_indices().nth(width.saturating_sub(1)).map_or(0, |(at, _)| at);
    Cow::Owned(format!("{}…", line[..end].trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_at_characters_and_say_so() {
        for (line, width, wanted) in [
            ("short", 80, "short"),
            ("exactly", 7, "exactly"),
            ("exactly", 6, "exact…"),
            ("a→b→c", 5, "a→b→c"),
            ("a→b→c", 4, "a→b…"),
            ("two words", 5, "two…"),
            ("x", 1, "x"),
            ("xy", 1, "…"),
        ] {
            assert_eq!(cut(line, width), wanted, "{line} in {width}");
        }
    }
}
