//! Takes the text of one value out of a `serde_json` deserializer, and says plainly that no other will do.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The text of the next value.
///
/// # Errors
/// The deserializer's; from one that is not `serde_json`'s, an error that says so.
pub(super) fn json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<RawValue>, D::Error> {
    Box::<RawValue>::deserialize(JsonOnly(deserializer))
}

/// Passes on how `serde_json` asks for a raw value, and turns every other answer into one error.
struct JsonOnly<D>(D);

struct JsonVisitor<V>(V);

const WANTED: &str = "JSON text: a Lazy object is read by serde_json's deserializers only";

impl<'de, D: Deserializer<'de>> Deserializer<'de> for JsonOnly<D> {
    type Error = D::Error;

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_newtype_struct(name, JsonVisitor(visitor))
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(JsonVisitor(visitor))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for JsonVisitor<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(WANTED)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        // serde_json has read the whole value by now, so an error here comes from a map of another format.
        self.0
            .visit_map(map)
            .map_err(|_| A::Error::custom(format_args!("invalid type: map, expected {WANTED}")))
    }
}
