//! The bytes of an answer: status line, fields, framing.
//!
//! As Go's server frames: a body of up to 2,048 bytes has a length, a longer one comes as one chunk, and a client of
//! HTTP/1.0 gets neither but the end of the connection.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::Write as _;

use k8s_openapi::jiff::Timestamp;
use k8s_openapi::jiff::fmt::rfc2822::DateTimePrinter;

use crate::api_server::exchange::Whole;

/// The longest body that goes out with its length.
const LENGTH_UP_TO: usize = 2048;

/// What of the request decides about the framing of its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// HTTP/1.0: no chunks.
    pub(super) old: bool,
    /// The connection ends with the answer.
    pub(super) closes: bool,
    /// `HEAD`: the head alone.
    pub(super) bodiless: bool,
}

/// The head of a complete answer.
pub(super) fn whole_head(answer: &Whole, more: &[(String, String)], manner: Manner) -> Vec<u8> {
    let Whole { status, headers, body } = answer;
    let mut bytes = head(*status, headers, more, manner);
    let framing = if is_chunked(body, manner) {
        "Transfer-Encoding: chunked".to_owned()
    } else {
        format!("Content-Length: {}", body.len())
    };
    put(&mut bytes, format_args!("{framing}\r\n\r\n"));
    bytes
}

/// Whether a body that is complete goes out as a chunk.
pub(super) fn is_chunked(body: &[u8], manner: Manner) -> bool {
    LENGTH_UP_TO < body.len() && !manner.old
}

/// The head of an answer whose body goes on.
pub(super) fn stream_head(headers: &[(&'static str, String)], manner: Manner) -> Vec<u8> {
    let mut bytes = head(200, headers, &[], manner);
    bytes.extend_from_slice(if manner.old { b"\r\n" } else { b"Transfer-Encoding: chunked\r\n\r\n" });
    bytes
}

/// What ends a chunked body.
pub(super) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Appends `data` as one chunk; nothing where there is none, for that would be the last chunk.
pub(super) fn chunk(bytes: &mut Vec<u8>, data: &[u8]) {
    if !data.is_empty() {
        put(bytes, format_args!("{:x}\r\n", data.len()));
        bytes.extend_from_slice(data);
        bytes.extend_from_slice(b"\r\n");
    }
}

/// A refusal by HTTP itself, in the words of Go's server; the connection ends with it.
pub(super) fn refusal(status: u16, detail: &str) -> Vec<u8> {
    let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
    let line = format!("{status} {}{detail}", reason(status));
    refusal_saying(&line, &line)
}

/// The same with a status line and a text of its own.
pub(super) fn refusal_saying(line: &str, text: &str) -> Vec<u8> {
    format!("HTTP/1.1 {line}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n{text}")
        .into_bytes()
}

/// Of two headers of one name that of `more` is sent.
fn head(
    status: u16,
    headers: &[(&'static str, String)],
    more: &[(String, String)],
    manner: Manner,
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(512);
    let version = if manner.old { "HTTP/1.0" } else { "HTTP/1.1" };
    put(&mut bytes, format_args!("{version} {status} {}\r\n", reason(status)));
    let in_more = |name: &str| more.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    let given = |name: &str| in_more(name) || headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    if !given("audit-id") {
        put(&mut bytes, format_args!("Audit-Id: {}\r\n", audit_id()));
    }
    if !given("cache-control") {
        bytes.extend_from_slice(b"Cache-Control: no-cache, private\r\n");
    }
    let own = headers.iter().filter(|(name, _)| !in_more(name)).map(|(name, value)| (*name, value));
    for (name, value) in own.chain(more.iter().map(|(name, value)| (name.as_str(), value))) {
        // A line break here would be the start of another field.
        let (name, value) = (name.replace(['\r', '\n', ':'], "-"), value.replace(['\r', '\n'], " "));
        put(&mut bytes, format_args!("{name}: {value}\r\n"));
    }
    if let Ok(date) = DateTimePrinter::new().timestamp_to_rfc9110_string(&Timestamp::now()) {
        put(&mut bytes, format_args!("Date: {date}\r\n"));
    }
    if manner.closes {
        bytes.extend_from_slice(b"Connection: close\r\n");
    }
    bytes
}

fn put(bytes: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    bytes.write_fmt(text).expect("a vector takes every byte");
}

/// A UUID of version 4, another one each time.
fn audit_id() -> String {
    // Each `RandomState` has keys of its own.
    let half = || RandomState::new().build_hasher().finish();
    let (high, low) = (half(), half());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    )
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        413 => "Request Entity Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Unknown",
    }
}
