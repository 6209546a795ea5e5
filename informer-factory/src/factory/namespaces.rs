//! `in_namespaces`: one kind in several namespaces, asked for as one.
//!
//! Invariant: what cannot be had is said before any informer is made, since one that is made is started.

use std::panic::Location;
use std::sync::Arc;

use informer_core::kube_core::{ApiResource, Resource};
use informer_core::{Error, ErrorKind, Representation, Result};

use super::{SharedInformerFactory, has_namespaces};
use crate::multi::MultiInformer;
use crate::options::InformerOptions;

impl SharedInformerFactory {
    /// The informers of objects `T` in each of `namespaces`, as one: a typed object, `Lazy` of one, or
    /// `PartialObjectMeta` of one. Each is the same that [`informer_with`](SharedInformerFactory::informer_with) gives
    /// for its namespace alone.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] when there is no namespace, one is empty or comes twice, or `T` has no namespaces;
    /// [`ErrorKind::OptionsConflict`] when [`configure`](SharedInformerFactory::configure) chose a namespace.
    #[track_caller]
    pub fn in_namespaces<T: Representation>(
        &self,
        namespaces: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<MultiInformer<T>>
    where
        T::Resource: Resource<DynamicType = ()>,
        <T::Resource as Resource>::Scope: 'static,
    {
        self.in_namespaces_with(namespaces, |_| ())
    }

    /// As [`in_namespaces`](SharedInformerFactory::in_namespaces), with options that hold in each of them.
    ///
    /// # Errors
    /// As there; also [`ErrorKind::OptionsConflict`] when the options choose a namespace too, or an informer is shared
    /// with somebody who chose otherwise: none is made then.
    #[track_caller]
    pub fn in_namespaces_with<T: Representation>(
        &self,
        namespaces: impl IntoIterator<Item = impl Into<String>>,
        choose: impl FnOnce(&mut InformerOptions<T>),
    ) -> Result<MultiInformer<T>>
    where
        T::Resource: Resource<DynamicType = ()>,
        <T::Resource as Resource>::Scope: 'static,
    {
        let resource = ApiResource::erase::<T::Resource>(&());
        if !has_namespaces::<T>() {
            let text = format!("{} have no namespaces; ask for the informer of all of them", resource.plural);
            return Err(Error::new(ErrorKind::Config, text));
        }
        self.of_namespaces(&resource, distinct(namespaces)?, choose, Location::caller())
    }

    /// As [`in_namespaces_with`](SharedInformerFactory::in_namespaces_with), for a resource that is known only at run
    /// time; that it has namespaces is taken on trust.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn dynamic_in_namespaces<T: Representation>(
        &self,
        resource: &ApiResource,
        namespaces: impl IntoIterator<Item = impl Into<String>>,
        choose: impl FnOnce(&mut InformerOptions<T>),
    ) -> Result<MultiInformer<T>>
    where
        T::Resource: Resource<DynamicType = ApiResource>,
    {
        self.of_namespaces(resource, distinct(namespaces)?, choose, Location::caller())
    }

    fn of_namespaces<T: Representation>(
        &self,
        resource: &ApiResource,
        namespaces: Vec<String>,
        choose: impl FnOnce(&mut InformerOptions<T>),
        caller: &'static Location<'static>,
    ) -> Result<MultiInformer<T>> {
        let mut wanted = InformerOptions::default();
        choose(&mut wanted);
        let defaults = self.inner.registry.lock().ask::<T>(caller).cloned().unwrap_or_default();
        if let Some(namespace) = wanted.namespace.as_ref().or(defaults.namespace.as_ref()) {
            let text = format!(
                "{}: the options choose the namespace {namespace:?}, and {caller} asks for {}; choose them in one place",
                resource.plural,
                namespaces.join(", ")
            );
            return Err(Error::new(ErrorKind::OptionsConflict, text));
        }
        let options: Vec<InformerOptions<T>> = namespaces
            .iter()
            .map(|namespace| InformerOptions { namespace: Some(namespace.clone()), ..wanted.clone() })
            .collect();
        // Nothing is made if one of them cannot be had: an informer once made is started with the others.
        for options in &options {
            let key = self.key(resource, options, &defaults, true);
            if let Some(Err(error)) = self.shared(&key, options, caller) {
                return Err(error);
            }
        }
        let informers: Vec<_> = options
            .iter()
            .map(|options| self.of_resource(resource, options, true, caller))
            .collect::<Result<_>>()?;
        Ok(MultiInformer::new(namespaces.into_iter().zip(informers), Arc::clone(&self.inner.clock)))
    }
}

/// `namespaces`, if there are some, and each is one and comes once.
fn distinct(namespaces: impl IntoIterator<Item = impl Into<String>>) -> Result<Vec<String>> {
    let namespaces: Vec<String> = namespaces.into_iter().map(Into::into).collect();
    let refuse = |text: String| Err(Error::new(ErrorKind::Config, text));
    if namespaces.is_empty() {
        return refuse(
            "no namespace is named; for all of them ask for the informer without a namespace".into(),
        );
    }
    for (at, namespace) in namespaces.iter().enumerate() {
        if namespace.is_empty() {
            return refuse(
                "an empty namespace stands for all of them; ask for the informer of all of them".into(),
            );
        }
        if namespaces[..at].contains(namespace) {
            return refuse(format!("namespace {namespace:?} comes twice; name it once"));
        }
    }
    Ok(namespaces)
}
