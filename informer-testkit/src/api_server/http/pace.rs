//! When an [`Outlet`] sends: not in a pause, no faster than its [`Pace`], and not while a fault holds it.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use informer_core::Stop;

use super::outlet::{Gone, Outlet};
use super::wire::Wire;
use crate::api_server::control::Control;
use crate::api_server::requests::Ending;

/// So many bytes at a time, with a pause after each.
pub(super) struct Pace {
    pub(super) bytes: usize,
    pub(super) every: Duration,
    /// Set when it is over.
    pub(super) removed: Stop,
}

impl<'a> Outlet<'a> {
    /// Sends bytes once the server is not paused, at the pace that is set.
    pub(super) fn send(&mut self, wire: &mut Wire, bytes: &[u8]) -> Result<(), Gone> {
        self.unpaused()?;
        let mut rest = bytes;
        while let Some(pace) = &self.pace {
            if rest.len() <= pace.bytes || pace.removed.is_set() {
                break;
            }
            let (now, later) = rest.split_at(pace.bytes);
            let (every, removed) = (pace.every, pace.removed.clone());
            write(wire, now)?;
            rest = later;
            self.hold(Some(every), &removed)?;
        }
        write(wire, rest)?;
        match &self.pace {
            Some(Pace { every, removed, .. }) if !removed.is_set() && !rest.is_empty() => {
                let (every, removed) = (*every, removed.clone());
                self.hold(Some(every), &removed)
            }
            _ => Ok(()),
        }
    }

    /// Waits until the server is not paused.
    pub(super) fn unpaused(&mut self) -> Result<(), Gone> {
        while let Some(resumed) = self.control().pause.resumed() {
            self.hold(None, &resumed)?;
        }
        Ok(())
    }

    /// Waits for `time`, or until `signal` is set; the client may go meanwhile.
    pub(super) fn hold(&mut self, time: Option<Duration>, signal: &Stop) -> Result<(), Gone> {
        let away = self.away();
        self.control().hold(time, &[signal, &away]);
        if away.is_set() { Err(Gone::Away) } else { Ok(()) }
    }

    /// Set when the client has gone or the server stops.
    pub(super) fn away(&mut self) -> Stop {
        let watch = || self.shared.door.watch(Arc::clone(&self.socket));
        self.watched.get_or_insert_with(watch).stop.clone()
    }

    pub(super) fn why_away(&self) -> Ending {
        if self.shared.door.is_closed() { Ending::Stopped } else { Ending::ClientGone }
    }

    pub(super) fn control(&self) -> &'a Control {
        self.shared.service.control()
    }
}

fn write(wire: &mut Wire, bytes: &[u8]) -> Result<(), Gone> {
    wire.write_all(bytes)?;
    wire.flush()?;
    Ok(())
}
