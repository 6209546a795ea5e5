//! A listener under the control of a test: each connection, each byte, each close.
//!
//! For what is no plain HTTP: proxies, SOCKS, TLS. Scripts of plain exchanges are the test kit's.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use informer_core::sync::{JoinHandle, spawn};

/// A script that runs against a listener on a thread of its own.
pub(crate) struct Server {
    pub(crate) url: String,
    thread: JoinHandle<()>,
}

impl Server {
    pub(crate) fn start(script: impl FnOnce(&TcpListener) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let thread = spawn("scripted-server", move || script(&listener)).unwrap();
        Server { url, thread }
    }

    /// Waits for the end of the script; a panic in it is one here.
    pub(crate) fn join(self) {
        self.thread.join().unwrap();
    }
}

/// One accepted connection.
pub(crate) struct Peer {
    pub(crate) stream: BufReader<TcpStream>,
}

impl Peer {
    pub(crate) fn accept(listener: &TcpListener) -> Self {
        Peer { stream: BufReader::new(listener.accept().unwrap().0) }
    }

    /// Reads one request.
    pub(crate) fn request(&mut self) -> Request {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(
                self.stream.read_line(&mut head).unwrap(),
                0,
                "the client closed within a head: {head:?}"
            );
        }
        let mut request = Request { head, body: String::new() };
        let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        request.body = String::from_utf8(body).unwrap();
        request
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    /// Sends a whole answer of JSON.
    pub(crate) fn answer(&mut self, status: &str, headers: &str, body: &str) {
        let length = body.len();
        self.send(format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        ));
    }

    /// Waits until the client closes.
    pub(crate) fn until_closed(mut self) {
        let mut rest = Vec::new();
        // A reset is a close as well.
        let _ = self.stream.read_to_end(&mut rest);
        assert!(rest.is_empty(), "the client sent more: {:?}", String::from_utf8_lossy(&rest));
    }
}

/// A request as it came.
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Request {
    /// `GET /path?query`.
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap().strip_suffix(" HTTP/1.1").unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}
