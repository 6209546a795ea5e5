//! [`Script`]: watches that are open while something changes, and what each of them is told.
//!
//! Nothing is timed: the last write of a script is one that every watch sees, and each is read up to it, or to its
//! end where the script ends it.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use serde_json::{Map, Value, json};

use super::plain;
use super::side::Side;
use super::world::{World, wait_served};
use crate::exchange::{Ask, Peer, Reply};

/// The name of the object that a script ends with.
pub(crate) const END: &str = "zz-end";

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Script(pub(crate) Vec<Step>);

/// One step.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Opens a watch and waits until it is.
    Open(&'static str, Ask),
    /// Changes something; it must work.
    Write(Ask),
    /// Asks something; the answer is part of what is compared. A watch may end by time where none is open.
    Note(&'static str, Ask),
    /// The same, asked with another token, or without any.
    NoteAs(&'static str, Option<&'static str>, Ask),
    /// Reads every watch that is open, up to [`END`].
    ReadToMark,
    /// The same, up to its end.
    ReadToEnd,
    /// Waits until a collection is served.
    Served(&'static str),
    /// Waits until it is not.
    Gone(&'static str),
}

impl Script {
    /// Runs it: by name, what each watch was told and what else was noted.
    pub(crate) fn run(&self, side: &dyn Side, peer: &Peer, world: &mut World) -> io::Result<Value> {
        let mut open: BTreeMap<&str, Box<dyn BufRead + Send>> = BTreeMap::new();
        let mut told: Vec<(String, Vec<String>)> = Vec::new();
        let mut notes = Map::new();
        for step in &self.0 {
            match step {
                Step::Open(name, ask) => {
                    peer.name(name);
                    let Reply { status, body, .. } = peer.open(&world.resolved(ask))?;
                    if status != 200 {
                        return Err(io::Error::other(format!("the watch {name} is refused: {status}")));
                    }
                    open.insert(name, body);
                }
                Step::Write(ask) => drop(world.done(peer, ask)?),
                Step::Note(name, ask) => {
                    side.leap(open.is_empty());
                    let answer = noted(peer, name, ask, world)?;
                    side.leap(false);
                    notes.insert((*name).to_owned(), answer);
                }
                Step::NoteAs(name, token, ask) => {
                    let answer = noted(&peer.with_token(*token), name, ask, world)?;
                    notes.insert((*name).to_owned(), answer);
                }
                Step::ReadToMark => {
                    for (name, body) in std::mem::take(&mut open) {
                        let mark = format!("\"name\":\"{END}\"");
                        told.push((name.to_owned(), plain::lines_until(body, |line| line.contains(&mark))?));
                    }
                }
                Step::ReadToEnd => {
                    for (name, body) in std::mem::take(&mut open) {
                        told.push((name.to_owned(), plain::lines_until(body, |_| false)?));
                    }
                }
                Step::Served(collection) => wait_served(peer, &world.resolve(collection))?,
                Step::Gone(collection) => wait_gone(peer, &world.resolve(collection))?,
            }
        }
        for (name, lines) in told {
            let lines = plain::events(lines.iter().map(String::as_str), world);
            let mut lines = lines.unwrap_or_else(|| json!("no events"));
            plain::drop_bookmarks(&mut lines);
            notes.insert(name, lines);
        }
        Ok(Value::Object(notes))
    }
}

/// Asks something under a name, and gives the answer as it is compared.
fn noted(peer: &Peer, name: &str, ask: &Ask, world: &World) -> io::Result<Value> {
    peer.name(name);
    let mut answer = plain::answer(&peer.ask(&world.resolved(ask))?, world);
    plain::drop_bookmarks(&mut answer);
    Ok(answer)
}

/// Waits until a collection is not served any more.
fn wait_gone(peer: &Peer, collection: &str) -> io::Result<()> {
    let pause = Ask::get("/api/v1/namespaces?watch=1&timeoutSeconds=1&labelSelector=none%3Dsuch");
    for _ in 0..60 {
        if peer.ask(&Ask::get(collection))?.status == 404 {
            return Ok(());
        }
        peer.ask(&pause)?;
    }
    Err(io::Error::other(format!("{collection} is still served after a minute")))
}
