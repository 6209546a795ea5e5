//! [`Snapshot`]: everything a server holds at a moment, to go back to, or to let clients see for a while.

use std::fmt;
use std::sync::Arc;

use informer_core::Result;

use super::engine::Engine;
use super::exchange::Call;
use super::options::flag;
use super::resource::Registry;
use super::store::Store;
use super::{ApiServer, Front};

/// What an [`ApiServer`] held at a moment: objects, versions and what is served. From
/// [`ApiServer::snapshot`]; it is no file, and shares its objects with the server.
#[derive(Clone)]
pub struct Snapshot {
    pub(super) store: Store,
    pub(super) registry: Arc<Registry>,
}

impl Snapshot {
    /// The newest `resourceVersion` in it.
    #[must_use]
    pub fn resource_version(&self) -> String {
        self.store.revision().to_string()
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("resource_version", &self.store.revision()).finish_non_exhaustive()
    }
}

impl ApiServer {
    /// Everything the server holds now. Costs little: objects are shared, not copied.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.engine.snapshot()
    }

    /// Restarts with what `snapshot` holds, as a cluster whose etcd was restored: objects and versions go back, and
    /// versions that clients have seen are given out again, for other changes. A watch or a list from a version that is
    /// not there yet is answered as such.
    ///
    /// ```
    /// use informer_testkit::ApiServer;
    /// use serde_json::json;
    ///
    /// let mut server = ApiServer::start()?;
    /// let before = server.snapshot();
    /// server.create("configmaps", json!({ "metadata": { "name": "a" } }))?;
    /// server.restore(&before)?;
    /// assert!(server.list("configmaps")?.is_empty());
    /// # Ok::<(), informer_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`restart`](ApiServer::restart).
    ///
    /// # Blocking
    /// As [`stop`](ApiServer::stop).
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.stop();
        let engine = Engine::restored(Arc::clone(&self.engine.clock), self.engine.history, snapshot);
        engine.compact();
        self.replace(engine)
    }

    /// Moves every client to a replica of the server that is behind, at `snapshot`: watches end in good order, and until
    /// [`catch_up`](ApiServer::catch_up) or a restart, watches and whatever need not be the newest, as a list at version
    /// 0, are answered by it. It learns of no change. Reads without a version, pages, and writes are not a replica's
    /// own business: they see all there is, and so does Rust.
    ///
    /// ```
    /// use informer_testkit::ApiServer;
    /// use serde_json::json;
    ///
    /// let server = ApiServer::start()?;
    /// let old = server.snapshot();
    /// server.create("configmaps", json!({ "metadata": { "name": "a" } }))?;
    /// server.lag_behind(&old); // a client that asks for version 0 finds no ConfigMap
    /// server.catch_up();
    /// # Ok::<(), informer_core::Error>(())
    /// ```
    pub fn lag_behind(&self, snapshot: &Snapshot) {
        self.front.follow(Some(Engine::restored(
            Arc::clone(&self.engine.clock),
            self.engine.history,
            snapshot,
        )));
    }

    /// Moves every client back to a server that has everything; watches end in good order, and those that come tell
    /// what was missed. Without a replica it does nothing.
    pub fn catch_up(&self) {
        self.front.follow(None);
    }
}

impl Front {
    /// Lets `replica` answer what it may, and ends the watches so far. From none to none nothing happens.
    pub(super) fn follow(&self, replica: Option<Arc<Engine>>) {
        let mut slot = self.replica.lock();
        if slot.is_none() && replica.is_none() {
            return;
        }
        let left = std::mem::replace(&mut *slot, replica).unwrap_or_else(|| Arc::clone(&self.engine));
        drop(slot);
        // After the change: who comes again finds the other one.
        left.stop();
        left.resume();
    }

    /// Ends the watches of the replica, if there is one, and those that come.
    pub(super) fn stop_replica(&self) {
        let replica = self.replica.lock().clone();
        if let Some(replica) = replica {
            replica.stop();
        }
    }

    /// Who answers a call.
    pub(super) fn engine_for(&self, call: &Call) -> Arc<Engine> {
        let replica = self.replica.lock().clone().filter(|_| may_be_old(call));
        replica.unwrap_or_else(|| Arc::clone(&self.engine))
    }
}

/// Whether the answer may come from a cache, as far as that can be seen without knowing what is asked for.
fn may_be_old(call: &Call) -> bool {
    let has = |name: &str| call.parameter(name).is_some_and(|value| !value.is_empty());
    call.method == "GET"
        && (flag(call, "watch")
            || has("resourceVersion")
                && !has("continue")
                && call.parameter("resourceVersionMatch") != Some("Exact"))
}
