//! The embedded API server against what a real one has said, cell by cell; and a real one where it can be built.
//!
//! What it has said is kept in `cells/`, one file a seed; `cargo run -p informer-conformance --bin cells -- --record`
//! writes them again.

use std::collections::BTreeSet;
use std::path::Path;

use informer_conformance::cells::{self, Answers, Comparison, Embedded, Half, Real};
use informer_conformance::exchange::Answer;
use informer_conformance::{RealServer, StartError};

/// The seeds whose answers are kept.
const SEEDS: [u64; 2] = [0, 1];

/// Recordings that are no exchange of the script: of users with few rights, which have no cells; of a minute's wait, which
/// has a cell of its own; of a feature that is not switched on.
const ELSEWHERE: [&str; 7] = [
    "30-forbidden-list",
    "31-forbidden-watch",
    "66-watch-bookmarks",
    "71-list-shard",
    "72-list-shard-bad-field",
    "73-list-shard-bad-range",
    "74-watchlist-shard",
];

#[track_caller]
fn agree(comparison: &Comparison) {
    let Comparison { differences, unasked, compared, .. } = comparison;
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(unasked.is_empty(), "cells of which only one side was asked: {unasked:?}");
    assert!(*compared > 2000, "{compared}");
}

/// Every combination that lists and watches have is a cell: by its parts, not by a number.
#[test]
fn no_combination_is_left_out() {
    let names: BTreeSet<String> = cells::names().into_iter().collect();
    assert_eq!(names.len(), cells::names().len(), "two cells of one name");
    for kind in ["configmap", "custom"] {
        for version in ["unset", "0", "current", "old", "future", "garbage"] {
            for matching in ["no-match", "exact", "not-older"] {
                for page in ["whole", "limit", "next", "next-limit"] {
                    let name = format!("list/{kind}/{version}/{matching}/{page}");
                    assert!(names.contains(&name), "{name}");
                }
                for initial in ["plain", "initial", "no-initial"] {
                    for end in ["silent", "silent/limit", "silent/next", "bookmarks"] {
                        let name = format!("watch/{kind}/{version}/{matching}/{initial}/{end}");
                        assert!(names.contains(&name), "{name}");
                    }
                }
            }
        }
        for matching in ["no-match", "exact", "not-older"] {
            for page in ["whole", "limit", "expired", "expired-limit"] {
                let name = format!("forgotten/list/{kind}/compacted/{matching}/{page}");
                assert!(names.contains(&name), "{name}");
            }
            for initial in ["plain", "initial", "no-initial"] {
                let name = format!("forgotten/watch/{kind}/compacted/{matching}/{initial}/bookmarks");
                assert!(names.contains(&name), "{name}");
            }
        }
    }
}

#[test]
fn the_embedded_server_answers_every_cell_as_the_real_one_has() {
    for seed in SEEDS {
        let ours = cells::walk_embedded(seed, "").unwrap();
        agree(&cells::compare(&cells::recorded::read(seed).unwrap(), &ours));
    }
}

/// A comparison that finds nothing has to be one that could.
#[test]
fn what_differs_is_found_and_every_reason_is_needed() {
    let real = cells::recorded::read(SEEDS[0]).unwrap();
    let mut ours = cells::walk_embedded(SEEDS[0], "list/configmap/").unwrap();
    let part: Answers = real.iter().filter(|(name, _)| ours.contains_key(*name)).map(clone).collect();
    let name = "list/configmap/0/no-match/whole";
    ours.get_mut(name).unwrap()["body"]["items"][0]["metadata"]["name"] = "another".into();
    let gone = ours.remove("list/configmap/0/exact/whole");
    assert!(gone.is_some());
    let comparison = cells::compare(&part, &ours);
    assert_eq!(comparison.differences.len(), 1, "{:?}", comparison.differences);
    assert!(comparison.differences[0].starts_with(&format!("{name} /body/items/0/metadata/name: real ")));
    assert_eq!(comparison.unasked, ["list/configmap/0/exact/whole"]);
    let whole = cells::compare(&real, &cells::walk_embedded(SEEDS[0], "").unwrap());
    let idle: Vec<_> = whole.excuses.iter().filter(|(_, _, count)| *count == 0).collect();
    assert!(idle.is_empty(), "reasons that nothing needs: {idle:?}");
}

fn clone((name, answer): (&String, &serde_json::Value)) -> (String, serde_json::Value) {
    (name.clone(), answer.clone())
}

/// What `record` writes down: named as the files of the recordings, without a token, each a whole answer.
#[test]
fn exchanges_are_kept_byte_for_byte_under_the_names_of_the_recordings() {
    let mut names = BTreeSet::new();
    for half in [Half::Kept, Half::Forgotten] {
        let exchanges = cells::record(&mut Embedded::start().unwrap(), SEEDS[0], half).unwrap();
        for exchange in exchanges {
            let answer = Answer::of(&exchange.response.lock()).unwrap();
            assert!(answer.status >= 200, "{}", exchange.name);
            let request = String::from_utf8(exchange.request.clone()).unwrap();
            assert!(!request.contains("Bearer cells"), "{request}");
            assert!(names.insert(exchange.name.clone()), "{} twice", exchange.name);
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../informer-http/tests/wire");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let recorded: BTreeSet<String> = files
        .filter_map(|name| Some(name.to_str()?.strip_suffix(".response")?.to_owned()))
        .filter(|name| !ELSEWHERE.contains(&&**name))
        .collect();
    assert_eq!(names, recorded);
}

/// Another seed than those that are kept, on both servers: lists, on machines where the real one has been built.
#[test]
fn both_servers_list_alike() {
    if !RealServer::is_built() {
        return println!("left out: the real API server is not built on this machine");
    }
    let (seed, half, filter) = (3, Half::Kept, "list/");
    let real = cells::walk(&mut Real::start().unwrap(), seed, half, filter).unwrap();
    let ours = cells::walk(&mut Embedded::start().unwrap(), seed, half, filter).unwrap();
    let Comparison { differences, unasked, compared, .. } = cells::compare(&real, &ours);
    assert!(
        differences.is_empty() && unasked.is_empty() && compared > 200,
        "{compared}: {differences:?} {unasked:?}"
    );
}

/// The same with every cell. About four minutes.
#[test]
#[ignore = "builds a real kube-apiserver"]
fn both_servers_answer_every_cell_alike() {
    let seed = 2;
    let real = match cells::walk_real(seed, "") {
        Ok(real) => real,
        Err(StartError::Unavailable { reason }) => return println!("left out: {reason}"),
        Err(error) => panic!("{error}"),
    };
    agree(&cells::compare(&real, &cells::walk_embedded(seed, "").unwrap()));
}
