//! Sinks that keep what they are told.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use informer_core::{
    BadObject, ChangeKind, Flow, KeyRef, ListEnd, ListRequest, ListSink, ListWatch, Object, Result, Stop,
    WatchEnd, WatchRequest, WatchSink,
};
use informer_http::{Client, HttpListWatch};
use k8s_openapi::api::core::v1::ConfigMap;

/// The names of items and changes, in order; tells `told` of each step.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) names: Vec<String>,
    pub(crate) told: Option<Sender<&'static str>>,
}

impl Kept {
    fn keep(&mut self, object: &ConfigMap) {
        self.names.push(object.meta().name.to_owned());
        if let Some(told) = &self.told {
            told.send("object").unwrap();
        }
    }
}

impl ListSink<ConfigMap> for Kept {
    fn have(&self, _: KeyRef<'_>, _: &str, _: &str) -> Option<Arc<ConfigMap>> {
        None
    }

    fn may_have(&self) -> bool {
        false
    }

    fn item(&mut self, object: ConfigMap) {
        self.keep(&object);
    }

    fn unchanged(&mut self, object: Arc<ConfigMap>) {
        self.keep(&object);
    }

    fn bad_item(&mut self, bad: BadObject) {
        panic!("{bad:?}");
    }
}

impl WatchSink<ConfigMap> for Kept {
    fn have(&self, _: KeyRef<'_>, _: &str, _: &str) -> Option<Arc<ConfigMap>> {
        None
    }

    fn may_have(&self) -> bool {
        false
    }

    fn opened(&mut self) {
        if let Some(told) = &self.told {
            told.send("opened").unwrap();
        }
    }

    fn change(&mut self, _: ChangeKind, object: ConfigMap) -> Flow {
        self.keep(&object);
        Flow::Continue
    }

    fn unchanged(&mut self, object: Arc<ConfigMap>) -> Flow {
        self.keep(&object);
        Flow::Continue
    }

    fn bad_change(&mut self, _: ChangeKind, bad: BadObject) -> Flow {
        panic!("{bad:?}");
    }

    fn bookmark(&mut self, _: &str, _: bool) -> Flow {
        Flow::Continue
    }
}

pub(crate) fn source(url: &str) -> HttpListWatch<ConfigMap> {
    HttpListWatch::new(&Client::from_url(url).unwrap()).namespace("ns")
}

pub(crate) fn list(source: &HttpListWatch<ConfigMap>, stop: &Stop) -> (Result<ListEnd>, Vec<String>) {
    let mut kept = Kept::default();
    let end = source.list(&ListRequest::default(), stop, &mut kept);
    (end, kept.names)
}

pub(crate) fn watch(
    source: &HttpListWatch<ConfigMap>,
    idle: Duration,
    kept: &mut Kept,
    stop: &Stop,
) -> Result<WatchEnd> {
    let request = WatchRequest {
        resource_version: "5".to_owned(),
        initial_events: false,
        timeout: Duration::from_secs(300),
        idle,
    };
    source.watch(&request, stop, kept)
}

pub(crate) const LIST: &str = r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a","namespace":"ns"}}]}"#;
pub(crate) const ADDED: &str = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"resourceVersion\":\"6\"}}}\n";
