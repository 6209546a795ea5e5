//! The objects of the demo's cluster, as JSON.

use serde_json::{Value, json};

/// A Deployment of the cluster.
#[derive(Debug)]
pub(super) struct App {
    pub(super) namespace: &'static str,
    pub(super) name: &'static str,
    pub(super) image: &'static str,
    pub(super) replicas: u64,
}

pub(super) const APPS: [App; 3] = [
    App { namespace: "shop", name: "web", image: "registry.example.com/web:1.4", replicas: 3 },
    App { namespace: "shop", name: "cart", image: "registry.example.com/cart:0.9", replicas: 2 },
    App { namespace: "media", name: "encoder", image: "registry.example.com/encoder:2.0", replicas: 2 },
];

pub(super) const NODES: [&str; 3] = ["node-1", "node-2", "node-3"];

/// Namespaces that come and go; the first one is there from the beginning.
pub(super) const TEAMS: [&str; 4] = ["team-red", "team-green", "team-blue", "team-grey"];

/// Marks a ConfigMap that the example `controller` copies, and a namespace that gets copies.
pub(super) const SOURCE: &str = "copy.example.com/source";
pub(super) const TARGET: &str = "copy.example.com/target";

pub(super) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// A namespace that gets copies.
pub(super) fn team(name: &str) -> Value {
    let labels = json!({TARGET: "true"});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
}

pub(super) fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "spec": {},
    })
}

pub(super) fn node_status(number: usize) -> Value {
    json!({"status": {
        "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
        "addresses": [{"type": "InternalIP", "address": format!("192.0.2.{number}")}],
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        "nodeInfo": {"kubeletVersion": "v1.37.2", "osImage": "demo", "architecture": "amd64"},
    }})
}

pub(super) fn deployment(app: &App) -> Value {
    let labels = json!({"app": app.name});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": app.name, "namespace": app.namespace, "labels": labels},
        "spec": {
            "replicas": app.replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": app.name, "image": app.image}]},
            },
        },
    })
}

pub(super) fn deployment_status(app: &App, ready: u64) -> Value {
    json!({"status": {
        "observedGeneration": 1,
        "replicas": app.replicas,
        "updatedReplicas": app.replicas,
        "readyReplicas": ready,
        "availableReplicas": ready,
    }})
}

/// A Pod that nobody has placed yet.
pub(super) fn pod(namespace: &str, name: &str, app: &str, image: &str, restart: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": app}},
        "spec": {
            "containers": [{"name": app, "image": image, "resources": {}}],
            "restartPolicy": restart,
        },
        "status": {"phase": "Pending"},
    })
}

/// What a kubelet would say of a Pod with one container.
#[derive(Debug)]
pub(super) struct PodStatus<'a> {
    pub(super) phase: &'a str,
    pub(super) app: &'a str,
    pub(super) image: &'a str,
    pub(super) ip: Option<&'a str>,
    pub(super) ready: bool,
    pub(super) restarts: u64,
    /// `waiting` with a reason, `running`, or `terminated` with one.
    pub(super) state: (&'a str, &'a str),
}

impl PodStatus<'_> {
    pub(super) fn patch(&self) -> Value {
        let truth = |yes| if yes { "True" } else { "False" };
        let (state, reason) = self.state;
        let about = match state {
            "running" => json!({}),
            "terminated" => json!({"exitCode": u8::from(reason != "Completed"), "reason": reason}),
            _ => json!({"reason": reason}),
        };
        json!({"status": {
            "phase": self.phase,
            "podIP": self.ip,
            "conditions": [
                {"type": "PodScheduled", "status": "True"},
                {"type": "Ready", "status": truth(self.ready)},
            ],
            "containerStatuses": [{
                "name": self.app,
                "image": self.image,
                "imageID": "",
                "ready": self.ready,
                "restartCount": self.restarts,
                "state": {state: about},
            }],
        }})
    }
}

pub(super) fn config_map(namespace: &str, name: &str, labels: &Value, data: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "data": data,
    })
}
