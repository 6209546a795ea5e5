//! Records exchanges with the real API server once more, as files `NAME.request` and `NAME.response`:
//! `cargo run -p informer-conformance --bin record -- [--seed N] FOLDER`.
//!
//! Every byte of an answer is kept, chunk framing included, and every byte of a request but the token. Another seed
//! gives other namespaces, names, values and another order. Exit status 1 if the server fails; 0 otherwise, also where
//! this machine cannot build it: the last line says so then.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use informer_conformance::StartError;
use informer_conformance::cells::{self, Half, Real};
use informer_conformance::exchange::Exchange;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "record: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    let (mut seed, mut folder) = (0, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        if arg == "--seed" {
            let number = args.next().and_then(|text| text.parse().ok());
            seed = number.ok_or_else(|| io::Error::other("--seed needs a number"))?;
        } else {
            folder = Some(PathBuf::from(arg));
        }
    }
    let folder = folder.ok_or_else(|| io::Error::other("name the folder that the files go to"))?;
    std::fs::create_dir_all(&folder)?;
    let mut count = 0;
    for half in [Half::Kept, Half::Forgotten] {
        let server = match half {
            Half::Kept => Real::start(),
            Half::Forgotten => Real::start_forgetful(),
        };
        let mut server = match server {
            Ok(server) => server,
            Err(StartError::Unavailable { reason }) => {
                return writeln!(io::stdout(), "record: the real API server was left out: {reason}");
            }
            Err(error) => return Err(io::Error::other(error.to_string())),
        };
        for exchange in cells::record(&mut server, seed, half)? {
            keep(&folder, &exchange)?;
            count += 1;
        }
    }
    writeln!(io::stdout(), "record: {count} exchanges in {}", folder.display())
}

fn keep(folder: &Path, exchange: &Exchange) -> io::Result<()> {
    let response = exchange.response.lock().clone();
    std::fs::write(folder.join(format!("{}.request", exchange.name)), &exchange.request)?;
    std::fs::write(folder.join(format!("{}.response", exchange.name)), response)
}
