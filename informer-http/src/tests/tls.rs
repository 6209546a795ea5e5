//! TLS to the API server.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use informer_core::sync::{Mutex, spawn};
use informer_core::{ErrorKind, Result, Stop};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};

use super::{get, stopped};
use crate::client::{Client, Connection};
use crate::transport::TlsSource;

/// A certificate for `name`, as a server has it and as a client trusts it.
fn certificate(name: &str) -> (Arc<ServerConfig>, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![certificate.clone()], key).unwrap();
    (Arc::new(config), certificate)
}

fn trusting(certificate: &CertificateDer<'static>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(config.with_root_certificates(roots).with_no_client_auth())
}

fn client(listener: &TcpListener, tls: Arc<dyn TlsSource>, name: Option<&'static str>) -> Client {
    let url = format!("https://{}", listener.local_addr().unwrap());
    let name = name.map(|name| ServerName::try_from(name).unwrap());
    Client::connect(Connection { tls: Some((tls, name)), ..Connection::new(&url).unwrap() })
}

/// Answers one request after another on one connection until the client closes it.
fn serve(stream: TcpStream, config: Arc<ServerConfig>) -> usize {
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    let mut served = 0;
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            match stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return served,
            }
        }
        served += 1;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").unwrap();
    }
}

#[test]
fn a_set_server_name_is_checked_instead_of_the_host() {
    let (server, certificate) = certificate("kubernetes.default");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let good = client(&listener, Arc::new(trusting(&certificate)), Some("kubernetes.default"));
    let bad = client(&listener, Arc::new(trusting(&certificate)), None);
    let thread = spawn("tls-server", move || {
        assert_eq!(serve(listener.accept().unwrap().0, Arc::clone(&server)), 2);
        serve(listener.accept().unwrap().0, server);
    })
    .unwrap();
    get(&good, &Stop::new()).unwrap();
    get(&good, &Stop::new()).unwrap();
    drop(good);
    let error = get(&bad, &Stop::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tls);
    assert!(error.to_string().contains("is for another name; set tls-server-name"), "{error}");
    thread.join().unwrap();
}

#[test]
fn an_unknown_issuer_is_explained() {
    let (server, _) = certificate("127.0.0.1");
    let (_, other) = certificate("127.0.0.1");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = client(&listener, Arc::new(trusting(&other)), None);
    let thread = spawn("tls-server", move || {
        serve(listener.accept().unwrap().0, server);
    })
    .unwrap();
    let error = get(&client, &Stop::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tls);
    assert!(
        error.to_string().contains("not signed by a CA that is trusted here (unknown issuer)"),
        "{error}"
    );
    assert!(error.to_string().starts_with("get x: connect to https://127.0.0.1:"), "{error}");
    thread.join().unwrap();
}

#[test]
fn f_56_a_stop_ends_a_handshake_with_a_silent_peer() {
    let (_, certificate) = certificate("127.0.0.1");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = client(&listener, Arc::new(trusting(&certificate)), None);
    let stop = Stop::new();
    let theirs = stop.clone();
    let thread = spawn("silent-peer", move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut hello = [0; 5];
        stream.read_exact(&mut hello).unwrap();
        theirs.set();
        let _ = stream.read_to_end(&mut Vec::new());
    })
    .unwrap();
    stopped(&client, &stop);
    thread.join().unwrap();
}

#[test]
fn a_server_without_tls_is_recognized() {
    let (_, certificate) = certificate("127.0.0.1");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = client(&listener, Arc::new(trusting(&certificate)), None);
    let thread = spawn("plain-server", move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 5]).unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    })
    .unwrap();
    let error = get(&client, &Stop::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tls);
    assert!(error.to_string().contains("does not speak TLS"), "{error}");
    thread.join().unwrap();
}

#[derive(Debug)]
struct Rotating(Mutex<Arc<ClientConfig>>);

impl TlsSource for Rotating {
    fn current(&self) -> Result<Arc<ClientConfig>> {
        Ok(Arc::clone(&self.0.lock()))
    }
}

#[test]
fn d_13_a_rotated_configuration_opens_a_fresh_connection() {
    let (server, certificate) = certificate("127.0.0.1");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = Arc::new(Rotating(Mutex::new(trusting(&certificate))));
    let tls: Arc<dyn TlsSource> = Arc::clone(&source) as _;
    let client = client(&listener, tls, None);
    let thread = spawn("tls-server", move || {
        for served in [2, 1] {
            assert_eq!(serve(listener.accept().unwrap().0, Arc::clone(&server)), served);
        }
    })
    .unwrap();
    get(&client, &Stop::new()).unwrap();
    get(&client, &Stop::new()).unwrap();
    *source.0.lock() = trusting(&certificate);
    get(&client, &Stop::new()).unwrap();
    drop(client);
    thread.join().unwrap();
}

/// A peer may not end a body that has no length by cutting the connection.
#[test]
fn f_97_a_close_without_close_notify_is_no_end() {
    let (server, certificate) = certificate("127.0.0.1");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = client(&listener, Arc::new(trusting(&certificate)), None);
    let thread = spawn("tls-server", move || {
        let (stream, _) = listener.accept().unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(server).unwrap(), stream);
        let mut head = [0; 8192];
        assert_ne!(stream.read(&mut head).unwrap(), 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n{}").unwrap();
    })
    .unwrap();
    let error = get(&client, &Stop::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Network);
    thread.join().unwrap();
}
