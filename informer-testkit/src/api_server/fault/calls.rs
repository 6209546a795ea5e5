//! [`Calls`]: which requests are meant, by what they ask.

use std::fmt;

use crate::api_server::requests::ServedRequest;

/// A pattern of requests: for a [`Fault`](super::Fault), and for what a test waits for.
///
/// A resource is written as `pods` or `deployments.apps`; without its group, the resources of that name in every group
/// are meant. Each further condition leaves fewer requests.
///
/// ```
/// use informer_testkit::Calls;
///
/// let first_pages = Calls::list("pods").in_namespace("default").without("continue");
/// let cached = Calls::list("configmaps").query("resourceVersion", "0");
/// let writes = Calls::of("leases").method("PUT");
/// let probes = Calls::path("/readyz");
/// assert_eq!(cached.to_string(), "list configmaps resourceVersion=0");
/// # let _ = (first_pages, writes, probes);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a pattern does nothing by itself"]
pub struct Calls {
    verb: Option<&'static str>,
    method: Option<String>,
    resource: Option<String>,
    path: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    /// Parameter and value; `None`: whatever the value.
    with: Vec<(String, Option<String>)>,
    without: Vec<String>,
}

impl Calls {
    /// Every request.
    pub fn any() -> Self {
        Calls::default()
    }

    /// Whatever is asked about a resource.
    pub fn of(resource: &str) -> Self {
        Calls { resource: Some(resource.to_owned()), ..Calls::default() }
    }

    /// Lists of a resource: all pages.
    pub fn list(resource: &str) -> Self {
        Calls { verb: Some("list"), ..Calls::of(resource) }
    }

    /// Watches of a resource.
    pub fn watch(resource: &str) -> Self {
        Calls { verb: Some("watch"), ..Calls::of(resource) }
    }

    /// Single objects of a resource that are read.
    pub fn get(resource: &str) -> Self {
        Calls { verb: Some("get"), ..Calls::of(resource) }
    }

    /// Objects of a resource that are created.
    pub fn create(resource: &str) -> Self {
        Calls { verb: Some("create"), ..Calls::of(resource) }
    }

    /// Objects of a resource that are replaced.
    pub fn update(resource: &str) -> Self {
        Calls { verb: Some("update"), ..Calls::of(resource) }
    }

    /// Objects of a resource that are patched or applied.
    pub fn patch(resource: &str) -> Self {
        Calls { verb: Some("patch"), ..Calls::of(resource) }
    }

    /// Single objects of a resource that are deleted.
    pub fn delete(resource: &str) -> Self {
        Calls { verb: Some("delete"), ..Calls::of(resource) }
    }

    /// Requests of this path, as it is sent and without the query.
    pub fn path(path: &str) -> Self {
        Calls { path: Some(path.to_owned()), ..Calls::default() }
    }

    /// Those that are about one namespace.
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Those that are about one object.
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Those with this method.
    pub fn method(mut self, method: &str) -> Self {
        self.method = Some(method.to_owned());
        self
    }

    /// Those with this parameter in the query.
    pub fn with(mut self, parameter: &str) -> Self {
        self.with.push((parameter.to_owned(), None));
        self
    }

    /// Those with this parameter and this value of it.
    pub fn query(mut self, parameter: &str, value: &str) -> Self {
        self.with.push((parameter.to_owned(), Some(value.to_owned())));
        self
    }

    /// Those without this parameter.
    pub fn without(mut self, parameter: &str) -> Self {
        self.without.push(parameter.to_owned());
        self
    }

    /// Whether a request is meant.
    #[must_use]
    pub fn matches(&self, request: &ServedRequest) -> bool {
        let same = |wanted: &Option<String>, is: &str| wanted.as_ref().is_none_or(|wanted| wanted == is);
        let resource = |wanted: &String| match wanted.split_once('.') {
            Some((plural, group)) => request.resource() == plural && request.group() == group,
            None => request.resource() == wanted,
        };
        let with = |(parameter, value): &(String, Option<String>)| match value {
            None => request.query(parameter).is_some(),
            Some(value) => request.query(parameter) == Some(value),
        };
        self.verb.is_none_or(|verb| verb == request.verb())
            && same(&self.method, request.method())
            && self.resource.as_ref().is_none_or(resource)
            && same(&self.path, request.path())
            && same(&self.namespace, request.namespace())
            && same(&self.name, request.name())
            && self.with.iter().all(with)
            && self.without.iter().all(|parameter| request.query(parameter).is_none())
    }

    /// Whether every request is meant.
    pub(super) fn is_any(&self) -> bool {
        *self == Calls::default()
    }

    /// Whether watches can be meant.
    pub(super) fn may_watch(&self) -> bool {
        self.verb.is_none_or(|verb| verb == "watch")
            && self.method.as_ref().is_none_or(|method| method == "GET")
    }
}

impl fmt::Display for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Calls { verb, method, resource, path, namespace, name, with, without } = self;
        f.write_str(verb.or(method.as_deref()).unwrap_or("any request"))?;
        for (before, text) in [(" ", resource), (" ", path), (" in ", namespace), (" named ", name)] {
            if let Some(text) = text {
                write!(f, "{before}{text}")?;
            }
        }
        for (parameter, value) in with {
            match value {
                Some(value) => write!(f, " {parameter}={value}")?,
                None => write!(f, " with {parameter}")?,
            }
        }
        without.iter().try_for_each(|parameter| write!(f, " without {parameter}"))
    }
}
