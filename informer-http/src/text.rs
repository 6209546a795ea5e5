//! [`Text`]: the text of a list's body, read as far as the next value goes.
//!
//! It knows JSON's values and the space between them, not what they mean. No more is held than one value may be
//! long; a body that ends early is an error wherever it is noticed.

use std::io::{ErrorKind as Io, Read};

use informer_core::{Error, ErrorKind, Result};

use crate::buffer::Buffer;
use crate::decode::{self, SKIP_LIMITS};
use crate::scan::{Scan, is_space};

/// The fields around the items are short; a body with longer ones is no list.
const MAX_FIELD: usize = 1 << 20;

/// The length of a value that was looked for.
pub(crate) enum Value {
    Whole(usize),
    /// It is over the limit; the length if that is known.
    TooLarge(Option<usize>),
}

/// The text of a body, read as far as it is needed.
pub(crate) struct Text<'s> {
    body: &'s mut dyn Read,
    pub(crate) buffer: Buffer,
    scan: Scan,
}

impl<'s> Text<'s> {
    pub(crate) fn new(body: &'s mut dyn Read) -> Self {
        Text { body, buffer: Buffer::new(), scan: Scan::default() }
    }

    /// Reads more; whether there was more.
    fn fill(&mut self) -> Result<bool> {
        loop {
            match self.body.read(self.buffer.space()) {
                Ok(n) => {
                    self.buffer.filled(n);
                    return Ok(0 < n);
                }
                Err(error) if error.kind() == Io::Interrupted => {}
                Err(error) => return Err(decode::read_error(error)),
            }
        }
    }

    /// The next byte that is no space, if there is one.
    fn next(&mut self) -> Result<Option<u8>> {
        loop {
            let pending = self.buffer.pending();
            let blank = pending.iter().take_while(|byte| is_space(**byte)).count();
            let byte = pending.get(blank).copied();
            self.buffer.consume(blank);
            if byte.is_some() || !self.fill()? {
                return Ok(byte);
            }
        }
    }

    pub(crate) fn peek(&mut self) -> Result<u8> {
        self.next()?.ok_or_else(broken_off)
    }

    /// Steps over a byte that was peeked at.
    pub(crate) fn step(&mut self) {
        self.buffer.consume(1);
    }

    pub(crate) fn expect_end(&mut self) -> Result<()> {
        match self.next()? {
            None => Ok(()),
            Some(byte) => Err(found(byte, "the end of the list")),
        }
    }

    /// Finds the next value, which stays pending, at its front.
    pub(crate) fn value(&mut self, limit: usize) -> Result<Value> {
        self.peek()?;
        self.scan = Scan::default();
        loop {
            let pending = self.buffer.pending();
            match self.scan.end(pending) {
                Some(len) if len <= limit => return Ok(Value::Whole(len)),
                None if pending.len() <= limit => {}
                len => return Ok(Value::TooLarge(len)),
            }
            if !self.fill()? {
                return Err(broken_off());
            }
        }
    }

    /// Drops the value that was found too large, without holding it.
    pub(crate) fn skip_value(&mut self, mut len: Option<usize>, limit: usize, error: &Error) -> Result<()> {
        let mut skipped = 0_usize;
        loop {
            let n = len.unwrap_or_else(|| self.scan.forget());
            self.buffer.consume(n);
            skipped = skipped.saturating_add(n);
            if limit.saturating_mul(SKIP_LIMITS) < skipped {
                return Err(error.clone());
            }
            if len.is_some() {
                return Ok(());
            }
            if !self.fill()? {
                return Err(broken_off());
            }
            len = self.scan.end(self.buffer.pending());
        }
    }

    /// Takes a value that is no item.
    pub(crate) fn short_value(&mut self) -> Result<String> {
        let Value::Whole(len) = self.value(MAX_FIELD)? else {
            return Err(Error::new(ErrorKind::Decode, "a field of the list is too long"));
        };
        let text = std::str::from_utf8(&self.buffer.pending()[..len]);
        let text = text.map_err(|_| malformed("a field, which is not utf-8,"))?.to_owned();
        self.buffer.consume(len);
        Ok(text)
    }
}

/// The error of a body with `byte` where `wanted` should be. Bodies of proxies are told by their first byte.
pub(crate) fn found(byte: u8, wanted: &str) -> Error {
    let byte = char::from(byte).escape_default();
    Error::new(ErrorKind::Decode, format!("expected {wanted}, found `{byte}`"))
}

pub(crate) fn malformed(what: &str) -> Error {
    Error::new(ErrorKind::Decode, format!("{what} of the list is malformed"))
}

fn broken_off() -> Error {
    Error::new(ErrorKind::Network, "the response body ended within the list")
}
