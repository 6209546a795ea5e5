//! Reading part of the cache by labels.

use std::time::Duration;

use informer_core::kube_core::{self, Expression};
use informer_core::{Selector, SharedInformer};
use informer_testkit::{FakeSource, TestObject};

#[test]
fn ls_1_ls_2_store_and_listers_answer_what_the_selector_matches() {
    let source = FakeSource::new();
    for (key, app) in [("a/web", "web"), ("a/db", "db"), ("b/web", "web"), ("b/api", "api")] {
        source.create(TestObject::new(key).label("app", app));
    }
    let informer = SharedInformer::builder(source).build();
    informer.start().unwrap();
    informer.wait_synced(Duration::from_secs(20)).unwrap();
    let (store, lister) = (informer.store(), informer.lister());
    let keys = |objects: Vec<std::sync::Arc<TestObject>>| {
        let mut keys: Vec<String> = objects.iter().map(|object| object.key().to_string()).collect();
        keys.sort();
        keys.join(" ")
    };
    let selector = Selector::parse("app in (web, db)").unwrap();
    assert_eq!(keys(store.select(&selector)), "a/db a/web b/web");
    assert_eq!(keys(lister.select(&selector)), "a/db a/web b/web");
    assert_eq!(keys(lister.in_namespace("a").select(&selector)), "a/db a/web");
    assert_eq!(
        keys(lister.in_namespace("").select(selector)),
        "a/db a/web b/web",
        "an empty namespace is all"
    );
    assert_eq!(store.select(Selector::default()).len(), 4);
    let theirs: kube_core::Selector = Expression::Equal("app".into(), "api".into()).into();
    assert_eq!(keys(lister.select(&theirs)), "b/api", "kube-core's selector will do");
}
