//! [`EventHandler`]: user code that is told of changes, and how it may be wrapped.

use std::sync::Arc;

use crate::event::Event;

/// User code that is told what happens to the objects of an informer (client-go's `ResourceEventHandler`).
///
/// Every method defaults to doing nothing. Calls to one handler never overlap and come in order; the store
/// already shows the state they tell of. No lock is held during a call: listers, registration and `stop` may
/// be used. A panic is caught, logged and counted, and the event counts as handled.
pub trait EventHandler<T>: Send + 'static {
    /// The one entrance; it calls the method for the kind of event. Override it to see events as values.
    fn on_event(&mut self, event: &Event<T>) {
        match event {
            Event::Added { object, initial } => self.on_add(object, *initial),
            Event::Updated { old, new } => self.on_update(old, new),
            Event::Deleted { object, final_state_unknown } => self.on_delete(object, *final_state_unknown),
            Event::Resynced { object } => self.on_resync(object),
        }
    }

    /// The object is new; `initial` says that it belongs to the first list, or to the replay to a late handler.
    fn on_add(&mut self, object: &Arc<T>, initial: bool) {
        let _ = (object, initial);
    }

    /// The object changed from `old` to `new`.
    fn on_update(&mut self, old: &Arc<T>, new: &Arc<T>) {
        let _ = (old, new);
    }

    /// The object is gone, or has left the selection.
    fn on_delete(&mut self, object: &Arc<T>, final_state_unknown: bool) {
        let _ = (object, final_state_unknown);
    }

    /// Periodic resync. Calls [`on_update`](EventHandler::on_update) with the object twice, as client-go does.
    fn on_resync(&mut self, object: &Arc<T>) {
        self.on_update(object, object);
    }

    /// Only objects that `keep` accepts reach this handler (client-go's `FilteringResourceEventHandler`, C-9).
    ///
    /// An update into the selection is told as an add that is not initial, one out of it as a delete of the old
    /// state.
    fn filter<F>(self, keep: F) -> Filter<Self, F>
    where
        Self: Sized,
        F: FnMut(&T) -> bool + Send + 'static,
    {
        Filter { inner: self, keep }
    }
}

/// A handler behind a predicate; made by [`EventHandler::filter`].
#[derive(Debug)]
pub struct Filter<H, F> {
    inner: H,
    keep: F,
}

impl<T, H, F> EventHandler<T> for Filter<H, F>
where
    T: Send + Sync + 'static,
    H: EventHandler<T>,
    F: FnMut(&T) -> bool + Send + 'static,
{
    fn on_event(&mut self, event: &Event<T>) {
        match event {
            Event::Added { object, .. } | Event::Deleted { object, .. } | Event::Resynced { object } => {
                if (self.keep)(object) {
                    self.inner.on_event(event);
                }
            }
            Event::Updated { old, new } => match ((self.keep)(old), (self.keep)(new)) {
                (true, true) => self.inner.on_event(event),
                (false, true) => {
                    self.inner.on_event(&Event::Added { object: Arc::clone(new), initial: false });
                }
                (true, false) => self
                    .inner
                    .on_event(&Event::Deleted { object: Arc::clone(old), final_state_unknown: false }),
                (false, false) => {}
            },
        }
    }
}

/// A closure as a handler; made by [`SharedInformer::on_event`](crate::SharedInformer::on_event).
pub(crate) struct FromFn<F>(pub(crate) F);

impl<T, F: FnMut(&Event<T>) + Send + 'static> EventHandler<T> for FromFn<F> {
    fn on_event(&mut self, event: &Event<T>) {
        (self.0)(event);
    }
}
