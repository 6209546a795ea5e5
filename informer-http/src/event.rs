//! Decoding of a watch. STAND-IN, replaced when the decoders are joined.

use std::io::{BufRead, BufReader, Read};

use informer_core::{ChangeKind, Error, ErrorKind, Flow, Representation, Result, WatchEnd, WatchSink};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::decode::DecodeSettings;
use crate::transport::error_in;

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// Reads a watch to its end.
pub(crate) fn read_watch<T: Representation>(
    body: &mut dyn Read,
    settings: &DecodeSettings,
    sink: &mut dyn WatchSink<T>,
) -> Result<WatchEnd> {
    let mut lines = BufReader::new(body);
    let mut line = String::new();
    loop {
        line.clear();
        match lines.read_line(&mut line) {
            Ok(0) => return Ok(WatchEnd::Closed),
            Ok(_) => {}
            Err(error) => {
                return match error_in(&error) {
                    Some(ours) if ours.is_stopped() => Err(ours.clone()),
                    Some(ours) if ours.kind() == ErrorKind::Silent => Ok(WatchEnd::Silent),
                    _ => Ok(WatchEnd::Closed),
                };
            }
        }
        let bad = |error: serde_json::Error| {
            Error::new(ErrorKind::Decode, format!("the watch sent something that is no event: {error}"))
        };
        let frame: Frame<'_> = serde_json::from_str(&line).map_err(bad)?;
        let kind = match frame.kind {
            "ADDED" => ChangeKind::Added,
            "MODIFIED" => ChangeKind::Modified,
            "DELETED" => ChangeKind::Deleted,
            "ERROR" => {
                return Err(Error::from_status(serde_json::from_str(frame.object.get()).map_err(bad)?));
            }
            _ => continue,
        };
        let mut deserializer = serde_json::Deserializer::from_str(frame.object.get());
        let object = T::decode(&mut deserializer, settings.options).map_err(bad)?;
        if sink.change(kind, object) == Flow::End {
            return Ok(WatchEnd::Ended);
        }
    }
}
