//! How long a stop takes: `stop()` to the last thread joined, with an idle watch, many times in one process.
//!
//! ```text
//! cargo run --release -p informer-benches --bin stops [-- --kubeconfig FILE] [--rounds N]
//! ```
//!
//! Without a kubeconfig the watch is one of a scripted server on loopback; with one it is a real TLS connection.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use informer_factory::{
    Client, Clock as _, Config, Error, HttpListWatch, Result, SharedInformer, SystemClock, sync,
};
use informer_testkit::ScriptedServer;
use informer_testkit::script::{Expect, Script, head, initial_events_end, stall};
use k8s_openapi::api::core::v1::ConfigMap;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let after = |name: &str| words.iter().skip_while(|word| *word != name).nth(1);
    let rounds = after("--rounds").and_then(|rounds| rounds.parse().ok()).unwrap_or(1000);
    match measure(after("--kubeconfig").map(String::as_str), rounds) {
        Ok(times) => {
            report(times);
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&format!("error: {}", error.chain()));
            ExitCode::FAILURE
        }
    }
}

fn measure(kubeconfig: Option<&str>, rounds: usize) -> Result<Vec<Duration>> {
    let server = match kubeconfig {
        Some(_) => None,
        None => Some(ScriptedServer::start(Script::any_order([
            Expect::watch().answer([head(), initial_events_end("7"), stall()]).any_times(),
        ]))),
    };
    let client = match (&server, kubeconfig) {
        (Some(server), _) => Client::from_url(&server.url())?,
        (None, Some(file)) => Client::new(&Config::from_kubeconfig_file(file)?)?,
        (None, None) => return Err(Error::stopped()),
    };
    let before = sync::live_threads();
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let informer = SharedInformer::builder(HttpListWatch::<ConfigMap>::new(&client)).build();
        let registration = informer.on_event(|_| ())?;
        informer.start()?;
        // The end bookmark has come: the reader is back in its read, and the watch is idle.
        registration.wait_synced(Duration::from_secs(30))?;
        let began: Instant = SystemClock.now();
        informer.stop();
        informer.join()?;
        times.push(SystemClock.now() - began);
    }
    assert_eq!(sync::live_threads(), before, "threads are left");
    Ok(times)
}

fn report(mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index of the list")]
        let place = (share * (times.len() - 1) as f64) as usize;
        times[place].as_secs_f64() * 1000.0
    };
    say(&format!(
        "{} stops, stop() to last join: p50 {:.3} ms, p99 {:.3} ms, max {:.3} ms",
        times.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    ));
}

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn say(line: &str) {
    println!("{line}");
}
