//! Reads an object's JSON in one pass: checks it, compacts it, and notes where its metadata lies.
//!
//! Where a key is written twice the last one counts, as in serde's maps and k8s-openapi's objects.

use std::borrow::Cow;

use super::packed::{Packed, Span};
use crate::json::{Fault, Scanned, Scanner, Token};
use crate::representation::DecodeOptions;

/// What one pass finds.
#[derive(Debug)]
pub(super) struct Reading {
    /// Compact JSON, then the strings that it writes with escapes.
    pub(super) text: Box<str>,
    /// Length of the JSON.
    pub(super) json: u32,
    pub(super) found: Found,
}

/// Places of the metadata.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) namespace: Span,
    pub(super) name: Span,
    pub(super) uid: Span,
    pub(super) resource_version: Span,
    pub(super) deletion_timestamp: Span,
    pub(super) generation: Option<i64>,
    /// The JSON object.
    pub(super) annotations: Option<Span>,
    /// Key, value; sorted by key.
    pub(super) labels: Vec<[Span; 2]>,
    pub(super) finalizers: Vec<Span>,
    pub(super) owners: Vec<[Span; OWNER]>,
}

/// Spans of an owner reference: apiVersion, kind, name, uid, flags.
pub(super) const OWNER: usize = 5;
/// Flag: `controller` is true.
pub(super) const CONTROLLER: u32 = 1;
/// Flag: `blockOwnerDeletion` is true.
pub(super) const BLOCKS: u32 = 2;

pub(super) fn read(text: &str, options: DecodeOptions) -> Scanned<Reading> {
    if text.len() >= Span::TAIL as usize {
        return Err(Fault { at: 0, what: "the text is 2 GiB or longer" });
    }
    let keep_managed_fields = options.keep_managed_fields;
    let mut reader = Reader { text, scan: Scanner::new(text), tail: String::new(), keep_managed_fields };
    let mut found = reader.object()?;
    let Reader { scan, tail, .. } = reader;
    let (parts, json) = scan.end()?;
    let mut compact = String::with_capacity(json + tail.len());
    for part in parts {
        compact.push_str(&text[part]);
    }
    compact.push_str(&tail);
    // Exact: unescaped strings are shorter than the JSON they came from, so both lengths are below the limit.
    let (text, json) = (compact.into_boxed_str(), json as u32);
    sort(&mut found.labels, Packed { text: &text, json });
    Ok(Reading { text, json, found })
}

/// By key; of equal keys the last one stays.
fn sort(labels: &mut Vec<[Span; 2]>, text: Packed<'_>) {
    if labels.is_sorted_by(|a, b| text.get(a[0]) < text.get(b[0])) {
        return; // as API servers write them
    }
    labels.reverse();
    labels.sort_by_key(|pair| text.get(pair[0]));
    labels.dedup_by_key(|pair| text.get(pair[0]));
}

struct Reader<'a> {
    text: &'a str,
    scan: Scanner<'a>,
    tail: String,
    keep_managed_fields: bool,
}

impl<'a> Reader<'a> {
    fn object(&mut self) -> Scanned<Found> {
        let mut found = Found::default();
        self.members("expected an object", |this, key| {
            if !this.is(&key, "metadata") {
                return this.scan.value();
            }
            found = Found::default();
            if this.null()? { Ok(()) } else { this.metadata(&mut found) }
        })?;
        Ok(found)
    }

    /// As [`members`](Self::members), but leaves managedFields out of the kept text, and one comma with it.
    fn metadata(&mut self, found: &mut Found) -> Scanned<()> {
        self.scan.expect(b'{', "metadata is not an object")?;
        if self.scan.eat(b'}') {
            return Ok(());
        }
        let mut first = true; // nothing has been kept yet
        let mut before = self.scan.checkpoint();
        loop {
            let key = self.scan.key()?;
            if !self.keep_managed_fields && self.is(&key, "managedFields") {
                self.scan.value()?;
                self.scan.leave_out(before);
            } else {
                self.metadata_member(&key, found)?;
                first = false;
            }
            self.scan.peek();
            before = self.scan.checkpoint();
            if !self.scan.eat(b',') {
                return self.scan.expect(b'}', "expected `,` or `}`");
            }
            if first {
                self.scan.leave_out(before);
                before = self.scan.checkpoint();
            }
        }
    }

    fn metadata_member(&mut self, key: &Token, found: &mut Found) -> Scanned<()> {
        match &*self.plain(key) {
            "namespace" => self.assign(&mut found.namespace, "namespace is not a string")?,
            "name" => self.assign(&mut found.name, "name is not a string")?,
            "uid" => self.assign(&mut found.uid, "uid is not a string")?,
            "resourceVersion" => {
                self.assign(&mut found.resource_version, "resourceVersion is not a string")?;
            }
            "deletionTimestamp" => {
                self.assign(&mut found.deletion_timestamp, "deletionTimestamp is not a string")?;
            }
            "generation" => {
                found.generation = None;
                if !self.null()? {
                    let number = self.scan.number()?;
                    let parsed = self.text[number].parse();
                    found.generation =
                        Some(parsed.map_err(|_| self.scan.fault("generation is not an integer"))?);
                }
            }
            "annotations" => {
                found.annotations = None;
                if !self.null()? {
                    found.annotations = Some(self.annotations()?);
                }
            }
            "labels" => {
                found.labels.clear();
                if !self.null()? {
                    self.members("labels are not an object", |this, key| {
                        let key = this.span(&key)?;
                        let value = this.string("a label is not a string")?;
                        found.labels.push([key, this.span(&value)?]);
                        Ok(())
                    })?;
                }
            }
            "finalizers" => {
                found.finalizers.clear();
                if !self.null()? {
                    self.elements("finalizers are not an array", |this| {
                        let finalizer = this.string("a finalizer is not a string")?;
                        found.finalizers.push(this.span(&finalizer)?);
                        Ok(())
                    })?;
                }
            }
            "ownerReferences" => {
                found.owners.clear();
                if !self.null()? {
                    self.elements("ownerReferences are not an array", |this| {
                        found.owners.push(this.owner()?);
                        Ok(())
                    })?;
                }
            }
            _ => self.scan.value()?,
        }
        Ok(())
    }

    fn annotations(&mut self) -> Scanned<Span> {
        if self.scan.peek() != b'{' {
            return Err(self.scan.fault("annotations are not an object"));
        }
        let start = self.scan.compact(self.scan.at());
        self.scan.value()?;
        Ok(Span::of_json(start, self.scan.compact(self.scan.at()) - start))
    }

    fn owner(&mut self) -> Scanned<[Span; OWNER]> {
        let mut spans = [Span::default(); OWNER];
        let mut flags = 0;
        self.members("an owner reference is not an object", |this, key| {
            const WHAT: &str = "a field of an owner reference is not a string";
            match &*this.plain(&key) {
                "apiVersion" => this.assign(&mut spans[0], WHAT)?,
                "kind" => this.assign(&mut spans[1], WHAT)?,
                "name" => this.assign(&mut spans[2], WHAT)?,
                "uid" => this.assign(&mut spans[3], WHAT)?,
                "controller" => this.flag(&mut flags, CONTROLLER)?,
                "blockOwnerDeletion" => this.flag(&mut flags, BLOCKS)?,
                _ => this.scan.value()?,
            }
            Ok(())
        })?;
        spans[OWNER - 1] = Span::of_flags(flags);
        Ok(spans)
    }

    fn flag(&mut self, flags: &mut u32, flag: u32) -> Scanned<()> {
        *flags &= !flag;
        match self.scan.peek() {
            b't' => {
                *flags |= flag;
                self.scan.word("true")
            }
            b'f' => self.scan.word("false"),
            _ => self.scan.word("null"),
        }
    }

    /// An object: `member` is called after each key and takes the value.
    fn members(
        &mut self,
        what: &'static str,
        mut member: impl FnMut(&mut Self, Token) -> Scanned<()>,
    ) -> Scanned<()> {
        self.scan.expect(b'{', what)?;
        if self.scan.eat(b'}') {
            return Ok(());
        }
        loop {
            let key = self.scan.key()?;
            member(self, key)?;
            if !self.scan.eat(b',') {
                return self.scan.expect(b'}', "expected `,` or `}`");
            }
        }
    }

    /// An array: `element` takes each value.
    fn elements(
        &mut self,
        what: &'static str,
        mut element: impl FnMut(&mut Self) -> Scanned<()>,
    ) -> Scanned<()> {
        self.scan.expect(b'[', what)?;
        if self.scan.eat(b']') {
            return Ok(());
        }
        loop {
            element(self)?;
            if !self.scan.eat(b',') {
                return self.scan.expect(b']', "expected `,` or `]`");
            }
        }
    }

    fn null(&mut self) -> Scanned<bool> {
        if self.scan.peek() != b'n' {
            return Ok(false);
        }
        self.scan.word("null")?;
        Ok(true)
    }

    /// A string or null, which counts as empty.
    fn assign(&mut self, to: &mut Span, what: &'static str) -> Scanned<()> {
        *to = Span::default();
        if !self.null()? {
            let text = self.string(what)?;
            *to = self.span(&text)?;
        }
        Ok(())
    }

    fn string(&mut self, what: &'static str) -> Scanned<Token> {
        if self.scan.peek() == b'"' { self.scan.string() } else { Err(self.scan.fault(what)) }
    }

    /// Where the text of `token` will be: in the JSON, or behind it if it has escapes.
    fn span(&mut self, token: &Token) -> Scanned<Span> {
        if !token.escaped {
            return Ok(Span::of_json(token.compact, token.range.len()));
        }
        let text = self
            .unescape(token)
            .ok_or(Fault { at: token.range.start, what: "an escape that is no character" })?;
        let span = Span::of_tail(self.tail.len(), text.len());
        self.tail.push_str(&text);
        Ok(span)
    }

    /// Whether `token` says `name`, however it is written.
    fn is(&self, token: &Token, name: &str) -> bool {
        &*self.plain(token) == name
    }

    /// The text of `token`; one with an escape that is no character is like no other.
    fn plain(&self, token: &Token) -> Cow<'a, str> {
        if token.escaped {
            Cow::Owned(self.unescape(token).unwrap_or_default())
        } else {
            Cow::Borrowed(&self.text[token.range.clone()])
        }
    }

    fn unescape(&self, token: &Token) -> Option<String> {
        serde_json::from_str(&self.text[token.range.start - 1..token.range.end + 1]).ok()
    }
}
