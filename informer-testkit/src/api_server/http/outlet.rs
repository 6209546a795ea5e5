//! [`Outlet`]: how answers leave, past the faults that await them and the pauses of the server.
//!
//! Where nothing awaits an answer it goes out in one write, unless it is large, an event in one more. It decides that a connection is to
//! be closed, and how; the closing is its caller's.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::door::Watched;
use super::pace::Pace;
use super::reply::{self, LAST_CHUNK, Manner};
use super::wire::Wire;
use crate::api_server::coding;
use crate::api_server::control::Visit;
use crate::api_server::exchange::{Answer, Call, Stream, Whole};
use crate::api_server::fault::{Act, Phase, Place, Step, Strike};
use crate::api_server::requests::Ending;

/// From here on to copy a body costs more than further writes do.
const LARGE: usize = 64 << 10;

/// Why a connection ends before its time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gone {
    /// The client has gone, or the server stops.
    Away,
    /// A fault closes it.
    Cut,
    /// A fault resets it.
    Reset,
}

/// See the module.
pub(super) struct Outlet<'a> {
    pub(super) shared: &'a Shared,
    pub(super) socket: Arc<TcpStream>,
    /// Tells when the client has gone; there while somebody wants to know.
    pub(super) watched: Option<Watched<'a>>,
    pub(super) pace: Option<Pace>,
    /// Whether what the stream has goes out compressed, each piece a gzip member.
    compressed: bool,
    /// What is sent next; kept for its room.
    buffer: Vec<u8>,
}

impl<'a> Outlet<'a> {
    pub(super) fn new(shared: &'a Shared, socket: Arc<TcpStream>) -> Self {
        Outlet { shared, socket, watched: None, pace: None, compressed: false, buffer: Vec::new() }
    }

    /// The connection has come; nothing has been read.
    pub(super) fn connected(&mut self) -> Result<(), Gone> {
        self.unpaused()?;
        let mut plan = self.control().rules.of_connection();
        while let Some(strike) = plan.at_once(Phase::Connect) {
            self.strike(&strike)?;
        }
        self.rest();
        Ok(())
    }

    /// The answer is over.
    pub(super) fn rest(&mut self) {
        (self.watched, self.pace, self.compressed) = (None, None, false);
    }

    /// Answers a call.
    pub(super) fn answer(&mut self, wire: &mut Wire, call: Call, manner: Manner) -> Result<(), Gone> {
        let mut visit = self.control().visit(&call);
        let outcome = self.try_answer(wire, call, manner, &mut visit);
        visit.ticket.end(match outcome {
            Ok(ending) => ending,
            Err(Gone::Away) => self.why_away(),
            Err(Gone::Cut | Gone::Reset) => Ending::Broken,
        });
        outcome.map(|_| ())
    }

    fn try_answer(
        &mut self,
        wire: &mut Wire,
        call: Call,
        manner: Manner,
        visit: &mut Visit,
    ) -> Result<Ending, Gone> {
        self.unpaused()?;
        while let Some(strike) = visit.plan.at_once(Phase::Head) {
            if let Act::Refuse(refusal) = strike.act() {
                return self.whole(wire, &refusal.answer(), &refusal.headers, manner, visit);
            }
            self.strike(&strike)?;
        }
        self.unpaused()?; // it may have begun meanwhile
        match self.shared.service.answer(call) {
            Answer::Whole(answer) => self.whole(wire, &answer, &[], manner, visit),
            Answer::Stream(stream) => self.stream(wire, stream, manner, visit),
        }
    }

    /// Sends an answer that is there.
    fn whole(
        &mut self,
        wire: &mut Wire,
        answer: &Whole,
        more: &[(String, String)],
        manner: Manner,
        visit: &mut Visit,
    ) -> Result<Ending, Gone> {
        let mut head = reply::whole_head(answer, more, manner);
        visit.ticket.status(answer.status);
        let body: &[u8] = if manner.bodiless { &[] } else { &answer.body };
        let chunked = reply::is_chunked(body, manner);
        if visit.plan.is_empty() && self.pace.is_none() {
            if chunked && LARGE < body.len() {
                head.extend_from_slice(format!("{:x}\r\n", body.len()).as_bytes());
                self.send(wire, &head)?;
                self.send(wire, body)?;
                self.send(wire, &[b"\r\n", LAST_CHUNK].concat())?;
            } else {
                if chunked {
                    reply::chunk(&mut head, body);
                    head.extend_from_slice(LAST_CHUNK);
                } else {
                    head.extend_from_slice(body);
                }
                self.send(wire, &head)?;
            }
            visit.ticket.sent(body.len());
            return Ok(Ending::Complete);
        }
        self.through(wire, Place::Head, &head, visit)?;
        if chunked {
            self.send(wire, format!("{:x}\r\n", body.len()).as_bytes())?;
        }
        self.through(wire, Place::Body, body, visit)?;
        if chunked {
            self.send(wire, b"\r\n")?;
        }
        // What comes after the last byte is still within the answer, if it has no length.
        while let Some(strike) = visit.plan.due(Place::Body) {
            self.strike(&strike)?;
        }
        if chunked {
            self.send(wire, LAST_CHUNK)?;
        }
        Ok(Ending::Complete)
    }

    /// Sends what the stream has, until it ends or the client has gone.
    fn stream(
        &mut self,
        wire: &mut Wire,
        mut stream: Stream,
        manner: Manner,
        visit: &mut Visit,
    ) -> Result<Ending, Gone> {
        let manner = Manner { closes: manner.closes || manner.old, ..manner };
        let head = reply::stream_head(&stream.headers, manner);
        visit.ticket.status(200);
        self.through(wire, Place::Head, &head, visit)?;
        self.compressed = stream.compressed;
        let stop = self.away();
        let mut over = false;
        while !over {
            let place = if stream.feed.is_initial() { Place::Initial } else { Place::Live };
            over = self.between(wire, place, manner, visit)?;
            if over {
                break;
            }
            let Some(bytes) = stream.feed.next(&stop) else { break };
            over = self.events(wire, place, &bytes, manner, visit)?;
        }
        if !manner.old {
            self.send(wire, LAST_CHUNK)?;
        }
        Ok(if stop.is_set() { self.why_away() } else { Ending::Complete })
    }

    /// Sends whole events; answers whether the stream is over.
    fn events(
        &mut self,
        wire: &mut Wire,
        place: Place,
        bytes: &[u8],
        manner: Manner,
        visit: &mut Visit,
    ) -> Result<bool, Gone> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(visit.plan.unbroken(place, rest));
            self.chunk(wire, place, now, manner, visit)?;
            rest = later;
            if self.between(wire, place, manner, visit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lets happen what is due between two events; answers whether the stream is over.
    fn between(
        &mut self,
        wire: &mut Wire,
        place: Place,
        manner: Manner,
        visit: &mut Visit,
    ) -> Result<bool, Gone> {
        while let Some(strike) = visit.plan.due(place) {
            match strike.act() {
                Act::End => return Ok(true),
                Act::Refuse(refusal) => {
                    self.chunk(wire, place, &refusal.event(), manner, visit)?;
                    return Ok(true);
                }
                _ => self.strike(&strike)?,
            }
        }
        Ok(false)
    }

    /// Sends a chunk of a stream.
    fn chunk(
        &mut self,
        wire: &mut Wire,
        place: Place,
        bytes: &[u8],
        manner: Manner,
        visit: &mut Visit,
    ) -> Result<(), Gone> {
        if self.compressed {
            return self.members(wire, place, bytes, manner, visit);
        }
        if manner.old {
            return self.through(wire, place, bytes, visit);
        }
        if visit.plan.is_empty() && self.pace.is_none() {
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.clear();
            reply::chunk(&mut buffer, bytes);
            let sent = self.send(wire, &buffer);
            self.buffer = buffer;
            sent?;
            visit.ticket.sent(bytes.len());
            return Ok(());
        }
        self.send(wire, format!("{:x}\r\n", bytes.len()).as_bytes())?;
        self.through(wire, place, bytes, visit)?;
        self.send(wire, b"\r\n")
    }

    /// Sends a piece of a stream compressed. Faults count what it is without that, and strike between members.
    fn members(
        &mut self,
        wire: &mut Wire,
        place: Place,
        bytes: &[u8],
        manner: Manner,
        visit: &mut Visit,
    ) -> Result<(), Gone> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match visit.plan.step(place, rest) {
                Step::Send(count) => {
                    let (now, later) = rest.split_at(count);
                    let member = coding::member(now);
                    let mut piece = Vec::with_capacity(member.len() + 16);
                    if manner.old {
                        piece.extend_from_slice(&member);
                    } else {
                        reply::chunk(&mut piece, &member);
                    }
                    self.send(wire, &piece)?;
                    visit.ticket.sent(member.len());
                    rest = later;
                }
                Step::Strike(strike) => self.strike(&strike)?,
            }
        }
        Ok(())
    }

    /// Sends bytes as far as faults let them that may strike anywhere.
    fn through(
        &mut self,
        wire: &mut Wire,
        place: Place,
        bytes: &[u8],
        visit: &mut Visit,
    ) -> Result<(), Gone> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match visit.plan.step(place, rest) {
                Step::Send(count) => {
                    let (now, later) = rest.split_at(count);
                    self.send(wire, now)?;
                    if place != Place::Head {
                        visit.ticket.sent(count);
                    }
                    rest = later;
                }
                Step::Strike(strike) => self.strike(&strike)?,
            }
        }
        Ok(())
    }

    /// Does what a fault orders, as far as it is not an answer.
    fn strike(&mut self, strike: &Strike) -> Result<(), Gone> {
        match strike.act() {
            Act::Delay(time) => self.hold(Some(*time), strike.removed()),
            Act::Stall => self.hold(None, strike.removed()),
            Act::Cut => Err(Gone::Cut),
            Act::Reset => Err(Gone::Reset),
            Act::Drip(bytes, every) => {
                let removed = strike.removed().clone();
                self.pace = Some(Pace { bytes: *bytes, every: *every, removed });
                Ok(())
            }
            // They are for watches, and this is none; or it has been looked at already.
            Act::End | Act::Refuse(_) => Ok(()),
        }
    }

    /// Closes the connection for this side; over TLS without a word.
    pub(super) fn shut(&self) {
        // Whoever does not listen any more misses nothing.
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Makes the close that follows a reset.
    pub(super) fn reset(&self) {
        // Without it the close is an orderly one, which a test would notice.
        let _ = rustix::net::sockopt::set_socket_linger(&*self.socket, Some(Duration::ZERO));
    }
}

impl From<io::Error> for Gone {
    fn from(_: io::Error) -> Self {
        Gone::Away
    }
}
