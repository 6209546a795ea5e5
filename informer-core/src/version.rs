//! Comparison of resourceVersions (R-40, RT-6, D7).
//!
//! A version is an opaque string everywhere else. Two that are plain decimal numbers can be ordered;
//! the order only triggers safety nets and ends waits, it never drops an event.

use std::cmp::Ordering;

/// Whether `version` can be compared: a positive decimal integer of any length without leading zeros.
#[must_use]
pub fn is_comparable(version: &str) -> bool {
    let bytes = version.as_bytes();
    !bytes.is_empty() && bytes[0] != b'0' && bytes.iter().all(u8::is_ascii_digit)
}

/// Orders two versions, or `None` when one of them is not comparable.
///
/// ```
/// use informer_core::version::compare;
/// assert_eq!(compare("9", "10"), Some(std::cmp::Ordering::Less));
/// assert_eq!(compare("010", "10"), None);
/// assert_eq!(compare("", "10"), None);
/// ```
#[must_use]
pub fn compare(a: &str, b: &str) -> Option<Ordering> {
    (is_comparable(a) && is_comparable(b)).then(|| a.len().cmp(&b.len()).then_with(|| a.cmp(b)))
}

/// Whether `a` is known to be at least `b`.
#[must_use]
pub fn at_least(a: &str, b: &str) -> bool {
    compare(a, b).is_some_and(Ordering::is_ge)
}

/// Whether `a` is known to be below `b`.
#[must_use]
pub fn below(a: &str, b: &str) -> bool {
    compare(a, b).is_some_and(Ordering::is_lt)
}

/// Whether a server that says `a` where `b` was known has gone back: below, or `0`, which is no state of its own but stands
/// for whatever a server has at hand.
pub(crate) fn goes_back(a: &str, b: &str) -> bool {
    below(a, b) || a == "0" && is_comparable(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rt_6_versions_compare_by_length_then_text() {
        for (a, b, want) in [
            ("9", "10", Some(Ordering::Less)),
            ("10", "9", Some(Ordering::Greater)),
            ("123456789012345678901234567890", "123456789012345678901234567891", Some(Ordering::Less)),
            ("7", "7", Some(Ordering::Equal)),
            ("010", "10", None),
            ("0", "1", None),
            ("", "1", None),
            ("1a", "1", None),
            ("-1", "1", None),
        ] {
            assert_eq!(compare(a, b), want, "{a:?} {b:?}");
        }
    }
}
