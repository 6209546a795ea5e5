//! [`InformerOptions`]: what may be chosen for one informer of a factory.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informer_core::{Object, Report};
use informer_http::Recording;

type Transform<T> = dyn Fn(&mut T) + Send + Sync;
type ErrorHook = dyn Fn(&Report<'_>) + Send + Sync;

/// Options of one informer.
///
/// Namespace and selectors decide *which* informer it is: different ones are different informers, each with its own
/// watch. The rest decides how it works; whoever shares an informer must ask for the same, or for nothing.
pub struct InformerOptions<T> {
    pub(crate) namespace: Option<String>,
    pub(crate) labels: Option<String>,
    pub(crate) fields: Option<String>,
    pub(crate) transform: Option<Arc<Transform<T>>>,
    pub(crate) on_error: Option<Arc<ErrorHook>>,
    pub(crate) keep_managed_fields: Option<bool>,
    pub(crate) page_size: Option<u32>,
    pub(crate) streaming: Option<bool>,
    pub(crate) consistent_start: Option<bool>,
    pub(crate) resync: Option<Duration>,
    pub(crate) queue_limit: Option<usize>,
    pub(crate) max_frame: Option<usize>,
    pub(crate) compress_watches: Option<bool>,
    pub(crate) recording: Option<Recording>,
}

impl<T: Object> InformerOptions<T> {
    /// Only this namespace; the empty one is all of them. Kinds without namespaces ignore it.
    pub fn namespace(&mut self, namespace: impl Into<String>) -> &mut Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only objects with these labels: `app=web,tier!=cache`.
    ///
    /// The text goes to the server as it is, as with `kubectl -l`: the server is the judge of what it takes, and an
    /// informer whose selector it refuses says so in `status()` and at its error hook. To hear of a mistake at once, give
    /// a parsed one: `options.label_selector(Selector::parse(text)?)`.
    pub fn label_selector(&mut self, selector: impl Into<String>) -> &mut Self {
        self.labels = Some(selector.into());
        self
    }

    /// Only objects with these fields: `spec.nodeName=node-1`.
    pub fn field_selector(&mut self, selector: impl Into<String>) -> &mut Self {
        self.fields = Some(selector.into());
        self
    }

    /// Changes every object once before anybody sees it; see
    /// [`InformerBuilder::transform`](informer_core::InformerBuilder::transform). Two closures are never equal: give
    /// the transform in one place, [`configure`](crate::SharedInformerFactory::configure) say.
    pub fn transform(&mut self, transform: impl Fn(&mut T) + Send + Sync + 'static) -> &mut Self {
        self.transform = Some(Arc::new(transform));
        self
    }

    /// Is told everything that goes wrong with the source; see
    /// [`InformerBuilder::on_error`](informer_core::InformerBuilder::on_error).
    pub fn on_error(&mut self, hook: impl Fn(&Report<'_>) + Send + Sync + 'static) -> &mut Self {
        self.on_error = Some(Arc::new(hook));
        self
    }

    /// Whether `metadata.managedFields` is kept; it is not by default (D9).
    pub fn keep_managed_fields(&mut self, keep: bool) -> &mut Self {
        self.keep_managed_fields = Some(keep);
        self
    }

    /// `limit` of every list.
    pub fn page_size(&mut self, size: u32) -> &mut Self {
        self.page_size = Some(size);
        self
    }

    /// Whether streaming lists are tried first; they are by default.
    pub fn streaming(&mut self, streaming: bool) -> &mut Self {
        self.streaming = Some(streaming);
        self
    }

    /// Whether the first list asks for the most recent state; see
    /// [`InformerBuilder::consistent_start`](informer_core::InformerBuilder::consistent_start).
    pub fn consistent_start(&mut self, consistent: bool) -> &mut Self {
        self.consistent_start = Some(consistent);
        self
    }

    /// The resync period of handlers that choose none.
    pub fn resync(&mut self, period: Duration) -> &mut Self {
        self.resync = Some(period);
        self
    }

    /// How many entries a queue holds before it folds (D2).
    pub fn queue_limit(&mut self, limit: usize) -> &mut Self {
        self.queue_limit = Some(limit);
        self
    }

    /// The largest object that is read, in bytes; 32 MiB by default (D11).
    pub fn max_frame(&mut self, bytes: usize) -> &mut Self {
        self.max_frame = Some(bytes);
        self
    }

    /// Whether the server may compress watches.
    pub fn compress_watches(&mut self, compress: bool) -> &mut Self {
        self.compress_watches = Some(compress);
        self
    }

    /// Everything that the informer reads is recorded, so that a failure can be played again.
    pub fn record(&mut self, recording: &Recording) -> &mut Self {
        self.recording = Some(recording.clone());
        self
    }
}

impl<T> InformerOptions<T> {
    /// What of `wanted` contradicts these, in words; `None` if it fits.
    pub(crate) fn conflict(&self, wanted: &Self) -> Option<&'static str> {
        fn differ<V: PartialEq>(have: Option<&V>, want: Option<&V>) -> bool {
            want.is_some() && have != want
        }
        fn other<V: ?Sized>(have: Option<&Arc<V>>, want: Option<&Arc<V>>) -> bool {
            match (have, want) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(have), Some(want)) => !Arc::ptr_eq(have, want),
            }
        }
        let checks = [
            (other(self.transform.as_ref(), wanted.transform.as_ref()), "transform"),
            (other(self.on_error.as_ref(), wanted.on_error.as_ref()), "on_error"),
            (
                differ(self.keep_managed_fields.as_ref(), wanted.keep_managed_fields.as_ref()),
                "keep_managed_fields",
            ),
            (differ(self.page_size.as_ref(), wanted.page_size.as_ref()), "page_size"),
            (differ(self.streaming.as_ref(), wanted.streaming.as_ref()), "streaming"),
            (differ(self.consistent_start.as_ref(), wanted.consistent_start.as_ref()), "consistent_start"),
            (differ(self.resync.as_ref(), wanted.resync.as_ref()), "resync"),
            (differ(self.queue_limit.as_ref(), wanted.queue_limit.as_ref()), "queue_limit"),
            (differ(self.max_frame.as_ref(), wanted.max_frame.as_ref()), "max_frame"),
            (differ(self.compress_watches.as_ref(), wanted.compress_watches.as_ref()), "compress_watches"),
            (
                wanted
                    .recording
                    .as_ref()
                    .is_some_and(|wanted| !self.recording.as_ref().is_some_and(|have| have.is_same(wanted))),
                "recording",
            ),
        ];
        checks.into_iter().find_map(|(wrong, name)| wrong.then_some(name))
    }
}

impl<T> Default for InformerOptions<T> {
    fn default() -> Self {
        InformerOptions {
            namespace: None,
            labels: None,
            fields: None,
            transform: None,
            on_error: None,
            keep_managed_fields: None,
            page_size: None,
            streaming: None,
            consistent_start: None,
            resync: None,
            queue_limit: None,
            max_frame: None,
            compress_watches: None,
            recording: None,
        }
    }
}

impl<T> Clone for InformerOptions<T> {
    fn clone(&self) -> Self {
        InformerOptions {
            namespace: self.namespace.clone(),
            labels: self.labels.clone(),
            fields: self.fields.clone(),
            transform: self.transform.clone(),
            on_error: self.on_error.clone(),
            keep_managed_fields: self.keep_managed_fields,
            page_size: self.page_size,
            streaming: self.streaming,
            consistent_start: self.consistent_start,
            resync: self.resync,
            queue_limit: self.queue_limit,
            max_frame: self.max_frame,
            compress_watches: self.compress_watches,
            recording: self.recording.clone(),
        }
    }
}

impl<T> fmt::Debug for InformerOptions<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerOptions")
            .field("namespace", &self.namespace)
            .field("labels", &self.labels)
            .field("fields", &self.fields)
            .field("page_size", &self.page_size)
            .field("streaming", &self.streaming)
            .field("resync", &self.resync)
            .finish_non_exhaustive()
    }
}
