//! Waiting for caches: who is late, why, and what becomes of it.

use std::time::Duration;

use informer_factory::{ErrorKind, Stage};
use informer_testkit::script::{Expect, Reply, Script, error_event, fin, head, list, stall};
use informer_testkit::{ManualClock, Probe, ScriptedServer, within};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use crate::support::{
    LONG, MAPS, SECRETS, builder, factory, finish, forbidden, map, run, skip_backoff, streams, synced,
    wait_for_backoff,
};

#[test]
fn fa_4_a_factory_with_nothing_started_is_synced() {
    let server = ScriptedServer::start(Script::in_order([]));
    let factory = factory(&server);
    factory.wait_for_cache_sync(LONG).unwrap();
    let _asked = factory.informer::<ConfigMap>();
    factory.wait_for_cache_sync(LONG).unwrap();
    finish(&factory, server);
}

#[test]
fn f_59_who_is_late_is_named_with_the_servers_words_and_a_grant_heals() {
    let script = Script::in_order([
        Expect::watch().query("sendInitialEvents", "true").reply(forbidden("configmaps")),
        Expect::list().rv("0").reply(forbidden("configmaps")),
        Expect::watch().query("sendInitialEvents", "true").reply(forbidden("configmaps")),
        Expect::list().rv("0").reply(list("10", &[map("ns/a", "5")])),
        Expect::watch().rv("10").answer([head(), stall()]),
    ]);
    let server = ScriptedServer::start(script);
    let clock = ManualClock::new();
    let factory = builder(&server).clock(clock.clone()).build();
    let reports = Probe::new(Vec::new());
    let told = reports.clone();
    let maps = factory
        .informer_with::<ConfigMap>(|options| {
            options.on_error(move |report| {
                told.update(|all| all.push((report.error.kind(), report.error.stage(), report.consecutive)));
            });
        })
        .unwrap();
    factory.start().unwrap();
    for _ in 0..3 {
        wait_for_backoff(&clock); // the back-off after a refusal
        let error = factory.wait_for_cache_sync(Duration::ZERO).unwrap_err();
        assert!(error.is_timed_out());
        let text = error.to_string();
        assert!(text.starts_with("not every cache was synced within 0ns: configmaps: "), "{text}");
        let end = "configmaps: configmaps is forbidden: User \"eve\" cannot list resource \"configmaps\" in API group \
                   \"\" at the cluster scope";
        assert!(text.ends_with(end), "{text}");
        assert_eq!(error.chain().to_string(), text, "the causes are in the text once");
        assert!(maps.status().last_error.unwrap().error.is_forbidden());
        let passed = skip_backoff(&clock);
        assert!(passed <= Duration::from_secs(60), "{passed:?}");
    }
    synced(&factory);
    assert_eq!(maps.store().len(), 1);
    let all = reports.get();
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|(kind, _, _)| *kind == ErrorKind::Forbidden), "{all:?}");
    assert_eq!(
        all.iter().map(|(_, stage, count)| (*stage, *count)).collect::<Vec<_>>(),
        [(Some(Stage::WatchOpen), 1), (Some(Stage::List), 2), (Some(Stage::WatchOpen), 3)]
    );
    finish(&factory, server);
}

#[test]
fn f_60_f_62_fa_5_dy_8_one_that_is_not_served_keeps_no_sibling() {
    let missing = || Reply::new(404, "404 page not found\n").header("Content-Type", "text/plain");
    let script = Script::any_order([
        streams(MAPS, "10", &[map("ns/a", "5")]),
        Expect::any().path(SECRETS).reply(missing()).times(4),
    ]);
    let server = ScriptedServer::start(script);
    let clock = ManualClock::new();
    let factory = builder(&server).clock(clock.clone()).build();
    let (maps, secrets) = (factory.informer::<ConfigMap>(), factory.informer::<Secret>());
    factory.start().unwrap();
    let waiting = maps.clone();
    within("the sibling is synced", move || waiting.wait_synced(LONG)).unwrap();
    assert_eq!(maps.lister().list().len(), 1);
    for _ in 0..3 {
        skip_backoff(&clock);
    }
    wait_for_backoff(&clock);
    let error = factory.wait_for_cache_sync(Duration::ZERO).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("secrets: ") && text.contains("404 page not found"), "{text}");
    assert!(!text.contains("configmaps"), "{text}");
    assert!(secrets.status().not_served && !secrets.has_synced());
    // A stop ends the wait, and the one that never synced is told.
    secrets.stop();
    let error = factory.wait_for_cache_sync(LONG).unwrap_err();
    assert!(error.is_stopped() && error.to_string().contains("secrets"), "{error:?}");
    finish(&factory, server);
}

#[test]
fn fa_4_all_that_are_late_are_named_in_order() {
    let silent = |path| Expect::watch().path(path).answer([head(), stall()]);
    let server = ScriptedServer::start(Script::any_order([silent(SECRETS), silent(MAPS)]));
    let factory = factory(&server);
    let _late = (factory.informer::<Secret>(), factory.informer::<ConfigMap>());
    factory.start().unwrap();
    server.wait_for_requests(2);
    let error = factory.wait_for_cache_sync(Duration::from_millis(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not every cache was synced within 1ms: configmaps has had no complete list and no error; \
         secrets has had no complete list and no error"
    );
    assert_eq!((error.kind(), error.stage()), (ErrorKind::TimedOut, Some(Stage::Wait)));
    finish(&factory, server);
}

#[test]
fn fa_5_a_shutdown_ends_the_wait() {
    let server = ScriptedServer::start(Script::in_order([Expect::watch().answer([head(), stall()])]));
    let factory = factory(&server);
    let _maps = factory.informer::<ConfigMap>();
    factory.start().unwrap();
    let waiting = factory.clone();
    let waiter = informer_core::sync::spawn("waiter", move || {
        assert!(waiting.wait_for_cache_sync(Duration::MAX).unwrap_err().is_stopped());
    })
    .unwrap();
    server.wait_for_requests(1);
    factory.shutdown().unwrap();
    within("the end of the wait", move || waiter.join().unwrap());
    server.finish();
}

/// An informer that fails after it has synced stays synced; its failure is in its status.
#[test]
fn dy_9_a_resource_that_goes_and_returns_is_reconciled() {
    let mut first = crate::support::initial("10", &[map("ns/a", "5"), map("ns/b", "6")]);
    first.extend([error_event(410, "Expired", "too old resource version"), fin()]);
    let script = Script::in_order([
        Expect::watch().query("sendInitialEvents", "true").answer(first),
        Expect::any()
            .reply(Reply::status(404, "NotFound", "the server could not find the requested resource"))
            .times(2),
        Expect::any().answer({
            let mut back = crate::support::initial("20", &[map("ns/b", "15")]);
            back.push(stall());
            back
        }),
    ]);
    let server = ScriptedServer::start(script);
    let clock = ManualClock::new();
    let factory = builder(&server).clock(clock.clone()).build();
    let maps = factory.informer::<ConfigMap>();
    let seen = informer_testkit::Recorder::new();
    maps.add_event_handler(seen.clone()).unwrap();
    run(&factory);
    for missing in 0..3 {
        wait_for_backoff(&clock);
        if missing > 0 {
            assert!(maps.status().not_served);
        }
        assert_eq!(maps.store().len(), 2, "objects are kept");
        skip_backoff(&clock);
    }
    seen.wait_for(4);
    assert_eq!(
        seen.trace(),
        "Added(ns/a@5, initial)\nAdded(ns/b@6, initial)\nDeleted(ns/a@5, final state unknown)\nUpdated(ns/b@6→15)"
    );
    finish(&factory, server);
}
