//! What the queue between reader and pop thread costs an item, and what a handler costs an event.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use informer_benches::{object, objects};
use informer_core::bench::{Delta, Queue};
use informer_core::sync::Mutex;
use informer_core::{
    ChangeKind, Error, Flow, ListEnd, ListRequest, ListSink, ListWatch, Result, SharedInformer, Stop,
    WatchEnd, WatchRequest, WatchSink,
};
use k8s_openapi::api::core::v1::ConfigMap;

/// The default limit of a queue.
const LIMIT: usize = 4096;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    queue(&mut criterion);
    handlers(&mut criterion);
    criterion.final_summary();
}

/// On one thread: what the reader pays for the push and the pop thread for the take, without the wake-up.
fn queue(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("delta_fifo");
    let versions: Vec<String> = (0..LIMIT).map(|at| (1000 + at).to_string()).collect();
    let maps = objects(LIMIT, "1");
    let upserts = |n: usize, keys: usize| -> Vec<Delta<ConfigMap>> {
        (0..n).map(|at| Delta::upsert(Arc::clone(&maps[at % keys]))).collect()
    };
    let fill = |queue: &Queue<ConfigMap>, deltas: Vec<Delta<ConfigMap>>| {
        for (delta, version) in deltas.into_iter().zip(versions.iter().cycle()) {
            queue.push(delta, version);
        }
    };

    for n in [1, 100, LIMIT] {
        group.throughput(Throughput::Elements(n as u64));
        let queue = Queue::new(LIMIT);
        group.bench_with_input(BenchmarkId::new("push and take", n), &n, |bencher, &n| {
            bencher.iter_batched(
                || upserts(n, n),
                |deltas| {
                    fill(&queue, deltas);
                    assert_eq!(queue.take(), n);
                },
                BatchSize::SmallInput,
            );
        });
    }

    // Four times over the limit, 1,024 keys: most of what comes folds.
    let n = 4 * LIMIT;
    group.throughput(Throughput::Elements(n as u64));
    group.bench_function("push and take, folding", |bencher| {
        bencher.iter_batched(
            || (Queue::new(LIMIT), upserts(n, 1024)),
            |(queue, deltas)| {
                fill(&queue, deltas);
                assert!(queue.folded() > 0);
                queue.take()
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

/// A running informer, from the source's events to the last handler's last call: how much each handler adds.
fn handlers(criterion: &mut Criterion) {
    const EVENTS: usize = 1000;
    let mut group = criterion.benchmark_group("informer");
    group.throughput(Throughput::Elements(EVENTS as u64));
    for n in [1, 10] {
        let (events, source) = Fed::new();
        let informer = SharedInformer::builder(source).streaming(false).build();
        let (tell, told) = channel();
        for _ in 0..n {
            let (tell, mut seen) = (tell.clone(), 0);
            let handler = move |_: &informer_core::Event<ConfigMap>| {
                seen += 1;
                if seen % EVENTS == 0 {
                    tell.send(()).expect("the bench waits for it");
                }
            };
            informer.on_event(handler).expect("the informer has not been stopped");
        }
        informer.start().expect("there are threads to be had");
        let mut version = 1;
        group.bench_with_input(BenchmarkId::new("1,000 events, handlers:", n), &n, |bencher, &n| {
            bencher.iter_batched(
                || {
                    version += 1;
                    (0..EVENTS).map(|at| object(at, &version.to_string())).collect::<Vec<_>>()
                },
                |batch| {
                    events.send(Some(batch)).expect("the watch is open");
                    for _ in 0..n {
                        told.recv().expect("the handlers are there");
                    }
                },
                BatchSize::PerIteration,
            );
        });
        informer.stop();
        informer.join().expect("this is no thread of the informer");
    }
    group.finish();
}

/// A source that tells what a channel brings; `None` ends the watch.
struct Fed {
    tell: Sender<Option<Vec<ConfigMap>>>,
    events: Mutex<Receiver<Option<Vec<ConfigMap>>>>,
}

impl Fed {
    fn new() -> (Sender<Option<Vec<ConfigMap>>>, Self) {
        let (tell, events) = channel();
        (tell.clone(), Fed { tell, events: Mutex::new(events) })
    }
}

impl ListWatch<ConfigMap> for Fed {
    fn list(&self, _: &ListRequest, _: &Stop, _: &mut dyn ListSink<ConfigMap>) -> Result<ListEnd> {
        Ok(ListEnd { resource_version: "1".to_owned(), continue_token: None })
    }

    fn watch(&self, _: &WatchRequest, stop: &Stop, sink: &mut dyn WatchSink<ConfigMap>) -> Result<WatchEnd> {
        sink.opened();
        let tell = self.tell.clone();
        let _hook = stop.on_stop(move || drop(tell.send(None)));
        let events = self.events.lock();
        while let Ok(Some(batch)) = events.recv() {
            for object in batch {
                if sink.change(ChangeKind::Modified, object) == Flow::End {
                    return Ok(WatchEnd::Ended);
                }
            }
        }
        Err(Error::stopped())
    }

    fn name(&self) -> String {
        "configmaps".to_owned()
    }
}
