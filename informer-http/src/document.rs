//! [`read_document`]: a JSON document, read whole and to a bound.
//!
//! Invariant: no byte of the document is in an error; it may be a Secret.

use std::io::Read;

use informer_core::{Error, ErrorKind, Result, decode_error};
use serde::de::DeserializeOwned;

use crate::transport::error_in;

/// The most that is read of one object, or of what a server tells of itself: servers take no object of a tenth of it.
pub(crate) const OBJECT: u64 = 64 << 20;
/// The most that is read of a list that is asked for whole. The bound is against what never ends, and against a few
/// compressed bytes that become many; large lists are an informer's business, or come in pages.
pub(crate) const LIST: u64 = 1 << 30;

/// Reads `body` to its end and decodes it.
///
/// # Errors
/// What the body's reader says; [`ErrorKind::FrameTooLarge`] for more than `limit` bytes; [`ErrorKind::Decode`].
pub(crate) fn read_document<T: DeserializeOwned>(body: &mut dyn Read, limit: u64) -> Result<T> {
    let mut bytes = Vec::new();
    body.take(limit + 1).read_to_end(&mut bytes).map_err(|error| match error_in(&error) {
        Some(ours) => ours.clone(),
        None => Error::new(ErrorKind::Network, "the answer broke off").with_source(error),
    })?;
    if bytes.len() as u64 > limit {
        let mib = limit >> 20;
        let text =
            format!("the answer is larger than {mib} MiB; ask for fewer objects, or for pages (limit)");
        return Err(Error::new(ErrorKind::FrameTooLarge, text));
    }
    serde_json::from_slice(&bytes).map_err(|error| decode_error("the answer", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d_18_a_document_is_read_to_its_bound_and_no_further() {
        let number = |limit| read_document::<u32>(&mut &b"1234"[..], limit);
        assert_eq!(number(4).unwrap(), 1234);
        assert_eq!(number(3).unwrap_err().kind(), ErrorKind::FrameTooLarge);
        let endless = read_document::<u32>(&mut std::io::repeat(b' '), 1 << 20).unwrap_err();
        assert_eq!(endless.kind(), ErrorKind::FrameTooLarge);
        assert!(endless.to_string().contains("1 MiB"), "{endless}");
    }
}
