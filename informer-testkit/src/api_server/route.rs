//! What a path asks for.

use std::sync::Arc;

use super::resource::{Registry, Resource};
use super::status::{Result, Status};

/// A path that leads to objects.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) resource: Arc<Resource>,
    /// `None`: the objects of all namespaces, or of a resource without them.
    pub(super) namespace: Option<String>,
    /// `None`: a collection.
    pub(super) name: Option<String>,
    /// Empty for the object itself.
    pub(super) subresource: String,
}

impl Route {
    /// The resource and place that `path` names.
    pub(super) fn parse(registry: &Registry, path: &str) -> Result<Self> {
        // A second slash in front begins a path that nobody serves; at the end they do not matter.
        let path = path.strip_prefix('/').unwrap_or(path);
        let segments: Option<Vec<String>> = path.trim_end_matches('/').split('/').map(decoded).collect();
        let segments = segments.ok_or_else(Status::no_page)?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (group, version, rest) = match segments.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return Err(Status::no_page()),
        };
        let lost = || {
            // A group that is built in answers whatever the version; of the others only what is there does.
            let served = |r: &Arc<Resource>| r.group == group && !r.custom;
            if registry.resources().iter().any(served) { Status::no_resource() } else { Status::no_page() }
        };
        let find = |plural: &str| registry.find(group, version, plural).cloned();
        let (resource, namespace, rest) = match rest {
            // A namespace itself, or something in it: the longer reading wins if there is such a resource.
            ["namespaces", namespace, plural, rest @ ..] => match find(plural) {
                // Without a name in its place, it is every namespace.
                Some(resource) if resource.namespaced => {
                    (resource, Some((*namespace).to_owned()).filter(|name| !name.is_empty()), rest)
                }
                _ if group.is_empty() => (find("namespaces").ok_or_else(lost)?, None, &segments[3..]),
                _ => return Err(lost()),
            },
            [plural, rest @ ..] => (find(plural).ok_or_else(lost)?, None, rest),
            [] => return Err(lost()),
        };
        let (name, subresource) = match rest {
            [] => (None, ""),
            [name] => (Some((*name).to_owned()), ""),
            [name, subresource] if resource.has(subresource) => (Some((*name).to_owned()), *subresource),
            _ => return Err(lost()),
        };
        if name.is_some() && resource.namespaced && namespace.is_none() {
            return Err(lost());
        }
        Ok(Route { resource, namespace, name, subresource: subresource.to_owned() })
    }

    /// Whether the path leads to objects that lie together, and not to those of every namespace, which can only be
    /// read.
    pub(super) fn is_one_collection(&self) -> bool {
        self.name.is_none() && (self.namespace.is_some() || !self.resource.namespaced)
    }
}

/// A segment without its percent-encoding; `None` if that is broken.
fn decoded(segment: &str) -> Option<String> {
    if !segment.contains('%') {
        return Some(segment.to_owned());
    }
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
