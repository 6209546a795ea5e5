//! The examples as their users meet them: processes with arguments, two streams, signals and an exit code.
#![expect(clippy::unwrap_used, reason = "in a test, to panic is to fail")]

// Cargo runs no unit tests of examples: they are run as parts of this one.
#[path = "../../watch/args.rs"]
#[allow(dead_code, reason = "only its tests are wanted here")]
mod args;
#[path = "../../watch/show.rs"]
#[allow(dead_code, reason = "only its tests are wanted here")]
mod show;

mod program;

mod apiserver;
mod controller;
mod demo;
mod ending;
mod lines;
mod refusals;
mod size;
mod terminal;
