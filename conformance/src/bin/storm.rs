//! What a server has to bear when it comes back: many informers, whose server is killed and started again.
//!
//! ```text
//! cargo run --release -p informer-conformance --bin storm [-- INFORMERS]
//! ```
//!
//! Each informer (100 unless told otherwise) watches the ConfigMaps of one namespace over a client of its own. Then the
//! server restarts, once with its objects and once without. Printed are the requests of all while it was away, and when
//! the first list or streaming list of each came after the server was ready: a histogram.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_conformance::suite::{Memory, TestCluster};
use informer_conformance::{Cluster, EmbeddedServer, StartError};
use informer_core::kube_core::params::PostParams;
use informer_core::sync::Mutex;
use informer_core::{
    Clock as _, ErrorKind, ListEnd, ListRequest, ListSink, ListWatch, Object as _, Result, SharedInformer,
    Stop, SystemClock, WatchEnd, WatchRequest, WatchSink,
};
use informer_factory::{Api, HttpListWatch};
use k8s_openapi::api::core::v1::ConfigMap;

/// A net for a hang. That a server has lost its objects shows only when a watch has been silent for a minute and a half.
const LONG: Duration = Duration::from_secs(300);

/// The width of a bar of the histogram.
const BAR: Duration = Duration::from_millis(250);

fn main() -> ExitCode {
    let many = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(100);
    let outcome = EmbeddedServer::start().and_then(|mut server| storms("embedded", &mut server, many));
    let outcome = outcome.and_then(|()| match Cluster::from_env() {
        Ok(mut cluster) => storms("real", &mut cluster, many),
        Err(error @ StartError::Unavailable { .. }) => {
            say(&format!("the real API server was left out: {error}"));
            Ok(())
        }
        Err(error) => Err(informer_core::Error::new(ErrorKind::Config, error.to_string())),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {}", error.chain()));
            ExitCode::FAILURE
        }
    }
}

fn storms(name: &str, cluster: &mut dyn TestCluster, many: usize) -> Result<()> {
    storm(name, cluster, many, Memory::Kept)?;
    storm(name, cluster, many, Memory::Lost)
}

fn storm(name: &str, cluster: &mut dyn TestCluster, many: usize, memory: Memory) -> Result<()> {
    // Versions of before must be ahead of those of a server that lost everything.
    let maps = Api::<ConfigMap>::namespaced(&cluster.admin()?, "default");
    let before = create(&maps, &format!("{memory:?}-before").to_lowercase())?;
    for n in 0..100 {
        create(&maps, &format!("{memory:?}-{n}").to_lowercase())?;
    }
    let informers: Vec<(SharedInformer<ConfigMap>, Sent)> = (0..many)
        .map(|_| {
            let maps = Api::<ConfigMap>::namespaced(&cluster.admin()?, "default");
            let sent = Sent::default();
            let timed = Timed { source: maps.list_watch(), sent: sent.clone() };
            let informer = SharedInformer::builder(timed).build();
            informer.start()?;
            Ok((informer, sent))
        })
        .collect::<Result<_>>()?;
    for (informer, _) in &informers {
        informer.wait_synced(LONG)?;
    }
    // What they have not heard of when the server goes: their versions are too old for it when it is back.
    create(
        &Api::namespaced(&cluster.admin()?, "kube-system"),
        &format!("{memory:?}-unheard").to_lowercase(),
    )?;
    let killed = SystemClock.now();
    cluster.restart(memory)?;
    let ready = SystemClock.now();
    let last = create(&Api::namespaced(&cluster.admin()?, "default"), "after")?;
    for (informer, _) in &informers {
        let (store, first, last) = (informer.store(), before.meta(), last.meta());
        match memory {
            Memory::Kept => store.wait_for(last.key_ref(), last.uid, last.resource_version, LONG)?,
            // A version of the new history would seem to be long past.
            Memory::Lost => store.wait_gone(first.key_ref(), first.uid, LONG)?,
        }
    }
    let told = SystemClock.now().saturating_duration_since(ready);
    let sent: Vec<Vec<(Instant, bool)>> = informers.iter().map(|(_, sent)| sent.take()).collect();
    for (informer, _) in &informers {
        informer.stop();
        informer.join()?;
    }
    let away = |requests: &Vec<(Instant, bool)>| {
        requests.iter().filter(|(at, _)| (killed..ready).contains(at)).count()
    };
    let (fewest, most) =
        (sent.iter().map(away).min().unwrap_or_default(), sent.iter().map(away).max().unwrap_or_default());
    say(&format!(
        "{name} server, objects {memory:?}: away for {:.1} s, in which an informer sent {fewest} to {most} requests; \
         all {many} were up to date {:.1} s after it was ready",
        ready.saturating_duration_since(killed).as_secs_f64(),
        told.as_secs_f64(),
    ));
    let lists: Vec<Duration> = sent
        .iter()
        .filter_map(|requests| requests.iter().find(|(at, list)| *list && *at >= ready))
        .map(|(at, _)| at.saturating_duration_since(ready))
        .collect();
    say(&format!("  first list of each after that ({} of {many} listed):", lists.len()));
    let mut bars = BTreeMap::<u128, usize>::new();
    for at in lists {
        *bars.entry(at.as_millis() / BAR.as_millis()).or_default() += 1;
    }
    for (bar, count) in bars {
        say(&format!("  {:>6} ms {count:>4} {}", bar * BAR.as_millis(), "#".repeat(count)));
    }
    Ok(())
}

fn create(maps: &Api<ConfigMap>, name: &str) -> Result<ConfigMap> {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    maps.create(&PostParams::default(), &map)
}

fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}"); // nobody is left to tell
}

/// When requests went out, and whether they ask for objects rather than for changes.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<Vec<(Instant, bool)>>>);

impl Sent {
    fn note(&self, list: bool) {
        self.0.lock().push((SystemClock.now(), list));
    }

    fn take(&self) -> Vec<(Instant, bool)> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// A source that notes when it is asked.
struct Timed {
    source: HttpListWatch<ConfigMap>,
    sent: Sent,
}

impl ListWatch<ConfigMap> for Timed {
    fn list(
        &self,
        request: &ListRequest,
        stop: &Stop,
        sink: &mut dyn ListSink<ConfigMap>,
    ) -> Result<ListEnd> {
        // A list of one object asks for the version alone; what follows it is the list.
        self.sent.note(request.limit != Some(1));
        self.source.list(request, stop, sink)
    }

    fn watch(
        &self,
        request: &WatchRequest,
        stop: &Stop,
        sink: &mut dyn WatchSink<ConfigMap>,
    ) -> Result<WatchEnd> {
        self.sent.note(request.initial_events);
        self.source.watch(request, stop, sink)
    }

    fn name(&self) -> String {
        self.source.name()
    }

    fn can_stream(&self) -> bool {
        self.source.can_stream()
    }
}
