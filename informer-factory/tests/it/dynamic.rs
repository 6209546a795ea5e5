//! Kinds that are known only at run time, and informers of metadata alone.

use informer_factory::kube_core::{ApiResource, DynamicObject, PartialObjectMeta};
use informer_factory::{ErrorKind, Lazy};
use informer_testkit::script::{
    Expect, Reply, Script, WireObject, added, deleted, head, list, modified, stall,
};
use informer_testkit::{Recorder, ScriptedServer};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::json;

use crate::support::{MAPS, builder, factory, finish, initial, map, run, streams};

const WIDGETS: &str = "/apis/example.com/v1/widgets";

fn widgets() -> ApiResource {
    ApiResource {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        api_version: "example.com/v1".to_owned(),
        kind: "Widget".to_owned(),
        plural: "widgets".to_owned(),
    }
}

fn widget(key: &str, version: &str, size: i64) -> WireObject {
    map(key, version).of("Widget", "example.com/v1").field("spec", json!({ "size": size, "ratio": 0.5 }))
}

#[test]
fn dy_1_dy_3_create_update_delete_reach_handlers_without_a_schema() {
    let mut actions = initial("10", &[widget("ns/a", "5", 1)]);
    actions.extend([
        added(&widget("ns/b", "11", 2)),
        modified(&widget("ns/b", "12", i64::MAX)),
        deleted(&widget("ns/a", "13", 1)),
        stall(),
    ]);
    let script = [Expect::watch().path(WIDGETS).query("sendInitialEvents", "true").answer(actions)];
    let server = ScriptedServer::start(Script::in_order(script));
    let factory = factory(&server);
    let informer = factory.dynamic(&widgets());
    let seen = Recorder::new();
    informer.add_event_handler(seen.clone()).unwrap();
    run(&factory);
    seen.wait_for(4);
    assert_eq!(seen.trace(), "Added(ns/a@5, initial)\nAdded(ns/b@11)\nUpdated(ns/b@11→12)\nDeleted(ns/a@13)");
    let held = informer.lister().in_namespace("ns").get("b").unwrap();
    assert_eq!(held.data["spec"]["size"], i64::MAX, "integers stay integers");
    assert_eq!(held.data["spec"]["ratio"], 0.5);
    assert_eq!(server.trace(), "WATCH rv= initial", "no list");
    assert_eq!(informer.name(), "widgets.example.com");
    finish(&factory, server);
}

#[test]
fn dy_2_dy_5_one_namespace_and_one_informer() {
    let path = "/apis/example.com/v1/namespaces/shop/widgets";
    let script = Script::any_order([
        streams(path, "10", &[widget("shop/a", "5", 1)]),
        streams(WIDGETS, "10", &[widget("shop/a", "5", 1)]),
    ]);
    let server = ScriptedServer::start(script);
    let factory = builder(&server).namespace("shop").build();
    let here = factory.dynamic(&widgets());
    assert!(here.is_same(&factory.dynamic(&widgets())));
    let everywhere = factory.dynamic_with::<DynamicObject>(&widgets(), |o| _ = o.namespace("")).unwrap();
    assert!(!here.is_same(&everywhere));
    assert!(everywhere.is_same(&factory.dynamic_with(&widgets(), |o| _ = o.namespace("")).unwrap()));
    let conflict = factory.dynamic_with::<DynamicObject>(&widgets(), |o| _ = o.page_size(3)).unwrap_err();
    assert_eq!(conflict.kind(), ErrorKind::OptionsConflict);
    run(&factory);
    assert!(here.store().get("shop/a").is_some());
    finish(&factory, server);
}

#[test]
fn dy_4_without_streaming_a_list_and_items_that_know_their_kind() {
    let script = Script::in_order([
        Expect::list().path(WIDGETS).rv("0").reply(list("10", &[widget("ns/a", "5", 1)])),
        Expect::watch().path(WIDGETS).rv("10").no_query("sendInitialEvents").answer([head(), stall()]),
    ]);
    let server = ScriptedServer::start(script);
    let factory = factory(&server);
    let informer = factory.dynamic_with::<DynamicObject>(&widgets(), |o| _ = o.streaming(false)).unwrap();
    run(&factory);
    let held = informer.store().get("ns/a").unwrap();
    let types = held.types.as_ref().expect("the kind comes from the list's");
    assert_eq!((types.api_version.as_str(), types.kind.as_str()), ("example.com/v1", "Widget"));
    finish(&factory, server);
}

const METADATA: &str = ";g=meta.k8s.io;v=v1,application/json";

#[test]
fn dy_6_dy_7_metadata_is_asked_for_by_accept_and_picked_out_of_whole_objects() {
    let accept = |expect: Expect, kind: &str| {
        expect.path("/api/v1/pods").header("Accept", &format!("application/json;as={kind}{METADATA}"))
    };
    let partial = |key: &str, version: &str| {
        map(key, version).of("PartialObjectMetadata", "meta.k8s.io/v1").meta("labels", json!({"app": "x"}))
    };
    let whole = map("ns/b", "11").of("Pod", "v1").field("spec", json!({"nodeName": "n"}));
    let script = Script::in_order([
        accept(Expect::list(), "PartialObjectMetadataList").reply(list("10", &[partial("ns/a", "5")])),
        accept(Expect::watch().rv("10"), "PartialObjectMetadata").answer([
            head(),
            added(&whole),
            modified(&partial("ns/a", "12")),
            stall(),
        ]),
    ]);
    let server = ScriptedServer::start(script);
    let factory = factory(&server);
    factory.configure::<PartialObjectMeta<Pod>>(|options| _ = options.streaming(false)).unwrap();
    let pods = factory.metadata::<Pod>();
    let seen = Recorder::new();
    pods.add_event_handler(seen.clone()).unwrap();
    run(&factory);
    seen.wait_for(3);
    assert_eq!(seen.trace(), "Added(ns/a@5, initial)\nAdded(ns/b@11)\nUpdated(ns/a@5→12)");
    assert_eq!(pods.store().get("ns/a").unwrap().metadata.labels.as_ref().unwrap()["app"], "x");
    let text = serde_json::to_string(&*pods.store().get("ns/b").unwrap()).unwrap();
    assert!(!text.contains("nodeName"), "{text}");
    finish(&factory, server);
}

#[test]
fn dynamic_representations_stand_side_by_side() {
    let script = Script::any_order([
        streams(WIDGETS, "10", &[widget("ns/a", "5", 7)]).times(3),
        streams(MAPS, "10", &[map("ns/m", "5")]).times(2),
    ]);
    let server = ScriptedServer::start(script);
    let factory = factory(&server);
    let whole = factory.dynamic(&widgets());
    let lazy = factory.dynamic_with::<Lazy<DynamicObject>>(&widgets(), |_| ()).unwrap();
    let metadata = factory.dynamic_with::<PartialObjectMeta<DynamicObject>>(&widgets(), |_| ()).unwrap();
    // The same resource, once by its type and once by its name.
    let typed = factory.informer::<ConfigMap>();
    let named = factory.dynamic(&ApiResource::erase::<ConfigMap>(&()));
    run(&factory);
    assert_eq!(whole.store().get("ns/a").unwrap().data["spec"]["size"], 7);
    assert_eq!(lazy.store().get("ns/a").unwrap().decode().unwrap().data["spec"]["size"], 7);
    assert_eq!(metadata.store().get("ns/a").unwrap().metadata.name.as_deref(), Some("a"));
    assert_eq!((typed.store().len(), named.store().len()), (1, 1));
    finish(&factory, server);
}

#[test]
fn dy_8_the_error_of_a_resource_that_is_not_there_names_it() {
    let missing = Reply::status(404, "NotFound", "the server could not find the requested resource");
    let server = ScriptedServer::start(Script::in_order([Expect::watch().path(WIDGETS).reply(missing)]));
    let factory = factory(&server);
    let told = informer_testkit::Probe::new(None);
    let tell = told.clone();
    factory
        .dynamic_with::<DynamicObject>(&widgets(), |options| {
            options.on_error(move |report| tell.set(Some(report.error.clone())));
        })
        .unwrap();
    factory.start().unwrap();
    let error = told.wait_for("the report", Option::take);
    assert!(error.is_not_found());
    assert_eq!(
        error.to_string(),
        "watch widgets.example.com: the server could not find the requested resource"
    );
    finish(&factory, server);
}
