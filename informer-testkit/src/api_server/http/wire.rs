//! [`Wire`]: the bytes of a connection, in the clear or through TLS.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

/// Whether connections speak TLS.
#[derive(Clone)]
pub(in crate::api_server) enum Security {
    Plain,
    #[cfg(feature = "tls")]
    Tls(Arc<rustls::ServerConfig>),
}

/// A socket that others may shut down.
pub(super) struct Socket(pub(super) Arc<TcpStream>);

/// See the module.
pub(super) enum Wire {
    Plain(Socket),
    #[cfg(feature = "tls")]
    Tls(Box<rustls::StreamOwned<rustls::ServerConnection, Socket>>),
}

impl Wire {
    /// A handshake comes with the first byte that is read.
    pub(super) fn new(socket: Arc<TcpStream>, security: &Security) -> io::Result<Wire> {
        match security {
            Security::Plain => Ok(Wire::Plain(Socket(socket))),
            #[cfg(feature = "tls")]
            Security::Tls(config) => {
                let session = rustls::ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
                Ok(Wire::Tls(Box::new(rustls::StreamOwned::new(session, Socket(socket)))))
            }
        }
    }

    /// Says that nothing more is sent.
    pub(super) fn finish(&mut self) {
        // Whoever does not listen any more misses nothing.
        match self {
            Wire::Plain(socket) => {
                let _ = socket.0.shutdown(Shutdown::Write);
            }
            #[cfg(feature = "tls")]
            Wire::Tls(stream) => {
                stream.conn.send_close_notify();
                let _ = stream.flush();
                let _ = stream.sock.0.shutdown(Shutdown::Write);
            }
        }
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Wire::Plain(socket) => socket.read(buffer),
            #[cfg(feature = "tls")]
            Wire::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Wire::Plain(socket) => socket.write(bytes),
            #[cfg(feature = "tls")]
            Wire::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Wire::Plain(socket) => socket.flush(),
            #[cfg(feature = "tls")]
            Wire::Tls(stream) => stream.flush(),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.0).flush()
    }
}
