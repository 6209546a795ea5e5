//! Compares the embedded API server with a real one, cell by cell:
//! `cargo run -p informer-conformance --bin cells [-- [--seed N] [--record | --recorded] [FILTER]]`.
//!
//! `--record` keeps what the real one says in `conformance/cells/`, `--recorded` compares with what was kept.
//! Prints a line for every difference and for every cell that one side was not asked. Exit status 1 if there is one;
//! 0 otherwise, also where this machine cannot build a real API server: the last line says so then.

use std::io::{self, Write as _};
use std::process::ExitCode;

use informer_conformance::StartError;
use informer_conformance::cells;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(io::stderr(), "cells: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What is to be done.
#[derive(Default)]
struct Options {
    seed: u64,
    filter: String,
    /// Keep what the real server answers.
    record: bool,
    /// Compare with what was kept.
    recorded: bool,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> io::Result<Self> {
        let mut options = Options::default();
        while let Some(arg) = args.next() {
            match &*arg {
                "--seed" => {
                    let number = args.next().and_then(|text| text.parse().ok());
                    options.seed = number.ok_or_else(|| io::Error::other("--seed needs a number"))?;
                }
                "--record" => options.record = true,
                "--recorded" => options.recorded = true,
                flag if flag.starts_with('-') => {
                    return Err(io::Error::other(format!("no such option: {flag}")));
                }
                _ => options.filter = arg,
            }
        }
        if options.record && !options.filter.is_empty() {
            return Err(io::Error::other("--record keeps all cells, so it takes no filter"));
        }
        Ok(options)
    }
}

/// Whether all is well.
fn run() -> io::Result<bool> {
    let mut out = io::stdout().lock();
    let options = Options::parse(std::env::args().skip(1))?;
    let (seed, filter) = (options.seed, &*options.filter);
    let mut real = if options.recorded {
        cells::recorded::read(seed)?
    } else {
        match cells::walk_real(seed, filter) {
            Ok(answers) => answers,
            Err(StartError::Unavailable { reason }) => {
                writeln!(out, "cells: the real API server was left out: {reason}")?;
                return Ok(true);
            }
            Err(error) => return Err(io::Error::other(error.to_string())),
        }
    };
    real.retain(|name, _| name.contains(filter));
    if options.record {
        cells::recorded::write(seed, &real)?;
    }
    let ours = cells::walk_embedded(seed, filter)?;
    let comparison = cells::compare(&real, &ours);
    for line in &comparison.differences {
        writeln!(out, "differs: {line}")?;
    }
    for name in &comparison.unasked {
        writeln!(out, "no case: {name}")?;
    }
    for (about, reason, count) in &comparison.excuses {
        writeln!(out, "meant: {count} in {about}: {reason}")?;
    }
    writeln!(
        out,
        "cells: {} compared, {} of them with a difference that has its reason; {} differences without one, {} cells without a case",
        comparison.compared,
        comparison.excused,
        comparison.differences.len(),
        comparison.unasked.len()
    )?;
    Ok(comparison.differences.is_empty() && comparison.unasked.is_empty())
}
