//! [`Lazy`]: an object kept as bytes, decoded when it is asked for.

use std::fmt;
use std::marker::PhantomData;

/// Placeholder.
pub struct Lazy<K> {
    kind: PhantomData<fn() -> K>,
}

impl<K> fmt::Debug for Lazy<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = self.kind;
        f.write_str("Lazy")
    }
}
