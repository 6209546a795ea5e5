//! Many informers in one process: threads, memory for each, and how long they take to start, to sync and to stop.
//!
//! ```text
//! cargo run --release -p informer-benches --bin many [-- --informers N] [--objects N] [--handlers N] [--http]
//! ```
//!
//! Each informer has a source of its own in memory, with so many small objects. With `--http` all of them watch one
//! scripted server on loopback, each over a connection of its own, and hold nothing; that server has a thread for each
//! connection, and its threads and memory are in the numbers.
//! Live heap is what the program's own allocator counts; RSS is that of `/proc/self/status`, stacks included.

use std::alloc::System;
use std::process::ExitCode;
use std::time::Duration;

use informer_factory::{
    Client, Clock as _, Error, ErrorKind, HttpListWatch, Object, Result, SharedInformer, SystemClock, sync,
};
use informer_testkit::script::{Expect, Script, head, initial_events_end, stall};
use informer_testkit::{FakeSource, ScriptedServer, TestObject};
use k8s_openapi::api::core::v1::ConfigMap;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const LONG: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, otherwise: usize| {
        let word = words.iter().skip_while(|word| *word != name).nth(1);
        word.and_then(|word| word.parse().ok()).unwrap_or(otherwise)
    };
    let (informers, handlers) = (number("--informers", 500), number("--handlers", 1));
    let heap = || HEAP.stats().bytes_allocated - HEAP.stats().bytes_deallocated;
    let before = heap();
    let outcome = if words.iter().any(|word| word == "--http") {
        over_http(informers, handlers)
    } else {
        in_memory(informers, handlers, number("--objects", 10))
    };
    match outcome {
        Ok(()) => {
            let left = heap().saturating_sub(before) / 1024;
            say(&format!("live heap left in all, sources and server dropped too: {left} KiB"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&format!("error: {}", error.chain()));
            ExitCode::FAILURE
        }
    }
}

fn in_memory(informers: usize, handlers: usize, objects: usize) -> Result<()> {
    let sources: Vec<FakeSource> = (0..informers)
        .map(|at| {
            let source = FakeSource::new().named(&format!("kind-{at}"));
            for object in 0..objects {
                source.create(TestObject::new(&format!("default/object-{object}")));
            }
            source
        })
        .collect();
    say(&format!("{informers} informers, {objects} objects and {handlers} handlers each, sources in memory"));
    measure(
        handlers,
        informers,
        |at| SharedInformer::builder(sources[at].clone()).build(),
        || {
            sources.iter().for_each(|source| source.wait_for_idle_watches(1));
        },
    )
}

fn over_http(informers: usize, handlers: usize) -> Result<()> {
    let server = ScriptedServer::start(Script::any_order([Expect::watch()
        .answer([head(), initial_events_end("7"), stall()])
        .any_times()]));
    let client = Client::from_url(&server.url())?;
    say(&format!("{informers} informers, {handlers} handlers each, one server on loopback"));
    let source = || HttpListWatch::<ConfigMap>::new(&client);
    measure(handlers, informers, |_| SharedInformer::builder(source()).build(), || ())
}

/// Builds, starts, waits, stops and joins them, and tells what each step took and what they hold.
fn measure<T: Object>(
    handlers: usize,
    informers: usize,
    build: impl Fn(usize) -> SharedInformer<T>,
    settle: impl FnOnce(),
) -> Result<()> {
    let before = Held::now()?;
    let mut at = SystemClock.now();
    let mut lap = || {
        let now = SystemClock.now();
        let lap = now - std::mem::replace(&mut at, now);
        lap.as_secs_f64() * 1000.0
    };
    let mut registrations = Vec::new();
    let all: Vec<SharedInformer<T>> = (0..informers).map(build).collect();
    for informer in &all {
        for _ in 0..handlers {
            registrations.push(informer.on_event(|_| ())?);
        }
    }
    let built = Held::now()?;
    let building = lap();
    for informer in &all {
        informer.start()?;
    }
    let starting = lap();
    for registration in &registrations {
        registration.wait_synced(LONG)?;
    }
    for informer in &all {
        informer.wait_synced(LONG)?;
    }
    settle();
    let syncing = lap();
    let running = Held::now()?;
    lap();
    for informer in &all {
        informer.stop();
    }
    let stopping = lap();
    for informer in &all {
        informer.join()?;
    }
    let joining = lap();
    let ended = Held::now()?;
    drop((all, registrations));
    let after = Held::now()?;

    #[expect(clippy::cast_precision_loss, reason = "so many bytes do not fit into memory")]
    let each = |held: usize, than: usize| (held as f64 - than as f64) / informers as f64 / 1024.0;
    say(&format!(
        "build {building:.1} ms; start {starting:.1} ms; until all have synced {syncing:.1} ms more"
    ));
    say(&format!("stop() of all {stopping:.1} ms; until the last join {joining:.1} ms more"));
    say(&format!(
        "threads: {} before, {} running ({} of them ours), {} after the joins",
        before.threads, running.threads, running.ours, ended.threads
    ));
    say(&format!(
        "live heap each: built {:.1} KiB, running {:.1} KiB; left when they are dropped, in the sources, {:.1} KiB",
        each(built.heap, before.heap),
        each(running.heap, before.heap),
        each(after.heap, before.heap)
    ));
    say(&format!("RSS each: running {:.1} KiB", each(running.rss, before.rss)));
    Ok(())
}

/// What the process holds at one moment.
struct Held {
    heap: usize,
    rss: usize,
    threads: usize,
    ours: usize,
}

impl Held {
    fn now() -> Result<Self> {
        let stats = HEAP.stats();
        let status = std::fs::read_to_string("/proc/self/status").map_err(|error| {
            Error::new(ErrorKind::Config, "/proc/self/status cannot be read").with_source(error)
        })?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<usize>().ok()
        };
        Ok(Held {
            heap: stats.bytes_allocated - stats.bytes_deallocated,
            rss: number("VmRSS:").unwrap_or_default() * 1024,
            threads: number("Threads:").unwrap_or_default(),
            ours: sync::live_threads(),
        })
    }
}

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn say(line: &str) {
    println!("{line}");
}
