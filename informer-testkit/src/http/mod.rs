//! [`Request`]: one HTTP/1.1 request as a server sees it; [`read`] has how it is read.
//!
//! Both servers of this crate read through here, each with bounds of its own.

pub(crate) mod read;

use std::fmt;
use std::time::Duration;

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
    /// When it had been read: since the start of the server, by the clock of its script if that has one.
    pub at: Duration,
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
        queries(self.target.split_once('?').map_or("", |(_, query)| query))
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

/// The value of a header, whatever the case of its name; the first one if it is there more than once.
pub(crate) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// The parameters of a query, decoded, in their order.
pub(crate) fn queries(query: &str) -> Vec<(String, String)> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key), decode(value))
        })
        .collect()
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
    use super::read::{Fault, read_request};
    use super::*;

    fn read(text: &str) -> Result<Option<Request>, Fault> {
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
