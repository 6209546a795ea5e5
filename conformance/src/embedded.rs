//! [`EmbeddedServer`]: the API server of informer-testkit as a cluster of the suite.

use informer_core::{Error, ErrorKind, Result};
use informer_factory::{Client, Config};
use informer_testkit::ApiServer;

use crate::suite::{Ability, Memory, TestCluster};

/// An API server in this process, over TLS and with tokens.
///
/// It has no RBAC, so no user without rights, and no server-side apply.
#[derive(Debug)]
pub struct EmbeddedServer {
    server: ApiServer,
}

/// The token of someone who may do everything.
const TOKEN: &str = "embedded-admin";

impl EmbeddedServer {
    /// Starts it on a free port.
    ///
    /// # Errors
    /// Those of [`ApiServer::start`].
    pub fn start() -> Result<Self> {
        let server = ApiServer::builder().tls(true).token(TOKEN, "admin").start()?;
        Ok(EmbeddedServer { server })
    }
}

impl TestCluster for EmbeddedServer {
    fn can(&self, ability: Ability) -> bool {
        match ability {
            Ability::Restart | Ability::Tls | Ability::Tokens | Ability::Bare | Ability::WatchCache => true,
            Ability::Nobody | Ability::Apply => false,
        }
    }

    fn admin(&self) -> Result<Client> {
        Client::new(&Config::from_kubeconfig_str(&self.server.kubeconfig())?)
    }

    fn nobody(&self) -> Result<Client> {
        Err(Error::new(ErrorKind::Config, "the embedded server has no user without rights"))
    }

    fn restart(&mut self, memory: Memory) -> Result<()> {
        match memory {
            Memory::Kept => self.server.restart(),
            Memory::Lost => self.server.restart_empty(),
        }
    }
}
