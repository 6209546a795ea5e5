//! Exchanges with a real API server, as they were recorded.

use std::io::Read;

use informer_core::kube_core::{DynamicObject, PartialObjectMeta};
use informer_core::{ErrorKind, ListEnd, WatchEnd};
use k8s_openapi::api::core::v1::ConfigMap;

use super::{Pieces, expecting, list, settings, watch};

/// The body of a recorded response, without its chunks.
fn body(response: &[u8]) -> Vec<u8> {
    let end =
        response.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head ends with an empty line");
    let (head, mut rest) = (String::from_utf8_lossy(&response[..end]).to_lowercase(), &response[end + 4..]);
    if !head.contains("transfer-encoding: chunked") {
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        return rest[..length.map_or(rest.len(), |length| length.trim().parse().unwrap())].to_vec();
    }
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|bytes| bytes == b"\r\n").expect("a chunk begins with its size");
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&rest[line + 2..][..size]);
        rest = &rest[line + 2 + size + 2..];
    }
}

macro_rules! wire {
    ($name:literal) => {
        body(include_bytes!(concat!("../../tests/wire/", $name, ".response")))
    };
}

fn end(version: &str) -> ListEnd {
    ListEnd { resource_version: version.to_owned(), continue_token: None }
}

fn maps(body: &[u8]) -> (Vec<String>, ListEnd) {
    let (told, end) = list::<ConfigMap>(&mut { body }, &expecting("v1", "ConfigMap"));
    (told, end.unwrap())
}

#[test]
fn lists_in_pages() {
    let (told, first) = maps(&wire!("01-list-limit-2"));
    assert_eq!(told, ["item wire/cm-0@396", "item wire/cm-1@397"]);
    assert!(first.continue_token.is_some());
    let (told, second) = maps(&wire!("02-list-page-2"));
    assert_eq!(told.len(), 2);
    assert_eq!(second.resource_version, first.resource_version);
}

#[test]
fn lists_whole_and_empty() {
    assert_eq!(maps(&wire!("03-list-rv0")).0.len(), 5);
    assert_eq!(maps(&wire!("06-list-not-older-than")).0.len(), 5);
    assert_eq!(maps(&wire!("05-list-empty")), (Vec::new(), end("401")));
    assert!(!maps(&wire!("71-list-shard")).0.is_empty());
}

#[test]
fn list_of_metadata() {
    let body = wire!("14-list-metadata-only");
    let settings = expecting("meta.k8s.io/v1", "PartialObjectMetadata");
    let (told, end) = list::<PartialObjectMeta<ConfigMap>>(&mut body.as_slice(), &settings);
    end.unwrap();
    assert_eq!(told[..2], ["item wire/cm-0@396", "item wire/cm-1@397"]);
}

#[test]
fn r_42_a_table_is_an_error() {
    let (told, end) = list::<ConfigMap>(&mut wire!("15-list-table").as_slice(), &settings());
    assert_eq!((told, end.unwrap_err().kind()), (Vec::new(), ErrorKind::Decode));
}

#[test]
fn list_of_custom_resources() {
    let (told, end_of_list) =
        list::<DynamicObject>(&mut wire!("62-cr-list").as_slice(), &expecting("example.com/v1", "Widget"));
    assert_eq!((told, end_of_list.unwrap()), (vec!["item wire/w@436".to_owned()], end("436")));
    let (told, other) =
        list::<DynamicObject>(&mut wire!("62-cr-list").as_slice(), &expecting("example.com/v1", "Gadget"));
    assert_eq!(told, ["bad wire/w@436 decode"]);
    assert!(other.is_ok(), "its items say themselves that they are others");
}

#[test]
fn errors_in_place_of_lists_are_the_servers() {
    for (body, kind) in [
        (wire!("07-list-rv-future"), ErrorKind::TooLargeVersion),
        (wire!("08-list-exact-too-old"), ErrorKind::Gone),
        (wire!("09-list-bad-continue"), ErrorKind::BadRequest),
        (wire!("30-forbidden-list"), ErrorKind::Forbidden),
        (wire!("64-cr-list-after-crd-deleted"), ErrorKind::Decode),
        (wire!("69-list-continue-expired"), ErrorKind::Gone),
    ] {
        let error = list::<ConfigMap>(&mut body.as_slice(), &settings()).1.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
}

#[test]
fn watch_with_changes_and_a_bookmark() {
    let body = wire!("17-watch-from-rv");
    let expected = [
        "Added wire/w-1@404",
        "Modified wire/w-1@405",
        "Modified wire/w-1@406",
        "Deleted wire/w-1@407",
        "bookmark 407",
    ];
    for cut in 0..body.len() {
        let mut pieces = Pieces::of([&body[..cut], &body[cut..]]);
        let (told, end) = watch::<ConfigMap>(&mut pieces, &expecting("v1", "ConfigMap"));
        assert_eq!(told, expected, "cut at {cut}");
        assert_eq!(end.unwrap(), WatchEnd::Closed);
    }
}

#[test]
fn streaming_lists_end_with_the_annotated_bookmark() {
    let (told, end) = watch::<ConfigMap>(&mut wire!("24-watchlist").as_slice(), &settings());
    end.unwrap();
    assert!(told.iter().any(|line| line.starts_with("bookmark ") && line.ends_with(" end")), "{told:?}");
    let settings = expecting("meta.k8s.io/v1", "PartialObjectMetadata");
    let body = wire!("25-watchlist-metadata-only");
    let (told, end) = watch::<PartialObjectMeta<ConfigMap>>(&mut body.as_slice(), &settings);
    end.unwrap();
    assert_eq!(told.last().map(String::as_str), Some("bookmark 415 end"));
}

#[test]
fn watches_of_every_sort_decode() {
    for body in [
        wire!("18-watch-selector"),
        wire!("19-watch-rv-empty"),
        wire!("20-watch-rv-0"),
        wire!("21-watch-too-old"),
        wire!("27-watchlist-no-bookmarks"),
        wire!("63-cr-watch-crd-deleted"),
        wire!("66-watch-bookmarks"),
        wire!("74-watchlist-shard"),
    ] {
        let (told, end) = watch::<DynamicObject>(&mut body.as_slice(), &settings());
        assert_eq!(end.unwrap(), WatchEnd::Closed);
        assert!(!told.is_empty() && told.iter().all(|line| !line.starts_with("bad")), "{told:?}");
    }
}

#[test]
fn f_10_an_expired_version_comes_as_an_event() {
    for body in [wire!("67-watch-gone"), wire!("68-watch-gone-selector")] {
        let mut reader: &[u8] = &body;
        let reader: &mut dyn Read = &mut reader;
        assert!(watch::<ConfigMap>(reader, &settings()).1.unwrap_err().is_gone());
    }
}
