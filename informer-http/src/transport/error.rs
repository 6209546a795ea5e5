//! From ureq's errors to ours: every failure of the transport becomes one [`Error`] with a kind.
//!
//! Invariant: our own connectors speak in [`Error`]s, wrapped in `ureq::Error::Other`; they come out as they went
//! in, whatever wrapped them on the way (`io::Error`, rustls' stream, the gzip decoder).

use std::io;
use std::time::Duration;

use informer_core::{Error, ErrorKind};
use ureq::Timeout;

/// How long the phases of a request may take; for the texts of time-outs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Name look-up and connecting, proxy and TLS included.
    pub connect: Duration,
    /// From the request to the complete head of the answer; for sending it, too.
    pub head: Duration,
    /// Without a byte.
    pub silence: Duration,
    /// For the body of a document, so that one that comes drop by drop ends; a stream has none.
    pub whole: Option<Duration>,
    /// For the body of a refusal, and for what follows a document: nice to have, and not worth more.
    pub rest: Duration,
}

impl Limits {
    /// Those of D7, with `silence` for the head and for the body.
    pub(crate) const fn document(silence: Duration) -> Self {
        Limits {
            connect: CONNECT,
            head: silence,
            silence,
            whole: Some(Duration::from_secs(600)),
            rest: Duration::from_secs(5),
        }
    }

    /// The same for a body that need never end.
    pub(crate) const fn stream(silence: Duration) -> Self {
        Limits { whole: None, ..Limits::document(silence) }
    }
}

/// Name look-up and connecting, TLS and proxy included (D7).
const CONNECT: Duration = Duration::from_secs(10);

/// Wraps one of our errors for the way through ureq.
pub(super) fn wrap(error: Error) -> ureq::Error {
    ureq::Error::Other(Box::new(error))
}

/// The error of ureq behind an `io::Error`, with the failures of a socket turned into ours.
///
/// ureq takes some kinds of `io::Error` for the end of a body that has no length; a wrapped one never.
pub(super) fn from_io(error: io::Error) -> ureq::Error {
    match ureq::Error::from(error) {
        ureq::Error::Io(error) => wrap(describe_io(error)),
        other => other,
    }
}

/// The error of a failed request or body read.
pub(super) fn translate(error: ureq::Error, server: &str, limits: Limits) -> Error {
    use ureq::Error as U;
    let message = match error {
        U::Other(error) => match error.downcast::<Error>() {
            Ok(error) => return *error,
            Err(other) => {
                return Error::new(ErrorKind::Network, format!("the connection to {server} failed"))
                    .with_source(other);
            }
        },
        U::Io(error) => return describe_io(error),
        U::Timeout(timeout) => return timed_out(timeout, server, limits),
        U::HostNotFound => {
            return Error::new(ErrorKind::Dns, format!("the name of {server} has no address"));
        }
        U::ConnectProxyFailed(text) => {
            return Error::new(ErrorKind::Proxy, format!("the proxy did not connect to {server}: {text}"));
        }
        U::InvalidProxyUrl => return Error::new(ErrorKind::Config, "the proxy url is not valid"),
        U::TlsRequired => {
            return Error::new(ErrorKind::Tls, format!("{server} wants TLS, but there is none for it"));
        }
        U::Decompress(_, cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {
            return Error::new(ErrorKind::Network, "the compressed answer was cut short").with_source(cause);
        }
        U::Decompress(_, cause) => {
            return Error::new(ErrorKind::Decode, "the compressed answer is damaged").with_source(cause);
        }
        // ureq reads no chunk extension of more than about 17 characters; servers send none, some middleboxes do.
        U::Protocol(ref cause) if cause.to_string().starts_with("chunk ") => format!(
            "{server} does not answer in chunks as HTTP/1.1 has them, or with chunk extensions, of which only short ones \
             are read ({error}); is there a proxy that adds them?"
        ),
        U::Protocol(_) => format!("{server} does not answer in HTTP/1.1: {error}"),
        U::LargeResponseHeader(..) => format!("the head of the answer of {server} is too large"),
        U::Http(_) | U::BadUri(_) => {
            return Error::new(ErrorKind::Config, "the request cannot be written as HTTP").with_source(error);
        }
        _ => {
            return Error::new(ErrorKind::Network, format!("the connection to {server} failed"))
                .with_source(error);
        }
    };
    Error::new(ErrorKind::Decode, message)
}

fn timed_out(timeout: Timeout, server: &str, limits: Limits) -> Error {
    match timeout {
        Timeout::Resolve => Error::new(
            ErrorKind::Dns,
            format!("the name of {server} was not resolved within {}", seconds(limits.connect)),
        ),
        Timeout::Connect => Error::new(
            ErrorKind::Network,
            format!(
                "connect to {server}: no answer within {}; is the network path open?",
                seconds(limits.connect)
            ),
        ),
        Timeout::PerWrite | Timeout::SendRequest | Timeout::SendBody => {
            Error::new(ErrorKind::Silent, format!("{server} does not take the request"))
        }
        Timeout::RecvResponse => {
            Error::new(ErrorKind::Silent, format!("{server} did not answer within {}", seconds(limits.head)))
        }
        _ => Error::new(ErrorKind::Silent, format!("{server} sent nothing for {}", seconds(limits.silence))),
    }
}

/// What went wrong with a socket or the TLS on it.
pub(super) fn describe_io(error: io::Error) -> Error {
    if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return describe_tls(tls);
    }
    let kind = match error.kind() {
        io::ErrorKind::ConnectionRefused => ErrorKind::Refused,
        _ => ErrorKind::Network,
    };
    let text = match error.kind() {
        io::ErrorKind::UnexpectedEof => "the connection was closed before the answer was complete".to_owned(),
        io::ErrorKind::ConnectionReset => "the connection was reset".to_owned(),
        io::ErrorKind::BrokenPipe => "the connection was closed while the request was sent".to_owned(),
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::TimedOut => "the peer stopped answering, the connection was given up".to_owned(),
        _ => format!("the connection failed: {error}"),
    };
    Error::new(kind, text).with_source(error)
}

/// Says what a TLS failure means for the configuration.
pub(super) fn describe_tls(error: &rustls::Error) -> Error {
    use rustls::{AlertDescription as Alert, CertificateError as Cert, Error as Tls};
    let text = match error {
        Tls::InvalidCertificate(Cert::UnknownIssuer | Cert::BadSignature) => {
            "the server's certificate is not signed by a CA that is trusted here (unknown issuer); check \
             certificate-authority of the kubeconfig, or whether another server answers at this address"
        }
        Tls::InvalidCertificate(Cert::NotValidForName | Cert::NotValidForNameContext { .. }) => {
            "the server's certificate is for another name; set tls-server-name in the kubeconfig, or use an \
             address that the certificate names"
        }
        Tls::InvalidCertificate(Cert::Expired | Cert::ExpiredContext { .. }) => {
            "the server's certificate has expired; renew it, or check the clock of this machine"
        }
        Tls::InvalidCertificate(Cert::NotValidYet | Cert::NotValidYetContext { .. }) => {
            "the server's certificate is not valid yet; check the clock of this machine"
        }
        Tls::AlertReceived(Alert::CertificateRequired) => {
            "the server wants a client certificate; set client-certificate and client-key in the kubeconfig"
        }
        Tls::AlertReceived(
            Alert::BadCertificate
            | Alert::UnknownCA
            | Alert::CertificateExpired
            | Alert::CertificateRevoked
            | Alert::CertificateUnknown
            | Alert::AccessDenied,
        ) => "the server refused the client certificate; is it of this cluster and still valid?",
        Tls::InvalidMessage(_) => "the server does not speak TLS; should the address begin with http://?",
        _ => return Error::new(ErrorKind::Tls, format!("TLS failed: {error}")).with_source(error.clone()),
    };
    Error::new(ErrorKind::Tls, text).with_source(error.clone())
}

/// A limit in words.
pub(super) fn seconds(limit: Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { silence: Duration::from_secs(90), ..Limits::document(Duration::from_secs(30)) };

    fn kind(error: ureq::Error) -> ErrorKind {
        translate(error, "http://server", LIMITS).kind()
    }

    #[test]
    fn ours_come_out_as_they_went_in_through_every_wrapping() {
        let ours = || wrap(Error::stopped());
        assert_eq!(kind(ours()), ErrorKind::Stopped);
        assert_eq!(kind(from_io(ours().into_io())), ErrorKind::Stopped);
        assert_eq!(kind(from_io(io::Error::other(ours()))), ErrorKind::Stopped);
    }

    #[test]
    fn f_99_timeouts_are_told_apart_by_what_was_waited_for() {
        for (timeout, want) in [
            (Timeout::Resolve, ErrorKind::Dns),
            (Timeout::Connect, ErrorKind::Network),
            (Timeout::RecvResponse, ErrorKind::Silent),
            (Timeout::PerRead, ErrorKind::Silent),
            (Timeout::SendBody, ErrorKind::Silent),
        ] {
            assert_eq!(kind(ureq::Error::Timeout(timeout)), want, "{timeout:?}");
        }
    }

    #[test]
    fn a_peer_given_up_by_tcp_is_a_broken_connection_not_silence() {
        assert_eq!(kind(from_io(io::ErrorKind::TimedOut.into())), ErrorKind::Network);
        assert_eq!(kind(from_io(io::ErrorKind::ConnectionRefused.into())), ErrorKind::Refused);
    }

    #[test]
    fn tls_failures_say_what_to_do() {
        let unknown = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let error = translate(ureq::Error::Io(io::Error::other(unknown)), "https://server", LIMITS);
        assert_eq!(error.kind(), ErrorKind::Tls);
        assert!(error.to_string().contains("not signed by a CA that is trusted here (unknown issuer)"));
        let alert = rustls::Error::AlertReceived(rustls::AlertDescription::CertificateRequired);
        assert!(describe_tls(&alert).to_string().contains("client certificate"));
    }
}
