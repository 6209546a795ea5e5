//! What the server serves: one [`Resource`] for each kind in each version, and the [`Registry`] of them.
//!
//! A registry never changes: when a `CustomResourceDefinition` comes or goes, the engine makes another. Whoever holds
//! one sees one consistent set of resources for as long as it likes.

use std::borrow::Cow;
use std::sync::Arc;

use super::builtin;

/// A kind in one version, with all that discovery tells and requests need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resource {
    /// Empty for core.
    pub(super) group: Cow<'static, str>,
    pub(super) version: Cow<'static, str>,
    pub(super) plural: Cow<'static, str>,
    pub(super) singular: Cow<'static, str>,
    pub(super) kind: Cow<'static, str>,
    pub(super) list_kind: Cow<'static, str>,
    pub(super) namespaced: bool,
    pub(super) short_names: Vec<Cow<'static, str>>,
    pub(super) categories: Vec<Cow<'static, str>>,
    /// Whether there are objects of it to be had. What is not is told of in discovery alone.
    pub(super) kept: bool,
    /// In the order of discovery: alphabetical.
    pub(super) verbs: &'static [&'static str],
    /// Names only: `status`, `scale`.
    pub(super) subresources: Vec<Cow<'static, str>>,
    /// Subresources that are told of in discovery alone.
    pub(super) others: Vec<Subresource>,
    /// The JSON of what an object has besides its metadata though nobody has said anything: bookmarks are such
    /// objects.
    pub(super) empty: &'static str,
    /// What every answer warns of; empty: nothing.
    pub(super) warning: &'static str,
    /// As a real server tells it; empty where we do not know it.
    pub(super) storage_version_hash: &'static str,
    /// Where the objects are kept: resources with one storage are views of the same objects.
    pub(super) storage: Cow<'static, str>,
    /// Whether it is the first view of its storage: lines that it tells to watches can be shared.
    pub(super) first: bool,
    /// Whether a `CustomResourceDefinition` made it. Such objects are written in another order of fields.
    pub(super) custom: bool,
    /// Whether its objects count the changes of what is asked of them.
    pub(super) counts_generations: bool,
    /// What `additionalPrinterColumns` says, for tables; only of custom resources.
    pub(super) columns: Vec<Column>,
    /// What the fields of its objects may be; only of custom resources.
    pub(super) schema: Option<serde_json::Value>,
    /// What can be selected by, besides name and namespace: label of the selector, path to the value.
    pub(super) selectable: Vec<(Cow<'static, str>, Vec<String>)>,
}

/// A part of objects that discovery tells of, and that nobody answers for here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subresource {
    pub(super) name: &'static str,
    /// Group and version of what it takes, where they are others than its own.
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    pub(super) verbs: &'static [&'static str],
}

/// One of `additionalPrinterColumns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub(super) kind: String,
    pub(super) format: String,
    pub(super) description: String,
    pub(super) priority: i64,
    pub(super) json_path: String,
}

impl Resource {
    /// `v1`, or `GROUP/VERSION`.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `plural`, or `plural.group`: how messages and this server's own calls spell it.
    pub(super) fn full_name(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_string()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// What an object has besides its metadata though nobody has said anything.
    pub(super) fn empty(&self) -> serde_json::Value {
        serde_json::from_str(self.empty).unwrap_or_else(|_| serde_json::json!({}))
    }

    /// Whether it has this subresource.
    pub(super) fn has(&self, subresource: &str) -> bool {
        self.subresources.iter().any(|name| name == subresource)
    }
}

/// Everything that is served now.
#[derive(Clone, Debug)]
pub(super) struct Registry {
    resources: Vec<Arc<Resource>>,
}

impl Registry {
    /// The built-in resources.
    pub(super) fn new() -> Self {
        Registry { resources: builtin::resources().map(Arc::new).collect() }
    }

    /// The built-in resources and, after them, `custom`.
    pub(super) fn with(custom: impl IntoIterator<Item = Arc<Resource>>) -> Self {
        let mut registry = Registry::new();
        registry.resources.extend(custom);
        registry
    }

    /// Every resource: the built-in ones in the order of discovery, then those of established definitions.
    pub(super) fn resources(&self) -> &[Arc<Resource>] {
        &self.resources
    }

    /// The resource behind a path.
    pub(super) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        let asked = |r: &&Arc<Resource>| r.group == group && r.version == version && r.plural == plural;
        self.resources.iter().find(asked).filter(|r| r.kept)
    }

    /// The first resource whose objects are in a storage.
    pub(super) fn of_storage(&self, storage: &str) -> Option<&Arc<Resource>> {
        self.resources.iter().find(|r| r.storage == storage)
    }

    /// The paths that objects of a storage can be selected by.
    pub(super) fn selectable(&self, storage: &str) -> Vec<Vec<String>> {
        let mine = self.resources.iter().filter(|r| r.storage == storage);
        let mut paths: Vec<_> =
            mine.flat_map(|r| r.selectable.iter().map(|(_, path)| path.clone())).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// The resource of a name as kubectl takes it: `pods`, `deployments.apps`, `widgets.v1.example.com`.
    pub(super) fn named(&self, name: &str) -> Option<&Arc<Resource>> {
        self.resources.iter().find(|r| r.full_name() == name).or_else(|| {
            let with_version = |r: &&Arc<Resource>| format!("{}.{}.{}", r.plural, r.version, r.group) == name;
            self.resources
                .iter()
                .find(with_version)
                .or_else(|| self.resources.iter().find(|r| r.plural == name))
        })
    }
}
