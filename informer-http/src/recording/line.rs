//! One line of a recording, as it is written and as it is read.
//!
//! Invariant: what may be in a line is stated here and nowhere else; a field that is not known makes a line wrong, so
//! that a later version is never taken for this one.

use std::borrow::Cow;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use informer_core::kube_core::Status;
use informer_core::{Error, ErrorKind, ListRequest, Stage, WatchRequest};
use serde::{Deserialize, Serialize};

/// The version of the format.
pub(super) const VERSION: u32 = 1;

/// Longest line that is read. [`PIECE`] bytes, each escaped, are far below it.
pub(super) const LONGEST: usize = 1 << 20;

/// How many bytes of a body one line has at most.
pub(super) const PIECE: usize = 32 << 10;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct First {
    pub(super) informer_recording: u32,
}

/// Every other line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line<'a> {
    /// Milliseconds since the recording began.
    pub(super) at: u64,
    /// Which exchange it is about, from 0.
    pub(super) n: u64,
    #[serde(flatten, borrow)]
    pub(super) what: What<'a>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum What<'a> {
    /// A request goes out.
    List(Listing<'a>),
    Watch(Watching<'a>),
    /// The head of its answer is there: a success.
    Opened(bool),
    /// There is no answer, or none that counts.
    Failed(Failing<'a>),
    /// Bytes of the body: text, or anything else as base64.
    Text(Cow<'a, str>),
    Base64(Cow<'a, str>),
    /// So many bytes of a body that is not recorded.
    Withheld(usize),
    /// The body has ended.
    End(bool),
    /// The body broke off.
    Broke(Failing<'a>),
    /// The informer read no further.
    Left(bool),
    /// The limit of the recording was reached; nothing follows.
    Full(bool),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing<'a> {
    pub(super) source: u32,
    pub(super) of: Cow<'a, str>,
    pub(super) resource_version: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) limit: Option<u32>,
    #[serde(default, rename = "continue", skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<Cow<'a, str>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Watching<'a> {
    pub(super) source: u32,
    pub(super) of: Cow<'a, str>,
    pub(super) resource_version: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) initial_events: bool,
    pub(super) timeout_ms: u64,
    pub(super) idle_ms: u64,
}

/// An error, as far as it decides what an informer does.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Failing<'a> {
    kind: Cow<'a, str>,
    message: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<Box<Status>>,
}

impl<'a> Listing<'a> {
    pub(super) fn new(source: u32, of: &'a str, request: &'a ListRequest) -> Self {
        Listing {
            source,
            of: of.into(),
            resource_version: request.resource_version.as_str().into(),
            limit: request.limit,
            token: request.continue_token.as_deref().map(Cow::from),
        }
    }

    pub(super) fn request(self) -> ListRequest {
        ListRequest {
            resource_version: self.resource_version.into_owned(),
            limit: self.limit,
            continue_token: self.token.map(Cow::into_owned),
        }
    }
}

impl<'a> Watching<'a> {
    pub(super) fn new(source: u32, of: &'a str, request: &'a WatchRequest) -> Self {
        Watching {
            source,
            of: of.into(),
            resource_version: request.resource_version.as_str().into(),
            initial_events: request.initial_events,
            timeout_ms: millis(request.timeout),
            idle_ms: millis(request.idle),
        }
    }

    pub(super) fn request(self) -> WatchRequest {
        WatchRequest {
            resource_version: self.resource_version.into_owned(),
            initial_events: self.initial_events,
            timeout: Duration::from_millis(self.timeout_ms),
            idle: Duration::from_millis(self.idle_ms),
        }
    }
}

impl<'a> Failing<'a> {
    pub(super) fn new(error: &Error) -> Self {
        Failing {
            kind: error.kind().as_str().into(),
            message: error.to_string().into(),
            retry_after_ms: error.retry_after().map(millis),
            status: error.status().cloned().map(Box::new),
        }
    }

    /// The error again; `None` if its kind is not known.
    pub(super) fn error(&self) -> Option<Error> {
        let kind = KINDS.into_iter().find(|kind| kind.as_str() == self.kind)?;
        let error = match &self.status {
            Some(status) => Error::from_status((**status).clone()),
            None => Error::new(kind, self.message.clone()),
        };
        Some(match self.retry_after_ms {
            Some(wait) => error.with_retry_after(Duration::from_millis(wait)),
            None => error,
        })
    }

    /// With nothing borrowed.
    pub(super) fn owned(self) -> Failing<'static> {
        Failing {
            kind: self.kind.into_owned().into(),
            message: self.message.into_owned().into(),
            retry_after_ms: self.retry_after_ms,
            status: self.status,
        }
    }
}

/// The kinds that a request can fail with.
pub(super) const KINDS: [ErrorKind; 29] = [
    ErrorKind::Config,
    ErrorKind::NotInCluster,
    ErrorKind::Gone,
    ErrorKind::TooLargeVersion,
    ErrorKind::BadRequest,
    ErrorKind::Unauthorized,
    ErrorKind::Forbidden,
    ErrorKind::NotFound,
    ErrorKind::MethodNotAllowed,
    ErrorKind::NotAcceptable,
    ErrorKind::Conflict,
    ErrorKind::AlreadyExists,
    ErrorKind::TooLarge,
    ErrorKind::UnsupportedMediaType,
    ErrorKind::Invalid,
    ErrorKind::TooManyRequests,
    ErrorKind::Internal,
    ErrorKind::Unavailable,
    ErrorKind::ServerTimeout,
    ErrorKind::OtherStatus,
    ErrorKind::Redirect,
    ErrorKind::Refused,
    ErrorKind::Network,
    ErrorKind::Silent,
    ErrorKind::Dns,
    ErrorKind::Tls,
    ErrorKind::Proxy,
    ErrorKind::Decode,
    ErrorKind::FrameTooLarge,
];

/// Bytes of a body as they are recorded.
pub(super) fn body_piece(bytes: &[u8]) -> What<'_> {
    match std::str::from_utf8(bytes) {
        Ok(text) => What::Text(text.into()),
        Err(_) => What::Base64(STANDARD.encode(bytes).into()),
    }
}

/// What [`body_piece`] wrote; `None` for what is no base64.
pub(super) fn bytes_of(what: &What<'_>) -> Option<Vec<u8>> {
    match what {
        What::Text(text) => Some(text.as_bytes().to_vec()),
        What::Base64(text) => STANDARD.decode(&**text).ok(),
        _ => None,
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Where a request fails before its body is read.
pub(super) fn stage(asked_for_a_list: bool) -> Stage {
    if asked_for_a_list { Stage::List } else { Stage::WatchOpen }
}
