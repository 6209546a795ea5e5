//! Who shares an informer with whom, and when it runs.

use std::sync::Arc;

use informer_core::sync::spawn;
use informer_factory::{ErrorKind, Lazy, SharedInformerFactory};
use informer_testkit::script::{Expect, Script, hold, modified, stall};
use informer_testkit::{Gate, Probe, Recorder, ScriptedServer, within};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use crate::support::{LONG, MAPS, SECRETS, asked, factory, finish, initial, map, run, streams, synced};

fn nothing() -> ScriptedServer {
    ScriptedServer::start(Script::in_order([]))
}

#[test]
fn fa_1_one_informer_for_everyone_and_another_of_another_factory() {
    let server = nothing();
    let (one, other) = (factory(&server), factory(&server));
    let maps = one.informer::<ConfigMap>();
    assert!(maps.is_same(&one.informer::<ConfigMap>()));
    assert!(maps.is_same(&one.clone().informer::<ConfigMap>()), "a clone is the same factory");
    assert!(maps.is_same(&one.informer_with::<ConfigMap>(|_| ()).unwrap()));
    assert!(!maps.is_same(&other.informer::<ConfigMap>()));
    finish(&one, server);
}

#[test]
fn fa_1_who_asks_at_once_gets_one_informer() {
    let server = nothing();
    for _ in 0..50 {
        let factory = factory(&server);
        let got = Probe::new(Vec::new());
        let askers: Vec<_> = (0..8)
            .map(|_| {
                let (factory, got) = (factory.clone(), got.clone());
                spawn("asker", move || {
                    let informer = factory.informer::<ConfigMap>();
                    got.update(|all| all.push(informer));
                })
                .unwrap()
            })
            .collect();
        askers.into_iter().for_each(|asker| asker.join().unwrap());
        got.with(|all| assert!(all.len() == 8 && all.iter().all(|one| one.is_same(&all[0]))));
    }
    server.finish();
}

/// Someone who stops what others are just asking for makes nobody panic.
#[test]
fn fa_1_asking_and_stopping_at_once_is_no_trouble() {
    let server = nothing();
    let factory = factory(&server);
    let askers: Vec<_> = (0..4)
        .map(|_| {
            let factory = factory.clone();
            spawn("asker", move || (0..200).for_each(|_| factory.informer::<ConfigMap>().stop())).unwrap()
        })
        .collect();
    askers.into_iter().for_each(|asker| asker.join().unwrap());
    finish(&factory, server);
}

#[test]
fn fa_2_f_55_starts_from_eight_threads_are_one_list_for_each_type() {
    let script = Script::any_order([streams(MAPS, "10", &[map("ns/a", "5")]), streams(SECRETS, "11", &[])]);
    let server = ScriptedServer::start(script);
    let factory = factory(&server);
    let starters: Vec<_> = (0..8)
        .map(|_| {
            let factory = factory.clone();
            spawn("starter", move || {
                let _ = (factory.informer::<ConfigMap>(), factory.informer::<Secret>());
                factory.start().unwrap();
                factory.wait_for_cache_sync(LONG).unwrap();
            })
            .unwrap()
        })
        .collect();
    starters.into_iter().for_each(|starter| starter.join().unwrap());
    factory.start().unwrap();
    assert_eq!(factory.informer::<ConfigMap>().store().len(), 1);
    assert_eq!(asked(&server), [format!("{MAPS} WATCH rv= initial"), format!("{SECRETS} WATCH rv= initial")]);
    finish(&factory, server);
}

#[test]
fn fa_3_fa_4_what_is_asked_for_after_the_start_waits_for_the_next_one() {
    let script = Script::any_order([streams(MAPS, "10", &[]), streams(SECRETS, "11", &[])]);
    let server = ScriptedServer::start(script);
    let factory = factory(&server);
    let maps = factory.informer::<ConfigMap>();
    run(&factory);
    let secrets = factory.informer::<Secret>();
    synced(&factory); // it waits for none that was not started
    assert!(maps.has_synced() && !secrets.has_synced());
    assert_eq!(asked(&server).len(), 1);
    run(&factory);
    assert!(secrets.has_synced());
    assert_eq!(asked(&server).len(), 2, "only the new one has listed");
    finish(&factory, server);
}

#[test]
fn fa_11_asking_for_the_lister_alone_is_enough() {
    let server = ScriptedServer::start(Script::in_order([streams(MAPS, "10", &[map("ns/a", "5")])]));
    let factory = factory(&server);
    let lister = factory.informer::<ConfigMap>().lister(); // the informer's own handle is gone
    run(&factory);
    assert_eq!(lister.in_namespace("ns").get("a").unwrap().metadata.resource_version.as_deref(), Some("5"));
    assert!(lister.in_namespace("ns").get("b").unwrap_err().is_not_found());
    finish(&factory, server);
}

#[test]
fn f_55_a_stopped_informer_is_built_anew_without_its_handlers() {
    let script = Script::in_order([
        streams(MAPS, "10", &[map("ns/a", "5")]),
        streams(MAPS, "20", &[map("ns/a", "5"), map("ns/b", "15")]),
    ]);
    let server = ScriptedServer::start(script);
    let factory = factory(&server);
    let first = factory.informer::<ConfigMap>();
    let old = Recorder::new();
    first.add_event_handler(old.clone()).unwrap();
    run(&factory);
    old.wait_for(1);
    first.stop();
    assert!(first.start().unwrap_err().is_stopped());

    let second = factory.informer::<ConfigMap>();
    assert!(!second.is_same(&first));
    assert!(second.is_same(&factory.informer::<ConfigMap>()));
    let new = Recorder::new();
    second.add_event_handler(new.clone()).unwrap();
    run(&factory);
    new.wait_for(2);
    assert_eq!((first.store().len(), second.store().len()), (1, 2), "the old store is frozen");
    assert_eq!(old.trace(), "Added(ns/a@5, initial)");
    finish(&factory, server);
}

#[test]
fn f_54_i_3_a_stopped_informer_answers_errors_and_what_it_has() {
    let script = Script::in_order([
        streams(MAPS, "10", &[map("ns/a", "5")]),
        Expect::watch().path(SECRETS).answer([stall()]),
    ]);
    let server = ScriptedServer::start(script);
    let factory = factory(&server);
    let (maps, handler) = (factory.informer::<ConfigMap>(), Recorder::new());
    let registration = maps.add_event_handler(handler.clone()).unwrap();
    run(&factory);
    registration.wait_synced(LONG).unwrap();
    let secrets = factory.informer::<Secret>();
    factory.start().unwrap();
    server.wait_for_requests(2);
    maps.stop();
    secrets.stop();
    for error in [
        maps.on_event(|_| ()).unwrap_err(),
        secrets.on_event(|_| ()).unwrap_err(),
        secrets.wait_synced(LONG).unwrap_err(),
        maps.start().unwrap_err(),
    ] {
        assert!(error.is_stopped(), "{error:?}");
    }
    assert_eq!(
        maps.on_event(|_| ()).unwrap_err().to_string(),
        "configmaps: the informer was stopped and takes no more handlers"
    );
    registration.remove(); // no error
    registration.remove_and_wait().unwrap();
    assert_eq!(maps.lister().list().len(), 1);
    assert!(maps.wait_synced(LONG).is_ok(), "it was synced when it was stopped");
    let error = factory.wait_for_cache_sync(LONG).unwrap_err();
    assert!(error.is_stopped(), "{error:?}");
    assert_eq!(error.to_string(), "not every cache was synced: secrets was stopped");
    finish(&factory, server);
}

#[test]
fn f_56_f_63_one_informer_is_stopped_alone_and_the_others_of_its_client_go_on() {
    let (gate, secret) = (Gate::new("the other one has stopped"), map("ns/s", "6").of("Secret", "v1"));
    let mut goes_on = initial("11", &[secret]);
    goes_on.extend([hold(&gate), modified(&map("ns/s", "12").of("Secret", "v1")), stall()]);
    let script = Script::any_order([
        streams(MAPS, "10", &[map("ns/a", "5")]),
        Expect::watch().path(SECRETS).answer(goes_on),
    ]);
    let server = ScriptedServer::start(script);
    let factory = factory(&server);
    let (maps, secrets) = (factory.informer::<ConfigMap>(), factory.informer::<Secret>());
    let seen = Recorder::new();
    secrets.add_event_handler(seen.clone()).unwrap();
    run(&factory);
    maps.stop();
    within("the join", move || maps.join()).unwrap();
    gate.open();
    seen.wait_for(2);
    assert_eq!(seen.trace(), "Added(ns/s@6, initial)\nUpdated(ns/s@6→12)");
    assert_eq!(server.requests().len(), 2, "its watch was never opened again");
    finish(&factory, server);
}

/// `file:line` of the line after this call's.
fn next_line(line: u32) -> String {
    format!("{}:{}:", file!(), line + 1)
}

#[test]
fn i_5_conflicting_options_name_both_callers() {
    let server = nothing();
    let factory = factory(&server);
    let first = next_line(line!());
    factory.informer_with::<ConfigMap>(|options| _ = options.page_size(50)).unwrap();
    assert!(factory.informer_with::<ConfigMap>(|options| _ = options.page_size(50)).is_ok(), "equal");
    let shared = factory.informer::<ConfigMap>(); // absent
    let second = next_line(line!());
    let error = factory.informer_with::<ConfigMap>(|options| _ = options.page_size(70)).unwrap_err();
    let text = error.to_string();
    assert_eq!(error.kind(), ErrorKind::OptionsConflict);
    assert!(text.starts_with("configmaps: ") && text.contains("another page_size"), "{text}");
    assert!(text.contains(&first) && text.contains(&second), "{text}");

    let conflicts: [fn(&SharedInformerFactory) -> informer_factory::Result<_>; 3] = [
        |factory| factory.informer_with::<ConfigMap>(|options| _ = options.transform(|_| ())),
        |factory| factory.informer_with::<ConfigMap>(|options| _ = options.keep_managed_fields(true)),
        |factory| factory.informer_with::<ConfigMap>(|options| _ = options.on_error(|_| ())),
    ];
    for conflict in conflicts {
        assert_eq!(conflict(&factory).unwrap_err().kind(), ErrorKind::OptionsConflict);
    }
    let elsewhere = factory.informer_with::<ConfigMap>(|o| _ = o.page_size(70).namespace("ns")).unwrap();
    assert!(!elsewhere.is_same(&shared), "another namespace is another informer");
    finish(&factory, server);
}

#[test]
fn configure_comes_once_and_first() {
    let server = nothing();
    let factory = factory(&server);
    let first = next_line(line!());
    factory.configure::<ConfigMap>(|options| _ = options.page_size(50)).unwrap();
    let second = next_line(line!());
    let twice = factory.configure::<ConfigMap>(|options| _ = options.page_size(70)).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::OptionsConflict);
    assert!(twice.to_string().contains(&first) && twice.to_string().contains(&second), "{twice}");
    let asker = next_line(line!());
    let informer = factory.informer::<ConfigMap>();
    let late = factory.configure::<ConfigMap>(|options| _ = options.page_size(50)).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::OptionsConflict);
    assert!(late.to_string().contains(&asker), "{late}");
    assert!(
        informer.is_same(&factory.informer_with::<ConfigMap>(|o| _ = o.page_size(50)).unwrap()),
        "configured"
    );
    factory.configure::<Lazy<ConfigMap>>(|options| _ = options.page_size(9)).unwrap(); // another type
    finish(&factory, server);
}

#[test]
fn representations_of_one_resource_are_informers_of_their_own() {
    let script = Script::any_order([streams(MAPS, "10", &[map("ns/a", "5")]).times(3)]);
    let server = ScriptedServer::start(script);
    let factory = factory(&server);
    let typed = factory.informer::<ConfigMap>();
    let lazy = factory.informer::<Lazy<ConfigMap>>();
    let metadata = factory.metadata::<ConfigMap>();
    run(&factory);
    let typed = typed.store().get("ns/a").unwrap();
    let lazy = lazy.store().get("ns/a").unwrap();
    assert_eq!(lazy.decode().unwrap(), *Arc::clone(&typed));
    assert_eq!(metadata.store().get("ns/a").unwrap().metadata, typed.metadata);
    assert_eq!(factory.statuses().len(), 3);
    finish(&factory, server);
}
