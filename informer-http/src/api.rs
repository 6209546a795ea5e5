//! [`Api`]: get, list and write the objects of one resource.
//!
//! Invariant: every call is one request, but for a list of all pages, a watch, and for what the server asks to repeat; a
//! write is never repeated because its outcome is unknown.

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use informer_core::kube_core::params::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, VersionMatch, WatchParams,
};
use informer_core::kube_core::{ApiResource, DynamicObject, ObjectList, Request, Resource, request};
use informer_core::{DecodeOptions, Error, ErrorKind, Representation, Result, Stage, Stop, decode_error};
use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::{HeaderValue, header};

use crate::client::{Call, Client, JSON};
use crate::document::LIST;
use crate::list_watch::HttpListWatch;
use crate::path::{Collection, Query, segment};
use crate::watch::Watch;

/// Pages without an object in a row before a list counts as one without an end; an informer's reflector has the same.
const EMPTY_PAGES: u32 = 100;

/// The objects of one resource, in one namespace or in all.
///
/// Everything blocks until the server has answered. Parameters are kube-core's.
///
/// A server that is busy may answer 429, or 5xx, and ask to wait (`Retry-After`, or `retryAfterSeconds` of its
/// `Status`). Then the call waits and asks again, up to ten times and for a minute in all; a write only after 429,
/// which says that nothing was done. Without such a request, and for a longer wait, the answer is the call's error,
/// with [`retry_after`](Error::retry_after). [`stopped_by`](Api::stopped_by) ends a wait.
///
/// ```no_run
/// # fn main() -> informer_core::Result<()> {
/// use informer_http::{Api, Client};
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let client = Client::from_url("http://127.0.0.1:8001")?;
/// let config_maps = Api::<ConfigMap>::namespaced(&client, "default");
/// let map = config_maps.get("settings")?;
/// println!("{:?}", map.data);
/// # Ok(())
/// # }
/// ```
pub struct Api<K> {
    client: Client,
    resource: ApiResource,
    collection: Collection,
    stop: Stop,
    object: PhantomData<fn() -> K>,
}

impl<K> Clone for Api<K> {
    fn clone(&self) -> Self {
        Api {
            client: self.client.clone(),
            resource: self.resource.clone(),
            collection: self.collection.clone(),
            stop: self.stop.clone(),
            object: PhantomData,
        }
    }
}

impl<K: Resource<DynamicType = ()>> Api<K> {
    /// The objects of all namespaces, or of the cluster.
    #[must_use]
    pub fn all(client: &Client) -> Self {
        Api::of(client, &ApiResource::erase::<K>(&()), None)
    }

    /// The objects of `namespace`.
    #[must_use]
    pub fn namespaced(client: &Client, namespace: &str) -> Self {
        Api::of(client, &ApiResource::erase::<K>(&()), Some(namespace))
    }
}

impl Api<DynamicObject> {
    /// The objects of `resource`, of a kind known only at run time; without a namespace those of all namespaces.
    #[must_use]
    pub fn dynamic(client: &Client, resource: &ApiResource, namespace: Option<&str>) -> Self {
        Api::of(client, resource, namespace)
    }
}

impl<K> Api<K> {
    fn of(client: &Client, resource: &ApiResource, namespace: Option<&str>) -> Self {
        Api {
            client: client.clone(),
            resource: resource.clone(),
            collection: Collection::new(resource, namespace),
            stop: Stop::new(),
            object: PhantomData,
        }
    }

    /// The same, with every call ended by `stop`.
    #[must_use]
    pub fn stopped_by(mut self, stop: &Stop) -> Self {
        self.stop = stop.clone();
        self
    }

    fn what(&self, verb: &str, name: &str) -> String {
        match name {
            "" => format!("{verb} {}", self.collection.name()),
            name => format!("{verb} {} {name:?}", self.collection.name()),
        }
    }

    fn fetch<T: DeserializeOwned>(&self, call: &Call<'_>) -> Result<T> {
        self.client.fetch(call, &self.stop).map_err(|error| error.at(Stage::Request))
    }

    /// Carries out a request as kube-core builds it.
    fn write<T: DeserializeOwned>(&self, what: &str, built: Built) -> Result<T> {
        let wrong = |error: request::Error| {
            Error::new(ErrorKind::Config, format!("{what}: {error}")).with_source(error).at(Stage::Request)
        };
        let (head, body) = built.map_err(wrong)?.into_parts();
        // kube-core leaves a `?` before nothing, and a `&` before the first parameter.
        let target = head.uri.to_string().replace("?&", "?");
        let kind = head.headers.get(header::CONTENT_TYPE).cloned();
        let kind = kind.unwrap_or_else(|| HeaderValue::from_static(JSON));
        let body = (!body.is_empty()).then_some((kind, body));
        let call = Call { method: head.method, body, ..Call::get(what, target.trim_end_matches('?')) };
        self.fetch(&call)
    }

    fn builder(&self) -> Request {
        Request::new(self.collection.path())
    }
}

type Built = std::result::Result<ureq::http::Request<Vec<u8>>, request::Error>;

/// The JSON of an object to be written.
fn json(what: &str, object: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(object).map_err(|error| {
        let text = format!("{what}: the object cannot be written as JSON: {error}");
        Error::new(ErrorKind::Config, text).with_source(error).at(Stage::Request)
    })
}

/// An empty name would make a request about all objects out of one about one.
fn named(what: &str, name: &str) -> Result<()> {
    if name.is_empty() {
        let text = format!("{what}: the name is empty");
        return Err(Error::new(ErrorKind::Config, text).at(Stage::Request));
    }
    Ok(())
}

impl<K: Clone + DeserializeOwned> Api<K> {
    /// The object `name`.
    ///
    /// # Errors
    /// [`is_not_found`](Error::is_not_found) when there is none; else as the server or the network says.
    pub fn get(&self, name: &str) -> Result<K> {
        let what = self.what("get", name);
        named(&what, name)?;
        self.fetch(&Call::get(&what, &self.collection.object_path(name, None)))
    }

    /// One page of objects; `params.limit` says how large, and `metadata.continue` of the answer how to go on.
    ///
    /// # Errors
    /// As the server or the network says; [`is_gone`](Error::is_gone) for a continue token that has expired;
    /// [`ErrorKind::FrameTooLarge`] for a page of more than 1 GiB.
    pub fn list(&self, params: &ListParams) -> Result<ObjectList<K>> {
        let mut query = Query::default();
        query.push_some("resourceVersion", params.resource_version.as_deref().unwrap_or_default());
        match params.version_match {
            Some(VersionMatch::NotOlderThan) => query.push("resourceVersionMatch", "NotOlderThan"),
            Some(VersionMatch::Exact) => query.push("resourceVersionMatch", "Exact"),
            None => {}
        }
        if let Some(limit) = params.limit {
            query.push("limit", &limit.to_string());
        }
        query.push_some("continue", params.continue_token.as_deref().unwrap_or_default());
        query.push_some("labelSelector", params.label_selector.as_deref().unwrap_or_default());
        query.push_some("fieldSelector", params.field_selector.as_deref().unwrap_or_default());
        let (what, target) = (self.what("list", ""), query.after(self.collection.path()));
        let compressed = self.client.compress_lists();
        self.fetch(&Call { compressed, bound: LIST, ..Call::get(&what, &target) })
    }

    /// All objects, page by page where `params.limit` says how large a page is.
    ///
    /// # Errors
    /// As [`list`](Api::list); [`ErrorKind::Decode`] for a list that would never end: a continue token that came before,
    /// or a hundred pages in a row without an object.
    pub fn list_all(&self, params: &ListParams) -> Result<Vec<K>> {
        let mut params = params.clone();
        let mut objects = Vec::new();
        let (mut tokens, mut empty) = (HashSet::new(), 0);
        loop {
            let page = self.list(&params)?;
            empty = if page.items.is_empty() { empty + 1 } else { 0 };
            objects.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => {
                    let endless = if !tokens.insert(token.clone()) {
                        "the server answered the same continue token twice"
                    } else if empty >= EMPTY_PAGES {
                        "the server answered 100 pages in a row without an object"
                    } else {
                        ""
                    };
                    if !endless.is_empty() {
                        let text = format!("{}: {endless}; the list would never end", self.what("list", ""));
                        return Err(Error::new(ErrorKind::Decode, text).at(Stage::Request));
                    }
                    params.continue_token = Some(token);
                    // The token says which version it continues; the server refuses both.
                    params.resource_version = None;
                    params.version_match = None;
                }
                None => return Ok(objects),
            }
        }
    }

    /// Creates `object` and answers with it as stored.
    ///
    /// # Errors
    /// [`is_already_exists`](Error::is_already_exists), [`is_invalid`](Error::is_invalid); else as the server or
    /// the network says.
    pub fn create(&self, params: &PostParams, object: &K) -> Result<K>
    where
        K: Serialize,
    {
        let what = self.what("create", "");
        self.write(&what, self.builder().create(params, json(&what, object)?))
    }

    /// Replaces the object `name`, if it still has the version that `object` names, and answers with it as stored.
    ///
    /// # Errors
    /// [`is_conflict`](Error::is_conflict) when it has been changed since; else as the server or the network says.
    pub fn replace(&self, name: &str, params: &PostParams, object: &K) -> Result<K>
    where
        K: Serialize,
    {
        let what = self.what("replace", name);
        self.write(&what, self.builder().replace(&segment(name), params, json(&what, object)?))
    }

    /// Patches the object `name`: merge, JSON, strategic, or server-side apply, and answers with it as stored.
    ///
    /// # Errors
    /// [`is_conflict`](Error::is_conflict) for an apply of another manager's fields; else as the server or the
    /// network says.
    pub fn patch<P: Serialize>(&self, name: &str, params: &PatchParams, patch: &Patch<P>) -> Result<K> {
        let what = self.what("patch", name);
        self.write(&what, self.builder().patch(&segment(name), params, patch))
    }

    /// Replaces the status of the object `name`.
    ///
    /// # Errors
    /// As [`replace`](Api::replace).
    pub fn replace_status(&self, name: &str, params: &PostParams, object: &K) -> Result<K>
    where
        K: Serialize,
    {
        let what = self.what("replace the status of", name);
        self.write(
            &what,
            self.builder().replace_subresource("status", &segment(name), params, json(&what, object)?),
        )
    }

    /// Patches the status of the object `name`.
    ///
    /// # Errors
    /// As [`patch`](Api::patch).
    pub fn patch_status<P: Serialize>(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<K> {
        let what = self.what("patch the status of", name);
        self.write(&what, self.builder().patch_subresource("status", &segment(name), params, patch))
    }

    /// Deletes the object `name`, under `params.preconditions` only if it is the one meant.
    ///
    /// Answers with the object where the server sends it: usually while it lingers because of a finalizer or a
    /// grace period.
    ///
    /// # Errors
    /// [`is_conflict`](Error::is_conflict) when a precondition does not hold; else as the server or the network
    /// says.
    pub fn delete(&self, name: &str, params: &DeleteParams) -> Result<Option<K>> {
        let what = self.what("delete", name);
        let answer: serde_json::Value = self.write(&what, self.builder().delete(&segment(name), params))?;
        if answer.get("kind").and_then(serde_json::Value::as_str) == Some("Status") {
            return Ok(None);
        }
        // The answer may be a Secret: what serde says of it is not repeated.
        serde_json::from_value(answer).map(Some).map_err(|error| {
            decode_error("the answer, which is no Status,", &error).context(what).at(Stage::Request)
        })
    }

    /// Deletes the objects that the selectors of `selection` match.
    ///
    /// # Errors
    /// As the server or the network says.
    pub fn delete_collection(&self, params: &DeleteParams, selection: &ListParams) -> Result<()> {
        let what = self.what("delete all", "");
        let built = self.builder().delete_collection(params, selection);
        self.write::<serde::de::IgnoredAny>(&what, built).map(|_| ())
    }
}

impl<K: Representation> Api<K> {
    /// The changes after `version`, the `resourceVersion` of a list or an object, one after the other.
    ///
    /// Objects are as the server sends them, `managedFields` included. Of `params` the selectors and the time-out of a request (300 s if there is none) count; bookmarks are always
    /// asked for.
    ///
    /// ```no_run
    /// # fn main() -> informer_core::Result<()> {
    /// use informer_core::kube_core::params::{ListParams, WatchParams};
    /// use informer_http::{Api, Client};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// let api = Api::<ConfigMap>::namespaced(&Client::try_default()?, "default");
    /// let version = api.list(&ListParams::default())?.metadata.resource_version.unwrap_or_default();
    /// for event in api.watch(&WatchParams::default(), &version)? {
    ///     let event = event?;
    ///     println!("{:?} {:?}", event.kind, event.object.metadata.name);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Config`] if `version` is empty or `0`, from where changes cannot be followed without a gap, or if
    /// `params` ask for initial events, which an informer asks for. What may come later: [`Watch`].
    pub fn watch(&self, params: &WatchParams, version: &str) -> Result<Watch<K>> {
        if params.send_initial_events {
            let text = format!(
                "{}: send_initial_events is set; list first, or use an informer",
                self.what("watch", "")
            );
            return Err(Error::new(ErrorKind::Config, text).at(Stage::WatchOpen));
        }
        let mut source = self.list_watch().decode(DecodeOptions::default().keep_managed_fields(true));
        if let Some(selector) = &params.label_selector {
            source = source.label_selector(selector);
        }
        if let Some(selector) = &params.field_selector {
            source = source.field_selector(selector);
        }
        let timeout = params.timeout.map(|seconds| Duration::from_secs(seconds.into()));
        Watch::new(source, version, timeout, &self.stop)
    }

    /// The same objects as the source of an informer.
    #[must_use]
    pub fn list_watch(&self) -> HttpListWatch<K> {
        let source = HttpListWatch::of(&self.client, &self.resource);
        match &self.collection.namespace {
            Some(namespace) => source.namespace(namespace),
            None => source,
        }
    }
}

impl<K> fmt::Debug for Api<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api")
            .field("client", &self.client)
            .field("collection", &self.collection)
            .finish_non_exhaustive()
    }
}
