//! The sinks of one list and of one watch: what the source reads on its way to the [`Target`].
//!
//! Invariant: an object is transformed exactly once, before anybody else sees it (R-59, I-62); a bad one stops no other
//! (D8).

mod pages;
mod stream;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::{NextStep, Report, Target};
use crate::contain::{contain, discard};
use crate::error::{Error, ErrorKind, Stage};
use crate::list_watch::BadObject;
use crate::meta::Object;

pub(super) use pages::{PageSink, Pages};
pub(super) use stream::{Stream, Why};

/// User code that may change an object before it is shared.
pub(crate) type Transform<T> = dyn Fn(&mut T) + Send + Sync;

/// What an object becomes on its way in.
enum Taken<T> {
    Object(Arc<T>),
    Bad(BadObject),
}

/// Transforms once, on the reader thread, before the object is shared (I-62).
fn take<T: Object>(mut object: T, transform: Option<&Transform<T>>) -> Taken<T> {
    let meta = object.meta();
    if meta.name.is_empty() {
        let error = Error::new(ErrorKind::Decode, "the object has no metadata.name").at(Stage::Decode);
        return Taken::Bad(BadObject {
            key: None,
            uid: String::new(),
            resource_version: String::new(),
            error,
        });
    }
    let Some(transform) = transform else { return Taken::Object(Arc::new(object)) };
    let (key, uid, version) = (meta.key(), meta.uid.to_owned(), meta.resource_version.to_owned());
    let ran = contain(|| transform(&mut object));
    let meta = object.meta();
    let kept = meta.key_ref() == key.as_ref() && meta.uid == uid && meta.resource_version == version;
    let error = match ran {
        Some(()) if kept => return Taken::Object(Arc::new(object)),
        Some(()) => Error::new(
            ErrorKind::Decode,
            format!(
                "the transform changed the namespace, name, uid or resourceVersion of {key}; it must leave them"
            ),
        ),
        None => Error::new(ErrorKind::Panic, format!("the transform panicked on {key}")),
    };
    // The half-transformed object may panic once more on its way out.
    discard(object);
    Taken::Bad(BadObject {
        key: Some(key),
        uid,
        resource_version: version,
        error: error.at(Stage::Transform),
    })
}

fn report_bad<T>(target: &mut dyn Target<T>, bad: &BadObject) {
    target.report(&Report { error: &bad.error, consecutive: 0, next_attempt: None, next: NextStep::GoOn });
}
