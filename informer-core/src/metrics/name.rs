//! What there is to count and to measure: [`Counter`], [`Gauge`], [`Histogram`], with the names Prometheus shows.
//!
//! Where client-go has a metric of that meaning, the name is client-go's.

use crate::error::ErrorKind;

/// Something that only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Counter {
    /// `reflector_lists_total`: lists begun, streaming ones included.
    Lists,
    /// `reflector_relists_total{reason}`: lists begun after the first complete one, by the kind of the failure that led
    /// to it. [`ErrorKind::NotComparable`] is a server whose version went back. (Not in client-go.)
    Relists(ErrorKind),
    /// `reflector_watches_total`: watches begun, streaming lists included.
    Watches,
    /// `reflector_short_watches_total`: watches that ended in under a second with nothing.
    ShortWatches,
    /// `reflector_bytes_total`: bytes of bodies read, decompressed. (Not in client-go.)
    Bytes,
    /// `informer_events_total`: events that handlers are told, before the fan-out. (Not in client-go.)
    Events,
    /// `reflector_errors_total{kind}`: failures, as the error hook sees them, bad objects left out. (Not in client-go.)
    Errors(ErrorKind),
    /// `informer_bad_objects_total`: objects that could not be decoded, transformed or indexed. (Not in client-go.)
    BadObjects,
    /// `informer_queue_folded_total`: entries folded away between reader and store. (Not in client-go.)
    QueueFolded,
    /// `informer_handler_folded_total`: events folded away because a handler was too far behind. (Not in client-go.)
    HandlerFolded,
    /// `informer_handler_panics_total`: panics in handlers. (Not in client-go.)
    HandlerPanics,
    /// `informer_handler_promotions_total`: handlers moved to a thread of their own for being slow. (Not in client-go.)
    HandlerPromotions,
}

impl Counter {
    /// The name that Prometheus shows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Counter::Lists => "reflector_lists_total",
            Counter::Relists(_) => "reflector_relists_total",
            Counter::Watches => "reflector_watches_total",
            Counter::ShortWatches => "reflector_short_watches_total",
            Counter::Bytes => "reflector_bytes_total",
            Counter::Events => "informer_events_total",
            Counter::Errors(_) => "reflector_errors_total",
            Counter::BadObjects => "informer_bad_objects_total",
            Counter::QueueFolded => "informer_queue_folded_total",
            Counter::HandlerFolded => "informer_handler_folded_total",
            Counter::HandlerPanics => "informer_handler_panics_total",
            Counter::HandlerPromotions => "informer_handler_promotions_total",
        }
    }

    /// The label that it has besides those of the informer.
    #[must_use]
    pub fn label(self) -> Option<(&'static str, &'static str)> {
        match self {
            Counter::Relists(reason) => Some(("reason", reason.as_str())),
            Counter::Errors(kind) => Some(("kind", kind.as_str())),
            _ => None,
        }
    }

    /// What it counts, in one line.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Counter::Lists => "Lists begun, streaming ones included",
            Counter::Relists(_) => "Lists begun after the first complete one, by what led to it",
            Counter::Watches => "Watches begun, streaming lists included",
            Counter::ShortWatches => "Watches that ended in under a second with nothing",
            Counter::Bytes => "Bytes of bodies read, decompressed",
            Counter::Events => "Events that handlers are told, before the fan-out",
            Counter::Errors(_) => "Failures of lists and watches",
            Counter::BadObjects => "Objects that could not be decoded, transformed or indexed",
            Counter::QueueFolded => "Entries folded away between reader and store",
            Counter::HandlerFolded => "Events folded away because a handler was too far behind",
            Counter::HandlerPanics => "Panics in handlers",
            Counter::HandlerPromotions => "Handlers moved to a thread of their own for being slow",
        }
    }
}

/// Something that goes up and down. `status()` has the same at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Gauge {
    /// `informer_queued_items`: entries between reader and store.
    QueuedItems,
    /// `informer_handler_backlog`: events that the handler furthest behind has not handled. (Not in client-go.)
    HandlerBacklog,
    /// `informer_store_objects`: objects in the store. (Not in client-go.)
    StoreObjects,
    /// `informer_store_resource_version`: the store's version, cut to its last 15 digits; bookmarks move it too. Not
    /// told while it is no number.
    StoreResourceVersion,
}

impl Gauge {
    /// The name that Prometheus shows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Gauge::QueuedItems => "informer_queued_items",
            Gauge::HandlerBacklog => "informer_handler_backlog",
            Gauge::StoreObjects => "informer_store_objects",
            Gauge::StoreResourceVersion => "informer_store_resource_version",
        }
    }

    /// What it shows, in one line.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Gauge::QueuedItems => "Entries between reader and store",
            Gauge::HandlerBacklog => "Events that the handler furthest behind has not handled",
            Gauge::StoreObjects => "Objects in the store",
            Gauge::StoreResourceVersion => "Version of the store, its last 15 digits",
        }
    }
}

/// Something of which the distribution counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Histogram {
    /// `reflector_list_duration_seconds`: complete lists, from the first request to the last object. Such that fail are
    /// left out.
    ListDuration,
    /// `reflector_items_per_list`: objects of a complete list.
    ItemsPerList,
    /// `reflector_watch_duration_seconds`: watches that have ended, from the request on. One that a stop ends is left
    /// out.
    WatchDuration,
    /// `reflector_items_per_watch`: events of a watch that has ended, bookmarks left out.
    ItemsPerWatch,
    /// `informer_processing_latency_seconds`: a batch, from the queue until the store shows it and handlers are to be
    /// told.
    ProcessingLatency,
}

impl Histogram {
    /// The name that Prometheus shows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Histogram::ListDuration => "reflector_list_duration_seconds",
            Histogram::ItemsPerList => "reflector_items_per_list",
            Histogram::WatchDuration => "reflector_watch_duration_seconds",
            Histogram::ItemsPerWatch => "reflector_items_per_watch",
            Histogram::ProcessingLatency => "informer_processing_latency_seconds",
        }
    }

    /// What it shows, in one line.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Histogram::ListDuration => "Duration of complete lists",
            Histogram::ItemsPerList => "Objects of complete lists",
            Histogram::WatchDuration => "Duration of watches",
            Histogram::ItemsPerWatch => "Events of watches, bookmarks left out",
            Histogram::ProcessingLatency => "From the queue until the store shows a batch",
        }
    }

    /// Upper bounds of buckets that fit its values.
    #[must_use]
    pub fn buckets(self) -> &'static [f64] {
        match self {
            Histogram::ListDuration => &[0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0],
            Histogram::WatchDuration => &[1.0, 10.0, 60.0, 300.0, 400.0, 500.0, 600.0, 1200.0],
            Histogram::ItemsPerList | Histogram::ItemsPerWatch => {
                &[0.0, 1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0]
            }
            Histogram::ProcessingLatency => {
                &[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
            }
        }
    }
}
