//! One object of each kind that has columns of its own and that nothing else needs, and what becomes of some of them:
//! tables have something to show.

use std::io;

use serde_json::{Value, json};

use super::world::World;
use crate::exchange::{Ask, Peer};

/// Creates them, and writes their statuses.
pub(super) fn make(world: &mut World, peer: &Peer) -> io::Result<()> {
    for (collection, object) in [core(), networking(), storage(), others()].concat() {
        world.write(peer, "POST", collection, &object)?;
    }
    for (object, status) in statuses() {
        let patch = json!({"status": status}).to_string();
        let target = format!("{object}/status");
        world.done(peer, &Ask::send("PATCH", target, "application/merge-patch+json", patch))?;
    }
    Ok(())
}

type Made = (&'static str, Value);

fn core() -> Vec<Made> {
    let containers = json!([{"name": "c", "image": "nginx:1"}, {"name": "d", "image": "redis:2"}]);
    let template = json!({"metadata": {"labels": {"app": "rc"}}, "spec": {"containers": containers}});
    vec![
        (
            "/api/v1/namespaces/{ns}/endpoints",
            json!({"metadata": {"name": "ep"}, "subsets": [{"addresses": [{"ip": "10.1.2.3"}, {"ip": "10.1.2.4"}],
                "ports": [{"name": "web", "port": 80, "protocol": "TCP"}, {"name": "dns", "port": 53, "protocol": "UDP"}]}]}),
        ),
        (
            "/api/v1/namespaces/{ns}/limitranges",
            json!({"metadata": {"name": "lr"}, "spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "5Gi"}}]}}),
        ),
        (
            "/api/v1/namespaces/{ns}/resourcequotas",
            json!({"metadata": {"name": "rq"}, "spec": {"hard": {"services.nodeports": "9"}}}),
        ),
        ("/api/v1/namespaces/{ns}/podtemplates", json!({"metadata": {"name": "pt"}, "template": template})),
        (
            "/api/v1/namespaces/{ns}/replicationcontrollers",
            json!({"metadata": {"name": "rc"}, "spec": {"selector": {"app": "rc"}, "template": template}}),
        ),
        (
            "/api/v1/namespaces/{ns}/events",
            json!({"metadata": {"name": "ev"}, "involvedObject": {"kind": "Pod", "namespace": "{ns}", "name": "p"},
                "reason": "Pulled", "message": "It is there", "type": "Normal", "count": 3,
                "source": {"component": "kubelet", "host": "node-1"},
                "firstTimestamp": "2026-11-30T10:00:00Z", "lastTimestamp": "2026-11-30T10:00:00Z"}),
        ),
    ]
}

fn networking() -> Vec<Made> {
    let backend = json!({"service": {"name": "svc", "port": {"number": 80}}});
    let path = json!({"path": "/", "pathType": "Prefix", "backend": backend});
    vec![
        (
            "/apis/networking.k8s.io/v1/ingressclasses",
            json!({"metadata": {"name": "ic"}, "spec": {"controller": "example.com/c",
                "parameters": {"apiGroup": "example.com", "kind": "P", "name": "q", "scope": "Cluster"}}}),
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses",
            json!({"metadata": {"name": "in"}, "spec": {"ingressClassName": "ic", "tls": [{"hosts": ["a.example.com"]}],
                "rules": [{"host": "a.example.com", "http": {"paths": [path]}},
                    {"host": "b.example.com", "http": {"paths": [path]}}]}}),
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies",
            json!({"metadata": {"name": "np"}, "spec": {"policyTypes": ["Ingress"],
                "podSelector": {"matchLabels": {"app": "web"},
                    "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}]}}}),
        ),
        (
            "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices",
            json!({"metadata": {"name": "es"}, "addressType": "IPv4",
                "endpoints": [{"addresses": ["10.1.2.3"]}, {"addresses": ["10.1.2.4"]}],
                "ports": [{"name": "web", "port": 80, "protocol": "TCP"}]}),
        ),
    ]
}

fn storage() -> Vec<Made> {
    vec![
        (
            "/api/v1/persistentvolumes",
            json!({"metadata": {"name": "pv"}, "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],                 "storageClassName": "sc", "nfs": {"path": "/a", "server": "nfs.example.com"}}}),
        ),
        (
            "/api/v1/namespaces/{ns}/persistentvolumeclaims",
            json!({"metadata": {"name": "pvc"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "sc",
                "resources": {"requests": {"storage": "1Gi"}}}}),
        ),
        (
            "/apis/storage.k8s.io/v1/storageclasses",
            json!({"metadata": {"name": "sc", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
                "provisioner": "example.com/p", "reclaimPolicy": "Retain", "volumeBindingMode": "Immediate",
                "allowVolumeExpansion": true}),
        ),
        (
            "/apis/storage.k8s.io/v1/csidrivers",
            json!({"metadata": {"name": "csi.example.com"}, "spec": {"attachRequired": false, "podInfoOnMount": true,
                "storageCapacity": true, "requiresRepublish": false, "seLinuxMount": false,
                "fsGroupPolicy": "File", "tokenRequests": [{"audience": "a"}],
                "volumeLifecycleModes": ["Persistent", "Ephemeral"]}}),
        ),
        (
            "/apis/storage.k8s.io/v1/csinodes",
            json!({"metadata": {"name": "node-1"}, "spec": {"drivers": [{"name": "csi.example.com", "nodeID": "n",
                "topologyKeys": ["zone"]}]}}),
        ),
        (
            "/apis/storage.k8s.io/v1/volumeattachments",
            json!({"metadata": {"name": "va"}, "spec": {"attacher": "csi.example.com", "nodeName": "node-1",
                "source": {"persistentVolumeName": "pv"}}}),
        ),
    ]
}

fn others() -> Vec<Made> {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
    let memory = json!({"type": "Resource", "resource": {"name": "memory",
        "target": {"type": "AverageValue", "averageValue": "1Gi"}}});
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "nginx:1"}]});
    vec![
        (
            "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers",
            json!({"metadata": {"name": "h2"}, "spec": {"scaleTargetRef": target, "maxReplicas": 9, "metrics": [memory],
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}}}}),
        ),
        (
            "/apis/autoscaling/v1/namespaces/{ns}/horizontalpodautoscalers",
            json!({"metadata": {"name": "h1"}, "spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 9,
                "targetCPUUtilizationPercentage": 55}}),
        ),
        (
            "/apis/autoscaling/v1/namespaces/{ns}/horizontalpodautoscalers",
            json!({"metadata": {"name": "h0"}, "spec": {"scaleTargetRef": target, "maxReplicas": 9}}),
        ),
        (
            "/apis/batch/v1/namespaces/{ns}/cronjobs",
            json!({"metadata": {"name": "cj"}, "spec": {"schedule": "0 0 * * *", "timeZone": "Etc/UTC",
                "jobTemplate": {"spec": {"template": {"spec": pod}}}}}),
        ),
        (
            "/apis/apps/v1/namespaces/{ns}/controllerrevisions",
            json!({"metadata": {"name": "cr"}, "data": {"a": 1}, "revision": 7}),
        ),
        (
            "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
            json!({"metadata": {"name": "pdb"}, "spec": {"minAvailable": "50%",
                "selector": {"matchLabels": {"app": "web"}}}}),
        ),
        ("/apis/node.k8s.io/v1/runtimeclasses", json!({"metadata": {"name": "rt"}, "handler": "runsc"})),
        (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles",
            json!({"metadata": {"name": "ro"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings",
            json!({"metadata": {"name": "rb"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "ro"},
                "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "jane"},
                    {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "team"},
                    {"kind": "ServiceAccount", "namespace": "{ns}", "name": "sa"}]}),
        ),
    ]
}

/// Objects, and what is written to their status.
fn statuses() -> Vec<(&'static str, Value)> {
    let terminated =
        json!({"terminated": {"exitCode": 3, "reason": "Error", "startedAt": null, "finishedAt": null}});
    vec![
        (
            "/api/v1/namespaces/{ns}/persistentvolumeclaims/pvc",
            json!({"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}),
        ),
        ("/api/v1/persistentvolumes/pv", json!({"phase": "Available"})),
        (
            "/api/v1/namespaces/{ns}/resourcequotas/rq",
            json!({"hard": {"services.nodeports": "9"}, "used": {"services.nodeports": "1"}}),
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses/in",
            json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "lb.example.com"}]}}),
        ),
        (
            "/apis/apps/v1/namespaces/{ns}/deployments/d",
            json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 1, "readyReplicas": 1,
                "availableReplicas": 1, "unavailableReplicas": 1}),
        ),
        (
            "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers/h1",
            json!({"currentReplicas": 2, "desiredReplicas": 3, "currentMetrics": [{"type": "Resource",
                "resource": {"name": "cpu", "current": {"averageUtilization": 40, "averageValue": "4m"}}}]}),
        ),
        (
            "/api/v1/namespaces/{ns}/pods/p",
            json!({"phase": "Running", "podIP": "10.2.3.4", "podIPs": [{"ip": "10.2.3.4"}],
                "containerStatuses": [{"name": "c", "image": "nginx", "imageID": "", "ready": false,
                    "restartCount": 4, "started": false, "state": terminated, "lastState": {}}]}),
        ),
        (
            "/api/v1/nodes/node-1",
            json!({"conditions": [{"type": "Ready", "status": "True", "reason": "R", "message": "M",
                    "lastHeartbeatTime": "2026-11-30T10:00:00Z", "lastTransitionTime": "2026-11-30T10:00:00Z"}],
                "addresses": [{"type": "InternalIP", "address": "192.0.2.7"}]}),
        ),
    ]
}
