//! The dispatcher with promotion: every interleaving that `docs/design/dispatcher.md` names, through the production
//! informer. Time passes on a thread of the model, so a call is found slow at any moment, or never.

use std::panic::resume_unwind;

use super::stage::{Gate, Log, Stage};
use super::{check, check_more};
use crate::informer::Delivery;

const LIST: [&str; 2] = ["a/u1@1", "b/u2@2"];
/// The last one is seen at the end alone.
const CHANGES: [&str; 4] = ["+c/u3@11", "~a/u1@12", "-b/u2@13", "+d/u4@14"];
/// How many events these are.
const ALL: usize = 6;

/// Edit: `lending-sets-no-alarm`.
#[test]
fn d3_a_blocked_handler_stops_nobody() {
    one_blocks_until_the_other_has_all(Delivery::Auto);
}

/// Only the queue waits: what comes into it during the call must set the alarm. Edit: `arrival-sets-no-alarm`.
#[test]
fn d3_a_blocked_handler_does_not_keep_batches_from_the_store() {
    one_blocks_until_the_other_has_all(Delivery::Thread);
}

fn one_blocks_until_the_other_has_all(other: Delivery) {
    check(move || {
        let stage = Stage::new(&LIST, &CHANGES);
        let (slow, quick) = (Log::new(), Log::new());
        let theirs = quick.clone();
        stage.add(Delivery::Auto, &slow, move |_| theirs.wait_told(ALL));
        stage.add(other, &quick, |_| ());
        stage.informer.start().unwrap();
        slow.wait_told(ALL);
        assert_eq!(slow.known(), stage.outcome);
        assert_eq!(slow.trace(), quick.trace());
        stage.end();
    });
}

/// Edits: `promotion-of-a-call-that-is-over`, `a-role-without-its-number`.
#[test]
fn t6_the_call_returns_as_the_watchdog_decides() {
    check(|| {
        let stage = Stage::new(&LIST, &CHANGES);
        let (one, other) = (Log::new(), Log::new());
        stage.add(Delivery::Auto, &one, |_| ());
        stage.add(Delivery::Auto, &other, |_| ());
        stage.informer.start().unwrap();
        one.wait_told(ALL);
        other.wait_told(ALL);
        assert_eq!(one.known(), stage.outcome);
        assert_eq!(one.trace(), other.trace());
        stage.end();
    });
}

/// Edit: `removal-sets-no-alarm`.
#[test]
fn t6_remove_then_promote_the_same_call() {
    check(|| {
        let stage = Stage::new(&LIST, &CHANGES);
        let (stuck, quick) = (Log::new(), Log::new());
        let theirs = quick.clone();
        let registration = stage.add(Delivery::Inline, &stuck, move |_| theirs.wait_told(ALL));
        stage.add(Delivery::Auto, &quick, |_| ());
        stage.informer.start().unwrap();
        stuck.wait_begun(1);
        registration.remove();
        let begun = stuck.begun();
        registration.remove_and_wait().unwrap();
        assert!(stuck.is_dropped());
        assert!(stuck.begun() <= begun, "a call began after the removal");
        quick.wait_told(ALL);
        assert_eq!(quick.known(), stage.outcome);
        stuck.known();
        stage.end();
    });
}

/// Edit: `threads-after-the-stop`.
#[test]
fn t6_stop_and_join_against_the_promotion() {
    check_more(8, || {
        let stage = Stage::new(&["a/u1@1"], &[]);
        let (slow, quick, over) = (Log::new(), Log::new(), Gate::new());
        let theirs = over.clone();
        stage.add(Delivery::Auto, &slow, move |_| theirs.pass());
        stage.add(Delivery::Auto, &quick, |_| ());
        stage.informer.start().unwrap();
        slow.wait_begun(1);
        stage.informer.stop();
        over.open();
        stage.join();
        let (begun, told) = (slow.begun(), quick.begun());
        assert!(slow.is_dropped() && quick.is_dropped());
        stage.end();
        assert_eq!((slow.begun(), quick.begun()), (begun, told), "a call began after the join");
        slow.known();
        quick.known();
    });
}

/// Edit: `own-thread-looks-before-it-locks`.
#[test]
fn t5_wakes_an_own_thread_as_it_goes_to_wait() {
    check(|| {
        let stage = Stage::new(&LIST, &CHANGES);
        let own = Log::new();
        stage.add(Delivery::Thread, &own, |_| ());
        stage.informer.start().unwrap();
        own.wait_told(ALL);
        assert_eq!(own.known(), stage.outcome);
        stage.end();
    });
}

/// Edit: `an-alarm-that-drops-the-next`.
#[test]
fn t6_a_second_handler_while_the_first_is_still_blocked() {
    check(|| {
        let stage = Stage::new(&LIST, &CHANGES);
        let (first, second, quick) = (Log::new(), Log::new(), Log::new());
        let (of_first, of_second) = (quick.clone(), quick.clone());
        stage.add(Delivery::Auto, &first, move |_| of_first.wait_told(ALL));
        stage.add(Delivery::Auto, &second, move |_| of_second.wait_told(ALL));
        stage.add(Delivery::Auto, &quick, |_| ());
        stage.informer.start().unwrap();
        first.wait_told(ALL);
        second.wait_told(ALL);
        assert!(stage.informer.status().promotions >= 2);
        assert_eq!(first.trace(), quick.trace());
        assert_eq!(second.trace(), quick.trace());
        assert_eq!(quick.known(), stage.outcome);
        stage.end();
    });
}

/// Edit: `a-destructor-without-a-net`.
#[test]
fn d3_a_panic_in_a_promoted_call_and_one_in_its_destructor() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            // Past the hook that would print each of the thousands.
            resume_unwind(Box::new("told to"));
        }
    }
    check(|| {
        let stage = Stage::new(&LIST, &CHANGES);
        let (bad, quick) = (Log::new(), Log::new());
        let (theirs, bomb) = (quick.clone(), Bomb);
        let registration = stage.add(Delivery::Auto, &bad, move |_| {
            let _holds = &bomb;
            theirs.wait_told(ALL);
            resume_unwind(Box::new("told to"));
        });
        stage.add(Delivery::Auto, &quick, |_| ());
        stage.informer.start().unwrap();
        bad.wait_told(ALL);
        registration.remove_and_wait().unwrap();
        assert!(bad.is_dropped());
        assert_eq!(bad.known(), stage.outcome);
        assert_eq!(bad.trace(), quick.trace());
        stage.end();
    });
}

/// Edit: `a-fold-forgets-the-initial-adds`.
#[test]
fn t9_a_fold_swallows_the_last_initial_add_as_the_call_before_it_returns() {
    check(|| {
        let stage = Stage::with_limit(&LIST, &["-a/u1@11", "-b/u2@12"], 1);
        let (own, quick) = (Log::new(), Log::new());
        let registration = stage.add(Delivery::Thread, &own, |_| ());
        stage.add(Delivery::Auto, &quick, |_| ());
        stage.informer.start().unwrap();
        registration.wait_synced(super::stage::NEVER).unwrap();
        assert!(registration.has_synced());
        own.wait_outcome(&stage.outcome);
        quick.wait_outcome(&stage.outcome);
        own.known();
        stage.end();
    });
}
