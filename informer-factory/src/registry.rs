//! [`Registry`]: which informer stands under which key, who asked for it, and which have been started. No lock.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::panic::Location;

use informer_core::kube_core::ApiResource;
use informer_core::{AnyInformer, Object, SharedInformer};

use crate::options::InformerOptions;
use crate::waiting::{Named, called};

/// What makes an informer the same: resource, representation, namespace, selectors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) representation: TypeId,
    pub(crate) resource: ApiResource,
    /// Empty for all namespaces.
    pub(crate) namespace: String,
    pub(crate) labels: String,
    pub(crate) fields: String,
}

impl Key {
    /// What tells the informer from others of its resource, `T` being its representation.
    pub(crate) fn name<T>(&self) -> String {
        let mut name = short_name(std::any::type_name::<T>());
        let parts = [(" in ", &self.namespace), (", labels ", &self.labels), (", fields ", &self.fields)];
        for (word, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
            name.push_str(word);
            name.push_str(part);
        }
        name
    }
}

/// The name of a type without the modules it and its parameters are in.
fn short_name(name: &str) -> String {
    let parts = name.split_inclusive(['<', '>', ',', ' ']);
    parts.map(|part| part.rsplit("::").next().unwrap_or(part)).collect()
}

/// An informer of the factory.
pub(crate) struct Entry {
    informer: Box<dyn AnyInformer>,
    /// The same as a `SharedInformer<T>`, with its `InformerOptions<T>`.
    typed: Box<dyn Any + Send + Sync>,
    pub(crate) caller: &'static Location<'static>,
    pub(crate) started: bool,
}

struct Typed<T: Object> {
    informer: SharedInformer<T>,
    options: InformerOptions<T>,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Registry {
    entries: HashMap<Key, Entry>,
    /// `InformerOptions<T>` by the type of `T`, with who configured it.
    defaults: HashMap<TypeId, (Box<dyn Any + Send + Sync>, &'static Location<'static>)>,
    /// Who first asked for an informer of a type.
    first: HashMap<TypeId, &'static Location<'static>>,
    pub(crate) shut_down: bool,
}

impl Registry {
    /// The informer under `key`, its options, and who asked first. One that was stopped counts only after a shutdown,
    /// when no other will come.
    pub(crate) fn get<T: Object>(
        &self,
        key: &Key,
    ) -> Option<(&SharedInformer<T>, &InformerOptions<T>, &'static Location<'static>)> {
        let entry = self.entries.get(key)?;
        let typed = entry.typed.downcast_ref::<Typed<T>>()?;
        (self.shut_down || !typed.informer.is_stopped()).then_some((
            &typed.informer,
            &typed.options,
            entry.caller,
        ))
    }

    /// Puts an informer under `key`; a stopped one that stood there goes, and is handed out.
    pub(crate) fn insert<T: Object>(
        &mut self,
        key: Key,
        informer: &SharedInformer<T>,
        options: InformerOptions<T>,
        caller: &'static Location<'static>,
    ) -> Option<Entry> {
        let typed = Box::new(Typed { informer: informer.clone(), options });
        let entry = Entry { informer: Box::new(informer.clone()), typed, caller, started: false };
        self.entries.insert(key, entry)
    }

    /// Remembers that `caller` asks for an informer of objects `T`, and answers the options it starts from.
    pub(crate) fn ask<T: Object>(
        &mut self,
        caller: &'static Location<'static>,
    ) -> Option<&InformerOptions<T>> {
        self.first.entry(TypeId::of::<T>()).or_insert(caller);
        self.defaults.get(&TypeId::of::<T>())?.0.downcast_ref()
    }

    /// Who first asked for an informer of objects `T`.
    pub(crate) fn first_caller<T: 'static>(&self) -> Option<&'static Location<'static>> {
        self.first.get(&TypeId::of::<T>()).copied()
    }

    /// Who configured informers of objects `T`.
    pub(crate) fn configured_by<T: 'static>(&self) -> Option<&'static Location<'static>> {
        self.defaults.get(&TypeId::of::<T>()).map(|(_, caller)| *caller)
    }

    /// Sets the options every informer of objects `T` starts from.
    pub(crate) fn set_defaults<T: Object>(
        &mut self,
        options: InformerOptions<T>,
        caller: &'static Location<'static>,
    ) {
        self.defaults.insert(TypeId::of::<T>(), (Box::new(options), caller));
    }

    /// The informers that were started.
    pub(crate) fn started(&self) -> Vec<Named> {
        let started = self.entries.iter().filter(|(_, entry)| entry.started);
        started.map(|(key, entry)| (called(&*entry.informer, &key.namespace), entry.share())).collect()
    }

    /// Every informer.
    pub(crate) fn entries(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.values_mut()
    }
}

impl Entry {
    pub(crate) fn share(&self) -> Box<dyn AnyInformer> {
        self.informer.share()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn me_1_names_tell_informers_of_one_resource_apart() {
        assert_eq!(short_name("k8s_openapi::v1_33::api::core::v1::pod::Pod"), "Pod");
        assert_eq!(short_name("a::Lazy<b::c::Pod>"), "Lazy<Pod>");
        assert_eq!(short_name("a::Both<b::C, d::E<f::G>>"), "Both<C, E<G>>");
        let mut key = Key {
            representation: TypeId::of::<u8>(),
            resource: ApiResource::from_gvk(&informer_core::kube_core::GroupVersionKind::gvk(
                "", "v1", "Pod",
            )),
            namespace: String::new(),
            labels: String::new(),
            fields: String::new(),
        };
        assert_eq!(key.name::<Option<u8>>(), "Option<u8>");
        key.namespace = "shop".to_owned();
        key.labels = "app=web".to_owned();
        key.fields = "spec.nodeName=n".to_owned();
        assert_eq!(key.name::<Option<u8>>(), "Option<u8> in shop, labels app=web, fields spec.nodeName=n");
    }
}
