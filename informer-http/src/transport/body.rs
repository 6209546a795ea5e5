//! The body of an answer, as a reader whose failures are ours and stay.
//!
//! Invariant: after the first error every read answers with that error again, never with the end (F-97); while
//! the stop is set no read says that the body has ended.

use std::fmt;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use informer_core::{Clock, Error, ErrorKind, Stop, SystemClock};

use super::error::{Limits, from_io, seconds, translate};
use super::{Connections, scope, settle};

/// How much of what follows a complete document is read, so that the connection can be used again.
const TAIL: usize = 4096;

/// The body of an answer.
pub(crate) struct Body {
    reader: ureq::BodyReader<'static>,
    connections: Connections,
    limits: Limits,
    stop: Stop,
    /// How long it may take, and when that is over.
    until: Option<(Duration, Instant)>,
    failed: Option<Error>,
}

impl Body {
    pub(super) fn new(body: ureq::Body, connections: Connections, limits: Limits, stop: Stop) -> Self {
        let mut body =
            Body { reader: body.into_reader(), connections, limits, stop, until: None, failed: None };
        if let Some(whole) = limits.whole {
            body.limit(whole);
        }
        body
    }

    /// From now on it may take so long.
    fn limit(&mut self, limit: Duration) {
        self.until = SystemClock.now().checked_add(limit).map(|at| (limit, at));
    }

    /// Reads at most `most` bytes, until the end or the first error, which is not told, and not for long: for the text of
    /// an error whose status is known already.
    pub(crate) fn read_refusal(&mut self, most: usize) -> Vec<u8> {
        self.limit(self.limits.rest);
        let mut bytes = Vec::new();
        let _ = self.take(most as u64).read_to_end(&mut bytes);
        bytes
    }

    /// Reads what is left after a complete document, which gives the connection back to the pool.
    ///
    /// A failure here is none of the document's, and slowness neither.
    pub(crate) fn finish(mut self) {
        self.limit(self.limits.rest);
        let _ = io::copy(&mut (&mut self).take(TAIL as u64), &mut io::sink());
    }

    fn fail(&mut self, error: Error) -> io::Error {
        self.failed = Some(error.clone());
        io::Error::other(error)
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = &self.failed {
            return Err(io::Error::other(error.clone()));
        }
        let read = scope::until(self.until.map(|(_, at)| at), || self.reader.read(buffer));
        match read {
            Ok(read) if read != 0 || !self.stop.is_set() => Ok(read),
            Ok(_) => Err(self.fail(Error::stopped())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                self.connections.reset();
                let server = self.connections.server();
                let error = match self.until.filter(|(_, at)| *at <= SystemClock.now()) {
                    Some((limit, _)) => {
                        let text = format!("{server} sent no whole answer within {}", seconds(limit));
                        Error::new(ErrorKind::Silent, text)
                    }
                    None => translate(from_io(error), server, self.limits),
                };
                Err(self.fail(settle(error, &self.stop)))
            }
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("failed", &self.failed).finish_non_exhaustive()
    }
}

/// Our error inside an `io::Error` of [`Body`].
pub(crate) fn error_in(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref::<Error>()
}
