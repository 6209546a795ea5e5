//! [`Representation`]: the form in which objects are asked for, by `Accept`, and their bytes in it.

use serde_json::Value;

use super::exchange::Call;
use super::resource::Resource;
use super::status::{Result, Status};
use super::store::Object;

/// The forms of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Representation {
    /// Everything.
    Full,
    /// `PartialObjectMetadata`.
    Metadata,
    /// A row of a `Table`.
    Table(Include),
}

/// What the rows of a table carry besides their cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Include {
    None,
    Metadata,
    Object,
}

/// What `Accept` may ask about: an object, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    One,
    Several,
}

impl Representation {
    /// The first form among those that the client accepts which is one of ours.
    pub(super) fn of(call: &Call, asked: Asked) -> Result<Self> {
        let accept = call.header("accept").unwrap_or_default();
        if accept.trim().is_empty() {
            return Ok(Representation::Full);
        }
        let mut refused = None;
        for range in accept.split(',') {
            match form(call, asked, range) {
                Ok(Some(form)) => return Ok(form),
                Ok(None) => {}
                Err(status) => refused = refused.or(Some(status)),
            }
        }
        Err(refused.unwrap_or_else(Status::not_acceptable))
    }

    /// Whether a line in this form can be told to every watch of the resource.
    pub(super) fn is_partial(self) -> bool {
        self == Representation::Metadata
    }
}

fn form(call: &Call, asked: Asked, range: &str) -> Result<Option<Representation>> {
    let mut parts = range.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default();
    if !["application/json", "application/*", "*/*"].iter().any(|known| media.eq_ignore_ascii_case(known)) {
        return Ok(None);
    }
    let (mut shape, mut group, mut version) = ("", "", "");
    for part in parts {
        match part.split_once('=') {
            Some(("as", value)) => shape = value,
            Some(("g", value)) => group = value,
            Some(("v", value)) => version = value,
            _ => {}
        }
    }
    if shape.is_empty() {
        return Ok(Some(Representation::Full));
    }
    if group != "meta.k8s.io" || version != "v1" {
        return Ok(None);
    }
    match (shape, asked) {
        ("Table", _) => include(call).map(|include| Some(Representation::Table(include))),
        ("PartialObjectMetadata", Asked::One) | ("PartialObjectMetadataList", Asked::Several) => {
            Ok(Some(Representation::Metadata))
        }
        ("PartialObjectMetadata", Asked::Several) => Err(Status::new(
            406,
            "NotAcceptable",
            "you requested PartialObjectMetadata, but the requested object is a list",
        )),
        ("PartialObjectMetadataList", Asked::One) => Err(Status::new(
            406,
            "NotAcceptable",
            "you requested PartialObjectMetadataList, but the requested object is not a list",
        )),
        _ => Ok(None),
    }
}

fn include(call: &Call) -> Result<Include> {
    match call.parameter("includeObject").unwrap_or_default() {
        "" | "Metadata" => Ok(Include::Metadata),
        "None" => Ok(Include::None),
        "Object" => Ok(Include::Object),
        other => Err(Status::bad_request(format!("unrecognized includeObject value: {other:?}"))),
    }
}

/// `kind` and `apiVersion` as this resource's objects have them, in their order, without braces.
pub(super) fn type_fields(resource: &Resource) -> String {
    let (kind, version) = (&resource.kind, resource.api_version());
    if resource.custom {
        format!("\"apiVersion\":\"{version}\",\"kind\":\"{kind}\"")
    } else {
        format!("\"kind\":\"{kind}\",\"apiVersion\":\"{version}\"")
    }
}

/// Appends an object whole. `types` are its [`type_fields`]; without them it is one of a list's.
pub(super) fn write_full(body: &[u8], types: Option<&str>, out: &mut Vec<u8>) {
    let Some(types) = types else { return out.extend_from_slice(body) };
    out.push(b'{');
    out.extend_from_slice(types.as_bytes());
    let fields = body.strip_prefix(b"{").unwrap_or(body);
    if fields.first().is_some_and(|&byte| byte != b'}') {
        out.push(b',');
    }
    out.extend_from_slice(fields);
}

/// Appends an object's metadata as a `PartialObjectMetadata`.
pub(super) fn write_partial(metadata: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":"#);
    out.extend_from_slice(metadata);
    out.push(b'}');
}

/// An object as a tree, with its `kind` and `apiVersion`.
pub(super) fn tree(resource: &Resource, object: &Object) -> Value {
    let mut value = super::convert::seen_as(resource, object.value());
    if let Value::Object(map) = &mut value {
        map.insert("kind".to_owned(), Value::String(resource.kind.to_string()));
        map.insert("apiVersion".to_owned(), Value::String(resource.api_version()));
    }
    value
}
