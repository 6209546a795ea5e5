//! [`ScriptedServer`]: an HTTP/1.1 server on loopback that does what a script says, byte for byte.
//!
//! One thread accepts and one serves each connection; all end, and are joined, when the server is dropped. A
//! connection's socket is owned by its thread alone (the list below holds it weakly), so that dropping it there is
//! the close, orderly or not.

mod requests;
mod talk;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use informer_core::sync::{JoinHandle, Monitor, Mutex};
use informer_core::{Clock, Stop, SystemClock};
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::clock::ManualClock;
use crate::deadline::Deadline;
use crate::http::Request;
use crate::script::{Action, Progress, Script};
use crate::threads;
use talk::{Close, talk};

/// A server on loopback that follows a [`Script`].
///
/// A request that the script does not expect is answered 500 and makes [`finish`](ScriptedServer::finish) fail.
///
/// ```
/// use std::io::{Read, Write};
/// use informer_testkit::ScriptedServer;
/// use informer_testkit::script::{Expect, Script, added, fin, head, object};
///
/// let a = object("default/a", "u1", "101");
/// let watch = Expect::watch().rv("100").answer([head(), added(&a), fin()]);
/// let server = ScriptedServer::start(Script::in_order([watch]));
///
/// let mut stream = std::net::TcpStream::connect(server.addr()).unwrap();
/// stream.write_all(b"GET /api/v1/configmaps?watch=1&resourceVersion=100 HTTP/1.1\r\n\r\n").unwrap();
/// let mut answer = String::new();
/// stream.read_to_string(&mut answer).unwrap();
/// assert!(answer.contains(r#"{"type":"ADDED","object":{"#));
/// assert_eq!(server.trace(), "WATCH rv=100");
/// server.finish();
/// ```
pub struct ScriptedServer {
    addr: SocketAddr,
    shared: Arc<Shared>,
    /// The thread that accepts; none while connections are refused.
    acceptor: Mutex<Option<Acceptor>>,
    /// Keeps the port while nobody listens on it.
    _port: OwnedFd,
}

struct Shared {
    /// Set when the server goes away: ends what waits.
    stop: Stop,
    /// What pauses and the times of requests go by, if not by real time.
    clock: Option<ManualClock>,
    /// The start, by that clock.
    began: Instant,
    monitor: Arc<Monitor<State>>,
}

struct State {
    script: Progress,
    requests: Vec<Request>,
    /// What the script did not provide for, as text.
    surprises: Vec<String>,
    connections: Vec<Connection>,
    threads: Vec<JoinHandle<()>>,
}

struct Connection {
    /// Only its thread holds it strongly.
    stream: Weak<TcpStream>,
    closed: Option<ClosedBy>,
}

/// Who closed a connection first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedBy {
    /// The client.
    Client,
    /// The server: by its script, or because it was dropped.
    Server,
}

struct Acceptor {
    quit: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl ScriptedServer {
    /// Starts a server on a free port of loopback.
    ///
    /// # Panics
    /// When there is no socket to be had; when the script has pauses but no clock.
    #[must_use]
    pub fn start(script: Script) -> Self {
        let server = ScriptedServer::start_refusing(script);
        server.accept_connections();
        server
    }

    /// As [`start`](ScriptedServer::start), but connections are refused until
    /// [`accept_connections`](ScriptedServer::accept_connections).
    ///
    /// # Panics
    /// When there is no socket to be had; when the script has pauses but no clock.
    #[must_use]
    pub fn start_refusing(mut script: Script) -> Self {
        let clock = script.take_clock();
        let (port, addr) = keep_port().expect("loopback has a free port");
        let state = State {
            script: script.begin(),
            requests: Vec::new(),
            surprises: Vec::new(),
            connections: Vec::new(),
            threads: Vec::new(),
        };
        let shared = Arc::new(Shared {
            stop: Stop::new(),
            began: now(clock.as_ref()),
            clock,
            monitor: Arc::new(Monitor::new(state)),
        });
        ScriptedServer { addr, shared, acceptor: Mutex::new(None), _port: port }
    }

    /// `http://127.0.0.1:PORT`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The address.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// A kubeconfig whose only context is this server, without credentials.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        let url = self.url();
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
             clusters: [{{ name: test, cluster: {{ server: \"{url}\" }} }}]\n\
             users: [{{ name: test, user: {{}} }}]\n\
             contexts: [{{ name: test, context: {{ cluster: test, user: test }} }}]\n"
        )
    }

    /// From now on connections are refused, as when no server runs; open ones go on.
    pub fn refuse_connections(&self) {
        let acceptor = self.acceptor.lock().take();
        if let Some(acceptor) = acceptor {
            acceptor.end(self.addr);
        }
    }

    /// Connections are accepted again, on the same port.
    ///
    /// # Panics
    /// When the port cannot be listened on.
    pub fn accept_connections(&self) {
        let mut acceptor = self.acceptor.lock();
        if acceptor.is_some() {
            return;
        }
        let listener = TcpListener::bind(self.addr).expect("the port is kept for this server");
        let quit = Arc::new(AtomicBool::new(false));
        let (shared, theirs) = (Arc::clone(&self.shared), Arc::clone(&quit));
        let thread = threads::spawn("scripted-accept", move || accept(&listener, &shared, &theirs));
        *acceptor = Some(Acceptor { quit, thread });
    }

    /// Every request so far, those the script did not expect included.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.monitor.lock().requests.clone()
    }

    /// Every request so far as text, one a line (`LIST rv=0`, `WATCH rv=10`, `GET /version`): what to compare a
    /// sequence with.
    #[must_use]
    pub fn trace(&self) -> String {
        self.shared.monitor.lock().trace()
    }

    /// Waits until there were at least `count` requests and answers all there were.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds; the message has the requests.
    #[track_caller]
    pub fn wait_for_requests(&self, count: usize) -> Vec<Request> {
        self.wait(&format!("{count} requests"), |state| {
            (count <= state.requests.len()).then(|| state.requests.clone())
        })
    }

    /// Waits until every exchange of the script has begun as often as it must.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds; the message has the requests and what is missing.
    #[track_caller]
    pub fn wait_for_script(&self) {
        self.wait("the end of the script", |state| state.script.missing().is_empty().then_some(()));
    }

    /// How many connections there have been.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.monitor.lock().connections.len()
    }

    /// Waits until connection `number` (counted from 0) is closed, and answers by whom. A close by the client is seen
    /// where the server reads: between two requests, and during a stall.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds; the message has the requests.
    #[track_caller]
    pub fn wait_for_close(&self, number: usize) -> ClosedBy {
        self.wait(&format!("the close of connection {number}"), |state| state.connections.get(number)?.closed)
    }

    /// Ends the server and asserts that the script was followed to its end.
    ///
    /// # Panics
    /// When a request came that the script did not expect, or an exchange did not happen as often as it must; the
    /// message has all requests.
    #[track_caller]
    pub fn finish(self) {
        let state = self.shared.monitor.lock();
        let (surprises, missing, trace) = (state.surprises.clone(), state.script.missing(), state.trace());
        drop(state);
        drop(self);
        assert!(
            surprises.is_empty() && missing.is_empty(),
            "the script was not followed; unexpected: {surprises:?}; missing: {missing:?}; requests:\n{trace}"
        );
    }

    #[track_caller]
    fn wait<R>(&self, what: &str, mut ready: impl FnMut(&State) -> Option<R>) -> R {
        Deadline::new().wait_on(&self.shared.monitor, what, |state| ready(state), State::summary)
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.refuse_connections();
        self.shared.stop.set();
        let mut state = self.shared.monitor.lock();
        for connection in &state.connections {
            if let Some(stream) = connection.stream.upgrade() {
                // It may be closed already; then there is nothing to wake.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        let threads = std::mem::take(&mut state.threads);
        drop(state);
        for thread in threads {
            // A panic there has been printed, and shows as a connection that ended early.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for ScriptedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedServer").field("addr", &self.addr).finish_non_exhaustive()
    }
}

impl Acceptor {
    fn end(self, addr: SocketAddr) {
        self.quit.store(true, Ordering::Release);
        // Wakes the accept; it makes no difference whether it is this connection or another that does.
        let wake = TcpStream::connect_timeout(&addr, Duration::from_secs(5));
        let _ = self.thread.join();
        drop(wake);
    }
}

impl State {
    fn trace(&self) -> String {
        let lines: Vec<_> = self.requests.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    fn summary(&self) -> String {
        format!(
            "a script that misses {:?}, with {:?} unexpected, after the requests:\n{}",
            self.script.missing(),
            self.surprises,
            self.trace()
        )
    }
}

/// Binds a port of loopback without listening on it. Whoever binds it too must say `SO_REUSEADDR`, as std does.
fn keep_port() -> io::Result<(OwnedFd, SocketAddr)> {
    let socket =
        rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    rustix::net::sockopt::set_socket_reuseaddr(&socket, true)?;
    rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    let bound = rustix::net::getsockname(&socket)?;
    let addr = SocketAddr::try_from(bound)?;
    Ok((socket, addr))
}

/// The accepting thread.
fn accept(listener: &TcpListener, shared: &Arc<Shared>, quit: &AtomicBool) {
    loop {
        let accepted = listener.accept();
        if quit.load(Ordering::Acquire) {
            return;
        }
        let Ok((stream, _)) = accepted else {
            continue; // the client was gone before it was accepted
        };
        // Each action goes out by itself.
        let _ = stream.set_nodelay(true);
        let stream = Arc::new(stream);
        let mut state = shared.monitor.lock();
        let number = state.connections.len();
        state.connections.push(Connection { stream: Arc::downgrade(&stream), closed: None });
        let first = state.script.take_connection();
        let theirs = Arc::clone(shared);
        let thread = threads::spawn(&format!("scripted-{number}"), move || {
            serve(&theirs, stream, number, first.as_deref());
        });
        state.threads.push(thread);
        drop(state);
        shared.monitor.notify_all();
    }
}

/// The thread of one connection.
fn serve(shared: &Shared, stream: Arc<TcpStream>, number: usize, first: Option<&[Action]>) {
    let close = talk(shared, &stream, number, first);
    let by = match close {
        Close::ByClient if !shared.stop.is_set() => ClosedBy::Client,
        Close::ByClient | Close::Orderly => ClosedBy::Server,
        Close::Abortive => {
            // Without it the close below is an orderly one, which a test would notice.
            let _ = rustix::net::sockopt::set_socket_linger(&*stream, Some(Duration::ZERO));
            ClosedBy::Server
        }
    };
    drop(stream);
    shared.monitor.lock().connections[number].closed = Some(by);
    shared.monitor.notify_all();
}

fn now(clock: Option<&ManualClock>) -> Instant {
    clock.map_or_else(|| SystemClock.now(), Clock::now)
}

impl Shared {
    /// Records a request and answers what to do about it.
    fn take(&self, mut request: Request) -> Option<Arc<[Action]>> {
        request.at = now(self.clock.as_ref()).saturating_duration_since(self.began);
        let mut state = self.monitor.lock();
        let actions = state.script.take(&request);
        if actions.is_none() {
            state.surprises.push(request.to_string());
        }
        state.requests.push(request);
        drop(state);
        self.monitor.notify_all();
        actions
    }

    fn surprise(&self, what: String) {
        self.monitor.lock().surprises.push(what);
        self.monitor.notify_all();
    }
}
