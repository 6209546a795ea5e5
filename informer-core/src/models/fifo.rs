//! The queue between reader and pop thread: nothing is lost, order is kept, every wait ends.

use std::sync::Arc;

use super::check;
use super::stage::{Gate, Time, thread};
use crate::fixture::{Item, item};
use crate::meta::Object;
use crate::queue::{Delta, DeltaFifo, Taken};
use crate::sync::{Monitor, Mutex};

fn upsert(text: &str) -> Delta<Item> {
    let object = item(text);
    Delta::Upsert { key: object.meta().key(), object }
}

fn version(delta: &Delta<Item>) -> u64 {
    match delta {
        Delta::Upsert { object, .. } => object.version.parse().unwrap(),
        _ => panic!("only upserts are pushed"),
    }
}

/// Takes until the tail is at `last` or the queue is closed. Answers the versions in order.
fn take_until(fifo: &DeltaFifo<Item>, last: &str) -> Vec<u64> {
    let time = Time::new();
    let mut versions = Vec::new();
    loop {
        match fifo.take(&time, None) {
            Taken::Batch { deltas, tail, .. } => {
                versions.extend(deltas.iter().map(version));
                assert!(versions.iter().all(|version| *version <= tail.parse().unwrap()), "the tail lags");
                if tail == last {
                    return versions;
                }
            }
            Taken::Nothing => {}
            Taken::Closed => return versions,
        }
    }
}

/// The last thing that comes moves the tail to `last`: a push, or a bookmark.
fn produce_and_poke(limit: usize, last: &'static str, expect: impl Fn(&[u64]) + Send + Sync + 'static) {
    check(move || {
        let fifo = Arc::new(DeltaFifo::new(limit));
        let (producer, poker) = (Arc::clone(&fifo), Arc::clone(&fifo));
        let threads = [
            thread("producer", move || {
                for version in ["11", "12", "13"] {
                    producer.push(upsert(&format!("a/u1@{version}")), version);
                }
                if last == "14" {
                    producer.set_tail("14");
                }
            }),
            thread("poker", move || {
                poker.poke();
                poker.poke();
            }),
        ];
        expect(&take_until(&fifo, last));
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// Edit: `push-notifies-first`.
#[test]
fn d1_what_is_pushed_comes_once_and_in_order() {
    produce_and_poke(4096, "13", |versions| assert_eq!(versions, [11, 12, 13]));
}

/// Edit: `a-bookmark-is-no-news`.
#[test]
fn d2_above_the_limit_the_last_state_comes_and_the_tail_moves() {
    produce_and_poke(1, "14", |versions| {
        assert!(versions.is_sorted(), "{versions:?}");
        assert_eq!(versions.last(), Some(&13));
    });
}

/// Edit: `close-notifies-first`.
#[test]
fn c_11_close_ends_the_wait_and_nothing_comes_after() {
    check(|| {
        let fifo = Arc::new(DeltaFifo::new(4096));
        let taken = Arc::new(Mutex::new(Vec::new()));
        let (producer, taker, versions) = (Arc::clone(&fifo), Arc::clone(&fifo), Arc::clone(&taken));
        let producer = thread("producer", move || {
            for version in ["11", "12", "13"] {
                producer.push(upsert(&format!("a/u1@{version}")), version);
            }
        });
        let taker = thread("taker", move || *versions.lock() = take_until(&taker, "never"));
        let dropped = fifo.close();
        taker.join().unwrap();
        producer.join().unwrap();
        let mut all = std::mem::take(&mut *taken.lock());
        all.extend(dropped.iter().map(version));
        assert_eq!(all, [11, 12, 13][..all.len()], "what came, then what was dropped");
        assert_eq!(fifo.gauges().0, 0);
    });
}

/// Edit: `the-consumer-is-never-away`.
#[test]
fn t6_the_producer_tells_when_something_comes_while_the_consumer_is_away() {
    check(|| {
        let fifo = Arc::new(DeltaFifo::new(4096));
        let told = Arc::new(Monitor::new(0));
        let (producer, tell, over) = (Arc::clone(&fifo), Arc::clone(&told), Gate::new());
        let end = over.clone();
        let producer = thread("producer", move || {
            for version in ["11", "12"] {
                if let Some(news) = producer.push(upsert(&format!("a/u1@{version}")), version) {
                    *tell.lock() = news;
                    tell.notify_all();
                }
            }
            end.pass();
        });
        let Taken::Batch { tail, news, .. } = fifo.take(&Time::new(), None) else { panic!("a batch comes") };
        if tail == "11" {
            // In a handler, say: only the producer can say that more has come.
            let mut told_of = told.lock();
            while *told_of <= news {
                told.wait(&mut told_of);
            }
        }
        over.open();
        producer.join().unwrap();
    });
}
