//! Time by hand: order, and nothing lost to a concurrent registration.

use std::sync::Arc;
use std::time::Duration;

use informer_core::sync::{Mutex, spawn};
use informer_core::{Clock, Stop};
use informer_testkit::{Deadline, ManualClock, Probe, within};
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn alarms_ring_in_the_order_of_time_and_at_their_instant() {
    let clock = ManualClock::new();
    let rung = Arc::new(Mutex::new(Vec::new()));
    let alarms: Vec<_> = [3, 1, 2, 2, 9]
        .into_iter()
        .enumerate()
        .map(|(n, at)| {
            let (theirs, rung) = (clock.clone(), Arc::clone(&rung));
            let ring = Box::new(move || rung.lock().push((n, theirs.elapsed().as_secs())));
            clock.alarm(clock.now() + SECOND * at, ring).unwrap()
        })
        .collect();
    assert_eq!(clock.pending(), 5);
    clock.advance(SECOND * 3);
    assert_eq!(*rung.lock(), [(1, 1), (2, 2), (3, 2), (0, 3)]);
    assert_eq!((clock.pending(), clock.elapsed()), (1, SECOND * 3));
    assert_eq!(clock.alarms(), [SECOND * 6]);
    drop(alarms);
    assert_eq!(clock.pending(), 0);
    clock.advance(SECOND * 10);
    assert_eq!(rung.lock().len(), 4, "a dropped alarm does not ring");
}

#[test]
fn an_alarm_for_now_or_before_is_refused() {
    let clock = ManualClock::new();
    assert!(clock.alarm(clock.now(), Box::new(|| ())).is_none());
    let past = clock.now();
    clock.advance(SECOND);
    assert!(clock.alarm(past, Box::new(|| ())).is_none());
}

#[test]
fn a_ring_may_register_and_move() {
    let clock = ManualClock::new();
    let rung = Probe::new(Vec::new());
    let (theirs, told) = (clock.clone(), rung.clone());
    let _first = clock.alarm(
        clock.now() + SECOND,
        Box::new(move || {
            let later = told.clone();
            let alarm =
                theirs.alarm(theirs.now() + SECOND, Box::new(move || later.update(|all| all.push(2))));
            std::mem::forget(alarm); // to ring although nobody holds it
            theirs.advance(SECOND * 2); // only extends the move under way
            told.update(|all| all.push(1));
        }),
    );
    clock.advance(SECOND);
    assert_eq!(rung.get(), [1, 2]);
    assert_eq!(clock.elapsed(), SECOND * 3);
}

#[test]
fn a_panicking_ring_leaves_a_clock_that_still_moves() {
    let clock = ManualClock::new();
    let rung = Probe::new(false);
    let told = rung.clone();
    let _first = clock.alarm(clock.now() + SECOND, Box::new(|| panic!("told to")));
    let _second = clock.alarm(clock.now() + SECOND * 2, Box::new(move || told.set(true)));
    let theirs = clock.clone();
    let moved = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || theirs.advance(SECOND)));
    assert!(moved.is_err());
    clock.advance(SECOND);
    assert!(rung.get());
    assert_eq!(clock.elapsed(), SECOND * 2);
}

#[test]
fn moves_of_several_threads_add_up() {
    let clock = ManualClock::new();
    let movers: Vec<_> = (0..4)
        .map(|_| {
            let clock = clock.clone();
            spawn("mover", move || (0..100).for_each(|_| clock.advance(SECOND))).unwrap()
        })
        .collect();
    within("the movers", move || movers.into_iter().for_each(|mover| mover.join().unwrap()));
    assert_eq!(clock.elapsed(), SECOND * 400);
}

/// Fails if a registration looks at the time and files the alarm in two steps.
#[test]
fn an_alarm_registered_during_a_move_is_rung_or_refused() {
    let clock = ManualClock::new();
    let rung = Probe::new(0_usize);
    let (theirs, told) = (clock.clone(), rung.clone());
    let registrar = spawn("registrar", move || {
        for _ in 0..5000 {
            let (clock, ring) = (theirs.clone(), told.clone());
            let at = theirs.now() + Duration::from_nanos(1); // the clock may get there first
            let in_time = move || {
                let count = usize::from(clock.now() == at);
                ring.update(|n| *n += count);
            };
            match theirs.alarm(at, Box::new(in_time)) {
                Some(alarm) => std::mem::forget(alarm),
                None => told.update(|n| *n += 1),
            }
        }
    })
    .unwrap();
    let net = Deadline::new();
    while !registrar.is_finished() && !net.has_passed() {
        clock.advance(Duration::from_nanos(1)); // moves against the registrations all the time
    }
    within("the registrar", move || registrar.join().unwrap());
    clock.advance(SECOND);
    assert_eq!((rung.get(), clock.pending()), (5000, 0));
}

#[test]
fn a_waiting_thread_goes_through_an_hour_at_once() {
    let clock = ManualClock::new();
    let theirs = clock.clone();
    let ticks = Probe::new(0);
    let told = ticks.clone();
    let worker = spawn("worker", move || {
        let stop = Stop::new();
        for _ in 0..3600 {
            assert!(!stop.wait_until(&theirs, Some(theirs.now() + SECOND)));
            told.update(|n| *n += 1);
        }
    })
    .unwrap();
    for _ in 0..3600 {
        assert_eq!(clock.advance_to_next(), SECOND);
    }
    within("the worker", move || worker.join().unwrap());
    assert_eq!((ticks.get(), clock.elapsed()), (3600, SECOND * 3600));
}

#[test]
fn wait_for_alarm_finds_the_one_that_is_meant() {
    let clock = ManualClock::new();
    let _idle = clock.alarm(clock.now() + SECOND * 90, Box::new(|| ()));
    let theirs = clock.clone();
    let worker = spawn("worker", move || {
        let _ = Stop::new().wait_until(&theirs, Some(theirs.now() + SECOND));
    })
    .unwrap();
    let back_off = clock.wait_for_alarm("a back-off", |until| until < SECOND * 10);
    assert_eq!(back_off, SECOND);
    clock.advance(back_off);
    within("the worker", move || worker.join().unwrap());
}

proptest! {
    /// Whatever is registered, cancelled and moved: what rings is what is due, in the order of time.
    #[test]
    fn rings_are_those_of_a_sorted_list(steps in prop::collection::vec((0_u64..20, 0_u64..10, any::<bool>()), 0..40)) {
        let clock = ManualClock::new();
        let rung = Arc::new(Mutex::new(Vec::new()));
        let mut held = Vec::new();
        let mut expected = Vec::new();
        let mut pending: Vec<(u64, usize)> = Vec::new();
        let mut now = 0;
        for (n, (after, by, cancel)) in steps.into_iter().enumerate() {
            let told = Arc::clone(&rung);
            let alarm = clock.alarm(clock.now() + SECOND * u32::try_from(after).unwrap(), Box::new(move || told.lock().push(n)));
            prop_assert_eq!(alarm.is_some(), after != 0);
            if after != 0 {
                if cancel {
                    drop(alarm);
                } else {
                    held.push(alarm);
                    pending.push((now + after, n));
                }
            }
            clock.advance(SECOND * u32::try_from(by).unwrap());
            now += by;
            pending.sort_unstable();
            let due = pending.partition_point(|(at, _)| *at <= now);
            expected.extend(pending.drain(..due).map(|(_, n)| n));
            prop_assert_eq!(&*rung.lock(), &expected);
            prop_assert_eq!(clock.pending(), pending.len());
        }
    }
}
