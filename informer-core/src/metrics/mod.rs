//! [`Metrics`]: what an informer counts and measures, told as it happens, under the names that client-go uses.
//!
//! Invariant: an implementation is user code, so it is called under no lock and a panic in it ends there.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

mod name;

pub use name::{Counter, Gauge, Histogram};

use crate::contain::{contain, discard};

/// Takes in what informers count and measure; given to
/// [`InformerBuilder::metrics`](crate::InformerBuilder::metrics), or to a factory for all of its informers.
///
/// The enums say what there is: each has the name that Prometheus shows, a help text, and a label of its own if it has
/// one. An implementation that goes by [`name`](Counter::name) and [`label`](Counter::label) alone, as the one below,
/// takes in whatever is added later.
///
/// It is called on threads of the informer, some methods for every event: it should be as quick as an atomic addition.
/// It is called under no lock, so it may read `status()` and stores. It must not wait. What panics in it is logged once
/// for each informer, and otherwise ignored.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use informer_core::metrics::{Counter, Gauge, Histogram, InformerName};
/// use informer_core::{Metrics, SharedInformer, sync::Mutex};
/// use informer_testkit::{FakeSource, TestObject};
///
/// /// A page for Prometheus. Of histograms it shows sum and count.
/// #[derive(Default)]
/// struct Page(Mutex<BTreeMap<String, f64>>);
///
/// impl Page {
///     fn change(&self, name: &str, of: &InformerName<'_>, label: Option<(&str, &str)>, change: impl Fn(&mut f64)) {
///         let (key, value) = label.unwrap_or(("name", of.name));
///         let line = format!("{name}{{resource={:?},{key}={value:?}}}", of.resource);
///         change(self.0.lock().entry(line).or_default());
///     }
/// }
///
/// impl Metrics for Page {
///     fn count(&self, of: &InformerName<'_>, counter: Counter, by: u64) {
///         self.change(counter.name(), of, counter.label(), |value| *value += by as f64);
///     }
///     fn set(&self, of: &InformerName<'_>, gauge: Gauge, to: f64) {
///         self.change(gauge.name(), of, None, |value| *value = to);
///     }
///     fn observe(&self, of: &InformerName<'_>, histogram: Histogram, what: f64) {
///         self.change(&format!("{}_sum", histogram.name()), of, None, |value| *value += what);
///         self.change(&format!("{}_count", histogram.name()), of, None, |value| *value += 1.0);
///     }
/// }
///
/// # fn main() -> informer_core::Result<()> {
/// let source = FakeSource::new().named("pods");
/// source.create(TestObject::new("default/web-0"));
/// let page = std::sync::Arc::new(Page::default());
/// let informer = SharedInformer::builder(source).metrics(page.clone()).build();
/// let registration = informer.on_event(|_| ())?;
/// informer.start()?;
/// registration.wait_synced(std::time::Duration::from_secs(30))?;
/// assert_eq!(page.0.lock()["reflector_lists_total{resource=\"pods\",name=\"\"}"], 1.0);
/// assert_eq!(page.0.lock()["informer_store_objects{resource=\"pods\",name=\"\"}"], 1.0);
/// # Ok(())
/// # }
/// ```
pub trait Metrics: Send + Sync {
    /// `counter` of informer `of` has grown `by` so much, which is not zero.
    fn count(&self, of: &InformerName<'_>, counter: Counter, by: u64) {
        let _ = (of, counter, by);
    }

    /// `gauge` of informer `of` now has the value `to`. It is told when it may have changed, so the same value may come
    /// again.
    fn set(&self, of: &InformerName<'_>, gauge: Gauge, to: f64) {
        let _ = (of, gauge, to);
    }

    /// `histogram` of informer `of` has one more value, `what`.
    fn observe(&self, of: &InformerName<'_>, histogram: Histogram, what: f64) {
        let _ = (of, histogram, what);
    }
}

impl<M: Metrics + ?Sized> Metrics for Arc<M> {
    fn count(&self, of: &InformerName<'_>, counter: Counter, by: u64) {
        (**self).count(of, counter, by);
    }

    fn set(&self, of: &InformerName<'_>, gauge: Gauge, to: f64) {
        (**self).set(of, gauge, to);
    }

    fn observe(&self, of: &InformerName<'_>, histogram: Histogram, what: f64) {
        (**self).observe(of, histogram, what);
    }
}

/// Which informer something is told of: client-go's labels `name` and `resource`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct InformerName<'a> {
    /// What tells it from other informers of its resource: chosen with
    /// [`metrics_name`](crate::InformerBuilder::metrics_name), or by a factory. Gauges of two informers that have both
    /// in common overwrite each other.
    pub name: &'a str,
    /// What is informed about: `pods`, `widgets.example.com`.
    pub resource: &'a str,
}

/// One informer's way to the user's [`Metrics`]; nothing if there is none.
pub(crate) struct Meter {
    metrics: Option<Arc<dyn Metrics>>,
    name: String,
    resource: String,
    /// It has panicked, which has been told.
    told: AtomicBool,
}

impl Meter {
    pub(crate) fn new(metrics: Option<Arc<dyn Metrics>>, name: String, resource: String) -> Self {
        Meter { metrics, name, resource, told: AtomicBool::new(false) }
    }

    /// Whether anybody wants to know; if not, nothing need be worked out.
    pub(crate) fn is_on(&self) -> bool {
        self.metrics.is_some()
    }

    pub(crate) fn count(&self, counter: Counter, by: u64) {
        if by > 0 {
            self.tell(|metrics, of| metrics.count(of, counter, by));
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "2^53 objects do not fit into memory")]
    pub(crate) fn set(&self, gauge: Gauge, to: usize) {
        self.tell(|metrics, of| metrics.set(of, gauge, to as f64));
    }

    /// The gauge of a version, if that is a number.
    pub(crate) fn set_version(&self, version: &str) {
        if let Some(number) = version_number(version) {
            self.tell(|metrics, of| metrics.set(of, Gauge::StoreResourceVersion, number));
        }
    }

    pub(crate) fn took(&self, histogram: Histogram, time: Duration) {
        self.tell(|metrics, of| metrics.observe(of, histogram, time.as_secs_f64()));
    }

    #[expect(clippy::cast_precision_loss, reason = "nobody counts to 2^53")]
    pub(crate) fn observe(&self, histogram: Histogram, what: u64) {
        self.tell(|metrics, of| metrics.observe(of, histogram, what as f64));
    }

    /// The one place that calls it: no lock of ours may be held.
    fn tell(&self, tell: impl FnOnce(&dyn Metrics, &InformerName<'_>)) {
        let Some(metrics) = &self.metrics else { return };
        let of = InformerName { name: &self.name, resource: &self.resource };
        // Relaxed: it only keeps the line from coming again.
        if contain(|| tell(&**metrics, &of)).is_none() && !self.told.swap(true, Ordering::Relaxed) {
            log::error!(target: "informer", "{}: the metrics panicked; what they miss is not told again", self.resource);
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        discard(self.metrics.take()); // its destructor is user code as every call of it
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").field("name", &self.name).field("on", &self.is_on()).finish_non_exhaustive()
    }
}

/// The last 15 digits of a version, as client-go shows it: so many fit into a float exactly.
fn version_number(version: &str) -> Option<f64> {
    if !version.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    version[version.len().saturating_sub(15)..].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn me_3_a_version_is_cut_to_what_a_float_can_hold() {
        assert_eq!(version_number("7"), Some(7.0));
        assert_eq!(version_number("9007199254740993"), Some(7_199_254_740_993.0));
        for none in ["", "a1", "1.5", "-1", "１"] {
            assert_eq!(version_number(none), None, "{none}");
        }
    }

    #[test]
    fn everything_has_a_name_and_a_help_of_its_own() {
        let counters = [
            Counter::Lists,
            Counter::Relists(ErrorKind::Gone),
            Counter::Watches,
            Counter::ShortWatches,
            Counter::Bytes,
            Counter::Events,
            Counter::Errors(ErrorKind::Gone),
            Counter::BadObjects,
            Counter::QueueFolded,
            Counter::HandlerFolded,
            Counter::HandlerPanics,
            Counter::HandlerPromotions,
        ];
        let gauges =
            [Gauge::QueuedItems, Gauge::HandlerBacklog, Gauge::StoreObjects, Gauge::StoreResourceVersion];
        let histograms = [
            Histogram::ListDuration,
            Histogram::ItemsPerList,
            Histogram::WatchDuration,
            Histogram::ItemsPerWatch,
            Histogram::ProcessingLatency,
        ];
        let mut names = Vec::new();
        names.extend(counters.map(|counter| (counter.name(), counter.help())));
        names.extend(gauges.map(|gauge| (gauge.name(), gauge.help())));
        names.extend(histograms.map(|histogram| (histogram.name(), histogram.help())));
        let count = names.len();
        names.sort_unstable();
        names.dedup_by_key(|(name, _)| *name);
        assert_eq!(names.len(), count);
        assert!(counters.iter().all(|counter| counter.name().ends_with("_total")));
        assert!(names.iter().all(|(_, help)| !help.is_empty() && !help.ends_with('.')));
        assert!(histograms.iter().all(|histogram| histogram.buckets().is_sorted()));
        assert_eq!(Counter::Relists(ErrorKind::Gone).label(), Some(("reason", "gone")));
    }
}
