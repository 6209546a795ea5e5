//! [`Peer`]: one HTTP/1.1 exchange with an API server, as bytes: no pooling, no retry, no opinion.
//!
//! The clients of this project hide what a server says; whoever compares two servers, or writes down what one said,
//! has to see it.

mod framing;
mod tape;

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use framing::read_head;
pub use tape::{Exchange, Tape};

/// Who asks, as servers write it into `managedFields`.
pub const AGENT: &str = "cells";

/// How long a server may say nothing. A net for a hang: a bookmark comes each minute.
const SILENCE: Duration = Duration::from_secs(150);

/// An API server to talk to. Clones talk to the same one.
#[derive(Clone)]
pub struct Peer {
    /// Host and port.
    address: String,
    tls: Option<Arc<ClientConfig>>,
    token: Option<String>,
    tape: Option<Tape>,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// `GET` and so on.
    pub method: String,
    /// Path and query, encoded.
    pub target: String,
    /// Headers besides those that every request has.
    pub headers: Vec<(String, String)>,
    /// Empty: none.
    pub body: Vec<u8>,
}

/// The head of an answer, and its body as it comes.
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// In their order.
    pub headers: Vec<(String, String)>,
    /// The body, without its framing.
    pub body: Box<dyn BufRead + Send>,
}

/// An answer that is complete.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// In their order.
    pub headers: Vec<(String, String)>,
    /// Without its framing.
    pub body: Vec<u8>,
}

impl Ask {
    /// A `GET`.
    #[must_use]
    pub fn get(target: impl Into<String>) -> Self {
        Ask { method: "GET".to_owned(), target: target.into(), headers: Vec::new(), body: Vec::new() }
    }

    /// A request with a body of JSON, or of another `media` type.
    #[must_use]
    pub fn send(method: &str, target: impl Into<String>, media: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("Content-Type".to_owned(), media.to_owned())];
        Ask { method: method.to_owned(), target: target.into(), headers, body: body.into() }
    }

    /// The same with `Accept`.
    #[must_use]
    pub fn accept(self, accept: &str) -> Self {
        self.with("Accept", accept)
    }

    /// The same with another header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name))
    }
}

impl Peer {
    /// The server at `url`, `http://HOST:PORT`, which asks nobody who they are.
    #[must_use]
    pub fn plain(url: &str) -> Self {
        Peer { address: host(url), tls: None, token: None, tape: None }
    }

    /// The server at `url`, `https://HOST:PORT`, that `authority` (PEM) vouches for, and a token for it.
    ///
    /// # Errors
    /// When `authority` is no certificate.
    pub fn secure(url: &str, authority: &[u8], token: &str) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(authority) {
            roots.add(certificate.map_err(io::Error::other)?).map_err(io::Error::other)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let token = Some(token.to_owned());
        Ok(Peer { address: host(url), tls: Some(Arc::new(config)), token, tape: None })
    }

    /// The same server, asked with another token, or without any.
    #[must_use]
    pub fn with_token(&self, token: Option<&str>) -> Self {
        Peer { token: token.map(str::to_owned), ..self.clone() }
    }

    /// The same server; exchanges that are [named](Peer::name) are kept on the tape.
    #[must_use]
    pub fn taped(&self, tape: &Tape) -> Self {
        Peer { tape: Some(tape.clone()), ..self.clone() }
    }

    /// Says what the next exchange is called, if there is a tape.
    pub fn name(&self, name: &str) {
        if let Some(tape) = &self.tape {
            tape.name_next(name);
        }
    }

    /// The bytes of a request. The token is `REDACTED` where `shown`.
    #[must_use]
    pub fn request(&self, ask: &Ask, shown: bool) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\nHost: {}\r\n", ask.method, ask.target, self.address);
        let mut line = |name: &str, value: &str| {
            head.push_str(name);
            head.push_str(": ");
            head.push_str(value);
            head.push_str("\r\n");
        };
        if let Some(token) = &self.token {
            line("Authorization", &format!("Bearer {}", if shown { "REDACTED" } else { token }));
        }
        if !ask.has("User-Agent") {
            line("User-Agent", AGENT);
        }
        if !ask.has("Accept") {
            line("Accept", "application/json");
        }
        for (name, value) in &ask.headers {
            line(name, value);
        }
        if !ask.body.is_empty() {
            line("Content-Length", &ask.body.len().to_string());
        }
        line("Connection", "close");
        head.push_str("\r\n");
        [head.as_bytes(), &ask.body].concat()
    }

    /// Sends a request and reads the head of its answer.
    ///
    /// # Errors
    /// When the server cannot be reached, says nothing for minutes, or does not speak HTTP.
    pub fn open(&self, ask: &Ask) -> io::Result<Reply> {
        read_head(self.send(ask)?)
    }

    /// Sends a request and reads its answer.
    ///
    /// # Errors
    /// As [`open`](Peer::open), and when the answer ends before its end.
    pub fn ask(&self, ask: &Ask) -> io::Result<Answer> {
        let Reply { status, headers, body: mut reader } = self.open(ask)?;
        let mut body = Vec::new();
        reader.read_to_end(&mut body)?;
        Ok(Answer { status, headers, body })
    }

    fn send(&self, ask: &Ask) -> io::Result<BufReader<Box<dyn Read + Send>>> {
        let mut socket = TcpStream::connect(&self.address)?;
        socket.set_read_timeout(Some(SILENCE))?;
        let request = self.request(ask, false);
        let reader: Box<dyn Read + Send> = match &self.tls {
            None => {
                socket.write_all(&request)?;
                Box::new(socket)
            }
            Some(config) => {
                let host = self.address.rsplit_once(':').map_or(&*self.address, |(host, _)| host).to_owned();
                let name = ServerName::try_from(host).map_err(io::Error::other)?;
                let session = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
                let mut stream = StreamOwned::new(session, socket);
                stream.write_all(&request)?;
                Box::new(stream)
            }
        };
        let taped = self.tape.as_ref().and_then(|tape| tape.begin(self.request(ask, true)));
        Ok(BufReader::new(match taped {
            Some(heard) => Box::new(tape::Tee { reader, heard }),
            None => reader,
        }))
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("status", &self.status).finish_non_exhaustive()
    }
}

impl Answer {
    /// Reads an answer from its bytes, as a [`Tape`] keeps them.
    ///
    /// # Errors
    /// When they are not HTTP.
    pub fn of(bytes: &[u8]) -> io::Result<Self> {
        let Reply { status, headers, body: mut reader } =
            read_head(BufReader::new(Box::new(io::Cursor::new(bytes.to_vec())) as Box<dyn Read + Send>))?;
        let mut body = Vec::new();
        reader.read_to_end(&mut body)?;
        Ok(Answer { status, headers, body })
    }

    /// The first value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }
}

/// `HOST:PORT` of a URL.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_from_its_chunks() {
        let bytes =
            b"HTTP/1.1 200 OK\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        let answer = Answer::of(bytes).unwrap();
        assert_eq!((answer.status, answer.header("a"), &*answer.body), (200, Some("b"), &b"abcde"[..]));
        let cut = &bytes[..bytes.len() - 12];
        assert!(Answer::of(cut).is_err(), "a body that ends before its end is an error");
        assert!(Answer::of(b"SSH-2.0\r\n\r\n").is_err());
    }

    #[test]
    fn a_token_shows_only_to_the_server() {
        let peer = Peer::plain("http://127.0.0.1:1/").with_token(Some("s3cret"));
        let text = |shown| String::from_utf8(peer.request(&Ask::get("/api"), shown)).unwrap();
        assert!(text(false).contains("Bearer s3cret") && !text(true).contains("s3cret"));
        assert!(!format!("{peer:?}").contains("s3cret"));
        assert!(text(true).starts_with("GET /api HTTP/1.1\r\nHost: 127.0.0.1:1\r\n"));
    }
}
