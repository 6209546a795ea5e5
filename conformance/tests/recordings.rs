//! What a real API server has said is for comparing with, and not for answering from: no library can reach the
//! recordings, neither the files nor what only they can know.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const LIBRARIES: [&str; 4] = ["informer-core", "informer-http", "informer-factory", "informer-testkit"];

/// Ways from code to a file that is not code.
const WAYS: [&str; 7] =
    ["include_str!", "include_bytes!", "include!", "CARGO_MANIFEST_DIR", "file!", "OUT_DIR", "#[path"];

/// The one that there is: examples in a README are tested as those of the crate.
const README: &str = r#"#[doc = include_str!("../README.md")]"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// The files that a library is built from, each without the tests at its end.
///
/// Which modules are tests is what the code says: a file by itself counts as code, whatever it is called.
fn code() -> Vec<(PathBuf, String)> {
    let mut code = Vec::new();
    for library in LIBRARIES {
        let sources = files(&root().join(library).join("src"));
        let texts: Vec<_> = sources.iter().map(|path| (path, fs::read_to_string(path).unwrap())).collect();
        let tests: BTreeSet<PathBuf> =
            texts.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
        let built = texts.into_iter().filter(|(path, _)| !path.ancestors().any(|part| tests.contains(part)));
        code.extend(built.map(|(path, text)| (path.clone(), without_tests(&text).to_owned())));
    }
    assert!(code.len() > 100, "the tree is there");
    code
}

/// The files and folders of the modules that a file declares for tests alone.
fn test_modules(path: &Path, text: &str) -> Vec<PathBuf> {
    let inside = match path.file_stem().unwrap().to_str().unwrap() {
        "mod" | "lib" | "main" => path.parent().unwrap().to_owned(),
        _ => path.with_extension(""),
    };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let declared = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]").filter_map(|pair| {
        let (_, name) = pair[1].strip_suffix(';')?.split_once("mod ")?;
        Some(inside.join(name))
    });
    declared.flat_map(|module| [module.with_extension("rs"), module]).collect()
}

fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap()
}

/// What a recording has that nobody could make up: uids, which are also what requests are audited by.
fn uids(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_ascii_hexdigit() || c == '-'));
    words.filter(|word| word.len() == 36 && word.bytes().filter(|byte| *byte == b'-').count() == 4)
}

#[test]
fn no_library_can_reach_a_recording() {
    let mut found = Vec::new();
    for (path, text) in code() {
        let is_code = |line: &str| !line.trim_start().starts_with("//") && !line.contains(README);
        let lines = text.lines().enumerate().filter(|(_, line)| is_code(line));
        for (at, line) in lines {
            let ways = WAYS.iter().filter(|way| line.contains(**way));
            found.extend(ways.map(|way| format!("{}:{}: {way}", path.display(), at + 1)));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_library_knows_what_only_a_recording_can() {
    let wire = files(&root().join("informer-http/tests/wire"));
    let responses: Vec<_> =
        wire.iter().filter(|path| path.extension().is_some_and(|e| e == "response")).collect();
    assert!(responses.len() > 60, "the recordings are there");
    let texts: Vec<String> =
        responses.iter().map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()).collect();
    let known: BTreeSet<&str> = texts.iter().flat_map(|text| uids(text)).collect();
    assert!(known.len() > 60, "{}", known.len());
    let mut found = Vec::new();
    for (path, text) in code() {
        found.extend(
            uids(&text).filter(|uid| known.contains(uid)).map(|uid| format!("{}: {uid}", path.display())),
        );
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The checks above find what they are for.
#[test]
fn what_is_code_and_what_is_a_test_is_told_apart() {
    let modules = test_modules(
        Path::new("a/b.rs"),
        "mod c;\n\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\npub(crate) mod d;\n",
    );
    assert_eq!(modules, ["a/b/tests.rs", "a/b/tests", "a/b/d.rs", "a/b/d"].map(PathBuf::from));
    assert_eq!(without_tests("code\n#[cfg(test)]\nmod tests {\n include_str!(\"x\") }"), "code\n");
    assert_eq!(uids("uid: a1582322-349f-4045-8d78-00554110ee15, 7-7").count(), 1);
}
