//! What the tests share: a source of `ConfigMap`s on a scripted server, and what it tells.

use std::time::Duration;

use informer_core::{ListEnd, ListRequest, ListWatch, Result, Stop, WatchEnd, WatchRequest};
use informer_http::{Client, HttpListWatch};
use informer_testkit::script::{Reply, WireObject, list, object};
use informer_testkit::{ScriptedServer, Transcript};
use k8s_openapi::api::core::v1::ConfigMap;

pub(crate) const LONG: Duration = Duration::from_secs(3600);

/// Lists and watches the `ConfigMap`s of the namespace `ns`.
pub(crate) fn source(server: &ScriptedServer) -> HttpListWatch<ConfigMap> {
    HttpListWatch::new(&Client::from_url(&server.url()).unwrap()).namespace("ns")
}

/// Lists, and answers with how that ended and what was told.
pub(crate) fn list_now(source: &HttpListWatch<ConfigMap>, stop: &Stop) -> (Result<ListEnd>, String) {
    let transcript = Transcript::new();
    let end = source.list(&ListRequest::default(), stop, &mut transcript.clone());
    (end, transcript.text())
}

/// Watches from version 5.
pub(crate) fn watch_into(
    transcript: &Transcript<ConfigMap>,
    source: &HttpListWatch<ConfigMap>,
    idle: Duration,
    stop: &Stop,
) -> Result<WatchEnd> {
    let request = WatchRequest {
        resource_version: "5".to_owned(),
        initial_events: false,
        timeout: Duration::from_secs(300),
        idle,
    };
    source.watch(&request, stop, &mut transcript.clone())
}

/// Watches, and answers with how that ended and what was told.
pub(crate) fn watch_now(source: &HttpListWatch<ConfigMap>, idle: Duration) -> (Result<WatchEnd>, String) {
    let transcript = Transcript::new();
    let end = watch_into(&transcript, source, idle, &Stop::new());
    (end, transcript.text())
}

/// The only object of most tests: `ns/a` at version 6.
pub(crate) fn a() -> WireObject {
    object("ns/a", "u", "6")
}

/// A list of version 7 with [`a`] in it.
pub(crate) fn a_list() -> Reply {
    list("7", &[a()])
}

/// The same as the bytes of its body.
pub(crate) const LIST: &str = r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a","namespace":"ns","resourceVersion":"6"}}]}"#;
