//! [`Peek`]: what an object says about itself, read without building it and without trusting it.
//!
//! Whatever is missing, null, of another type or cut off is left out; nothing here fails. Everything else in the
//! object is stepped over, at the speed of finding its end.

use std::borrow::Cow;

use informer_core::{BadObject, Error, KeyRef};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// How far to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// `kind` and `apiVersion`, or the metadata: every server writes them before it, or not at all.
    Types,
    /// Namespace, name, UID and version, or the end of the metadata: a small part of the object.
    State,
    /// The end.
    End,
}

/// The type and the identity of an object, as far as they could be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Peek<'a> {
    pub(crate) api_version: Option<Cow<'a, str>>,
    pub(crate) kind: Option<Cow<'a, str>>,
    pub(crate) namespace: Option<Cow<'a, str>>,
    pub(crate) name: Option<Cow<'a, str>>,
    pub(crate) uid: Option<Cow<'a, str>>,
    pub(crate) resource_version: Option<Cow<'a, str>>,
    /// The annotation that ends the initial events of a streaming list. Only after [`Until::End`].
    pub(crate) initial_events_end: bool,
    /// All of the metadata was read: what is absent is absent.
    whole_metadata: bool,
}

impl<'a> Peek<'a> {
    /// Reads `text`, which may be anything, and may be the front part of an object.
    pub(crate) fn read(text: &'a str, until: Until) -> Self {
        let mut peek = Peek::default();
        let mut deserializer = serde_json::Deserializer::from_str(text);
        // An error is one of three: enough was read, the text ends early, or it is wrong, which whoever builds
        // the object finds out and reports. What was read up to there counts.
        let _ = Lenient(ObjectFields { peek: &mut peek, until }).deserialize(&mut deserializer);
        peek
    }

    /// The key. None if there is no name, or if a namespace could be in a part that was not read.
    pub(crate) fn key(&self) -> Option<KeyRef<'_>> {
        let name = self.name.as_deref().filter(|name| !name.is_empty())?;
        if self.namespace.is_none() && !self.whole_metadata {
            return None;
        }
        let namespace = self.namespace.as_deref().unwrap_or_default();
        // What stands where the bytes were no UTF-8 is not the name.
        if name.contains(char::REPLACEMENT_CHARACTER) || namespace.contains(char::REPLACEMENT_CHARACTER) {
            return None;
        }
        Some(KeyRef { namespace, name })
    }

    /// Key, UID and version, if all are there: what tells a state of an object.
    pub(crate) fn state(&self) -> Option<(KeyRef<'_>, &str, &str)> {
        Some((self.key()?, self.uid.as_deref()?, self.resource_version.as_deref()?))
    }

    /// The object as one that could not be decoded because of `error`.
    pub(crate) fn bad(&self, error: Error) -> BadObject {
        let key = self.key().map(KeyRef::to_key);
        let error = match &key {
            Some(key) => error.context(key),
            None => error.context("an object without a readable key"),
        };
        BadObject {
            key,
            uid: self.uid.as_deref().unwrap_or_default().to_owned(),
            resource_version: self.resource_version.as_deref().unwrap_or_default().to_owned(),
            error,
        }
    }

    fn has_types(&self) -> bool {
        self.kind.is_some() && self.api_version.is_some()
    }

    fn has_state(&self) -> bool {
        self.namespace.is_some()
            && self.name.is_some()
            && self.uid.is_some()
            && self.resource_version.is_some()
    }
}

/// What becomes of one value; by default nothing.
trait Reader<'de>: Sized {
    fn text(self, _text: Cow<'de, str>) {}

    fn fields<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// Reads a value with a [`Reader`], whatever its type is.
struct Lenient<R>(R);

/// A string.
struct Text<'r, 'de>(&'r mut Option<Cow<'de, str>>);

/// The string `true`.
struct True<'r>(&'r mut bool);

struct ObjectFields<'r, 'de> {
    peek: &'r mut Peek<'de>,
    until: Until,
}

struct MetadataFields<'r, 'de> {
    peek: &'r mut Peek<'de>,
    until: Until,
}

struct Annotations<'r, 'de>(&'r mut Peek<'de>);

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum ObjectField {
    ApiVersion,
    Kind,
    Metadata,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum MetadataField {
    Namespace,
    Name,
    Uid,
    ResourceVersion,
    Annotations,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(field_identifier)]
enum Annotation {
    #[serde(rename = "k8s.io/initial-events-end")]
    InitialEventsEnd,
    #[serde(other)]
    Other,
}

impl<'de> Reader<'de> for Text<'_, 'de> {
    fn text(self, text: Cow<'de, str>) {
        *self.0 = Some(text);
    }
}

impl<'de> Reader<'de> for True<'_> {
    fn text(self, text: Cow<'de, str>) {
        *self.0 = text == "true";
    }
}

impl<'de> Reader<'de> for ObjectFields<'_, 'de> {
    fn fields<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let ObjectFields { peek, until } = self;
        while let Some(field) = map.next_key::<ObjectField>()? {
            match field {
                ObjectField::ApiVersion => map.next_value_seed(Lenient(Text(&mut peek.api_version)))?,
                ObjectField::Kind => map.next_value_seed(Lenient(Text(&mut peek.kind)))?,
                ObjectField::Metadata if until == Until::Types => return Err(enough()),
                ObjectField::Metadata => {
                    map.next_value_seed(Lenient(MetadataFields { peek, until }))?;
                    if until == Until::State {
                        return Err(enough());
                    }
                }
                ObjectField::Other => _ = map.next_value::<IgnoredAny>()?,
            }
            if until == Until::Types && peek.has_types() {
                return Err(enough());
            }
        }
        Ok(())
    }
}

impl<'de> Reader<'de> for MetadataFields<'_, 'de> {
    fn fields<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let MetadataFields { peek, until } = self;
        while let Some(field) = map.next_key::<MetadataField>()? {
            match field {
                MetadataField::Namespace => map.next_value_seed(Lenient(Text(&mut peek.namespace)))?,
                MetadataField::Name => map.next_value_seed(Lenient(Text(&mut peek.name)))?,
                MetadataField::Uid => map.next_value_seed(Lenient(Text(&mut peek.uid)))?,
                MetadataField::ResourceVersion => {
                    map.next_value_seed(Lenient(Text(&mut peek.resource_version)))?;
                }
                MetadataField::Annotations => map.next_value_seed(Lenient(Annotations(peek)))?,
                MetadataField::Other => _ = map.next_value::<IgnoredAny>()?,
            }
            if until == Until::State && peek.has_state() {
                return Err(enough());
            }
        }
        peek.whole_metadata = true;
        Ok(())
    }
}

impl<'de> Reader<'de> for Annotations<'_, 'de> {
    fn fields<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(field) = map.next_key::<Annotation>()? {
            match field {
                Annotation::InitialEventsEnd => {
                    map.next_value_seed(Lenient(True(&mut self.0.initial_events_end)))?;
                }
                Annotation::Other => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }
}

/// Ends the reading.
fn enough<E: serde::de::Error>() -> E {
    E::custom("")
}

impl<'de, R: Reader<'de>> DeserializeSeed<'de> for Lenient<R> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, R: Reader<'de>> Visitor<'de> for Lenient<R> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("anything")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<(), E> {
        self.0.text(Cow::Borrowed(text));
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.text(Cow::Owned(text.to_owned()));
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.0.fields(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"5","labels":{"name":"no"},"managedFields":[{}]},"spec":{"kind":"no"}}"#;

    fn state(text: &str) -> Option<String> {
        let peek = Peek::read(text, Until::State);
        peek.state().map(|(key, uid, version)| format!("{key} {uid} {version}"))
    }

    #[test]
    fn the_state_is_read_from_any_order_of_fields() {
        assert_eq!(state(POD).as_deref(), Some("n/a u 5"));
        let sorted = r#"{"apiVersion":"v1","data":{"metadata":{"name":"x"}},"kind":"W","metadata":{"annotations":{"a":"b"},"name":"a","namespace":"n","resourceVersion":"5","uid":"u"}}"#;
        assert_eq!(state(sorted).as_deref(), Some("n/a u 5"));
        let cluster = r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"5"},"kind":"Node"}"#;
        assert_eq!(state(cluster).as_deref(), Some("a u 5"));
        let late = r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"5","namespace":"n"}}"#;
        assert_eq!(state(late).as_deref(), Some("n/a u 5"));
    }

    #[test]
    fn f_22_what_is_null_or_of_another_type_is_absent() {
        for text in [
            "",
            "null",
            "7",
            "[{}]",
            "\"metadata\"",
            r#"{"metadata":null}"#,
            r#"{"metadata":[1,{"name":"a"}]}"#,
            r#"{"metadata":{"name":7,"namespace":null,"uid":{"a":[]},"resourceVersion":[1.5,-3,true]}}"#,
        ] {
            let peek = Peek::read(text, Until::End);
            assert_eq!((peek.key(), peek.state()), (None, None), "{text}");
        }
    }

    #[test]
    fn escapes_are_read() {
        let text = r#"{"metadata":{"name":"\u0061\"b","namespace":"\ud83d\ude00"}}"#;
        let peek = Peek::read(text, Until::End);
        assert_eq!(peek.key(), Some(KeyRef { namespace: "😀", name: "a\"b" }));
    }

    #[test]
    fn a_truncated_head_never_tells_a_wrong_key() {
        for end in 0..POD.len() {
            let peek = Peek::read(&POD[..end], Until::State);
            if let Some(key) = peek.key() {
                assert_eq!(key, KeyRef { namespace: "n", name: "a" }, "cut at {end}");
            }
        }
        let late = r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"5","namespace":"n"}}"#;
        for end in 0..late.len() {
            assert_ne!(
                Peek::read(&late[..end], Until::State).key(),
                Some(KeyRef { namespace: "", name: "a" })
            );
        }
    }

    #[test]
    fn w_7_a_bookmark_is_read_whatever_else_it_lacks() {
        let text = r#"{"metadata":{"resourceVersion":"9","creationTimestamp":null,"annotations":{"a":null,"k8s.io/initial-events-end":"true"}},"spec":{"containers":null}}"#;
        let peek = Peek::read(text, Until::End);
        assert!(peek.initial_events_end);
        assert_eq!(peek.resource_version.as_deref(), Some("9"));
        let text = text.replace("\"true\"", "true");
        assert!(!Peek::read(&text, Until::End).initial_events_end, "annotations are strings");
    }

    #[test]
    fn types_are_read_before_the_metadata_only() {
        let peek = Peek::read(POD, Until::Types);
        assert_eq!((peek.kind.as_deref(), peek.api_version.as_deref()), (Some("Pod"), Some("v1")));
        assert_eq!(peek.name, None);
        assert_eq!(Peek::read(r#"{"metadata":{},"kind":"Pod"}"#, Until::Types).kind, None);
    }
}
