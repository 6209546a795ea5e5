//! The kubeconfig of a server: where it is, whom it trusts, who asks.

/// A kubeconfig whose only context is the server at `url`.
pub(super) fn kubeconfig(url: &str, authority: Option<&str>, token: Option<&str>) -> String {
    // JSON's strings are YAML's too.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let authority = authority.map(|pem| format!(", certificate-authority-data: {}", quoted(&encoded(pem))));
    let user = token.map(|token| format!("token: {}", quoted(token)));
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
         clusters: [{{ name: test, cluster: {{ server: {}{} }} }}]\n\
         users: [{{ name: test, user: {{{}}} }}]\n\
         contexts: [{{ name: test, context: {{ cluster: test, user: test }} }}]\n",
        quoted(url),
        authority.unwrap_or_default(),
        user.unwrap_or_default(),
    )
}

#[cfg(feature = "tls")]
fn encoded(pem: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(pem)
}

/// Without TLS there is no authority.
#[cfg(not(feature = "tls"))]
fn encoded(pem: &str) -> String {
    pem.to_owned()
}
