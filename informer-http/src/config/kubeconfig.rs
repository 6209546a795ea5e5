//! [`Kubeconfig`]: several files merged as kubectl merges them, and the choice of one context out of them.
//!
//! The first definition of a name wins as a whole, the first `current-context` wins, and each entry remembers the
//! file it stands in: relative paths start there, and errors name it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_PAD_INDIFFERENT;
use informer_core::{Error, ErrorKind, Result, Stage};
use rustls_pki_types::ServerName;

use super::file::{self, Cluster, Context, File, User};
use super::proxy::ProxyUrl;
use super::server::ServerUrl;
use super::user::{Access, access};
use super::{Config, Parts};
use crate::secret::Secret;
use crate::tls::{Pem, TlsMaterial};

/// The contexts, clusters and users of one or more kubeconfig files.
///
/// ```
/// use informer_http::{Config, Kubeconfig, KubeconfigOptions};
///
/// let kubeconfig = Kubeconfig::parse(
///     "{current-context: a, clusters: [{name: c, cluster: {server: 'http://127.0.0.1:8080'}}],
///       contexts: [{name: a, context: {cluster: c}}, {name: b, context: {cluster: c, namespace: web}}]}",
/// )?;
/// assert_eq!(kubeconfig.current_context(), Some("a"));
/// let config = Config::from_kubeconfig(&kubeconfig, &KubeconfigOptions::new().context("b"))?;
/// assert_eq!(config.namespace(), "web");
/// # Ok::<(), informer_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Kubeconfig {
    /// The files that were read, for messages.
    names: Vec<String>,
    current_context: Option<String>,
    contexts: BTreeMap<String, Entry<Context>>,
    clusters: BTreeMap<String, Entry<Cluster>>,
    users: BTreeMap<String, Entry<User>>,
}

/// Which context of a [`Kubeconfig`] to use, and what to put in place of its cluster and user.
///
/// Nothing chosen means the `current-context` as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeconfigOptions {
    context: Option<String>,
    cluster: Option<String>,
    user: Option<String>,
}

impl KubeconfigOptions {
    /// The current context as it is.
    #[must_use]
    pub fn new() -> Self {
        KubeconfigOptions::default()
    }

    /// Uses the context of this name.
    #[must_use]
    pub fn context(mut self, name: impl Into<String>) -> Self {
        self.context = Some(name.into());
        self
    }

    /// Uses the cluster of this name, whatever the context says.
    #[must_use]
    pub fn cluster(mut self, name: impl Into<String>) -> Self {
        self.cluster = Some(name.into());
        self
    }

    /// Uses the user of this name, whatever the context says.
    #[must_use]
    pub fn user(mut self, name: impl Into<String>) -> Self {
        self.user = Some(name.into());
        self
    }

    pub(crate) fn chooses(&self) -> bool {
        *self != KubeconfigOptions::default()
    }
}

/// An entry and the file it stands in.
#[derive(Clone, Debug)]
pub(crate) struct Entry<T> {
    pub(crate) origin: Arc<Origin>,
    pub(crate) value: T,
}

/// A file, or a text given as one.
#[derive(Debug)]
pub(crate) struct Origin {
    /// What messages call it.
    pub(crate) name: String,
    /// Where relative paths start; absolute, so that a later change of folder does no harm.
    dir: PathBuf,
}

impl Origin {
    fn of_file(path: &Path) -> Self {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let dir = absolute.parent().map(Path::to_owned).unwrap_or_default();
        Origin { name: path.display().to_string(), dir }
    }

    fn of_text() -> Self {
        Origin { name: "the kubeconfig text".to_owned(), dir: std::path::absolute(".").unwrap_or_default() }
    }

    pub(crate) fn resolve(&self, path: &str) -> PathBuf {
        self.dir.join(path)
    }
}

impl Kubeconfig {
    /// Reads one file, which must exist.
    ///
    /// # Errors
    /// `Config`: the file is missing, unreadable or no kubeconfig; the text has the path, line and column.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut merged = Kubeconfig::default();
        merged.add(file::read(path)?, Origin::of_file(path))?;
        Ok(merged)
    }

    /// Reads a kubeconfig from a text; its relative paths start in the current folder.
    ///
    /// # Errors
    /// `Config`: the text is no kubeconfig. Nothing of it is repeated in the error, it may hold secrets.
    pub fn parse(text: &str) -> Result<Self> {
        let origin = Origin::of_text();
        let mut merged = Kubeconfig::default();
        merged.add(file::parse(text, &origin.name)?, origin)?;
        Ok(merged)
    }

    /// Reads the files of a `KUBECONFIG` list, skipping empty parts and files that do not exist.
    pub(crate) fn read_list(list: &OsStr) -> Result<Self> {
        let mut merged = Kubeconfig::default();
        let mut seen = Vec::new();
        for path in std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()) {
            if seen.contains(&path) {
                continue;
            }
            if is_there(&path) {
                merged.add(file::read(&path)?, Origin::of_file(&path))?;
            }
            seen.push(path);
        }
        Ok(merged)
    }

    /// The name of the context that is used when none is chosen.
    #[must_use]
    pub fn current_context(&self) -> Option<&str> {
        self.current_context.as_deref()
    }

    /// The names of all contexts, sorted.
    pub fn contexts(&self) -> impl Iterator<Item = &str> {
        self.contexts.keys().map(String::as_str)
    }

    /// Whether nothing at all is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.current_context.is_none()
            && self.contexts.is_empty()
            && self.clusters.is_empty()
            && self.users.is_empty()
    }

    /// Adds the file below those already there.
    fn add(&mut self, file: File, origin: Origin) -> Result<()> {
        let origin = Arc::new(origin);
        self.names.push(origin.name.clone());
        if self.current_context.is_none() {
            self.current_context = filled(file.current_context);
        }
        let clusters = file.clusters.unwrap_or_default().into_iter().map(|c| (c.name, c.cluster));
        merge("cluster", &mut self.clusters, clusters, &origin)?;
        let users = file.users.unwrap_or_default().into_iter().map(|u| (u.name, u.user));
        merge("user", &mut self.users, users, &origin)?;
        let contexts = file.contexts.unwrap_or_default().into_iter().map(|c| (c.name, c.context));
        merge("context", &mut self.contexts, contexts, &origin)
    }

    /// What the chosen context amounts to.
    pub(crate) fn resolve(&self, options: &KubeconfigOptions) -> Result<Parts> {
        let chosen = self.chosen(options)?;
        let (context_name, context) = match &chosen {
            Some((name, entry)) => {
                (format!("context {name:?} in {}", entry.origin.name), entry.value.clone())
            }
            None => (self.place(), Context::default()),
        };
        let cluster_name = options.cluster.clone().or(filled(context.cluster));
        let cluster_name = cluster_name.ok_or_else(|| bad(format!("{context_name} names no cluster")))?;
        let cluster = self.clusters.get(&cluster_name).ok_or_else(|| {
            bad(format!(
                "cluster {cluster_name:?} of {context_name} is not in {}",
                self.has(self.clusters.keys())
            ))
        })?;
        let user = match options.user.clone().or(filled(context.user)) {
            None => None,
            Some(name) => {
                let entry = self.users.get(&name).ok_or_else(|| {
                    bad(format!("user {name:?} of {context_name} is not in {}", self.has(self.users.keys())))
                })?;
                Some((name, entry))
            }
        };
        let access = user.map(|(name, entry)| access(&name, entry)).transpose()?.unwrap_or_default();
        let namespace = filled(context.namespace).unwrap_or_else(|| "default".to_owned());
        parts(&cluster_name, cluster, access, namespace).map(|parts| Parts { origin: context_name, ..parts })
    }

    /// The context to use; none only where a cluster is named in its place.
    fn chosen(&self, options: &KubeconfigOptions) -> Result<Option<(String, &Entry<Context>)>> {
        let Some(name) = options.context.clone().or_else(|| self.current_context.clone()) else {
            if options.cluster.is_some() {
                return Ok(None);
            }
            return Err(bad(format!(
                "no context is chosen and no current-context is set in {}",
                self.has(self.contexts.keys())
            )));
        };
        let entry = self
            .contexts
            .get(&name)
            .ok_or_else(|| bad(format!("context {name:?} is not in {}", self.has(self.contexts.keys()))))?;
        Ok(Some((name, entry)))
    }

    fn place(&self) -> String {
        self.names.join(", ")
    }

    /// The files and the names that could have been meant.
    fn has<'a>(&self, names: impl Iterator<Item = &'a String>) -> String {
        // A name may hold anything; the message stays one line.
        let names: Vec<String> = names.map(|name| name.escape_debug().to_string()).collect();
        match names.as_slice() {
            [] => format!("{}; it has none", self.place()),
            names => format!("{}; it has: {}", self.place(), names.join(", ")),
        }
    }
}

/// Puts a list of named entries under those already there; a name twice in one file is an error, as for kubectl.
fn merge<T: Default>(
    what: &str,
    into: &mut BTreeMap<String, Entry<T>>,
    list: impl Iterator<Item = (Option<String>, Option<T>)>,
    origin: &Arc<Origin>,
) -> Result<()> {
    let mut mine = BTreeMap::new();
    for (name, value) in list {
        let name = name.unwrap_or_default();
        let entry = Entry { origin: Arc::clone(origin), value: value.unwrap_or_default() };
        if mine.insert(name.clone(), entry).is_some() {
            return Err(bad(format!("{} defines {what} {name:?} twice", origin.name)));
        }
    }
    for (name, entry) in mine {
        into.entry(name).or_insert(entry);
    }
    Ok(())
}

/// The cluster's side of a configuration, with the user's side joined to it.
fn parts(name: &str, entry: &Entry<Cluster>, access: Access, namespace: String) -> Result<Parts> {
    let Entry { origin, value: cluster } = entry;
    let place = format!("cluster {name:?} in {}", origin.name);
    let ca = pem(
        entry,
        &place,
        ("certificate-authority", cluster.certificate_authority.as_deref()),
        ("certificate-authority-data", cluster.certificate_authority_data.as_deref()),
    )?;
    let insecure = cluster.insecure_skip_tls_verify.unwrap_or(false);
    if insecure && ca.is_some() {
        return Err(bad(format!(
            "{place} sets insecure-skip-tls-verify together with a certificate-authority; remove one of them"
        )));
    }
    let text = cluster.server.as_ref().map(Secret::expose).filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| bad(format!("{place} has no server")))?;
    let https = ca.is_some() || insecure || access.client.is_some();
    let server = ServerUrl::parse(text, https).map_err(|error| error.context(&place).at(Stage::Config))?;
    let server_name = filled(cluster.tls_server_name.clone())
        .map(|text| {
            ServerName::try_from(text.clone()).map_err(|_| {
                bad(format!("{place}: tls-server-name {text:?} is neither a host name nor an IP address"))
            })
        })
        .transpose()?;
    let proxy = cluster
        .proxy_url
        .as_ref()
        .filter(|url| !url.is_empty())
        .map(|url| {
            ProxyUrl::parse(url.expose()).map_err(|error| error.context(format!("{place}: proxy-url")))
        })
        .transpose()?;
    // AU-4: nothing that identifies the user goes over a connection anyone can read.
    let access = if server.is_https() { access.usable()? } else { Access::default() };
    Ok(Parts {
        origin: String::new(),
        server,
        namespace,
        tls: TlsMaterial { ca, identity: access.client, insecure, server_name },
        proxy,
        disable_compression: cluster.disable_compression.unwrap_or(false),
        auth: access.auth,
        headers: access.headers,
    })
}

/// One of the fields that come as a path or as base64 data; the data wins (AU-3).
pub(crate) fn pem<T>(
    entry: &Entry<T>,
    place: &str,
    (file_field, file): (&str, Option<&str>),
    (data_field, data): (&str, Option<&str>),
) -> Result<Option<Pem>> {
    if let Some(data) = data.filter(|data| !data.trim().is_empty()) {
        let packed: Vec<u8> = data.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        // The decoder's error names a byte of the data, which may be a key's.
        let bytes = STANDARD_PAD_INDIFFERENT
            .decode(packed)
            .map_err(|_| bad(format!("{data_field} of {place} is not base64")))?;
        return Ok(Some(Pem::inline(format!("{data_field} of {place}"), bytes)));
    }
    let Some(file) = file.filter(|file| !file.is_empty()) else { return Ok(None) };
    let path = entry.origin.resolve(file);
    Ok(Some(Pem::file(format!("{file_field} {} of {place}", path.display()), path)))
}

/// Empty is the same as absent everywhere in a kubeconfig.
pub(crate) fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// Whether there is something at the path; what cannot be looked at counts, so that its error is seen.
pub(crate) fn is_there(path: &Path) -> bool {
    path.try_exists().unwrap_or(true)
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, message).at(Stage::Config)
}

impl Config {
    /// The chosen context of a kubeconfig.
    ///
    /// # Errors
    /// `Config`: the context, its cluster or its user is missing or contradicts itself, a file it names cannot be
    /// read, a certificate or key is unusable. One line says which file, which entry and which field.
    pub fn from_kubeconfig(kubeconfig: &Kubeconfig, options: &KubeconfigOptions) -> Result<Self> {
        Config::build(kubeconfig.resolve(options)?)
    }

    /// The current context of the kubeconfig file at `path`, which must exist.
    ///
    /// # Errors
    /// Those of [`Kubeconfig::read`] and [`Config::from_kubeconfig`].
    pub fn from_kubeconfig_file(path: impl AsRef<Path>) -> Result<Self> {
        Config::from_kubeconfig(&Kubeconfig::read(path)?, &KubeconfigOptions::new())
    }

    /// The current context of a kubeconfig given as text; its relative paths start in the current folder.
    ///
    /// # Errors
    /// Those of [`Kubeconfig::parse`] and [`Config::from_kubeconfig`].
    pub fn from_kubeconfig_str(text: &str) -> Result<Self> {
        Config::from_kubeconfig(&Kubeconfig::parse(text)?, &KubeconfigOptions::new())
    }
}
