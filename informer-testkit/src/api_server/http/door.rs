//! [`Door`]: one thread that waits for everything that clients do unasked: to come, and to go.
//!
//! It waits in the kernel for the listening socket, for the sockets of open streams and for [`Door::close`], and for
//! nothing else: a stream whose client has gone ends at once, though nothing happens that it would tell of.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use informer_core::Stop;
use informer_core::sync::Mutex;
use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::fd::OwnedFd;

const CLOSING: u64 = 0;
const ARRIVAL: u64 = 1;
/// The first number of a stream.
const STREAMS: u64 = 2;

/// How long the door stays shut when the process has no file to spare: nothing tells when it has one again.
const NO_FILES: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// See the module.
pub(super) struct Door {
    epoll: OwnedFd,
    /// Readable once the door closes.
    closing: OwnedFd,
    streams: Mutex<Streams>,
}

struct Streams {
    closed: bool,
    next: u64,
    stops: HashMap<u64, Stop>,
}

/// A stream whose client is looked after, for as long as this lives.
pub(super) struct Watched<'a> {
    door: &'a Door,
    number: u64,
    socket: Arc<TcpStream>,
    /// Set when the client has gone, or the server stops.
    pub(super) stop: Stop,
}

impl Door {
    pub(super) fn new(listener: &TcpListener) -> io::Result<Door> {
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let closing = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &closing, epoll::EventData::new_u64(CLOSING), epoll::EventFlags::IN)?;
        epoll::add(&epoll, listener, epoll::EventData::new_u64(ARRIVAL), arrivals())?;
        let streams = Streams { closed: false, next: STREAMS, stops: HashMap::new() };
        Ok(Door { epoll, closing, streams: Mutex::new(streams) })
    }

    /// Hands every connection to `arrived` and ends the streams of clients that have gone, until the door closes.
    pub(super) fn run(&self, listener: &TcpListener, arrived: impl Fn(TcpStream)) {
        let mut events = Vec::with_capacity(64);
        let mut pause = None;
        loop {
            match epoll::wait(&self.epoll, spare_capacity(&mut events), pause.as_ref()) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return, // there is no other way for it to fail, and no way on
            }
            let mut accepts = pause.take().is_some();
            for event in events.drain(..) {
                match event.data.u64() {
                    CLOSING => return,
                    ARRIVAL => accepts = true,
                    number => self.gone(number),
                }
            }
            if accepts {
                pause = accept(listener, &arrived);
                if pause.is_none() {
                    let data = epoll::EventData::new_u64(ARRIVAL);
                    // The socket is in the set for as long as this runs.
                    let _ = epoll::modify(&self.epoll, listener, data, arrivals());
                }
            }
        }
    }

    /// Looks after the client of a stream.
    pub(super) fn watch(&self, socket: Arc<TcpStream>) -> Watched<'_> {
        let stop = Stop::new();
        let mut streams = self.streams.lock();
        let number = streams.next;
        streams.next += 1;
        if streams.closed {
            drop(streams);
            stop.set();
        } else {
            streams.stops.insert(number, stop.clone());
            drop(streams);
            // Once is enough; a client that has gone already is told of at once. Without a place in the set, the
            // stream ends with the next event that cannot be sent.
            let gone = epoll::EventFlags::RDHUP | epoll::EventFlags::ONESHOT;
            let _ = epoll::add(&self.epoll, &*socket, epoll::EventData::new_u64(number), gone);
        }
        Watched { door: self, number, socket, stop }
    }

    /// Ends [`run`](Door::run) and every stream, those that come later too.
    pub(super) fn close(&self) {
        let mut streams = self.streams.lock();
        streams.closed = true;
        let stops = std::mem::take(&mut streams.stops);
        drop(streams);
        // It fails only where it has been done too often.
        let _ = rustix::io::write(&self.closing, &1_u64.to_ne_bytes());
        for stop in stops.into_values() {
            stop.set();
        }
    }

    /// Whether the server stops.
    pub(super) fn is_closed(&self) -> bool {
        self.streams.lock().closed
    }

    fn gone(&self, number: u64) {
        let stop = self.streams.lock().stops.remove(&number);
        if let Some(stop) = stop {
            stop.set();
        }
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        let _ = epoll::delete(&self.door.epoll, &*self.socket);
        let stop = self.door.streams.lock().stops.remove(&self.number);
        drop(stop); // outside the lock
    }
}

/// Once, so that a process without a file to spare is not woken again and again.
fn arrivals() -> epoll::EventFlags {
    epoll::EventFlags::IN | epoll::EventFlags::ONESHOT
}

/// Accepts everybody who waits; answers how long to wait before the next try, where that failed.
fn accept(listener: &TcpListener, arrived: &impl Fn(TcpStream)) -> Option<Timespec> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => arrived(stream),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => return None,
                // The client was gone before it was accepted.
                ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                _ => return Some(NO_FILES),
            },
        }
    }
}
