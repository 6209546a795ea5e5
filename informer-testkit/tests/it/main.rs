//! Integration tests: the tools hold what they promise.

mod clock;
mod oracle;
mod record;
mod server;
mod source;
mod threads;
mod waiting;
