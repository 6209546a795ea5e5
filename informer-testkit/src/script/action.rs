//! [`Action`]: what a server does about a request, byte by byte.
//!
//! Each action is one write (with `TCP_NODELAY`), so the borders of actions are those of TCP segments as far as the
//! operating system lets them be.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::json::{WireObject, frame, object, status};
use crate::gate::{Gate, Pass};

/// One step of an answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Action {
    /// A complete response.
    Reply(Reply),
    /// Status line and headers of a response whose body follows.
    Head(Head),
    /// A piece of the body: a chunk of its own when the head said so, plain bytes otherwise.
    Chunk(Vec<u8>),
    /// Bytes as they are, whatever the framing.
    Raw(Vec<u8>),
    /// The end of the response. The connection stays open, unless its end is the body's. After [`Raw`](Action::Raw)
    /// bytes it sends nothing, and says that they were a whole response.
    End,
    /// An orderly close.
    Fin,
    /// An abortive close (`SO_LINGER` 0).
    Rst,
    /// Nothing is sent and nothing is closed, until the client closes or the server is dropped.
    Stall,
    /// Nothing happens until the gate opens.
    Hold(Pass),
    /// Nothing happens for so long, by the clock of the script.
    Pause(Duration),
}

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// `Content-Length` of this many bytes, whatever is really sent.
    Length(usize),
    /// By the end of the connection.
    Close,
}

/// Status line and headers. `Content-Type` is `application/json` unless it is set.
#[derive(Clone, Debug)]
pub struct Head {
    status: u16,
    headers: Vec<(String, String)>,
    framing: Framing,
}

/// A complete response.
///
/// ```
/// use informer_testkit::script::{Expect, Reply, status};
///
/// let busy = Reply::json(429, &status(429, "TooManyRequests", "slow down")).header("Retry-After", "3");
/// let exchange = Expect::list().reply(busy);
/// # let _ = exchange;
/// ```
#[derive(Clone, Debug)]
pub struct Reply {
    head: Head,
    body: Vec<u8>,
    /// The body is cut after so many bytes, by an orderly close.
    cut: Option<usize>,
}

impl Head {
    /// Status line and headers of a response with a body of this framing.
    #[must_use]
    pub fn new(status: u16, framing: Framing) -> Self {
        Head { status, headers: Vec::new(), framing }
    }

    /// The same with one header more.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// How the end of the body is found.
    #[must_use]
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// As sent.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = format!("HTTP/1.1 {} {}\r\n", self.status, phrase(self.status));
        let mut push = |name: &str, value: &str| {
            for part in [name, ": ", value, "\r\n"] {
                text.push_str(part);
            }
        };
        for (name, value) in &self.headers {
            push(name, value);
        }
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            push("Content-Type", "application/json");
        }
        match self.framing {
            Framing::Chunked => push("Transfer-Encoding", "chunked"),
            Framing::Length(length) => push("Content-Length", &length.to_string()),
            Framing::Close => push("Connection", "close"),
        }
        text.push_str("\r\n");
        text.into_bytes()
    }
}

impl Reply {
    /// A response with this body and its length.
    #[must_use]
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Reply { head: Head::new(status, Framing::Length(body.len())), body, cut: None }
    }

    /// A response with this value as its body.
    ///
    /// # Panics
    /// When the value is none that JSON can say.
    #[must_use]
    pub fn json(status: u16, body: &impl Serialize) -> Self {
        Reply::new(status, serde_json::to_vec(body).expect("test bodies are JSON"))
    }

    /// A failure with its `Status` as the body.
    #[must_use]
    pub fn status(code: u16, reason: &str, message: &str) -> Self {
        Reply::json(code, &status(code, reason, message))
    }

    /// The same with one header more.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.head = self.head.header(name, value);
        self
    }

    /// The same with the end of its body found another way.
    #[must_use]
    pub fn framing(mut self, framing: Framing) -> Self {
        self.head.framing = framing;
        self
    }

    /// The same, but the body is cut after `bytes` by an orderly close.
    #[must_use]
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.cut = Some(bytes);
        self
    }

    /// What is written, and whether the connection can be used further.
    pub(crate) fn to_bytes(&self) -> (Vec<u8>, bool) {
        let cut = self.cut.unwrap_or(self.body.len()).min(self.body.len());
        let sent = &self.body[..cut];
        let mut bytes = self.head.to_bytes();
        let whole = self.cut.is_none();
        match self.head.framing {
            Framing::Chunked => {
                // A body that is cut is cut within its only chunk.
                let body = chunk_bytes(&self.body);
                let kept =
                    if whole { body.len() } else { body.len().saturating_sub(2 + self.body.len() - cut) };
                bytes.extend_from_slice(&body[..kept]);
                if whole {
                    bytes.extend_from_slice(b"0\r\n\r\n");
                }
            }
            Framing::Length(_) | Framing::Close => bytes.extend_from_slice(sent),
        }
        let complete = match self.head.framing {
            Framing::Chunked => true,
            Framing::Length(length) => length == self.body.len(),
            Framing::Close => false,
        };
        (bytes, whole && complete)
    }
}

impl From<Reply> for Action {
    fn from(reply: Reply) -> Self {
        Action::Reply(reply)
    }
}

impl From<Head> for Action {
    fn from(head: Head) -> Self {
        Action::Head(head)
    }
}

/// The head of a watch: 200, chunked.
#[must_use]
pub fn head() -> Action {
    Head::new(200, Framing::Chunked).into()
}

/// A piece of the body.
#[must_use]
pub fn chunk(bytes: impl Into<Vec<u8>>) -> Action {
    Action::Chunk(bytes.into())
}

/// Bytes as they are.
#[must_use]
pub fn raw(bytes: impl Into<Vec<u8>>) -> Action {
    Action::Raw(bytes.into())
}

/// The end of the body; the connection stays open (`END`).
#[must_use]
pub fn end() -> Action {
    Action::End
}

/// An orderly close (`FIN`).
#[must_use]
pub fn fin() -> Action {
    Action::Fin
}

/// An abortive close (`RST`).
#[must_use]
pub fn rst() -> Action {
    Action::Rst
}

/// Silence until the client closes or the server is dropped (`STALL`).
#[must_use]
pub fn stall() -> Action {
    Action::Stall
}

/// Silence until `gate` opens.
#[must_use]
pub fn hold(gate: &Gate) -> Action {
    Action::Hold(gate.pass())
}

/// Silence for `time`, by the clock that the script was given with [`Script::clock`](super::Script::clock).
///
/// A test that moves the clock waits first until the pause has begun: [`ManualClock::wait_for_alarm`]. A client that
/// goes away meanwhile is noticed after the pause.
///
/// [`ManualClock::wait_for_alarm`]: crate::ManualClock::wait_for_alarm
#[must_use]
pub fn pause(time: Duration) -> Action {
    Action::Pause(time)
}

/// A watch event as a chunk of its own.
///
/// # Panics
/// When the object is none that JSON can say.
#[must_use]
pub fn event(kind: &str, object: &impl Serialize) -> Action {
    chunk(frame(kind, object))
}

/// `ADDED` as a chunk of its own.
#[must_use]
pub fn added(object: &impl Serialize) -> Action {
    event("ADDED", object)
}

/// `MODIFIED` as a chunk of its own.
#[must_use]
pub fn modified(object: &impl Serialize) -> Action {
    event("MODIFIED", object)
}

/// `DELETED` as a chunk of its own.
#[must_use]
pub fn deleted(object: &impl Serialize) -> Action {
    event("DELETED", object)
}

/// `BOOKMARK` of a `ConfigMap` watch as a chunk of its own.
#[must_use]
pub fn bookmark(resource_version: &str) -> Action {
    event("BOOKMARK", &object("", "", resource_version).meta("creationTimestamp", Value::Null))
}

/// The `BOOKMARK` that ends the initial events of a streaming list, as a chunk of its own.
#[must_use]
pub fn initial_events_end(resource_version: &str) -> Action {
    let annotations = json!({ "k8s.io/initial-events-end": "true" });
    event("BOOKMARK", &object("", "", resource_version).meta("annotations", annotations))
}

/// What a streaming list that ends at `resource_version` brings: the head, `objects`, the bookmark that ends it. The
/// watch goes on after it.
#[must_use]
pub fn initial_events(resource_version: &str, objects: &[WireObject]) -> Vec<Action> {
    let mut actions = vec![head()];
    actions.extend(objects.iter().map(added));
    actions.push(initial_events_end(resource_version));
    actions
}

/// `ERROR` with a `Status`, as a chunk of its own.
#[must_use]
pub fn error_event(code: u16, reason: &str, message: &str) -> Action {
    event("ERROR", &status(code, reason, message))
}

/// A chunk with its size line; nothing for no bytes, as an empty chunk would be the last one.
pub(crate) fn chunk_bytes(bytes: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        return Vec::new();
    }
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        301 => "Moved Permanently",
        302 => "Found",
        307 => "Temporary Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        409 => "Conflict",
        410 => "Gone",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Status",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(reply: &Reply) -> (String, bool) {
        let (bytes, reusable) = reply.to_bytes();
        (String::from_utf8(bytes).unwrap(), reusable)
    }

    #[test]
    fn a_reply_has_its_length() {
        let (text, reusable) = text(&Reply::new(200, "abc").header("X", "y"));
        assert_eq!(
            text,
            "HTTP/1.1 200 OK\r\nX: y\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\nabc"
        );
        assert!(reusable);
    }

    #[test]
    fn a_cut_reply_promises_more_than_it_sends() {
        let (length, reusable) = text(&Reply::new(200, "abcdef").cut_after(2));
        assert!(length.ends_with("Content-Length: 6\r\n\r\nab") && !reusable, "{length}");
        let (chunked, reusable) = text(&Reply::new(200, "abcdef").framing(Framing::Chunked).cut_after(2));
        assert!(chunked.ends_with("\r\n\r\n6\r\nab") && !reusable, "{chunked}");
        let (whole, reusable) = text(&Reply::new(200, "abcdef").framing(Framing::Chunked));
        assert!(whole.ends_with("\r\n\r\n6\r\nabcdef\r\n0\r\n\r\n") && reusable, "{whole}");
        let (close, reusable) = text(&Reply::new(200, "abcdef").framing(Framing::Close));
        assert!(close.ends_with("Connection: close\r\n\r\nabcdef") && !reusable, "{close}");
        let (wrong, reusable) = text(&Reply::new(200, "abc").framing(Framing::Length(9)));
        assert!(wrong.ends_with("Content-Length: 9\r\n\r\nabc") && !reusable, "{wrong}");
    }
}
