//! SOCKS proxies: what they are asked, and what is made of what they say.

use std::io::Read as _;

use informer_core::{ErrorKind, Stop};

use super::get;
use super::server::{Peer, Server};
use crate::client::{Client, Connection};

/// A client of `target` through `server`, a SOCKS proxy with `user:password@` perhaps.
fn through(server: &Server, user: &str, target: &str) -> Client {
    let proxy = server.url.replace("http://", &format!("socks5h://{user}"));
    let proxy = Some(ureq::Proxy::new(&proxy).unwrap());
    Client::connect(Connection { proxy, ..Connection::new(target).unwrap() })
}

fn expect(peer: &mut Peer, bytes: &[u8]) {
    let mut found = vec![0; bytes.len()];
    peer.stream.read_exact(&mut found).unwrap();
    assert_eq!(found, bytes);
}

/// A proxy that is asked what it should be, and then is the server.
#[test]
fn a_socks_proxy_resolves_the_name_and_is_told_who_asks() {
    let bound: [&[u8]; 3] = [
        &[1, 127, 0, 0, 1, 0, 80],
        &[3, 2, b'h', b'i', 0, 80],
        &[4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 80],
    ];
    let cases: [(&str, &str, &[u8]); 3] = [
        (
            "",
            "http://api.example.com:8001",
            &[
                5, 1, 0, 3, 15, b'a', b'p', b'i', b'.', b'e', b'x', b'a', b'm', b'p', b'l', b'e', b'.', b'c',
                b'o', b'm', 0x1f, 0x41,
            ],
        ),
        ("us:pa@", "http://192.0.2.1", &[5, 1, 0, 1, 192, 0, 2, 1, 0, 80]),
        (
            "us:pa@",
            "http://[2001:db8::1]:8001",
            &[5, 1, 0, 4, 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x1f, 0x41],
        ),
    ];
    for ((user, target, asked), bound) in cases.into_iter().zip(bound) {
        let server = Server::start(move |listener| {
            let mut peer = Peer::accept(listener);
            if user.is_empty() {
                expect(&mut peer, &[5, 1, 0]);
                peer.send([5, 0]);
            } else {
                expect(&mut peer, &[5, 2, 2, 0]);
                peer.send([5, 2]);
                expect(&mut peer, &[1, 2, b'u', b's', 2, b'p', b'a']);
                peer.send([1, 0]);
            }
            expect(&mut peer, asked);
            peer.send([5, 0, 0]);
            peer.send(bound);
            assert_eq!(peer.request().line(), "GET /x");
            peer.answer("200 OK", "", "{}");
            // The connection is one of the pool, as every other.
            assert_eq!(peer.request().line(), "GET /x");
            peer.answer("200 OK", "", "{}");
            peer.until_closed();
        });
        let client = through(&server, user, target);
        for _ in 0..2 {
            get(&client, &Stop::new()).unwrap();
        }
        drop(client);
        server.join();
    }
}

#[test]
fn what_a_socks_proxy_refuses_is_told_without_what_it_was_told() {
    let cases: [(&[u8], &str); 9] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak SOCKS 5"),
        (&[4, 0], "does not speak SOCKS 5"),
        (&[5, 0xff], "takes no user name"),
        (&[5, 2, 1, 1], "does not take the user name"),
        (&[5, 2, 1, 0, 5, 2, 0, 1], "rules"),
        (&[5, 0, 5, 4, 0, 1], "cannot reach the server"),
        (&[5, 0, 5, 5, 0, 1], "the server refused"),
        (&[5, 0, 5, 0, 0, 9], "does not speak SOCKS 5"),
        (&[5, 0], "closed"),
    ];
    for (answer, want) in cases {
        let server = Server::start(move |listener| {
            let mut peer = Peer::accept(listener);
            expect(&mut peer, &[5, 2, 2, 0]);
            peer.send(answer);
            peer.stream.get_mut().shutdown(std::net::Shutdown::Write).unwrap();
            let _ = peer.stream.read_to_end(&mut Vec::new());
        });
        let client = through(&server, "somebody:secret@", "http://192.0.2.1:8001");
        let error = get(&client, &Stop::new()).unwrap_err();
        let text = error.chain().to_string();
        assert_eq!(error.kind(), ErrorKind::Proxy, "{text}");
        assert!(text.contains(want) && text.contains("127.0.0.1"), "{text}");
        assert!(!format!("{text} {error:?} {client:?}").contains("secret"), "{text}");
        drop(client);
        server.join();
    }
}
