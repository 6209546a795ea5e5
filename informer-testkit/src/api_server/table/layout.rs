//! The columns of the built-in kinds, and who fills them.
//!
//! Column by column what a real server prints; a kind that has no layout here has a name and an age.

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::{core, governance, networking, storage, workloads};
use crate::api_server::resource::Resource;

/// Name, type and priority; what has a priority above 0 is for `-o wide`.
type Column = (&'static str, &'static str, i64);

/// How an object fills the columns of its kind.
type Cells = fn(&Value, Timestamp) -> Vec<Value>;

/// The columns of a kind, and how an object fills them.
pub(super) struct Layout {
    pub(super) columns: &'static [Column],
    pub(super) cells: Cells,
}

const NAME: Column = ("Name", "string", 0);
const AGE: Column = ("Age", "string", 0);

const fn text(name: &'static str) -> Column {
    (name, "string", 0)
}

const fn number(name: &'static str) -> Column {
    (name, "integer", 0)
}

const fn flag(name: &'static str) -> Column {
    (name, "boolean", 0)
}

const fn wide(name: &'static str) -> Column {
    (name, "string", 1)
}

impl Layout {
    pub(super) fn of(resource: &Resource) -> Layout {
        let (columns, cells): (&'static [Column], Cells) = match (&*resource.group, &*resource.plural) {
            ("", "pods") => (PODS, core::pod),
            ("", "configmaps") => (CONFIG_MAPS, core::config_map),
            ("", "secrets") => (SECRETS, core::secret),
            ("", "services") => (SERVICES, core::service),
            ("", "nodes") => (NODES, core::node),
            ("", "namespaces") => (NAMESPACES, core::namespace),
            ("" | "events.k8s.io", "events") => (EVENTS, core::event),
            ("apps", "deployments") => (DEPLOYMENTS, workloads::deployment),
            ("apps", "replicasets") | ("", "replicationcontrollers") => {
                (REPLICA_SETS, workloads::replica_set)
            }
            ("apps", "statefulsets") => (STATEFUL_SETS, workloads::stateful_set),
            ("apps", "daemonsets") => (DAEMON_SETS, workloads::daemon_set),
            ("coordination.k8s.io", "leases") => (LEASES, core::lease),
            ("", "endpoints") => (ENDPOINTS, networking::endpoints),
            ("", "persistentvolumeclaims") => (CLAIMS, storage::claim),
            ("", "persistentvolumes") => (VOLUMES, storage::volume),
            ("", "podtemplates") => (POD_TEMPLATES, workloads::pod_template),
            ("", "resourcequotas") => (QUOTAS, governance::quota),
            ("", "limitranges") => (CREATED_AT, core::created),
            ("apps", "controllerrevisions") => (REVISIONS, workloads::controller_revision),
            ("autoscaling", _) => (AUTOSCALERS, governance::autoscaler),
            ("batch", "cronjobs") => (CRON_JOBS, workloads::cron_job),
            ("batch", "jobs") => (JOBS, workloads::job),
            ("certificates.k8s.io", "certificatesigningrequests") => {
                (SIGNING_REQUESTS, governance::signing_request)
            }
            ("discovery.k8s.io", _) => (SLICES, networking::endpoint_slice),
            ("networking.k8s.io", "ingressclasses") => (INGRESS_CLASSES, networking::ingress_class),
            ("networking.k8s.io", "ingresses") => (INGRESSES, networking::ingress),
            ("networking.k8s.io", "networkpolicies") => (NETWORK_POLICIES, networking::network_policy),
            ("node.k8s.io", _) => (RUNTIME_CLASSES, governance::runtime_class),
            ("policy", _) => (BUDGETS, workloads::disruption_budget),
            ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => {
                (BINDINGS, governance::role_binding)
            }
            ("storage.k8s.io", "csidrivers") => (DRIVERS, storage::driver),
            ("storage.k8s.io", "csinodes") => (NODE_DRIVERS, storage::node_drivers),
            ("storage.k8s.io", "storageclasses") => (CLASSES, storage::class),
            ("storage.k8s.io", "volumeattachments") => (ATTACHMENTS, storage::attachment),
            ("rbac.authorization.k8s.io", "roles" | "clusterroles") => (CREATED_AT, core::created),
            ("apiextensions.k8s.io", _) => (DEFINITIONS, core::definition),
            _ => (&[NAME, AGE], core::generic),
        };
        Layout { columns, cells }
    }
}

const CONFIG_MAPS: &[Column] = &[NAME, text("Data"), AGE];
const SECRETS: &[Column] = &[NAME, text("Type"), text("Data"), AGE];
const NAMESPACES: &[Column] = &[NAME, text("Status"), AGE];
const LEASES: &[Column] = &[NAME, text("Holder"), AGE];
const PODS: &[Column] = &[
    NAME,
    text("Ready"),
    text("Status"),
    text("Restarts"),
    AGE,
    wide("IP"),
    wide("Node"),
    wide("Nominated Node"),
    wide("Readiness Gates"),
];
const SERVICES: &[Column] =
    &[NAME, text("Type"), text("Cluster-IP"), text("External-IP"), text("Port(s)"), AGE, wide("Selector")];
const NODES: &[Column] = &[
    NAME,
    text("Status"),
    text("Roles"),
    AGE,
    text("Version"),
    wide("Internal-IP"),
    wide("External-IP"),
    wide("OS-Image"),
    wide("Kernel-Version"),
    wide("Container-Runtime"),
];
const EVENTS: &[Column] = &[
    text("Last Seen"),
    text("Type"),
    text("Reason"),
    text("Object"),
    wide("Subobject"),
    wide("Source"),
    text("Message"),
    wide("First Seen"),
    wide("Count"),
    ("Name", "string", 1),
];
const DEPLOYMENTS: &[Column] = &[
    NAME,
    text("Ready"),
    text("Up-to-date"),
    text("Available"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
const REPLICA_SETS: &[Column] = &[
    NAME,
    number("Desired"),
    number("Current"),
    number("Ready"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
const STATEFUL_SETS: &[Column] = &[NAME, text("Ready"), AGE, wide("Containers"), wide("Images")];
const DAEMON_SETS: &[Column] = &[
    NAME,
    number("Desired"),
    number("Current"),
    number("Ready"),
    number("Up-to-date"),
    number("Available"),
    text("Node Selector"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
const DEFINITIONS: &[Column] = &[
    NAME,
    text("Scope"),
    text("Versions"),
    ("Created At", "date", 0),
    wide("Group"),
    wide("Kind"),
    wide("ShortNames"),
    ("Established", "boolean", 1),
];

/// Those of a kind that has none of its own.
pub(super) const CREATED_AT: &[Column] = &[NAME, ("Created At", "date", 0)];
const ENDPOINTS: &[Column] = &[NAME, text("Endpoints"), AGE];
const CLAIMS: &[Column] = &[
    NAME,
    text("Status"),
    text("Volume"),
    text("Capacity"),
    text("Access Modes"),
    text("StorageClass"),
    text("VolumeAttributesClass"),
    AGE,
    wide("VolumeMode"),
];
const VOLUMES: &[Column] = &[
    NAME,
    text("Capacity"),
    text("Access Modes"),
    text("Reclaim Policy"),
    text("Status"),
    text("Claim"),
    text("StorageClass"),
    text("VolumeAttributesClass"),
    text("Reason"),
    AGE,
    wide("VolumeMode"),
];
const POD_TEMPLATES: &[Column] = &[NAME, text("Containers"), text("Images"), text("Pod Labels")];
const QUOTAS: &[Column] = &[NAME, text("Request"), text("Limit"), AGE];
const REVISIONS: &[Column] = &[NAME, text("Controller"), text("Revision"), AGE];
const AUTOSCALERS: &[Column] =
    &[NAME, text("Reference"), text("Targets"), text("MinPods"), text("MaxPods"), text("Replicas"), AGE];
const CRON_JOBS: &[Column] = &[
    NAME,
    text("Schedule"),
    text("Timezone"),
    flag("Suspend"),
    number("Active"),
    text("Last Schedule"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
const JOBS: &[Column] = &[
    NAME,
    text("Status"),
    text("Completions"),
    text("Duration"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];
const SIGNING_REQUESTS: &[Column] =
    &[NAME, AGE, text("SignerName"), text("Requestor"), text("RequestedDuration"), text("Condition")];
const SLICES: &[Column] = &[NAME, text("AddressType"), text("Ports"), text("Endpoints"), AGE];
const INGRESS_CLASSES: &[Column] = &[NAME, text("Controller"), text("Parameters"), AGE];
const INGRESSES: &[Column] = &[NAME, text("Class"), text("Hosts"), text("Address"), text("Ports"), AGE];
const NETWORK_POLICIES: &[Column] = &[NAME, text("Pod-Selector"), AGE];
const RUNTIME_CLASSES: &[Column] = &[NAME, text("Handler"), AGE];
const BUDGETS: &[Column] =
    &[NAME, text("Min Available"), text("Max Unavailable"), number("Allowed Disruptions"), AGE];
const BINDINGS: &[Column] =
    &[NAME, text("Role"), AGE, wide("Users"), wide("Groups"), wide("ServiceAccounts")];
const DRIVERS: &[Column] = &[
    NAME,
    flag("AttachRequired"),
    flag("PodInfoOnMount"),
    flag("StorageCapacity"),
    text("TokenRequests"),
    flag("RequiresRepublish"),
    text("Modes"),
    AGE,
];
const NODE_DRIVERS: &[Column] = &[NAME, number("Drivers"), AGE];
const CLASSES: &[Column] = &[
    NAME,
    text("Provisioner"),
    text("ReclaimPolicy"),
    text("VolumeBindingMode"),
    text("AllowVolumeExpansion"),
    AGE,
];
const ATTACHMENTS: &[Column] =
    &[NAME, ("Attacher", "string", 0), text("PV"), text("Node"), flag("Attached"), AGE];
