//! Registration and removal, from outside and from handlers, while batches come.

use std::sync::Arc;

use super::check;
use super::stage::{Log, NEVER, Stage, add, thread};
use crate::informer::{Delivery, Registration};
use crate::sync::Mutex;

const LIST: [&str; 2] = ["a/u1@1", "b/u2@2"];
/// The last one is seen at the end alone.
const CHANGES: [&str; 3] = ["~a/u1@11", "-b/u2@12", "+c/u3@13"];
/// How many events these are.
const ALL: usize = 5;

type Shelf = Arc<Mutex<Option<Registration<crate::fixture::Item>>>>;

/// Edit: `taken-in-by-the-thread-that-asks`.
#[test]
fn i_22_a_late_handler_sees_the_store_and_every_later_change_once_each() {
    check(|| {
        let stage = Stage::new(&LIST, &CHANGES);
        let (early, late) = (Log::new(), Log::new());
        stage.add(Delivery::Auto, &early, |_| ());
        stage.informer.start().unwrap();
        let registration = stage.add(Delivery::Auto, &late, |_| ());
        registration.wait_synced(NEVER).unwrap();
        late.wait_outcome(&stage.outcome);
        early.wait_told(ALL);
        assert_eq!((early.known(), late.known()), (stage.outcome.clone(), stage.outcome.clone()));
        stage.end();
    });
}

/// Edit: `registration-without-a-poke`.
#[test]
fn i_21_handlers_register_others_while_their_batch_drains() {
    check(|| {
        let stage = Stage::new(&LIST, &CHANGES);
        let lates = [Delivery::Auto, Delivery::Thread].map(|delivery| {
            let (first, late) = (Log::new(), Log::new());
            let (informer, log) = (stage.informer.downgrade(), late.clone());
            let mut asked = false;
            stage.add(delivery, &first, move |_| {
                if let (false, Some(informer)) = (asked, informer.upgrade()) {
                    add(&informer, Delivery::Auto, &log, |_| ()).unwrap();
                    asked = true;
                }
            });
            late
        });
        stage.informer.start().unwrap();
        for late in lates {
            late.wait_outcome(&stage.outcome);
            assert_eq!(late.known(), stage.outcome);
        }
        stage.end();
    });
}

/// Edit: `told-before-it-is-dropped`.
#[test]
fn i_25_two_threads_wait_for_one_removal() {
    check(|| {
        let stage = Stage::new(&LIST, &CHANGES);
        let (removed, stays) = (Log::new(), Log::new());
        let registration = Arc::new(stage.add(Delivery::Auto, &removed, |_| ()));
        stage.add(Delivery::Auto, &stays, |_| ());
        stage.informer.start().unwrap();
        let (theirs, log) = (Arc::clone(&registration), removed.clone());
        let other = thread("other", move || {
            theirs.remove_and_wait().unwrap();
            assert!(log.is_dropped());
        });
        registration.remove_and_wait().unwrap();
        assert!(removed.is_dropped());
        stays.wait_told(ALL);
        assert_eq!(stays.known(), stage.outcome);
        other.join().unwrap();
        removed.known();
        stage.end();
    });
}

/// Edit: `removal-forgets-who-waits`.
#[test]
fn i_25_removed_before_or_as_it_is_taken_in() {
    check(|| {
        let stage = Stage::new(&LIST, &CHANGES);
        let log = Log::new();
        stage.informer.start().unwrap();
        let registration = stage.add(Delivery::Thread, &log, |_| ());
        registration.remove_and_wait().unwrap();
        assert!(log.is_dropped());
        log.known();
        stage.end();
    });
}

/// Edit: `a-removal-that-the-return-forgets`.
#[test]
fn t7_a_handler_removes_itself_and_the_next_one() {
    check(|| {
        let stage = Stage::new(&LIST, &CHANGES);
        let (first, second, third) = (Log::new(), Log::new(), Log::new());
        let (own, next) = (Shelf::default(), Shelf::default());
        let (of_first, of_second) = (Arc::clone(&own), Arc::clone(&next));
        *own.lock() = Some(stage.add(Delivery::Auto, &first, move |_| {
            let own = of_first.lock().take();
            own.expect("it is called once").remove();
        }));
        let most = Arc::new(Mutex::new(0));
        let (theirs, follows) = (Arc::clone(&most), third.clone());
        stage.add(Delivery::Auto, &second, move |_| {
            let next = of_second.lock().take();
            if let Some(next) = next {
                // Waiting for a sibling could be waiting for this very thread.
                let refused = next.remove_and_wait().is_err_and(|error| error.is_would_block());
                // A call that was lent before, by a thread that took the role over, may begin after.
                *theirs.lock() = if refused { follows.begun() + 1 } else { 0 };
            }
        });
        *next.lock() = Some(stage.add(Delivery::Auto, &third, |_| ()));
        stage.informer.start().unwrap();
        second.wait_told(ALL);
        first.wait_dropped();
        third.wait_dropped();
        assert_eq!(first.begun(), 1);
        let most = *most.lock();
        assert!(0 < most && third.begun() <= most, "{} of {most}", third.begun());
        assert_eq!(second.known(), stage.outcome);
        first.known();
        third.known();
        stage.end();
    });
}
