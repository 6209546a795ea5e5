//! Objects in other forms than the typed one.

use informer_core::kube_core::{ApiResource, DynamicObject, PartialObjectMeta};
use informer_core::{Lazy, Object as _, Result, SharedInformer};
use informer_factory::{Api, HttpListWatch};
use k8s_openapi::api::core::v1::ConfigMap;

use super::ground::Ground;
use super::watched::{PATIENCE, Watched, version_of};

super::cases! {
    lazy_objects_keep_their_body_as_json [],
    dy_6_metadata_is_all_that_is_sent [],
    dy_1_a_built_in_kind_as_a_dynamic_object [],
    d_9_managed_fields_are_kept_only_where_asked_for [],
}

fn lazy_objects_keep_their_body_as_json(ground: &mut Ground<'_>) -> Result<()> {
    let created = ground.create_labelled("a", ("app", "web"))?;
    let source = HttpListWatch::<Lazy<ConfigMap>>::new(&ground.client).namespace(&ground.namespace);
    let watched = Watched::synced(SharedInformer::builder(source))?;
    let updated = ground.update(&created, "1")?;
    watched.wait_told(&updated);
    let lazy = watched.store().get((&*ground.namespace, "a")).expect("it is there");
    assert_eq!((lazy.name(), lazy.resource_version()), ("a", version_of(&updated)));
    assert_eq!(lazy.labels().get("app"), Some("web"));
    let mut whole = lazy.decode()?;
    assert_eq!(whole.data, updated.data);
    // Everything but what is never kept by default.
    whole.metadata.managed_fields.clone_from(&updated.metadata.managed_fields);
    assert_eq!(whole, updated);
    watched.finish()
}

fn dy_6_metadata_is_all_that_is_sent(ground: &mut Ground<'_>) -> Result<()> {
    let created = ground.create_labelled("a", ("app", "web"))?;
    // The answer as it comes, to see that nothing else was in it.
    let resource = ApiResource::erase::<ConfigMap>(&());
    let partial =
        HttpListWatch::<PartialObjectMeta<ConfigMap>>::new(&ground.client).namespace(&ground.namespace);
    for streaming in [true, false] {
        let raw = HttpListWatch::<Lazy<PartialObjectMeta<ConfigMap>>>::new(&ground.client);
        let raw = SharedInformer::builder(raw.namespace(&ground.namespace));
        let raw = Watched::synced(raw.streaming(streaming))?;
        let json = raw.store().get((&*ground.namespace, "a")).expect("it is there").json().to_owned();
        assert!(!json.contains("\"data\"") && json.contains("\"labels\""), "{json}");
        raw.finish()?;
    }
    let watched = Watched::synced(SharedInformer::builder(partial))?;
    let updated = ground.update(&created, "1")?;
    watched.wait_told(&updated);
    let meta = watched.store().get((&*ground.namespace, "a")).expect("it is there");
    assert_eq!(meta.metadata.labels, created.metadata.labels);
    watched.finish()?;
    // The same through the factory, and for a kind known only at run time.
    let factory = ground.factory();
    let typed = factory.metadata::<ConfigMap>();
    let dynamic = factory.dynamic_with::<PartialObjectMeta<DynamicObject>>(&resource, |_| {})?;
    factory.start()?;
    factory.wait_for_cache_sync(PATIENCE)?;
    let key = (&*ground.namespace, "a");
    assert!(typed.store().get(key).is_some() && dynamic.store().get(key).is_some());
    factory.shutdown()
}

fn dy_1_a_built_in_kind_as_a_dynamic_object(ground: &mut Ground<'_>) -> Result<()> {
    let resource = ApiResource::erase::<ConfigMap>(&());
    let api = Api::dynamic(&ground.client, &resource, Some(&ground.namespace));
    let watched = Watched::synced(SharedInformer::builder(api.list_watch()))?;
    let object = DynamicObject::new("a", &resource).data(serde_json::json!({ "data": { "value": "0" } }));
    let created = api.create(&Default::default(), &object)?;
    watched.wait_told(&created);
    let stored = watched.store().get((&*ground.namespace, "a")).expect("it is there");
    assert_eq!(stored.data["data"]["value"], "0");
    assert_eq!(stored.meta().uid, created.meta().uid);
    watched.finish()
}

fn d_9_managed_fields_are_kept_only_where_asked_for(ground: &mut Ground<'_>) -> Result<()> {
    let created = ground.create("a")?;
    assert!(created.metadata.managed_fields.is_some(), "the server keeps them");
    for keep in [false, true] {
        let options = informer_core::DecodeOptions::default().keep_managed_fields(keep);
        let watched = Watched::synced(SharedInformer::builder(ground.source().decode(options)))?;
        let stored = watched.store().get((&*ground.namespace, "a")).expect("it is there");
        assert_eq!(stored.metadata.managed_fields.is_some(), keep);
        watched.finish()?;
    }
    Ok(())
}
