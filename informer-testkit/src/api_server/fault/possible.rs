//! Which faults can never happen: a test that orders one has made a mistake, and is told at once.

use super::{Act, Fault, Phase, Reach};

impl Fault {
    /// Why this can never happen.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        let phase = self.phase();
        let starts = self.reach == Reach::Bytes(0);
        let streams = matches!(phase, Phase::Body | Phase::Initial | Phase::Live);
        let ordered = matches!(self.act, Act::Refuse(_) | Act::End);
        Some(match (&self.act, phase) {
            _ if self.overdressed => "only a status has headers, a body or a message",
            (Act::Refuse(refusal), _) if !refusal.is_possible() => {
                "a status is from 200 to 599, and not 204 or 304"
            }
            (Act::Drip(0, _), _) => "a drip of 0 bytes never ends",
            _ if self.turns.every == 0 || self.turns.one_in == 0 => "no request is the 0th",
            _ if matches!(&self.reach, Reach::BytesWithin(range) if range.is_empty()) => {
                "an empty range of bytes"
            }
            (Act::Refuse(_) | Act::End | Act::Drip(..), Phase::Connect) => {
                "at Connect there is nobody to answer: only delay, stall, cut and reset are possible"
            }
            (_, Phase::Connect) if !self.calls.is_any() => {
                "at Connect there is no request yet: leave out on(…)"
            }
            (_, Phase::Connect) if !starts => "at Connect there are no bytes to count",
            (Act::End, Phase::Head) => "only a watch that has begun can end: at Body, Initial or Live",
            (Act::Refuse(_), Phase::Head) if !starts => "an answer that has begun has its status already",
            (_, Phase::Head) if matches!(self.reach, Reach::Events(_)) => "a head has no events",
            _ if streams && ordered && !self.calls.may_watch() => {
                "only a watch can end, or tell an error, in its body: on(Calls::watch(…))"
            }
            (_, Phase::Initial | Phase::Live) if !self.calls.may_watch() => {
                "only a watch has this phase: on(Calls::watch(…))"
            }
            _ => return None,
        })
    }
}
