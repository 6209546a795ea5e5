//! One operation so many times and nothing else, for callgrind: benches/instructions counts what one of them takes.
//!
//! ```text
//! instructions OPERATION TIMES
//! ```
//! What is prepared costs the same whatever `TIMES` is, so the difference of two runs is the operation's alone.

use std::hint::black_box;
use std::sync::Arc;

use informer_benches::objects;
use informer_core::bench::{Batch, Delta, Queue, Writer};
use informer_core::kube_core::ResourceExt as _;
use informer_core::{Index, ObjectKey};
use k8s_openapi::api::core::v1::ConfigMap;

const OPERATIONS: [&str; 6] = ["get", "list", "index-get", "update", "update-indexed", "push-take"];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    match words.as_slice() {
        [operation, times] => run(operation, times.parse().expect("TIMES is a number")),
        // `cargo test --benches` runs each once, to see that it works.
        _ => OPERATIONS.iter().for_each(|operation| run(operation, 1)),
    }
}

fn run(operation: &str, times: usize) {
    let mut writer = Writer::default();
    writer.publish(&Batch::of(&objects(10_000, "1")), "1");
    let store = writer.store().clone();
    let index: Index<ConfigMap, String> =
        Index::new("by-node", |map: &ConfigMap| map.labels().get("node").cloned());
    if operation.starts_with("index") || operation.ends_with("indexed") {
        writer.add_index(&index).expect("the store has no index yet");
    }
    let key = ObjectKey::new("team-42", "settings-4242");
    let two = [Batch::of(&objects(100, "2")), Batch::of(&objects(100, "3"))];
    let (queue, one) = (Queue::new(4096), Arc::clone(&objects(1, "1")[0]));
    for at in 0..times {
        match operation {
            "get" => drop(black_box(store.get(black_box(&key)))),
            "list" => drop(black_box(store.list())),
            "index-get" => drop(black_box(index.get(&store, black_box("node-42")))),
            // 100 changes are one operation here; the script divides.
            "update" | "update-indexed" => writer.publish(&two[at % 2], "2"),
            "push-take" => {
                queue.push(Delta::upsert(Arc::clone(&one)), "2");
                assert_eq!(queue.take(), 1);
            }
            _ => panic!("no such operation: {operation}; there are {}", OPERATIONS.join(", ")),
        }
    }
}
