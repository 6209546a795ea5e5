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
    /// A list, where objects come one by one: a watch ends with the first that there would be to tell.
    Unfit,
}

/// What the rows of a table carry besides their cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Include {
    None,
    Metadata,
    Object,
}

/// What `Accept` may ask about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    One,
    Several,
    /// Objects one by one, of a path that names several.
    Watch,
}

impl Representation {
    /// The first form among those that the client accepts which is one of ours. One that does not fit what is asked
    /// about is refused, whatever comes after it.
    pub(super) fn of(call: &Call, asked: Asked, resource: &Resource) -> Result<Self> {
        let accept = call.header("accept").unwrap_or_default();
        if accept.trim().is_empty() {
            return Ok(Representation::Full);
        }
        let mut spoken = resource.custom;
        for range in accept.split(',').filter_map(|range| Range::of(range, resource)) {
            spoken = true;
            if range.shape.is_empty() {
                return Ok(Representation::Full);
            }
            // The beta of these forms says the same under another version; nobody asks for it alone.
            if range.group != "meta.k8s.io" || range.version != "v1" {
                continue;
            }
            match range.shape {
                "Table" => return include(call).map(Representation::Table),
                "PartialObjectMetadata" => return metadata_of_one(asked, resource),
                "PartialObjectMetadataList" => return metadata_of_several(asked, resource),
                _ => {}
            }
        }
        Err(if spoken { Status::no_such_form() } else { Status::not_acceptable(asked != Asked::One) })
    }
}

/// A range of media types that JSON is in.
struct Range<'a> {
    shape: &'a str,
    group: &'a str,
    version: &'a str,
}

impl<'a> Range<'a> {
    fn of(text: &'a str, resource: &Resource) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        // Half a wildcard is understood for custom resources alone.
        let known: &[&str] = if resource.custom {
            &["application/json", "*/*", "application/*"]
        } else {
            &["application/json", "*/*"]
        };
        if !known.iter().any(|known| media.eq_ignore_ascii_case(known)) {
            return None;
        }
        let mut range = Range { shape: "", group: "", version: "" };
        for part in parts {
            match part.split_once('=') {
                Some(("as", value)) => range.shape = value,
                Some(("g", value)) => range.group = value,
                Some(("v", value)) => range.version = value,
                _ => {}
            }
        }
        Some(range)
    }
}

fn metadata_of_one(asked: Asked, resource: &Resource) -> Result<Representation> {
    if asked != Asked::Several {
        return Ok(Representation::Metadata);
    }
    let message = format!(
        "you requested PartialObjectMetadata, but the requested object is a list ({})",
        type_of(resource, "List")
    );
    Err(Status::new(406, "NotAcceptable", message))
}

fn metadata_of_several(asked: Asked, resource: &Resource) -> Result<Representation> {
    match asked {
        Asked::Several => Ok(Representation::Metadata),
        Asked::Watch => Ok(Representation::Unfit),
        Asked::One if resource.custom => Err(Status::new(500, "", "content is not a list")),
        Asked::One => {
            let message = format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list ({})",
                type_of(resource, "")
            );
            Err(Status::new(406, "NotAcceptable", message))
        }
    }
}

/// What a real server calls the type of an object, or of a list.
fn type_of(resource: &Resource, list: &str) -> String {
    if resource.custom {
        return format!("*unstructured.Unstructured{list}");
    }
    // Events of both groups are of one type.
    let package = match resource.group.split('.').next() {
        None | Some("" | "events") => "core",
        Some(first) => first,
    };
    format!("*{package}.{}{list}", resource.kind)
}

fn include(call: &Call) -> Result<Include> {
    match call.parameter("includeObject").unwrap_or_default() {
        "" | "Metadata" => Ok(Include::Metadata),
        "None" => Ok(Include::None),
        "Object" => Ok(Include::Object),
        other => Err(Status::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', \
             'Object', 'None', or empty"
        ))),
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
