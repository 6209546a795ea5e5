//! [`Error`]: the one error type of the workspace.
//!
//! State machines branch on [`Error::kind`], never on text. The failed [`Stage`] is named, the cause chain is
//! kept, a server's `Status` can be reached, and no dependency's error type shows in a signature.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube_core::Status;

/// What failed; cheap to clone.
///
/// Its text is lower case, without a full stop and without secrets. [`Error::chain`] prints the causes too.
#[derive(Clone)]
pub struct Error {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    stage: Option<Stage>,
    message: String,
    status: Option<Box<Status>>,
    retry_after: Option<Duration>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// The answer of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The informer, the client or the call was stopped.
    Stopped,
    /// The call would wait for the thread it is made on (D12).
    WouldBlock,
    /// A wait reached its time limit.
    TimedOut,
    /// A version cannot be compared, or the server's history was replaced while waiting.
    NotComparable,
    /// The object is there in the wanted version, but could not be decoded (D8).
    Unreadable,
    /// An index was asked for that the store does not have (S-8).
    UnknownIndex,
    /// An index of this name is there already (I-51).
    DuplicateIndex,
    /// Two callers asked for one shared informer with different options.
    OptionsConflict,
    /// A configuration file, an environment variable or an argument is wrong.
    Config,
    /// The program is not running inside a cluster (AU-12).
    NotInCluster,
    /// No thread could be had.
    Spawn,
    /// User code panicked.
    Panic,

    /// 410: the version or the continue token is no longer served (E-1).
    Gone,
    /// The server does not know the asked version yet (E-2).
    TooLargeVersion,
    /// 400.
    BadRequest,
    /// 401.
    Unauthorized,
    /// 403.
    Forbidden,
    /// 404.
    NotFound,
    /// 405.
    MethodNotAllowed,
    /// 406.
    NotAcceptable,
    /// 409 on a write of a stale object.
    Conflict,
    /// 409 on a create.
    AlreadyExists,
    /// 413.
    TooLarge,
    /// 415.
    UnsupportedMediaType,
    /// 422.
    Invalid,
    /// 429.
    TooManyRequests,
    /// 500.
    Internal,
    /// 503.
    Unavailable,
    /// 504, a plain one.
    ServerTimeout,
    /// Any other status that is not a success.
    OtherStatus,
    /// A redirect; they are not followed (D18).
    Redirect,

    /// Nobody listens at the address.
    Refused,
    /// The connection broke, or could not be made.
    Network,
    /// The peer sent nothing for longer than the limit (D7).
    Silent,
    /// The name of the server could not be resolved.
    Dns,
    /// The TLS handshake failed or a certificate was refused.
    Tls,
    /// The proxy refused.
    Proxy,

    /// The answer is not what the protocol says.
    Decode,
    /// One frame or object is over the limit (D11).
    FrameTooLarge,
}

impl ErrorKind {
    /// The kind in words of one line, as `watch -o json` prints it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Stopped => "stopped",
            ErrorKind::WouldBlock => "would_block",
            ErrorKind::TimedOut => "timed_out",
            ErrorKind::NotComparable => "not_comparable",
            ErrorKind::Unreadable => "unreadable",
            ErrorKind::UnknownIndex => "unknown_index",
            ErrorKind::DuplicateIndex => "duplicate_index",
            ErrorKind::OptionsConflict => "options_conflict",
            ErrorKind::Config => "config",
            ErrorKind::NotInCluster => "not_in_cluster",
            ErrorKind::Spawn => "spawn",
            ErrorKind::Panic => "panic",
            ErrorKind::Gone => "gone",
            ErrorKind::TooLargeVersion => "too_large_version",
            ErrorKind::BadRequest => "bad_request",
            ErrorKind::Unauthorized => "unauthorized",
            ErrorKind::Forbidden => "forbidden",
            ErrorKind::NotFound => "not_found",
            ErrorKind::MethodNotAllowed => "method_not_allowed",
            ErrorKind::NotAcceptable => "not_acceptable",
            ErrorKind::Conflict => "conflict",
            ErrorKind::AlreadyExists => "already_exists",
            ErrorKind::TooLarge => "too_large",
            ErrorKind::UnsupportedMediaType => "unsupported_media_type",
            ErrorKind::Invalid => "invalid",
            ErrorKind::TooManyRequests => "too_many_requests",
            ErrorKind::Internal => "internal",
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::ServerTimeout => "server_timeout",
            ErrorKind::OtherStatus => "other_status",
            ErrorKind::Redirect => "redirect",
            ErrorKind::Refused => "refused",
            ErrorKind::Network => "network",
            ErrorKind::Silent => "silent",
            ErrorKind::Dns => "dns",
            ErrorKind::Tls => "tls",
            ErrorKind::Proxy => "proxy",
            ErrorKind::Decode => "decode",
            ErrorKind::FrameTooLarge => "frame_too_large",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Where in the work something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Reading the configuration.
    Config,
    /// Finding the resource on the server.
    Discovery,
    /// Listing, a page of it included.
    List,
    /// Opening a watch, up to its response head.
    WatchOpen,
    /// In an open watch stream.
    Watch,
    /// Decoding one object.
    Decode,
    /// A single request of the API client.
    Request,
    /// A transform of the user's.
    Transform,
    /// An index function of the user's.
    Index,
    /// An event handler of the user's.
    Handler,
    /// Waiting for a cache or an object.
    Wait,
    /// Starting threads.
    Start,
}

impl Stage {
    /// The stage in words of one line, as `watch -o json` prints it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Config => "config",
            Stage::Discovery => "discovery",
            Stage::List => "list",
            Stage::WatchOpen => "watch_open",
            Stage::Watch => "watch",
            Stage::Decode => "decode",
            Stage::Request => "request",
            Stage::Transform => "transform",
            Stage::Index => "index",
            Stage::Handler => "handler",
            Stage::Wait => "wait",
            Stage::Start => "start",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Error {
    /// An error of `kind` that says `message`.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error {
            inner: Arc::new(Inner {
                kind,
                stage: None,
                message: message.into(),
                status: None,
                retry_after: None,
                source: None,
            }),
        }
    }

    /// The error of something that was stopped.
    #[must_use]
    pub fn stopped() -> Self {
        Error::new(ErrorKind::Stopped, "stopped")
    }

    /// The error of a call that would wait for the very thread it is made on (D12).
    #[must_use]
    pub fn would_block(what: &str) -> Self {
        Error::new(
            ErrorKind::WouldBlock,
            format!(
                "cannot {what} on a thread of the same informer: it would wait for itself; do it on another thread"
            ),
        )
    }

    /// The error a server's `Status` stands for: by its reason, falling back to its code (E-1, E-2).
    ///
    /// Its text is one line, however the server wrote it; [`status`](Error::status) has it as it came.
    #[must_use]
    pub fn from_status(status: Status) -> Self {
        let kind = kind_of_status(&status);
        let message = match (status.message.is_empty(), status.reason.is_empty(), status.code) {
            (false, ..) => one_line(&status.message),
            (true, false, _) => one_line(&status.reason),
            (true, true, 0) => "the server tells a failure without a message, a reason or a code".to_owned(),
            (true, true, code) => format!("status {code}"),
        };
        let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
        Error {
            inner: Arc::new(Inner {
                kind,
                stage: None,
                message,
                retry_after: (seconds > 0).then(|| Duration::from_secs(u64::from(seconds))),
                status: Some(Box::new(status)),
                source: None,
            }),
        }
    }

    fn edit(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.inner));
        self
    }

    /// The same error with the stage it happened in; a stage that is already there stays.
    #[must_use]
    pub fn at(self, stage: Stage) -> Self {
        if self.inner.stage.is_some() {
            return self;
        }
        self.edit(|inner| inner.stage = Some(stage))
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let source = source.into();
        self.edit(|inner| inner.source = Some(Arc::from(source)))
    }

    /// The same error with what the server asked to wait.
    #[must_use]
    pub fn with_retry_after(self, retry_after: Duration) -> Self {
        self.edit(|inner| inner.retry_after = Some(retry_after))
    }

    /// The same error with `context` and a colon before its message.
    #[must_use]
    pub fn context(self, context: impl fmt::Display) -> Self {
        self.edit(|inner| inner.message = format!("{context}: {}", inner.message))
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// Where it failed, if that is known.
    #[must_use]
    pub fn stage(&self) -> Option<Stage> {
        self.inner.stage
    }

    /// The server's `Status`, if the server sent one.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        self.inner.status.as_deref()
    }

    /// How long the server asked to wait: `Retry-After`, or `details.retryAfterSeconds`.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.inner.retry_after
    }

    /// Whether the version or continue token has expired (410).
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.kind() == ErrorKind::Gone
    }

    /// Whether the server has not reached the asked version yet.
    #[must_use]
    pub fn is_too_large_version(&self) -> bool {
        self.kind() == ErrorKind::TooLargeVersion
    }

    /// Whether the credentials are not accepted (401).
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.kind() == ErrorKind::Unauthorized
    }

    /// Whether the user lacks the right (403).
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.kind() == ErrorKind::Forbidden
    }

    /// Whether the object or the resource is not there (404).
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.kind() == ErrorKind::NotFound
    }

    /// Whether a write met a newer version (409).
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.kind() == ErrorKind::Conflict
    }

    /// Whether a create met an object of the name (409).
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.kind() == ErrorKind::AlreadyExists
    }

    /// Whether the server refused the object (422).
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.kind() == ErrorKind::Invalid
    }

    /// Whether the server asks for fewer requests (429).
    #[must_use]
    pub fn is_too_many_requests(&self) -> bool {
        self.kind() == ErrorKind::TooManyRequests
    }

    /// Whether it was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.kind() == ErrorKind::Stopped
    }

    /// Whether the call would have waited for its own thread.
    #[must_use]
    pub fn is_would_block(&self) -> bool {
        self.kind() == ErrorKind::WouldBlock
    }

    /// Whether a wait reached its limit.
    #[must_use]
    pub fn is_timed_out(&self) -> bool {
        self.kind() == ErrorKind::TimedOut
    }

    /// Whether the connection failed, whatever the way: refused, broken, silent, name, TLS, proxy.
    #[must_use]
    pub fn is_transport(&self) -> bool {
        use ErrorKind::{Dns, Network, Proxy, Refused, Silent, Tls};
        matches!(self.kind(), Refused | Network | Silent | Dns | Tls | Proxy)
    }

    /// The error and its causes in one line, joined by colons; what a person should see.
    #[must_use]
    pub fn chain(&self) -> impl fmt::Display + '_ {
        Chain(self)
    }
}

struct Chain<'a>(&'a Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.0.to_string();
        f.write_str(&shown)?;
        let mut cause = std::error::Error::source(self.0);
        while let Some(error) = cause {
            let text = error.to_string();
            // Libraries like to repeat their cause's text; a person needs it once.
            let words = text.split(" (os error").next().unwrap_or(&text).to_lowercase();
            if !shown.to_lowercase().contains(&words) {
                write!(f, ": {text}")?;
                shown = text;
            }
            cause = error.source();
        }
        Ok(())
    }
}

/// What a server says, as one line of a bounded length: it goes into logs.
fn one_line(text: &str) -> String {
    const LONGEST: usize = 2000;
    let pieces = text.split(char::is_control).map(str::trim).filter(|piece| !piece.is_empty());
    let mut line = pieces.collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(LONGEST) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// One line, whatever it names: an object's name may hold anything that JSON can say.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.inner.message;
        if !text.contains(char::is_control) {
            return f.write_str(text);
        }
        for character in text.chars() {
            if character.is_control() {
                write!(f, "{}", character.escape_debug())?;
            } else {
                fmt::Write::write_char(f, character)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Error");
        out.field("kind", &self.inner.kind);
        if let Some(stage) = self.inner.stage {
            out.field("stage", &stage);
        }
        out.field("message", &self.inner.message);
        if let Some(wait) = self.inner.retry_after {
            out.field("retry_after", &wait);
        }
        if let Some(source) = &self.inner.source {
            out.field("source", &source.to_string());
        }
        out.finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}

/// The kind of a plain HTTP status that came without a readable `Status` body.
#[must_use]
pub fn kind_of_code(code: u16) -> ErrorKind {
    match code {
        300..=399 => ErrorKind::Redirect,
        400 => ErrorKind::BadRequest,
        401 => ErrorKind::Unauthorized,
        403 => ErrorKind::Forbidden,
        404 => ErrorKind::NotFound,
        405 => ErrorKind::MethodNotAllowed,
        406 => ErrorKind::NotAcceptable,
        409 => ErrorKind::Conflict,
        410 => ErrorKind::Gone,
        413 => ErrorKind::TooLarge,
        415 => ErrorKind::UnsupportedMediaType,
        422 => ErrorKind::Invalid,
        429 => ErrorKind::TooManyRequests,
        503 => ErrorKind::Unavailable,
        504 => ErrorKind::ServerTimeout,
        500..=599 => ErrorKind::Internal,
        _ => ErrorKind::OtherStatus,
    }
}

fn kind_of_status(status: &Status) -> ErrorKind {
    if is_too_large(status) {
        return ErrorKind::TooLargeVersion;
    }
    if status.code == 429 {
        return ErrorKind::TooManyRequests; // 429 counts whatever the reason
    }
    match status.reason.as_str() {
        "Expired" | "Gone" => ErrorKind::Gone,
        "BadRequest" => ErrorKind::BadRequest,
        "Unauthorized" => ErrorKind::Unauthorized,
        "Forbidden" => ErrorKind::Forbidden,
        "NotFound" => ErrorKind::NotFound,
        "MethodNotAllowed" => ErrorKind::MethodNotAllowed,
        "NotAcceptable" => ErrorKind::NotAcceptable,
        "Conflict" => ErrorKind::Conflict,
        "AlreadyExists" => ErrorKind::AlreadyExists,
        "RequestEntityTooLarge" => ErrorKind::TooLarge,
        "UnsupportedMediaType" => ErrorKind::UnsupportedMediaType,
        "Invalid" => ErrorKind::Invalid,
        "TooManyRequests" => ErrorKind::TooManyRequests,
        "InternalError" => ErrorKind::Internal,
        "ServiceUnavailable" => ErrorKind::Unavailable,
        "Timeout" | "ServerTimeout" => ErrorKind::ServerTimeout,
        _ => kind_of_code(status.code),
    }
}

/// E-2: a cause of that type, or the words of an old server.
fn is_too_large(status: &Status) -> bool {
    const WORDS: &str = "Too large resource version";
    let causes = status.details.as_ref().map_or(&[][..], |details| &details.causes);
    if causes.iter().any(|cause| cause.reason == "ResourceVersionTooLarge") {
        return true;
    }
    status.reason == "Timeout"
        && (status.message.contains(WORDS) || causes.iter().any(|cause| cause.message == WORDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(json: &str) -> Error {
        Error::from_status(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn e_1_every_form_of_410_is_gone() {
        assert!(status(r#"{"code":410,"reason":"Expired"}"#).is_gone());
        assert!(status(r#"{"code":410,"reason":"Gone"}"#).is_gone());
        assert!(status(r#"{"code":410}"#).is_gone());
        assert_eq!(kind_of_code(410), ErrorKind::Gone);
    }

    #[test]
    fn f_95_what_a_server_says_is_one_line_of_bounded_length() {
        let error = status(r#"{"message":"line one\nline two\r\n\t\u001b[31mred\u0000","code":500}"#);
        assert_eq!(error.to_string(), "line one line two [31mred");
        assert_eq!(error.status().unwrap().message, "line one\nline two\r\n\t\u{1b}[31mred\0", "as it came");
        let long = status(&format!(r#"{{"message":"{}"}}"#, "é".repeat(100_000)));
        assert_eq!(long.to_string().chars().count(), 2001);
        assert_eq!(status(r#"{"code":418}"#).to_string(), "status 418");
        assert!(status("{}").to_string().contains("without a message"));
    }

    #[test]
    fn e_2_too_large_version_is_told_from_a_plain_timeout() {
        let cause = r#"{"code":504,"reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"x"}],"retryAfterSeconds":1}}"#;
        assert!(status(cause).is_too_large_version());
        assert_eq!(status(cause).retry_after(), Some(Duration::from_secs(1)));
        let old = r#"{"code":504,"reason":"Timeout","message":"Timeout: Too large resource version: 9, current: 5"}"#;
        assert!(status(old).is_too_large_version());
        assert_eq!(status(r#"{"code":504,"reason":"Timeout"}"#).kind(), ErrorKind::ServerTimeout);
    }

    #[test]
    fn d_16_reasons_win_over_codes_and_unknown_reasons_fall_back() {
        assert!(status(r#"{"code":409,"reason":"AlreadyExists"}"#).is_already_exists());
        assert!(status(r#"{"code":409,"reason":"Conflict"}"#).is_conflict());
        assert!(status(r#"{"code":403,"reason":"SomethingNew"}"#).is_forbidden());
        assert!(status(r#"{"code":429,"reason":"Whatever"}"#).is_too_many_requests());
    }

    #[test]
    fn e_3_context_and_stage_keep_the_kind() {
        let error = status(r#"{"code":410,"message":"too old"}"#).context("list pods").at(Stage::List);
        assert!(error.is_gone());
        assert_eq!(error.to_string(), "list pods: too old");
        assert_eq!(error.clone().at(Stage::Watch).stage(), Some(Stage::List));
    }

    #[test]
    fn f_95_a_text_stays_one_line_whatever_it_names() {
        let error = Error::new(ErrorKind::Decode, "no").context("ns/a\nERROR all is lost\u{1b}[31m\u{7f}");
        assert_eq!(error.to_string(), r"ns/a\nERROR all is lost\u{1b}[31m\u{7f}: no");
        assert_eq!(error.chain().to_string(), error.to_string());
    }

    #[test]
    fn d_16_the_chain_keeps_every_cause_and_prints_each_text_once() {
        let inner = std::io::Error::other("no route");
        let error = Error::new(ErrorKind::Network, "connect to x: no route").with_source(inner);
        assert_eq!(error.chain().to_string(), "connect to x: no route");
        let error =
            Error::new(ErrorKind::Network, "connect to x").with_source(std::io::Error::other("no route"));
        assert_eq!(error.chain().to_string(), "connect to x: no route");
    }
}
