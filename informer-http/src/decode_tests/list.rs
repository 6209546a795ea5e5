//! Lists.

use std::sync::Arc;

use informer_core::kube_core::DynamicObject;
use informer_core::{Error, ErrorKind, Lazy, ListEnd, Representation, Stage};
use k8s_openapi::api::core::v1::ConfigMap;

use super::{Pieces, Recorder, config_map, expecting, list, settings, transport};
use crate::decode::DecodeSettings;
use crate::list::read_list;

fn page(items: &str) -> String {
    format!(
        r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"7"}},"items":{items}}}"#
    )
}

fn failure(body: &str) -> Error {
    let error = list::<ConfigMap>(&mut body.as_bytes(), &settings()).1.unwrap_err();
    assert_eq!(error.stage(), Some(Stage::List), "{error}");
    error
}

fn told(body: &str) -> Vec<String> {
    let (told, end) = list::<ConfigMap>(&mut body.as_bytes(), &settings());
    assert_eq!(end.unwrap().resource_version, "7");
    told
}

#[test]
fn the_fields_come_in_any_order() {
    let fields = [
        r#""kind":"ConfigMapList""#.to_owned(),
        r#""apiVersion":"v1""#.to_owned(),
        r#""metadata":{"continue":"t","resourceVersion":"7","remainingItemCount":3}"#.to_owned(),
        format!("\"items\" : [{} , \n{}]", config_map("a", 1), config_map("b", 2)),
    ];
    for turn in 0..24 {
        let mut left: Vec<_> = fields.iter().map(String::as_str).collect();
        let (a, b, c) = (turn % 4, turn / 4 % 3, turn / 12);
        let order = [left.remove(a), left.remove(b), left.remove(c), left.remove(0)];
        let body = format!(" {{\n{}\r\n}}\n", order.join(",\n"));
        let (told, end) = list::<ConfigMap>(&mut body.as_bytes(), &settings());
        assert_eq!(told, ["item n/a@1", "item n/b@2"], "{body}");
        let expected = ListEnd { resource_version: "7".into(), continue_token: Some("t".into()) };
        assert_eq!(end.unwrap(), expected);
    }
}

#[test]
fn f_22_items_null_absent_and_empty_are_equal() {
    for body in [page("null"), page("[]"), page("[ ]"), page("[]").replace(",\"items\":[]", "")] {
        assert!(told(&body).is_empty(), "{body}");
    }
    for items in ["7", "{}", "\"\"", "nil"] {
        assert_eq!(failure(&page(items)).kind(), ErrorKind::Decode, "{items}");
    }
}

#[test]
fn r_42_what_is_no_list_is_an_error() {
    for body in [
        page("[]").replace("ConfigMapList", "Table"),
        page("[]").replace("ConfigMapList", "ConfigMap"),
        page("[]").replace(r#""kind":"ConfigMapList","#, ""),
        config_map("a", 1),
        "404 page not found\n".into(),
        "<html></html>".into(),
        "[]".into(),
        "\"list\"".into(),
        "{}".into(),
    ] {
        assert_eq!(failure(&body).kind(), ErrorKind::Decode, "{body}");
    }
    assert_eq!(failure("<html>").to_string(), "expected a list, found `<`");
}

#[test]
fn d_18_a_status_in_place_of_a_list_is_its_error() {
    let status = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410,"details":null}"#;
    let error = failure(status);
    assert!(error.is_gone());
    assert_eq!(error.to_string(), "too old");
    assert!(failure(r#"{"code":403,"apiVersion":"v1","kind":"Status"}"#).is_forbidden());
}

#[test]
fn a_list_without_a_version_is_an_error() {
    for metadata in ["{}", "null", r#"{"resourceVersion":""}"#, r#"{"resourceVersion":null}"#, "7"] {
        let error = failure(&page("[]").replace(r#"{"resourceVersion":"7"}"#, metadata));
        assert_eq!(error.kind(), ErrorKind::Decode, "{metadata}");
    }
    let error = failure(r#"{"kind":"ConfigMapList","apiVersion":"v1","items":[]}"#);
    assert!(error.to_string().contains("metadata.resourceVersion"), "{error}");
    let null = page("[]").replace(r#""7"}"#, r#""7","continue":""}"#);
    let (_, end) = list::<ConfigMap>(&mut null.as_bytes(), &settings());
    assert_eq!(end.unwrap().continue_token, None);
}

#[test]
fn f_97_a_list_that_is_cut_anywhere_is_an_error() {
    let body = page(&format!("[{},{}]", config_map("a", 1), config_map("b", 2)));
    for end in 0..body.len() {
        let cut = &body.as_bytes()[..end];
        let error = list::<ConfigMap>(&mut Pieces::of([cut]), &settings()).1.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Network, "cut at {end}: {error}");
        let silent = Error::new(ErrorKind::Silent, "nothing came");
        let error =
            list::<ConfigMap>(&mut Pieces::of([cut]).then(transport(silent)), &settings()).1.unwrap_err();
        assert_eq!((error.kind(), error.stage()), (ErrorKind::Silent, Some(Stage::List)));
    }
    let late = Pieces::of([body.as_bytes()]).then(std::io::ErrorKind::UnexpectedEof);
    let error = list::<ConfigMap>(&mut { late }, &settings()).1.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Network, "the body did not end where the list did");
}

#[test]
fn f_97_what_is_after_the_list_or_wrong_in_it_is_an_error() {
    let body = page(&format!("[{}]", config_map("a", 1)));
    for bad in [
        format!("{body}{{}}"),
        format!("{body} x"),
        page("[1,]"),
        page("[,]"),
        page("[{\"a\" 1}]"),
        page("[{\"a\":1]}"),
        page("[{}{}]"),
        page("[").replace(']', ""),
        body.replace("\"items\":", "\"items\" "),
        body.replace("\"v1\",\"metadata\"", "\"v1\" \"metadata\""),
        body.replace("\"kind\"", "kind"),
        body.replace("ConfigMapList\"", "ConfigMapList\",\"x\":tru"),
    ] {
        let error = failure(&bad);
        assert!(matches!(error.kind(), ErrorKind::Decode | ErrorKind::Network), "{bad}");
    }
}

#[test]
fn f_21_a_bad_item_is_told_with_its_identity_and_the_others_are_items() {
    let bad =
        r#"{"metadata":{"name":"bad","namespace":"n","uid":"u","resourceVersion":"6"},"data":{"k":-5}}"#;
    let nameless = r#"{"metadata":{"namespace":"n","resourceVersion":"6"}}"#;
    let pod = config_map("pod", 3).replace("ConfigMap", "Pod");
    let body = page(&format!("[{},{bad},{nameless},null,{pod},{}]", config_map("a", 1), config_map("b", 2)));
    let expected = [
        "item n/a@1",
        "bad n/bad@6 decode",
        "bad ?@6 decode",
        "bad ?@ decode",
        "bad n/pod@3 decode",
        "item n/b@2",
    ];
    assert_eq!(told(&body), expected);

    let mut damaged = page(&format!("[{},{}]", config_map("a", 1), config_map("b", 2))).into_bytes();
    let at = damaged.iter().position(|byte| *byte == 0xf0).unwrap();
    damaged[at] = 0xff;
    let (told, end) = list::<ConfigMap>(&mut damaged.as_slice(), &settings());
    assert_eq!(told, ["bad n/a@1 decode", "item n/b@2"]);
    end.unwrap();
}

#[test]
fn f_21_the_error_names_the_object_and_the_field() {
    struct Errors(Vec<Error>);
    impl<T> informer_core::ListSink<T> for Errors {
        fn have(&self, _: informer_core::KeyRef<'_>, _: &str, _: &str) -> Option<Arc<T>> {
            None
        }
        fn may_have(&self) -> bool {
            false
        }
        fn item(&mut self, _: T) {}
        fn unchanged(&mut self, _: Arc<T>) {}
        fn bad_item(&mut self, bad: informer_core::BadObject) {
            self.0.push(bad.error);
        }
    }
    fn error<T: Representation>(item: &str) -> String {
        let mut errors = Errors(Vec::new());
        read_list::<T>(&mut page(&format!("[{item}]")).as_bytes(), &settings(), &mut errors).unwrap();
        assert_eq!(errors.0[0].stage(), Some(Stage::Decode));
        errors.0[0].to_string()
    }
    let bad = r#"{"metadata":{"name":"bad","namespace":"n"},"data":{"k":-5}}"#;
    assert_eq!(
        error::<ConfigMap>(bad),
        "n/bad: data.k does not decode: invalid type: integer, expected a string at line 1 column 57"
    );
    let labels = r#"{"metadata":{"name":"bad","namespace":"n","labels":5}}"#;
    let text = "n/bad: an object cannot be read: labels are not an object at byte 51";
    assert_eq!(error::<Lazy<ConfigMap>>(labels), text);
    let nameless = r#"{"metadata":{"namespace":"n"}}"#;
    assert_eq!(
        error::<ConfigMap>(nameless),
        "an object without a readable key: the object has no metadata.name"
    );
    let deep = format!(
        r#"{{"metadata":{{"name":"deep"}},"spec":{}}}"#,
        "{\"a\":".repeat(1000) + "1" + &"}".repeat(1000)
    );
    let text = error::<DynamicObject>(&deep);
    assert!(
        text.starts_with("deep: spec.a.a.a") && text.contains("recursion limit exceeded") && text.len() < 140,
        "{text}"
    );
    let wide = r#"{"metadata":{"name":"wide"},"spec":{"x":1e999}}"#;
    let text = error::<DynamicObject>(wide);
    assert!(text.starts_with("wide: spec.x does not decode: number out of range"), "{text}");
}

#[test]
fn d_11_an_oversized_item_is_bad_and_not_held() {
    let small = DecodeSettings { max_frame: 1000, ..settings() };
    let big = config_map("big", 5).replace("日本", &"日".repeat(2000));
    let body = page(&format!("[{},{big},{}]", config_map("a", 1), config_map("b", 2)));
    for piece in [1, 10, 1000, 1 << 20] {
        let (told, end) = list::<ConfigMap>(&mut Pieces::of(body.as_bytes().chunks(piece)), &small);
        assert_eq!(told, ["item n/a@1", "bad n/big@5 frame_too_large", "item n/b@2"], "pieces of {piece}");
        end.unwrap();
    }
    let late = r#"{"data":{"k":"x"},"metadata":{"name":"big"}}"#.replace('x', &"x".repeat(2000));
    let (told, end) = list::<ConfigMap>(&mut page(&format!("[{late}]")).as_bytes(), &small);
    assert_eq!(told, ["bad ?@ frame_too_large"]);
    end.unwrap();
    let endless = page("[{\"k\":\"") + &"x".repeat(20_000);
    let error = list::<ConfigMap>(&mut Pieces::of(endless.as_bytes().chunks(100)), &small).1.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FrameTooLarge);
}

#[test]
fn d_5_an_item_that_is_stored_is_not_built() {
    let stored: ConfigMap = serde_json::from_str(&config_map("b", 2)).unwrap();
    let stored = Arc::new(stored);
    let mut recorder = Recorder::new();
    recorder.stored.push(Arc::clone(&stored));
    let body = page(&format!("[{},{},{}]", config_map("a", 1), config_map("b", 2), config_map("b", 3)));
    read_list(&mut body.as_bytes(), &settings(), &mut recorder).unwrap();
    assert_eq!(recorder.told, ["item n/a@1", "unchanged n/b@2", "item n/b@3"]);
    assert!(Arc::ptr_eq(&recorder.objects[1], &stored));
}

#[test]
fn dynamic_items_learn_their_type_from_the_list() {
    let types = |body: &str, settings: &DecodeSettings| {
        let mut recorder = Recorder::<DynamicObject>::new();
        read_list(&mut body.as_bytes(), settings, &mut recorder).unwrap();
        let types = recorder.objects[0].types.clone();
        types.map(|types| format!("{} {}", types.api_version, types.kind))
    };
    let items = r#"[{"metadata":{"name":"a"}}]"#;
    let before = page(items);
    assert_eq!(types(&before, &settings()).as_deref(), Some("v1 ConfigMap"));
    let after = format!(
        r#"{{"apiVersion":"v1","items":{items},"kind":"ConfigMapList","metadata":{{"resourceVersion":"7"}}}}"#
    );
    assert_eq!(types(&after, &settings()), None);
    assert_eq!(types(&after, &expecting("v1", "ConfigMap")).as_deref(), Some("v1 ConfigMap"));
    let own = page(r#"[{"kind":"Own","apiVersion":"x/v1","metadata":{"name":"a"}}]"#);
    assert_eq!(types(&own, &settings()).as_deref(), Some("x/v1 Own"));
}

#[test]
fn r_42_a_list_of_another_type_is_an_error() {
    let untyped = page(r#"[{"metadata":{"name":"a"}}]"#);
    let end = |body: &str, settings: &DecodeSettings| list::<DynamicObject>(&mut body.as_bytes(), settings).1;
    assert!(end(&untyped, &expecting("v1", "ConfigMap")).is_ok());
    let error = end(&untyped, &expecting("v1", "Pod")).unwrap_err();
    assert_eq!(error.to_string(), "expected a list of v1 Pod, found v1 ConfigMapList");
    assert!(end(&untyped, &expecting("v2", "ConfigMap")).is_err());
    // A custom resource names its list as it likes.
    let named = page(r#"[{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}]"#)
        .replace("ConfigMapList", "MapsList");
    assert!(end(&named, &expecting("v1", "ConfigMap")).is_ok());
    // An empty one has no items to say so; where no custom resource can be, it is of the wrong kind.
    let empty = page("[]").replace("ConfigMapList", "SecretList");
    assert!(end(&page("[]"), &expecting("v1", "ConfigMap")).is_ok());
    let error = end(&empty, &expecting("v1", "ConfigMap")).unwrap_err();
    assert_eq!(error.to_string(), "expected a list of v1 ConfigMap, found v1 SecretList");
    let custom = empty.replace("\"v1\"", "\"example.com/v1\"");
    assert!(end(&custom, &expecting("example.com/v1", "ConfigMap")).is_ok());
}
