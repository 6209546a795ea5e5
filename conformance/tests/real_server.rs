//! The helper that starts the real API server, tried on the real thing. Ignored by default: the first run on a
//! machine builds kube-apiserver. `.ci/run` runs it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::net::TcpStream;

use informer_conformance::{RealServer, StartError};

/// The server has said that it is ready; this is whether it listens where it said, and the kubeconfigs agree.
fn answers(server: &RealServer) -> bool {
    for kubeconfig in [server.admin_kubeconfig(), server.token_kubeconfig(), server.nobody_kubeconfig()] {
        assert!(std::fs::read_to_string(kubeconfig).unwrap().contains(server.url()));
    }
    TcpStream::connect(server.url().strip_prefix("https://").unwrap()).is_ok()
}

#[test]
#[ignore = "builds a real kube-apiserver"]
fn the_real_server_starts_restarts_and_ends() {
    let mut server = match RealServer::start_with(["--goaway-chance=0"]) {
        Ok(server) => server,
        Err(StartError::Unavailable { reason }) => return println!("left out: {reason}"),
        Err(error) => panic!("{error}"),
    };
    let url = server.url().to_owned();
    assert!(answers(&server));
    let authority = std::fs::read(server.admin_kubeconfig().with_file_name("ca.crt")).unwrap();
    server.restart_keep().unwrap();
    assert_eq!(server.url(), url);
    assert!(answers(&server));
    assert_eq!(std::fs::read(server.admin_kubeconfig().with_file_name("ca.crt")).unwrap(), authority);
    server.restart_new_ca().unwrap();
    assert!(answers(&server));
    assert_eq!(server.url(), url);
    assert_ne!(std::fs::read(server.admin_kubeconfig().with_file_name("ca.crt")).unwrap(), authority);
    let folder = server.log().parent().unwrap().to_owned();
    drop(server);
    assert!(!folder.exists());
}

#[test]
#[ignore = "builds a real kube-apiserver"]
fn a_server_that_does_not_come_up_says_why() {
    match RealServer::start_with(["--no-such-flag"]) {
        Err(StartError::Failed { reason }) => assert!(reason.contains("no-such-flag"), "{reason}"),
        Err(StartError::Unavailable { reason }) => println!("left out: {reason}"),
        Ok(_) => panic!("it came up"),
    }
}
