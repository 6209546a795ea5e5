//! One kubeconfig file: its serde model and the reading of it.
//!
//! A YAML library likes to quote the line it stumbles on, and that line may hold a token. Errors built here carry
//! the position and the name of a known field, never a piece of the text, and never the library's error as cause.

use std::collections::BTreeMap;
use std::path::Path;

use informer_core::{Error, ErrorKind, Result};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::bounded;
use crate::secret::Secret;

/// A kubeconfig as written. Every field may be absent or null, unknown ones are ignored.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a kubeconfig (a mapping)")]
pub(crate) struct File {
    pub(crate) kind: Option<String>,
    pub(crate) current_context: Option<String>,
    pub(crate) clusters: Option<Vec<NamedCluster>>,
    pub(crate) users: Option<Vec<NamedUser>>,
    pub(crate) contexts: Option<Vec<NamedContext>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, expecting = "a mapping with name and cluster")]
pub(crate) struct NamedCluster {
    pub(crate) name: Option<String>,
    pub(crate) cluster: Option<Cluster>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, expecting = "a mapping with name and user")]
pub(crate) struct NamedUser {
    pub(crate) name: Option<String>,
    pub(crate) user: Option<User>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, expecting = "a mapping with name and context")]
pub(crate) struct NamedContext {
    pub(crate) name: Option<String>,
    pub(crate) context: Option<Context>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a cluster (a mapping)")]
pub(crate) struct Cluster {
    /// May hold a password; then it is refused, but it has been read.
    pub(crate) server: Option<Secret>,
    pub(crate) tls_server_name: Option<String>,
    pub(crate) insecure_skip_tls_verify: Option<bool>,
    pub(crate) certificate_authority: Option<String>,
    pub(crate) certificate_authority_data: Option<String>,
    /// May hold the proxy's password.
    pub(crate) proxy_url: Option<Secret>,
    pub(crate) disable_compression: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a user (a mapping)")]
pub(crate) struct User {
    pub(crate) client_certificate: Option<String>,
    /// May hold a key that was put into the wrong field.
    pub(crate) client_certificate_data: Option<Secret>,
    pub(crate) client_key: Option<String>,
    pub(crate) client_key_data: Option<Secret>,
    pub(crate) token: Option<Secret>,
    #[serde(rename = "tokenFile")]
    pub(crate) token_file: Option<String>,
    #[serde(rename = "as")]
    pub(crate) act_as: Option<String>,
    pub(crate) as_uid: Option<String>,
    pub(crate) as_groups: Option<Vec<String>>,
    pub(crate) as_user_extra: Option<BTreeMap<String, Option<Vec<String>>>>,
    pub(crate) username: Option<String>,
    pub(crate) password: Option<Secret>,
    /// Only that it is there counts; its content, secrets included, is not kept. The same for `exec`.
    pub(crate) auth_provider: Option<IgnoredAny>,
    pub(crate) exec: Option<IgnoredAny>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", expecting = "a context (a mapping)")]
pub(crate) struct Context {
    pub(crate) cluster: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) namespace: Option<String>,
}

/// Reads the file at `path`.
///
/// # Errors
/// The operating system's as the cause, with the path in the text; what [`parse`] says.
pub(crate) fn read(path: &Path) -> Result<File> {
    let bytes = bounded::read(path, 16, "kubeconfig").map_err(|error| {
        let what = match error.kind() {
            std::io::ErrorKind::NotFound => "does not exist; check the path".to_owned(),
            _ => format!("cannot be read: {error}"),
        };
        bad(format!("the kubeconfig {} {what}", path.display())).with_source(error)
    })?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        bad(format!("{} is not text: byte {} is not UTF-8", path.display(), error.valid_up_to()))
    })?;
    parse(text, &path.display().to_string())
}

/// Reads the text of the kubeconfig called `name`. A text without content is an empty kubeconfig.
///
/// # Errors
/// `name`, line, column and, if it is a known one, the field; never the text itself.
pub(crate) fn parse(text: &str, name: &str) -> Result<File> {
    let mut options = serde_saphyr::Options::default();
    options.with_snippet = false;
    // `!!binary` data is base64 to us already.
    options.ignore_binary_tag_for_string = true;
    let file = serde_saphyr::from_str_with_options::<Option<File>>(text, options)
        .map_err(|error| safe_error(&error, text, name))?
        .unwrap_or_default();
    if file.kind.as_deref().is_some_and(|kind| !kind.is_empty() && kind != "Config") {
        return Err(bad(format!("{name} is not a kubeconfig: its kind is not Config")));
    }
    Ok(file)
}

/// The error without a piece of the text in it. The library's own must not even become the cause.
fn safe_error(error: &serde_saphyr::Error, text: &str, name: &str) -> Error {
    use serde_saphyr::Error as Yaml;

    let what = match error.without_snippet() {
        // These are words of ours (`expecting`) or of serde, not of the file.
        Yaml::SerdeInvalidType { expected, .. } | Yaml::SerdeInvalidValue { expected, .. } => {
            format!("expected {expected}")
        }
        Yaml::Unexpected { expected, .. } => format!("expected {expected}"),
        Yaml::InvalidScalar { ty, .. } => format!("expected {ty}"),
        Yaml::DuplicateMappingKey { .. } => "a key is there twice".to_owned(),
        Yaml::MultipleDocuments { .. } => "it holds more than one YAML document".to_owned(),
        Yaml::UnknownAnchor { .. } => "an alias without an anchor".to_owned(),
        Yaml::Eof { .. } => "it ends too early".to_owned(),
        Yaml::Budget { .. }
        | Yaml::AliasReplayLimitExceeded { .. }
        | Yaml::AliasExpansionLimitExceeded { .. }
        | Yaml::AliasReplayStackDepthExceeded { .. } => {
            "it is larger or deeper than a kubeconfig may be".to_owned()
        }
        _ => "not valid YAML".to_owned(),
    };
    let Some(at) = error.location() else {
        return bad(format!("{name}: {what}"));
    };
    let (line, column) = (at.line(), at.column());
    match field_at(text, line, column) {
        Some(field) => bad(format!("{name}, line {line}, column {column}: in {field}: {what}")),
        None => bad(format!("{name}, line {line}, column {column}: {what}")),
    }
}

/// The last known field that is opened on the line before or at the column, or nothing.
fn field_at(text: &str, line: u64, column: u64) -> Option<&'static str> {
    let line = text.lines().nth(usize::try_from(line.checked_sub(1)?).ok()?)?;
    let upto: String = line.chars().take(usize::try_from(column).ok()?).collect();
    let mut opened = upto.match_indices(':').filter_map(|(end, _)| {
        let key = upto[..end].trim_end_matches(['"', '\'', ' ']);
        let key = key.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).next()?;
        FIELDS.iter().copied().find(|field| *field == key)
    });
    // At the start of a `key: value` line the key itself is what the position points at.
    opened.next_back().or_else(|| {
        let key = line.trim_start_matches(['-', ' ']).split(':').next()?.trim().trim_matches(['"', '\'']);
        FIELDS.iter().copied().find(|field| *field == key)
    })
}

/// Every field of a kubeconfig that an error may name.
const FIELDS: &[&str] = &[
    "kind",
    "current-context",
    "clusters",
    "users",
    "contexts",
    "name",
    "cluster",
    "user",
    "context",
    "server",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "certificate-authority",
    "certificate-authority-data",
    "proxy-url",
    "disable-compression",
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "client-key-data",
    "token",
    "tokenFile",
    "as",
    "as-uid",
    "as-groups",
    "as-user-extra",
    "username",
    "password",
    "auth-provider",
    "exec",
    "namespace",
];

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, message).at(informer_core::Stage::Config)
}
