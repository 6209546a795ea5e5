//! What may be chosen for an informer, and that it reaches the wire and the handlers.

use std::collections::BTreeMap;
use std::time::Duration;

use informer_factory::{ErrorKind, HandlerOptions, Selector};
use informer_testkit::script::{
    Expect, Reply, Script, error_event, fin, head, hold, list, modified, page, stall,
};
use informer_testkit::{Gate, ManualClock, Recorder, ScriptedServer};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
use serde_json::json;

use crate::support::{
    LONG, MAPS, SECRETS, builder, factory, finish, initial, map, run, skip_backoff, streams,
};

#[test]
fn fa_7_the_namespace_is_in_the_urls_of_kinds_that_have_one() {
    let there = "/api/v1/namespaces/shop/configmaps";
    let script = Script::any_order([
        Expect::watch()
            .path(there)
            .query("sendInitialEvents", "true")
            .reply(Reply::status(422, "Invalid", "no")),
        Expect::list().path(there).reply(list("10", &[map("shop/a", "5")])),
        Expect::watch().path(there).rv("10").no_query("sendInitialEvents").answer([head(), stall()]),
        streams("/api/v1/nodes", "11", &[map("node-1", "6").of("Node", "v1")]),
        streams(SECRETS, "12", &[]),
        streams("/api/v1/namespaces/other/secrets", "13", &[]),
    ]);
    let server = ScriptedServer::start(script);
    let factory = builder(&server).namespace("shop").build();
    let maps = factory.informer::<ConfigMap>();
    let nodes = factory.informer::<Node>();
    let same = factory.informer_with::<Node>(|options| _ = options.namespace("other")).unwrap();
    assert!(same.is_same(&nodes), "a kind without namespaces is the same everywhere");
    factory.informer_with::<Secret>(|options| _ = options.namespace("")).unwrap();
    factory.informer_with::<Secret>(|options| _ = options.namespace("other")).unwrap();
    run(&factory);
    assert!(maps.store().get("shop/a").is_some());
    assert!(nodes.lister().get("node-1").is_ok());
    finish(&factory, server);
}

#[test]
fn fa_8_selectors_go_with_every_list_and_watch_and_leak_nowhere() {
    let selected = |expect: Expect| {
        expect.query("labelSelector", "app in (web,api)").query("fieldSelector", "metadata.name!=x")
    };
    let plain = |expect: Expect| expect.no_query("labelSelector").no_query("fieldSelector");
    let gone = error_event(410, "Expired", "too old");
    let script = Script::any_order([
        selected(Expect::list().path(MAPS).rv("0").no_query("watch")).reply(page(
            "10",
            "next",
            &[map("ns/a", "5")],
        )),
        selected(Expect::list().path(MAPS).query("continue", "next")).reply(list("10", &[map("ns/b", "6")])),
        selected(Expect::watch().path(MAPS).rv("10")).answer([head(), gone, fin()]),
        selected(Expect::list().path(MAPS).rv("10")).reply(list("20", &[map("ns/b", "6")])),
        selected(Expect::watch().path(MAPS).rv("20")).answer([head(), stall()]),
        plain(Expect::watch().path(MAPS)).answer([initial("10", &[]), vec![stall()]].concat()),
    ]);
    let server = ScriptedServer::start(script);
    let clock = ManualClock::new();
    let factory = builder(&server).clock(clock.clone()).build();
    let selected = factory
        .informer_with::<ConfigMap>(|options| {
            options.label_selector("app in (web,api)").field_selector("metadata.name!=x").streaming(false);
        })
        .unwrap();
    let all = factory.informer::<ConfigMap>();
    assert!(!selected.is_same(&all));
    let seen = Recorder::new();
    selected.add_event_handler(seen.clone()).unwrap();
    run(&factory);
    skip_backoff(&clock);
    seen.wait_for(3);
    assert_eq!(
        seen.trace(),
        "Added(ns/a@5, initial)\nAdded(ns/b@6, initial)\nDeleted(ns/a@5, final state unknown)"
    );
    finish(&factory, server);
}

#[test]
fn fa_8_a_parsed_selector_is_sent_in_its_printed_form_and_a_text_as_it_is() {
    let at = |selector: &str| {
        let mut actions = initial("10", &[]);
        actions.push(stall());
        Expect::watch().path(MAPS).query("labelSelector", selector).answer(actions)
    };
    let server = ScriptedServer::start(Script::any_order([at("!b,app in (api,web)"), at("not one ((")]));
    let factory = factory(&server);
    let parsed = Selector::parse(" ! b, app in (web, api)").unwrap();
    factory.informer_with::<ConfigMap>(|options| _ = options.label_selector(&parsed)).unwrap();
    // The server is the judge of what it takes.
    factory.informer_with::<ConfigMap>(|options| _ = options.label_selector("not one ((")).unwrap();
    run(&factory);
    finish(&factory, server);
}

#[test]
fn fa_9_a_transform_of_configure_changes_what_every_informer_of_the_type_holds() {
    let with_data = |key: &str, version| map(key, version).field("data", json!({"long": "text"}));
    let stream = |path: &str| {
        let mut actions = initial("10", &[with_data("ns/a", "5")]);
        actions.extend([modified(&with_data("ns/a", "11")), stall()]);
        Expect::watch().path(path).answer(actions)
    };
    let script = Script::any_order([stream(MAPS), stream("/api/v1/namespaces/ns/configmaps")]);
    let server = ScriptedServer::start(script);
    let factory = factory(&server);
    factory
        .configure::<ConfigMap>(|options| {
            options.transform(|map| map.data = Some(BTreeMap::from([("len".to_owned(), "1".to_owned())])));
        })
        .unwrap();
    let everywhere = factory.informer::<ConfigMap>();
    let here = factory.informer_with::<ConfigMap>(|options| _ = options.namespace("ns")).unwrap();
    run(&factory);
    for informer in [everywhere, here] {
        informer.store().wait_until("11", LONG).unwrap();
        let held = informer.store().get("ns/a").unwrap();
        assert_eq!(held.metadata.resource_version.as_deref(), Some("11"));
        assert_eq!(held.data.as_ref().unwrap().keys().collect::<Vec<_>>(), ["len"]);
    }
    finish(&factory, server);
}

/// Transform and hook are chosen before the informer is there; who comes later with others is told who was first.
#[test]
fn i_5_a_second_transform_or_hook_is_an_error_and_the_first_stays_in_force() {
    let (gate, named) = (Gate::new("the second has tried"), json!({"by": "server"}));
    let mut actions = initial("10", &[map("ns/a", "5").field("data", named.clone())]);
    actions.extend([hold(&gate), modified(&map("ns/a", "11").field("data", named)), stall()]);
    let server = ScriptedServer::start(Script::in_order([Expect::watch().path(MAPS).answer(actions)]));
    let factory = factory(&server);
    let by = |name: &'static str| {
        move |map: &mut ConfigMap| map.data = Some(BTreeMap::from([("by".to_owned(), name.to_owned())]))
    };
    let maps = factory.informer_with::<ConfigMap>(|options| _ = options.transform(by("first"))).unwrap();
    run(&factory);
    let second = factory.informer_with::<ConfigMap>(|options| _ = options.transform(by("second")));
    let hook = factory.informer_with::<ConfigMap>(|options| _ = options.on_error(|_| ()));
    for (error, what) in [(second.unwrap_err(), "transform"), (hook.unwrap_err(), "on_error")] {
        assert_eq!(error.kind(), ErrorKind::OptionsConflict);
        assert!(error.to_string().contains(&format!("another {what}")), "{error}");
    }
    gate.open();
    maps.store().wait_until("11", LONG).unwrap();
    assert_eq!(maps.store().get("ns/a").unwrap().data.as_ref().unwrap()["by"], "first");
    finish(&factory, server);
}

#[test]
fn fa_10_f_45_a_resync_of_ones_own_overrides_the_factorys_and_asks_the_server_nothing() {
    let secret = map("ns/s", "6").of("Secret", "v1");
    let script =
        Script::any_order([streams(MAPS, "10", &[map("ns/a", "5")]), streams(SECRETS, "11", &[secret])]);
    let server = ScriptedServer::start(script);
    let clock = ManualClock::new();
    let period = Duration::from_secs(10);
    let factory = builder(&server).resync(period).clock(clock.clone()).build();
    factory.configure::<ConfigMap>(|options| _ = options.resync(3 * period)).unwrap();
    let (maps, secrets, never) = (Recorder::new(), Recorder::new(), Recorder::new());
    factory.informer::<ConfigMap>().add_event_handler(maps.clone()).unwrap();
    let informer = factory.informer::<Secret>();
    informer.add_event_handler(secrets.clone()).unwrap();
    informer.add_event_handler_with(HandlerOptions::new().resync(Duration::ZERO), never.clone()).unwrap();
    run(&factory);
    for round in 1..=4 {
        clock.wait_for_alarm("the next resync", |distance| distance <= period);
        clock.advance(period);
        secrets.wait_for(1 + round);
        maps.wait_for(if round < 3 { 1 } else { 2 });
    }
    assert_eq!(maps.trace(), "Added(ns/a@5, initial)\nResynced(ns/a@5)");
    assert_eq!((secrets.len(), never.len()), (5, 1));
    assert_eq!(server.requests().len(), 2);
    finish(&factory, server);
}

#[test]
fn too_short_a_resync_is_an_error_of_the_handler_that_asks() {
    let server = ScriptedServer::start(Script::in_order([]));
    let factory = factory(&server);
    let options = HandlerOptions::new().resync(Duration::from_millis(10));
    let error = factory.informer::<ConfigMap>().add_event_handler_with(options, Recorder::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    finish(&factory, server);
}

#[test]
fn d_9_managed_fields_are_kept_only_when_asked_for() {
    let managed = json!([{"manager": "kubectl", "operation": "Update"}]);
    let object = map("ns/a", "5").meta("managedFields", managed);
    for keep in [false, true] {
        let server =
            ScriptedServer::start(Script::in_order([streams(MAPS, "10", std::slice::from_ref(&object))]));
        let factory = factory(&server);
        let maps =
            factory.informer_with::<ConfigMap>(|options| _ = options.keep_managed_fields(keep)).unwrap();
        run(&factory);
        assert_eq!(maps.store().get("ns/a").unwrap().metadata.managed_fields.is_some(), keep);
        finish(&factory, server);
    }
}

#[test]
fn f_29_page_size_start_compression_and_the_largest_object_reach_the_source() {
    let big = map("ns/big", "6").field("data", json!({"k": "x".repeat(5000)}));
    let script = Script::in_order([
        Expect::list()
            .query("limit", "7")
            .no_query("resourceVersion")
            .header("Accept-Encoding", "gzip")
            .reply(list("10", &[map("ns/a", "5"), big])),
        Expect::watch().header("Accept-Encoding", "gzip").answer([head(), stall()]),
    ]);
    let server = ScriptedServer::start(script);
    let factory = factory(&server);
    let maps = factory
        .informer_with::<ConfigMap>(|options| {
            options
                .streaming(false)
                .page_size(7)
                .consistent_start(true)
                .compress_watches(true)
                .max_frame(4096);
        })
        .unwrap();
    run(&factory);
    assert_eq!(maps.store().keys().len(), 1);
    assert_eq!(maps.status().counters.bad_objects, 1);
    finish(&factory, server);
}
