//! [`Tape`]: exchanges kept byte for byte.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use informer_core::sync::Mutex;

/// What a [`Peer`](super::Peer) has been asked under a name, and what it has said, byte for byte. Clones are the same tape.
#[derive(Clone, Default)]
pub struct Tape(Arc<Mutex<Taped>>);

#[derive(Default)]
struct Taped {
    /// What the next exchange is called; those without a name are not kept.
    next: Option<String>,
    exchanges: Vec<Exchange>,
}

/// One exchange on a [`Tape`].
#[derive(Clone)]
pub struct Exchange {
    /// What it is called.
    pub name: String,
    /// The bytes that were sent, without the token.
    pub request: Vec<u8>,
    /// The bytes that came back, framing and all; as many as there are by now.
    pub response: Arc<Mutex<Vec<u8>>>,
}

impl Tape {
    /// Everything on it.
    #[must_use]
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.0.lock().exchanges.clone()
    }

    /// Says what the next exchange is called.
    pub(super) fn name_next(&self, name: &str) {
        self.0.lock().next = Some(name.to_owned());
    }

    /// Where the answer to a request is to be kept, if it has a name.
    pub(super) fn begin(&self, request: Vec<u8>) -> Option<Arc<Mutex<Vec<u8>>>> {
        let mut tape = self.0.lock();
        let name = tape.next.take()?;
        let response = Arc::default();
        tape.exchanges.push(Exchange { name, request, response: Arc::clone(&response) });
        Some(response)
    }
}

impl fmt::Debug for Tape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tape").field("exchanges", &self.0.lock().exchanges.len()).finish()
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Keeps what is read.
pub(super) struct Tee<R> {
    pub(super) reader: R,
    pub(super) heard: Arc<Mutex<Vec<u8>>>,
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(out)?;
        self.heard.lock().extend_from_slice(&out[..count]);
        Ok(count)
    }
}
