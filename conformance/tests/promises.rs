//! The numbered promises of `SharedInformer`: its documentation, the README and the tests speak of the same ones.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(root.join(path)).unwrap()
}

/// The items `1. …` that follow `heading`, by number, up to the next heading.
fn items(text: &str, heading: &str) -> BTreeMap<u32, String> {
    let after = text.split(heading).nth(1).unwrap_or_else(|| panic!("no `{heading}`"));
    let lines = after.lines().skip(1).map(|line| line.trim_start_matches("///").trim());
    let lines = lines.take_while(|line| !line.starts_with('#') && !line.starts_with("```"));
    let numbered = lines.filter_map(|line| {
        let (number, text) = line.split_once(". ")?;
        Some((number.parse().ok()?, text.to_owned()))
    });
    numbered.collect()
}

#[test]
fn every_promise_is_in_the_documentation_the_readme_and_the_tests() {
    let documented = items(&read("informer-core/src/informer/mod.rs"), "# Promises");
    let shown = items(&read("README.md"), "## What is promised");
    assert!(documented.len() >= 10, "{documented:?}");
    assert_eq!(documented.keys().collect::<Vec<_>>(), shown.keys().collect::<Vec<_>>());
    let tests = read("informer-core/tests/it/guarantees.rs");
    for number in documented.keys() {
        let found = tests.matches(&format!("fn promise_{number}_")).count();
        assert_eq!(found, 1, "a test of promise {number}");
    }
    let all = tests.matches("fn promise_").count();
    assert_eq!(all, documented.len(), "no test of a promise that is not given");
}
