//! The seam between HTTP and the engine: what is asked, and what is answered.
//!
//! Nothing here knows of sockets, and nothing of objects: the shell frames bytes, the engine makes them.

use std::fmt;
use std::sync::Arc;

use informer_core::Stop;

/// One request, read whole.
#[derive(Clone, Default)]
pub(super) struct Call {
    pub(super) method: String,
    /// As it was sent: percent-encoding and all, without the query.
    pub(super) path: String,
    /// Decoded, in the order of the request.
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    /// Who asks; `None` where nobody has to say.
    pub(super) user: Option<String>,
}

impl Call {
    /// The first value of a header, whatever the case of its name.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Every value of a parameter.
    pub(super) fn parameters(&self, name: &str) -> impl Iterator<Item = &str> {
        self.query.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for Call {
    /// Headers may hold a token and bodies a Secret: only the request line shows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("method", &self.method).field("path", &self.path).finish_non_exhaustive()
    }
}

/// What a request is answered with.
pub(super) enum Answer {
    /// A body that is there.
    Whole(Whole),
    /// Status 200, and a body that is still to come.
    Stream(Stream),
}

impl Answer {
    /// Without the length, the date and whatever belongs to the connection.
    pub(super) fn headers(&mut self) -> &mut Vec<(&'static str, String)> {
        match self {
            Answer::Whole(Whole { headers, .. }) | Answer::Stream(Stream { headers, .. }) => headers,
        }
    }
}

/// An answer that is complete.
pub(super) struct Whole {
    pub(super) status: u16,
    /// Without the length, the date and whatever belongs to the connection.
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

/// An answer whose body comes by and by.
pub(super) struct Stream {
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) feed: Box<dyn Feed>,
    /// Whether each piece goes out as a gzip member.
    pub(super) compressed: bool,
}

/// Where the bytes of a [`Stream`] come from.
pub(super) trait Feed: Send {
    /// The next bytes, to be sent as one chunk; `None` ends the stream.
    ///
    /// # Blocking
    /// Until there is something to send, the stream is over, or `stop` is set, which is answered with `None` at once.
    fn next(&mut self, stop: &Stop) -> Option<Arc<[u8]>>;

    /// Whether what comes next tells of what was there before, and not of a change.
    fn is_initial(&self) -> bool {
        false
    }
}
