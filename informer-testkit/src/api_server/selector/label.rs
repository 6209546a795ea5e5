//! Label selectors: `a=b,c!=d,e,!f,g in (h,i),j notin (k),l>1,m<2`.
//!
//! The scanner and the messages are those of a real server, which names the token that it did not expect.

use crate::api_server::names::{label_key_fault, label_value_fault};
use crate::api_server::status::{Result, Status};
use crate::api_server::store::Object;

/// One requirement. All of a selector's have to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
    Above(i64),
    Below(i64),
}

impl Requirement {
    /// Whether it holds.
    pub(super) fn holds(&self, object: &Object) -> bool {
        let value = object.label(&self.key);
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.test {
            Test::Exists => value.is_some(),
            Test::Missing => value.is_none(),
            Test::In(values) => value.is_some_and(|value| values.iter().any(|known| known == value)),
            Test::NotIn(values) => value.is_none_or(|value| values.iter().all(|known| known != value)),
            Test::Above(limit) => number().is_some_and(|number| number > *limit),
            Test::Below(limit) => number().is_some_and(|number| number < *limit),
        }
    }
}

/// Reads a selector; an empty one has no requirements.
pub(super) fn parse(text: &str) -> Result<Vec<Requirement>> {
    let mut parser = Parser { tokens: scan(text), next: 0 };
    parser.selector().map_err(Status::bad_request)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Symbol(&'a str),
    End,
}

impl Token<'_> {
    fn text(&self) -> &str {
        match self {
            Token::Word(text) | Token::Symbol(text) => text,
            Token::End => "",
        }
    }
}

fn scan(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t', '\r', '\n']);
    while !rest.is_empty() {
        let symbol =
            ["==", "!=", "=", "!", ",", "(", ")", "<", ">"].into_iter().find(|s| rest.starts_with(s));
        let length = match symbol {
            Some(symbol) => symbol.len(),
            None => {
                rest.find([' ', '\t', '\r', '\n', '=', '!', ',', '(', ')', '<', '>']).unwrap_or(rest.len())
            }
        };
        let (token, after) = rest.split_at(length);
        tokens.push(if symbol.is_some() { Token::Symbol(token) } else { Token::Word(token) });
        rest = after.trim_start_matches([' ', '\t', '\r', '\n']);
    }
    tokens
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    next: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens.get(self.next).copied().unwrap_or(Token::End)
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn selector(&mut self) -> std::result::Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::End => return Ok(requirements),
                Token::Word(_) | Token::Symbol("!") => {}
                other => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.text()
                    ));
                }
            }
            let requirement = self.requirement();
            requirements.push(requirement.map_err(|why| format!("unable to parse requirement: {why}"))?);
            match self.take() {
                Token::End => return Ok(requirements),
                Token::Symbol(",") => {}
                other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
            }
            match self.peek() {
                Token::Word(_) | Token::Symbol("!") => {}
                other => return Err(format!("found '{}', expected: identifier after ','", other.text())),
            }
        }
    }

    fn requirement(&mut self) -> std::result::Result<Requirement, String> {
        let negated = self.peek() == Token::Symbol("!");
        if negated {
            self.take();
        }
        let key = match self.take() {
            Token::Word(key) => key.to_owned(),
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        if let Some(why) = label_key_fault(&key) {
            return Err(format!("<nil>: Invalid value: {key:?}: {why}"));
        }
        if negated {
            return Ok(Requirement { key, test: Test::Missing });
        }
        let test = match self.peek() {
            Token::End | Token::Symbol(",") => Test::Exists,
            operator => {
                self.take();
                self.test(&key, operator)?
            }
        };
        Ok(Requirement { key, test })
    }

    fn test(&mut self, key: &str, operator: Token<'a>) -> std::result::Result<Test, String> {
        Ok(match operator {
            Token::Symbol("=" | "==") => Test::In(vec![self.value(key)?]),
            Token::Symbol("!=") => Test::NotIn(vec![self.value(key)?]),
            Token::Word("in") => Test::In(self.values(key)?),
            Token::Word("notin") => Test::NotIn(self.values(key)?),
            Token::Symbol(">") => Test::Above(self.number(key)?),
            Token::Symbol("<") => Test::Below(self.number(key)?),
            other => {
                let known = "in, notin, =, ==, !=, gt, lt";
                return Err(format!("found '{}', expected: {known}", other.text()));
            }
        })
    }

    /// One value, which may be missing: `a=` selects the empty one.
    fn value(&mut self, key: &str) -> std::result::Result<String, String> {
        let value = match self.peek() {
            Token::Word(value) => {
                self.take();
                value
            }
            Token::End | Token::Symbol(",") => "",
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        checked(key, 0, value)
    }

    fn number(&mut self, key: &str) -> std::result::Result<i64, String> {
        let value = self.value(key)?;
        value.parse().map_err(|_| {
            format!(
                "values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
            )
        })
    }

    fn values(&mut self, key: &str) -> std::result::Result<Vec<String>, String> {
        match self.take() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut values = Vec::new();
        loop {
            match self.peek() {
                Token::Word(value) => {
                    self.take();
                    values.push(checked(key, values.len(), value)?);
                }
                Token::Symbol("," | ")") => values.push(String::new()),
                other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
            }
            match self.take() {
                Token::Symbol(")") => return Ok(values),
                Token::Symbol(",") => {}
                other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
            }
        }
    }
}

fn checked(key: &str, index: usize, value: &str) -> std::result::Result<String, String> {
    match label_value_fault(value) {
        Some(why) => Err(format!("values[{index}][{key}]: Invalid value: {value:?}: {why}")),
        None => Ok(value.to_owned()),
    }
}
