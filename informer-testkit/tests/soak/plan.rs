//! [`Plan`]: which fault comes where, and how often each has come: the matrix.
//!
//! A fault is drawn when a phase is reached and counted when it strikes; what came least is drawn first, so that no
//! luck is needed to see everything.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use informer_core::sync::Monitor;
use informer_core::{Clock as _, SystemClock};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Reset,
    Stall,
    Drip,
    Truncate,
    Gone,
    TooMany,
    Internal,
    Timeout,
    /// The server comes back empty: its versions are below those that clients know.
    Older,
    /// The server comes back and has forgotten what was before.
    Newer,
}

/// How far the exchange has come by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Connect,
    Head,
    ListBody,
    Initial,
    Live,
}

pub(crate) const KINDS: [Kind; 10] = [
    Kind::Reset,
    Kind::Stall,
    Kind::Drip,
    Kind::Truncate,
    Kind::Gone,
    Kind::TooMany,
    Kind::Internal,
    Kind::Timeout,
    Kind::Older,
    Kind::Newer,
];
pub(crate) const PHASES: [Phase; 5] =
    [Phase::Connect, Phase::Head, Phase::ListBody, Phase::Initial, Phase::Live];

/// How often each kind must have struck in each phase.
pub(crate) const ENOUGH: u32 = 5;

/// A small generator; everything is told by its seed.
#[derive(Clone)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Shared by all connections of a run.
pub(crate) struct Plan {
    pub(crate) state: Arc<Monitor<State>>,
}

pub(crate) struct State {
    on: bool,
    /// No fault is drawn for now.
    hushed: bool,
    dice: Dice,
    struck: [[u32; KINDS.len()]; PHASES.len()],
    drawn: [[u32; KINDS.len()]; PHASES.len()],
    /// Connections that wait for a restart: its kind and where its answer goes.
    wanted: VecDeque<(Kind, Ticket)>,
}

/// What becomes of a wish.
pub(crate) type Ticket = Arc<Monitor<Option<bool>>>;

impl Plan {
    pub(crate) fn new() -> Self {
        let state = State {
            on: false,
            hushed: false,
            dice: Dice(0),
            struck: Default::default(),
            drawn: Default::default(),
            wanted: VecDeque::new(),
        };
        Plan { state: Arc::new(Monitor::new(state)) }
    }

    /// Faults come from now on.
    pub(crate) fn start(&self, seed: u64) {
        let mut state = self.state.lock();
        (state.on, state.hushed, state.dice, state.drawn) = (true, false, Dice(seed), Default::default());
    }

    /// No further fault is drawn; those that were still strike.
    pub(crate) fn end(&self) {
        self.state.lock().on = false;
    }

    /// Whether no fault is to be drawn for now.
    pub(crate) fn hush(&self, hushed: bool) {
        self.state.lock().hushed = hushed;
    }

    /// The fault that this phase meets, if any.
    pub(crate) fn draw(&self, phase: Phase) -> Option<Kind> {
        let mut state = self.state.lock();
        let count = |row: usize, at: usize| state.struck[row][at] + state.drawn[row][at];
        let least = |row: usize| (0..KINDS.len()).map(|at| count(row, at)).min().unwrap_or(0);
        let row = phase as usize;
        // What comes late in an exchange is only reached if what comes before it passes: who is ahead stands back.
        let behind = (0..PHASES.len()).map(least).min().unwrap_or(0);
        let odds = if least(row) <= behind + 1 { 8 } else { 0 };
        if !state.on || state.hushed || state.dice.clone().roll(10) >= odds {
            state.dice.roll(10);
            return None;
        }
        let candidates: Vec<_> = (0..KINDS.len()).filter(|at| count(row, *at) <= least(row) + 1).collect();
        state.dice.roll(10);
        let at = candidates[state.dice.roll(candidates.len() as u64) as usize];
        state.drawn[row][at] += 1;
        Some(KINDS[at])
    }

    /// A number below `sides`.
    pub(crate) fn roll(&self, sides: u64) -> u64 {
        self.state.lock().dice.roll(sides)
    }

    /// What was drawn has struck, or could not.
    pub(crate) fn settle(&self, phase: Phase, kind: Kind, struck: bool) {
        let mut state = self.state.lock();
        let drawn = &mut state.drawn[phase as usize][kind as usize];
        *drawn = drawn.saturating_sub(1);
        state.struck[phase as usize][kind as usize] += u32::from(struck);
        drop(state);
        self.state.notify_all();
    }

    /// Asks whoever drives the run to restart the server, and waits for it. `false`: not now.
    pub(crate) fn restart(&self, kind: Kind) -> bool {
        let ticket: Ticket = Arc::new(Monitor::new(None));
        let mut state = self.state.lock();
        if !state.on {
            return false; // nobody would do it
        }
        state.wanted.push_back((kind, Arc::clone(&ticket)));
        drop(state);
        self.state.notify_all();
        let mut answer = ticket.lock();
        loop {
            if let Some(done) = *answer {
                return done;
            }
            ticket.wait(&mut answer);
        }
    }

    /// The next wish for a restart.
    pub(crate) fn wanted(&self) -> Option<(Kind, Ticket)> {
        self.state.lock().wanted.pop_front()
    }

    /// Waits until something has struck or is wished for, and no longer than `limit` of real time: the pace of a run.
    pub(crate) fn pause(&self, limit: Duration) {
        let until = SystemClock.now().checked_add(limit);
        let mut state = self.state.lock();
        if state.wanted.is_empty() {
            self.state.wait_until(&mut state, &SystemClock, until);
        }
    }

    pub(crate) fn strikes(&self) -> u32 {
        self.state.lock().struck.iter().flatten().sum()
    }

    /// Whether every kind has struck every phase often enough.
    pub(crate) fn is_complete(&self) -> bool {
        self.state.lock().struck.iter().flatten().all(|count| ENOUGH <= *count)
    }

    /// The matrix as a table.
    pub(crate) fn table(&self) -> String {
        let state = self.state.lock();
        let mut text = format!("{:<10}", "");
        PHASES.iter().for_each(|phase| write!(text, "{:>10}", format!("{phase:?}")).unwrap());
        for (at, kind) in KINDS.iter().enumerate() {
            write!(text, "\n{:<10}", format!("{kind:?}")).unwrap();
            state.struck.iter().for_each(|row| write!(text, "{:>10}", row[at]).unwrap());
        }
        text
    }
}

/// Tells the connection that wished for a restart.
pub(crate) fn answer(ticket: &Ticket, done: bool) {
    *ticket.lock() = Some(done);
    ticket.notify_all();
}
