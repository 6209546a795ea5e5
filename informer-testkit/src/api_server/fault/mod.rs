//! [`Fault`]: something that an [`ApiServer`](super::ApiServer) is to do wrong, to which requests, where, how often.
//!
//! Pure: [`Rules`] counts which requests a fault is for, a [`Plan`] knows how far an answer gets before one strikes.
//! What a strike does to a connection is HTTP's business.

mod calls;
mod plan;
mod possible;
mod refusal;
mod rules;
#[cfg(test)]
mod tests;
mod turns;

use std::ops::Range;
use std::time::Duration;

pub use calls::Calls;
pub use rules::Injected;

pub(super) use plan::{Place, Plan, Step, Strike};
use refusal::Refusal;
pub(super) use rules::Rules;
use turns::{Turns, draw};

/// A part of an exchange, as far as faults are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// The connection has been accepted; not a byte has been read. Over TLS the handshake has not begun.
    Connect,
    /// The request has been read. Before the first byte of the answer it has not been carried out either.
    Head,
    /// The body of the answer: a list, an object, or a watch from its first event on.
    Body,
    /// The part of a watch that tells what is there already, up to the bookmark that ends it.
    Initial,
    /// The part of a watch that tells changes.
    Live,
}

/// Something that goes wrong, by order: give it to [`ApiServer::fault`](super::ApiServer::fault).
///
/// A fault says what happens ([`reset`](Fault::reset), [`status`](Fault::status), …), to which requests
/// ([`on`](Fault::on); all unless it is said), where ([`at`](Fault::at), [`after_bytes`](Fault::after_bytes), …) and how
/// often ([`times`](Fault::times), [`nth`](Fault::nth), …; always unless it is said).
///
/// ```
/// use std::time::Duration;
/// use informer_testkit::{ApiServer, Calls, Fault, Phase};
///
/// let server = ApiServer::start()?;
/// // The first two watches of pods are reset, each after 300 bytes.
/// server.fault(Fault::reset().on(Calls::watch("pods")).after_bytes(300).times(2));
/// // Every third list is refused for a second.
/// server.fault(Fault::too_many_requests(Duration::from_secs(1)).on(Calls::list("pods")).every(3));
/// // A watch tells three changes, then that its version is gone.
/// server.fault(Fault::gone().on(Calls::watch("nodes")).at(Phase::Live).after_events(3));
/// // One connection in ten is never answered: no TLS handshake, no HTTP.
/// server.fault(Fault::stall().at(Phase::Connect).one_in(10).seed(7));
/// # Ok::<(), informer_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a fault does nothing until a server has it"]
pub struct Fault {
    act: Act,
    calls: Calls,
    phase: Option<Phase>,
    reach: Reach,
    turns: Turns,
    seed: u64,
    /// Whether it was given something that only an answer has, and is none.
    overdressed: bool,
}

/// What happens.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// Nothing, for a while; then it goes on.
    Delay(Duration),
    /// Nothing, until the client has gone, the server stops or the fault is removed.
    Stall,
    /// An answer of its own, or an `ERROR` event.
    Refuse(Box<Refusal>),
    /// The connection is closed: FIN, and over TLS no notice.
    Cut,
    /// The connection is closed: RST.
    Reset,
    /// A watch is over, in good order.
    End,
    /// From now on so many bytes at a time, with a pause after each.
    Drip(usize, Duration),
}

/// How far into its phase a fault strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reach {
    Bytes(u64),
    /// Drawn for each exchange.
    BytesWithin(Range<u64>),
    Events(u64),
}

impl Fault {
    fn new(act: Act) -> Self {
        Fault {
            act,
            calls: Calls::any(),
            phase: None,
            reach: Reach::Bytes(0),
            turns: Turns::default(),
            seed: 0,
            overdressed: false,
        }
    }

    /// Nothing happens for `time` of the server's clock; then it goes on.
    pub fn delay(time: Duration) -> Self {
        Fault::new(Act::Delay(time))
    }

    /// Nothing more happens, and nothing is closed, until the client goes, the server stops, or the fault is
    /// [removed](Injected::remove), after which it goes on. At the head this is an answer that is held back.
    pub fn stall() -> Self {
        Fault::new(Act::Stall)
    }

    /// An answer with this status, of those that have a body, in place of the right one; the request is not carried out. In the body of a watch it
    /// is an `ERROR` event, after which the watch is over.
    pub fn status(code: u16) -> Self {
        Fault::new(Act::Refuse(Box::new(Refusal::new(code))))
    }

    /// 410, reason `Expired`: as [`status`](Fault::status).
    pub fn gone() -> Self {
        Fault::status(410)
    }

    /// 429 with `Retry-After` in whole seconds, rounded up, and a line of text, as a real server does that has too much
    /// to do.
    pub fn too_many_requests(retry_after: Duration) -> Self {
        let whole = retry_after.as_secs() + u64::from(retry_after.subsec_nanos() > 0);
        let text = b"Too many requests, please try again later.\n";
        Fault::status(429)
            .header("X-Content-Type-Options", "nosniff")
            .header("Retry-After", &whole.to_string())
            .body("text/plain; charset=utf-8", text)
    }

    /// The connection is closed in good order, the answer is not complete: what a proxy does that goes away. Over TLS
    /// nothing says that this is the end.
    pub fn cut() -> Self {
        Fault::new(Act::Cut)
    }

    /// The connection is reset.
    pub fn reset() -> Self {
        Fault::new(Act::Reset)
    }

    /// A watch ends in good order, and the connection can be used again.
    pub fn end() -> Self {
        Fault::new(Act::End)
    }

    /// The rest of the answer comes `bytes` at a time, with a pause of `every` by the server's clock after each.
    pub fn drip(bytes: usize, every: Duration) -> Self {
        Fault::new(Act::Drip(bytes, every))
    }

    /// The answer has one header more; only [`status`](Fault::status) and its kin are answers.
    pub fn header(self, name: &str, value: &str) -> Self {
        self.refused_with(|refusal| refusal.headers.push((name.to_owned(), value.to_owned())))
    }

    /// The answer has this body in place of a `Status`: the page of a proxy, say; only [`status`](Fault::status) and
    /// its kin are answers.
    pub fn body(self, media_type: &str, body: impl AsRef<[u8]>) -> Self {
        self.refused_with(|refusal| refusal.body = Some((media_type.to_owned(), body.as_ref().to_vec())))
    }

    /// The answer says this; only [`status`](Fault::status) and its kin are answers.
    pub fn message(self, message: &str) -> Self {
        self.refused_with(|refusal| message.clone_into(&mut refusal.message))
    }

    fn refused_with(mut self, change: impl FnOnce(&mut Refusal)) -> Self {
        match &mut self.act {
            Act::Refuse(refusal) => change(refusal),
            _ => self.overdressed = true,
        }
        self
    }

    /// It happens to these requests. At [`Phase::Connect`] there is no request yet.
    pub fn on(mut self, calls: Calls) -> Self {
        self.calls = calls;
        self
    }

    /// It happens there. Unless this is said: at [`Phase::Head`] what delays, holds or refuses, in [`Phase::Body`] all
    /// else, and whatever has a number of bytes or events.
    ///
    /// At the head, what strikes before the first byte does so before the request is carried out; with
    /// [`after_bytes(1)`](Fault::after_bytes) it is carried out, and the client does not learn of it.
    pub fn at(mut self, phase: Phase) -> Self {
        self.phase = Some(phase);
        self
    }

    /// After so many bytes of the phase, without the framing of HTTP. What ends a watch in good order, or tells an
    /// error in it, waits for the end of the event.
    pub fn after_bytes(mut self, bytes: u64) -> Self {
        self.reach = Reach::Bytes(bytes);
        self
    }

    /// After a number of bytes that is drawn for each request, by the [`seed`](Fault::seed).
    pub fn after_bytes_within(mut self, bytes: Range<u64>) -> Self {
        self.reach = Reach::BytesWithin(bytes);
        self
    }

    /// After so many events of the phase, bookmarks and errors counted.
    pub fn after_events(mut self, events: u64) -> Self {
        self.reach = Reach::Events(events);
        self
    }

    /// It happens so many times, then never again. What does not get as far as the fault does not count.
    pub fn times(mut self, times: u64) -> Self {
        self.turns.limit = Some(times);
        self
    }

    /// The first so many requests that it is for are spared.
    pub fn skip(mut self, requests: u64) -> Self {
        self.turns.skip = requests;
        self
    }

    /// It happens to the `n`-th request that it is for, counted from 1, and to no other.
    pub fn nth(mut self, n: u64) -> Self {
        (self.turns.only, self.turns.skip) = (true, n.saturating_sub(1));
        self
    }

    /// It happens to every `n`-th request that it is for: to the `n`-th, the `2n`-th, and so on.
    pub fn every(mut self, n: u64) -> Self {
        self.turns.every = n;
        self
    }

    /// It happens to one request in `n`; to which, the [`seed`](Fault::seed) decides.
    pub fn one_in(mut self, n: u64) -> Self {
        self.turns.one_in = n;
        self
    }

    /// What is left to chance comes out as it did for the same seed. The first request that the fault is for draws
    /// first, and so on: with several clients at once, which request that is may differ.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Where it strikes.
    pub(super) fn phase(&self) -> Phase {
        self.phase.unwrap_or(match self.act {
            Act::Delay(_) | Act::Stall | Act::Refuse(_) if self.reach == Reach::Bytes(0) => Phase::Head,
            _ => Phase::Body,
        })
    }

    /// How far it is to get on the `index`-th request that it is for.
    fn reach_of(&self, index: u64) -> plan::Reach {
        match &self.reach {
            Reach::Bytes(bytes) => plan::Reach::Bytes(*bytes),
            Reach::Events(events) => plan::Reach::Events(*events),
            Reach::BytesWithin(range) => {
                let width = range.end.saturating_sub(range.start).max(1);
                plan::Reach::Bytes(range.start + draw(self.seed, index, 1) % width)
            }
        }
    }
}
