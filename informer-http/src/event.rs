//! [`read_watch`] and [`WatchStream`]: the events of a watch stream, told to a sink as they come.
//!
//! Type first, one pass: servers write `{"type":…,"object":…}`, so the type is read by hand and the object is
//! built straight from its bytes. Whatever is not written so, or not accepted, is read a second time with care;
//! only then is anything called wrong, and what is wrong with it is told apart: an object (the stream goes on,
//! D8) or the stream (it ends).

use std::borrow::Cow;
use std::io::{ErrorKind as Io, Read};

use informer_core::{
    BadObject, ChangeKind, Error, ErrorKind, Flow, Representation, Result, Stage, WatchEnd, WatchSink,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::decode::{self, DecodeSettings};
use crate::frame::{Frame, Frames};
use crate::item::{Peek, Until};
use crate::scan::{SPACE, Scan, is_space};

/// Reads a watch stream to its end and tells `sink` every event in it.
///
/// A frame that is cut off by the end is dropped (W-2), and however the stream ended by itself is
/// [`WatchEnd::Closed`]: an informer resumes at the last version it was told.
///
/// # Errors
/// What the server said in an `ERROR` event; [`ErrorKind::Decode`] and [`ErrorKind::FrameTooLarge`] for a stream
/// that cannot be followed; [`ErrorKind::Stopped`].
pub(crate) fn read_watch<T: Representation>(
    body: &mut dyn Read,
    settings: &DecodeSettings,
    sink: &mut dyn WatchSink<T>,
) -> Result<WatchEnd> {
    let mut stream = WatchStream::new(settings);
    loop {
        let told = stream.tell(settings, sink)?;
        if told == Flow::End || sink.read_on() == Flow::End {
            return Ok(WatchEnd::Ended);
        }
        if let Some(end) = stream.read(body, settings, sink)? {
            return Ok(end);
        }
    }
}

/// A watch stream on its way, for those who take its events one by one.
pub(crate) struct WatchStream {
    frames: Frames,
}

impl WatchStream {
    pub(crate) fn new(settings: &DecodeSettings) -> Self {
        WatchStream { frames: Frames::new(settings.max_frame) }
    }

    /// Tells what has been read.
    ///
    /// # Errors
    /// As [`read_watch`].
    pub(crate) fn tell<T: Representation>(
        &mut self,
        settings: &DecodeSettings,
        sink: &mut dyn WatchSink<T>,
    ) -> Result<Flow> {
        Events { settings, sink }.tell_all(&mut self.frames).map_err(in_stream)
    }

    /// Reads once. At the end of the stream it tells what is left, and answers how it ended.
    ///
    /// # Errors
    /// As [`read_watch`].
    pub(crate) fn read<T: Representation>(
        &mut self,
        body: &mut dyn Read,
        settings: &DecodeSettings,
        sink: &mut dyn WatchSink<T>,
    ) -> Result<Option<WatchEnd>> {
        let end = match body.read(self.frames.space()) {
            Ok(0) => Ok(WatchEnd::Closed),
            Ok(n) => {
                sink.received(n as u64);
                self.frames.filled(n);
                return Ok(None);
            }
            Err(error) if error.kind() == Io::Interrupted => return Ok(None),
            Err(error) => {
                let error = decode::read_error(error);
                match error.kind() {
                    ErrorKind::Stopped => return Err(in_stream(error)),
                    ErrorKind::Silent => Ok(WatchEnd::Silent),
                    // Not cut but wrong: chunks that are none, compressed data that is damaged. It may be so each time,
                    // so it must be seen.
                    ErrorKind::Decode => Err(error),
                    _ => {
                        log::debug!(target: "informer::http", "the watch stream broke off: {}", error.chain());
                        Ok(WatchEnd::Closed)
                    }
                }
            }
        };
        self.frames.finish();
        match self.tell(settings, sink)? {
            Flow::End => Ok(Some(WatchEnd::Ended)),
            Flow::Continue => end.map(Some).map_err(in_stream),
        }
    }
}

fn in_stream(error: Error) -> Error {
    error.at(Stage::Watch)
}

/// The `type` of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventType {
    Change(ChangeKind),
    Bookmark,
    Error,
}

/// An event read with care: in any order, with anything else beside it.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    event_type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
}

/// How much of a line was told.
enum Told {
    All,
    /// A value that begins here goes on in the next line.
    UpTo(usize),
    /// The sink asked for the end.
    End,
}

struct Events<'s, T> {
    settings: &'s DecodeSettings,
    sink: &'s mut dyn WatchSink<T>,
}

impl<T: Representation> Events<'_, T> {
    /// Tells what `frames` has.
    fn tell_all(&mut self, frames: &mut Frames) -> Result<Flow> {
        while let Some(frame) = frames.next() {
            let told = match frame {
                Frame::Line(bytes) => self.tell(bytes, true)?,
                Frame::Value(bytes) => self.tell(bytes, false)?,
                Frame::TooLarge(head) => match self.too_large(head)? {
                    Flow::Continue => Told::All,
                    Flow::End => Told::End,
                },
                Frame::Stray(byte) => {
                    let found = char::from(byte).escape_default();
                    return Err(not_an_event(format!("found `{found}` where an event should begin")));
                }
                Frame::Endless => return Err(decode::too_large("an event without an end", self.settings)),
            };
            match told {
                Told::All => {}
                Told::UpTo(from) => frames.rest(from),
                Told::End => return Ok(Flow::End),
            }
        }
        Ok(Flow::Continue)
    }

    /// Tells the events in `bytes`; those of a line may go on after it.
    fn tell(&mut self, bytes: &[u8], line: bool) -> Result<Told> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return self.tell_damaged(bytes, line);
        };
        if let Some(flow) = self.tell_plain(text) {
            return Ok(if flow == Flow::Continue { Told::All } else { Told::End });
        }
        let mut events = serde_json::Deserializer::from_str(text).into_iter::<Envelope<'_>>();
        let mut told = 0;
        while let Some(event) = events.next() {
            match event {
                Ok(event) => {
                    if self.tell_event(&event, &text[told..])? == Flow::End {
                        return Ok(Told::End);
                    }
                    told = events.byte_offset();
                }
                Err(error) if line && error.is_eof() => return Ok(Told::UpTo(told)),
                Err(error) => return Err(not_an_event(decode::explain("it", &error, text))),
            }
        }
        Ok(Told::All)
    }

    /// Tells the one event in `text` if it is a change, written as servers do, and its object is accepted. If not,
    /// nothing has been told.
    fn tell_plain(&mut self, text: &str) -> Option<Flow> {
        let (event_type, at) = head(text)?;
        let EventType::Change(kind) = event_type else { return None };
        let object = text[at..].trim_end_matches(SPACE).strip_suffix('}')?;

        let known = kind == ChangeKind::Added && self.sink.may_have();
        let peek = Peek::read(object, if known { Until::State } else { Until::Types });
        decode::check_types(&peek, self.settings).ok()?;
        if known && let Some(stored) = self.stored(&peek) {
            // There may be more than this object in the text; building it would have shown that.
            let whole = Scan::default().end(object.as_bytes()) == Some(object.trim_end_matches(SPACE).len());
            return whole.then(|| self.sink.unchanged(stored));
        }
        let object: T = decode::build(object, self.settings).ok()?;
        (!object.meta().name.is_empty()).then(|| self.sink.change(kind, object))
    }

    fn stored(&self, peek: &Peek<'_>) -> Option<std::sync::Arc<T>> {
        let (key, uid, version) = peek.state()?;
        self.sink.have(key, uid, version)
    }

    /// Tells one event, which is well-formed; `text` begins with it.
    fn tell_event(&mut self, event: &Envelope<'_>, text: &str) -> Result<Flow> {
        let Some(event_type) = event.event_type.as_deref() else {
            // A server that refuses within a 200 may do it without an envelope.
            let first = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>().next();
            let status = first.and_then(|raw| decode::status_error(raw.ok()?.get()));
            return Err(status.unwrap_or_else(|| not_an_event("it has no type")));
        };
        let Some(event_type) = EventType::parse(event_type) else {
            return Err(not_an_event(format!("its type is {}", decode::short(event_type))));
        };
        let Some(object) = event.object.map(RawValue::get) else {
            return Err(not_an_event("it has no object"));
        };
        match event_type {
            EventType::Change(kind) => Ok(self.tell_change(kind, object)),
            EventType::Bookmark => self.tell_bookmark(object),
            EventType::Error => Err(decode::status_error(object).unwrap_or_else(|| {
                let peek = Peek::read(object, Until::Types);
                let found = decode::name_type(peek.api_version.as_deref(), peek.kind.as_deref());
                Error::new(ErrorKind::Decode, format!("the server sent an error that is no status: {found}"))
            })),
        }
    }

    fn tell_change(&mut self, kind: ChangeKind, text: &str) -> Flow {
        if kind == ChangeKind::Added
            && self.sink.may_have()
            && let Some(stored) = self.stored(&Peek::read(text, Until::State))
        {
            return self.sink.unchanged(stored);
        }
        match decode::object(text, self.settings) {
            Ok(object) => self.sink.change(kind, object),
            Err(error) => self.sink.bad_change(kind, bad(text, error)),
        }
    }

    fn tell_bookmark(&mut self, text: &str) -> Result<Flow> {
        let peek = Peek::read(text, Until::End);
        match peek.resource_version.as_deref() {
            Some(version) if !version.is_empty() => Ok(self.sink.bookmark(version, peek.initial_events_end)),
            // The end of the initial events is a version to watch from, or it is nothing.
            _ if peek.initial_events_end => Err(not_an_event("a bookmark without a resourceVersion")),
            _ => {
                log::debug!(target: "informer::http", "a bookmark without a resourceVersion was ignored");
                Ok(Flow::Continue)
            }
        }
    }

    /// Tells the events in `bytes` when they are not all UTF-8: those that are not cannot be accepted, but do not
    /// harm the others.
    fn tell_damaged(&mut self, bytes: &[u8], line: bool) -> Result<Told> {
        let wrong = || not_an_event("its bytes are not utf-8");
        let mut told = 0;
        loop {
            told += bytes[told..].iter().take_while(|byte| is_space(**byte)).count();
            let rest = &bytes[told..];
            if std::str::from_utf8(rest).is_ok() {
                return Ok(match self.tell(rest, line)? {
                    Told::UpTo(from) => Told::UpTo(told + from),
                    all_or_end => all_or_end,
                });
            }
            if !rest.starts_with(b"{") {
                return Err(wrong());
            }
            let Some(len) = Scan::default().end(rest) else {
                return if line { Ok(Told::UpTo(told)) } else { Err(wrong()) };
            };
            let value = &rest[..len];
            let end = match std::str::from_utf8(value) {
                Ok(_) => matches!(self.tell(value, false)?, Told::End),
                Err(_) => {
                    let text = String::from_utf8_lossy(value);
                    let event: Envelope<'_> = serde_json::from_str(&text).map_err(|_| wrong())?;
                    let event_type = event.event_type.as_deref().and_then(EventType::parse);
                    let (Some(EventType::Change(kind)), Some(object)) = (event_type, event.object) else {
                        return Err(wrong());
                    };
                    self.sink.bad_change(kind, decode::damaged(object.get().as_bytes())) == Flow::End
                }
            };
            if end {
                return Ok(Told::End);
            }
            told += len;
        }
    }

    /// D11: an oversized event is one bad object if its head tells which.
    fn too_large(&mut self, bytes: &[u8]) -> Result<Flow> {
        let error = decode::too_large("an event", self.settings);
        let text = decode::text_of_head(bytes);
        let Some((EventType::Change(kind), at)) = head(text) else { return Err(error) };
        let peek = Peek::read(&text[at..], Until::State);
        if peek.key().is_none() || peek.resource_version.is_none() {
            return Err(error);
        }
        Ok(self.sink.bad_change(kind, peek.bad(error.at(Stage::Decode))))
    }
}

impl EventType {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "ADDED" => EventType::Change(ChangeKind::Added),
            "MODIFIED" => EventType::Change(ChangeKind::Modified),
            "DELETED" => EventType::Change(ChangeKind::Deleted),
            "BOOKMARK" => EventType::Bookmark,
            "ERROR" => EventType::Error,
            _ => return None,
        })
    }
}

/// Reads `{"type":"…","object":` and says where the object begins.
fn head(text: &str) -> Option<(EventType, usize)> {
    let token = |rest: &str, token: &str| -> Option<usize> {
        let trimmed = rest.trim_start_matches(SPACE);
        trimmed.starts_with(token).then(|| rest.len() - trimmed.len() + token.len())
    };
    let mut at = 0;
    for part in ["{", "\"type\"", ":", "\""] {
        at += token(&text[at..], part)?;
    }
    let len = text[at..].find('"')?;
    let event_type = EventType::parse(&text[at..at + len])?;
    at += len + 1;
    for part in [",", "\"object\"", ":"] {
        at += token(&text[at..], part)?;
    }
    Some((event_type, at))
}

fn bad(text: &str, error: Error) -> BadObject {
    Peek::read(text, Until::End).bad(error.at(Stage::Decode))
}

fn not_an_event(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Decode, format!("the watch stream holds something that is no event: {what}"))
}
