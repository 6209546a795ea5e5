//! Watch streams.

use std::sync::Arc;

use informer_core::kube_core::DynamicObject;
use informer_core::{Error, ErrorKind, Stage, WatchEnd};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};

use super::{Pieces, Recorder, config_map, event, expecting, settings, transport, watch};
use crate::decode::DecodeSettings;
use crate::event::read_watch;

fn told(stream: &str) -> Vec<String> {
    let (told, end) = watch::<ConfigMap>(&mut stream.as_bytes(), &settings());
    assert_eq!(end.unwrap(), WatchEnd::Closed);
    told
}

fn failure(stream: &str) -> (Vec<String>, Error) {
    let (told, end) = watch::<ConfigMap>(&mut stream.as_bytes(), &settings());
    let error = end.unwrap_err();
    assert_eq!(error.stage(), Some(Stage::Watch), "{error}");
    (told, error)
}

#[test]
fn w_1_f_19_values_decode_however_they_are_separated() {
    let a = event("ADDED", &config_map("a", 1));
    let b = event("MODIFIED", &config_map("a", 2));
    let c = event("DELETED", &config_map("a", 3));
    let (a, b, c) = (a.trim_end(), b.trim_end(), c.trim_end());
    let expected = ["Added n/a@1", "Modified n/a@2", "Deleted n/a@3"];
    for stream in [
        format!("{a}\n{b}\n{c}\n"),
        format!("{a}\n{b}\n{c}"),
        format!("{a}{b}{c}"),
        format!("{a}{b}\n{c}\n"),
        format!("\r\n\r\n{a}\r\n\n\r\n{b} {c}\r\n"),
        format!("{}\n{b}{}", a.replace(':', ":\n").replace(",\"", " ,\r\n\t\""), c.replace(":{", ":\n{\n")),
    ] {
        assert_eq!(told(&stream), expected, "{stream}");
    }
}

#[test]
fn w_1_the_type_may_come_last_and_not_alone() {
    let object = config_map("a", 1);
    assert_eq!(told(&format!("{{\"object\":{object},\"type\":\"ADDED\"}}\n")), ["Added n/a@1"]);
    let beside = format!("{{\"type\":\"ADDED\",\"object\":{object},\"x\":[{{}}]}}\n");
    assert_eq!(told(&beside), ["Added n/a@1"]);
    let spaced = format!(" {{ \"type\" : \"ADDED\" , \"object\" : {object} }} \n");
    assert_eq!(told(&spaced), ["Added n/a@1"]);
}

#[test]
fn w_2_a_partial_last_frame_is_dropped() {
    let whole = event("ADDED", &config_map("a", 1));
    let cut = event("ADDED", &config_map("b", 2));
    for end in 1..cut.len() - 1 {
        let Some(cut) = cut.get(..end) else { continue };
        let broken = Error::new(ErrorKind::Network, "reset");
        for pieces in [
            Pieces::of([whole.as_bytes(), cut.as_bytes()]),
            Pieces::of([whole.as_bytes(), cut.as_bytes()]).then(std::io::ErrorKind::UnexpectedEof),
            Pieces::of([whole.as_bytes(), cut.as_bytes()]).then(transport(broken.clone())),
        ] {
            let (told, end) = watch::<ConfigMap>(&mut { pieces }, &settings());
            assert_eq!(told, ["Added n/a@1"]);
            assert_eq!(end.unwrap(), WatchEnd::Closed);
        }
    }
}

#[test]
fn w_2_whole_values_before_a_partial_one_are_told_without_a_newline_too() {
    let (a, b) = (event("ADDED", &config_map("a", 1)), event("ADDED", &config_map("b", 2)));
    let stream = format!("{}{}{{\"type\":", a.trim_end(), b.trim_end());
    assert_eq!(told(&stream), ["Added n/a@1", "Added n/b@2"]);
}

#[test]
fn f_97_the_end_is_told_by_what_ended_it() {
    let whole = event("ADDED", &config_map("a", 1));
    let silent =
        Pieces::of([whole.as_bytes(), b"{\"type"]).then(transport(Error::new(ErrorKind::Silent, "")));
    let (told, end) = watch::<ConfigMap>(&mut { silent }, &settings());
    assert_eq!((told.len(), end.unwrap()), (1, WatchEnd::Silent));

    let stopped = Pieces::of([whole.as_bytes()]).then(transport(Error::stopped()));
    let (told, end) = watch::<ConfigMap>(&mut { stopped }, &settings());
    assert_eq!(told.len(), 1);
    assert!(end.unwrap_err().is_stopped());

    let interrupted = Pieces::of([&b""[..]]).then(std::io::ErrorKind::Interrupted);
    assert_eq!(watch::<ConfigMap>(&mut { interrupted }, &settings()).1.unwrap(), WatchEnd::Closed);
}

#[test]
fn w_6_the_sink_can_ask_for_the_end() {
    let stream: String = (1..=5).map(|n| event("ADDED", &config_map("a", n))).collect();
    for stream in [stream.clone(), stream.replace('\n', "")] {
        let mut recorder = Recorder::<ConfigMap>::new();
        recorder.end_after = 2;
        let end = read_watch(&mut stream.as_bytes(), &settings(), &mut recorder);
        assert_eq!((recorder.told.len(), end.unwrap()), (2, WatchEnd::Ended));
    }
}

#[test]
fn f_16_a_stream_that_brings_bytes_but_no_event_can_be_ended() {
    let stream = event("ADDED", &config_map("a", 1));
    for endless in ["\n", "x"] {
        let start = if endless == "x" { r#"{"type":"ADDED","object":{"data":{"k":""# } else { "" };
        let pieces = [&*stream, start].into_iter().chain(std::iter::repeat_n(endless, 1000));
        let mut recorder = Recorder::<ConfigMap>::new();
        recorder.reads = 500;
        let end = read_watch(&mut Pieces::of(pieces.map(str::as_bytes)), &settings(), &mut recorder);
        assert_eq!((end.unwrap(), recorder.told.len()), (WatchEnd::Ended, 1), "{endless:?}");
    }
}

#[test]
fn w_3_w_4_what_is_no_event_ends_the_stream() {
    let before = event("ADDED", &config_map("a", 1));
    for bad in [
        "{\"type\":\"RENAMED\",\"object\":{}}\n",
        "{\"type\":7,\"object\":{}}\n",
        "{\"type\":\"ADDED\"}\n",
        "{\"object\":{}}\n",
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",}}}\n",
        "{\"type\":\"ADDED\" \"object\":{}}\n",
        "{\"type\":\"ADDED\",\"object\":nul}\n",
        "{}\n",
        "7\n",
        "<html>",
        "[]",
        "]",
    ] {
        let (told, error) = failure(&format!("{before}{bad}{before}"));
        assert_eq!(told, ["Added n/a@1"], "{bad}");
        assert_eq!(error.kind(), ErrorKind::Decode, "{bad}");
        assert!(error.to_string().contains("no event"), "{error}");
    }
    let (_, error) = failure("{\"type\":\"RENAMED\",\"object\":{\"data\":\"s3cret\"}}\n");
    assert!(
        error.to_string().contains("RENAMED") && !error.chain().to_string().contains("s3cret"),
        "{error}"
    );
}

#[test]
fn f_10_an_error_event_is_the_status_in_it() {
    for (status, kind) in [
        (
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}"#,
            ErrorKind::Gone,
        ),
        (r#"{"kind":"Status","code":429,"details":{"retryAfterSeconds":3}}"#, ErrorKind::TooManyRequests),
        (r#"{"code":500,"kind":"Status","details":{"causes":null}}"#, ErrorKind::Internal),
        (r#"{"kind":"Pod","metadata":{"name":"a"}}"#, ErrorKind::Decode),
        ("[]", ErrorKind::Decode),
    ] {
        assert_eq!(failure(&event("ERROR", status)).1.kind(), kind, "{status}");
    }
    let bare = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":403,\"reason\":\"Forbidden\"}\n";
    assert!(failure(bare).1.is_forbidden());
}

#[test]
fn w_7_f_14_bookmarks_need_nothing_but_a_version() {
    let object = |meta: &str| format!(r#"{{"kind":"Pod","metadata":{meta},"spec":{{"containers":null}}}}"#);
    let stream: String = [
        r#"{"resourceVersion":"500","creationTimestamp":null}"#,
        r#"{"resourceVersion":"501","annotations":null,"name":null}"#,
        r#"{"resourceVersion":"502","annotations":{"k8s.io/initial-events-end":"true"}}"#,
        r#"{"resourceVersion":"503","annotations":{"k8s.io/initial-events-end":"false"}}"#,
        r#"{}"#,
        "null",
    ]
    .iter()
    .map(|meta| event("BOOKMARK", &object(meta)))
    .collect();
    let (told, end) = watch::<Pod>(&mut stream.as_bytes(), &settings());
    assert_eq!(end.unwrap(), WatchEnd::Closed);
    assert_eq!(told, ["bookmark 500", "bookmark 501", "bookmark 502 end", "bookmark 503"]);
    let end = event("BOOKMARK", &object(r#"{"annotations":{"k8s.io/initial-events-end":"true"}}"#));
    assert_eq!(failure(&end).1.kind(), ErrorKind::Decode);
}

#[test]
fn f_21_a_bad_object_is_told_with_its_identity_and_the_stream_goes_on() {
    let bad =
        r#"{"metadata":{"name":"bad","namespace":"n","uid":"u","resourceVersion":"6"},"data":{"k":-5}}"#;
    let stream = [
        event("MODIFIED", bad),
        event("DELETED", bad),
        event("ADDED", r#"{"metadata":{"namespace":"n","resourceVersion":"7"}}"#),
        event("ADDED", r#"{"metadata":7}"#),
        event("ADDED", "7"),
        event("ADDED", r#"{"metadata":{"name":"a","resourceVersion":"8"},"data":{"k":"\ud800"}}"#),
        event("ADDED", &config_map("good", 9)),
    ];
    let expected = [
        "bad Modified n/bad@6 decode",
        "bad Deleted n/bad@6 decode",
        "bad Added ?@7 decode",
        "bad Added ?@ decode",
        "bad Added ?@ decode",
        "bad Added a@8 decode",
        "Added n/good@9",
    ];
    assert_eq!(told(&stream.concat()), expected);
}

#[test]
fn f_21_deep_nesting_and_damaged_bytes_are_bad_objects_too() {
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let object = format!(r#"{{"metadata":{{"name":"deep","resourceVersion":"1"}},"spec":{deep}}}"#);
    let (told, end) = watch::<DynamicObject>(&mut event("ADDED", &object).as_bytes(), &settings());
    assert_eq!(told, ["bad Added deep@1 decode"]);
    end.unwrap();

    let mut damaged = event("ADDED", &config_map("a", 1)).into_bytes();
    let at = damaged.iter().position(|byte| *byte == 0xf0).unwrap();
    damaged[at] = 0xff;
    damaged.extend_from_slice(event("ADDED", &config_map("b", 2)).as_bytes());
    let (told, end) = watch::<ConfigMap>(&mut damaged.as_slice(), &settings());
    assert_eq!(told, ["bad Added n/a@1 decode", "Added n/b@2"]);
    end.unwrap();
}

#[test]
fn r_41_r_42_objects_of_another_type_are_bad_and_the_stream_goes_on() {
    let meta = r#""metadata":{"name":"a","resourceVersion":"1"}"#;
    let stream = [
        event("ADDED", &format!(r#"{{"kind":"Table","apiVersion":"meta.k8s.io/v1",{meta}}}"#)),
        event("ADDED", &format!(r#"{{"kind":"Status","apiVersion":"v1",{meta}}}"#)),
        event("ADDED", &format!(r#"{{"kind":"Pod","apiVersion":"v1",{meta}}}"#)),
        event("ADDED", &format!(r#"{{"kind":"ConfigMap","apiVersion":"v2",{meta}}}"#)),
        event("ADDED", &format!(r#"{{"kind":"ConfigMap","apiVersion":"v1",{meta}}}"#)),
    ]
    .concat();
    let bad = "bad Added a@1 decode";
    let good = "Added a@1";
    let (told, _) = watch::<DynamicObject>(&mut stream.as_bytes(), &expecting("v1", "ConfigMap"));
    assert_eq!(told, [bad, bad, bad, bad, good]);
    let (told, _) = watch::<DynamicObject>(&mut stream.as_bytes(), &settings());
    assert_eq!(told, [bad, bad, good, good, good]);
    let (told, _) = watch::<ConfigMap>(&mut stream.as_bytes(), &settings());
    assert_eq!(told, [bad, bad, bad, bad, good]);
}

#[test]
fn f_18_multibyte_characters_cut_anywhere() {
    let stream = event("ADDED", &config_map("a", 1));
    for cut in 0..stream.len() {
        let (front, back) = stream.as_bytes().split_at(cut);
        let mut recorder = Recorder::<ConfigMap>::new();
        read_watch(&mut Pieces::of([front, back]), &settings(), &mut recorder).unwrap();
        let data = recorder.objects[0].data.as_ref().unwrap();
        assert_eq!(data["k"], "é😀 \"}{\" \\ 日本", "cut at {cut}");
    }
}

#[test]
fn f_07_everything_received_is_told_before_the_end() {
    let stream: String = (2..=21).map(|n| event("ADDED", &config_map("a", n))).collect();
    let pieces = Pieces::of([stream.as_bytes()]).then(std::io::ErrorKind::ConnectionReset);
    let (told, end) = watch::<ConfigMap>(&mut { pieces }, &settings());
    assert_eq!((told.len(), told.last().unwrap().as_str()), (20, "Added n/a@21"));
    assert_eq!(end.unwrap(), WatchEnd::Closed);
}

#[test]
fn f_17_large_events_decode_in_any_pieces() {
    for (size, piece) in [(3 << 20, 3 << 21), (3 << 20, 1 << 10), (16 << 20, 16 << 10)] {
        let value = "x\\n".repeat(size / 3);
        let object =
            format!(r#"{{"metadata":{{"name":"big","resourceVersion":"1"}},"data":{{"k":"{value}"}}}}"#);
        let stream = event("ADDED", &object) + &event("ADDED", &config_map("a", 2));
        let (told, end) = watch::<ConfigMap>(&mut Pieces::of(stream.as_bytes().chunks(piece)), &settings());
        assert_eq!(told, ["Added big@1", "Added n/a@2"]);
        end.unwrap();
    }
}

#[test]
fn f_17_w_5_d_11_an_oversized_event_is_a_bad_object_if_its_head_tells_which() {
    let small = DecodeSettings { max_frame: 1000, ..settings() };
    let big = format!("é{}", "x".repeat(5000));
    let object = |meta: &str, data: &str| format!(r#"{{"metadata":{meta},"data":{{"k":"{data}"}}}}"#);
    let meta = r#"{"name":"big","namespace":"n","uid":"u","resourceVersion":"5"}"#;
    let after = event("ADDED", &config_map("a", 6));

    for piece in [1, 7, 100, 100_000] {
        let stream = event("MODIFIED", &object(meta, &big)) + &after;
        for stream in [stream.clone(), stream.replace('\n', "")] {
            let (told, end) = watch::<ConfigMap>(&mut Pieces::of(stream.as_bytes().chunks(piece)), &small);
            assert_eq!(told, ["bad Modified n/big@5 frame_too_large", "Added n/a@6"], "pieces of {piece}");
            end.unwrap();
        }
    }
    for stream in [
        event("BOOKMARK", &object(meta, &big)),
        event("MODIFIED", &object("{\"name\":\"big\"}", &big)),
        event("MODIFIED", &format!(r#"{{"data":{{"k":"{big}"}},"metadata":{meta}}}"#)),
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"x\":\"".to_owned() + &big,
        format!("{{\"object\":{},\"type\":\"ADDED\"}}\n", object(meta, &big)),
    ] {
        let (told, end) = watch::<ConfigMap>(&mut (stream + &after).as_bytes(), &small);
        let error = end.unwrap_err();
        assert_eq!((error.kind(), error.stage()), (ErrorKind::FrameTooLarge, Some(Stage::Watch)));
        assert!(error.to_string().contains("1000") && told.is_empty(), "{error}");
    }
}

#[test]
fn d_5_an_initial_event_of_a_stored_object_is_not_built() {
    let stored: ConfigMap = serde_json::from_str(&config_map("a", 1)).unwrap();
    let stored = Arc::new(stored);
    let stream = [
        event("ADDED", &config_map("a", 1)),
        event("ADDED", &config_map("a", 2)),
        event("ADDED", &config_map("b", 1)),
        event("MODIFIED", &config_map("a", 1)),
        event("ADDED", &config_map("a", 1)).replace("\"u-a\"", "\"u-2\""),
    ];
    let expected = ["unchanged n/a@1", "Added n/a@2", "Added n/b@1", "Modified n/a@1", "Added n/a@1"];
    // Without newlines, what is unchanged must not swallow what comes after it.
    for stream in [stream.concat(), stream.concat().replace("}\n{", "}{")] {
        let mut recorder = Recorder::<ConfigMap>::new();
        recorder.stored.push(Arc::clone(&stored));
        read_watch(&mut stream.as_bytes(), &settings(), &mut recorder).unwrap();
        assert_eq!(recorder.told, expected);
        assert!(Arc::ptr_eq(&recorder.objects[0], &stored));
    }
}
