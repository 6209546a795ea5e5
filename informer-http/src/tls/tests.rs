//! Client and server shake hands in memory: what is trusted, what is sent, what is refused and in which words.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use informer_core::ErrorKind;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConnection, ServerConfig, ServerConnection};
use rustls_pki_types::PrivateKeyDer;

use super::*;

struct Ca(CertifiedIssuer<'static, KeyPair>);

impl Ca {
    /// Every CA has a name of its own: of two with one name, the wrong one is no unknown issuer but a bad signer.
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        let name = format!("CA {}", COUNT.fetch_add(1, Ordering::Relaxed));
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Ca(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// Certificate and key in PEM form.
    fn issue(&self, names: &[&str]) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// A server for `names` that asks for a client certificate of this CA, and can do without.
    fn server(&self, names: &[&str]) -> Arc<ServerConfig> {
        let (certificate, key) = self.issue(names);
        let (certificate, key) = (inline("c", &certificate), inline("k", &key));
        let chain = certificate.certificates(&certificate.load().unwrap()).unwrap();
        let key: PrivateKeyDer<'static> = key.private_key(&key.load().unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .allow_unauthenticated()
            .build()
            .unwrap();
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Arc::new(config)
    }
}

fn inline(name: &str, text: &str) -> Pem {
    Pem::inline(name.to_owned(), text.as_bytes().to_vec())
}

/// A key or certificate of `tests/keys`.
fn key_file(file: &str) -> Pem {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keys").join(file);
    Pem::file(file.to_owned(), path)
}

fn build(material: &TlsMaterial) -> Result<Arc<ClientConfig>> {
    material.load().and_then(|loaded| material.client_config(&loaded))
}

fn trusting(bundle: &str) -> TlsMaterial {
    TlsMaterial { ca: Some(inline("the CA", bundle)), ..TlsMaterial::default() }
}

fn with_identity(certificate: Pem, key: Pem) -> TlsMaterial {
    TlsMaterial { insecure: true, identity: Some((certificate, key)), ..TlsMaterial::default() }
}

/// Shakes hands until both are done, or answers the client's error.
fn handshake(
    material: &TlsMaterial,
    server: &Arc<ServerConfig>,
    host: &str,
) -> Result<ServerConnection, rustls::Error> {
    let config = build(material).unwrap();
    let name = material.server_name.clone().unwrap_or(ServerName::try_from(host.to_owned()).unwrap());
    let mut client = ClientConnection::new(config, name).unwrap();
    let mut server = ServerConnection::new(Arc::clone(server)).unwrap();
    while client.is_handshaking() || server.is_handshaking() {
        let mut wire = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        let mut to_server = wire.as_slice();
        while !to_server.is_empty() {
            server.read_tls(&mut to_server).unwrap();
            server.process_new_packets().unwrap();
        }
        let mut wire = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        let mut to_client = wire.as_slice();
        while !to_client.is_empty() {
            client.read_tls(&mut to_client).unwrap();
            client.process_new_packets()?;
        }
    }
    Ok(server)
}

#[test]
fn f_74_a_bundle_is_loaded_whole_whatever_stands_between_its_blocks() {
    let (other, right) = (Ca::new(), Ca::new());
    let server = right.server(&["example.com"]);
    let bundle = format!("# the old one\n{}\n# the new one\n{}", other.pem(), right.pem());
    handshake(&trusting(&bundle), &server, "example.com").unwrap();
    handshake(&trusting(&bundle.replace("\r\n", "\n").replace('\n', "\r\n")), &server, "example.com")
        .unwrap();
}

#[test]
fn f_74_another_ca_is_not_trusted() {
    let server = Ca::new().server(&["example.com"]);
    let error = handshake(&trusting(&Ca::new().pem()), &server, "example.com").map(drop).unwrap_err();
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
}

#[test]
fn f_74_a_ca_without_a_certificate_or_with_a_broken_one_is_an_error() {
    let good = Ca::new();
    let (_, key) = good.issue(&["a"]);
    let no_der = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
    for (bundle, words) in [
        (String::new(), "is empty"),
        (" \n".to_owned(), "is empty"),
        ("garbage".to_owned(), "holds no certificate"),
        (key, "swapped"),
        (format!("{}{no_der}", good.pem()), "block 2 of 2"),
        ("-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n".to_owned(), "not valid PEM"),
        (format!("{}-----BEGIN CERTIFICATE-----\naGVs", good.pem()), "not valid PEM"),
        (format!("{}  {}", good.pem(), good.pem()), "holds 2 certificates, but only 1"),
    ] {
        let error = build(&trusting(&bundle)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains(words) && error.to_string().starts_with("the CA "), "{error}");
    }
}

#[test]
fn f_80_an_address_is_checked_and_tls_server_name_takes_its_place() {
    let ca = Ca::new();
    let by_address = ca.server(&["127.0.0.1", "::1"]);
    handshake(&trusting(&ca.pem()), &by_address, "127.0.0.1").unwrap();
    handshake(&trusting(&ca.pem()), &by_address, "::1").unwrap();

    let by_name = ca.server(&["kubernetes.default"]);
    assert!(handshake(&trusting(&ca.pem()), &by_name, "127.0.0.1").is_err());
    let renamed = TlsMaterial {
        server_name: Some(ServerName::try_from("kubernetes.default").unwrap()),
        ..trusting(&ca.pem())
    };
    let server = handshake(&renamed, &by_name, "127.0.0.1").unwrap();
    assert_eq!(server.server_name(), Some("kubernetes.default"));
}

#[test]
fn f_78_insecure_takes_any_server_and_still_sends_the_client_certificate() {
    let ca = Ca::new();
    let (certificate, key) = ca.issue(&["client"]);
    let material = with_identity(inline("c", &certificate), inline("k", &key));
    let server = handshake(&material, &ca.server(&["somebody.else"]), "example.com").unwrap();
    let sent = server.peer_certificates().unwrap().to_vec();
    assert_eq!(sent, inline("c", &certificate).certificates(certificate.as_bytes()).unwrap());
}

#[test]
fn verifying_is_the_default_and_the_system_is_asked_without_a_ca() {
    let server = Ca::new().server(&["example.com"]);
    // Without roots on this system there is nothing to build; with them, our server is not among the trusted.
    match build(&TlsMaterial::default()) {
        Err(error) => assert!(error.to_string().contains("certificate store is empty"), "{error}"),
        Ok(_) => assert!(handshake(&TlsMaterial::default(), &server, "example.com").is_err()),
    }
}

#[test]
fn the_protocol_is_http_1_1() {
    let ca = Ca::new();
    let server = handshake(&trusting(&ca.pem()), &ca.server(&["a"]), "a").unwrap();
    assert_eq!(server.alpn_protocol(), Some(&b"http/1.1"[..]));
    assert!(server.peer_certificates().is_none());
}

#[test]
fn f_81_every_usual_form_of_a_key_is_taken() {
    for (certificate, key) in [
        ("p256-sec1-params.crt", "p256-sec1-params.key"),
        ("p384-sec1.crt", "p384-sec1.key"),
        ("rsa-pkcs1.crt", "rsa-pkcs1.key"),
        ("rsa-pkcs1.crt", "rsa-pkcs8.key"),
    ] {
        build(&with_identity(key_file(certificate), key_file(key))).unwrap();
    }
    for algorithm in [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ECDSA_P384_SHA384, &rcgen::PKCS_ED25519] {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let certificate = CertificateParams::new(vec!["a".to_owned()]).unwrap().self_signed(&key).unwrap();
        // One file may hold both, as the kubelet's does.
        let both = format!("{}{}", key.serialize_pem(), certificate.pem());
        build(&with_identity(inline("c", &both), inline("k", &both))).unwrap();
    }
}

#[test]
fn f_81_every_unusable_key_is_an_error_that_names_it_and_never_a_panic() {
    for (certificate, key, words) in [
        ("p521-sec1.crt", "p521-sec1.key", "p521-sec1.key is a P-521 key, which is not supported"),
        ("p521-sec1.crt", "p521-pkcs8.key", "p521-pkcs8.key is a P-521 key, which is not supported"),
        ("rsa-1024.crt", "rsa-1024.key", "rsa-1024.key is not a usable key"),
        ("p384-sec1.crt", "p384-encrypted-pkcs8.key", "p384-encrypted-pkcs8.key is an encrypted key"),
        ("p384-sec1.crt", "p384-encrypted-sec1.key", "p384-encrypted-sec1.key is an encrypted key"),
        ("p384-sec1.crt", "rsa-pkcs1.key", "p384-sec1.crt does not belong to rsa-pkcs1.key"),
        ("p384-v1.crt", "p384-sec1.key", "p384-v1.crt is not a usable certificate"),
        ("p384-sec1.key", "p384-sec1.crt", "swapped"),
        ("p384-sec1.crt", "p384-sec1.crt", "swapped"),
        ("p384-sec1.crt", "README.md", "README.md holds no private key"),
        ("README.md", "p384-sec1.key", "README.md holds no certificate"),
        ("p384-sec1.crt", "missing.key", "missing.key cannot be read"),
    ] {
        let error = build(&with_identity(key_file(certificate), key_file(key))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains(words), "{certificate} and {key}: {error}");
    }
}

#[test]
fn f_81_a_broken_key_does_not_show_in_the_error() {
    let certificate = key_file("p384-sec1.crt");
    let secret = "aHVudGVyMg";
    for key in [
        format!("-----BEGIN PRIVATE KEY-----\n{secret}==\n-----END PRIVATE KEY-----\n"),
        format!("-----BEGIN PRIVATE KEY-----\n{secret}!\n-----END PRIVATE KEY-----\n"),
        format!("-----BEGIN PRIVATE KEY-----\n{secret}"),
        format!("-----BEGIN {secret}\n"),
        secret.to_owned(),
    ] {
        let error = build(&with_identity(certificate.clone(), inline("the key", &key))).unwrap_err();
        let whole = format!("{error} {error:?} {}", error.chain());
        assert!(!whole.contains(secret) && !whole.contains("hunter2"), "{whole}");
    }
}

#[test]
fn f_72_f_73_what_was_loaded_tells_whether_a_file_changed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ca.crt");
    let (old, new) = (Ca::new(), Ca::new());
    std::fs::write(&path, old.pem()).unwrap();
    let material =
        TlsMaterial { ca: Some(Pem::file("ca.crt".to_owned(), path.clone())), ..TlsMaterial::default() };
    let loaded = material.load().unwrap();
    assert_eq!(loaded, material.load().unwrap());
    std::fs::write(&path, new.pem()).unwrap();
    assert_ne!(loaded, material.load().unwrap());
    handshake(&material, &new.server(&["a"]), "a").unwrap();
}
