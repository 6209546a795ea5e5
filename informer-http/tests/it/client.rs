//! What goes over the wire, what comes back, and what is made of it.

use std::time::Duration;

use informer_core::{ErrorKind, ListRequest, ListWatch, Stage, Stop, WatchEnd};
use informer_http::{Api, Client, HttpListWatch};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::params::PostParams;

use crate::server::{Peer, Server};
use crate::sink::{ADDED, Kept, LIST, list, source, watch};

const SHORT: Duration = Duration::from_millis(60);
const LONG: Duration = Duration::from_secs(3600);
const MAP: &str = r#"{"metadata":{"name":"a","namespace":"ns"}}"#;

fn api(url: &str) -> Api<ConfigMap> {
    Api::namespaced(&Client::from_url(url).unwrap(), "ns")
}

/// Closes with a reset instead of an end.
fn reset(peer: Peer) {
    rustix::net::sockopt::set_socket_linger(peer.stream.get_ref(), Some(Duration::ZERO)).unwrap();
    drop(peer);
}

#[test]
fn list_watch_list_use_one_connection() {
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        let request = peer.request();
        assert_eq!(request.line(), "GET /prefix/api/v1/namespaces/ns/configmaps");
        assert_eq!(request.header("accept"), Some("application/json"));
        assert_eq!(request.header("accept-encoding"), Some("gzip"));
        assert!(request.header("user-agent").unwrap().starts_with("informer/"));
        assert_eq!(request.header("authorization"), None);
        peer.answer("200 OK", "", LIST);
        let request = peer.request();
        assert_eq!(
            request.line(),
            "GET /prefix/api/v1/namespaces/ns/configmaps?watch=true&resourceVersion=5\
             &allowWatchBookmarks=true&timeoutSeconds=300"
        );
        assert_eq!(request.header("accept-encoding"), Some("identity"), "F-98");
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
        peer.send(format!("{head}{:x}\r\n{ADDED}\r\n0\r\n\r\n", ADDED.len()));
        peer.request();
        peer.answer("200 OK", "", LIST);
        peer.until_closed();
    });
    let source = source(&format!("{}/prefix/", server.url));
    let stop = Stop::new();
    let (end, names) = list(&source, &stop);
    assert_eq!((end.unwrap().resource_version.as_str(), names), ("7", vec!["a".to_owned()]));
    let mut kept = Kept::default();
    assert_eq!(watch(&source, LONG, &mut kept, &stop).unwrap(), WatchEnd::Closed);
    assert_eq!(kept.names, ["a"]);
    list(&source, &stop).0.unwrap();
    drop(source);
    server.join();
}

#[test]
fn f_94_a_get_goes_out_again_when_the_pooled_connection_was_closed() {
    let server = Server::start(|listener| {
        let mut first = Peer::accept(listener);
        first.request();
        first.answer("200 OK", "", MAP);
        first.request();
        drop(first); // exactly when the second request has come
        let mut second = Peer::accept(listener);
        second.request();
        second.answer("200 OK", "", MAP);
    });
    let api = api(&server.url);
    api.get("a").unwrap();
    api.get("a").unwrap();
    server.join();
}

#[test]
fn f_94_a_get_on_a_new_connection_goes_out_once() {
    let server = Server::start(|listener| {
        Peer::accept(listener).request();
        let mut second = Peer::accept(listener);
        assert!(second.request().line().ends_with("/b"), "the first request was repeated");
        second.answer("200 OK", "", MAP);
    });
    let api = api(&server.url);
    let error = api.get("a").unwrap_err();
    assert_eq!((error.kind(), error.stage()), (ErrorKind::Network, Some(Stage::Request)));
    assert!(error.to_string().starts_with("get configmaps \"a\": "), "{error}");
    api.get("b").unwrap();
    server.join();
}

#[test]
fn w_14_a_write_is_never_repeated() {
    let server = Server::start(|listener| {
        let mut first = Peer::accept(listener);
        first.request();
        first.answer("200 OK", "", MAP);
        assert!(first.request().line().starts_with("POST "));
        drop(first);
        let mut second = Peer::accept(listener);
        assert!(second.request().line().starts_with("GET "), "the write was repeated");
        second.answer("200 OK", "", MAP);
    });
    let api = api(&server.url);
    let object = api.get("a").unwrap();
    let error = api.create(&PostParams::default(), &object).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Network);
    api.get("a").unwrap();
    server.join();
}

#[test]
fn f_97_a_list_cut_short_is_an_error_in_every_form() {
    let half = &LIST[..LIST.len() / 2];
    let chunked = format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{half}", LIST.len());
    let boundary = format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{half}\r\n", half.len());
    let length = format!("Content-Length: {}\r\n\r\n{half}", LIST.len());
    let close = format!("\r\n{half}");
    for form in [chunked, boundary, length, close] {
        for closing in [drop::<Peer>, reset] {
            let script = form.clone();
            let server = Server::start(move |listener| {
                let mut peer = Peer::accept(listener);
                peer.request();
                peer.send(format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{script}"));
                closing(peer);
            });
            let (end, names) = list(&source(&server.url), &Stop::new());
            let error = end.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Network | ErrorKind::Decode), "{form:?}: {error:?}");
            assert_eq!(error.stage(), Some(Stage::List));
            assert_eq!(names, [""; 0]);
            server.join();
        }
    }
}

#[test]
fn f_97_a_complete_list_without_length_is_a_list() {
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        peer.request();
        peer.send(format!("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{LIST}"));
    });
    let (end, names) = list(&source(&server.url), &Stop::new());
    assert_eq!((end.unwrap().resource_version.as_str(), names.len()), ("7", 1));
    server.join();
}

#[test]
fn w_2_a_watch_cut_short_has_merely_ended() {
    for closing in [drop::<Peer>, reset] {
        let server = Server::start(move |listener| {
            let mut peer = Peer::accept(listener);
            peer.request();
            peer.send(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n{ADDED}{{\"type"));
            closing(peer);
        });
        let mut kept = Kept::default();
        let end = watch(&source(&server.url), LONG, &mut kept, &Stop::new());
        assert_eq!(end.unwrap(), WatchEnd::Closed);
        assert!(kept.names.len() <= 1);
        server.join();
    }
}

#[test]
fn f_01_a_silent_watch_is_given_up_and_the_next_one_has_a_fresh_connection() {
    let server = Server::start(|listener| {
        let mut first = Peer::accept(listener);
        first.request();
        first.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        let mut second = Peer::accept(listener);
        second.request(); // F-06: even the head is held back
        let mut third = Peer::accept(listener);
        third.request();
        third.answer("200 OK", "", ADDED);
        first.until_closed();
        second.until_closed();
    });
    let source = source(&server.url);
    let stop = Stop::new();
    let mut kept = Kept::default();
    assert_eq!(watch(&source, SHORT, &mut kept, &stop).unwrap(), WatchEnd::Silent);
    assert_eq!(watch(&source, SHORT, &mut kept, &stop).unwrap(), WatchEnd::Silent);
    assert_eq!(watch(&source, LONG, &mut kept, &stop).unwrap(), WatchEnd::Closed);
    assert_eq!(kept.names, ["a"]);
    server.join();
}

#[test]
fn f_95_f_66_an_error_answer_keeps_its_status_and_what_it_asks() {
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        peer.request();
        let body = r#"{"kind":"Status","message":"too many","reason":"TooManyRequests","code":429}"#;
        peer.answer("429 Too Many Requests", "Retry-After: 3\r\n", body);
        peer.request(); // the error body has been read, so the connection is good
        let gone = r#"{"kind":"Status","message":"too old","reason":"Expired","code":410}"#;
        peer.answer("410 Gone", "", gone);
        peer.request();
        peer.send("HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 19\r\n\r\n404 page not found\n");
    });
    let source = source(&server.url);
    let stop = Stop::new();
    let error = list(&source, &stop).0.unwrap_err();
    assert!(error.is_too_many_requests());
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
    assert_eq!(error.to_string(), "list configmaps: too many");
    let error = watch(&source, LONG, &mut Kept::default(), &stop).unwrap_err();
    assert!(error.is_gone());
    assert_eq!((error.stage(), error.retry_after()), (Some(Stage::WatchOpen), None));
    let error = list(&source, &stop).0.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), "list configmaps: status 404 Not Found: 404 page not found");
    server.join();
}

#[test]
fn f_102_redirects_and_login_pages_are_errors() {
    let server = Server::start(|listener| {
        for head in [
            "307 Temporary Redirect\r\nLocation: http://127.0.0.1:9/x?token=secret\r\nContent-Length: 0",
            "302 Found\r\nLocation: https://sso.example.com/\r\nContent-Length: 0",
            "200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 6",
        ] {
            let mut peer = Peer::accept(listener);
            peer.request();
            peer.send(format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n"));
            if head.starts_with("200") {
                peer.send("<html>");
            }
        }
    });
    let source = source(&server.url);
    let stop = Stop::new();
    let error = list(&source, &stop).0.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Redirect);
    assert!(error.to_string().contains("http://127.0.0.1:9"), "{error}");
    assert!(!error.to_string().contains("secret"));
    let error = watch(&source, LONG, &mut Kept::default(), &stop).unwrap_err();
    assert_eq!((error.kind(), error.stage()), (ErrorKind::Redirect, Some(Stage::WatchOpen)));
    let error = list(&source, &stop).0.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert!(error.to_string().contains("text/html"), "{error}");
    server.join();
}

#[test]
fn f_98_a_gzip_answer_is_decoded_whoever_asked_for_it() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n";
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        peer.request();
        peer.send(format!("{HEAD}Content-Length: {}\r\n\r\n", GZIP_LIST.len()));
        peer.send(GZIP_LIST);
        for cut in [60, 5] {
            // Within the data, and within the head of the compressed data: no clean end.
            if cut == 5 {
                peer = Peer::accept(listener);
            }
            peer.request();
            peer.send(format!("{HEAD}Connection: close\r\n\r\n"));
            peer.send(&GZIP_LIST[..cut]);
            peer.stream.get_ref().shutdown(std::net::Shutdown::Both).unwrap();
        }
    });
    let source = source(&server.url);
    let (end, names) = list(&source, &Stop::new());
    assert_eq!((end.unwrap().resource_version.as_str(), names.len()), ("7", 1));
    for _ in 0..2 {
        list(&source, &Stop::new()).0.unwrap_err();
    }
    server.join();
}

#[test]
fn refused_connections_say_so() {
    // Bound and closed: nobody listens there now.
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (end, _) = list(&source(&format!("http://{address}")), &Stop::new());
    let error = end.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(
        error.to_string(),
        format!(
            "list configmaps: connect to http://{address}: connection refused; is the API server running and the \
             address right?"
        )
    );
}

#[test]
fn r_57_selectors_and_further_parameters_go_with_every_request() {
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        assert_eq!(
            peer.request().line(),
            "GET /api/v1/configmaps?resourceVersion=0&limit=2&labelSelector=a%3Db&fieldSelector=c%3Dd&x=y"
        );
        peer.answer("200 OK", "", LIST);
    });
    let client = Client::from_url(&server.url).unwrap();
    let source = HttpListWatch::<ConfigMap>::new(&client)
        .label_selector("a=b")
        .field_selector("c=d")
        .query("x", "y")
        .streaming(false);
    assert!(!source.can_stream());
    assert_eq!(source.name(), "configmaps");
    let request = ListRequest { resource_version: "0".to_owned(), limit: Some(2), continue_token: None };
    source.list(&request, &Stop::new(), &mut Kept::default()).unwrap();
    server.join();
}

#[test]
fn dy_6_a_metadata_informer_asks_for_metadata_and_takes_whole_objects() {
    let server = Server::start(|listener| {
        let mut peer = Peer::accept(listener);
        assert_eq!(
            peer.request().header("accept"),
            Some("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json")
        );
        peer.answer("406 Not Acceptable", "", "{}");
    });
    let client = Client::from_url(&server.url).unwrap();
    let source = HttpListWatch::<kube_core::PartialObjectMeta<ConfigMap>>::new(&client);
    let mut sink = Nothing;
    let error = source.list(&ListRequest::default(), &Stop::new(), &mut sink).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotAcceptable);
    server.join();
}

struct Nothing;

impl<T> informer_core::ListSink<T> for Nothing {
    fn have(&self, _: informer_core::KeyRef<'_>, _: &str, _: &str) -> Option<std::sync::Arc<T>> {
        None
    }

    fn may_have(&self) -> bool {
        false
    }

    fn item(&mut self, _: T) {}

    fn unchanged(&mut self, _: std::sync::Arc<T>) {}

    fn bad_item(&mut self, _: informer_core::BadObject) {}
}

#[test]
fn addresses_that_are_none_are_refused_without_repeating_them() {
    for url in ["http://user:hunter2@host", "ftp://host", "http://host?token=hunter2", "http://"] {
        let error = Client::from_url(url).unwrap_err();
        assert_eq!((error.kind(), error.stage()), (ErrorKind::Config, Some(Stage::Config)), "{url}");
        assert!(!format!("{error:?} {}", error.chain()).contains("hunter2"), "{error:?}");
    }
    assert_eq!(Client::from_url("host:8001").unwrap().server(), "http://host:8001");
    assert_eq!(Client::from_url("http://[::1]").unwrap().server(), "http://[::1]:80");
}

const GZIP_LIST: &[u8] = &[
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x55, 0x8c, 0xb1, 0x0a, 0x84, 0x30, 0x10,
    0x44, 0xff, 0x65, 0x6a, 0x1b, 0xab, 0x83, 0xb4, 0xb6, 0xda, 0x5e, 0x73, 0x5c, 0xb1, 0xe8, 0x2a, 0x8b,
    0x64, 0x13, 0xb2, 0xd1, 0x26, 0xe4, 0xdf, 0x8d, 0x95, 0xd8, 0xcd, 0xcc, 0x7b, 0x4c, 0xc1, 0x2e, 0xba,
    0xc0, 0x61, 0x08, 0xba, 0xca, 0x36, 0x51, 0x1c, 0xc5, 0x32, 0x3a, 0x50, 0x94, 0x2f, 0x27, 0x93, 0xa0,
    0x0d, 0x9e, 0x7d, 0x5b, 0x3c, 0x67, 0x5a, 0x28, 0x13, 0x5c, 0x41, 0x62, 0x0b, 0x47, 0x9a, 0xf9, 0x51,
    0x3e, 0xa8, 0x1d, 0x24, 0xb3, 0x37, 0xb8, 0x5f, 0x79, 0xc9, 0x4a, 0x9e, 0x9b, 0x41, 0xed, 0xe3, 0x8e,
    0x16, 0x69, 0xbe, 0xbb, 0x1a, 0x6a, 0xfd, 0xd7, 0x0b, 0x85, 0xdd, 0x45, 0x2d, 0x82, 0x00, 0x00, 0x00,
];
