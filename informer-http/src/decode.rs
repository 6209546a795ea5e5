//! One object from its text, and what to say when that fails.
//!
//! The invariant: no error made here carries content of an object, which may be a Secret. It tells the place,
//! the field path and the sort of mistake; serde's own words, which quote values, stay behind.

use std::any::Any;
use std::io;
use std::time::Duration;

use informer_core::kube_core::{DynamicObject, Status, TypeMeta};
use informer_core::{
    BadObject, DecodeOptions, Error, ErrorKind, Representation, Result, Stage, decode_error,
};
use serde_json::value::RawValue;

use crate::item::{Peek, Until};

/// Longest frame or object, unless told otherwise: 32 MiB. etcd takes 1.5 MiB by default.
const MAX_FRAME: usize = 32 << 20;

/// What is over that limit is skipped up to so many times the limit; then it has no end.
pub(crate) const SKIP_LIMITS: usize = 16;

/// How bodies are decoded.
#[derive(Clone, Debug)]
pub(crate) struct DecodeSettings {
    /// What to keep of an object.
    pub(crate) options: DecodeOptions,
    /// How long an event or an item of a list may be, in bytes (D11).
    pub(crate) max_frame: usize,
    /// What the objects must say they are (R-41), if they say it; not looked at without. For a request of
    /// `PartialObjectMetadata` that is its type, not the resource's.
    pub(crate) expected: Option<TypeMeta>,
}

impl Default for DecodeSettings {
    fn default() -> Self {
        DecodeSettings { options: DecodeOptions::default(), max_frame: MAX_FRAME, expected: None }
    }
}

/// Builds the object whose text is `text`, all of it.
pub(crate) fn build<T: Representation>(text: &str, settings: &DecodeSettings) -> Result<T> {
    T::decode_str(text, settings.options)
}

/// As [`build`], for text that is known to be a JSON value; says what is wrong with an object that is not
/// accepted.
pub(crate) fn object<T: Representation>(text: &str, settings: &DecodeSettings) -> Result<T> {
    check_types(&Peek::read(text, Until::Types), settings)?;
    let object: T = build(text, settings).map_err(|error| reason::<T>(text, settings).unwrap_or(error))?;
    if object.meta().name.is_empty() {
        return Err(Error::new(ErrorKind::Decode, "the object has no metadata.name"));
    }
    Ok(object)
}

/// Decodes once more, the way that tells the field at fault. None where that way knows no place either.
fn reason<T: Representation>(text: &str, settings: &DecodeSettings) -> Option<Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let error = T::decode(&mut deserializer, settings.options).err()?;
    (error.line() != 0).then(|| explain("the object", &error, text))
}

/// Whether `text` is one JSON value.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// R-41, R-42: whether an object that says what it is says the right thing.
pub(crate) fn check_types(peek: &Peek<'_>, settings: &DecodeSettings) -> Result<()> {
    let kind = peek.kind.as_deref();
    let api_version = peek.api_version.as_deref();
    let right = match &settings.expected {
        Some(expected) => {
            kind.is_none_or(|kind| kind == expected.kind)
                && api_version.is_none_or(|version| version == expected.api_version)
        }
        None => !is_envelope(kind, api_version),
    };
    if right {
        return Ok(());
    }
    let mut message = format!("found {}", name_type(api_version, kind));
    if let Some(expected) = &settings.expected {
        message = format!("expected {} {}, {message}", expected.api_version, expected.kind);
    }
    Err(Error::new(ErrorKind::Decode, message))
}

/// Tables and statuses stand in for objects, but are none.
fn is_envelope(kind: Option<&str>, api_version: Option<&str>) -> bool {
    match kind {
        Some("Table") => api_version.is_none_or(|version| version.starts_with("meta.k8s.io/")),
        Some("Status") => api_version.is_none_or(|version| version == "v1"),
        _ => false,
    }
}

/// A type as a message shows it.
pub(crate) fn name_type(api_version: Option<&str>, kind: Option<&str>) -> String {
    match (api_version, kind) {
        (Some(version), Some(kind)) => format!("{} {}", short(version), short(kind)),
        (None, Some(kind)) => short(kind),
        (Some(version), None) => format!("an object of {}", short(version)),
        (None, None) => "an object without a kind".to_owned(),
    }
}

/// A word of the server's, made safe to print.
pub(crate) fn short(word: &str) -> String {
    const LONGEST: usize = 64;
    let mut out: String = word.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if word.chars().nth(LONGEST).is_some() {
        out.push('…');
    }
    out
}

/// The object in `bytes`, which are not UTF-8 and so cannot be accepted.
pub(crate) fn damaged(bytes: &[u8]) -> BadObject {
    let error = Error::new(ErrorKind::Decode, "the bytes are not utf-8").at(Stage::Decode);
    Peek::read(&String::from_utf8_lossy(bytes), Until::End).bad(error)
}

/// The text of the front part of an object, which may be cut within a character.
pub(crate) fn text_of_head(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// Gives a dynamic object of a list the type that items of built-in lists leave out.
pub(crate) fn fill_types<T: 'static>(object: &mut T, types: Option<&TypeMeta>) {
    let object: &mut dyn Any = object;
    if let Some(object) = object.downcast_mut::<DynamicObject>()
        && object.types.is_none()
    {
        object.types = types.cloned();
    }
}

/// The error of an event or item that is over the limit.
pub(crate) fn too_large(what: &str, settings: &DecodeSettings) -> Error {
    let limit = settings.max_frame;
    Error::new(
        ErrorKind::FrameTooLarge,
        format!(
            "{what} is larger than the limit of {limit} bytes: raise the frame limit or shrink the object"
        ),
    )
}

/// The error a `Status` in `text` stands for; none if the text holds no `Status`.
pub(crate) fn status_error(text: &str) -> Option<Error> {
    let peek = Peek::read(text, Until::Types);
    if peek.kind.as_deref() != Some("Status") {
        return None;
    }
    match serde_json::from_str(text) {
        Ok(status) => Some(Error::from_status(status)),
        Err(_) => loose_status(text),
    }
}

/// The error of a `Status` in which something is null or of another type than it should be (F-22).
fn loose_status(text: &str) -> Option<Error> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let word = |name: &str| value[name].as_str().unwrap_or_default();
    let code = value["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or_default();
    let error = Error::from_status(Status::failure(word("message"), word("reason")).with_code(code));
    match value["details"]["retryAfterSeconds"].as_u64() {
        None | Some(0) => Some(error),
        Some(seconds) => Some(error.with_retry_after(Duration::from_secs(seconds))),
    }
}

/// What a failed read of a body means: the error that the transport wrapped, or a broken connection.
pub(crate) fn read_error(error: io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(inner) => inner.clone(),
        None => Error::new(ErrorKind::Network, "reading the response body failed").with_source(error),
    }
}

/// What is wrong with `text`: core's words, which have nothing of the content, about the field at that place, or about
/// `what` where there is none.
pub(crate) fn explain(what: &str, error: &serde_json::Error, text: &str) -> Error {
    let mut path = path_to(text, error.line(), error.column());
    if error.to_string().starts_with("missing field") {
        path.pop(); // noticed at the end of the map, after its last field
    }
    if LONGEST_PATH < path.len() {
        path.truncate(LONGEST_PATH);
        path.push(" …".to_owned());
    }
    match path.concat().trim_start_matches('.') {
        "" => decode_error(what, error),
        path => decode_error(path, error),
    }
}

/// As many steps of a path are shown.
const LONGEST_PATH: usize = 16;

/// The steps from the root of `text` to the field at a place in it: `.spec`, `.containers`, `[0]`.
fn path_to(text: &str, line: usize, column: usize) -> Vec<String> {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let bytes = text.as_bytes();
    let bytes = &bytes[..bytes.len().min(before.saturating_add(column))];

    // A place on the way: in an object the key, in an array the index.
    enum Step<'a> {
        Object(Option<&'a [u8]>),
        Array(usize),
    }
    let mut steps: Vec<Step<'_>> = Vec::new();
    let mut key_next = false;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'{' => {
                steps.push(Step::Object(None));
                key_next = true;
            }
            b'[' => {
                steps.push(Step::Array(0));
                key_next = false;
            }
            // The place may be the end of the map itself.
            b'}' | b']' if at + 1 < bytes.len() => _ = steps.pop(),
            b',' => match steps.last_mut() {
                Some(Step::Array(index)) => *index += 1,
                _ => key_next = true,
            },
            b'"' => {
                let start = at + 1;
                at = start;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                if key_next && let Some(Step::Object(key)) = steps.last_mut() {
                    *key = Some(&bytes[start..at.min(bytes.len())]);
                    key_next = false;
                }
            }
            _ => {}
        }
        at += 1;
    }
    let show = |step: &Step<'_>| match step {
        Step::Object(None) => String::new(),
        Step::Object(Some(key)) => format!(".{}", short(&String::from_utf8_lossy(key))),
        Step::Array(index) => format!("[{index}]"),
    };
    steps.iter().map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};

    fn message<T: Representation + std::fmt::Debug>(text: &str) -> String {
        object::<T>(text, &DecodeSettings::default()).unwrap_err().to_string()
    }

    #[test]
    fn f_21_errors_name_the_field_and_the_place() {
        let text = r#"{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c"},{"name":"d","ports":[{"containerPort":"http"}]}]}}"#;
        let at = text.find("http").unwrap() + 5;
        let expected = format!(
            "spec.containers[1].ports[0].containerPort does not decode: invalid type: string, expected i32 at line 1 column {at}"
        );
        assert_eq!(message::<Pod>(text), expected);
        let text = "{\"metadata\":{\"name\":\"a\"},\n\"data\":{\"k\":[1]}}";
        assert_eq!(
            message::<ConfigMap>(text),
            "data.k does not decode: invalid type: sequence, expected a string at line 2 column 12"
        );
    }

    #[test]
    fn a_missing_field_is_named() {
        #[derive(Debug, serde::Deserialize)]
        struct Spec {
            _price: u32,
        }
        let text = r#"{"_prize":5}"#;
        let error = explain("x", &serde_json::from_str::<Spec>(text).unwrap_err(), text);
        assert_eq!(error.to_string(), "x does not decode: missing field `_price` at line 1 column 12");
    }

    #[test]
    fn errors_never_quote_content() {
        for text in [
            r#"{"metadata":{"name":"a"},"data":"s3cret"}"#,
            r#"{"metadata":{"name":"a"},"data":{"k":{"s3cret":1}}}"#,
            r#"{"metadata":{"name":"a","creationTimestamp":"s3cret"}}"#,
            r#"{"metadata":{"name":"a","generation":"s3cret"}}"#,
            r#"{"metadata":{"name":"a"},"immutable":"s3cret"}"#,
            r#""s3cret""#,
        ] {
            let error = object::<ConfigMap>(text, &DecodeSettings::default()).unwrap_err();
            let shown = format!("{error} {error:?} {}", error.chain());
            assert!(!shown.contains("s3cret") || shown.contains("data.k"), "{shown}");
        }
    }

    #[test]
    fn r_41_objects_of_another_type_are_told_apart() {
        let expected = TypeMeta { api_version: "v1".into(), kind: "ConfigMap".into() };
        let settings = DecodeSettings { expected: Some(expected), ..DecodeSettings::default() };
        let error =
            object::<DynamicObject>(r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}"#, &settings);
        assert_eq!(error.unwrap_err().to_string(), "expected v1 ConfigMap, found v1 Pod");
        assert!(object::<DynamicObject>(r#"{"metadata":{"name":"a"}}"#, &settings).is_ok());

        let table = r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}}"#;
        assert_eq!(message::<DynamicObject>(table), "found meta.k8s.io/v1 Table");
        let own = r#"{"kind":"Table","apiVersion":"shop.example.com/v1","metadata":{"name":"a"}}"#;
        assert!(object::<DynamicObject>(own, &DecodeSettings::default()).is_ok());
    }

    #[test]
    fn a_status_with_nulls_still_tells_its_reason() {
        let text = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"reason":"Expired","code":410,"details":{"causes":null,"retryAfterSeconds":3}}"#;
        let error = status_error(text).unwrap();
        assert!(error.is_gone());
        assert_eq!(error.retry_after(), Some(std::time::Duration::from_secs(3)));
        assert!(status_error(r#"{"kind":"Pod","code":410}"#).is_none());
    }

    #[test]
    fn the_transports_own_error_comes_through() {
        let silent = io::Error::other(Error::new(ErrorKind::Silent, "nothing came for 90 s"));
        assert_eq!(read_error(silent).kind(), ErrorKind::Silent);
        assert_eq!(read_error(io::ErrorKind::UnexpectedEof.into()).kind(), ErrorKind::Network);
    }
}
