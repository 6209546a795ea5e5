//! The conformance suite, and what it runs against: the embedded API server, a real one of our own, or a cluster that
//! the environment names.
//!
//! [`suite::run`] runs the cases against anything that is a [`suite::TestCluster`].

pub mod cells;
mod embedded;
pub mod exchange;
mod real_server;
pub mod suite;

pub use embedded::EmbeddedServer;
pub use real_server::{Cluster, RealServer, StartError};
