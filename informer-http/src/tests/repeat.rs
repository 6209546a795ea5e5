//! Single requests to a server that asks to wait (D14), by a clock in the test's hand.

use std::sync::Arc;
use std::time::Duration;

use informer_core::kube_core::params::PostParams;
use informer_core::sync::{JoinHandle, Mutex, spawn};
use informer_core::{Error, Stop};
use informer_testkit::{ManualClock, within};
use k8s_openapi::api::core::v1::ConfigMap;

use super::get;
use super::server::{Peer, Server};
use crate::api::Api;
use crate::client::{Client, Connection};

const BUSY: &str = r#"{"kind":"Status","reason":"TooManyRequests","message":"slow down","code":429}"#;
const RETRY: &str = "Retry-After: 1\r\n";

/// A client of `server` with a manual clock.
fn client(server: &Server) -> (Client, ManualClock) {
    let clock = ManualClock::new();
    let theirs = Arc::new(clock.clone());
    (Client::connect(Connection { clock: theirs, ..Connection::new(&server.url).unwrap() }), clock)
}

/// A call on a thread of its own.
struct Calling<R> {
    outcome: Arc<Mutex<Option<R>>>,
    thread: JoinHandle<()>,
}

impl<R: Send + 'static> Calling<R> {
    fn start(call: impl FnOnce() -> R + Send + 'static) -> Self {
        let outcome = Arc::new(Mutex::new(None));
        let theirs = Arc::clone(&outcome);
        let thread = spawn("calling", move || *theirs.lock() = Some(call())).unwrap();
        Calling { outcome, thread }
    }

    fn outcome(self) -> R {
        let Calling { outcome, thread } = self;
        within("the call", move || thread.join()).unwrap();
        outcome.lock().take().unwrap()
    }
}

/// GETs `/x` on a thread of its own.
fn getting(client: &Client, stop: &Stop) -> Calling<Result<serde_json::Value, Error>> {
    let (client, stop) = (client.clone(), stop.clone());
    Calling::start(move || get(&client, &stop))
}

/// Answers requests with `answers`, status and headers, on one connection, and asserts that no more come.
fn answering(answers: Vec<(&'static str, String, &'static str)>) -> Server {
    Server::start(move |listener| {
        let mut peer = Peer::accept(listener);
        for (status, headers, body) in answers {
            peer.request();
            peer.answer(status, &headers, body);
        }
        peer.until_closed();
    })
}

#[test]
fn w_10_eleven_requests_and_ten_waits_then_the_error() {
    let server = answering(vec![("429 Too Many Requests", RETRY.to_owned(), BUSY); 11]);
    let (client, clock) = client(&server);
    let call = getting(&client, &Stop::new());
    for _ in 0..10 {
        assert_eq!(clock.wait_for_alarm("a wait", |_| true), Duration::from_secs(1));
        clock.advance_to_next();
    }
    let error = call.outcome().unwrap_err();
    assert!(error.is_too_many_requests(), "{error:?}");
    assert_eq!(clock.elapsed(), Duration::from_secs(10));
    drop(client);
    server.join();
}

#[test]
fn w_11_a_500_that_asks_to_wait_is_followed_by_the_answer() {
    let server = answering(vec![
        ("500 Internal Server Error", "Retry-After: 2\r\n".to_owned(), "{}"),
        ("200 OK", String::new(), r#"{"a":1}"#),
        ("500 Internal Server Error", String::new(), "{}"),
    ]);
    let (client, clock) = client(&server);
    let call = getting(&client, &Stop::new());
    assert_eq!(clock.wait_for_alarm("the wait", |_| true), Duration::from_secs(2));
    clock.advance_to_next();
    assert_eq!(call.outcome().unwrap()["a"], 1);
    // Without the header it is the answer.
    assert!(get(&client, &Stop::new()).is_err());
    assert_eq!(clock.pending(), 0);
    drop(client);
    server.join();
}

#[test]
fn w_12_a_429_that_does_not_ask_to_wait_is_the_answer() {
    for headers in ["", "Retry-After: 0\r\n", "Retry-After: soon\r\n", "Retry-After: 300\r\n"] {
        let server = answering(vec![("429 Too Many Requests", headers.to_owned(), BUSY)]);
        let (client, clock) = client(&server);
        assert!(get(&client, &Stop::new()).unwrap_err().is_too_many_requests(), "{headers}");
        assert_eq!(clock.pending(), 0);
        drop(client);
        server.join();
    }
}

/// The same body again after 429, which has changed nothing; after 503 nobody knows.
#[test]
fn w_15_d_14_a_write_is_repeated_after_429_only() {
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        let first = peer.request();
        peer.answer("429 Too Many Requests", RETRY, BUSY);
        let second = peer.request();
        assert!(first.line().starts_with("POST "));
        assert_eq!((first.line(), &first.body), (second.line(), &second.body));
        peer.answer("503 Service Unavailable", RETRY, "{}");
        peer.until_closed();
    });
    let (client, clock) = client(&server);
    let api = Api::<ConfigMap>::namespaced(&client, "ns");
    let call = Calling::start(move || api.create(&PostParams::default(), &ConfigMap::default()));
    clock.wait_for_alarms(1);
    clock.advance_to_next();
    let error = call.outcome().unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(1)));
    drop(client);
    server.join();
}

#[test]
fn w_16_d_12_a_stop_ends_the_wait_and_names_what_was_waited_for() {
    let server = answering(vec![("429 Too Many Requests", RETRY.to_owned(), BUSY)]);
    let (client, clock) = client(&server);
    let stop = Stop::new();
    let call = getting(&client, &stop);
    clock.wait_for_alarms(1);
    stop.set();
    let error = call.outcome().unwrap_err();
    assert!(error.is_stopped());
    assert!(error.chain().to_string().ends_with("get x: slow down"), "{}", error.chain());
    drop(client);
    server.join();
}
