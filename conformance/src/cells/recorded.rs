//! Answers of a real server kept in a file, for runs that have none: one line an answer, since many cells share one.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Answers;

/// The file of a seed.
fn path(seed: u64) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cells").join(format!("seed-{seed}.jsonl"))
}

/// Writes the answers to a seed: each distinct one on a line, after the names of its cells.
///
/// # Errors
/// When the file cannot be written.
pub fn write(seed: u64, answers: &Answers) -> io::Result<()> {
    let mut cells: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, answer) in answers {
        cells.entry(answer.to_string()).or_default().push(name);
    }
    let mut lines: Vec<(Vec<&str>, String)> =
        cells.into_iter().map(|(answer, names)| (names, answer)).collect();
    lines.sort();
    let mut text = String::new();
    for (names, answer) in lines {
        text.push_str(&format!("{}\t{answer}\n", names.join(" ")));
    }
    let path = path(seed);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text)
}

/// Reads them again.
///
/// # Errors
/// When the file is not there, or is none of these.
pub fn read(seed: u64) -> io::Result<Answers> {
    let path = path(seed);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    let mut answers = Answers::new();
    for line in text.lines() {
        let (names, answer) =
            line.split_once('\t').ok_or_else(|| io::Error::other("a line without names"))?;
        let answer: Value = serde_json::from_str(answer)?;
        answers.extend(names.split(' ').map(|name| (name.to_owned(), answer.clone())));
    }
    Ok(answers)
}
