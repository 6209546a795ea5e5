//! [`Lazy`]: an object kept as compact JSON, with its metadata at hand, decoded when it is asked for.
//!
//! Two allocations hold all of it: the text, and the places of the metadata's strings in that text. The text is JSON
//! that `serde_json` accepts, so only a body that does not fit the type can fail to decode.

mod packed;
mod raw;
mod read;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::{DeserializeOwned, Error as _};

use crate::error::{Error, ErrorKind, Result, Stage};
use crate::json::{Fault, decode_error, short_name};
use crate::key::ObjectKey;
use crate::meta::{Labels, MetaView, Object};
use crate::representation::{DecodeOptions, Representation};
use packed::Span;
pub(crate) use packed::{Packed, PackedPairs};

/// An object of type `K` that is kept as JSON: the form for large clusters.
///
/// A typed Pod takes five to ten times the memory of its JSON, and building it several times the time of reading
/// it. A `Lazy<Pod>` has its metadata ready, so stores, selectors and handlers that look at keys, labels or owners
/// work as with the typed object, and [`decode`](Lazy::decode) gives the typed object where one is needed.
///
/// Whitespace and `metadata.managedFields` are dropped (D9); everything else stays as the server sent it, fields
/// that `K` does not know included. Where a key is written twice, both stay in the text and the last one counts.
///
/// ```
/// use informer_core::{DecodeOptions, Lazy, Object};
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let json = r#"{"metadata": {"namespace": "default", "name": "app", "labels": {"tier": "web"}}, "data": {"a": "1"}}"#;
/// let lazy = Lazy::<ConfigMap>::from_json(json, DecodeOptions::default())?;
/// assert_eq!(lazy.key().to_string(), "default/app");
/// assert_eq!(lazy.labels().get("tier"), Some("web"));
/// let typed: ConfigMap = lazy.decode()?;
/// assert_eq!(typed.data.unwrap()["a"], "1");
/// # Ok::<(), informer_core::Error>(())
/// ```
pub struct Lazy<K> {
    /// Compact JSON, then the strings of the metadata that it writes with escapes.
    text: Box<str>,
    /// Labels (key, value; sorted by key), then finalizers, then owner references.
    spans: Box<[Span]>,
    /// Length of the JSON.
    json: u32,
    /// Where in `spans` the finalizers begin, and where the owner references do.
    finalizers: u32,
    owners: u32,
    namespace: Span,
    name: Span,
    uid: Span,
    resource_version: Span,
    deletion_timestamp: Span,
    annotations: Span,
    generation: Option<i64>,
    kind: PhantomData<fn() -> K>,
}

/// An owner reference of a [`Lazy`] object. Absent values are empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerView<'a> {
    /// apiVersion of the owner.
    pub api_version: &'a str,
    /// Kind of the owner.
    pub kind: &'a str,
    /// Name of the owner.
    pub name: &'a str,
    /// UID of the owner.
    pub uid: &'a str,
    /// Whether the owner is the managing controller.
    pub controller: bool,
    /// Whether the owner's deletion waits for this object.
    pub block_owner_deletion: bool,
}

impl<K> Lazy<K> {
    /// Reads one object.
    ///
    /// # Errors
    /// [`ErrorKind::Decode`] if the text is not one JSON object, if a part of its metadata has the wrong type, or if
    /// it has no `metadata.name`. The error tells the byte, and nothing of the object.
    pub fn from_json(json: &str, options: DecodeOptions) -> Result<Self> {
        let reading = read::read(json, options).map_err(|fault| not_read(&fault))?;
        let (found, text) = (reading.found, reading.text);
        let mut spans = Vec::with_capacity(
            2 * found.labels.len() + found.finalizers.len() + read::OWNER * found.owners.len(),
        );
        spans.extend(found.labels.into_iter().flatten());
        // An empty owner reference, five spans, takes three bytes of a text below 2 GiB: the counts fit.
        let finalizers = spans.len() as u32;
        spans.extend(found.finalizers);
        let owners = spans.len() as u32;
        spans.extend(found.owners.into_iter().flatten());
        let lazy = Lazy {
            text,
            spans: spans.into_boxed_slice(),
            json: reading.json,
            finalizers,
            owners,
            namespace: found.namespace,
            name: found.name,
            uid: found.uid,
            resource_version: found.resource_version,
            deletion_timestamp: found.deletion_timestamp,
            annotations: found.annotations.unwrap_or_default(),
            generation: found.generation,
            kind: PhantomData,
        };
        if lazy.name().is_empty() {
            let message = "an object without metadata.name cannot be cached; look at what the server sent";
            return Err(Error::new(ErrorKind::Decode, message).at(Stage::Decode));
        }
        Ok(lazy)
    }

    /// Reads one object from bytes; see [`from_json`](Lazy::from_json).
    ///
    /// # Errors
    /// Those of [`from_json`](Lazy::from_json), and bytes that are not UTF-8.
    pub fn from_slice(json: &[u8], options: DecodeOptions) -> Result<Self> {
        let text = std::str::from_utf8(json).map_err(|error| {
            not_read(&Fault { at: error.valid_up_to(), what: "bytes that are not UTF-8" })
        })?;
        Lazy::from_json(text, options)
    }

    /// The object as compact JSON.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.text[..self.json as usize]
    }

    /// Namespace and name.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new(self.namespace(), self.name())
    }

    /// Namespace; empty for cluster-scoped objects.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.get(self.namespace)
    }

    /// Name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.get(self.name)
    }

    /// UID; empty if there is none.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.get(self.uid)
    }

    /// resourceVersion; empty if there is none.
    #[must_use]
    pub fn resource_version(&self) -> &str {
        self.get(self.resource_version)
    }

    /// Generation: counts the changes of the desired state.
    #[must_use]
    pub fn generation(&self) -> Option<i64> {
        self.generation
    }

    /// When the object was asked to be deleted, as the server writes it (RFC 3339).
    #[must_use]
    pub fn deletion_timestamp(&self) -> Option<&str> {
        (!self.deletion_timestamp.is_empty()).then(|| self.get(self.deletion_timestamp))
    }

    /// Labels.
    #[must_use]
    pub fn labels(&self) -> Labels<'_> {
        Labels::from_packed(PackedPairs {
            text: self.packed(),
            spans: &self.spans[..self.finalizers as usize],
        })
    }

    /// Finalizers, in order.
    pub fn finalizers(&self) -> impl ExactSizeIterator<Item = &str> {
        self.spans[self.finalizers as usize..self.owners as usize].iter().map(|&span| self.get(span))
    }

    /// Owner references, in order.
    pub fn owner_references(&self) -> impl ExactSizeIterator<Item = OwnerView<'_>> {
        let (owners, _) = self.spans[self.owners as usize..].as_chunks::<{ read::OWNER }>();
        owners.iter().map(|[api_version, kind, name, uid, flags]| OwnerView {
            api_version: self.get(*api_version),
            kind: self.get(*kind),
            name: self.get(*name),
            uid: self.get(*uid),
            controller: flags.flags() & read::CONTROLLER != 0,
            block_owner_deletion: flags.flags() & read::BLOCKS != 0,
        })
    }

    /// Annotations as a JSON object, if there are any. They are not decoded before they are asked for.
    #[must_use]
    pub fn annotations_json(&self) -> Option<&str> {
        (!self.annotations.is_empty()).then(|| self.get(self.annotations))
    }

    /// Annotations, decoded.
    ///
    /// # Errors
    /// [`ErrorKind::Decode`] if one of them is not a string.
    pub fn annotations(&self) -> Result<BTreeMap<Cow<'_, str>, Cow<'_, str>>> {
        let Some(json) = self.annotations_json() else { return Ok(BTreeMap::new()) };
        serde_json::from_str::<BTreeMap<Text<'_>, Text<'_>>>(json)
            .map(|map| map.into_iter().map(|(key, value)| (key.0, value.0)).collect())
            .map_err(|cause| {
                decode_error(&format!("metadata.annotations of {}", self.key()), &cause).at(Stage::Decode)
            })
    }

    fn packed(&self) -> Packed<'_> {
        Packed { text: &self.text, json: self.json }
    }

    fn get(&self, span: Span) -> &str {
        self.packed().get(span)
    }
}

impl<K: DeserializeOwned> Lazy<K> {
    /// Builds the typed object. Nothing is kept: each call decodes again.
    ///
    /// # Errors
    /// [`ErrorKind::Decode`] if the body does not fit `K`. The error names the object and the place in
    /// [`json`](Lazy::json), and tells nothing of what is there.
    pub fn decode(&self) -> Result<K> {
        serde_json::from_str(self.json()).map_err(|cause| {
            decode_error(&format!("{} as {}", self.key(), short_name::<K>()), &cause).at(Stage::Decode)
        })
    }
}

impl<K: 'static> Object for Lazy<K> {
    fn meta(&self) -> MetaView<'_> {
        MetaView {
            namespace: self.namespace(),
            name: self.name(),
            uid: self.uid(),
            resource_version: self.resource_version(),
            labels: self.labels(),
        }
    }
}

/// Reads from `serde_json`'s deserializers only: the JSON itself is what is kept.
impl<K: kube_core::Resource + Send + Sync + 'static> Representation for Lazy<K> {
    type Resource = K;

    fn decode<'de, D: Deserializer<'de>>(deserializer: D, options: DecodeOptions) -> Result<Self, D::Error> {
        let json = raw::json(deserializer)?;
        Lazy::from_json(json.get(), options).map_err(D::Error::custom)
    }

    fn decode_str(json: &str, options: DecodeOptions) -> Result<Self> {
        Lazy::from_json(json, options)
    }
}

impl<K> Clone for Lazy<K> {
    fn clone(&self) -> Self {
        Lazy { text: self.text.clone(), spans: self.spans.clone(), kind: PhantomData, ..*self }
    }
}

/// Tells which object it is and how long, not what is in it.
impl<K> fmt::Debug for Lazy<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy")
            .field("kind", &format_args!("{}", short_name::<K>()))
            .field("key", &self.key())
            .field("uid", &self.uid())
            .field("resource_version", &self.resource_version())
            .field("bytes", &self.json)
            .finish_non_exhaustive()
    }
}

/// A string that borrows where it can, as a key too.
#[derive(serde::Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn not_read(fault: &Fault) -> Error {
    Error::new(ErrorKind::Decode, format!("an object cannot be read: {} at byte {}", fault.what, fault.at))
        .at(Stage::Decode)
}

#[cfg(test)]
mod tests;
