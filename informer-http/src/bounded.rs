//! Files that a configuration names, read to a bound: one may point at a device or a log.
//!
//! Invariant: no byte of a file is in an error.

use std::io::{self, Read};
use std::path::Path;

/// The bytes of the file at `path`, unless they are more than `mib` MiB, which no `what` has.
///
/// # Errors
/// The operating system's; one that names the bound.
pub(crate) fn read(path: &Path, mib: u64, what: &str) -> io::Result<Vec<u8>> {
    let limit = mib << 20;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other(format!("it is larger than {mib} MiB, which no {what} is")));
    }
    Ok(bytes)
}
