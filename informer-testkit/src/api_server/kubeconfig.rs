//! The kubeconfig of a server: where it is, whom it trusts, who asks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A kubeconfig whose only context is the server at `url`.
pub(super) fn kubeconfig(url: &str, authority: Option<&str>, token: Option<&str>) -> String {
    // JSON's strings are YAML's too.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let authority = authority.map(|pem| format!(", certificate-authority-data: {}", STANDARD.encode(pem)));
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
