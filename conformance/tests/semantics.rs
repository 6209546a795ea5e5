//! Checks on `docs/semantics.md`: that no statement is missing, and that what it says of tests is true.
//!
//! The numbers that must be there are listed here, not read from the page.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Statements of one letter: the numbers there are, those that were put between (`34a`), and which of all are no
/// contract (M).
struct Letter {
    heading: &'static str,
    prefix: &'static str,
    numbers: &'static [RangeInclusive<u32>],
    between: &'static [&'static str],
    no_contract: &'static [&'static str],
}

/// A table of the page each: several of them share the letter F.
const LETTERS: &[Letter] = &[
    letter("Classes of errors (E)", "E-", &[1..=3], &[]),
    letter("The reflector (R)", "R-", &[1..=62], &["2", "4", "14", "19", "21", "34a", "54", "55", "59"])
        .between(&["34a", "54a"]),
    letter("Lists in pages (P)", "P-", &[1..=9], &["1", "7"]),
    letter("The wire (W)", "W-", &[1..=7, 10..=24, 30..=33], &["5", "10", "13", "18", "20", "22", "32"])
        .between(&["2a"]),
    letter("The queue before the store (Q)", "Q-", &[1..=6], &[]),
    letter("The order of the queue (F)", "F-", &[1..=16], &[]),
    letter("The older queue (D)", "D-", &[1..=8], &[]),
    letter("Applying deltas (C)", "C-", &[1..=13], &["13"]),
    letter("SharedInformer (I)", "I-", &[1..=8, 10..=16, 20..=29, 40..=46, 50..=51, 60..=62], &["45", "46"]),
    letter("Store and indexes (S)", "S-", &[1..=15], &["14"]),
    letter("Listers (LS)", "LS-", &[1..=7], &["5"]),
    letter("SharedInformerFactory (FA)", "FA-", &[1..=12], &[]),
    letter("Dynamic and metadata informers (DY)", "DY-", &[1..=9], &[]),
    letter("Mutation detector (MD)", "MD-", &[1..=1], &[]),
    letter("Sync tracking (ST)", "ST-", &[1..=3], &[]),
    letter("Mutation cache (MC)", "MC-", &[1..=4], &["4"]),
    letter("Consistency check (CD)", "CD-", &[1..=1], &[]),
    letter("Reading your own writes (SC)", "SC-", &[1..=2], &[]),
    letter("Feature gates (FG)", "FG-", &[1..=1], &[]),
    letter("Metrics (ME)", "ME-", &[1..=3], &[]),
    letter("Faults: is the watch alive? (F-01 to F-09)", "F-0", &[1..=2, 4..=9], &[]),
    letter(
        "Faults: bytes, frames, events (F-10 to F-25)",
        "F-",
        &[10..=10, 12..=14, 16..=19, 21..=22, 25..=25],
        &[],
    ),
    letter(
        "Faults: lists, versions, expiry (F-26 to F-36)",
        "F-",
        &[26..=29, 31..=31, 33..=34, 36..=36],
        &[],
    ),
    letter("Faults: queue, store, index (F-38 to F-47)", "F-", &[38..=42, 45..=45, 47..=47], &[]),
    letter("Faults: handlers, sync, lifecycle (F-48 to F-63)", "F-", &[48..=56, 59..=60, 62..=63], &[]),
    letter("Faults: load and throttling (F-64 to F-66)", "F-", &[64..=64, 66..=66], &[]),
    letter("Faults: HTTP (F-94 to F-102)", "F-", &[94..=100, 102..=102], &[]),
    letter("Decisions (D1 to D18)", "D", &[1..=18], &[]),
    letter("Machines (T1 to T9)", "T", &[1..=9], &[]),
];

const fn letter(
    heading: &'static str,
    prefix: &'static str,
    numbers: &'static [RangeInclusive<u32>],
    no_contract: &'static [&'static str],
) -> Letter {
    Letter { heading, prefix, numbers, between: &[], no_contract }
}

impl Letter {
    const fn between(self, between: &'static [&'static str]) -> Letter {
        Letter { between, ..self }
    }

    /// Every number, as text and in order.
    fn every_number(&self) -> Vec<String> {
        let mut every: Vec<String> = self.numbers.iter().cloned().flatten().map(|n| n.to_string()).collect();
        every.extend(self.between.iter().map(|&number| number.to_owned()));
        // `34a` stands after `34`.
        every.sort_by_key(|text| {
            let digits = text.trim_end_matches(|c: char| c.is_ascii_lowercase());
            (digits.parse::<u32>().unwrap(), text.len())
        });
        every
    }
}

/// A row of one of the tables.
#[derive(Debug)]
struct Row {
    /// `I-27`, without its tag.
    statement: String,
    tag: String,
    verdict: String,
    /// Tests and reasons.
    place: String,
}

/// A test that a row names, and its file.
#[derive(Debug, PartialEq)]
struct Named {
    test: String,
    file: Option<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn page() -> String {
    fs::read_to_string(root().join("docs/semantics.md")).unwrap()
}

/// The rows of each table, by its heading.
fn tables(page: &str) -> BTreeMap<String, Vec<Row>> {
    let mut tables = BTreeMap::<String, Vec<Row>>::new();
    let mut heading = String::new();
    for line in page.lines() {
        if let Some(text) = line.strip_prefix("## ") {
            heading = text.to_owned();
        } else if let Some(line) = line.strip_prefix("| ")
            && !line.starts_with("statement |")
        {
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            let [statement, _short, verdict, place, ""] = cells[..] else {
                panic!("{heading}: not four columns: {line}");
            };
            let (statement, tag) = statement.split_once(' ').unwrap_or((statement, ""));
            tables.entry(heading.clone()).or_default().push(Row {
                statement: statement.to_owned(),
                tag: tag.to_owned(),
                verdict: verdict.to_owned(),
                place: place.to_owned(),
            });
        }
    }
    tables
}

/// What in backticks is a test, and the file in backticks that follows it.
///
/// A test begins with a number of a statement (`i_27_…`, `d1_…`); a file ends in `.rs`.
fn named(place: &str) -> Vec<Named> {
    let mut found = Vec::<Named>::new();
    let pieces: Vec<&str> = place.split('`').collect();
    for at in (1..pieces.len()).step_by(2) {
        let word = pieces[at];
        // What is said to be in a file is a test, or it is a mistake.
        let in_a_file = pieces.get(at + 1) == Some(&" in ") && word.contains('_');
        if word.ends_with(".rs") {
            for named in found.iter_mut().rev().take_while(|named| named.file.is_none()) {
                named.file = Some(word.to_owned());
            }
        } else if carries_a_number(word) || in_a_file {
            found.push(Named { test: word.to_owned(), file: None });
        }
    }
    found
}

fn carries_a_number(word: &str) -> bool {
    let letters = word.trim_start_matches(|c: char| c.is_ascii_lowercase());
    let digits = letters.strip_prefix('_').unwrap_or(letters);
    word.len() - letters.len() <= 2
        && digits.starts_with(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether the name of a test carries the number of a statement: `i_27_…`, `c_1_i_27_…`, `d1_…`.
fn carries(test: &str, statement: &str) -> bool {
    let test = format!("_{test}_");
    let wanted = statement.to_lowercase().replace('-', "_");
    test.contains(&format!("_{wanted}_"))
        // Decisions are written both ways.
        || !statement.contains('-') && test.contains(&format!("_{}_{}_", &wanted[..1], &wanted[1..]))
}

/// Whether a reason names a decision: a `D` and a number.
fn names_a_decision(reason: &str) -> bool {
    let mut words = reason.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.any(|word| word.strip_prefix('D').is_some_and(|number| number.parse::<u32>().is_ok()))
}

fn no_findings(findings: &[String]) {
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn every_number_has_one_row_in_its_table() {
    let mut tables = tables(&page());
    for letter in LETTERS {
        let rows =
            tables.remove(letter.heading).unwrap_or_else(|| panic!("no table under `{}`", letter.heading));
        let there: Vec<_> = rows.iter().map(|row| row.statement.clone()).collect();
        let wanted: Vec<_> =
            letter.every_number().iter().map(|number| format!("{}{number}", letter.prefix)).collect();
        assert_eq!(there, wanted, "{}", letter.heading);
        if letter.prefix.ends_with('-') && !rows[0].tag.starts_with("fault") {
            for row in &rows {
                let number = row.statement.rsplit('-').next().unwrap();
                let contract = !letter.no_contract.contains(&number);
                assert_eq!(
                    row.tag.split(' ').any(|tag| tag == "M"),
                    contract,
                    "the tag of {}",
                    row.statement
                );
            }
        }
    }
    assert!(tables.is_empty(), "tables that nobody asked for: {:?}", tables.keys());
}

#[test]
fn every_row_has_a_verdict_and_a_contract_that_is_not_kept_names_the_decision() {
    let mut findings = Vec::new();
    for row in tables(&page()).values().flatten() {
        let statement = &row.statement;
        match row.verdict.as_str() {
            "kept" => {
                if !named(&row.place).iter().any(|named| carries(&named.test, statement)) {
                    findings.push(format!("{statement}: kept, but no test carries its number"));
                }
            }
            "changed" | "not applicable" => {
                if row.place.len() < 20 {
                    findings.push(format!("{statement}: {} without a reason", row.verdict));
                }
                let contract = row.tag.split(' ').any(|tag| tag == "M");
                if contract && !names_a_decision(&row.place) {
                    findings.push(format!("{statement}: a contract, {} without a decision", row.verdict));
                }
            }
            other => findings.push(format!("{statement}: the verdict `{other}` is none")),
        }
    }
    no_findings(&findings);
}

#[test]
fn every_test_that_is_named_exists() {
    let mut findings = Vec::new();
    let mut files = BTreeMap::<String, BTreeSet<String>>::new();
    for row in tables(&page()).values().flatten() {
        for Named { test, file } in named(&row.place) {
            let Some(file) = file else {
                findings.push(format!("{}: `{test}` is in no file", row.statement));
                continue;
            };
            let tests = files
                .entry(file.clone())
                .or_insert_with(|| tests(&fs::read_to_string(root().join(&file)).unwrap_or_default()));
            if !tests.contains(&test) {
                findings.push(format!("{}: no test `{test}` in {file}", row.statement));
            }
        }
    }
    no_findings(&findings);
}

/// The names of the tests in a source: functions with `#[test]` among the attributes above them, and those that are
/// entered in a list of what is run: the cases of the suite, the scenarios by the clock on the wall.
fn tests(source: &str) -> BTreeSet<String> {
    let (mut found, mut entered, mut is_test, mut list_ends) =
        (BTreeSet::new(), BTreeSet::new(), false, None);
    for line in source.lines().map(str::trim) {
        if let Some(end) = list_ends {
            let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            entered.extend(words.map(str::to_owned).filter(|_| !line.starts_with("//")));
            if line == end {
                list_ends = None;
            }
        } else if line == "super::cases! {" {
            list_ends = Some("}");
        } else if line.starts_with("const SCENARIOS: ") {
            list_ends = Some("];");
        } else if line == "#[test]" {
            is_test = true;
        } else if let Some(rest) = line.strip_prefix("fn ") {
            if let Some(name) = rest.split(['(', '<']).next()
                && (is_test || entered.contains(name))
            {
                found.insert(name.to_owned());
            }
            is_test = false;
        } else if !(line.starts_with("#[") || line.starts_with("//")) {
            is_test = false;
        }
    }
    found
}

#[test]
fn a_test_is_a_function_that_the_harness_runs() {
    let source = "
        // fn d1_remark() {}
        #[test]
        /// Why.
        #[should_panic]
        fn d1_test() {}
        fn d1_helper() {}
        #[test]
        let d1_gap;
        fn d1_after_a_gap<T>() {}
        #[cfg(test)]
        fn d1_not_run() {}
        super::cases! {
            d1_case [Alone],
            // d1_left_out [],
        }
        fn d1_case() {}
        fn d1_left_out() {}";
    assert_eq!(tests(source).into_iter().collect::<Vec<_>>(), ["d1_case", "d1_test"]);
}

#[test]
fn tests_and_files_are_read_out_of_a_row() {
    let place = "the end of `wait_for`: `i_27_a`, `c_1_i_27_b` in `a/b.rs`; `d1_c` in `c.rs`; `no_number` in `c.rs`; `t9_d`";
    let expected = [
        ("i_27_a", Some("a/b.rs")),
        ("c_1_i_27_b", Some("a/b.rs")),
        ("d1_c", Some("c.rs")),
        ("no_number", Some("c.rs")),
        ("t9_d", None),
    ]
    .map(|(test, file)| Named { test: test.to_owned(), file: file.map(str::to_owned) });
    assert_eq!(named(place), expected);
    assert!(carries("c_1_i_27_b", "I-27") && carries("c_1_i_27_b", "C-1") && !carries("c_1_i_27_b", "I-2"));
    assert!(carries("d1_c", "D1") && carries("x_1_d_12_c", "D12") && !carries("d1_c", "D-1"));
    assert!(names_a_decision("another identity (D4): Deleted") && !names_a_decision("see D-4 and D"));
}
