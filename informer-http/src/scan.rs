//! [`Scan`]: where a JSON value ends, without building it.
//!
//! It counts brackets and steps over strings, nothing else: what it finds is as long as a value would be, and
//! whoever reads it learns whether it is one. It stops and goes on at any byte.
//!
//! Not to be had from the scanner of informer-core's `json`, which checks a whole text and notes what of it to keep:
//! that one must refuse what is no JSON and needs the text whole, this one passes over whatever comes, as it comes.

/// JSON's space. Form feeds are none, though Rust's ASCII whitespace has them.
pub(crate) const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// Whether `byte` is JSON's space.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The search for the end of one JSON value, resumable.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scan {
    /// How many bytes of the value have been looked at.
    pos: usize,
    /// Brackets that are open.
    depth: usize,
    in_string: bool,
}

impl Scan {
    /// The length of the value `bytes` starts with, or none if it goes on after them.
    ///
    /// A call after a none gets the same bytes, and more; after a length the scan is used up. A value that is no object,
    /// array or string ends at the comma or bracket after it, so space before that is counted in.
    pub(crate) fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = self.pos;
        while at < bytes.len() {
            if self.in_string {
                match string_end(&bytes[at..]) {
                    None => at = bytes.len(),
                    Some(found) if bytes[at + found] == b'"' => {
                        at += found + 1;
                        self.in_string = false;
                        if self.depth == 0 {
                            return Some(at);
                        }
                    }
                    // An escape is looked at whole or not at all.
                    Some(found) if at + found + 1 == bytes.len() => {
                        self.pos = at + found;
                        return None;
                    }
                    Some(found) => at += found + 2,
                }
                continue;
            }
            match bytes[at] {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' | b',' if self.depth == 0 => return Some(at),
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        self.pos = at;
        None
    }

    /// Lets the caller drop what has been looked at: how many bytes that is.
    pub(crate) fn forget(&mut self) -> usize {
        std::mem::take(&mut self.pos)
    }
}

/// Where the first quote or backslash is. Most strings are short, so a search made for long ones starts late.
fn string_end(bytes: &[u8]) -> Option<usize> {
    const WORD: usize = size_of::<u64>();
    /// Marks the top bit of the lowest byte of `word` that is `byte`, and perhaps of higher ones.
    fn mark(word: u64, byte: u8) -> u64 {
        const ONES: u64 = u64::MAX / 255;
        let zero = word ^ (ONES * u64::from(byte));
        zero.wrapping_sub(ONES) & !zero & (ONES << 7)
    }
    let (words, _) = bytes.as_chunks::<WORD>();
    let mut at = 0;
    for word in words.iter().take(4) {
        let word = u64::from_le_bytes(*word);
        let marks = mark(word, b'"') | mark(word, b'\\');
        if marks != 0 {
            return Some(at + marks.trailing_zeros() as usize / 8);
        }
        at += WORD;
    }
    memchr::memchr2(b'"', b'\\', &bytes[at..]).map(|found| at + found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str) -> Option<usize> {
        Scan::default().end(text.as_bytes())
    }

    #[test]
    fn a_value_ends_where_its_brackets_close() {
        assert_eq!(end(r#"{"a":[1,{"b":2}]},"#), Some(17));
        assert_eq!(end(r#"{"a":"}]\"\\"}x"#), Some(14));
        assert_eq!(end(r#""a\"b","#), Some(6));
        assert_eq!(end("12 ,"), Some(3));
        assert_eq!(end("null]"), Some(4));
        assert_eq!(end("]"), Some(0));
        assert_eq!(end(r#"{"a":"#), None);
        assert_eq!(end(""), None);
    }

    #[test]
    fn the_end_of_a_string_is_found_at_any_distance() {
        for mark in [b'"', b'\\'] {
            for len in 0..70 {
                for at in 0..len {
                    // Neighbours of both marks, and bytes with the top bit set, must not be taken for one.
                    let mut bytes: Vec<u8> =
                        (0..len).map(|n| [b'!', b'#', b'[', b']', 0xdc, 0xa2][n % 6]).collect();
                    assert_eq!(string_end(&bytes), None);
                    bytes[at] = mark;
                    bytes[len - 1] = mark;
                    assert_eq!(string_end(&bytes), Some(at), "{bytes:?}");
                }
            }
        }
    }

    #[test]
    fn w_1_the_scan_goes_on_at_any_byte_and_may_forget_what_it_saw() {
        let text = r#"{"a":["\\\"}",{"b":"é😀\n"}],"c":{}}{"next":1}"#.as_bytes();
        let whole = Scan::default().end(text);
        for cut in 0..text.len() {
            let mut scan = Scan::default();
            let end = scan.end(&text[..cut]).or_else(|| scan.end(text));
            assert_eq!(end, whole, "cut at {cut}");

            let mut scan = Scan::default();
            if scan.end(&text[..cut]).is_none() {
                let dropped = scan.forget();
                assert_eq!(scan.end(&text[dropped..]).map(|end| end + dropped), whole, "forgot at {cut}");
            }
        }
    }
}
