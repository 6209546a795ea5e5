//! [`SharedInformerFactory`]: one informer for each kind, shared by all who ask.

mod namespaces;

use std::any::TypeId;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use informer_core::kube_core::{
    ApiResource, ClusterResourceScope, DynamicObject, PartialObjectMeta, Resource,
};
use informer_core::sync::{Mutex, spawn};
use informer_core::time::deadline;
use informer_core::{
    AnyInformer, Clock, DecodeOptions, Error, ErrorKind, Metrics, Object, Representation, Result,
    SharedInformer, Stage, SystemClock,
};
use informer_http::{Client, HttpListWatch};

use crate::options::InformerOptions;
use crate::registry::{Key, Registry};
use crate::waiting::{Named, wait_for_all, would_wait_for_itself};

/// How long a drop waits for the threads.
const DROP_PATIENCE: Duration = Duration::from_secs(5);

/// Gives out shared informers, and starts and stops them together (client-go's `SharedInformerFactory`).
///
/// Clones are the same factory. Dropping the last one shuts it down: it waits for the threads for at most 5 s, and not
/// at all on a thread of one of its informers.
#[derive(Clone)]
pub struct SharedInformerFactory {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    namespace: String,
    resync: Option<Duration>,
    clock: Arc<dyn Clock>,
    metrics: Option<Arc<dyn Metrics>>,
    /// Held for look-ups only: informers are built, started and joined outside it.
    registry: Mutex<Registry>,
}

/// Chooses what holds for every informer of a factory; made by [`SharedInformerFactory::builder`].
#[must_use]
pub struct FactoryBuilder {
    client: Client,
    namespace: String,
    resync: Option<Duration>,
    clock: Arc<dyn Clock>,
    metrics: Option<Arc<dyn Metrics>>,
}

impl FactoryBuilder {
    /// Only this namespace, for kinds that have namespaces; by default all of them (FA-7).
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// The resync period of handlers that choose none; by default there is no resync.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period).filter(|period| !period.is_zero());
        self
    }

    /// Where time comes from; for tests.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Tells `metrics` what happens in every informer. The name that tells informers of one resource apart is made of
    /// the type, the namespace and the selectors: `Pod`, `Lazy<Pod> in shop, labels app=web`.
    pub fn metrics(mut self, metrics: impl Metrics + 'static) -> Self {
        self.metrics = Some(Arc::new(metrics));
        self
    }

    /// The factory.
    #[must_use]
    pub fn build(self) -> SharedInformerFactory {
        SharedInformerFactory {
            inner: Arc::new(Inner {
                client: self.client,
                namespace: self.namespace,
                resync: self.resync,
                clock: self.clock,
                metrics: self.metrics,
                registry: Mutex::new(Registry::default()),
            }),
        }
    }
}

impl SharedInformerFactory {
    /// Begins a factory whose informers use `client`.
    pub fn builder(client: Client) -> FactoryBuilder {
        FactoryBuilder {
            client,
            namespace: String::new(),
            resync: None,
            clock: Arc::new(SystemClock),
            metrics: None,
        }
    }

    /// Chooses options for every informer of objects `T`, once, before the first one is asked for.
    ///
    /// # Errors
    /// [`ErrorKind::OptionsConflict`] when somebody has configured `T`, or asked for an informer of it, already; it
    /// names both callers.
    #[track_caller]
    pub fn configure<T: Representation>(&self, choose: impl FnOnce(&mut InformerOptions<T>)) -> Result<()> {
        let mut options = InformerOptions::default();
        choose(&mut options);
        let caller = Location::caller();
        let mut registry = self.inner.registry.lock();
        let earlier = match (registry.first_caller::<T>(), registry.configured_by::<T>()) {
            (Some(asked), _) => format!("too late: {asked} has asked for an informer of this type already"),
            (None, Some(configured)) => {
                format!("but {configured} has configured this type already; choose everything in one place")
            }
            (None, None) => {
                registry.set_defaults(options, caller);
                return Ok(());
            }
        };
        drop(registry);
        Err(Error::new(ErrorKind::OptionsConflict, format!("configured at {caller}, {earlier}")))
    }

    /// The informer of objects `T`: a typed object, or [`Lazy`](informer_core::Lazy) of one. The same for everyone who
    /// asks (FA-1).
    ///
    /// Asked for again after it was stopped, it is a new one, without the old one's handlers. After a shutdown there is
    /// nothing new: it is the stopped one, with what it held, or one that is stopped and empty (FA-6).
    #[track_caller]
    #[must_use]
    pub fn informer<T: Representation>(&self) -> SharedInformer<T>
    where
        T::Resource: Resource<DynamicType = ()>,
        <T::Resource as Resource>::Scope: 'static,
    {
        self.of_type(&InformerOptions::default(), Location::caller())
            .expect("an informer asked for without options is always shared")
    }

    /// As [`informer`](SharedInformerFactory::informer), with options: another namespace or selector makes it another
    /// informer.
    ///
    /// # Errors
    /// [`ErrorKind::OptionsConflict`] when the informer is shared with somebody who chose otherwise; it names both
    /// callers.
    #[track_caller]
    pub fn informer_with<T: Representation>(
        &self,
        choose: impl FnOnce(&mut InformerOptions<T>),
    ) -> Result<SharedInformer<T>>
    where
        T::Resource: Resource<DynamicType = ()>,
        <T::Resource as Resource>::Scope: 'static,
    {
        let mut options = InformerOptions::default();
        choose(&mut options);
        self.of_type(&options, Location::caller())
    }

    /// The informer of the metadata of objects `K`: the server sends nothing else (DY-6).
    #[track_caller]
    #[must_use]
    pub fn metadata<K>(&self) -> SharedInformer<PartialObjectMeta<K>>
    where
        K: Resource<DynamicType = ()> + Send + Sync + 'static,
        K::Scope: 'static,
        PartialObjectMeta<K>: Representation<Resource = PartialObjectMeta<K>>,
    {
        self.of_type(&InformerOptions::default(), Location::caller())
            .expect("an informer asked for without options is always shared")
    }

    /// The informer of a resource that is known only at run time, in the factory's namespace.
    #[track_caller]
    #[must_use]
    pub fn dynamic(&self, resource: &ApiResource) -> SharedInformer<DynamicObject> {
        self.of_resource(resource, &InformerOptions::default(), true, Location::caller())
            .expect("an informer asked for without options is always shared")
    }

    /// As [`dynamic`](SharedInformerFactory::dynamic), in another representation and with options: `DynamicObject`,
    /// `Lazy<DynamicObject>`, `PartialObjectMeta<DynamicObject>`. For a resource without namespaces choose the empty
    /// namespace.
    ///
    /// # Errors
    /// As [`informer_with`](SharedInformerFactory::informer_with).
    #[track_caller]
    pub fn dynamic_with<T: Representation>(
        &self,
        resource: &ApiResource,
        choose: impl FnOnce(&mut InformerOptions<T>),
    ) -> Result<SharedInformer<T>>
    where
        T::Resource: Resource<DynamicType = ApiResource>,
    {
        let mut options = InformerOptions::default();
        choose(&mut options);
        self.of_resource(resource, &options, true, Location::caller())
    }

    fn of_type<T: Representation>(
        &self,
        wanted: &InformerOptions<T>,
        caller: &'static Location<'static>,
    ) -> Result<SharedInformer<T>>
    where
        T::Resource: Resource<DynamicType = ()>,
        <T::Resource as Resource>::Scope: 'static,
    {
        self.of_resource(&ApiResource::erase::<T::Resource>(&()), wanted, has_namespaces::<T>(), caller)
    }

    fn of_resource<T: Representation>(
        &self,
        resource: &ApiResource,
        wanted: &InformerOptions<T>,
        namespaced: bool,
        caller: &'static Location<'static>,
    ) -> Result<SharedInformer<T>> {
        // From here on `configure` is too late: what is read now must hold.
        let defaults = self.inner.registry.lock().ask::<T>(caller).cloned().unwrap_or_default();
        let key = self.key(resource, wanted, &defaults, namespaced);
        loop {
            if let Some(shared) = self.shared(&key, wanted, caller) {
                return shared;
            }
            let options = merge(wanted, &defaults);
            let informer = self.build(&key, &options);
            let mut registry = self.inner.registry.lock();
            if registry.get::<T>(&key).is_some() {
                continue; // somebody else was quicker: theirs is the one, unless it is stopped by then
            }
            let old = registry.insert(key, &informer, options, caller);
            let over = registry.shut_down;
            drop(registry);
            drop(old); // a stopped one; its last handle may wait for its threads, so never under the lock
            if over {
                informer.stop(); // nobody would end it
            }
            return Ok(informer);
        }
    }

    fn key<T: Representation>(
        &self,
        resource: &ApiResource,
        wanted: &InformerOptions<T>,
        defaults: &InformerOptions<T>,
        namespaced: bool,
    ) -> Key {
        let pick =
            |wanted: &Option<String>, default: &Option<String>| wanted.as_ref().or(default.as_ref()).cloned();
        let namespace =
            pick(&wanted.namespace, &defaults.namespace).unwrap_or_else(|| self.inner.namespace.clone());
        Key {
            representation: TypeId::of::<T>(),
            resource: resource.clone(),
            namespace: if namespaced { namespace } else { String::new() },
            labels: pick(&wanted.labels, &defaults.labels).unwrap_or_default(),
            fields: pick(&wanted.fields, &defaults.fields).unwrap_or_default(),
        }
    }

    fn shared<T: Representation>(
        &self,
        key: &Key,
        wanted: &InformerOptions<T>,
        caller: &'static Location<'static>,
    ) -> Option<Result<SharedInformer<T>>> {
        let registry = self.inner.registry.lock();
        let (informer, options, first) = registry.get::<T>(key)?;
        Some(match options.conflict(wanted) {
            None => Ok(informer.clone()),
            Some(what) => Err(Error::new(
                ErrorKind::OptionsConflict,
                format!(
                    "{}: {caller} asks for another {what} than {first}, which shares the informer; \
                     choose it in one place with configure, or use another namespace or selector",
                    informer.name()
                ),
            )),
        })
    }

    fn build<T: Representation>(&self, key: &Key, options: &InformerOptions<T>) -> SharedInformer<T> {
        let keep = options.keep_managed_fields.unwrap_or_default();
        let mut source = HttpListWatch::<T>::of(&self.inner.client, &key.resource)
            .namespace(&key.namespace)
            .decode(DecodeOptions::default().keep_managed_fields(keep))
            .compress_watches(options.compress_watches.unwrap_or_default());
        if !key.labels.is_empty() {
            source = source.label_selector(&key.labels);
        }
        if !key.fields.is_empty() {
            source = source.field_selector(&key.fields);
        }
        if let Some(bytes) = options.max_frame {
            source = source.max_frame(bytes);
        }
        if let Some(recording) = &options.recording {
            source = source.record(recording);
        }
        let mut builder = SharedInformer::builder(source).clock(Arc::clone(&self.inner.clock));
        if let Some(metrics) = self.inner.metrics.clone() {
            builder = builder.metrics(metrics).metrics_name(key.name::<T>());
        }
        if let Some(transform) = options.transform.clone() {
            builder = builder.transform(move |object| transform(object));
        }
        if let Some(hook) = options.on_error.clone() {
            builder = builder.on_error(move |report| hook(report));
        }
        if let Some(size) = options.page_size {
            builder = builder.page_size(size);
        }
        if let Some(limit) = options.queue_limit {
            builder = builder.queue_limit(limit);
        }
        if let Some(period) = options.resync.or(self.inner.resync).filter(|period| !period.is_zero()) {
            builder = builder.resync(period);
        }
        builder
            .streaming(options.streaming.unwrap_or(true))
            .consistent_start(options.consistent_start.unwrap_or(false))
            .build()
    }

    /// Starts every informer that was asked for and does not run yet. May be called again, after more were asked for
    /// (FA-2, FA-3).
    ///
    /// # Errors
    /// [`is_stopped`](Error::is_stopped) after a shutdown; [`ErrorKind::Spawn`] when no thread can be had.
    pub fn start(&self) -> Result<()> {
        let mut registry = self.inner.registry.lock();
        if registry.shut_down {
            drop(registry);
            let text = "the factory was shut down; build a new one";
            return Err(Error::new(ErrorKind::Stopped, text).at(Stage::Start));
        }
        let mut waiting = Vec::new();
        for entry in registry.entries() {
            if !entry.started {
                entry.started = true;
                waiting.push(entry.share());
            }
        }
        drop(registry);
        // One that cannot start keeps no other from it.
        let outcomes = waiting.iter().map(|informer| match informer.start() {
            // Somebody stopped it before it ran: nobody else's trouble.
            Err(error) if error.is_stopped() => Ok(()),
            outcome => outcome,
        });
        outcomes.fold(Ok(()), Result::and)
    }

    /// Waits until every informer that was started holds its first complete list (FA-4).
    ///
    /// # Blocking
    /// Until then, or until `timeout` has passed for all of them together.
    ///
    /// # Errors
    /// [`is_timed_out`](Error::is_timed_out): the text names each informer that is late and its last error, and the
    /// first of these errors is the cause (F-59, F-60). [`is_stopped`](Error::is_stopped) when one was stopped before it
    /// was synced; [`is_would_block`](Error::is_would_block) on a thread of one of them.
    pub fn wait_for_cache_sync(&self, timeout: Duration) -> Result<()> {
        wait_for_all(&*self.inner.clock, timeout, self.started())
    }

    /// Stops every informer and joins every thread.
    ///
    /// # Blocking
    /// Until the last handler call in progress has ended.
    ///
    /// # Errors
    /// [`is_would_block`](Error::is_would_block) on a thread of one of its informers: all are stopped then, but not
    /// waited for.
    pub fn shutdown(&self) -> Result<()> {
        let all = self.inner.stop();
        would_wait_for_itself(all.iter().map(|informer| &**informer))?;
        all.iter().map(|informer| informer.join()).fold(Ok(()), Result::and)
    }

    /// The informers that were started.
    fn started(&self) -> Vec<Named> {
        self.inner.registry.lock().started()
    }

    /// How every informer is, those that were not started included.
    #[must_use]
    pub fn statuses(&self) -> Vec<informer_core::Status> {
        let mut registry = self.inner.registry.lock();
        let all: Vec<_> = registry.entries().map(|entry| entry.share()).collect();
        drop(registry);
        all.iter().map(|informer| informer.status()).collect()
    }

    /// The client that the informers use.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.inner.client
    }
}

impl Inner {
    /// Stops every informer, all of them before anybody joins one: they end side by side.
    fn stop(&self) -> Vec<Box<dyn AnyInformer>> {
        let mut registry = self.registry.lock();
        registry.shut_down = true;
        let all: Vec<_> = registry.entries().map(|entry| entry.share()).collect();
        drop(registry);
        for informer in &all {
            informer.stop();
        }
        all
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let all = self.stop();
        if std::thread::panicking() {
            return;
        }
        let until = deadline(&SystemClock, DROP_PATIENCE);
        let left = || until.map_or(DROP_PATIENCE, |until| until.saturating_duration_since(SystemClock.now()));
        match would_wait_for_itself(all.iter().map(|informer| &**informer)) {
            Err(error) => {
                log::debug!(target: "informer::factory", "dropped without waiting for any thread: {error}");
            }
            Ok(()) => {
                let outcome =
                    all.iter().map(|informer| informer.join_timeout(left())).fold(Ok(()), Result::and);
                let Err(error) = outcome else { return };
                log::debug!(target: "informer::factory", "dropped without the end of every thread: {error}");
            }
        }
        // The last handle of each would wait once more, one after the other; here that is nobody's time.
        let registry = std::mem::take(&mut *self.registry.lock());
        let spawned = spawn("informer-drop", move || {
            drop(all);
            drop(registry);
        });
        if let Err(error) = spawned {
            log::debug!(target: "informer::factory", "no thread to drop the informers on: {error}");
        }
    }
}

fn has_namespaces<T: Representation>() -> bool
where
    <T::Resource as Resource>::Scope: 'static,
{
    TypeId::of::<<T::Resource as Resource>::Scope>() != TypeId::of::<ClusterResourceScope>()
}

/// `wanted`, and what it leaves open from `defaults`.
fn merge<T: Object>(wanted: &InformerOptions<T>, defaults: &InformerOptions<T>) -> InformerOptions<T> {
    InformerOptions {
        namespace: None, // these three are in the key
        labels: None,
        fields: None,
        transform: wanted.transform.clone().or_else(|| defaults.transform.clone()),
        on_error: wanted.on_error.clone().or_else(|| defaults.on_error.clone()),
        keep_managed_fields: wanted.keep_managed_fields.or(defaults.keep_managed_fields),
        page_size: wanted.page_size.or(defaults.page_size),
        streaming: wanted.streaming.or(defaults.streaming),
        consistent_start: wanted.consistent_start.or(defaults.consistent_start),
        resync: wanted.resync.or(defaults.resync),
        queue_limit: wanted.queue_limit.or(defaults.queue_limit),
        max_frame: wanted.max_frame.or(defaults.max_frame),
        compress_watches: wanted.compress_watches.or(defaults.compress_watches),
        recording: wanted.recording.clone().or_else(|| defaults.recording.clone()),
    }
}

impl fmt::Debug for FactoryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FactoryBuilder")
            .field("client", &self.client)
            .field("namespace", &self.namespace)
            .field("resync", &self.resync)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for SharedInformerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformerFactory")
            .field("client", &self.inner.client)
            .field("namespace", &self.inner.namespace)
            .finish_non_exhaustive()
    }
}
