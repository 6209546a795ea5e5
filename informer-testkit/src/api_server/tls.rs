//! TLS for one server: an authority of its own that nobody else trusts, and a certificate for loopback.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use informer_core::{Error, ErrorKind, Result};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// A configuration for connections, and the authority's certificate as PEM.
pub(super) fn configuration() -> Result<(Arc<ServerConfig>, String)> {
    let generated = |error: rcgen::Error| failed("certificates could not be made").with_source(error);
    let mut authority = named("informer-testkit authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let authority_key = KeyPair::generate().map_err(generated)?;
    let authority_certificate = authority.self_signed(&authority_key).map_err(generated)?;
    let issuer = Issuer::new(authority, authority_key);

    let mut server = named("informer-testkit");
    server.subject_alt_names = vec![SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST))];
    server.subject_alt_names.push(SanType::DnsName("localhost".try_into().map_err(generated)?));
    let server_key = KeyPair::generate().map_err(generated)?;
    let certificate = server.signed_by(&server_key, &issuer).map_err(generated)?;

    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(server_key.serialize_der()));
    let refused = |error: rustls::Error| failed("TLS could not be set up").with_source(error);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(refused)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .map_err(refused)?;
    // Go's clients offer HTTP/2 first.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((Arc::new(config), authority_certificate.pem()))
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn failed(what: &str) -> Error {
    Error::new(ErrorKind::Tls, what)
}
