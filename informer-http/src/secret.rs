//! [`Secret`]: text that never shows in `Debug`, a log line or an error.
//!
//! It has no `Display`; whoever needs the text says so by calling [`Secret::expose`].

use std::fmt;

use serde::Deserialize;

/// A token, a password or a private key.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    /// The text itself, for the wire alone.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}
