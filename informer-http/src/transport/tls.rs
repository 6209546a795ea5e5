//! TLS to the API server over any transport below.
//!
//! Invariant: the cluster's roots, its client certificate and its server name are used for the API server alone,
//! never for a proxy.

use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;

use informer_core::{Error, ErrorKind};
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use rustls_pki_types::ServerName;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport, TransportAdapter,
};

use super::error::{describe_tls, from_io, wrap};
use super::origin;

/// What TLS to the API server takes.
pub(super) struct ServerTls {
    pub config: Arc<ClientConfig>,
    /// Checked instead of the host of the URL (`tls-server-name`).
    pub name: Option<ServerName<'static>>,
}

pub(super) struct TlsConnector {
    /// `https://host:port` of the API server.
    server: String,
    tls: Option<ServerTls>,
}

impl TlsConnector {
    pub(super) fn new(server: String, tls: Option<ServerTls>) -> Self {
        TlsConnector { server, tls }
    }

    fn session(&self, details: &ConnectionDetails<'_>) -> Result<ClientConnection, Error> {
        let origin = origin(details.uri);
        let tls = match &self.tls {
            Some(tls) if origin == self.server => tls,
            _ => {
                let text = format!("TLS to the proxy {origin} is not supported; use http:// or socks5://");
                return Err(Error::new(ErrorKind::Proxy, text));
            }
        };
        let name = match &tls.name {
            Some(name) => name.clone(),
            None => {
                let host = details.uri.host().unwrap_or_default().trim_matches(['[', ']']);
                ServerName::try_from(host.to_owned()).map_err(|error| {
                    let text = format!("{host:?} cannot be the name in a certificate; set tls-server-name");
                    Error::new(ErrorKind::Config, text).with_source(error)
                })?
            }
        };
        ClientConnection::new(Arc::clone(&tls.config), name).map_err(|error| describe_tls(&error))
    }
}

impl<In: Transport> Connector<In> for TlsConnector {
    type Out = Either<In, TlsTransport<In>>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        let Some(below) = chained else { return Ok(None) };
        if !details.needs_tls() || below.is_tls() {
            return Ok(Some(Either::A(below)));
        }
        let session = self.session(details).map_err(wrap)?;
        let mut adapter = TransportAdapter::new(below, Arc::clone(&details.current_time));
        adapter.set_timeout(details.timeout);
        let mut stream = StreamOwned::new(session, adapter);
        while stream.conn.is_handshaking() {
            let shaken = stream.conn.complete_io(&mut stream.sock);
            shaken.map_err(|error| handshake_failed(error, &self.server))?;
        }
        let (input, output) = (details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(Some(Either::B(TlsTransport { stream, buffers: LazyBuffers::new(input, output) })))
    }
}

fn handshake_failed(error: io::Error, server: &str) -> ureq::Error {
    if error.kind() == io::ErrorKind::UnexpectedEof && error.get_ref().is_none() {
        let text = "the connection was closed during the TLS handshake";
        return wrap(Error::new(ErrorKind::Network, text).context(format!("connect to {server}")));
    }
    match from_io(error) {
        ureq::Error::Other(inner) => match inner.downcast::<Error>() {
            Ok(error) if error.is_stopped() => wrap(*error),
            Ok(error) => wrap(error.context(format!("connect to {server}"))),
            Err(other) => ureq::Error::Other(other),
        },
        // Whichever limit fired: it was connecting that took too long, the request has not been sent.
        ureq::Error::Timeout(_) => ureq::Error::Timeout(ureq::Timeout::Connect),
        other => other,
    }
}

pub(super) struct TlsTransport<In: Transport> {
    stream: StreamOwned<ClientConnection, TransportAdapter<In>>,
    buffers: LazyBuffers,
}

impl<In: Transport> Transport for TlsTransport<In> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.stream.sock.set_timeout(timeout);
        let output = &self.buffers.output()[..amount];
        self.stream.write_all(output).map_err(from_io)?;
        // rustls holds back the error of a write until the next call.
        self.stream.flush().map_err(from_io)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.stream.sock.set_timeout(timeout);
        // An end without close_notify is an error here, so that a cut is no end of a body without length (F-97).
        let read = self.stream.read(self.buffers.input_append_buf()).map_err(from_io)?;
        self.buffers.input_appended(read);
        Ok(read != 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.sock.get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

impl<In: Transport> fmt::Debug for TlsTransport<In> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsTransport")
    }
}

impl fmt::Debug for TlsConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsConnector").field("server", &self.server).finish_non_exhaustive()
    }
}
