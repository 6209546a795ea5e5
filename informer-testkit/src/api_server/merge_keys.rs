//! Lists that are maps in disguise: which field tells their items apart.
//!
//! From the `patchMergeKey` marks of the Go types of the kinds that are served here.

use serde_json::Value;

/// Lists of objects, by name, with the field that is the key.
const KEYS: &[(&str, &str)] = &[
    ("addresses", "type"),
    ("conditions", "type"),
    ("containers", "name"),
    ("drivers", "name"),
    ("env", "name"),
    ("ephemeralContainers", "name"),
    ("hostAliases", "ip"),
    ("imagePullSecrets", "name"),
    ("initContainers", "name"),
    ("ownerReferences", "uid"),
    ("podIPs", "ip"),
    ("resourceClaims", "name"),
    ("schedulingGates", "name"),
    ("secrets", "name"),
    ("topologySpreadConstraints", "topologyKey"),
    ("volumeDevices", "devicePath"),
    ("volumeMounts", "mountPath"),
    ("volumes", "name"),
];

/// Lists of plain values without order.
const SETS: &[&str] = &["finalizers", "podCIDRs"];

/// The key of a list of objects, if it has one. The ports of a container and those of a service have one name and
/// different keys; `example` is one of the items.
pub(super) fn of(list: &str, example: Option<&Value>) -> Option<&'static str> {
    if list == "ports" {
        let in_container = example.is_some_and(|item| item.get("containerPort").is_some());
        return Some(if in_container { "containerPort" } else { "port" });
    }
    KEYS.iter().find(|(name, _)| *name == list).map(|(_, key)| *key)
}

/// Whether a list is a set of plain values.
pub(super) fn is_set(list: &str) -> bool {
    SETS.contains(&list)
}
