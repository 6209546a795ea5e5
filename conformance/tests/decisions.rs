//! Decisions that only the tree itself can show.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The Rust files below `folder`.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let nested = entries.map(|path| match path.extension() {
        _ if path.is_dir() => rust_files(&path),
        Some(end) if end == "rs" => vec![path],
        _ => Vec::new(),
    });
    nested.flatten().collect()
}

/// Whether `file` is the module `name` of a crate's root, or a part of it.
fn is_module(file: &Path, name: &str) -> bool {
    let mut below = file.iter().skip_while(|part| *part != "src").skip(1);
    below.next().is_some_and(|part| part == name || part.to_str() == Some(&format!("{name}.rs")))
}

#[test]
fn d_15_unsafe_is_forbidden_in_every_crate() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(workspace.lines().any(|line| line.trim() == "unsafe_code = \"forbid\""));
    let members = workspace.split("members = [").nth(1).unwrap().split(']').next().unwrap();
    let members: Vec<_> = members.split(',').map(|member| member.trim().trim_matches('"')).collect();
    for member in members.into_iter().filter(|member| !member.is_empty()) {
        let manifest = fs::read_to_string(root().join(member).join("Cargo.toml")).unwrap();
        assert!(
            manifest.contains("[lints]\nworkspace = true"),
            "{member} does not take the workspace's lints"
        );
    }
}

#[test]
fn d_15_locks_threads_and_time_have_one_module_each() {
    let rules = [
        ("parking_lot", &["sync"][..]),
        ("std::sync::Mutex", &["sync"]),
        ("std::sync::RwLock", &["sync"]),
        ("std::sync::Condvar", &["sync"]),
        ("thread::spawn(", &["sync"]),
        ("thread::Builder", &["sync", "time"]), // the watchdog is the clock's
        ("Instant::now(", &["time"]),
        ("thread::sleep", &[]),
    ];
    let crates = ["informer-core", "informer-http", "informer-factory", "informer-testkit"];
    let files: Vec<_> = crates.iter().flat_map(|name| rust_files(&root().join(name).join("src"))).collect();
    assert!(files.len() > 100, "the tree is there");
    let mut met = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let code = || text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for (word, modules) in rules {
            if !code().any(|line| line.contains(word)) {
                continue;
            }
            met.push(word);
            let allowed = modules.iter().any(|module| is_module(file, module));
            assert!(allowed, "{}: `{word}`; that belongs into {modules:?} of informer-core", file.display());
        }
    }
    for word in ["parking_lot", "thread::Builder", "Instant::now("] {
        assert!(met.contains(&word), "nobody has `{word}`: the search is wrong");
    }
}
