//! What is asked of the server: streaming lists, paged lists, watches.

use std::time::Duration;

use informer_core::kube_core::params::{DeleteParams, ListParams, WatchParams};
use informer_core::{ChangeKind, Object as _, Result, SharedInformer};
use informer_testkit::Deadline;

use super::ground::Ground;
use super::tap::TapHandle;
use super::watched::{PATIENCE, Watched, version_of};

super::cases! {
    dy_3_a_streaming_list_is_the_one_request_to_start_with [],
    r_7_r_22_without_streaming_it_lists_at_0_and_watches_from_there [],
    r_17_p_2_p_6_a_relist_in_pages_of_two_is_whole [],
    p_2_a_list_of_all_pages_is_whole [],
    r_28_a_watch_that_ends_is_opened_again_where_it_was [],
    sc_1_r_39_a_bookmark_moves_the_version_and_nothing_else [WatchCache],
    w_31_a_watch_by_itself_loses_nothing_between_its_requests [],
    d_11_a_compressed_streaming_list_goes_on_as_a_watch [],
}

fn dy_3_a_streaming_list_is_the_one_request_to_start_with(ground: &mut Ground<'_>) -> Result<()> {
    ground.create("a")?;
    let (tap, builder) = ground.tapped();
    let watched = Watched::synced(builder)?;
    let b = ground.create("b")?;
    watched.wait_told(&b);
    assert_eq!(tap.requests(), ["STREAM"]);
    let counters = watched.informer.status().counters;
    assert_eq!((counters.lists, counters.watches, counters.relists, counters.errors), (1, 1, 0, 0));
    assert!(counters.bookmarks >= 1, "the end bookmark is one");
    watched.finish()
}

fn r_7_r_22_without_streaming_it_lists_at_0_and_watches_from_there(ground: &mut Ground<'_>) -> Result<()> {
    ground.create("a")?;
    let (tap, builder) = ground.tapped();
    let watched = Watched::synced(builder.streaming(false))?;
    let listed = watched.store().resource_version();
    let b = ground.create("b")?;
    watched.wait_told(&b);
    assert_eq!(tap.requests(), ["LIST 0 limit=500".to_owned(), format!("WATCH {listed}")]);
    watched.finish()
}

fn r_17_p_2_p_6_a_relist_in_pages_of_two_is_whole(ground: &mut Ground<'_>) -> Result<()> {
    let ns = ground.namespace.clone();
    let there = (0..7).map(|n| ground.create(&format!("map-{n}"))).collect::<Result<Vec<_>>>()?;
    let (tap, builder) = ground.tapped();
    let watched = Watched::synced(builder.streaming(false).page_size(2))?;
    assert_eq!(watched.store().len(), 7);
    // A server ignores the limit of a list at version 0; at a concrete one it does not.
    tap.interrupt();
    let before = tap.requests().len();
    let at = watched.store().resource_version();
    watched.seen.clear();
    ground.delete("map-3")?;
    let new = ground.create("map-7")?;
    tap.release_into_a_failure();
    watched.wait_told(&new);
    assert_eq!(
        watched.news(),
        format!(
            "Deleted({ns}/map-3@{}, final state unknown)\nAdded({ns}/map-7@{})",
            version_of(&there[3]),
            version_of(&new)
        )
    );
    let more = "LIST continue limit=2".to_owned();
    assert_eq!(
        tap.requests()[before..before + 4],
        [format!("LIST {at} limit=2"), more.clone(), more.clone(), more]
    );
    assert_eq!(watched.store().len(), 7);
    watched.end()
}

fn p_2_a_list_of_all_pages_is_whole(ground: &mut Ground<'_>) -> Result<()> {
    for n in 0..7 {
        ground.create(&format!("map-{n}"))?;
    }
    let api = ground.config_maps();
    let params = ListParams::default().fields(ground.fields()).limit(2);
    let first = api.list(&params)?;
    assert!(first.items.len() == 2 && first.metadata.continue_.is_some());
    let all = api.list_all(&params)?;
    let names: Vec<&str> = all.iter().map(|object| object.meta().name).collect();
    assert_eq!(names, ["map-0", "map-1", "map-2", "map-3", "map-4", "map-5", "map-6"]);
    Ok(())
}

fn r_28_a_watch_that_ends_is_opened_again_where_it_was(ground: &mut Ground<'_>) -> Result<()> {
    let ns = ground.namespace.clone();
    let a = ground.create("a")?;
    let (tap, builder) = ground.tapped();
    let watched = Watched::synced(builder)?;
    let b = ground.create("b")?;
    watched.wait_told(&b);
    tap.interrupt();
    let a2 = ground.update(&a, "1")?;
    ground.delete("b")?;
    let again = ground.create("b")?;
    tap.release();
    watched.wait_told(&again);
    // No list: the server tells what was missed, with every end seen.
    assert_eq!(tap.requests(), ["STREAM".to_owned(), format!("WATCH {}", version_of(&b))]);
    let records = watched.seen.records();
    let told: Vec<String> = records[2..].iter().map(ToString::to_string).collect();
    let gone = &records[3].version;
    assert_eq!(
        told,
        [
            format!("Updated({ns}/a@{}→{})", version_of(&a), version_of(&a2)),
            format!("Deleted({ns}/b@{gone})"),
            format!("Added({ns}/b@{})", version_of(&again)),
        ]
    );
    watched.finish()
}

fn sc_1_r_39_a_bookmark_moves_the_version_and_nothing_else(ground: &mut Ground<'_>) -> Result<()> {
    ground.create("a")?;
    let (tap, builder) = ground.tapped();
    tap.shorten(Duration::from_secs(4), PATIENCE);
    let watched = Watched::synced(builder)?;
    let elsewhere = ground.create_elsewhere()?;
    // Nothing of this namespace has that version: only a bookmark can tell of it.
    watched.store().wait_until(version_of(&elsewhere), PATIENCE)?;
    assert_eq!(watched.seen.len(), 1, "{}", watched.seen.trace());
    assert!(watched.informer.status().counters.bookmarks >= 2);
    watched.finish()
}

fn w_31_a_watch_by_itself_loses_nothing_between_its_requests(ground: &mut Ground<'_>) -> Result<()> {
    let api = ground.config_maps();
    let fields = ground.fields();
    let list = api.list(&ListParams::default().fields(fields))?;
    let version = list.metadata.resource_version.unwrap_or_default();
    let mut object = ground.create("a")?;
    // Each request ends after a second, so what follows comes over three of them.
    let params = WatchParams::default().fields(fields).timeout(1);
    let watch = api.watch(&params, &version)?;
    let mut told = watch.map(|event| event.map(|event| (event.kind, event.object)));
    let mut next = || told.next().expect("a watch goes on");
    assert_eq!(next()?, (ChangeKind::Added, object.clone()));
    let until = Deadline::after(Duration::from_millis(2500));
    for round in 1.. {
        if until.has_passed() {
            break;
        }
        object = ground.update(&object, &round.to_string())?;
        let (kind, told) = next()?;
        assert_eq!((kind, version_of(&told)), (ChangeKind::Modified, version_of(&object)), "round {round}");
    }
    api.delete("a", &DeleteParams::default())?;
    assert_eq!(next()?.0, ChangeKind::Deleted);
    Ok(())
}

/// From 1.37 on each flush is a gzip member of its own; who stops after the first goes deaf.
fn d_11_a_compressed_streaming_list_goes_on_as_a_watch(ground: &mut Ground<'_>) -> Result<()> {
    let mut object = ground.create("a")?;
    let tap = TapHandle::new();
    let source = tap.on(ground.source().compress_watches(true));
    let watched = Watched::synced(SharedInformer::builder(source))?;
    for round in 1..5 {
        object = ground.update(&object, &round.to_string())?;
        watched.wait_told(&object);
    }
    assert_eq!(tap.requests(), ["STREAM"]);
    watched.finish()
}
