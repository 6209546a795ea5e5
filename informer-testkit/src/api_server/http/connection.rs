//! One connection: requests in, answers out, one after the other.
//!
//! However it ends, what was answered reaches the client: a socket that is closed with unread bytes in it is reset,
//! and the answer is lost with it, so what still comes is read to a bound first.

use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::reply::{self, LAST_CHUNK, Manner};
use super::wire::Wire;
use crate::api_server::exchange::{Answer, Call, Stream, Whole};
use crate::http::read::{Fault, Framing, Head, Limits, read_body, read_head};
use crate::http::{header, queries};

/// Those of kube-apiserver.
const LIMITS: Limits = Limits { head: 1 << 20, body: 3 << 20 };

/// What is read of a refused request, at most, and how long the next byte of it may take.
const REST: (u64, Duration) = (64 << 20, Duration::from_millis(500));

/// How a connection goes on.
enum Next {
    /// With another request.
    Request,
    /// It does not.
    Close,
    /// It does not, and the client may still be sending.
    Refused,
}

/// Serves a connection to its end.
pub(super) fn serve(shared: &Shared, socket: Arc<TcpStream>) {
    let Ok(wire) = Wire::new(Arc::clone(&socket), &shared.security) else {
        return; // the configuration was found good before the server started
    };
    let mut conversation = Conversation { shared, reader: BufReader::new(wire), socket, buffer: Vec::new() };
    loop {
        match conversation.turn() {
            Ok(Next::Request) if !shared.door.is_closed() => {}
            Ok(Next::Request | Next::Close) => break,
            Ok(Next::Refused) => {
                conversation.reader.get_mut().finish();
                conversation.drain();
                break;
            }
            Err(_) => return, // the client is gone, or the server stops
        }
    }
    conversation.reader.get_mut().finish();
}

/// Answers a connection that there is no room for.
pub(super) fn turn_away(socket: &TcpStream) {
    // A few bytes into an empty socket: this cannot block. Under TLS it is as good as a close.
    let mut wire = socket;
    let _ = wire.write_all(&reply::refusal(503, "too many connections"));
    let _ = socket.shutdown(Shutdown::Write);
}

struct Conversation<'a> {
    shared: &'a Shared,
    reader: BufReader<Wire>,
    socket: Arc<TcpStream>,
    /// What is sent next; kept for its room.
    buffer: Vec<u8>,
}

impl Conversation<'_> {
    /// One request and its answer.
    fn turn(&mut self) -> io::Result<Next> {
        let head = match read_head(&mut self.reader, LIMITS) {
            Ok(Some(head)) => head,
            Ok(None) => return Ok(Next::Close),
            Err(fault) => return self.refuse(fault),
        };
        let hosts = head.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("host")).count();
        if hosts == 0 && !head.old {
            return self.refuse(Fault::Malformed("missing required Host header".to_owned()));
        }
        if hosts > 1 {
            return self.refuse(Fault::Malformed("too many Host headers".to_owned()));
        }
        let manner = Manner { old: head.old, closes: head.closes(), bodiless: head.method == "HEAD" };
        let body = match self.body(&head) {
            Ok(body) => body,
            Err(Fault::BodyTooLarge) => {
                self.send(&reply::whole(&too_large(), Manner { closes: true, ..manner }))?;
                return Ok(Next::Refused);
            }
            Err(fault) => return self.refuse(fault),
        };
        let Head { method, target, headers, .. } = head;
        let (path, query) = place(&target).split_once('?').unwrap_or((place(&target), ""));
        let query = queries(query);
        let call = Call { method, path: path.to_owned(), query, headers, body, user: None };
        match self.shared.service.answer(call) {
            Answer::Whole(answer) => self.send(&reply::whole(&answer, manner))?,
            Answer::Stream(stream) => self.stream(stream, manner)?,
        }
        Ok(if manner.closes { Next::Close } else { Next::Request })
    }

    /// Reads the body, which the client may want to be asked for.
    fn body(&mut self, head: &Head) -> Result<Vec<u8>, Fault> {
        let wanted = match head.framing {
            Framing::Length(length) => 0 < length && length <= LIMITS.body,
            Framing::Chunked => true,
        };
        if wanted && expects_continue(head) {
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        read_body(&mut self.reader, head.framing, LIMITS)
    }

    /// Sends what the stream has, until it ends or the client has gone.
    fn stream(&mut self, mut stream: Stream, manner: Manner) -> io::Result<()> {
        let manner = Manner { closes: manner.closes || manner.old, ..manner };
        self.send(&reply::stream_head(&stream.headers, manner))?;
        let watched = self.shared.door.watch(Arc::clone(&self.socket));
        let mut buffer = std::mem::take(&mut self.buffer);
        while let Some(bytes) = stream.feed.next(&watched.stop) {
            if manner.old {
                self.send(&bytes)?;
                continue;
            }
            buffer.clear();
            reply::chunk(&mut buffer, &bytes);
            self.send(&buffer)?;
        }
        self.buffer = buffer;
        if !manner.old {
            self.send(LAST_CHUNK)?;
        }
        Ok(())
    }

    fn refuse(&mut self, fault: Fault) -> io::Result<Next> {
        let refusal = match fault {
            Fault::Broken(error) => return Err(error),
            Fault::Malformed(what) => reply::refusal(400, &what),
            Fault::HeadTooLarge => reply::refusal(431, ""),
            Fault::BodyTooLarge => reply::refusal(413, ""),
            Fault::UnknownCoding => reply::refusal(501, "unsupported transfer encoding"),
        };
        self.send(&refusal)?;
        Ok(Next::Refused)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let wire = self.reader.get_mut();
        wire.write_all(bytes)?;
        wire.flush()
    }

    /// Reads what the client still sends, to a bound.
    fn drain(&mut self) {
        let (most, patience) = REST;
        // Without the limit a client that goes on for ever is read to the bound.
        let _ = self.socket.set_read_timeout(Some(patience));
        let _ = io::copy(&mut self.reader.by_ref().take(most), &mut io::sink());
    }
}

/// The path and the query of a target, which proxies are sent with scheme and host.
fn place(target: &str) -> &str {
    let Some((_, rest)) = target.split_once("://").filter(|_| !target.starts_with('/')) else {
        return target;
    };
    rest.find('/').map_or("/", |at| &rest[at..])
}

fn expects_continue(head: &Head) -> bool {
    header(&head.headers, "expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue"))
}

/// What kube-apiserver says to a body over its limit.
fn too_large() -> Whole {
    let body = format!(
        "{{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{{}},\"status\":\"Failure\",\
         \"message\":\"Request entity too large: limit is {}\",\"reason\":\"RequestEntityTooLarge\",\"code\":413}}\n",
        LIMITS.body
    );
    let headers = vec![("Content-Type", "application/json".to_owned())];
    Whole { status: 413, headers, body: body.into_bytes() }
}
