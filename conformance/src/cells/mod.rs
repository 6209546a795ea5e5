//! Cells: every combination of what a list or a watch may be asked, put to two servers, and the answers compared.
//!
//! The embedded API server is to answer as a real one does, so the real one is asked, not a memory of it. Both get
//! the same [`World`] from a seed; every [`Cell`] is one question, or a script of watches and writes; answers are made
//! [plain] and compared as trees. What differs is a line, unless [`known`] has a reason for it; a cell of
//! which the real server has not been asked is a line too.

mod difference;
mod exchanges;
mod forms;
mod furniture;
mod known;
mod lists;
mod live;
mod plain;
pub mod recorded;
mod samples;
mod scripts;
mod side;
mod world;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use informer_core::sync::Mutex;
use serde_json::{Value, json};

pub use side::{Embedded, Real, Side};

use crate::StartError;
use crate::exchange::{Ask, Exchange, Peer, Tape};
use live::Script;
use world::World;

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) name: String,
    pub(crate) part: Part,
}

#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// One request.
    Ask(Ask),
    /// Watches, and what happens under them.
    Live(Script),
}

impl Cell {
    pub(crate) fn ask(name: String, ask: Ask) -> Self {
        Cell { name, part: Part::Ask(ask) }
    }

    pub(crate) fn live(name: &str, script: Script) -> Self {
        Cell { name: name.to_owned(), part: Part::Live(script) }
    }
}

/// Plain answers by the names of their cells.
pub type Answers = BTreeMap<String, Value>;

/// The cell of the exchanges that are recorded.
const EXCHANGES: &str = "exchanges";

/// Which half of the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Those of a server that remembers everything.
    Kept,
    /// Those of one that has been made to forget.
    Forgotten,
}

/// The cells of a half.
fn cells(half: Half) -> Vec<Cell> {
    match half {
        Half::Kept => {
            let exchanges = vec![Cell::live(EXCHANGES, exchanges::script())];
            [lists::kept(), forms::kept(), scripts::all(), exchanges].concat()
        }
        Half::Forgotten => {
            [lists::forgotten(), vec![Cell::live("forgotten/exchanges", exchanges::forgotten())]].concat()
        }
    }
}

/// Both halves, on embedded servers.
///
/// # Errors
/// Those of [`walk`].
///
/// # Blocking
/// As [`walk`].
pub fn walk_embedded(seed: u64, filter: &str) -> io::Result<Answers> {
    let mut answers = Answers::new();
    for half in [Half::Kept, Half::Forgotten] {
        let mut embedded = Embedded::start().map_err(io::Error::other)?;
        answers.extend(walk(&mut embedded, seed, half, filter)?);
    }
    Ok(answers)
}

/// Both halves, on real servers.
///
/// # Errors
/// Those of [`RealServer::start`](crate::RealServer::start), and those of [`walk`] as a failure.
///
/// # Blocking
/// As [`walk`]; four minutes for all cells.
pub fn walk_real(seed: u64, filter: &str) -> Result<Answers, StartError> {
    let failed = |error: io::Error| StartError::Failed { reason: error.to_string() };
    let mut answers = walk(&mut Real::start()?, seed, Half::Kept, filter).map_err(failed)?;
    answers.extend(walk(&mut Real::start_forgetful()?, seed, Half::Forgotten, filter).map_err(failed)?);
    Ok(answers)
}

/// The names of all cells.
#[must_use]
pub fn names() -> Vec<String> {
    [Half::Kept, Half::Forgotten].into_iter().flat_map(cells).map(|cell| cell.name).collect()
}

/// Fills a server that has just been started and asks it every cell of a half whose name contains `filter`.
///
/// # Errors
/// When the server cannot be filled, cannot be reached, or cannot be made to forget.
///
/// # Blocking
/// Until every question is answered: watches of a real server last for seconds.
pub fn walk(side: &mut dyn Side, seed: u64, half: Half, filter: &str) -> io::Result<Answers> {
    let mut world = World::make(side, seed)?;
    if half == Half::Forgotten {
        world.forget(side)?;
    }
    let chosen: Vec<Cell> = cells(half).into_iter().filter(|cell| cell.name.contains(filter)).collect();
    let (asked, lived): (Vec<_>, Vec<_>) =
        chosen.into_iter().partition(|cell| matches!(cell.part, Part::Ask(_)));
    let peer = side.peer();
    let mut answers = ask_all(&peer, &world, &asked, side.width())?;
    side.leap(false);
    for cell in &lived {
        if let Part::Live(script) = &cell.part {
            let told = script.run(side, &peer, &mut world);
            answers
                .insert(cell.name.clone(), told.unwrap_or_else(|error| json!({"failed": error.to_string()})));
        }
    }
    side.leap(true);
    Ok(answers)
}

/// The recorded exchanges once more: what a server that has just been started says, byte for byte, by name.
///
/// # Errors
/// As [`walk`].
///
/// # Blocking
/// As [`walk`]; a minute and a half on a real server.
pub fn record(side: &mut dyn Side, seed: u64, half: Half) -> io::Result<Vec<Exchange>> {
    let tape = Tape::default();
    let mut world = World::make(side, seed)?;
    let script = match half {
        Half::Kept => exchanges::script(),
        Half::Forgotten => {
            world.forget(side)?;
            exchanges::forgotten()
        }
    };
    side.leap(false);
    script.run(side, &side.peer().taped(&tape), &mut world)?;
    Ok(tape.exchanges())
}

/// Puts every question, several at a time.
fn ask_all(peer: &Peer, world: &World, cells: &[Cell], width: usize) -> io::Result<Answers> {
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(Ok(Answers::new()));
    std::thread::scope(|scope| {
        for _ in 0..width {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let Part::Ask(ask) = &cell.part else { continue };
                    let answer = peer.ask(&world.resolved(ask)).map(|answer| {
                        let mut answer = plain::answer(&answer, world);
                        if !cell.name.starts_with("late/") {
                            plain::drop_bookmarks(&mut answer);
                        }
                        answer
                    });
                    let mut all = answers.lock();
                    match (answer, all.as_mut()) {
                        (Ok(answer), Ok(all)) => drop(all.insert(cell.name.clone(), answer)),
                        (Err(error), Ok(_)) => {
                            let what = format!("{}: {error}", cell.name);
                            *all = Err(io::Error::new(error.kind(), what));
                        }
                        (_, Err(_)) => return,
                    }
                }
            });
        }
    });
    answers.into_inner()
}

/// What a comparison has found.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Differences with a reason: cells and places that it is about, the reason, how many there were.
    pub excuses: Vec<(String, &'static str, usize)>,
    /// Cells that were compared.
    pub compared: usize,
    /// Those that agree but for differences with a reason.
    pub excused: usize,
    /// A line for every difference without a reason.
    pub differences: Vec<String>,
    /// Cells of which only one side was asked.
    pub unasked: Vec<String>,
}

/// Compares what the real server has answered with what the embedded one has.
#[must_use]
pub fn compare(real: &Answers, ours: &Answers) -> Comparison {
    let mut comparison = Comparison::default();
    let mut used = vec![0; known::KNOWN.len()];
    for (name, ours) in ours {
        let Some(real) = real.get(name) else {
            comparison.unasked.push(name.clone());
            continue;
        };
        comparison.compared += 1;
        let found = difference::find(real, ours);
        let mut excused = false;
        for difference in found {
            match known::reason(name, &difference) {
                Some(known) => {
                    excused = true;
                    used[known] += 1;
                }
                None => comparison.differences.push(format!("{name} {}", difference.line())),
            }
        }
        comparison.excused += usize::from(excused);
    }
    let only_real = real.keys().filter(|name| !ours.contains_key(*name)).cloned();
    comparison.unasked.extend(only_real);
    let excuses = known::KNOWN.iter().zip(used);
    let about = |known: &known::Known| format!("{}*{}", known.cells, known.place);
    comparison.excuses = excuses.map(|(known, count)| (about(known), known.reason, count)).collect();
    comparison
}
