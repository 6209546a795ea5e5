//! [`Registration`]: the handle on one handler.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::dispatch::{Latch, SlotId};
use super::identity::runs_on_thread_of;
use super::shared::Shared;
use crate::error::{Error, ErrorKind, Result, Stage};
use crate::meta::Object;

/// A handler's registration. Dropping it removes nothing; it keeps nothing alive.
pub struct Registration<T: Object> {
    shared: Weak<Shared<T>>,
    id: SlotId,
    synced: Latch,
}

impl<T: Object> Registration<T> {
    pub(super) fn new(shared: &Arc<Shared<T>>, id: SlotId, synced: Latch) -> Self {
        Registration { shared: Arc::downgrade(shared), id, synced }
    }

    /// Whether the handler has *handled* every add of the first list, or of its replay (I-11, F-52). Stays true.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.synced.is_set()
    }

    /// Waits until [`has_synced`](Registration::has_synced).
    ///
    /// # Blocking
    /// Until then, until `timeout` has passed, or until the informer stops.
    ///
    /// # Errors
    /// [`is_timed_out`](Error::is_timed_out), with the informer's last error as its cause;
    /// [`is_stopped`](Error::is_stopped), also when the handler is removed first;
    /// [`is_would_block`](Error::is_would_block) on a thread of the informer.
    pub fn wait_synced(&self, timeout: Duration) -> Result<()> {
        if let Some(shared) = self.shared.upgrade() {
            shared.wait_dispatch("have told the handler everything", timeout, |dispatch| {
                self.synced.is_set() || (dispatch.is_erased(self.id) && !dispatch.is_stopped())
            })?;
        }
        if self.synced.is_set() {
            return Ok(());
        }
        let text = "the handler was removed before it had been told everything";
        Err(Error::new(ErrorKind::Stopped, text).at(Stage::Wait))
    }

    /// Removes the handler: no new call starts. A call in progress goes on; events it has not been given are dropped
    /// (I-23). Again, or after a stop: nothing.
    #[doc(alias = "RemoveEventHandler")]
    pub fn remove(&self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.remove_handler(self.id);
        }
    }

    /// Removes the handler and waits until its last call has ended and it has been dropped (I-25).
    ///
    /// # Blocking
    /// For as long as a call in progress lasts.
    ///
    /// # Errors
    /// [`is_would_block`](Error::is_would_block) on a thread of the informer; then it is removed, but not waited for.
    pub fn remove_and_wait(&self) -> Result<()> {
        self.remove();
        let Some(shared) = self.shared.upgrade() else { return Ok(()) };
        if runs_on_thread_of(shared.id) {
            return Err(Error::would_block("wait for a handler's end"));
        }
        shared.wait_dropped(self.id);
        Ok(())
    }

    /// The number of the registration, as in [`Status::handlers`](super::Status::handlers).
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }
}

impl<T: Object> fmt::Debug for Registration<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("id", &self.id).finish_non_exhaustive()
    }
}
