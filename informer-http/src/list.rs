//! [`read_list`]: a page of a list, told to a sink item by item as its bytes come.
//!
//! No more is held than one item may be long, and the fields around the items may come in any order: custom
//! resources send `apiVersion`, `items`, `kind`, `metadata`. An answer counts only when all of it was read (F-97).

use std::io::{self, Read};

use informer_core::kube_core::TypeMeta;
use informer_core::{Error, ErrorKind, ListEnd, ListSink, Representation, Result, Stage};
use serde::Deserialize;

use crate::decode::{self, DecodeSettings};
use crate::item::{Peek, Until};
use crate::scan::SPACE;
use crate::text::{Text, Value, found, malformed};

/// Reads one page of a list to its end and tells `sink` every item in it.
///
/// The body must be a list: its `kind` ends in `List`, so that a `Table`, a single object or a proxy's page can
/// never pass for an empty one. It must have a `metadata.resourceVersion`, without which nothing can be
/// watched from it.
///
/// # Errors
/// [`ErrorKind::Decode`] when the body is no such list; what a `Status` says that came instead; what ended the
/// body early. In each case the sink may have been told items before, which do not count.
pub(crate) fn read_list<T: Representation>(
    body: &mut dyn Read,
    settings: &DecodeSettings,
    sink: &mut dyn ListSink<T>,
) -> Result<ListEnd> {
    let mut counted = Counted { body, bytes: 0 };
    let mut page =
        Page { text: Text::new(&mut counted), settings, sink: &mut *sink, outer: Outer::default() };
    let end = page.read().map_err(|error| error.at(Stage::List));
    sink.received(counted.bytes);
    end
}

/// A body that counts what is read of it.
struct Counted<'s> {
    body: &'s mut dyn Read,
    bytes: u64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.body.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

struct Page<'s, T> {
    text: Text<'s>,
    settings: &'s DecodeSettings,
    sink: &'s mut dyn ListSink<T>,
    outer: Outer,
}

/// What was read of the list apart from its items.
#[derive(Default)]
struct Outer {
    kind: Option<String>,
    api_version: Option<String>,
    metadata: Option<ListMetadata>,
    /// The type of the items, once `kind` and `apiVersion` are known.
    item_types: Option<TypeMeta>,
    /// Some item did not say what it is, so it is what the list says.
    untyped: bool,
    /// There is an item.
    inhabited: bool,
    /// The fields of a `Status`, as JSON text, in case it is one.
    status: Vec<(&'static str, String)>,
}

/// `ListMeta`, as far as it counts.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMetadata {
    resource_version: Option<String>,
    r#continue: Option<String>,
}

impl<T: Representation> Page<'_, T> {
    fn read(&mut self) -> Result<ListEnd> {
        match self.text.peek()? {
            b'{' => self.text.step(),
            byte => return Err(found(byte, "a list")),
        }
        if self.text.peek()? == b'}' {
            self.text.step();
        } else {
            loop {
                self.field()?;
                match self.text.peek()? {
                    b',' => self.text.step(),
                    b'}' => {
                        self.text.step();
                        break;
                    }
                    byte => return Err(found(byte, "the next field of the list")),
                }
            }
        }
        self.text.expect_end()?;
        self.end()
    }

    fn field(&mut self) -> Result<()> {
        const STATUS: [&str; 5] = ["status", "message", "reason", "details", "code"];
        let name: String =
            serde_json::from_str(&self.text.short_value()?).map_err(|_| malformed("a field name"))?;
        match self.text.peek()? {
            b':' => self.text.step(),
            byte => return Err(found(byte, "a colon")),
        }
        if name == "items" {
            return self.items();
        }
        let value = self.text.short_value()?;
        match name.as_str() {
            "kind" => return self.kind(&value),
            "apiVersion" => return self.api_version(&value),
            "metadata" => return self.metadata(&value),
            _ if !decode::is_json(&value) => return Err(malformed("a field")),
            _ => {}
        }
        if let Some(name) = STATUS.into_iter().find(|known| *known == name) {
            self.outer.status.push((name, value));
        }
        Ok(())
    }

    fn kind(&mut self, value: &str) -> Result<()> {
        let kind: String = serde_json::from_str(value).map_err(|_| malformed("the kind"))?;
        if kind != "Status" && !kind.ends_with("List") {
            return Err(Error::new(
                ErrorKind::Decode,
                format!("expected a list, found {}", decode::short(&kind)),
            ));
        }
        self.outer.kind = Some(kind);
        self.outer.know_types();
        Ok(())
    }

    fn api_version(&mut self, value: &str) -> Result<()> {
        let version = serde_json::from_str(value).map_err(|_| malformed("the apiVersion"))?;
        self.outer.api_version = Some(version);
        self.outer.know_types();
        Ok(())
    }

    fn metadata(&mut self, value: &str) -> Result<()> {
        let metadata = serde_json::from_str(value)
            .map_err(|error| decode::explain("the metadata of the list", &error, value))?;
        self.outer.metadata = metadata;
        Ok(())
    }

    fn items(&mut self) -> Result<()> {
        if self.text.peek()? != b'[' {
            return match self.text.short_value()?.trim_end_matches(SPACE) {
                "null" => Ok(()),
                _ => Err(malformed("the field items, which should be an array,")),
            };
        }
        self.text.step();
        if self.text.peek()? == b']' {
            self.text.step();
            return Ok(());
        }
        loop {
            self.item()?;
            match self.text.peek()? {
                b',' => self.text.step(),
                b']' => {
                    self.text.step();
                    return Ok(());
                }
                byte => return Err(found(byte, "the next item")),
            }
        }
    }

    fn item(&mut self) -> Result<()> {
        let limit = self.settings.max_frame;
        match self.text.value(limit)? {
            Value::Whole(len) => {
                let bytes = &self.text.buffer.pending()[..len];
                match std::str::from_utf8(bytes) {
                    Ok(text) => tell_item(text, self.settings, self.sink, &mut self.outer)?,
                    Err(_) => self.sink.bad_item(decode::damaged(bytes)),
                }
                self.text.buffer.consume(len);
            }
            Value::TooLarge(len) => {
                let head = decode::text_of_head(&self.text.buffer.pending()[..limit]);
                let error = decode::too_large("an item", self.settings);
                let bad = Peek::read(head, Until::State).bad(error.clone().at(Stage::Decode));
                self.text.skip_value(len, limit, &error)?;
                self.sink.bad_item(bad);
            }
        }
        Ok(())
    }

    /// Judges the list, of which everything was read.
    fn end(&mut self) -> Result<ListEnd> {
        let outer = &mut self.outer;
        let Some(kind) = outer.kind.as_deref() else {
            return Err(Error::new(ErrorKind::Decode, "expected a list, found an object without a kind"));
        };
        if kind == "Status" {
            let fields: Vec<String> =
                outer.status.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
            let text = format!("{{\"kind\":\"Status\",{}}}", fields.join(","));
            return Err(decode::status_error(&text).unwrap_or_else(|| malformed("a status in place")));
        }
        // A custom resource may call its list anything; but then its items say themselves what they are. Groups of
        // custom resources have a dot in their names; without one, an empty list of another kind is none of these.
        let built_in = |version: &str| version.split_once('/').is_none_or(|(group, _)| !group.contains('.'));
        if let (Some(expected), Some(types)) = (&self.settings.expected, &outer.item_types)
            && (types.api_version != expected.api_version
                || types.kind != expected.kind
                    && (outer.untyped || !outer.inhabited && built_in(&expected.api_version)))
        {
            let found = decode::name_type(Some(&types.api_version), Some(kind));
            let message =
                format!("expected a list of {} {}, found {found}", expected.api_version, expected.kind);
            return Err(Error::new(ErrorKind::Decode, message));
        }
        let metadata = outer.metadata.take();
        let (version, token) =
            metadata.map(|meta| (meta.resource_version, meta.r#continue)).unwrap_or_default();
        match version.filter(|version| !version.is_empty()) {
            Some(resource_version) => {
                Ok(ListEnd { resource_version, continue_token: token.filter(|token| !token.is_empty()) })
            }
            None => Err(Error::new(
                ErrorKind::Decode,
                "the list has no metadata.resourceVersion, so it cannot be watched from",
            )),
        }
    }
}

impl Outer {
    fn know_types(&mut self) {
        if let (Some(kind), Some(api_version)) = (&self.kind, &self.api_version) {
            let kind = kind.strip_suffix("List").unwrap_or(kind).to_owned();
            self.item_types = Some(TypeMeta { api_version: api_version.clone(), kind });
        }
    }
}

fn tell_item<T: Representation>(
    text: &str,
    settings: &DecodeSettings,
    sink: &mut dyn ListSink<T>,
    outer: &mut Outer,
) -> Result<()> {
    outer.inhabited = true;
    let known = sink.may_have();
    let peek = Peek::read(text, if known { Until::State } else { Until::Types });
    outer.untyped |= peek.kind.is_none();
    if known
        && let Some((key, uid, version)) = peek.state()
        && let Some(stored) = sink.have(key, uid, version)
    {
        sink.unchanged(stored);
        return Ok(());
    }
    match decode::object::<T>(text, settings) {
        Ok(mut object) => {
            decode::fill_types(&mut object, outer.item_types.as_ref().or(settings.expected.as_ref()));
            sink.item(object);
            Ok(())
        }
        // What is no JSON was not cut rightly either, and then nothing after it is.
        Err(_) if !decode::is_json(text) => Err(malformed("an item")),
        Err(error) => {
            sink.bad_item(Peek::read(text, Until::End).bad(error.at(Stage::Decode)));
            Ok(())
        }
    }
}
