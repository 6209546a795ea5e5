//! Certificates and keys of a kubeconfig: found, preferred, and refused in one line when they are loaded.

use std::path::Path;

use informer_core::ErrorKind;
use informer_http::Config;
use tempfile::TempDir;

const KEYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keys");

fn key(file: &str) -> String {
    std::fs::read_to_string(Path::new(KEYS).join(file)).unwrap()
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// A folder with a kubeconfig whose cluster and user have these further lines.
fn folder(cluster: &str, user: &str) -> TempDir {
    let indent = |text: &str| text.lines().map(|line| format!("    {line}\n")).collect::<String>();
    let dir = tempfile::tempdir().unwrap();
    let text = format!(
        "current-context: x\ncontexts:\n- name: x\n  context: {{cluster: c, user: u}}\n\
         clusters:\n- name: c\n  cluster:\n    server: https://example.com\n{}\
         users:\n- name: u\n  user:\n    as: ann\n{}",
        indent(cluster),
        indent(user)
    );
    std::fs::write(dir.path().join("config"), text).unwrap();
    dir
}

fn load(dir: &TempDir) -> informer_core::Result<Config> {
    Config::from_kubeconfig_file(dir.path().join("config"))
}

fn error(dir: &TempDir) -> String {
    let error = load(dir).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

const INSECURE: &str = "insecure-skip-tls-verify: true";

#[test]
fn f_76_paths_start_where_the_kubeconfig_stands() {
    let dir = folder(
        "certificate-authority: pki/ca.crt",
        "client-certificate: ./pki/me.crt\nclient-key: pki/me.key",
    );
    std::fs::create_dir(dir.path().join("pki")).unwrap();
    std::fs::write(dir.path().join("pki/ca.crt"), key("rsa-pkcs1.crt")).unwrap();
    std::fs::write(dir.path().join("pki/me.crt"), key("p384-sec1.crt")).unwrap();
    std::fs::write(dir.path().join("pki/me.key"), key("p384-sec1.key")).unwrap();
    load(&dir).unwrap();
    std::fs::write(dir.path().join("pki/me.key"), key("rsa-pkcs1.key")).unwrap();
    let text = error(&dir);
    assert!(text.contains("client-certificate ") && text.contains("me.crt of user \"u\" in "), "{text}");
    assert!(text.contains("does not belong to client-key ") && text.contains("pki/me.key"), "{text}");
    std::fs::remove_file(dir.path().join("pki/ca.crt")).unwrap();
    let text = error(&dir);
    assert!(
        text.contains("certificate-authority ") && text.contains("ca.crt of cluster \"c\" in "),
        "{text}"
    );
    assert!(text.contains("cannot be read: No such file"), "{text}");
}

#[test]
fn au_3_data_wins_over_the_file_and_may_have_line_breaks() {
    let certificate = base64(&key("p384-sec1.crt"));
    let (first, second) = certificate.split_at(64);
    let user = format!(
        "client-certificate: missing.crt\nclient-certificate-data: |\n  {first}\n   {second}  \nclient-key: missing.key\n\
         client-key-data: !!binary {}",
        base64(&key("p384-sec1.key"))
    );
    let cluster = format!("certificate-authority: missing\ncertificate-authority-data: {certificate}");
    load(&folder(&cluster, &user)).unwrap();
}

#[test]
fn f_74_a_ca_that_is_none_is_refused_at_load() {
    for (cluster, words) in [
        (
            format!("certificate-authority-data: {}", base64("garbage")),
            "certificate-authority-data of cluster \"c\" in ",
        ),
        ("certificate-authority-data: '%%%'".to_owned(), "is not base64"),
        (format!("certificate-authority-data: {}", base64("\n")), "is empty"),
        ("certificate-authority: config".to_owned(), "holds no certificate in PEM form"),
        ("certificate-authority: .".to_owned(), "cannot be read"),
    ] {
        let text = error(&folder(&cluster, ""));
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn f_78_insecure_together_with_a_ca_is_refused() {
    let text = error(&folder(&format!("{INSECURE}\ncertificate-authority: x"), ""));
    assert!(text.contains("insecure-skip-tls-verify together with a certificate-authority"), "{text}");
    load(&folder(INSECURE, "")).unwrap();
}

#[test]
fn f_81_bad_pairs_of_certificate_and_key_are_refused_at_load() {
    let pair = |certificate: &str, key: &str| {
        format!("client-certificate: {KEYS}/{certificate}\nclient-key: {KEYS}/{key}")
    };
    for (user, words) in [
        (pair("p384-sec1.crt", "p384-encrypted-sec1.key"), "p384-encrypted-sec1.key of user \"u\""),
        (pair("p521-sec1.crt", "p521-sec1.key"), "is a P-521 key, which is not supported"),
        (pair("p384-sec1.key", "p384-sec1.crt"), "swapped"),
        (format!("client-certificate: {KEYS}/p384-sec1.crt"), "has a client-certificate but no client-key"),
        (format!("client-key: {KEYS}/p384-sec1.key"), "has a client-key but no client-certificate"),
    ] {
        let text = error(&folder(INSECURE, &user));
        assert!(text.contains(words), "{text}");
    }
    load(&folder(INSECURE, &pair("rsa-pkcs1.crt", "rsa-pkcs8.key"))).unwrap();
}
