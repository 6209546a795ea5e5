//! [`Client`]: one API server, and how requests to it are made.
//!
//! Invariants: a request that may change something goes out at most once, except after a 401 and a 429 that asks to
//! wait, which have changed nothing; status and content type are checked before anything looks at a body; no header
//! and no body is ever logged.

use std::borrow::Borrow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use informer_core::{Clock, Error, ErrorKind, Result, Stage, Stop, SystemClock};
use jiff::Timestamp;
use rustls_pki_types::ServerName;
use serde::de::DeserializeOwned;
use ureq::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};

use crate::auth::Credentials;
use crate::config::{Config, Environment};
use crate::document::{OBJECT, read_document};
use crate::patience::Patience;
use crate::status::{Answer, ERROR_BODY};
use crate::transport::{
    Body, Connections, Failure, Limits, Lookup, Route, Size, TlsSource, origin, system_lookup,
};

/// Head of an ordinary answer, and silence within its body (D7).
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const JSON: &str = "application/json";

/// A connection to one API server; cheap to clone, clones share their connections.
///
/// It blocks, needs no runtime, and can be used from any number of threads.
///
/// ```
/// # fn main() -> informer_core::Result<()> {
/// let client = informer_http::Client::from_url("http://127.0.0.1:8001")?;
/// assert_eq!(client.server(), "http://127.0.0.1:8001");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    route: Arc<Route>,
    prefix: String,
    authorize: Option<Arc<dyn Authorize>>,
    headers: HeaderMap,
    compress_lists: bool,
    namespace: String,
    requests: Connections,
    clock: Arc<dyn Clock>,
}

/// Where the `Authorization` header comes from (D13).
pub(crate) trait Authorize: Send + Sync {
    /// The header to send now, marked sensitive; none if the credentials are not in a header.
    ///
    /// # Errors
    /// When the credentials cannot be had.
    fn header(&self) -> Result<Option<HeaderValue>>;

    /// The server did not accept what [`header`](Authorize::header) said: the next answer should be a fresh one.
    fn refresh(&self);
}

impl Authorize for Credentials {
    fn header(&self) -> Result<Option<HeaderValue>> {
        Ok(Credentials::header(self))
    }

    fn refresh(&self) {
        Credentials::refresh(self);
    }
}

/// What a [`Client`] is made from.
pub(crate) struct Connection {
    /// Address of the API server, a path before all others included.
    pub base: Uri,
    /// What TLS to it takes: the configuration and the name to check in place of the host.
    pub tls: Option<(Arc<dyn TlsSource>, Option<ServerName<'static>>)>,
    /// The proxy to go through; the environment is not asked any more.
    pub proxy: Option<ureq::Proxy>,
    /// The source of the `Authorization` header.
    pub authorize: Option<Arc<dyn Authorize>>,
    /// Sent with every request: impersonation.
    pub headers: HeaderMap,
    /// Whether lists may be compressed (`disable-compression`).
    pub compress_lists: bool,
    /// The namespace where none is named.
    pub namespace: String,
    /// Sent with every request.
    pub user_agent: String,
    /// How names become addresses.
    pub lookup: Lookup,
    /// By what clock a server is waited for.
    pub clock: Arc<dyn Clock>,
}

impl Connection {
    /// The plainest connection to `url`.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for an address that is none.
    pub(crate) fn new(url: &str) -> Result<Self> {
        // The text is not repeated where it may hold a password.
        let wrong = |what: &str| Error::new(ErrorKind::Config, format!("the server address {what}"));
        let full = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let base: Uri = full.parse().map_err(|error| wrong("is not a URL").with_source(error))?;
        let authority = base.authority().ok_or_else(|| wrong("names no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("holds credentials; put them into a kubeconfig"));
        }
        if base.query().is_some() {
            return Err(wrong("has a query; leave it out"));
        }
        if !matches!(base.scheme_str(), Some("http" | "https")) {
            return Err(wrong("must begin with http:// or https://"));
        }
        Ok(Connection {
            base,
            tls: None,
            proxy: None,
            authorize: None,
            headers: HeaderMap::new(),
            compress_lists: true,
            namespace: "default".to_owned(),
            user_agent: concat!("informer/", env!("CARGO_PKG_VERSION")).to_owned(),
            lookup: system_lookup(),
            clock: Arc::new(SystemClock),
        })
    }
}

/// One request.
pub(crate) struct Call<'a> {
    /// `list configmaps`: what error texts begin with.
    pub what: &'a str,
    pub method: Method,
    /// Path and query.
    pub target: &'a str,
    pub accept: &'static str,
    /// Whether a compressed answer is welcome.
    pub compressed: bool,
    /// Content type and body.
    pub body: Option<(HeaderValue, Vec<u8>)>,
    pub limits: Limits,
    /// The most bytes of a document that is read whole.
    pub bound: u64,
}

impl<'a> Call<'a> {
    /// A GET of a JSON document.
    pub(crate) fn get(what: &'a str, target: &'a str) -> Self {
        Call {
            what,
            method: Method::GET,
            target,
            accept: JSON,
            compressed: false,
            body: None,
            limits: Limits::document(PATIENCE),
            bound: OBJECT,
        }
    }
}

impl Client {
    /// The client a program wants: of the kubeconfig, or of the pod it runs in ([`Config::infer`]).
    ///
    /// # Errors
    /// When there is neither, or something in it is wrong; the text says where and what to do.
    pub fn try_default() -> Result<Self> {
        Client::new(Config::infer()?)
    }

    /// A client of the current context of the kubeconfig at `path`; [`Config`] chooses others.
    ///
    /// # Errors
    /// When the file is not there, or something in it is wrong; the text says what and what to do.
    pub fn from_kubeconfig(path: impl AsRef<Path>) -> Result<Self> {
        Client::new(Config::from_kubeconfig_file(path)?)
    }

    /// A client as `config`, owned or borrowed, says.
    ///
    /// # Errors
    /// When the environment's proxy, or a file that has changed since, is not usable.
    pub fn new(config: impl Borrow<Config>) -> Result<Self> {
        let config = config.borrow();
        let at = |error: Error| error.at(Stage::Config);
        let mut connection = Connection::new(&config.server_url()).map_err(at)?;
        connection.tls = config.tls().map(|(tls, name)| (Arc::new(tls) as Arc<dyn TlsSource>, name));
        let proxy = config.proxy(&Environment::process()).map_err(at)?;
        connection.proxy = proxy.map(|proxy| proxy.to_ureq()).transpose()?;
        let credentials = config.credentials(Arc::new(SystemClock)).map_err(at)?;
        // Nobody's credentials cannot be refreshed: a 401 is final then.
        connection.authorize =
            credentials.header().is_some().then(|| Arc::new(credentials) as Arc<dyn Authorize>);
        connection.headers = config.headers().iter().cloned().collect();
        connection.compress_lists = config.compress();
        config.namespace().clone_into(&mut connection.namespace);
        Ok(Client::connect(connection))
    }

    /// A client of the API server at `url`, with nobody's credentials: a test server, or `kubectl proxy`. An https
    /// server is checked against the system's roots.
    ///
    /// # Errors
    /// When `url` is not the address of a server.
    pub fn from_url(url: &str) -> Result<Self> {
        Client::new(Config::from_url(url)?)
    }

    pub(crate) fn connect(connection: Connection) -> Self {
        let server = origin(&connection.base);
        let route = Arc::new(Route {
            server,
            tls: connection.tls,
            proxy: connection.proxy,
            user_agent: connection.user_agent,
            lookup: connection.lookup,
        });
        Client {
            shared: Arc::new(Shared {
                requests: Connections::new(Arc::clone(&route), Size::Shared),
                route,
                prefix: connection.base.path().trim_end_matches('/').to_owned(),
                authorize: connection.authorize,
                headers: connection.headers,
                compress_lists: connection.compress_lists,
                namespace: connection.namespace,
                clock: connection.clock,
            }),
        }
    }

    /// `scheme://host:port` of the API server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.shared.route.server
    }

    /// The namespace of the context, `default` if it names none.
    #[must_use]
    pub fn default_namespace(&self) -> &str {
        &self.shared.namespace
    }

    /// Whether lists may be compressed.
    pub(crate) fn compress_lists(&self) -> bool {
        self.shared.compress_lists
    }

    /// By what clock a server is waited for.
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.shared.clock)
    }

    /// The connections that requests share.
    pub(crate) fn requests(&self) -> &Connections {
        &self.shared.requests
    }

    /// Connections of an informer's own, so that nothing it does disturbs others.
    pub(crate) fn informer_connections(&self) -> Connections {
        Connections::new(Arc::clone(&self.shared.route), Size::Informer)
    }

    /// Sends `call` and answers with the body of a document.
    ///
    /// # Blocking
    /// Until the head of the answer is there.
    ///
    /// # Errors
    /// Any transport error; whatever the server says but a success with JSON.
    pub(crate) fn send(&self, connections: &Connections, call: &Call<'_>, stop: &Stop) -> Result<Body> {
        let sent = self.send_bare(connections, call, stop);
        sent.map_err(|error| if error.is_stopped() { error } else { error.context(call.what) })
    }

    fn send_bare(&self, connections: &Connections, call: &Call<'_>, stop: &Stop) -> Result<Body> {
        let mut may_repeat = call.method == Method::GET;
        let mut may_refresh = self.shared.authorize.is_some();
        loop {
            let request = self.request(call)?;
            let answer = match &call.body {
                Some((_, body)) => connections.run(request.map(|()| body.clone()), call.limits, stop),
                None => connections.run(request, call.limits, stop),
            };
            let (head, mut body) = match answer {
                Ok(answer) => answer,
                Err(Failure { stale: true, error }) if may_repeat => {
                    log::debug!(target: "informer::http", "{}: {error}; once more on a new connection", call.what);
                    may_repeat = false;
                    continue;
                }
                Err(failure) => return Err(failure.error),
            };
            log::debug!(target: "informer::http", "{}: {}", call.what, head.status);
            let answer = Answer { method: &call.method, status: head.status, headers: &head.headers };
            if answer.is_document()? {
                return Ok(body);
            }
            let text = body.read_refusal(ERROR_BODY);
            if stop.is_set() {
                return Err(Error::stopped());
            }
            if head.status == StatusCode::UNAUTHORIZED && may_refresh {
                if let Some(authorize) = &self.shared.authorize {
                    authorize.refresh();
                }
                may_refresh = false;
                continue;
            }
            return Err(answer.error(&text, Timestamp::now()));
        }
    }

    fn request(&self, call: &Call<'_>) -> Result<Request<()>> {
        let uri = format!("{}{}{}", self.shared.route.server, self.shared.prefix, call.target);
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(uri)
            .header(header::ACCEPT, call.accept)
            .header(header::ACCEPT_ENCODING, if call.compressed { "gzip" } else { "identity" })
            .body(())
            .map_err(|error| {
                Error::new(ErrorKind::Config, "the request is no valid HTTP").with_source(error)
            })?;
        let headers = request.headers_mut();
        headers.extend(self.shared.headers.clone());
        if let Some((kind, _)) = &call.body {
            headers.insert(header::CONTENT_TYPE, kind.clone());
        }
        let credentials = match &self.shared.authorize {
            Some(authorize) => authorize.header()?,
            None => None,
        };
        if let Some(mut credentials) = credentials {
            credentials.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, credentials);
        }
        Ok(request)
    }

    /// Sends `call`, again where the server asks for that (D14), and decodes the document.
    ///
    /// # Blocking
    /// Until the document is there, for what the server asks to wait, or until `stop` is set.
    ///
    /// # Errors
    /// As [`send`](Client::send); as [`read_document`].
    pub(crate) fn fetch<T: DeserializeOwned>(&self, call: &Call<'_>, stop: &Stop) -> Result<T> {
        let mut patience = Patience::new();
        let mut body = loop {
            let error = match self.send(self.requests(), call, stop) {
                Ok(body) => break body,
                Err(error) => error,
            };
            let Some(wait) = patience.wait(&call.method, &error) else { return Err(error) };
            log::debug!(target: "informer::http", "{error}; once more in {} s", wait.as_secs());
            let clock = &*self.shared.clock;
            stop.wait_until(clock, clock.now().checked_add(wait));
            if stop.is_set() {
                return Err(Error::stopped().with_source(error));
            }
        };
        read_document(&mut body, call.bound)
            .map_err(|error| if error.is_stopped() { error } else { error.context(call.what) })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.shared.route.server)
            .field("namespace", &self.shared.namespace)
            .finish_non_exhaustive()
    }
}
