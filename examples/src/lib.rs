//! What the examples share, so that each shows only what it is about: a command line ([`About`]), a cluster for those
//! who have none ([`demo`]), lines that fit a terminal ([`say!`]), and a clear end.
//!
//! It is a library of these programs alone; nothing in it is needed to use informers.

pub mod demo;
mod duration;
mod program;
mod target;
pub mod terminal;

pub use duration::duration;
pub use program::{About, Program};
pub use target::{Cluster, Target, text};

use std::io::Write as _;
use std::process::ExitCode;

use informer_factory::sync::JoinHandle;
use informer_factory::{Error, ErrorKind, Stage, Stop};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Runs a program's `main`: an error becomes one line on standard error and exit code 1.
pub fn run(main: impl FnOnce() -> Result<(), Error>) -> ExitCode {
    match main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say_error(&error);
            ExitCode::FAILURE
        }
    }
}

/// One line on standard error for a person: what failed, and what to do about it.
pub fn say_error(error: &Error) {
    let advice = match error.kind() {
        ErrorKind::Forbidden => {
            "; ask for the right to list and watch it (kubectl auth can-i --list shows yours)"
        }
        ErrorKind::Unauthorized => "; log in again, or check the credentials of the kubeconfig",
        ErrorKind::NotFound => "; kubectl api-resources lists what the server has",
        _ => "",
    };
    // Whoever has closed standard error does not want to know.
    let _ = writeln!(std::io::stderr(), "error: {}{advice}", one_line(&error.chain().to_string()));
}

/// `text` without the line breaks and control characters that a server, or an object, may have put into it.
#[must_use]
pub fn one_line(text: &str) -> String {
    let pieces = text.split(char::is_control).filter(|piece| !piece.is_empty());
    pieces.collect::<Vec<_>>().join(" ")
}

/// Logs to standard error as `RUST_LOG` says; by default only what the program does not print itself.
///
/// ureq's own TRACE level prints what goes over the wire, tokens included, so it is capped here (D13).
pub fn init_log() {
    let mut logger = env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("error"));
    logger.filter_module("ureq", log::LevelFilter::Info).filter_module("ureq_proto", log::LevelFilter::Info);
    logger.init();
}

/// A named thread.
///
/// # Errors
/// The operating system has none to give.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Error> {
    informer_factory::sync::spawn(name, body).map_err(|error| {
        Error::new(ErrorKind::Spawn, format!("no thread {name:?}")).with_source(error).at(Stage::Start)
    })
}

/// Sets `stop` on SIGINT and SIGTERM. The second one ends the program at once, should the stop hang: on an output
/// that nobody reads, say.
///
/// # Errors
/// The operating system's.
pub fn stop_on_signal(stop: &Stop) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let stop = stop.clone();
    // The thread ends with the process.
    informer_factory::sync::spawn("signals", move || {
        let mut coming = signals.forever();
        if coming.next().is_some() {
            stop.set();
        }
        if let Some(signal) = coming.next() {
            // It cannot fail for these two, and there is nothing left to do if it does.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(())
}
