//! What the conformance suite runs against: a real API server of our own, or a cluster that the environment names.

mod real_server;

pub use real_server::{Cluster, RealServer, StartError};
