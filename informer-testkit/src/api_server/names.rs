//! Names: which are valid, which are generated, and the uids of objects.

use std::hash::{BuildHasher, RandomState};

use super::resource::Resource;
use super::status::Cause;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
     '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
     start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
     with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
     and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used \
     for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Letters of generated names: no vowels, so no words.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// What is wrong with the name of an object, if anything.
pub(super) fn check_name(resource: &Resource, name: &str) -> Option<Cause> {
    const FIELD: &str = "metadata.name";
    let quoted = format!("{name:?}");
    if resource.group == "rbac.authorization.k8s.io" {
        let why = match name {
            "." => "may not be '.'",
            ".." => "may not be '..'",
            _ if name.contains('/') => "may not contain '/'",
            _ if name.contains('%') => "may not contain '%'",
            _ => return None,
        };
        return Some(Cause::invalid(FIELD, &quoted, why));
    }
    let short = matches!((&*resource.group, &*resource.plural), ("", "namespaces" | "services"));
    let (longest, why) = if short { (63, LABEL) } else { (253, SUBDOMAIN) };
    if name.len() > longest {
        return Some(Cause::invalid(FIELD, &quoted, &format!("must be no more than {longest} bytes")));
    }
    let valid = if short { is_label(name) } else { name.split('.').all(is_label) };
    (!valid).then(|| Cause::invalid(FIELD, &quoted, why))
}

/// What is wrong with a label of an object, if anything.
pub(super) fn check_label(key: &str, value: &str) -> Option<Cause> {
    const FIELD: &str = "metadata.labels";
    if let Some(why) = label_key_fault(key) {
        return Some(Cause::invalid(FIELD, &format!("{key:?}"), &why));
    }
    label_value_fault(value).map(|why| Cause::invalid(FIELD, &format!("{value:?}"), &why))
}

/// Why a text is no key of a label.
pub(super) fn label_key_fault(key: &str) -> Option<String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if name.contains('/') {
        let how = QUALIFIED.strip_prefix("name part must consist of").unwrap_or(QUALIFIED);
        let prefix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
        return Some(format!("a valid label key must consist of{how} {prefix}"));
    }
    if prefix.is_some_and(|prefix| prefix.len() > 253 || !prefix.split('.').all(is_label)) {
        return Some(format!("prefix part {SUBDOMAIN}"));
    }
    match name {
        "" => Some(format!("name part must be non-empty; {QUALIFIED}")),
        _ if name.len() > 63 => Some("name part must be no more than 63 bytes".to_owned()),
        _ if !is_word(name) => Some(QUALIFIED.to_owned()),
        _ => None,
    }
}

/// Why a text is no value of a label.
pub(super) fn label_value_fault(value: &str) -> Option<String> {
    match value {
        "" => None,
        _ if value.len() > 63 => Some("must be no more than 63 bytes".to_owned()),
        _ if !is_word(value) => Some(VALUE.to_owned()),
        _ => None,
    }
}

fn is_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    framed(text, inner, |b| inner(b) || b == b'-')
}

fn is_word(text: &str) -> bool {
    framed(text, |b| b.is_ascii_alphanumeric(), |b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

fn framed(text: &str, ends: impl Fn(u8) -> bool, all: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(&first), Some(&last)) if ends(first) && ends(last))
        && bytes.iter().copied().all(all)
}

/// A source of names that nobody has. Not for secrets.
#[derive(Clone, Debug)]
pub(super) struct Dice {
    state: u64,
}

impl Dice {
    /// Seeded by the process's own randomness.
    pub(super) fn new() -> Self {
        Dice { state: RandomState::new().hash_one(0) }
    }

    fn roll(&mut self) -> u64 {
        // SplitMix64: every state once, and no two alike next to each other.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A uid: a random UUID.
    pub(super) fn uid(&mut self) -> String {
        let (a, b) = (self.roll(), self.roll());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            0x8000 | (b >> 48) & 0x3fff,
            b & 0xffff_ffff_ffff
        )
    }

    /// A name that begins with `base` and ends in five letters of chance.
    pub(super) fn name(&mut self, base: &str) -> String {
        // As a real server: a name must fit into 63 bytes, whatever its base.
        let mut end = base.len().min(58);
        while !base.is_char_boundary(end) {
            end -= 1;
        }
        let mut name = base[..end].to_owned();
        let mut rest = self.roll();
        for _ in 0..5 {
            let letter = usize::try_from(rest % 27).unwrap_or_default();
            name.push(char::from(ALPHABET[letter]));
            rest /= 27;
        }
        name
    }
}
