//! [`Request`]: one HTTP/1.1 request as a server sees it, and how it is read.
//!
//! Reading is bounded: a head of 64 KiB, a body of 64 MiB.

use std::fmt;
use std::io::{self, BufRead, Read};

/// A request that a [`ScriptedServer`](crate::ScriptedServer) has read.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The method, as sent.
    pub method: String,
    /// The target, as sent: path and query.
    pub target: String,
    /// The headers, as sent and in their order.
    pub headers: Vec<(String, String)>,
    /// The body, without its framing.
    pub body: Vec<u8>,
    /// On which connection it came, counted from 0.
    pub connection: usize,
    /// Whether the client asked for the end of the connection, or speaks HTTP/1.0.
    pub(crate) closes: bool,
}

/// What a request asks of a Kubernetes API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verb {
    /// A `GET` of a collection.
    List,
    /// A `GET` with `watch`.
    Watch,
    /// Anything else.
    Other,
}

impl Request {
    /// The path, without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target.split_once('?').map_or(&*self.target, |(path, _)| path)
    }

    /// The value of a query parameter, decoded; the first one if it is there more than once.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<String> {
        self.queries().into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// All query parameters, decoded, in their order.
    #[must_use]
    pub fn queries(&self) -> Vec<(String, String)> {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                (decode(key), decode(value))
            })
            .collect()
    }

    /// The value of a header, whatever the case of its name; the first one if it is there more than once.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// What it asks of an API server.
    #[must_use]
    pub fn verb(&self) -> Verb {
        if self.method != "GET" {
            return Verb::Other;
        }
        if self.query("watch").is_some_and(|watch| watch != "0" && watch != "false") {
            return Verb::Watch;
        }
        let segments: Vec<_> = self.path().split('/').filter(|segment| !segment.is_empty()).collect();
        let rest = match segments.as_slice() {
            ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => rest,
            _ => return Verb::Other,
        };
        match rest {
            [_] | ["namespaces", _, _] => Verb::List,
            _ => Verb::Other,
        }
    }
}

/// Prints `LIST rv=10 limit=500 continue`, `WATCH rv=10 initial`, or method and target.
impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = || self.query("resourceVersion").unwrap_or_default();
        match self.verb() {
            Verb::List => {
                write!(f, "LIST rv={}", version())?;
                if let Some(limit) = self.query("limit") {
                    write!(f, " limit={limit}")?;
                }
                if self.query("continue").is_some() {
                    f.write_str(" continue")?;
                }
                Ok(())
            }
            Verb::Watch => {
                write!(f, "WATCH rv={}", version())?;
                if self.query("sendInitialEvents").is_some_and(|send| send == "true" || send == "1") {
                    f.write_str(" initial")?;
                }
                Ok(())
            }
            Verb::Other => write!(f, "{} {}", self.method, self.target),
        }
    }
}

/// Shows everything but the credentials and the body.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |(name, value): &(String, String)| {
            let secret = name.eq_ignore_ascii_case("authorization") || name.eq_ignore_ascii_case("cookie");
            (name.clone(), if secret { "…".to_owned() } else { value.clone() })
        };
        let headers: Vec<_> = self.headers.iter().map(shown).collect();
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("target", &self.target)
            .field("headers", &headers)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .field("connection", &self.connection)
            .finish()
    }
}

const MOST_HEAD: u64 = 64 << 10;
const MOST_BODY: u64 = 64 << 20;

/// Reads one request; `None` when the connection ends before its first byte.
pub(crate) fn read_request(reader: &mut impl BufRead, connection: usize) -> io::Result<Option<Request>> {
    let mut head = reader.by_ref().take(MOST_HEAD);
    let Some(first) = read_line(&mut head)? else {
        return Ok(None);
    };
    let mut words = first.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(malformed(format!("request line {first:?}")));
    };
    let (method, target, old) = (method.to_owned(), target.to_owned(), version == "HTTP/1.0");
    let mut headers = Vec::new();
    loop {
        let line = read_line(&mut head)?.ok_or_else(|| malformed("the head ends early".to_owned()))?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| malformed(format!("header {line:?}")))?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let body = read_body(reader, &headers)?;
    let closes =
        old || header(&headers, "connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
    Ok(Some(Request { method, target, headers, body, connection, closes }))
}

fn read_body(reader: &mut impl BufRead, headers: &[(String, String)]) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if header(headers, "transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        loop {
            let line = read_line(reader)?.unwrap_or_default();
            let size = u64::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16)
                .map_err(|_| malformed(format!("chunk size {line:?}")))?;
            read_exactly(reader, size, &mut body)?;
            read_line(reader)?; // after the data, or after the last chunk when there are no trailers
            if size == 0 {
                return Ok(body);
            }
        }
    }
    if let Some(length) = header(headers, "content-length") {
        let length = length.parse().map_err(|_| malformed(format!("content length {length:?}")))?;
        read_exactly(reader, length, &mut body)?;
    }
    Ok(body)
}

fn read_exactly(reader: &mut impl BufRead, count: u64, body: &mut Vec<u8>) -> io::Result<()> {
    if MOST_BODY < count.saturating_add(body.len() as u64) {
        return Err(malformed(format!("a body of more than {MOST_BODY} bytes")));
    }
    let got = reader.by_ref().take(count).read_to_end(body)?;
    if got as u64 == count { Ok(()) } else { Err(malformed("the body ends early".to_owned())) }
}

/// One line without its end; `None` at the end of the connection.
fn read_line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(malformed("a line without an end".to_owned()));
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

fn malformed(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Decodes `%XX` and `+`; what is no escape stays as it is.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escaped = bytes.get(at + 1..at + 3).and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 16).ok()
        });
        match (byte, escaped) {
            (b'%', Some(escaped)) => {
                decoded.push(escaped);
                at += 3;
            }
            (b'+', _) => {
                decoded.push(b' ');
                at += 1;
            }
            (byte, _) => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> io::Result<Option<Request>> {
        read_request(&mut text.as_bytes(), 0)
    }

    #[test]
    fn a_request_is_taken_apart() {
        let text = "POST /a?x=1%202&y=&z HTTP/1.1\r\nHost: h\r\ncontent-LENGTH: 3\r\n\r\nabcrest";
        let request = read(text).unwrap().unwrap();
        assert_eq!((&*request.method, request.path(), &*request.body), ("POST", "/a", &b"abc"[..]));
        assert_eq!(request.query("x").as_deref(), Some("1 2"));
        assert_eq!(request.query("y").as_deref(), Some(""));
        assert_eq!(request.query("z").as_deref(), Some(""));
        assert_eq!(request.query("w"), None);
        assert_eq!(request.header("HOST"), Some("h"));
        assert!(!request.closes);
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
    fn the_end_and_nonsense_are_told_apart() {
        assert!(read("").unwrap().is_none());
        for text in [
            "GET\r\n\r\n",
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\r\n",
            "\x16\x03\x01",
        ] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn the_trace_has_the_notation_of_scripts() {
        for (target, want) in [
            ("/api/v1/configmaps?resourceVersion=10&limit=5", "LIST rv=10 limit=5"),
            ("/api/v1/namespaces/a/configmaps?continue=x", "LIST rv= continue"),
            ("/apis/apps/v1/deployments?watch=true&resourceVersion=7", "WATCH rv=7"),
            ("/api/v1/pods?watch=1&sendInitialEvents=true", "WATCH rv= initial"),
            ("/api/v1/namespaces/a", "GET /api/v1/namespaces/a"),
            ("/api/v1/namespaces", "LIST rv="),
            ("/api", "GET /api"),
        ] {
            let request = read(&format!("GET {target} HTTP/1.1\r\n\r\n")).unwrap().unwrap();
            assert_eq!(request.to_string(), want);
        }
    }

    #[test]
    fn debug_keeps_credentials_to_itself() {
        let request = read("GET / HTTP/1.1\r\nAuthorization: Bearer secret\r\n\r\n").unwrap().unwrap();
        assert!(!format!("{request:?}").contains("secret"));
        assert_eq!(request.header("authorization"), Some("Bearer secret"));
    }
}
