//! The body of an answer, as a reader whose failures are ours and stay.
//!
//! Invariant: after the first error every read answers with that error again, never with the end (F-97); while
//! the stop is set no read says that the body has ended.

use std::fmt;
use std::io::{self, Read};

use informer_core::{Error, OnStop, Stop};

use super::error::{Limits, from_io, translate};
use super::{Connections, settle};

/// How much of what follows a complete document is read, so that the connection can be used again.
const TAIL: usize = 4096;

/// The body of an answer.
pub(crate) struct Body {
    reader: ureq::BodyReader<'static>,
    connections: Connections,
    limits: Limits,
    stop: Stop,
    /// Ends a connection that does not register with the stop itself.
    _hook: Option<OnStop>,
    failed: Option<Error>,
}

impl Body {
    pub(super) fn new(
        body: ureq::Body,
        connections: Connections,
        limits: Limits,
        stop: Stop,
        hook: Option<OnStop>,
    ) -> Self {
        Body { reader: body.into_reader(), connections, limits, stop, _hook: hook, failed: None }
    }

    /// Reads at most `most` bytes, until the end or the first error, which is not told: for error texts.
    pub(crate) fn read_some(&mut self, most: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let _ = self.take(most as u64).read_to_end(&mut bytes);
        bytes
    }

    /// Reads what is left after a complete document, which gives the connection back to the pool.
    ///
    /// A failure here is none of the document's.
    pub(crate) fn finish(mut self) {
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
        let read = self.reader.read(buffer);
        match read {
            Ok(read) if read != 0 || !self.stop.is_set() => Ok(read),
            Ok(_) => Err(self.fail(Error::stopped())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                self.connections.reset();
                let error = translate(from_io(error), self.connections.server(), self.limits);
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
