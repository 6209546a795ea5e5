//! Reading a recording: its lines, checked one by one, as exchanges.
//!
//! Invariant: memory is bounded whatever the file says, and what is wrong with it is told with its line, without
//! quoting it. Only the last line may be cut off, as a program that is killed leaves it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use informer_core::{Error, ErrorKind, ListRequest, Result, Stage, WatchRequest, decode_error};

use super::line::{self, Failing, First, LONGEST, Line, VERSION, What};

/// How much of a file is read.
const MOST: u64 = 1 << 30;

/// One exchange.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) source: u32,
    pub(super) of: String,
    pub(super) asked: Asked,
    /// What came, each with its milliseconds after the request.
    pub(super) parts: Vec<(u64, Part)>,
    began: u64,
    ended: bool,
}

#[derive(Debug, PartialEq)]
pub(super) enum Asked {
    List(ListRequest),
    Watch(WatchRequest),
}

#[derive(Debug)]
pub(super) enum Part {
    Opened,
    Failed(Failing<'static>),
    Bytes(Vec<u8>),
    End,
    Broke(Failing<'static>),
    Left,
}

/// What a file holds.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) exchanges: Vec<Exchange>,
    /// The file was cut off, or its limit was reached: an exchange without an end went on.
    pub(super) cut: bool,
}

/// Reads the file at `path`.
pub(super) fn load(path: &Path) -> Result<Recorded> {
    let wrong = |text: String| {
        Error::new(ErrorKind::Config, format!("the recording {}: {text}", path.display())).at(Stage::Config)
    };
    let file = File::open(path).map_err(|error| wrong("cannot be opened".to_owned()).with_source(error))?;
    read(BufReader::new(file.take(MOST))).map_err(wrong)
}

/// Reads the lines of a file. What is wrong is told with the number of its line.
pub(super) fn read(mut reader: impl BufRead) -> Result<Recorded, String> {
    let mut exchanges = BTreeMap::<u64, Exchange>::new();
    let (mut bytes, mut number, mut cut) = (Vec::new(), 0_usize, false);
    loop {
        bytes.clear();
        number += 1;
        let at = |cause: String| format!("line {number}: {cause}");
        let read = reader.by_ref().take(LONGEST as u64).read_until(b'\n', &mut bytes);
        read.map_err(|error| at(format!("cannot be read: {error}")))?;
        if bytes.is_empty() {
            if number == 1 {
                return Err(at("the file is empty".to_owned()));
            }
            break;
        }
        if bytes.pop_if(|byte| *byte == b'\n').is_none() {
            if bytes.len() >= LONGEST {
                return Err(at(format!("is longer than {LONGEST} bytes")));
            }
            if number == 1 {
                return Err(at("the file ends within its first line".to_owned()));
            }
            cut = true;
            break;
        }
        if number == 1 {
            first(&bytes).map_err(at)?;
            continue;
        }
        if cut {
            break; // it was full: what another writer added counts no more
        }
        let line =
            serde_json::from_slice(&bytes).map_err(|error| at(decode_error("it", &error).to_string()))?;
        cut = take(&mut exchanges, line).map_err(at)?;
    }
    Ok(Recorded { exchanges: exchanges.into_values().collect(), cut })
}

fn first(bytes: &[u8]) -> Result<(), String> {
    match serde_json::from_slice::<First>(bytes) {
        Ok(First { informer_recording: VERSION }) => Ok(()),
        Ok(First { informer_recording: other }) => {
            Err(format!("is version {other} of the format; this library reads version {VERSION}"))
        }
        Err(_) => Err("is not that of a recording: {\"informer_recording\":1}".to_owned()),
    }
}

/// Takes in a line; answers whether nothing that follows counts.
fn take(exchanges: &mut BTreeMap<u64, Exchange>, line: Line<'_>) -> Result<bool, String> {
    let Line { at, n, what } = line;
    let begin = |source, of: String, asked| Exchange {
        source,
        of,
        asked,
        parts: Vec::new(),
        began: at,
        ended: false,
    };
    let new = match what {
        What::Full(_) => return Ok(true),
        What::List(listing) => {
            let (source, of) = (listing.source, listing.of.clone().into_owned());
            begin(source, of, Asked::List(listing.request()))
        }
        What::Watch(watching) => {
            let (source, of) = (watching.source, watching.of.clone().into_owned());
            begin(source, of, Asked::Watch(watching.request()))
        }
        what => {
            let exchange = exchanges.get_mut(&n).ok_or(format!("exchange {n} has not begun"))?;
            exchange.add(at, what).map_err(|cause| format!("exchange {n} {cause}"))?;
            return Ok(false);
        }
    };
    match exchanges.insert(n, new) {
        None => Ok(false),
        Some(_) => Err(format!("exchange {n} begins a second time")),
    }
}

impl Exchange {
    fn add(&mut self, at: u64, what: What<'_>) -> Result<(), String> {
        let last = self.parts.last().map_or(0, |(at, _)| *at);
        let after = at.checked_sub(self.began).filter(|after| last <= *after).ok_or("goes back in time")?;
        if self.ended {
            return Err("goes on after its end".to_owned());
        }
        let opened = !self.parts.is_empty();
        let part = match what {
            What::Opened(_) if !opened => Part::Opened,
            What::Failed(failing) if !opened => Part::Failed(known(failing)?),
            What::Left(_) => Part::Left,
            What::Opened(_) | What::Failed(_) => return Err("is answered a second time".to_owned()),
            _ if !opened => return Err("has a body before its answer".to_owned()),
            What::End(_) => Part::End,
            What::Broke(failing) => Part::Broke(known(failing)?),
            What::Withheld(_) => {
                return Err(
                    "has a body that was withheld, since it holds Secrets; it cannot be played".to_owned()
                );
            }
            piece => Part::Bytes(line::bytes_of(&piece).ok_or("has bytes that are no base64")?),
        };
        self.ended = matches!(part, Part::Failed(_) | Part::Left | Part::End | Part::Broke(_));
        self.parts.push((after, part));
        Ok(())
    }
}

fn known(failing: Failing<'_>) -> Result<Failing<'static>, String> {
    if failing.error().is_none() {
        return Err("has an error of a kind that is not known".to_owned());
    }
    Ok(failing.owned())
}
