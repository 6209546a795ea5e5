//! The conformance suite, and what it runs against: a real API server of our own, or a cluster that the environment
//! names.
//!
//! [`suite::run`] runs the cases against anything that is a [`suite::TestCluster`].

mod real_server;
pub mod suite;

pub use real_server::{Cluster, RealServer, StartError};
