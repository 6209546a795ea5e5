//! [`Plan`]: the faults that await one answer, and how many bytes it gets before the next of them strikes.
//!
//! It counts what is sent. Bytes of the body are counted twice: over all of the body, and over the part of it, what is
//! there or what changes, that is under way.

use std::sync::Arc;

use super::rules::Rule;
use super::{Act, Phase};

/// The faults that await one answer, or one connection.
#[derive(Debug, Default)]
pub(in crate::api_server) struct Plan {
    strikes: Vec<Strike>,
    head: Count,
    body: Count,
    part: Count,
    place: Option<Place>,
}

/// A fault that is to strike.
#[derive(Debug)]
pub(in crate::api_server) struct Strike {
    rule: Arc<Rule>,
    reach: Reach,
}

/// How far into its phase a fault strikes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reach {
    Bytes(u64),
    Events(u64),
}

/// Where the bytes of an answer are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::api_server) enum Place {
    Head,
    /// In a body that is not that of a watch.
    Body,
    Initial,
    Live,
}

/// What comes next.
#[derive(Debug)]
pub(in crate::api_server) enum Step {
    /// So many bytes are sent; they are counted now.
    Send(usize),
    Strike(Strike),
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    bytes: u64,
    events: u64,
}

impl Plan {
    pub(super) fn add(&mut self, rule: Arc<Rule>, reach: Reach) {
        self.strikes.push(Strike { rule, reach });
    }

    /// Whether nothing awaits this answer any more.
    pub(in crate::api_server) fn is_empty(&self) -> bool {
        self.strikes.is_empty()
    }

    /// The next fault that strikes before anything is read or answered.
    pub(in crate::api_server) fn at_once(&mut self, phase: Phase) -> Option<Strike> {
        while let Some(at) = self
            .strikes
            .iter()
            .position(|strike| strike.rule.phase() == phase && matches!(strike.reach, Reach::Bytes(0)))
        {
            let strike = self.strikes.remove(at);
            if strike.rule.claim() {
                return Some(strike);
            }
        }
        None
    }

    /// What strikes here, between two events or before or after all of them.
    pub(in crate::api_server) fn due(&mut self, place: Place) -> Option<Strike> {
        self.enter(place);
        self.take(place, |_| true)
    }

    /// How much of `data`, which begins with an event, is sent before something is due that must not break an event.
    pub(in crate::api_server) fn unbroken(&mut self, place: Place, data: &[u8]) -> usize {
        self.enter(place);
        let ordered = self.strikes.iter().filter(|strike| strike.is_ordered());
        let distances = ordered.filter_map(|strike| self.distance(strike, place, data));
        distances.min().map_or(data.len(), |bytes| end_of_event(data, bytes))
    }

    /// What comes first of sending `data` and a fault that may strike anywhere.
    pub(in crate::api_server) fn step(&mut self, place: Place, data: &[u8]) -> Step {
        self.enter(place);
        if let Some(strike) = self.take(place, |strike| !strike.is_ordered()) {
            return Step::Strike(strike);
        }
        let wild = self.strikes.iter().filter(|strike| !strike.is_ordered());
        let distances = wild.filter_map(|strike| self.distance(strike, place, data));
        let send = distances.min().unwrap_or(data.len()).min(data.len());
        self.count(place, &data[..send]);
        Step::Send(send)
    }

    fn enter(&mut self, place: Place) {
        if self.place.replace(place) != Some(place) {
            self.part = Count::default();
        }
    }

    fn count(&mut self, place: Place, sent: &[u8]) {
        let events = sent.iter().filter(|byte| **byte == b'\n').count() as u64;
        let counts: &mut [&mut Count] = match place {
            Place::Head => &mut [&mut self.head],
            _ => &mut [&mut self.body, &mut self.part],
        };
        for count in counts {
            count.bytes += sent.len() as u64;
            count.events += events;
        }
    }

    /// Takes out the first strike that is due and that is still allowed.
    fn take(&mut self, place: Place, wanted: impl Fn(&Strike) -> bool) -> Option<Strike> {
        loop {
            let is_due = |strike: &Strike| wanted(strike) && self.distance(strike, place, &[]) == Some(0);
            let at = self.strikes.iter().position(is_due)?;
            let strike = self.strikes.remove(at);
            if strike.rule.claim() {
                return Some(strike);
            }
        }
    }

    /// How many bytes of `data` come before the strike; `None` if it does not strike in this place, or not in `data`.
    fn distance(&self, strike: &Strike, place: Place, data: &[u8]) -> Option<usize> {
        let sent = match (strike.rule.phase(), place) {
            (Phase::Head, Place::Head) => self.head,
            (Phase::Body, Place::Body | Place::Initial | Place::Live) => self.body,
            (Phase::Initial, Place::Initial) | (Phase::Live, Place::Live) => self.part,
            _ => return None,
        };
        match strike.reach {
            Reach::Bytes(bytes) => {
                let left = bytes.saturating_sub(sent.bytes);
                usize::try_from(left).ok().filter(|left| *left <= data.len())
            }
            Reach::Events(events) => match events.saturating_sub(sent.events) {
                0 => Some(0),
                left => {
                    let mut ends = data.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
                    let last = usize::try_from(left - 1).ok()?;
                    ends.nth(last).map(|(at, _)| at + 1)
                }
            },
        }
    }
}

impl Strike {
    /// What happens.
    pub(in crate::api_server) fn act(&self) -> &Act {
        self.rule.act()
    }

    /// Set when the fault is removed.
    pub(in crate::api_server) fn removed(&self) -> &informer_core::Stop {
        self.rule.removed()
    }

    /// Whether it must not come within an event.
    fn is_ordered(&self) -> bool {
        matches!(self.act(), Act::End | Act::Refuse(_))
    }
}

/// The end of the event that the first so many bytes end in; a beginning is an end.
fn end_of_event(data: &[u8], bytes: usize) -> usize {
    if bytes == 0 || data[..bytes].ends_with(b"\n") {
        return bytes;
    }
    data[bytes..].iter().position(|byte| *byte == b'\n').map_or(data.len(), |at| bytes + at + 1)
}
