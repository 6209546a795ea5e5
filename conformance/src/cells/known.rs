//! Differences that are meant, each with its reason.

use super::difference::Difference;

/// A difference that is meant.
struct Known {
    /// What the name of the cell begins with.
    cells: &'static str,
    /// What the place contains.
    place: &'static str,
    reason: &'static str,
}

const KNOWN: &[Known] = &[];

/// Why a cell differs there; `None`: it should not.
pub(crate) fn reason(cell: &str, difference: &Difference) -> Option<&'static str> {
    let known =
        KNOWN.iter().find(|known| cell.starts_with(known.cells) && difference.place.contains(known.place));
    known.map(|known| known.reason)
}
