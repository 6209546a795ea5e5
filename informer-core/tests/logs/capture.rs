//! A logger that keeps every line, and the table of the contract as the documentation of the crate has it.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use informer_core::sync::Mutex;
use log::{Level, LevelFilter, Log, Metadata, Record};

/// The content of every object in these tests: it must not show in any line.
pub(crate) const SECRET: u64 = 8_675_309_000;

/// Level, target, text.
type Line = (Level, String, String);

struct Capture(Mutex<Vec<Line>>);

impl Log for Capture {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let line = (record.level(), record.target().to_owned(), record.args().to_string());
        self.0.lock().push(line);
    }

    fn flush(&self) {}
}

fn capture() -> &'static Capture {
    static CAPTURE: OnceLock<Capture> = OnceLock::new();
    static SET: OnceLock<()> = OnceLock::new();
    let capture = CAPTURE.get_or_init(|| Capture(Mutex::new(Vec::new())));
    SET.get_or_init(|| {
        log::set_logger(CAPTURE.get().unwrap()).unwrap();
        log::set_max_level(LevelFilter::Trace);
    });
    capture
}

/// Every line of the process so far.
pub(crate) fn every_line() -> Vec<Line> {
    capture().0.lock().clone()
}

/// The lines about one informer.
pub(crate) struct Lines(String);

impl Lines {
    /// Those that begin with `name`; lines are kept from now on.
    pub(crate) fn of(name: &str) -> Self {
        capture();
        Lines(format!("{name}: "))
    }

    /// They keep the contract, whatever the test is about.
    fn mine(&self) -> Vec<Line> {
        let (all, contract) = (every_line(), contract());
        for line in &all {
            let (level, target, text) = line;
            assert!(contract.contains(&(target.clone(), *level)), "not in the table: {line:?}");
            assert!(!text.contains("8675309"), "the content of an object is logged: {line:?}");
        }
        all.into_iter()
            .filter_map(|(level, target, text)| Some((level, target, text.strip_prefix(&self.0)?.to_owned())))
            .collect()
    }

    /// As `LEVEL target: text`, the name left out.
    pub(crate) fn all(&self) -> Vec<String> {
        self.mine().iter().map(|(level, target, text)| format!("{level} {target}: {text}")).collect()
    }

    /// The levels of those from the `from`-th on.
    pub(crate) fn levels(&self, from: usize) -> Vec<Level> {
        self.mine()[from..].iter().map(|(level, ..)| *level).collect()
    }
}

/// What the table in the documentation says may come: target and level.
pub(crate) fn contract() -> BTreeSet<(String, Level)> {
    let docs = include_str!("../../src/lib.rs");
    let rows = docs.lines().filter_map(|line| line.strip_prefix("//! | `informer"));
    let mut contract = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        // The first cell ends with the target's backtick; the map of modules has two columns only.
        let [target, cells @ .., ""] = &cells[..] else { continue };
        let levels = [Level::Error, Level::Warn, Level::Info, Level::Debug];
        if cells.len() != levels.len() {
            continue;
        }
        let target = format!("informer{}", target.trim_end_matches('`'));
        for (cell, level) in cells.iter().zip(levels) {
            if !cell.is_empty() {
                contract.insert((target.clone(), level));
            }
        }
    }
    contract
}
