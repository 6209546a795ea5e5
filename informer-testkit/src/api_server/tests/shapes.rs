//! Objects of shapes that make no sense: nothing that is sent ends the server, whatever it is asked for afterwards.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::Bench;

/// Names that the server looks for in what it stores, converts and prints.
#[rustfmt::skip] // a table
const NAMES: &[&str] = &[
    "accessModes", "addresses", "annotations", "behavior", "capacity", "clusterIP", "conditions", "containerStatuses",
    "containers", "count", "currentMetrics", "data", "deprecatedSource", "drivers", "endpoints", "external", "finalizers",
    "firstTimestamp", "hard", "image", "ingress", "jobTemplate", "labels", "lastTimestamp", "limits", "loadBalancer",
    "matchExpressions", "matchLabels", "maxReplicas", "metadata", "metric", "metrics", "name", "names", "nodeInfo",
    "parameters", "phase", "podSelector", "policies", "ports", "regarding", "replicas", "resource", "roleRef", "rules",
    "scaleDown", "scaleTargetRef", "scaleUp", "selector", "source", "spec", "state", "status", "stringData", "strategy",
    "subjects", "subsets", "taints", "target", "targetCPUUtilizationPercentage", "template", "tolerations", "type",
    "updateStrategy", "used", "versions",
];

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop_oneof!["[a-z:%/.]{0,9}", "RollingUpdate|Resource|Object|True|2026-11-30T18:05:48Z"]
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            fields(inner).prop_map(Value::Object),
        ]
    })
}

fn fields(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::hash_map(prop::sample::select(NAMES), value, 0..6)
        .prop_map(|map| map.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Each object is sent to every resource, changed, and told in every form.
    #[test]
    fn shapes_that_make_no_sense_harm_nobody(
        mut object in fields(tree()),
        change in fields(tree()),
        note in "[\\[{\"a-z:,}\\]]{0,12}",
    ) {
        let bench = Bench::new();
        let notes = ["metrics", "current-metrics", "conditions", "behavior"]
            .map(|what| (format!("autoscaling.alpha.kubernetes.io/{what}"), Value::from(note.clone())));
        let annotations = Value::Object(notes.into_iter().collect());
        object.insert("metadata".to_owned(), json!({"name": "a", "annotations": annotations}));
        let mut change = change;
        change.remove("metadata");
        let registry = bench.engine.registry();
        let kept = registry.resources().iter().filter(|resource| resource.kept);
        for resource in kept {
            let root = if resource.group.is_empty() { "/api/v1".to_owned() } else { format!("/apis/{}", resource.api_version()) };
            let place = if resource.namespaced { "/namespaces/default" } else { "" };
            let collection = format!("{root}{place}/{}", resource.plural);
            let mut told = vec![bench.send("POST", &collection, Value::Object(object.clone())).0];
            for part in ["", "/status"] {
                let target = format!("{collection}/a{part}");
                for kind in ["merge-patch", "strategic-merge-patch"] {
                    told.push(bench.patch(&target, kind, Value::Object(change.clone())).0);
                }
            }
            for form in ["application/json", "application/json;as=Table;v=v1;g=meta.k8s.io"] {
                let mut call = Bench::call("GET", &collection, "");
                call.headers.push(("Accept".to_owned(), form.to_owned()));
                told.push(bench.ask(&call).status);
                prop_assert_eq!(told.last(), Some(&200), "{} as {}", collection, form);
            }
            prop_assert!(told.iter().all(|status| *status < 500), "{}: {:?}", collection, told);
        }
    }
}
