//! What a configuration hands to the client: credentials, headers, server, proxy. The public side is tested outside.

use informer_core::SystemClock;

use super::*;

/// A kubeconfig of one cluster and one user, whose fields are given in flow style.
fn one(cluster: &str, user: &str) -> Result<Config> {
    Config::from_kubeconfig_str(&format!(
        "{{current-context: x, contexts: [{{name: x, context: {{cluster: c, user: u}}}}],
          clusters: [{{name: c, cluster: {{{cluster}}}}}], users: [{{name: u, user: {{{user}}}}}]}}"
    ))
}

const TLS: &str = "server: 'https://example.com:6443', insecure-skip-tls-verify: true";
const PLAIN: &str = "server: 'http://example.com:8080'";

fn header(config: &Config) -> Option<String> {
    let value = config.credentials(Arc::new(SystemClock)).unwrap().header()?;
    Some(value.to_str().unwrap().to_owned())
}

#[test]
fn au_4_credentials_go_to_an_https_server_only() {
    let user = "token: abc, as: somebody";
    let tls = one(TLS, user).unwrap();
    assert_eq!(header(&tls).as_deref(), Some("Bearer abc"));
    assert_eq!(tls.headers().len(), 1);
    assert!(tls.tls().is_some());

    let plain = one(PLAIN, user).unwrap();
    assert_eq!(header(&plain), None);
    assert!(plain.headers().is_empty() && plain.tls().is_none());
    // What is not sent need not be supported either.
    one(PLAIN, "exec: {command: x}").unwrap();
    one(TLS, "exec: {command: x}").unwrap_err();
}

#[test]
fn each_kind_of_credential_becomes_its_header() {
    assert_eq!(header(&one(TLS, "").unwrap()), None);
    assert_eq!(header(&one(TLS, "token: ''").unwrap()), None);
    assert_eq!(header(&one(TLS, "username: me, password: pw").unwrap()).as_deref(), Some("Basic bWU6cHc="));
    assert_eq!(header(&one(TLS, "password: pw").unwrap()).as_deref(), Some("Basic OnB3"));
    // Another credential beside exec wins over it.
    assert_eq!(header(&one(TLS, "token: abc, exec: {command: x}").unwrap()).as_deref(), Some("Bearer abc"));
}

#[test]
fn f_76_a_token_file_is_found_beside_its_kubeconfig_and_wins_over_the_token() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("secrets")).unwrap();
    std::fs::write(dir.path().join("secrets/token"), "from-file\n").unwrap();
    let path = dir.path().join("config");
    let text = format!(
        "{{current-context: x, contexts: [{{name: x, context: {{cluster: c, user: u}}}}],
          clusters: [{{name: c, cluster: {{{TLS}}}}}],
          users: [{{name: u, user: {{tokenFile: secrets/token, token: static}}}}]}}"
    );
    std::fs::write(&path, text).unwrap();
    assert_eq!(header(&Config::from_kubeconfig_file(&path).unwrap()).as_deref(), Some("Bearer from-file"));
    std::fs::remove_file(dir.path().join("secrets/token")).unwrap();
    assert_eq!(header(&Config::from_kubeconfig_file(&path).unwrap()).as_deref(), Some("Bearer static"));
}

#[test]
fn au_11_impersonation_becomes_headers() {
    let user =
        "as: ann, as-uid: '7', as-groups: [a, b], as-user-extra: {'acme.com/Scope': [x, y], none: null}";
    let config = one(TLS, user).unwrap();
    let headers: Vec<(&str, &str)> =
        config.headers().iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
    assert_eq!(
        headers,
        [
            ("impersonate-user", "ann"),
            ("impersonate-uid", "7"),
            ("impersonate-group", "a"),
            ("impersonate-group", "b"),
            ("impersonate-extra-acme.com%2fscope", "x"),
            ("impersonate-extra-acme.com%2fscope", "y"),
        ]
    );
    let error = one(TLS, "as-groups: [a]").unwrap_err();
    assert!(error.to_string().contains("without as"), "{error}");
    let error = one(TLS, "as: \"a\\nb\"").unwrap_err();
    assert!(error.to_string().starts_with("as of user \"u\" in the kubeconfig text holds"), "{error}");
}

#[test]
fn the_server_is_taken_apart_and_compression_follows_the_cluster() {
    let config = one("server: 'http://[::1]:8001/k8s/c1/', disable-compression: true", "").unwrap();
    assert_eq!(config.server_url(), "http://[::1]:8001/k8s/c1");
    assert!(!config.compress());
    assert!(one(PLAIN, "").unwrap().compress());
    // Without a scheme, TLS material decides.
    let config = one("server: 'example.com', insecure-skip-tls-verify: true", "").unwrap();
    assert_eq!(config.server_url(), "https://example.com:443");
}

#[test]
fn f_80_tls_server_name_is_handed_on() {
    let config = one(&format!("{TLS}, tls-server-name: kubernetes"), "").unwrap();
    assert_eq!(config.tls().unwrap().1, Some(ServerName::try_from("kubernetes").unwrap()));
    let error = one(&format!("{TLS}, tls-server-name: 'a b'"), "").unwrap_err();
    assert!(error.to_string().contains("tls-server-name \"a b\""), "{error}");
}

#[test]
fn d_18_proxy_url_comes_before_the_environment_and_no_proxy() {
    let environment = Environment::empty()
        .with_var("HTTPS_PROXY", "http://env:1")
        .with_var("HTTP_PROXY", "http://env:1")
        .with_var("NO_PROXY", "127.0.0.1");
    let shown = |config: Config| config.proxy(&environment).unwrap().map(|proxy| proxy.to_string());
    assert_eq!(shown(one(TLS, "").unwrap()).as_deref(), Some("http://env:1"));
    let set = "proxy-url: 'socks5://me:hunter2@jump:1080'";
    let config = one(&format!("server: 'http://127.0.0.1:8001', {set}"), "").unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
    assert_eq!(shown(config).as_deref(), Some("socks5://jump:1080"));
    let error = one(&format!("{PLAIN}, proxy-url: 'ftp://me:hunter2@x'"), "").unwrap_err();
    assert!(error.to_string().starts_with("cluster \"c\" in the kubeconfig text: proxy-url: "), "{error}");
    assert!(!format!("{error:?}").contains("hunter2"));
}

#[test]
fn debug_shows_where_and_how_but_no_secret() {
    let config = one(TLS, "token: hunter2").unwrap();
    let shown = format!("{config:?} {:?}", config.credentials(Arc::new(SystemClock)).unwrap());
    assert!(shown.contains("https://example.com:6443") && shown.contains("Token"), "{shown}");
    assert!(!shown.contains("hunter2"));
    let config = one(TLS, "username: me, password: hunter2").unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
}
