//! Decoding of a list. STAND-IN, replaced when the decoders are joined.

use std::io::Read;

use informer_core::{Error, ErrorKind, ListEnd, ListSink, Representation, Result};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::decode::DecodeSettings;
use crate::transport::error_in;

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(default)]
    metadata: Meta,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Meta {
    #[serde(default, rename = "resourceVersion")]
    resource_version: String,
    #[serde(default, rename = "continue")]
    token: Option<String>,
}

/// Reads one page of a list.
pub(crate) fn read_list<T: Representation>(
    body: &mut dyn Read,
    settings: &DecodeSettings,
    sink: &mut dyn ListSink<T>,
) -> Result<ListEnd> {
    let mut text = String::new();
    body.read_to_string(&mut text).map_err(|error| match error_in(&error) {
        Some(ours) => ours.clone(),
        None => Error::new(ErrorKind::Decode, format!("the list cannot be read: {error}")),
    })?;
    let bad = |error: serde_json::Error| {
        Error::new(ErrorKind::Decode, format!("the list is not complete JSON: {error}"))
    };
    let wire: Wire<'_> = serde_json::from_str(&text).map_err(bad)?;
    for item in wire.items {
        let mut deserializer = serde_json::Deserializer::from_str(item.get());
        sink.item(T::decode(&mut deserializer, settings.options).map_err(bad)?);
    }
    Ok(ListEnd {
        resource_version: wire.metadata.resource_version,
        continue_token: wire.metadata.token.filter(|token| !token.is_empty()),
    })
}
