//! The verdicts of waiting, in their order, and that every wait is woken.

use std::sync::mpsc;
use std::time::Instant;

use super::*;
use crate::fixture::{Item, key};
use crate::store::table::Stale;
use crate::store::tests::{Bench, change};
use crate::sync::Mutex;
use crate::time::{Alarm, Clock, SystemClock};

const LONG: Duration = Duration::from_secs(60);

fn mark(uid: &str, version: &str) -> Stale {
    Stale { uid: uid.to_owned(), resource_version: version.to_owned() }
}

/// A table at `at` that holds `a` as `stored`, if it does.
fn table(stored: Option<&str>, at: &str, stale: Option<Stale>) -> Table<Item> {
    let mut table = Table::new();
    let changes: Vec<Change<Item>> = stored.into_iter().map(change).collect();
    table.apply(&changes, &mut [], &mut Vec::new());
    table.version = at.to_owned();
    table.stale.extend(stale.map(|stale| (key("a"), stale)));
    table
}

#[test]
fn d1_the_first_verdict_that_matches_wins() {
    use Verdict::{NotComparable, Reached, Stopped, Unreadable, Wait};
    let wanted = Goal::object(key("a"), "u1", "20");
    for (stored, at, stale, stopped, moved, want) in [
        // 1 and 2 come before everything
        (Some("a/u1@20"), "20", None, true, true, Stopped),
        (Some("a/u1@20"), "20", None, false, true, NotComparable),
        // 3: that object, there or further
        (Some("a/u1@20"), "20", None, false, false, Reached),
        (Some("a/u1@21"), "21", None, false, false, Reached),
        (Some("a/u1@20"), "20", Some(mark("u1", "30")), false, false, Reached),
        (Some("a/u1@19"), "19", None, false, false, Wait),
        // 4: there, but not readable
        (Some("a/u1@19"), "20", Some(mark("u1", "20")), false, false, Unreadable),
        (Some("a/u1@19"), "20", Some(mark("", "20")), false, false, Unreadable),
        (Some("a/u1@19"), "19", Some(mark("u1", "")), false, false, Unreadable),
        (None, "20", Some(mark("u1", "25")), false, false, Unreadable),
        (Some("a/u1@18"), "19", Some(mark("u1", "19")), false, false, Wait), // an older state
        (Some("a/u1@19"), "19", Some(mark("u2", "20")), false, false, Wait), // another object
        // 5: replaced by a newer one
        (Some("a/u2@21"), "19", None, false, false, Reached),
        (Some("a/u0@19"), "19", None, false, false, Wait), // the one before it
        // 6: the store has passed the version without it
        (None, "20", None, false, false, Reached),
        (None, "100", None, false, false, Reached),
        (Some("a/u1@19"), "20", None, false, false, Reached),
        (None, "19", None, false, false, Wait),
        (None, "", None, false, false, Wait),
    ] {
        let got = wanted.verdict(stopped, &table(stored, at, stale.clone()), u64::from(moved));
        assert_eq!(got, want, "{stored:?} at {at:?}, {stale:?}");
    }
    // 7: what is no number does not compare, but it may be equal
    for (version, stored, want) in [
        ("x7", Some("a/u1@x7"), Reached),
        ("x7", Some("a/u1@19"), NotComparable),
        ("", Some("a/u1@19"), NotComparable),
        ("", Some("a/u1@"), NotComparable),
        ("", None, NotComparable),
        ("0", None, NotComparable),
    ] {
        let got = Goal::object(key("a"), "u1", version).verdict(false, &table(stored, "19", None), 0);
        assert_eq!(got, want, "{version:?} {stored:?}");
    }
}

/// One state of affairs, and whether each of the eight lines of the specification applies to it.
struct Affairs {
    stored: Option<(&'static str, &'static str)>,
    at: &'static str,
    stale: Option<(&'static str, &'static str)>,
    wanted: &'static str,
    stopped: bool,
    moved: bool,
}

impl Affairs {
    fn all() -> Vec<Affairs> {
        let mut all = Vec::new();
        let stored = [
            None,
            Some(("u1", "19")),
            Some(("u1", "20")),
            Some(("u1", "21")),
            Some(("u1", "x7")),
            Some(("u1", "")),
            Some(("u2", "19")),
            Some(("u2", "21")),
        ];
        let stale = [
            None,
            Some(("u1", "19")),
            Some(("u1", "20")),
            Some(("u1", "")),
            Some(("", "21")),
            Some(("", "x7")),
            Some(("u2", "21")),
        ];
        for stored in stored {
            for stale in stale {
                for at in ["", "19", "20", "100", "x7"] {
                    for wanted in ["20", "x7", "", "0"] {
                        for (stopped, moved) in [(false, false), (false, true), (true, false), (true, true)] {
                            all.push(Affairs { stored, at, stale, wanted, stopped, moved });
                        }
                    }
                }
            }
        }
        all
    }

    /// In the words of the specification; the wanted object is `u1`.
    fn lines(&self) -> [(bool, Verdict); 8] {
        let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
        let wanted = number(self.wanted);
        let above = |text: &str| number(text).zip(wanted).is_some_and(|(number, wanted)| number > wanted);
        let reaches = |text: &str| above(text) || (!self.wanted.is_empty() && text == self.wanted);
        let stored = |look: &dyn Fn(&str, &str) -> bool| self.stored.is_some_and(|(uid, rv)| look(uid, rv));
        let stale = |look: &dyn Fn(&str, &str) -> bool| self.stale.is_some_and(|(uid, rv)| look(uid, rv));
        [
            (self.stopped, Verdict::Stopped),
            (self.moved, Verdict::NotComparable),
            (stored(&|uid, rv| uid == "u1" && reaches(rv)), Verdict::Reached),
            (
                stale(&|uid, rv| (uid == "u1" || uid.is_empty()) && (rv.is_empty() || reaches(rv))),
                Verdict::Unreadable,
            ),
            (stored(&|uid, rv| uid != "u1" && above(rv)), Verdict::Reached),
            (reaches(self.at), Verdict::Reached),
            (wanted.is_none(), Verdict::NotComparable),
            (true, Verdict::Wait),
        ]
    }
}

#[test]
fn d1_each_verdict_comes_before_those_after_it_whatever_else_holds() {
    let mut met = std::collections::BTreeSet::new();
    for affairs in Affairs::all() {
        let Affairs { stored, at, stale, wanted, stopped, moved } = affairs;
        let text = stored.map(|(uid, version)| format!("a/{uid}@{version}"));
        let table = table(text.as_deref(), at, stale.map(|(uid, version)| mark(uid, version)));
        let got = Goal::object(key("a"), "u1", wanted).verdict(stopped, &table, u64::from(moved));
        let lines = affairs.lines();
        let first = lines.iter().position(|(applies, _)| *applies).unwrap();
        assert_eq!(got, lines[first].1, "{wanted:?}: {stored:?} at {at:?}, {stale:?}, {stopped} {moved}");
        // The coarse form knows no object: 1, 2, 6, 7, 8.
        let got = Goal::version(wanted).verdict(stopped, &table, u64::from(moved));
        let coarse = [0, 1, 5, 6, 7].into_iter().find(|at| lines[*at].0).unwrap();
        assert_eq!(got, lines[coarse].1, "{wanted:?} at {at:?}, {stopped} {moved}");
        // The end of an object needs neither version nor timeline.
        let got = Goal::gone(key("a"), "u1").verdict(stopped, &table, u64::from(moved));
        let there = stored.is_some_and(|(uid, _)| uid == "u1");
        let want = match (stopped, there) {
            (true, _) => Verdict::Stopped,
            (false, true) => Verdict::Wait,
            (false, false) => Verdict::Reached,
        };
        assert_eq!(got, want, "the end of u1: {stored:?}");
        met.extend((first + 1..8).filter(|later| lines[*later].0).map(|later| (first + 1, later + 1)));
    }
    // Every line was the first one before every later one, but for what excludes each other: one object stored under
    // two UIDs (3, 5), and a version that is above one that is no number (5, 7).
    let pairs = (1..8).flat_map(|first| (first + 1..9).map(move |later| (first, later)));
    let missing: Vec<_> = pairs.filter(|pair| !met.contains(pair)).collect();
    assert_eq!(missing, [(3, 5), (5, 7)]);
}

#[test]
fn d1_the_coarse_form_and_the_end_of_an_object() {
    use Verdict::{NotComparable, Reached, Stopped, Wait};
    let at = |version, wanted| Goal::version(wanted).verdict(false, &table(None, version, None), 0);
    assert_eq!(at("20", "20"), Reached);
    assert_eq!(at("9", "20"), Wait);
    assert_eq!(at("9", ""), NotComparable);
    let gone = |stored, stopped, timeline| {
        Goal::gone(key("a"), "u1").verdict(stopped, &table(stored, "5", None), timeline)
    };
    assert_eq!(gone(None, false, 0), Reached);
    assert_eq!(gone(Some("a/u2@4"), false, 0), Reached);
    assert_eq!(gone(Some("a/u1@4"), false, 0), Wait);
    assert_eq!(gone(Some("a/u1@4"), false, 9), Wait, "the end of an object needs no version");
    assert_eq!(gone(None, true, 0), Stopped);
}

/// A clock that tells when somebody begins to wait, and never gets anywhere.
#[derive(Debug)]
struct Standing(Mutex<mpsc::Sender<()>>);

impl Clock for Standing {
    fn now(&self) -> Instant {
        SystemClock.now()
    }

    fn alarm(&self, _: Instant, _: Box<dyn FnOnce() + Send>) -> Option<Alarm> {
        // The waiter holds the lock that it parks with: whoever wants to wake it comes after.
        self.0.lock().send(()).unwrap();
        Some(Alarm::new(|| ()))
    }
}

/// Starts a wait, lets `act` happen once it is registered, and answers how it ended.
fn outcome(
    wait: impl FnOnce(&crate::Store<Item>) -> Result<()> + Send + 'static,
    act: impl FnOnce(&mut Bench),
) -> Result<()> {
    let (parked, parks) = mpsc::channel();
    let mut bench = Bench::with_clock(Standing(Mutex::new(parked)));
    bench.write("a/u1@1", "1");
    let (tell, told) = mpsc::channel();
    let store = bench.store.clone();
    let waiter = crate::sync::spawn("waiter", move || tell.send(wait(&store)).unwrap()).unwrap();
    parks.recv().unwrap();
    act(&mut bench);
    let outcome = told.recv_timeout(LONG).expect("the wait ends");
    waiter.join().unwrap();
    assert!(bench.store.shared.waits.lock().waiting.is_empty(), "nobody is left in the book");
    outcome
}

#[test]
fn d1_a_wait_is_woken_by_whatever_changes_its_verdict() {
    let wait = |store: &crate::Store<Item>| store.wait_for("a", "u1", "5", LONG);
    outcome(wait, |bench| drop(bench.write("a/u1@5", "5"))).unwrap();
    outcome(wait, |bench| drop(bench.write("a/u2@6", "6"))).unwrap();
    outcome(wait, |bench| drop(bench.write("-a", "6"))).unwrap();
    outcome(wait, |bench| drop(bench.write("b/u9@9", "9"))).unwrap();
    outcome(wait, |bench| drop(bench.write("", "9"))).unwrap(); // a bookmark
    let error = outcome(wait, |bench| bench.store.stop_waits()).unwrap_err();
    assert!(error.is_stopped());
    let error = outcome(wait, |bench| drop(bench.write_with("", "1", 1, Vec::new()))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotComparable, "the history was replaced");
    let stale = vec![(key("a"), Some(mark("u1", "5")))];
    let error = outcome(wait, |bench| drop(bench.write_with("", "4", 0, stale))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreadable);
    // What does not concern it does not end it.
    outcome(wait, |bench| {
        bench.write("a/u1@2", "2");
        bench.write("b/u2@3", "3");
        bench.write("a/u1@7", "7");
    })
    .unwrap();
    outcome(|store| store.wait_until("5", LONG), |bench| drop(bench.write("", "5"))).unwrap();
    outcome(|store| store.wait_gone("a", "u1", LONG), |bench| drop(bench.write("-a", "2"))).unwrap();
    outcome(|store| store.wait_gone("a", "u1", LONG), |bench| drop(bench.write("a/u2@2", "2"))).unwrap();
}

#[test]
fn d1_a_wait_ends_at_its_deadline_and_says_where_the_store_is() {
    let mut bench = Bench::new();
    bench.write("a/u1@1", "1");
    let error = bench.store.wait_for("a", "u1", "5", Duration::ZERO).unwrap_err();
    assert!(error.is_timed_out() && error.to_string().contains("\"1\""), "{error}");
    assert_eq!(error.stage(), Some(Stage::Wait));
    bench.store.wait_for("a", "u1", "1", Duration::ZERO).unwrap();
    bench.store.stop_waits();
    assert!(bench.store.wait_until("1", LONG).unwrap_err().is_stopped(), "also one that begins later");
}

/// Each wait has an entry of its own in the book: the end of one must not take another's, which nobody would wake then.
#[test]
fn d1_a_wait_that_ends_leaves_the_others_in_the_book() {
    let (parked, parks) = mpsc::channel();
    let mut bench = Bench::with_clock(Standing(Mutex::new(parked)));
    bench.write("a/u1@1", "1");
    let mut waiters = ["5", "9"].map(|version| {
        let (store, (tell, told)) = (bench.store.clone(), mpsc::channel());
        let work = move || tell.send(store.wait_until(version, LONG)).unwrap();
        let thread = crate::sync::spawn("waiter", work).unwrap();
        parks.recv().unwrap();
        Some((thread, told))
    });
    for (at, version, left) in [(0, "5", 1), (1, "9", 0)] {
        bench.write("", version);
        let (thread, told) = waiters[at].take().unwrap();
        told.recv_timeout(LONG).expect("the wait ends").unwrap();
        thread.join().unwrap();
        assert_eq!(bench.store.shared.waits.lock().waiting.len(), left);
    }
}
