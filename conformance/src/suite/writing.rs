//! The verbs of `Api`, and what the server refuses.

use informer_core::kube_core::params::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions,
};
use informer_core::{Object as _, Result};
use informer_factory::Api;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::json;

use super::ground::Ground;
use super::watched::{refused, uid_of, version_of};

super::cases! {
    create_get_replace_patch_delete_make_a_round [],
    a_stale_replace_is_a_conflict [],
    what_is_not_there_is_not_found [],
    what_is_there_already_is_not_created [],
    what_the_server_finds_invalid_is_told_field_by_field [],
    server_side_apply_refuses_other_managers_fields [Apply],
    preconditions_protect_a_deletion [],
    a_collection_is_deleted_by_selector [],
    a_status_is_written_apart [],
}

fn create_get_replace_patch_delete_make_a_round(ground: &mut Ground<'_>) -> Result<()> {
    let api = ground.config_maps();
    let created = ground.create("a")?;
    assert_eq!(api.get("a")?, created);
    let replaced = ground.update(&created, "1")?;
    assert_eq!(uid_of(&replaced), uid_of(&created));
    assert_ne!(version_of(&replaced), version_of(&created));
    let patch = json!({ "data": { "value": null, "other": "2" } });
    let patched = api.patch("a", &PatchParams::default(), &Patch::Merge(&patch))?;
    let data = patched.data.clone().unwrap_or_default();
    assert_eq!(data.into_iter().collect::<Vec<_>>(), [("other".to_owned(), "2".to_owned())]);
    assert!(
        api.delete("a", &DeleteParams::default())?.is_none(),
        "it is gone at once: the answer is a Status"
    );
    // A name of the server's making.
    let mut nameless = ground.config_map("", "0");
    nameless.metadata.name = None;
    nameless.metadata.generate_name = Some("made-".to_owned());
    let made = api.create(&PostParams::default(), &nameless)?;
    assert!(made.meta().name.starts_with("made-") && made.meta().name.len() > 5);
    Ok(())
}

fn a_stale_replace_is_a_conflict(ground: &mut Ground<'_>) -> Result<()> {
    let old = ground.create("a")?;
    ground.update(&old, "1")?;
    let error = refused(ground.update(&old, "2"));
    assert!(error.is_conflict(), "{error}");
    let status = error.status().expect("the server says why");
    assert_eq!((status.code, &*status.reason), (409, "Conflict"));
    assert!(error.to_string().contains("\"a\""), "{error}");
    Ok(())
}

fn what_is_not_there_is_not_found(ground: &mut Ground<'_>) -> Result<()> {
    let api = ground.config_maps();
    let errors = [
        refused(api.get("nothing")),
        refused(api.delete("nothing", &DeleteParams::default())),
        refused(api.replace("nothing", &PostParams::default(), &ground.config_map("nothing", "0"))),
        refused(api.patch("nothing", &PatchParams::default(), &Patch::Merge(&json!({})))),
    ];
    for error in errors {
        assert!(error.is_not_found() && error.to_string().contains("nothing"), "{error}");
        let status = error.status().expect("the server says why");
        assert_eq!(status.details.as_ref().map(|details| &*details.name), Some("nothing"));
    }
    Ok(())
}

fn what_is_there_already_is_not_created(ground: &mut Ground<'_>) -> Result<()> {
    ground.create("a")?;
    let error = refused(ground.create("a"));
    assert!(error.is_already_exists() && !error.is_conflict(), "{error}");
    Ok(())
}

fn what_the_server_finds_invalid_is_told_field_by_field(ground: &mut Ground<'_>) -> Result<()> {
    let error = refused(ground.create("Not_A_Name"));
    assert!(error.is_invalid(), "{error}");
    let details = error.status().and_then(|status| status.details.as_ref()).expect("the server says why");
    assert_eq!(details.causes[0].field, "metadata.name");
    Ok(())
}

fn server_side_apply_refuses_other_managers_fields(ground: &mut Ground<'_>) -> Result<()> {
    let api = ground.config_maps();
    let wish = |value: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "value": value } });
    let one = api.patch("a", &PatchParams::apply("one"), &Patch::Apply(wish("1")))?;
    let again = api.patch("a", &PatchParams::apply("one"), &Patch::Apply(wish("1")))?;
    assert_eq!(version_of(&one), version_of(&again), "what changes nothing makes no version");
    let error = refused(api.patch("a", &PatchParams::apply("two"), &Patch::Apply(wish("2"))));
    assert!(error.is_conflict() && error.to_string().contains("one"), "{error}");
    let forced = api.patch("a", &PatchParams::apply("two").force(), &Patch::Apply(wish("2")))?;
    assert_eq!(forced.data.unwrap_or_default()["value"], "2");
    Ok(())
}

fn preconditions_protect_a_deletion(ground: &mut Ground<'_>) -> Result<()> {
    let api = ground.config_maps();
    let created = ground.create("a")?;
    let only = |uid: &str| {
        let uid = Some(uid.to_owned());
        DeleteParams::default().preconditions(Preconditions { uid, resource_version: None })
    };
    let error = refused(api.delete("a", &only("00000000-0000-0000-0000-000000000000")));
    assert!(error.is_conflict(), "{error}");
    api.get("a")?;
    api.delete("a", &only(uid_of(&created)))?;
    assert!(refused(api.get("a")).is_not_found());
    Ok(())
}

fn a_collection_is_deleted_by_selector(ground: &mut Ground<'_>) -> Result<()> {
    let api = ground.config_maps();
    for (name, app) in [("a", "web"), ("b", "web"), ("c", "db")] {
        ground.create_labelled(name, ("app", app))?;
    }
    api.delete_collection(&DeleteParams::default(), &ListParams::default().labels("app=web"))?;
    let left = api.list_all(&ListParams::default().labels("app"))?;
    let left: Vec<&str> = left.iter().map(|object: &ConfigMap| object.meta().name).collect();
    assert_eq!(left, ["c"]);
    Ok(())
}

fn a_status_is_written_apart(ground: &mut Ground<'_>) -> Result<()> {
    let api = Api::<Pod>::namespaced(&ground.client, &ground.namespace);
    let pod =
        json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "none" }] } });
    let pod: Pod = serde_json::from_value(pod).expect("this is a pod");
    api.create(&PostParams::default(), &pod)?;
    let patch = json!({ "status": { "message": "hello" }, "metadata": { "labels": { "lost": "yes" } } });
    let message = |pod: &Pod| pod.status.as_ref().and_then(|status| status.message.clone());
    let patched =
        api.patch("p", &PatchParams::default(), &Patch::Merge(&json!({ "status": { "message": "no" } })))?;
    assert_eq!(message(&patched), None, "the object's own address does not take a status");
    let patched = api.patch_status("p", &PatchParams::default(), &Patch::Merge(&patch))?;
    assert_eq!(message(&patched).as_deref(), Some("hello"));
    let mut next = patched;
    next.status.get_or_insert_default().message = Some("bye".to_owned());
    let replaced = api.replace_status("p", &PostParams::default(), &next)?;
    assert_eq!(message(&replaced).as_deref(), Some("bye"));
    api.delete("p", &DeleteParams::default().grace_period(0))?;
    Ok(())
}
