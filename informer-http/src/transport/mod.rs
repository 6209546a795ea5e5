//! The transport: HTTP/1.1 by ureq over a connector chain of our own.
//!
//! What ureq's own connectors lack and this chain has: a stop ends name look-up, connect, TLS handshake, write
//! and read at once; dead peers are noticed by TCP; the name in the server's certificate can be set.
//! `ureq::unversioned` is used in this folder only. Invariant: after a transport error the connections that were
//! idle are gone, so that the next attempt opens a fresh one (D7).
//!
//! ```text
//! WholeConnector(SOCKS → CONNECT → TcpConnector → TlsConnector → ObserveConnector)
//! ```
//!
//! CONNECT is ureq's; SOCKS is not, since ureq's has a socket of its own, without keepalive and out of a stop's reach.

mod body;
mod dns;
mod error;
mod observe;
mod scope;
mod socket;
mod socks;
mod tls;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informer_core::sync::Mutex;
use informer_core::{Error, ErrorKind, Result, Stop};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use ureq::http::response::Parts as Head;
use ureq::http::{Request, Uri};
use ureq::unversioned::transport::{ConnectProxyConnector, Connector};
use ureq::{Agent, AsSendBody, Proxy};

pub(crate) use body::{Body, error_in};
pub(crate) use dns::{Lookup, system_lookup};
pub(crate) use error::Limits;

use error::translate;
use observe::ObserveConnector;

/// Where the TLS configuration comes from; asked before each request, so that rotated certificates count (D13).
pub(crate) trait TlsSource: fmt::Debug + Send + Sync {
    /// The configuration to use now. Another `Arc` than before makes the connections start afresh.
    ///
    /// # Errors
    /// When a certificate or a key cannot be read.
    fn current(&self) -> Result<Arc<ClientConfig>>;
}

impl TlsSource for Arc<ClientConfig> {
    fn current(&self) -> Result<Arc<ClientConfig>> {
        Ok(Arc::clone(self))
    }
}

/// How to reach the API server.
pub(crate) struct Route {
    /// `scheme://host:port` of the API server.
    pub server: String,
    /// What TLS to it takes.
    pub tls: Option<(Arc<dyn TlsSource>, Option<ServerName<'static>>)>,
    /// The proxy on the way; the environment is never looked at here.
    pub proxy: Option<Proxy>,
    /// Told to CONNECT proxies.
    pub user_agent: String,
    /// How names become addresses.
    pub lookup: Lookup,
}

/// How many connections are kept, and with what buffers; memory of an idle connection is about three times both.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Size {
    /// A list or a watch at a time.
    Informer,
    /// Requests of many threads.
    Shared,
}

impl Size {
    /// Bytes of the input and the output buffer of a transport.
    fn buffers(self) -> (usize, usize) {
        match self {
            Size::Informer => (16 * 1024, 4 * 1024),
            Size::Shared => (64 * 1024, 16 * 1024),
        }
    }

    fn idle(self) -> usize {
        match self {
            Size::Informer => 1,
            Size::Shared => 32,
        }
    }
}

/// A set of connections to one API server. Clones share them.
#[derive(Clone)]
pub(crate) struct Connections {
    shared: Arc<Shared>,
}

struct Shared {
    route: Arc<Route>,
    size: Size,
    made: Mutex<Option<Made>>,
}

struct Made {
    agent: Agent,
    tls: Option<Arc<ClientConfig>>,
}

/// A request that failed before its head had been read.
pub(crate) struct Failure {
    pub error: Error,
    /// The connection came from the pool and nothing came back: the server may have closed it while it was idle,
    /// so a request that changes nothing can go out once more (F-94).
    pub stale: bool,
}

impl Connections {
    pub(crate) fn new(route: Arc<Route>, size: Size) -> Self {
        Connections { shared: Arc::new(Shared { route, size, made: Mutex::new(None) }) }
    }

    /// `scheme://host:port` of the API server.
    pub(crate) fn server(&self) -> &str {
        &self.shared.route.server
    }

    /// Sends `request` and reads the head of the answer.
    ///
    /// # Blocking
    /// Until the head is there, a limit is reached, or `stop` is set.
    pub(crate) fn run(
        &self,
        request: Request<impl AsSendBody>,
        limits: Limits,
        stop: &Stop,
    ) -> Result<(Head, Body), Failure> {
        if stop.is_set() {
            return Err(Failure { error: Error::stopped(), stale: false });
        }
        let agent = self.agent().map_err(|error| Failure { error, stale: false })?;
        let request = agent
            .configure_request(request)
            .timeout_recv_response(Some(limits.head))
            .timeout_per_read(Some(limits.silence))
            .timeout_per_write(Some(limits.head))
            .timeout_send_request(Some(limits.head))
            .timeout_send_body(Some(limits.head))
            .timeout_resolve(Some(limits.connect))
            .timeout_connect(Some(limits.connect))
            .build();
        let (answer, trace) = scope::scoped(stop, || agent.run(request));
        match answer {
            Ok(answer) => {
                let (head, body) = answer.into_parts();
                Ok((head, Body::new(body, self.clone(), limits, stop.clone())))
            }
            Err(error) => {
                self.reset();
                let error = settle(translate(error, self.server(), limits), stop);
                let stale = trace.reused && !trace.answered && error.kind() == ErrorKind::Network;
                Err(Failure { error, stale })
            }
        }
    }

    /// Drops the idle connections.
    pub(crate) fn reset(&self) {
        let made = self.shared.made.lock().take();
        drop(made); // closes sockets: outside the lock
    }

    /// The agent of now: made anew after a reset and when the TLS configuration has changed.
    fn agent(&self) -> Result<Agent> {
        let tls = match &self.shared.route.tls {
            Some((source, _)) => Some(source.current()?),
            None => None,
        };
        let mut made = self.shared.made.lock();
        let same = made.as_ref().filter(|made| match (&made.tls, &tls) {
            (Some(old), Some(new)) => Arc::ptr_eq(old, new),
            (old, new) => old.is_none() && new.is_none(),
        });
        if let Some(same) = same {
            return Ok(same.agent.clone());
        }
        let agent = self.build(tls.clone());
        let old = made.replace(Made { agent: agent.clone(), tls });
        drop(made);
        drop(old);
        Ok(agent)
    }

    fn build(&self, tls: Option<Arc<ClientConfig>>) -> Agent {
        let route = &self.shared.route;
        let (input, output) = self.shared.size.buffers();
        let idle = self.shared.size.idle();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(route.proxy.clone())
            .user_agent(route.user_agent.as_str())
            .input_buffer_size(input)
            // A head that fills the buffer is too large, and not cut off by the server.
            .max_response_header_size(input - 1)
            .output_buffer_size(output)
            .max_idle_connections(idle)
            .max_idle_connections_per_host(idle)
            .max_idle_age(Duration::from_secs(90))
            .build();
        let name = route.tls.as_ref().and_then(|(_, name)| name.clone());
        let tls = tls.map(|config| tls::ServerTls { config, name });
        let chain =
            ().chain(socks::SocksConnector)
                .chain(ConnectProxyConnector::default())
                .chain(socket::TcpConnector)
                .chain(tls::TlsConnector::new(route.server.clone(), tls))
                .chain(ObserveConnector);
        Agent::with_parts(
            config,
            socket::WholeConnector(chain),
            dns::NameResolver::new(Arc::clone(&route.lookup)),
        )
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections")
            .field("server", &self.shared.route.server)
            .field("size", &self.shared.size)
            .finish_non_exhaustive()
    }
}

/// The error as seen from the request under `stop`.
///
/// Whatever a stop breaks looks like a stop; a connection that another request's stop broke is merely broken.
fn settle(error: Error, stop: &Stop) -> Error {
    match (stop.is_set(), error.is_stopped()) {
        (true, false) => Error::stopped(),
        (false, true) => Error::new(ErrorKind::Network, "the connection was closed by an earlier stop"),
        _ => error,
    }
}

/// `scheme://host:port` of `uri`: never its user, path or query.
pub(crate) fn origin(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or("http");
    let port = uri.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
    format!("{scheme}://{}:{port}", uri.host().unwrap_or_default())
}
