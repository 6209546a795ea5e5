//! What the unit tests of this crate share: the smallest object there can be, written as `a/u1@10`, and the contract
//! of handlers.
//!
//! The test kit has the same for other crates; inside this one its types belong to another crate of the same name.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::Event;
use crate::key::ObjectKey;
use crate::meta::{Labels, MetaView, Object, other_uid};

/// Name, UID and version; nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) version: String,
}

impl Object for Item {
    fn meta(&self) -> MetaView<'_> {
        MetaView {
            namespace: &self.namespace,
            name: &self.name,
            uid: &self.uid,
            resource_version: &self.version,
            labels: Labels::from_map(None),
        }
    }
}

/// The object written `name/uid@version` or `namespace:name/uid@version`; any part may be empty.
pub(crate) fn item(text: &str) -> Arc<Item> {
    let (key, rest) = text.split_once('/').unwrap_or((text, ""));
    let (uid, version) = rest.split_once('@').unwrap_or((rest, ""));
    let (namespace, name) = key.split_once(':').unwrap_or(("", key));
    let own = str::to_owned;
    Arc::new(Item { namespace: own(namespace), name: own(name), uid: own(uid), version: own(version) })
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::new("", name)
}

/// Events as text, one after another.
pub(crate) fn trace<'a>(events: impl IntoIterator<Item = &'a Event<Item>>) -> String {
    events.into_iter().map(|event| format!("{event:?}")).collect::<Vec<_>>().join(", ")
}

/// What a handler knows: name to UID and version.
pub(crate) type Known = BTreeMap<String, (String, String)>;

pub(crate) fn known<'a>(objects: impl IntoIterator<Item = &'a Arc<Item>>) -> Known {
    objects.into_iter().map(|item| (item.name.clone(), (item.uid.clone(), item.version.clone()))).collect()
}

/// Tells `known` of an event, which must keep the contract.
#[track_caller]
pub(crate) fn tell(known: &mut Known, event: &Event<Item>) {
    let state = |item: &Item| (item.uid.clone(), item.version.clone());
    let name = &event.object().name;
    let before = known.get(name).cloned();
    match (event, before) {
        (Event::Added { object, .. }, None) => {
            known.insert(name.clone(), state(object));
        }
        (Event::Updated { old, new }, Some(before)) => {
            assert_eq!(state(old), before, "{event:?}: the old state is not what the handler has");
            assert!(!other_uid(&old.uid, &new.uid), "{event:?}: another object told as an update");
            known.insert(name.clone(), state(new));
        }
        (Event::Deleted { object, .. }, Some(before)) => {
            assert!(!other_uid(&object.uid, &before.0), "{event:?}: another object is deleted");
            known.remove(name);
        }
        (Event::Resynced { object }, Some(before)) => {
            assert_eq!(state(object), before, "{event:?}: resynced to another state");
        }
        (event, before) => panic!("{event:?} to a handler that has {before:?}"),
    }
}
