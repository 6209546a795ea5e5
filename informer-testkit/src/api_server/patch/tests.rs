//! Tables of patches.

use serde_json::{Value, json};

use super::{json as json_patches, strategic};
use crate::api_server::body::{DEEPEST, depth};

#[test]
fn strategic_patches_merge_lists_that_are_maps() {
    let pod = json!({
        "metadata": {"labels": {"a": "1"}, "finalizers": ["x"]},
        "spec": {
            "containers": [
                {"name": "c", "image": "i:1", "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 80}]},
                {"name": "d", "image": "j:1"},
            ],
            "tolerations": [{"key": "t"}],
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
        },
    });
    for (patch, pointer, expected) in [
        (json!({"metadata": {"labels": {"b": "2"}}}), "/metadata/labels", json!({"a": "1", "b": "2"})),
        (json!({"metadata": {"labels": {"a": null}}}), "/metadata/labels", json!({})),
        (
            json!({"metadata": {"labels": {"$patch": "replace", "b": "2"}}}),
            "/metadata/labels",
            json!({"b": "2"}),
        ),
        (json!({"metadata": {"labels": {"$patch": "delete"}}}), "/metadata/labels", json!({})),
        (json!({"metadata": {"finalizers": ["x", "y"]}}), "/metadata/finalizers", json!(["x", "y"])),
        (
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"], "finalizers": ["z"]}}),
            "/metadata/finalizers",
            json!(["z"]),
        ),
        (
            json!({"spec": {"containers": [{"name": "c", "image": "i:2"}]}}),
            "/spec/containers/0",
            json!({"name": "c", "image": "i:2", "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 80}]}),
        ),
        (
            json!({"spec": {"containers": [{"name": "c", "env": [{"name": "B", "value": "2"}]}]}}),
            "/spec/containers/0/env",
            json!([{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]),
        ),
        (
            json!({"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80, "name": "web"}]}]}}),
            "/spec/containers/0/ports",
            json!([{"containerPort": 80, "name": "web"}]),
        ),
        (
            json!({"spec": {"containers": [{"name": "c", "$patch": "delete"}]}}),
            "/spec/containers",
            json!([{"name": "d", "image": "j:1"}]),
        ),
        (
            json!({"spec": {"$setElementOrder/containers": [{"name": "d"}, {"name": "c"}],
                "containers": [{"name": "c", "image": "i:3"}]}}),
            "/spec/containers/0/name",
            json!("d"),
        ),
        (json!({"spec": {"tolerations": [{"key": "u"}]}}), "/spec/tolerations", json!([{"key": "u"}])),
        (
            json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
            "/spec/strategy",
            json!({"type": "Recreate"}),
        ),
        (json!({"spec": {"new": {"a": null, "b": [{"$patch": "delete"}]}}}), "/spec/new", json!({"b": []})),
    ] {
        let mut value = pod.clone();
        strategic::apply(&mut value, &patch);
        assert_eq!(value.pointer(pointer), Some(&expected), "{patch}");
    }
}

fn applied(operations: &Value, mut value: Value) -> Option<Value> {
    let patch = json_patches::read(operations.to_string().as_bytes()).ok()?;
    json_patches::apply(&patch, &mut value).ok()?;
    Some(value)
}

#[test]
fn json_patches_fit_or_are_refused() {
    let one = json!({"a": 1});
    let add = json!([{"op": "add", "path": "/b", "value": 2}]);
    assert_eq!(applied(&add, one.clone()), Some(json!({"a": 1, "b": 2})));
    for misfit in [
        json!([{"op": "remove", "path": "/c"}]),
        json!([{"op": "test", "path": "/a", "value": 2}]),
        json!([{"op": "dance", "path": "/a"}]),
        json!({"op": "remove", "path": "/a"}),
        json!([{"op": "copy", "from": "/none", "path": "/a"}]),
    ] {
        assert_eq!(applied(&misfit, one.clone()), None, "{misfit}");
    }
}

#[test]
fn json_patches_cannot_grow_without_end() {
    // Each copy doubles what there is: thirty would fill the memory, and as many moves down would end the stack.
    let copies: Value =
        (0..30).map(|n| json!({"op": "copy", "from": "/a", "path": format!("/a/{n}")})).collect();
    assert_eq!(applied(&copies, json!({"a": {"x": "y".repeat(1000)}})), None);
    let mut deep = json!(1);
    for _ in 0..90 {
        deep = json!({ "a": deep });
    }
    let below = "/a".repeat(80);
    let nested: Value = (0..50).map(|_| json!({"op": "add", "path": below, "value": deep})).collect();
    assert_eq!(applied(&nested, deep.clone()), None);
    assert!(depth(&deep) <= DEEPEST);
}
