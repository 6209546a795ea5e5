//! One connection of a [`ScriptedServer`](super::ScriptedServer): requests in, actions out.
//!
//! It decides how the connection is closed and leaves the closing to its caller, who owns the socket.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;

use informer_core::Clock as _;

use super::Shared;
use crate::http::read::{Fault, read_request};
use crate::script::{Action, Framing, Reply, chunk_bytes};

/// How the serving of a connection ended.
pub(super) enum Close {
    ByClient,
    Orderly,
    Abortive,
}

/// Answers requests until the connection is to be closed.
pub(super) fn talk(shared: &Shared, stream: &TcpStream, number: usize, first: Option<&[Action]>) -> Close {
    let mut conversation =
        Conversation { shared, reader: BufReader::new(stream), stream, framing: None, complete: true };
    if let Some(actions) = first
        && let Some(close) = conversation.run(actions)
    {
        return close;
    }
    loop {
        let request = match read_request(&mut conversation.reader, number) {
            Ok(Some(request)) => request,
            Ok(None) => return Close::ByClient,
            Err(Fault::Broken(_)) => return Close::ByClient,
            Err(fault) => {
                shared.surprise(format!("no HTTP request on connection {number}: {fault}"));
                let _ = conversation.refuse(400, "this is no HTTP/1.1 request");
                return Close::Orderly;
            }
        };
        let closes = request.closes;
        let Some(actions) = shared.take(request) else {
            let _ = conversation.refuse(500, "the script does not expect this request");
            return Close::Orderly;
        };
        (conversation.framing, conversation.complete) = (None, false);
        if let Some(close) = conversation.run(&actions) {
            return close;
        }
        if closes || !conversation.complete {
            return Close::Orderly;
        }
    }
}

/// One connection while it is served.
struct Conversation<'a> {
    shared: &'a Shared,
    stream: &'a TcpStream,
    reader: BufReader<&'a TcpStream>,
    /// The framing of the response, once its head is sent.
    framing: Option<Framing>,
    /// Whether the response was brought to its end.
    complete: bool,
}

impl Conversation<'_> {
    /// Carries out actions; answers how the connection is to be closed, if it is.
    fn run(&mut self, actions: &[Action]) -> Option<Close> {
        for action in actions {
            if self.shared.stop.is_set() {
                return Some(Close::Orderly);
            }
            match self.act(action) {
                Ok(None) => {}
                Ok(Some(close)) => return Some(close),
                Err(_) => return Some(Close::ByClient), // it does not take the bytes any more
            }
        }
        None
    }

    fn act(&mut self, action: &Action) -> io::Result<Option<Close>> {
        match action {
            Action::Reply(reply) => {
                let (bytes, reusable) = reply.to_bytes();
                self.stream.write_all(&bytes)?;
                if !reusable {
                    return Ok(Some(Close::Orderly));
                }
                self.complete = true;
            }
            Action::Head(head) => {
                self.stream.write_all(&head.to_bytes())?;
                self.framing = Some(head.framing());
            }
            Action::Chunk(bytes) => match self.framing {
                Some(Framing::Chunked) => self.stream.write_all(&chunk_bytes(bytes))?,
                Some(Framing::Length(_) | Framing::Close) | None => self.stream.write_all(bytes)?,
            },
            Action::Raw(bytes) => self.stream.write_all(bytes)?,
            Action::End => {
                self.complete = true;
                match self.framing {
                    Some(Framing::Chunked) => self.stream.write_all(b"0\r\n\r\n")?,
                    Some(Framing::Close) => return Ok(Some(Close::Orderly)),
                    Some(Framing::Length(_)) | None => {}
                }
            }
            Action::Fin => return Ok(Some(Close::Orderly)),
            Action::Rst => return Ok(Some(Close::Abortive)),
            Action::Stall => return Ok(Some(self.stall())),
            Action::Hold(pass) => {
                pass.wait_or_stop(&self.shared.stop);
            }
            Action::Pause(time) => {
                if let Some(clock) = &self.shared.clock {
                    self.shared.stop.wait_until(clock, clock.now().checked_add(*time));
                }
            }
        }
        Ok(None)
    }

    /// Reads, and so notices the end of the connection.
    fn stall(&mut self) -> Close {
        loop {
            match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok([]) | Err(_) => return Close::ByClient,
                Ok(bytes) => {
                    let count = bytes.len();
                    self.reader.consume(count);
                }
            }
        }
    }

    fn refuse(&mut self, code: u16, message: &str) -> io::Result<()> {
        let (bytes, _) = Reply::status(code, "ScriptError", message).to_bytes();
        self.stream.write_all(&bytes)
    }
}
