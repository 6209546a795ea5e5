//! JSON text, below the level of serde: finding the end of tokens eight bytes at a time, and saying what is wrong
//! with a text without quoting it.
//!
//! No function here panics on any bytes.

mod fault;
#[cfg(test)]
pub(crate) mod sample;
mod scanner;

pub use fault::decode_error;
pub(crate) use scanner::{Fault, Scanned, Scanner, Token};

/// The end of the run of plain string bytes that begins at `at`: the place of the next quote, backslash or control
/// character, or the end of the text.
pub(crate) fn plain_end(text: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    // The usual test for a zero byte in a word; a borrow can only spoil bytes above the first hit, and the first hit
    // is what is asked for.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    while let Some(chunk) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let quote = zero(word ^ (ONES * b'"' as u64));
        let backslash = zero(word ^ (ONES * b'\\' as u64));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let hits = (quote | backslash | control) & HIGH;
        if hits != 0 {
            return at + hits.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while let Some(byte) = text.get(at)
        && !matches!(byte, b'"' | b'\\' | 0..0x20)
    {
        at += 1;
    }
    at
}

/// The last part of a type's path: `Pod`.
pub(crate) fn short_name<K>() -> &'static str {
    let name = std::any::type_name::<K>();
    let path = name.split('<').next().unwrap_or(name);
    path.rsplit("::").next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn plain_end_is_the_first_special_byte(text in proptest::collection::vec(any::<u8>(), 0..40), at in 0usize..45) {
            let naive = (at..text.len()).find(|&i| matches!(text[i], b'"' | b'\\' | 0..0x20));
            prop_assert_eq!(plain_end(&text, at), naive.unwrap_or(at.max(text.len())));
        }
    }

    #[test]
    fn every_byte_value_in_every_lane_is_told_right() {
        for byte in 0..=255u8 {
            for lane in 0..8 {
                let mut text = [b'a'; 8];
                text[lane] = byte;
                let special = byte < 0x20 || byte == b'"' || byte == b'\\';
                assert_eq!(plain_end(&text, 0), if special { lane } else { 8 }, "{byte} in {lane}");
            }
        }
    }
}
