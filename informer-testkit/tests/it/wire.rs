//! A client that shows every byte: requests as text, answers as they come.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

use informer_testkit::{ApiServer, within};
use serde_json::Value;

/// A connection to an [`ApiServer`] without TLS.
pub(crate) struct Wire {
    stream: BufReader<TcpStream>,
}

/// One answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

impl Wire {
    pub(crate) fn new(server: &ApiServer) -> Self {
        let addr = server.url().split_once("://").unwrap().1;
        Wire { stream: BufReader::new(TcpStream::connect(addr).unwrap()) }
    }

    /// One request on a connection of its own.
    pub(crate) fn once(server: &ApiServer, method: &str, target: &str, body: &str) -> Answer {
        Wire::new(server).ask(method, target, body)
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.stream.get_mut().write_all(bytes.as_ref()).unwrap();
        self
    }

    pub(crate) fn get(&mut self, target: &str, fields: &str) -> &mut Self {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: test\r\n{fields}\r\n"))
    }

    pub(crate) fn ask(&mut self, method: &str, target: &str, body: &str) -> Answer {
        let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let length = body.len();
        self.send(format!(
            "{method} {target} HTTP/1.1\r\nHost: test\r\nContent-Type: {media}\r\nContent-Length: {length}\r\n\r\n{body}"
        ));
        self.answer()
    }

    pub(crate) fn half_close(&mut self) -> &mut Self {
        self.stream.get_ref().shutdown(Shutdown::Write).unwrap();
        self
    }

    /// Calls `body` with the stream, with a net under it.
    fn with<R: Send + 'static>(
        &mut self,
        what: &str,
        body: impl FnOnce(&mut BufReader<TcpStream>) -> R + Send + 'static,
    ) -> R {
        let placeholder = BufReader::new(self.stream.get_ref().try_clone().unwrap());
        let mut stream = std::mem::replace(&mut self.stream, placeholder);
        let (stream, answer) = within(what, move || {
            let answer = body(&mut stream);
            (stream, answer)
        });
        self.stream = stream;
        answer
    }

    /// Reads one whole answer.
    pub(crate) fn answer(&mut self) -> Answer {
        self.with("an answer", |stream| {
            let head = head(stream);
            let answer = Answer { status: head[9..12].parse().unwrap(), head, body: Vec::new() };
            let mut body = Vec::new();
            if answer.header("transfer-encoding") == Some("chunked") {
                while let Some(chunk) = chunk(stream) {
                    body.extend(chunk);
                }
            } else if let Some(length) = answer.header("content-length") {
                body.resize(length.parse().unwrap(), 0);
                stream.read_exact(&mut body).unwrap();
            } else if answer.status != 100 {
                stream.read_to_end(&mut body).unwrap();
            }
            Answer { body, ..answer }
        })
    }

    /// Reads the head of an answer whose body comes by and by.
    pub(crate) fn head(&mut self) -> String {
        self.with("a head", head)
    }

    /// Reads the next chunk; `None` for the last one.
    pub(crate) fn chunk(&mut self) -> Option<String> {
        self.with("a chunk", chunk).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    /// The bytes of the next chunk.
    pub(crate) fn bytes(&mut self) -> Option<Vec<u8>> {
        self.with("a chunk", chunk)
    }

    /// The next event of a watch, whichever chunk it comes in.
    pub(crate) fn event(&mut self) -> Value {
        serde_json::from_str(&self.chunk().expect("the watch goes on")).unwrap()
    }

    /// All that still comes, and whether it ends with a reset.
    pub(crate) fn rest(&mut self) -> (Vec<u8>, bool) {
        self.with("the end of the connection", |stream| {
            let mut rest = Vec::new();
            let reset = match stream.read_to_end(&mut rest) {
                Ok(_) => false,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => true,
                Err(error) => panic!("{error}"),
            };
            (rest, reset)
        })
    }

    /// Whether the server has closed the connection, with nothing more before.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.with("the end of the connection", |stream| {
            let mut rest = Vec::new();
            // A reset is an end too.
            let _ = stream.read_to_end(&mut rest);
            rest.is_empty()
        })
    }
}

fn head(stream: &mut BufReader<TcpStream>) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(stream.read_line(&mut head).unwrap(), 0, "the end came first: {head:?}");
    }
    head
}

fn chunk(stream: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut size = String::new();
    stream.read_line(&mut size).unwrap();
    let size = usize::from_str_radix(size.trim(), 16).unwrap();
    let mut bytes = vec![0; size + 2];
    stream.read_exact(&mut bytes).unwrap();
    assert!(bytes.ends_with(b"\r\n"), "a chunk of another size");
    bytes.truncate(size);
    (size > 0).then_some(bytes)
}
