//! The fake source behaves as an API server, or as badly as it is told to.

use std::sync::Arc;
use std::time::Duration;

use informer_core::sync::{JoinHandle, spawn};
use informer_core::{
    ChangeKind, ErrorKind, ListEnd, ListRequest, ListWatch, Result, Stage, Stop, WatchRequest,
};
use informer_testkit::{
    FakeSource, Gate, Legible, ListFault, ManualClock, Probe, Streaming, TestObject, Transcript, WatchFault,
    config_map, status_error, within,
};

use crate::waiting::message_of;

fn object(key: &str) -> TestObject {
    TestObject::new(key)
}

/// A source with `a`, `b` and `c`, at version 3.
fn three() -> FakeSource {
    let source = FakeSource::new();
    ["ns/a", "ns/b", "ns/c"].into_iter().for_each(|key| drop(source.create(object(key))));
    source
}

fn from(version: &str) -> ListRequest {
    ListRequest { resource_version: version.to_owned(), ..ListRequest::default() }
}

fn watch_from(version: &str) -> WatchRequest {
    WatchRequest {
        resource_version: version.to_owned(),
        initial_events: false,
        timeout: Duration::from_secs(300),
        idle: Duration::from_secs(90),
    }
}

fn streaming() -> WatchRequest {
    WatchRequest { initial_events: true, ..watch_from("") }
}

fn list(source: &FakeSource, request: &ListRequest) -> (String, Result<ListEnd>) {
    let transcript = Transcript::new();
    let end = source.list(request, &Stop::new(), &mut transcript.clone());
    (transcript.text(), end)
}

/// A watch on a thread of its own.
struct Watching {
    told: Transcript<TestObject>,
    stop: Stop,
    end: Probe<Option<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Watching {
    fn new(source: &FakeSource, request: WatchRequest, told: Transcript<TestObject>) -> Self {
        let (stop, end) = (Stop::new(), Probe::new(None));
        let (source, mut sink, until, outcome) = (source.clone(), told.clone(), stop.clone(), end.clone());
        let thread = spawn("watching", move || {
            let ended = match source.watch(&request, &until, &mut sink) {
                Ok(end) => format!("{end:?}"),
                Err(error) => format!("{} at {}", error.kind(), error.stage().map_or("?", Stage::as_str)),
            };
            outcome.set(Some(ended));
        });
        Watching { told, stop, end, thread: Some(thread.unwrap()) }
    }

    fn end(mut self) -> (String, String) {
        let end = self.end.wait_for("the end of the watch", |end| end.clone());
        self.thread.take().unwrap().join().unwrap();
        (self.told.text(), end)
    }

    fn stop(self) -> (String, String) {
        self.stop.set();
        self.end()
    }
}

fn watching(source: &FakeSource, request: WatchRequest) -> Watching {
    Watching::new(source, request, Transcript::new())
}

fn text(lines: &[&str]) -> String {
    lines.join("\n")
}

#[test]
fn versions_and_uids_are_the_sources() {
    let source = FakeSource::new();
    let a = source.create(object("ns/a").uid("mine").version("mine").value(1));
    assert_eq!((&*a.uid, &*a.resource_version, a.value), ("uid-1", "1", 1));
    let b = source.apply(object("ns/a").value(2));
    assert_eq!((&*b.uid, &*b.resource_version, b.value), ("uid-1", "2", 2));
    let gone = source.delete("ns/a");
    assert_eq!((&*gone.resource_version, gone.value), ("3", 2));
    let again = source.apply(object("ns/a"));
    assert_eq!((&*again.uid, &*again.resource_version), ("uid-2", "4"));
    assert_eq!((source.objects(), &*source.version()), (vec![again], "4"));
    assert!(message_of(|| source.create(object("ns/a"))).contains("ns/a exists"));
    assert!(message_of(|| source.delete("ns/x")).contains("ns/x does not exist"));
}

#[test]
fn typed_objects_can_be_held_too() {
    let source = FakeSource::new();
    source.create(config_map("default", "settings", "", ""));
    let transcript = Transcript::new();
    source.list(&from(""), &Stop::new(), &mut transcript.clone()).unwrap();
    assert_eq!(transcript.text(), "item default/settings@1");
}

#[test]
fn r_19_pages_are_of_one_version() {
    let source = three();
    let first = ListRequest { limit: Some(2), ..from("") };
    let (items, end) = list(&source, &first);
    let end = end.unwrap();
    assert_eq!((&*items, &*end.resource_version), ("item ns/a@1\nitem ns/b@2", "3"));
    source.delete("ns/c");
    source.create(object("ns/d"));
    let next = ListRequest { limit: Some(2), continue_token: end.continue_token, ..from("") };
    let (items, end) = list(&source, &next);
    let end = end.unwrap();
    assert_eq!((&*items, &*end.resource_version, end.continue_token), ("item ns/c@3", "3", None));
    assert_eq!(source.trace(), "LIST rv= limit=2\nLIST rv= limit=2 continue");

    let (items, end) = list(&source, &ListRequest { limit: Some(1), ..from("0") });
    assert_eq!((items.lines().count(), end.unwrap().continue_token), (3, None), "no limit at version 0");
}

#[test]
fn f_31_a_continue_token_expires() {
    let source = three();
    let (_, end) = list(&source, &ListRequest { limit: Some(2), ..from("") });
    let token = end.unwrap().continue_token;
    source.create(object("ns/d"));
    source.compact();
    let (items, end) = list(&source, &ListRequest { continue_token: token, ..from("") });
    assert_eq!(items, "");
    assert!(end.unwrap_err().is_gone());
    let made_up = ListRequest { continue_token: Some("None".to_owned()), ..from("") };
    assert_eq!(list(&source, &made_up).1.unwrap_err().kind(), ErrorKind::BadRequest);
}

#[test]
fn f_28_a_version_from_the_future_is_too_large() {
    let error = list(&three(), &from("500")).1.unwrap_err();
    assert!(error.is_too_large_version());
    assert_eq!((error.stage(), error.retry_after()), (Some(Stage::List), Some(Duration::from_secs(1))));
}

#[test]
fn f_29_a_list_may_come_from_an_older_state() {
    let source = three();
    let older = source.edit(|world| world.backup());
    source.delete("ns/b");
    source.on_next_list(ListFault::From(older));
    let (items, end) = list(&source, &from("4"));
    assert!(items.contains("ns/b"));
    assert_eq!(end.unwrap().resource_version, "3");
    let (items, _) = list(&source, &from("4"));
    assert!(!items.contains("ns/b"));
}

#[test]
fn d_5_what_the_sink_has_is_not_told_again() {
    let source = three();
    let held = Arc::new(source.objects()[1].clone());
    let transcript = Transcript::new().holding(Arc::clone(&held));
    source.list(&from(""), &Stop::new(), &mut transcript.clone()).unwrap();
    assert_eq!(transcript.text(), text(&["item ns/a@1", "unchanged ns/b@2", "item ns/c@3"]));

    let transcript = Transcript::new().holding(held).end_after(5);
    let (told, end) = Watching::new(&source, streaming(), transcript).end();
    let lines = ["opened", "ADDED ns/a@1", "unchanged ns/b@2", "ADDED ns/c@3", "BOOKMARK 3 end"];
    assert_eq!((told, &*end), (text(&lines), "Ended"));
}

#[test]
fn list_faults_are_met_in_order_and_once() {
    let source = three();
    source.on_next_list(ListFault::Fail(status_error(503, "ServiceUnavailable", "busy")));
    source.on_next_list(ListFault::Pass);
    source.on_next_list(ListFault::FailAfter(2, status_error(500, "InternalError", "cut")));
    source.on_next_list(ListFault::FailAfter(3, status_error(500, "InternalError", "cut")));
    source.on_next_list(ListFault::Version("77".to_owned()));
    source.on_next_list(ListFault::Panic("list panics".to_owned()));
    let outcome = || {
        let (items, end) = list(&source, &from(""));
        let end = end.map_or_else(|error| error.kind().to_string(), |end| end.resource_version);
        (items.lines().count(), end)
    };
    let expected = [(0, "unavailable"), (3, "3"), (2, "internal"), (3, "internal"), (3, "77")];
    for (items, end) in expected {
        assert_eq!(outcome(), (items, end.to_owned()));
    }
    assert_eq!(message_of(outcome), "list panics");
    assert_eq!(outcome(), (3, "3".to_owned()));
}

#[test]
fn r_5_a_held_list_ends_on_stop() {
    let source = three();
    let gate = Gate::new("list");
    source.on_next_list(ListFault::hold(&gate));
    let stop = Stop::new();
    let (theirs, until) = (source.clone(), stop.clone());
    let lister = spawn("lister", move || {
        let error = theirs.list(&from(""), &until, &mut Transcript::<TestObject>::new()).unwrap_err();
        assert!(error.is_stopped());
    })
    .unwrap();
    gate.wait_for_waiting(1);
    stop.set();
    within("the lister", move || lister.join().unwrap());
}

#[test]
fn a_watch_tells_what_came_after_its_version() {
    let source = three();
    let watch = watching(&source, watch_from("2"));
    source.wait_for_idle_watches(1);
    source.edit(|world| {
        world.update(object("ns/a"));
        world.delete("ns/b");
        world.bookmark();
        world.skip_versions(10);
        world.create(object("ns/d"));
    });
    source.wait_for_idle_watches(1);
    let lines =
        ["opened", "ADDED ns/c@3", "MODIFIED ns/a@4", "DELETED ns/b@5", "BOOKMARK 5", "ADDED ns/d@16"];
    assert_eq!(watch.stop(), (text(&lines), "stopped at watch".to_owned()));
    source.wait_for_idle_watches(0);
}

#[test]
fn a_watch_without_version_tells_the_present_first() {
    for version in ["", "0"] {
        let source = three();
        let watch = watching(&source, watch_from(version));
        source.wait_for_idle_watches(1);
        source.delete("ns/b");
        source.wait_for_idle_watches(1);
        let lines = ["opened", "ADDED ns/a@1", "ADDED ns/b@2", "ADDED ns/c@3", "DELETED ns/b@4"];
        assert_eq!(watch.stop().0, text(&lines));
    }
}

#[test]
fn r_46_a_streaming_list_ends_with_its_bookmark() {
    let source = three();
    let watch = watching(&source, streaming());
    source.wait_for_idle_watches(1);
    source.update(object("ns/a"));
    source.wait_for_idle_watches(1);
    let lines =
        ["opened", "ADDED ns/a@1", "ADDED ns/b@2", "ADDED ns/c@3", "BOOKMARK 3 end", "MODIFIED ns/a@4"];
    assert_eq!(watch.stop().0, text(&lines));
    assert_eq!(source.trace(), "WATCH rv= initial");
}

#[test]
fn r_51_streaming_can_be_refused_denied_or_endless() {
    let source = three();
    source.set_streaming(Streaming::Refused);
    assert!(source.can_stream());
    assert_eq!(watching(&source, streaming()).end(), (String::new(), "invalid at watch_open".to_owned()));
    source.set_streaming(Streaming::Undeclared);
    assert!(!source.can_stream());
    source.set_streaming(Streaming::Endless);
    let watch = watching(&source, streaming());
    source.wait_for_idle_watches(1);
    source.bookmark();
    source.wait_for_idle_watches(1);
    let lines = ["opened", "ADDED ns/a@1", "ADDED ns/b@2", "ADDED ns/c@3", "BOOKMARK 3"];
    assert_eq!(watch.stop().0, text(&lines));
}

#[test]
fn f_10_a_compacted_version_is_gone_in_the_stream() {
    let source = three();
    source.compact();
    assert_eq!(watching(&source, watch_from("2")).end(), ("opened".to_owned(), "gone at watch".to_owned()));
    let watch = watching(&source, watch_from("3"));
    source.wait_for_idle_watches(1);
    assert_eq!(watch.stop().1, "stopped at watch");
}

#[test]
fn watch_faults_are_met_in_order_and_once() {
    let source = three();
    let error = || status_error(500, "InternalError", "broken");
    source.on_next_watch(WatchFault::Refuse(error()));
    source.on_next_watch(WatchFault::CloseAfter(0));
    source.on_next_watch(WatchFault::CloseAfter(2));
    source.on_next_watch(WatchFault::FailAfter(1, error()));
    source.on_next_watch(WatchFault::SilentAfter(3));
    for (lines, end) in [
        (&[][..], "internal at watch_open"),
        (&["opened"], "Closed"),
        (&["opened", "ADDED ns/a@1", "ADDED ns/b@2"], "Closed"),
        (&["opened", "ADDED ns/a@1"], "internal at watch"),
        (&["opened", "ADDED ns/a@1", "ADDED ns/b@2", "ADDED ns/c@3"], "Silent"),
    ] {
        assert_eq!(watching(&source, watch_from("0")).end(), (text(lines), end.to_owned()));
    }
    let watch = watching(&source, watch_from("0"));
    source.wait_for_idle_watches(1);
    watch.stop();
}

#[test]
fn a_watch_can_be_held_before_and_within() {
    let source = three();
    let gate = Gate::new("watch");
    source.on_next_watch(WatchFault::hold(&gate));
    let watch = watching(&source, watch_from("0"));
    gate.wait_for_waiting(1);
    assert_eq!(watch.told.text(), "");
    gate.open();
    source.wait_for_idle_watches(1);
    watch.stop();

    let gate = Gate::new("third event");
    source.on_next_watch(WatchFault::hold_after(2, &gate));
    let watch = watching(&source, watch_from("0"));
    gate.wait_for_waiting(1);
    assert_eq!(watch.told.lines().len(), 3);
    let (_, end) = watch.stop();
    assert_eq!(end, "stopped at watch");
}

#[test]
fn an_ordered_end_comes_after_what_was_before_it() {
    let source = three();
    let watch = watching(&source, watch_from("3"));
    source.wait_for_idle_watches(1);
    source.edit(|world| {
        world.create(object("ns/d"));
        world.close_watches();
        world.create(object("ns/e")); // missed
    });
    assert_eq!(watch.end(), ("opened\nADDED ns/d@4".to_owned(), "Closed".to_owned()));

    let watch = watching(&source, watch_from("5"));
    source.wait_for_idle_watches(1);
    source.silence_watches();
    assert_eq!(watch.end().1, "Silent");
    let watch = watching(&source, watch_from("5"));
    source.wait_for_idle_watches(1);
    source.fail_watches(&status_error(410, "Expired", "too old"));
    assert_eq!(watch.end().1, "gone at watch");
}

#[test]
fn x_4_an_outage_closes_and_refuses() {
    let source = three();
    let watch = watching(&source, watch_from("3"));
    source.wait_for_idle_watches(1);
    source.start_outage(status_error(503, "ServiceUnavailable", "down"));
    assert_eq!(watch.end().1, "Closed");
    assert_eq!(watching(&source, watch_from("3")).end().1, "unavailable at watch_open");
    assert_eq!(list(&source, &from("")).1.unwrap_err().stage(), Some(Stage::List));
    source.end_outage();
    assert!(list(&source, &from("")).1.is_ok());
}

#[test]
fn a_restore_goes_back_in_time() {
    let source = three();
    let backup = source.edit(|world| world.backup());
    source.update(object("ns/a"));
    source.create(object("ns/d"));
    let watch = watching(&source, watch_from("5"));
    source.wait_for_idle_watches(1);
    source.edit(|world| world.restore(&backup));
    assert_eq!(watch.end().1, "Closed");
    assert_eq!(source.version(), "3");
    let b = source.update(object("ns/b"));
    assert_eq!(b.resource_version, "4");
    let watch = watching(&source, watch_from("3"));
    source.wait_for_idle_watches(1);
    assert_eq!(watch.stop().0, "opened\nMODIFIED ns/b@4", "nothing of the other timeline");
}

#[test]
fn d_8_bad_objects_are_told_with_what_can_be_read() {
    let source = three();
    source.edit(|world| {
        world.break_object("ns/a", Legible::Metadata);
        world.break_object("ns/b", Legible::Key);
        world.break_object("ns/c", Legible::Nothing);
    });
    let (items, _) = list(&source, &from(""));
    assert_eq!(items, text(&["bad item ns/a@4", "bad item ns/b@", "bad item ?@"]));
    let watch = watching(&source, watch_from("3"));
    source.wait_for_idle_watches(1);
    source.edit(|world| {
        world.update(object("ns/a"));
        world.delete("ns/b");
        world.delete_unreadable("ns/a", Legible::Metadata);
    });
    source.wait_for_idle_watches(1);
    let lines = [
        "opened",
        "bad MODIFIED ns/a@4",
        "bad MODIFIED ns/b@",
        "bad MODIFIED ?@",
        "MODIFIED ns/a@7",
        "bad DELETED ns/b@",
        "bad DELETED ns/a@9",
    ];
    assert_eq!(watch.stop().0, text(&lines));
}

#[test]
fn a_lie_reaches_only_the_watches_that_are_open() {
    let source = three();
    let lie = |source: &FakeSource| {
        source.edit(|world| {
            world.send(ChangeKind::Deleted, object("ns/a").uid("other").version("2"));
            world.send_bookmark("1", false);
        });
    };
    lie(&source);
    let watch = watching(&source, watch_from("3"));
    source.wait_for_idle_watches(1);
    lie(&source);
    source.wait_for_idle_watches(1);
    assert_eq!(watch.stop().0, "opened\nDELETED ns/a@2\nBOOKMARK 1");
    assert_eq!(source.objects().len(), 3);
}

#[test]
fn d_7_watches_end_by_the_clock() {
    let clock = ManualClock::new();
    let source = three().with_clock(clock.clone());
    let second = Duration::from_secs(1);

    let watch = watching(&source, watch_from("3"));
    source.wait_for_idle_watches(1);
    clock.wait_for_alarms(1);
    assert_eq!(clock.alarms(), [second * 90]);
    clock.advance(second * 60);
    source.bookmark();
    watch.told.wait_for(2);
    assert_eq!(clock.wait_for_alarm("a later idle limit", |until| until == second * 90), second * 90);
    clock.advance(second * 90);
    assert_eq!(watch.end().1, "Silent");

    let request = WatchRequest { timeout: second * 5, ..watch_from("3") };
    let watch = watching(&source, request);
    clock.wait_for_alarm("the timeout", |until| until == second * 5);
    clock.advance(second * 5);
    assert_eq!(watch.end().1, "Closed");
    assert_eq!(clock.pending(), 0);
}

#[test]
fn requests_can_be_waited_for() {
    let source = three();
    let theirs = source.clone();
    let lister = spawn("lister", move || (0..3).for_each(|_| drop(list(&theirs, &from("0"))))).unwrap();
    assert_eq!(source.wait_for_requests(3).len(), 3);
    within("the lister", move || lister.join().unwrap());
    assert_eq!(source.trace(), "LIST rv=0\nLIST rv=0\nLIST rv=0");
}
