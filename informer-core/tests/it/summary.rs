//! What a stranger reads of an informer in one line, at the error hook and in its status: what is wrong, how often, what
//! comes next and when.

use std::time::Duration;

use informer_core::{
    ErrorKind, ListEnd, ListRequest, ListSink, ListWatch, NextStep, Result, SharedInformer, Stop,
};
use informer_core::{WatchEnd, WatchRequest, WatchSink};
use informer_testkit::{FakeSource, ManualClock, Probe, TestObject, WatchFault, status_error, within};

use crate::support::{LONG, source_of};

const SECOND: Duration = Duration::from_secs(1);

/// The wait that a line tells of: `lists again in 1.3 s`.
fn wait_in(line: &str) -> f64 {
    let words = line.rsplit_once(" again in ").unwrap().1;
    words.split_once(" s").unwrap().0.parse().unwrap()
}

#[test]
fn r_44_d_17_a_server_that_is_not_ready_is_told_with_its_count_and_what_comes_next() {
    let source = source_of(&["default/a"]).named("pods");
    source.start_outage(status_error(503, "ServiceUnavailable", "the server is starting"));
    let (clock, lines) = (ManualClock::new(), Probe::new(Vec::new()));
    let told = lines.clone();
    let informer = SharedInformer::builder(source.clone())
        .streaming(false)
        .clock(clock.clone())
        .on_error(move |report| {
            told.update(|all| all.push((report.to_string(), report.next, report.next_attempt)));
        })
        .build();
    assert_eq!(
        informer.status().to_string(),
        "pods: not started; not synced; 0 objects; never heard; 0 lists, 0 watches, 0 events, 0 B"
    );
    informer.start().unwrap();
    for count in 1..=3 {
        let alarm = clock.wait_for_alarm("a back-off", |until| Duration::from_millis(800) <= until);
        lines.wait("a report", |lines| lines.len() == count);
        let (line, next, wait) = lines.get().pop().unwrap();
        let times = if count == 1 { String::new() } else { format!("failed {count} times in a row; ") };
        let begin = format!("list (unavailable): the server is starting; {times}lists again in ");
        assert!(line.starts_with(&begin), "{line}");
        assert_eq!((next, wait), (NextStep::List, Some(alarm)));
        assert!((wait_in(&line) - alarm.as_secs_f64()).abs() < 0.06, "{line} for {alarm:?}");

        let status = informer.status();
        let last = status.last_error.clone().unwrap();
        assert_eq!(
            (last.consecutive, last.next, last.next_attempt, last.ago),
            (count as u32, NextStep::List, Some(alarm), Duration::ZERO)
        );
        // Half-way it is half as long.
        clock.advance(alarm / 2);
        let last = informer.status().last_error.unwrap();
        assert_eq!((last.next_attempt, last.ago), (Some(alarm - alarm / 2), alarm / 2));
        let line = informer.status().to_string();
        let times = if count == 1 { String::new() } else { format!("failed {count} times in a row, ") };
        let begin =
            format!("pods: waiting; list (unavailable): the server is starting; {times}lists again in ");
        assert!(line.starts_with(&begin), "{line}");
        let errors = if count == 1 { "1 error".to_owned() } else { format!("{count} errors") };
        let lists = if count == 1 { "1 list".to_owned() } else { format!("{count} lists") };
        assert!(
            line.ends_with(&format!(
                "not synced; 0 objects; never heard; {lists}, 0 watches, 0 events, 0 B; {errors}"
            )),
            "{line}"
        );
        if count == 3 {
            source.end_outage();
        }
        clock.advance(alarm - alarm / 2);
    }
    within("the first list", {
        let informer = informer.clone();
        move || informer.wait_synced(LONG)
    })
    .unwrap();
    source.wait_for_idle_watches(1);
    clock.advance(3 * SECOND);
    assert_eq!(
        informer.status().to_string(),
        "pods: watching; synced; 1 object at version 1; heard 3 s ago; 4 lists, 1 watch, 0 events, 0 B; 3 errors"
    );
    informer.stop();
}

#[test]
fn me_1_d_17_lists_after_the_first_are_counted_by_their_reason_and_fruitless_watches_apart() {
    let source = source_of(&["default/a"]).named("pods");
    let clock = ManualClock::new();
    let informer = SharedInformer::builder(source.clone()).streaming(false).clock(clock.clone()).build();
    for _ in 0..3 {
        source.on_next_watch(WatchFault::CloseAfter(0)); // three fruitless ones force a list
    }
    source.on_next_watch(WatchFault::Refuse(status_error(410, "Expired", "too old")));
    source.on_next_watch(WatchFault::Refuse(status_error(410, "Expired", "too old")));
    informer.start().unwrap();
    for _ in 0..5 {
        let wait = clock.wait_for_alarm("a back-off", |until| Duration::from_millis(800) <= until);
        clock.advance(wait);
    }
    source.wait_for_idle_watches(1);
    let status = informer.status();
    // F-26: nothing has changed, so the list after a 410 is at the version that has gone, and is not used.
    assert_eq!(
        status.relists,
        [(ErrorKind::Network, 1), (ErrorKind::Gone, 2), (ErrorKind::NotComparable, 2)]
    );
    assert_eq!(status.last_relist, Some(ErrorKind::NotComparable));
    let line = status.to_string();
    assert!(
        line.contains("; 6 lists (again for network 1, gone 2, not_comparable 2), 6 watches (3 fruitless), 0 events, 0 B"),
        "{line}"
    );
    informer.stop();
}

/// A source that tells of bytes, as those of a network do.
struct Counting(FakeSource);

impl ListWatch<TestObject> for Counting {
    fn list(
        &self,
        request: &ListRequest,
        stop: &Stop,
        sink: &mut dyn ListSink<TestObject>,
    ) -> Result<ListEnd> {
        sink.received(1_500);
        self.0.list(request, stop, sink)
    }

    fn watch(
        &self,
        request: &WatchRequest,
        stop: &Stop,
        sink: &mut dyn WatchSink<TestObject>,
    ) -> Result<WatchEnd> {
        sink.received(700);
        sink.received(70);
        self.0.watch(request, stop, sink)
    }

    fn name(&self) -> String {
        self.0.name()
    }
}

#[test]
fn d_17_bytes_are_counted_and_are_no_contact_by_themselves() {
    let source = source_of(&["default/a"]);
    source.start_outage(status_error(503, "ServiceUnavailable", "no"));
    let clock = ManualClock::new();
    let informer =
        SharedInformer::builder(Counting(source.clone())).streaming(false).clock(clock.clone()).build();
    informer.start().unwrap();
    let wait = clock.wait_for_alarm("a back-off", |until| Duration::from_millis(800) <= until);
    assert_eq!((informer.status().counters.bytes, informer.status().last_contact), (1_500, None));
    source.end_outage();
    clock.advance(wait);
    source.wait_for_idle_watches(1);
    assert_eq!(informer.status().counters.bytes, 3_770);
    assert!(informer.status().to_string().contains(", 3.8 kB"));
    informer.stop();
}
