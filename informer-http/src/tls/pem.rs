//! [`Pem`]: a certificate or key of the configuration, where it comes from, and what can be wrong with it.
//!
//! Errors say which field or file and what the matter is; no byte of the content, which may be a key, is in them.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use informer_core::{Error, ErrorKind, Result, Stage};
use rustls_pki_types::pem::{PemObject, SectionKind};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::bounded;

/// PEM text in the configuration itself or in a file beside it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Pem {
    /// What messages call it: the field, the file, the entry.
    name: String,
    source: Source,
}

#[derive(Clone, PartialEq, Eq)]
enum Source {
    Inline(Arc<[u8]>),
    File(PathBuf),
}

impl Pem {
    pub(crate) fn inline(name: String, bytes: Vec<u8>) -> Self {
        Pem { name, source: Source::Inline(bytes.into()) }
    }

    pub(crate) fn file(name: String, path: PathBuf) -> Self {
        Pem { name, source: Source::File(path) }
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The text as it is now; a file may have changed since.
    pub(crate) fn load(&self) -> Result<Arc<[u8]>> {
        match &self.source {
            Source::Inline(bytes) => Ok(Arc::clone(bytes)),
            Source::File(path) => bounded::read(path, 16, "certificate")
                .map(Arc::from)
                .map_err(|error| self.bad(format!("cannot be read: {error}")).with_source(error)),
        }
    }

    /// An error of this certificate or key.
    pub(crate) fn bad(&self, reason: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Config, format!("{} {reason}", self.name)).at(Stage::Config)
    }

    /// Every certificate in `bytes`, at least one (F-74).
    pub(crate) fn certificates(&self, bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
        let begun = lines(bytes, "-----BEGIN CERTIFICATE-----");
        let found: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(bytes)
            .collect::<Result<_, _>>()
            .map_err(|_| self.bad("is not valid PEM"))?;
        match found.len() {
            0 if has_key(bytes) => {
                Err(self.bad("holds a private key and no certificate; are certificate and key swapped?"))
            }
            0 if bytes.trim_ascii().is_empty() => Err(self.bad("is empty")),
            0 => Err(self.bad("holds no certificate in PEM form")),
            n if n < begun => Err(self.bad(format!("holds {begun} certificates, but only {n} can be read"))),
            _ => Ok(found),
        }
    }

    /// The private key in `bytes`; the first, as other programs do.
    pub(crate) fn private_key(&self, bytes: &[u8]) -> Result<PrivateKeyDer<'static>> {
        // Asked before parsing: to the parser, an encrypted key is nothing or broken base64.
        if lines(bytes, "-----BEGIN ENCRYPTED PRIVATE KEY-----") > 0
            || lines(bytes, "Proc-Type: 4,ENCRYPTED") > 0
        {
            return Err(self.bad("is an encrypted key, and nobody can be asked for its passphrase; decrypt it first (openssl pkey)"));
        }
        let sections: Vec<(SectionKind, Vec<u8>)> = PemObject::pem_slice_iter(bytes)
            .collect::<Result<_, _>>()
            .map_err(|_| self.bad("is not valid PEM"))?;
        let has_certificate = sections.iter().any(|(kind, _)| *kind == SectionKind::Certificate);
        match sections.into_iter().find_map(|(kind, der)| PrivateKeyDer::from_pem(kind, der)) {
            Some(key) => Ok(key),
            None if has_certificate => {
                Err(self.bad("holds a certificate and no private key; are certificate and key swapped?"))
            }
            None if bytes.trim_ascii().is_empty() => Err(self.bad("is empty")),
            None => Err(self.bad("holds no private key in PEM form")),
        }
    }
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

fn has_key(bytes: &[u8]) -> bool {
    ["", "RSA ", "EC ", "ENCRYPTED "]
        .iter()
        .any(|kind| lines(bytes, &format!("-----BEGIN {kind}PRIVATE KEY-----")) > 0)
}

/// How many lines begin with `words`, indented or not. Only lines at the margin are PEM: that is the difference
/// between what was meant and what can be read.
fn lines(bytes: &[u8], words: &str) -> usize {
    bytes
        .split(|byte| matches!(byte, b'\n' | b'\r'))
        .filter(|line| line.trim_ascii_start().starts_with(words.as_bytes()))
        .count()
}
