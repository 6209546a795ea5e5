//! `Lazy` informers from the wire to the index.

use std::sync::Arc;

use informer_core::sync::Mutex;
use informer_factory::{Index, Lazy, Stage};
use informer_testkit::script::{
    Exchange, Expect, Script, WireObject, added, deleted, error_event, fin, head, hold, list, modified, stall,
};
use informer_testkit::{Gate, ManualClock, Probe, Recorder, ScriptedServer};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use crate::support::{LONG, MAPS, builder, factory, finish, initial, map, run, skip_backoff};

fn with_tier(key: &str, version: &str, tier: impl Into<Value>) -> WireObject {
    map(key, version).field("data", json!({ "tier": tier.into() }))
}

/// a stays as it is, b changes, and the watch between has expired; by streaming lists or by paged ones.
fn relist(streaming: bool) -> Vec<Exchange> {
    let before = [with_tier("ns/a", "5", "web"), with_tier("ns/b", "6", "web")];
    let after = [with_tier("ns/a", "5", "web"), with_tier("ns/b", "15", "api")];
    let gone = error_event(410, "Expired", "too old resource version");
    if streaming {
        let mut first = initial("10", &before);
        first.extend([gone, fin()]);
        let mut second = initial("20", &after);
        second.push(stall());
        return vec![Expect::watch().rv("").answer(first), Expect::watch().rv("10").answer(second)];
    }
    vec![
        Expect::list().rv("0").reply(list("10", &before)),
        Expect::watch().rv("10").answer([head(), gone, fin()]),
        Expect::list().rv("10").reply(list("20", &after)),
        Expect::watch().rv("20").answer([head(), stall()]),
    ]
}

#[test]
fn d_5_an_unchanged_item_of_a_relist_is_not_built_again() {
    for streaming in [true, false] {
        let server = ScriptedServer::start(Script::in_order(relist(streaming)));
        let clock = ManualClock::new();
        let factory = builder(&server).clock(clock.clone()).build();
        let (built, seen) = (Probe::new(Vec::new()), Recorder::new());
        let told = built.clone();
        let maps = factory
            .informer_with::<Lazy<ConfigMap>>(|options| {
                options.streaming(streaming);
                // Called for every object that is built.
                options.transform(move |map| {
                    let name = format!("{}@{}", map.name(), map.resource_version());
                    told.update(|all| all.push(name));
                });
            })
            .unwrap();
        maps.add_event_handler(seen.clone()).unwrap();
        run(&factory);
        let before = maps.store().get("ns/a").unwrap();
        skip_backoff(&clock);
        seen.wait_for(3);
        maps.store().wait_until("20", LONG).unwrap();
        let after = maps.store().get("ns/a").unwrap();
        assert!(Arc::ptr_eq(&before, &after), "streaming: {streaming}");
        assert_eq!(built.get(), ["a@5", "b@6", "b@15"], "streaming: {streaming}");
        assert_eq!(seen.trace(), "Added(ns/a@5, initial)\nAdded(ns/b@6, initial)\nUpdated(ns/b@6→15)");
        assert_eq!(maps.store().get("ns/b").unwrap().decode().unwrap().data.unwrap()["tier"], "api");
        finish(&factory, server);
    }
}

#[test]
fn an_index_over_decoded_objects_follows_and_reports_what_does_not_decode() {
    let mut actions = initial("10", &[with_tier("ns/a", "5", "web"), with_tier("ns/odd", "6", 5)]);
    let gate = Gate::new("the first list is indexed");
    actions.extend([
        hold(&gate),
        added(&with_tier("ns/b", "11", "web")),
        modified(&with_tier("ns/a", "12", "api")),
        deleted(&with_tier("ns/b", "13", "web")),
        modified(&with_tier("ns/odd", "14", "web")),
        stall(),
    ]);
    let server = ScriptedServer::start(Script::in_order([Expect::watch().path(MAPS).answer(actions)]));
    let factory = factory(&server);
    let reports = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&reports);
    let maps = factory
        .informer_with::<Lazy<ConfigMap>>(|options| {
            options
                .on_error(move |report| told.lock().push((report.error.stage(), report.error.to_string())));
        })
        .unwrap();
    let tier = |map: &ConfigMap| map.data.as_ref().and_then(|data| data.get("tier").cloned());
    let by_tier: Index<Lazy<ConfigMap>, String> = Index::decoded("by-tier", tier);
    let by_length: Index<Lazy<ConfigMap>, usize> =
        Index::decoded("by-length", move |map: &ConfigMap| tier(map).map(|tier| tier.len()));
    maps.add_index(&by_tier).unwrap();
    maps.add_index(&by_length).unwrap();
    run(&factory);
    assert_eq!(by_tier.values(&maps.store()).unwrap(), ["web"]);
    gate.open();
    maps.store().wait_until("14", LONG).unwrap();
    let keys = |tier: &str| -> Vec<String> {
        by_tier.keys(&maps.store(), tier).unwrap().iter().map(ToString::to_string).collect()
    };
    assert_eq!((keys("web"), keys("api")), (vec!["ns/odd".to_owned()], vec!["ns/a".to_owned()]));
    assert_eq!(by_length.get(&maps.store(), &3).unwrap().len(), 2);
    let reports = reports.lock();
    assert!(
        !reports.is_empty() && reports.iter().all(|(stage, _)| *stage == Some(Stage::Decode)),
        "{reports:?}"
    );
    assert!(reports[0].1.starts_with("ns/odd: "), "{reports:?}");
    drop(reports);
    finish(&factory, server);
}
