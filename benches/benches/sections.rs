//! How long a store is held: what a reader waits for the writer, and the writer for its readers, at the worst.
//!
//! Not a mean but a maximum, so not criterion's. A second thread does the smallest thing there is, over and over, while
//! the first one does something big, many times. The longest of the small ones during one of the big ones is how long
//! the lock was held against it, or how long the machine had something better to do; so the median over the rounds is
//! told beside the longest of all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use informer_benches::objects;
use informer_core::bench::{Batch, Writer};
use informer_core::kube_core::ResourceExt as _;
use informer_core::{Clock as _, Index, Store, SystemClock, sync};
use k8s_openapi::api::core::v1::ConfigMap;

const NAMES: [&str; 20] =
    ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"];

fn main() {
    // `cargo test --benches` runs it once, small, to see that it works.
    let whole = std::env::args().any(|word| word == "--bench");
    let (count, rounds, readers) = if whole { (100_000, 200, 100) } else { (1_000, 2, 4) };
    say(&format!("a store of {count} ConfigMaps with an index; times in ms"));
    write_sections(count, rounds);
    late_index(count, rounds.min(NAMES.len()));
    read_sections(count, rounds);
    many_readers(count.min(10_000), 5 * rounds, readers);
}

fn by_node(name: &'static str) -> Index<ConfigMap, String> {
    Index::new(name, |map: &ConfigMap| map.labels().get("node").cloned())
}

fn filled(count: usize) -> Writer<ConfigMap> {
    let mut writer = Writer::default();
    writer.add_index(&by_node("by-node")).expect("the store has no index yet");
    writer.publish(&Batch::of(&objects(count, "1")), "1");
    writer
}

/// A batch of one change at a time.
fn small_batches(mut writer: Writer<ConfigMap>) -> impl FnMut() + Send + 'static {
    let one = [Batch::of(&objects(1, "2")), Batch::of(&objects(1, "3"))];
    let mut turn = 0;
    move || {
        turn += 1;
        writer.publish(&one[turn % 2], "2");
    }
}

fn get(store: &Store<ConfigMap>) -> impl FnMut() + Send + 'static + use<> {
    let store = store.clone();
    move || assert!(store.get(("team-0", "settings-0")).is_some())
}

/// What a reader waits while batches of several sizes are published.
fn write_sections(count: usize, rounds: usize) {
    let mut writer = filled(count);
    let pause = |_| {
        let until = SystemClock.now() + Duration::from_millis(5);
        while SystemClock.now() < until {}
    };
    told("get, beside nothing, 5 ms", &beside(get(writer.store()), rounds, pause));
    for size in [100, 4_096, count] {
        let size = size.min(count);
        let batches = [Batch::of(&objects(size, "2")), Batch::of(&objects(size, "3"))];
        let rounds = if size > 10_000 { rounds.min(20) } else { rounds };
        let longest = beside(get(writer.store()), rounds, |round| writer.publish(&batches[round % 2], "2"));
        told(&format!("get, beside a batch of {size}"), &longest);
    }
}

/// What reader and writer wait while an index is added to a full store.
fn late_index(count: usize, rounds: usize) {
    let writer = filled(count);
    let add = |round: usize| writer.add_index(&by_node(NAMES[round])).expect("a name is used once");
    told("get, beside add_index", &beside(get(writer.store()), rounds, add));
    let writer = filled(count);
    let late = writer.late();
    let add = |round: usize| late.add_index(&by_node(NAMES[round])).expect("a name is used once");
    told("a batch of 1, beside add_index", &beside(small_batches(writer), rounds, add));
}

/// What the writer waits for a reader that takes everything, as a resync does.
fn read_sections(count: usize, rounds: usize) {
    let writer = filled(count);
    let store = writer.store().clone();
    let longest = beside(small_batches(writer), rounds, |_| drop(store.list()));
    told(&format!("a batch of 1, beside a list of {count}"), &longest);
}

/// How long a batch of 100 takes alone, and beside many readers that never rest.
fn many_readers(count: usize, batches: usize, readers: usize) {
    for readers in [0, 1, readers] {
        let mut writer = filled(count);
        let two = [Batch::of(&objects(100, "2")), Batch::of(&objects(100, "3"))];
        let done = Arc::new(AtomicBool::new(false));
        let reads = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..readers)
            .map(|_| {
                let (store, done, reads) = (writer.store().clone(), Arc::clone(&done), Arc::clone(&reads));
                let read = move || {
                    while !done.load(Ordering::Relaxed) {
                        for at in 0..100 {
                            assert!(store.get(("team-0", &*format!("settings-{at}"))).is_some());
                        }
                        reads.fetch_add(100, Ordering::Relaxed);
                    }
                };
                sync::spawn("reader", read).expect("there are threads to be had")
            })
            .collect();
        let mut times: Vec<Duration> =
            (0..batches).map(|at| timed(|| writer.publish(&two[at % 2], "2"))).collect();
        done.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().expect("a reader finds what it looks for");
        }
        times.sort_unstable();
        let last = times.len() - 1;
        say(&format!(
            "a batch of 100, beside {readers:>3} readers: p50 {:.3}, p99 {:.3}, longest {:.3}; {} reads meanwhile",
            ms(times[last / 2]),
            ms(times[last - last / 100]),
            ms(times[last]),
            reads.load(Ordering::Relaxed)
        ));
    }
}

/// Runs `big` so many times here and `small` over and over on another thread; answers the longest of the small ones
/// during each of the big ones.
fn beside(
    mut small: impl FnMut() + Send + 'static,
    rounds: usize,
    mut big: impl FnMut(usize),
) -> Vec<Duration> {
    let (done, longest) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (begun, begins) = channel();
    let (ends, seen) = (Arc::clone(&done), Arc::clone(&longest));
    let body = move || {
        begun.send(()).expect("the bench waits for it");
        while !ends.load(Ordering::Relaxed) {
            let took = u64::try_from(timed(&mut small).as_nanos()).unwrap_or(u64::MAX);
            seen.fetch_max(took, Ordering::Relaxed);
        }
    };
    let thread = sync::spawn("small", body).expect("there are threads to be had");
    begins.recv().expect("the thread has begun");
    let times = (0..rounds)
        .map(|round| {
            longest.store(0, Ordering::Relaxed);
            big(round);
            Duration::from_nanos(longest.load(Ordering::Relaxed))
        })
        .collect();
    done.store(true, Ordering::Relaxed);
    thread.join().expect("the small one works");
    times
}

fn timed(call: impl FnOnce()) -> Duration {
    let began: Instant = SystemClock.now();
    call();
    SystemClock.now() - began
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn told(what: &str, longest: &[Duration]) {
    let mut longest = longest.to_vec();
    longest.sort_unstable();
    let (middle, most) = (longest[longest.len() / 2], longest[longest.len() - 1]);
    say(&format!(
        "{what:<40} median {:8.3}   longest {:8.3}   {} rounds",
        ms(middle),
        ms(most),
        longest.len()
    ));
}

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn say(line: &str) {
    println!("{line}");
}
