//! [`EmbeddedServer`]: the API server of informer-testkit as a cluster of the suite.

use informer_core::{Error, ErrorKind, Result};
use informer_factory::{Client, Config};
use informer_testkit::ApiServer;

use crate::suite::{Ability, Memory, TestCluster};

/// An API server in this process, over TLS and with tokens.
///
/// It has no RBAC, so no user without rights.
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
        EmbeddedServer::start_at(0).map(|server| EmbeddedServer { server })
    }

    fn start_at(port: u16) -> Result<ApiServer> {
        ApiServer::builder().port(port).tls(true).token(TOKEN, "admin").start()
    }
}

impl TestCluster for EmbeddedServer {
    fn can(&self, ability: Ability) -> bool {
        match ability {
            Ability::Restart | Ability::Tls | Ability::Bare => true,
            Ability::Nobody => false,
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
            Memory::Lost => {
                self.server.stop();
                let port = self.server.url().rsplit_once(':').and_then(|(_, port)| port.parse().ok());
                self.server = EmbeddedServer::start_at(port.unwrap_or_default())?;
                Ok(())
            }
        }
    }
}
