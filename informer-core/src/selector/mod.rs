//! [`Selector`]: which objects, by their labels, in kubectl's grammar (apimachinery's `labels.Parse`).
//!
//! Invariant: every text is either a selector or an error that points at a character; what is printed parses to the
//! same selector.

mod lex;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use kube_core::{Expression, Selector as KubeSelector};

use crate::error::{Error, ErrorKind, Result};
use crate::meta::Labels;
use lex::{Kind, Lexer, Token};

/// The longest name of a label, and the longest value.
const LONGEST_NAME: usize = 63;
/// The longest prefix of a label's key.
const LONGEST_PREFIX: usize = 253;

/// Selects objects by their labels: every requirement must hold.
///
/// | requirement | holds when |
/// |---|---|
/// | `app=web`, `app==web` | the label has this value |
/// | `app!=web` | the label has another value, or is absent |
/// | `app in (web,api)` | the label has one of the values |
/// | `app notin (web,api)` | the label has none of them, or is absent |
/// | `app` | the label is there |
/// | `!app` | the label is absent |
/// | `weight>10`, `weight<10` | the label is an integer (64 bit) above, or below |
///
/// Requirements are parted by commas; white space round words does not matter; the empty text selects everything.
/// A value may be empty. Keys and values are checked as the API server checks them.
///
/// `kube_core::Selector` converts into it; the way back fails for `>` and `<`, which that type does not know.
///
/// ```
/// use informer_core::Selector;
///
/// let selector = Selector::parse("app in (web, api), !canary")?;
/// assert_eq!(selector.to_string(), "app in (api,web),!canary");
///
/// let error = Selector::parse("app=web,,tier").unwrap_err();
/// assert!(error.to_string().contains("at character 9"));
/// # Ok::<(), informer_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    Plain(Expression),
    GreaterThan(String, i64),
    LessThan(String, i64),
}

impl Selector {
    /// Reads a selector as `kubectl -l` is given it.
    ///
    /// # Errors
    /// [`ErrorKind::Config`]; the text has the selector, the character that is wrong, counted from 1, and what was
    /// expected there.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser { text, lexer: Lexer::new(text) };
        let mut requirements = Vec::new();
        if parser.peek().kind != Kind::End {
            loop {
                requirements.push(parser.requirement()?);
                let token = parser.next();
                match token.kind {
                    Kind::End => break,
                    Kind::Comma => {}
                    _ => return Err(parser.unexpected(&token, "\",\" or the end")),
                }
            }
        }
        Ok(Selector(requirements))
    }

    /// Whether an object with these labels is selected.
    #[must_use]
    pub fn matches(&self, labels: &Labels<'_>) -> bool {
        self.0.iter().all(|requirement| requirement.holds(labels))
    }

    /// Whether it has no requirement.
    #[must_use]
    pub fn selects_all(&self) -> bool {
        self.0.is_empty()
    }
}

impl Requirement {
    fn holds(&self, labels: &Labels<'_>) -> bool {
        let number = |key: &str| labels.get(key)?.parse::<i64>().ok();
        match self {
            Requirement::Plain(expression) => match expression {
                Expression::In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
                Expression::NotIn(key, values) => labels.get(key).is_none_or(|value| !values.contains(value)),
                Expression::Equal(key, value) => labels.get(key) == Some(value),
                Expression::NotEqual(key, value) => labels.get(key) != Some(value),
                Expression::Exists(key) => labels.get(key).is_some(),
                Expression::DoesNotExist(key) => labels.get(key).is_none(),
            },
            Requirement::GreaterThan(key, limit) => number(key).is_some_and(|number| number > *limit),
            Requirement::LessThan(key, limit) => number(key).is_some_and(|number| number < *limit),
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    lexer: Lexer<'t>,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Token<'t> {
        self.lexer.clone().token()
    }

    fn next(&mut self) -> Token<'t> {
        self.lexer.token()
    }

    fn requirement(&mut self) -> Result<Requirement> {
        let mut token = self.next();
        let absent = token.kind == Kind::Not;
        if absent {
            token = self.next();
        }
        let key = self.key(&token, if absent { "a label's key" } else { "a label's key or \"!\"" })?;
        if absent {
            return Ok(Requirement::Plain(Expression::DoesNotExist(key)));
        }
        if matches!(self.peek().kind, Kind::End | Kind::Comma) {
            return Ok(Requirement::Plain(Expression::Exists(key)));
        }
        let operator = self.next();
        Ok(match (operator.kind, operator.text) {
            (Kind::Equals, _) => Requirement::Plain(Expression::Equal(key, self.value()?)),
            (Kind::NotEquals, _) => Requirement::Plain(Expression::NotEqual(key, self.value()?)),
            (Kind::Word, "in") => Requirement::Plain(Expression::In(key, self.values()?)),
            (Kind::Word, "notin") => Requirement::Plain(Expression::NotIn(key, self.values()?)),
            (Kind::Greater, _) => Requirement::GreaterThan(key, self.integer()?),
            (Kind::Less, _) => Requirement::LessThan(key, self.integer()?),
            _ => {
                let expected = "\"=\", \"==\", \"!=\", \"in\", \"notin\", \"<\", \">\" or \",\"";
                return Err(self.unexpected(&operator, expected));
            }
        })
    }

    /// The only value of a comparison; nothing is the empty value.
    fn value(&mut self) -> Result<String> {
        if matches!(self.peek().kind, Kind::End | Kind::Comma) {
            return Ok(String::new());
        }
        let token = self.next();
        self.checked_value(&token)
    }

    /// `(a,b)`: a value between each two of parentheses and commas, which may be the empty one.
    fn values(&mut self) -> Result<BTreeSet<String>> {
        let open = self.next();
        if open.kind != Kind::Open {
            return Err(self.unexpected(&open, "\"(\""));
        }
        let mut values = BTreeSet::new();
        loop {
            let mut token = self.next();
            if token.kind == Kind::Word {
                values.insert(self.checked_value(&token)?);
                token = self.next();
            } else {
                values.insert(String::new());
            }
            match token.kind {
                Kind::Comma => {}
                Kind::Close => return Ok(values),
                _ => return Err(self.unexpected(&token, "\",\" or \")\"")),
            }
        }
    }

    fn integer(&mut self) -> Result<i64> {
        let token = self.next();
        if token.kind != Kind::Word {
            return Err(self.unexpected(&token, "an integer"));
        }
        let value = self.checked_value(&token)?;
        value.parse().map_err(|_| self.unexpected(&token, "an integer of at most 64 bits"))
    }

    fn key(&self, token: &Token<'_>, expected: &str) -> Result<String> {
        if token.kind != Kind::Word {
            return Err(self.unexpected(token, expected));
        }
        match wrong_in_key(token.text) {
            None => Ok(token.text.to_owned()),
            Some((at, rule)) => Err(self.error(token.at + at, rule)),
        }
    }

    fn checked_value(&self, token: &Token<'_>) -> Result<String> {
        if token.kind != Kind::Word {
            return Err(self.unexpected(token, "a value"));
        }
        match wrong_in_name(token.text) {
            None => Ok(token.text.to_owned()),
            Some(at) => {
                let rule = "a value has at most 63 letters, digits, \"-\", \"_\" and \".\", and begins and ends with \
                            a letter or a digit";
                Err(self.error(token.at + at, rule))
            }
        }
    }

    fn unexpected(&self, found: &Token<'_>, expected: &str) -> Error {
        match found.kind {
            Kind::End => self.error(found.at, &format!("expected {expected}, found the end")),
            _ => self.error(found.at, &format!("expected {expected}, found {:?}", found.text)),
        }
    }

    /// `at` counts bytes; people count characters.
    fn error(&self, at: usize, what: &str) -> Error {
        let place = self.text.char_indices().take_while(|(place, _)| *place < at).count() + 1;
        let text = format!("label selector {:?}: at character {place}: {what}", self.text);
        Error::new(ErrorKind::Config, text)
    }
}

/// Where a key breaks the API server's rule for qualified names, and which part of it; `None` if it keeps it.
fn wrong_in_key(key: &str) -> Option<(usize, &'static str)> {
    let (prefix, name, begin) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name, prefix.len() + 1),
        None => (None, key, 0),
    };
    if let Some(at) = prefix.and_then(wrong_in_prefix) {
        let rule = "before the \"/\" of a label's key stands a DNS name: lower-case letters, digits, \"-\" and \".\", at \
                    most 253 characters, each part beginning and ending with a letter or a digit";
        return Some((at, rule));
    }
    let at = if name.is_empty() { Some(0) } else { wrong_in_name(name) }?;
    let rule = "the name of a label has 1 to 63 letters, digits, \"-\", \"_\" and \".\", and begins and ends with a \
                letter or a digit";
    Some((begin + at, rule))
}

/// A DNS subdomain (RFC 1123).
fn wrong_in_prefix(prefix: &str) -> Option<usize> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if let Some(at) = prefix.find(|c: char| !(allowed(c) || c == '-' || c == '.')) {
        return Some(at);
    }
    if prefix.len() > LONGEST_PREFIX {
        return Some(LONGEST_PREFIX);
    }
    let mut begin = 0;
    for part in prefix.split('.') {
        if !part.starts_with(allowed) {
            return Some(begin);
        }
        if !part.ends_with(allowed) {
            return Some(begin + part.len() - 1);
        }
        begin += part.len() + 1;
    }
    None
}

/// A value, or the name of a key. An empty one keeps the rule.
fn wrong_in_name(name: &str) -> Option<usize> {
    let end = |c: char| c.is_ascii_alphanumeric();
    if let Some(at) = name.find(|c: char| !(end(c) || matches!(c, '-' | '_' | '.'))) {
        return Some(at);
    }
    match name {
        "" => None,
        _ if name.len() > LONGEST_NAME => Some(LONGEST_NAME),
        _ if !name.starts_with(end) => Some(0),
        _ if !name.ends_with(end) => Some(name.len() - 1),
        _ => None,
    }
}

impl FromStr for Selector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Selector::parse(text)
    }
}

/// The form that the API server reads.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            match requirement {
                Requirement::Plain(expression) => write!(f, "{expression}")?,
                Requirement::GreaterThan(key, limit) => write!(f, "{key}>{limit}")?,
                Requirement::LessThan(key, limit) => write!(f, "{key}<{limit}")?,
            }
        }
        Ok(())
    }
}

/// So that a parsed selector can stand where the server's syntax is wanted.
impl From<Selector> for String {
    fn from(selector: Selector) -> String {
        selector.to_string()
    }
}

impl From<&Selector> for String {
    fn from(selector: &Selector) -> String {
        selector.to_string()
    }
}

impl From<&Selector> for Selector {
    fn from(selector: &Selector) -> Self {
        selector.clone()
    }
}

impl From<KubeSelector> for Selector {
    fn from(selector: KubeSelector) -> Self {
        Selector(selector.into_iter().map(Requirement::Plain).collect())
    }
}

impl From<&KubeSelector> for Selector {
    fn from(selector: &KubeSelector) -> Self {
        selector.clone().into()
    }
}

impl TryFrom<Selector> for KubeSelector {
    type Error = Error;

    fn try_from(selector: Selector) -> Result<Self> {
        let expression = |requirement| match requirement {
            Requirement::Plain(expression) => Ok(expression),
            Requirement::GreaterThan(key, _) | Requirement::LessThan(key, _) => {
                let text = format!(
                    "kube_core::Selector cannot compare numbers, as label {key:?} is to be; use text"
                );
                Err(Error::new(ErrorKind::Config, text))
            }
        };
        selector.0.into_iter().map(expression).collect::<Result<Vec<_>>>().map(FromIterator::from_iter)
    }
}

#[cfg(test)]
mod tests;
