//! Answers made comparable: what every server has to make up by itself (uids, times, versions, tokens) gets a name.

use std::io::{self, BufRead};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use super::world::World;
use crate::exchange::Answer;

/// The headers that mean something to a client.
const HEADERS: &[&str] = &[
    "Allow",
    "Cache-Control",
    "Content-Encoding",
    "Content-Type",
    "Location",
    "Retry-After",
    "Vary",
    "Warning",
    "WWW-Authenticate",
    "X-Content-Type-Options",
];

/// An answer as a tree: `status`, `headers`, and `body`, or `events` where it is a stream of them.
pub(crate) fn answer(answer: &Answer, world: &World) -> Value {
    let headers: Map<String, Value> = HEADERS
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), Value::String(answer.header(name)?.to_owned()))))
        .collect();
    let text = String::from_utf8_lossy(&answer.body);
    let mut tree = json!({"status": answer.status, "headers": headers});
    match serde_json::from_slice::<Value>(&answer.body) {
        Ok(body) if body.get("type").is_none() || body.get("object").is_none() => {
            tree["body"] = plain(body, world);
        }
        _ => match events(text.lines(), world) {
            Some(events) => tree["events"] = events,
            None => tree["body"] = Value::String(text.trim_end().to_owned()),
        },
    }
    tree
}

/// Lines that are events, each as a tree; `None` if one of them is none.
///
/// Equal bookmarks in a row are one: how often a real server repeats them is a matter of how busy it is.
pub(crate) fn events<'a>(lines: impl Iterator<Item = &'a str>, world: &World) -> Option<Value> {
    let events = lines.map(|line| serde_json::from_str(line).ok().map(|event| plain(event, world)));
    let mut events: Vec<Value> = events.collect::<Option<_>>()?;
    events.dedup_by(|next, before| next["type"] == "BOOKMARK" && next == before);
    Some(Value::Array(events))
}

/// Takes out the bookmarks that end no initial events: whether a short watch gets one depends on what else happens.
pub(crate) fn drop_bookmarks(answer: &mut Value) {
    let events = match answer {
        Value::Array(events) => Some(events),
        answer => answer.get_mut("events").and_then(Value::as_array_mut),
    };
    if let Some(events) = events {
        events
            .retain(|event| event["type"] != "BOOKMARK" || event.to_string().contains("initial-events-end"));
    }
}

/// Reads the lines of a stream up to one that `last` accepts, or its end.
pub(crate) fn lines_until(body: impl BufRead, mut last: impl FnMut(&str) -> bool) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    for line in body.lines() {
        let line = line?;
        let over = last(&line);
        lines.push(line);
        if over {
            break;
        }
    }
    Ok(lines)
}

/// A tree in which everything has its name.
pub(crate) fn plain(value: Value, world: &World) -> Value {
    let discovery = matches!(
        value["kind"].as_str(),
        Some("APIResourceList" | "APIGroupList" | "APIGroup" | "APIGroupDiscoveryList")
    );
    let value = named("", value, world);
    if discovery { keyed(value) } else { value }
}

/// Discovery with its lists as maps, so that a group more on one side is one difference and not a hundred.
fn keyed(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(name, value)| (name, keyed(value))).collect())
        }
        Value::Array(items) if items.iter().all(|item| key(item).is_some()) => {
            let pairs = items.into_iter().map(|item| (key(&item).unwrap_or_default(), keyed(item)));
            Value::Object(pairs.collect())
        }
        other => other,
    }
}

/// What an entry of discovery is called.
fn key(item: &Value) -> Option<String> {
    let fields = ["/name", "/metadata/name", "/resource", "/subresource", "/version"];
    let name = fields.iter().find_map(|field| item.pointer(field)?.as_str());
    name.map(str::to_owned)
}

fn named(field: &str, value: Value, world: &World) -> Value {
    match value {
        Value::Object(map) => {
            // What a field means depends on nothing but its name, and that of managers' fields is anything.
            let fields = map.into_iter().map(|(name, value)| {
                let value = if name == "fieldsV1" { value } else { named(&name, value, world) };
                (name, value)
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.into_iter().map(|item| named(field, item, world)).collect();
            if field == "managedFields" {
                // Their order is that of their times, which may be the same second on one side alone.
                items.sort_by_key(Value::to_string);
            }
            Value::Array(items)
        }
        Value::String(text) => Value::String(text_of(field, text, world)),
        other => other,
    }
}

fn text_of(field: &str, text: String, world: &World) -> String {
    match field {
        "uid" => return "<uid>".to_owned(),
        "serverAddress" => return "<host>".to_owned(),
        "resourceVersion" => return world.called(&text).unwrap_or(text),
        "continue" if !text.is_empty() => return token(&text, world).unwrap_or(text),
        "message" => return numbers(&uids(&text), world),
        "cells" if is_age(&text) => return "<age>".to_owned(),
        _ => {}
    }
    if is_time(&text) { "<time>".to_owned() } else { text }
}

/// A continue token, open.
fn token(text: &str, world: &World) -> Option<String> {
    let mut tree: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
    let version = tree["rv"].as_i64()?;
    if let Some(name) = u64::try_from(version).ok().and_then(|version| world.called(&version.to_string())) {
        tree["rv"] = name.into();
    }
    Some(format!("<token {tree}>"))
}

/// A message in which uids have their name.
fn uids(text: &str) -> String {
    let words = text.split_inclusive(|c: char| !(c.is_ascii_hexdigit() || c == '-'));
    words
        .map(|word| match word.split_at_checked(UID.len()) {
            Some((uid, rest)) if rest.len() <= 1 && is_like(uid, UID) => format!("<uid>{rest}"),
            _ => word.to_owned(),
        })
        .collect()
}

/// A message in which versions have their names. Small numbers are none.
fn numbers(text: &str, world: &World) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        let (number, after) = from.split_at(end);
        out.push_str(before);
        let told = before.ends_with("version: ") || before.ends_with("current: ") || before.ends_with('(');
        match world.called(number) {
            // The oldest that is remembered is each server's own affair.
            Some(_) if before.ends_with('(') && after.starts_with(')') => out.push_str("<oldest>"),
            Some(name) if told => out.push_str(&name),
            _ => out.push_str(number),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The shape of a uid: where it has an `x`, a digit of sixteen.
const UID: &str = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

/// `2026-11-30T18:05:48Z`, with or without a fraction.
fn is_time(text: &str) -> bool {
    let shape = "0000-00-00T00:00:00";
    text.len() > shape.len() && text.ends_with('Z') && is_like(text, shape)
}

/// Whether a text begins with what a shape says: `0` for a digit, `x` for one of sixteen, all else for itself.
fn is_like(text: &str, shape: &str) -> bool {
    text.len() >= shape.len()
        && text.bytes().zip(shape.bytes()).all(|(byte, like)| match like {
            b'0' => byte.is_ascii_digit(),
            b'x' => byte.is_ascii_hexdigit(),
            like => byte == like,
        })
}

/// `5s`, `1m20s`, `3d`.
fn is_age(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(['s', 'm', 'h', 'd', 'y'])
        && text.chars().all(|c| c.is_ascii_digit() || "smhdy".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_makes_up_gets_a_name_and_nothing_else_does() {
        assert!(
            is_time("2026-11-30T18:05:48Z")
                && is_time("2026-11-30T18:05:48.123456Z")
                && !is_time("2026-11-30")
        );
        let uid = "d3cb2f33-312c-4027-a70d-adcc71d53e75";
        assert_eq!(uids(&format!("the UID in record ({uid}). It")), "the UID in record (<uid>). It");
        assert_eq!(uids("the UID (0000) of a-b, add"), "the UID (0000) of a-b, add");
        assert!(is_age("5s") && is_age("1m20s") && !is_age("s") && !is_age("5") && !is_age("<unknown>"));
    }
}
