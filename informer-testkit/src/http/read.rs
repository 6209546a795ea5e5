//! Reading a request: its head through httparse, then its body by the framing that the head names.
//!
//! Nothing is read past the end of the request, so that the next one on the connection is still there, and nothing
//! is kept beyond the [`Limits`].

use std::fmt;
use std::io::{self, BufRead, Read};
use std::time::Duration;

use super::{Request, header};

/// How much of a request is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes of the head, and of the trailers.
    pub(crate) head: u64,
    /// Bytes of the body, without its framing.
    pub(crate) body: u64,
}

/// The limits of scripted servers: whatever a test sends.
const GENEROUS: Limits = Limits { head: 64 << 10, body: 64 << 20 };

/// Header fields that a head may have; `Limits::head` bounds their bytes.
const MOST_FIELDS: usize = 1024;

/// Bytes that the line before a chunk may have, its extensions included.
const MOST_CHUNK_LINE: u64 = 4 << 10;

/// Why a request could not be read.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It is no HTTP/1 request; what is wrong with it.
    Malformed(String),
    /// Its head is over the limit.
    HeadTooLarge,
    /// Its body is over the limit.
    BodyTooLarge,
    /// Its body comes in an encoding that is not known here.
    UnknownCoding,
    /// The connection failed, or ended within the request.
    Broken(io::Error),
}

/// The head of a request.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) method: String,
    /// Path and query, as sent.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    /// Whether the client speaks HTTP/1.0.
    pub(crate) old: bool,
    pub(crate) framing: Framing,
}

/// How the body of a request is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
}

/// Reads one request of a script; `None` when the connection ends before its first byte.
pub(crate) fn read_request(reader: &mut impl BufRead, connection: usize) -> Result<Option<Request>, Fault> {
    let Some(head) = read_head(reader, GENEROUS)? else {
        return Ok(None);
    };
    let body = read_body(reader, head.framing, GENEROUS)?;
    let closes = head.closes();
    let Head { method, target, headers, .. } = head;
    // Whoever serves it knows the time.
    let at = Duration::ZERO;
    Ok(Some(Request { method, target, headers, body, connection, at, closes }))
}

/// Reads a head; `None` when the connection ends before its first byte.
pub(crate) fn read_head(reader: &mut impl BufRead, limits: Limits) -> Result<Option<Head>, Fault> {
    match first_byte(reader)? {
        None => return Ok(None),
        // What begins like this has no line to wait for: a TLS handshake, say.
        Some(byte) if !byte.is_ascii_graphic() && !byte.is_ascii_whitespace() => {
            return Err(malformed(format!("a request that begins with the byte {byte:#04x}")));
        }
        Some(_) => {}
    }
    let mut text = Vec::new();
    let mut rest = reader.by_ref().take(limits.head);
    loop {
        let from = text.len();
        rest.read_until(b'\n', &mut text)?;
        let line = &text[from..];
        if line.last() != Some(&b'\n') {
            return Err(if rest.limit() == 0 {
                Fault::HeadTooLarge
            } else {
                malformed("the head ends early")
            });
        }
        if matches!(line, b"\n" | b"\r\n") {
            if 0 < from {
                break;
            }
            text.clear(); // RFC 9112, 2.2: empty lines before a request are skipped
        }
    }
    parse_head(&text).map(Some)
}

/// Waits for a byte and leaves it where it is.
fn first_byte(reader: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(bytes) => return Ok(bytes.first().copied()),
        }
    }
}

fn parse_head(text: &[u8]) -> Result<Head, Fault> {
    let mut fields = vec![httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    match parsed.parse(text) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Err(malformed("the head ends early")),
        Err(httparse::Error::TooManyHeaders) => return Err(Fault::HeadTooLarge),
        Err(error) => return Err(malformed(error.to_string())),
    }
    let (Some(method), Some(target), Some(version)) = (parsed.method, parsed.path, parsed.version) else {
        return Err(malformed("a request line with parts missing"));
    };
    let value = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers: Vec<_> =
        parsed.headers.iter().map(|field| (field.name.to_owned(), value(field.value))).collect();
    let framing = Framing::of(&headers)?;
    Ok(Head { method: method.to_owned(), target: target.to_owned(), headers, old: version == 0, framing })
}

impl Head {
    /// Whether the connection ends with this request.
    pub(crate) fn closes(&self) -> bool {
        let options = header(&self.headers, "connection").unwrap_or_default();
        self.old || options.split(',').any(|option| option.trim().eq_ignore_ascii_case("close"))
    }
}

impl Framing {
    fn of(headers: &[(String, String)]) -> Result<Self, Fault> {
        let values = |name: &'static str| {
            headers
                .iter()
                .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.trim())
        };
        let codings: Vec<_> = values("transfer-encoding").collect();
        let lengths: Vec<_> = values("content-length").collect();
        match (codings.as_slice(), lengths.as_slice()) {
            ([], []) => Ok(Framing::Length(0)),
            ([], [first, others @ ..]) => {
                // Digits alone: `parse` would take a sign too.
                let digits = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
                let length =
                    first.parse().ok().filter(|_| digits && others.iter().all(|other| other == first));
                length.map(Framing::Length).ok_or_else(|| malformed(format!("content length {first:?}")))
            }
            ([coding], []) if coding.eq_ignore_ascii_case("chunked") => Ok(Framing::Chunked),
            (_, []) => Err(Fault::UnknownCoding),
            // Two peers could see two different ends of it.
            (_, _) => Err(malformed("a body with both a length and an encoding")),
        }
    }
}

/// Reads the body.
pub(crate) fn read_body(
    reader: &mut impl BufRead,
    framing: Framing,
    limits: Limits,
) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    match framing {
        Framing::Length(length) => read_exactly(reader, length, &mut body, limits)?,
        Framing::Chunked => loop {
            let line = read_line(reader, MOST_CHUNK_LINE)?;
            let Ok(httparse::Status::Complete((_, size))) = httparse::parse_chunk_size(&line) else {
                return Err(malformed(format!("chunk size {:?}", String::from_utf8_lossy(&line))));
            };
            if size == 0 {
                skip_trailers(reader, limits.head)?;
                break;
            }
            read_exactly(reader, size, &mut body, limits)?;
            if !matches!(&*read_line(reader, 2)?, b"\r\n" | b"\n") {
                return Err(malformed("a chunk that is longer than its size"));
            }
        },
    }
    Ok(body)
}

fn read_exactly(
    reader: &mut impl BufRead,
    count: u64,
    body: &mut Vec<u8>,
    limits: Limits,
) -> Result<(), Fault> {
    if limits.body < count.saturating_add(body.len() as u64) {
        return Err(Fault::BodyTooLarge);
    }
    let got = reader.by_ref().take(count).read_to_end(body)?;
    if got as u64 == count { Ok(()) } else { Err(malformed("the body ends early")) }
}

fn skip_trailers(reader: &mut impl BufRead, limit: u64) -> Result<(), Fault> {
    let mut left = limit;
    loop {
        let line = read_line(reader, left)?;
        if matches!(&*line, b"\r\n" | b"\n") {
            return Ok(());
        }
        left -= line.len() as u64; // a line is never longer than what was left
    }
}

/// One line with its end.
fn read_line(reader: &mut impl BufRead, limit: u64) -> Result<Vec<u8>, Fault> {
    let mut line = Vec::new();
    reader.by_ref().take(limit).read_until(b'\n', &mut line)?;
    if line.ends_with(b"\n") { Ok(line) } else { Err(malformed("a line without an end")) }
}

fn malformed(what: impl Into<String>) -> Fault {
    Fault::Malformed(what.into())
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Fault::Broken(error)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Malformed(what) => f.write_str(what),
            Fault::HeadTooLarge => f.write_str("a head over the limit"),
            Fault::BodyTooLarge => f.write_str("a body over the limit"),
            Fault::UnknownCoding => f.write_str("a transfer encoding other than chunked"),
            Fault::Broken(error) => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Request>, Fault> {
        read_request(&mut text.as_bytes(), 0)
    }

    #[test]
    fn a_chunked_body_is_put_together() {
        let text =
            "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\n\r\nGET";
        let mut bytes = text.as_bytes();
        let request = read_request(&mut bytes, 0).unwrap().unwrap();
        assert_eq!((request.body, bytes), (b"abc".to_vec(), &b"GET"[..]));
    }

    #[test]
    fn trailers_are_skipped() {
        let text = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nc\r\n0\r\nA: b\r\n\r\nGET";
        let mut bytes = text.as_bytes();
        let request = read_request(&mut bytes, 0).unwrap().unwrap();
        assert_eq!((request.body, bytes), (b"c".to_vec(), &b"GET"[..]));
    }

    #[test]
    fn the_end_and_nonsense_are_told_apart() {
        assert!(read("").unwrap().is_none());
        for text in [
            "GET\r\n\r\n",
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\r\n",
            "GET / HTTP/2.0\r\n\r\n",
            "\x16\x03\x01",
            "PUT / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab",
            "PUT / HTTP/1.1\r\nContent-Length: +3\r\n\r\nabc",
            "PUT / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 2\r\n\r\nabc",
            "PUT / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        ] {
            assert!(matches!(read(text), Err(Fault::Malformed(_))), "{text:?}: {:?}", read(text));
        }
        let coded = "PUT / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n";
        assert!(matches!(read(coded), Err(Fault::UnknownCoding)));
    }

    #[test]
    fn nothing_is_taken_beyond_the_limits() {
        let limits = Limits { head: 40, body: 4 };
        let head = |text: &str| read_head(&mut text.as_bytes(), limits);
        assert!(head("GET / HTTP/1.1\r\nA: 0123456789\r\n\r\n").unwrap().is_some());
        let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "0".repeat(100));
        assert!(matches!(head(&long), Err(Fault::HeadTooLarge)));
        assert!(matches!(head(&"\r\n".repeat(100)), Err(Fault::HeadTooLarge)));
        let body = |framing, text: &str| read_body(&mut text.as_bytes(), framing, limits);
        assert_eq!(body(Framing::Length(4), "abcd").unwrap(), b"abcd");
        assert!(matches!(body(Framing::Length(5), "abcde"), Err(Fault::BodyTooLarge)));
        assert!(matches!(body(Framing::Length(u64::MAX), ""), Err(Fault::BodyTooLarge)));
        let chunks = "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        assert!(matches!(body(Framing::Chunked, chunks), Err(Fault::BodyTooLarge)));
        let trailers = format!("0\r\nA: {}\r\n\r\n", "0".repeat(100));
        assert!(matches!(body(Framing::Chunked, &trailers), Err(Fault::Malformed(_))));
        let fields = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(MOST_FIELDS + 1));
        assert!(matches!(read_head(&mut fields.as_bytes(), GENEROUS), Err(Fault::HeadTooLarge)));
    }
}
