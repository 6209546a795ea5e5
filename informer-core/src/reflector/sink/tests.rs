//! The sinks, statement by statement: what reaches the target of what a source tells.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;
use crate::backoff::Random;
use crate::key::{KeyRef, ObjectKey};
use crate::list_watch::{ChangeKind, Flow, ListEnd, ListSink, WatchSink};
use crate::meta::{Labels, MetaView};
use crate::reflector::machine::{Machine, Page, Settings};
use crate::reflector::{Heard, Listed, Phase};
use crate::time::{Alarm, Clock, SystemClock};

/// The smallest object: `name`, `uid`, `version`, and a mark that a transform may leave.
#[derive(Clone, Debug, PartialEq)]
struct Thing {
    name: String,
    uid: String,
    version: String,
    mark: u32,
}

impl Object for Thing {
    fn meta(&self) -> MetaView<'_> {
        MetaView {
            namespace: "",
            name: &self.name,
            uid: &self.uid,
            resource_version: &self.version,
            labels: Labels::from_map(None),
        }
    }
}

/// `a@5`.
fn thing(text: &str) -> Thing {
    let (name, version) = text.split_once('@').unwrap();
    Thing { name: name.to_owned(), uid: format!("uid-{name}"), version: version.to_owned(), mark: 0 }
}

fn text(thing: &Thing) -> String {
    let mark = "'".repeat(thing.mark as usize);
    format!("{}@{}{mark}", thing.name, thing.version)
}

/// `a@5` that cannot be decoded; `?@5` has no key, `a@` no version.
fn bad(text: &str) -> BadObject {
    let (name, version) = text.split_once('@').unwrap();
    BadObject {
        key: (name != "?").then(|| ObjectKey::new("", name)),
        uid: String::new(),
        resource_version: version.to_owned(),
        error: Error::new(ErrorKind::Decode, "broken").at(Stage::Decode),
    }
}

/// Writes down what it is told.
#[derive(Default)]
struct Notes {
    lines: Vec<String>,
    stored: Vec<Arc<Thing>>,
    lives: usize,
}

impl Target<Thing> for Notes {
    fn have(&self, key: KeyRef<'_>, uid: &str, resource_version: &str) -> Option<Arc<Thing>> {
        let same = |thing: &&Arc<Thing>| {
            thing.name == key.name && thing.uid == uid && thing.version == resource_version
        };
        self.stored.iter().find(same).cloned()
    }

    fn may_have(&self) -> bool {
        !self.stored.is_empty()
    }

    fn replace(&mut self, list: Listed<Thing>) {
        let items: Vec<String> = list.items.iter().map(|item| text(item)).collect();
        let mut unreadable: Vec<&str> = list.unreadable.iter().map(|(key, ..)| key.name()).collect();
        unreadable.sort_unstable();
        let word = |word: &'static str, said| if said { word } else { "" };
        self.lines.push(format!(
            "replace {} {items:?} unreadable {unreadable:?}{}{}{}",
            list.version,
            word(" initial", list.initial),
            word(" lowered", list.lowered),
            word(" incomplete", !list.complete)
        ));
    }

    fn upsert(&mut self, _: ObjectKey, object: Arc<Thing>, version: &str) {
        self.lines.push(format!("upsert {} resume {version}", text(&object)));
    }

    fn delete(&mut self, _: ObjectKey, object: Arc<Thing>, version: &str) {
        self.lines.push(format!("delete {} resume {version}", text(&object)));
    }

    fn delete_unseen(&mut self, key: ObjectKey, _: String, version: &str) {
        self.lines.push(format!("delete unseen {key} resume {version}"));
    }

    fn unreadable(&mut self, key: ObjectKey, _: String, resource_version: String, version: &str) {
        self.lines.push(format!("unreadable {key}@{resource_version} resume {version}"));
    }

    fn bookmark(&mut self, version: &str) {
        self.lines.push(format!("bookmark resume {version}"));
    }

    fn heard(&mut self, what: Heard) {
        self.lives += usize::from(what == Heard::Live);
    }

    fn phase(&mut self, _: Phase) {}

    fn report(&mut self, report: &Report<'_>) {
        let stage = report.error.stage().map_or("?", Stage::as_str);
        self.lines.push(format!("report {} {stage} {}", report.error.kind(), report.consecutive));
    }
}

/// A clock that the test sets.
#[derive(Debug, Default)]
struct Hand {
    seconds: AtomicUsize,
    start: std::sync::OnceLock<std::time::Instant>,
}

impl Clock for Hand {
    fn now(&self) -> std::time::Instant {
        let start = *self.start.get_or_init(|| SystemClock.now());
        start + Duration::from_secs(self.seconds.load(Ordering::SeqCst) as u64)
    }

    fn alarm(&self, _: std::time::Instant, _: Box<dyn FnOnce() + Send>) -> Option<Alarm> {
        unreachable!("sinks never wait")
    }
}

/// A machine that is asked for its first step: a streaming list, or a paged one.
fn machine(streaming: bool) -> Machine {
    let mut machine = Machine::new(Settings { streaming, ..Settings::default() }, true, Random::seeded(1));
    machine.next(SystemClock.now());
    machine
}

/// An empty list.
fn listed(machine: &mut Machine, version: &str) {
    let end = ListEnd { resource_version: version.to_owned(), continue_token: None };
    machine.page(&Page { end: &end, items: 0, first: None });
}

/// A machine that has listed at `version` and watches.
fn watching(version: &str) -> Machine {
    let mut machine = machine(false);
    listed(&mut machine, version);
    machine.next(SystemClock.now());
    machine
}

/// Carries out a watch, or a streaming list, that tells what `script` says.
fn watch(
    notes: &mut Notes,
    machine: &mut Machine,
    transform: Option<&Transform<Thing>>,
    script: impl FnOnce(&mut Stream<'_, Thing>, &Hand),
) -> super::stream::Told {
    let clock = Hand::default();
    let start = machine.version().to_owned();
    let mut sink = Stream::new(notes, transform, machine, &clock, &start);
    script(&mut sink, &clock);
    sink.told()
}

fn goes_on(flow: Flow) {
    assert_eq!(flow, Continue);
}

use ChangeKind::{Added, Deleted, Modified};
use Flow::{Continue, End};

// A watch.

#[test]
fn r_38_every_kind_of_event_advances_the_version() {
    let mut notes = Notes::default();
    let told = watch(&mut notes, &mut watching("10"), None, |sink, _| {
        sink.opened();
        assert_eq!(sink.change(Added, thing("a@11")), Continue);
        assert_eq!(sink.change(Modified, thing("a@12")), Continue);
        assert_eq!(sink.change(Deleted, thing("a@13")), Continue);
    });
    assert_eq!(notes.lines, ["upsert a@11 resume 11", "upsert a@12 resume 12", "delete a@13 resume 13"]);
    assert_eq!((told.resume.as_str(), told.events, told.bookmarks), ("13", 3, 0));
    assert!(told.live_since.is_some());
    assert_eq!(notes.lives, 1);
}

#[test]
fn r_39_a_bookmark_advances_the_version_and_nothing_else() {
    let mut notes = Notes::default();
    let told = watch(&mut notes, &mut watching("10"), None, |sink, _| {
        assert_eq!(sink.bookmark("50", false), Continue);
    });
    assert_eq!(notes.lines, ["bookmark resume 50"]);
    assert_eq!((told.resume.as_str(), told.events, told.bookmarks), ("50", 1, 1));
}

#[test]
fn r_40_synthetic_events_advance_nothing_until_another_kind_comes() {
    for start in ["", "0"] {
        let mut machine = machine(false);
        if !start.is_empty() {
            listed(&mut machine, start);
        }
        machine.next(SystemClock.now());
        let mut notes = Notes::default();
        let told = watch(&mut notes, &mut machine, None, |sink, _| {
            for event in ["a@9", "b@5", "c@7"] {
                assert_eq!(sink.change(Added, thing(event)), Continue);
            }
            assert_eq!(sink.change(Deleted, thing("a@12")), Continue);
            assert_eq!(sink.change(Added, thing("d@13")), Continue);
        });
        let resumes: Vec<&str> =
            notes.lines.iter().map(|line| line.split_once("resume ").unwrap().1).collect();
        assert_eq!(resumes, [start, start, start, "12", "13"]);
        assert_eq!(told.resume, "13");
    }
}

#[test]
fn d_7_versions_never_move_back_within_a_watch() {
    let mut notes = Notes::default();
    let told = watch(&mut notes, &mut watching("10"), None, |sink, _| {
        assert_eq!(sink.change(Added, thing("a@15")), Continue);
        assert_eq!(sink.change(Added, thing("b@12")), Continue, "f_35: told, though out of order");
        assert_eq!(sink.bookmark("13", false), Continue);
    });
    assert_eq!(notes.lines, ["upsert a@15 resume 15", "upsert b@12 resume 15", "bookmark resume 15"]);
    assert_eq!(told.resume, "15");
}

#[test]
fn d_7_an_event_below_the_start_ends_the_watch_but_for_a_delete() {
    type Tell = fn(&mut Stream<'_, Thing>) -> Flow;
    let tell: [(Tell, Flow); 5] = [
        (|sink| sink.change(Added, thing("a@9")), End),
        (|sink| sink.change(Modified, thing("a@9")), End),
        (|sink| sink.bookmark("9", false), End),
        (|sink| sink.bad_change(Modified, bad("a@9")), End),
        (|sink| sink.change(Deleted, thing("a@9")), Continue),
    ];
    for (tell, flow) in tell {
        let mut notes = Notes::default();
        let told = watch(&mut notes, &mut watching("10"), None, |sink, _| {
            assert_eq!(tell(sink), flow);
        });
        assert_eq!(told.why, (flow == End).then_some(Why::WentBack));
        assert_eq!(told.resume, "10");
        let kept: Vec<&String> = notes.lines.iter().filter(|line| !line.starts_with("report")).collect();
        assert_eq!(kept.is_empty(), flow == End, "{kept:?}");
    }
}

#[test]
fn d_7_version_zero_moves_nothing_back() {
    for resume in ["10", "0"] {
        let mut notes = Notes::default();
        let told = watch(&mut notes, &mut watching(resume), None, |sink, _| {
            goes_on(sink.change(Deleted, thing("a@0")));
            assert_eq!(sink.bookmark("0", false), if resume == "0" { Continue } else { End });
        });
        assert_eq!(told.resume, resume);
    }
}

#[test]
fn d_7_bytes_without_events_end_a_watch_that_should_have_ended() {
    let mut machine = watching("10");
    let patience = machine.patience().as_secs() as usize;
    let told = watch(&mut Notes::default(), &mut machine, None, |sink, clock| {
        sink.opened();
        for _ in 0..3 {
            clock.seconds.fetch_add(patience - 1, Ordering::SeqCst);
            goes_on(sink.read_on());
            goes_on(sink.bookmark("11", false));
            goes_on(sink.read_on());
        }
        clock.seconds.fetch_add(patience - 1, Ordering::SeqCst);
        goes_on(sink.read_on());
        clock.seconds.fetch_add(1, Ordering::SeqCst);
        assert_eq!(sink.read_on(), End);
    });
    assert_eq!(told.why, Some(Why::Overdue));
}

#[test]
fn f_35_versions_that_are_no_numbers_advance_and_end_nothing() {
    let told = watch(&mut Notes::default(), &mut watching("10"), None, |sink, _| {
        assert_eq!(sink.change(Added, thing("a@x7")), Continue);
        assert_eq!(sink.change(Added, thing("b@")), Continue, "no version at all");
    });
    assert_eq!(told.resume, "x7");
}

#[test]
fn r_43_d_8_a_bad_object_is_reported_and_the_version_moves_past_it() {
    let mut notes = Notes::default();
    let told = watch(&mut notes, &mut watching("10"), None, |sink, _| {
        assert_eq!(sink.bad_change(Modified, bad("a@11")), Continue);
        assert_eq!(sink.bad_change(Deleted, bad("b@12")), Continue);
        assert_eq!(sink.bad_change(Modified, bad("c@")), Continue, "its version cannot be read");
        assert_eq!(sink.change(Added, thing("d@14")), Continue);
    });
    assert_eq!(
        notes.lines,
        [
            "report decode decode 0",
            "unreadable a@11 resume 11",
            "report decode decode 0",
            "delete unseen b resume 12",
            "report decode decode 0",
            "unreadable c@ resume 12",
            "upsert d@14 resume 14",
        ]
    );
    assert_eq!(told.events, 4);
}

#[test]
fn d_8_an_event_without_a_key_ends_the_watch() {
    for nameless in [false, true] {
        let mut notes = Notes::default();
        let told = watch(&mut notes, &mut watching("10"), None, |sink, _| {
            let flow = if nameless {
                sink.change(Modified, Thing { name: String::new(), ..thing("a@11") })
            } else {
                sink.bad_change(Modified, bad("?@11"))
            };
            assert_eq!(flow, End);
        });
        assert_eq!(told.why, Some(Why::Unidentified));
        assert_eq!(notes.lines, ["report decode decode 0"]);
    }
}

#[test]
fn outside_a_streaming_list_nothing_is_had() {
    let mut notes = Notes { stored: vec![Arc::new(thing("a@5"))], ..Notes::default() };
    watch(&mut notes, &mut watching("10"), None, |sink, _| {
        assert!(!sink.may_have());
        assert!(sink.have(KeyRef { namespace: "", name: "a" }, "uid-a", "5").is_none());
    });
}

// A streaming list.

#[test]
fn r_47_r_48_r_49_a_streaming_list_is_one_replace_of_the_survivors_and_then_a_watch() {
    let mut notes = Notes::default();
    let mut machine = machine(true);
    let told = watch(&mut notes, &mut machine, None, |sink, _| {
        sink.opened();
        for (kind, event) in [
            (Added, "c@9"),
            (Added, "a@5"),
            (Added, "b@7"),
            (Modified, "a@10"),
            (Deleted, "b@11"),
            (Deleted, "x@12"),
        ] {
            assert_eq!(sink.change(kind, thing(event)), Continue);
        }
        assert_eq!(sink.bookmark("12", true), Continue);
        assert_eq!(sink.change(Modified, thing("c@13")), Continue);
    });
    assert_eq!(notes.lines, [r#"replace 12 ["c@9", "a@10"] unreadable [] initial"#, "upsert c@13 resume 13"]);
    assert_eq!(machine.version(), "12");
    assert_eq!((told.resume.as_str(), told.events, told.bookmarks), ("13", 8, 0));
    assert_eq!(notes.lives, 1, "only from the end bookmark on");
}

#[test]
fn r_50_another_bookmark_does_not_end_the_initial_phase() {
    let mut notes = Notes::default();
    let told = watch(&mut notes, &mut machine(true), None, |sink, _| {
        sink.opened();
        goes_on(sink.change(Added, thing("a@5")));
        assert_eq!(sink.bookmark("9", false), Continue);
    });
    assert_eq!(notes.lines, [""; 0]);
    assert_eq!((told.resume.as_str(), told.live_since), ("", None));
    assert_eq!(notes.lives, 0);
}

#[test]
fn r_53_what_came_before_an_early_end_is_forgotten() {
    let mut notes = Notes::default();
    let mut machine = machine(true);
    watch(&mut notes, &mut machine, None, |sink, _| {
        goes_on(sink.change(Added, thing("gone@5")));
    });
    watch(&mut notes, &mut machine, None, |sink, _| {
        goes_on(sink.change(Added, thing("a@6")));
        assert_eq!(sink.bookmark("7", true), Continue);
    });
    assert_eq!(notes.lines, [r#"replace 7 ["a@6"] unreadable [] initial"#]);
}

#[test]
fn r_20_an_empty_streaming_list_replaces_with_nothing() {
    let mut notes = Notes::default();
    watch(&mut notes, &mut machine(true), None, |sink, _| {
        assert_eq!(sink.bookmark("5", true), Continue);
    });
    assert_eq!(notes.lines, ["replace 5 [] unreadable [] initial"]);
}

#[test]
fn d_5_unchanged_objects_of_a_streaming_list_are_not_built_again() {
    let stored = Arc::new(thing("a@5"));
    let mut notes = Notes { stored: vec![Arc::clone(&stored)], ..Notes::default() };
    watch(&mut notes, &mut machine(true), None, |sink, _| {
        assert!(sink.may_have());
        assert!(sink.have(KeyRef { namespace: "", name: "a" }, "uid-a", "4").is_none());
        let held = sink.have(KeyRef { namespace: "", name: "a" }, "uid-a", "5").unwrap();
        assert!(Arc::ptr_eq(&held, &stored));
        assert_eq!(sink.unchanged(held), Continue);
        goes_on(sink.change(Added, thing("b@6")));
        assert_eq!(sink.bookmark("6", true), Continue);
        assert!(!sink.may_have(), "the watch that follows has nothing to compare");
    });
    assert_eq!(notes.lines, [r#"replace 6 ["a@5", "b@6"] unreadable [] initial"#]);
}

#[test]
fn d_8_bad_objects_of_a_streaming_list_stop_nobody() {
    let mut notes = Notes::default();
    watch(&mut notes, &mut machine(true), None, |sink, _| {
        goes_on(sink.change(Added, thing("a@5")));
        goes_on(sink.bad_change(Added, bad("b@6")));
        goes_on(sink.bad_change(Modified, bad("a@7")));
        goes_on(sink.bad_change(Added, bad("c@8")));
        goes_on(sink.change(Modified, thing("c@9"))); // mended
        goes_on(sink.bad_change(Added, bad("d@10")));
        goes_on(sink.bad_change(Deleted, bad("d@11"))); // gone
        assert_eq!(sink.bookmark("12", true), Continue);
    });
    assert_eq!(notes.lines.last().unwrap(), r#"replace 12 ["c@9"] unreadable ["a", "b"] initial"#);
}

#[test]
fn d_8_a_streaming_list_with_an_object_without_a_key_deletes_nothing_and_is_repeated() {
    let mut notes = Notes::default();
    let told = watch(&mut notes, &mut machine(true), None, |sink, _| {
        goes_on(sink.change(Added, thing("a@5")));
        assert_eq!(sink.bad_change(Added, bad("?@6")), Continue);
        assert_eq!(sink.bookmark("7", true), End);
    });
    assert_eq!(notes.lines[1], r#"replace 7 ["a@5"] unreadable [] initial incomplete"#);
    assert_eq!(told.why, Some(Why::Unidentified));
}

#[test]
fn f_16_a_streaming_list_that_takes_too_long_is_ended_by_whatever_comes_next() {
    type Tell = fn(&mut Stream<'_, Thing>) -> Flow;
    let tell: [Tell; 4] = [
        |sink| sink.change(Added, thing("b@6")),
        |sink| sink.bad_change(Added, bad("b@6")),
        |sink| sink.bookmark("6", false),
        |sink| sink.read_on(), // bytes that are no event
    ];
    for tell in tell {
        let mut notes = Notes::default();
        let told = watch(&mut notes, &mut machine(true), None, |sink, clock| {
            clock.seconds.store(119, Ordering::SeqCst);
            assert_eq!(sink.change(Added, thing("a@5")), Continue);
            assert_eq!(sink.read_on(), Continue);
            clock.seconds.store(120, Ordering::SeqCst);
            assert_eq!(tell(sink), End);
        });
        assert_eq!(told.why, Some(Why::TooLong));
    }
}

#[test]
fn f_16_an_end_bookmark_that_comes_late_is_taken_all_the_same() {
    let mut notes = Notes::default();
    let told = watch(&mut notes, &mut machine(true), None, |sink, clock| {
        goes_on(sink.change(Added, thing("a@5")));
        clock.seconds.store(121, Ordering::SeqCst);
        assert_eq!(sink.bookmark("6", true), Continue);
        clock.seconds.store(500, Ordering::SeqCst);
        assert_eq!(sink.change(Added, thing("b@7")), Continue, "a watch has no such limit");
        assert_eq!(sink.read_on(), Continue);
    });
    assert_eq!(told.why, None);
    assert_eq!(notes.lines.len(), 2);
}

#[test]
fn f_29_an_older_streaming_list_reaches_nobody() {
    let mut machine = machine(true);
    watch(&mut Notes::default(), &mut machine, None, |sink, _| {
        goes_on(sink.bookmark("100", true));
    });
    let ended = super::super::machine::Watched {
        ended: super::super::machine::Ended::Closed,
        opened: true,
        lasted: Duration::ZERO,
        alive: Duration::ZERO,
        events: 1,
        bookmarks: 0,
        version: "100",
    };
    machine.watched(&ended, SystemClock.now());
    machine.crashed(); // lists again
    machine.next(SystemClock.now());
    machine.next(SystemClock.now());
    let mut notes = Notes::default();
    let told = watch(&mut notes, &mut machine, None, |sink, _| {
        goes_on(sink.change(Added, thing("a@70")));
        assert_eq!(sink.bookmark("80", true), End);
    });
    assert_eq!(notes.lines, [""; 0]);
    assert_eq!(told.why, Some(Why::Refused));
    assert!(told.refused.is_some());
    assert_eq!(told.resume, "100");
}

// A list.

/// Reads one page that tells what `script` says.
fn list(
    notes: &mut Notes,
    transform: Option<&Transform<Thing>>,
    script: impl FnOnce(&mut PageSink<'_, Thing>),
) {
    let mut pages = Pages::default();
    let mut sink = PageSink { pages: &mut pages, target: notes, transform };
    script(&mut sink);
    notes.replace(pages.into_list("10".to_owned(), false, true));
}

#[test]
fn d_8_bad_items_of_a_list_stop_nobody() {
    let mut notes = Notes::default();
    list(&mut notes, None, |sink| {
        sink.item(thing("a@5"));
        sink.bad_item(bad("b@6"));
        sink.item(thing("c@7"));
    });
    assert_eq!(
        notes.lines,
        ["report decode decode 0", r#"replace 10 ["a@5", "c@7"] unreadable ["b"] initial"#]
    );
}

#[test]
fn d_8_a_list_with_an_item_without_a_key_is_incomplete() {
    for nameless in [false, true] {
        let mut notes = Notes::default();
        list(&mut notes, None, |sink| {
            sink.item(thing("a@5"));
            if nameless {
                sink.item(Thing { name: String::new(), ..thing("b@6") });
            } else {
                sink.bad_item(bad("?@6"));
            }
        });
        assert_eq!(notes.lines[1], r#"replace 10 ["a@5"] unreadable [] initial incomplete"#);
    }
}

#[test]
fn d_5_unchanged_items_are_not_built_again() {
    let stored = Arc::new(thing("a@5"));
    let mut notes = Notes { stored: vec![Arc::clone(&stored)], ..Notes::default() };
    list(&mut notes, None, |sink| {
        assert!(sink.may_have());
        let held = sink.have(KeyRef { namespace: "", name: "a" }, "uid-a", "5").unwrap();
        assert!(Arc::ptr_eq(&held, &stored));
        sink.unchanged(held);
        assert!(sink.have(KeyRef { namespace: "", name: "a" }, "uid-other", "5").is_none());
    });
    assert_eq!(notes.lines, [r#"replace 10 ["a@5"] unreadable [] initial"#]);
}

// Transforms.

/// Leaves a mark each time it sees an object.
fn mark(thing: &mut Thing) {
    thing.mark += 1;
}

#[test]
fn r_59_every_object_is_transformed_once_wherever_it_comes_from() {
    let mut notes = Notes::default();
    let mut machine = machine(true);
    watch(&mut notes, &mut machine, Some(&mark), |sink, _| {
        goes_on(sink.change(Added, thing("a@5")));
        goes_on(sink.change(Added, thing("b@6")));
        goes_on(sink.bookmark("6", true));
        goes_on(sink.change(Modified, thing("a@7")));
        goes_on(sink.change(Deleted, thing("b@8")));
    });
    list(&mut notes, Some(&mark), |sink| {
        sink.item(thing("c@9"));
        sink.unchanged(Arc::new(Thing { mark: 1, ..thing("d@9") })); // it was transformed when it came
    });
    assert_eq!(
        notes.lines,
        [
            r#"replace 6 ["a@5'", "b@6'"] unreadable [] initial"#,
            "upsert a@7' resume 7",
            "delete b@8' resume 8",
            r#"replace 10 ["c@9'", "d@9'"] unreadable [] initial"#,
        ]
    );
}

#[test]
fn i_60_a_transform_that_changes_the_identity_makes_a_bad_object() {
    let changes: [fn(&mut Thing); 3] =
        [|thing| thing.name.push('x'), |thing| thing.uid.push('x'), |thing| thing.version.push('0')];
    for change in changes {
        let mut notes = Notes::default();
        let told = watch(&mut notes, &mut watching("10"), Some(&change), |sink, _| {
            assert_eq!(sink.change(Modified, thing("a@11")), Continue);
            assert_eq!(sink.change(Deleted, thing("a@12")), Continue);
        });
        assert_eq!(
            notes.lines,
            [
                "report decode transform 0",
                "unreadable a@11 resume 11",
                "report decode transform 0",
                "delete unseen a resume 12",
            ],
            "by its own name and version"
        );
        assert_eq!(told.events, 2);
    }
}

#[test]
fn r_43_a_transform_that_panics_loses_one_object_only() {
    let panics = |thing: &mut Thing| assert_ne!(thing.name, "b", "told to");
    let mut notes = Notes::default();
    list(&mut notes, Some(&panics), |sink| {
        for item in ["a@5", "b@6", "c@7"] {
            sink.item(thing(item));
        }
    });
    watch(&mut notes, &mut watching("10"), Some(&panics), |sink, _| {
        assert_eq!(sink.change(Modified, thing("b@11")), Continue);
        assert_eq!(sink.change(Modified, thing("a@12")), Continue);
    });
    assert_eq!(
        notes.lines,
        [
            "report panic transform 0",
            r#"replace 10 ["a@5", "c@7"] unreadable ["b"] initial"#,
            "report panic transform 0",
            "unreadable b@11 resume 11",
            "upsert a@12 resume 12",
        ]
    );
}
