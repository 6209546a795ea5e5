//! Faults without a server: whose turn it is, how far an answer gets, what cannot be.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::api_server::exchange::Call;
use crate::api_server::requests::ServedRequest;

fn request(method: &str, target: &str) -> ServedRequest {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    ServedRequest::new(&Call {
        method: method.to_owned(),
        path: path.to_owned(),
        query: crate::http::queries(query),
        ..Call::default()
    })
}

/// Which of the first twelve requests a fault that strikes at once happens to.
fn struck(fault: Fault) -> Vec<usize> {
    let rules = Arc::new(Rules::default());
    let _injected = rules.add(fault);
    let request = request("GET", "/api/v1/pods");
    (1..=12).filter(|_| rules.of_request(&request).at_once(Phase::Head).is_some()).collect()
}

#[test]
fn turns_are_counted_from_the_first_request_that_is_meant() {
    let delay = || Fault::delay(Duration::ZERO);
    assert_eq!(struck(delay()), (1..=12).collect::<Vec<_>>());
    assert_eq!(struck(delay().times(2)), [1, 2]);
    assert_eq!(struck(delay().nth(3)), [3]);
    assert_eq!(struck(delay().every(4)), [4, 8, 12]);
    assert_eq!(struck(delay().skip(3).times(2)), [4, 5]);
    assert_eq!(struck(delay().skip(1).every(5).times(1)), [6]);
    assert!(struck(delay().on(Calls::list("nodes"))).is_empty());
}

#[test]
fn lots_fall_as_the_seed_says() {
    let lot = |seed| struck(Fault::delay(Duration::ZERO).one_in(3).seed(seed));
    assert_eq!(lot(1), lot(1));
    assert_ne!(lot(1), lot(2));
    // Of many, about a third.
    let turns = Turns { one_in: 3, ..Turns::default() };
    let hits = (0..30_000).filter(|index| turns.includes(*index, 5)).count();
    assert!((9_500..10_500).contains(&hits), "{hits}");
    // And how far each gets is spread over the range.
    let fault = Fault::reset().after_bytes_within(100..110).seed(9);
    let mut reaches: Vec<_> = (0..200)
        .map(|index| match fault.reach_of(index) {
            plan::Reach::Bytes(bytes) => bytes,
            plan::Reach::Events(_) => unreachable!("it counts bytes"),
        })
        .collect();
    reaches.sort_unstable();
    reaches.dedup();
    assert_eq!(reaches, (100..110).collect::<Vec<_>>());
}

/// What becomes of a watch that tells `initial`, then `live`: the bytes between the strikes.
fn told(fault: Fault, initial: &str, live: &str) -> String {
    let rules = Arc::new(Rules::default());
    let _injected = rules.add(fault);
    let mut plan = rules.of_request(&request("GET", "/api/v1/pods?watch=1"));
    let mut told = String::new();
    for (place, text) in [(Place::Initial, initial), (Place::Live, live)] {
        let mut rest = text.as_bytes();
        loop {
            while let Some(strike) = plan.due(place) {
                told.push_str(if matches!(strike.act(), Act::End) { "<end>" } else { "<strike>" });
            }
            if rest.is_empty() {
                break;
            }
            let (mut now, later) = rest.split_at(plan.unbroken(place, rest));
            while !now.is_empty() {
                match plan.step(place, now) {
                    Step::Strike(_) => told.push_str("<within>"),
                    Step::Send(count) => {
                        told.push_str(std::str::from_utf8(&now[..count]).unwrap());
                        now = &now[count..];
                    }
                }
            }
            told.push('|');
            rest = later;
        }
    }
    told
}

#[test]
fn bytes_and_events_are_counted_in_their_phase() {
    let on = |fault: Fault| told(fault.on(Calls::watch("pods")), "aa\nbb\n", "cc\ndd\n");
    assert_eq!(on(Fault::reset()), "<strike>aa\nbb\n|cc\ndd\n|");
    assert_eq!(on(Fault::reset().after_bytes(4)), "aa\nb<within>b\n|cc\ndd\n|");
    assert_eq!(on(Fault::reset().after_bytes(7)), "aa\nbb\n|c<within>c\ndd\n|");
    assert_eq!(on(Fault::reset().at(Phase::Live)), "aa\nbb\n|<strike>cc\ndd\n|");
    assert_eq!(on(Fault::reset().at(Phase::Live).after_bytes(4)), "aa\nbb\n|cc\nd<within>d\n|");
    assert_eq!(on(Fault::reset().at(Phase::Initial).after_bytes(7)), "aa\nbb\n|cc\ndd\n|");
    assert_eq!(on(Fault::reset().after_events(3)), "aa\nbb\n|cc\n<within>dd\n|");
    assert_eq!(on(Fault::reset().at(Phase::Live).after_events(2)), "aa\nbb\n|cc\ndd\n|<strike>");
    // Right after the last byte, not when the next comes.
    assert_eq!(on(Fault::reset().at(Phase::Initial).after_bytes(6)), "aa\nbb\n|<strike>cc\ndd\n|");
}

#[test]
fn what_ends_a_watch_in_good_order_waits_for_the_end_of_the_event() {
    let on = |fault: Fault| told(fault.on(Calls::watch("pods")), "aa\nbb\n", "cc\ndd\n");
    assert_eq!(on(Fault::end().after_bytes(1)), "aa\n|<end>bb\n|cc\ndd\n|");
    assert_eq!(on(Fault::end().after_bytes(3)), "aa\n|<end>bb\n|cc\ndd\n|");
    assert_eq!(on(Fault::end().after_events(3)), "aa\nbb\n|cc\n|<end>dd\n|");
    assert_eq!(on(Fault::gone().at(Phase::Live).after_bytes(1)), "aa\nbb\n|cc\n|<strike>dd\n|");
}

#[test]
fn what_is_removed_or_used_up_strikes_no_more() {
    let rules = Arc::new(Rules::default());
    let once = rules.add(Fault::reset().times(1));
    let other = rules.add(Fault::cut());
    let list = request("GET", "/api/v1/pods");
    let (mut first, mut second) = (rules.of_request(&list), rules.of_request(&list));
    other.remove();
    assert!(
        matches!(second.step(Place::Body, b"x"), Step::Strike(strike) if matches!(strike.act(), Act::Reset))
    );
    assert!(matches!(first.step(Place::Body, b"x"), Step::Send(1)));
    assert_eq!((once.hits(), once.matches(), other.hits(), other.matches()), (1, 2, 0, 2));
    rules.clear();
    assert!(rules.of_request(&list).is_empty());
}

#[test]
fn patterns_tell_requests_apart() {
    let target = "/apis/apps/v1/namespaces/a/deployments/b/scale";
    let scale = request("PUT", target);
    assert_eq!(
        (scale.verb(), scale.group(), scale.resource(), scale.namespace(), scale.name(), scale.subresource()),
        ("update", "apps", "deployments", "a", "b", "scale")
    );
    assert_eq!(scale.to_string(), "update deployments.apps a/b scale");
    let watch = request("GET", "/api/v1/namespaces/a/pods?watch=true&resourceVersion=7");
    assert_eq!(watch.to_string(), "watch pods in a rv=7");
    let namespace = request("PUT", "/api/v1/namespaces/a/finalize");
    assert_eq!(namespace.to_string(), "update namespaces a finalize");
    for (calls, wanted) in [
        (Calls::any(), true),
        (Calls::watch("pods"), true),
        (Calls::list("pods"), false),
        (Calls::of("pods"), true),
        (Calls::watch("pods.apps"), false),
        (Calls::watch("pods").in_namespace("b"), false),
        (Calls::watch("pods").query("resourceVersion", "7"), true),
        (Calls::watch("pods").query("resourceVersion", "8"), false),
        (Calls::watch("pods").with("allowWatchBookmarks"), false),
        (Calls::watch("pods").without("resourceVersion"), false),
        (Calls::path("/api/v1/namespaces/a/pods").method("GET"), true),
        (Calls::any().method("POST"), false),
    ] {
        assert_eq!(calls.matches(&watch), wanted, "{calls}");
    }
    assert!(Calls::update("deployments.apps").named("b").matches(&scale));
    assert!(Calls::update("deployments").matches(&scale));
}

#[test]
fn what_can_never_happen_is_refused_with_its_reason() {
    for (fault, reason) in [
        (Fault::status(500).at(Phase::Connect), "nobody to answer"),
        (Fault::reset().at(Phase::Connect).on(Calls::list("pods")), "no request yet"),
        (Fault::reset().at(Phase::Connect).after_bytes(1), "no bytes to count"),
        (Fault::end().at(Phase::Head), "only a watch that has begun"),
        (Fault::status(500).at(Phase::Head).after_bytes(3), "has its status already"),
        (Fault::cut().at(Phase::Head).after_events(1), "a head has no events"),
        (Fault::end().on(Calls::list("pods")), "only a watch can end"),
        (Fault::reset().at(Phase::Live).on(Calls::list("pods")), "only a watch has this phase"),
        (Fault::reset().header("a", "b"), "only a status has headers"),
        (Fault::status(99), "from 200 to 599"),
        (Fault::status(304), "not 204 or 304"),
        (Fault::reset().every(0), "no request is the 0th"),
        (Fault::drip(0, Duration::ZERO), "never ends"),
        (Fault::cut().after_bytes_within(3..3), "empty range"),
    ] {
        let said = fault.contradiction().unwrap_or_else(|| panic!("{fault:?} is possible"));
        assert!(said.contains(reason), "{fault:?}: {said}");
    }
}
