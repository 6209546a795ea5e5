//! Selectors: what enters the selection is new, what leaves it is gone.

use informer_core::{Result, SharedInformer, version};

use super::ground::Ground;
use super::watched::{Watched, version_of};

super::cases! {
    fa_8_a_label_selector_tells_who_enters_and_who_leaves [],
    fa_8_a_field_selector_tells_of_one_object [],
    fa_7_other_namespaces_are_not_told_of [],
}

fn fa_8_a_label_selector_tells_who_enters_and_who_leaves(ground: &mut Ground<'_>) -> Result<()> {
    let ns = ground.namespace.clone();
    let inside = ground.create_labelled("inside", ("app", "web"))?;
    let outside = ground.create_labelled("outside", ("app", "db"))?;
    let watched = Watched::synced(SharedInformer::builder(ground.source().label_selector("app=web")))?;
    assert_eq!(watched.seen.trace(), format!("Added({ns}/inside@{}, initial)", version_of(&inside)));
    let relabel = |object, value: &str| {
        ground.change(object, |object| {
            let labels = object.metadata.labels.get_or_insert_default();
            labels.insert("app".to_owned(), value.to_owned());
        })
    };
    let entered = relabel(&outside, "web")?;
    watched.wait_told(&entered);
    let left = relabel(&entered, "db")?;
    watched.wait_gone((&*ns, "outside"));
    let again = relabel(&left, "web")?;
    watched.wait_told(&again);
    let records = watched.seen.records();
    let told: Vec<String> = records[1..].iter().map(ToString::to_string).collect();
    let gone = &records[2].version;
    assert_eq!(
        told,
        [
            format!("Added({ns}/outside@{})", version_of(&entered)),
            format!("Deleted({ns}/outside@{gone})"),
            format!("Added({ns}/outside@{})", version_of(&again)),
        ]
    );
    assert_eq!(gone, version_of(&left), "what leaves is told at the version at which it left");
    assert!(version::below(version_of(&entered), gone));
    watched.finish()
}

fn fa_8_a_field_selector_tells_of_one_object(ground: &mut Ground<'_>) -> Result<()> {
    let ns = ground.namespace.clone();
    ground.create("other")?;
    let source = ground.source().field_selector("metadata.name=mine");
    let watched = Watched::synced(SharedInformer::builder(source))?;
    assert!(watched.seen.is_empty());
    ground.create("another")?;
    let mine = ground.create("mine")?;
    watched.wait_told(&mine);
    ground.delete("mine")?;
    watched.wait_gone((&*ns, "mine"));
    let kinds: Vec<String> = watched.seen.records().iter().map(|record| record.key.to_string()).collect();
    assert_eq!(kinds, [format!("{ns}/mine"), format!("{ns}/mine")]);
    watched.finish()
}

fn fa_7_other_namespaces_are_not_told_of(ground: &mut Ground<'_>) -> Result<()> {
    let watched = Watched::synced(ground.informer())?;
    ground.create_elsewhere()?;
    let here = ground.create("here")?;
    watched.wait_told(&here);
    assert_eq!(watched.seen.len(), 1, "{}", watched.seen.trace());
    watched.finish()
}
