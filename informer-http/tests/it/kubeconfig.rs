//! Kubeconfig files: merged as kubectl merges them, and refused in one line that never repeats a secret.

use informer_core::ErrorKind;
use informer_http::{Config, Environment, Kubeconfig, KubeconfigOptions};
use proptest::prelude::*;
use tempfile::TempDir;

/// A kubeconfig with these contexts: name, cluster, server.
fn file(current: Option<&str>, contexts: &[(&str, &str, &str)]) -> String {
    let mut text =
        String::from("apiVersion: v1\nkind: Config\npreferences: {}\nunknown: [1, {a: b}]\nusers: null\n");
    if let Some(current) = current {
        text += &format!("current-context: {current}\n");
    }
    text += "contexts:\n";
    for (name, cluster, _) in contexts {
        text += &format!(
            "- name: {name}\n  context: {{cluster: {cluster}, namespace: ns-{name}, extensions: []}}\n"
        );
    }
    text += "clusters:\n";
    for (_, cluster, server) in contexts {
        text += &format!("- name: {cluster}\n  cluster: {{server: 'http://{server}'}}\n");
    }
    text
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

/// The environment whose `KUBECONFIG` names these parts, `@` standing for the folder.
fn kubeconfig(dir: &TempDir, list: &str) -> Environment {
    Environment::empty().with_var("KUBECONFIG", list.replace('@', &format!("{}", dir.path().display())))
}

fn config_error(result: informer_core::Result<Config>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn au_1_f_75_the_first_definition_of_a_name_wins_as_a_whole() {
    let dir = folder(&[
        ("a", &file(Some("two"), &[("one", "c1", "first")])),
        ("b", &file(Some("one"), &[("one", "c1", "second"), ("two", "c2", "third")])),
    ]);
    let environment = kubeconfig(&dir, "@/a::@/missing:@/b:@/a:");
    // The current context is a's, its definition is b's.
    let config = Config::infer_in(&environment).unwrap();
    assert_eq!((config.server_url().as_str(), config.namespace()), ("http://third:80", "ns-two"));
    let one = KubeconfigOptions::new().context("one");
    let config = Config::infer_with(&one, &environment).unwrap();
    assert_eq!(config.server_url(), "http://first:80");
    assert!(config.origin().starts_with("context \"one\" in ") && config.origin().ends_with("/a"));
}

#[test]
fn f_75_the_winner_is_not_filled_up_from_the_others() {
    let dir = folder(&[
        ("a", "{current-context: x, contexts: [{name: x, context: {cluster: c}}]}"),
        (
            "b",
            "{contexts: [{name: x, context: {cluster: c, namespace: other}}],
              clusters: [{name: c, cluster: {server: 'http://h'}}]}",
        ),
    ]);
    assert_eq!(Config::infer_in(&kubeconfig(&dir, "@/a:@/b")).unwrap().namespace(), "default");
}

#[test]
fn au_2_a_path_that_is_given_must_exist() {
    let dir = folder(&[]);
    let path = dir.path().join("nowhere");
    let text = config_error(Config::from_kubeconfig_file(&path));
    assert_eq!(text, format!("the kubeconfig {} does not exist; check the path", path.display()));
    let text = config_error(Config::from_kubeconfig_file(dir.path()));
    assert!(text.contains("cannot be read: "), "{text}");
}

#[test]
fn a_context_is_chosen_and_its_cluster_and_user_replaced() {
    let text = file(Some("one"), &[("one", "c1", "first"), ("two", "c2", "second")]);
    let kubeconfig = Kubeconfig::parse(&text).unwrap();
    assert_eq!(kubeconfig.contexts().collect::<Vec<_>>(), ["one", "two"]);
    let server = |options| Config::from_kubeconfig(&kubeconfig, &options).map(|config| config.server_url());
    assert_eq!(server(KubeconfigOptions::new()).unwrap(), "http://first:80");
    assert_eq!(server(KubeconfigOptions::new().context("two")).unwrap(), "http://second:80");
    assert_eq!(server(KubeconfigOptions::new().cluster("c2")).unwrap(), "http://second:80");
    let error = server(KubeconfigOptions::new().user("me")).unwrap_err().to_string();
    assert_eq!(
        error,
        "user \"me\" of context \"one\" in the kubeconfig text is not in the kubeconfig text; it has none"
    );
    // A cluster alone will do where no context is set.
    let text = "clusters: [{name: c, cluster: {server: 'http://h'}}]";
    let options = KubeconfigOptions::new().cluster("c");
    Config::from_kubeconfig(&Kubeconfig::parse(text).unwrap(), &options).unwrap();
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    let dir = folder(&[("k", &file(None, &[("a", "c", "h"), ("b", "c2", "h")]))]);
    let path = dir.path().join("k");
    let shown = path.display();
    let kubeconfig = Kubeconfig::read(&path).unwrap();
    let text = config_error(Config::from_kubeconfig(&kubeconfig, &KubeconfigOptions::new().context("x")));
    assert_eq!(text, format!("context \"x\" is not in {shown}; it has: a, b"));
    let text = config_error(Config::from_kubeconfig(&kubeconfig, &KubeconfigOptions::new()));
    assert_eq!(text, format!("no context is chosen and no current-context is set in {shown}; it has: a, b"));

    for (text, words) in [
        ("{current-context: x}", "context \"x\" is not in the kubeconfig text; it has none"),
        (
            "{current-context: x, contexts: [{name: x, context: {cluster: c}}]}",
            "cluster \"c\" of context \"x\" in the kubeconfig text is not in the kubeconfig text; it has none",
        ),
        (
            "{current-context: x, contexts: [{name: x}]}",
            "context \"x\" in the kubeconfig text names no cluster",
        ),
        (
            "{current-context: x, contexts: [{name: x, context: {cluster: c}}], clusters: [{name: c, cluster: null}]}",
            "cluster \"c\" in the kubeconfig text has no server",
        ),
        (
            "{current-context: x, contexts: [{name: x, context: {cluster: c}}], clusters: [{name: c, cluster: {server: 'ftp://h'}}]}",
            "cluster \"c\" in the kubeconfig text: the server URL \"ftp://h\" must begin with https:// or http://",
        ),
        ("{contexts: [{name: x}, {name: x}]}", "the kubeconfig text defines context \"x\" twice"),
        ("", "no context is chosen and no current-context is set in the kubeconfig text; it has none"),
        ("{kind: Pod}", "the kubeconfig text is not a kubeconfig: its kind is not Config"),
    ] {
        assert_eq!(config_error(Config::from_kubeconfig_str(text)), words);
    }
}

/// A user entry in block style and the words of its error.
fn user_error(user: &str) -> String {
    let text = format!(
        "current-context: x\ncontexts: [{{name: x, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'https://h', insecure-skip-tls-verify: true}}}}]\n\
         users:\n- name: u\n  user: {{{user}}}\n"
    );
    config_error(Config::from_kubeconfig_str(&text))
}

#[test]
fn contradictions_and_unsupported_kinds_name_file_user_and_field() {
    for (user, words) in [
        ("token: a, username: b", "sets both a token and a username or password"),
        ("tokenFile: a, password: b", "sets both a token and a username or password"),
        ("exec: {command: x, env: null}", "uses exec, which is not supported yet"),
        ("auth-provider: {name: gcp}", "uses auth-provider"),
        ("auth-provider: {name: gcp}, exec: {}", "sets both exec and auth-provider"),
        ("as-uid: x", "without as"),
    ] {
        let text = user_error(user);
        assert!(text.contains(words) && text.starts_with("user \"u\" in the kubeconfig text "), "{text}");
    }
    let text = user_error("tokenFile: /missing/token");
    assert!(text.contains("token file /missing/token cannot be read"), "{text}");
}

#[test]
fn broken_yaml_is_told_by_file_line_and_column() {
    let dir = folder(&[("k", "users:\n- name: u\n  user: {token: [}\n")]);
    let path = dir.path().join("k");
    let text = config_error(Config::from_kubeconfig_file(&path));
    assert!(text.starts_with(&format!("{}, line 3, column ", path.display())), "{text}");
    assert!(text.contains("in token: "), "{text}");
    let text = config_error(Config::from_kubeconfig_str("clusters: 3\n"));
    assert!(
        text.starts_with("the kubeconfig text, line 1, column ") && text.contains("in clusters: "),
        "{text}"
    );
    std::fs::write(&path, b"a: \xff\n").unwrap();
    let text = config_error(Config::from_kubeconfig_file(&path));
    assert!(text.ends_with("is not text: byte 3 is not UTF-8"), "{text}");
}

#[test]
fn a_secret_on_a_broken_line_is_in_no_part_of_the_error() {
    for text in [
        "users:\n- name: u\n  user:\n    token: [hunter2\n",
        "users:\n- name: u\n  user:\n    token: {hunter2: hunter2}\n",
        "users:\n- name: u\n  user:\n    token: \"hunter2\n",
        "users:\n- name: u\n  user:\n    token: *hunter2\n",
        "users:\n- name: u\n  user:\n    token: hunter2: x\n",
        "users:\n- name: u\n  user:\n    token: !hunter2 hunter2\n    token: hunter2\n",
        "users:\n- name: u\n  user: hunter2\n",
        "users: hunter2\n",
        "users:\n- hunter2\n",
        "hunter2",
        "hunter2: &hunter2 [*hunter2]\nhunter2: 1\n",
        "users:\n- name: u\n  user:\n    token: %hunter2\n",
        "users:\n- name: u\n  user:\n    token: @hunter2\n",
        "users:\n- name: u\n  user:\n    as-groups: hunter2\n",
        "users:\n- name: u\n  user:\n    as-groups: [[hunter2]]\n",
        "clusters:\n- name: u\n  cluster:\n    insecure-skip-tls-verify: hunter2\n",
        "---\ntoken: hunter2\n---\ntoken: hunter2\n",
        "kind: hunter2\n",
        "hunter2: 1\nhunter2: 2\n",
        "users:\n- name: u\n\tuser: hunter2\n",
    ] {
        let error = Kubeconfig::parse(text).map(drop).expect_err(text);
        let mut whole = format!("{error} {error:?} {}", error.chain());
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            whole += &format!(" {inner} {inner:?}");
            cause = inner.source();
        }
        assert!(!whole.contains("hunter2"), "{text:?}: {whole}");
    }
}

#[test]
fn a_secret_that_was_read_is_in_no_debug_text() {
    let text = "users: [{name: u, user: {token: hunter2, password: hunter2, client-key-data: hunter2,
        client-certificate-data: hunter2, exec: {env: [{name: a, value: hunter2}]}, auth-provider: {config: {access-token: hunter2}}}}]
clusters: [{name: c, cluster: {server: 'https://me:hunter2@h', proxy-url: 'http://me:hunter2@h'}}]";
    assert!(!format!("{:?}", Kubeconfig::parse(text).unwrap()).contains("hunter2"));
}

#[test]
fn odd_but_valid_files_are_read() {
    let json = "{\"current-context\": \"x\", \"contexts\": [{\"name\": \"x\", \"context\": {\"cluster\": \"c\", \"user\": \"\"}}],
        \"clusters\": [{\"name\": \"c\", \"cluster\": {\"server\": \"http://h\", \"tls-server-name\": \"\"}}]}";
    for text in [
        json.to_owned(),
        format!("\u{feff}{json}"),
        format!("---\n{json}\n"),
        format!("---\n{json}\n...\n"),
        file(Some("x"), &[("x", "c", "h")]).replace('\n', "\r\n"),
        "current-context: x\ncontexts: [{name: x, context: {cluster: c, namespace: null}}]\nusers: ~\n\
         clusters: [{name: c, cluster: &c {server: 'http://h', certificate-authority-data: null}}, {name: d, cluster: *c}]"
            .to_owned(),
    ] {
        let config = Config::from_kubeconfig_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(config.server_url(), "http://h:80");
    }
}

#[test]
fn deep_and_exploding_files_are_refused() {
    let deep = 200_000;
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for n in 1..12 {
        bomb += &format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(", "));
    }
    for text in ["[".repeat(deep), "{a: ".repeat(deep), "- ".repeat(deep), bomb] {
        let error = Kubeconfig::parse(&text).unwrap_err();
        assert!(error.to_string().len() < 200, "{error}");
    }
}

/// Text that looks like a kubeconfig gone wrong.
fn yaml_ish() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "clusters:",
        "users:",
        "contexts:",
        "current-context: x",
        "- name: x",
        "cluster:",
        "user:",
        "context:",
        "{",
        "}",
        "[",
        "]",
        ",",
        "\n",
        "\n  ",
        "\n    ",
        "- ",
        ": ",
        "server: https://h",
        "server: 'http://[::1]:1'",
        "token: abc",
        "tokenFile: x",
        "client-key-data: QUJD",
        "client-certificate-data: QUJD",
        "certificate-authority-data: LS0tLS1CRUdJTg==",
        "exec: {}",
        "as-user-extra: {a: [b]}",
        "proxy-url: socks5://h",
        "null",
        "~",
        "&a ",
        "*a",
        "!!binary ",
        "|",
        ">",
        "\"",
        "'",
        "#",
        "---",
        "...",
        "\t",
        "\u{feff}",
        "é",
        "%",
        "@",
        "name: x",
        "insecure-skip-tls-verify: true",
        "<<: *a",
        "x",
    ]);
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_makes_a_panic(text in prop_oneof![yaml_ish(), any::<String>()]) {
        if let Err(error) = Config::from_kubeconfig_str(&text) {
            prop_assert_eq!(error.kind(), ErrorKind::Config);
        }
    }

    #[test]
    fn no_bytes_make_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let dir = folder(&[]);
        let path = dir.path().join("k");
        std::fs::write(&path, bytes).unwrap();
        if let Err(error) = Config::from_kubeconfig_file(&path) {
            prop_assert_eq!(error.kind(), ErrorKind::Config);
        }
    }

    #[test]
    fn no_value_of_a_field_makes_a_panic(cluster in "[ -~]{0,40}", value in "\\PC{0,40}", field in 0..16usize) {
        let fields = [
            "server", "tls-server-name", "certificate-authority", "certificate-authority-data", "proxy-url", "client-certificate",
            "client-certificate-data", "client-key", "client-key-data", "token", "tokenFile", "as", "as-uid", "username",
            "password", "as-groups",
        ];
        let value = serde_json::to_string(&value).unwrap();
        let name = serde_json::to_string(&cluster).unwrap();
        let text = format!(
            "{{\"current-context\": {name}, \"contexts\": [{{\"name\": {name}, \"context\": {{\"cluster\": {name}, \"user\": {name}}}}}],
              \"clusters\": [{{\"name\": {name}, \"cluster\": {{\"server\": \"https://h\", \"insecure-skip-tls-verify\": true, {0:?}: {value}}}}}],
              \"users\": [{{\"name\": {name}, \"user\": {{{0:?}: {value}}}}}]}}", fields[field]
        );
        if let Err(error) = Config::from_kubeconfig_str(&text) {
            prop_assert_eq!(error.kind(), ErrorKind::Config);
        }
    }
}

#[test]
fn a_client_comes_straight_from_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config");
    let text = "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:8001'}}]\n\
                contexts: [{name: x, context: {cluster: c, namespace: shop}}]\ncurrent-context: x\n";
    std::fs::write(&path, text).unwrap();
    let client = informer_http::Client::from_kubeconfig(&path).unwrap();
    assert_eq!((client.server(), client.default_namespace()), ("http://127.0.0.1:8001", "shop"));
    let error = informer_http::Client::from_kubeconfig(dir.path().join("none")).unwrap_err();
    assert_eq!(error.kind(), informer_core::ErrorKind::Config);
}
