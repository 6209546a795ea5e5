//! [`SharedInformer`]: one reflector, one store, many handlers (client-go's `SharedIndexInformer`).
//!
//! This is the only module that knows reflector, queue, store and handlers together. The reader thread runs the
//! reflector and feeds the queue ([`feed`]); the pop role ([`pop`]) applies batches and calls handlers as the
//! [`dispatch`] machine says; [`shared`] is what both hold.

mod apply;
mod builder;
mod dispatch;
mod feed;
mod gauges;
mod identity;
mod pop;
mod registration;
mod shared;
mod status;
mod summary;
mod todo;

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

pub use builder::{HandlerOptions, InformerBuilder};
pub use dispatch::{Delivery, HandlerStatus};
pub(crate) use identity::runs_on_thread_of;
pub use registration::Registration;
pub use status::{Counters, LastError, Status};

use crate::error::{Error, ErrorKind, Result, Stage};
use crate::event::Event;
use crate::handler::{EventHandler, FromFn};
use crate::list_watch::ListWatch;
use crate::lister::Lister;
use crate::meta::Object;
use crate::store::{IndexOf, Store};
use shared::Shared;

/// How long a drop waits for the threads before it leaves them behind.
const DROP_PATIENCE: Duration = Duration::from_secs(5);

/// Keeps a store equal to what a source lists and watches, and tells handlers of every change.
///
/// Clones are the same informer. It runs on two threads once [`start`](SharedInformer::start)ed: a *reader* and a
/// *pop* thread; and one more for each handler that asks for its own or proves slow.
///
/// # Promises
/// 1. **Store before handler.** When a handler is called, the store already shows what it is told.
/// 2. **A handler's events replay to the store.** Per key: `Added` first, then `Updated`, then `Deleted`.
/// 3. **Order.** Events of one object come in order to every handler; events of all objects in order of arrival,
///    unless a handler is so slow that its backlog folds.
/// 4. **One at a time.** Calls to one handler never overlap.
/// 5. **Late handlers** get an `Added` for every stored object, then every later change; nothing twice, no gap.
/// 6. **Identity.** An object deleted and made again under its name is `Deleted` and `Added`, never `Updated`.
/// 7. **A relist is a diff.** Unchanged objects give no event; what is missing is `Deleted` with
///    `final_state_unknown`.
/// 8. **A slow handler** delays neither the store, nor the watch, nor the others; its backlog is bounded.
/// 9. **A panic** in user code harms nobody else.
/// 10. **Stop is prompt**, wherever the threads are, and every thread is joined.
///
/// Dropping the last clone stops it: from a thread of its own it only signals; elsewhere it waits for its threads for
/// at most 5 s, not at all while panicking. Panics are contained only with `panic = "unwind"`.
///
/// ```
/// use informer_core::{Event, SharedInformer};
/// # use informer_core::{ListWatch, Object};
/// # fn run<T: Object>(source: impl ListWatch<T> + 'static) -> informer_core::Result<()> {
/// let informer = SharedInformer::builder(source).build();
/// let seen = informer.on_event(|event| {
///     if let Event::Added { object, .. } = event {
///         println!("new: {}", object.meta().key());
///     }
/// })?;
/// informer.start()?;
/// seen.wait_synced(std::time::Duration::from_secs(30))?;
/// println!("{} objects", informer.store().len());
/// informer.stop();
/// informer.join()
/// # }
/// ```
pub struct SharedInformer<T: Object> {
    owner: Arc<Owner<T>>,
}

/// Whoever holds this keeps the informer running; threads do not.
struct Owner<T: Object> {
    shared: Arc<Shared<T>>,
}

/// A handle that does not keep the informer running: for handlers that need their own informer.
pub struct WeakInformer<T: Object> {
    owner: Weak<Owner<T>>,
}

impl<T: Object> SharedInformer<T> {
    /// Begins an informer on `source`.
    pub fn builder(source: impl ListWatch<T> + 'static) -> InformerBuilder<T> {
        InformerBuilder::new(Arc::new(source))
    }

    fn new(shared: Arc<Shared<T>>) -> Self {
        SharedInformer { owner: Arc::new(Owner { shared }) }
    }

    fn shared(&self) -> &Arc<Shared<T>> {
        &self.owner.shared
    }

    /// What is informed about: `pods`, `widgets.example.com`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared().name
    }

    /// Starts the threads. Again: nothing (I-1).
    ///
    /// # Errors
    /// [`is_stopped`](Error::is_stopped) after a stop: an informer runs once. [`ErrorKind::Spawn`]
    /// when no thread can be had; it is stopped then.
    pub fn start(&self) -> Result<()> {
        self.shared().start()
    }

    /// Tells every wait of the informer to end, and returns. Events that handlers have not been given are dropped
    /// (C-11); a call in progress ends on its own. The store stays readable.
    ///
    /// May be called from anywhere, a handler included.
    #[doc(alias = "Shutdown")]
    pub fn stop(&self) {
        self.shared().stop();
    }

    /// Whether it was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.shared().stop.is_set()
    }

    /// Waits until every thread has ended; [`stop`](SharedInformer::stop) first.
    ///
    /// # Blocking
    /// For ever, if nobody stops the informer or a handler never returns (I-7).
    ///
    /// # Errors
    /// [`is_would_block`](Error::is_would_block) on a thread of this informer.
    pub fn join(&self) -> Result<()> {
        if runs_on_thread_of(self.shared().id) {
            return Err(Error::would_block("join the informer"));
        }
        self.shared().threads.join_all();
        Ok(())
    }

    /// As [`join`](SharedInformer::join), for at most `timeout` of real time.
    ///
    /// # Blocking
    /// Until every thread has ended, or `timeout` has passed.
    ///
    /// # Errors
    /// [`is_timed_out`](Error::is_timed_out); [`is_would_block`](Error::is_would_block) on a thread of this informer.
    pub fn join_timeout(&self, timeout: Duration) -> Result<()> {
        if runs_on_thread_of(self.shared().id) {
            return Err(Error::would_block("join the informer"));
        }
        if self.shared().threads.join_within(timeout) {
            return Ok(());
        }
        let text =
            format!("{}: a thread has not ended within {timeout:?}; a handler still runs", self.name());
        Err(Error::new(ErrorKind::TimedOut, text).at(Stage::Wait))
    }

    /// The objects.
    #[must_use]
    pub fn store(&self) -> Store<T> {
        self.shared().store.clone()
    }

    /// The objects, as a lister.
    #[must_use]
    pub fn lister(&self) -> Lister<T> {
        Lister::new(self.store(), self.name())
    }

    /// Calls `handler` for every event; a short form of [`add_event_handler`](SharedInformer::add_event_handler).
    ///
    /// # Errors
    /// As there.
    pub fn on_event(&self, handler: impl FnMut(&Event<T>) + Send + 'static) -> Result<Registration<T>> {
        self.add_event_handler(FromFn(handler))
    }

    /// Adds a handler, before or after the start, from anywhere (I-21, F-53).
    ///
    /// A late one first gets an initial `Added` for every stored object. The answer removes the handler or tells
    /// whether it has synced; dropping it does neither.
    ///
    /// # Errors
    /// [`is_stopped`](Error::is_stopped) after a stop (I-3).
    #[doc(alias = "AddEventHandler")]
    pub fn add_event_handler(&self, handler: impl EventHandler<T>) -> Result<Registration<T>> {
        self.add_event_handler_with(HandlerOptions::default(), handler)
    }

    /// As [`add_event_handler`](SharedInformer::add_event_handler), with a thread or a resync of its own.
    ///
    /// # Errors
    /// As there; also [`ErrorKind::Config`] for a resync period of under 1 s.
    #[doc(alias = "AddEventHandlerWithResyncPeriod")]
    pub fn add_event_handler_with(
        &self,
        options: HandlerOptions,
        handler: impl EventHandler<T>,
    ) -> Result<Registration<T>> {
        let (id, synced) = self.shared().add_handler(options, Box::new(handler))?;
        Ok(Registration::new(self.shared(), id, synced))
    }

    /// Adds an index; when this returns it has every object (I-50). May be called at any time before the stop, from
    /// anywhere. Values are computed on the calling thread.
    ///
    /// # Errors
    /// [`ErrorKind::DuplicateIndex`] when there is one of this name;
    /// [`is_stopped`](Error::is_stopped) after a stop (I-51).
    #[doc(alias = "AddIndexers")]
    pub fn add_index(&self, index: &impl IndexOf<T>) -> Result<()> {
        if self.is_stopped() {
            return Err(Error::stopped().context("add an index").at(Stage::Index));
        }
        for (key, error) in self.shared().store.add_index(index)? {
            self.shared().bad_value(&key, error);
        }
        Ok(())
    }

    /// Whether the store holds the first complete list. Handlers need not have been told yet: for that see
    /// [`Registration::has_synced`].
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.shared().dispatch.lock().is_primed()
    }

    /// Waits until the store holds the first complete list.
    ///
    /// # Blocking
    /// Until then, until `timeout` has passed, or until the informer stops.
    ///
    /// # Errors
    /// [`is_timed_out`](Error::is_timed_out), with the last error of the informer as its cause;
    /// [`is_stopped`](Error::is_stopped); [`is_would_block`](Error::is_would_block) on a thread of this informer.
    #[doc(alias = "WaitForCacheSync")]
    pub fn wait_synced(&self, timeout: Duration) -> Result<()> {
        self.shared().wait_dispatch("sync", timeout, dispatch::Dispatcher::is_primed)
    }

    /// How it is, seen from outside.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared().status()
    }

    /// A handle that does not keep the informer running.
    #[must_use]
    pub fn downgrade(&self) -> WeakInformer<T> {
        WeakInformer { owner: Arc::downgrade(&self.owner) }
    }

    /// Whether both are handles on the same informer.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.owner, &other.owner)
    }
}

impl<T: Object> WeakInformer<T> {
    /// The informer, if somebody still holds it.
    #[must_use]
    pub fn upgrade(&self) -> Option<SharedInformer<T>> {
        self.owner.upgrade().map(|owner| SharedInformer { owner })
    }
}

impl<T: Object> Drop for Owner<T> {
    fn drop(&mut self) {
        self.shared.stop();
        if runs_on_thread_of(self.shared.id) || std::thread::panicking() {
            return;
        }
        if !self.shared.threads.join_within(DROP_PATIENCE) {
            log::warn!(
                target: "informer",
                "{}: a thread has not ended {DROP_PATIENCE:?} after the informer was dropped; it is left behind",
                self.shared.name
            );
        }
    }
}

impl<T: Object> Clone for SharedInformer<T> {
    fn clone(&self) -> Self {
        SharedInformer { owner: Arc::clone(&self.owner) }
    }
}

impl<T: Object> Clone for WeakInformer<T> {
    fn clone(&self) -> Self {
        WeakInformer { owner: Weak::clone(&self.owner) }
    }
}

impl<T: Object> fmt::Debug for SharedInformer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedInformer").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl<T: Object> fmt::Debug for WeakInformer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakInformer")
    }
}

/// A type-erased informer: what a factory keeps of informers of many types.
pub trait AnyInformer: Send + Sync {
    /// As [`SharedInformer::name`].
    fn name(&self) -> &str;
    /// As [`SharedInformer::start`].
    ///
    /// # Errors
    /// As there.
    fn start(&self) -> Result<()>;
    /// As [`SharedInformer::stop`].
    fn stop(&self);
    /// As [`SharedInformer::join`].
    ///
    /// # Errors
    /// As there.
    fn join(&self) -> Result<()>;
    /// As [`SharedInformer::join_timeout`].
    ///
    /// # Errors
    /// As there.
    fn join_timeout(&self, timeout: Duration) -> Result<()>;
    /// Another handle on the same informer.
    fn share(&self) -> Box<dyn AnyInformer>;
    /// As [`SharedInformer::is_stopped`].
    fn is_stopped(&self) -> bool;
    /// As [`SharedInformer::wait_synced`].
    ///
    /// # Errors
    /// As there.
    fn wait_synced(&self, timeout: Duration) -> Result<()>;
    /// As [`SharedInformer::status`].
    fn status(&self) -> Status;
}

impl<T: Object> AnyInformer for SharedInformer<T> {
    fn name(&self) -> &str {
        SharedInformer::name(self)
    }

    fn start(&self) -> Result<()> {
        SharedInformer::start(self)
    }

    fn stop(&self) {
        SharedInformer::stop(self);
    }

    fn join(&self) -> Result<()> {
        SharedInformer::join(self)
    }

    fn join_timeout(&self, timeout: Duration) -> Result<()> {
        SharedInformer::join_timeout(self, timeout)
    }

    fn share(&self) -> Box<dyn AnyInformer> {
        Box::new(self.clone())
    }

    fn is_stopped(&self) -> bool {
        SharedInformer::is_stopped(self)
    }

    fn wait_synced(&self, timeout: Duration) -> Result<()> {
        SharedInformer::wait_synced(self, timeout)
    }

    fn status(&self) -> Status {
        SharedInformer::status(self)
    }
}
