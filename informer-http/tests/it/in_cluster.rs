//! A pod's configuration, and the order in which a configuration is looked for.

use std::path::Path;

use informer_core::ErrorKind;
use informer_http::{Config, Environment, KubeconfigOptions};
use tempfile::TempDir;

/// A service account's folder.
fn service_account() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let ca = rcgen::CertificateParams::new(Vec::new()).unwrap().self_signed(&key).unwrap();
    std::fs::write(dir.path().join("ca.crt"), ca.pem()).unwrap();
    std::fs::write(dir.path().join("token"), "abc").unwrap();
    std::fs::write(dir.path().join("namespace"), "from-file\n").unwrap();
    dir
}

fn pod(dir: &Path) -> Environment {
    Environment::empty()
        .with_var("KUBERNETES_SERVICE_HOST", "10.96.0.1")
        .with_var("KUBERNETES_SERVICE_PORT", "443")
        .with_service_account_dir(dir)
}

fn plain(server: &str) -> String {
    format!(
        "{{current-context: x, contexts: [{{name: x, context: {{cluster: c}}}}],
          clusters: [{{name: c, cluster: {{server: 'http://{server}'}}}}]}}"
    )
}

#[test]
fn au_12_variables_and_files_make_the_configuration() {
    let dir = service_account();
    let config = Config::in_cluster_in(&pod(dir.path())).unwrap();
    assert_eq!(config.server_url(), "https://10.96.0.1:443");
    assert_eq!(config.namespace(), "from-file");
    let config = Config::in_cluster_in(&pod(dir.path()).with_var("POD_NAMESPACE", "from-env")).unwrap();
    assert_eq!(config.namespace(), "from-env");
    std::fs::remove_file(dir.path().join("namespace")).unwrap();
    assert_eq!(Config::in_cluster_in(&pod(dir.path())).unwrap().namespace(), "default");
    assert!(!format!("{config:?}").contains("abc"));
}

#[test]
fn au_12_an_ipv6_service_is_put_in_brackets() {
    let dir = service_account();
    let environment = pod(dir.path()).with_var("KUBERNETES_SERVICE_HOST", "fd00::1");
    assert_eq!(Config::in_cluster_in(&environment).unwrap().server_url(), "https://[fd00::1]:443");
}

#[test]
fn au_12_outside_a_pod_the_error_is_a_kind_of_its_own() {
    let error = Config::in_cluster_in(&Environment::empty()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotInCluster);
    assert_eq!(
        error.to_string(),
        "not inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"
    );
    let half = Environment::empty()
        .with_var("KUBERNETES_SERVICE_HOST", "10.0.0.1")
        .with_var("KUBERNETES_SERVICE_PORT", "");
    let error = Config::in_cluster_in(&half).unwrap_err();
    assert_eq!(error.to_string(), "not inside a cluster: KUBERNETES_SERVICE_PORT is not set");
}

#[test]
fn missing_or_broken_files_of_the_service_account_name_themselves() {
    let dir = service_account();
    let environment = pod(dir.path());
    let fails = |part: &str| {
        let error = Config::in_cluster_in(&environment).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains(part), "{error}");
    };
    std::fs::write(dir.path().join("ca.crt"), "").unwrap();
    fails("ca.crt is empty");
    std::fs::remove_file(dir.path().join("ca.crt")).unwrap();
    fails("ca.crt cannot be read");
    std::fs::write(dir.path().join("token"), "\n").unwrap();
    fails("token is empty");
    std::fs::remove_file(dir.path().join("token")).unwrap();
    fails("automountServiceAccountToken");
}

#[test]
fn a_bad_service_port_is_an_error_that_names_the_variables() {
    let dir = service_account();
    let error = Config::in_cluster_in(&pod(dir.path()).with_var("KUBERNETES_SERVICE_PORT", "x")).unwrap_err();
    assert!(
        error.to_string().starts_with("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT: "),
        "{error}"
    );
}

#[test]
fn infer_tries_kubeconfig_then_home_then_the_pod() {
    let account = service_account();
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".kube")).unwrap();
    let in_home = home.path().join(".kube/config");
    std::fs::write(&in_home, plain("home")).unwrap();
    let named = home.path().join("named");
    std::fs::write(&named, plain("named")).unwrap();
    let server = |environment: &Environment| Config::infer_in(environment).unwrap().server_url();

    let everything = pod(account.path()).with_home(home.path()).with_var("KUBECONFIG", &named);
    assert_eq!(server(&everything), "http://named:80");
    let no_variable = pod(account.path()).with_home(home.path());
    assert_eq!(server(&no_variable), "http://home:80");
    std::fs::write(&in_home, "# nothing yet\n").unwrap();
    assert_eq!(server(&no_variable), "https://10.96.0.1:443");
    std::fs::remove_file(&in_home).unwrap();
    assert_eq!(server(&no_variable), "https://10.96.0.1:443");
    // A variable that names nothing leads to the pod, not to the home folder.
    std::fs::write(&in_home, plain("home")).unwrap();
    assert_eq!(server(&everything.clone().with_var("KUBECONFIG", "/missing")), "https://10.96.0.1:443");
    // A broken file is an error, not a reason to look further.
    std::fs::write(&named, "{").unwrap();
    assert_eq!(Config::infer_in(&everything).unwrap_err().kind(), ErrorKind::Config);
}

#[test]
fn infer_says_where_it_looked_and_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let environment = Environment::empty().with_home(home.path());
    let error = Config::infer_in(&environment).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    let text = error.to_string();
    for part in
        ["KUBECONFIG is not set", ".kube/config does not exist", "not inside a cluster", "write a kubeconfig"]
    {
        assert!(text.contains(part), "{text}");
    }
    let error = Config::infer_in(&environment.with_var("KUBECONFIG", "/missing/a:/missing/b")).unwrap_err();
    assert!(error.to_string().contains("KUBECONFIG names /missing/a:/missing/b"), "{error}");
}

#[test]
fn a_chosen_context_needs_a_kubeconfig() {
    let account = service_account();
    let options = KubeconfigOptions::new().context("prod");
    let error = Config::infer_with(&options, &pod(account.path())).unwrap_err();
    assert!(error.to_string().starts_with("no Kubernetes configuration found"), "{error}");
}
