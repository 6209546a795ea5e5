//! A TCP proxy between clients and a server, which knows how far each exchange has come and spoils it by the [`Plan`].

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use informer_core::sync::{JoinHandle, Mutex, spawn};
use serde_json::json;

use crate::plan::{Kind, Phase, Plan};
use crate::wire::{Framing, Head, Tap};

/// See the module.
pub(crate) struct Proxy {
    pub(crate) addr: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    plan: Arc<Plan>,
    upstream: SocketAddr,
    quit: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
    sockets: Mutex<Vec<Weak<TcpStream>>>,
}

impl Proxy {
    pub(crate) fn start(plan: &Arc<Plan>, upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            plan: Arc::clone(plan),
            upstream,
            quit: AtomicBool::new(false),
            threads: Mutex::new(Vec::new()),
            sockets: Mutex::new(Vec::new()),
        });
        let theirs = Arc::clone(&shared);
        let acceptor = spawn("proxy-accept", move || accept(&listener, &theirs)).unwrap();
        Proxy { addr, shared, acceptor: Some(acceptor) }
    }

    /// Closes everything and joins every thread.
    pub(crate) fn stop(mut self) {
        self.shared.quit.store(true, Ordering::SeqCst);
        let wake = TcpStream::connect(self.addr);
        self.acceptor.take().unwrap().join().unwrap();
        drop(wake);
        for socket in self.shared.sockets.lock().drain(..) {
            if let Some(socket) = socket.upgrade() {
                let _ = socket.shutdown(Shutdown::Both); // it may be closed already
            }
        }
        let threads = std::mem::take(&mut *self.shared.threads.lock());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.quit.load(Ordering::SeqCst) {
            return;
        }
        let Ok((client, _)) = accepted else { continue };
        let client = shared.keep(client);
        let theirs = Arc::clone(shared);
        let thread = spawn("proxy-conn", move || {
            let mut exchange = Exchange { shared: &theirs, client: &client, first: true };
            // What ends with an error has been closed by one side or the other, which is what it is all about.
            if exchange.run().unwrap_or(End::Fin) == End::Rst {
                rustix::net::sockopt::set_socket_linger(&*client, Some(Duration::ZERO)).unwrap();
            }
        })
        .unwrap();
        let mut threads = shared.threads.lock();
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
    }
}

impl Shared {
    /// Remembers a socket, so that the end can close it.
    fn keep(&self, stream: TcpStream) -> Arc<TcpStream> {
        stream.set_nodelay(true).unwrap();
        let stream = Arc::new(stream);
        let mut sockets = self.sockets.lock();
        sockets.retain(|socket| socket.strong_count() != 0);
        sockets.push(Arc::downgrade(&stream));
        drop(sockets);
        if self.quit.load(Ordering::SeqCst) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        stream
    }

    fn connect(&self) -> io::Result<Arc<TcpStream>> {
        TcpStream::connect(self.upstream).map(|stream| self.keep(stream))
    }
}

/// How a connection ends.
#[derive(PartialEq)]
enum End {
    Fin,
    Rst,
}

/// Whether an exchange goes on; if not, how its connection ends.
type Go = io::Result<Option<End>>;

struct Exchange<'a> {
    shared: &'a Shared,
    client: &'a TcpStream,
    /// The first request of the connection has not come yet.
    first: bool,
}

impl Exchange<'_> {
    fn run(&mut self) -> io::Result<End> {
        let mut reader = BufReader::new(self.client);
        let mut tap = Tap::new(self.client);
        let plan = &self.shared.plan;
        let mut strike = plan.draw(Phase::Connect);
        loop {
            if let Some(kind) = strike.take()
                && let Some(end) = self.strike(Phase::Connect, kind, &mut tap, &mut reader)?
            {
                return Ok(end);
            }
            let Some(request) = Head::read(&mut reader)? else { return Ok(End::Fin) };
            self.first = false;
            if let Some(kind) = plan.draw(Phase::Head)
                && let Some(end) = self.strike(Phase::Head, kind, &mut tap, &mut reader)?
            {
                match end {
                    // The exchange was answered; the connection can be used further.
                    End::Fin if is_status(kind) => continue,
                    end => return Ok(end),
                }
            }
            if let Some(end) = self.relay(&request, &mut tap, &mut reader)? {
                return Ok(end);
            }
        }
    }

    /// A fault before any byte of the answer. `None`: the exchange goes on.
    fn strike(&self, phase: Phase, kind: Kind, tap: &mut Tap<'_>, reader: &mut BufReader<&TcpStream>) -> Go {
        let plan = &self.shared.plan;
        let struck = match kind {
            Kind::Older | Kind::Newer => plan.restart(kind) && self.is_there(),
            _ => true,
        };
        plan.settle(phase, kind, struck);
        match kind {
            Kind::Older | Kind::Newer => Ok(None),
            Kind::Drip => {
                tap.drip = 400;
                Ok(None)
            }
            Kind::Reset => Ok(Some(End::Rst)),
            Kind::Stall => self.drain(reader),
            Kind::Truncate => {
                if phase == Phase::Head {
                    tap.raw(b"HTTP/1.1 200 OK\r\nContent-Ty")?;
                }
                self.client.shutdown(Shutdown::Write)?;
                self.drain(reader)
            }
            _ => {
                let body = status(kind).to_string();
                let (code, wait) = code(kind);
                // Before the request was read, nothing else can follow on the connection.
                let close = if phase == Phase::Connect { "Connection: close\r\n" } else { "" };
                let head = format!(
                    "HTTP/1.1 {code} X\r\nContent-Type: application/json\r\n{wait}{close}Content-Length: {}\r\n\r\n",
                    body.len()
                );
                tap.raw(head.as_bytes())?;
                tap.raw(body.as_bytes())?;
                if phase == Phase::Connect {
                    self.client.shutdown(Shutdown::Write)?;
                    return self.drain(reader);
                }
                Ok(Some(End::Fin))
            }
        }
    }

    /// Whether the client has not gone meanwhile: a restart that it did not wait for has not struck it.
    fn is_there(&self) -> bool {
        let mut byte = [0];
        self.client.set_nonblocking(true).unwrap();
        let there = match self.client.peek(&mut byte) {
            Ok(count) => count != 0,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        };
        self.client.set_nonblocking(false).unwrap();
        there
    }

    /// Sends nothing, until the client goes.
    fn drain(&self, reader: &mut BufReader<&TcpStream>) -> Go {
        loop {
            match reader.fill_buf()? {
                [] => return Ok(Some(End::Fin)),
                bytes => {
                    let count = bytes.len();
                    reader.consume(count);
                }
            }
        }
    }

    /// Passes a request on and its answer back.
    fn relay(&self, request: &Head, tap: &mut Tap<'_>, reader: &mut BufReader<&TcpStream>) -> Go {
        let upstream = self.shared.connect()?;
        // Bytes are to be seen here as they are.
        (&*upstream).write_all(&request.bytes(&["accept-encoding"], &["Accept-Encoding: identity"]))?;
        let mut answers = BufReader::new(&*upstream);
        let Some(head) = Head::read(&mut answers)? else { return Ok(Some(End::Fin)) };
        let framing = head.framing();
        tap.raw(&head.bytes(&["content-length", "transfer-encoding"], &["Transfer-Encoding: chunked"]))?;
        let body = Body { exchange: self, answers, framing };
        if !head.first().contains(" 200 ") {
            return body.pass(tap);
        }
        let asked = request.first();
        if asked.contains("sendInitialEvents=true") {
            body.watch(tap, reader, Phase::Initial)
        } else if asked.contains("watch=") {
            body.watch(tap, reader, Phase::Live)
        } else {
            body.list(tap, reader)
        }
    }
}

/// The body of an answer on its way.
struct Body<'a> {
    exchange: &'a Exchange<'a>,
    answers: BufReader<&'a TcpStream>,
    framing: Framing,
}

impl Body<'_> {
    /// As it is.
    fn pass(mut self, tap: &mut Tap<'_>) -> Go {
        while let Some(piece) = self.framing.next(&mut self.answers)? {
            tap.chunk(&piece)?;
        }
        tap.end()?;
        Ok(None)
    }

    fn list(mut self, tap: &mut Tap<'_>, reader: &mut BufReader<&TcpStream>) -> Go {
        let plan = &self.exchange.shared.plan;
        let Some(kind) = plan.draw(Phase::ListBody) else { return self.pass(tap) };
        // The first piece, or the one after it: short lists have no more.
        let mut left = if is_status(kind) { 0 } else { plan.roll(2) };
        while let Some(piece) =
            self.framing.next(&mut self.answers).inspect_err(|_| plan.settle(Phase::ListBody, kind, false))?
        {
            if left > 0 {
                left -= 1;
                tap.chunk(&piece)?;
                continue;
            }
            if is_status(kind) {
                // In place of a list.
                plan.settle(Phase::ListBody, kind, true);
                tap.chunk(status(kind).to_string().as_bytes())?;
                tap.end()?;
                return Ok(None);
            }
            if let Some(end) = self.strike(Phase::ListBody, kind, &piece, tap, reader)? {
                return Ok(Some(end));
            }
            return self.pass(tap);
        }
        plan.settle(Phase::ListBody, kind, false);
        tap.end()?;
        Ok(None)
    }

    /// Line by line, so that it is known where the initial events end.
    fn watch(mut self, tap: &mut Tap<'_>, reader: &mut BufReader<&TcpStream>, mut phase: Phase) -> Go {
        let plan = &self.exchange.shared.plan;
        let mut drawn =
            plan.draw(phase).map(|kind| (kind, plan.roll(if phase == Phase::Live { 3 } else { 12 })));
        let mut pending = Vec::new();
        loop {
            let piece = self.framing.next(&mut self.answers);
            let Ok(Some(piece)) = piece else {
                if let Some((kind, _)) = drawn {
                    plan.settle(phase, kind, false);
                }
                if piece.is_ok() {
                    tap.end()?;
                    return Ok(None);
                }
                return Ok(Some(End::Fin));
            };
            pending.extend_from_slice(&piece);
            while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = pending.drain(..=end).collect();
                let last = phase == Phase::Initial && contains(&line, b"initial-events-end");
                if let Some((kind, left)) = &mut drawn
                    && (*left == 0 || last)
                {
                    let kind = *kind;
                    drawn = None;
                    if let Some(end) = self.strike(phase, kind, &line, tap, reader)? {
                        return Ok(Some(end));
                    }
                    continue;
                } else if let Some((_, left)) = &mut drawn {
                    *left -= 1;
                }
                if let Err(error) = tap.chunk(&line) {
                    if let Some((kind, _)) = drawn {
                        plan.settle(phase, kind, false);
                    }
                    return Err(error);
                }
                if last {
                    phase = Phase::Live;
                    drawn = plan.draw(phase).map(|kind| (kind, plan.roll(3)));
                }
            }
        }
    }

    /// A fault in the body, at `piece`. `None`: the piece was passed on, and the rest may follow.
    fn strike(
        &self,
        phase: Phase,
        kind: Kind,
        piece: &[u8],
        tap: &mut Tap<'_>,
        reader: &mut BufReader<&TcpStream>,
    ) -> Go {
        let plan = &self.exchange.shared.plan;
        // Whether the client was still there to be struck shows when something is written.
        let done = |written: io::Result<()>| {
            plan.settle(phase, kind, written.is_ok());
            written
        };
        match kind {
            Kind::Reset | Kind::Truncate | Kind::Stall => {
                done(tap.half(piece))?;
                match kind {
                    Kind::Reset => Ok(Some(End::Rst)),
                    Kind::Truncate => Ok(Some(End::Fin)),
                    _ => self.exchange.drain(reader),
                }
            }
            Kind::Drip => {
                tap.drip = 300;
                done(tap.chunk(piece))?;
                Ok(None)
            }
            Kind::Older | Kind::Newer => {
                plan.settle(phase, kind, plan.restart(kind) && self.exchange.is_there());
                tap.chunk(piece)?;
                Ok(None)
            }
            _ => {
                let line = json!({ "type": "ERROR", "object": status(kind) }).to_string() + "\n";
                done(tap.chunk(line.as_bytes()))?;
                tap.end()?;
                Ok(Some(End::Fin))
            }
        }
    }
}

fn contains(line: &[u8], text: &[u8]) -> bool {
    line.windows(text.len()).any(|window| window == text)
}

fn is_status(kind: Kind) -> bool {
    matches!(kind, Kind::Gone | Kind::TooMany | Kind::Internal | Kind::Timeout)
}

/// The code, and the header that goes with it.
fn code(kind: Kind) -> (u16, &'static str) {
    match kind {
        Kind::Gone => (410, ""),
        Kind::TooMany => (429, "Retry-After: 1\r\n"),
        Kind::Timeout => (504, ""),
        _ => (500, ""),
    }
}

fn status(kind: Kind) -> serde_json::Value {
    let reason = match kind {
        Kind::Gone => "Expired",
        Kind::TooMany => "TooManyRequests",
        Kind::Timeout => "Timeout",
        _ => "InternalError",
    };
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "by the plan", "reason": reason, "code": code(kind).0 })
}
