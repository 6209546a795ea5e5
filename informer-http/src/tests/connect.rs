//! Everything before the request is on the wire: look-up, connect, handshake.

use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, mpsc};

use informer_core::sync::Mutex;
use informer_core::{ErrorKind, Stop};

use super::server::{Peer, Server};
use super::{get, stopped};
use crate::client::{Call, Client, Connection};
use crate::transport::{Lookup, error_in};

fn client(url: &str, lookup: Lookup) -> Client {
    Client::connect(Connection { lookup, ..Connection::new(url).unwrap() })
}

#[test]
fn f_56_a_stop_ends_a_look_up() {
    let stop = Stop::new();
    let theirs = stop.clone();
    let (end, ended) = mpsc::channel::<()>();
    let ended = Mutex::new(ended);
    let lookup: Lookup = Arc::new(move |host, port| {
        assert_eq!((host, port), ("api.example.com", 8001));
        theirs.set(); // the caller waits for this thread
        let _ = ended.lock().recv();
        Ok(Vec::new())
    });
    stopped(&client("http://api.example.com:8001", lookup), &stop);
    drop(end);
}

#[test]
fn names_without_addresses_and_failed_look_ups_are_dns_errors() {
    let none: Lookup = Arc::new(|_, _| Ok(Vec::new()));
    let failed: Lookup = Arc::new(|_, _| Err(std::io::Error::other("no such name")));
    for lookup in [none, failed] {
        let error = get(&client("http://api.example.com", lookup), &Stop::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Dns);
        assert!(error.to_string().contains("api.example.com"), "{error}");
    }
}

#[test]
fn f_100_the_next_address_is_tried() {
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        assert_eq!(peer.request().line(), "GET /x");
        peer.answer("200 OK", "", "{}");
    });
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let live: SocketAddr = server.url.trim_start_matches("http://").parse().unwrap();
    let lookup: Lookup = Arc::new(move |_, _| Ok(vec![dead, live]));
    get(&client("http://api.example.com", lookup), &Stop::new()).unwrap();
    server.join();
}

#[test]
fn a_connection_of_the_pool_goes_over_to_the_stop_of_its_user() {
    let second = Stop::new();
    let theirs = second.clone();
    let server = Server::start(move |listener| {
        let mut peer = Peer::accept(listener);
        peer.request();
        peer.answer("200 OK", "", "{}");
        peer.request();
        theirs.set();
        peer.until_closed();
    });
    let client = Client::from_url(&server.url).unwrap();
    let first = Stop::new();
    get(&client, &first).unwrap();
    stopped(&client, &second);
    server.join();
}

#[test]
fn an_idle_connection_that_a_stop_closed_is_not_used_again() {
    let server = Server::start(move |listener| {
        for _ in 0..2 {
            let mut peer = Peer::accept(listener);
            peer.request();
            peer.answer("200 OK", "", "{}");
            peer.until_closed();
        }
    });
    let client = Client::from_url(&server.url).unwrap();
    let first = Stop::new();
    get(&client, &first).unwrap();
    first.set();
    get(&client, &Stop::new()).unwrap();
    drop(client);
    server.join();
}

#[test]
fn f_97_the_error_of_a_body_stays() {
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        peer.request();
        peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf");
    });
    let client = Client::from_url(&server.url).unwrap();
    let call = Call::get("get x", "/x");
    let mut body = client.send(client.requests(), &call, &Stop::new()).unwrap();
    server.join();
    let mut bytes = Vec::new();
    for _ in 0..3 {
        let error = body.read_to_end(&mut bytes).unwrap_err();
        assert_eq!(error_in(&error).unwrap().kind(), ErrorKind::Network);
    }
    assert_eq!(bytes, b"half");
}

#[test]
fn d_12_no_read_says_that_the_body_ended_while_the_stop_is_set() {
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        peer.request();
        peer.answer("200 OK", "", "");
    });
    let client = Client::from_url(&server.url).unwrap();
    let stop = Stop::new();
    let mut body = client.send(client.requests(), &Call::get("get x", "/x"), &stop).unwrap();
    stop.set();
    let error = body.read(&mut [0]).unwrap_err();
    assert!(error_in(&error).unwrap().is_stopped());
    server.join();
}

fn through(proxy: &str) -> Client {
    let proxy = Some(ureq::Proxy::new(proxy).unwrap());
    Client::connect(Connection { proxy, ..Connection::new("http://192.0.2.1:8001").unwrap() })
}

#[test]
fn requests_go_through_a_connect_proxy_and_its_refusal_is_told() {
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        assert_eq!(peer.request().line(), "CONNECT 192.0.2.1:8001");
        peer.send("HTTP/1.1 200 OK\r\n\r\n");
        assert_eq!(peer.request().line(), "GET /x");
        peer.answer("200 OK", "Connection: close\r\n", "{}");
        let mut peer = Peer::accept(listener);
        peer.request();
        peer.send("HTTP/1.1 403 Forbidden\r\n\r\n");
    });
    let client = through(&server.url);
    get(&client, &Stop::new()).unwrap();
    let error = get(&client, &Stop::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Proxy);
    server.join();
}

#[test]
fn a_stop_ends_the_wait_for_a_socks_proxy() {
    let stop = Stop::new();
    let theirs = stop.clone();
    let server = Server::start(move |listener| {
        let mut peer = Peer::accept(listener);
        peer.stream.read_exact(&mut [0; 3]).unwrap();
        theirs.set();
        peer.until_closed();
    });
    stopped(&through(&server.url.replace("http", "socks5")), &stop);
    server.join();
}
