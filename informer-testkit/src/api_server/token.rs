//! Continue tokens: `{"v":"meta.k8s.io/v1","rv":401,"start":"/cm-1\u0000"}` in base64.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::go_json;
use super::status::{Result, Status};
use super::store::Key;

/// Where a list goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// The version of the whole list; `None`: as things are, whatever the first pages said.
    pub(super) revision: Option<u64>,
    /// The last object of the page before.
    pub(super) after: Key,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    #[serde(default)]
    v: String,
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
}

impl Token {
    /// The token as text, for a list of one namespace or of all.
    pub(super) fn text(&self, namespace: Option<&str>) -> String {
        let rv = self.revision.map_or(-1, |revision| i64::try_from(revision).unwrap_or(i64::MAX));
        let Key { namespace: place, name } = &self.after;
        let path =
            if namespace.is_some() || place.is_empty() { name.clone() } else { format!("{place}/{name}") };
        // As a real server: the slash is left out of tokens for the rest as it is.
        let slash = if rv == -1 { "" } else { "/" };
        let wire = Wire { v: "meta.k8s.io/v1".to_owned(), rv, start: format!("{slash}{path}\0") };
        let json = serde_json::to_vec(&wire).expect("a token can be written to memory");
        URL_SAFE_NO_PAD.encode(json)
    }

    /// Reads a token for a list of one namespace or of all.
    pub(super) fn parse(text: &str, namespace: Option<&str>) -> Result<Self> {
        let refuse = |why: &str| Status::bad_request(format!("invalid continue token: {why}"));
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| {
            let alphabet = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
            let at = text.bytes().position(|b| !alphabet(b)).unwrap_or(text.len());
            refuse(&format!("continue key is not valid: illegal base64 data at input byte {at}"))
        })?;
        let wire: Wire = serde_json::from_slice(&bytes)
            .map_err(|_| refuse(&format!("continue key is not valid: {}", go_json::fault(&bytes))))?;
        if wire.v != "meta.k8s.io/v1" {
            let why = format!(
                "continue key is not valid: server does not recognize this encoded version {:?}",
                wire.v
            );
            return Err(refuse(&why));
        }
        let revision = match wire.rv {
            0 => {
                return Err(refuse(
                    "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
                ));
            }
            rv => u64::try_from(rv).ok(),
        };
        let start = wire.start.strip_prefix('/').unwrap_or(&wire.start);
        let start = start.strip_suffix('\0').unwrap_or(start);
        let after = match (namespace, start.split_once('/')) {
            (Some(namespace), _) => Key::new(namespace, start),
            (None, Some((namespace, name))) => Key::new(namespace, name),
            (None, None) => Key::new("", start),
        };
        Ok(Token { revision, after })
    }
}
