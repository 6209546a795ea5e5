//! [`Script::parse`]: a script in the notation of a protocol sketch.
//!
//! A small grammar without look-ahead: whatever it does not know is an error that names the line, never a guess.

#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::json::{list_of, page_of};
use super::{
    Action, Exchange, Expect, Reply, Script, WireObject, end, event, fin, head, initial_events_end, object,
    pause, rst, stall, status,
};

/// What is wrong with the text of a script: the line, counted from 1, and the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    line: usize,
    cause: String,
}

impl ScriptError {
    /// The line, counted from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.cause)
    }
}

impl std::error::Error for ScriptError {}

impl Script {
    /// Reads a script: requests that must come in this order, over all connections, and what answers each.
    ///
    /// | sign | meaning |
    /// | --- | --- |
    /// | `C>` | a request that must come: `LIST`, `WATCH`, `ANY`, `CONNECTION` (before anything is read from it), or a method and a path, such as `GET /version`. After it conditions: `rv=10`, `limit=500` or any other parameter with its value, `-limit` for one that is absent, `initial` for a streaming list, `continue`, `#0` for the connection; then how often: `x3`, `x*` for any number |
    /// | `S<` | what answers it, separated by commas; may be on the same line, and more than once |
    /// | `200` | the head of a watch |
    /// | `410`, `429(3)` | any other status: a whole answer with its `Status`; in parentheses `Retry-After` |
    /// | `list(10;a@8,b@9)` | a whole list of version 10; `list(10;a@8;TOKEN)` is a page with a token for the next |
    /// | `ev(ADDED,a,u1,11)` | a watch event: type, name, UID, version; a chunk of its own |
    /// | `bookmark(12)`, `initial-end(12)` | bookmarks; the second ends a streaming list |
    /// | `error(410)`, `error(429,3)` | an `ERROR` event with a `Status`, and what it asks to wait |
    /// | `END` | the end of the body; the connection stays open |
    /// | `FIN`, `RST` | an orderly, an abortive close |
    /// | `STALL` | nothing is sent and nothing is closed |
    /// | `wait(20s)` | silence, by the clock of the script: `ms`, `s`, `m` or `h` |
    /// | `kind Pod v1` | on a line of its own: what objects are from there on; `ConfigMap v1` before |
    /// | `//` | the rest of the line is a comment |
    ///
    /// A name without a slash is in the namespace `default`; of an item of a list the UID is `uid-` and its name, or
    /// what stands after a second `@`. What this cannot say, single bytes say, is written with the functions of this
    /// module.
    ///
    /// ```
    /// use informer_testkit::{ManualClock, script::Script};
    ///
    /// let clock = ManualClock::new();
    /// let script = Script::parse(
    ///     "
    ///     C> WATCH rv=100    S< 200, ev(ADDED,a,u1,101), wait(90s), FIN
    ///     C> WATCH rv=101 x2 S< 503
    ///     ",
    /// );
    /// let script = script.unwrap().clock(&clock);
    /// # let _ = script;
    ///
    /// let error = Script::parse("C> LIST\nS< 200, HANG").unwrap_err();
    /// assert_eq!(error.to_string(), "line 2: \"HANG\" is no action");
    /// ```
    ///
    /// # Errors
    /// When the text is no script: the error names the line and the cause.
    pub fn parse(text: &str) -> Result<Script, ScriptError> {
        let mut reader = Reader { kind: ("ConfigMap".to_owned(), "v1".to_owned()), exchanges: Vec::new() };
        for (before, text) in text.lines().enumerate() {
            let line = before + 1;
            let text = text.split("//").next().unwrap_or_default();
            reader.line(line, text.trim()).map_err(|cause| ScriptError { line, cause })?;
        }
        let silent = reader.exchanges.iter().find(|exchange| exchange.actions.is_empty());
        if let Some(silent) = silent {
            let cause = format!("{} has no answer: no S< follows it", silent.expect);
            return Err(ScriptError { line: silent.line, cause });
        }
        Ok(Script::in_order(reader.exchanges.into_iter().map(Draft::finish)))
    }
}

type Read<T> = Result<T, String>;

struct Reader {
    /// Kind and version of objects.
    kind: (String, String),
    exchanges: Vec<Draft>,
}

/// An exchange while it is read.
struct Draft {
    line: usize,
    expect: Expect,
    times: Times,
    actions: Vec<Action>,
}

enum Times {
    Exactly(usize),
    Any,
}

impl Draft {
    fn finish(self) -> Exchange {
        let exchange = self.expect.answer(self.actions);
        match self.times {
            Times::Exactly(count) => exchange.times(count),
            Times::Any => exchange.any_times(),
        }
    }
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Read<()> {
        if let Some(types) = line.strip_prefix("kind ") {
            let Some((kind, version)) = types.trim().split_once(' ') else {
                return Err(format!("{line:?} should be a kind and its version: kind Pod v1"));
            };
            self.kind = (kind.to_owned(), version.trim().to_owned());
            return Ok(());
        }
        let mut rest = line;
        while !rest.is_empty() {
            let Some((sign, after)) =
                rest.split_at_checked(2).filter(|(sign, _)| matches!(*sign, "C>" | "S<"))
            else {
                return Err(format!("{rest:?} begins with neither C> nor S<"));
            };
            let end = ["C>", "S<"].iter().filter_map(|sign| after.find(sign)).min().unwrap_or(after.len());
            let (part, further) = after.split_at(end);
            match sign {
                "C>" => {
                    let (expect, times) = request(part)?;
                    self.exchanges.push(Draft { line: number, expect, times, actions: Vec::new() });
                }
                _ => self.answers(part)?,
            }
            rest = further;
        }
        Ok(())
    }

    fn answers(&mut self, text: &str) -> Read<()> {
        for word in words(text)? {
            let action = self.action(word)?;
            let exchange = self.exchanges.last_mut().ok_or("S< comes before the first C>")?;
            if exchange.actions.last().is_some_and(is_last) {
                return Err(format!("{word:?} comes after the end of the answer"));
            }
            exchange.actions.push(action);
        }
        Ok(())
    }

    fn action(&self, word: &str) -> Read<Action> {
        let (name, arguments) = match word.split_once('(') {
            Some((name, rest)) => {
                let inner = rest.strip_suffix(')').ok_or(format!("{word:?} lacks its )"))?;
                (name.trim(), Some(inner))
            }
            None => (word, None),
        };
        if let Ok(code) = name.parse::<u16>() {
            return answer(code, arguments);
        }
        match (name, arguments) {
            ("END", None) => Ok(end()),
            ("FIN", None) => Ok(fin()),
            ("RST", None) => Ok(rst()),
            ("STALL", None) => Ok(stall()),
            ("list", Some(inner)) => self.list(inner),
            ("ev", Some(inner)) => match split(inner, ',').as_slice() {
                [kind, name, uid, version] => {
                    if !["ADDED", "MODIFIED", "DELETED"].contains(kind) {
                        return Err(format!("{kind:?} is not ADDED, MODIFIED or DELETED"));
                    }
                    Ok(event(kind, &self.object(name, uid, version)))
                }
                _ => Err(format!("{word:?} should be ev(TYPE,name,uid,version)")),
            },
            ("bookmark", Some(version)) => {
                let object = object("", "", version.trim()).of(&self.kind.0, &self.kind.1);
                Ok(event("BOOKMARK", &object.meta("creationTimestamp", Value::Null)))
            }
            ("initial-end", Some(version)) => Ok(initial_events_end(version.trim())),
            ("error", Some(inner)) => match split(inner, ',').as_slice() {
                [code] => Ok(event("ERROR", &failure(number(code)?, None))),
                [code, wait] => Ok(event("ERROR", &failure(number(code)?, Some(number(wait)?)))),
                _ => Err(format!("{word:?} should be error(code) or error(code,seconds)")),
            },
            ("wait", Some(time)) => Ok(pause(duration(time.trim())?)),
            _ => Err(format!("{word:?} is no action")),
        }
    }

    fn list(&self, inner: &str) -> Read<Action> {
        let (kind, api_version) = (&*self.kind.0, &*self.kind.1);
        let parts = split(inner, ';');
        let (version, items, token) = match parts.as_slice() {
            [version, items] => (version, items, None),
            [version, items, token] => (version, items, Some(token)),
            _ => return Err(format!("list({inner}) should be list(version;name@version,…)")),
        };
        let items: Vec<WireObject> = split(items, ',')
            .into_iter()
            .filter(|item| !item.is_empty())
            .map(|item| match split(item, '@').as_slice() {
                [name, version] => Ok(self.object(name, &format!("uid-{name}"), version)),
                [name, version, uid] => Ok(self.object(name, uid, version)),
                _ => Err(format!("{item:?} should be name@version")),
            })
            .collect::<Read<_>>()?;
        Ok(match token {
            None => list_of(kind, api_version, version, &items).into(),
            Some(token) => page_of(kind, api_version, version, token, &items).into(),
        })
    }

    fn object(&self, name: &str, uid: &str, version: &str) -> WireObject {
        let key = if name.contains('/') { name.to_owned() } else { format!("default/{name}") };
        object(&key, uid, version).of(&self.kind.0, &self.kind.1)
    }
}

/// Whether nothing can follow.
fn is_last(action: &Action) -> bool {
    matches!(action, Action::Reply(_) | Action::End | Action::Fin | Action::Rst | Action::Stall)
}

fn request(text: &str) -> Read<(Expect, Times)> {
    let mut words = text.split_whitespace().peekable();
    let mut expect = match words.next().ok_or("C> names no request")? {
        "LIST" => Expect::list(),
        "WATCH" => Expect::watch(),
        "ANY" => Expect::any(),
        "CONNECTION" => Expect::connection(),
        method if method.bytes().all(|byte| byte.is_ascii_uppercase()) => match words.next() {
            Some(path) if path.starts_with('/') => Expect::request(method, path),
            _ => return Err(format!("{method} needs a path: {method} /version")),
        },
        other => return Err(format!("{other:?} is no request")),
    };
    let mut times = Times::Exactly(1);
    for word in words {
        expect = match word.split_once('=') {
            Some(("rv", version)) => expect.rv(version),
            Some((name, value)) => expect.query(name, value),
            None if word == "initial" => expect.query("sendInitialEvents", "true"),
            None if word == "continue" => expect
                .when("continue", |request| request.query("continue").is_some_and(|token| !token.is_empty())),
            None if word == "x*" => {
                times = Times::Any;
                expect
            }
            None => match word.split_at_checked(1) {
                Some(("-", name)) => expect.no_query(name),
                Some(("#", connection)) => expect.on_connection(number(connection)?),
                Some(("x", count)) => {
                    times = Times::Exactly(number(count)?);
                    expect
                }
                _ => return Err(format!("{word:?} is no condition")),
            },
        };
    }
    Ok((expect, times))
}

/// A status line: the head of a watch, or a whole answer.
fn answer(code: u16, arguments: Option<&str>) -> Read<Action> {
    match (code, arguments) {
        (200, None) => Ok(head()),
        (200, Some(_)) => Err("200 is the head of a watch and has no arguments".to_owned()),
        (100..=599, None) => Ok(Reply::json(code, &failure(code, None)).into()),
        (100..=599, Some(wait)) => {
            let wait: u64 = number(wait)?;
            let reply = Reply::json(code, &failure(code, Some(wait)));
            Ok(reply.header("Retry-After", &wait.to_string()).into())
        }
        _ => Err(format!("{code} is no status")),
    }
}

fn failure(code: u16, wait: Option<u64>) -> WireObject {
    let reason = match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        406 => "NotAcceptable",
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    };
    let object = status(code, reason, "as the script says");
    match wait {
        Some(seconds) => object.field("details", json!({ "retryAfterSeconds": seconds })),
        None => object,
    }
}

/// Splits at the commas that are not within parentheses.
fn words(text: &str) -> Read<Vec<&str>> {
    let (mut depth, mut from, mut words) = (0_usize, 0, Vec::new());
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or(format!("{:?} has a ) too many", text.trim()))?,
            ',' if depth == 0 => {
                words.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(format!("{:?} lacks a )", text.trim()));
    }
    words.push(text[from..].trim());
    if words.iter().any(|word| word.is_empty()) {
        return Err(format!("{:?} has an empty place between commas", text.trim()));
    }
    Ok(words)
}

fn split(text: &str, at: char) -> Vec<&str> {
    text.split(at).map(str::trim).collect()
}

fn number<N: std::str::FromStr>(text: &str) -> Read<N> {
    text.trim().parse().map_err(|_| format!("{:?} is no number that fits here", text.trim()))
}

fn duration(text: &str) -> Read<Duration> {
    let digits = text.len() - text.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    let (count, unit) = text.split_at(digits);
    let millis: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(format!("{text:?} is no duration such as 20s")),
    };
    let count: u64 = number(count)?;
    let millis = count.checked_mul(millis).ok_or(format!("{text:?} is too long"))?;
    Ok(Duration::from_millis(millis))
}
