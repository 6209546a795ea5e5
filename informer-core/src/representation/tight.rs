//! [`Tight`]: a deserializer round another one that skips `metadata.managedFields` and tells vectors their length.
//!
//! Works for any type and any format with text keys. Everything else passes through as the inner one gives it.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::CowStrDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, IntoDeserializer, MapAccess,
    SeqAccess, Visitor,
};

use super::DecodeOptions;
use super::shape::{Members, Place};

/// Where in an object the deserializer is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// At the object itself.
    Object,
    /// At its metadata.
    Metadata,
    /// Anywhere else.
    Below,
}

/// Wraps a deserializer, then a visitor, an access or a seed, as serde goes down.
pub(super) struct Tight<'s, D> {
    inner: D,
    level: Level,
    place: Place<'s>,
}

impl<'s, D> Tight<'s, D> {
    /// A deserializer of one object.
    pub(super) fn object(inner: D, place: Place<'s>, options: DecodeOptions) -> Self {
        let level = if options.keep_managed_fields { Level::Below } else { Level::Object };
        Tight { inner, level, place }
    }

    /// The same place and level round something else.
    fn wrap<T>(&self, inner: T) -> Tight<'s, T> {
        Tight { inner, level: self.level, place: self.place }
    }
}

/// Deserializer methods that only wrap the visitor.
macro_rules! wrap_visitor {
    ($($method:ident($($arg:ident: $type:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($arg: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            let visitor = self.wrap(visitor);
            self.inner.$method($($arg,)* visitor)
        })*
    };
}

/// Deserializer methods of values that hold nothing.
macro_rules! pass_on {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method(visitor)
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Tight<'_, D> {
    type Error = D::Error;

    wrap_visitor! {
        deserialize_any()
        deserialize_map()
        deserialize_seq()
        deserialize_option()
        deserialize_bytes()
        deserialize_byte_buf()
        deserialize_newtype_struct(name: &'static str)
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    pass_on! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char
        deserialize_str deserialize_string deserialize_unit deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_unit_struct(name, visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// Visitor methods of values that hold nothing.
macro_rules! visit {
    ($($method:ident: $type:ty)*) => {
        $(fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Tight<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Map {
            inner: map,
            level: self.level,
            value: Level::Below,
            place: self.place,
            members: self.place.members(),
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(Seq { inner: seq, left: self.place.count(), members: self.place.members() })
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.wrap(deserializer);
        self.inner.visit_some(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.wrap(deserializer);
        self.inner.visit_newtype_struct(deserializer)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(access)
    }

    visit! {
        visit_bool: bool visit_i8: i8 visit_i16: i16 visit_i32: i32 visit_i64: i64 visit_i128: i128 visit_u8: u8
        visit_u16: u16 visit_u32: u32 visit_u64: u64 visit_u128: u128 visit_f32: f32 visit_f64: f64 visit_char: char
        visit_str: &str visit_borrowed_str: &'de str visit_string: String
        visit_bytes: &[u8] visit_borrowed_bytes: &'de [u8] visit_byte_buf: Vec<u8>
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Tight<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = self.wrap(deserializer);
        self.inner.deserialize(deserializer)
    }
}

struct Seq<'s, A> {
    inner: A,
    left: Option<usize>,
    members: Members<'s>,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Seq<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.left = self.left.map(|left| left.saturating_sub(1));
        let place = self.members.next();
        self.inner.next_element_seed(Tight { inner: seed, level: Level::Below, place })
    }

    /// One where nothing is known: a first push without it takes room for four.
    fn size_hint(&self) -> Option<usize> {
        Some(self.left.or(self.inner.size_hint()).unwrap_or(1))
    }
}

struct Map<'s, A> {
    inner: A,
    level: Level,
    /// The level of the value that follows the last key.
    value: Level,
    place: Place<'s>,
    members: Members<'s>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Map<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        if self.level == Level::Below {
            return self.inner.next_key_seed(seed);
        }
        // The few keys of the two outer levels are read as text first.
        while let Some(Key(key)) = self.inner.next_key::<Key<'de>>()? {
            self.value = match (self.level, &*key) {
                (Level::Object, "metadata") => Level::Metadata,
                (Level::Metadata, "managedFields") => {
                    self.inner.next_value::<IgnoredAny>()?;
                    self.members.next();
                    continue;
                }
                _ => Level::Below,
            };
            let key: CowStrDeserializer<'de, A::Error> = key.into_deserializer();
            return seed.deserialize(key).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let place = self.members.next();
        self.inner.next_value_seed(Tight { inner: seed, level: self.value, place })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint().or(self.place.count())
    }
}

/// A key, borrowed where the format lets it be.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text key")
            }
            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(key)))
            }
            fn visit_str<E>(self, key: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(key.to_owned())))
            }
            fn visit_string<E>(self, key: String) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(key)))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}
