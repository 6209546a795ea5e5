//! [`Lister`]: read access in the words of client-go's listers.

use std::fmt;
use std::sync::Arc;

use kube_core::{Status, response::StatusDetails};

use crate::error::{Error, Result};
use crate::meta::Object;
use crate::selector::Selector;
use crate::store::{Store, selected};

/// Reads an informer's cache; made by [`SharedInformer::lister`](crate::SharedInformer::lister).
///
/// Never asks the network (LS-6) and never waits: before the first list it finds nothing (LS-7).
pub struct Lister<T> {
    store: Store<T>,
    resource: Arc<str>,
}

/// A [`Lister`] of one namespace; an empty namespace means all, as for [`Lister`] itself.
pub struct NamespaceLister<T> {
    lister: Lister<T>,
    namespace: String,
}

impl<T: Object> Lister<T> {
    pub(crate) fn new(store: Store<T>, resource: &str) -> Self {
        Lister { store, resource: Arc::from(resource) }
    }

    /// All objects, in no order.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<T>> {
        self.store.list()
    }

    /// The objects whose labels `selector` matches, in no order; see [`Store::select`].
    #[must_use]
    pub fn select(&self, selector: impl Into<Selector>) -> Vec<Arc<T>> {
        self.store.select(selector)
    }

    /// The cluster-scoped object `name`, or `namespace/name` in one text.
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found), with a status that names resource and object (LS-3).
    pub fn get(&self, name: &str) -> Result<Arc<T>> {
        self.store.get(name).ok_or_else(|| self.not_found(name))
    }

    /// The objects of one namespace.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> NamespaceLister<T> {
        NamespaceLister { lister: self.clone(), namespace: namespace.to_owned() }
    }

    /// The store that it reads.
    #[must_use]
    pub fn store(&self) -> &Store<T> {
        &self.store
    }

    fn not_found(&self, name: &str) -> Error {
        // `widgets.example.com` is widgets of the group example.com, `pods` is of the core group.
        let (resource, group) = self.resource.split_once('.').unwrap_or((&self.resource, ""));
        let details = StatusDetails {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: resource.to_owned(),
            uid: String::new(),
            causes: Vec::new(),
            retry_after_seconds: 0,
        };
        let text = format!("{} {name:?} not found", self.resource);
        Error::from_status(Status::failure(&text, "NotFound").with_code(404).with_details(details))
    }
}

impl<T: Object> NamespaceLister<T> {
    /// All objects of the namespace, in no order.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<T>> {
        self.lister.store.in_namespace(&self.namespace)
    }

    /// The objects of the namespace whose labels `selector` matches, in no order.
    #[must_use]
    pub fn select(&self, selector: impl Into<Selector>) -> Vec<Arc<T>> {
        selected(self.list(), &selector.into())
    }

    /// The object `name` of the namespace.
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found), with a status that names resource and object (LS-3).
    pub fn get(&self, name: &str) -> Result<Arc<T>> {
        let key = (self.namespace.as_str(), name);
        self.lister.store.get(key).ok_or_else(|| self.lister.not_found(name))
    }
}

impl<T> Clone for Lister<T> {
    fn clone(&self) -> Self {
        Lister { store: self.store.clone(), resource: Arc::clone(&self.resource) }
    }
}

impl<T> Clone for NamespaceLister<T> {
    fn clone(&self) -> Self {
        NamespaceLister { lister: self.lister.clone(), namespace: self.namespace.clone() }
    }
}

impl<T> fmt::Debug for Lister<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lister").field("resource", &self.resource).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for NamespaceLister<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamespaceLister").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}
