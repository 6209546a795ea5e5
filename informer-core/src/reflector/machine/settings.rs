//! [`Settings`]: the numbers a reflector goes by.
//!
//! What users may choose is a field; what the protocol or the design fixes is a constant.

use std::time::Duration;

/// A watch shorter than this that brought nothing is fruitless.
pub(super) const SHORT: Duration = Duration::from_secs(1);
/// A stream alive for this long proves health: the back-off starts again (D6).
pub(super) const HEALTHY: Duration = Duration::from_secs(30);
/// Fruitless watches at one version before a list is forced (F-12).
pub(super) const FRUITLESS: u32 = 3;
/// Streaming lists that fail in a row before the paged list takes over.
pub(super) const STREAM_ATTEMPTS: u32 = 3;
/// Fresh starts of a paged list whose continue token expired, before it counts as failed.
pub(super) const PAGE_RESTARTS: u32 = 3;
/// Pages without an item in a row before a list counts as one without an end. API servers fill their pages; what serves
/// sparse ones through a selector still brings an item now and then.
pub(super) const EMPTY_PAGES: u32 = 100;
/// Lists at a version of their own answered 500 in a row before the next one asks for the most recent state.
pub(super) const INTERNAL: u32 = 2;
/// Watches that cannot be opened in a row before a list is tried, in case only watching is broken; client-go's HTTP
/// layer gives up after as many.
pub(super) const OPEN_ATTEMPTS: u32 = 10;
/// Watches without a sign of life in a row before the server is asked for its version; an outage counts as one.
pub(super) const QUIET: u32 = 2;
/// How much longer than asked for a watch may bring bytes but no event.
pub(super) const OVERDUE: Duration = Duration::from_secs(30);
/// The most a server may make us wait.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// Settings of a reflector, all with client-go's defaults.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Whether streaming lists are tried first.
    pub(crate) streaming: bool,
    /// Whether the first list asks for the most recent state, and not for what the server has at hand.
    pub(crate) consistent_start: bool,
    /// `limit` of every list, if set.
    pub(crate) page_size: Option<u32>,
    /// `timeoutSeconds` is uniform between these.
    pub(crate) watch_timeout: (Duration, Duration),
    /// Silence that ends a watch.
    pub(crate) idle: Duration,
    /// How long a streaming list may take in all.
    pub(crate) initial_limit: Duration,
    /// How long a fall-back to paged lists is remembered.
    pub(crate) fallback: Duration,
    /// The first delay between attempts, and where doubling it ends.
    pub(crate) backoff: (Duration, Duration),
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            streaming: true,
            consistent_start: false,
            page_size: None,
            watch_timeout: (Duration::from_secs(300), Duration::from_secs(600)),
            idle: Duration::from_secs(90),
            initial_limit: Duration::from_secs(120),
            fallback: Duration::from_secs(600),
            backoff: (Duration::from_millis(800), Duration::from_secs(30)),
        }
    }
}
