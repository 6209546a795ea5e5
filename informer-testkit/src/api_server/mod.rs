//! [`ApiServer`]: a Kubernetes API server in the process of the test, on threads.
//!
//! HTTP ([`http`]) reads calls and writes answers; [`Front`] decides who may ask and tells what the server is; the
//! [`Engine`] has the objects. Nothing below HTTP knows of sockets, nothing in the store of time or locks.

mod about;
mod access;
mod backlog;
mod body;
mod builtin;
mod coding;
mod control;
mod convert;
mod create;
mod custom;
mod defaults;
mod delete;
mod direct;
mod discovery;
mod engine;
mod exchange;
mod fault;
mod get;
mod go_json;
mod http;
mod kubeconfig;
mod list;
mod managed;
mod memory;
mod merge_keys;
mod misbehave;
mod moment;
mod names;
mod openapi;
mod options;
mod past;
mod patch;
mod protobuf;
mod representation;
mod requests;
mod resource;
mod reviews;
mod route;
mod scale;
mod schema;
mod selector;
mod status;
mod store;
mod table;
#[cfg(test)]
mod tests;
#[cfg(feature = "tls")]
mod tls;
mod token;
mod update;
mod watch;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use informer_core::sync::Mutex;
use informer_core::{Clock, Error, ErrorKind, Result, SystemClock};

use access::Access;
use control::Control;
use engine::Engine;
use exchange::{Answer, Call};
use http::{Listener, Security, Service};
use memory::History;

pub use fault::{Calls, Fault, Injected, Phase};
#[cfg(any(test, feature = "fuzz-internals"))]
pub use http::fuzz;
pub use past::Snapshot;
pub use requests::{Ending, ServedRequest};

/// A Kubernetes API server on loopback, in this process.
///
/// It behaves as a kube-apiserver does towards informers, clients and kubectl: discovery, lists in pages and at a
/// version, watches with bookmarks, selectors, conflicts, patches, status, finalizers, custom resources of definitions
/// that are created while it runs. It has no controllers: nobody runs Pods. What it holds is in memory and goes with
/// it.
///
/// ```
/// use informer_testkit::ApiServer;
/// use serde_json::json;
///
/// let server = ApiServer::start()?;
/// // Any client can talk to it, through `server.url()` or `server.kubeconfig()`; tests write without one.
/// let made = server.create("configmaps", json!({ "metadata": { "name": "a" }, "data": { "k": "1" } }))?;
/// server.merge_patch("configmaps", "default/a", &json!({ "data": { "k": "2" } }))?;
/// let now = server.get("configmaps", "default/a")?;
/// assert_eq!(now["data"]["k"], "2");
/// assert_ne!(now["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
/// assert!(server.update("configmaps", made).unwrap_err().is_conflict());
/// server.delete("configmaps", "default/a")?;
/// server.stop();
/// # Ok::<(), informer_core::Error>(())
/// ```
///
/// # Threads
///
/// `api-accept` accepts connections and notices clients that have gone; `api-conn-N` serves one connection. All end,
/// and are joined, in [`stop`](ApiServer::stop) and on drop.
///
/// # Limits
///
/// | what | how much | beyond it |
/// |---|---|---|
/// | connections, and threads for them | 512 | 503 and a close, at once; over TLS a close |
/// | head of a request | 1 MiB, 1,024 fields | 431 and a close |
/// | body of a request | 3 MiB | 413 and a close |
/// | changes that wait for a watch | 1,000 | a watch that takes nothing for 100 ms of the server's clock meanwhile ends in good order |
/// | changes that a resource remembers | 10,000, unless it is said | 410 for versions before them |
/// | requests that are remembered | 4,096 | the oldest are forgotten |
pub struct ApiServer {
    engine: Arc<Engine>,
    listener: Listener,
    front: Arc<Front>,
    security: Security,
    address: SocketAddr,
    url: String,
    /// The certificate of the server's authority, as PEM.
    authority: Option<String>,
}

/// How an [`ApiServer`] is to be; from [`ApiServer::builder`].
#[derive(Debug)]
#[must_use = "a builder does nothing until it is started"]
pub struct ApiServerBuilder {
    port: u16,
    tls: bool,
    access: Access,
    clock: Arc<dyn Clock>,
    history: History,
}

impl ApiServer {
    /// A server on a free port of 127.0.0.1, without TLS, that lets everybody in.
    ///
    /// # Errors
    /// When there is no socket or no thread to be had.
    pub fn start() -> Result<ApiServer> {
        ApiServer::builder().start()
    }

    /// What a server may be given before it starts.
    pub fn builder() -> ApiServerBuilder {
        ApiServerBuilder {
            port: 0,
            tls: false,
            access: Access::default(),
            clock: Arc::new(SystemClock),
            history: History::default(),
        }
    }

    /// `http://127.0.0.1:PORT`, or `https:`; without a slash at the end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A kubeconfig whose only context is this server, with its authority and the first of its tokens;
    /// over TLS without tokens, with one that means nothing, since kubectl wants one.
    ///
    /// ```
    /// let server = informer_testkit::ApiServer::start()?;
    /// assert!(server.kubeconfig().contains(server.url()));
    /// # Ok::<(), informer_core::Error>(())
    /// ```
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        // kubectl asks a person for a name if a server speaks TLS and the file has nothing to log in with. A server
        // without tokens takes any.
        let any = self.authority.as_ref().map(|_| "any");
        let token = self.front.access.token_of(None).or(any);
        kubeconfig::kubeconfig(&self.url, self.authority.as_deref(), token)
    }

    /// The same with the token of `user`; without any where that user has none.
    #[must_use]
    pub fn kubeconfig_of(&self, user: &str) -> String {
        kubeconfig::kubeconfig(&self.url, self.authority.as_deref(), self.front.access.token_of(Some(user)))
    }

    /// Writes [`kubeconfig`](ApiServer::kubeconfig) to a file, for `kubectl --kubeconfig`.
    ///
    /// # Errors
    /// When the file cannot be written; the error names it.
    pub fn write_kubeconfig(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        std::fs::write(path, self.kubeconfig()).map_err(|error| {
            let what = format!("the kubeconfig cannot be written to {}", path.display());
            Error::new(ErrorKind::Config, what).with_source(error)
        })
    }

    /// Ends every watch and every connection and comes back at the same address, with its objects.
    ///
    /// As a real server does that has forgotten its history: a watch from a version of before is answered 410.
    ///
    /// ```
    /// use informer_testkit::ApiServer;
    /// use serde_json::json;
    ///
    /// let mut server = ApiServer::start()?;
    /// server.create("configmaps", json!({ "metadata": { "name": "a" } }))?;
    /// server.restart()?;
    /// assert_eq!(server.list("configmaps")?.len(), 1);
    /// server.restart_empty()?;
    /// assert_eq!(server.list("configmaps")?.len(), 0);
    /// # Ok::<(), informer_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the port has been taken meanwhile, or there is no thread to be had; the server is stopped then.
    ///
    /// # Blocking
    /// As [`stop`](ApiServer::stop).
    pub fn restart(&mut self) -> Result<()> {
        self.stop();
        self.engine.compact();
        self.engine.resume();
        self.replace(Arc::clone(&self.engine))
    }

    /// The same without its objects, as a cluster that was set up again: versions start from the bottom.
    ///
    /// # Errors
    /// As [`restart`](ApiServer::restart).
    ///
    /// # Blocking
    /// As [`stop`](ApiServer::stop).
    pub fn restart_empty(&mut self) -> Result<()> {
        self.stop();
        self.replace(Engine::new(Arc::clone(&self.engine.clock), self.engine.history))
    }

    /// Comes back, with this engine.
    fn replace(&mut self, engine: Arc<Engine>) -> Result<()> {
        self.front.follow(None);
        self.engine = Arc::clone(&engine);
        self.front = Arc::new(Front { engine, ..(*self.front).clone() });
        self.listen()
    }

    fn listen(&mut self) -> Result<()> {
        self.listener = Arc::clone(&self.front).listen(listen(self.address)?, &self.security)?;
        Ok(())
    }

    /// Ends every watch, closes every connection and joins every thread. Doing it again does nothing. Objects can
    /// still be read and written from Rust.
    ///
    /// # Blocking
    /// Until what is being answered has been sent, for 1 second at most.
    pub fn stop(&self) {
        // Before the engine: what ends from now on ends because of the stop.
        self.listener.close();
        self.engine.stop();
        self.front.stop_replica();
        self.listener.stop();
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer")
            .field("url", &self.url)
            .field("access", &self.front.access)
            .finish_non_exhaustive()
    }
}

impl ApiServerBuilder {
    /// Listens on this port instead of a free one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Speaks TLS, with an authority of its own that [`kubeconfig`](ApiServer::kubeconfig) names.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: bool) -> Self {
        self.tls = tls;
        self
    }

    /// Lets in `user` with this bearer token, and from then on nobody without one: 401 for a token that nobody has,
    /// 403 without any. Several users may be let in, each with several tokens.
    ///
    /// ```
    /// use informer_testkit::ApiServer;
    ///
    /// let server = ApiServer::builder().token("s3cret", "jane").token("other", "joe").start()?;
    /// assert!(server.kubeconfig().contains("s3cret"));
    /// assert!(server.kubeconfig_of("joe").contains("other"));
    /// assert!(!format!("{server:?}").contains("s3cret"));
    /// # Ok::<(), informer_core::Error>(())
    /// ```
    pub fn token(mut self, token: impl Into<String>, user: impl Into<String>) -> Self {
        self.access.admit(token.into(), user.into());
        self
    }

    /// Takes the time from `clock`: of timestamps, bookmarks, the ends of watches, the wait for a version to come, and
    /// the age of what is forgotten.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Starts the server.
    ///
    /// # Errors
    /// When the port is taken, or there is no socket or no thread to be had.
    pub fn start(self) -> Result<ApiServer> {
        let ApiServerBuilder { port, tls, access, clock, history } = self;
        let socket = listen(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        let address = socket.local_addr().map_err(|error| {
            Error::new(ErrorKind::Network, "the listening socket has no address").with_source(error)
        })?;
        let (security, authority) = security(tls)?;
        let scheme = if authority.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{address}");
        let control = Arc::new(Control::new(Arc::clone(&clock)));
        let engine = Engine::new(clock, history);
        let (theirs, address_text) = (Arc::clone(&engine), address.to_string());
        let front = Arc::new(Front {
            engine: theirs,
            access,
            control,
            replica: Arc::default(),
            address: address_text,
        });
        let listener = Arc::clone(&front).listen(socket, &security)?;
        Ok(ApiServer { engine, listener, front, security, address, url, authority })
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).map_err(|error| {
        let what = format!("port {} of {} cannot be listened on", address.port(), address.ip());
        Error::new(ErrorKind::Network, what).with_source(error)
    })
}

#[cfg(feature = "tls")]
fn security(tls: bool) -> Result<(Security, Option<String>)> {
    if !tls {
        return Ok((Security::Plain, None));
    }
    let (config, authority) = tls::configuration()?;
    Ok((Security::Tls(config), Some(authority)))
}

#[cfg(not(feature = "tls"))]
fn security(_: bool) -> Result<(Security, Option<String>)> {
    Ok((Security::Plain, None))
}

/// What answers HTTP: who may ask, what the server tells of itself, and the engine for all else.
#[derive(Clone)]
struct Front {
    engine: Arc<Engine>,
    access: Access,
    control: Arc<Control>,
    /// Who answers what need not be the newest; none: the engine.
    replica: Arc<Mutex<Option<Arc<Engine>>>>,
    /// Host and port, for discovery.
    address: String,
}

impl Front {
    fn listen(self: Arc<Self>, socket: TcpListener, security: &Security) -> Result<Listener> {
        Listener::start(socket, security.clone(), self).map_err(|error| {
            Error::new(ErrorKind::Spawn, "the API server has no thread to accept with").with_source(error)
        })
    }
}

impl Service for Front {
    fn control(&self) -> &Control {
        &self.control
    }

    fn answer(&self, call: Call) -> Answer {
        let welcome = coding::is_welcome(&call);
        let mut answer = self.plain(call);
        if let Answer::Whole(whole) = &mut answer
            && welcome
        {
            coding::compress(whole);
        }
        answer
    }
}

impl Front {
    /// The answer as it is before anything compresses it.
    fn plain(&self, mut call: Call) -> Answer {
        call.user = match self.access.identify(&call) {
            Ok(user) => user,
            Err(status) => return Answer::Whole(status.answer()),
        };
        if let Err(status) = protobuf::translate(&mut call) {
            return Answer::Whole(status.answer());
        }
        let registry = self.engine.registry();
        let own = about::answer(&call, &registry)
            .or_else(|| discovery::answer(&call, &registry, &self.address))
            .or_else(|| openapi::answer(&call, &registry))
            .or_else(|| reviews::answer(&call, &registry, &self.engine, &self.access));
        own.map_or_else(|| self.engine_for(&call).answer(&call), Answer::Whole)
    }
}
