//! Compression, where a real server compresses: documents over 128 KiB, and streaming lists for their whole life, in
//! which each flush is a gzip member of its own.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::exchange::{Call, Whole};

/// The longest document that goes out as it is.
const PLAIN_UP_TO: usize = 128 << 10;

/// Whether the client takes gzip; a real server wants it in so many letters, without a weight.
pub(super) fn is_welcome(call: &Call) -> bool {
    let takes = |value: &str| value.split(',').any(|coding| coding.trim() == "gzip");
    call.header("accept-encoding").is_some_and(takes)
}

/// What the head of a compressed answer says.
pub(super) fn headers() -> [(&'static str, String); 2] {
    [("Content-Encoding", "gzip".to_owned()), ("Vary", "Accept-Encoding".to_owned())]
}

/// Compresses a document, if it is long.
pub(super) fn compress(answer: &mut Whole) {
    if PLAIN_UP_TO < answer.body.len() {
        answer.body = member(&answer.body);
        answer.headers.extend(headers());
    }
}

/// A gzip member of its own.
///
/// The data is flushed before the member ends, as Go does it. If they came in one block, Go's reader would keep the data
/// back until it has seen the next member.
pub(super) fn member(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    let written = encoder.write_all(bytes).and_then(|()| encoder.flush());
    written.and_then(|()| encoder.finish()).expect("a vector takes every byte")
}
