//! The built-in resources, as data: groups in the order in which a real server tells them, resources by name.
//!
//! What is missing here is not served, and nothing else has to know.

use std::borrow::Cow;

use super::resource::Resource;

/// What nearly everything can do.
const ALL: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// Namespaces go one by one.
const NO_COLLECTION: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];

/// One built-in resource; the words of [`Resource`].
struct Row {
    group: &'static str,
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    short: &'static [&'static str],
    categories: &'static [&'static str],
    namespaced: bool,
    subresources: &'static [&'static str],
    /// Whether objects have a `metadata.generation`.
    generations: bool,
    hash: &'static str,
    /// Paths that can be selected by, besides name and namespace.
    selectable: &'static [&'static str],
}

const ROW: Row = Row {
    group: "",
    plural: "",
    singular: "",
    kind: "",
    short: &[],
    categories: &[],
    namespaced: true,
    subresources: &[],
    generations: false,
    hash: "",
    selectable: &[],
};

const EVENT_FIELDS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

#[rustfmt::skip] // a table
const TABLE: &[Row] = &[
    Row { plural: "configmaps", singular: "configmap", kind: "ConfigMap", short: &["cm"], hash: "qFsyl6wFWjQ=", ..ROW },
    Row { plural: "endpoints", singular: "endpoints", kind: "Endpoints", short: &["ep"], hash: "fWeeMqaN/OA=", ..ROW },
    Row { plural: "events", singular: "event", kind: "Event", short: &["ev"], hash: "r2yiGXH7wu8=", selectable: EVENT_FIELDS, ..ROW },
    Row { plural: "namespaces", singular: "namespace", kind: "Namespace", short: &["ns"], namespaced: false, subresources: &["finalize", "status"], hash: "Q3oi5N2YM8M=", selectable: &["status.phase"], ..ROW },
    Row { plural: "nodes", singular: "node", kind: "Node", short: &["no"], namespaced: false, subresources: &["status"], hash: "XwShjMxG9Fs=", selectable: &["spec.unschedulable"], ..ROW },
    Row { plural: "persistentvolumeclaims", singular: "persistentvolumeclaim", kind: "PersistentVolumeClaim", short: &["pvc"], subresources: &["status"], hash: "QWTyNDq0dC4=", ..ROW },
    Row { plural: "persistentvolumes", singular: "persistentvolume", kind: "PersistentVolume", short: &["pv"], namespaced: false, subresources: &["status"], hash: "HN/zwEC+JgM=", ..ROW },
    Row { plural: "pods", singular: "pod", kind: "Pod", short: &["po"], categories: &["all"], subresources: &["status"], generations: true, hash: "xPOwRZ+Yhw8=", selectable: &["spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"], ..ROW },
    Row { plural: "replicationcontrollers", singular: "replicationcontroller", kind: "ReplicationController", short: &["rc"], categories: &["all"], subresources: &["scale", "status"], generations: true, hash: "Jond2If31h0=", selectable: &["status.replicas"], ..ROW },
    Row { plural: "secrets", singular: "secret", kind: "Secret", hash: "S6u1pOWzb84=", selectable: &["type"], ..ROW },
    Row { plural: "serviceaccounts", singular: "serviceaccount", kind: "ServiceAccount", short: &["sa"], hash: "pbx9ZvyFpBE=", ..ROW },
    Row { plural: "services", singular: "service", kind: "Service", short: &["svc"], categories: &["all"], subresources: &["status"], hash: "0/CO1lhkEBI=", selectable: &["spec.clusterIP", "spec.type"], ..ROW },
    Row { group: "apps", plural: "controllerrevisions", singular: "controllerrevision", kind: "ControllerRevision", hash: "85nkx63pcBU=", ..ROW },
    Row { group: "apps", plural: "daemonsets", singular: "daemonset", kind: "DaemonSet", short: &["ds"], categories: &["all"], subresources: &["status"], generations: true, hash: "dd7pWHUlMKQ=", ..ROW },
    Row { group: "apps", plural: "deployments", singular: "deployment", kind: "Deployment", short: &["deploy"], categories: &["all"], subresources: &["scale", "status"], generations: true, hash: "8aSe+NMegvE=", ..ROW },
    Row { group: "apps", plural: "replicasets", singular: "replicaset", kind: "ReplicaSet", short: &["rs"], categories: &["all"], subresources: &["scale", "status"], generations: true, hash: "P1RzHs8/mWQ=", selectable: &["status.replicas"], ..ROW },
    Row { group: "apps", plural: "statefulsets", singular: "statefulset", kind: "StatefulSet", short: &["sts"], categories: &["all"], subresources: &["scale", "status"], generations: true, hash: "H+vl74LkKdo=", ..ROW },
    Row { group: "events.k8s.io", plural: "events", singular: "event", kind: "Event", short: &["ev"], hash: "r2yiGXH7wu8=", selectable: &["reason", "regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "regarding.apiVersion", "regarding.resourceVersion", "regarding.fieldPath", "reportingController", "type"], ..ROW },
    Row { group: "batch", plural: "cronjobs", singular: "cronjob", kind: "CronJob", short: &["cj"], categories: &["all"], subresources: &["status"], generations: true, ..ROW },
    Row { group: "batch", plural: "jobs", singular: "job", kind: "Job", categories: &["all"], subresources: &["status"], generations: true, selectable: &["status.successful"], ..ROW },
    Row { group: "networking.k8s.io", plural: "ingresses", singular: "ingress", kind: "Ingress", short: &["ing"], subresources: &["status"], generations: true, ..ROW },
    Row { group: "networking.k8s.io", plural: "networkpolicies", singular: "networkpolicy", kind: "NetworkPolicy", short: &["netpol"], generations: true, ..ROW },
    Row { group: "policy", plural: "poddisruptionbudgets", singular: "poddisruptionbudget", kind: "PodDisruptionBudget", short: &["pdb"], subresources: &["status"], generations: true, ..ROW },
    Row { group: "rbac.authorization.k8s.io", plural: "clusterrolebindings", singular: "clusterrolebinding", kind: "ClusterRoleBinding", namespaced: false, ..ROW },
    Row { group: "rbac.authorization.k8s.io", plural: "clusterroles", singular: "clusterrole", kind: "ClusterRole", namespaced: false, ..ROW },
    Row { group: "rbac.authorization.k8s.io", plural: "rolebindings", singular: "rolebinding", kind: "RoleBinding", ..ROW },
    Row { group: "rbac.authorization.k8s.io", plural: "roles", singular: "role", kind: "Role", ..ROW },
    Row { group: "storage.k8s.io", plural: "storageclasses", singular: "storageclass", kind: "StorageClass", short: &["sc"], namespaced: false, ..ROW },
    Row { group: "apiextensions.k8s.io", plural: "customresourcedefinitions", singular: "customresourcedefinition", kind: "CustomResourceDefinition", short: &["crd", "crds"], categories: &["api-extensions"], namespaced: false, subresources: &["status"], generations: true, ..ROW },
    Row { group: "scheduling.k8s.io", plural: "priorityclasses", singular: "priorityclass", kind: "PriorityClass", short: &["pc"], namespaced: false, generations: true, ..ROW },
    Row { group: "coordination.k8s.io", plural: "leases", singular: "lease", kind: "Lease", ..ROW },
    Row { group: "discovery.k8s.io", plural: "endpointslices", singular: "endpointslice", kind: "EndpointSlice", generations: true, ..ROW },
];

/// The built-in resources.
pub(super) fn resources() -> impl Iterator<Item = Resource> {
    TABLE.iter().map(|row| Resource {
        group: Cow::Borrowed(row.group),
        version: Cow::Borrowed("v1"),
        plural: Cow::Borrowed(row.plural),
        singular: Cow::Borrowed(row.singular),
        kind: Cow::Borrowed(row.kind),
        list_kind: Cow::Owned(format!("{}List", row.kind)),
        namespaced: row.namespaced,
        short_names: row.short.iter().copied().map(Cow::Borrowed).collect(),
        categories: row.categories.iter().copied().map(Cow::Borrowed).collect(),
        verbs: if row.plural == "namespaces" { NO_COLLECTION } else { ALL },
        subresources: row.subresources.iter().copied().map(Cow::Borrowed).collect(),
        storage_version_hash: row.hash,
        storage: storage(row),
        first: row.group != "events.k8s.io",
        custom: false,
        counts_generations: row.generations,
        columns: Vec::new(),
        schema: None,
        selectable: row.selectable.iter().map(|path| (Cow::Borrowed(*path), split(path))).collect(),
    })
}

/// Events have two groups and one place.
fn storage(row: &Row) -> Cow<'static, str> {
    match row.group {
        "" | "events.k8s.io" => Cow::Borrowed(row.plural),
        group => Cow::Owned(format!("{}.{group}", row.plural)),
    }
}

/// Where the value of a field of this name is. All of them are paths, but for events: the `source` means its
/// component, and events.k8s.io has other words for what is stored as core/v1 has it.
fn split(path: &str) -> Vec<String> {
    let step = |step| match step {
        "regarding" => "involvedObject",
        "reportingController" => "reportingComponent",
        step => step,
    };
    match path {
        "source" => vec!["source".to_owned(), "component".to_owned()],
        path => path.split('.').map(|part| step(part).to_owned()).collect(),
    }
}

/// What custom resources can do, too.
pub(super) const CUSTOM_VERBS: &[&str] =
    &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
