//! Several namespaces as one.

use std::time::Duration;

use informer_factory::kube_core::{ApiResource, DynamicObject, PartialObjectMeta};
use informer_factory::metrics::{Gauge, InformerName};
use informer_factory::{ErrorKind, Index, Lazy, Metrics, MultiInformer, Selector};
use informer_testkit::script::{Exchange, Expect, Script, WireObject, added, hold, initial_events, stall};
use informer_testkit::{Gate, ManualClock, Probe, Recorder, ScriptedServer};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use serde_json::json;

use crate::support::{LONG, asked, builder, factory, finish, forbidden, map, run, streams, wait_for_backoff};

fn there(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

fn holds(namespace: &str, objects: &[WireObject]) -> Exchange {
    streams(&there(namespace), "10", objects)
}

fn nothing() -> ScriptedServer {
    ScriptedServer::start(Script::in_order([]))
}

fn keys(maps: &[std::sync::Arc<ConfigMap>]) -> String {
    let mut keys: Vec<String> =
        maps.iter().map(|map| informer_factory::Object::meta(&**map).key().to_string()).collect();
    keys.sort();
    keys.join(" ")
}

#[test]
fn fa_7_one_lister_reads_every_namespace_and_no_other() {
    let labelled = map("a/x", "5").meta("labels", json!({"app": "web"}));
    let script = Script::any_order([
        holds("a", &[labelled, map("a/y", "6")]),
        holds("b", &[map("b/x", "7").meta("labels", json!({"app": "web"}))]),
    ]);
    let server = ScriptedServer::start(script);
    let factory = factory(&server);
    let maps = factory.in_namespaces::<ConfigMap>(["a", "b"]).unwrap();
    let by_app = Index::new("by-app", |map: &ConfigMap| {
        map.metadata.labels.as_ref().and_then(|all| all.get("app").cloned())
    });
    assert_eq!(maps.indexed(&by_app, "web").unwrap_err().kind(), ErrorKind::UnknownIndex);
    maps.add_index(&by_app).unwrap();
    assert!(!maps.has_synced());
    run(&factory);
    assert!(maps.has_synced());
    maps.wait_synced(LONG).unwrap();
    let lister = maps.lister();
    assert_eq!(keys(&lister.list()), "a/x a/y b/x");
    assert_eq!(keys(&lister.select(Selector::parse("app=web").unwrap())), "a/x b/x");
    assert_eq!(keys(&maps.indexed(&by_app, "web").unwrap()), "a/x b/x");
    assert_eq!(keys(&lister.in_namespace("a").unwrap().list()), "a/x a/y");
    assert!(lister.get("b/x").is_ok() && lister.get(("a", "y")).is_ok());
    assert!(lister.get("b/y").unwrap_err().is_not_found());
    // That it is not there would be more than anybody knows.
    let error = lister.get("c/x").unwrap_err();
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains("a, b"), "{error}");
    assert!(lister.in_namespace("c").is_none() && lister.in_namespace("").is_none());
    assert!(maps.informer("b").is_some() && maps.informer("c").is_none());
    let statuses = maps.statuses();
    let objects: Vec<_> = statuses.iter().map(|(at, status)| (at.as_str(), status.objects)).collect();
    assert_eq!(objects, [("a", 2), ("b", 1)], "in the order they were asked for");
    assert_eq!(format!("{maps:?}"), "MultiInformer { namespaces: [a, b], .. }");
    finish(&factory, server);
}

#[test]
fn fa_1_each_part_is_shared_with_who_asks_for_its_namespace() {
    let server = nothing();
    let factory = factory(&server);
    let alone = factory.informer_with::<ConfigMap>(|options| _ = options.namespace("b")).unwrap();
    let maps = factory.in_namespaces::<ConfigMap>(["a", "b"]).unwrap();
    let other = factory.in_namespaces::<ConfigMap>(["b".to_owned(), "c".to_owned()]).unwrap();
    assert!(maps.informer("b").unwrap().is_same(&alone));
    assert!(other.informer("b").unwrap().is_same(&alone));
    assert_eq!(factory.statuses().len(), 3);
    let lazy = factory.in_namespaces::<Lazy<ConfigMap>>(["a"]).unwrap();
    let meta = factory.in_namespaces::<PartialObjectMeta<ConfigMap>>(["a"]).unwrap();
    assert_eq!((lazy.informers().count(), meta.informers().count()), (1, 1));
    let resource = ApiResource::erase::<ConfigMap>(&());
    let dynamic: MultiInformer<DynamicObject> =
        factory.dynamic_in_namespaces(&resource, ["a", "b"], |_| ()).unwrap();
    assert!(!dynamic.has_synced());
    assert_eq!(factory.statuses().len(), 7, "other representations are other informers");
    maps.stop();
    assert!(alone.is_stopped(), "for all who share it");
    maps.join().unwrap();
    finish(&factory, server);
}

#[test]
fn what_cannot_be_asked_for_is_said_at_once_and_makes_no_informer() {
    let server = nothing();
    let factory = factory(&server);
    let kind = |namespaces: &[&str], word: &str| {
        let error = factory.in_namespaces::<ConfigMap>(namespaces.iter().copied()).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
        error.kind()
    };
    assert_eq!(kind(&[], "no namespace"), ErrorKind::Config);
    assert_eq!(kind(&["a", "b", "a"], "\"a\" comes twice"), ErrorKind::Config);
    assert_eq!(kind(&["a", ""], "empty namespace"), ErrorKind::Config);
    let error = factory.in_namespaces::<Node>(["a"]).unwrap_err();
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains("nodes"), "{error}");
    let chosen = factory.in_namespaces_with::<ConfigMap>(["a"], |options| _ = options.namespace("b"));
    assert_eq!(chosen.unwrap_err().kind(), ErrorKind::OptionsConflict);
    factory.informer_with::<ConfigMap>(|options| _ = options.namespace("b").page_size(7)).unwrap();
    let conflict = factory.in_namespaces_with::<ConfigMap>(["a", "b"], |options| _ = options.page_size(8));
    let error = conflict.unwrap_err();
    assert!(
        error.kind() == ErrorKind::OptionsConflict && error.to_string().contains("namespaces.rs"),
        "{error}"
    );
    assert_eq!(factory.statuses().len(), 1, "the one in a would be started with the others");
    finish(&factory, server);
}

/// Otherwise the gauges of one namespace would overwrite those of the other.
#[test]
fn me_1_metrics_tell_namespaces_and_representations_apart() {
    struct Objects(Probe<Vec<(String, String, f64)>>);
    impl Metrics for Objects {
        fn set(&self, of: &InformerName<'_>, gauge: Gauge, to: f64) {
            if gauge == Gauge::StoreObjects && to > 0.0 {
                self.0.update(|all| all.push((of.resource.to_owned(), of.name.to_owned(), to)));
            }
        }
    }
    let script = Script::any_order([
        holds("a", &[map("a/x", "5"), map("a/y", "6")]),
        holds("b", &[map("b/x", "7")]),
        holds("a", &[map("a/x", "5"), map("a/y", "6")]),
    ]);
    let server = ScriptedServer::start(script);
    let told = Probe::new(Vec::new());
    let factory = builder(&server).metrics(Objects(told.clone())).build();
    factory.in_namespaces::<ConfigMap>(["a", "b"]).unwrap();
    factory.in_namespaces::<Lazy<ConfigMap>>(["a"]).unwrap();
    run(&factory);
    told.wait("each informer's objects", |all| all.len() >= 3);
    let mut told = told.get();
    told.sort_by(|one, other| one.1.cmp(&other.1));
    told.dedup();
    let told: Vec<_> = told.iter().map(|(resource, name, count)| (&**resource, &**name, *count)).collect();
    assert_eq!(
        told,
        [
            ("configmaps", "ConfigMap in a", 2.0),
            ("configmaps", "ConfigMap in b", 1.0),
            ("configmaps", "Lazy<ConfigMap> in a", 2.0)
        ]
    );
    finish(&factory, server);
}

#[test]
fn options_hold_in_each_namespace() {
    let selected = |namespace: &str| {
        Expect::watch()
            .path(&there(namespace))
            .query("labelSelector", "app=web")
            .answer([initial_events("10", &[]), vec![stall()]].concat())
    };
    let server = ScriptedServer::start(Script::any_order([selected("a"), selected("b")]));
    let factory = factory(&server);
    let choose =
        |options: &mut informer_factory::InformerOptions<ConfigMap>| _ = options.label_selector("app=web");
    factory.in_namespaces_with::<ConfigMap>(["a", "b"], choose).unwrap();
    run(&factory);
    assert_eq!(asked(&server).len(), 2);
    finish(&factory, server);
}

/// Two calls of one closure are under way at once, so nothing orders them.
#[test]
fn i_26_namespaces_have_an_order_each_and_none_between_them() {
    let script = Script::any_order([holds("a", &[map("a/x", "5")]), holds("b", &[map("b/x", "6")])]);
    let server = ScriptedServer::start(script);
    let factory = factory(&server);
    let maps = factory.in_namespaces::<ConfigMap>(["a", "b"]).unwrap();
    let gate = Gate::new("both are being told");
    let pass = gate.pass();
    let registration = maps.on_event(move |_| pass.wait()).unwrap();
    factory.start().unwrap();
    gate.wait_for_waiting(2);
    assert!(!registration.has_synced());
    gate.open();
    registration.wait_synced(LONG).unwrap();
    assert!(registration.has_synced());
    finish(&factory, server);
}

#[test]
fn i_23_a_handler_is_told_of_all_namespaces_and_removed_from_all() {
    let gate = Gate::new("the handler is gone");
    let grows = |namespace: &str| {
        let mut actions = initial_events("10", &[map(&format!("{namespace}/x"), "5")]);
        actions.extend([hold(&gate), added(&map(&format!("{namespace}/y"), "11")), stall()]);
        Expect::watch().path(&there(namespace)).answer(actions)
    };
    let server = ScriptedServer::start(Script::any_order([grows("a"), grows("b")]));
    let factory = factory(&server);
    let maps = factory.in_namespaces::<ConfigMap>(["a", "b"]).unwrap();
    let (stays, goes) = (Recorder::new(), Recorder::new());
    maps.add_event_handler(stays.clone()).unwrap();
    let registration = maps.add_event_handler(goes.clone()).unwrap();
    run(&factory);
    registration.wait_synced(LONG).unwrap();
    registration.remove_and_wait().unwrap();
    gate.open();
    // Clones of a recorder share what they record, so calls in two namespaces may overlap in it: no replay.
    let told = stays.wait_for(4);
    let mut keys: Vec<String> = told.iter().map(|record| record.key.to_string()).collect();
    keys.sort();
    assert_eq!(keys, ["a/x", "a/y", "b/x", "b/y"]);
    assert_eq!(goes.len(), 2, "{}", goes.trace());
    finish(&factory, server);
}

#[test]
fn f_54_a_handler_that_one_namespace_refuses_is_nowhere() {
    let server = ScriptedServer::start(Script::in_order([holds("a", &[map("a/x", "5")])]));
    let factory = factory(&server);
    let maps = factory.in_namespaces::<ConfigMap>(["a", "b"]).unwrap();
    maps.informer("b").unwrap().stop();
    let error = maps.on_event(|_| panic!("nobody calls it")).unwrap_err();
    assert!(error.is_stopped() && error.to_string().starts_with("namespace b: "), "{error}");
    factory.start().unwrap();
    maps.informer("a").unwrap().wait_synced(LONG).unwrap();
    assert!(maps.statuses()[0].1.handlers.is_empty());
    let error = maps.wait_synced(LONG).unwrap_err();
    assert!(error.is_stopped() && error.to_string().contains("configmaps in b was stopped"), "{error}");
    finish(&factory, server);
}

#[test]
fn f_51_d_12_nothing_waits_for_its_own_thread() {
    let server = ScriptedServer::start(Script::any_order([holds("a", &[]), holds("b", &[map("b/x", "5")])]));
    let factory = factory(&server);
    let maps = factory.in_namespaces::<ConfigMap>(["a", "b"]).unwrap();
    let registration = Probe::new(None);
    let (theirs, own) = (maps.clone(), registration.clone());
    let told = Probe::new(None);
    let tell = told.clone();
    let added = maps.on_event(move |_| {
        let own = own.wait_for("the registration", Option::take);
        let own: informer_factory::MultiRegistration<ConfigMap> = own;
        let all = [theirs.join(), theirs.wait_synced(LONG), own.remove_and_wait()];
        tell.set(Some(all.map(|outcome| outcome.is_err_and(|error| error.is_would_block()))));
    });
    registration.set(Some(added.unwrap()));
    factory.start().unwrap();
    let told = told.wait_for("the handler's answer", |told| *told);
    // The first namespace is another informer's: only a wait for all of them is a wait for itself.
    assert_eq!(told, [true, true, true]);
    finish(&factory, server);
}

#[test]
fn f_59_the_namespace_that_is_late_is_named_with_the_servers_words() {
    let refused = Expect::watch().path(&there("b")).reply(forbidden("configmaps"));
    let server = ScriptedServer::start(Script::any_order([holds("a", &[]), refused]));
    let clock = ManualClock::new();
    let factory = builder(&server).clock(clock.clone()).build();
    let maps = factory.in_namespaces::<ConfigMap>(["a", "b"]).unwrap();
    factory.start().unwrap();
    maps.informer("a").unwrap().wait_synced(LONG).unwrap();
    wait_for_backoff(&clock);
    let waits: [&dyn Fn() -> informer_factory::Result<()>; 2] =
        [&|| maps.wait_synced(Duration::ZERO), &|| factory.wait_for_cache_sync(Duration::ZERO)];
    for wait in waits {
        let error = wait().unwrap_err();
        let text = error.to_string();
        assert!(error.is_timed_out(), "{text}");
        assert!(
            text.contains("configmaps in b: ") && text.contains("forbidden") && !text.contains("in a"),
            "{text}"
        );
    }
    finish(&factory, server);
}
