//! [`TestCluster`]: what the cases need of whatever they run against, be it a real API server or one in this process.

use std::fmt;

use informer_core::{Error, ErrorKind, Result};
use informer_factory::{Client, Config};

use crate::{Cluster, RealServer, StartError};

/// A cluster to test against.
pub trait TestCluster {
    /// Whether it can do this; a case that needs more is left out.
    fn can(&self, ability: Ability) -> bool;

    /// A client of someone who may do everything.
    ///
    /// # Errors
    /// When the cluster's configuration is not usable.
    fn admin(&self) -> Result<Client>;

    /// A client of the user `nobody`, who may do nothing yet ([`Ability::Nobody`]).
    ///
    /// # Errors
    /// When there is none.
    fn nobody(&self) -> Result<Client>;

    /// Ends the server and starts it again at the same address ([`Ability::Restart`]). Afterwards it has its objects
    /// only if `memory` says so, and serves no watch from a version of before if it has a watch cache.
    ///
    /// # Errors
    /// When it does not come back.
    ///
    /// # Blocking
    /// Until it is ready.
    fn restart(&mut self, memory: Memory) -> Result<()>;
}

/// What not every cluster can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ability {
    /// It has the user `nobody`, and RBAC.
    Nobody,
    /// It lets in nobody whose token it does not know.
    Tokens,
    /// It merges by server-side apply.
    Apply,
    /// It can be restarted.
    Restart,
    /// It speaks TLS.
    Tls,
    /// Its namespaces stay as empty as they are made. Where controllers run, one puts a ConfigMap into each.
    Bare,
    /// It answers from a watch cache: it sends bookmarks, and when it restarts it forgets the versions of before.
    WatchCache,
}

/// What a restarted server remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Every object.
    Kept,
    /// Nothing: versions start again from the bottom.
    Lost,
}

impl Cluster {
    fn own_server(&self) -> Option<&RealServer> {
        match self {
            Cluster::Own(server) => Some(server),
            Cluster::Other { .. } => None,
        }
    }
}

impl TestCluster for Cluster {
    fn can(&self, ability: Ability) -> bool {
        match ability {
            Ability::Nobody | Ability::Tokens | Ability::Restart | Ability::Bare => {
                self.own_server().is_some()
            }
            Ability::Apply => true,
            // Somebody else's is taken to be as most are.
            Ability::WatchCache => {
                self.own_server().is_none_or(|server| !server.has_flag("--watch-cache=false"))
            }
            Ability::Tls => self.admin().is_ok_and(|client| client.server().starts_with("https:")),
        }
    }

    fn admin(&self) -> Result<Client> {
        Client::new(&Config::from_kubeconfig_file(self.kubeconfig())?)
    }

    fn nobody(&self) -> Result<Client> {
        match self.own_server() {
            Some(server) => Client::new(&Config::from_kubeconfig_file(server.nobody_kubeconfig())?),
            None => Err(lacks(Ability::Nobody)),
        }
    }

    fn restart(&mut self, memory: Memory) -> Result<()> {
        let Some(server) = self.own() else { return Err(lacks(Ability::Restart)) };
        let outcome = match memory {
            Memory::Kept => server.restart_keep(),
            Memory::Lost => server.restart_empty(),
        };
        outcome.map_err(|error: StartError| {
            Error::new(ErrorKind::Unavailable, "the server did not come back").with_source(error)
        })
    }
}

fn lacks(ability: Ability) -> Error {
    Error::new(ErrorKind::Config, format!("this cluster has no {ability}"))
}

impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ability::Nobody => "user without rights",
            Ability::Tokens => "list of known tokens",
            Ability::Apply => "server-side apply",
            Ability::Restart => "server that may be restarted",
            Ability::Tls => "TLS",
            Ability::Bare => "namespaces that stay empty",
            Ability::WatchCache => "watch cache",
        })
    }
}
