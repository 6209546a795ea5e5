//! [`Scanner`]: one pass over a JSON text that checks it and notes which parts of it are kept.
//!
//! It accepts exactly the texts that `serde_json` accepts as `IgnoredAny`. What is kept are the bytes between the
//! places it was told to leave out and the whitespace outside strings: together they are the compact text.

use std::ops::Range;

use super::plain_end;

/// What is wrong with a text, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Byte of the text.
    pub(crate) at: usize,
    /// What was wanted there; never anything of the text.
    pub(crate) what: &'static str,
}

/// The answer of everything that scans.
pub(crate) type Scanned<T> = Result<T, Fault>;

/// A string token: the text between its quotes, in the bytes of the input.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) range: Range<usize>,
    /// Where it begins in the compact text.
    pub(crate) compact: usize,
    /// Whether there is an escape in it.
    pub(crate) escaped: bool,
}

/// A place to go back to, so that what was read since is left out of the kept text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checkpoint {
    parts: usize,
    kept: usize,
    run: usize,
    at: usize,
}

/// Where a pass over a text is, and what it keeps.
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// Kept parts of the input, in order; the last one, from `run` on, is not among them yet.
    parts: Vec<Range<usize>>,
    /// Bytes in `parts`.
    kept: usize,
    /// Where the part that is being read began.
    run: usize,
    /// Closing brackets that are due, innermost last.
    due: Vec<u8>,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Scanner { text: text.as_bytes(), at: 0, parts: Vec::new(), kept: 0, run: 0, due: Vec::new() }
    }

    /// The place in the input.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The place in the compact text that `input` (not before the part being read) will have.
    pub(crate) fn compact(&self, input: usize) -> usize {
        self.kept + (input - self.run)
    }

    /// The next byte, whitespace skipped; 0 at the end.
    pub(crate) fn peek(&mut self) -> u8 {
        match self.text.get(self.at) {
            Some(&byte) if byte > b' ' => byte,
            Some(b' ' | b'\n' | b'\r' | b'\t') => {
                self.flush();
                while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.text.get(self.at) {
                    self.at += 1;
                }
                self.run = self.at;
                self.text.get(self.at).copied().unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Takes `byte` if it is next.
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == byte;
        self.at += usize::from(there);
        there
    }

    /// Takes `byte`, which must be next.
    pub(crate) fn expect(&mut self, byte: u8, what: &'static str) -> Scanned<()> {
        if self.eat(byte) { Ok(()) } else { Err(self.fault(what)) }
    }

    pub(crate) fn fault(&self, what: &'static str) -> Fault {
        Fault { at: self.at, what }
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint { parts: self.parts.len(), kept: self.kept, run: self.run, at: self.at }
    }

    /// Leaves out everything from `from` to here.
    pub(crate) fn leave_out(&mut self, from: Checkpoint) {
        self.parts.truncate(from.parts);
        self.kept = from.kept;
        self.keep(from.run..from.at);
        self.run = self.at;
    }

    /// A string, as a value or as a key.
    pub(crate) fn string(&mut self) -> Scanned<Token> {
        self.expect(b'"', "expected a string")?;
        let start = self.at;
        let compact = self.compact(start);
        let mut escaped = false;
        loop {
            self.at = plain_end(self.text, self.at);
            match self.text.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Token { range: start..self.at - 1, compact, escaped });
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return Err(self.fault("a control character within a string")),
                None => return Err(self.fault("the text ends within a string")),
            }
        }
    }

    /// A key with its colon.
    pub(crate) fn key(&mut self) -> Scanned<Token> {
        let key = self.string()?;
        self.expect(b':', "expected `:`")?;
        Ok(key)
    }

    /// `true`, `false` or `null`, whichever `word` says.
    pub(crate) fn word(&mut self, word: &'static str) -> Scanned<()> {
        self.peek();
        if self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.fault("expected a value"))
        }
    }

    /// A number: the range of its text.
    pub(crate) fn number(&mut self) -> Scanned<Range<usize>> {
        self.peek();
        let start = self.at;
        self.at += usize::from(self.byte() == b'-');
        match self.byte() {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits(),
            _ => return Err(self.fault("expected a digit")),
        }
        if self.byte() == b'.' {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.byte(), b'e' | b'E') {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), b'+' | b'-'));
            self.some_digits()?;
        }
        // A digit after a leading zero is refused by whatever comes after a value.
        Ok(start..self.at)
    }

    /// Any one value. Nesting costs a byte a level, no stack.
    pub(crate) fn value(&mut self) -> Scanned<()> {
        let outside = self.due.len();
        loop {
            match self.peek() {
                b'"' => _ = self.string()?,
                b'{' => {
                    self.at += 1;
                    if !self.eat(b'}') {
                        self.key()?;
                        self.due.push(b'}');
                        continue;
                    }
                }
                b'[' => {
                    self.at += 1;
                    if !self.eat(b']') {
                        self.due.push(b']');
                        continue;
                    }
                }
                b'-' | b'0'..=b'9' => _ = self.number()?,
                b't' => self.word("true")?,
                b'f' => self.word("false")?,
                b'n' => self.word("null")?,
                _ => return Err(self.fault("expected a value")),
            }
            // After a value: close what ends here, or go on to the next member.
            loop {
                if self.due.len() == outside {
                    return Ok(());
                }
                let close = self.due.last().copied().unwrap_or_default();
                match self.peek() {
                    b',' => {
                        self.at += 1;
                        if close == b'}' {
                            self.key()?;
                        }
                        break;
                    }
                    byte if byte == close => {
                        self.at += 1;
                        self.due.pop();
                    }
                    _ => return Err(self.fault("expected `,` or a closing bracket")),
                }
            }
        }
    }

    /// Ends the pass: nothing but whitespace may follow. Answers with the kept parts and their length.
    pub(crate) fn end(mut self) -> Scanned<(Vec<Range<usize>>, usize)> {
        self.peek();
        if self.at < self.text.len() {
            return Err(self.fault("expected the end of the text"));
        }
        self.flush();
        Ok((self.parts, self.kept))
    }

    fn byte(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn digits(&mut self) {
        while self.byte().is_ascii_digit() {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Scanned<()> {
        if !self.byte().is_ascii_digit() {
            return Err(self.fault("expected a digit"));
        }
        self.digits();
        Ok(())
    }

    fn escape(&mut self) -> Scanned<()> {
        match self.text.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let hex = self.text.get(self.at + 2..self.at + 6);
                if !hex.is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) {
                    return Err(self.fault("expected four hexadecimal digits"));
                }
                self.at += 6;
            }
            _ => return Err(self.fault("an escape that JSON does not have")),
        }
        Ok(())
    }

    fn flush(&mut self) {
        self.keep(self.run..self.at);
        self.run = self.at;
    }

    fn keep(&mut self, part: Range<usize>) {
        if !part.is_empty() {
            self.kept += part.len();
            self.parts.push(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    fn compact(text: &str) -> Scanned<String> {
        let mut scanner = Scanner::new(text);
        scanner.value()?;
        let (parts, kept) = scanner.end()?;
        let compact: String = parts.into_iter().map(|part| &text[part]).collect();
        assert_eq!(compact.len(), kept);
        Ok(compact)
    }

    fn agrees(text: &str) -> Result<(), TestCaseError> {
        let ours = compact(text);
        let theirs = serde_json::from_str::<IgnoredAny>(text);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?}: {:?} / {:?}", text, ours, theirs);
        Ok(())
    }

    /// Texts that are nearly JSON.
    fn nearly_json() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "\"a\"",
            "\"\\u00e9\"",
            "\\",
            "\\u12",
            "0",
            "1",
            "-",
            ".",
            "e",
            "E+",
            "01",
            "1.5e3",
            "true",
            "tru",
            "null",
            "false",
            " ",
            "\n",
            "\u{c}",
            "\u{1}",
            "é",
            "\"k\":",
            "[]",
            "{}",
        ]);
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]
        #[test]
        fn accepts_what_serde_json_accepts(text in nearly_json()) {
            agrees(&text)?;
        }

        #[test]
        fn any_text_is_answered(text in any::<String>()) {
            agrees(&text)?;
        }
    }

    #[test]
    fn whitespace_goes_outside_strings_only() {
        let compact = compact(" { \"a b\" : [ 1 ,\t2.50e+1\r\n, \" x \\\" \" ] , \"c\" : { } } ").unwrap();
        assert_eq!(compact, r#"{"a b":[1,2.50e+1," x \" "],"c":{}}"#);
    }

    #[test]
    fn deep_nesting_needs_no_stack() {
        let deep = 1_000_000;
        assert!(compact(&("[".repeat(deep) + &"]".repeat(deep))).is_ok());
        assert!(compact(&"[".repeat(deep)).is_err());
    }
}
