//! What the examples share: a way to end in one clear line, and a stop that signals set.

use std::process::ExitCode;

use informer_factory::{Error, ErrorKind, Stop};
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
#[expect(clippy::print_stderr, reason = "a program's last word belongs there")]
pub fn say_error(error: &Error) {
    let advice = match error.kind() {
        ErrorKind::Forbidden => "; ask for the right to list and watch it (kubectl auth can-i --list shows yours)",
        ErrorKind::Unauthorized => "; log in again, or check the credentials of the kubeconfig",
        ErrorKind::NotFound => "; kubectl api-resources lists what the server has",
        _ => "",
    };
    eprintln!("error: {}{advice}", error.chain());
}

/// Logs to standard error as `RUST_LOG` says; by default only what the program does not print itself.
///
/// ureq's own TRACE level prints what goes over the wire, tokens included, so it is capped here (D13).
pub fn init_log() {
    let mut logger = env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("error"));
    logger.filter_module("ureq", log::LevelFilter::Info).filter_module("ureq_proto", log::LevelFilter::Info);
    logger.init();
}

/// Sets `stop` on SIGINT and SIGTERM.
///
/// # Errors
/// The operating system's.
pub fn stop_on_signal(stop: &Stop) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let stop = stop.clone();
    // The thread ends with the process.
    informer_factory::sync::spawn("signals", move || {
        if signals.forever().next().is_some() {
            stop.set();
        }
    })?;
    Ok(())
}
