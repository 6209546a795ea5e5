//! HTTP/1.1, as much as a relay needs that knows how far an exchange has come.

use std::io::{self, BufRead, Write as _};
use std::net::TcpStream;

/// A head, as it came.
pub(crate) struct Head(Vec<String>);

impl Head {
    /// Reads one; `None` at the end of the connection.
    pub(crate) fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            match line.trim_end() {
                "" if lines.is_empty() => {}
                "" => return Ok(Some(Head(lines))),
                line => lines.push(line.to_owned()),
            }
        }
    }

    /// The first line.
    pub(crate) fn first(&self) -> &str {
        &self.0[0]
    }

    fn is(line: &str, name: &str) -> bool {
        line.split_once(':').is_some_and(|(key, _)| key.eq_ignore_ascii_case(name))
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .skip(1)
            .find(|line| Head::is(line, name))?
            .split_once(':')
            .map(|(_, value)| value.trim())
    }

    /// Without these headers, and with these lines.
    pub(crate) fn bytes(&self, without: &[&str], with: &[&str]) -> Vec<u8> {
        let kept =
            self.0.iter().map(String::as_str).filter(|line| !without.iter().any(|name| Head::is(line, name)));
        let mut text = String::new();
        for line in kept.chain(with.iter().copied()) {
            text.push_str(line);
            text.push_str("\r\n");
        }
        text.push_str("\r\n");
        text.into_bytes()
    }

    /// How the body is framed.
    pub(crate) fn framing(&self) -> Framing {
        if self.value("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            return Framing::Chunked;
        }
        Framing::Length(self.value("content-length").and_then(|value| value.parse().ok()).unwrap_or(0))
    }
}

/// How much of a body is still to come.
pub(crate) enum Framing {
    Chunked,
    Length(usize),
}

impl Framing {
    /// The next piece of the body; `None` after the last.
    ///
    /// # Errors
    /// When the body ends early.
    pub(crate) fn next(&mut self, reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
        match self {
            Framing::Length(0) => Ok(None),
            Framing::Length(left) => {
                let mut piece = vec![0; (*left).min(1024)];
                reader.read_exact(&mut piece)?;
                *left -= piece.len();
                Ok(Some(piece))
            }
            Framing::Chunked => {
                let mut line = String::new();
                reader.read_line(&mut line)?;
                let size =
                    usize::from_str_radix(line.trim(), 16).map_err(|_| io::ErrorKind::UnexpectedEof)?;
                let mut piece = vec![0; size + 2];
                reader.read_exact(&mut piece)?;
                piece.truncate(size);
                Ok((size != 0).then_some(piece))
            }
        }
    }
}

/// Writes to a client, byte by byte while it drips.
pub(crate) struct Tap<'a> {
    stream: &'a TcpStream,
    /// How many bytes still go out one by one.
    pub(crate) drip: usize,
}

impl<'a> Tap<'a> {
    pub(crate) fn new(stream: &'a TcpStream) -> Self {
        Tap { stream, drip: 0 }
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        let dripped = bytes.len().min(self.drip);
        self.drip -= dripped;
        for byte in &bytes[..dripped] {
            self.stream.write_all(std::slice::from_ref(byte))?;
        }
        self.stream.write_all(&bytes[dripped..])
    }

    pub(crate) fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(()); // it would be the last one
        }
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.raw(&chunk)
    }

    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.raw(b"0\r\n\r\n")
    }

    /// The front half of a chunk.
    pub(crate) fn half(&mut self, bytes: &[u8]) -> io::Result<()> {
        let front = format!("{:x}\r\n", bytes.len());
        self.raw(front.as_bytes())?;
        self.raw(&bytes[..bytes.len() / 2])
    }
}
