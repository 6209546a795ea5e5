//! SOCKS 5 proxies (RFC 1928, with the user names and passwords of RFC 1929), over our own socket.
//!
//! Invariant: the proxy resolves the server's name, as kubectl has it; what it is told about the user shows in no error.

use std::io::{self, Read, Write};
use std::net::IpAddr;

use informer_core::{Error, ErrorKind};
use ureq::Proxy;
use ureq::http::Uri;
use ureq::unversioned::transport::{ConnectionDetails, Connector, Either, Transport, TransportAdapter};

use super::error::{from_io, wrap};
use super::origin;
use super::socket::{TcpTransport, connect};

/// Connects through a SOCKS proxy, if there is one.
#[derive(Debug)]
pub(super) struct SocksConnector;

impl<In: Transport> Connector<In> for SocksConnector {
    type Out = Either<In, TcpTransport>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        let proxy = details.config.proxy().filter(|proxy| is_socks(proxy));
        let (None, Some(proxy)) = (&chained, proxy) else { return Ok(chained.map(Either::A)) };
        let addresses = details.resolver.resolve(proxy.uri(), details.config, details.timeout)?;
        let transport = connect(details, proxy.uri(), &addresses)?;
        let mut stream = TransportAdapter::new(transport, details.current_time.clone());
        stream.set_timeout(details.timeout);
        match shake_hands(&mut stream, proxy, details.uri) {
            Ok(()) => Ok(Some(Either::B(stream.into_inner()))),
            Err(Refused::Io(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(refused(proxy, "the connection was closed"))
            }
            Err(Refused::Io(error)) => Err(from_io(error)),
            Err(Refused::Said(text)) => Err(refused(proxy, text)),
        }
    }
}

fn is_socks(proxy: &Proxy) -> bool {
    proxy.uri().scheme_str().is_some_and(|scheme| scheme.starts_with("socks"))
}

fn refused(proxy: &Proxy, text: &str) -> ureq::Error {
    wrap(Error::new(ErrorKind::Proxy, format!("the proxy {} does not connect: {text}", origin(proxy.uri()))))
}

/// Why there is no connection.
enum Refused {
    Io(io::Error),
    Said(&'static str),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Refused::Io(error)
    }
}

/// Asks the proxy for a connection to the server of `uri`.
fn shake_hands(stream: &mut (impl Read + Write), proxy: &Proxy, uri: &Uri) -> Result<(), Refused> {
    const NO_SOCKS: Refused = Refused::Said("it does not speak SOCKS 5");
    let user = proxy.username();
    // Version, number of methods, methods: 2 is a user name and a password, 0 is nothing.
    stream.write_all(if user.is_some() { &[5, 2, 2, 0] } else { &[5, 1, 0] })?;
    match (read(stream)?, user) {
        ([5, 0], _) => {}
        ([5, 2], Some(user)) => {
            let mut request = vec![1];
            push(&mut request, user, "the user name is too long")?;
            push(&mut request, proxy.password().unwrap_or_default(), "the password is too long")?;
            stream.write_all(&request)?;
            if read::<2>(stream)?[1] != 0 {
                return Err(Refused::Said("it does not take the user name and the password"));
            }
        }
        ([5, _], None) => return Err(Refused::Said("it asks for a user name and a password")),
        ([5, _], Some(_)) => return Err(Refused::Said("it takes no user name and no password")),
        _ => return Err(NO_SOCKS),
    }
    stream.write_all(&request(uri)?)?;
    let [version, answer, _, kind] = read(stream)?;
    if version != 5 {
        return Err(NO_SOCKS);
    }
    said(answer)?;
    // The address that the proxy has taken; nobody needs it.
    let address = match kind {
        1 => 4,
        4 => 16,
        3 => usize::from(read::<1>(stream)?[0]),
        _ => return Err(NO_SOCKS),
    };
    stream.read_exact(&mut vec![0; address + 2])?;
    Ok(())
}

/// Version, CONNECT, nothing, and where to.
fn request(uri: &Uri) -> Result<Vec<u8>, Refused> {
    let mut request = vec![5, 1, 0];
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    match host.parse() {
        Ok(IpAddr::V4(ip)) => {
            request.push(1);
            request.extend(ip.octets());
        }
        Ok(IpAddr::V6(ip)) => {
            request.push(4);
            request.extend(ip.octets());
        }
        Err(_) => {
            request.push(3);
            push(&mut request, host, "the name of the server is too long")?;
        }
    }
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
    request.extend(port.to_be_bytes());
    Ok(request)
}

fn push(request: &mut Vec<u8>, text: &str, too_long: &'static str) -> Result<(), Refused> {
    request.push(u8::try_from(text.len()).map_err(|_| Refused::Said(too_long))?);
    request.extend(text.as_bytes());
    Ok(())
}

fn read<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn said(answer: u8) -> Result<(), Refused> {
    Err(Refused::Said(match answer {
        0 => return Ok(()),
        2 => "its rules do not allow it",
        3 => "it cannot reach the server's network",
        4 => "it cannot reach the server",
        5 => "the server refused the connection",
        6 => "the server did not answer in time",
        8 => "it cannot connect to this kind of address",
        _ => "it failed",
    }))
}
