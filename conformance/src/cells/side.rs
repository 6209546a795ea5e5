//! [`Side`]: one of the two servers that are compared, and what has to be done to it between questions.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use informer_core::sync::Mutex;
use informer_core::time::Alarm;
use informer_core::{Clock, SystemClock};
use informer_testkit::ApiServer;

use crate::exchange::{Ask, Peer};
use crate::{RealServer, StartError};

/// How often the real server drops what it remembers. Short enough to wait for it; it has to be twice as long as the
/// questions about what it has dropped take.
const COMPACTION: u32 = 15;

/// Who says this may ask the embedded server; it opens nothing else.
const TOKEN: &str = "cells";

/// A server to be asked.
pub trait Side {
    /// What it is called in a report.
    fn name(&self) -> &'static str;

    /// How it is talked to.
    fn peer(&self) -> Peer;

    /// How many questions it may be asked at the same time.
    fn width(&self) -> usize;

    /// Makes the version `version` one that it does not remember, for lists of `collection` and for watches.
    ///
    /// # Errors
    /// When it does not come to that.
    ///
    /// # Blocking
    /// Until it has forgotten; a real server takes half a minute.
    fn forget(&mut self, collection: &str, version: &str) -> io::Result<()>;

    /// Whether time passes by itself: then a question that waits for it is answered at once. For questions that
    /// change something meanwhile it must not.
    fn leap(&self, leap: bool);
}

/// The API server of informer-testkit, whose clock leaps: whoever waits for an instant finds that it has come.
#[derive(Debug)]
pub struct Embedded {
    server: ApiServer,
    clock: Leaping,
}

/// A real kube-apiserver.
#[derive(Debug)]
pub struct Real {
    server: RealServer,
    authority: Vec<u8>,
    token: String,
}

impl Embedded {
    /// Starts it.
    ///
    /// # Errors
    /// Those of [`ApiServer::start`].
    pub fn start() -> informer_core::Result<Self> {
        let clock = Leaping::default();
        let server = ApiServer::builder().clock(clock.clone()).token(TOKEN, "admin").start()?;
        Ok(Embedded { server, clock })
    }
}

impl Side for Embedded {
    fn name(&self) -> &'static str {
        "embedded"
    }

    fn peer(&self) -> Peer {
        Peer::plain(self.server.url()).with_token(Some(TOKEN))
    }

    // A clock that leaps for one question would leap for all of them.
    fn width(&self) -> usize {
        1
    }

    fn forget(&mut self, _: &str, _: &str) -> io::Result<()> {
        self.server.compact();
        Ok(())
    }

    fn leap(&self, leap: bool) {
        self.clock.leaps.store(leap, Ordering::SeqCst);
    }
}

impl Real {
    /// Starts it.
    ///
    /// # Errors
    /// Those of [`RealServer::start`].
    pub fn start() -> Result<Self, StartError> {
        Real::start_with(&[])
    }

    /// Starts one that can [forget](Side::forget).
    ///
    /// # Errors
    /// Those of [`RealServer::start`].
    pub fn start_forgetful() -> Result<Self, StartError> {
        Real::start_with(&[format!("--etcd-compaction-interval={COMPACTION}s")])
    }

    fn start_with(flags: &[String]) -> Result<Self, StartError> {
        let server = RealServer::start_with(flags)?;
        let read = |path: std::path::PathBuf| {
            std::fs::read(&path).map_err(|error| StartError::Failed { reason: format!("{path:?}: {error}") })
        };
        let authority = read(server.admin_kubeconfig().with_file_name("ca.crt"))?;
        let kubeconfig = String::from_utf8_lossy(&read(server.token_kubeconfig())?).into_owned();
        let token = kubeconfig.split("token: ").nth(1).and_then(|rest| rest.split('}').next());
        let token = token.unwrap_or_default().trim().to_owned();
        Ok(Real { server, authority, token })
    }
}

impl Side for Real {
    fn name(&self) -> &'static str {
        "real"
    }

    fn peer(&self) -> Peer {
        Peer::secure(self.server.url(), &self.authority, &self.token)
            .expect("the server wrote its authority itself")
    }

    fn width(&self) -> usize {
        24
    }

    fn forget(&mut self, collection: &str, version: &str) -> io::Result<()> {
        let peer = self.peer();
        let there = Ask::get(format!("{collection}?resourceVersion={version}&resourceVersionMatch=Exact"));
        // A watch that ends by itself is what there is to wait with.
        let pause = Ask::get(format!("{collection}?watch=1&timeoutSeconds=2&labelSelector=none%3Dsuch"));
        for _ in 0..2 * COMPACTION {
            if peer.ask(&there)?.status == 410 {
                // Watches come from a memory of its own, which begins anew.
                return self.server.restart_keep().map_err(io::Error::other);
            }
            peer.ask(&pause)?;
        }
        Err(io::Error::other(format!("version {version} is still remembered")))
    }

    fn leap(&self, _: bool) {}
}

/// A [`Clock`] on which every instant that is waited for has come.
#[derive(Clone, Debug)]
struct Leaping {
    now: Arc<Mutex<Instant>>,
    leaps: Arc<AtomicBool>,
}

impl Default for Leaping {
    fn default() -> Self {
        let now = Arc::new(Mutex::new(SystemClock.now()));
        Leaping { now, leaps: Arc::new(AtomicBool::new(true)) }
    }
}

impl Clock for Leaping {
    fn now(&self) -> Instant {
        *self.now.lock()
    }

    fn alarm(&self, at: Instant, ring: Box<dyn FnOnce() + Send>) -> Option<Alarm> {
        drop(ring);
        if !self.leaps.load(Ordering::SeqCst) {
            return Some(Alarm::new(|| ()));
        }
        let mut now = self.now.lock();
        *now = (*now).max(at);
        None
    }
}
