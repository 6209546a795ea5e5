//! Decoding of typed objects, against plain serde.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_core::{DynamicObject, PartialObjectMeta};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::json::sample;

/// Both ways to decode, plain decoding and then the removal of managedFields: all the same.
fn agrees<K>(text: &str) -> Result<(), TestCaseError>
where
    K: kube_core::Resource + DeserializeOwned + Serialize + Send + Sync + 'static,
{
    let plain = serde_json::from_str::<K>(text);
    for keep in [false, true] {
        let options = DecodeOptions::default().keep_managed_fields(keep);
        let by_text = K::decode_str(text, options);
        let by_serde = K::decode(&mut serde_json::Deserializer::from_str(text), options);
        let by_reader = K::decode(&mut serde_json::Deserializer::from_reader(text.as_bytes()), options);
        let Ok(plain) = &plain else {
            prop_assert!(by_text.is_err() && by_serde.is_err() && by_reader.is_err(), "{}", text);
            continue;
        };
        let mut want: K = serde_json::from_value(serde_json::to_value(plain).unwrap()).unwrap();
        if !keep {
            want.meta_mut().managed_fields = None;
        }
        let want = serde_json::to_value(&want).unwrap();
        for got in [by_text.unwrap(), by_serde.unwrap(), by_reader.unwrap()] {
            prop_assert_eq!(&serde_json::to_value(&got).unwrap(), &want);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn d9_pods_decode_as_without_managed_fields(pod in sample::pod(), mut style in sample::style()) {
        let mut text = String::new();
        style.write(&pod, &mut text);
        agrees::<Pod>(&text)?;
        agrees::<DynamicObject>(&text)?;
        agrees::<PartialObjectMeta<Pod>>(&text)?;
    }

    #[test]
    fn d9_config_maps_decode_as_without_managed_fields(metadata in sample::metadata(), mut style in sample::style()) {
        let mut text = String::new();
        style.write(&json!({"metadata": metadata, "data": {"a": "b"}}), &mut text);
        agrees::<ConfigMap>(&text)?;
    }
}

#[test]
fn d9_recorded_objects_decode_as_without_managed_fields() {
    let mut managed = 0;
    for object in sample::recorded() {
        managed += usize::from(object["metadata"]["managedFields"].is_array());
        let text = object.to_string();
        agrees::<DynamicObject>(&text).unwrap();
        agrees::<ConfigMap>(&text).unwrap();
        agrees::<Pod>(&text).unwrap();
    }
    assert!(managed > 10, "{managed}");
}

#[test]
fn d9_managed_fields_are_skipped_however_the_keys_are_written() {
    let text = r#"{"\u006detadata": {"name": "a", "managed\u0046ields": [{"manager": "x"}]}}"#;
    let pod = Pod::decode_str(text, DecodeOptions::default()).unwrap();
    assert_eq!((pod.metadata.name.as_deref(), pod.metadata.managed_fields), (Some("a"), None));
    let dynamic = DynamicObject::decode_str(text, DecodeOptions::default()).unwrap();
    assert!(dynamic.metadata.managed_fields.is_none());
}

#[test]
fn vectors_have_exactly_the_room_they_need() {
    let lists: Vec<Value> =
        (0..6).map(|n| (0..n).map(|_| json!({"name": "c", "args": vec!["x"; n]})).collect()).collect();
    for list in lists {
        let text = json!({"metadata": {"name": "p", "managedFields": [{}, {}]}, "unknown": [[1, 2], {"a": [3]}], "spec": {"containers": list}});
        let pod = Pod::decode_str(&text.to_string(), DecodeOptions::default()).unwrap();
        let containers = pod.spec.unwrap().containers;
        assert_eq!(containers.capacity(), containers.len());
        for container in containers {
            let args = container.args.unwrap();
            assert_eq!(args.capacity(), args.len());
        }
    }
}

#[test]
fn vectors_behind_skipped_fields_have_exactly_the_room_they_need() {
    let text =
        r#"{"metadata": {"managedFields": [[1], {"a": []}], "name": "p", "ownerReferences": [{}, {}, {}]}}"#;
    let pod = Pod::decode_str(text, DecodeOptions::default()).unwrap();
    let owners = pod.metadata.owner_references.unwrap();
    assert_eq!((owners.len(), owners.capacity()), (3, 3));
}

#[test]
fn vectors_of_a_dynamic_object_have_exactly_the_room_they_need() {
    let text = r#"{"metadata": {"name": "p"}, "spec": {"list": [[1], 2, 3]}}"#;
    for object in [
        DynamicObject::decode_str(text, DecodeOptions::default()).unwrap(),
        DynamicObject::decode(&mut serde_json::Deserializer::from_str(text), DecodeOptions::default())
            .unwrap(),
    ] {
        let Value::Array(list) = &object.data["spec"]["list"] else { panic!("{object:?}") };
        assert_eq!(list.capacity(), 3);
        let Value::Array(inner) = &list[0] else { panic!("{object:?}") };
        assert_eq!(inner.capacity(), 1);
    }
}

#[test]
fn the_error_names_the_type_and_quotes_nothing() {
    let error =
        Pod::decode_str(r#"{"metadata": {"name": "a"}, "spec": "hunter2"}"#, DecodeOptions::default())
            .unwrap_err();
    assert_eq!((error.kind(), error.stage()), (ErrorKind::Decode, Some(Stage::Decode)));
    let text = format!("{error} {} {error:?}", error.chain());
    assert!(text.contains("Pod does not decode: invalid type: string, expected"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
    let error = Pod::decode_str("{} {}", DecodeOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "Pod does not decode: trailing characters at line 1 column 4");
}
