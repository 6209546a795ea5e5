//! [`Packed`]: many small strings in one text.
//!
//! The text is the compact JSON of an object followed by the strings that JSON writes with escapes, unescaped. Nearly
//! every string of an object's metadata is written without one, so a [`Span`] of the JSON is all it costs.

/// A part of a [`Packed`] text. The default is the empty string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    /// Place in the JSON, or, with [`Span::TAIL`] set, in what follows it.
    start: u32,
    len: u32,
}

impl Span {
    /// Marks a place behind the JSON; also the first length that a text cannot have.
    pub(super) const TAIL: u32 = 1 << 31;

    /// `len` bytes of the JSON, from `start`; the caller has checked that the text is shorter than [`Span::TAIL`].
    pub(super) fn of_json(start: usize, len: usize) -> Self {
        debug_assert!(start + len < Span::TAIL as usize, "the text is short enough");
        Span { start: start as u32, len: len as u32 }
    }

    /// `len` bytes behind the JSON, from `start`.
    pub(super) fn of_tail(start: usize, len: usize) -> Self {
        let span = Span::of_json(start, len);
        Span { start: span.start | Span::TAIL, ..span }
    }

    /// A number in the place of a text.
    pub(super) fn of_flags(flags: u32) -> Self {
        Span { start: flags, len: 0 }
    }

    pub(super) fn flags(self) -> u32 {
        self.start
    }

    pub(super) fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// A text and where its JSON ends.
#[derive(Clone, Copy)]
pub(crate) struct Packed<'a> {
    pub(super) text: &'a str,
    pub(super) json: u32,
}

impl<'a> Packed<'a> {
    pub(crate) fn get(self, span: Span) -> &'a str {
        let start =
            if span.start & Span::TAIL == 0 { span.start } else { self.json + (span.start & !Span::TAIL) }
                as usize;
        self.text.get(start..start + span.len as usize).unwrap_or_default()
    }
}

/// Labels in a [`Packed`] text: key, value, key, value, sorted by key.
#[derive(Clone, Copy)]
pub(crate) struct PackedPairs<'a> {
    pub(super) text: Packed<'a>,
    pub(super) spans: &'a [Span],
}

impl<'a> PackedPairs<'a> {
    pub(crate) fn len(self) -> usize {
        self.spans.len() / 2
    }

    pub(crate) fn get(self, key: &str) -> Option<&'a str> {
        let (pairs, _) = self.spans.as_chunks::<2>();
        let at = pairs.binary_search_by(|pair| self.text.get(pair[0]).cmp(key)).ok()?;
        Some(self.text.get(pairs[at][1]))
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let (pairs, _) = self.spans.as_chunks::<2>();
        pairs.iter().map(move |pair| (self.text.get(pair[0]), self.text.get(pair[1])))
    }
}
