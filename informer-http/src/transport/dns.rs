//! Name look-up that a stop and a time limit can end.
//!
//! `getaddrinfo` itself cannot be ended: it runs on a thread of its own, which is left to finish when nobody
//! waits for it any more. Invariant: the answer, the stop and the limit all go through one monitor.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use informer_core::sync::{Monitor, spawn};
use informer_core::{Error, ErrorKind, SystemClock, time};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use super::error::wrap;
use super::scope;

/// How a name becomes addresses: name and port to addresses.
pub(crate) type Lookup = Arc<dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync>;

/// Asks the operating system.
pub(crate) fn system_lookup() -> Lookup {
    Arc::new(|host, port| Ok((host, port).to_socket_addrs()?.collect()))
}

/// How many addresses of a name are tried; what ureq's list can hold.
const MOST: usize = 16;

#[derive(Default)]
struct Wait {
    answer: Option<io::Result<Vec<SocketAddr>>>,
    stopped: bool,
}

pub(super) struct NameResolver {
    lookup: Lookup,
}

impl NameResolver {
    pub(super) fn new(lookup: Lookup) -> Self {
        NameResolver { lookup }
    }

    fn look_up(&self, host: &str, port: u16, timeout: NextTimeout) -> Result<Vec<SocketAddr>, ureq::Error> {
        let limit = timeout.not_zero().map(|limit| *limit);
        let deadline = limit.and_then(|limit| time::deadline(&SystemClock, limit));
        let wait = Arc::new(Monitor::new(Wait::default()));

        let hook = scope::current().map(|scope| {
            let wait = Arc::clone(&wait);
            scope.on_stop(move || {
                wait.lock().stopped = true;
                wait.notify_all();
            })
        });
        let (lookup, name, theirs) = (Arc::clone(&self.lookup), host.to_owned(), Arc::clone(&wait));
        let thread = spawn("informer-dns", move || {
            let answer = lookup(&name, port);
            theirs.lock().answer = Some(answer);
            theirs.notify_all();
        });
        if let Err(error) = thread {
            let text = format!("no thread to look up {host:?}: {error}");
            return Err(wrap(Error::new(ErrorKind::Spawn, text).with_source(error)));
        }

        let mut state = wait.lock();
        let answer = loop {
            if state.stopped {
                break Err(wrap(Error::stopped()));
            }
            if let Some(answer) = state.answer.take() {
                break answer.map_err(|error| {
                    let text = format!("look up {host:?}: {error}; is the name right?");
                    wrap(Error::new(ErrorKind::Dns, text).with_source(error))
                });
            }
            let in_time = wait.wait_until(&mut state, &SystemClock, deadline);
            if !in_time && state.answer.is_none() && !state.stopped {
                break Err(ureq::Error::Timeout(timeout.reason));
            }
        };
        drop(state);
        drop(hook);
        answer
    }
}

impl Resolver for NameResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().ok_or(ureq::Error::HostNotFound)?;
        let port = uri.port_u16().unwrap_or(match uri.scheme_str() {
            Some("https") => 443,
            Some(scheme) if scheme.starts_with("socks") => 1080,
            _ => 80,
        });
        let mut out = self.empty();
        // What a client in a cluster has; needs neither thread nor resolver.
        if let Ok(ip) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
            out.push(SocketAddr::new(ip, port));
            return Ok(out);
        }
        let addresses = self.look_up(host, port, timeout)?;
        for address in config.ip_family().keep_wanted(addresses.into_iter()).take(MOST) {
            out.push(address);
        }
        if out.is_empty() { Err(ureq::Error::HostNotFound) } else { Ok(out) }
    }
}

impl fmt::Debug for NameResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NameResolver")
    }
}
