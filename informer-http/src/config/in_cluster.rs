//! The configuration of a pod: two variables and the folder of its service account.
//!
//! A missing variable is told apart from everything else ([`ErrorKind::NotInCluster`]), so that a program can go on
//! without a cluster; files that are missing where the variables are set are an error of the configuration.

use std::path::Path;

use informer_core::{Error, ErrorKind, Result, Stage};

use super::server::ServerUrl;
use super::{Config, Environment, Parts};
use crate::auth::AuthSource;
use crate::tls::{Pem, TlsMaterial};

const HOST: &str = "KUBERNETES_SERVICE_HOST";
const PORT: &str = "KUBERNETES_SERVICE_PORT";

impl Config {
    /// The configuration of the pod this program runs in: its service account's token, which is re-read as it
    /// rotates, the cluster's CA, and the pod's namespace (`POD_NAMESPACE`, else the service account's).
    ///
    /// # Errors
    /// `NotInCluster` outside a pod; `Config` when the service account's files are missing or unusable.
    pub fn in_cluster() -> Result<Self> {
        Config::in_cluster_in(&Environment::process())
    }

    /// The same out of another environment than the process's.
    ///
    /// # Errors
    /// Those of [`Config::in_cluster`].
    pub fn in_cluster_in(environment: &Environment) -> Result<Self> {
        Config::build(in_cluster(environment)?)
    }
}

fn in_cluster(environment: &Environment) -> Result<Parts> {
    let (host, port) = match (environment.var(HOST), environment.var(PORT)) {
        (Some(host), Some(port)) => (host, port),
        (host, port) => {
            let missing: Vec<&str> = [(HOST, host), (PORT, port)]
                .iter()
                .filter(|(_, set)| set.is_none())
                .map(|(name, _)| *name)
                .collect();
            let are = if missing.len() == 1 { "is" } else { "are" };
            let message = format!("not inside a cluster: {} {are} not set", missing.join(" and "));
            return Err(Error::new(ErrorKind::NotInCluster, message).at(Stage::Config));
        }
    };
    let server = ServerUrl::from_host_port(&host, &port)
        .map_err(|error| error.context(format!("{HOST} and {PORT}")).at(Stage::Config))?;
    let dir = environment.service_account();
    let token = dir.join("token");
    if !super::kubeconfig::is_there(&token) {
        let message = format!(
            "the service account has no token at {}; is automountServiceAccountToken off for this pod?",
            token.display()
        );
        return Err(Error::new(ErrorKind::Config, message).at(Stage::Config));
    }
    let ca = dir.join("ca.crt");
    let ca = Pem::file(format!("the service account's CA {}", ca.display()), ca);
    Ok(Parts {
        origin: "the pod's service account".to_owned(),
        server,
        namespace: namespace(environment, dir),
        tls: TlsMaterial { ca: Some(ca), ..TlsMaterial::default() },
        proxy: None,
        disable_compression: false,
        auth: AuthSource::TokenFile { path: token, fallback: None },
        headers: Vec::new(),
    })
}

fn namespace(environment: &Environment, dir: &Path) -> String {
    let from_file = || {
        let text = std::fs::read_to_string(dir.join("namespace")).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    environment.var("POD_NAMESPACE").or_else(from_file).unwrap_or_else(|| "default".to_owned())
}
