//! [`Expect`]: which request an exchange is about.

use std::fmt;
use std::sync::Arc;

use super::Action;
use crate::http::{Request, Verb};

/// A request that is expected: every condition must hold. Prints as its conditions.
#[derive(Clone)]
pub struct Expect {
    subject: Subject,
    conditions: Vec<Condition>,
}

/// An expected request and what answers it.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub(super) expect: Expect,
    pub(super) actions: Arc<[Action]>,
    pub(super) least: usize,
    /// None: any number.
    pub(super) most: Option<usize>,
}

#[derive(Clone, Debug)]
enum Subject {
    Any,
    Connection,
    List,
    Watch,
    /// Method and path.
    Exact(String, String),
}

#[derive(Clone)]
struct Condition {
    text: String,
    holds: Arc<dyn Fn(&Request) -> bool + Send + Sync>,
}

impl Expect {
    /// Any request.
    #[must_use]
    pub fn any() -> Self {
        Expect { subject: Subject::Any, conditions: Vec::new() }
    }

    /// A list of any collection.
    #[must_use]
    pub fn list() -> Self {
        Expect { subject: Subject::List, conditions: Vec::new() }
    }

    /// A watch of any collection.
    #[must_use]
    pub fn watch() -> Self {
        Expect { subject: Subject::Watch, conditions: Vec::new() }
    }

    /// A `GET` of this path, whatever its query.
    #[must_use]
    pub fn get(path: &str) -> Self {
        Expect::request("GET", path)
    }

    /// A request of this method and path, whatever its query.
    #[must_use]
    pub fn request(method: &str, path: &str) -> Self {
        Expect { subject: Subject::Exact(method.to_owned(), path.to_owned()), conditions: Vec::new() }
    }

    /// A new connection, before anything is read from it. Other conditions do not apply. A connection that comes when
    /// none is expected is simply read from.
    #[must_use]
    pub fn connection() -> Self {
        Expect { subject: Subject::Connection, conditions: Vec::new() }
    }

    /// The `resourceVersion` is this one; empty and absent are the same.
    #[must_use]
    pub fn rv(self, version: &str) -> Self {
        let wanted = version.to_owned();
        self.when(&format!("rv={version}"), move |request| {
            request.query("resourceVersion").unwrap_or_default() == wanted
        })
    }

    /// The path is this one.
    #[must_use]
    pub fn path(self, path: &str) -> Self {
        let wanted = path.to_owned();
        self.when(path, move |request| request.path() == wanted)
    }

    /// A query parameter has this value.
    #[must_use]
    pub fn query(self, name: &str, value: &str) -> Self {
        let (key, wanted) = (name.to_owned(), value.to_owned());
        self.when(&format!("{name}={value}"), move |request| request.query(&key).is_some_and(|v| v == wanted))
    }

    /// A query parameter is absent.
    #[must_use]
    pub fn no_query(self, name: &str) -> Self {
        let key = name.to_owned();
        self.when(&format!("no {name}"), move |request| request.query(&key).is_none())
    }

    /// A header has this value.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Self {
        let (key, wanted) = (name.to_owned(), value.to_owned());
        // The value may be a credential: failures show only the name.
        self.when(&format!("header {name}"), move |request| request.header(&key) == Some(&*wanted))
    }

    /// It comes on this connection, counted from 0.
    #[must_use]
    pub fn on_connection(self, number: usize) -> Self {
        self.when(&format!("connection {number}"), move |request| request.connection == number)
    }

    /// `holds` accepts it; `text` is what failures say.
    #[must_use]
    pub fn when(mut self, text: &str, holds: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Self {
        self.conditions.push(Condition { text: text.to_owned(), holds: Arc::new(holds) });
        self
    }

    /// The actions that answer it. If they end neither the response nor the connection, it is closed after them.
    #[must_use]
    pub fn answer(self, actions: impl IntoIterator<Item = Action>) -> Exchange {
        Exchange { expect: self, actions: actions.into_iter().collect(), least: 1, most: Some(1) }
    }

    /// One action that answers it: usually a [`Reply`](super::Reply).
    #[must_use]
    pub fn reply(self, reply: impl Into<Action>) -> Exchange {
        self.answer([reply.into()])
    }

    pub(crate) fn accepts(&self, request: &Request) -> bool {
        let subject = match &self.subject {
            Subject::Any => true,
            Subject::Connection => false,
            Subject::List => request.verb() == Verb::List,
            Subject::Watch => request.verb() == Verb::Watch,
            Subject::Exact(method, path) => request.method == *method && request.path() == path,
        };
        subject && self.conditions.iter().all(|condition| (condition.holds)(request))
    }

    pub(super) fn is_connection(&self) -> bool {
        matches!(self.subject, Subject::Connection)
    }
}

impl Exchange {
    /// It happens exactly `count` times.
    #[must_use]
    pub fn times(mut self, count: usize) -> Self {
        (self.least, self.most) = (count, Some(count));
        self
    }

    /// It happens any number of times, none included.
    #[must_use]
    pub fn any_times(mut self) -> Self {
        (self.least, self.most) = (0, None);
        self
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            Subject::Any => f.write_str("anything")?,
            Subject::Connection => f.write_str("a connection")?,
            Subject::List => f.write_str("LIST")?,
            Subject::Watch => f.write_str("WATCH")?,
            Subject::Exact(method, path) => write!(f, "{method} {path}")?,
        }
        for condition in &self.conditions {
            write!(f, " {}", condition.text)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expect({self})")
    }
}
