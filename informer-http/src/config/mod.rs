//! [`Config`]: which API server to talk to, how, and as whom.
//!
//! A `Config` that exists is usable: every file it names was read once, every certificate and key was parsed and
//! matched, every header value was built. Secrets are in it, and `Debug` shows none of them.

mod environment;
mod file;
mod in_cluster;
mod kubeconfig;
mod proxy;
mod server;
#[cfg(test)]
mod tests;
mod user;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use informer_core::{Clock, Error, ErrorKind, Result, Stage, SystemClock};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use ureq::http::{HeaderName, HeaderValue};

pub use environment::Environment;
pub use kubeconfig::{Kubeconfig, KubeconfigOptions};
pub(crate) use proxy::ProxyUrl;
pub(crate) use server::ServerUrl;

use crate::auth::{AuthSource, Credentials};
use crate::tls::TlsMaterial;

/// Which API server to talk to, how, and as whom.
///
/// [`Config::infer`] finds what `kubectl` would use, and a pod's service account.
///
/// ```
/// use informer_http::Config;
///
/// let config = Config::from_url("http://127.0.0.1:8080")?.with_namespace("web");
/// assert_eq!(config.server_url(), "http://127.0.0.1:8080");
/// assert_eq!(config.namespace(), "web");
/// # Ok::<(), informer_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Config {
    parts: Parts,
    /// Built from `parts.tls`; there for an https server.
    tls: Option<Arc<ClientConfig>>,
}

/// What every source of a configuration comes down to.
#[derive(Clone)]
pub(crate) struct Parts {
    /// Where it came from, for messages.
    pub(crate) origin: String,
    pub(crate) server: ServerUrl,
    pub(crate) namespace: String,
    pub(crate) tls: TlsMaterial,
    /// The kubeconfig's `proxy-url`; the environment's is another matter.
    pub(crate) proxy: Option<ProxyUrl>,
    pub(crate) disable_compression: bool,
    pub(crate) auth: AuthSource,
    /// Headers of every request: impersonation.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Config {
    /// What `kubectl` would use: the files of `KUBECONFIG`, else `~/.kube/config`, else the pod this program
    /// runs in.
    ///
    /// # Errors
    /// `Config`: what was found is not usable, or nothing was found; then the text says where it was looked for.
    pub fn infer() -> Result<Self> {
        Config::infer_in(&Environment::process())
    }

    /// The same out of another environment than the process's.
    ///
    /// # Errors
    /// Those of [`Config::infer`].
    pub fn infer_in(environment: &Environment) -> Result<Self> {
        Config::infer_with(&KubeconfigOptions::new(), environment)
    }

    /// The same with a chosen context. A choice needs a kubeconfig: the pod's service account is not tried then.
    ///
    /// # Errors
    /// Those of [`Config::infer`].
    pub fn infer_with(options: &KubeconfigOptions, environment: &Environment) -> Result<Self> {
        let (kubeconfig, looked) = find(environment)?;
        if let Some(kubeconfig) = kubeconfig {
            return Config::from_kubeconfig(&kubeconfig, options);
        }
        let nothing = |rest: &str| {
            let message = format!(
                "no Kubernetes configuration found: {looked}{rest}; write a kubeconfig there, or set KUBECONFIG to one"
            );
            Error::new(ErrorKind::Config, message).at(Stage::Config)
        };
        if options.chooses() {
            return Err(nothing(""));
        }
        Config::in_cluster_in(environment).map_err(|error| nothing(&format!("; {error}")))
    }

    /// The server at `url`, with nobody's credentials; an https server is checked against the system's roots.
    ///
    /// # Errors
    /// `Config`: the URL is not one, or the system has no roots.
    pub fn from_url(url: &str) -> Result<Self> {
        Config::build(Parts {
            origin: "the given URL".to_owned(),
            server: ServerUrl::parse(url, false).map_err(|error| error.at(Stage::Config))?,
            namespace: "default".to_owned(),
            tls: TlsMaterial::default(),
            proxy: None,
            disable_compression: false,
            auth: AuthSource::None,
            headers: Vec::new(),
        })
    }

    /// The URL of the server, with its port and without a slash at the end.
    #[must_use]
    pub fn server_url(&self) -> String {
        self.parts.server.to_string()
    }

    /// The namespace that is meant where none is named.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.parts.namespace
    }

    /// Where the configuration came from, in words: `context "prod" in /home/me/.kube/config`.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.parts.origin
    }

    /// The same configuration with another default namespace.
    #[must_use]
    pub fn with_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.parts.namespace = namespace.into();
        self
    }

    /// Checks everything that can be checked without the server.
    pub(crate) fn build(parts: Parts) -> Result<Self> {
        let context = |error: Error| error.context(&parts.origin).at(Stage::Config);
        Credentials::new(&parts.auth, Arc::new(SystemClock)).map_err(context)?;
        let tls = match parts.server.is_https() {
            true => {
                Some(parts.tls.load().and_then(|loaded| parts.tls.client_config(&loaded)).map_err(context)?)
            }
            false => None,
        };
        Ok(Config { parts, tls })
    }

    /// How TLS is spoken to the server, and the name it must prove in place of its host; none for plain http.
    pub(crate) fn tls(&self) -> Option<(Arc<ClientConfig>, Option<ServerName<'static>>)> {
        let config = self.tls.as_ref()?;
        Some((Arc::clone(config), self.parts.tls.server_name.clone()))
    }

    /// Who is asking. Each call makes credentials of their own; one client shares one.
    pub(crate) fn credentials(&self, clock: Arc<dyn Clock>) -> Result<Credentials> {
        Credentials::new(&self.parts.auth, clock).map_err(|error| error.context(&self.parts.origin))
    }

    /// The headers that go with every request.
    pub(crate) fn headers(&self) -> &[(HeaderName, HeaderValue)] {
        &self.parts.headers
    }

    /// Whether answers may be compressed.
    pub(crate) fn compress(&self) -> bool {
        !self.parts.disable_compression
    }

    /// The proxy to the server: the kubeconfig's, else the environment's.
    pub(crate) fn proxy(&self, environment: &Environment) -> Result<Option<ProxyUrl>> {
        match &self.parts.proxy {
            Some(proxy) => Ok(Some(proxy.clone())),
            None => proxy::from_environment(&self.parts.server, environment),
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { origin, server, namespace, tls, proxy, disable_compression, auth, headers } = &self.parts;
        f.debug_struct("Config")
            .field("origin", origin)
            .field("server", &server.to_string())
            .field("namespace", namespace)
            .field("tls", tls)
            .field("proxy", proxy)
            .field("disable_compression", disable_compression)
            .field("auth", auth)
            .field("headers", headers)
            .finish_non_exhaustive()
    }
}

/// The kubeconfig that kubectl would read, or where it was looked for in vain.
fn find(environment: &Environment) -> Result<(Option<Kubeconfig>, String)> {
    if let Some(list) = environment.os_var("KUBECONFIG") {
        let found = Kubeconfig::read_list(&list)?;
        let looked = format!("KUBECONFIG names {}, where there is none", list.display());
        return Ok(((!found.is_empty()).then_some(found), looked));
    }
    let Some(path) = environment.home().map(|home| home.join(PathBuf::from_iter([".kube", "config"]))) else {
        return Ok((None, "KUBECONFIG is not set, there is no home folder".to_owned()));
    };
    if !kubeconfig::is_there(&path) {
        return Ok((None, format!("KUBECONFIG is not set, {} does not exist", path.display())));
    }
    let found = Kubeconfig::read(&path)?;
    let looked = format!("KUBECONFIG is not set, {} is empty", path.display());
    Ok(((!found.is_empty()).then_some(found), looked))
}
