//! [`Demo`]: a small cluster inside the program, for those who have none at hand.
//!
//! A real server on loopback, and one thread that makes things happen in it; [`Life`] decides what. kubectl is welcome.
//! Dropped, it is over: the thread is joined, the server ended, and the kubeconfig deleted.

mod cast;
mod life;
mod random;

use std::fmt;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use informer_factory::sync::JoinHandle;
use informer_factory::{Clock as _, Error, ErrorKind, Result, Stage, Stop, SystemClock};
use informer_testkit::ApiServer;

pub use life::{Change, Life, Step};

/// A cluster that lives, for as long as this value does.
pub struct Demo {
    server: Arc<ApiServer>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
    folder: tempfile::TempDir,
}

impl Demo {
    /// Starts the cluster of `seed`. When it answers, what there is at the beginning is there.
    ///
    /// # Errors
    /// No port, no thread, or no place for a temporary file.
    pub fn start(seed: u64) -> Result<Self> {
        let server = Arc::new(ApiServer::start()?);
        let (life, beginning) = Life::new(seed);
        for change in beginning {
            carry_out(&server, change)?;
        }
        let folder = tempfile::Builder::new().prefix("informer-").tempdir().map_err(|error| {
            Error::new(ErrorKind::Config, "no temporary folder for a kubeconfig")
                .with_source(error)
                .at(Stage::Start)
        })?;
        server.write_kubeconfig(folder.path().join("config"))?;
        let stop = Stop::new();
        let (on, until) = (Arc::clone(&server), stop.clone());
        let thread = informer_factory::sync::spawn("demo", move || live(&on, life, &until))
            .map_err(|error| Error::new(ErrorKind::Spawn, "no thread for the demo").with_source(error))?;
        Ok(Demo { server, stop, thread: Some(thread), folder })
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// A kubeconfig for it, which is deleted in the end.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("config")
    }

    /// Says on standard error how to join in.
    pub fn invite(&self) {
        let file = self.kubeconfig();
        let _ =
            writeln!(std::io::stderr(), "join in: kubectl --kubeconfig {} get pods -A -w", file.display());
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // it has panicked at worst, and has said so
        }
        self.server.stop();
    }
}

fn live(server: &ApiServer, mut life: Life, stop: &Stop) {
    let beginning = SystemClock.now();
    loop {
        let step = life.step();
        if stop.wait_until(&SystemClock, beginning.checked_add(step.at)) {
            return;
        }
        for change in step.changes {
            // A guest with kubectl may have been quicker; life goes on.
            if let Err(error) = carry_out(server, change) {
                log::debug!("the demo's cluster: {error}");
            }
        }
    }
}

fn carry_out(server: &ApiServer, change: Change) -> Result<()> {
    match change {
        Change::Create(resource, object) => server.create(resource, object).map(drop),
        Change::Patch(resource, key, patch) => server.merge_patch(resource, &key, &patch).map(drop),
        Change::PatchStatus(resource, key, patch) => server.patch_status(resource, &key, &patch).map(drop),
        Change::Delete(resource, key) => server.delete(resource, &key).map(drop),
    }
}

impl fmt::Debug for Demo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Demo").field("url", &self.url()).finish_non_exhaustive()
    }
}
