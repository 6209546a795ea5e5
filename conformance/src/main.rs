//! Runs the suite: `cargo run --release -p informer-conformance [-- FILTER... --FLAG-OF-KUBE-APISERVER...]`.
//!
//! First against the embedded API server, then against a real one, or the cluster that the environment names; with
//! flags, as `--watch-cache=false`, only against a real one that has them. Exit status 1 if a case failed or no cluster could be had; 0 otherwise, also where this machine cannot build a real API
//! server: the last line says so then.

use std::io::{self, Write as _};
use std::process::ExitCode;

use informer_conformance::suite::{self, Summary, TestCluster};
use informer_conformance::{Cluster, EmbeddedServer, StartError};

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
    let well = !flags.is_empty() || on_embedded(&filters)?;
    match Cluster::from_env_with(flags) {
        Ok(mut cluster) => Ok(suite_on("the real API server", &mut cluster, &filters)? && well),
        Err(StartError::Unavailable { reason }) => {
            writeln!(out, "conformance: the real API server was left out: {reason}")?;
            Ok(well)
        }
        Err(error) => {
            writeln!(out, "conformance: {error}")?;
            Ok(false)
        }
    }
}

fn on_embedded(filters: &[String]) -> io::Result<bool> {
    match EmbeddedServer::start() {
        Ok(mut embedded) => suite_on("the embedded API server", &mut embedded, filters),
        Err(error) => {
            writeln!(io::stdout(), "conformance: the embedded API server failed: {}", error.chain())?;
            Ok(false)
        }
    }
}

/// Runs the cases against one cluster; whether all is well.
fn suite_on(name: &str, cluster: &mut dyn TestCluster, filters: &[String]) -> io::Result<bool> {
    let mut out = io::stdout();
    writeln!(out, "--- {name}")?;
    let Summary { passed, failed, left_out, took, .. } = suite::run(cluster, filters, &mut out)?;
    let none = if passed + failed + left_out == 0 { "; no case has such a name" } else { "" };
    let seconds = took.as_secs_f64();
    writeln!(
        out,
        "conformance: {name}: {passed} passed, {failed} failed, {left_out} left out in {seconds:.1} s{none}"
    )?;
    Ok(failed == 0 && none.is_empty())
}
