//! Which proxy stands between this program and the API server, if any.
//!
//! The kubeconfig's `proxy-url` always holds, as for kubectl. The environment's holds unless the server is on this
//! machine or `NO_PROXY` covers it, by the rules of Go's `httpproxy`: names, suffixes, addresses, CIDR blocks, ports.

use std::fmt;
use std::net::IpAddr;

use informer_core::{Error, ErrorKind, Result, Stage};

use super::Environment;
use super::server::ServerUrl;
use crate::secret::Secret;

/// A proxy: its scheme, address, and perhaps a user and a password, which never show.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ProxyUrl {
    /// One of `http`, `https`, `socks5`, `socks5h`.
    scheme: &'static str,
    /// `host:port`, without the user.
    shown: String,
    whole: Secret,
}

impl ProxyUrl {
    /// Reads `scheme://[user:password@]host[:port]`; without a scheme it is `http`.
    ///
    /// # Errors
    /// Says what is wrong without repeating the text, which may hold a password.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let bad = |message: &str| Error::new(ErrorKind::Config, message.to_owned()).at(Stage::Config);
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let scheme = ["http", "https", "socks5", "socks5h"]
            .into_iter()
            .find(|known| known.eq_ignore_ascii_case(scheme))
            .ok_or_else(|| bad("the proxy's scheme must be http, https, socks5 or socks5h"))?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let shown = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_owned();
        // kubectl lets a SOCKS proxy resolve the server's name, whatever the form of the scheme.
        let wire = if scheme == "socks5" { "socks5h" } else { scheme };
        let proxy = ProxyUrl { scheme, shown, whole: Secret::new(format!("{wire}://{authority}")) };
        let unreadable =
            || bad("the proxy is not a URL; it looks like http://host:3128 or socks5://host:1080");
        // The address has the form of a server's; ureq alone would take a port that is no number.
        ServerUrl::parse(&format!("http://{}", proxy.shown), false).map_err(|_| unreadable())?;
        ureq::Proxy::new(proxy.whole.expose()).map_err(|_| unreadable())?;
        Ok(proxy)
    }

    /// The proxy for ureq. It asks no `NO_PROXY` of its own.
    pub(crate) fn to_ureq(&self) -> Result<ureq::Proxy> {
        ureq::Proxy::new(self.whole.expose()).map_err(|_| {
            Error::new(ErrorKind::Config, format!("the proxy {self} cannot be used")).at(Stage::Config)
        })
    }
}

impl fmt::Display for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.shown)
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// The environment's proxy for `server`: by its scheme, else `ALL_PROXY`, unless it is to be reached directly.
///
/// # Errors
/// The variable and what is wrong with it.
pub(crate) fn from_environment(server: &ServerUrl, environment: &Environment) -> Result<Option<ProxyUrl>> {
    let names: [&str; 4] = match server.is_https() {
        true => ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
        false => ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"],
    };
    let Some((name, url)) = names.into_iter().find_map(|name| Some((name, environment.var(name)?))) else {
        return Ok(None);
    };
    let exceptions = environment.var("NO_PROXY").or_else(|| environment.var("no_proxy")).unwrap_or_default();
    if is_direct(server.host(), server.port(), &exceptions) {
        return Ok(None);
    }
    ProxyUrl::parse(&url).map(Some).map_err(|error| error.context(name))
}

/// Whether `host`, lower case and without brackets, is reached without a proxy.
fn is_direct(host: &str, port: u16, exceptions: &str) -> bool {
    let address = host.parse::<IpAddr>().ok().map(|address| address.to_canonical());
    if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    exceptions.split(',').map(str::trim).any(|entry| covers(&entry.to_ascii_lowercase(), host, address, port))
}

/// Whether one entry of `NO_PROXY`, trimmed and in lower case, covers the host.
fn covers(entry: &str, host: &str, address: Option<IpAddr>, port: u16) -> bool {
    if entry.is_empty() {
        return false;
    }
    if entry == "*" {
        return true;
    }
    if let Some((network, bits)) = entry.split_once('/') {
        let block = network.parse::<IpAddr>().ok().zip(bits.parse().ok());
        return address.zip(block).is_some_and(|(address, (network, bits))| in_block(address, network, bits));
    }
    let (name, only_port) = with_port(entry);
    if only_port.is_some_and(|only| only != port) {
        return false;
    }
    if let Ok(named) = name.parse::<IpAddr>() {
        return address == Some(named.to_canonical());
    }
    if address.is_some() {
        return false; // a suffix of an address means nothing
    }
    // `*.example.com` and `.example.com` are subdomains only; `example.com` is itself and its subdomains.
    let name = name.strip_prefix('*').unwrap_or(name);
    match name.strip_prefix('.') {
        Some(parent) => is_below(host, parent),
        None => host == name || is_below(host, name),
    }
}

/// An entry's host without brackets, and its port if it has one.
fn with_port(entry: &str) -> (&str, Option<u16>) {
    if let Some(rest) = entry.strip_prefix('[')
        && let Some((address, port)) = rest.split_once(']')
    {
        return (address, port.strip_prefix(':').and_then(|port| port.parse().ok()));
    }
    match entry.split_once(':') {
        // A second colon makes it an IPv6 address without brackets.
        Some((host, port)) if !port.contains(':') => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) => (entry, None),
        },
        _ => (entry, None),
    }
}

fn is_below(host: &str, parent: &str) -> bool {
    !parent.is_empty() && host.strip_suffix(parent).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

fn in_block(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    // Shifting by the whole width is the `/0` block, which holds everything.
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) if bits <= 32 => {
            (address.to_bits() ^ network.to_bits()).checked_shr(32 - bits).unwrap_or(0) == 0
        }
        (IpAddr::V6(address), IpAddr::V6(network)) if bits <= 128 => {
            (address.to_bits() ^ network.to_bits()).checked_shr(128 - bits).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d_18_no_proxy_knows_names_suffixes_addresses_blocks_and_ports() {
        let cases: &[(&str, &str, bool)] = &[
            // exceptions, host:port, reached directly
            ("", "https://example.com:6443", false),
            ("*", "https://example.com:6443", true),
            ("example.com", "https://example.com:6443", true),
            ("example.com", "https://api.example.com:6443", true),
            ("example.com", "https://badexample.com:6443", false),
            (".example.com", "https://example.com:6443", false),
            (".example.com", "https://api.example.com:6443", true),
            ("*.example.com", "https://api.example.com:6443", true),
            ("*.example.com", "https://example.com:6443", false),
            ("EXAMPLE.com", "https://Example.COM:6443", true),
            ("a, example.com ,b", "https://example.com:6443", true),
            (" , ,", "https://example.com:6443", false),
            ("example.com:6443", "https://example.com:6443", true),
            ("example.com:443", "https://example.com:6443", false),
            ("example.com:443", "https://example.com", true),
            ("10.0.0.0/8", "https://10.96.0.1:443", true),
            ("10.0.0.0/8", "https://11.96.0.1:443", false),
            ("10.96.0.1", "https://10.96.0.1:443", true),
            ("10.96.0.1:443", "https://10.96.0.1:443", true),
            ("10.96.0.1:444", "https://10.96.0.1:443", false),
            ("0.0.0.0/0", "https://203.0.113.9:443", true),
            ("0.0.0.0/0", "https://example.com:443", false),
            ("10.0.0.0/33", "https://10.0.0.1:443", false),
            ("10.0.0.0/x", "https://10.0.0.1:443", false),
            ("96.0.1", "https://10.96.0.1:443", false),
            ("fd00::/8", "https://[fd00::1]:443", true),
            ("fd00::/8", "https://[fe80::1]:443", false),
            ("::/0", "https://[fe80::1]:443", true),
            ("fd00::1", "https://[fd00::1]:443", true),
            ("[fd00::1]:443", "https://[fd00::1]:443", true),
            ("[fd00::1]:444", "https://[fd00::1]:443", false),
            ("", "https://localhost:6443", true),
            ("", "https://127.0.0.1:6443", true),
            ("", "https://127.9.9.9:6443", true),
            ("", "https://[::1]:6443", true),
            ("", "https://[::ffff:127.0.0.1]:6443", true),
            ("", "https://notlocalhost:6443", false),
        ];
        for (exceptions, url, direct) in cases {
            let server = ServerUrl::parse(url, true).unwrap();
            assert_eq!(
                is_direct(server.host(), server.port(), exceptions),
                *direct,
                "{exceptions:?} and {url}"
            );
        }
    }

    #[test]
    fn d_18_the_variable_follows_the_scheme_and_upper_case_wins() {
        let https = ServerUrl::parse("https://example.com", true).unwrap();
        let http = ServerUrl::parse("http://example.com", true).unwrap();
        let chosen = |server: &ServerUrl, vars: &[(&str, &str)]| {
            let environment =
                vars.iter().fold(Environment::empty(), |env, (name, value)| env.with_var(name, *value));
            from_environment(server, &environment).unwrap().map(|proxy| proxy.to_string())
        };
        let all =
            [("ALL_PROXY", "socks5://all:1"), ("HTTPS_PROXY", "http://tls:2"), ("http_proxy", "plain:3")];
        assert_eq!(chosen(&https, &all).as_deref(), Some("http://tls:2"));
        assert_eq!(chosen(&http, &all).as_deref(), Some("http://plain:3"));
        assert_eq!(chosen(&https, &all[..1]).as_deref(), Some("socks5://all:1"));
        assert_eq!(
            chosen(&https, &[("https_proxy", "http://low:1"), ("HTTPS_PROXY", "http://up:2")]).as_deref(),
            Some("http://up:2")
        );
        assert_eq!(chosen(&https, &[("HTTPS_PROXY", "http://p:1"), ("no_proxy", "example.com")]), None);
        assert_eq!(chosen(&https, &[]), None);
    }

    #[test]
    fn a_proxy_shows_neither_user_nor_password() {
        let proxy = ProxyUrl::parse("http://me:hunter2@proxy:3128/").unwrap();
        assert_eq!(proxy.to_string(), "http://proxy:3128");
        assert_eq!(format!("{proxy:?}"), "\"http://proxy:3128\"");
        let made = proxy.to_ureq().unwrap();
        assert_eq!((made.username(), made.password()), (Some("me"), Some("hunter2")));
        assert!(!made.is_no_proxy(&"http://example.com".parse().unwrap()));
    }

    #[test]
    fn a_socks_proxy_resolves_the_name_itself() {
        let made = ProxyUrl::parse("socks5://127.0.0.1:1080").unwrap().to_ureq().unwrap();
        assert!(!made.resolve_target());
    }

    #[test]
    fn a_bad_proxy_is_one_line_without_its_text() {
        for text in [
            "",
            "ftp://hunter2",
            "http://",
            "http://a b:hunter2@",
            "http://me:hunter2@",
            "http://hunter2:x:y@h:p",
        ] {
            let Err(error) = ProxyUrl::parse(text) else { panic!("{text:?} was taken") };
            assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        }
        let environment = Environment::empty().with_var("HTTPS_PROXY", "gopher://x");
        let server = ServerUrl::parse("https://example.com", true).unwrap();
        let error = from_environment(&server, &environment).unwrap_err();
        assert!(error.to_string().starts_with("HTTPS_PROXY: "), "{error}");
    }
}
