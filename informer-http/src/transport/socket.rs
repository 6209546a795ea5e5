//! TCP sockets that a stop can end in every state: connecting, writing, reading.
//!
//! Invariant: a socket is registered with the stop of its request before it connects, and `down` is looked at
//! after every call that may have blocked. So a stop is never lost, and what it causes is never taken for the
//! end of a body.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use informer_core::{Clock, Error, ErrorKind, OnStop, SystemClock, time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, sockopt};
use ureq::http::Uri;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, ShutdownHandle, Transport,
};

use super::error::{describe_io, from_io, wrap};
use super::{origin, scope};

/// A dead peer is noticed within about a minute of silence, and a middlebox sees traffic well within its
/// idle limit of minutes (F-01, F-02).
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_PROBES: u32 = 3;
/// Unacknowledged data does not wait longer than this.
const USER_TIMEOUT: Duration = Duration::from_secs(30);

/// A socket that another thread may shut down.
struct Socket {
    stream: TcpStream,
    down: AtomicBool,
}

impl Socket {
    fn is_down(&self) -> bool {
        self.down.load(Ordering::SeqCst)
    }
}

impl ShutdownHandle for Socket {
    fn shutdown(&self) {
        self.down.store(true, Ordering::SeqCst);
        // An error says that the socket is closed already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// The hook of a socket with the stop of a scope.
struct Bound {
    scope: u64,
    _hook: Option<OnStop>,
}

impl Bound {
    /// Registers `socket` with the scope in force.
    fn to_current(socket: &Arc<Socket>) -> Bound {
        let Some(scope) = scope::current() else { return Bound { scope: 0, _hook: None } };
        let weak: Weak<Socket> = Arc::downgrade(socket);
        let hook = scope.on_stop(move || {
            if let Some(socket) = weak.upgrade() {
                socket.shutdown();
            }
        });
        Bound { scope: scope.id(), _hook: Some(hook) }
    }
}

/// Connects to the first address that takes the connection.
#[derive(Debug)]
pub(super) struct TcpConnector;

/// A chain of connectors with one limit for all of it: look-up, connect, proxy and TLS, from the start of the request.
#[derive(Debug)]
pub(super) struct WholeConnector<C>(pub(super) C);

impl<C: Connector<()>> Connector<()> for WholeConnector<C> {
    type Out = C::Out;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<()>,
    ) -> Result<Option<C::Out>, ureq::Error> {
        let began = scope::current().map_or_else(|| SystemClock.now(), |scope| scope.began());
        let at = details.timeout.not_zero().and_then(|limit| began.checked_add(*limit));
        scope::until(at, || self.0.connect(details, chained))
    }
}

impl<In: Transport> Connector<In> for TcpConnector {
    type Out = Either<In, TcpTransport>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        match chained {
            Some(chained) => Ok(Some(Either::A(chained))), // a proxy connector made it
            None => connect(details, details.uri, &details.addrs).map(|made| Some(Either::B(made))),
        }
    }
}

/// Connects to one of `addresses`, which are those of `uri`.
pub(super) fn connect(
    details: &ConnectionDetails<'_>,
    uri: &Uri,
    addresses: &[SocketAddr],
) -> Result<TcpTransport, ureq::Error> {
    let limit = details.timeout.not_zero().map(|limit| *limit);
    let deadline = limit.and_then(|limit| time::deadline(&SystemClock, limit));
    let deadline = deadline.into_iter().chain(scope::deadline()).min();
    let mut last = ureq::Error::HostNotFound;
    for (tried, address) in addresses.iter().enumerate() {
        // Every address gets its share, so that a black hole before the good one does not use all the time.
        let untried = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        let share = deadline.map(|at| {
            let now = SystemClock.now();
            now + at.saturating_duration_since(now) / untried
        });
        let register = |socket: &Arc<Socket>| {
            let weak: Weak<Socket> = Arc::downgrade(socket);
            (details.register_shutdown)(weak)
        };
        match dial(*address, share, register) {
            Ok((socket, bound)) => {
                let (input, output) =
                    (details.config.input_buffer_size(), details.config.output_buffer_size());
                return Ok(TcpTransport {
                    socket,
                    buffers: LazyBuffers::new(input, output),
                    read_limit: None,
                    write_limit: None,
                    bound,
                });
            }
            Err(Dial::Failed(error)) => {
                log::debug!(target: "informer::http", "connect to {address}: {error}");
                last = wrap(refusal(error, &origin(uri), *address));
            }
            Err(Dial::TimedOut) => last = ureq::Error::Timeout(details.timeout.reason),
            Err(Dial::Ended(error)) => return Err(error),
        }
    }
    Err(last)
}

fn refusal(error: io::Error, origin: &str, address: SocketAddr) -> Error {
    let at = if origin.contains(&address.ip().to_string()) { String::new() } else { format!(" ({address})") };
    if error.kind() == io::ErrorKind::ConnectionRefused {
        let text = format!(
            "connect to {origin}{at}: connection refused; is the API server running and the address right?"
        );
        return Error::new(ErrorKind::Refused, text).with_source(error);
    }
    let text = format!("connect to {origin}{at}: {error}");
    Error::new(describe_io(error).kind(), text)
}

/// Why one address did not do.
enum Dial {
    /// The next address may.
    Failed(io::Error),
    /// The next address may.
    TimedOut,
    /// No other address is to be tried.
    Ended(ureq::Error),
}

impl From<rustix::io::Errno> for Dial {
    fn from(error: rustix::io::Errno) -> Self {
        Dial::Failed(error.into())
    }
}

impl From<io::Error> for Dial {
    fn from(error: io::Error) -> Self {
        Dial::Failed(error)
    }
}

/// Connects to one address until `at`.
fn dial(
    address: SocketAddr,
    at: Option<Instant>,
    register: impl FnOnce(&Arc<Socket>) -> Result<(), ureq::Error>,
) -> Result<(Arc<Socket>, Bound), Dial> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let stream =
        TcpStream::from(rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?);
    set_options(&stream)?;
    let socket = Arc::new(Socket { stream, down: AtomicBool::new(false) });
    // Before connecting: shutting down a socket that is connecting ends the attempt.
    register(&socket).map_err(Dial::Ended)?;
    let bound = Bound::to_current(&socket);
    if !socket.is_down() {
        match rustix::net::connect(&socket.stream, &address) {
            Ok(()) => {}
            Err(rustix::io::Errno::INPROGRESS) => wait_connected(&socket, at)?,
            Err(_) if socket.is_down() => {}
            Err(error) => return Err(error.into()),
        }
    }
    // Last of all: a shutdown from here on shows in the first read or write.
    if socket.is_down() {
        return Err(Dial::Ended(wrap(Error::stopped())));
    }
    socket.stream.set_nonblocking(false)?;
    Ok((socket, bound))
}

fn set_options(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_tcp_nodelay(stream, true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(stream, KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(stream, KEEPALIVE_PROBES)?;
    let millis = u32::try_from(USER_TIMEOUT.as_millis()).unwrap_or(u32::MAX);
    sockopt::set_tcp_user_timeout(stream, millis)?;
    Ok(())
}

/// Waits until the connection is there, the socket is shut down, or it is `at`.
fn wait_connected(socket: &Socket, at: Option<Instant>) -> Result<(), Dial> {
    loop {
        // The order of connect, flag, poll loses no shutdown: one before the flag is seen, one after wakes poll.
        if socket.is_down() {
            return Ok(());
        }
        let left = at.map(|at| at.saturating_duration_since(SystemClock.now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let mut wanted = [PollFd::new(&socket.stream, PollFlags::OUT)];
        match poll(&mut wanted, left.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(0) => return Err(Dial::TimedOut),
            Ok(_) if socket.is_down() => return Ok(()),
            Ok(_) => return sockopt::socket_error(&socket.stream)?.map_err(Dial::from),
        }
    }
}

/// A connected socket as ureq wants it.
pub(super) struct TcpTransport {
    socket: Arc<Socket>,
    buffers: LazyBuffers,
    /// The limits set on the socket, so that they are set again only when they change.
    read_limit: Option<Duration>,
    write_limit: Option<Duration>,
    bound: Bound,
}

impl TcpTransport {
    fn failed(&self, error: io::Error, timeout: NextTimeout) -> ureq::Error {
        if self.socket.is_down() {
            return wrap(Error::stopped());
        }
        match error.kind() {
            // What the limits of a socket say. ETIMEDOUT is another thing: TCP has given the peer up.
            io::ErrorKind::WouldBlock => ureq::Error::Timeout(timeout.reason),
            _ => from_io(error),
        }
    }
}

/// The limit of one read or write: what ureq says, and what is left of the time that all of them have.
fn within(timeout: NextTimeout) -> Result<Option<Duration>, ureq::Error> {
    let limit = timeout.not_zero().map(|limit| *limit);
    let Some(at) = scope::deadline() else { return Ok(limit) };
    let left = at.saturating_duration_since(SystemClock.now());
    if left.is_zero() {
        return Err(ureq::Error::Timeout(timeout.reason));
    }
    Ok(Some(limit.map_or(left, |limit| limit.min(left))))
}

impl Transport for TcpTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        let timeout = timeout.for_write();
        if timeout.after.is_zero() {
            return Err(ureq::Error::Timeout(timeout.reason));
        }
        // A connection from the pool goes over to the request that uses it now.
        if self.bound.scope != scope::current_id() {
            self.bound = Bound::to_current(&self.socket);
        }
        let limit = within(timeout)?;
        if limit != self.write_limit {
            self.socket.stream.set_write_timeout(limit).map_err(from_io)?;
            self.write_limit = limit;
        }
        let output = &self.buffers.output()[..amount];
        let written = (&self.socket.stream).write_all(output);
        written.map_err(|error| self.failed(error, timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        let timeout = timeout.for_read();
        if timeout.after.is_zero() {
            return Err(ureq::Error::Timeout(timeout.reason));
        }
        let limit = within(timeout)?;
        if limit != self.read_limit {
            self.socket.stream.set_read_timeout(limit).map_err(from_io)?;
            self.read_limit = limit;
        }
        let read = loop {
            match (&self.socket.stream).read(self.buffers.input_append_buf()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        let read = read.map_err(|error| self.failed(error, timeout))?;
        if read == 0 && self.socket.is_down() {
            return Err(wrap(Error::stopped())); // our own doing, not the end of a body
        }
        self.buffers.input_appended(read);
        Ok(read != 0)
    }

    fn is_open(&mut self) -> bool {
        if self.socket.is_down() || self.socket.stream.set_nonblocking(true).is_err() {
            return false;
        }
        // A byte nobody asked for and the end of the stream both say that the connection is not to be used.
        let silent = matches!((&self.socket.stream).read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        self.socket.stream.set_nonblocking(false).is_ok() && silent
    }
}

impl fmt::Debug for TcpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TcpTransport") // the buffers hold credentials
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::OwnedFd;
    use std::sync::mpsc;

    use informer_core::Stop;
    use informer_core::sync::spawn;
    use rustix::net::socket_with;

    #[test]
    fn f_02_keepalive_begins_well_within_the_idle_limit_of_middleboxes() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let dialled = dial(listener.local_addr().unwrap(), None, |_| Ok(()));
        let Ok((socket, _bound)) = dialled else { panic!("the listener takes connections") };
        assert!(sockopt::socket_keepalive(&socket.stream).unwrap());
        assert_eq!(sockopt::tcp_keepidle(&socket.stream).unwrap(), Duration::from_secs(30));
        assert_eq!(sockopt::tcp_keepintvl(&socket.stream).unwrap(), Duration::from_secs(10));
        assert_eq!(sockopt::tcp_keepcnt(&socket.stream).unwrap(), 3);
        assert_eq!(sockopt::tcp_user_timeout(&socket.stream).unwrap(), 30_000);
        assert!(sockopt::tcp_nodelay(&socket.stream).unwrap());
    }

    #[test]
    fn f_56_a_stop_ends_a_connect_into_the_void() {
        let (address, _full) = black_hole();
        let stop = Stop::new();
        let theirs = stop.clone();
        let (tell, told) = mpsc::channel();
        let stopper = spawn("stopper", move || {
            told.recv().unwrap();
            theirs.set();
        })
        .unwrap();
        let at = SystemClock.now() + Duration::from_secs(10);
        let (dialled, _) = scope::scoped(&stop, || {
            dial(address, Some(at), |_| {
                tell.send(()).unwrap(); // from here on, in whatever order
                Ok(())
            })
        });
        let Err(Dial::Ended(error)) = dialled else { panic!("the limit ended it, not the stop") };
        assert!(
            matches!(error, ureq::Error::Other(error) if error.downcast_ref::<Error>().unwrap().is_stopped())
        );
        stopper.join().unwrap();
    }

    #[test]
    fn f_100_a_connect_into_the_void_ends_at_its_limit() {
        let (address, _full) = black_hole();
        let at = SystemClock.now() + Duration::from_millis(20);
        assert!(matches!(dial(address, Some(at), |_| Ok(())), Err(Dial::TimedOut)));
        assert!(at <= SystemClock.now());
    }

    /// A listener whose queue is full: the system answers no further connect.
    fn black_hole() -> (SocketAddr, (TcpListener, Vec<OwnedFd>)) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::listen(&listener, 0).unwrap(); // shortens the queue
        let address = listener.local_addr().unwrap();
        let fill = || {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
            let _ = rustix::net::connect(&socket, &address);
            socket
        };
        let queued = (0..4).map(|_| fill()).collect();
        (address, (listener, queued))
    }
}
