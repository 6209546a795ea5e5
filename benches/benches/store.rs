//! What reading from a store costs, and what a change costs its writer.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput};
use informer_benches::objects;
use informer_core::bench::{Batch, Writer};
use informer_core::kube_core::{ResourceExt as _, Selector};
use informer_core::{Index, Object, ObjectKey, Store};
use k8s_openapi::api::core::v1::ConfigMap;

const OBJECTS: usize = 10_000;
/// Changes in a batch that a busy watch brings.
const CHANGES: usize = 100;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    reads(&mut criterion);
    writes(&mut criterion);
    criterion.final_summary();
}

fn by_node() -> Index<ConfigMap, String> {
    Index::new("by-node", |map: &ConfigMap| map.labels().get("node").cloned())
}

fn filled() -> Writer<ConfigMap> {
    let mut writer = Writer::default();
    writer.publish(&Batch::of(&objects(OBJECTS, "1")), "1");
    writer
}

fn reads(criterion: &mut Criterion) {
    let writer = filled();
    let index = by_node();
    writer.add_index(&index).expect("the store has no index yet");
    let store: Store<ConfigMap> = writer.store().clone();
    let key = ObjectKey::new("team-42", "settings-4242");

    let mut group = criterion.benchmark_group("store/read");
    group.bench_function("get, by key", |bencher| bencher.iter(|| store.get(black_box(&key))));
    group.bench_function("get, by namespace and name", |bencher| {
        bencher.iter(|| store.get(black_box(("team-42", "settings-4242"))));
    });
    group.bench_function("get, nothing there", |bencher| {
        bencher.iter(|| store.get(black_box(("team-42", "settings-0"))));
    });
    group.bench_function("list, 10,000 objects", |bencher| bencher.iter(|| store.list()));
    group.bench_function("in_namespace, 100 of 10,000", |bencher| {
        bencher.iter(|| store.in_namespace(black_box("team-42")));
    });
    group.bench_function("index get, 100 of 10,000", |bencher| {
        bencher.iter(|| index.get(&store, black_box("node-42")).expect("the index is there"));
    });
    let selector = Selector::from_iter([("app".to_owned(), "app-4".to_owned())]);
    group.bench_function("select, 1,000 of 10,000", |bencher| {
        bencher.iter(|| store.select(black_box(&selector)));
    });
    group.finish();
}

/// Whole batches, from the changes to the store that shows them: index values, the write section, the end of what was
/// replaced. The objects are made beforehand.
fn writes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("store/write");
    group.throughput(Throughput::Elements(CHANGES as u64));
    let (first, second) = (objects(CHANGES, "2"), objects(CHANGES, "3"));

    let mut writer = filled();
    let batches = [Batch::of(&first), Batch::of(&second)];
    let mut turn = 0;
    group.bench_function("100 updates of 10,000", |bencher| {
        bencher.iter(|| {
            turn += 1;
            writer.publish(&batches[turn % 2], "2");
        });
    });

    let mut writer = filled();
    writer.add_index(&by_node()).expect("the store has no index yet");
    group.bench_function("100 updates of 10,000, an index whose values stay", |bencher| {
        bencher.iter(|| {
            turn += 1;
            writer.publish(&batches[turn % 2], "2");
        });
    });

    let mut writer = filled();
    let keys: Vec<ObjectKey> = first.iter().map(|object| Object::meta(&**object).key()).collect();
    let (put, remove) = (Batch::of(&first), Batch::without(&keys));
    group.throughput(Throughput::Elements(2 * CHANGES as u64));
    group.bench_function("100 deletions and 100 additions", |bencher| {
        bencher.iter(|| {
            writer.publish(&remove, "2");
            writer.publish(&put, "3");
        });
    });

    group.throughput(Throughput::Elements(OBJECTS as u64));
    let all = Batch::of(&objects(OBJECTS, "1"));
    group.bench_function("the first list, 10,000 objects", |bencher| {
        bencher.iter_batched_ref(Writer::default, |writer| writer.publish(&all, "1"), BatchSize::LargeInput);
    });
    group.finish();
}
