//! [`Patience`]: whether a single request goes out again because the server asked to wait, and when (D14). Pure.
//!
//! Invariant: a write is repeated only after 429, which says that it has not been carried out. Requests of an informer
//! never come here: the reflector paces those itself.

use std::time::Duration;

use informer_core::{Error, ErrorKind};
use ureq::http::Method;

/// client-go's number.
const REPEATS: u32 = 10;
/// A caller who blocks for longer would rather be told.
const LONGEST: Duration = Duration::from_secs(60);

/// What is left of the patience with one request.
#[derive(Debug)]
pub(crate) struct Patience {
    repeats: u32,
    time: Duration,
}

impl Patience {
    pub(crate) fn new() -> Self {
        Patience { repeats: REPEATS, time: LONGEST }
    }

    /// How long to wait before the request that failed with `error` goes out again; `None` if it does not.
    pub(crate) fn wait(&mut self, method: &Method, error: &Error) -> Option<Duration> {
        let wait = error.retry_after().filter(|wait| *wait <= self.time)?;
        let may = match error.kind() {
            ErrorKind::TooManyRequests => true,
            ErrorKind::Internal | ErrorKind::Unavailable | ErrorKind::ServerTimeout => method == Method::GET,
            // A version that is too large among them (W-20): who waits a second for it may wait for ever.
            _ => false,
        };
        if !may || self.repeats == 0 {
            return None;
        }
        self.repeats -= 1;
        self.time -= wait;
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use informer_core::kube_core::Status;

    use super::*;

    fn error(code: u16, wait: u64) -> Error {
        let error = Error::from_status(Status::failure("no", "").with_code(code));
        if wait == 0 { error } else { error.with_retry_after(Duration::from_secs(wait)) }
    }

    #[test]
    fn w_11_w_12_d_14_what_is_repeated_is_what_the_server_asked_to_wait_for() {
        for (code, reads, writes) in
            [(429, true, true), (500, true, false), (503, true, false), (504, true, false)]
        {
            for (method, want) in [(Method::GET, reads), (Method::POST, writes), (Method::PATCH, writes)] {
                let wait = Patience::new().wait(&method, &error(code, 2));
                assert_eq!(wait, want.then(|| Duration::from_secs(2)), "{code} {method}");
                assert_eq!(
                    Patience::new().wait(&method, &error(code, 0)),
                    None,
                    "nobody asked: {code} {method}"
                );
            }
        }
        for code in [400, 403, 404, 409, 410, 422] {
            assert_eq!(Patience::new().wait(&Method::GET, &error(code, 2)), None, "{code}");
        }
    }

    #[test]
    fn w_20_a_version_that_is_too_large_is_handed_up_at_once() {
        let error = Error::new(ErrorKind::TooLargeVersion, "").with_retry_after(Duration::from_secs(1));
        assert_eq!(Patience::new().wait(&Method::GET, &error), None);
    }

    #[test]
    fn w_10_d_14_repeats_and_time_are_bounded() {
        let mut patience = Patience::new();
        let waits = std::iter::from_fn(|| patience.wait(&Method::GET, &error(429, 1)));
        assert_eq!(waits.take(100).count(), 10);
        let mut patience = Patience::new();
        let waits = std::iter::from_fn(|| patience.wait(&Method::GET, &error(429, 25)));
        assert_eq!(waits.take(100).count(), 2, "a minute in all");
        assert_eq!(Patience::new().wait(&Method::GET, &error(429, 61)), None);
    }
}
