//! One connection: requests in, answers out, one after the other.
//!
//! However it ends, what was answered reaches the client: a socket that is closed with unread bytes in it is reset,
//! and the answer is lost with it, so what still comes is read to a bound first.

use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::outlet::{Gone, Outlet};
use super::reply::{self, Manner};
use super::wire::Wire;
use crate::api_server::exchange::{Call, Whole};
use crate::http::read::{Fault, Framing, Head, Limits, read_body, read_head};
use crate::http::{header, queries};

/// Those of kube-apiserver.
pub(super) const LIMITS: Limits = Limits { head: 1 << 20, body: 3 << 20 };

/// What is read after an answer that a client may not expect, at most, and how long the next byte of it may take.
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
    let mut conversation = Conversation { reader: BufReader::new(wire), outlet: Outlet::new(shared, socket) };
    match conversation.run() {
        Ok(refused) => {
            conversation.reader.get_mut().finish();
            if refused {
                drain(&conversation.outlet.socket, &mut conversation.reader);
            }
        }
        Err(Gone::Away) => {}
        Err(Gone::Cut) => {
            conversation.outlet.shut();
            // By the socket: what is left of a session does not matter any more.
            drain(&conversation.outlet.socket, &mut &*conversation.outlet.socket);
        }
        Err(Gone::Reset) => conversation.outlet.reset(),
    }
}

/// Answers a connection that there is no room for.
pub(super) fn turn_away(socket: &TcpStream) {
    // A few bytes into an empty socket: this cannot block. Under TLS it is as good as a close.
    let mut wire = socket;
    let _ = wire.write_all(&reply::refusal(503, "too many connections"));
    let _ = socket.shutdown(Shutdown::Write);
}

struct Conversation<'a> {
    reader: BufReader<Wire>,
    outlet: Outlet<'a>,
}

impl Conversation<'_> {
    /// Answers whether the client may still be sending.
    fn run(&mut self) -> Result<bool, Gone> {
        self.outlet.connected()?;
        loop {
            let next = self.turn()?;
            self.outlet.rest();
            match next {
                Next::Request if !self.outlet.shared.door.is_closed() => {}
                Next::Request | Next::Close => return Ok(false),
                Next::Refused => return Ok(true),
            }
        }
    }

    /// One request and its answer.
    fn turn(&mut self) -> Result<Next, Gone> {
        let head = match read_head(&mut self.reader, LIMITS) {
            Ok(Some(head)) => head,
            Ok(None) => return Ok(Next::Close),
            Err(fault) => return self.refuse(&fault),
        };
        let hosts = head.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("host")).count();
        if hosts == 0 && !head.old {
            self.outlet.send(self.reader.get_mut(), &reply::refusal(400, "missing required Host header"))?;
            return Ok(Next::Refused);
        }
        if hosts > 1 {
            return self.refuse(&Fault::Malformed("too many Host headers".to_owned()));
        }
        let manner = Manner { old: head.old, closes: head.closes(), bodiless: head.method == "HEAD" };
        let body = match self.body(&head)? {
            Ok(body) => body,
            Err(Fault::BodyTooLarge) => {
                let wire = self.reader.get_mut();
                let (answer, manner) = (too_large(), Manner { closes: true, ..manner });
                self.outlet.send(wire, &reply::whole_head(&answer, &[], manner))?;
                self.outlet.send(wire, &answer.body)?;
                return Ok(Next::Refused);
            }
            Err(fault) => return self.refuse(&fault),
        };
        self.outlet.answer(self.reader.get_mut(), call_of(head, body), manner)?;
        Ok(if manner.closes { Next::Close } else { Next::Request })
    }

    /// Reads the body, which the client may want to be asked for.
    fn body(&mut self, head: &Head) -> Result<Result<Vec<u8>, Fault>, Gone> {
        let wanted = match head.framing {
            Framing::Length(length) => 0 < length && length <= LIMITS.body,
            Framing::Chunked => true,
        };
        if wanted && expects_continue(head) {
            self.outlet.send(self.reader.get_mut(), b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        Ok(read_body(&mut self.reader, head.framing, LIMITS))
    }

    fn refuse(&mut self, fault: &Fault) -> Result<Next, Gone> {
        let Some(refusal) = refusal_of(fault) else {
            return Err(Gone::Away);
        };
        self.outlet.send(self.reader.get_mut(), &refusal)?;
        Ok(Next::Refused)
    }
}

/// Reads what the client still sends, to a bound.
fn drain(socket: &TcpStream, reader: &mut impl Read) {
    let (most, patience) = REST;
    // Without the limit a client that goes on for ever is read to the bound.
    let _ = socket.set_read_timeout(Some(patience));
    let _ = io::copy(&mut reader.take(most), &mut io::sink());
}

/// What a request asks.
pub(super) fn call_of(head: Head, body: Vec<u8>) -> Call {
    let Head { method, target, headers, .. } = head;
    let (path, query) = place(&target).split_once('?').unwrap_or((place(&target), ""));
    Call { method, path: path.to_owned(), query: queries(query), headers, body, user: None }
}

/// What is said to a request that cannot be read; nothing where nobody is there to hear it.
pub(super) fn refusal_of(fault: &Fault) -> Option<Vec<u8>> {
    Some(match fault {
        Fault::Broken(_) => return None,
        Fault::Malformed(_) => reply::refusal(400, ""),
        Fault::HeadTooLarge => reply::refusal(431, ""),
        Fault::BodyTooLarge => reply::refusal(413, ""),
        Fault::UnknownCoding => reply::refusal_saying("501 Not Implemented", "Unsupported transfer encoding"),
    })
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
