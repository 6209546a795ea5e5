//! The integration tests of the crate, one binary: factories against a server whose every byte is in a script.
#![expect(clippy::unwrap_used, reason = "in a test, to panic is to fail")]

mod dynamic;
mod ending;
mod lazy;
mod logged;
mod namespaces;
mod options;
mod sharing;
mod support;
mod waiting;
