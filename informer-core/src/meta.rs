//! [`Object`]: what a cached type must tell about itself, as a borrowed [`MetaView`].

use std::collections::BTreeMap;
use std::fmt;

use crate::key::{KeyRef, ObjectKey};
use crate::lazy::PackedPairs;

/// Anything a cache can hold: every `kube_core::Resource`, and [`Lazy`](crate::Lazy).
pub trait Object: Send + Sync + 'static {
    /// The metadata that identifies and selects the object.
    ///
    /// Called often, at times under a lock of the informer's: it must be plain, and always say the same of one object.
    fn meta(&self) -> MetaView<'_>;
}

impl<K: kube_core::Resource + Send + Sync + 'static> Object for K {
    fn meta(&self) -> MetaView<'_> {
        let meta = kube_core::Resource::meta(self);
        MetaView {
            namespace: meta.namespace.as_deref().unwrap_or_default(),
            name: meta.name.as_deref().unwrap_or_default(),
            uid: meta.uid.as_deref().unwrap_or_default(),
            resource_version: meta.resource_version.as_deref().unwrap_or_default(),
            labels: Labels::from_map(meta.labels.as_ref()),
        }
    }
}

/// The parts of an object's metadata that the informer looks at. Absent values are empty.
#[derive(Clone, Copy, Debug)]
pub struct MetaView<'a> {
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// Name.
    pub name: &'a str,
    /// UID: tells two objects of one name apart.
    pub uid: &'a str,
    /// resourceVersion: tells two states of one object apart.
    pub resource_version: &'a str,
    /// Labels.
    pub labels: Labels<'a>,
}

impl<'a> MetaView<'a> {
    /// The borrowed key.
    #[must_use]
    pub fn key_ref(&self) -> KeyRef<'a> {
        KeyRef { namespace: self.namespace, name: self.name }
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        self.key_ref().to_key()
    }

    /// Whether both are the same state of the same object: versions non-empty and equal, and the same UID (D5).
    #[must_use]
    pub fn same_state(&self, other: &MetaView<'_>) -> bool {
        !self.resource_version.is_empty()
            && self.resource_version == other.resource_version
            && self.uid == other.uid
    }
}

/// Whether both UIDs are known and differ: two objects of one name (D4).
pub(crate) fn other_uid(a: &str, b: &str) -> bool {
    !a.is_empty() && !b.is_empty() && a != b
}

/// The labels of an object, however they are stored. Sorted by key.
#[derive(Clone, Copy)]
pub struct Labels<'a>(Inner<'a>);

#[derive(Clone, Copy)]
enum Inner<'a> {
    Map(&'a BTreeMap<String, String>),
    Pairs(&'a [(Box<str>, Box<str>)]),
    Packed(PackedPairs<'a>),
}

impl<'a> Labels<'a> {
    /// Labels held in a map, as typed objects do.
    #[must_use]
    pub fn from_map(map: Option<&'a BTreeMap<String, String>>) -> Self {
        match map {
            Some(map) => Labels(Inner::Map(map)),
            None => Labels(Inner::Pairs(&[])),
        }
    }

    /// Labels held as pairs sorted by key.
    #[must_use]
    pub fn from_sorted(pairs: &'a [(Box<str>, Box<str>)]) -> Self {
        debug_assert!(pairs.is_sorted_by(|a, b| a.0 < b.0), "labels are sorted by key");
        Labels(Inner::Pairs(pairs))
    }

    /// Labels of a [`Lazy`](crate::Lazy) object.
    pub(crate) fn from_packed(pairs: PackedPairs<'a>) -> Self {
        Labels(Inner::Packed(pairs))
    }

    /// The value of label `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'a str> {
        match self.0 {
            Inner::Map(map) => map.get(key).map(String::as_str),
            Inner::Pairs(pairs) => {
                let at = pairs.binary_search_by(|pair| (*pair.0).cmp(key)).ok()?;
                Some(&pairs[at].1)
            }
            Inner::Packed(pairs) => pairs.get(key),
        }
    }

    /// All labels, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let (map, pairs, packed) = match self.0 {
            Inner::Map(map) => (Some(map), &[][..], None),
            Inner::Pairs(pairs) => (None, pairs, None),
            Inner::Packed(packed) => (None, &[][..], Some(packed)),
        };
        let map = map.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str()));
        let pairs = pairs.iter().map(|(key, value)| (&**key, &**value));
        map.chain(pairs).chain(packed.into_iter().flat_map(PackedPairs::iter))
    }

    /// How many labels there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self.0 {
            Inner::Map(map) => map.len(),
            Inner::Pairs(pairs) => pairs.len(),
            Inner::Packed(pairs) => pairs.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Labels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
