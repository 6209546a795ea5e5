//! [`MultiInformer`]: the informers of one kind in several namespaces, as one.
//!
//! A façade: below it is one shared informer a namespace, each with its own watch, threads and order. Nothing here has
//! a lock or a thread, and nothing orders what happens in two namespaces.

use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use informer_core::{
    AnyInformer, Clock, Error, ErrorKind, Event, EventHandler, HandlerOptions, Index, IndexOf, KeyRef,
    Lister, NamespaceLister, Object, Registration, Result, Selector, SharedInformer, Stage, Status,
};

use crate::waiting::{called, wait_for_all, would_wait_for_itself};

/// The informers of one kind in several namespaces, as one; made by
/// [`in_namespaces`](crate::SharedInformerFactory::in_namespaces).
///
/// It is for programs that may not list the whole cluster. Below it is one shared informer for each namespace, the same
/// that everybody gets who asks the factory for that namespace alone: starting and stopping are theirs.
///
/// # Order
/// In one namespace everything is as [`SharedInformer`] promises. Between namespaces there is no order: their events
/// come on different threads, and calls to a handler may overlap there. That is why
/// [`on_event`](MultiInformer::on_event) wants a closure that may be called so, and
/// [`add_event_handler`](MultiInformer::add_event_handler) gives each namespace a clone of the handler.
///
/// Clones are the same informers.
///
/// ```no_run
/// # use std::time::Duration;
/// # use informer_factory::{Result, SharedInformerFactory};
/// # use k8s_openapi::api::core::v1::Pod;
/// # fn run(factory: SharedInformerFactory) -> Result<()> {
/// let pods = factory.in_namespaces::<Pod>(["shop", "billing"])?;
/// pods.on_event(|event| println!("{event:?}"))?;
/// factory.start()?;
/// pods.wait_synced(Duration::from_secs(30))?;
/// println!("{} pods in both", pods.lister().list().len());
/// # Ok(())
/// # }
/// ```
pub struct MultiInformer<T: Object> {
    parts: Arc<[Part<SharedInformer<T>>]>,
    clock: Arc<dyn Clock>,
}

/// Something of one namespace.
#[derive(Clone)]
struct Part<P> {
    namespace: Arc<str>,
    of: P,
}

/// Reads the caches of a [`MultiInformer`]; made by [`MultiInformer::lister`].
///
/// As a [`Lister`], it neither asks the network nor waits. Each namespace is read in one state of its own.
pub struct MultiLister<T> {
    parts: Vec<Part<Lister<T>>>,
}

/// A handler's registrations, one in each namespace. Dropping it removes nothing; it keeps nothing alive.
pub struct MultiRegistration<T: Object> {
    parts: Vec<Part<Registration<T>>>,
    clock: Arc<dyn Clock>,
}

impl<T: Object> MultiInformer<T> {
    pub(crate) fn new(
        parts: impl IntoIterator<Item = (String, SharedInformer<T>)>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let part = |(namespace, of)| Part { namespace: Arc::from(namespace), of };
        MultiInformer { parts: parts.into_iter().map(part).collect(), clock }
    }

    /// The namespaces, as they were asked for, and the informer of each.
    pub fn informers(&self) -> impl Iterator<Item = (&str, &SharedInformer<T>)> {
        self.parts.iter().map(|part| (&*part.namespace, &part.of))
    }

    /// The informer of `namespace`; `None` if it is not one of those that were asked for.
    #[must_use]
    pub fn informer(&self, namespace: &str) -> Option<&SharedInformer<T>> {
        self.informers().find_map(|(name, informer)| (name == namespace).then_some(informer))
    }

    /// Calls `handler` for every event of every namespace; calls for different namespaces may overlap.
    ///
    /// # Errors
    /// As [`add_event_handler`](MultiInformer::add_event_handler).
    pub fn on_event(
        &self,
        handler: impl Fn(&Event<T>) + Send + Sync + 'static,
    ) -> Result<MultiRegistration<T>> {
        let handler = Arc::new(handler);
        self.register(|informer| {
            let handler = Arc::clone(&handler);
            informer.on_event(move |event| handler(event))
        })
    }

    /// Adds a clone of `handler` in each namespace. Calls to one clone never overlap; clones that share something must
    /// expect calls from several threads.
    ///
    /// # Errors
    /// As [`SharedInformer::add_event_handler`], of the first namespace that refuses it; then it is nowhere.
    pub fn add_event_handler(&self, handler: impl EventHandler<T> + Clone) -> Result<MultiRegistration<T>> {
        self.add_event_handler_with(HandlerOptions::default(), handler)
    }

    /// As [`add_event_handler`](MultiInformer::add_event_handler), with a thread or a resync of its own in each
    /// namespace.
    ///
    /// # Errors
    /// As [`SharedInformer::add_event_handler_with`], of the first namespace that refuses it; then it is nowhere.
    #[expect(clippy::needless_pass_by_value, reason = "a handler is handed over, as everywhere")]
    pub fn add_event_handler_with(
        &self,
        options: HandlerOptions,
        handler: impl EventHandler<T> + Clone,
    ) -> Result<MultiRegistration<T>> {
        self.register(|informer| informer.add_event_handler_with(options, handler.clone()))
    }

    fn register(
        &self,
        add: impl Fn(&SharedInformer<T>) -> Result<Registration<T>>,
    ) -> Result<MultiRegistration<T>> {
        let mut all = MultiRegistration { parts: Vec::new(), clock: Arc::clone(&self.clock) };
        for part in &*self.parts {
            match add(&part.of) {
                Ok(of) => all.parts.push(Part { namespace: Arc::clone(&part.namespace), of }),
                Err(error) => {
                    all.remove();
                    return Err(error.context(format_args!("namespace {}", part.namespace)));
                }
            }
        }
        Ok(all)
    }

    /// Adds an index in each namespace; ask it with [`indexed`](MultiInformer::indexed).
    ///
    /// # Errors
    /// As [`SharedInformer::add_index`], of the first namespace that refuses it; those before it have it then.
    pub fn add_index(&self, index: &impl IndexOf<T>) -> Result<()> {
        self.parts.iter().try_for_each(|part| {
            part.of
                .add_index(index)
                .map_err(|error| error.context(format_args!("namespace {}", part.namespace)))
        })
    }

    /// The objects of every namespace that have `value` in `index`, in no order.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownIndex`] when a namespace does not have this index.
    pub fn indexed<V, Q>(&self, index: &Index<T, V>, value: &Q) -> Result<Vec<Arc<T>>>
    where
        V: Borrow<Q> + Hash + Eq + Clone + Send + Sync + 'static,
        Q: Hash + Eq + ?Sized,
    {
        let mut found = Vec::new();
        for part in &*self.parts {
            found.extend(index.get(&part.of.store(), value)?);
        }
        Ok(found)
    }

    /// One lister over every namespace.
    #[must_use]
    pub fn lister(&self) -> MultiLister<T> {
        let part = |part: &Part<SharedInformer<T>>| Part {
            namespace: Arc::clone(&part.namespace),
            of: part.of.lister(),
        };
        MultiLister { parts: self.parts.iter().map(part).collect() }
    }

    /// Whether the first complete list of every namespace is there.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.parts.iter().all(|part| part.of.has_synced())
    }

    /// Waits until the first complete list of every namespace is there.
    ///
    /// # Blocking
    /// Until then, or until `timeout` has passed for all of them together.
    ///
    /// # Errors
    /// [`is_timed_out`](Error::is_timed_out): the text names each namespace that is late and its last error.
    /// [`is_stopped`](Error::is_stopped) when one was stopped before it was synced;
    /// [`is_would_block`](Error::is_would_block) on a thread of one of the informers.
    pub fn wait_synced(&self, timeout: Duration) -> Result<()> {
        let named = |part: &Part<SharedInformer<T>>| (called(&part.of, &part.namespace), part.of.share());
        wait_for_all(&*self.clock, timeout, self.parts.iter().map(named).collect())
    }

    /// How each namespace is.
    #[must_use]
    pub fn statuses(&self) -> Vec<(String, Status)> {
        self.informers().map(|(namespace, informer)| (namespace.to_owned(), informer.status())).collect()
    }

    /// Stops every one of the informers, for all who share them.
    pub fn stop(&self) {
        self.parts.iter().for_each(|part| part.of.stop());
    }

    /// Waits until every thread of the informers has ended; [`stop`](MultiInformer::stop) first.
    ///
    /// # Blocking
    /// As [`SharedInformer::join`].
    ///
    /// # Errors
    /// [`is_would_block`](Error::is_would_block) on a thread of one of them; then none is waited for.
    pub fn join(&self) -> Result<()> {
        would_wait_for_itself(self.parts.iter().map(|part| &part.of as &dyn AnyInformer))?;
        self.parts.iter().try_for_each(|part| part.of.join())
    }
}

impl<T: Object> MultiLister<T> {
    /// All objects, in no order.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<T>> {
        self.parts.iter().flat_map(|part| part.of.list()).collect()
    }

    /// The objects whose labels `selector` matches, in no order.
    #[must_use]
    pub fn select(&self, selector: impl Into<Selector>) -> Vec<Arc<T>> {
        let selector = selector.into();
        self.parts.iter().flat_map(|part| part.of.select(&selector)).collect()
    }

    /// The object with `key`: an [`ObjectKey`](informer_core::ObjectKey), `(namespace, name)`, or text as `"default/web-0"`.
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found) when there is none; [`ErrorKind::Config`] when its namespace is not one of
    /// those that were asked for, since then nothing is known of it.
    pub fn get<'k>(&self, key: impl Into<KeyRef<'k>>) -> Result<Arc<T>> {
        let key = key.into();
        match self.in_namespace(key.namespace) {
            Some(lister) => lister.get(key.name),
            None => {
                let known: Vec<&str> = self.parts.iter().map(|part| &*part.namespace).collect();
                let text = format!(
                    "{key} is in none of the namespaces that are informed about, {}; ask for that one too",
                    known.join(", ")
                );
                Err(Error::new(ErrorKind::Config, text))
            }
        }
    }

    /// The objects of one namespace; `None` if it is not one of those that were asked for.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Option<NamespaceLister<T>> {
        let part = self.parts.iter().find(|part| &*part.namespace == namespace)?;
        Some(part.of.in_namespace(namespace))
    }
}

impl<T: Object> MultiRegistration<T> {
    /// Whether the handler has handled every initial add of every namespace. Stays true.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.parts.iter().all(|part| part.of.has_synced())
    }

    /// Waits until [`has_synced`](MultiRegistration::has_synced).
    ///
    /// # Blocking
    /// Until then, until `timeout` has passed for all namespaces together, or until one of the informers stops.
    ///
    /// # Errors
    /// As [`Registration::wait_synced`], of the first namespace that is late.
    pub fn wait_synced(&self, timeout: Duration) -> Result<()> {
        let until = self.clock.now().checked_add(timeout);
        for part in &self.parts {
            let left = until.map_or(timeout, |until| until.saturating_duration_since(self.clock.now()));
            let outcome = part.of.wait_synced(left);
            outcome.map_err(|error| error.context(format_args!("namespace {}", part.namespace)))?;
        }
        Ok(())
    }

    /// Removes the handler everywhere: no new call starts. Again, or after a stop: nothing.
    pub fn remove(&self) {
        self.parts.iter().for_each(|part| part.of.remove());
    }

    /// Removes the handler everywhere and waits until its last call has ended.
    ///
    /// # Blocking
    /// For as long as calls in progress last.
    ///
    /// # Errors
    /// [`is_would_block`](Error::is_would_block) on a thread of one of the informers; then it is removed, but not waited
    /// for.
    pub fn remove_and_wait(&self) -> Result<()> {
        self.remove();
        // Before any is waited for: two handlers that remove each other would wait for each other.
        for part in &self.parts {
            match part.of.wait_synced(Duration::ZERO) {
                Err(error) if error.is_would_block() => {
                    return Err(Error::would_block("wait for a handler's end").at(Stage::Handler));
                }
                _ => {}
            }
        }
        self.parts.iter().try_for_each(|part| part.of.remove_and_wait())
    }
}

impl<T: Object> Clone for MultiInformer<T> {
    fn clone(&self) -> Self {
        MultiInformer { parts: Arc::clone(&self.parts), clock: Arc::clone(&self.clock) }
    }
}

impl<T> Clone for MultiLister<T> {
    fn clone(&self) -> Self {
        MultiLister { parts: self.parts.clone() }
    }
}

impl<P> fmt::Debug for Part<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.namespace)
    }
}

impl<T: Object> fmt::Debug for MultiInformer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiInformer").field("namespaces", &self.parts).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for MultiLister<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiLister").field("namespaces", &self.parts).finish()
    }
}

impl<T: Object> fmt::Debug for MultiRegistration<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiRegistration").field("namespaces", &self.parts).finish_non_exhaustive()
    }
}
