//! [`Index`]: a typed secondary key over a store.
//!
//! Values are computed by user code outside every lock; the write section only moves finished values. The values
//! of each object are remembered, so an index function that is not pure cannot leave an entry behind.

use std::any::Any;
use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use super::Store;
use super::table::Change;
use crate::contain::{contain, discard, discard_all};
use crate::error::{Error, ErrorKind, Result};
use crate::key::{Map, ObjectKey, Set};
use crate::lazy::Lazy;
use crate::meta::Object;

/// A typed index: finds the objects that have a value (client-go's `Indexer`).
///
/// Made once, given to the informers' builders or to
/// [`SharedInformer::add_index`](crate::SharedInformer::add_index), and asked with the store. Clones are the same
/// index; one index may serve several stores.
///
/// Two things about `V`: its `Hash` and `Eq` run under the store's lock, so they must be plain; and an object may
/// have any number of values.
///
/// ```
/// use informer_core::Index;
/// use k8s_openapi::api::core::v1::Pod;
///
/// let by_node: Index<Pod, String> =
///     Index::new("by-node", |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()));
/// assert_eq!(by_node.name(), "by-node");
/// ```
pub struct Index<T, V> {
    definition: Arc<Definition<T, V>>,
}

type Compute<T, V> = dyn Fn(&T, &mut Scratch) -> Result<Values<V>> + Send + Sync;

struct Definition<T, V> {
    name: String,
    compute: Box<Compute<T, V>>,
}

/// What the index functions of one change share: the decoded form of a lazy object, made at most once.
#[derive(Default)]
pub(crate) struct Scratch {
    decoded: Option<Result<Box<dyn Any>>>,
}

/// The values of one object. Most have none or one.
enum Values<V> {
    None,
    One(V),
    Many(Box<[V]>),
}

impl<V> Values<V> {
    fn as_slice(&self) -> &[V] {
        match self {
            Values::None => &[],
            Values::One(value) => std::slice::from_ref(value),
            Values::Many(values) => values,
        }
    }
}

impl<V: Hash + Eq + Clone> FromIterator<V> for Values<V> {
    fn from_iter<I: IntoIterator<Item = V>>(values: I) -> Self {
        let mut values = values.into_iter();
        let Some(first) = values.next() else { return Values::None };
        let Some(second) = values.next() else { return Values::One(first) };
        let mut seen = HashSet::new();
        let all = [first, second].into_iter().chain(values);
        Values::Many(all.filter(|value| seen.insert(value.clone())).collect())
    }
}

impl<T: Object, V: Hash + Eq + Clone + Send + Sync + 'static> Index<T, V> {
    /// An index called `name` of the values that `values` finds in an object: an `Option`, a `Vec`, any iterator.
    pub fn new<I>(name: impl Into<String>, values: impl Fn(&T) -> I + Send + Sync + 'static) -> Self
    where
        I: IntoIterator<Item = V>,
    {
        let compute = move |object: &T, _: &mut Scratch| Ok(values(object).into_iter().collect());
        Index { definition: Arc::new(Definition { name: name.into(), compute: Box::new(compute) }) }
    }

    /// The objects of `store` that have `value`, in no order.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownIndex`] when the store does not have this index.
    pub fn get<Q>(&self, store: &Store<T>, value: &Q) -> Result<Vec<Arc<T>>>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        store.with_table(|table| {
            let found = self.buckets(&table.indexes)?.objects.get(value);
            Ok(found.into_iter().flat_map(Map::values).cloned().collect())
        })
    }

    /// The keys of the objects of `store` that have `value`, sorted (S-7).
    ///
    /// # Errors
    /// [`ErrorKind::UnknownIndex`] when the store does not have this index.
    pub fn keys<Q>(&self, store: &Store<T>, value: &Q) -> Result<Vec<ObjectKey>>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let mut keys: Vec<ObjectKey> = store.with_table(|table| {
            Ok::<_, Error>(
                self.buckets(&table.indexes)?
                    .objects
                    .get(value)
                    .into_iter()
                    .flat_map(Map::keys)
                    .cloned()
                    .collect(),
            )
        })?;
        keys.sort_unstable();
        Ok(keys)
    }

    /// Every value that some object of `store` has, in no order.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownIndex`] when the store does not have this index.
    pub fn values(&self, store: &Store<T>) -> Result<Vec<V>> {
        store.with_table(|table| Ok(self.buckets(&table.indexes)?.objects.keys().cloned().collect()))
    }

    fn buckets<'a>(&self, indexes: &'a [Box<dyn AnyIndex<T>>]) -> Result<&'a Buckets<T, V>> {
        indexes
            .iter()
            .filter_map(|index| index.as_any().downcast_ref::<Buckets<T, V>>())
            .find(|buckets| buckets.building.is_none() && Arc::ptr_eq(&buckets.definition, &self.definition))
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::UnknownIndex,
                    format!(
                        "the store has no index {:?}; give it to the informer's builder or to add_index first",
                        self.name()
                    ),
                )
            })
    }
}

impl<K, V> Index<Lazy<K>, V>
where
    K: kube_core::Resource + serde::de::DeserializeOwned + Send + Sync + 'static,
    V: Hash + Eq + Clone + Send + Sync + 'static,
{
    /// An index over the decoded form of lazy objects: each change is decoded once for all such indexes.
    ///
    /// An object that does not decode has no values and is reported.
    pub fn decoded<I>(name: impl Into<String>, values: impl Fn(&K) -> I + Send + Sync + 'static) -> Self
    where
        I: IntoIterator<Item = V>,
    {
        let compute = move |object: &Lazy<K>, scratch: &mut Scratch| {
            let decoded = scratch
                .decoded
                .get_or_insert_with(|| object.decode().map(|decoded| Box::new(decoded) as Box<dyn Any>));
            match decoded {
                Ok(decoded) => {
                    let decoded = decoded.downcast_ref::<K>().expect("a Lazy<K> decodes to a K");
                    Ok(values(decoded).into_iter().collect())
                }
                Err(error) => Err(error.clone()),
            }
        };
        Index { definition: Arc::new(Definition { name: name.into(), compute: Box::new(compute) }) }
    }
}

impl<T, V> Index<T, V> {
    /// The name, unique within a store.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.definition.name
    }
}

impl<T, V> Clone for Index<T, V> {
    fn clone(&self) -> Self {
        Index { definition: Arc::clone(&self.definition) }
    }
}

impl<T, V> fmt::Debug for Index<T, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// An index of objects `T` whose value type does not matter: what a builder takes.
pub trait IndexOf<T>: Send + Sync {
    /// The name, unique within a store.
    fn name(&self) -> &str;

    /// An instance for one store, to be filled.
    #[doc(hidden)]
    fn instance(&self) -> IndexInstance<T>;
}

/// One store's instance of an index; opaque.
#[doc(hidden)]
pub struct IndexInstance<T>(pub(crate) Box<dyn AnyIndex<T>>);

impl<T> fmt::Debug for IndexInstance<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IndexInstance")
    }
}

impl<T: Object, V: Hash + Eq + Clone + Send + Sync + 'static> IndexOf<T> for Index<T, V> {
    fn name(&self) -> &str {
        &self.definition.name
    }

    fn instance(&self) -> IndexInstance<T> {
        IndexInstance(Box::new(Buckets {
            definition: Arc::clone(&self.definition),
            objects: Map::default(),
            values: Map::default(),
            building: Some(Set::default()),
        }))
    }
}

/// Whatever must be dropped outside the lock.
pub(crate) type Garbage = Box<dyn Any + Send>;

/// The user's function of an index, to be called outside every lock.
pub(crate) trait Function<T>: Send + Sync {
    /// Room for the values of `n` changes.
    fn room(&self, n: usize) -> Garbage;
    /// Computes the values of `object` and appends them. A panic or an error counts as no values and is answered.
    fn compute(&self, object: Option<&T>, scratch: &mut Scratch, into: &mut (dyn Any + Send)) -> Result<()>;
}

/// One store's instance of an index.
pub(crate) trait AnyIndex<T>: Send + Sync {
    fn name(&self) -> &str;
    fn as_any(&self) -> &dyn Any;
    /// The function, shared so that it can be called without the table.
    fn function(&self) -> Arc<dyn Function<T>>;
    /// An instance of the same index with nothing in it, for the values of a snapshot.
    fn base(&self) -> Box<dyn AnyIndex<T>>;
    /// Moves prepared values in; the old ones are left in their place, to be dropped outside the lock.
    fn apply(&mut self, changes: &[Change<T>], prepared: &mut (dyn Any + Send));
    /// Puts a [`base`](AnyIndex::base), filled outside the lock, under what came by since; then the index is ready.
    ///
    /// Costs as much as what came by, whatever the size of the base. Answers what is to be dropped outside the lock.
    fn install(&mut self, base: Box<dyn AnyIndex<T>>) -> (Box<dyn AnyIndex<T>>, Garbage);
    /// Drops everything, one after the other: of several destructors that panic, each is caught. Not under a lock.
    fn discard(self: Box<Self>);
    /// For [`install`](AnyIndex::install) alone.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

struct Buckets<T, V> {
    definition: Arc<Definition<T, V>>,
    /// Value to objects, so that reading an index looks nothing up in the table. No map is empty.
    objects: Map<V, Map<ObjectKey, Arc<T>>>,
    /// Key to values: what `objects` holds for it.
    values: Map<ObjectKey, Values<V>>,
    /// `Some` until a late index has caught up.
    ///
    /// Has the keys that changed since the snapshot it is computed from: their values here are newer.
    building: Option<Set<ObjectKey>>,
}

/// Values computed outside the lock, one per change; after the write section, the values that they replaced.
struct Prepared<V> {
    values: Vec<Values<V>>,
    /// Values whose last object went.
    emptied: Vec<V>,
}

impl<T: Object, V: Hash + Eq + Clone + Send + Sync + 'static> Function<T> for Definition<T, V> {
    fn room(&self, n: usize) -> Garbage {
        Box::new(Prepared::<V> { values: Vec::with_capacity(n), emptied: Vec::new() })
    }

    fn compute(&self, object: Option<&T>, scratch: &mut Scratch, into: &mut (dyn Any + Send)) -> Result<()> {
        let prepared = into.downcast_mut::<Prepared<V>>().expect("room of this index");
        let (values, outcome) = match object {
            None => (Values::None, Ok(())),
            Some(object) => match contain(|| (self.compute)(object, scratch)) {
                Some(Ok(values)) => (values, Ok(())),
                Some(Err(error)) => (Values::None, Err(error)),
                None => (
                    Values::None,
                    Err(Error::new(ErrorKind::Panic, format!("index function {:?} panicked", self.name))),
                ),
            },
        };
        prepared.values.push(values);
        outcome
    }
}

impl<T: Object, V: Hash + Eq + Clone + Send + Sync + 'static> Buckets<T, V> {
    /// Puts `object` under the values in `slot` and leaves the old values there; `None` takes `key` out.
    ///
    /// Whoever calls it keeps the object that is replaced alive until the lock is gone, so that none ends here.
    fn set(&mut self, key: &ObjectKey, object: Option<&Arc<T>>, slot: &mut Values<V>, emptied: &mut Vec<V>) {
        let new = std::mem::replace(slot, Values::None);
        let old = match (object, self.values.get(key)) {
            (None, None) => return,
            // The usual update: nothing moved. The stored values stay, the new ones go out.
            (Some(object), Some(old)) if new.as_slice() == old.as_slice() => {
                for value in new.as_slice() {
                    if let Some(stored) = self.objects.get_mut(value).and_then(|stored| stored.get_mut(key)) {
                        *stored = Arc::clone(object);
                    }
                }
                *slot = new;
                return;
            }
            _ => self.values.remove(key),
        };
        if let Some(object) = object {
            for value in new.as_slice() {
                let stored = match self.objects.get_mut(value) {
                    Some(stored) => stored,
                    None => self.objects.entry(value.clone()).or_default(),
                };
                stored.insert(key.clone(), Arc::clone(object));
            }
        }
        if let Some(old) = old {
            for value in old.as_slice().iter().filter(|value| !new.as_slice().contains(value)) {
                if let Some(stored) = self.objects.get_mut(value) {
                    stored.remove(key);
                    if stored.is_empty() {
                        emptied.extend(self.objects.remove_entry(value).map(|(value, _)| value));
                    }
                }
            }
            *slot = old;
        }
        if !new.as_slice().is_empty() {
            self.values.insert(key.clone(), new);
        }
    }
}

impl<T: Object, V: Hash + Eq + Clone + Send + Sync + 'static> AnyIndex<T> for Buckets<T, V> {
    fn name(&self) -> &str {
        &self.definition.name
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn function(&self) -> Arc<dyn Function<T>> {
        Arc::clone(&self.definition) as Arc<dyn Function<T>>
    }

    fn base(&self) -> Box<dyn AnyIndex<T>> {
        Box::new(Buckets {
            definition: Arc::clone(&self.definition),
            objects: Map::default(),
            values: Map::default(),
            building: None,
        })
    }

    fn apply(&mut self, changes: &[Change<T>], prepared: &mut (dyn Any + Send)) {
        let prepared = prepared.downcast_mut::<Prepared<V>>().expect("values prepared for this index");
        for (change, values) in changes.iter().zip(&mut prepared.values) {
            if let Some(touched) = &mut self.building {
                touched.insert(change.key.clone());
            }
            self.set(&change.key, change.new.as_ref(), values, &mut prepared.emptied);
        }
    }

    fn install(&mut self, base: Box<dyn AnyIndex<T>>) -> (Box<dyn AnyIndex<T>>, Garbage) {
        let mut base = *base.into_any().downcast::<Self>().expect("a base of this index");
        let mut replaced = Vec::new();
        for key in self.building.take().unwrap_or_default() {
            let mut values = self.values.remove(&key).unwrap_or(Values::None);
            // What has no value is not found here; it need not be in the index, whatever it is.
            let first = values.as_slice().first();
            let object = first.and_then(|value| self.objects.get(value)?.get(&key)).cloned();
            let mut emptied = Vec::new();
            base.set(&key, object.as_ref(), &mut values, &mut emptied);
            replaced.push((values, emptied));
        }
        (Box::new(std::mem::replace(self, base)), Box::new(replaced))
    }

    fn discard(self: Box<Self>) {
        for (value, objects) in self.objects {
            discard(value);
            discard_all(objects.into_values());
        }
        discard_all(self.values.into_values());
        discard(self.definition); // has the user's function
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Computes the values of `changes` for every function, outside every lock. Answers what went wrong.
pub(crate) fn prepare<T>(
    functions: &[Arc<dyn Function<T>>],
    changes: &[Change<T>],
) -> (Vec<Garbage>, Vec<(ObjectKey, Error)>) {
    let mut rooms: Vec<Garbage> = functions.iter().map(|function| function.room(changes.len())).collect();
    let mut bad = Vec::new();
    if functions.is_empty() {
        return (rooms, bad);
    }
    for change in changes {
        let mut scratch = Scratch::default();
        for (function, room) in functions.iter().zip(&mut rooms) {
            if let Err(error) = function.compute(change.new.as_deref(), &mut scratch, room.as_mut()) {
                bad.push((change.key.clone(), error));
            }
        }
        discard(scratch); // an object of the user's, decoded
    }
    (rooms, bad)
}

#[cfg(test)]
mod tests;
