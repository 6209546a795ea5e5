//! The user's side of a kubeconfig: how it is told to the server who is asking.
//!
//! Exactly one way is chosen here, by client-go's rules; what contradicts itself is an error that names the user and
//! the field.

use informer_core::{Error, ErrorKind, Result, Stage};
use ureq::http::{HeaderName, HeaderValue};

use super::file::User;
use super::kubeconfig::{Entry, filled, pem};
use crate::auth::AuthSource;
use crate::secret::Secret;
use crate::tls::Pem;

/// What a user entry amounts to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    pub(crate) auth: AuthSource,
    /// Certificate chain and key.
    pub(crate) client: Option<(Pem, Pem)>,
    /// Impersonation (AU-11).
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// Why this access cannot be used. It is no error while nothing of it is sent (AU-4).
    unsupported: Option<Error>,
}

impl Access {
    /// The access, unless it is of a kind that is not there.
    pub(crate) fn usable(self) -> Result<Self> {
        match self.unsupported {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }
}

/// Reads the entry of the user called `name`.
pub(crate) fn access(name: &str, entry: &Entry<User>) -> Result<Access> {
    let user = &entry.value;
    let place = format!("user {name:?} in {}", entry.origin.name);
    let client = client_certificate(entry, &place)?;
    let auth = auth_source(entry, &place)?;
    if user.exec.is_some() && user.auth_provider.is_some() {
        return Err(bad(format!("{place} sets both exec and auth-provider; remove one of them")));
    }
    let unsupported = if user.auth_provider.is_some() {
        Some(bad(format!(
            "{place} uses auth-provider, which kubectl has dropped too; use exec, a token or a client certificate"
        )))
    } else if user.exec.is_some() && matches!(auth, AuthSource::None) && client.is_none() {
        // Another credential beside it wins over exec, as in client-go; alone it is a kind of its own.
        Some(bad(format!(
            "{place} uses exec, which is not supported yet; use a token, a tokenFile or a client certificate"
        )))
    } else {
        None
    };
    Ok(Access { auth, client, headers: impersonation(user, &place)?, unsupported })
}

fn client_certificate(entry: &Entry<User>, place: &str) -> Result<Option<(Pem, Pem)>> {
    let user = &entry.value;
    let certificate = pem(
        entry,
        place,
        ("client-certificate", user.client_certificate.as_deref()),
        ("client-certificate-data", user.client_certificate_data.as_ref().map(Secret::expose)),
    )?;
    let key = pem(
        entry,
        place,
        ("client-key", user.client_key.as_deref()),
        ("client-key-data", user.client_key_data.as_ref().map(Secret::expose)),
    )?;
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
        (None, None) => Ok(None),
        (Some(_), None) => Err(bad(format!("{place} has a client-certificate but no client-key"))),
        (None, Some(_)) => Err(bad(format!("{place} has a client-key but no client-certificate"))),
    }
}

fn auth_source(entry: &Entry<User>, place: &str) -> Result<AuthSource> {
    let user = &entry.value;
    let token = user.token.clone().filter(|token| !token.is_empty());
    let file = filled(user.token_file.clone()).map(|file| entry.origin.resolve(&file));
    let username = filled(user.username.clone());
    let password = user.password.clone().filter(|password| !password.is_empty());
    let basic = username.is_some() || password.is_some();
    match (token, file, basic) {
        (Some(_), _, true) | (_, Some(_), true) => Err(bad(format!(
            "{place} sets both a token and a username or password; only one of them can be sent"
        ))),
        (None, None, true) => Ok(AuthSource::Basic {
            username: username.unwrap_or_default(),
            password: password.unwrap_or_else(|| Secret::new("")),
        }),
        // The file wins; the token stands in while the file cannot be read.
        (fallback, Some(path), false) => Ok(AuthSource::TokenFile { path, fallback }),
        (Some(token), None, false) => Ok(AuthSource::Token(token)),
        (None, None, false) => Ok(AuthSource::None),
    }
}

/// The `Impersonate-…` headers (AU-11).
fn impersonation(user: &User, place: &str) -> Result<Vec<(HeaderName, HeaderValue)>> {
    let groups = user.as_groups.as_deref().unwrap_or_default();
    let extra = user.as_user_extra.as_ref();
    let uid = filled(user.as_uid.clone());
    let Some(act_as) = filled(user.act_as.clone()) else {
        if uid.is_some() || !groups.is_empty() || extra.is_some_and(|extra| !extra.is_empty()) {
            return Err(bad(format!("{place} sets as-uid, as-groups or as-user-extra without as")));
        }
        return Ok(Vec::new());
    };
    let mut headers = Vec::new();
    let mut push = |name: &str, field: &str, text: &str| {
        let name = HeaderName::from_bytes(name.as_bytes());
        match (name, HeaderValue::from_str(text)) {
            (Ok(name), Ok(value)) => headers.push((name, value)),
            _ => return Err(bad(format!("{field} of {place} holds a character that no header can carry"))),
        }
        Ok(())
    };
    push("impersonate-user", "as", &act_as)?;
    if let Some(uid) = uid {
        push("impersonate-uid", "as-uid", &uid)?;
    }
    for group in groups {
        push("impersonate-group", "as-groups", group)?;
    }
    for (key, values) in extra.into_iter().flatten() {
        let name = format!("impersonate-extra-{}", escaped(key));
        for value in values.iter().flatten() {
            push(&name, "as-user-extra", value)?;
        }
    }
    Ok(headers)
}

/// A key of `as-user-extra` as part of a header's name: what a name cannot hold is percent-encoded.
fn escaped(key: &str) -> String {
    use std::fmt::Write as _;

    let mut out = String::new();
    for byte in key.bytes() {
        match byte {
            b'!' | b'#' | b'$' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|'
            | b'~' => {
                out.push(char::from(byte));
            }
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            _ => write!(out, "%{byte:02X}").expect("a String takes everything"),
        }
    }
    out
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, message).at(Stage::Config)
}
