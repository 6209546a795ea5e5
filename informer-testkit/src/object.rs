//! [`TestObject`], the smallest object there can be, and [`config_map`], a typed one.
//!
//! [`Versioned`] is what a [`FakeSource`](crate::FakeSource) needs of either: a UID and a version it can set.

use std::collections::BTreeMap;
use std::fmt;

use informer_core::kube_core::Resource;
use informer_core::{Labels, MetaView, Object, ObjectKey};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// An object with nothing but what an informer looks at, and one number for tests to change.
///
/// ```
/// use informer_testkit::TestObject;
///
/// let object = TestObject::new("default/a").uid("u1").version("10").label("app", "web").value(3);
/// assert_eq!(object.to_string(), "default/a@10");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TestObject {
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// resourceVersion.
    pub resource_version: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// The content.
    pub value: u64,
}

impl TestObject {
    /// An object with this key (`namespace/name`, or `name`) and neither UID nor version.
    #[must_use]
    pub fn new(key: &str) -> Self {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        TestObject { namespace: namespace.to_owned(), name: name.to_owned(), ..TestObject::default() }
    }

    /// The same object with this UID.
    #[must_use]
    pub fn uid(mut self, uid: &str) -> Self {
        uid.clone_into(&mut self.uid);
        self
    }

    /// The same object with this resourceVersion.
    #[must_use]
    pub fn version(mut self, version: &str) -> Self {
        version.clone_into(&mut self.resource_version);
        self
    }

    /// The same object with this label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// The same object with this content.
    #[must_use]
    pub fn value(mut self, value: u64) -> Self {
        self.value = value;
        self
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new(&self.namespace, &self.name)
    }
}

/// Prints `namespace/name@version`.
impl fmt::Display for TestObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.key(), self.resource_version)
    }
}

impl Object for TestObject {
    fn meta(&self) -> MetaView<'_> {
        MetaView {
            namespace: &self.namespace,
            name: &self.name,
            uid: &self.uid,
            resource_version: &self.resource_version,
            labels: Labels::from_map(Some(&self.labels)),
        }
    }
}

/// A `ConfigMap`; empty texts leave the field out.
///
/// ```
/// use informer_core::Object;
///
/// let map = informer_testkit::config_map("default", "settings", "u1", "10");
/// assert_eq!(Object::meta(&map).key().as_str(), "default/settings");
/// ```
#[must_use]
pub fn config_map(namespace: &str, name: &str, uid: &str, resource_version: &str) -> ConfigMap {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    ConfigMap {
        metadata: ObjectMeta {
            namespace: given(namespace),
            name: given(name),
            uid: given(uid),
            resource_version: given(resource_version),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

/// An object whose UID and version can be set, as an API server does: what [`FakeSource`](crate::FakeSource) holds.
///
/// Implemented for every `kube_core::Resource` that can be cloned, and for [`TestObject`].
pub trait Versioned: Object + Clone {
    /// Sets UID and version.
    fn set_identity(&mut self, uid: &str, resource_version: &str);
}

impl<K: Resource + Clone + Send + Sync + 'static> Versioned for K {
    fn set_identity(&mut self, uid: &str, resource_version: &str) {
        let meta = self.meta_mut();
        meta.uid = Some(uid.to_owned());
        meta.resource_version = Some(resource_version.to_owned());
    }
}

impl Versioned for TestObject {
    fn set_identity(&mut self, uid: &str, resource_version: &str) {
        uid.clone_into(&mut self.uid);
        resource_version.clone_into(&mut self.resource_version);
    }
}
