//! What a first list needs of the heap while it is read, against what stays:
//! `cargo run --release -p informer-benches --bin heap [-- PODS [BYTES]]`.
//!
//! 50,000 Pods of 10 KB unless told otherwise, by a streaming list and in pages, as typed objects and as `Lazy`; then
//! one object of 16 MiB. The servers are in a process of their own, so that nothing of theirs is counted. The peak is
//! that of the allocator's counter, every buffer of the transport included.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use informer_core::kube_core::Resource;
use informer_core::kube_core::params::PostParams;
use informer_core::{Clock as _, Lazy, Representation, SharedInformer, SystemClock};
use informer_factory::{Api, Client, HttpListWatch};
use informer_testkit::script::{Expect, Script, chunk, end, head, stall};
use informer_testkit::{ApiServer, ScriptedServer};
use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod, PodSpec};
use peak_alloc::PeakAlloc;

type Failure = Box<dyn std::error::Error>;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const LONG: Duration = Duration::from_secs(120);

/// The large object.
const LARGE: usize = 16 << 20;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("serve-pods") => serve(ApiServer::start()?.url()),
        Some("serve-large") => serve(&large()?.url()),
        _ => {
            let number =
                |at: usize, otherwise| words.get(at).map_or(Ok(otherwise), |word| word.parse::<usize>());
            compare(number(0, 50_000)?, number(1, 10_000)?)
        }
    }
}

/// Tells the parent where the server is, and lives as long as it.
fn serve(url: &str) -> Result<(), Failure> {
    say(url)?;
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

/// A server in a process of its own.
struct Serving {
    child: Child,
    client: Client,
}

impl Serving {
    fn start(what: &str) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.arg(what).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut url = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut url)?;
        Ok(Serving { child, client: Client::from_url(url.trim())? })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.child.stdin.take()); // which ends it
        let _ = self.child.wait();
    }
}

fn compare(pods: usize, bytes: usize) -> Result<(), Failure> {
    let serving = Serving::start("serve-pods")?;
    let api = Api::<Pod>::namespaced(&serving.client, "default");
    for at in 0..pods {
        api.create(&PostParams::default(), &pod(at, bytes))?;
    }
    say(&format!("{pods} Pods of {bytes} bytes"))?;
    for streaming in [true, false] {
        listed::<Pod>("typed", &serving.client, streaming)?;
        listed::<Lazy<Pod>>("lazy", &serving.client, streaming)?;
    }
    drop(serving);
    let serving = Serving::start("serve-large")?;
    say(&format!("one ConfigMap of {LARGE} bytes"))?;
    listed::<ConfigMap>("typed", &serving.client, false)?;
    listed::<Lazy<ConfigMap>>("lazy", &serving.client, false)
}

fn listed<T>(mode: &str, client: &Client, streaming: bool) -> Result<(), Failure>
where
    T: Representation,
    T::Resource: Resource<DynamicType = ()>,
{
    let informer = SharedInformer::builder(HttpListWatch::<T>::new(client)).streaming(streaming).build();
    let (before, began) = (HEAP.current_usage(), SystemClock.now());
    HEAP.reset_peak_usage();
    informer.start()?;
    informer.wait_synced(LONG)?;
    let (took, peak) = (SystemClock.now() - began, HEAP.peak_usage() - before);
    let steady = HEAP.current_usage() - before;
    let how = if streaming { "streaming list" } else { "list in pages" };
    say(&format!(
        "  {mode:5} {how}: {} objects, steady {} MiB, peak {} MiB: {:.3} times, {:.1} MiB more; {took:.1?}",
        informer.store().len(),
        steady >> 20,
        peak >> 20,
        peak as f64 / steady as f64,
        (peak - steady) as f64 / f64::from(1 << 20),
    ))?;
    informer.stop();
    informer.join()?;
    Ok(())
}

/// As large as told: the greater part is status and annotations, as in life.
fn pod(at: usize, bytes: usize) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.name = Some(format!("pod-{at:05}"));
    pod.metadata.labels = Some([("app".to_owned(), format!("app-{}", at % 10))].into());
    let padding = "x".repeat(bytes.saturating_sub(700) / 8);
    let notes = (0..8).map(|note| (format!("example.com/note-{note}"), padding.clone()));
    pod.metadata.annotations = Some(notes.collect());
    let container =
        Container { name: "main".to_owned(), image: Some("nginx".to_owned()), ..Container::default() };
    pod.spec = Some(PodSpec { containers: vec![container], ..PodSpec::default() });
    pod
}

/// Serves a list of one large object to whoever asks, and a watch on which nothing happens.
fn large() -> Result<ScriptedServer, Failure> {
    let mut body = br#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"large","namespace":"default","uid":"1","resourceVersion":"7"},"data":{"k":""#.to_vec();
    body.resize(body.len() + LARGE, b'x');
    body.extend_from_slice(br#""}}]}"#);
    Ok(ScriptedServer::start(Script::any_order([
        Expect::list().answer([head(), chunk(body), end()]).any_times(),
        Expect::watch().answer([head(), stall()]).any_times(),
    ])))
}

fn say(line: &str) -> Result<(), Failure> {
    Ok(writeln!(io::stdout(), "{line}")?)
}
