//! [`Lexer`]: the words and signs of a label selector.
//!
//! Invariant: tokens lie on character boundaries, and the last one is `End`, for ever.

/// See the module.
#[derive(Clone)]
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

/// What stands where.
#[derive(Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind,
    pub(super) text: &'t str,
    /// Bytes before it.
    pub(super) at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A key, a value, `in` or `notin`: the place decides which.
    Word,
    Comma,
    Open,
    Close,
    Not,
    /// `=` or `==`.
    Equals,
    NotEquals,
    Greater,
    Less,
    End,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Lexer { text, at: 0 }
    }

    pub(super) fn token(&mut self) -> Token<'t> {
        let rest = &self.text[self.at..];
        let begun = rest.trim_start_matches(is_space);
        let at = self.at + (rest.len() - begun.len());
        let (kind, length) = match begun.as_bytes() {
            [] => (Kind::End, 0),
            [b',', ..] => (Kind::Comma, 1),
            [b'(', ..] => (Kind::Open, 1),
            [b')', ..] => (Kind::Close, 1),
            [b'!', b'=', ..] => (Kind::NotEquals, 2),
            [b'!', ..] => (Kind::Not, 1),
            [b'=', b'=', ..] => (Kind::Equals, 2),
            [b'=', ..] => (Kind::Equals, 1),
            [b'>', ..] => (Kind::Greater, 1),
            [b'<', ..] => (Kind::Less, 1),
            _ => (Kind::Word, begun.find(|c| is_space(c) || is_sign(c)).unwrap_or(begun.len())),
        };
        self.at = at + length;
        Token { kind, text: &begun[..length], at }
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_sign(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}
