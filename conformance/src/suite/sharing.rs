//! The factory: one informer for all who ask.

use informer_core::Result;
use informer_core::kube_core::params::DeleteParams;
use k8s_openapi::api::core::v1::ConfigMap;

use super::ground::Ground;
use super::watched::{PATIENCE, Watched, version_of};

super::cases! {
    fa_1_two_who_ask_share_one_informer [],
    fa_6_a_shut_down_factory_leaves_nothing_running [],
}

fn fa_1_two_who_ask_share_one_informer(ground: &mut Ground<'_>) -> Result<()> {
    ground.create("a")?;
    let factory = ground.factory();
    let (one, two) = (factory.informer::<ConfigMap>(), factory.informer::<ConfigMap>());
    assert!(one.is_same(&two));
    let selected = factory.informer_with::<ConfigMap>(|options| {
        options.label_selector("app=web");
    })?;
    assert!(!selected.is_same(&one), "another selection is another informer");
    let (first, second) = (Watched::on(one)?, Watched::on(two)?);
    factory.start()?;
    factory.wait_for_cache_sync(PATIENCE)?;
    let b = ground.create("b")?;
    first.wait_told(&b);
    second.wait_told(&b);
    ground.config_maps().delete("a", &DeleteParams::default())?;
    first.wait_gone((&*ground.namespace, "a"));
    second.wait_gone((&*ground.namespace, "a"));
    assert_eq!(first.seen.trace(), second.seen.trace());
    let status = first.informer.status();
    assert_eq!((status.counters.lists, status.counters.watches, status.handlers.len()), (1, 1, 2));
    let lister = second.informer.lister().in_namespace(&ground.namespace);
    assert_eq!(version_of(&*lister.get("b")?), version_of(&b));
    assert!(lister.get("a").is_err_and(|error| error.is_not_found()));
    assert_eq!(selected.store().len(), 0);
    factory.shutdown()?;
    first.finish()?;
    second.finish()
}

fn fa_6_a_shut_down_factory_leaves_nothing_running(ground: &mut Ground<'_>) -> Result<()> {
    use informer_testkit::{ThreadMark, within};
    use k8s_openapi::api::core::v1::{Namespace, Secret};
    let mark = ThreadMark::new();
    let factory = ground.factory();
    let (maps, secrets, namespaces) =
        (factory.informer::<ConfigMap>(), factory.informer::<Secret>(), factory.informer::<Namespace>());
    factory.start()?;
    factory.wait_for_cache_sync(PATIENCE)?;
    assert!(
        namespaces.lister().get(&ground.namespace).is_ok(),
        "a cluster-scoped kind ignores the namespace"
    );
    let theirs = factory.clone();
    within("the shutdown", move || theirs.shutdown())?;
    mark.assert_none_left_now();
    assert!(maps.is_stopped() && secrets.is_stopped() && namespaces.is_stopped());
    Ok(())
}
