//! Probes, gates and nets.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use informer_core::Stop;
use informer_core::sync::{Monitor, spawn};
use informer_testkit::{Deadline, Gate, Probe, within, within_limit};

/// The message of a panic.
pub(crate) fn message_of<R>(body: impl FnOnce() -> R) -> String {
    let Err(panic) = catch_unwind(AssertUnwindSafe(body)) else {
        panic!("it did not panic");
    };
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().unwrap()).to_owned(),
    }
}

#[test]
fn a_probe_wakes_on_every_change() {
    let probe = Probe::new(0);
    let theirs = probe.clone();
    let worker = spawn("worker", move || (1..=100).for_each(|n| theirs.set(n))).unwrap();
    probe.wait("the last value", |n| *n == 100);
    assert_eq!(probe.wait_for("any value", |n| Some(*n)), 100);
    within("the worker", move || worker.join().unwrap());
}

#[test]
fn a_hang_becomes_a_failure_that_names_it() {
    let monitor = Arc::new(Monitor::new(3));
    let net = Deadline::after(Duration::from_millis(5));
    let message = message_of(|| {
        net.wait_on(&monitor, "a four", |n| (*n == 4).then_some(()), |n| format!("{n}"));
    });
    assert_eq!(message, "waited 5ms for a four; it is 3");
    assert_eq!(*monitor.lock(), 3, "the value can still be used");
}

#[test]
fn within_gives_back_the_answer_the_panic_or_the_net() {
    assert_eq!(within("a sum", || 1 + 2), 3);
    assert_eq!(message_of(|| within("a panic", || panic!("of the body"))), "of the body");
    let gate = Gate::new("for ever");
    let pass = gate.pass();
    let message = message_of(|| {
        within_limit("the end of time", Deadline::after(Duration::from_millis(5)), move || pass.wait());
    });
    assert_eq!(message, "waited 5ms for the end of time; it is still running");
}

#[test]
fn a_gate_holds_until_it_is_opened() {
    let gate = Gate::new("go");
    let done = Probe::new(0);
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let (pass, done) = (gate.pass(), done.clone());
            spawn("worker", move || {
                pass.wait();
                done.update(|n| *n += 1);
            })
            .unwrap()
        })
        .collect();
    gate.wait_for_waiting(3);
    assert_eq!(done.get(), 0);
    gate.open();
    done.wait("all three", |n| *n == 3);
    gate.wait_for_arrived(3);
    within("the workers", move || workers.into_iter().for_each(|worker| worker.join().unwrap()));
    gate.pass().wait(); // open for good
}

#[test]
fn a_gate_opens_when_its_last_handle_is_dropped() {
    let gate = Gate::new("go");
    let (other, pass) = (gate.clone(), gate.pass());
    let worker = spawn("worker", move || pass.wait()).unwrap();
    gate.wait_for_waiting(1);
    drop(gate);
    other.wait_for_waiting(1); // still closed
    drop(other);
    within("the worker", move || worker.join().unwrap());
}

#[test]
fn stop_ends_the_wait_at_a_gate() {
    let gate = Gate::new("closed");
    let (pass, stop) = (gate.pass(), Stop::new());
    let theirs = stop.clone();
    let worker = spawn("worker", move || assert!(!pass.wait_or_stop(&theirs))).unwrap();
    gate.wait_for_waiting(1);
    stop.set();
    within("the worker", move || worker.join().unwrap());
}
