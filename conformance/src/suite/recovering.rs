//! Servers that end, come back, and may have forgotten something.

use std::time::Duration;

use informer_core::{ErrorKind, Result};

use super::cluster::Memory;
use super::ground::Ground;
use super::watched::{PATIENCE, Watched, version_of};

/// A server says nothing at all on a watch from a version of its future; a minute and a half is long for a test.
const IDLE: Duration = Duration::from_secs(3);

super::cases! {
    r_33_d_5_a_forgotten_version_is_relisted_as_a_diff [Restart, WatchCache],
    r_33_the_same_with_lists_in_pages [Restart, WatchCache],
    r_23_a_server_that_comes_back_is_watched_again_without_a_double [Restart],
    d_7_a_server_that_lost_everything_is_noticed [Restart, WatchCache],
    d_7_a_server_that_lost_everything_before_its_first_bookmark_is_noticed [Restart],
}

fn r_33_d_5_a_forgotten_version_is_relisted_as_a_diff(ground: &mut Ground<'_>) -> Result<()> {
    forgotten(ground, true)
}

fn r_33_the_same_with_lists_in_pages(ground: &mut Ground<'_>) -> Result<()> {
    forgotten(ground, false)
}

/// While the informer hears nothing, one object goes, one is made again, one changes, one comes and one stays; then
/// the server forgets the versions of before.
fn forgotten(ground: &mut Ground<'_>, streaming: bool) -> Result<()> {
    let ns = ground.namespace.clone();
    let goes = ground.create("goes")?;
    let old = ground.create("made-again")?;
    let changes = ground.create("changes")?;
    ground.create("stays")?;
    let (tap, builder) = ground.tapped();
    let watched = Watched::synced(builder.streaming(streaming).page_size(2))?;
    tap.interrupt();
    let before = watched.seen.len();
    ground.delete("goes")?;
    ground.delete("made-again")?;
    let new = ground.create("made-again")?;
    let changed = ground.update(&changes, "1")?;
    let comes = ground.create("comes")?;
    ground.restart(Memory::Kept)?;
    tap.release();
    watched.wait_told(&comes);
    watched.wait_told(&new);
    watched.wait_told(&changed);
    let mut told: Vec<String> = watched.seen.records()[before..].iter().map(ToString::to_string).collect();
    assert!(told[0].starts_with(&format!("Deleted({ns}/goes@")), "the deletions come first: {told:?}");
    told.sort();
    let mut expected = [
        format!("Added({ns}/comes@{})", version_of(&comes)),
        format!("Added({ns}/made-again@{})", version_of(&new)),
        format!("Deleted({ns}/goes@{}, final state unknown)", version_of(&goes)),
        format!("Deleted({ns}/made-again@{}, final state unknown)", version_of(&old)),
        format!("Updated({ns}/changes@{}→{})", version_of(&changes), version_of(&changed)),
    ];
    expected.sort();
    assert_eq!(told, expected, "what stayed as it was gives no event");
    let gone = watched.failures().into_iter().any(|(kind, _)| kind == ErrorKind::Gone);
    assert!(gone, "the server answers 410: {:?}", watched.failures());
    let status = watched.informer.status();
    assert_eq!((status.counters.relists, status.counters.lowered), (1, 0), "{:?}", tap.requests());
    watched.finish()
}

fn r_23_a_server_that_comes_back_is_watched_again_without_a_double(ground: &mut Ground<'_>) -> Result<()> {
    let objects = (0..5).map(|n| ground.create(&format!("map-{n}"))).collect::<Result<Vec<_>>>()?;
    let watched = Watched::synced(ground.informer())?;
    ground.restart(Memory::Kept)?;
    let new = ground.create("new")?;
    let changed = ground.update(&objects[0], "1")?;
    watched.wait_told(&new);
    watched.wait_told(&changed);
    assert_eq!(
        watched.seen.len(),
        7,
        "five that were there, one new, one changed:\n{}",
        watched.seen.trace()
    );
    assert_eq!(watched.informer.status().counters.lowered, 0);
    watched.finish()
}

fn d_7_a_server_that_lost_everything_is_noticed(ground: &mut Ground<'_>) -> Result<()> {
    lost(ground, true)
}

/// Whoever has just started has had no bookmark yet whose absence could mean anything.
fn d_7_a_server_that_lost_everything_before_its_first_bookmark_is_noticed(
    ground: &mut Ground<'_>,
) -> Result<()> {
    lost(ground, false)
}

fn lost(ground: &mut Ground<'_>, bookmark: bool) -> Result<()> {
    let ns = ground.namespace.clone();
    let mut object = ground.create("old")?;
    // The new server must not reach the old one's version within the case: then nobody could tell the difference.
    for n in 0..400 {
        object = ground.update(&object, &n.to_string())?;
    }
    let (tap, builder) = ground.tapped();
    if bookmark {
        tap.shorten(Duration::from_secs(4), IDLE);
    }
    let watched = Watched::synced(builder)?;
    assert_eq!(watched.store().len(), 1);
    if bookmark {
        let elsewhere = ground.create_elsewhere()?;
        watched.store().wait_until(version_of(&elsewhere), PATIENCE)?;
    } else {
        // The watch of now is a long one: it has no bookmark before its first minute is over.
        tap.shorten(Duration::from_secs(300), IDLE);
    }
    let bookmarks = watched.informer.status().counters.bookmarks;
    ground.restart(Memory::Lost)?;
    let new = ground.create("new")?;
    watched.wait_told(&new);
    watched.wait_gone((&*ns, "old"));
    let told = watched.seen.trace();
    let expected = [
        format!("Added({ns}/old@{}, initial)", version_of(&object)),
        format!("Deleted({ns}/old@{}, final state unknown)", version_of(&object)),
        format!("Added({ns}/new@{})", version_of(&new)),
    ];
    assert_eq!(told, expected.join("\n"));
    assert_eq!(watched.informer.status().counters.lowered, 1, "{:?}", tap.requests());
    assert!(bookmark || bookmarks <= 1, "the end of the first list is the only one: {bookmarks}");
    watched.finish()
}
