//! Peers that answer, but drop by drop, each byte within the limits that each read has: what ends such an exchange is the
//! limit of all of it.

use std::io::{Read as _, Write as _};
use std::sync::mpsc;
use std::time::Duration;

use informer_core::{Clock, Error, ErrorKind, Stop, SystemClock};

use super::server::{Peer, Server};
use crate::client::{Call, Client, Connection};
use crate::transport::{Limits, error_in};

/// Each phase has little time, each read and write plenty.
const LITTLE: Duration = Duration::from_millis(60);
const PLENTY: Limits = Limits::document(Duration::from_secs(20));
/// By then one of the limits that each read has would have ended it.
const SOON: Duration = Duration::from_secs(10);

/// A byte now and then, until the client has closed.
fn drip(peer: &mut Peer, byte: u8) {
    let (_keep, pace) = mpsc::channel::<()>();
    while peer.stream.get_mut().write_all(&[byte]).is_ok() {
        let _ = pace.recv_timeout(Duration::from_millis(5));
    }
}

fn get(client: &Client, limits: Limits) -> Result<serde_json::Value, Error> {
    client.fetch(&Call { limits, ..Call::get("get x", "/x") }, &Stop::new())
}

/// A client of a peer that sends `head` once it has read `asked` bytes of a handshake, and then drips.
fn dripping(proxy: &str, head: &'static [u8], asked: usize, byte: u8) -> (Client, Server) {
    let server = Server::start(move |listener| {
        let mut peer = Peer::accept(listener);
        peer.stream.read_exact(&mut vec![0; asked]).unwrap();
        peer.send(head);
        drip(&mut peer, byte);
    });
    let address = server.url.strip_prefix("http://").unwrap();
    let proxy = Some(ureq::Proxy::new(&format!("{proxy}://{address}")).unwrap());
    (Client::connect(Connection { proxy, ..Connection::new("http://192.0.2.1:8001").unwrap() }), server)
}

#[test]
fn f_100_connecting_has_one_limit_however_a_proxy_drips() {
    for (proxy, head, asked, byte) in [
        ("http", &b"HTTP/1.1 200 OK\r\nX: "[..], 8, b'x'),
        // The proxy names an address of 255 bytes, and takes its time.
        ("socks5h", &[5, 0, 5, 0, 0, 3, 255][..], 3, b'x'),
    ] {
        let (client, server) = dripping(proxy, head, asked, byte);
        let began = SystemClock.now();
        let error = get(&client, Limits { connect: LITTLE, ..PLENTY }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Network, "{proxy}: {error}");
        assert!(error.to_string().contains("connect to"), "{proxy}: {error}");
        assert!(SystemClock.now() - began < SOON, "{proxy}");
        drop(client);
        server.join();
    }
}

#[test]
fn f_95_a_refusal_keeps_its_status_though_its_text_never_ends() {
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        peer.request();
        peer.send("HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\n\r\nnot for yo");
        drip(&mut peer, b'u');
    });
    let client = Client::from_url(&server.url).unwrap();
    let began = SystemClock.now();
    let error = get(&client, Limits { rest: LITTLE, ..PLENTY }).unwrap_err();
    assert!(error.is_forbidden(), "{error}");
    assert!(error.to_string().contains("not for you"), "what has come is told: {error}");
    assert!(SystemClock.now() - began < SOON);
    drop(client);
    server.join();
}

#[test]
fn f_97_a_document_that_drips_for_ever_is_given_up() {
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{");
        drip(&mut peer, b' ');
    });
    let client = Client::from_url(&server.url).unwrap();
    let began = SystemClock.now();
    let error = get(&client, Limits { whole: Some(LITTLE), ..PLENTY }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Silent);
    assert!(error.to_string().contains("no whole answer within"), "{error}");
    assert!(SystemClock.now() - began < SOON);
    drop(client);
    server.join();
}

#[test]
fn d_18_what_follows_a_document_is_not_waited_for() {
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}");
        drip(&mut peer, b'\n');
    });
    let client = Client::from_url(&server.url).unwrap();
    let call = Call { limits: Limits { rest: LITTLE, ..PLENTY }, ..Call::get("get x", "/x") };
    let mut body = client.send(client.requests(), &call, &Stop::new()).unwrap();
    body.read_exact(&mut [0; 2]).unwrap();
    let began = SystemClock.now();
    body.finish();
    assert!(SystemClock.now() - began < SOON);
    drop(client);
    server.join();
}

#[test]
fn d_7_a_stream_may_drip_for_as_long_as_it_likes() {
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n");
        drip(&mut peer, b'\n');
    });
    let client = Client::from_url(&server.url).unwrap();
    let limits = Limits { rest: LITTLE, connect: LITTLE, ..Limits::stream(Duration::from_secs(20)) };
    let call = Call { limits, ..Call::get("watch x", "/x") };
    let mut body = client.send(client.requests(), &call, &Stop::new()).unwrap();
    let began = SystemClock.now();
    while SystemClock.now() - began < 3 * LITTLE {
        let read = body.read(&mut [0]);
        assert!(read.is_ok(), "{:?}", read.as_ref().map_err(error_in));
    }
    drop((body, client));
    server.join();
}
