//! [`ObjectKey`]: namespace and name, what identifies an object of one resource within a cache.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};

/// Namespace and name of an object; prints `namespace/name`, or `name` for cluster-scoped objects.
///
/// Cheap to clone: clones share the text.
#[derive(Clone)]
pub struct ObjectKey {
    /// `namespace/name`, or `name`.
    text: Arc<str>,
    /// Length of the namespace; 0 for cluster-scoped objects.
    namespace: u32,
}

/// A borrowed [`ObjectKey`]: what look-ups take, so that none of them allocates.
///
/// Made from `&ObjectKey`, from `(namespace, name)`, and from text `"namespace/name"` or `"name"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyRef<'a> {
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// Name.
    pub name: &'a str,
}

impl ObjectKey {
    /// The key of `name` in `namespace`; an empty namespace makes it cluster-scoped.
    ///
    /// ```
    /// use informer_core::ObjectKey;
    /// assert_eq!(ObjectKey::new("default", "web-0").to_string(), "default/web-0");
    /// assert_eq!(ObjectKey::new("", "node-1").to_string(), "node-1");
    /// ```
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        let text: Arc<str> = if namespace.is_empty() {
            Arc::from(name)
        } else {
            let mut text = String::with_capacity(namespace.len() + 1 + name.len());
            text.push_str(namespace);
            text.push('/');
            text.push_str(name);
            Arc::from(text)
        };
        // A namespace is at most 63 bytes; a longer one than u32 cannot come through any frame limit.
        ObjectKey { text, namespace: u32::try_from(namespace.len()).unwrap_or(u32::MAX) }
    }

    /// Namespace; empty for cluster-scoped objects.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.text[..self.namespace as usize]
    }

    /// Name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self.namespace as usize {
            0 => &self.text,
            n => &self.text[n + 1..],
        }
    }

    /// The key as `namespace/name`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The borrowed form.
    #[must_use]
    pub fn as_ref(&self) -> KeyRef<'_> {
        KeyRef { namespace: self.namespace(), name: self.name() }
    }
}

impl KeyRef<'_> {
    /// The owned form.
    #[must_use]
    pub fn to_key(self) -> ObjectKey {
        ObjectKey::new(self.namespace, self.name)
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text, f)
    }
}

impl fmt::Display for KeyRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

impl PartialEq for ObjectKey {
    fn eq(&self, other: &Self) -> bool {
        self.namespace == other.namespace && self.text == other.text
    }
}

impl Eq for ObjectKey {}

impl PartialOrd for ObjectKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ObjectKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_ref().cmp(&other.as_ref())
    }
}

impl Hash for ObjectKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}

/// Reads `namespace/name` or `name`: what a key prints as.
///
/// ```
/// use informer_core::ObjectKey;
/// let key: ObjectKey = "default/web-0".parse()?;
/// assert_eq!((key.namespace(), key.name()), ("default", "web-0"));
/// assert!("a/b/c".parse::<ObjectKey>().is_err());
/// # Ok::<(), informer_core::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Config`] when there is more than one `/`, which neither a namespace nor a name can have (S-3). Empty
/// text is the empty key, which no object has.
impl FromStr for ObjectKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let KeyRef { namespace, name } = KeyRef::from(text);
        if name.contains('/') {
            let text = format!("{text:?} is no key of an object: a key is \"name\" or \"namespace/name\"");
            return Err(Error::new(ErrorKind::Config, text));
        }
        Ok(ObjectKey::new(namespace, name))
    }
}

impl<'a> From<&'a ObjectKey> for KeyRef<'a> {
    fn from(key: &'a ObjectKey) -> Self {
        key.as_ref()
    }
}

impl<'a> From<(&'a str, &'a str)> for KeyRef<'a> {
    fn from((namespace, name): (&'a str, &'a str)) -> Self {
        KeyRef { namespace, name }
    }
}

impl<'a> From<&'a str> for KeyRef<'a> {
    fn from(text: &'a str) -> Self {
        match text.split_once('/') {
            Some((namespace, name)) => KeyRef { namespace, name },
            None => KeyRef { namespace: "", name: text },
        }
    }
}

/// The maps of store, indexes and queues.
///
/// Their keys come from whoever may create objects, so the hash is seeded; it need not be `SipHash`, which costs more than
/// the rest of a look-up.
pub(crate) type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// As [`Map`], without values.
pub(crate) type Set<K> = HashSet<K, foldhash::fast::RandomState>;

/// Lets maps keyed by [`ObjectKey`] be asked with a [`KeyRef`]: `map.get(&key as &dyn Keyed)`.
pub(crate) trait Keyed {
    fn key_ref(&self) -> KeyRef<'_>;
}

impl Keyed for ObjectKey {
    fn key_ref(&self) -> KeyRef<'_> {
        self.as_ref()
    }
}

impl Keyed for KeyRef<'_> {
    fn key_ref(&self) -> KeyRef<'_> {
        *self
    }
}

impl PartialEq for dyn Keyed + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.key_ref() == other.key_ref()
    }
}

impl Eq for dyn Keyed + '_ {}

impl Hash for dyn Keyed + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key_ref().hash(state);
    }
}

impl<'a> Borrow<dyn Keyed + 'a> for ObjectKey {
    fn borrow(&self) -> &(dyn Keyed + 'a) {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_3_namespace_and_name_make_the_key() {
        let key = ObjectKey::new("a", "b");
        assert_eq!((key.namespace(), key.name(), key.as_str()), ("a", "b", "a/b"));
        let key = ObjectKey::new("", "b");
        assert_eq!((key.namespace(), key.name(), key.as_str()), ("", "b", "b"));
        assert_eq!(KeyRef::from("a/b"), KeyRef { namespace: "a", name: "b" });
        assert_eq!(KeyRef::from(""), KeyRef { namespace: "", name: "" });
        assert_ne!(ObjectKey::new("a", "b"), ObjectKey::new("", "a/b"));
        for (text, want) in [("a/b", Some(("a", "b"))), ("b", Some(("", "b"))), ("", Some(("", "")))] {
            let key: Option<ObjectKey> = text.parse().ok();
            assert_eq!(key.as_ref().map(|key| (key.namespace(), key.name())), want, "{text:?}");
        }
        for text in ["a/b/c", "a//b", "//"] {
            let error = text.parse::<ObjectKey>().unwrap_err();
            assert!(error.to_string().contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn a_map_answers_to_the_borrowed_key() {
        let mut map = HashMap::new();
        map.insert(ObjectKey::new("ns", "x"), 1);
        map.insert(ObjectKey::new("", "x"), 2);
        assert_eq!(map.get(&KeyRef::from("ns/x") as &dyn Keyed), Some(&1));
        assert_eq!(map.get(&KeyRef::from("x") as &dyn Keyed), Some(&2));
        assert_eq!(map.get(&KeyRef::from("ns/y") as &dyn Keyed), None);
    }
}
