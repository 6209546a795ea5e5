//! Kinds that come and go: resources of definitions that a case makes itself.

use informer_core::kube_core::params::{Patch, PatchParams};
use informer_core::kube_core::{ApiResource, DynamicObject};
use informer_core::{Object as _, Result, SharedInformer};
use informer_factory::{Api, find_resource};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use super::ground::Ground;
use super::watched::{Watched, refused, version_of};

super::cases! {
    an_unknown_resource_is_named_with_what_is_near [],
    resources_are_found_as_kubectl_spells_them [],
    dy_1_objects_of_a_definition_are_told_of [],
    dy_8_an_informer_waits_for_its_definition [],
    dy_9_a_kind_that_is_no_longer_served_keeps_its_objects [],
    dy_9_a_definition_removed_and_made_again_starts_afresh [],
}

/// A definition of `widgets` in a group of the case's own. It goes with the value.
struct Widgets {
    api: Api<CustomResourceDefinition>,
    name: String,
    resource: ApiResource,
    namespace: String,
}

impl Widgets {
    /// Not created yet.
    fn of(ground: &Ground<'_>) -> Self {
        let group = format!("{}.example.com", ground.namespace);
        Widgets {
            api: Api::all(&ground.client),
            name: format!("widgets.{group}"),
            resource: ApiResource {
                api_version: format!("{group}/v1"),
                group,
                version: "v1".to_owned(),
                kind: "Widget".to_owned(),
                plural: "widgets".to_owned(),
            },
            namespace: ground.namespace.clone(),
        }
    }

    fn versions(served: bool) -> Value {
        let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        json!([{ "name": "v1", "served": served, "storage": true, "schema": { "openAPIV3Schema": schema } }])
    }

    /// Creates it and waits until the server says that it is established.
    fn create(&self) -> Result<()> {
        let definition = json!({
            "metadata": { "name": self.name },
            "spec": {
                "group": self.resource.group,
                "scope": "Namespaced",
                "names": { "kind": "Widget", "plural": "widgets", "singular": "widget" },
                "versions": Widgets::versions(true),
            },
        });
        let definition = serde_json::from_value(definition).expect("this is a definition");
        let mine = self.api.list_watch().field_selector(&format!("metadata.name={}", self.name));
        let watched = Watched::synced(SharedInformer::builder(mine))?;
        self.api.create(&Default::default(), &definition)?;
        let store = watched.store();
        watched.wait_until("the definition to be established", || {
            let definition = store.get(&*self.name);
            let status = definition.as_ref().and_then(|definition| definition.status.as_ref());
            let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
            conditions.iter().any(|condition| condition.type_ == "Established" && condition.status == "True")
        });
        watched.end() // the server goes on writing to its status
    }

    fn serve(&self, served: bool) -> Result<()> {
        let patch = json!({ "spec": { "versions": Widgets::versions(served) } });
        self.api.patch(&self.name, &PatchParams::default(), &Patch::Merge(&patch)).map(|_| ())
    }

    fn delete(&self) -> Result<()> {
        self.api.delete(&self.name, &Default::default()).map(|_| ())
    }

    fn objects(&self, ground: &Ground<'_>) -> Api<DynamicObject> {
        Api::dynamic(&ground.client, &self.resource, Some(&ground.namespace))
    }

    fn start(&self, ground: &Ground<'_>) -> Result<Watched<DynamicObject>> {
        Watched::start(SharedInformer::builder(self.objects(ground).list_watch()))
    }

    /// Returns once the server serves the kind: when an informer of it has synced.
    fn wait_served(&self, ground: &Ground<'_>) -> Result<()> {
        let watched = self.start(ground)?;
        watched.wait_synced()?;
        watched.end()
    }

    fn make(&self, ground: &Ground<'_>, name: &str, size: u32) -> Result<DynamicObject> {
        let object = DynamicObject::new(name, &self.resource).within(&self.namespace);
        let object = object.data(json!({ "spec": { "size": size } }));
        self.objects(ground).create(&Default::default(), &object)
    }
}

impl Drop for Widgets {
    fn drop(&mut self) {
        let _ = self.delete(); // it may be gone already
    }
}

fn an_unknown_resource_is_named_with_what_is_near(ground: &mut Ground<'_>) -> Result<()> {
    let error = refused(find_resource(&ground.client, "deploymnets"));
    assert!(error.is_not_found(), "{error}");
    let text = error.chain().to_string();
    assert!(text.contains("\"deploymnets\"") && text.contains("deployments"), "{text}");
    let error = refused(find_resource(&ground.client, "pods.example.com"));
    assert!(error.is_not_found() && error.to_string().contains("\"pods.example.com\""), "{error}");
    Ok(())
}

fn resources_are_found_as_kubectl_spells_them(ground: &mut Ground<'_>) -> Result<()> {
    for (spelling, plural, api_version, namespaced) in [
        ("configmaps", "configmaps", "v1", true),
        ("cm", "configmaps", "v1", true),
        ("ns", "namespaces", "v1", false),
        ("deploy", "deployments", "apps/v1", true),
        ("Deployment", "deployments", "apps/v1", true),
        ("deployments.v1.apps", "deployments", "apps/v1", true),
        ("clusterroles.rbac.authorization.k8s.io", "clusterroles", "rbac.authorization.k8s.io/v1", false),
        ("crd", "customresourcedefinitions", "apiextensions.k8s.io/v1", false),
        ("events", "events", "v1", true),
    ] {
        let found = find_resource(&ground.client, spelling)?;
        let resource = &found.resource;
        assert_eq!(
            (&*resource.plural, &*resource.api_version, found.namespaced),
            (plural, api_version, namespaced),
            "{spelling}"
        );
    }
    Ok(())
}

fn dy_1_objects_of_a_definition_are_told_of(ground: &mut Ground<'_>) -> Result<()> {
    let ns = ground.namespace.clone();
    let widgets = Widgets::of(ground);
    widgets.create()?;
    let watched = widgets.start(ground)?;
    watched.wait_synced()?;
    let one = widgets.make(ground, "w", 1)?;
    let mut next = one.clone();
    next.data["spec"]["size"] = json!(2);
    let two = widgets.objects(ground).replace("w", &Default::default(), &next)?;
    watched.wait_told(&two);
    let stored = watched.store().get((&*ns, "w")).expect("it is there");
    assert_eq!(stored.data["spec"]["size"], 2);
    widgets.objects(ground).delete("w", &Default::default())?;
    watched.wait_gone((&*ns, "w"));
    let (one, two) = (version_of(&one), version_of(&two));
    let told = watched.seen.trace();
    let end = &watched.seen.records()[2].version;
    assert_eq!(told, format!("Added({ns}/w@{one})\nUpdated({ns}/w@{one}→{two})\nDeleted({ns}/w@{end})"));
    let found = find_resource(&ground.client, &widgets.name)?;
    assert_eq!((&found.resource, found.namespaced), (&widgets.resource, true));
    watched.finish()
}

fn dy_8_an_informer_waits_for_its_definition(ground: &mut Ground<'_>) -> Result<()> {
    let widgets = Widgets::of(ground);
    let watched = widgets.start(ground)?;
    watched.wait_failure("a kind that is not served", |kind| kind == informer_core::ErrorKind::NotFound);
    let status = watched.informer.status();
    assert!(status.not_served && !status.synced, "{status:?}");
    widgets.create()?;
    watched.wait_synced()?;
    let made = widgets.make(ground, "w", 1)?;
    watched.wait_told(&made);
    assert!(!watched.informer.status().not_served, "a watch that works ends the state");
    watched.finish()
}

fn dy_9_a_kind_that_is_no_longer_served_keeps_its_objects(ground: &mut Ground<'_>) -> Result<()> {
    let ns = ground.namespace.clone();
    let widgets = Widgets::of(ground);
    widgets.create()?;
    let watched = widgets.start(ground)?;
    watched.wait_synced()?;
    let kept = widgets.make(ground, "kept", 1)?;
    watched.wait_told(&kept);
    widgets.serve(false)?;
    watched.wait_until("the kind to be seen unserved", || watched.informer.status().not_served);
    assert!(watched.store().get((&*ns, "kept")).is_some(), "objects are kept");
    widgets.serve(true)?;
    widgets.wait_served(ground)?;
    let new = widgets.make(ground, "new", 2)?;
    watched.wait_told(&new);
    assert_eq!(
        watched.seen.trace(),
        format!("Added({ns}/kept@{})\nAdded({ns}/new@{})", version_of(&kept), version_of(&new)),
        "an unchanged object gives no event"
    );
    assert!(!watched.informer.status().not_served);
    watched.finish()
}

fn dy_9_a_definition_removed_and_made_again_starts_afresh(ground: &mut Ground<'_>) -> Result<()> {
    let ns = ground.namespace.clone();
    let widgets = Widgets::of(ground);
    widgets.create()?;
    let watched = widgets.start(ground)?;
    watched.wait_synced()?;
    let old = widgets.make(ground, "w", 1)?;
    watched.wait_told(&old);
    // The server deletes the objects first, then the definition.
    widgets.delete()?;
    watched.wait_until("the kind to be seen unserved", || watched.informer.status().not_served);
    widgets.create()?;
    widgets.wait_served(ground)?;
    let new = widgets.make(ground, "w", 2)?;
    watched.wait_told(&new);
    assert_ne!(old.meta().uid, new.meta().uid);
    let kinds: Vec<String> = watched.seen.records().iter().map(ToString::to_string).collect();
    assert!(kinds.len() == 3 && kinds[1].starts_with(&format!("Deleted({ns}/w@")), "{kinds:?}");
    watched.finish()
}
