//! Misbehaving on demand: faults, pauses, and what came over HTTP.

use super::ApiServer;
use super::fault::{Calls, Fault, Injected};
use super::requests::{Requests, ServedRequest};

impl ApiServer {
    /// Lets something go wrong from now on; see [`Fault`]. Faults strike in the order in which they were given where
    /// several are for the same place of the same answer, and stay through restarts.
    ///
    /// Only HTTP sees them: what is read and written from Rust goes through.
    ///
    /// ```
    /// use informer_testkit::{ApiServer, Calls, Fault};
    ///
    /// let server = ApiServer::start()?;
    /// let fault = server.fault(Fault::status(500).on(Calls::list("pods")).times(1));
    /// assert_eq!(fault.hits(), 0); // nobody has asked
    /// fault.remove();
    /// # Ok::<(), informer_core::Error>(())
    /// ```
    ///
    /// # Panics
    /// When the fault can never happen, as a status after the head; the message says why.
    #[track_caller]
    pub fn fault(&self, fault: Fault) -> Injected {
        self.front.control.rules.add(fault)
    }

    /// Removes every fault; what they hold goes on.
    pub fn clear_faults(&self) {
        self.front.control.rules.clear();
    }

    /// Pauses the server, as a process that is stopped: connections are accepted, and nothing is answered; watches tell
    /// nothing. What was being sent is sent. Lasts until [`resume`](ApiServer::resume), through restarts too; a stop
    /// ends the waiting.
    ///
    /// Objects can be read and written from Rust meanwhile; watches tell it afterwards, or end, if it is more than a
    /// thousand changes: they are slow watches then.
    ///
    /// ```
    /// let server = informer_testkit::ApiServer::start()?;
    /// server.pause();
    /// server.create("configmaps", serde_json::json!({ "metadata": { "name": "a" } }))?;
    /// server.resume();
    /// # Ok::<(), informer_core::Error>(())
    /// ```
    pub fn pause(&self) {
        self.front.control.pause.begin();
    }

    /// Ends a pause: what has waited is answered. Without a pause it does nothing.
    pub fn resume(&self) {
        self.front.control.pause.end();
    }

    /// The requests of this kind that came over HTTP, in their order. The newest 4,096 requests are kept.
    ///
    /// ```
    /// use informer_testkit::{ApiServer, Calls};
    ///
    /// let server = ApiServer::start()?;
    /// assert!(server.requests(&Calls::any()).is_empty());
    /// # Ok::<(), informer_core::Error>(())
    /// ```
    #[must_use]
    pub fn requests(&self, calls: &Calls) -> Vec<ServedRequest> {
        self.log().of(calls)
    }

    /// Waits until at least `count` requests of this kind have come, and answers all there are. They need not have
    /// been answered.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds of real time; the message has all requests.
    #[track_caller]
    pub fn wait_for_requests(&self, count: usize, calls: &Calls) -> Vec<ServedRequest> {
        self.log().wait(count, calls, "requests", |_| true)
    }

    /// Waits until the answers to at least `count` requests of this kind are over, and answers those requests.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Panics
    /// When that takes more than 20 seconds of real time; the message has all requests.
    #[track_caller]
    pub fn wait_for_endings(&self, count: usize, calls: &Calls) -> Vec<ServedRequest> {
        self.log().wait(count, calls, "requests whose answers are over", |request| request.ending().is_some())
    }

    /// Forgets the requests so far, so that a test sees only what comes from now on.
    pub fn forget_requests(&self) {
        self.log().forget();
    }

    fn log(&self) -> &Requests {
        &self.front.control.requests
    }
}
