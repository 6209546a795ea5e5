//! Every transition of the dispatcher, and the hard interleavings, as sequences of calls.
//!
//! The test plays all threads: what the machine must withstand is only the order in which lock sections come.

mod property;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::fixture::{Item, item};
use crate::time::{Clock, SystemClock};

struct Handler {
    drops: Arc<AtomicUsize>,
}

impl EventHandler<Item> for Handler {}

impl Drop for Handler {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::SeqCst);
    }
}

/// A dispatcher, its time, and the call that is out on each of its threads.
struct Bench {
    dispatch: Dispatcher<Item>,
    now: Instant,
    epoch: u64,
    drops: Arc<AtomicUsize>,
    waste: Waste<Item>,
    news: u64,
}

impl Bench {
    fn new() -> Self {
        Bench {
            dispatch: Dispatcher::new(4096),
            now: SystemClock.now(),
            epoch: 0,
            drops: Arc::default(),
            waste: Waste::default(),
            news: 0,
        }
    }

    /// With these handlers, started and primed by an empty first list.
    fn running(deliveries: &[Delivery]) -> Self {
        let mut bench = Bench::new();
        for delivery in deliveries {
            bench.add(*delivery);
        }
        bench.dispatch.start(bench.now);
        bench.publish_first("");
        bench
    }

    fn add(&mut self, delivery: Delivery) -> (SlotId, Latch) {
        self.add_with(delivery, None)
    }

    fn add_with(&mut self, delivery: Delivery, resync: Option<Duration>) -> (SlotId, Latch) {
        let handler = Box::new(Handler { drops: Arc::clone(&self.drops) });
        let Ok(added) = self.dispatch.register(handler, delivery, resync) else { panic!("it has stopped") };
        added
    }

    fn wait(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
    }

    fn events(objects: &str, initial: bool) -> Events<Item> {
        Arc::new(
            objects.split_whitespace().map(|text| Event::Added { object: item(text), initial }).collect(),
        )
    }

    fn publish(&mut self, objects: &str) {
        self.dispatch.publish(&Bench::events(objects, false), false, &mut self.waste);
    }

    fn publish_first(&mut self, objects: &str) {
        self.dispatch.publish(&Bench::events(objects, true), true, &mut self.waste);
    }

    fn arrive(&mut self) {
        self.news += 1;
        self.dispatch.arrived(self.news);
    }

    /// T1 for the owner of `epoch`; what is shown is `slot:name`, or what else there is to do.
    fn next(&mut self, epoch: u64) -> (String, Option<Lent<Item>>) {
        show(self.dispatch.next(epoch, self.now))
    }

    fn next_own(&mut self, slot: SlotId) -> (String, Option<Lent<Item>>) {
        show(self.dispatch.next_own(slot, self.now))
    }

    /// The pop thread gets a call, which must be this one.
    #[track_caller]
    fn call(&mut self, want: &str) -> Lent<Item> {
        let (got, lent) = self.next(self.epoch);
        assert_eq!(got, want);
        lent.unwrap()
    }

    #[track_caller]
    fn own_call(&mut self, slot: SlotId, want: &str) -> Lent<Item> {
        let (got, lent) = self.next_own(slot);
        assert_eq!(got, want);
        lent.unwrap()
    }

    /// T3.
    fn give_back(&mut self, lent: Lent<Item>) -> bool {
        let Lent { slot, handler, event, .. } = lent;
        self.dispatch.returned(slot, handler, event.is_initial(), false, self.now, &mut self.waste)
    }

    /// Calls and returns, on the pop thread, until there is something else to do.
    fn drain(&mut self) -> String {
        let mut calls = Vec::new();
        loop {
            let (what, lent) = self.next(self.epoch);
            let Some(lent) = lent else {
                assert_eq!(what, "boundary");
                return calls.join(" ");
            };
            calls.push(what);
            self.give_back(lent);
        }
    }

    /// The call that the watchdog would promote now.
    #[track_caller]
    fn due(&mut self) -> u64 {
        match self.dispatch.due(self.now) {
            Due::Promote(call) => call,
            other => panic!("{other:?}"),
        }
    }

    fn promote(&mut self, call: u64) -> bool {
        let epoch = self.dispatch.promote(call);
        self.epoch = epoch.unwrap_or(self.epoch);
        epoch.is_some()
    }

    /// A call is out, something waits, the patience is over, and the watchdog promotes it.
    #[track_caller]
    fn promote_now(&mut self) {
        self.arrive();
        assert!(self.dispatch.arm().is_some(), "armed as soon as something waits");
        self.wait(250);
        let call = self.due();
        assert!(self.promote(call));
    }

    fn synced(&self, slot: SlotId) -> bool {
        self.dispatch.statuses().iter().any(|status| status.id == slot && status.synced)
    }
}

fn show(next: Next<Item>) -> (String, Option<Lent<Item>>) {
    match next {
        Next::Call(lent) => (format!("{}:{}", lent.slot, lent.event.object().name), Some(lent)),
        Next::Own => ("own".to_owned(), None),
        Next::Boundary => ("boundary".to_owned(), None),
        Next::Wait => ("wait".to_owned(), None),
        Next::Exit => ("exit".to_owned(), None),
    }
}

use Delivery::{Auto, Inline, Thread};

#[test]
fn t_1_i_26_events_come_in_order_and_handlers_in_order_of_registration() {
    let mut bench = Bench::running(&[Auto, Auto]);
    bench.publish("a b");
    bench.publish("c");
    assert_eq!(bench.drain(), "0:a 1:a 0:b 1:b 0:c 1:c");
}

#[test]
fn t_1_a_handler_is_never_lent_twice() {
    let mut bench = Bench::running(&[Auto]);
    bench.publish("a b");
    let lent = bench.call("0:a");
    assert_eq!(bench.next(0).0, "boundary");
    assert_eq!(bench.next_own(0).0, "wait");
    bench.give_back(lent);
    let _b = bench.call("0:b");
}

#[test]
fn t_2_an_own_thread_serves_its_handler_and_the_pop_role_leaves_it_alone() {
    let mut bench = Bench::new();
    let (own, _) = bench.add(Thread);
    let (pop, _) = bench.add(Auto);
    assert_eq!(bench.dispatch.start(bench.now).1, [own], "it is given a thread at the start");
    assert!(bench.dispatch.must_wait(own));
    bench.publish_first("a");
    assert!(!bench.dispatch.must_wait(own), "t5 wakes it");
    let lent = bench.own_call(own, "0:a");
    assert_eq!(bench.drain(), format!("{pop}:a"));
    // Its calls are never the watchdog's business.
    bench.arrive();
    assert_eq!(bench.dispatch.arm(), None);
    assert!(bench.give_back(lent), "it has synced");
    assert_eq!(bench.next_own(own).0, "wait");
    assert!(bench.dispatch.must_wait(own));
}

#[test]
fn t_2_the_own_thread_ends_on_stop_on_removal_and_only_then() {
    for stop in [true, false] {
        let mut bench = Bench::running(&[Thread]);
        if stop {
            bench.dispatch.stop(&mut bench.waste);
        } else {
            bench.dispatch.remove(0, &mut bench.waste);
        }
        assert!(!bench.dispatch.must_wait(0));
        assert_eq!(bench.next_own(0).0, "exit");
    }
}

/// The shell looks at `must_wait` in the lock section in which it begins to wait.
#[test]
fn t_2_t_5_news_between_the_answer_and_the_wait_keep_the_own_thread_awake() {
    let mut bench = Bench::running(&[Thread]);
    assert_eq!(bench.next_own(0).0, "wait");
    bench.publish("a"); // before it has come to wait
    assert!(!bench.dispatch.must_wait(0));
    let lent = bench.own_call(0, "0:a");
    bench.publish("b"); // during the call
    bench.give_back(lent);
    assert!(!bench.dispatch.must_wait(0));
    let lent = bench.own_call(0, "0:b");
    bench.give_back(lent);
    assert_eq!(bench.next_own(0).0, "wait");
    bench.dispatch.remove(0, &mut bench.waste);
    assert!(!bench.dispatch.must_wait(0), "t_7 wakes it too");
}

#[test]
fn t_3_f_52_an_event_counts_as_handled_also_when_it_panicked() {
    let mut bench = Bench::new();
    let (slot, latch) = bench.add(Auto);
    bench.dispatch.start(bench.now);
    bench.publish_first("a b");
    let lent = bench.call("0:a");
    bench.give_back(lent);
    assert!(!latch.is_set());
    let Lent { slot: id, handler, .. } = bench.call("0:b");
    let news = bench.dispatch.returned(id, handler, true, true, bench.now, &mut bench.waste);
    assert!(news && latch.is_set() && bench.synced(slot), "f_52: also when the last one panics");
    let status = &bench.dispatch.statuses()[0];
    assert_eq!((status.handled, status.panics, status.pending), (2, 1, 0));
}

#[test]
fn t_4_i_13_a_handler_registered_while_a_batch_drains_gets_a_snapshot_first() {
    let mut bench = Bench::running(&[Auto]);
    bench.publish("a");
    let lent = bench.call("0:a"); // its handler registers another one while the batch drains
    let (late, latch) = bench.add(Auto);
    bench.give_back(lent);
    assert_eq!(bench.next(0).0, "boundary");
    assert_eq!(bench.dispatch.boundary(0), Some(true), "somebody waits to be taken in");
    let own = bench.dispatch.admit(&Bench::events("a", true), bench.now, &mut bench.waste);
    assert!(own.is_empty());
    assert_eq!(bench.dispatch.boundary(0), Some(false));
    bench.publish("b");
    assert!(!latch.is_set(), "i_13");
    assert_eq!(bench.drain(), "1:a 0:b 1:b", "nothing twice, no gap");
    assert!(latch.is_set() && late == 1);
}

#[test]
fn t_4_i_14_a_late_handler_of_an_empty_synced_informer_is_synced_without_events() {
    let mut bench = Bench::running(&[]);
    let (_, latch) = bench.add(Thread);
    assert!(!latch.is_set());
    assert_eq!(bench.dispatch.admit(&Bench::events("", true), bench.now, &mut bench.waste), [0]);
    assert!(latch.is_set());
}

#[test]
fn t_4_a_handler_admitted_before_the_first_list_syncs_with_it() {
    let mut bench = Bench::new();
    bench.dispatch.start(bench.now);
    let (_, latch) = bench.add(Auto);
    bench.dispatch.admit(&Bench::events("", true), bench.now, &mut bench.waste);
    assert!(!latch.is_set());
    bench.publish_first("a");
    assert!(!latch.is_set());
    bench.drain();
    assert!(latch.is_set());
}

#[test]
fn t_5_i_12_an_empty_first_list_syncs_everybody() {
    let mut bench = Bench::new();
    let (_, latch) = bench.add(Auto);
    bench.dispatch.start(bench.now);
    assert!(!bench.dispatch.is_primed());
    bench.publish_first("");
    assert!(bench.dispatch.is_primed() && latch.is_set());
}

#[test]
fn t_6_a_slow_call_is_moved_off_and_order_is_unbroken() {
    let mut bench = Bench::running(&[Auto, Auto]);
    bench.publish("a b");
    let slow = bench.call("0:a");
    bench.promote_now();
    // The new pop thread goes on with the others; the slow handler's backlog stays where it is.
    assert_eq!(bench.drain(), "1:a 1:b");
    bench.publish("c");
    assert_eq!(bench.drain(), "1:c");
    // The old one finds that the role has gone and stays with its handler.
    bench.give_back(slow);
    assert_eq!(bench.next(0).0, "own");
    for want in ["0:b", "0:c"] {
        let lent = bench.own_call(0, want);
        bench.give_back(lent);
    }
    assert_eq!(bench.next_own(0).0, "wait");
    let status = &bench.dispatch.statuses()[0];
    assert!(status.promoted && status.own_thread);
    assert_eq!(bench.dispatch.promotions(), (1, 0));
    // The old epoch writes nothing any more.
    assert_eq!(bench.dispatch.boundary(0), None);
    assert_eq!(bench.dispatch.boundary(1), Some(false));
}

#[test]
fn t_6_the_call_returns_between_the_watchdogs_decision_and_the_promotion() {
    let mut bench = Bench::running(&[Auto, Auto]);
    bench.publish("a b");
    let slow = bench.call("0:a");
    assert!(bench.dispatch.arm().is_some());
    bench.wait(300);
    let call = bench.due();
    bench.give_back(slow);
    let next = bench.call("1:a");
    assert_eq!(bench.dispatch.arm(), None, "one promotion at a time");
    assert!(!bench.promote(call), "the spare ends");
    assert_eq!(bench.epoch, 0);
    assert!(bench.dispatch.arm().is_some(), "and the call that is out now is watched");
    bench.give_back(next);
    assert_eq!(bench.drain(), "0:b 1:b");
}

#[test]
fn t_6_a_later_call_of_the_same_handler_is_not_promoted_for_an_earlier_one() {
    let mut bench = Bench::running(&[Auto]);
    bench.publish("a b");
    let first = bench.call("0:a");
    bench.arrive();
    bench.wait(300);
    let call = bench.due();
    bench.give_back(first);
    let _second = bench.call("0:b");
    assert!(!bench.promote(call));
}

#[test]
fn t_6_remove_then_promote_the_same_call() {
    let mut bench = Bench::running(&[Inline]);
    bench.publish("a b");
    let stuck = bench.call("0:a");
    bench.arrive();
    assert_eq!(bench.dispatch.arm(), None, "an inline handler stays");
    bench.dispatch.remove(0, &mut bench.waste);
    assert!(bench.dispatch.arm().is_some(), "a removed one does not");
    bench.wait(300);
    let call = bench.due();
    assert!(bench.promote(call));
    assert!(!bench.dispatch.is_erased(0));
    assert_eq!(bench.next(1).0, "boundary");
    assert!(bench.give_back(stuck), "who waits for its end is told");
    assert!(bench.dispatch.is_erased(0));
    assert_eq!(bench.next(0).0, "own");
    assert_eq!(bench.next_own(0).0, "exit");
}

#[test]
fn t_6_stop_before_the_promotion_makes_it_void() {
    let mut bench = Bench::running(&[Auto]);
    bench.publish("a b");
    let slow = bench.call("0:a");
    bench.arrive();
    bench.wait(300);
    let call = bench.due();
    bench.dispatch.stop(&mut bench.waste);
    assert!(!bench.promote(call));
    assert_eq!(bench.dispatch.arm(), None);
    bench.give_back(slow);
    assert_eq!(bench.next(0).0, "exit");
    assert!(bench.dispatch.statuses().is_empty());
}

#[test]
fn t_6_stop_after_the_promotion_ends_both_threads() {
    let mut bench = Bench::running(&[Auto]);
    bench.publish("a b");
    let slow = bench.call("0:a");
    bench.promote_now();
    bench.dispatch.stop(&mut bench.waste);
    assert_eq!(bench.next(1).0, "exit");
    bench.give_back(slow);
    assert_eq!(bench.next(0).0, "own");
    assert_eq!(bench.next_own(0).0, "exit");
}

#[test]
fn t_6_a_second_handler_is_promoted_while_the_first_is_still_blocked() {
    let mut bench = Bench::running(&[Auto, Auto, Auto]);
    bench.publish("a");
    let first = bench.call("0:a");
    bench.promote_now();
    let second = bench.call("1:a");
    bench.promote_now();
    assert_eq!(bench.epoch, 2);
    assert_eq!(bench.drain(), "2:a");
    // They come back in any order, each to its own handler.
    bench.give_back(second);
    assert_eq!((bench.next(1).0, bench.next_own(1).0), ("own".to_owned(), "wait".to_owned()));
    bench.give_back(first);
    assert_eq!((bench.next(0).0, bench.next_own(0).0), ("own".to_owned(), "wait".to_owned()));
    assert_eq!(bench.dispatch.promotions(), (2, 0));
}

#[test]
fn t_6_t_3_a_promoted_call_that_panics_is_handled_and_the_handler_stays_where_it_is() {
    let mut bench = Bench::new();
    let (_, latch) = bench.add(Auto);
    bench.add(Auto);
    bench.dispatch.start(bench.now);
    bench.publish_first("a b");
    let Lent { slot, handler, event, .. } = bench.call("0:a");
    bench.promote_now();
    bench.dispatch.returned(slot, handler, event.is_initial(), true, bench.now, &mut bench.waste);
    assert_eq!(bench.next(0).0, "own");
    let lent = bench.own_call(0, "0:b");
    bench.give_back(lent);
    let status = &bench.dispatch.statuses()[0];
    assert_eq!((status.handled, status.panics, status.own_thread), (2, 1, true));
    assert!(latch.is_set());
    assert_eq!(bench.drain(), "1:a 1:b");
}

#[test]
fn t_6_no_thread_for_it_changes_nothing_but_a_count() {
    let mut bench = Bench::running(&[Auto]);
    bench.publish("a b");
    let slow = bench.call("0:a");
    bench.arrive();
    bench.wait(300);
    bench.due();
    bench.dispatch.unpromoted();
    assert!(bench.dispatch.arm().is_some(), "it will be tried again");
    bench.give_back(slow);
    assert_eq!(bench.drain(), "0:b");
    assert_eq!(bench.dispatch.promotions(), (0, 1));
}

#[test]
fn t_6_the_watchdog_is_armed_while_something_waits_and_only_then() {
    // Nothing waits: a handler may take its time.
    let mut bench = Bench::running(&[Auto, Thread]);
    bench.publish("a");
    let slow = bench.call("0:a");
    assert_eq!(bench.dispatch.arm(), None, "the backlog of an own thread does not wait for the pop role");
    bench.wait(10_000);
    assert_eq!(bench.dispatch.due(bench.now), Due::Nothing);
    // The queue
    bench.arrive();
    assert_eq!(
        bench.dispatch.arm(),
        Some(bench.now - Duration::from_millis(9750)),
        "its time is over already"
    );
    assert_eq!(bench.dispatch.arm(), None, "one alarm at a time");
    bench.give_back(slow);
    // What the pop role has taken does not wait any more, even if it is told late.
    bench.dispatch.due(bench.now);
    bench.dispatch.took(bench.news);
    let told_late = bench.news;
    bench.publish("b");
    let slow = bench.call("0:b");
    bench.dispatch.arrived(told_late);
    assert_eq!(bench.dispatch.arm(), None);
    // A handler that wants to be taken in
    bench.add(Auto);
    assert!(bench.dispatch.arm().is_some());
    bench.give_back(slow);
    // A sibling's backlog
    let mut bench = Bench::running(&[Auto, Auto]);
    bench.publish("a");
    let _slow = bench.call("0:a");
    assert!(bench.dispatch.arm().is_some());
}

#[test]
fn t_4_t_6_i_27_what_waits_when_a_handler_is_taken_in_still_waits_while_it_is_called() {
    // The queue tells of news once. If a replay comes first, nobody tells again.
    let mut bench = Bench::running(&[]);
    bench.add(Auto);
    bench.arrive();
    assert_eq!(bench.dispatch.boundary(0), Some(true));
    bench.dispatch.admit(&Bench::events("a", true), bench.now, &mut bench.waste);
    let _slow = bench.call("0:a");
    assert!(bench.dispatch.arm().is_some(), "i_27: a replay that blocks for ever is moved off");
}

#[test]
fn t_6_many_short_calls_count_together_until_the_next_boundary() {
    let mut bench = Bench::running(&[Auto]);
    bench.publish("a b c d");
    bench.arrive();
    for want in ["0:a", "0:b"] {
        let lent = bench.call(want);
        bench.wait(100);
        bench.give_back(lent);
    }
    let _third = bench.call("0:c");
    assert_eq!(bench.dispatch.arm(), Some(bench.now + Duration::from_millis(50)));
    assert_eq!(bench.dispatch.due(bench.now), Due::Later(bench.now + Duration::from_millis(50)));
    bench.wait(50);
    assert!(matches!(bench.dispatch.due(bench.now), Due::Promote(_)));

    let mut bench = Bench::running(&[Auto]);
    for _ in 0..10 {
        bench.publish("a");
        let lent = bench.call("0:a");
        bench.wait(100);
        bench.give_back(lent);
        assert_eq!(bench.next(0).0, "boundary");
        bench.dispatch.boundary(0);
    }
    bench.publish("a");
    let _lent = bench.call("0:a");
    bench.arrive();
    assert_eq!(bench.dispatch.arm(), Some(bench.now + PATIENCE));
}

#[test]
fn t_7_i_23_removal_in_every_state() {
    // Waiting to be taken in
    let mut bench = Bench::running(&[]);
    let (id, _) = bench.add(Auto);
    bench.dispatch.remove(id, &mut bench.waste);
    assert!(bench.dispatch.is_erased(id) && bench.waste.handlers.len() == 1);
    assert_eq!(bench.dispatch.boundary(0), Some(false));
    // Idle
    let mut bench = Bench::running(&[Auto, Auto]);
    bench.publish("a b");
    bench.dispatch.remove(0, &mut bench.waste);
    assert!(bench.dispatch.is_erased(0));
    assert_eq!(bench.drain(), "1:a 1:b", "what it has not been told is dropped");
    // In a call: no new one starts
    bench.publish("c d");
    let lent = bench.call("1:c");
    bench.dispatch.remove(1, &mut bench.waste);
    bench.publish("e");
    assert!(!bench.dispatch.is_erased(1));
    assert!(bench.give_back(lent));
    assert!(bench.dispatch.is_erased(1));
    assert_eq!(bench.drain(), "");
    // Again, and of something that never was
    bench.dispatch.remove(1, &mut bench.waste);
    bench.dispatch.remove(77, &mut bench.waste);
    assert_eq!(bench.waste.handlers.len(), 2);
}

#[test]
fn t_7_a_handler_that_is_called_removes_itself_its_next_sibling_and_one_it_has_passed() {
    let mut bench = Bench::running(&[Auto, Auto, Auto]);
    bench.publish("a b");
    let first = bench.call("0:a");
    bench.give_back(first);
    let middle = bench.call("1:a");
    for id in [0, 1, 2] {
        bench.dispatch.remove(id, &mut bench.waste);
    }
    bench.give_back(middle);
    assert_eq!(bench.drain(), "");
    assert!(bench.dispatch.statuses().is_empty());
    bench.publish("c");
    assert_eq!(bench.drain(), "");
}

/// `remove_and_wait` of a sibling ends when the sibling is dropped; what drops it is not the one that asks.
#[test]
fn t_7_a_handler_removes_a_sibling_that_is_being_called_on_its_own_thread() {
    let mut bench = Bench::running(&[Auto, Thread]);
    bench.publish("a b");
    let sibling = bench.own_call(1, "1:a");
    let own = bench.call("0:a");
    bench.dispatch.remove(1, &mut bench.waste);
    assert!(!bench.dispatch.is_erased(1), "its call is out");
    assert!(bench.give_back(sibling), "who waits is woken");
    assert!(bench.dispatch.is_erased(1) && !bench.dispatch.is_dropped(1));
    let erased = std::mem::take(&mut bench.waste).erased;
    bench.dispatch.dropped(&erased);
    assert!(bench.dispatch.is_dropped(1));
    assert_eq!(bench.next_own(1).0, "exit");
    bench.give_back(own);
    assert_eq!(bench.drain(), "0:b");
}

#[test]
fn t_7_i_25_a_handler_is_gone_once_it_has_been_dropped() {
    let mut bench = Bench::running(&[Auto]);
    bench.dispatch.remove(0, &mut bench.waste);
    assert!(bench.dispatch.is_erased(0) && !bench.dispatch.is_dropped(0));
    let waste = std::mem::take(&mut bench.waste);
    assert_eq!(bench.drops.load(Ordering::SeqCst), 0, "never inside the lock");
    drop(waste.handlers);
    bench.dispatch.dropped(&waste.erased);
    assert!(bench.dispatch.is_dropped(0));
}

#[test]
fn t_8_i_3_i_8_stop_lets_go_of_everything_but_the_calls_in_progress() {
    let mut bench = Bench::running(&[Auto, Auto, Thread]);
    let (waiting, _) = bench.add(Auto);
    bench.publish("a b");
    let lent = bench.call("0:a");
    let own = bench.own_call(2, "2:a");
    bench.dispatch.stop(&mut bench.waste);
    assert!(bench.dispatch.is_erased(1) && bench.dispatch.is_erased(waiting));
    assert_eq!(bench.waste.handlers.len(), 2);
    bench.publish("c"); // a batch that was being applied
    bench.give_back(lent);
    bench.give_back(own);
    assert_eq!(bench.waste.handlers.len(), 4);
    assert_eq!((bench.next(0).0.as_str(), bench.next_own(2).0.as_str()), ("exit", "exit"), "c_11, i_8");
    let late = Box::new(Handler { drops: Arc::clone(&bench.drops) });
    assert!(bench.dispatch.register(late, Auto, None).is_err(), "i_3");
    bench.dispatch.stop(&mut bench.waste); // again
}

#[test]
fn t_9_a_fold_swallows_the_last_initial_add_as_the_previous_call_returns() {
    for returns_first in [true, false] {
        let mut bench = Bench::new();
        bench.dispatch = Dispatcher::new(1);
        let (_, latch) = bench.add(Auto);
        bench.dispatch.start(bench.now);
        bench.publish_first("a/u1@1 b/u2@2");
        let mut lent = Some(bench.call("0:a"));
        if returns_first {
            bench.give_back(lent.take().unwrap());
            assert!(!latch.is_set());
        }
        let gone: Events<Item> =
            Arc::new(vec![Event::Deleted { object: item("b/u2@3"), final_state_unknown: false }]);
        bench.dispatch.publish(&gone, false, &mut bench.waste);
        if let Some(lent) = lent {
            assert!(!latch.is_set());
            assert!(bench.give_back(lent));
        }
        assert!(latch.is_set());
        assert_eq!(bench.drain(), "");
    }
}

#[test]
fn t_9_a_resync_that_makes_a_backlog_fold_counts_what_is_swallowed() {
    let mut bench = Bench::new();
    bench.dispatch = Dispatcher::new(3);
    let (_, latch) = bench.add_with(Auto, Some(Duration::from_secs(1)));
    bench.dispatch.start(bench.now);
    bench.publish_first("a/u1@1 b/u2@2");
    let lent = bench.call("0:a");
    let gone: Events<Item> = Arc::new(vec![
        Event::Deleted { object: item("b/u2@3"), final_state_unknown: false },
        Event::Added { object: item("c/u3@4"), initial: false },
    ]);
    bench.dispatch.publish(&gone, false, &mut bench.waste); // now over the limit, not folded yet
    bench.wait(1000);
    let resync: Events<Item> = Arc::new(vec![Event::Resynced { object: item("c/u3@4") }]);
    bench.dispatch.resync(&resync, bench.now, &mut bench.waste);
    bench.give_back(lent);
    assert!(latch.is_set());
    assert_eq!(bench.drain(), "0:c");
}

#[test]
fn i_40_i_43_each_handler_is_resynced_at_its_own_exact_period() {
    let mut bench = Bench::new();
    for seconds in [0, 2, 3] {
        bench.add_with(Auto, (seconds > 0).then(|| Duration::from_secs(seconds)));
    }
    bench.dispatch.start(bench.now);
    let start = bench.now;
    assert_eq!(bench.dispatch.next_resync(), None, "not before the first list");
    bench.publish_first("");
    let resync: Events<Item> = Arc::new(vec![Event::Resynced { object: item("a/u1@1") }]);
    let mut calls = Vec::new();
    while bench.now < start + Duration::from_secs(6) {
        bench.now = bench.dispatch.next_resync().unwrap();
        assert!(bench.dispatch.resync_due(bench.now));
        bench.dispatch.resync(&resync, bench.now, &mut bench.waste);
        calls.push(format!("{:?} {}", bench.now - start, bench.drain()));
    }
    assert_eq!(calls, ["2s 1:a", "3s 2:a", "4s 1:a", "6s 1:a 2:a"]);
    // Times that were missed are left out, and the rhythm stays.
    bench.now = start + Duration::from_millis(11_500);
    bench.dispatch.resync(&resync, bench.now, &mut bench.waste);
    assert_eq!(bench.drain(), "1:a 2:a");
    assert_eq!(bench.dispatch.next_resync(), Some(start + Duration::from_secs(12)));
    // i_43 is dropped: a late handler is resynced too, from when it was taken in.
    bench.add_with(Auto, Some(Duration::from_millis(1100)));
    bench.dispatch.admit(&Bench::events("", true), bench.now, &mut bench.waste);
    bench.dispatch.remove(1, &mut bench.waste);
    bench.dispatch.remove(2, &mut bench.waste);
    assert_eq!(bench.dispatch.next_resync(), Some(start + Duration::from_millis(12_600)));
}

#[test]
fn a_period_too_long_for_the_clock_is_no_resync() {
    let mut bench = Bench::new();
    bench.add_with(Auto, Some(Duration::MAX));
    bench.dispatch.start(bench.now);
    bench.publish_first("");
    assert_eq!(bench.dispatch.next_resync(), None);
}
