//! [`Refusal`]: an answer, or an `ERROR` event, that a fault puts in the place of the right one.

use std::sync::Arc;

use crate::api_server::exchange::Whole;
use crate::api_server::status::Status;
use crate::api_server::watch::error_line;

/// What a request is refused with.
#[derive(Clone, Debug)]
pub(in crate::api_server) struct Refusal {
    status: u16,
    reason: &'static str,
    pub(super) message: String,
    pub(in crate::api_server) headers: Vec<(String, String)>,
    /// Media type and bytes that stand in for the `Status`.
    pub(super) body: Option<(String, Vec<u8>)>,
}

impl Refusal {
    /// With what a real server says to this status.
    pub(super) fn new(status: u16) -> Self {
        let (reason, message) = words(status);
        Refusal { status, reason, message: message.to_owned(), headers: Vec::new(), body: None }
    }

    /// Whether an answer can have this status, and a body.
    pub(super) fn is_possible(&self) -> bool {
        (200..600).contains(&self.status) && ![204, 304].contains(&self.status)
    }

    /// The answer, without the headers that it has been given.
    pub(in crate::api_server) fn answer(&self) -> Whole {
        match &self.body {
            None => self.as_status().answer(),
            Some((media_type, body)) => {
                let headers = vec![("Content-Type", media_type.clone())];
                Whole { status: self.status, headers, body: body.clone() }
            }
        }
    }

    /// The `ERROR` event.
    pub(in crate::api_server) fn event(&self) -> Arc<[u8]> {
        error_line(&self.as_status())
    }

    fn as_status(&self) -> Box<Status> {
        Status::new(self.status, self.reason, self.message.as_str())
    }
}

/// Reason and message of a code, as a real server has them.
fn words(code: u16) -> (&'static str, &'static str) {
    match code {
        400 => ("BadRequest", "the server rejected our request for an unknown reason"),
        401 => ("Unauthorized", "Unauthorized"),
        403 => ("Forbidden", "forbidden"),
        404 => ("NotFound", "the server could not find the requested resource"),
        409 => ("Conflict", "the server reported a conflict"),
        410 => ("Expired", "The resourceVersion for the provided watch is too old."),
        429 => ("TooManyRequests", "Too many requests, please try again later."),
        500 => ("InternalError", "an error on the server has prevented the request from succeeding"),
        503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
        504 => ("Timeout", "the server was unable to return a response in the time allotted"),
        _ => ("", "the server does as it was told"),
    }
}
