//! [`HttpListWatch`]: lists and watches one resource of an API server, as the reflector asks.
//!
//! Invariant: one request a call. What to ask next, and when, is the reflector's business.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use informer_core::kube_core::{ApiResource, Resource, TypeMeta};
use informer_core::{
    Clock, DecodeOptions, Error, ErrorKind, ListEnd, ListRequest, ListSink, ListWatch, Representation,
    Result, Stage, Stop, WatchEnd, WatchRequest, WatchSink,
};

use crate::client::{Call, Client, JSON, PATIENCE};
use crate::decode::DecodeSettings;
use crate::event::{WatchStream, read_watch};
use crate::path::{Collection, Query, Selection};
use crate::recording::{Recorded, Recording, Tape, Taped};
use crate::transport::{Body, Connections, Limits};

/// Metadata first, the whole object from servers that do not know better (DY-6, DY-7).
const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// Lists and watches one resource over HTTP; the source of an informer.
///
/// It has connections of its own, so stopping one informer disturbs no other.
///
/// ```
/// # fn main() -> informer_core::Result<()> {
/// use informer_http::{Client, HttpListWatch};
/// use k8s_openapi::api::core::v1::Pod;
///
/// let client = Client::from_url("http://127.0.0.1:8001")?;
/// let pods = HttpListWatch::<Pod>::new(&client).namespace("default").label_selector("app=web");
/// # Ok(())
/// # }
/// ```
pub struct HttpListWatch<T> {
    client: Client,
    connections: Connections,
    collection: Collection,
    selection: Selection,
    settings: DecodeSettings,
    compress_watches: bool,
    streaming: bool,
    list_silence: Duration,
    what: Texts,
    recorded: Option<Recorded>,
    object: PhantomData<fn() -> T>,
}

/// `list pods` and `watch pods`.
struct Texts {
    list: String,
    watch: String,
}

impl<T: Representation> HttpListWatch<T> {
    /// Lists and watches the resource of `T`, in all namespaces.
    #[must_use]
    pub fn new(client: &Client) -> Self
    where
        T::Resource: Resource<DynamicType = ()>,
    {
        Self::of(client, &ApiResource::erase::<T::Resource>(&()))
    }

    /// Lists and watches `resource`, in all namespaces: for kinds that are known only at run time.
    #[must_use]
    pub fn of(client: &Client, resource: &ApiResource) -> Self {
        let collection = Collection::new(resource, None);
        let name = collection.name();
        HttpListWatch {
            client: client.clone(),
            connections: client.informer_connections(),
            collection,
            selection: Selection::default(),
            settings: DecodeSettings { expected: expected::<T>(resource), ..DecodeSettings::default() },
            compress_watches: false,
            streaming: true,
            list_silence: PATIENCE,
            what: Texts { list: format!("list {name}"), watch: format!("watch {name}") },
            recorded: None,
            object: PhantomData,
        }
    }

    /// Only the objects of `namespace`; the empty one is all of them.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.collection.namespace = Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty());
        self
    }

    /// Only the objects with labels as `selector` says, in the server's syntax: `app=web,tier!=cache`.
    #[must_use]
    pub fn label_selector(mut self, selector: &str) -> Self {
        self.selection.labels = Some(selector.to_owned());
        self
    }

    /// Only the objects with fields as `selector` says: `spec.nodeName=node-1`. Few fields can be selected by.
    #[must_use]
    pub fn field_selector(mut self, selector: &str) -> Self {
        self.selection.fields = Some(selector.to_owned());
        self
    }

    /// A further parameter of the query of lists and watches, such as `shardSelector`.
    #[must_use]
    pub fn query(mut self, key: &str, value: &str) -> Self {
        self.selection.further.push((key.to_owned(), value.to_owned()));
        self
    }

    /// What is kept of an object.
    #[must_use]
    pub fn decode(mut self, options: DecodeOptions) -> Self {
        self.settings.options = options;
        self
    }

    /// The largest object and the largest event that are read, in bytes; 32 MiB by default (D11).
    #[must_use]
    pub fn max_frame(mut self, bytes: usize) -> Self {
        self.settings.max_frame = bytes;
        self
    }

    /// Lets the server compress watches: less traffic for more work, and events that may come in bunches.
    #[must_use]
    pub fn compress_watches(mut self, compress: bool) -> Self {
        self.compress_watches = compress;
        self
    }

    /// Whether streaming lists are tried; they are by default.
    #[must_use]
    pub fn streaming(mut self, streaming: bool) -> Self {
        self.streaming = streaming;
        self
    }

    /// How long the head of a list, and then each silence within its body, may last before the connection is given up;
    /// 30 s by default (D7). It is no limit on the whole list. For watches the informer has limits of its own.
    #[must_use]
    pub fn list_silence(mut self, limit: Duration) -> Self {
        self.list_silence = limit;
        self
    }

    /// Everything that is read from now on is recorded too.
    #[must_use]
    pub fn record(mut self, recording: &Recording) -> Self {
        self.recorded = Some(recording.source(self.collection.name()));
        self
    }

    fn accept(metadata: &'static str) -> &'static str {
        if <T::Resource as Resource>::metadata_api() { metadata } else { JSON }
    }

    fn watch_call<'a>(&'a self, target: &'a str, request: &WatchRequest) -> Call<'a> {
        Call {
            accept: Self::accept(METADATA),
            compressed: self.compress_watches,
            // A proxy may hold the head back until the first event (F-06), so both have the one limit (D7).
            limits: Limits::stream(request.idle),
            ..Call::get(&self.what.watch, target)
        }
    }

    /// The body of a watch, for those who read it themselves.
    ///
    /// # Errors
    /// As [`watch`](ListWatch::watch); silence before the head is one here.
    pub(crate) fn open_watch(&self, request: &WatchRequest, stop: &Stop) -> Result<Body> {
        let target = Query::watch(request, &self.selection).after(self.collection.path());
        self.client.send(&self.connections, &self.watch_call(&target, request), stop)
    }

    pub(crate) fn watch_stream(&self) -> WatchStream {
        WatchStream::new(&self.settings)
    }

    pub(crate) fn settings(&self) -> &DecodeSettings {
        &self.settings
    }

    pub(crate) fn collection_name(&self) -> String {
        self.collection.name()
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        self.client.clock()
    }

    /// An error of the watch's stream, with its name.
    pub(crate) fn of_watch(&self, error: Error) -> Error {
        error.context(&self.what.watch).at(Stage::Watch)
    }
}

impl<T> HttpListWatch<T> {
    /// Sends `call`, and tells the tape how that went.
    fn open<'a>(
        &self,
        call: &Call<'_>,
        tape: Option<Tape<'a>>,
        stop: &Stop,
    ) -> Result<(Body, Option<Tape<'a>>)> {
        match self.client.send(&self.connections, call, stop) {
            Ok(body) => {
                tape.iter().for_each(Tape::opened);
                Ok((body, tape))
            }
            Err(error) => {
                if let Some(tape) = tape {
                    tape.failed(&error);
                }
                Err(error)
            }
        }
    }
}

/// What objects must say they are. A server may answer a request for metadata with whole objects (DY-7).
pub(crate) fn expected<T: Representation>(resource: &ApiResource) -> Option<TypeMeta> {
    let whole = !<T::Resource as Resource>::metadata_api();
    whole.then(|| TypeMeta { api_version: resource.api_version.clone(), kind: resource.kind.clone() })
}

impl<T: Representation> ListWatch<T> for HttpListWatch<T> {
    fn list(&self, request: &ListRequest, stop: &Stop, sink: &mut dyn ListSink<T>) -> Result<ListEnd> {
        let target = Query::list(request, &self.selection).after(self.collection.path());
        let call = Call {
            accept: Self::accept(METADATA_LIST),
            compressed: self.client.compress_lists(),
            limits: Limits::document(self.list_silence),
            ..Call::get(&self.what.list, &target)
        };
        let at = |error: Error| error.at(Stage::List);
        let tape = self.recorded.as_ref().map(|recorded| recorded.list(request));
        let (mut body, tape) = self.open(&call, tape, stop).map_err(at)?;
        let end = crate::list::read_list(&mut Taped { body: &mut body, tape }, &self.settings, sink)
            .map_err(|error| if error.is_stopped() { error } else { error.context(&self.what.list) })
            .map_err(at)?;
        body.finish();
        Ok(end)
    }

    fn watch(&self, request: &WatchRequest, stop: &Stop, sink: &mut dyn WatchSink<T>) -> Result<WatchEnd> {
        let target = Query::watch(request, &self.selection).after(self.collection.path());
        let call = self.watch_call(&target, request);
        let tape = self.recorded.as_ref().map(|recorded| recorded.watch(request));
        let (mut body, tape) = match self.open(&call, tape, stop) {
            Ok(opened) => opened,
            Err(error) if error.kind() == ErrorKind::Silent => return Ok(WatchEnd::Silent),
            Err(error) => return Err(error.at(Stage::WatchOpen)),
        };
        sink.opened();
        read_watch(&mut Taped { body: &mut body, tape }, &self.settings, sink)
            .map_err(|error| if error.is_stopped() { error.at(Stage::Watch) } else { self.of_watch(error) })
    }

    fn name(&self) -> String {
        self.collection.name()
    }

    fn can_stream(&self) -> bool {
        self.streaming
    }
}

impl<T> fmt::Debug for HttpListWatch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpListWatch")
            .field("client", &self.client)
            .field("collection", &self.collection)
            .field("selection", &self.selection)
            .finish_non_exhaustive()
    }
}
