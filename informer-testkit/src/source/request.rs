//! [`SourceRequest`]: what was asked of a source, printed in the notation of traces.

use std::fmt;

use informer_core::kube_core::Status;
use informer_core::{Error, ListRequest, WatchRequest};

/// A request that a [`FakeSource`](super::FakeSource) has got.
///
/// ```
/// use informer_core::ListRequest;
/// use informer_testkit::SourceRequest;
///
/// let list = ListRequest { resource_version: "10".to_owned(), limit: Some(500), continue_token: None };
/// assert_eq!(SourceRequest::List(list).to_string(), "LIST rv=10 limit=500");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceRequest {
    /// A page of a list.
    List(ListRequest),
    /// A watch.
    Watch(WatchRequest),
}

/// Prints `LIST rv=10 limit=500`, `LIST rv= limit=500 continue`, `WATCH rv=10` or `WATCH rv= initial`.
impl fmt::Display for SourceRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceRequest::List(request) => {
                write!(f, "LIST rv={}", request.resource_version)?;
                if let Some(limit) = request.limit {
                    write!(f, " limit={limit}")?;
                }
                if request.continue_token.is_some() {
                    f.write_str(" continue")?;
                }
            }
            SourceRequest::Watch(request) => {
                write!(f, "WATCH rv={}", request.resource_version)?;
                if request.initial_events {
                    f.write_str(" initial")?;
                }
            }
        }
        Ok(())
    }
}

/// The error a server's `Status` of this code and reason stands for.
///
/// ```
/// assert!(informer_testkit::status_error(410, "Expired", "too old").is_gone());
/// ```
#[must_use]
pub fn status_error(code: u16, reason: &str, message: &str) -> Error {
    Error::from_status(Status::failure(message, reason).with_code(code))
}
