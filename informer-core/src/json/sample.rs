//! Objects for the tests of decoding: random ones, written in random ways, and those of the recorded exchanges.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// How a value is written: a source of small decisions, so that whitespace and escapes fall anywhere.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    choices: Vec<u8>,
    next: usize,
}

pub(crate) fn style() -> impl Strategy<Value = Style> {
    // Mostly plain, so that most of a text is what servers write.
    let choice = prop_oneof![6 => Just(0u8), 1 => Just(1u8), 1 => Just(2u8)];
    prop::collection::vec(choice, 1..60).prop_map(|choices| Style { choices, next: 0 })
}

impl Style {
    fn choose(&mut self) -> u8 {
        let choice = self.choices[self.next % self.choices.len()];
        self.next += 1;
        choice
    }

    fn space(&mut self, out: &mut String) {
        out.push_str(["", " ", "\r\n\t"][usize::from(self.choose())]);
    }

    fn string(&mut self, text: &str, out: &mut String) {
        if self.choose() == 0 {
            out.push_str(&serde_json::to_string(text).unwrap());
            return;
        }
        out.push('"');
        let mut units = [0; 2];
        for c in text.chars() {
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
        out.push('"');
    }

    /// Writes `value` as JSON.
    pub(crate) fn write(&mut self, value: &Value, out: &mut String) {
        self.space(out);
        match value {
            Value::String(text) => self.string(text, out),
            Value::Array(elements) => {
                out.push('[');
                for (i, element) in elements.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    self.write(element, out);
                }
                self.space(out);
                out.push(']');
            }
            Value::Object(members) => {
                out.push('{');
                let mut members: Vec<_> = members.iter().collect();
                if self.choose() == 1 {
                    members.reverse();
                }
                for (i, (key, value)) in members.into_iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    self.space(out);
                    self.string(key, out);
                    self.space(out);
                    out.push(':');
                    self.write(value, out);
                }
                self.space(out);
                out.push('}');
            }
            other => out.push_str(&other.to_string()),
        }
        self.space(out);
    }
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-z]{1,6}", 1 => "[a-z\"\\\\/é😀\u{7f} \n]{0,5}"]
}

fn managed_fields() -> impl Strategy<Value = Value> {
    prop::collection::vec(word(), 0..3).prop_map(|managers| {
        managers
            .iter()
            .map(|manager| json!({"manager": manager, "operation": "Update", "fieldsV1": {"f:metadata": {"f:labels": {".": {}}}}}))
            .collect()
    })
}

/// Metadata, with every field there or not.
pub(crate) fn metadata() -> impl Strategy<Value = Value> {
    let maybe = |value: BoxedStrategy<Value>| prop::option::of(value);
    let map = || prop::collection::btree_map(word(), word(), 0..4).prop_map(|map| json!(map)).boxed();
    let owner =
        (word(), word(), any::<Option<bool>>(), any::<bool>()).prop_map(|(name, uid, controller, blocks)| {
            let mut owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": uid});
            if let Some(controller) = controller {
                owner["controller"] = json!(controller);
                owner["blockOwnerDeletion"] = json!(blocks);
            }
            owner
        });
    let parts = (
        (
            maybe(word().prop_map(Value::from).boxed()),
            word(),
            maybe(any::<i64>().prop_map(Value::from).boxed()),
        ),
        (maybe(map()), maybe(map()), maybe(managed_fields().boxed())),
        maybe(prop::collection::vec(word(), 0..3).prop_map(|list| json!(list)).boxed()),
        maybe(prop::collection::vec(owner, 0..3).prop_map(|list| json!(list)).boxed()),
        maybe(Just(json!("2026-11-30T18:05:48Z")).boxed()),
    );
    parts.prop_map(
        |((namespace, name, generation), (labels, annotations, managed), finalizers, owners, deleted)| {
            let mut meta = Map::new();
            meta.insert("name".to_owned(), Value::from(format!("n{name}")));
            meta.insert("uid".to_owned(), json!("9b1b-7"));
            meta.insert("resourceVersion".to_owned(), json!("401"));
            for (field, value) in [
                ("namespace", namespace),
                ("generation", generation),
                ("labels", labels),
                ("annotations", annotations),
                ("managedFields", managed),
                ("finalizers", finalizers),
                ("ownerReferences", owners),
                ("deletionTimestamp", deleted),
            ] {
                if let Some(value) = value {
                    meta.insert(field.to_owned(), value);
                }
            }
            Value::Object(meta)
        },
    )
}

fn container() -> impl Strategy<Value = Value> {
    let env = prop::collection::vec((word(), word()), 0..4);
    (word(), env, prop::collection::vec(word(), 0..4)).prop_map(|(name, env, args)| {
        let env: Vec<_> = env.into_iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        json!({"name": name, "image": "busybox", "args": args, "env": env, "resources": {}, "managedFields": [1]})
    })
}

/// A Pod as a list has it or a watch has it, `managedFields` also where it is no metadata.
pub(crate) fn pod() -> impl Strategy<Value = Value> {
    (metadata(), prop::collection::vec(container(), 0..6), any::<bool>()).prop_map(|(metadata, containers, typed)| {
        let mut pod = json!({
            "metadata": metadata,
            "spec": {"containers": containers, "unknownField": {"metadata": {"managedFields": [[], [1, 2]]}, "list": [{"metadata": {"managedFields": [1]}}]}, "tolerations": [{}, {}, {}]},
            "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}]},
        });
        if typed {
            pod["apiVersion"] = json!("v1");
            pod["kind"] = json!("Pod");
        }
        pod
    })
}

/// Every object of the recorded exchanges: list items, watch events, answers to writes.
pub(crate) fn recorded() -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../informer-http/tests/wire");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut objects = Vec::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "response")) {
        let bytes = std::fs::read(path).unwrap();
        for line in String::from_utf8_lossy(&bytes).lines() {
            let Ok(mut value) = serde_json::from_str::<Value>(line) else { continue };
            match value.get_mut("items").map(Value::take) {
                Some(Value::Array(items)) => objects.extend(items),
                _ => match value.get_mut("object").map(Value::take) {
                    Some(object) => objects.push(object),
                    None => objects.push(value),
                },
            }
        }
    }
    objects.retain(|object| object["metadata"]["name"].as_str().is_some_and(|name| !name.is_empty()));
    assert!(objects.len() > 20, "the recordings are there");
    objects
}

/// `value` without its managedFields.
pub(crate) fn stripped(mut value: Value) -> Value {
    if let Some(Value::Object(meta)) = value.get_mut("metadata") {
        meta.remove("managedFields");
    }
    value
}
