//! [`ServedRequest`]: a request that came over HTTP and what became of it; [`Requests`], the newest of them.
//!
//! No secret gets in here: the values of headers that carry credentials are left out, and so are bodies.

mod log;

use std::fmt;

use super::exchange::Call;
use super::options::flag;
use crate::http::header;

pub(super) use log::{Requests, Ticket};

/// Headers whose values are secret.
const SECRET: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "sec-websocket-protocol"];

/// A request that an [`ApiServer`](super::ApiServer) got over HTTP, and what has become of it so far.
#[derive(Clone, PartialEq, Eq)]
pub struct ServedRequest {
    method: String,
    path: String,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    verb: &'static str,
    target: Target,
    status: Option<u16>,
    body_bytes: u64,
    ending: Option<Ending>,
}

/// How the answer to a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ending {
    /// It is complete, as it should be or as a fault would have it.
    Complete,
    /// The connection was closed within it or before it: by a fault, or because the server failed at it.
    Broken,
    /// The client has gone.
    ClientGone,
    /// The server has stopped.
    Stopped,
}

/// What a path is about; each is empty where the path has no such thing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Target {
    group: String,
    resource: String,
    namespace: String,
    name: String,
    subresource: String,
}

impl ServedRequest {
    pub(super) fn new(call: &Call) -> Self {
        let target = Target::parse(&call.path);
        let verb = verb(call, &target);
        let shown = |(name, value): &(String, String)| {
            let secret = SECRET.iter().any(|secret| name.eq_ignore_ascii_case(secret));
            (name.clone(), if secret { "…".to_owned() } else { value.clone() })
        };
        ServedRequest {
            method: call.method.clone(),
            path: call.path.clone(),
            query: call.query.clone(),
            headers: call.headers.iter().map(shown).collect(),
            verb,
            target,
            status: None,
            body_bytes: 0,
            ending: None,
        }
    }

    /// The method, as sent.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The path, as sent, without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value of a parameter of the query, decoded; the first one if there are several.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<&str> {
        value_of(&self.query, name)
    }

    /// All parameters of the query, decoded, in their order.
    #[must_use]
    pub fn queries(&self) -> &[(String, String)] {
        &self.query
    }

    /// The value of a header, whatever the case of its name; the first one if there are several. Of a header that
    /// carries credentials it is `…`.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// All headers, as sent and in their order; those that carry credentials with `…` as their value.
    #[must_use]
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`; empty for what is not about
    /// a resource.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        self.verb
    }

    /// The group of the resource; empty for core, and for what is not about a resource.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.target.group
    }

    /// The resource by its plural: `pods`; empty for what is not about one.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.target.resource
    }

    /// The namespace, or empty.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.target.namespace
    }

    /// The name of the object, or empty.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.target.name
    }

    /// `status`, `scale`, or empty.
    #[must_use]
    pub fn subresource(&self) -> &str {
        &self.target.subresource
    }

    /// The status that it was answered with; `None` as long as it has none, and for ever if it gets no answer.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// How many bytes of the answer's body have been sent, without the framing of HTTP.
    #[must_use]
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// How its answer ended; `None` while it goes on, as that of a watch does.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }
}

fn value_of<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

fn verb(call: &Call, target: &Target) -> &'static str {
    if target.resource.is_empty() {
        return "";
    }
    match (call.method.as_str(), target.name.is_empty()) {
        ("GET", true) if flag(call, "watch") => "watch",
        ("GET" | "HEAD", true) => "list",
        ("GET" | "HEAD", false) => "get",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "deletecollection",
        ("DELETE", false) => "delete",
        _ => "",
    }
}

impl Target {
    /// By the shape of the path alone, whatever is served.
    fn parse(path: &str) -> Target {
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let (group, rest) = match segments.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return Target::default(),
        };
        let (namespace, rest) = match rest {
            // These are parts of a namespace, not things in it.
            ["namespaces", _, "status" | "finalize"] => ("", rest),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        let part = |at: usize| rest.get(at).copied().unwrap_or_default().to_owned();
        let (resource, name, subresource) = (part(0), part(1), part(2));
        Target { group: group.to_owned(), resource, namespace: namespace.to_owned(), name, subresource }
    }
}

/// Prints verb, resource and what else tells it from others: `list pods in default rv=0 limit=500`, `watch
/// leases.coordination.k8s.io rv=7`, `get pods default/a`, or method and path.
impl fmt::Display for ServedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Target { group, resource, namespace, name, subresource } = &self.target;
        if self.verb.is_empty() {
            return write!(f, "{} {}", self.method, self.path);
        }
        write!(f, "{} {resource}", self.verb)?;
        if !group.is_empty() {
            write!(f, ".{group}")?;
        }
        match (namespace.as_str(), name.as_str()) {
            ("", "") => {}
            ("", name) => write!(f, " {name}")?,
            (namespace, "") => write!(f, " in {namespace}")?,
            (namespace, name) => write!(f, " {namespace}/{name}")?,
        }
        if !subresource.is_empty() {
            write!(f, " {subresource}")?;
        }
        for (parameter, short) in [("resourceVersion", "rv"), ("limit", "limit"), ("continue", "")] {
            match (self.query(parameter), short) {
                (Some(_), "") => write!(f, " {parameter}")?,
                (Some(value), short) => write!(f, " {short}={value}")?,
                (None, _) => {}
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ServedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedRequest")
            .field("request", &format_args!("{self}"))
            .field("query", &self.query)
            .field("headers", &self.headers)
            .field("status", &self.status)
            .field("body_bytes", &self.body_bytes)
            .field("ending", &self.ending)
            .finish()
    }
}
