//! Cells of representations, of discovery, and of requests that lead nowhere.

use serde_json::{Value, json};

use super::Cell;
use crate::exchange::Ask;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// How kubectl asks for what it prints.
const KUBECTL: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// What may be accepted, and what it is called.
const ACCEPTS: &[(&str, &str)] = &[
    ("json", "application/json"),
    ("any", "*/*"),
    ("any-application", "application/*"),
    ("nothing", ""),
    ("text", "text/plain"),
    ("text-or-json", "text/plain, application/json;q=0.5"),
    ("kubectl", KUBECTL),
    ("table", TABLE),
    ("table-beta", "application/json;as=Table;v=v1beta1;g=meta.k8s.io"),
    ("table-old", "application/json;as=Table;v=v1alpha1;g=meta.k8s.io"),
    ("table-no-group", "application/json;as=Table;v=v1"),
    ("metadata", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"),
    ("metadata-list", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"),
    ("metadata-or-json", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"),
    ("other", "application/json;as=Other;v=v1;g=meta.k8s.io"),
    ("protobuf", "application/vnd.kubernetes.protobuf"),
    ("protobuf-or-json", "application/vnd.kubernetes.protobuf,application/json"),
    ("json-or-protobuf", "application/json,application/vnd.kubernetes.protobuf"),
    ("stream", "application/json;stream=watch"),
];

/// The built-in collections, each with what it is called.
const COLLECTIONS: &[&str] = &[
    "/api/v1/componentstatuses",
    "/api/v1/namespaces/{ns}/configmaps",
    "/api/v1/namespaces/{ns}/endpoints",
    "/api/v1/namespaces/{ns}/events",
    "/api/v1/namespaces/{ns}/limitranges",
    "/api/v1/namespaces/{ns}/persistentvolumeclaims",
    "/api/v1/namespaces/{ns}/pods",
    "/api/v1/namespaces/{ns}/podtemplates",
    "/api/v1/namespaces/{ns}/replicationcontrollers",
    "/api/v1/namespaces/{ns}/resourcequotas",
    "/api/v1/namespaces/{ns}/secrets",
    "/api/v1/namespaces/{ns}/serviceaccounts",
    "/api/v1/namespaces/{ns}/services",
    "/api/v1/nodes",
    "/api/v1/persistentvolumes",
    "/apis/apps/v1/namespaces/{ns}/controllerrevisions",
    "/apis/apps/v1/namespaces/{ns}/daemonsets",
    "/apis/apps/v1/namespaces/{ns}/deployments",
    "/apis/apps/v1/namespaces/{ns}/replicasets",
    "/apis/apps/v1/namespaces/{ns}/statefulsets",
    "/apis/autoscaling/v1/namespaces/{ns}/horizontalpodautoscalers",
    "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers",
    "/apis/batch/v1/namespaces/{ns}/cronjobs",
    "/apis/batch/v1/namespaces/{ns}/jobs",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
    "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices",
    "/apis/events.k8s.io/v1/namespaces/{ns}/events",
    "/apis/networking.k8s.io/v1/ingressclasses",
    "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses",
    "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies",
    "/apis/node.k8s.io/v1/runtimeclasses",
    "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
    "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings",
    "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles",
    "/apis/storage.k8s.io/v1/csidrivers",
    "/apis/storage.k8s.io/v1/csinodes",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/storage.k8s.io/v1/volumeattachments",
    "/apis/example.com/v1/namespaces/{ns}/widgets",
];

const DOCUMENTS: &[&str] = &[
    "/api",
    "/apis",
    "/api/v1",
    "/apis/apps",
    "/apis/apps/v1",
    "/apis/batch/v1",
    "/apis/events.k8s.io/v1",
    "/apis/networking.k8s.io/v1",
    "/apis/policy/v1",
    "/apis/rbac.authorization.k8s.io/v1",
    "/apis/storage.k8s.io/v1",
    "/apis/apiextensions.k8s.io/v1",
    "/apis/scheduling.k8s.io/v1",
    "/apis/coordination.k8s.io/v1",
    "/apis/discovery.k8s.io/v1",
    "/apis/apiregistration.k8s.io/v1",
    "/apis/authentication.k8s.io/v1",
    "/apis/authorization.k8s.io/v1",
    "/apis/autoscaling/v1",
    "/apis/autoscaling/v2",
    "/apis/certificates.k8s.io/v1",
    "/apis/node.k8s.io/v1",
    "/apis/example.com",
    "/apis/example.com/v1",
    "/apis/none.example.com",
    "/apis/none.example.com/v1",
    "/apis/apps/v9",
];

/// All of them.
pub(super) fn kept() -> Vec<Cell> {
    let mut cells = Vec::new();
    accepted(&mut cells);
    for collection in COLLECTIONS {
        let name = collection.replace("/namespaces/{ns}", "").trim_start_matches("/api").to_owned();
        cells.push(Cell::ask(format!("collection{name}/json"), Ask::get(*collection)));
        cells.push(Cell::ask(format!("collection{name}/table"), Ask::get(*collection).accept(KUBECTL)));
        // The last bookmark of a streaming list is about an object that is empty in its own way.
        let streaming = "watch=1&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true";
        let target =
            format!("{collection}?{streaming}&resourceVersionMatch=NotOlderThan&labelSelector=none%3Dsuch");
        cells.push(Cell::ask(format!("empty{name}/json"), Ask::get(&*target)));
        cells.push(Cell::ask(format!("empty{name}/table"), Ask::get(target).accept(TABLE)));
    }
    for path in DOCUMENTS {
        cells.push(Cell::ask(format!("discovery{path}"), Ask::get(*path)));
    }
    for path in ["/api", "/apis"] {
        cells.push(Cell::ask(format!("aggregated{path}"), Ask::get(path).accept(AGGREGATED)));
    }
    nowhere(&mut cells);
    reviews(&mut cells);
    cells
}

/// Who somebody is, and what they may.
fn reviews(cells: &mut Vec<Cell>) {
    let get = json!({"verb": "get", "resource": "pods", "namespace": "{ns}"});
    let rights = "/apis/authorization.k8s.io/v1";
    let mut push = |name: &str, target: String, spec: Value| {
        let body = if spec.is_null() { json!({}) } else { json!({"spec": spec}) }.to_string();
        cells.push(Cell::ask(format!("review/{name}"), Ask::send("POST", target, "application/json", body)));
    };
    push("who-am-i", "/apis/authentication.k8s.io/v1/selfsubjectreviews".to_owned(), Value::Null);
    push("may-i", format!("{rights}/selfsubjectaccessreviews"), json!({"resourceAttributes": get}));
    let path = json!({"path": "/version", "verb": "get"});
    push("may-i-path", format!("{rights}/selfsubjectaccessreviews"), json!({"nonResourceAttributes": path}));
    push("may-i-what", format!("{rights}/selfsubjectaccessreviews"), json!({}));
    push("may-i-all", format!("{rights}/selfsubjectrulesreviews"), json!({"namespace": "{ns}"}));
    push("may-i-all-where", format!("{rights}/selfsubjectrulesreviews"), json!({}));
    let of = |user: &str, group: &str| json!({"user": user, "groups": [group], "resourceAttributes": get});
    push("may-they", format!("{rights}/subjectaccessreviews"), of("nobody", "none"));
    push("may-the-masters", format!("{rights}/subjectaccessreviews"), of("somebody", "system:masters"));
    push("may-who", format!("{rights}/subjectaccessreviews"), json!({"resourceAttributes": get}));
    let local = "namespaces/{ns}/localsubjectaccessreviews";
    push("may-they-here", format!("{rights}/{local}"), of("nobody", "none"));
    push("may-they-there", format!("{rights}/{}", local.replace("{ns}", "default")), of("nobody", "none"));
    push("whose-token", "/apis/authentication.k8s.io/v1/tokenreviews".to_owned(), json!({"token": "wrong"}));
    push("no-token", "/apis/authentication.k8s.io/v1/tokenreviews".to_owned(), json!({}));
    for target in ["selfsubjectaccessreviews", "selfsubjectaccessreviews/a", "localsubjectaccessreviews"] {
        cells.push(Cell::ask(format!("review/get/{target}"), Ask::get(format!("{rights}/{target}"))));
    }
}

fn accepted(cells: &mut Vec<Cell>) {
    let kinds = [
        ("configmap", "/api/v1/namespaces/{ns}/configmaps", "{name1}", "old"),
        ("custom", "/apis/example.com/v1/namespaces/{ns}/widgets", "{name1}", "wold"),
        ("pod", "/api/v1/namespaces/{ns}/pods", "p", "old"),
        ("deployment", "/apis/apps/v1/namespaces/{ns}/deployments", "d", "old"),
    ];
    for (word, collection, object, old) in kinds {
        for (called, accept) in ACCEPTS {
            let mut push = |verb: &str, target: String| {
                cells.push(Cell::ask(
                    format!("accept/{verb}/{word}/{called}"),
                    Ask::get(target).accept(accept),
                ));
            };
            push("list", collection.to_owned());
            push("get", format!("{collection}/{object}"));
            push("watch", format!("{collection}?watch=1&timeoutSeconds=1&resourceVersion={{{old}}}"));
            let streaming = "watch=1&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true";
            push("stream", format!("{collection}?{streaming}&resourceVersionMatch=NotOlderThan"));
        }
        for include in ["None", "Metadata", "Object", "Nonsense"] {
            let name = format!("include/{word}/{include}");
            let target = format!("{collection}?includeObject={include}");
            cells.push(Cell::ask(name, Ask::get(target).accept(TABLE)));
        }
        let paged = format!("{collection}?limit=1");
        cells.push(Cell::ask(format!("paged-table/{word}"), Ask::get(&*paged).accept(TABLE)));
        let metadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
        cells.push(Cell::ask(format!("paged-metadata/{word}"), Ask::get(paged).accept(metadata)));
    }
}

/// Paths and names that are not there, and what one object is asked at a version.
fn nowhere(cells: &mut Vec<Cell>) {
    let maps = "/api/v1/namespaces/{ns}/configmaps";
    let targets = [
        ("object", format!("{maps}/none")),
        ("resource", "/api/v1/namespaces/{ns}/none".to_owned()),
        ("subresource", format!("{maps}/{{name1}}/status")),
        ("namespace", "/api/v1/namespaces/none/configmaps".to_owned()),
        ("path", "/none".to_owned()),
        ("custom-object", "/apis/example.com/v1/namespaces/{ns}/widgets/none".to_owned()),
        ("custom-version", "/apis/example.com/v2/namespaces/{ns}/widgets".to_owned()),
        ("get-0", format!("{maps}/{{name1}}?resourceVersion=0")),
        ("get-old", format!("{maps}/{{name1}}?resourceVersion={{old}}")),
        ("get-future", format!("{maps}/{{name1}}?resourceVersion={{future}}")),
        ("get-garbage", format!("{maps}/{{name1}}?resourceVersion=abc")),
        ("get-none-future", format!("{maps}/none?resourceVersion={{future}}")),
        (
            "get-custom-future",
            "/apis/example.com/v1/namespaces/{ns}/widgets/{name1}?resourceVersion={future}".to_owned(),
        ),
        ("watch-timeout", format!("{maps}?watch=1&resourceVersion={{old}}&timeoutSeconds=abc")),
        ("watch-word", format!("{maps}?watch=true&resourceVersion={{old}}&timeoutSeconds=1")),
        ("watch-no", format!("{maps}?watch=false")),
        ("watch-0", format!("{maps}?watch=0")),
        ("watch-odd", format!("{maps}?watch=perhaps&timeoutSeconds=1")),
        ("limit-negative", format!("{maps}?limit=-1")),
    ];
    for (name, target) in targets {
        cells.push(Cell::ask(format!("nowhere/{name}"), Ask::get(target)));
    }
    cells.push(Cell::ask(
        "nowhere/post-to-object".to_owned(),
        Ask::send("POST", format!("{maps}/{{name1}}"), "application/json", "{}"),
    ));
}
