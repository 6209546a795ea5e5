//! What an answer that is not the wanted document means. Pure.
//!
//! Invariant: status and content type decide before a body is framed (D18); nothing of a body but its `Status`, or
//! its first characters, reaches an error text.

use std::time::Duration;

use informer_core::kube_core::Status;
use informer_core::{Error, ErrorKind, kind_of_code};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde::Deserialize;
use ureq::http::{HeaderMap, Method, StatusCode, Uri, header};

/// How much of an error body is read.
pub(crate) const ERROR_BODY: usize = 64 * 1024;
/// How many characters of a body that is no `Status` are shown.
const SHOWN: usize = 200;
/// No server makes us wait longer.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// The head of an answer, as much as matters here.
pub(crate) struct Answer<'a> {
    pub method: &'a Method,
    pub status: StatusCode,
    pub headers: &'a HeaderMap,
}

impl Answer<'_> {
    /// Whether the body is the wanted JSON document, by the head alone.
    ///
    /// # Errors
    /// [`ErrorKind::Redirect`] and [`ErrorKind::Decode`] for answers whose body does not matter.
    pub(crate) fn is_document(&self) -> Result<bool, Error> {
        if self.status.is_redirection() {
            return Err(self.redirect());
        }
        if !self.status.is_success() {
            return Ok(false);
        }
        // ureq takes gzip off, and the header with it.
        if self
            .text(header::CONTENT_ENCODING)
            .is_some_and(|encoding| !encoding.eq_ignore_ascii_case("identity"))
        {
            return Err(Error::new(
                ErrorKind::Decode,
                "the answer is compressed in a way that was not asked for; is there a proxy before the server?",
            ));
        }
        match self.content_type() {
            // Servers of tests and old proxies leave it out; the decoder will see.
            None => Ok(true),
            Some(kind) if is_json(kind) => Ok(true),
            Some(kind) => Err(Error::new(
                ErrorKind::Decode,
                format!(
                    "the answer is {kind}, not JSON; is this an API server, or a login page or proxy before it?"
                ),
            )),
        }
    }

    fn redirect(&self) -> Error {
        let code = self.status.as_u16();
        let to = self.text(header::LOCATION).and_then(|location| location.parse::<Uri>().ok());
        let text = match to {
            // The origin only: a query may hold what is secret.
            Some(uri) if uri.host().is_some() => {
                let origin = crate::transport::origin(&uri);
                format!("the server redirects ({code}) to {origin}, which is not followed; set that address")
            }
            _ => format!("the server redirects ({code}), which is not followed; is this an API server?"),
        };
        Error::new(ErrorKind::Redirect, text)
    }

    /// The error that this answer with `body` is.
    pub(crate) fn error(&self, body: &[u8], now: Timestamp) -> Error {
        let error = match self.status_object(body) {
            Some(status) => Error::from_status(status),
            None => self.generic(body),
        };
        // The server's own clock, if it tells it, makes a date independent of ours.
        let now = self.text(header::DATE).and_then(parse_date).unwrap_or(now);
        let retriable = self.status == StatusCode::TOO_MANY_REQUESTS || self.status.is_server_error();
        let asked = self.text(header::RETRY_AFTER).filter(|_| retriable);
        let wait = asked.and_then(|value| retry_after(value, now)).or(error.retry_after());
        match wait {
            Some(wait) => error.with_retry_after(wait.min(LONGEST_WAIT)),
            None => error,
        }
    }

    fn status_object(&self, body: &[u8]) -> Option<Status> {
        #[derive(Deserialize)]
        struct Kind {
            kind: String,
        }
        let kind: Kind = serde_json::from_slice(body).ok()?;
        if kind.kind != "Status" {
            return None;
        }
        let mut status: Status = serde_json::from_slice(body).ok()?;
        if status.code == 0 {
            status.code = self.status.as_u16();
        }
        Some(status)
    }

    fn generic(&self, body: &[u8]) -> Error {
        let kind = match kind_of_code(self.status.as_u16()) {
            ErrorKind::Conflict if self.method == Method::POST => ErrorKind::AlreadyExists,
            kind => kind,
        };
        let mut text = format!("status {}", self.status);
        let shown = first_characters(body);
        if !shown.is_empty() {
            text.push_str(": ");
            text.push_str(&shown);
        }
        Error::new(kind, text)
    }

    /// The media type without its parameters.
    fn content_type(&self) -> Option<&str> {
        let value = self.text(header::CONTENT_TYPE)?;
        value.split(';').next().map(str::trim).filter(|kind| !kind.is_empty())
    }

    fn text(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

fn is_json(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// The first characters of `body` as one line.
fn first_characters(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * SHOWN)]);
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line,
    }
}

/// How long `Retry-After` asks to wait; nothing, zero, the past and nonsense ask for nothing (F-66).
fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    let wait = if value.bytes().all(|byte| byte.is_ascii_digit()) {
        // Too many digits for a number are too long a wait, too.
        if value.is_empty() { 0 } else { value.parse::<u64>().unwrap_or(u64::MAX) }
    } else {
        u64::try_from(parse_date(value)?.as_second().saturating_sub(now.as_second())).ok()?
    };
    (wait != 0).then(|| Duration::from_secs(wait).min(LONGEST_WAIT))
}

fn parse_date(value: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(value.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ureq::http::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    fn now() -> Timestamp {
        "2026-10-21T07:27:00Z".parse().unwrap()
    }

    fn error(code: u16, pairs: &[(&'static str, &'static str)], body: &str) -> Error {
        let headers = headers(pairs);
        let status = StatusCode::from_u16(code).unwrap();
        Answer { method: &Method::GET, status, headers: &headers }.error(body.as_bytes(), now())
    }

    fn document(code: u16, pairs: &[(&'static str, &'static str)]) -> Result<bool, Error> {
        let headers = headers(pairs);
        let status = StatusCode::from_u16(code).unwrap();
        Answer { method: &Method::GET, status, headers: &headers }.is_document()
    }

    #[test]
    fn f_66_retry_after_seconds_dates_and_nonsense() {
        let some = |seconds| Some(Duration::from_secs(seconds));
        for (value, want) in [
            ("3", some(3)),
            (" 3 ", some(3)),
            ("0", None),
            ("-1", None),
            ("abc", None),
            ("", None),
            ("1.5", None),
            ("Wed, 21 Oct 2026 07:28:00 GMT", some(60)),
            ("Wed, 21 Oct 2026 07:26:00 GMT", None),
            ("Wed, 21 Oct 2037 07:28:00 GMT", some(300)),
            ("999999999", some(300)),
            ("99999999999999999999999999", some(300)),
        ] {
            assert_eq!(retry_after(value, now()), want, "{value:?}");
        }
    }

    #[test]
    fn f_66_the_header_counts_on_429_and_5xx_and_the_details_without_it() {
        let after = [("retry-after", "7")];
        for (code, want) in [(429, 7), (500, 7), (503, 7)] {
            assert_eq!(error(code, &after, "").retry_after(), Some(Duration::from_secs(want)), "{code}");
        }
        assert_eq!(error(403, &after, "").retry_after(), None);
        let details = r#"{"kind":"Status","code":429,"details":{"retryAfterSeconds":9}}"#;
        assert_eq!(error(429, &[], details).retry_after(), Some(Duration::from_secs(9)));
        assert_eq!(error(429, &after, details).retry_after(), Some(Duration::from_secs(7)));
        let absurd = r#"{"kind":"Status","code":429,"details":{"retryAfterSeconds":99999}}"#;
        assert_eq!(error(429, &[], absurd).retry_after(), Some(LONGEST_WAIT));
    }

    #[test]
    fn f_66_a_date_counts_from_the_clock_of_the_server() {
        let pairs =
            [("date", "Wed, 21 Oct 2026 08:00:00 GMT"), ("retry-after", "Wed, 21 Oct 2026 08:00:20 GMT")];
        assert_eq!(error(503, &pairs, "").retry_after(), Some(Duration::from_secs(20)));
    }

    #[test]
    fn f_95_the_status_of_the_body_is_kept() {
        let gone = error(410, &[], r#"{"kind":"Status","reason":"Expired","message":"too old","code":410}"#);
        assert!(gone.is_gone());
        assert_eq!(gone.to_string(), "too old");
        assert_eq!(gone.status().unwrap().reason, "Expired");
        // The code of the head stands in for a missing one.
        assert!(error(403, &[], r#"{"kind":"Status","message":"no"}"#).is_forbidden());
        // Other JSON is no Status, whatever its fields.
        let other = error(422, &[], r#"{"kind":"ConfigMap","code":410,"reason":"Gone"}"#);
        assert!(other.is_invalid());
    }

    #[test]
    fn bodies_that_are_no_status_are_shown_in_one_short_line() {
        let plain = error(404, &[("content-type", "text/plain")], "404 page not found\n");
        assert!(plain.is_not_found());
        assert_eq!(plain.to_string(), "status 404 Not Found: 404 page not found");
        let long = error(502, &[], &"é\r\n".repeat(60_000));
        assert!(long.to_string().chars().count() < 240, "{long}");
        let headers = HeaderMap::new();
        let post = Answer { method: &Method::POST, status: StatusCode::CONFLICT, headers: &headers };
        assert!(post.error(b"", now()).is_already_exists());
        let put = Answer { method: &Method::PUT, status: StatusCode::CONFLICT, headers: &headers };
        assert!(put.error(b"", now()).is_conflict());
    }

    #[test]
    fn d_18_the_content_type_is_checked_before_the_body() {
        for json in ["application/json", "Application/JSON; charset=utf-8", "application/apply-patch+json"] {
            let pairs: &[(&'static str, &'static str)] = &[("content-type", json)];
            assert!(document(200, pairs).unwrap(), "{json}");
        }
        assert!(document(201, &[]).unwrap());
        let page = document(200, &[("content-type", "text/html; charset=utf-8")]).unwrap_err();
        assert_eq!(page.kind(), ErrorKind::Decode);
        assert!(page.to_string().contains("text/html"), "{page}");
        assert!(!document(500, &[("content-type", "text/html")]).unwrap());
    }

    #[test]
    fn f_98_a_compression_that_was_not_asked_for_is_told_before_the_body() {
        let json = ("content-type", "application/json");
        assert!(document(200, &[json, ("content-encoding", "Identity")]).unwrap());
        for encoding in ["br", "x-gzip", "gzip, br"] {
            let error = document(200, &[json, ("content-encoding", encoding)]).unwrap_err();
            assert!(error.to_string().contains("compressed"), "{encoding}: {error}");
        }
        assert!(!document(500, &[("content-encoding", "br")]).unwrap(), "the status says more");
    }

    #[test]
    fn f_102_a_redirect_names_the_origin_and_nothing_else() {
        let pairs = [("location", "https://sso.example.com/login?token=secret")];
        let error = document(302, &pairs).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Redirect);
        assert!(error.to_string().contains("https://sso.example.com:443"), "{error}");
        assert!(!error.to_string().contains("secret"));
        assert_eq!(document(307, &[("location", "/elsewhere")]).unwrap_err().kind(), ErrorKind::Redirect);
        assert_eq!(document(301, &[]).unwrap_err().kind(), ErrorKind::Redirect);
    }
}
