//! Cells of lists and watches: every version, by every match, by every page, and for watches by every word on initial
//! events and bookmarks.

use super::Cell;
use super::world::{KINDS, Kind};
use crate::exchange::Ask;

/// One value of a parameter: how a cell calls it, and the query that says it (empty: nothing).
type Choice = (&'static str, &'static str);

const MATCHES: [Choice; 4] = [
    ("no-match", ""),
    ("exact", "resourceVersionMatch=Exact"),
    ("not-older", "resourceVersionMatch=NotOlderThan"),
    ("odd-match", "resourceVersionMatch=Newest"),
];

const INITIAL: [Choice; 4] = [
    ("plain", ""),
    ("initial", "sendInitialEvents=true"),
    ("no-initial", "sendInitialEvents=false"),
    ("odd-initial", "sendInitialEvents=perhaps"),
];

/// A watch so short ends before the bookmarks that its end brings; those have cells of their own.
const BOOKMARKS: [Choice; 2] =
    [("silent", "timeoutSeconds=1"), ("bookmarks", "allowWatchBookmarks=true&timeoutSeconds=1")];

/// Versions of a world that is remembered; `#` is where the name of a fact begins.
const KEPT: [Choice; 8] = [
    ("unset", ""),
    ("empty", "resourceVersion="),
    ("0", "resourceVersion=0"),
    ("old", "resourceVersion={#old}"),
    ("current", "resourceVersion={#current}"),
    ("future", "resourceVersion={future}"),
    ("garbage", "resourceVersion=abc"),
    ("negative", "resourceVersion=-1"),
];

const KEPT_PAGES: [Choice; 7] = [
    ("whole", ""),
    ("limit", "limit=2"),
    ("big-limit", "limit=500"),
    ("next", "continue={#next}"),
    ("next-limit", "limit=1&continue={#next}"),
    ("odd-next", "limit=2&continue=bm9wZQ"),
    ("odd-limit", "limit=two"),
];

/// The same once versions of before are forgotten.
const FORGOTTEN: [Choice; 3] =
    [("unset", ""), ("0", "resourceVersion=0"), ("compacted", "resourceVersion={#compacted}")];

const FORGOTTEN_PAGES: [Choice; 5] = [
    ("whole", ""),
    ("limit", "limit=2"),
    ("expired", "continue={#expired}"),
    ("expired-limit", "limit=1&continue={#expired}"),
    ("rest", "limit=1&continue={#rest}"),
];

const WATCH_PAGES: [Choice; 3] = [("whole", ""), ("limit", "limit=1"), ("next", "continue={#next}")];

/// Those of a world that remembers everything.
pub(super) fn kept() -> Vec<Cell> {
    let mut cells = Vec::new();
    for kind in KINDS {
        lists(kind, &KEPT, &KEPT_PAGES, &mut cells);
        watches(kind, &KEPT, &WATCH_PAGES, &mut cells);
        selected(kind, &mut cells);
        late(kind, &mut cells);
    }
    cells
}

/// Those of a world whose past is forgotten.
pub(super) fn forgotten() -> Vec<Cell> {
    let mut cells = Vec::new();
    for kind in KINDS {
        lists(kind, &FORGOTTEN, &FORGOTTEN_PAGES, &mut cells);
        watches(kind, &FORGOTTEN[2..], &WATCH_PAGES[..2], &mut cells);
    }
    cells.into_iter().map(|cell| Cell { name: format!("forgotten/{}", cell.name), ..cell }).collect()
}

fn lists(kind: Kind, versions: &[Choice], pages: &[Choice], cells: &mut Vec<Cell>) {
    for version in versions {
        for matching in MATCHES {
            for page in pages {
                let choices = [*version, matching, *page];
                cells.push(cell("list", kind, &kind.collection(), &choices));
            }
        }
    }
    // The cluster has ConfigMaps of its own.
    let own = ("labelled", "labelSelector=n");
    for version in versions {
        for limit in [("limit", "limit=3"), ("whole", "")] {
            cells.push(cell("list-all", kind, &kind.everywhere(), &[own, *version, limit]));
        }
    }
    // A list knows nothing of initial events.
    for initial in &INITIAL[1..] {
        cells.push(cell("list", kind, &kind.collection(), &[("unset", ""), *initial]));
    }
}

fn watches(kind: Kind, versions: &[Choice], pages: &[Choice], cells: &mut Vec<Cell>) {
    for version in versions {
        for matching in MATCHES {
            for initial in INITIAL {
                for bookmarks in BOOKMARKS {
                    let choices = [("watch", "watch=1"), *version, matching, initial, bookmarks];
                    cells.push(cell("watch", kind, &kind.collection(), &choices[..]));
                    // What is said of pages matters to no watch, so not every one of them has to say it.
                    if bookmarks.0 == "silent" && matching.0 != "odd-match" && initial.0 != "odd-initial" {
                        for page in &pages[1..] {
                            let choices = [choices.as_slice(), &[*page]].concat();
                            cells.push(cell("watch", kind, &kind.collection(), &choices));
                        }
                    }
                }
            }
        }
    }
}

/// Bookmarks once a minute, and before the end of a watch: none to one that has been told nothing newer than what it
/// began with.
fn late(kind: Kind, cells: &mut Vec<Cell>) {
    let initial = ("no-initial", "sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
    for version in [("old", "resourceVersion={#old}"), ("current", "resourceVersion={#current}")] {
        for (end, timeout) in [("end", "timeoutSeconds=4"), ("minute", "timeoutSeconds=63")] {
            for initial in [("plain", ""), initial] {
                let bookmarks = ("bookmarks", "watch=1&allowWatchBookmarks=true");
                let choices = [bookmarks, version, initial, (end, timeout)];
                cells.push(cell("late", kind, &kind.collection(), &choices));
            }
        }
    }
}

/// Selectors, with and without pages: what is left is not counted where something is selected.
fn selected(kind: Kind, cells: &mut Vec<Cell>) {
    let selectors: [Choice; 12] = [
        ("label", "labelSelector=n%3D0"),
        ("label-none", "labelSelector=n%3Dnone"),
        ("label-set", "labelSelector=n%20in%20%280%2C7%29"),
        ("label-notin", "labelSelector=n%20notin%20%280%29"),
        ("label-absent", "labelSelector=%21n"),
        ("label-odd", "labelSelector=n%3D%3D%3D"),
        ("label-key", "labelSelector=a%2Fb%2Fc%3D1"),
        ("name", "fieldSelector=metadata.name%3D{name1}"),
        ("not-name", "fieldSelector=metadata.name%21%3D{name1}"),
        ("field-odd", "fieldSelector=spec.none%3D1"),
        ("field-syntax", "fieldSelector=metadata.name"),
        ("both", "labelSelector=n%3D1&fieldSelector=metadata.namespace%3D{ns}"),
    ];
    let pages: [Choice; 3] = [("whole", ""), ("limit", "limit=1"), ("next", "limit=1&continue={#next}")];
    for selector in selectors {
        for page in pages {
            cells.push(cell("list", kind, &kind.collection(), &[selector, page]));
        }
        let watch = [("watch", "watch=1&timeoutSeconds=1"), selector];
        cells.push(cell(
            "watch",
            kind,
            &kind.collection(),
            &[watch[0], ("0", "resourceVersion=0"), watch[1]],
        ));
        let old = ("old", "resourceVersion={#old}");
        cells.push(cell("watch", kind, &kind.collection(), &[watch[0], old, watch[1]]));
    }
}

/// A cell whose name and query are those of its choices.
fn cell(verb: &str, kind: Kind, collection: &str, choices: &[Choice]) -> Cell {
    let words: Vec<&str> = choices.iter().map(|(word, _)| *word).filter(|word| *word != "watch").collect();
    let query: Vec<&str> =
        choices.iter().map(|(_, query)| *query).filter(|query| !query.is_empty()).collect();
    let query = query.join("&").replace("{#", &format!("{{{}", kind.facts));
    let mark = if query.is_empty() { "" } else { "?" };
    Cell::ask(
        format!("{verb}/{}/{}", kind.word, words.join("/")),
        Ask::get(format!("{collection}{mark}{query}")),
    )
}
