//! Tests of what the public interface does not reach: injected look-up, credentials, TLS.

mod connect;
mod credentials;
#[path = "../../tests/it/server.rs"]
mod server;
mod tls;

use informer_core::{Error, Stop};

use crate::client::{Call, Client};

/// GETs `/x`.
fn get(client: &Client, stop: &Stop) -> Result<serde_json::Value, Error> {
    client.fetch(&Call::get("get x", "/x"), stop)
}
