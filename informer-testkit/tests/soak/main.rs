//! A soak: informers on the embedded API server, through a proxy in which everything goes wrong that can, while objects
//! change, handlers stand still or panic, and the server comes back with older and newer histories.
//!
//! After each round stores equal the server, what each handler was told equals the store, no request came before it was
//! due, and no thread and no socket is left. A run counts only if each kind of fault has struck in each phase of an
//! exchange at least five times; the matrix is printed.
//!
//! It takes a few seconds. `INFORMER_SOAK=10 cargo test -p informer-testkit --test soak -- --nocapture` goes on for ten
//! minutes, `INFORMER_SOAK_SEEDS=1000` for so many rounds, and `INFORMER_SOAK_SEED=7` begins with that one, which is how
//! a failure is seen again, as far as threads let it.

#![expect(clippy::unwrap_used, reason = "in a test, to panic is to fail")]

mod plan;
mod proxy;
mod round;
mod source;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use informer_core::{Clock as _, SystemClock};
use informer_testkit::{Deadline, ThreadMark, open_sockets};

use plan::{ENOUGH, Plan};
use round::{Round, Sum};

/// A number that the environment gives.
fn number(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, not a number")))
}

#[test]
fn f_13_f_24_f_48_whatever_goes_wrong_everything_comes_right_in_the_end() {
    quiet();
    // The only test of its binary: whatever is left was left by it.
    let minutes = Duration::from_secs(60 * number("INFORMER_SOAK").unwrap_or(0));
    let seeds = number("INFORMER_SOAK_SEEDS").unwrap_or(0);
    let first = number("INFORMER_SOAK_SEED").unwrap_or(1);
    let (mark, sockets, began) = (ThreadMark::new(), open_sockets(), SystemClock.now());
    let plan = Arc::new(Plan::new());
    let (mut total, mut seed) = (Sum::default(), first);
    let net = Deadline::after(minutes + Duration::from_secs(120) + Duration::from_secs(5 * seeds));
    while !plan.is_complete() || SystemClock.now() - began < minutes || seed - first < seeds {
        assert!(!net.has_passed(), "seed {seed}: not each fault has struck often enough:\n{}", plan.table());
        let mut round = Round::start(seed, &plan);
        round.run(40, Duration::from_secs(4));
        add(&mut total, &round.settle());
        mark.assert_none_left();
        assert_eq!(open_sockets(), sockets, "seed {seed}: sockets are left");
        seed += 1;
    }
    println!(
        "{} rounds in {:.1} s: {} faults, each kind in each phase at least {ENOUGH} times\n{}",
        seed - first,
        (SystemClock.now() - began).as_secs_f64(),
        plan.strikes(),
        plan.table()
    );
    println!(
        "{} informers, {} requests of which {} had to wait, at most {} in a row without a wait; {} events told; \
             {} restarts of the server",
        total.informers, total.requests, total.waits, total.most_free, total.events, total.restarts
    );
}

fn add(total: &mut Sum, sum: &Sum) {
    total.requests += sum.requests;
    total.waits += sum.waits;
    total.most_free = total.most_free.max(sum.most_free);
    total.informers += sum.informers;
    total.events += sum.events;
    total.restarts += sum.restarts;
}

/// Handlers panic by the hundred here, and a backtrace of each would take longer than all the rest.
fn quiet() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let planned =
            panic.payload_as_str().is_some_and(|text| text.starts_with("the recorder was told to panic"));
        if !planned {
            told(panic);
        }
    }));
}
