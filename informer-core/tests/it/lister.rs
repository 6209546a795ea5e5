//! Listers: what they find, what they say when they find nothing, and that they ask and wait for nobody.

use std::sync::Arc;
use std::time::Duration;

use informer_core::{Object, Selector, SharedInformer};
use informer_testkit::{FakeSource, Gate, TestObject, WatchFault};

const LONG: Duration = Duration::from_secs(20);

fn object(key: &str, app: &str) -> TestObject {
    TestObject::new(key).label("app", app)
}

fn running() -> (FakeSource, SharedInformer<TestObject>) {
    let source = FakeSource::new().named("widgets.example.com");
    for (key, app) in [("x/a", "web"), ("x/b", "db"), ("y/a", "web"), ("node", "db")] {
        source.create(object(key, app));
    }
    let informer = SharedInformer::builder(source.clone()).build();
    informer.start().unwrap();
    informer.wait_synced(LONG).unwrap();
    (source, informer)
}

fn keys(objects: &[Arc<TestObject>]) -> Vec<String> {
    let mut keys: Vec<_> = objects.iter().map(|object| object.key().to_string()).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn ls_1_a_selector_finds_nothing_everything_or_some() {
    let (_source, informer) = running();
    let lister = informer.lister();
    let select = |selector: &str| keys(&lister.select(Selector::parse(selector).unwrap()));
    assert_eq!(select(""), ["node", "x/a", "x/b", "y/a"]);
    assert_eq!(select("app=web"), ["x/a", "y/a"]);
    assert_eq!(select("app!=web"), ["node", "x/b"]);
    assert_eq!(select("tier"), [""; 0]);
    assert_eq!(select("app=web,app=db"), [""; 0], "nothing can have both");
    assert_eq!(keys(&lister.list()), select(""));
    let in_x = |selector: &str| keys(&lister.in_namespace("x").select(Selector::parse(selector).unwrap()));
    assert_eq!(
        (in_x(""), in_x("app=web")),
        (vec!["x/a".to_owned(), "x/b".to_owned()], vec!["x/a".to_owned()])
    );
}

#[test]
fn ls_2_ls_5_a_namespace_lister_finds_what_a_filter_by_namespace_finds() {
    let (_source, informer) = running();
    let lister = informer.lister();
    for namespace in ["x", "y", "z"] {
        let mut filtered = lister.list();
        filtered.retain(|object| object.namespace == namespace);
        assert_eq!(keys(&lister.in_namespace(namespace).list()), keys(&filtered), "{namespace}");
    }
    // The empty namespace is all of them, and its names are those of cluster-scoped objects.
    assert_eq!(keys(&lister.in_namespace("").list()), keys(&lister.list()));
    assert_eq!(lister.in_namespace("").get("node").unwrap().name, "node");
    assert!(lister.in_namespace("").get("a").is_err());
}

#[test]
fn ls_3_what_is_absent_is_a_404_that_names_resource_and_object() {
    let (_source, informer) = running();
    let lister = informer.lister();
    for error in [lister.in_namespace("y").get("b").unwrap_err(), lister.get("b").unwrap_err()] {
        assert!(error.is_not_found());
        assert_eq!(error.to_string(), "widgets.example.com \"b\" not found");
        let status = error.status().unwrap();
        let details = status.details.as_ref().unwrap();
        assert_eq!((status.code, status.reason.as_str()), (404, "NotFound"));
        assert_eq!((details.kind.as_str(), details.group.as_str()), ("widgets", "example.com"));
        assert_eq!(details.name, "b");
    }
}

#[test]
fn ls_4_a_cluster_scoped_object_is_got_by_its_name() {
    let (_source, informer) = running();
    assert_eq!(informer.lister().get("node").unwrap().meta().key().as_str(), "node");
    assert_eq!(informer.lister().get("x/a").unwrap().meta().key().as_str(), "x/a", "or by the whole key");
}

#[test]
fn ls_6_no_lister_asks_the_server() {
    let (source, informer) = running();
    source.wait_for_idle_watches(1);
    let requests = source.requests();
    let lister = informer.lister();
    let _ = (lister.list(), lister.select(Selector::default()), lister.get("node"), lister.get("absent"));
    let namespace = lister.in_namespace("x");
    let _ = (namespace.list(), namespace.select(Selector::default()), namespace.get("a"));
    assert_eq!(source.requests(), requests);
}

#[test]
fn ls_7_before_the_first_list_a_lister_answers_with_what_is_there() {
    let source = FakeSource::new();
    source.create(object("x/a", "web"));
    let gate = Gate::new("the first list");
    source.on_next_watch(WatchFault::hold_after(1, &gate)); // the object is told, the end of the list is not
    let informer = SharedInformer::builder(source).build();
    let lister = informer.lister();
    assert!(lister.list().is_empty(), "before the start");
    informer.start().unwrap();
    gate.wait_for_waiting(1);
    assert!(lister.list().is_empty() && lister.get("x/a").unwrap_err().is_not_found());
    gate.open();
    informer.wait_synced(LONG).unwrap();
    assert!(lister.get("x/a").is_ok(), "the same lister");
    informer.stop();
    informer.join().unwrap();
    drop(informer);
    assert!(lister.get("x/a").is_ok(), "and after the end");
}
