//! Who is not let in is told why, and is let in as soon as that has changed.

use informer_core::{ErrorKind, Result, SharedInformer};
use informer_factory::{Api, Client, Config, HttpListWatch};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use serde_json::json;

use super::ground::Ground;
use super::watched::{Watched, refused};

super::cases! {
    r_26_who_may_not_list_is_told_so_and_heals_when_granted [Nobody],
    an_unknown_authority_is_refused_and_named [Tls],
    an_unknown_token_is_refused_and_named [Tokens],
}

fn r_26_who_may_not_list_is_told_so_and_heals_when_granted(ground: &mut Ground<'_>) -> Result<()> {
    let ns = ground.namespace.clone();
    let nobody = ground.cluster.nobody()?;
    let error = refused(Api::<ConfigMap>::namespaced(&nobody, &ns).get("a"));
    assert!(error.is_forbidden(), "{error}");
    let created = ground.create("a")?;
    let source = HttpListWatch::<ConfigMap>::new(&nobody).namespace(&ns);
    let watched = Watched::start(SharedInformer::builder(source))?;
    let text = watched.wait_failure("a refusal", |kind| kind == ErrorKind::Forbidden);
    for part in ["configmaps", "nobody", &*ns] {
        assert!(text.contains(part), "{text:?} does not name {part:?}");
    }
    let last = watched.informer.status().last_error.expect("a failure is kept");
    assert!(last.error.is_forbidden(), "{:?}", last.error);
    let role = json!({
        "metadata": { "name": "reader" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"] }],
    });
    let binding = json!({
        "metadata": { "name": "reader" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "nobody" }],
    });
    let role: Role = serde_json::from_value(role).expect("this is a role");
    let binding: RoleBinding = serde_json::from_value(binding).expect("this is a role binding");
    Api::<Role>::namespaced(&ground.client, &ns).create(&Default::default(), &role)?;
    Api::<RoleBinding>::namespaced(&ground.client, &ns).create(&Default::default(), &binding)?;
    watched.wait_synced()?;
    ground.reach(&watched.store(), &created)?;
    watched.wait_told(&ground.create("b")?);
    assert!(watched.informer.status().last_error.is_none(), "a watch that works ends the failure");
    watched.finish()
}

fn an_unknown_authority_is_refused_and_named(ground: &mut Ground<'_>) -> Result<()> {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let authority = folder.path().join("other-ca.crt");
    std::fs::write(&authority, other_authority()).expect("there is room for a file");
    let config = stranger(&ground.client, &format!("certificate-authority: {authority:?}"), "");
    let stranger = Client::new(&Config::from_kubeconfig_str(&config)?)?;
    let error = refused(Api::<ConfigMap>::namespaced(&stranger, &ground.namespace).get("a"));
    assert_eq!(error.kind(), ErrorKind::Tls, "{}", error.chain());
    let source = HttpListWatch::<ConfigMap>::new(&stranger).namespace(&ground.namespace);
    let watched = Watched::start(SharedInformer::builder(source))?;
    let text = watched.wait_failure("a refused certificate", |kind| kind == ErrorKind::Tls);
    assert!(text.contains("certificate"), "{text}");
    let error = refused(watched.informer.wait_synced(std::time::Duration::ZERO));
    assert!(error.is_timed_out() && error.chain().to_string().contains("certificate"), "{}", error.chain());
    watched.end()
}

fn an_unknown_token_is_refused_and_named(ground: &mut Ground<'_>) -> Result<()> {
    let config = stranger(&ground.client, "insecure-skip-tls-verify: true", "token: no-such-token-4711");
    let stranger = Client::new(&Config::from_kubeconfig_str(&config)?)?;
    let source = HttpListWatch::<ConfigMap>::new(&stranger).namespace(&ground.namespace);
    let watched = Watched::start(SharedInformer::builder(source))?;
    let text = watched.wait_failure("a refused token", |kind| kind == ErrorKind::Unauthorized);
    assert!(!text.contains("4711"), "a secret is in the text: {text}");
    let error = refused(watched.informer.wait_synced(std::time::Duration::ZERO));
    assert!(error.is_timed_out(), "{error}");
    watched.end()
}

/// A kubeconfig of the same server that trusts somebody else, or is somebody else.
fn stranger(client: &Client, cluster: &str, user: &str) -> String {
    let server = client.server();
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         clusters: [{{name: c, cluster: {{server: {server:?}, {cluster}}}}}]\n\
         users: [{{name: u, user: {{{user}}}}}]\n\
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n"
    )
}

/// The certificate of an authority that has signed nothing.
fn other_authority() -> String {
    let key = rcgen::KeyPair::generate().expect("ring makes keys");
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.self_signed(&key).expect("an authority signs itself").pem()
}
