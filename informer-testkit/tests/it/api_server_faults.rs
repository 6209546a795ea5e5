//! Faults by rule: what a client sees of them, byte for byte.

use std::time::Duration;

use informer_testkit::{ApiServer, Calls, Ending, Fault, ManualClock, Phase, within};
use serde_json::json;

use crate::wire::Wire;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WATCH: &str = "/api/v1/namespaces/default/configmaps?watch=1";
const STREAMING: &str = "/api/v1/namespaces/default/configmaps?watch=1&sendInitialEvents=true\
                         &resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

fn create(server: &ApiServer, name: &str) {
    server.create("configmaps", json!({ "metadata": { "name": name } })).unwrap();
}

fn start() -> (ApiServer, ManualClock) {
    let clock = ManualClock::new();
    (ApiServer::builder().clock(clock.clone()).start().unwrap(), clock)
}

fn body(name: &str) -> String {
    json!({ "metadata": { "name": name } }).to_string()
}

#[test]
fn a_status_takes_the_place_of_the_answer_and_nothing_is_carried_out() {
    let server = ApiServer::start().unwrap();
    let fault = Fault::status(503).message("not now").header("X-Reason", "told to").times(1);
    let fault = server.fault(fault.on(Calls::create("configmaps")));
    let mut wire = Wire::new(&server);
    let refused = wire.ask("POST", MAPS, &body("a"));
    assert_eq!((refused.status, refused.header("x-reason")), (503, Some("told to")));
    assert_eq!(refused.json()["reason"], "ServiceUnavailable");
    assert_eq!(refused.json()["message"], "not now");
    assert!(server.list("configmaps").unwrap().is_empty());
    assert_eq!(wire.ask("POST", MAPS, &body("a")).status, 201);
    assert_eq!((fault.hits(), fault.matches()), (1, 2));
    // Another body, as a proxy has one.
    server.fault(Fault::status(502).body("text/html", "<html>").on(Calls::path("/version")));
    let page = wire.ask("GET", "/version", "");
    assert_eq!((page.status, page.header("content-type"), page.text()), (502, Some("text/html"), "<html>"));
}

#[test]
fn a_busy_server_says_when_to_come_again() {
    let server = ApiServer::start().unwrap();
    server
        .fault(Fault::too_many_requests(Duration::from_millis(1_500)).on(Calls::list("configmaps")).every(2));
    let mut wire = Wire::new(&server);
    assert_eq!(wire.ask("GET", MAPS, "").status, 200);
    let busy = wire.ask("GET", MAPS, "");
    assert_eq!((busy.status, busy.header("retry-after")), (429, Some("2")));
    assert_eq!(busy.text(), "Too many requests, please try again later.\n");
    assert_eq!(wire.ask("GET", MAPS, "").status, 200);
}

#[test]
fn a_watch_is_gone_after_so_many_events_and_the_connection_goes_on() {
    let server = ApiServer::start().unwrap();
    server.fault(Fault::gone().on(Calls::watch("configmaps")).at(Phase::Live).after_events(2).times(1));
    let mut wire = Wire::new(&server);
    wire.get(WATCH, "").head();
    create(&server, "a");
    assert_eq!(wire.event()["object"]["metadata"]["name"], "a");
    create(&server, "b");
    assert_eq!(wire.event()["object"]["metadata"]["name"], "b");
    let error = wire.event();
    assert_eq!((&error["type"], &error["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert_eq!(error["object"]["reason"], "Expired");
    assert_eq!(wire.chunk(), None);
    assert_eq!(wire.ask("GET", MAPS, "").status, 200);
    // At the head it is an answer.
    server.fault(Fault::gone().on(Calls::watch("configmaps")));
    assert_eq!(wire.ask("GET", WATCH, "").status, 410);
}

#[test]
fn a_watch_is_reset_after_so_many_bytes_as_often_as_was_said() {
    let server = ApiServer::start().unwrap();
    let fault = server.fault(Fault::reset().on(Calls::watch("configmaps")).after_bytes(300).times(2));
    create(&server, "a");
    for _ in 0..2 {
        let mut wire = Wire::new(&server);
        wire.get(STREAMING, "").head();
        let (rest, reset) = wire.rest();
        assert!(reset);
        // The size of a chunk, and of the body these 300.
        let text = String::from_utf8(rest).unwrap();
        assert_eq!(text.split_once("\r\n").unwrap().1.len(), 300, "{text}");
    }
    assert_eq!(fault.hits(), 2);
    let mut wire = Wire::new(&server);
    wire.get(STREAMING, "").head();
    assert!(wire.chunk().unwrap().len() > 300);
    let watches = server.wait_for_endings(2, &Calls::watch("configmaps"));
    assert!(watches.iter().all(|watch| watch.ending() == Some(Ending::Broken) && watch.body_bytes() == 300));
}

#[test]
fn a_list_is_cut_in_its_body_and_closed_in_good_order() {
    let server = ApiServer::start().unwrap();
    for number in 0..30 {
        create(&server, &format!("map-{number}"));
    }
    let whole = Wire::once(&server, "GET", MAPS, "").body;
    server.fault(Fault::cut().on(Calls::list("configmaps")).after_bytes(1_000));
    let mut wire = Wire::new(&server);
    let head = wire.get(MAPS, "").head();
    let (rest, reset) = wire.rest();
    assert!(!reset);
    assert!(head.contains("Transfer-Encoding: chunked"), "{head}");
    let at = rest.windows(2).position(|two| two == b"\r\n").unwrap() + 2;
    assert_eq!(&rest[at..], &whole[..1_000]);
}

#[test]
fn phases_of_a_watch_are_told_apart() {
    let server = ApiServer::start().unwrap();
    create(&server, "a");
    create(&server, "b");
    let initial =
        server.fault(Fault::end().on(Calls::watch("configmaps")).at(Phase::Initial).after_events(1));
    let mut wire = Wire::new(&server);
    wire.get(STREAMING, "").head();
    assert_eq!(wire.event()["object"]["metadata"]["name"], "a");
    assert_eq!(wire.chunk(), None);
    initial.remove();
    let live = server.fault(Fault::end().on(Calls::watch("configmaps")).at(Phase::Live).after_events(1));
    wire.get(STREAMING, "").head();
    let told = wire.chunk().unwrap();
    assert!(told.contains("initial-events-end") && told.lines().count() == 3, "{told}");
    create(&server, "c");
    let c = wire.event()["object"]["metadata"].clone();
    assert_eq!(c["name"], "c");
    assert_eq!(wire.chunk(), None);
    assert_eq!((initial.hits(), live.hits()), (1, 1));
    // A watch that tells changes only has no first part.
    server.clear_faults();
    server.fault(Fault::reset().on(Calls::watch("configmaps")).at(Phase::Live));
    let version = c["resourceVersion"].as_str().unwrap();
    wire.get(&format!("{WATCH}&resourceVersion={version}"), "").head();
    assert_eq!(wire.rest(), (Vec::new(), true));
}

#[test]
fn a_write_whose_answer_is_lost_has_happened() {
    let server = ApiServer::start().unwrap();
    server.fault(Fault::reset().on(Calls::create("configmaps")).at(Phase::Head).times(1));
    server.fault(Fault::reset().on(Calls::create("configmaps")).at(Phase::Head).after_bytes(1).times(1));
    let post = |name: &str| {
        let body = body(name);
        let mut wire = Wire::new(&server);
        let length = body.len();
        wire.send(format!("POST {MAPS} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n{body}"));
        wire.rest()
    };
    assert_eq!(post("before"), (Vec::new(), true));
    assert!(server.get("configmaps", "default/before").is_err());
    assert_eq!(post("after"), (b"H".to_vec(), true));
    assert!(server.get("configmaps", "default/after").is_ok());
}

#[test]
fn a_delay_lasts_by_the_clock_of_the_server() {
    let (server, clock) = start();
    let fault = server.fault(Fault::delay(Duration::from_secs(7)).on(Calls::list("configmaps")).times(1));
    let mut wire = Wire::new(&server);
    wire.get(MAPS, "");
    fault.wait_for_hits(1);
    clock.wait_for_alarm("the delay", |until| until == Duration::from_secs(7));
    assert_eq!(server.requests(&Calls::any())[0].status(), None);
    clock.advance(Duration::from_secs(7));
    assert_eq!(wire.answer().status, 200);
}

#[test]
fn a_head_is_held_until_the_fault_is_removed_the_client_goes_or_the_server_stops() {
    let server = ApiServer::start().unwrap();
    let held = server.fault(Fault::stall().on(Calls::watch("configmaps")));
    let (mut first, mut second, mut third) = (Wire::new(&server), Wire::new(&server), Wire::new(&server));
    first.get(WATCH, "");
    second.get(WATCH, "");
    held.wait_for_hits(2);
    drop(first);
    let gone = server.wait_for_endings(1, &Calls::watch("configmaps"));
    assert_eq!((gone[0].ending(), gone[0].status()), (Some(Ending::ClientGone), None));
    held.remove();
    assert!(second.head().starts_with("HTTP/1.1 200"));
    let again = server.fault(Fault::stall().on(Calls::list("configmaps")));
    third.get(MAPS, "");
    again.wait_for_hits(1);
    let server = within("the stop", move || {
        server.stop();
        server
    });
    assert_eq!(third.rest().0, b"");
    let lists = server.requests(&Calls::list("configmaps"));
    assert_eq!(lists[0].ending(), Some(Ending::Stopped));
}

#[test]
fn a_body_drips_at_the_pace_of_the_clock() {
    let (server, clock) = start();
    let second = Duration::from_secs(1);
    let drip = server.fault(Fault::drip(1, second).on(Calls::path("/healthz")));
    let mut wire = Wire::new(&server);
    wire.get("/healthz", "");
    for _ in 0..2 {
        assert_eq!(clock.advance_to_next(), second); // after each of its two bytes
    }
    assert_eq!((wire.answer().text(), clock.elapsed()), ("ok", 2 * second));
    // What is still to come, comes at once when the fault is removed.
    wire.get("/healthz", "");
    clock.wait_for_alarms(1);
    assert_eq!(server.requests(&Calls::any())[1].ending(), None);
    drip.remove();
    assert_eq!((wire.answer().text(), clock.elapsed()), ("ok", 2 * second));
}

#[test]
fn a_connection_is_accepted_and_never_spoken_to() {
    let server = ApiServer::start().unwrap();
    let silent = server.fault(Fault::stall().at(Phase::Connect).times(1));
    let mut wire = Wire::new(&server);
    wire.get("/healthz", "");
    silent.wait_for_hits(1);
    assert!(server.requests(&Calls::any()).is_empty());
    assert_eq!(Wire::once(&server, "GET", "/healthz", "").text(), "ok");
    silent.remove();
    assert_eq!(wire.answer().text(), "ok");
    server.fault(Fault::reset().at(Phase::Connect).times(1));
    assert_eq!(Wire::new(&server).rest(), (Vec::new(), true));
    server.fault(Fault::cut().at(Phase::Connect).times(2));
    assert_eq!(Wire::new(&server).rest(), (Vec::new(), false));
    // Nor does a request that nobody has read make a reset of it.
    assert_eq!(Wire::new(&server).get("/healthz", "").rest(), (Vec::new(), false));
}

#[test]
fn a_slow_watch_is_closed_in_good_order_as_a_real_server_does() {
    let (server, clock) = start();
    let slow = server.fault(Fault::stall().on(Calls::watch("configmaps")).at(Phase::Live).after_events(1));
    let mut wire = Wire::new(&server);
    wire.get(WATCH, "").head();
    create(&server, "first");
    assert_eq!(wire.event()["object"]["metadata"]["name"], "first");
    slow.wait_for_hits(1);
    for number in 0..1_001 {
        create(&server, &format!("map-{number}"));
    }
    clock.advance(Duration::from_millis(100));
    slow.remove();
    assert_eq!(wire.chunk(), None);
    let watches = server.wait_for_endings(1, &Calls::watch("configmaps"));
    assert_eq!(watches[0].ending(), Some(Ending::Complete));
    assert_eq!(wire.ask("GET", "/healthz", "").text(), "ok", "the connection goes on");
}

#[test]
fn faults_stay_through_a_restart() {
    let mut server = ApiServer::start().unwrap();
    let fault = server.fault(Fault::status(500).on(Calls::path("/version")));
    server.restart().unwrap();
    assert_eq!(Wire::once(&server, "GET", "/version", "").status, 500);
    server.restart_empty().unwrap();
    assert_eq!(Wire::once(&server, "GET", "/version", "").status, 500);
    assert_eq!(fault.hits(), 2);
}

#[test]
#[should_panic(expected = "only a watch can end")]
fn a_fault_that_can_never_happen_is_refused() {
    let server = ApiServer::start().unwrap();
    server.fault(Fault::end().on(Calls::list("pods")));
}
