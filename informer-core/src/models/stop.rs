//! The stop, against everything that may be under way.

use super::check;
use super::stage::{Gate, Log, NEVER, Stage, add, thread};
use crate::informer::Delivery;

const LIST: [&str; 2] = ["a/u1@1", "b/u2@2"];
const CHANGES: [&str; 2] = ["~a/u1@11", "+c/u3@12"];

/// Edit: `threads-after-the-stop`.
#[test]
fn i_1_stop_against_start() {
    check(|| {
        let stage = Stage::new(&LIST, &CHANGES);
        let (log, own) = (Log::new(), Log::new());
        stage.add(Delivery::Auto, &log, |_| ());
        stage.add(Delivery::Thread, &own, |_| ());
        let informer = stage.informer.clone();
        let starter = thread("starter", move || {
            let started = informer.start();
            assert!(started.is_ok() || started.unwrap_err().is_stopped());
        });
        stage.informer.stop();
        stage.informer.join().unwrap();
        assert!(log.is_dropped() && own.is_dropped());
        starter.join().unwrap();
        stage.is_alone();
        log.known();
        own.known();
        stage.end();
    });
}

/// Without a handler, whose end would wake them too. Edit: `stop-wakes-before-its-flag`.
#[test]
fn i_12_stop_against_those_who_wait_for_the_sync() {
    check(|| {
        let stage = Stage::new(&LIST, &CHANGES);
        let waiters = [(); 2].map(|()| {
            let informer = stage.informer.clone();
            thread("waiter", move || {
                let synced = informer.wait_synced(NEVER);
                assert!(synced.is_ok() || synced.unwrap_err().is_stopped());
            })
        });
        stage.informer.start().unwrap();
        stage.informer.stop();
        for waiter in waiters {
            waiter.join().unwrap();
        }
        stage.end();
    });
}

/// Edit: `registered-after-the-stop`.
#[test]
fn i_3_stop_against_registration() {
    check(|| {
        let stage = Stage::new(&LIST, &CHANGES);
        let (log, informer) = (Log::new(), stage.informer.clone());
        stage.informer.start().unwrap();
        let theirs = log.clone();
        let registering =
            thread("registering", move || match add(&informer, Delivery::Thread, &theirs, |_| ()) {
                Ok(registration) => {
                    let synced = registration.wait_synced(NEVER);
                    assert!(synced.is_ok() || synced.unwrap_err().is_stopped());
                }
                Err(error) => assert!(error.is_stopped() && theirs.is_dropped()),
            });
        stage.informer.stop();
        stage.informer.join().unwrap();
        registering.join().unwrap();
        assert!(log.is_dropped());
        log.known();
        stage.end();
    });
}

/// Edit: `an-end-that-is-told-too-early`.
#[test]
fn x_join_from_outside_while_a_handler_stops() {
    check(|| {
        let stage = Stage::new(&LIST, &CHANGES);
        let (log, sibling) = (Log::new(), Log::new());
        let informer = stage.informer.downgrade();
        stage.add(Delivery::Auto, &log, move |_| {
            if let Some(informer) = informer.upgrade() {
                informer.stop();
            }
        });
        stage.add(Delivery::Thread, &sibling, |_| ());
        stage.informer.start().unwrap();
        stage.informer.join().unwrap();
        assert_eq!(log.begun(), 1);
        assert!(log.is_dropped() && sibling.is_dropped());
        log.known();
        sibling.known();
        stage.end();
    });
}

/// Edit: `a-drop-that-waits-for-its-own-thread`.
#[test]
fn i_7_the_last_drop_against_a_handler_that_holds_the_informer() {
    check(|| {
        let stage = Stage::new(&LIST, &CHANGES);
        let log = Log::new();
        let weak = stage.informer.downgrade();
        let held = Gate::new();
        let opened = held.clone();
        stage.add(Delivery::Auto, &log, move |_| {
            let held = weak.upgrade();
            opened.open();
            drop(held); // perhaps the last one: on this thread it only signals
        });
        stage.informer.start().unwrap();
        held.pass();
        stage.drop_informer();
        log.wait_dropped();
        log.known();
    });
}
