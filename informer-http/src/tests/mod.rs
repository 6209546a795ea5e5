//! Tests of what the public interface does not reach: injected look-up, credentials, TLS.

mod connect;
mod credentials;
mod repeat;
mod server;
mod slow;
mod socks;
mod tls;
mod watch;

use std::time::Duration;

use informer_core::{Clock, Error, Stop, SystemClock};

use crate::client::{Call, Client};

/// GETs `/x`.
fn get(client: &Client, stop: &Stop) -> Result<serde_json::Value, Error> {
    client.fetch(&Call::get("get x", "/x"), stop)
}

/// GETs `/x` while `stop` is set by somebody: the stop must end it, not one of the limits, which are 10 s and more.
fn stopped(client: &Client, stop: &Stop) {
    let begun = SystemClock.now();
    let error = get(client, stop).unwrap_err();
    assert!(error.is_stopped(), "{error:?}");
    assert!(SystemClock.now() - begun < Duration::from_secs(8), "a limit ended it, not the stop");
}
