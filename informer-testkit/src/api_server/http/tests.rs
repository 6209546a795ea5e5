//! The listener over services that do one thing each; what real answers look like is tested from outside.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use informer_core::sync::Mutex;
use informer_core::{Stop, SystemClock};

use super::{Listener, Security, Service};
use crate::api_server::control::Control;
use crate::api_server::exchange::{Answer, Call, Feed, Stream, Whole};
use crate::{Deadline, Probe, within};

/// Answers by the first segment of the path: `stream` streams, `panic` panics, all else is told back.
struct Toy {
    /// What streams tell of their ends.
    ended: Mutex<Sender<()>>,
    /// How many streams wait for their stop.
    waiting: Probe<usize>,
    control: Control,
}

impl Service for Toy {
    fn control(&self) -> &Control {
        &self.control
    }

    fn answer(&self, mut call: Call) -> Answer {
        match &*call.path {
            "/stream" => {
                let feed = Two { left: 2, ended: self.ended.lock().clone(), waiting: self.waiting.clone() };
                Answer::Stream(Stream {
                    headers: vec![("Content-Type", "text/plain".to_owned())],
                    feed: Box::new(feed),
                    compressed: false,
                })
            }
            "/panic" => panic!("told to"),
            _ => {
                let body = call.parameter("size").and_then(|size| size.parse().ok());
                let body = body.map_or_else(|| std::mem::take(&mut call.body), |size| vec![b'x'; size]);
                Answer::Whole(Whole { status: 200, headers: vec![("X-Evil", "a\r\nB: c".to_owned())], body })
            }
        }
    }
}

/// Two chunks at once, then nothing until the stop.
struct Two {
    left: usize,
    ended: Sender<()>,
    waiting: Probe<usize>,
}

impl Feed for Two {
    fn next(&mut self, stop: &Stop) -> Option<Arc<[u8]>> {
        if self.left == 0 {
            self.waiting.update(|count| *count += 1);
            stop.wait();
            return None;
        }
        self.left -= 1;
        Some(Arc::from(&b"event\n"[..]))
    }
}

impl Drop for Two {
    fn drop(&mut self) {
        let _ = self.ended.send(());
    }
}

struct Server {
    listener: Listener,
    addr: SocketAddr,
    ended: Receiver<()>,
    waiting: Probe<usize>,
}

fn start(most: usize) -> Server {
    let socket = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let addr = socket.local_addr().unwrap();
    let (tell, ended) = mpsc::channel();
    let waiting = Probe::new(0);
    let control = Control::new(Arc::new(SystemClock));
    let toy = Toy { ended: Mutex::new(tell), waiting: waiting.clone(), control };
    let listener = Listener::start_with(socket, Security::Plain, Arc::new(toy), most).unwrap();
    Server { listener, addr, ended, waiting }
}

fn ask(addr: SocketAddr, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn rest(mut stream: TcpStream) -> String {
    within("the end of the connection", move || {
        let mut text = String::new();
        stream.read_to_string(&mut text).map(|_| text).unwrap()
    })
}

const STREAM: &str = "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n";

/// A stream that has sent all it has.
fn quiet_stream(server: &Server) -> TcpStream {
    let before = server.waiting.get();
    let stream = ask(server.addr, STREAM);
    server.waiting.wait("a quiet stream", |count| before < *count);
    stream
}

#[test]
fn a_stream_ends_when_its_client_goes_though_nothing_happens() {
    let server = start(10);
    drop(quiet_stream(&server));
    within("the end of the stream", move || {
        server.ended.recv().unwrap();
        server
    });
}

#[test]
fn a_client_that_only_stops_sending_gets_the_end_of_its_stream() {
    let server = start(10);
    let stream = quiet_stream(&server);
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let text = rest(stream);
    assert!(text.ends_with("\r\n\r\n6\r\nevent\n\r\n6\r\nevent\n\r\n0\r\n\r\n"), "{text}");
    assert!(text.contains("Transfer-Encoding: chunked\r\n"), "{text}");
}

#[test]
fn an_old_client_gets_a_stream_without_chunks() {
    let server = start(10);
    let stream = ask(server.addr, "GET /stream HTTP/1.0\r\n\r\n");
    server.waiting.wait("a quiet stream", |count| *count == 1);
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let text = rest(stream);
    assert!(text.starts_with("HTTP/1.0 200 OK\r\n") && text.ends_with("\r\n\r\nevent\nevent\n"), "{text}");
}

#[test]
fn stop_ends_streams_and_idle_connections_and_can_be_called_again() {
    let server = start(10);
    let stream = quiet_stream(&server);
    // It has been served once: one that still waits to be accepted would be reset.
    let mut idle = ask(server.addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    idle.read_exact(&mut [0]).unwrap();
    let server = within("the stop", move || {
        server.listener.stop();
        server.listener.stop();
        server
    });
    server.ended.try_recv().expect("the stream was ended before the stop returned");
    assert!(rest(stream).ends_with("event\n\r\n0\r\n\r\n"));
    assert!(rest(idle).ends_with("Content-Length: 0\r\n\r\n"));
    assert!(TcpStream::connect(server.addr).is_err(), "the port is free");
}

#[test]
fn who_comes_when_all_places_are_taken_is_told_so_and_a_place_is_free_again() {
    let server = start(1);
    let first = quiet_stream(&server);
    let refused = rest(TcpStream::connect(server.addr).unwrap());
    assert!(refused.starts_with("HTTP/1.1 503 Service Unavailable: too many connections\r\n"), "{refused}");
    drop(first);
    let connections = &server.listener.shared.connections;
    let free = |connections: &mut super::Connections| connections.open.is_empty().then_some(());
    Deadline::new().wait_on(connections, "a free place", free, |_| "taken".to_owned());
    let text = rest(ask(server.addr, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
}

#[test]
fn a_panic_costs_one_connection() {
    let server = start(10);
    assert_eq!(rest(ask(server.addr, "GET /panic HTTP/1.1\r\nHost: h\r\n\r\n")), "");
    let text = rest(ask(server.addr, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
}

#[test]
fn answers_are_framed_as_go_frames_them() {
    let server = start(10);
    let mut stream = ask(
        server.addr,
        "GET /?size=2048 HTTP/1.1\r\nHost: h\r\n\r\nHEAD /?size=9 HTTP/1.1\r\nHost: h\r\n\r\n\
         GET /?size=2049 HTTP/1.1\r\nHost: h\r\n\r\nGET /?size=5000 HTTP/1.0\r\n\r\n",
    );
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    within("four answers", move || {
        let mut reader = BufReader::new(&mut stream);
        let mut head = || {
            let lines = reader.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty());
            lines.collect::<Vec<_>>()
        };
        let fields = head();
        assert!(fields.contains(&"Content-Length: 2048".to_owned()), "{fields:?}");
        assert!(fields.contains(&"X-Evil: a  B: c".to_owned()), "{fields:?}");
        assert!(fields.iter().any(|field| field.starts_with("Audit-Id: ")), "{fields:?}");
        assert!(
            fields.iter().any(|field| field.starts_with("Date: ") && field.ends_with(" GMT")),
            "{fields:?}"
        );
        let mut body = vec![0; 2048];
        reader.read_exact(&mut body).unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        let parts: Vec<_> = text.split("\r\n\r\n").collect();
        assert!(parts[0].ends_with("Content-Length: 9"), "{}", parts[0]);
        assert!(parts[1].contains("Transfer-Encoding: chunked"), "{}", parts[1]);
        assert!(parts[2].starts_with("801\r\nxx") && parts[2].ends_with("x\r\n0"), "{}", parts[2]);
        assert!(parts[3].starts_with("HTTP/1.0 200 OK") && parts[3].contains("Content-Length: 5000"));
        assert!(parts[3].contains("Connection: close") && parts[4].len() == 5000);
    });
}
