//! Servers that are not there, for a while or for long, and the pace of requests meanwhile.

use informer_testkit::{ListFault, WatchFault, status_error};

use super::*;

#[test]
fn x_4_a_server_that_is_away_for_five_minutes_costs_nothing_but_time() {
    let rig = Rig::synced();
    rig.let_time_pass();
    let start = rig.clock.elapsed();
    rig.source.start_outage(refused());
    let mut delays = Vec::new();
    let mut contact = Duration::ZERO;
    while rig.clock.elapsed() - start < Duration::from_secs(300) {
        let until = rig.clock.wait_for_alarm("a back-off", |by| by >= Duration::from_millis(800));
        let age = rig.informer.status().last_contact.unwrap();
        assert!(age > contact, "f_04: the age of the last contact grows");
        contact = age;
        assert_eq!(rig.informer.store().len(), 3, "the store goes on serving");
        delays.push(rig.back_off());
        assert_eq!(delays.last(), Some(&until));
    }
    assert_schedule(&delays); // r_2, r_4: no reset while nothing works
    let last = rig.informer.status().last_error.unwrap();
    assert_eq!(last.error.kind(), ErrorKind::Refused);
    assert!(last.consecutive as usize >= delays.len());
    rig.clock.wait_for_alarm("the last back-off", |by| by >= Duration::from_millis(800));
    rig.source.end_outage();
    rig.back_off();
    rig.quiet();
    assert_eq!(rig.lists(), 1, "r_23, f_64: the version is still good");
    assert!(rig.seen.is_empty(), "nothing was deleted, nothing told twice");
    assert!(rig.informer.status().last_error.is_none());
    rig.source.delete("default/b");
    rig.seen.wait_for_returned(1);
}

/// How many requests a source gets in a simulated minute that answers everything with `error`.
fn requests_in_a_minute(rig: &Rig, error: Error) -> usize {
    rig.source.start_outage(error);
    rig.start();
    while rig.clock.elapsed() < Duration::from_secs(60) {
        rig.back_off();
    }
    rig.clock.wait_for_alarm("the next back-off", |by| by >= Duration::from_millis(800));
    rig.source.requests().len()
}

#[test]
fn f_13_immediate_failures_stay_under_the_ceiling() {
    // At least 0.8, 1.6, 3.2, 6.4, 12.8, 25.6 s apart, and one after the minute is over.
    const CEILING: usize = 8;
    let errors = [
        refused(),
        Error::new(ErrorKind::Tls, "alert"),
        Error::new(ErrorKind::Network, "reset"),
        status(500),
        status(403),
        status(404),
        status(503),
    ];
    for error in errors {
        let count = requests_in_a_minute(&Rig::new(), error.clone());
        assert!(count <= CEILING, "{count} requests by pages for {error}");
        let count = requests_in_a_minute(&Rig::streaming(), error.clone());
        assert!(count <= CEILING, "{count} requests by streaming for {error}");
    }
    // What makes an informer try another way at once may do so a bounded number of times.
    for error in [gone(), status(422)] {
        let count = requests_in_a_minute(&Rig::streaming(), error.clone());
        assert!(count <= 2 * CEILING, "{count} requests for {error}");
    }
}

#[test]
fn f_36_first_lists_that_fail_are_retried_until_one_succeeds() {
    let rig = Rig::new();
    for error in [refused(), refused(), refused(), status(503), status(503), status(503), status(500)] {
        rig.source.on_next_list(ListFault::Fail(error));
    }
    rig.start();
    let mut delays = Vec::new();
    for _ in 0..7 {
        delays.push(rig.back_off());
    }
    rig.wait_synced();
    assert_schedule(&delays);
    assert_eq!(rig.clock.elapsed(), delays.iter().sum::<Duration>());
    assert_eq!(rig.failures().last().unwrap(), "internal list #7 later");
    assert!(rig.source.requests()[..8].iter().all(|request| request.to_string() == "LIST rv=0 limit=500"));
}

#[test]
fn f_36_the_last_error_is_what_a_wait_that_ends_names() {
    let rig = Rig::new();
    rig.source.start_outage(status_error(403, "Forbidden", "pods is forbidden"));
    rig.start();
    rig.failures.wait("the first failure", |failures| !failures.is_empty());
    let informer = rig.informer.clone();
    let waiting = informer_core::sync::spawn("waiting", move || {
        let error = informer.wait_synced(Duration::from_millis(700)).unwrap_err();
        assert!(error.is_timed_out());
        assert!(error.chain().to_string().ends_with("pods is forbidden"), "{}", error.chain());
    })
    .unwrap();
    rig.clock.wait_for_alarm("the wait", |by| by <= Duration::from_millis(700));
    rig.clock.advance(Duration::from_millis(700));
    waiting.join().unwrap();
}

#[test]
fn f_62_a_kind_that_is_not_served_yet_syncs_once_it_is() {
    let rig = Rig::new();
    for _ in 0..5 {
        rig.source.on_next_list(ListFault::Fail(status(404)));
    }
    rig.start();
    for _ in 0..5 {
        rig.clock.wait_for_alarm("a back-off", |by| by >= Duration::from_millis(800));
        let status = rig.informer.status();
        assert!(status.not_served && !status.synced);
        rig.back_off();
    }
    rig.wait_synced();
    rig.quiet();
    assert!(!rig.informer.status().not_served);
    rig.converged();
}

#[test]
fn f_63_a_kind_that_is_removed_keeps_its_objects_and_converges_when_it_returns() {
    let rig = Rig::new();
    let empty = {
        let source = FakeSource::<TestObject>::new();
        source.edit(|world| world.backup())
    };
    let rig = rig.sync();
    rig.source.delete("default/a");
    rig.seen.wait_for_returned(1);
    rig.let_time_pass();
    let start = rig.clock.elapsed();
    let before = rig.source.requests().len();
    rig.source.start_outage(status(404));
    while rig.clock.elapsed() - start < Duration::from_secs(3600) {
        rig.back_off();
    }
    rig.clock.wait_for_alarm("the next back-off", |by| by >= Duration::from_millis(800));
    let requests = rig.source.requests().len() - before;
    assert!(requests <= 6 + 3600 / 30, "{requests} requests in an hour");
    assert_eq!(rig.failures.with(Vec::len), requests, "each is told, none twice");
    let status = rig.informer.status();
    assert!(status.not_served && status.synced);
    assert_eq!(status.objects, 2, "kept, and marked");
    // It comes back with another history: new UIDs, lower versions.
    rig.source.edit(|world| {
        world.restore(&empty);
        world.create(object("default/b"));
    });
    rig.source.end_outage();
    rig.back_off();
    rig.quiet();
    rig.seen.wait_until("the new object", |records| records.iter().any(|record| record.version == "1"));
    assert_eq!(rig.informer.store().keys().len(), 1);
    assert_eq!(rig.informer.store().get("default/b").unwrap().resource_version, "1");
    assert!(!rig.informer.status().not_served);
}

#[test]
fn f_64_many_informers_watch_again_without_a_list_and_spread_out() {
    const MANY: usize = 50;
    let clock = ManualClock::new();
    let source = FakeSource::new();
    source.create(object("default/a"));
    let informers: Vec<SharedInformer<TestObject>> = (0..MANY)
        .map(|_| SharedInformer::builder(source.clone()).clock(clock.clone()).streaming(false).build())
        .collect();
    for informer in &informers {
        informer.start().unwrap();
        informer.wait_synced(LONG).unwrap();
    }
    source.wait_for_idle_watches(MANY);
    clock.advance(Duration::from_secs(5));
    let lists = |source: &FakeSource| {
        source.requests().iter().filter(|request| matches!(request, SourceRequest::List(_))).count()
    };
    assert_eq!(lists(&source), MANY);

    source.start_outage(refused());
    let start = clock.elapsed();
    while clock.elapsed() - start < Duration::from_secs(20) {
        clock.wait_for_alarms(MANY);
        clock.advance_to_next();
    }
    clock.wait_for_alarms(MANY);
    source.end_outage();
    for back in 1..=MANY {
        clock.advance_to_next();
        source.wait_for_idle_watches(back);
    }
    assert_eq!(lists(&source), MANY, "no list while the version is good");

    // Second run: the version has expired, and everybody lists.
    clock.advance(Duration::from_secs(40)); // the back-off starts again
    source.edit(|world| {
        world.close_watches();
        world.update(object("default/a").value(1));
        world.compact();
    });
    clock.wait_for_alarms(MANY);
    let alarms = clock.alarms();
    let spread = *alarms.last().unwrap() - alarms[0];
    assert!(spread > Duration::from_millis(400), "lists start within {spread:?}");
    for back in 1..=MANY {
        clock.advance_to_next();
        source.wait_for_idle_watches(back);
    }
    assert_eq!(lists(&source), 2 * MANY);
}

#[test]
fn f_66_what_the_server_asks_to_wait_is_waited() {
    let rig = Rig::new();
    let asked = Duration::from_secs(33);
    rig.source.on_next_list(ListFault::Fail(status(429).with_retry_after(asked)));
    rig.source.on_next_watch(WatchFault::Refuse(status(503).with_retry_after(asked)));
    rig.start();
    assert_eq!(rig.back_off(), asked);
    assert_eq!(rig.back_off(), asked);
    rig.quiet();
    assert_eq!(rig.source.trace(), "LIST rv=0 limit=500\nLIST rv=0 limit=500\nWATCH rv=3\nWATCH rv=3");
    let told: Vec<Option<Duration>> =
        rig.failures.with(|failures| failures.iter().map(|failure| failure.next_attempt).collect());
    assert_eq!(told, [Some(asked), Some(asked)]);
}
