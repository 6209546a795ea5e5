//! The embedded API server over TLS; only with the feature.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use informer_testkit::{ApiServer, Calls, Fault, Phase, within};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;

type Stream = StreamOwned<ClientConnection, TcpStream>;

/// A connection that trusts whom the kubeconfig of `trusted` names.
fn connect(server: &ApiServer, trusted: &ApiServer) -> Stream {
    let kubeconfig = trusted.kubeconfig();
    let data = kubeconfig.split("certificate-authority-data: ").nth(1).unwrap().split(' ').next().unwrap();
    let pem = STANDARD.decode(data).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&pem).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    // As Go's clients do.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let session = ClientConnection::new(Arc::new(config), "127.0.0.1".try_into().unwrap()).unwrap();
    let addr = server.url().strip_prefix("https://").unwrap();
    StreamOwned::new(session, TcpStream::connect(addr).unwrap())
}

fn send(stream: &mut Stream, target: &str, fields: &str) {
    let request = format!("GET {target} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer s3cret\r\n{fields}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
}

/// Reads until `text` has come.
fn until(mut stream: Stream, text: &'static str) -> (Stream, String) {
    within(text, move || {
        let mut got = Vec::new();
        while !String::from_utf8_lossy(&got).contains(text) {
            let mut some = [0; 1024];
            let count = stream.read(&mut some).unwrap();
            assert_ne!(count, 0, "the end came first: {}", String::from_utf8_lossy(&got));
            got.extend_from_slice(&some[..count]);
        }
        (stream, String::from_utf8(got).unwrap())
    })
}

fn start() -> ApiServer {
    ApiServer::builder().tls(true).token("s3cret", "jane").start().unwrap()
}

#[test]
fn requests_and_watches_go_through_tls() {
    let server = start();
    let mut stream = connect(&server, &server);
    send(&mut stream, "/healthz", "");
    let (mut stream, _) = until(stream, "\r\n\r\nok");
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    send(&mut stream, "/api/v1/configmaps?watch=1", "");
    let (stream, _) = until(stream, "chunked\r\n\r\n");
    server.create("configmaps", json!({ "metadata": { "name": "a" } })).unwrap();
    let (stream, _) = until(stream, "\"ADDED\"");
    within("the stop", move || server.stop());
    until(stream, "0\r\n\r\n");
}

#[test]
fn a_handshake_does_not_start_until_it_may() {
    let server = start();
    let silent = server.fault(Fault::stall().at(Phase::Connect).times(1));
    let mut stream = connect(&server, &server);
    // The client speaks first; what it has said waits in the socket.
    stream.conn.write_tls(&mut stream.sock).unwrap();
    silent.wait_for_hits(1);
    stream.sock.set_nonblocking(true).unwrap();
    let said = stream.sock.read(&mut [0; 1]);
    assert_eq!(said.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    stream.sock.set_nonblocking(false).unwrap();
    silent.remove();
    send(&mut stream, "/healthz", "");
    until(stream, "\r\n\r\nok");
}

#[test]
fn a_cut_over_tls_is_not_said_to_be_the_end() {
    let server = start();
    server.fault(Fault::cut().on(Calls::path("/version")).after_bytes(5));
    let mut stream = connect(&server, &server);
    send(&mut stream, "/version", "Connection: close\r\n");
    let error = within("the cut", move || stream.read_to_end(&mut Vec::new()).unwrap_err());
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
}

#[test]
fn the_end_is_said_so_that_nobody_takes_it_for_a_cut() {
    let server = start();
    let mut stream = connect(&server, &server);
    send(&mut stream, "/version", "Connection: close\r\n");
    within("the end", move || {
        let mut text = String::new();
        // Without a close_notify this is an error.
        stream.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    });
}

#[test]
fn each_server_has_an_authority_of_its_own() {
    let (server, other) = (start(), start());
    let mut stream = connect(&server, &other);
    assert!(stream.write_all(b"GET / HTTP/1.1\r\n\r\n").and_then(|()| stream.read(&mut [0])).is_err());
    // Nor does it mind who speaks no TLS.
    let addr = server.url().strip_prefix("https://").unwrap();
    let mut plain = TcpStream::connect(addr).unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    within("the end", move || {
        let mut bytes = Vec::new();
        let _ = plain.read_to_end(&mut bytes); // an alert, or a reset
    });
    let mut stream = connect(&server, &server);
    send(&mut stream, "/healthz", "");
    until(stream, "\r\n\r\nok");
}

#[test]
fn a_restart_keeps_the_authority_and_the_port() {
    let mut server = start();
    let (url, kubeconfig) = (server.url().to_owned(), server.kubeconfig());
    server.create("configmaps", json!({ "metadata": { "name": "a" } })).unwrap();
    server.restart().unwrap();
    assert_eq!((server.url(), server.kubeconfig()), (&*url, kubeconfig));
    let mut stream = connect(&server, &server);
    send(&mut stream, "/api/v1/namespaces/default/configmaps/a", "");
    until(stream, "\"uid\"");
    server.restart_empty().unwrap();
    let mut stream = connect(&server, &server);
    send(&mut stream, "/api/v1/namespaces/default/configmaps/a", "");
    until(stream, "\"NotFound\"");
}
