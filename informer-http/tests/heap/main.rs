//! What a list holds on the heap while it is read, and what an object that stays holds of it. The allocator counts for
//! the whole process, so this is one test.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::alloc::System;
use std::sync::Arc;

use informer_core::{BadObject, KeyRef, Lazy, ListRequest, ListSink, ListWatch as _, Representation, Stop};
use informer_http::{Client, HttpListWatch};
use informer_testkit::ScriptedServer;
use informer_testkit::script::{Expect, Framing, Head, Script, chunk, end};
use k8s_openapi::api::core::v1::ConfigMap;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const ITEMS: usize = 64;
const EACH: usize = 256 << 10;

fn live() -> usize {
    let stats = HEAP.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// A list of 16 MiB.
fn body() -> Vec<u8> {
    let mut body =
        br#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":["#.to_vec();
    for item in 0..ITEMS {
        let comma = if item == 0 { "" } else { "," };
        let head = format!(r#"{comma}{{"metadata":{{"name":"n{item}","namespace":"ns"}},"data":{{"k":""#);
        body.extend_from_slice(head.as_bytes());
        body.resize(body.len() + EACH, b'x');
        body.extend_from_slice(br#""}}"#);
    }
    body.extend_from_slice(b"]}");
    body
}

/// Keeps one item in the middle, and looks at the heap at each.
struct KeepsOne<T> {
    seen: usize,
    kept: Option<T>,
    least: usize,
    most: usize,
}

impl<T> ListSink<T> for KeepsOne<T> {
    fn have(&self, _: KeyRef<'_>, _: &str, _: &str) -> Option<Arc<T>> {
        None
    }

    fn may_have(&self) -> bool {
        false
    }

    fn item(&mut self, object: T) {
        let live = live();
        (self.least, self.most) = (self.least.min(live), self.most.max(live));
        self.seen += 1;
        if self.seen == ITEMS / 2 {
            self.kept = Some(object);
        }
    }

    fn unchanged(&mut self, _: Arc<T>) {}

    fn bad_item(&mut self, bad: BadObject) {
        panic!("{bad:?}");
    }
}

/// Lists, keeps one object, and answers with the heap's growth while reading and with what is left of it at the end.
fn listed<T: Representation>() -> (usize, usize)
where
    T::Resource: informer_core::kube_core::Resource<DynamicType = ()>,
{
    let before = live();
    let body = body();
    let head = Head::new(200, Framing::Length(body.len()));
    let server =
        ScriptedServer::start(Script::in_order([Expect::list().answer([head.into(), chunk(body), end()])]));
    let source = HttpListWatch::<T>::new(&Client::from_url(&server.url()).unwrap());
    let mut sink = KeepsOne { seen: 0, kept: None, least: usize::MAX, most: 0 };
    source.list(&ListRequest::default(), &Stop::new(), &mut sink).unwrap();
    assert_eq!(sink.seen, ITEMS);
    let grown = sink.most - sink.least;
    drop(source);
    server.finish();
    let left = live() - before;
    drop(sink.kept.unwrap());
    (grown, left)
}

#[test]
fn p_9_d_10_a_list_is_read_item_by_item_and_an_item_that_stays_holds_itself_only() {
    listed::<ConfigMap>(); // whatever is allocated once in a process
    for (mode, (grown, left)) in [("typed", listed::<ConfigMap>()), ("lazy", listed::<Lazy<ConfigMap>>())] {
        // An item, its object and a buffer as large as both; not sixteen megabytes, nor a half of it.
        assert!(grown <= 5 * EACH, "{mode}: {grown} bytes more at the most than at the least");
        assert!((EACH..EACH + (64 << 10)).contains(&left), "{mode}: {left} bytes for an object of {EACH}");
    }
}
