//! An API server on this machine, to try kubectl and programs on; no cluster, no root, gone when it ends.
//!
//! ```text
//! cargo run --release --example apiserver                          # prints what to type into another terminal
//! cargo run --release --example apiserver -- --port 8001 --kubeconfig-out kubeconfig --tls
//! ```

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use informer_examples::{duration, init_log, one_line, run, say, stop_on_signal, text};
use informer_factory::{Clock as _, Error, ErrorKind, Result, Stage, Stop, SystemClock};
use informer_testkit::ApiServer;
use lexopt::prelude::{Long, Short};

const USAGE: &str = "usage: apiserver [options]

An API server on this machine, with nothing in it but its namespaces: what is
created is there until the server ends, on SIGINT or SIGTERM.

  --port PORT              where to listen on 127.0.0.1; by default a free port
  --kubeconfig-out FILE    where to write the kubeconfig; by default a file that
                           ends with the server
  --tls                    HTTPS, with an authority of its own
  --for DURATION           end after that long: 500ms, 30s, 5m, 1h
  -h, --help               this text";

#[derive(Default)]
struct Line {
    port: u16,
    kubeconfig: Option<PathBuf>,
    tls: bool,
    span: Option<Duration>,
}

fn main() -> ExitCode {
    init_log();
    match parse() {
        Ok(Some(line)) => run(|| serve(&line)),
        Ok(None) => {
            let _ = writeln!(io::stdout(), "{USAGE}"); // whoever has closed it does not want to know
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ =
                writeln!(io::stderr(), "error: {}; --help lists the options", one_line(&error.to_string()));
            ExitCode::from(2)
        }
    }
}

fn serve(line: &Line) -> Result<()> {
    let failed = |what, error| Error::new(ErrorKind::Config, what).with_source(error).at(Stage::Start);
    let stop = Stop::new();
    stop_on_signal(&stop).map_err(|error| failed("cannot wait for signals", error))?;

    let server = ApiServer::builder().port(line.port).tls(line.tls).start()?;
    let folder = tempfile::tempdir().map_err(|error| failed("cannot make a folder", error))?;
    let kubeconfig = line.kubeconfig.clone().unwrap_or_else(|| folder.path().join("kubeconfig"));
    server.write_kubeconfig(&kubeconfig)?;

    say!("listening on {}; ends on Ctrl-C. In another terminal:", server.url());
    say!("  export KUBECONFIG={}", kubeconfig.display());
    say!("  kubectl create configmap settings --from-literal=colour=blue");
    say!("  kubectl get configmaps -w");
    let end = line.span.and_then(|span| SystemClock.now().checked_add(span));
    stop.wait_until(&SystemClock, end);
    server.stop();
    say!("stopped");
    Ok(())
}

fn parse() -> Result<Option<Line>, lexopt::Error> {
    let mut line = Line::default();
    let mut parser = lexopt::Parser::from_env();
    while let Some(word) = parser.next()? {
        match word {
            Long("port") => {
                let port = text(&mut parser, "--port")?;
                line.port = port.parse().map_err(|_| format!("--port: {port:?} is no port: 1 to 65535"))?;
            }
            Long("kubeconfig-out") => line.kubeconfig = Some(text(&mut parser, "--kubeconfig-out")?.into()),
            Long("tls") => line.tls = true,
            Long("for") => {
                let span = text(&mut parser, "--for")?;
                let wrong = || format!("--for: {span:?} is not a duration such as 500ms, 30s or 5m");
                line.span = Some(duration(&span).ok_or_else(wrong)?);
            }
            Short('h') | Long("help") => return Ok(None),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Some(line))
}
