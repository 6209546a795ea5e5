//! Lazy objects, against typed decoding and against `serde_json`'s own value.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_core::DynamicObject;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::json::sample;

const PLAIN: DecodeOptions = DecodeOptions { keep_managed_fields: false };

fn lazy(text: &str) -> Lazy<Pod> {
    Lazy::from_json(text, PLAIN).unwrap()
}

/// What [`Lazy`] says of `text` is what the typed object and the value say of it.
fn agrees(text: &str) -> Result<(), TestCaseError> {
    for keep in [false, true] {
        let options = DecodeOptions::default().keep_managed_fields(keep);
        let lazy = Lazy::<DynamicObject>::from_json(text, options).unwrap();
        let value: Value = serde_json::from_str(text).unwrap();
        let value = if keep { value } else { sample::stripped(value) };
        prop_assert_eq!(serde_json::from_str::<Value>(lazy.json()).unwrap(), value.clone(), "{}", text);
        prop_assert!(!lazy.json().contains(['\n', '\t']), "whitespace outside strings: {}", lazy.json());

        let typed = DynamicObject::decode_str(text, options).unwrap();
        prop_assert_eq!(&lazy.decode().unwrap(), &typed);
        let (ours, theirs) = (Object::meta(&lazy), Object::meta(&typed));
        prop_assert_eq!(ours.key(), theirs.key());
        prop_assert_eq!(ours.uid, theirs.uid);
        prop_assert_eq!(ours.resource_version, theirs.resource_version);
        prop_assert!(ours.labels.iter().eq(theirs.labels.iter()));
        prop_assert_eq!(ours.labels.len(), theirs.labels.len());
        for (key, label) in theirs.labels.iter() {
            prop_assert_eq!(ours.labels.get(key), Some(label));
        }
        prop_assert_eq!(ours.labels.get("no such label"), None);

        let meta = &typed.metadata;
        prop_assert_eq!(lazy.generation(), meta.generation);
        prop_assert!(lazy.finalizers().eq(meta.finalizers.iter().flatten().map(String::as_str)));
        prop_assert_eq!(lazy.deletion_timestamp(), value["metadata"]["deletionTimestamp"].as_str());
        let annotations = lazy.annotations().unwrap();
        let annotations = annotations.iter().map(|(key, value)| (&**key, &**value));
        prop_assert!(
            annotations.eq(meta.annotations.iter().flatten().map(|(k, v)| (k.as_str(), v.as_str())))
        );
        let owners = meta.owner_references.iter().flatten().map(|owner| OwnerView {
            api_version: &owner.api_version,
            kind: &owner.kind,
            name: &owner.name,
            uid: &owner.uid,
            controller: owner.controller.unwrap_or(false),
            block_owner_deletion: owner.block_owner_deletion.unwrap_or(false),
        });
        prop_assert!(lazy.owner_references().eq(owners));

        let copy = lazy.clone();
        prop_assert_eq!((copy.json(), copy.key()), (lazy.json(), lazy.key()));
        let by_serde = <Lazy<DynamicObject> as Representation>::decode(
            &mut serde_json::Deserializer::from_str(text),
            options,
        )
        .unwrap();
        prop_assert_eq!((by_serde.json(), &by_serde.spans), (lazy.json(), &lazy.spans));
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_lazy_object_says_what_the_typed_one_says(pod in sample::pod(), mut style in sample::style()) {
        let mut text = String::new();
        style.write(&pod, &mut text);
        agrees(&text)?;
    }

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        let _ = Lazy::<Pod>::from_json(&text, PLAIN);
    }

    #[test]
    fn any_damage_to_an_object_is_answered(
        pod in sample::pod(), mut style in sample::style(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let mut text = String::new();
        style.write(&pod, &mut text);
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        if let Ok(lazy) = Lazy::<DynamicObject>::from_slice(&bytes, PLAIN) {
            prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(lazy.json()).is_ok());
            let _ = (lazy.decode(), lazy.annotations(), lazy.labels().iter().count(), lazy.owner_references().count());
        }
    }

    #[test]
    fn metadata_of_any_shape_is_answered(text in nearly_metadata()) {
        if let Ok(lazy) = Lazy::<Pod>::from_json(&text, PLAIN) {
            let value: Value = serde_json::from_str(lazy.json()).unwrap();
            prop_assert_eq!(value, sample::stripped(serde_json::from_str(&text).unwrap()));
            let _ = (lazy.decode(), lazy.annotations());
        }
    }
}

/// Objects with well-known keys and any small values, keys repeated.
fn nearly_metadata() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "name",
        "managedFields",
        "managed\\u0046ields",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
        "generation",
        "uid",
    ]);
    let value = prop::sample::select(vec![
        "null",
        "\"a\"",
        "\"\\u0061\"",
        "1",
        "1.5",
        "[]",
        "{}",
        "[\"a\"]",
        "{\"a\":\"b\"}",
        "{\"b\":\"1\",\"a\":\"2\",\"b\":\"3\"}",
        "[{\"name\":\"o\"}]",
        "[{\"controller\":true,\"controller\":null}]",
        " true ",
    ]);
    prop::collection::vec((key, value), 0..5).prop_map(|members| {
        let members: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\" :{value}")).collect();
        format!(
            "{{\"metadata\": {{\"name\":\"n\"{}{} }}}}",
            if members.is_empty() { "" } else { "," },
            members.join(" ,")
        )
    })
}

#[test]
fn recorded_objects_say_what_the_typed_ones_say() {
    for object in sample::recorded() {
        agrees(&object.to_string()).unwrap();
    }
}

#[test]
fn d9_managed_fields_are_dropped_with_one_comma_wherever_they_stand() {
    for (text, want) in [
        (r#"{"managedFields":[],"name":"a"}"#, r#"{"name":"a"}"#),
        (r#"{"name":"a","managedFields":[]}"#, r#"{"name":"a"}"#),
        (r#"{"name":"a","managedFields":[ 1 ],"uid":"u"}"#, r#"{"name":"a","uid":"u"}"#),
        (r#"{"managedFields":[],"managedFields" : [] , "name":"a","managedFields":{}}"#, r#"{"name":"a"}"#),
        (r#" { "managed\u0046ields" : [] , "name" : "a" } "#, r#"{"name":"a"}"#),
    ] {
        let text = format!(r#"{{"\u006detadata":{text}}}"#);
        assert_eq!(lazy(&text).json(), format!(r#"{{"\u006detadata":{want}}}"#));
    }
    let kept = DecodeOptions::default().keep_managed_fields(true);
    let text = r#"{"metadata":{"managedFields":[{"manager":"m"}],"name":"a"}}"#;
    assert_eq!(Lazy::<Pod>::from_json(text, kept).unwrap().json(), text);
}

#[test]
fn of_repeated_keys_the_last_one_counts() {
    let lazy = lazy(
        r#"{"metadata":{"name":"a","generation":1,"labels":{"x":"1"}},"metadata":{"name":"b","name":"c","uid":"u","uid":null,
            "labels":{"z":"1","y":"2","z":"3"},"finalizers":["f"],"finalizers":["g"]}}"#,
    );
    assert_eq!((lazy.name(), lazy.uid(), lazy.generation()), ("c", "", None));
    assert_eq!(lazy.labels().iter().collect::<Vec<_>>(), [("y", "2"), ("z", "3")]);
    assert_eq!(lazy.finalizers().collect::<Vec<_>>(), ["g"]);
    let typed = lazy.decode().unwrap().metadata;
    assert_eq!((typed.name.as_deref(), typed.labels.unwrap().len()), (Some("c"), 2));
}

#[test]
fn an_object_without_a_name_or_with_wrong_metadata_is_an_error() {
    for (text, want) in [
        ("{}", "an object without metadata.name"),
        (r#"{"metadata":null}"#, "an object without metadata.name"),
        (r#"{"metadata":{"name":""}}"#, "an object without metadata.name"),
        (r#"{"metadata":{"name":null}}"#, "an object without metadata.name"),
        (r#"{"metadata":{"name":7}}"#, "an object cannot be read: name is not a string at byte 20"),
        (r#"{"metadata":[]}"#, "metadata is not an object at byte 12"),
        (r#"{"metadata":{"name":"a","labels":{"x":1}}}"#, "a label is not a string"),
        (r#"{"metadata":{"name":"a","labels":[]}}"#, "labels are not an object"),
        (r#"{"metadata":{"name":"a","generation":1.5}}"#, "generation is not an integer"),
        (r#"{"metadata":{"name":"a","finalizers":{}}}"#, "finalizers are not an array"),
        (r#"{"metadata":{"name":"\ud800"}}"#, "an escape that is no character"),
        (r#"{"metadata":{"name":"a"}} x"#, "expected the end of the text at byte 26"),
        (r#"{"metadata":{"name":"a"}"#, "expected `,` or `}` at byte 24"),
        ("[]", "expected an object at byte 0"),
        ("", "expected an object at byte 0"),
    ] {
        let error = Lazy::<Pod>::from_json(text, PLAIN).unwrap_err();
        assert_eq!((error.kind(), error.stage()), (ErrorKind::Decode, Some(Stage::Decode)));
        assert!(error.to_string().contains(want), "{text}: {error}");
    }
    assert!(
        Lazy::<Pod>::from_slice(b"{\"\xff\":1}", PLAIN)
            .unwrap_err()
            .to_string()
            .contains("not UTF-8 at byte 2")
    );
}

#[test]
fn a_body_that_does_not_fit_names_the_object_and_quotes_nothing() {
    let lazy = lazy(r#"{"metadata":{"namespace":"ns","name":"a"},"spec":{"containers":"hunter2"}}"#);
    let error = lazy.decode().unwrap_err();
    let text = format!("{error} {error:?} {}", error.chain());
    assert!(text.starts_with("ns/a as Pod does not decode: invalid type: string, expected"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn debug_tells_the_object_and_not_its_content() {
    let text = json!({"metadata": {"name": "a", "uid": "u", "annotations": {"k": "hunter2"}}, "data": {"password": "hunter2"}}).to_string();
    let shown = format!("{:?}", Lazy::<ConfigMap>::from_json(&text, PLAIN).unwrap());
    assert!(shown.starts_with(r#"Lazy { kind: ConfigMap, key: "a", uid: "u""#), "{shown}");
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[test]
fn list_items_without_a_type_decode() {
    let lazy = lazy(r#"{"metadata":{"name":"a"}}"#);
    assert_eq!(lazy.decode().unwrap().metadata.name.as_deref(), Some("a"));
}

#[test]
fn another_format_is_refused_in_words() {
    use serde::de::IntoDeserializer;
    let map: std::collections::BTreeMap<String, String> = [("metadata".to_owned(), "x".to_owned())].into();
    let from_map: serde::de::value::MapDeserializer<'_, _, serde::de::value::Error> = map.into_deserializer();
    let from_map = <Lazy<Pod> as Representation>::decode(from_map, PLAIN).unwrap_err();
    let from_text: serde::de::value::StrDeserializer<'_, serde::de::value::Error> = "x".into_deserializer();
    let from_text = <Lazy<Pod> as Representation>::decode(from_text, PLAIN).unwrap_err();
    for error in [from_map, from_text] {
        assert!(error.to_string().contains("serde_json's deserializers only"), "{error}");
    }
    let from_value = <Lazy<Pod> as Representation>::decode(json!({"metadata": {"name": "a"}}), PLAIN);
    assert_eq!(from_value.unwrap().name(), "a");
}

#[test]
fn a_lazy_object_crosses_threads_whatever_its_kind() {
    struct Local(#[expect(dead_code, reason = "only its type counts")] std::rc::Rc<()>);
    fn crosses<T: Send + Sync + Clone + fmt::Debug + Object>() {}
    crosses::<Lazy<Local>>();
}

#[test]
fn memory_is_two_exact_allocations() {
    let text =
        r#"{"metadata":{"name":"a\u0062","namespace":"ns","labels":{"x":"1","y":"2"},"finalizers":["f"]}}"#;
    let lazy = lazy(text);
    assert_eq!(lazy.name(), "ab");
    assert_eq!(lazy.text.len(), text.len() + "ab".len());
    assert_eq!(lazy.spans.len(), 2 * 2 + 1);
    assert!(size_of::<Lazy<Pod>>() <= 120, "{}", size_of::<Lazy<Pod>>());
}
