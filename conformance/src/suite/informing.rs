//! What handlers are told of objects that are there, come, change and go.

use std::time::Duration;

use informer_core::kube_core::params::{DeleteParams, ListParams};
use informer_core::{Clock as _, Object as _, Result, SystemClock, version};
use informer_factory::Api;
use informer_testkit::{Recorder, ThreadMark, states, within};
use k8s_openapi::api::core::v1::ConfigMap;

use super::ground::Ground;
use super::watched::{PATIENCE, Watched, uid_of, version_of};

super::cases! {
    i_11_i_16_objects_that_are_there_are_initial_and_told_before_sync [],
    i_12_an_empty_namespace_syncs_without_events [],
    i_20_r_38_create_update_delete_come_in_order_with_their_versions [],
    i_13_a_late_handler_is_told_what_is_there_and_then_what_happens [],
    d_4_an_object_made_again_under_its_name_is_another_one [],
    p_6_five_hundred_objects_are_exactly_the_servers_however_they_are_listed [],
    sc_2_wait_for_shows_your_own_write [],
    sc_2_wait_gone_ends_with_the_deletion [],
    i_20_an_object_with_a_finalizer_is_updated_before_it_goes [],
    r_6_stop_ends_an_idle_watch_and_leaves_no_thread [],
}

fn i_11_i_16_objects_that_are_there_are_initial_and_told_before_sync(ground: &mut Ground<'_>) -> Result<()> {
    let ns = ground.namespace.clone();
    let there = [ground.create("a")?, ground.create("b")?, ground.create("c")?];
    let watched = Watched::synced(ground.informer())?;
    let mut told: Vec<String> = watched.seen.trace().lines().map(str::to_owned).collect();
    told.sort();
    let expected = there.each_ref().map(|object| {
        let meta = object.meta();
        format!("Added({ns}/{}@{}, initial)", meta.name, meta.resource_version)
    });
    assert_eq!(told, expected, "all of them, as initial, before the handler is synced");
    let late = ground.create("d")?;
    watched.wait_told(&late);
    let trace = watched.seen.trace();
    assert_eq!(trace.lines().last(), Some(&*format!("Added({ns}/d@{})", version_of(&late))));
    watched.finish()
}

fn i_12_an_empty_namespace_syncs_without_events(ground: &mut Ground<'_>) -> Result<()> {
    let watched = Watched::synced(ground.informer())?;
    assert_eq!(watched.seen.trace(), "");
    assert!(watched.informer.has_synced());
    assert!(version::is_comparable(&watched.store().resource_version()), "an empty list has a version too");
    watched.finish()
}

fn i_20_r_38_create_update_delete_come_in_order_with_their_versions(ground: &mut Ground<'_>) -> Result<()> {
    let ns = ground.namespace.clone();
    let watched = Watched::synced(ground.informer())?;
    let one = ground.create("a")?;
    let two = ground.update(&one, "1")?;
    let three = ground.update(&two, "2")?;
    ground.delete("a")?;
    watched.wait_gone((&*ns, "a"));
    let records = watched.seen.records();
    let end = records[records.len() - 1].version.clone();
    let (one, two, three) = (version_of(&one), version_of(&two), version_of(&three));
    assert!(version::below(three, &end), "the end of an object is a version of its own: {three}, {end}");
    assert_eq!(
        watched.seen.trace(),
        format!(
            "Added({ns}/a@{one})\nUpdated({ns}/a@{one}→{two})\nUpdated({ns}/a@{two}→{three})\nDeleted({ns}/a@{end})"
        )
    );
    assert_eq!(watched.store().resource_version(), end, "a deletion moves the store's version");
    assert_eq!(watched.failures(), []);
    watched.finish()
}

fn i_13_a_late_handler_is_told_what_is_there_and_then_what_happens(ground: &mut Ground<'_>) -> Result<()> {
    let ns = ground.namespace.clone();
    let a = ground.create("a")?;
    let watched = Watched::synced(ground.informer())?;
    let late = Recorder::new();
    let registration = watched.informer.add_event_handler(late.clone())?;
    registration.wait_synced(PATIENCE)?;
    assert_eq!(late.trace(), format!("Added({ns}/a@{}, initial)", version_of(&a)));
    let b = ground.create("b")?;
    let records = late.wait_for(2);
    assert_eq!(records[1].to_string(), format!("Added({ns}/b@{})", version_of(&b)));
    watched.wait_told(&b);
    watched.finish()
}

fn d_4_an_object_made_again_under_its_name_is_another_one(ground: &mut Ground<'_>) -> Result<()> {
    let ns = ground.namespace.clone();
    let old = ground.create("a")?;
    let watched = Watched::synced(ground.informer())?;
    ground.delete("a")?;
    let new = ground.create("a")?;
    watched.wait_told(&new);
    let records = watched.seen.records();
    let kinds: Vec<_> = records.iter().map(|record| (record.to_string(), record.uid.clone())).collect();
    let (old_uid, new_uid) = (uid_of(&old).to_owned(), uid_of(&new).to_owned());
    assert_ne!(old_uid, new_uid);
    let end = &records[1].version;
    assert_eq!(
        kinds,
        [
            (format!("Added({ns}/a@{}, initial)", version_of(&old)), old_uid.clone()),
            (format!("Deleted({ns}/a@{end})"), old_uid),
            (format!("Added({ns}/a@{})", version_of(&new)), new_uid),
        ]
    );
    watched.finish()
}

fn p_6_five_hundred_objects_are_exactly_the_servers_however_they_are_listed(
    ground: &mut Ground<'_>,
) -> Result<()> {
    let api = ground.config_maps();
    let kilobyte = "0123456789abcdef".repeat(64);
    for n in 0..500 {
        api.create(&Default::default(), &ground.config_map(&format!("map-{n:03}"), &kilobyte))?;
    }
    let page = api.list(&ListParams::default().fields(ground.fields()))?;
    let server = states(&page.items);
    assert_eq!(server.len(), 500);
    // Streamed, then in one list, which is large enough for the server to compress it, then in pages.
    for builder in [
        ground.informer(),
        ground.informer().streaming(false),
        ground.informer().streaming(false).page_size(100),
    ] {
        let watched = Watched::synced(builder)?;
        let store = watched.store().list();
        assert_eq!(states(store.iter().map(|object| &**object)), server);
        let whole = |object: &ConfigMap| object.data.as_ref().is_some_and(|data| data["value"] == kilobyte);
        assert!(store.iter().all(|object| whole(object)), "every byte arrives");
        watched.finish()?;
    }
    Ok(())
}

fn sc_2_wait_for_shows_your_own_write(ground: &mut Ground<'_>) -> Result<()> {
    use informer_core::kube_core::params::{Patch, PatchParams};
    let watched = Watched::synced(ground.informer())?;
    let store = watched.store();
    let value = |name: &str| {
        let object = store.get((&*ground.namespace, name))?;
        object.data.as_ref()?.get("value").cloned()
    };
    let created = ground.create("a")?;
    ground.reach(&store, &created)?;
    assert_eq!(value("a").as_deref(), Some("0"));
    let replaced = ground.update(&created, "1")?;
    ground.reach(&store, &replaced)?;
    assert_eq!(value("a").as_deref(), Some("1"));
    let patch = serde_json::json!({ "data": { "value": "2" } });
    let patched = ground.config_maps().patch("a", &PatchParams::default(), &Patch::Merge(&patch))?;
    ground.reach(&store, &patched)?;
    assert_eq!(value("a").as_deref(), Some("2"));
    // What was reached once is reached.
    store.wait_for((&*ground.namespace, "a"), uid_of(&created), version_of(&created), Duration::ZERO)?;
    watched.end()
}

fn sc_2_wait_gone_ends_with_the_deletion(ground: &mut Ground<'_>) -> Result<()> {
    let created = ground.create("a")?;
    let watched = Watched::synced(ground.informer())?;
    let (store, key) = (watched.store(), (&*ground.namespace, "a"));
    let early = store.wait_gone(key, uid_of(&created), Duration::ZERO);
    assert!(early.is_err_and(|error| error.is_timed_out()), "it is there");
    ground.delete("a")?;
    store.wait_gone(key, uid_of(&created), PATIENCE)?;
    assert!(store.get(key).is_none());
    // Made again, it is another object: the one that is meant is still gone.
    let again = ground.create("a")?;
    ground.reach(&store, &again)?;
    store.wait_gone(key, uid_of(&created), Duration::ZERO)?;
    watched.end()
}

fn i_20_an_object_with_a_finalizer_is_updated_before_it_goes(ground: &mut Ground<'_>) -> Result<()> {
    let api: Api<ConfigMap> = ground.config_maps();
    let mut object = ground.config_map("a", "0");
    object.metadata.finalizers = Some(vec!["example.com/hold".to_owned()]);
    let created = api.create(&Default::default(), &object)?;
    let watched = Watched::synced(ground.informer())?;
    let lingering = api.delete("a", &DeleteParams::default())?;
    let lingering = lingering.expect("the server answers with an object that lingers");
    assert!(lingering.metadata.deletion_timestamp.is_some());
    watched.wait_told(&lingering);
    let released = ground.change(&lingering, |object| object.metadata.finalizers = None)?;
    watched.wait_gone((&*ground.namespace, "a"));
    let kinds: Vec<String> = watched.seen.records().iter().map(ToString::to_string).collect();
    let starts = ["Added", "Updated", "Deleted"];
    assert!(
        kinds.len() == 3 && kinds.iter().zip(starts).all(|(kind, start)| kind.starts_with(start)),
        "{kinds:?}"
    );
    assert_eq!(uid_of(&released), uid_of(&created));
    watched.finish()
}

fn r_6_stop_ends_an_idle_watch_and_leaves_no_thread(ground: &mut Ground<'_>) -> Result<()> {
    ground.create("a")?;
    let mark = ThreadMark::new();
    let watched = Watched::synced(ground.informer())?;
    let informer = watched.informer.clone();
    let began = SystemClock.now();
    let took = within("stop and join", move || {
        informer.stop();
        informer.join().map(|()| SystemClock.now().saturating_duration_since(began))
    })?;
    mark.assert_none_left_now();
    // Ten milliseconds are promised; a machine with other things to do gets more.
    assert!(took < Duration::from_secs(1), "it took {took:?}");
    assert!(watched.informer.is_stopped());
    assert_eq!(watched.store().len(), 1, "the store stays readable");
    Ok(())
}
