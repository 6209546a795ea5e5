//! A stop ends a call in every state that a plain connection can be in.

use informer_core::sync::spawn;
use informer_core::{Error, Stop, WatchEnd};
use informer_http::{Client, HttpListWatch};
use informer_testkit::script::{Expect, Framing, Head, Script, added, chunk, stall};
use informer_testkit::{ClosedBy, ScriptedServer, Transcript, within};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::{LONG, a, a_list, list_now, source, watch_into};

/// Stops `call` once its request is at the server, and waits until it has ended of that.
fn stopped_under_way(
    server: ScriptedServer,
    call: impl FnOnce(&HttpListWatch<ConfigMap>, &Stop) -> Error + Send + 'static,
) {
    let (stop, source) = (Stop::new(), source(&server));
    let theirs = stop.clone();
    let call = spawn("call", move || assert!(call(&source, &theirs).is_stopped())).unwrap();
    server.wait_for_requests(1);
    stop.set();
    assert_eq!(server.wait_for_close(0), ClosedBy::Client);
    within("the call", move || call.join().unwrap());
    server.finish();
}

#[test]
fn f_56_a_stop_ends_the_wait_for_the_head() {
    let server = ScriptedServer::start(Script::in_order([Expect::watch().answer([stall()])]));
    stopped_under_way(server, |source, stop| watch_into(&Transcript::new(), source, LONG, stop).unwrap_err());
}

#[test]
fn f_56_a_stop_ends_the_reading_of_a_list() {
    // Without a length: that the connection ends could be taken for the end of the body.
    let head = Head::new(200, Framing::Close).into();
    let script = [Expect::list().answer([head, chunk("{\"items\":["), stall()])];
    let server = ScriptedServer::start(Script::in_order(script));
    stopped_under_way(server, |source, stop| list_now(source, stop).0.unwrap_err());
}

#[test]
fn w_6_a_stop_ends_a_silent_watch() {
    for framing in [Framing::Close, Framing::Chunked] {
        let script = [Expect::watch().answer([Head::new(200, framing).into(), added(&a()), stall()])];
        let server = ScriptedServer::start(Script::in_order(script));
        let (stop, source, told) = (Stop::new(), source(&server), Transcript::new());
        let (theirs, tell) = (stop.clone(), told.clone());
        let call = spawn("call", move || {
            assert!(watch_into(&tell, &source, LONG, &theirs).unwrap_err().is_stopped());
        })
        .unwrap();
        assert_eq!(told.wait_for(2), ["opened", "ADDED ns/a@6"], "{framing:?}");
        stop.set();
        within("the call", move || call.join().unwrap());
        assert_eq!(server.wait_for_close(0), ClosedBy::Client);
        server.finish();
    }
}

#[test]
fn w_6_the_sink_closes_the_connection() {
    let script = [Expect::watch().answer([Head::new(200, Framing::Chunked).into(), added(&a()), stall()])];
    let server = ScriptedServer::start(Script::in_order(script));
    let source = source(&server);
    let end = watch_into(&Transcript::new().end_after(2), &source, LONG, &Stop::new());
    assert_eq!(end.unwrap(), WatchEnd::Ended);
    assert_eq!(server.wait_for_close(0), ClosedBy::Client);
    server.finish();
}

#[test]
fn d_12_a_set_stop_lets_no_request_out() {
    let server = ScriptedServer::start(Script::in_order([]));
    let stop = Stop::new();
    stop.set();
    assert!(list_now(&source(&server), &stop).0.unwrap_err().is_stopped());
    assert_eq!(server.connections(), 0);
}

/// The stop of one informer is no business of another on the same client.
#[test]
fn d_12_a_stop_leaves_other_connections_alone() {
    let script = Script::in_order([
        Expect::list().on_connection(0).answer([stall()]),
        Expect::watch().on_connection(1).answer([
            Head::new(200, Framing::Chunked).into(),
            added(&a()),
            stall(),
        ]),
        Expect::list().on_connection(2).reply(a_list()),
    ]);
    let server = ScriptedServer::start(script);
    let client = Client::from_url(&server.url()).unwrap();
    let source = || HttpListWatch::<ConfigMap>::new(&client).namespace("ns");
    let (first, second, told) = (Stop::new(), Stop::new(), Transcript::new());
    let (stopped, theirs) = (source(), first.clone());
    let stopped = spawn("first", move || {
        assert!(list_now(&stopped, &theirs).0.unwrap_err().is_stopped());
    })
    .unwrap();
    server.wait_for_requests(1);
    let (going_on, theirs, tell) = (source(), second.clone(), told.clone());
    let going_on = spawn("second", move || {
        assert!(watch_into(&tell, &going_on, LONG, &theirs).unwrap_err().is_stopped());
    })
    .unwrap();
    told.wait_for(2);
    first.set();
    assert_eq!(server.wait_for_close(0), ClosedBy::Client);
    within("the first", move || stopped.join().unwrap());
    let (end, text) = list_now(&source(), &Stop::new());
    end.unwrap();
    assert_eq!(text, "item ns/a@6");
    assert!(!going_on.is_finished());
    second.set();
    within("the second", move || going_on.join().unwrap());
    server.finish();
}
