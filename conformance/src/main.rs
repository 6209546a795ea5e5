//! Runs the suite: `cargo run --release -p informer-conformance [-- FILTER... --FLAG-OF-KUBE-APISERVER...]`.
//!
//! Exit status 1 if a case failed or no cluster could be had; 0 otherwise, also where this machine cannot build a
//! real API server: the last line says so then.

use std::io::{self, Write as _};
use std::process::ExitCode;

use informer_conformance::suite::{self, Summary};
use informer_conformance::{Cluster, StartError};

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) | Err(_) => ExitCode::FAILURE,
    }
}

/// Whether all is well.
fn run() -> io::Result<bool> {
    let mut out = io::stdout();
    let (flags, filters): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let mut cluster = match Cluster::from_env_with(flags) {
        Ok(cluster) => cluster,
        Err(StartError::Unavailable { reason }) => {
            writeln!(out, "conformance: the real API server was left out, nothing was tested: {reason}")?;
            return Ok(true);
        }
        Err(error) => {
            writeln!(out, "conformance: {error}")?;
            return Ok(false);
        }
    };
    let Summary { passed, failed, left_out, took, .. } = suite::run(&mut cluster, &filters, &mut out)?;
    let none = if passed + failed + left_out == 0 { "; no case has such a name" } else { "" };
    let seconds = took.as_secs_f64();
    writeln!(
        out,
        "conformance: {passed} passed, {failed} failed, {left_out} left out in {seconds:.1} s{none}"
    )?;
    Ok(failed == 0 && none.is_empty())
}
