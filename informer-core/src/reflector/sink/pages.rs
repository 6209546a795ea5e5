//! [`PageSink`]: takes in a list page by page; [`Pages`] is what has come so far.

use std::sync::Arc;

use super::{Taken, Transform, report_bad, take};
use crate::contain::discard_all;
use crate::key::{KeyRef, ObjectKey};
use crate::list_watch::{BadObject, ListSink};
use crate::meta::Object;
use crate::reflector::{Heard, Listed, Target};

/// Collects the pages of one list.
pub(in crate::reflector) struct Pages<T> {
    items: Vec<Arc<T>>,
    unreadable: Vec<(ObjectKey, String, String)>,
    identified: bool,
    /// How many items there were before the page under way.
    before: (usize, usize),
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Pages { items: Vec::new(), unreadable: Vec::new(), identified: true, before: (0, 0) }
    }
}

impl<T: Object> Pages<T> {
    pub(in crate::reflector) fn identified(&self) -> bool {
        self.identified
    }

    /// A page begins.
    pub(in crate::reflector) fn begin_page(&mut self) {
        self.before = (self.items.len(), self.unreadable.len());
    }

    /// How many items the page had, without those whose key cannot be read, and the key of the first one.
    pub(in crate::reflector) fn page(&self) -> (usize, Option<KeyRef<'_>>) {
        let (items, unreadable) = self.before;
        let (items, unreadable) = (&self.items[items..], &self.unreadable[unreadable..]);
        let first = items.first().map(|item| item.meta().key_ref());
        (items.len() + unreadable.len(), first.or_else(|| unreadable.first().map(|(key, ..)| key.as_ref())))
    }

    pub(in crate::reflector) fn into_list(
        mut self,
        version: String,
        lowered: bool,
        initial: bool,
    ) -> Listed<T> {
        Listed {
            items: std::mem::take(&mut self.items),
            unreadable: std::mem::take(&mut self.unreadable),
            complete: self.identified,
            version,
            lowered,
            initial,
        }
    }

    fn bad(&mut self, bad: BadObject, target: &mut dyn Target<T>) {
        report_bad(target, &bad);
        match bad.key {
            Some(key) => self.unreadable.push((key, bad.uid, bad.resource_version)),
            None => self.identified = false,
        }
    }
}

/// Of a list that came to nothing, object by object: of several destructors that panic, each is caught.
impl<T> Drop for Pages<T> {
    fn drop(&mut self) {
        discard_all(std::mem::take(&mut self.items));
    }
}

/// The sink of one page.
pub(in crate::reflector) struct PageSink<'a, T> {
    pub(in crate::reflector) pages: &'a mut Pages<T>,
    pub(in crate::reflector) target: &'a mut dyn Target<T>,
    pub(in crate::reflector) transform: Option<&'a Transform<T>>,
}

impl<T: Object> ListSink<T> for PageSink<'_, T> {
    fn have(&self, key: KeyRef<'_>, uid: &str, resource_version: &str) -> Option<Arc<T>> {
        self.target.have(key, uid, resource_version)
    }

    fn may_have(&self) -> bool {
        self.target.may_have()
    }

    fn item(&mut self, object: T) {
        match take(object, self.transform) {
            Taken::Object(object) => self.pages.items.push(object),
            Taken::Bad(bad) => self.pages.bad(bad, self.target),
        }
    }

    fn unchanged(&mut self, object: Arc<T>) {
        self.pages.items.push(object);
    }

    fn bad_item(&mut self, bad: BadObject) {
        self.pages.bad(bad, self.target);
    }

    fn received(&mut self, bytes: u64) {
        self.target.heard(Heard::Bytes(bytes));
    }
}
