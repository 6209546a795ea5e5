//! Versions that go back: a cluster that was restored, and a replica that is behind.

use informer_testkit::{ApiServer, Calls, Ending};
use serde_json::{Value, json};

use crate::wire::Wire;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn create(server: &ApiServer, name: &str) -> String {
    version(&server.create("configmaps", json!({ "metadata": { "name": name } })).unwrap())
}

fn version(object: &Value) -> String {
    object["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

/// The names in a list.
fn names(wire: &mut Wire, query: &str) -> Vec<String> {
    let list = wire.ask("GET", &format!("{MAPS}{query}"), "").json();
    let items = list["items"].as_array().unwrap_or_else(|| panic!("{list}"));
    items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_restored_server_has_the_objects_and_the_versions_of_then() {
    let mut server = ApiServer::start().unwrap();
    let a = create(&server, "a");
    let snapshot = server.snapshot();
    assert_eq!(snapshot.resource_version(), a);
    let lost = create(&server, "lost");
    let mut wire = Wire::new(&server);
    wire.get(&format!("{MAPS}?watch=1&resourceVersion={lost}"), "").head();
    server.delete("configmaps", "default/a").unwrap();
    assert_eq!(wire.event()["type"], "DELETED");
    server.restore(&snapshot).unwrap();
    assert_eq!(wire.chunk(), None, "the watch is over");
    let mut wire = Wire::new(&server);
    assert_eq!(names(&mut wire, "?resourceVersion=0"), ["a"]);
    // From a version that is to come there is nothing to tell yet; what comes under it is told.
    wire.get(&format!("{MAPS}?watch=1&resourceVersion={lost}"), "").head();
    let again = create(&server, "again");
    assert_eq!(again, lost, "versions are given out again");
    let next = create(&server, "next");
    assert_eq!(version(&wire.event()["object"]), next);
    // As after any restart the past is forgotten.
    let before = a.parse::<u64>().unwrap() - 1;
    let mut wire = Wire::new(&server);
    wire.get(&format!("{MAPS}?watch=1&resourceVersion={before}"), "").head();
    assert_eq!(wire.event()["object"]["code"], 410);
    // A snapshot can be used again.
    server.restore(&snapshot).unwrap();
    assert_eq!(names(&mut Wire::new(&server), ""), ["a"]);
}

#[test]
fn custom_resources_come_back_with_their_definitions() {
    let mut server = ApiServer::start().unwrap();
    server.create("customresourcedefinitions", widgets()).unwrap();
    server.create("widgets.test.dev", json!({ "metadata": { "name": "w" } })).unwrap();
    let snapshot = server.snapshot();
    server.restart_empty().unwrap();
    assert!(server.list("widgets.test.dev").is_err());
    server.restore(&snapshot).unwrap();
    assert_eq!(server.list("widgets.test.dev").unwrap().len(), 1);
}

fn widgets() -> Value {
    json!({
        "metadata": { "name": "widgets.test.dev" },
        "spec": {
            "group": "test.dev",
            "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } },
            }],
        },
    })
}

#[test]
fn a_replica_that_is_behind_answers_what_need_not_be_the_newest() {
    let server = ApiServer::start().unwrap();
    create(&server, "a");
    let old = server.snapshot();
    let b = create(&server, "b");
    let mut watch = Wire::new(&server);
    watch.get(&format!("{MAPS}?watch=1&resourceVersion={b}"), "").head();
    server.lag_behind(&old);
    assert_eq!(watch.chunk(), None, "its client was moved");
    assert_eq!(server.wait_for_endings(1, &Calls::watch("configmaps"))[0].ending(), Some(Ending::Complete));
    let mut wire = Wire::new(&server);
    assert_eq!(names(&mut wire, "?resourceVersion=0"), ["a"]);
    assert_eq!(names(&mut wire, ""), ["a", "b"], "a read without a version sees everything");
    // A watch from a version that the replica has not seen is silent, whatever happens elsewhere.
    watch.get(&format!("{MAPS}?watch=1&resourceVersion={b}"), "").head();
    let body = json!({ "metadata": { "name": "c" } }).to_string();
    assert_eq!(wire.ask("POST", MAPS, &body).status, 201);
    assert_eq!(names(&mut wire, "?resourceVersion=0"), ["a"]);
    server.catch_up();
    assert_eq!(watch.chunk(), None, "it told nothing and was moved back");
    watch.get(&format!("{MAPS}?watch=1&resourceVersion={b}"), "").head();
    assert_eq!(watch.event()["object"]["metadata"]["name"], "c");
    assert_eq!(names(&mut wire, "?resourceVersion=0"), ["a", "b", "c"]);
    // To where it is already, nobody is moved.
    server.catch_up();
    create(&server, "d");
    assert_eq!(watch.event()["object"]["metadata"]["name"], "d");
}

#[test]
fn a_restart_ends_the_lag_and_a_stop_the_watches_of_the_replica() {
    let mut server = ApiServer::start().unwrap();
    let old = server.snapshot();
    create(&server, "a");
    server.lag_behind(&old);
    let mut watch = Wire::new(&server);
    watch.get(&format!("{MAPS}?watch=1"), "").head();
    server.restart().unwrap();
    assert_eq!(watch.chunk(), None);
    assert_eq!(names(&mut Wire::new(&server), "?resourceVersion=0"), ["a"]);
}
