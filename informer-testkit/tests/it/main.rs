//! Integration tests: the tools hold what they promise.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod api_server;
mod api_server_faults;
mod api_server_gzip;
mod api_server_http;
mod api_server_past;
mod api_server_pauses;
#[cfg(feature = "tls")]
mod api_server_tls;
mod clock;
mod notation;
mod oracle;
mod record;
mod server;
mod source;
mod threads;
mod waiting;
mod wire;
