//! [`ServerUrl`]: where the API server is, taken apart once.
//!
//! It never holds a user name, a password, a query or a fragment, so it may be printed anywhere.

use std::fmt;
use std::net::IpAddr;

use informer_core::{Error, ErrorKind, Result};
use ureq::http::Uri;

/// Scheme, host, port and path prefix of an API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerUrl {
    https: bool,
    /// A name or an address, lower case, an IPv6 address without brackets.
    host: String,
    port: u16,
    /// Empty, or begins with `/` and does not end with one.
    prefix: String,
}

impl ServerUrl {
    /// Reads `scheme://host[:port][/prefix]`; without a scheme `https` decides, as client-go does.
    ///
    /// # Errors
    /// Says what is wrong without repeating `text` where it may hold a password.
    pub(crate) fn parse(text: &str, https: bool) -> Result<Self> {
        let text = text.trim();
        if text.is_empty() {
            return Err(bad("the server URL is empty; it looks like https://host:6443"));
        }
        // Looked at before anything repeats the text: `user:password@host` is a secret.
        if text.contains('@') {
            return Err(bad(
                "the server URL must not hold a user name or password; use the user's token or basic auth",
            ));
        }
        if text.contains(['?', '#']) {
            return Err(bad("the server URL must not have a query or a fragment"));
        }
        let whole = match text.contains("://") {
            true => text.to_owned(),
            false => format!("{}://{text}", if https { "https" } else { "http" }),
        };
        let unreadable =
            || bad(format!("the server URL {text:?} is not a URL; it looks like https://host:6443"));
        let uri: Uri = whole.parse().map_err(|_| unreadable())?;
        let https = match uri.scheme_str() {
            Some(scheme) if scheme.eq_ignore_ascii_case("https") => true,
            Some(scheme) if scheme.eq_ignore_ascii_case("http") => false,
            _ => return Err(bad(format!("the server URL {text:?} must begin with https:// or http://"))),
        };
        let authority = uri.authority().ok_or_else(unreadable)?;
        let host = authority.host();
        let port = match authority.as_str().strip_prefix(host).and_then(|rest| rest.strip_prefix(':')) {
            None | Some("") => {
                if https {
                    443
                } else {
                    80
                }
            }
            Some(port) => port.parse().ok().filter(|port| *port != 0).ok_or_else(|| {
                bad(format!("the port of the server URL {text:?} is not a number from 1 to 65535"))
            })?,
        };
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let host = match bare {
            Some(address) => address.parse::<IpAddr>().map_err(|_| unreadable())?.to_string(),
            None => host.to_ascii_lowercase(),
        };
        if host.is_empty() {
            return Err(unreadable());
        }
        Ok(ServerUrl { https, host, port, prefix: uri.path().trim_end_matches('/').to_owned() })
    }

    /// The server that a host and a port of the environment name; an IPv6 host comes without brackets.
    pub(crate) fn from_host_port(host: &str, port: &str) -> Result<Self> {
        let bracketed = host.contains(':') && !host.starts_with('[');
        let host = if bracketed { format!("[{host}]") } else { host.to_owned() };
        ServerUrl::parse(&format!("https://{host}:{port}"), true)
    }

    pub(crate) fn is_https(&self) -> bool {
        self.https
    }

    /// The host without brackets.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.https { "https" } else { "http" };
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{scheme}://{open}{}{close}:{}{}", self.host, self.port, self.prefix)
    }
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usual_form_is_read() {
        for (text, shown) in [
            ("https://example.com", "https://example.com:443"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
            ("HTTPS://Example.COM:6443/k8s/clusters/c-1/", "https://example.com:6443/k8s/clusters/c-1"),
            ("https://[::1]:6443", "https://[::1]:6443"),
            ("https://[FD00:0::1]", "https://[fd00::1]:443"),
            ("localhost:8080", "http://localhost:8080"),
            (" http://localhost ", "http://localhost:80"),
            ("http://my_service:80", "http://my_service:80"),
        ] {
            assert_eq!(ServerUrl::parse(text, false).unwrap().to_string(), shown, "{text}");
        }
        assert_eq!(ServerUrl::parse("localhost:6443", true).unwrap().to_string(), "https://localhost:6443");
    }

    #[test]
    fn every_bad_form_is_one_clear_line() {
        for text in [
            "",
            " ",
            "https://",
            "https://:6443",
            "ftp://x",
            "https://x:0",
            "https://x:99999",
            "https://x:y",
            "https://x/?a=b",
            "https://x/#f",
            "https://[::1",
            "https://[nonsense]:1",
            "https://a b",
            "http:///x",
            "\u{0}",
            "unix:///run/x",
        ] {
            let error = ServerUrl::parse(text, true).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{text:?}");
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_password_in_the_url_is_refused_without_being_printed() {
        let error = ServerUrl::parse("https://me:hunter2@host:6443", true).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }

    #[test]
    fn au_12_an_ipv6_service_host_gets_brackets() {
        assert_eq!(ServerUrl::from_host_port("fd00::1", "443").unwrap().to_string(), "https://[fd00::1]:443");
        assert_eq!(ServerUrl::from_host_port("10.0.0.1", "443").unwrap().host(), "10.0.0.1");
    }
}
