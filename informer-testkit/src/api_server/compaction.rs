//! Forgetting the past by hand.

use super::ApiServer;

impl ApiServer {
    /// Forgets every change so far, as a real server does every few minutes. What was, nobody can ask for any more:
    /// a watch or a list from a version before is told that it has expired (410), and so is the next page of a list.
    /// Objects stay, and so do watches that have seen everything.
    ///
    /// ```
    /// let server = informer_testkit::ApiServer::start()?;
    /// server.create("configmaps", serde_json::json!({ "metadata": { "name": "a" } }))?;
    /// server.compact();
    /// assert!(server.get("configmaps", "default/a").is_ok());
    /// # Ok::<(), informer_core::Error>(())
    /// ```
    pub fn compact(&self) {
        self.engine.compact();
    }
}
