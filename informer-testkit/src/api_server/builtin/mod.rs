//! The built-in resources, as data: groups in the order in which a real server tells them, resources by name.
//!
//! What is missing in the [`table`] is not served, and nothing else has to know.

mod table;

use std::borrow::Cow;

use super::resource::{Resource, Subresource};
use table::TABLE;

/// What nearly everything can do.
const ALL: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// Namespaces go one by one.
const NO_COLLECTION: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];

/// What answers about Endpoints warn of.
const ENDPOINTS: &str = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";

/// One that is created and forgotten.
const CREATED: &[&str] = &["create"];
/// One that nobody writes.
const SEEN: &[&str] = &["get", "list"];

/// One built-in resource; the words of [`Resource`].
struct Row {
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    short: &'static [&'static str],
    categories: &'static [&'static str],
    namespaced: bool,
    verbs: &'static [&'static str],
    kept: bool,
    subresources: &'static [&'static str],
    /// Subresources that are told of and not served: name, then group, version and kind of what they take, and verbs.
    others: &'static [(&'static str, &'static str, &'static str, &'static str, &'static [&'static str])],
    /// Whether objects have a `metadata.generation`.
    generations: bool,
    hash: &'static str,
    /// Paths that can be selected by, besides name and namespace.
    selectable: &'static [&'static str],
    /// What an object has besides its metadata though nobody has said anything.
    empty: &'static str,
}

const ROW: Row = Row {
    group: "",
    version: "v1",
    plural: "",
    singular: "",
    kind: "",
    short: &[],
    categories: &[],
    namespaced: true,
    verbs: ALL,
    kept: true,
    subresources: &[],
    others: &[],
    generations: false,
    hash: "",
    selectable: &[],
    empty: "{}",
};

/// The built-in resources.
pub(super) fn resources() -> impl Iterator<Item = Resource> {
    TABLE.iter().map(|row| Resource {
        group: Cow::Borrowed(row.group),
        version: Cow::Borrowed(row.version),
        plural: Cow::Borrowed(row.plural),
        singular: Cow::Borrowed(row.singular),
        kind: Cow::Borrowed(row.kind),
        list_kind: Cow::Owned(format!("{}List", row.kind)),
        namespaced: row.namespaced,
        short_names: row.short.iter().copied().map(Cow::Borrowed).collect(),
        categories: row.categories.iter().copied().map(Cow::Borrowed).collect(),
        verbs: row.verbs,
        kept: row.kept,
        subresources: row.subresources.iter().copied().map(Cow::Borrowed).collect(),
        others: row
            .others
            .iter()
            .map(|&(name, group, version, kind, verbs)| Subresource { name, group, version, kind, verbs })
            .collect(),
        empty: row.empty,
        warning: if row.plural == "endpoints" { ENDPOINTS } else { "" },
        storage_version_hash: row.hash,
        storage: storage(row),
        first: row.group != "events.k8s.io" && (row.group, row.version) != ("autoscaling", "v1"),
        custom: false,
        counts_generations: row.generations,
        columns: Vec::new(),
        schema: None,
        selectable: row.selectable.iter().map(|path| (Cow::Borrowed(*path), split(path))).collect(),
    })
}

/// Events have two groups and one place.
fn storage(row: &Row) -> Cow<'static, str> {
    match row.group {
        "" | "events.k8s.io" => Cow::Borrowed(row.plural),
        group => Cow::Owned(format!("{}.{group}", row.plural)),
    }
}

/// Where the value of a field of this name is. All of them are paths, but for events: the `source` means its
/// component, and events.k8s.io has other words for what is stored as core/v1 has it.
fn split(path: &str) -> Vec<String> {
    let step = |step| match step {
        "regarding" => "involvedObject",
        "reportingController" => "reportingComponent",
        step => step,
    };
    match path {
        "source" => vec!["source".to_owned(), "component".to_owned()],
        path => path.split('.').map(|part| step(part).to_owned()).collect(),
    }
}

/// What custom resources can do, too.
pub(super) const CUSTOM_VERBS: &[&str] =
    &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
