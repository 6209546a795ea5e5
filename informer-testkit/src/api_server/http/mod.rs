//! HTTP/1.1 for the API server: a [`Listener`] that turns bytes into calls and answers into bytes.
//!
//! One thread accepts and notices clients that have gone ([`door`]), one serves each connection ([`connection`]), and
//! what it sends goes past the faults that are ordered ([`outlet`], [`pace`]).
//! A connection's socket is owned by its thread; the list here holds it weakly, to shut it down. When
//! [`Listener::stop`] returns, every thread is joined and every socket closed.

mod connection;
mod door;
#[cfg(any(test, feature = "fuzz-internals"))]
pub mod fuzz;
mod outlet;
mod pace;
mod reply;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::HashMap;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Weak};
use std::time::Duration;

use informer_core::SystemClock;
use informer_core::sync::{JoinHandle, Monitor, Mutex};
use informer_core::time::deadline;

use super::control::Control;
use super::exchange::{Answer, Call};
use crate::threads;
use door::Door;
pub(super) use wire::Security;

/// Connections that are served at once.
const MOST_CONNECTIONS: usize = 512;

/// How long a stop waits for answers that are under way.
const GRACE: Duration = Duration::from_secs(1);

/// What answers calls.
pub(super) trait Service: Send + Sync {
    fn answer(&self, call: Call) -> Answer;

    /// How to behave towards clients.
    fn control(&self) -> &Control;
}

/// The server, as far as HTTP goes.
pub(super) struct Listener {
    shared: Arc<Shared>,
    /// The door's thread; none once it has been joined.
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    service: Arc<dyn Service>,
    security: Security,
    most: usize,
    door: Door,
    connections: Arc<Monitor<Connections>>,
}

#[derive(Default)]
struct Connections {
    next: u64,
    open: HashMap<u64, Open>,
    /// Threads that have nothing left to do but end.
    ended: Vec<JoinHandle<()>>,
}

struct Open {
    socket: Weak<TcpStream>,
    thread: JoinHandle<()>,
}

impl Listener {
    /// Serves the connections that `socket` accepts.
    pub(super) fn start(
        socket: TcpListener,
        security: Security,
        service: Arc<dyn Service>,
    ) -> io::Result<Listener> {
        Listener::start_with(socket, security, service, MOST_CONNECTIONS)
    }

    fn start_with(
        socket: TcpListener,
        security: Security,
        service: Arc<dyn Service>,
        most: usize,
    ) -> io::Result<Listener> {
        let door = Door::new(&socket)?;
        let connections = Arc::new(Monitor::new(Connections::default()));
        let shared = Arc::new(Shared { service, security, most, door, connections });
        let theirs = Arc::clone(&shared);
        let thread = threads::try_spawn("api-accept", move || {
            theirs.door.run(&socket, |stream| Shared::admit(&theirs, stream));
        })?;
        Ok(Listener { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Lets nobody in any more and ends every stream.
    pub(super) fn close(&self) {
        self.shared.door.close();
    }

    /// Ends every stream, closes every socket and joins every thread. Doing it again does nothing.
    pub(super) fn stop(&self) {
        self.close();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            // A panic there has been printed; the sockets below are closed all the same.
            let _ = thread.join();
        }
        // Nothing more is read; what is being answered, and the end of each stream, still goes out.
        self.shut_down(Shutdown::Read);
        let connections = &self.shared.connections;
        let mut state = connections.lock();
        let until = deadline(&SystemClock, GRACE);
        while !state.open.is_empty() && connections.wait_until(&mut state, &SystemClock, until) {}
        drop(state);
        // A client that does not take its answer keeps nobody.
        self.shut_down(Shutdown::Both);
        let mut state = connections.lock();
        let mut ended = std::mem::take(&mut state.ended);
        ended.extend(state.open.drain().map(|(_, open)| open.thread));
        drop(state);
        join(ended);
    }

    fn shut_down(&self, how: Shutdown) {
        for open in self.shared.connections.lock().open.values() {
            if let Some(socket) = open.socket.upgrade() {
                // It may be closed already; then there is nothing to wake.
                let _ = socket.shutdown(how);
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    /// Gives a connection a thread of its own, or sends it away.
    fn admit(shared: &Arc<Shared>, stream: TcpStream) {
        // Every write is a whole answer or a whole event.
        let _ = stream.set_nodelay(true);
        let socket = Arc::new(stream);
        let mut connections = shared.connections.lock();
        let ended = std::mem::take(&mut connections.ended);
        let number = connections.next;
        connections.next += 1;
        if connections.open.len() < shared.most {
            let (theirs, mine) = (Arc::clone(shared), Arc::clone(&socket));
            // Spawned under the lock: the thread's last step looks for itself in the list.
            let spawned = threads::try_spawn(&format!("api-conn-{number}"), move || {
                let _leaves = Leaves { shared: &theirs, number };
                connection::serve(&theirs, mine);
            });
            if let Ok(thread) = spawned {
                connections.open.insert(number, Open { socket: Arc::downgrade(&socket), thread });
                drop(connections);
                return join(ended);
            }
        }
        drop(connections);
        connection::turn_away(&socket);
        join(ended);
    }
}

fn join(ended: Vec<JoinHandle<()>>) {
    for thread in ended {
        let _ = thread.join();
    }
}

/// Takes a connection out of the list when its thread ends, be it by a panic.
struct Leaves<'a> {
    shared: &'a Shared,
    number: u64,
}

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        let mut connections = self.shared.connections.lock();
        if let Some(open) = connections.open.remove(&self.number) {
            connections.ended.push(open.thread);
        }
        drop(connections);
        self.shared.connections.notify_all();
    }
}
