//! The bodies of the fuzz targets: bytes from a network, and what must hold whatever they are.
//!
//! Behind the feature `fuzz-internals`, for the workspace in `fuzz/`; the crate's own tests run them on its corpus. An
//! input is a body as it is, so that any body can be put into the corpus; how it is cut follows from its bytes.

mod sink;
#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::io::{self, Read};

use informer_core::kube_core::{DynamicObject, PartialObjectMeta};
use informer_core::{Error, ErrorKind, Lazy, Representation};
use jiff::Timestamp;
use ureq::http::{HeaderMap, Method, StatusCode};

use crate::decode::DecodeSettings;
use crate::event::read_watch;
use crate::list::read_list;
use crate::status::Answer;
use sink::Notes;

/// Frame limits: the usual one, and one that many events are over.
const LIMITS: [usize; 2] = [32 << 20, 96];

/// The longest text of an error: what a server says is cut at 2,000 characters of up to four bytes.
const LONGEST_TEXT: usize = 10_000;

/// A watch stream. However it is cut on its way, the same is told, and ends the same way.
///
/// # Panics
/// When that does not hold, or an error's text is no single short line.
pub fn frame_event(data: &[u8]) {
    watch::<DynamicObject>(data);
    watch::<Lazy<DynamicObject>>(data);
    watch::<PartialObjectMeta<DynamicObject>>(data);
}

/// A page of a list. However it is cut, the same is told; only JSON is accepted, and a body that lacks its end is not.
///
/// # Panics
/// When that does not hold, or an error's text is no single short line.
pub fn list_pages(data: &[u8]) {
    list::<DynamicObject>(data);
    list::<Lazy<DynamicObject>>(data);
    list::<PartialObjectMeta<DynamicObject>>(data);
}

/// The body of an answer that is no success. Its error has the kind of the code or of the `Status`, one line of text,
/// and no wait of more than five minutes.
///
/// # Panics
/// When that does not hold.
pub fn status_bodies(data: &[u8]) {
    for code in [400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 422, 429, 500, 502, 503, 504, 599] {
        let status = StatusCode::from_u16(code).expect("these are codes");
        for method in [Method::GET, Method::POST] {
            let mut headers = HeaderMap::new();
            if let Ok(value) = data.get(..16).unwrap_or(data).try_into() {
                headers.insert("retry-after", value);
            }
            let answer = Answer { method: &method, status, headers: &headers };
            let error = answer.error(data, Timestamp::UNIX_EPOCH);
            plain(&error);
            assert!(
                error.retry_after().is_none_or(|wait| wait.as_secs() <= 300),
                "{:?}",
                error.retry_after()
            );
            let ours = [ErrorKind::Stopped, ErrorKind::Panic, ErrorKind::Network, ErrorKind::Silent];
            assert!(!ours.contains(&error.kind()), "a server's words made {:?} of {code}", error.kind());
        }
    }
}

fn watch<T: Representation>(data: &[u8]) {
    for limit in LIMITS {
        let read = |mut body: Pieces<'_>| {
            let mut notes = Notes::<T>::default();
            let end = read_watch(&mut body, &settings(limit), &mut notes);
            (notes.told, outcome(end))
        };
        the_same_however_cut(data, read);
    }
}

fn list<T: Representation>(data: &[u8]) {
    for limit in LIMITS {
        let read = |mut body: Pieces<'_>| {
            let mut notes = Notes::<T>::default();
            let end = read_list(&mut body, &settings(limit), &mut notes);
            // What is over the limit is skipped by its brackets alone (D11); what is no UTF-8 is one bad item.
            if end.is_ok() && limit == LIMITS[0] && std::str::from_utf8(data).is_ok() {
                let json = serde_json::from_slice::<serde::de::IgnoredAny>(data);
                assert!(json.is_ok(), "a list was made of what is no JSON");
            }
            (notes.told, outcome(end))
        };
        let whole = the_same_however_cut(data, read);
        if whole.1.starts_with("Ok")
            && let Some(last) = data.iter().rposition(|byte| !byte.is_ascii_whitespace())
        {
            let mut cut = Pieces::new(&data[..last], usize::MAX);
            let end = read_list(&mut cut, &settings(limit), &mut Notes::<T>::default());
            assert!(end.is_err(), "a list without its end was accepted");
        }
    }
}

/// Reads `data` whole, byte by byte and in odd pieces; answers what the first reading came to.
fn the_same_however_cut<R: PartialEq + Debug>(data: &[u8], read: impl Fn(Pieces<'_>) -> R) -> R {
    let whole = read(Pieces::new(data, usize::MAX));
    let odd =
        2 + data.iter().fold(7_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(*byte))) % 61;
    for piece in [1, odd] {
        assert_eq!(read(Pieces::new(data, piece)), whole, "in pieces of {piece}");
    }
    whole
}

fn settings(max_frame: usize) -> DecodeSettings {
    DecodeSettings { max_frame, ..DecodeSettings::default() }
}

fn outcome<R: Debug>(end: Result<R, Error>) -> String {
    match end {
        Ok(end) => format!("Ok({end:?})"),
        Err(error) => {
            plain(&error);
            format!("Err({})", error.kind())
        }
    }
}

/// An error goes into logs: one line, not too long.
fn plain(error: &Error) {
    let text = error.chain().to_string();
    assert!(text.len() <= LONGEST_TEXT && !text.contains(char::is_control), "{text:?}");
}

/// A body that comes in pieces of one length.
struct Pieces<'a> {
    rest: &'a [u8],
    piece: usize,
}

impl<'a> Pieces<'a> {
    fn new(rest: &'a [u8], piece: usize) -> Self {
        Pieces { rest, piece }
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.piece.min(buffer.len()).min(self.rest.len());
        let (read, rest) = self.rest.split_at(count);
        buffer[..count].copy_from_slice(read);
        self.rest = rest;
        Ok(count)
    }
}
