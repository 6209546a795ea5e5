//! What an [`ApiServer`] compresses, byte for byte as a real one: long documents, and streaming lists flush by flush.

use std::io::Read as _;

use flate2::bufread::GzDecoder;
use informer_testkit::{ApiServer, Calls, Fault, Phase};
use serde_json::{Value, json};

use crate::wire::Wire;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const STREAMING: &str = "/api/v1/namespaces/default/configmaps?watch=1&sendInitialEvents=true\
                         &resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
const GZIP: &str = "Accept-Encoding: gzip\r\n";

/// A server with ConfigMaps of 60,000 bytes each.
fn server(names: &[&str]) -> ApiServer {
    let server = ApiServer::start().unwrap();
    for name in names {
        let data = json!({ "k": "x".repeat(60_000) });
        server.create("configmaps", json!({ "metadata": { "name": name }, "data": data })).unwrap();
    }
    server
}

/// What one gzip member says; the bytes are all of it. Its data ends before it does: with an empty block that is not the
/// last one, without which readers in Go would wait for the next member.
fn member(bytes: &[u8]) -> String {
    assert!(bytes.windows(4).any(|four| four == [0, 0, 0xff, 0xff]), "no flush before the end");
    let (mut text, mut decoder) = (String::new(), GzDecoder::new(bytes));
    decoder.read_to_string(&mut text).unwrap();
    assert!(decoder.into_inner().is_empty(), "one member a piece");
    text
}

fn names(lines: &str) -> Vec<String> {
    let events = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.map(|event| format!("{} {}", event["type"], event["object"]["metadata"]["name"])).collect()
}

#[test]
fn a_document_over_128_kib_is_compressed_for_who_takes_gzip() {
    let server = server(&["a", "b", "c"]);
    let mut wire = Wire::new(&server);
    let plain = wire.ask("GET", MAPS, "");
    for accepted in ["gzip", "deflate, gzip", "gzip, br"] {
        let whole = wire.get(MAPS, &format!("Accept-Encoding: {accepted}\r\n")).answer();
        assert_eq!(whole.header("content-encoding"), Some("gzip"), "{accepted}");
        assert_eq!(whole.header("vary"), Some("Accept-Encoding"));
        assert_eq!(member(&whole.body), plain.text(), "{accepted}");
    }
    // Not in so many letters, or not that long.
    for accepted in
        ["", "Accept-Encoding: *\r\n", "Accept-Encoding: gzip;q=1.0\r\n", "Accept-Encoding: GZIP\r\n"]
    {
        let whole = wire.get(MAPS, accepted).answer();
        assert_eq!((whole.header("content-encoding"), &whole.body), (None, &plain.body), "{accepted}");
    }
    let small = wire.get(&format!("{MAPS}/a"), GZIP).answer();
    assert_eq!((small.header("content-encoding"), small.json()["kind"].as_str()), (None, Some("ConfigMap")));
}

#[test]
fn f_98_a_streaming_list_is_compressed_for_its_whole_life_each_flush_a_member() {
    let server = server(&["a", "b", "c"]);
    let mut wire = Wire::new(&server);
    let head = wire.get(STREAMING, GZIP).head();
    assert!(head.contains("Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n"), "{head}");
    let mut initial = String::new();
    while !initial.contains("initial-events-end") {
        initial += &member(&wire.bytes().unwrap());
    }
    assert_eq!(
        names(&initial),
        ["\"ADDED\" \"a\"", "\"ADDED\" \"b\"", "\"ADDED\" \"c\"", "\"BOOKMARK\" null"]
    );
    for name in ["d", "e"] {
        server.create("configmaps", json!({ "metadata": { "name": name } })).unwrap();
        assert_eq!(names(&member(&wire.bytes().unwrap())), [format!("\"ADDED\" \"{name}\"")]);
    }
    // Other watches are not.
    for watch in ["?watch=1", "?watch=1&resourceVersion=0"] {
        let mut wire = Wire::new(&server);
        let head = wire.get(&format!("{MAPS}{watch}"), GZIP).head();
        assert!(!head.contains("Content-Encoding"), "{head}");
    }
}

#[test]
fn faults_count_what_is_compressed_without_that() {
    let server = server(&["a"]);
    let live = |fault: Fault| fault.on(Calls::watch("configmaps")).at(Phase::Live).times(1);
    server.fault(live(Fault::cut()).after_events(1));
    server.fault(live(Fault::gone()).after_events(2));
    for (ends, want) in [("Cut", "\"ADDED\""), ("Last", "\"ADDED\" \"ADDED\" \"ERROR\"")] {
        let mut wire = Wire::new(&server);
        wire.get(STREAMING, GZIP).head();
        while !member(&wire.bytes().unwrap()).contains("initial-events-end") {}
        for _ in 0..2 {
            server.create("configmaps", json!({ "metadata": { "generateName": "later-" } })).unwrap();
        }
        let mut plain = String::new();
        if ends == "Cut" {
            plain += &member(&wire.bytes().unwrap());
            assert!(wire.is_at_end());
        } else {
            while let Some(bytes) = wire.bytes() {
                plain += &member(&bytes);
            }
        }
        let told: Vec<_> =
            names(&plain).iter().map(|told| told.split(' ').next().unwrap().to_owned()).collect();
        assert_eq!(told.join(" "), want);
    }
}
