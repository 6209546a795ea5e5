//! [`Representation`]: how an object is decoded, and which resource it stands for.
//!
//! Typed objects are one representation, [`Lazy`](crate::Lazy) is another; `PartialObjectMeta` and
//! `DynamicObject` come with kube-core and are typed objects in this sense.

mod shape;
mod tight;

use std::any::Any;

use kube_core::DynamicObject;
use serde::Deserializer;
use serde::de::DeserializeOwned;

use crate::error::{Result, Stage};
use crate::json::{decode_error, short_name};
use crate::meta::Object;
use shape::{Place, Shape};
use tight::Tight;

/// An object that can be decoded from the wire.
///
/// Implemented for every `kube_core::Resource` that serde can deserialize, and for [`Lazy`](crate::Lazy).
pub trait Representation: Object + Sized {
    /// The resource whose objects these are: `Pod` for `Pod` and for `Lazy<Pod>`.
    type Resource: kube_core::Resource;

    /// Decodes one object.
    ///
    /// Where its text is at hand, [`decode_str`](Representation::decode_str) is faster and allocates less.
    ///
    /// # Errors
    /// The deserializer's. They may quote the object: do not log them, see [`decode_error`].
    fn decode<'de, D: Deserializer<'de>>(deserializer: D, options: DecodeOptions) -> Result<Self, D::Error>;

    /// Decodes one object from its JSON.
    ///
    /// Equal to [`decode`](Representation::decode), and in addition gives every vector of a typed object exactly
    /// the room it needs, and spares [`Lazy`](crate::Lazy) objects a second pass over the text.
    ///
    /// # Errors
    /// [`ErrorKind::Decode`](crate::ErrorKind::Decode); nothing of the object is in the text of the error.
    fn decode_str(json: &str, options: DecodeOptions) -> Result<Self>;
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

    fn decode<'de, D: Deserializer<'de>>(deserializer: D, options: DecodeOptions) -> Result<Self, D::Error> {
        K::deserialize(Tight::object(deserializer, Place::unknown(), options)).map(tighten)
    }

    fn decode_str(json: &str, options: DecodeOptions) -> Result<Self> {
        let shape = Shape::of(json);
        let mut deserializer = serde_json::Deserializer::from_str(json);
        K::deserialize(Tight::object(&mut deserializer, shape.root(), options))
            .and_then(|object| deserializer.end().map(|()| tighten(object)))
            .map_err(|cause| decode_error(short_name::<K>(), &cause).at(Stage::Decode))
    }
}

/// Shrinks the arrays of a `DynamicObject`: `serde_json`'s own value does not take hints.
fn tighten<K: Any>(mut object: K) -> K {
    if let Some(dynamic) = (&mut object as &mut dyn Any).downcast_mut::<DynamicObject>() {
        shrink(&mut dynamic.data);
    }
    object
}

fn shrink(value: &mut serde_json::Value) {
    // As deep as serde_json's own limit on nesting at most.
    match value {
        serde_json::Value::Array(elements) => {
            elements.shrink_to_fit();
            elements.iter_mut().for_each(shrink);
        }
        serde_json::Value::Object(members) => members.values_mut().for_each(shrink),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
