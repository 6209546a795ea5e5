//! [`Representation`]: how an object is decoded, and which resource it stands for.
//!
//! Typed objects are one representation, [`Lazy`](crate::Lazy) is another; `PartialObjectMeta` and
//! `DynamicObject` come with kube-core and are typed objects in this sense.

use serde::Deserializer;
use serde::de::DeserializeOwned;

use crate::meta::Object;

/// An object that can be decoded from the wire.
///
/// Implemented for every `kube_core::Resource` that serde can deserialize, and for [`Lazy`](crate::Lazy).
pub trait Representation: Object + Sized {
    /// The resource whose objects these are: `Pod` for `Pod` and for `Lazy<Pod>`.
    type Resource: kube_core::Resource;

    /// Decodes one object.
    ///
    /// # Errors
    /// The deserializer's.
    fn decode<'de, D: Deserializer<'de>>(deserializer: D, options: DecodeOptions) -> Result<Self, D::Error>;
}

/// What to keep of an object while decoding it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// Whether `metadata.managedFields` is built; by default it is skipped while parsing (D9).
    pub keep_managed_fields: bool,
}

impl DecodeOptions {
    /// Keeps `metadata.managedFields`.
    #[must_use]
    pub fn keep_managed_fields(mut self, keep: bool) -> Self {
        self.keep_managed_fields = keep;
        self
    }
}

impl<K> Representation for K
where
    K: kube_core::Resource + DeserializeOwned + Send + Sync + 'static,
{
    type Resource = K;

    fn decode<'de, D: Deserializer<'de>>(deserializer: D, _options: DecodeOptions) -> Result<Self, D::Error> {
        K::deserialize(deserializer)
    }
}
