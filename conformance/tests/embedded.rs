//! The suite on the embedded API server, without the cases that restart it: those wait for back-offs.

use informer_conformance::EmbeddedServer;
use informer_conformance::suite::{self, Ability, Memory, TestCluster};
use informer_core::Result;
use informer_factory::Client;

/// A server that nobody restarts.
struct Steady(EmbeddedServer);

impl TestCluster for Steady {
    fn can(&self, ability: Ability) -> bool {
        ability != Ability::Restart && self.0.can(ability)
    }

    fn admin(&self) -> Result<Client> {
        self.0.admin()
    }

    fn nobody(&self) -> Result<Client> {
        self.0.nobody()
    }

    fn restart(&mut self, memory: Memory) -> Result<()> {
        self.0.restart(memory)
    }
}

#[test]
fn the_embedded_api_server_keeps_every_promise() {
    let mut cluster = Steady(EmbeddedServer::start().unwrap());
    let mut out = Vec::new();
    let summary = suite::run(&mut cluster, &[], &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert!(summary.failed == 0 && summary.left_out == 7 && summary.passed > 40, "{out}");
}
