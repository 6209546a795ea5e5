//! [`Frames`]: a watch stream cut into frames; bytes go in, frames come out, and no more is held than one frame
//! may be long.
//!
//! A frame is one JSON object. A newline ends it, as a rule, and finding newlines is ten times cheaper than
//! counting brackets; but the protocol does not ask for them (W-1). So a line is given out as it is, and its
//! reader, who learns anyway whether it is one value, says so if it is not: see [`Frames::rest`]. Brackets are
//! counted where there is no newline to go by. However the bytes are cut on their way, the values that come out
//! are the same.

use crate::buffer::Buffer;
use crate::decode::SKIP_LIMITS;
use crate::scan::{Scan, is_space};

/// With so much pending and no newline in it, values are looked for without one.
const SCAN_FROM: usize = 64 << 10;

/// What [`Frames::next`] found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    /// Bytes up to and with a newline. One value as a rule, but maybe several, or less than one.
    Line(&'a [u8]),
    /// Bytes that are one value, if they are any.
    Value(&'a [u8]),
    /// The first bytes of a value over the limit. The rest of it is skipped.
    TooLarge(&'a [u8]),
    /// The stream goes on with this byte, which begins no object.
    Stray(u8),
    /// A value over the limit goes on and on.
    Endless,
}

/// The framing of one watch stream.
#[derive(Debug)]
pub(crate) struct Frames {
    buffer: Buffer,
    limit: usize,
    /// How many pending bytes are used up by the frame that is out.
    given: usize,
    /// How many pending bytes are known to hold no newline.
    searched: usize,
    /// Where the first pending value ends.
    scan: Scan,
    /// The first pending value goes on after a newline.
    joined: bool,
    /// How much of an oversized frame was dropped; none if there is none.
    skipped: Option<usize>,
    /// An oversized frame was longer than may be skipped.
    endless: bool,
    /// Nothing will come any more.
    finished: bool,
}

impl Frames {
    /// Frames of up to `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Frames {
            buffer: Buffer::new(),
            limit: limit.max(1),
            given: 0,
            searched: 0,
            scan: Scan::default(),
            joined: false,
            skipped: None,
            endless: false,
            finished: false,
        }
    }

    /// Where the next bytes go; never empty.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        self.release();
        self.buffer.space()
    }

    /// `n` bytes were written to the front of [`space`](Frames::space).
    pub(crate) fn filled(&mut self, n: usize) {
        self.buffer.filled(n);
    }

    /// Nothing will come any more: complete values that wait for a newline come out now, the rest never.
    pub(crate) fn finish(&mut self) {
        self.finished = true;
    }

    /// The last frame, a line, was used up to `from`, where a value begins that goes on in the next line.
    pub(crate) fn rest(&mut self, from: usize) {
        self.given = from;
        self.release();
        self.joined = true;
    }

    /// The next frame, or none if more bytes are needed. Uses the frame before up.
    pub(crate) fn next(&mut self) -> Option<Frame<'_>> {
        self.release();
        let skipping = self.skipped.is_some() && !self.skip();
        if self.endless {
            return Some(Frame::Endless);
        }
        if skipping {
            return None;
        }
        let blank = self.buffer.pending().iter().take_while(|byte| is_space(**byte)).count();
        self.buffer.consume(blank);
        self.searched = self.searched.saturating_sub(blank);

        let pending = self.buffer.pending();
        let first = *pending.first()?;
        if first != b'{' {
            return Some(Frame::Stray(first));
        }
        let mut by_brackets = self.joined;
        if !self.joined {
            match memchr::memchr(b'\n', &pending[self.searched..]) {
                Some(found) if self.searched + found < self.limit => {
                    self.given = self.searched + found + 1;
                    return Some(Frame::Line(&pending[..self.given]));
                }
                Some(found) => {
                    self.searched += found;
                    by_brackets = true;
                }
                None => self.searched = pending.len(),
            }
        }
        // A server that writes no newlines and then nothing for a while has stopped at the end of a value.
        let maybe_whole = pending.ends_with(b"}") || SCAN_FROM <= pending.len() || self.finished;
        if by_brackets || maybe_whole || self.limit < pending.len() {
            if let Some(end) = self.scan.end(pending) {
                self.given = end;
                self.endless = self.limit.saturating_mul(SKIP_LIMITS) < end;
                let value = &pending[..end];
                return Some(if end <= self.limit {
                    Frame::Value(value)
                } else {
                    Frame::TooLarge(&value[..self.limit])
                });
            }
            if self.limit < pending.len() {
                self.given = self.scan.forget();
                self.skipped = Some(self.given);
                return Some(Frame::TooLarge(&pending[..self.limit]));
            }
        }
        None
    }

    /// Drops what is pending of an oversized frame; whether that was the rest of it.
    fn skip(&mut self) -> bool {
        let end = self.scan.end(self.buffer.pending());
        let n = end.unwrap_or_else(|| self.scan.forget());
        self.buffer.consume(n);
        self.searched = 0;
        let skipped = self.skipped.unwrap_or_default().saturating_add(n);
        self.endless = self.limit.saturating_mul(SKIP_LIMITS) < skipped;
        self.skipped = end.is_none().then_some(skipped);
        if end.is_some() {
            self.scan = Scan::default();
            self.joined = false;
        }
        end.is_some()
    }

    fn release(&mut self) {
        if self.given == 0 {
            return;
        }
        self.buffer.consume(self.given);
        self.searched = self.searched.saturating_sub(self.given);
        self.given = 0;
        if self.skipped.is_none() {
            self.scan = Scan::default();
            self.joined = false;
        }
    }

    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.buffer.held()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(frames: &mut Frames, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = frames.space();
            let n = bytes.len().min(space.len());
            space[..n].copy_from_slice(&bytes[..n]);
            frames.filled(n);
            bytes = &bytes[n..];
        }
    }

    fn all(frames: &mut Frames) -> Vec<String> {
        let mut out = Vec::new();
        while let Some(frame) = frames.next() {
            let text = match &frame {
                Frame::Line(bytes) | Frame::Value(bytes) | Frame::TooLarge(bytes) => {
                    std::str::from_utf8(bytes).unwrap()
                }
                Frame::Stray(_) | Frame::Endless => "",
            };
            let tag = format!("{frame:?}");
            out.push(format!("{} {}", &tag[..1], text.trim()));
            if matches!(frame, Frame::Stray(_) | Frame::Endless) {
                break;
            }
        }
        out
    }

    #[test]
    fn lines_come_out_as_they_are_and_blank_ones_do_not() {
        let mut frames = Frames::new(100);
        push(&mut frames, b"\r\n{\"a\":1}\r\n\n  {\"b\":2}\n{\"c\":");
        assert_eq!(all(&mut frames), [r#"L {"a":1}"#, r#"L {"b":2}"#]);
        push(&mut frames, b"3}\n");
        assert_eq!(all(&mut frames), [r#"L {"c":3}"#]);
    }

    #[test]
    fn w_1_a_value_without_a_newline_comes_out_when_it_is_whole() {
        let mut frames = Frames::new(100);
        push(&mut frames, br#"{"a":1}{"b":{}}"#);
        assert_eq!(all(&mut frames), [r#"V {"a":1}"#, r#"V {"b":{}}"#]);
        push(&mut frames, br#"{"c":3}{"d":"#);
        assert!(all(&mut frames).is_empty(), "cut within a value: more is on its way");
        frames.finish();
        assert_eq!(all(&mut frames), [r#"V {"c":3}"#]);
    }

    #[test]
    fn the_rest_of_a_line_is_joined_with_the_next_one() {
        let mut frames = Frames::new(100);
        push(&mut frames, b"{\"a\":1}{\"b\":\n");
        assert_eq!(all(&mut frames), [r#"L {"a":1}{"b":"#]);
        frames = Frames::new(100);
        push(&mut frames, b"{\"a\":1}{\"b\":\n");
        frames.next();
        frames.rest(7);
        assert!(all(&mut frames).is_empty());
        push(&mut frames, b"2\n}\n{\"c\":3}\n");
        assert_eq!(all(&mut frames), ["V {\"b\":\n2\n}", r#"L {"c":3}"#]);
    }

    #[test]
    fn f_17_an_oversized_frame_shows_its_head_and_is_not_held() {
        for newline in ["\n", ""] {
            let mut frames = Frames::new(1000);
            push(&mut frames, br#"{"a":""#);
            for _ in 0..1000 {
                push(&mut frames, &[b'x'; 10]);
                if let Some(frame) = frames.next() {
                    assert!(matches!(frame, Frame::TooLarge(head) if head.len() == 1000));
                }
            }
            push(&mut frames, format!("\\\"\"}}{newline}{{\"b\":1}}\n").as_bytes());
            assert_eq!(all(&mut frames), [r#"L {"b":1}"#]);
            assert!(frames.held() <= 16 << 10, "{}", frames.held());
        }
    }

    #[test]
    fn f_17_a_frame_without_an_end_ends_the_stream() {
        let mut frames = Frames::new(1000);
        push(&mut frames, br#"{"a":""#);
        let mut sent = 0;
        let last = loop {
            push(&mut frames, &[b'x'; 500]);
            sent += 500;
            match frames.next() {
                None | Some(Frame::TooLarge(_)) => {}
                Some(frame) => break format!("{frame:?}"),
            }
        };
        assert_eq!(last, "Endless");
        assert!((16_000..20_000).contains(&sent), "{sent}");
    }

    #[test]
    fn small_values_on_a_line_over_the_limit_come_out() {
        let mut frames = Frames::new(20);
        push(&mut frames, b"{\"a\":1}{\"b\":2}{\"c\":3}{\"d\":4}\n{\"e\":5}\n");
        let found = all(&mut frames);
        assert_eq!(found, [r#"V {"a":1}"#, r#"V {"b":2}"#, r#"L {"c":3}{"d":4}"#, r#"L {"e":5}"#]);
    }

    #[test]
    fn text_that_is_no_object_is_seen_at_once() {
        let mut frames = Frames::new(100);
        push(&mut frames, b" <html>");
        assert_eq!(frames.next(), Some(Frame::Stray(b'<')));
    }
}
