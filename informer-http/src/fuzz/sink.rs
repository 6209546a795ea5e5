//! [`Notes`]: a sink that writes down what it is told, one line each.

use std::marker::PhantomData;
use std::sync::Arc;

use informer_core::{BadObject, ChangeKind, Flow, KeyRef, ListSink, Representation, WatchSink};

/// What was told. It has nothing stored.
pub(super) struct Notes<T> {
    pub(super) told: Vec<String>,
    object: PhantomData<T>,
}

impl<T> Default for Notes<T> {
    fn default() -> Self {
        Notes { told: Vec::new(), object: PhantomData }
    }
}

impl<T: Representation> Notes<T> {
    fn object(&mut self, what: &str, object: &T) {
        let meta = object.meta();
        assert!(!meta.name.is_empty(), "an object without a name was told");
        self.told.push(format!("{what} {} {} {}", meta.key_ref(), meta.uid, meta.resource_version));
    }

    fn bad(&mut self, what: &str, bad: &BadObject) {
        super::plain(&bad.error);
        self.told.push(format!(
            "{what} {:?} {} {} {}",
            bad.key,
            bad.uid,
            bad.resource_version,
            bad.error.kind()
        ));
    }
}

impl<T: Representation> ListSink<T> for Notes<T> {
    fn have(&self, _: KeyRef<'_>, _: &str, _: &str) -> Option<Arc<T>> {
        None
    }

    fn may_have(&self) -> bool {
        false
    }

    fn item(&mut self, object: T) {
        self.object("item", &object);
    }

    fn unchanged(&mut self, _: Arc<T>) {}

    fn bad_item(&mut self, bad: BadObject) {
        self.bad("bad item", &bad);
    }
}

impl<T: Representation> WatchSink<T> for Notes<T> {
    fn have(&self, _: KeyRef<'_>, _: &str, _: &str) -> Option<Arc<T>> {
        None
    }

    fn may_have(&self) -> bool {
        false
    }

    fn opened(&mut self) {}

    fn change(&mut self, kind: ChangeKind, object: T) -> Flow {
        self.object(&format!("{kind:?}"), &object);
        Flow::Continue
    }

    fn unchanged(&mut self, _: Arc<T>) -> Flow {
        Flow::Continue
    }

    fn bad_change(&mut self, kind: ChangeKind, bad: BadObject) -> Flow {
        self.bad(&format!("bad {kind:?}"), &bad);
        Flow::Continue
    }

    fn bookmark(&mut self, resource_version: &str, initial_events_end: bool) -> Flow {
        self.told.push(format!("bookmark {resource_version:?} {initial_events_end}"));
        Flow::Continue
    }
}
