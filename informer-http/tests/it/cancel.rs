//! A stop ends a call in every state that a plain connection can be in.

use std::sync::mpsc;
use std::time::Duration;

use informer_core::Stop;
use informer_core::sync::spawn;
use informer_http::{Client, HttpListWatch};

use crate::server::{Peer, Server};
use crate::sink::{ADDED, Kept, LIST, list, source, watch};

const LONG: Duration = Duration::from_secs(3600);

#[test]
fn f_56_a_stop_ends_the_wait_for_the_head() {
    let stop = Stop::new();
    let theirs = stop.clone();
    let server = Server::start(move |listener| {
        let mut peer = Peer::accept(listener);
        peer.request();
        theirs.set();
        peer.until_closed();
    });
    let source = source(&server.url);
    let ended = watch(&source, LONG, &mut Kept::default(), &stop);
    assert!(ended.unwrap_err().is_stopped());
    drop(source);
    server.join();
}

#[test]
fn f_56_a_stop_ends_the_reading_of_a_list() {
    let stop = Stop::new();
    let theirs = stop.clone();
    let server = Server::start(move |listener| {
        let mut peer = Peer::accept(listener);
        peer.request();
        // Without a length: that the connection ends could be taken for the end of the body.
        peer.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"items\":[");
        theirs.set();
        peer.until_closed();
    });
    let source = source(&server.url);
    let (ended, _) = list(&source, &stop);
    assert!(ended.unwrap_err().is_stopped());
    drop(source);
    server.join();
}

#[test]
fn w_6_a_stop_ends_a_silent_watch() {
    for framing in ["", "Transfer-Encoding: chunked\r\n"] {
        let stop = Stop::new();
        let (end, ended) = mpsc::channel::<()>();
        let server = Server::start(move |listener| {
            let mut peer = Peer::accept(listener);
            peer.request();
            peer.send(format!("HTTP/1.1 200 OK\r\n{framing}\r\n"));
            if framing.is_empty() {
                peer.send(ADDED);
            } else {
                peer.send(format!("{:x}\r\n{ADDED}\r\n", ADDED.len()));
            }
            let _ = ended.recv();
        });
        let (told, tell) = mpsc::channel();
        let theirs = stop.clone();
        let stopper = spawn("stopper", move || {
            assert_eq!(tell.recv().unwrap(), "opened");
            assert_eq!(tell.recv().unwrap(), "object");
            theirs.set();
        })
        .unwrap();
        let mut kept = Kept { told: Some(told), ..Kept::default() };
        let ended = watch(&source(&server.url), LONG, &mut kept, &stop);
        assert!(ended.unwrap_err().is_stopped(), "{framing:?}");
        assert_eq!(kept.names, ["a"]);
        stopper.join().unwrap();
        drop(end);
        server.join();
    }
}

#[test]
fn d_12_a_set_stop_lets_no_request_out() {
    let stop = Stop::new();
    stop.set();
    let (ended, _) = list(&source("http://127.0.0.1:1"), &stop);
    assert!(ended.unwrap_err().is_stopped());
}

/// The stop of one informer is no business of another on the same client.
#[test]
fn d_12_a_stop_leaves_other_connections_alone() {
    let first = Stop::new();
    let theirs = first.clone();
    let (come, came) = mpsc::channel();
    let server = Server::start(move |listener| {
        let mut one = Peer::accept(listener);
        one.request();
        come.send(()).unwrap();
        let mut two = Peer::accept(listener);
        two.request();
        theirs.set();
        one.until_closed();
        two.answer("200 OK", "", LIST);
    });
    let client = Client::from_url(&server.url).unwrap();
    let source = || HttpListWatch::new(&client).namespace("ns");
    let stopped = source();
    let stopped = spawn("first", move || {
        assert!(list(&stopped, &first).0.unwrap_err().is_stopped());
    })
    .unwrap();
    came.recv().unwrap();
    let (end, names) = list(&source(), &Stop::new());
    end.unwrap();
    assert_eq!(names, ["a"]);
    stopped.join().unwrap();
    server.join();
}
