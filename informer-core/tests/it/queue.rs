//! From the source through the queue into the store and to handlers: what a pop thread that stands in a handler finds
//! when it comes back, and what a list means.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informer_core::{
    ChangeKind, Delivery, Event, EventHandler, Flow, HandlerOptions, Index, Labels, ListEnd, ListRequest,
    ListSink, ListWatch, MetaView, Object, Registration, Result, SharedInformer, Stop, WatchEnd,
    WatchRequest, WatchSink, WeakInformer,
};
use informer_testkit::{
    FakeSource, Gate, ListFault, ManualClock, Probe, Recorder, TestObject, WatchFault, World, states, within,
};

const LONG: Duration = Duration::from_secs(20);
/// Longer than any back-off.
const RESYNC: Duration = Duration::from_secs(100);

fn object(key: &str) -> TestObject {
    TestObject::new(key)
}

fn source_of(keys: &[&str]) -> FakeSource {
    let source = FakeSource::new();
    for key in keys {
        source.create(object(key));
    }
    source
}

fn inline() -> HandlerOptions {
    HandlerOptions::new().delivery(Delivery::Inline)
}

/// Waits until a handler has synced; a wait by a manual clock would not end by itself.
fn synced(registration: Registration<TestObject>) -> Registration<TestObject> {
    within("a handler to sync", move || registration.wait_synced(LONG).map(|()| registration)).unwrap()
}

/// The watch breaks, `change` happens unseen, and the version is forgotten: a list follows.
fn relist(source: &FakeSource, clock: &ManualClock, change: impl FnOnce(&mut World<TestObject>)) {
    source.wait_for_idle_watches(1);
    source.edit(|world| {
        world.close_watches();
        change(world);
        world.compact();
    });
    pass_backoff(clock);
    source.wait_for_idle_watches(1);
}

/// Waits until the reader backs off after 410, and lets that time pass.
fn pass_backoff(clock: &ManualClock) {
    // The watchdog may be armed too: for less. Resyncs are for more.
    let range = Duration::from_millis(500)..Duration::from_secs(5);
    let backoff = clock.wait_for_alarm("the back-off after 410", |until| range.contains(&until));
    clock.advance(backoff);
}

/// An informer whose pop thread stands in a handler, at the first event, until the gate opens.
struct Blocked {
    source: FakeSource,
    clock: ManualClock,
    informer: SharedInformer<TestObject>,
    registration: Registration<TestObject>,
    gate: Gate,
    seen: Recorder,
}

impl Blocked {
    fn new(limit: usize) -> Self {
        let source = source_of(&["a"]);
        let clock = ManualClock::new();
        let informer =
            SharedInformer::builder(source.clone()).clock(clock.clone()).queue_limit(limit).build();
        let (gate, seen) = (Gate::new("the consumer"), Recorder::new());
        seen.block_at(1, &gate);
        let registration = informer.add_event_handler_with(inline(), seen.clone()).unwrap();
        informer.start().unwrap();
        gate.wait_for_waiting(1);
        source.wait_for_idle_watches(1);
        Blocked { source, clock, informer, registration, gate, seen }
    }

    /// Lets the pop thread go on; answers what the handler was told once it has been told everything.
    #[track_caller]
    fn unblock(&self) -> String {
        self.gate.open();
        let last = self.source.create(object("last"));
        self.seen.wait_until("the last object", |records| {
            records.last().is_some_and(|record| record.key.name() == "last")
        });
        let store = self.informer.store();
        assert_eq!(self.seen.replay(), states(store.list().iter().map(Arc::as_ref)));
        assert_eq!(store.len(), self.source.objects().len());
        let trace = self.seen.trace();
        let end = format!("\nAdded(last@{})", last.resource_version);
        trace.strip_suffix(&end).unwrap_or_else(|| panic!("{trace}")).to_owned()
    }
}

#[test]
fn q_1_f_3_an_informer_is_synced_by_its_first_list_however_empty() {
    let source = source_of(&[]);
    let gate = Gate::new("the end of the first list");
    source.on_next_watch(WatchFault::hold_after(0, &gate));
    let informer = SharedInformer::builder(source).build();
    let seen = Recorder::new();
    let registration = informer.add_event_handler(seen.clone()).unwrap();
    assert!(!informer.has_synced() && !registration.has_synced(), "before the start");
    informer.start().unwrap();
    gate.wait_for_waiting(1);
    assert!(!informer.has_synced() && !registration.has_synced(), "before the end of the list");
    gate.open();
    informer.wait_synced(LONG).unwrap();
    registration.wait_synced(LONG).unwrap();
    assert!(seen.is_empty());
}

#[test]
fn q_2_d3_objects_without_the_end_of_the_list_make_nobody_synced() {
    let source = source_of(&["a", "b"]);
    let gate = Gate::new("the end of the first list");
    source.on_next_watch(WatchFault::hold_after(2, &gate));
    let informer = SharedInformer::builder(source).build();
    let seen = Recorder::new();
    let registration = informer.add_event_handler(seen.clone()).unwrap();
    informer.start().unwrap();
    gate.wait_for_waiting(1); // both have been told
    assert!(!informer.has_synced() && !registration.has_synced());
    assert!(seen.is_empty() && informer.store().is_empty(), "half a list is nothing");
    gate.open();
    registration.wait_synced(LONG).unwrap();
    assert_eq!(seen.len(), 2);
}

/// What a handler found at each event: the event, how many objects the store had, whether the informer had synced.
type Findings = Probe<Vec<(String, usize, bool)>>;

/// Adds a handler that notes what it finds.
fn finding(informer: &SharedInformer<TestObject>) -> (Findings, Registration<TestObject>) {
    let found = Probe::new(Vec::new());
    let (weak, store, tell) = (informer.downgrade(), informer.store(), found.clone());
    let registration = informer
        .on_event(move |event| {
            let synced = weak.upgrade().is_some_and(|informer| informer.has_synced());
            tell.update(|found| found.push((format!("{event:?}"), store.len(), synced)));
        })
        .unwrap();
    (found, registration)
}

#[test]
fn q_3_at_the_first_event_of_the_first_list_all_of_it_is_stored_and_the_informer_has_synced() {
    let informer = SharedInformer::builder(source_of(&["a", "b", "c"])).build();
    let (found, registration) = finding(&informer);
    informer.start().unwrap();
    registration.wait_synced(LONG).unwrap();
    let want = ["a@1", "b@2", "c@3"].map(|name| (format!("Added({name}, initial)"), 3, true));
    assert_eq!(found.get(), want);
}

#[test]
fn c_7_the_adds_of_a_batch_are_told_in_order_after_all_of_them_are_stored() {
    let blocked = Blocked::new(100);
    let (found, registration) = finding(&blocked.informer);
    for name in ["d", "b", "c"] {
        blocked.source.create(object(name));
    }
    blocked.source.wait_for_idle_watches(1); // they are queued, and will be one batch
    blocked.gate.open();
    found.wait("all adds", |found| found.len() == 4);
    assert!(registration.has_synced());
    // The late handler is taken in first; then comes the batch.
    let at = |event: &str, stored| (event.to_owned(), stored, true);
    let want = [at("Added(a@1, initial)", 1), at("Added(d@2)", 4), at("Added(b@3)", 4), at("Added(c@4)", 4)];
    assert_eq!(found.get(), want);
}

#[test]
fn c_5_at_the_first_event_of_a_relist_the_store_shows_all_of_it() {
    let (source, clock) = (source_of(&["gone", "changed", "same"]), ManualClock::new());
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).build();
    let views = Probe::new(Vec::new());
    let (store, tell) = (informer.store(), views.clone());
    informer
        .on_event(move |event| {
            let mut view: Vec<_> = store.list().iter().map(ToString::to_string).collect();
            view.sort_unstable();
            tell.update(|views| views.push(format!("{event:?} of {}", view.join(" "))));
        })
        .unwrap();
    informer.start().unwrap();
    views.wait("the first list", |views| views.len() == 3);
    views.set(Vec::new());
    relist(&source, &clock, |world| {
        world.delete("gone");
        world.update(object("changed").value(1));
        world.create(object("new"));
    });
    views.wait("the relist", |views| views.len() == 3);
    let all = "changed@5 new@6 same@3";
    let want = ["Deleted(gone@1, final state unknown)", "Updated(changed@2→5)", "Added(new@6)"];
    assert_eq!(views.get(), want.map(|event| format!("{event} of {all}")));
}

#[test]
fn q_4_a_later_list_leaves_informer_and_handlers_synced() {
    let (source, clock) = (source_of(&["a"]), ManualClock::new());
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).streaming(false).build();
    let seen = Recorder::new();
    let registration = informer.add_event_handler(seen.clone()).unwrap();
    informer.start().unwrap();
    let registration = synced(registration);
    source.wait_for_idle_watches(1);
    let gate = Gate::new("the second list");
    source.on_next_list(ListFault::hold(&gate));
    clock.advance(Duration::from_secs(2)); // a watch that ends now was none of the fruitless ones
    source.edit(|world| {
        world.close_watches();
        world.create(object("b"));
        world.compact();
    });
    pass_backoff(&clock);
    gate.wait_for_waiting(1);
    assert!(informer.has_synced() && registration.has_synced(), "while it is on its way");
    gate.open();
    seen.wait_for(2);
    assert!(informer.has_synced() && registration.has_synced());
    assert_eq!(seen.trace(), "Added(a@1, initial)\nAdded(b@2)", "and its adds are not initial");
}

/// On hearing of `a` it creates `b`; notes how much is queued while it runs.
struct Causing {
    source: FakeSource,
    informer: WeakInformer<TestObject>,
    queued: Probe<Vec<(String, usize)>>,
}

impl EventHandler<TestObject> for Causing {
    fn on_event(&mut self, event: &Event<TestObject>) {
        let name = event.object().name.clone();
        if name == "a" {
            self.source.create(object("b"));
            self.source.wait_for_idle_watches(1); // the reader has pushed it
        }
        let queued = self.informer.upgrade().map_or(0, |informer| informer.status().queued);
        self.queued.update(|all| all.push((name, queued)));
    }
}

#[test]
fn st_1_a_handler_is_synced_by_the_list_and_its_adds_whichever_ends_last_and_stays_so() {
    // The list ends first: `Inline` on one thread, an add that does not return.
    let blocked = Blocked::new(100);
    assert!(blocked.informer.has_synced() && !blocked.registration.has_synced());
    let late = blocked.informer.add_event_handler(Recorder::new()).unwrap();
    assert!(!late.has_synced(), "it has not been told what is stored");
    blocked.unblock();
    let (first, second) = (blocked.registration, synced(late));
    let all = || assert!(first.has_synced() && second.has_synced());
    all();
    // Nothing takes it back: not another list, not the end.
    relist(&blocked.source, &blocked.clock, |world| drop(world.create(object("b"))));
    all();
    blocked.informer.stop();
    blocked.informer.join().unwrap();
    all();
    // Whoever has nothing to do is synced by the end of the list: see q_1.
}

#[test]
fn q_6_what_a_handler_causes_is_queued_while_it_runs() {
    let source = source_of(&["a"]);
    let informer = SharedInformer::builder(source.clone()).build();
    let queued = Probe::new(Vec::new());
    let handler = Causing { source, informer: informer.downgrade(), queued: queued.clone() };
    informer.add_event_handler_with(inline(), handler).unwrap();
    informer.start().unwrap();
    queued.wait("both", |queued| queued.len() == 2);
    assert_eq!(queued.get(), [("a".to_owned(), 1), ("b".to_owned(), 0)]);
}

#[test]
fn f_13_d2_the_watch_never_waits_for_a_consumer_that_stands() {
    let blocked = Blocked::new(16);
    for round in 0..3000u64 {
        let key = format!("k{}", round % 5);
        blocked.source.edit(|world| match (world.get(&key), round % 7) {
            (Some(_), 0) => drop(world.delete(&key)),
            _ => drop(world.apply(object(&key).value(round))),
        });
    }
    blocked.source.wait_for_idle_watches(1); // everything has been read
    let status = blocked.informer.status();
    assert!(status.queued <= 16 + 10, "two entries for each of five keys above the limit: {}", status.queued);
    assert!(status.folded > 2900, "{}", status.folded);
    assert_eq!(status.counters.watches, 1, "one watch");
    blocked.unblock();
}

#[test]
fn f_39_a_delete_that_is_queued_does_not_swallow_the_add_of_a_relist() {
    for limit in [1, 100] {
        let blocked = Blocked::new(limit);
        blocked.source.delete("a");
        relist(&blocked.source, &blocked.clock, |world| drop(world.create(object("a"))));
        let want = "Added(a@1, initial)\nDeleted(a@2)\nAdded(a@3)";
        assert_eq!(blocked.unblock(), want, "with a limit of {limit}");
    }
}

#[test]
fn f_40_what_is_queued_but_neither_stored_nor_listed_leaves_no_ghost() {
    for limit in [1, 100] {
        let blocked = Blocked::new(limit);
        blocked.source.create(object("ghost"));
        relist(&blocked.source, &blocked.clock, |world| drop(world.delete("ghost")));
        let want = match limit {
            1 => "Added(a@1, initial)", // folded: nothing at all
            _ => "Added(a@1, initial)\nAdded(ghost@2)\nDeleted(ghost@2, final state unknown)",
        };
        assert_eq!(blocked.unblock(), want, "with a limit of {limit}");
    }
}

#[test]
fn f_41_d4_another_object_of_the_same_name_is_a_delete_and_an_add_also_between_resyncs() {
    let (source, clock) = (source_of(&["a"]), ManualClock::new());
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).resync(RESYNC).build();
    let seen = Recorder::new();
    informer.add_event_handler(seen.clone()).unwrap();
    informer.start().unwrap();
    seen.wait_for(1);
    let resync = || {
        let count = seen.len();
        let until = clock.wait_for_alarm("the resync", |until| until > Duration::from_secs(60));
        clock.advance(until);
        seen.wait_for(count + 1);
    };
    resync();
    relist(&source, &clock, |world| {
        world.delete("a");
        world.create(object("a"));
    });
    seen.wait_for(4);
    resync();
    // In the stream, the delete lost on the way
    let stored = informer.store().get("a").unwrap();
    let version = source.edit(|world| {
        world.skip_versions(1);
        let version = world.version();
        world.send(ChangeKind::Added, object("a").uid("another").version(&version));
        version
    });
    seen.wait_for(7);
    resync();
    assert_eq!(
        seen.trace(),
        format!(
            "Added(a@1, initial)\nResynced(a@1)\nDeleted(a@1, final state unknown)\nAdded(a@3)\nResynced(a@3)\n\
             Deleted(a@{}, final state unknown)\nAdded(a@{version})\nResynced(a@{version})",
            stored.resource_version
        )
    );
    assert_eq!(seen.replay().len(), 1);
}

#[test]
fn f_42_f_12_s_15_what_a_transform_cannot_do_and_what_is_gone_unseen_hurt_no_list() {
    let (source, clock) = (source_of(&["a", "b"]), ManualClock::new());
    source.create(object("bad").value(13));
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let told = Probe::new(Vec::<String>::new());
    let tell = told.clone();
    let by_name: Index<TestObject, String> =
        Index::new("by-name", |object: &TestObject| [object.name.clone()]);
    let informer = SharedInformer::builder(source.clone())
        .clock(clock.clone())
        .index(&by_name)
        .transform(move |object: &mut TestObject| {
            count.fetch_add(1, Ordering::SeqCst);
            assert!(object.value != 13, "told to");
            object.value += 100;
        })
        .on_error(move |report| {
            let text = report.error.chain().to_string();
            tell.update(|told| told.push(text));
        })
        .build();
    let seen = Recorder::new();
    let only_a = Recorder::new();
    informer.add_event_handler(seen.clone()).unwrap();
    informer.add_event_handler(only_a.clone().filter(|object: &TestObject| object.name == "a")).unwrap();
    informer.start().unwrap();
    seen.wait_for(2);
    assert!(informer.has_synced(), "f_12: the list is taken without it");
    assert_eq!(informer.status().stale.len(), 1);
    assert_eq!(informer.store().get("a").unwrap().value, 100);
    let text = told.get().concat();
    assert!(text.contains("bad") && text.contains("transform"), "s_15: which object, and why: {text}");
    assert!(!text.contains("13"), "and nothing of its content: {text}");
    let before = calls.load(Ordering::SeqCst);
    relist(&source, &clock, |world| {
        for key in ["a", "b", "bad"] {
            world.delete(key);
        }
    });
    seen.wait_for(4);
    only_a.wait_for(2);
    assert_eq!(only_a.trace(), "Added(a@1, initial)\nDeleted(a@1, final state unknown)");
    assert_eq!(calls.load(Ordering::SeqCst), before, "it is not called for what is gone");
    assert!(by_name.values(&informer.store()).unwrap().is_empty());
    assert!(informer.status().stale.is_empty());
}

#[test]
fn f_6_d_6_a_resync_leaves_out_what_has_a_change_in_the_queue() {
    let (source, clock) = (source_of(&["a", "b"]), ManualClock::new());
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).build();
    let (seen, blocker, gate) = (Recorder::new(), Recorder::new(), Gate::new("the consumer"));
    informer.add_event_handler_with(inline().resync(RESYNC), seen.clone()).unwrap();
    blocker.block_at(3, &gate);
    informer.add_event_handler_with(inline(), blocker.clone()).unwrap();
    informer.start().unwrap();
    blocker.wait_for_returned(2);
    source.update(object("a").value(1));
    gate.wait_for_waiting(1);
    source.update(object("a").value(2));
    source.wait_for_idle_watches(1);
    clock.advance(RESYNC); // due while the pop thread is away
    gate.open();
    let records = seen.wait_for(5);
    assert_eq!(records.len(), 5);
    assert_eq!(
        seen.trace(),
        "Added(a@1, initial)\nAdded(b@2, initial)\nUpdated(a@1→3)\nUpdated(a@3→4)\nResynced(b@2)",
        "never an older state after a newer one, and nothing twice"
    );
    // It is not forgotten for good.
    let until = clock.wait_for_alarm("the next resync", |until| until == RESYNC);
    clock.advance(until);
    seen.wait_for(7);
}

#[test]
fn s_12_the_stores_version_follows_everything_that_is_applied() {
    let (source, clock) = (source_of(&["a"]), ManualClock::new());
    let informer = SharedInformer::builder(source.clone()).clock(clock.clone()).build();
    assert_eq!(informer.store().resource_version(), "");
    informer.start().unwrap();
    let reaches = |what: &str| {
        let (store, version) = (informer.store(), source.version());
        let wanted = version.clone();
        within("the store to get there", move || store.wait_until(&wanted, LONG)).unwrap();
        assert_eq!(informer.store().resource_version(), version, "{what}");
    };
    reaches("a list");
    source.create(object("b"));
    reaches("an add");
    source.update(object("b").value(1));
    reaches("an update");
    source.delete("b");
    reaches("a delete");
    source.edit(|world| {
        world.skip_versions(5);
        world.bookmark();
    });
    reaches("a bookmark");
    relist(&source, &clock, |world| {
        world.create(object("c"));
    });
    reaches("a relist");
}

/// An object with something heavy in it.
struct Heavy {
    name: String,
    version: String,
    ballast: Option<Arc<()>>,
}

impl Object for Heavy {
    fn meta(&self) -> MetaView<'_> {
        MetaView {
            namespace: "",
            name: &self.name,
            uid: &self.name,
            resource_version: &self.version,
            labels: Labels::from_map(None),
        }
    }
}

/// Lists a hundred heavy objects, as a stream or not, then changes each of them.
struct HeavySource {
    ballast: Arc<()>,
    streaming: bool,
    done: Probe<bool>,
}

impl HeavySource {
    fn object(&self, at: usize, version: usize) -> Heavy {
        Heavy { name: at.to_string(), version: version.to_string(), ballast: Some(Arc::clone(&self.ballast)) }
    }
}

impl ListWatch<Heavy> for HeavySource {
    fn list(&self, _: &ListRequest, _: &Stop, sink: &mut dyn ListSink<Heavy>) -> Result<ListEnd> {
        (0..100).for_each(|at| sink.item(self.object(at, at + 1)));
        Ok(ListEnd { resource_version: "100".to_owned(), continue_token: None })
    }

    fn watch(
        &self,
        request: &WatchRequest,
        stop: &Stop,
        sink: &mut dyn WatchSink<Heavy>,
    ) -> Result<WatchEnd> {
        sink.opened();
        let mut flow = Flow::Continue;
        if request.initial_events {
            for at in 0..100 {
                flow = sink.change(ChangeKind::Added, self.object(at, at + 1));
            }
            flow = if flow == Flow::End { flow } else { sink.bookmark("100", true) };
        }
        for at in 0..100 {
            if flow == Flow::End {
                return Ok(WatchEnd::Ended);
            }
            flow = sink.change(ChangeKind::Modified, self.object(at, at + 101));
        }
        self.done.set(true);
        stop.wait();
        Err(informer_core::Error::stopped())
    }

    fn name(&self) -> String {
        "heavy".to_owned()
    }

    fn can_stream(&self) -> bool {
        self.streaming
    }
}

#[test]
fn f_47_r_59_what_a_transform_drops_is_kept_nowhere_and_it_runs_once_an_object() {
    for streaming in [false, true] {
        let (ballast, done) = (Arc::new(()), Probe::new(false));
        let source = HeavySource { ballast: Arc::clone(&ballast), streaming, done: done.clone() };
        let calls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&calls);
        let informer = SharedInformer::builder(source)
            .transform(move |object: &mut Heavy| {
                assert!(object.ballast.take().is_some(), "it was called before");
                count.fetch_add(1, Ordering::SeqCst);
            })
            .build();
        let told = Probe::new(0);
        let tell = told.clone();
        informer
            .on_event(move |event| {
                assert!(event.object().ballast.is_none());
                tell.update(|told| *told += 1);
            })
            .unwrap();
        informer.start().unwrap();
        done.wait("the end of the stream", |done| *done);
        told.wait("every event", |told| *told == 200);
        assert_eq!(calls.load(Ordering::SeqCst), 200, "streaming: {streaming}");
        assert_eq!(Arc::strong_count(&ballast), 2, "the test's and the source's; streaming: {streaming}");
        assert_eq!(informer.status().counters.bad_objects, 0);
    }
}
