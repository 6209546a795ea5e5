//! Properties: the cuts do not matter, and no bytes make anything panic.

use informer_core::kube_core::DynamicObject;
use k8s_openapi::api::core::v1::ConfigMap;
use proptest::prelude::*;
use proptest::sample::Index;

use super::{Pieces, config_map, event, list, settings, watch};
use crate::decode::DecodeSettings;

/// Every sort of event and of separation in one stream.
fn stream() -> Vec<u8> {
    let bad = r#"{"metadata":{"name":"bad","resourceVersion":"3"},"data":7}"#;
    let big = config_map("big", 4).replace("日本", &"日".repeat(300));
    let turned = format!("{{\"object\":{},\"type\":\"ADDED\"}}", config_map("t", 5));
    let spread = event("ADDED", &config_map("s", 6)).replace(":{", ":\n{\r\n");
    [
        event("ADDED", &config_map("a", 1)),
        event("MODIFIED", &config_map("a", 2)).trim_end().to_owned(),
        event("ADDED", bad),
        "\r\n\n".to_owned(),
        event("ADDED", &big),
        turned,
        spread,
        event("BOOKMARK", r#"{"metadata":{"resourceVersion":"7"}}"#).replace('\n', "\r\n"),
        event("DELETED", &config_map("a", 8)).trim_end().to_owned(),
    ]
    .concat()
    .into_bytes()
}

fn small() -> DecodeSettings {
    DecodeSettings { max_frame: 600, ..settings() }
}

/// What is told, and how it ends.
fn outcome(pieces: Pieces) -> (Vec<String>, String) {
    let (told, end) = watch::<ConfigMap>(&mut { pieces }, &small());
    (told, end.map_or_else(|error| error.kind().to_string(), |end| format!("{end:?}")))
}

#[test]
fn w_1_f_19_every_cut_gives_the_same_events() {
    let stream = stream();
    let whole = outcome(Pieces::of([stream.as_slice()]));
    assert_eq!(whole.0.len(), 8, "{whole:?}");
    assert_eq!(whole.1, "Closed");
    for cut in 0..stream.len() {
        assert_eq!(outcome(Pieces::of([&stream[..cut], &stream[cut..]])), whole, "cut at {cut}");
    }
    assert_eq!(outcome(Pieces::of(stream.chunks(1))), whole);
}

fn cut<'a>(bytes: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    at.sort_unstable();
    let starts = [0].into_iter().chain(at.iter().copied());
    let ends = at.iter().copied().chain([bytes.len()]);
    starts.zip(ends).map(|(start, end)| &bytes[start..end]).collect()
}

fn list_body() -> Vec<u8> {
    let items = [config_map("a", 1), config_map("b", 2), r#"{"metadata":{"name":"c"},"data":1}"#.to_owned()];
    format!(
        r#"{{"apiVersion":"v1","items":[{}],"kind":"ConfigMapList","metadata":{{"resourceVersion":"7","continue":"é"}}}}"#,
        items.join(" ,")
    )
    .into_bytes()
}

/// Bytes that look like JSON more often than chance would have it.
fn jsonish() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        Just(r#"{"type":"ADDED","object":"#),
        Just(r#""type":"#),
        Just(r#""metadata":{"name":"a","resourceVersion":"1""#),
        Just(r#"{"kind":"ConfigMapList","#),
        Just(r#""items":["#),
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just(":"),
        Just("\""),
        Just("\\"),
        Just("\\u12"),
        Just("\n"),
        Just("null"),
        Just("1e999"),
        Just("é"),
        Just("ERROR"),
    ];
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat().into_bytes())
}

/// A good body with a few bytes replaced.
fn mutated(body: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let edits = prop::collection::vec((any::<Index>(), any::<u8>()), 1..4);
    edits.prop_map(move |edits| {
        let mut body = body.clone();
        for (at, byte) in edits {
            let at = at.index(body.len());
            body[at] = byte;
        }
        body
    })
}

fn any_bytes(body: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![prop::collection::vec(any::<u8>(), 0..200), jsonish(), mutated(body)]
}

proptest! {
    #[test]
    fn w_1_f_19_random_cuts_give_the_same_events(cuts in prop::collection::vec(any::<Index>(), 0..30)) {
        let stream = stream();
        prop_assert_eq!(outcome(Pieces::of(cut(&stream, &cuts))), outcome(Pieces::of([stream.as_slice()])));
    }

    #[test]
    fn w_3_no_bytes_make_a_watch_panic_and_cuts_do_not_matter(
        bytes in any_bytes(stream()),
        cuts in prop::collection::vec(any::<Index>(), 0..8),
    ) {
        let whole = outcome(Pieces::of([bytes.as_slice()]));
        prop_assert_eq!(outcome(Pieces::of(cut(&bytes, &cuts))), whole);
        let _ = watch::<DynamicObject>(&mut bytes.as_slice(), &settings());
    }

    #[test]
    fn f_19_no_bytes_make_a_list_panic_and_cuts_do_not_matter(
        bytes in any_bytes(list_body()),
        cuts in prop::collection::vec(any::<Index>(), 0..8),
        max_frame in 1_usize..400,
    ) {
        let settings = DecodeSettings { max_frame, ..settings() };
        let run = |pieces: Pieces| {
            let (told, end) = list::<ConfigMap>(&mut { pieces }, &settings);
            (told, end.map_err(|error| error.kind()))
        };
        prop_assert_eq!(run(Pieces::of(cut(&bytes, &cuts))), run(Pieces::of([bytes.as_slice()])));
    }
}
