//! The cells of volumes, their classes and their drivers.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::read::*;

/// Access modes as kubectl shortens them, in its order.
fn access_modes(modes: &[Value]) -> String {
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let there = short.iter().filter(|(long, _)| modes.iter().any(|mode| mode == long));
    joined(there.map(|(_, short)| *short), "")
}

pub(super) fn claim(object: &Value, now: Timestamp) -> Vec<Value> {
    let bound = !at(object, "/spec/volumeName").is_empty();
    let status = if object.pointer("/metadata/deletionTimestamp").is_some() {
        "Terminating"
    } else {
        at(object, "/status/phase")
    };
    let (capacity, modes) = if bound {
        (at(object, "/status/capacity/storage"), access_modes(list(object, "/status/accessModes")))
    } else {
        ("", String::new())
    };
    vec![
        name(object),
        json!(status),
        json!(at(object, "/spec/volumeName")),
        json!(capacity),
        json!(modes),
        json!(at(object, "/spec/storageClassName")),
        json!(at_or(object, "/spec/volumeAttributesClassName", "<unset>")),
        age_of(object, now),
        json!(at_or(object, "/spec/volumeMode", "<unset>")),
    ]
}

pub(super) fn volume(object: &Value, now: Timestamp) -> Vec<Value> {
    let claim = match object.pointer("/spec/claimRef") {
        None | Some(Value::Null) => String::new(),
        Some(claim) => format!("{}/{}", at(claim, "/namespace"), at(claim, "/name")),
    };
    let status = if object.pointer("/metadata/deletionTimestamp").is_some() {
        "Terminating"
    } else {
        at(object, "/status/phase")
    };
    vec![
        name(object),
        json!(at_or(object, "/spec/capacity/storage", "0")),
        json!(access_modes(list(object, "/spec/accessModes"))),
        json!(at(object, "/spec/persistentVolumeReclaimPolicy")),
        json!(status),
        json!(claim),
        json!(at(object, "/spec/storageClassName")),
        json!(at_or(object, "/spec/volumeAttributesClassName", "<unset>")),
        json!(at(object, "/status/reason")),
        age_of(object, now),
        json!(at_or(object, "/spec/volumeMode", "<unset>")),
    ]
}

pub(super) fn class(object: &Value, now: Timestamp) -> Vec<Value> {
    let default = object.pointer("/metadata/annotations/storageclass.kubernetes.io~1is-default-class");
    let name = match at(object, "/metadata/name") {
        text if default.is_some_and(|value| value == "true") => json!(format!("{text} (default)")),
        _ => name(object),
    };
    vec![
        name,
        json!(at(object, "/provisioner")),
        json!(at_or(object, "/reclaimPolicy", "Delete")),
        json!(at_or(object, "/volumeBindingMode", "Immediate")),
        json!(is(object, "/allowVolumeExpansion")),
        age_of(object, now),
    ]
}

pub(super) fn driver(object: &Value, now: Timestamp) -> Vec<Value> {
    let attach = object.pointer("/spec/attachRequired").and_then(Value::as_bool).unwrap_or(true);
    let requests = list(object, "/spec/tokenRequests").iter().map(|request| at(request, "/audience"));
    let modes = list(object, "/spec/volumeLifecycleModes").iter().filter_map(Value::as_str);
    vec![
        name(object),
        json!(attach),
        json!(is(object, "/spec/podInfoOnMount")),
        json!(is(object, "/spec/storageCapacity")),
        json!(joined(requests, "<unset>")),
        json!(is(object, "/spec/requiresRepublish")),
        json!(joined(modes, "<none>")),
        age_of(object, now),
    ]
}

pub(super) fn node_drivers(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![name(object), json!(list(object, "/spec/drivers").len()), age_of(object, now)]
}

pub(super) fn attachment(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        json!(at(object, "/spec/attacher")),
        json!(at(object, "/spec/source/persistentVolumeName")),
        json!(at(object, "/spec/nodeName")),
        json!(is(object, "/status/attached")),
        age_of(object, now),
    ]
}
