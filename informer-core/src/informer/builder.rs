//! [`InformerBuilder`] and [`HandlerOptions`]: everything that is chosen before an informer or a handler runs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::SharedInformer;
use super::dispatch::Delivery;
use super::shared::{Parts, Shared};
use crate::backoff::Random;
use crate::error::Result;
use crate::list_watch::ListWatch;
use crate::meta::Object;
use crate::metrics::Metrics;
use crate::reflector::{Report, Settings};
use crate::store::IndexOf;
use crate::time::{Clock, SystemClock};

/// Chooses what an informer does; made by [`SharedInformer::builder`].
#[must_use]
pub struct InformerBuilder<T> {
    parts: Parts<T>,
    indexes: Vec<Box<dyn IndexOf<T>>>,
}

impl<T: Object> InformerBuilder<T> {
    pub(super) fn new(source: Arc<dyn ListWatch<T>>) -> Self {
        let parts = Parts {
            source,
            settings: Settings::default(),
            clock: Arc::new(SystemClock),
            random: Random::from_process(),
            transform: None,
            on_error: None,
            metrics: None,
            metrics_name: String::new(),
            resync: None,
            queue_limit: 4096,
        };
        InformerBuilder { parts, indexes: Vec::new() }
    }

    /// Adds an index.
    pub fn index(mut self, index: &(impl IndexOf<T> + Clone + 'static)) -> Self {
        self.indexes.push(Box::new(index.clone()));
        self
    }

    /// Changes every object once, on the reader thread, before anybody else sees it (I-60 to I-62).
    ///
    /// It must leave namespace, name, UID and resourceVersion alone. An object on which it panics or breaks this rule
    /// is reported and treated as one that does not decode.
    #[doc(alias = "SetTransform")]
    pub fn transform(mut self, transform: impl Fn(&mut T) + Send + Sync + 'static) -> Self {
        self.parts.transform = Some(Arc::new(transform));
        self
    }

    /// Calls `hook` for everything that goes wrong with the source, on the reader thread, and for every object
    /// on which an index function fails, on the thread that called the function.
    #[doc(alias = "SetWatchErrorHandler")]
    pub fn on_error(mut self, hook: impl Fn(&Report<'_>) + Send + Sync + 'static) -> Self {
        self.parts.on_error = Some(Arc::new(hook));
        self
    }

    /// Tells `metrics` what happens: see [`Metrics`].
    pub fn metrics(mut self, metrics: impl Metrics + 'static) -> Self {
        self.parts.metrics = Some(Arc::new(metrics));
        self
    }

    /// What tells this informer from others of its resource in [`metrics`](InformerBuilder::metrics); nothing by default
    /// (ME-1).
    pub fn metrics_name(mut self, name: impl Into<String>) -> Self {
        self.parts.metrics_name = name.into();
        self
    }

    /// The resync period of handlers that do not choose their own: at least 1 s, or zero for none, the default.
    pub fn resync(mut self, period: Duration) -> Self {
        self.parts.resync = (!period.is_zero()).then(|| period.max(Duration::from_secs(1)));
        self
    }

    /// `limit` of every list. By default 500 where it helps the server.
    pub fn page_size(mut self, size: u32) -> Self {
        self.parts.settings.page_size = (size > 0).then_some(size);
        self
    }

    /// Whether streaming lists are tried first; on by default.
    #[doc(alias = "WatchListClient")]
    pub fn streaming(mut self, streaming: bool) -> Self {
        self.parts.settings.streaming = streaming;
        self
    }

    /// Whether the first list asks for the most recent state (`resourceVersion=""`) and not for what the server has at
    /// hand (`0`); off by default, as in client-go.
    ///
    /// It costs the server a read from etcd. What it buys: where several API servers stand behind one address, one that
    /// lags may have at hand what a program has seen deleted before it was restarted (F-29). A streaming list asks
    /// for the most recent state anyway; this is for the list by pages that comes in its place.
    pub fn consistent_start(mut self, consistent: bool) -> Self {
        self.parts.settings.consistent_start = consistent;
        self
    }

    /// The shortest `timeoutSeconds` of a watch; each watch asks for something between it and its double. At least
    /// 5 minutes, the default.
    pub fn min_watch_timeout(mut self, least: Duration) -> Self {
        let least = least.max(Duration::from_secs(300)).min(Duration::from_secs(1 << 30));
        self.parts.settings.watch_timeout = (least, least * 2);
        self
    }

    /// How many entries a queue holds before entries of one object fold together; 4,096 by default (D2).
    pub fn queue_limit(mut self, limit: usize) -> Self {
        self.parts.queue_limit = limit.max(1);
        self
    }

    /// Where time comes from; for tests.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.parts.clock = Arc::new(clock);
        self
    }

    /// Makes back-off and time-outs repeatable; for tests.
    pub fn seed(mut self, seed: u64) -> Self {
        self.parts.random = Random::seeded(seed);
        self
    }

    /// The informer, not yet started.
    ///
    /// # Errors
    /// [`ErrorKind::DuplicateIndex`](crate::ErrorKind::DuplicateIndex) when two indexes have one name.
    pub fn try_build(self) -> Result<SharedInformer<T>> {
        let shared = Shared::new(self.parts);
        for index in self.indexes {
            shared.store.add_index(&*index)?;
        }
        Ok(SharedInformer::new(shared))
    }

    /// The informer, not yet started.
    ///
    /// # Panics
    /// When two indexes have one name; [`try_build`](InformerBuilder::try_build) answers an error instead.
    pub fn build(self) -> SharedInformer<T> {
        match self.try_build() {
            Ok(informer) => informer,
            Err(error) => panic!("{error}"),
        }
    }
}

impl<T> fmt::Debug for InformerBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerBuilder").field("settings", &self.parts.settings).finish_non_exhaustive()
    }
}

/// What a handler may choose for itself.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct HandlerOptions {
    /// On which thread it is called.
    pub delivery: Delivery,
    /// Its resync period, at least 1 s, exact; `Some(Duration::ZERO)` for none; `None` for the informer's.
    pub resync: Option<Duration>,
}

impl HandlerOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        HandlerOptions::default()
    }

    /// Chooses the thread.
    #[must_use]
    pub fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// Chooses the resync period; zero is none.
    #[must_use]
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }
}
