//! What a [`FakeSource`](super::FakeSource) does wrong, to order.

use informer_core::{Error, Result, Stage, Stop, WatchEnd};

use super::world::Backup;
use crate::gate::{Gate, Pass};

/// What one list meets.
#[derive(Debug)]
#[non_exhaustive]
pub enum ListFault<T> {
    /// Nothing: for a fault that only a later list is to meet.
    Pass,
    /// It fails before anything is told.
    Fail(Error),
    /// It fails after so many items have been told, at the latest before the end of the list.
    FailAfter(usize, Error),
    /// It is held back until the gate opens; made by [`ListFault::hold`].
    Hold(Pass),
    /// It says this resourceVersion instead of the right one.
    Version(String),
    /// It is answered from an older state: a server whose cache is behind.
    From(Backup<T>),
    /// The source panics with this message.
    Panic(String),
}

impl<T> ListFault<T> {
    /// The list is held back until `gate` opens.
    #[must_use]
    pub fn hold(gate: &Gate) -> Self {
        ListFault::Hold(gate.pass())
    }
}

/// What one watch meets. Numbers count everything told, initial events and bookmarks included.
#[derive(Debug)]
#[non_exhaustive]
pub enum WatchFault {
    /// Nothing: for a fault that only a later watch is to meet.
    Pass,
    /// It cannot be opened.
    Refuse(Error),
    /// It is held back before it opens, until the gate opens; made by [`WatchFault::hold`].
    Hold(Pass),
    /// It is closed after so many events.
    CloseAfter(usize),
    /// It fails in the stream after so many events.
    FailAfter(usize, Error),
    /// It is given up as silent after so many events, at once.
    SilentAfter(usize),
    /// It goes quiet after so many events, until the gate opens; made by [`WatchFault::hold_after`].
    HoldAfter(usize, Pass),
    /// The source panics with this message.
    Panic(String),
}

impl WatchFault {
    /// The watch is held back before it opens, until `gate` opens.
    #[must_use]
    pub fn hold(gate: &Gate) -> Self {
        WatchFault::Hold(gate.pass())
    }

    /// The watch goes quiet after `events` events, until `gate` opens.
    #[must_use]
    pub fn hold_after(events: usize, gate: &Gate) -> Self {
        WatchFault::HoldAfter(events, gate.pass())
    }
}

/// How a source takes streaming lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Streaming {
    /// It carries them out.
    #[default]
    Supported,
    /// It answers 422, as an API server without the feature.
    Refused,
    /// It says beforehand that it cannot: `ListWatch::can_stream` is false.
    Undeclared,
    /// It sends the initial events, but never the bookmark that ends them (F-16).
    Endless,
}

/// The end a fault has in store for an open watch.
#[derive(Debug, Default)]
pub(super) struct WatchPlan {
    after: usize,
    end: Option<PlannedEnd>,
}

#[derive(Debug)]
enum PlannedEnd {
    Close,
    Silent,
    Fail(Error),
    Hold(Pass),
}

impl From<WatchFault> for WatchPlan {
    fn from(fault: WatchFault) -> Self {
        let (after, end) = match fault {
            WatchFault::CloseAfter(after) => (after, PlannedEnd::Close),
            WatchFault::SilentAfter(after) => (after, PlannedEnd::Silent),
            WatchFault::FailAfter(after, error) => (after, PlannedEnd::Fail(error)),
            WatchFault::HoldAfter(after, pass) => (after, PlannedEnd::Hold(pass)),
            WatchFault::Pass | WatchFault::Refuse(_) | WatchFault::Hold(_) | WatchFault::Panic(_) => {
                return WatchPlan::default();
            }
        };
        WatchPlan { after, end: Some(end) }
    }
}

impl WatchPlan {
    /// What is planned after `told` events; a hold is waited for here.
    pub(super) fn end_after(&self, told: usize, stop: &Stop) -> Result<Option<WatchEnd>> {
        if told != self.after {
            return Ok(None);
        }
        match &self.end {
            None => Ok(None),
            Some(PlannedEnd::Close) => Ok(Some(WatchEnd::Closed)),
            Some(PlannedEnd::Silent) => Ok(Some(WatchEnd::Silent)),
            Some(PlannedEnd::Fail(error)) => Err(error.clone().at(Stage::Watch)),
            Some(PlannedEnd::Hold(pass)) => {
                if pass.wait_or_stop(stop) {
                    Ok(None)
                } else {
                    Err(Error::stopped().at(Stage::Watch))
                }
            }
        }
    }
}
