//! Checks on the tree itself: what a reviewer should not have to look for.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crates that users depend on, each with the crates of ours that it may depend on.
const LIBRARIES: [(&str, &[&str]); 4] = [
    ("informer-core", &[]),
    ("informer-http", &["informer-core"]),
    ("informer-factory", &["informer-core", "informer-http"]),
    ("informer-testkit", &["informer-core"]),
];

/// Lines of code a file may have, tests and comments not counted.
const LONGEST: usize = 500;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Rust file below `folder`, with its text.
fn rust_files(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = read(&path);
                files.push((path, text));
            }
        }
    }
    files.sort();
    files
}

/// The files of the library crates: sources and tests.
fn library_files() -> Vec<(PathBuf, String)> {
    let root = root();
    let files: Vec<_> = LIBRARIES
        .iter()
        .flat_map(|(name, _)| ["src", "tests"].map(|part| root.join(name).join(part)))
        .flat_map(|folder| rust_files(&folder))
        .collect();
    assert!(files.len() > 20, "the tree is there");
    files
}

fn is_test(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "tests.rs") || path.iter().any(|part| part == "tests")
}

/// Fails with one line for each finding.
fn no_findings(findings: impl IntoIterator<Item = String>) {
    let findings: Vec<_> = findings.into_iter().collect();
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent = library_files().into_iter().filter(|(_, text)| !text.starts_with("//! "));
    no_findings(silent.map(|(path, _)| format!("{}: does not open with `//!`", path.display())));
}

#[test]
fn files_are_short_enough_to_be_read_at_once() {
    let long = library_files().into_iter().filter(|(path, _)| !is_test(path)).filter_map(|(path, text)| {
        let lines = code_lines(&text);
        (lines > LONGEST)
            .then(|| format!("{}: {lines} lines of code, more than {LONGEST}: split it", path.display()))
    });
    no_findings(long);
}

/// Lines that are neither blank, nor a comment, nor in the test module at the end.
fn code_lines(text: &str) -> usize {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

#[test]
fn modules_are_named_for_what_they_hold() {
    let vague = library_files().into_iter().filter(|(path, _)| {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let folder = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let name = if stem == "mod" { folder } else { stem };
        ["util", "utils", "common", "helper", "helpers", "misc"].contains(&name)
    });
    no_findings(vague.map(|(path, _)| format!("{}: a name that says nothing", path.display())));
}

#[test]
fn nothing_is_async() {
    let found = library_files().into_iter().filter(|(_, text)| {
        text.lines().map(str::trim_start).any(|line| !line.starts_with("//") && line.contains("async fn "))
    });
    no_findings(found.map(|(path, _)| format!("{}: an async function", path.display())));
}

#[test]
fn crates_depend_downwards_only() {
    for (name, allowed) in LIBRARIES {
        let dependencies =
            sections(&read(root().join(name).join("Cargo.toml"))).remove("dependencies").unwrap_or_default();
        let ours = dependencies.iter().filter(|dependency| dependency.starts_with("informer-"));
        no_findings(
            ours.filter(|ours| !allowed.contains(&ours.as_str()))
                .map(|ours| format!("{name} depends on {ours}; it may depend on {allowed:?} only")),
        );
    }
}

/// The names in each table of a manifest.
fn sections(manifest: &str) -> BTreeMap<String, Vec<String>> {
    let mut sections = BTreeMap::<String, Vec<String>>::new();
    let mut section = String::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_matches(['[', ']']).to_owned();
        } else if !line.starts_with('#')
            && let Some(end) = line.find(['=', '.', ' '])
        {
            sections.entry(section.clone()).or_default().push(line[..end].to_owned());
        }
    }
    sections
}

#[test]
fn no_async_runtime_is_in_the_tree_of_a_library() {
    for (name, _) in LIBRARIES {
        let output = Command::new(env!("CARGO"))
            .args([
                "tree",
                "--offline",
                "--locked",
                "--edges",
                "normal",
                "--prefix",
                "none",
                "--format",
                "{p}",
                "-p",
                name,
            ])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(output.status.success(), "cargo tree -p {name}: {}", String::from_utf8_lossy(&output.stderr));
        let tree = String::from_utf8(output.stdout).unwrap();
        assert!(tree.contains("serde"), "the tree is there: {tree}");
        let found = tree.lines().filter(|line| {
            let package = line.split(' ').next().unwrap_or_default();
            ["tokio", "hyper", "futures", "async-std", "smol"].iter().any(|runtime| {
                package == *runtime || package.strip_prefix(runtime).is_some_and(|rest| rest.starts_with('-'))
            })
        });
        no_findings(found.map(|package| format!("{name} brings {package}")));
    }
}

#[test]
fn every_dependency_is_stated_once_and_with_its_reason() {
    let manifest = read(root().join("Cargo.toml"));
    let table = manifest.split("[workspace.dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let mut reason = true; // the crates of the workspace itself come first and need none
    let mut bare = Vec::new();
    for line in table.lines() {
        match line.trim() {
            "" => reason = false,
            line if line.starts_with('#') => reason = true,
            line if line.starts_with("informer-") => {}
            // One reason may stand for several lines that follow each other.
            line if !reason => bare.push(format!("Cargo.toml: no reason for `{line}`")),
            _ => {}
        }
    }
    no_findings(bare);
    for (name, _) in LIBRARIES {
        let manifest = read(root().join(name).join("Cargo.toml"));
        let tables = manifest
            .split("\n[")
            .filter(|table| table.starts_with("dependencies]") || table.starts_with("dev-dependencies]"));
        let versions = tables.flat_map(str::lines).filter(|line| {
            line.contains('=') && !line.contains("workspace = true") && !line.starts_with('#')
        });
        no_findings(
            versions.map(|line| format!("{name}/Cargo.toml: `{line}` belongs into the workspace's manifest")),
        );
    }
}

#[test]
fn the_changelog_has_a_place_for_what_is_new() {
    let changelog = read(root().join("CHANGELOG.md"));
    assert!(
        changelog.lines().any(|line| line.trim() == "## [Unreleased]"),
        "CHANGELOG.md has no [Unreleased] block"
    );
}

#[test]
fn code_is_counted_without_comments_and_tests() {
    let text =
        "//! Doc.\n\nfn a() {\n    // why\n    b();\n}\n\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\n";
    assert_eq!(code_lines(text), 3);
    let manifest =
        sections("[dependencies]\nserde.workspace = true\n# a = 1\nx = { y = 1 }\n[[test]]\nname = 1\n");
    assert_eq!(manifest["dependencies"], ["serde", "x"]);
    assert_eq!(manifest["test"], ["name"]);
}
