//! From certificates and keys to the rustls configuration that connections use.
//!
//! Loading and building are apart, so that files are read in one place and what is wrong with them is told before the
//! first connection. Both happen once, when the client is made: certificates that are replaced later take a new one. The
//! cryptography is always ring, named here and never a
//! default of the process.

mod pem;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use informer_core::{Error, ErrorKind, Result, Stage};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, DigitallySignedStruct, InconsistentKeys, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

pub(crate) use pem::Pem;

/// What a configuration says about TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsMaterial {
    /// Whom to trust; the system's roots if it is absent.
    pub(crate) ca: Option<Pem>,
    /// Client certificate chain and key.
    pub(crate) identity: Option<(Pem, Pem)>,
    /// Trust anybody (F-78). The client certificate is sent all the same.
    pub(crate) insecure: bool,
    /// The name the server must prove in place of its host (F-80).
    pub(crate) server_name: Option<ServerName<'static>>,
}

/// The content of every file and field of a [`TlsMaterial`] at one time.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct LoadedTls {
    ca: Option<Content>,
    identity: Option<(Content, Content)>,
}

type Content = Arc<[u8]>;

impl fmt::Debug for LoadedTls {
    /// There is a key in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedTls").finish_non_exhaustive()
    }
}

impl TlsMaterial {
    /// Reads the files that are named.
    ///
    /// # Errors
    /// `Config`, with the field and the file.
    pub(crate) fn load(&self) -> Result<LoadedTls> {
        let identity = match &self.identity {
            Some((certificate, key)) => Some((certificate.load()?, key.load()?)),
            None => None,
        };
        Ok(LoadedTls { ca: self.ca.as_ref().map(Pem::load).transpose()?, identity })
    }

    /// Builds the configuration of connections from what was loaded.
    ///
    /// # Errors
    /// `Config`, with the field or file and what is wrong with it: no panic awaits at the first connection (F-81).
    pub(crate) fn client_config(&self, loaded: &LoadedTls) -> Result<Arc<ClientConfig>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| bad("TLS cannot be set up").with_source(error))?;
        let builder = if self.insecure {
            let anybody = Anybody { schemes: provider.signature_verification_algorithms.supported_schemes() };
            builder.dangerous().with_custom_certificate_verifier(Arc::new(anybody))
        } else {
            builder.with_root_certificates(match (&self.ca, &loaded.ca) {
                (Some(ca), Some(bytes)) => roots(ca, bytes)?,
                _ => system_roots()?,
            })
        };
        let mut config = match (&self.identity, &loaded.identity) {
            (Some((certificate, key)), Some((certificate_bytes, key_bytes))) => {
                let chain = certificate.certificates(certificate_bytes)?;
                let private = key.private_key(key_bytes)?;
                let pair = certified_key((certificate, chain), (key, private), &provider)?;
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(pair)))
            }
            _ => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// The CA's certificates, each one of them usable (F-74).
fn roots(ca: &Pem, bytes: &[u8]) -> Result<RootCertStore> {
    let certificates = ca.certificates(bytes)?;
    let mut roots = RootCertStore::empty();
    let all = certificates.len();
    for (n, certificate) in certificates.into_iter().enumerate() {
        roots.add(certificate).map_err(|error| {
            ca.bad(format!("holds something that is no certificate (block {} of {all})", n + 1))
                .with_source(error)
        })?;
    }
    Ok(roots)
}

/// What the system trusts: for a server without a CA of its own.
fn system_roots() -> Result<RootCertStore> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // A system's store may hold ancient certificates that nobody can parse; they are no reason to fail.
    let (taken, left) = roots.add_parsable_certificates(found.certs);
    if left > 0 || !found.errors.is_empty() {
        log::debug!(
            target: "informer::http",
            "system roots: {taken} taken, {left} left out, {} errors", found.errors.len()
        );
    }
    if roots.is_empty() {
        let reason = found.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
        return Err(bad(format!(
            "no CA is configured and the system's certificate store is empty{reason}; set certificate-authority, or install CA certificates"
        )));
    }
    Ok(roots)
}

/// Chain and key, if they belong together and can be used (F-81).
fn certified_key(
    (certificate, chain): (&Pem, Vec<CertificateDer<'static>>),
    (key, private): (&Pem, PrivateKeyDer<'static>),
    provider: &CryptoProvider,
) -> Result<CertifiedKey> {
    let is_p521 = contains(private.secret_der(), OID_P521);
    // The cause's text would add nothing, and it comes from reading a key.
    let signing = provider.key_provider.load_private_key(private).map_err(|_| match is_p521 {
        true => key.bad("is a P-521 key, which is not supported; use P-256, P-384, Ed25519 or RSA"),
        false => {
            key.bad("is not a usable key; supported are RSA (2048 bits or more), P-256, P-384 and Ed25519")
        }
    })?;
    let pair = CertifiedKey::new(chain, signing);
    match pair.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(pair),
        Err(rustls::Error::InconsistentKeys(_)) => {
            Err(certificate.bad(format!("does not belong to {}", key.name())))
        }
        Err(error) => {
            Err(certificate.bad("is not a usable certificate; it must be X.509 version 3").with_source(error))
        }
    }
}

/// 1.3.132.0.35, as it stands in a key.
const OID_P521: &[u8] = &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23];

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}

/// Takes every server for the right one.
///
/// Signatures of the handshake are not checked either: whoever stands in the middle signs with a key of his own, so
/// the check would protect from nothing, and it would refuse the version 1 certificates of home-made clusters.
#[derive(Debug)]
struct Anybody {
    schemes: Vec<SignatureScheme>,
}

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, message).at(Stage::Config)
}
