//! HTTP as proxies and odd servers speak it: heads, statuses, chunks, and connections that are used again.

use informer_core::sync::spawn;
use informer_core::{ErrorKind, Stage, Stop, WatchEnd};
use informer_testkit::script::{
    Action, Expect, Framing, Head, Reply, Script, added, chunk, end, fin, head, hold, raw, stall,
};
use informer_testkit::{ClosedBy, Gate, ScriptedServer, Transcript, within};

use crate::support::{LIST, LONG, a, a_list, list_now, source, watch_into, watch_now};

/// A list answered with these bytes, then the end of the connection.
fn answered(bytes: impl Into<Vec<u8>>) -> ScriptedServer {
    ScriptedServer::start(Script::in_order([Expect::list().answer([raw(bytes.into()), fin()])]))
}

#[test]
fn d_18_odd_heads_are_read() {
    let length = LIST.len();
    let lengthy = format!("content-length: {length}\r\n");
    let heads = [
        // Names in any case, spaces round values, empty values, values that are no text, the same name twice.
        format!("HTTP/1.1 200 OK\r\ncOnTeNt-TyPe:   application/json   \r\n{lengthy}"),
        format!("HTTP/1.1 200 OK\r\nX-Empty:\r\nX-Twice: a\r\nX-Twice: b\r\n{lengthy}"),
        format!("HTTP/1.1 200 OK\r\nWarning: 299 - \"old\", 299 - \"older\"\r\nRetry-After: 7\r\n{lengthy}"),
        format!("HTTP/1.1 200\r\n{lengthy}"),
        format!("HTTP/1.1 200 Very Well Indeed\r\n{lengthy}"),
        // What a proxy may send first.
        format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n{lengthy}"),
        "HTTP/1.0 200 OK\r\nContent-Type: application/json;stream=watch\r\n".to_owned(),
    ];
    for head in heads {
        let server = answered(format!("{head}\r\n{LIST}"));
        let (listed, text) = list_now(&source(&server), &Stop::new());
        assert_eq!(listed.unwrap_or_else(|error| panic!("{head}: {}", error.chain())).resource_version, "7");
        assert_eq!(text, "item ns/a@6", "{head}");
        server.finish();
    }
    let latin = [b"HTTP/1.1 200 OK\r\nX-Name: caf\xe9\r\n", lengthy.as_bytes(), b"\r\n", LIST.as_bytes()];
    let server = answered(latin.concat());
    list_now(&source(&server), &Stop::new()).0.unwrap();
    server.finish();
}

#[test]
fn d_18_what_is_no_http_is_an_error_that_says_so() {
    for bytes in
        ["SSH-2.0-OpenSSH_9.6\r\n", "\0\0\0\0\0\0\0\0\r\n\r\n", "HTTP/2 200\r\n\r\n", "<html>\r\n\r\n"]
    {
        let server = answered(bytes);
        let error = list_now(&source(&server), &Stop::new()).0.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Decode | ErrorKind::Network), "{bytes:?}: {error:?}");
        assert_eq!(error.stage(), Some(Stage::List));
        server.finish();
    }
}

/// A success is one only with the wanted document: by the head, before a byte of the body is looked at.
#[test]
fn d_18_the_head_decides_before_the_body_is_read() {
    let html = || Head::new(200, Framing::Chunked).header("Content-Type", "text/html").into();
    let moved = || Head::new(301, Framing::Chunked).header("Location", "/elsewhere").into();
    for (head, kind) in [(html(), ErrorKind::Decode), (moved(), ErrorKind::Redirect)] {
        let head: Action = head;
        // A body that never comes must not be waited for.
        let script = [
            Expect::list().answer([head.clone(), stall()]),
            Expect::watch().on_connection(1).answer([head, stall()]),
        ];
        let server = ScriptedServer::start(Script::in_order(script));
        let source = source(&server);
        assert_eq!(list_now(&source, &Stop::new()).0.unwrap_err().kind(), kind);
        assert_eq!(watch_now(&source, LONG).0.unwrap_err().kind(), kind);
        for connection in [0, 1] {
            assert_eq!(server.wait_for_close(connection), ClosedBy::Client);
        }
        server.finish();
    }
}

/// Of a long error body no more than 64 KiB is read: what is left of it costs the connection.
#[test]
fn d_18_error_bodies_are_read_to_a_bound_whatever_they_are() {
    let page = "x".repeat(200 << 10);
    for code in [404, 500, 503] {
        let long = Head::new(code, Framing::Chunked).header("Content-Type", "text/html").into();
        let script = [
            Expect::list().answer([long, chunk(&*page), end()]),
            Expect::list().on_connection(1).reply(a_list()),
        ];
        let server = ScriptedServer::start(Script::in_order(script));
        let source = source(&server);
        let error = list_now(&source, &Stop::new()).0.unwrap_err();
        assert!(error.to_string().chars().count() < 300, "{}", error.to_string().len());
        assert_eq!(server.wait_for_close(0), ClosedBy::Client);
        list_now(&source, &Stop::new()).0.unwrap();
        server.finish();
    }
}

/// A body that was read to its end gives its connection to the next request, in either framing.
#[test]
fn d_18_a_connection_whose_body_was_read_is_used_again() {
    let split = |tail: &'static [u8]| {
        let whole = [format!("{:x}\r\n{LIST}\r\n", LIST.len()).as_bytes(), tail].concat();
        // By bytes, so that the server does not write an end of its own.
        [raw(Head::new(200, Framing::Chunked).to_bytes()), raw(whole), end()]
    };
    let script = [
        Expect::list().on_connection(0).answer(split(b"0\r\n\r\n")),
        // Whitespace after the document, and trailers after the last chunk.
        Expect::list().on_connection(0).answer(split(b"3\r\n \n \r\n0\r\nX-Checksum: 1\r\n\r\n")),
        Expect::watch().on_connection(0).answer([head(), added(&a()), end()]),
        Expect::list().on_connection(0).reply(a_list()),
        // The server says that it closes.
        Expect::list().on_connection(0).answer([a_list().header("Connection", "close").into(), fin()]),
        Expect::list().on_connection(1).reply(a_list()),
    ];
    let server = ScriptedServer::start(Script::in_order(script));
    let source = source(&server);
    for watch in [false, false, true, false, false, false] {
        match watch {
            true => assert_eq!(watch_now(&source, LONG).0.unwrap(), WatchEnd::Closed),
            false => assert_eq!(list_now(&source, &Stop::new()).0.unwrap().resource_version, "7"),
        }
    }
    server.finish();
}

/// Short extensions are read; long ones, which ureq does not take, are told as what they are, in a watch too.
#[test]
fn w_3_d_18_chunk_extensions_and_chunks_that_are_none_are_told() {
    let size = LIST.len();
    for (extension, read) in [(";a=1", true), (";signature=0123456789", false)] {
        let body = format!("{size:x}{extension}\r\n{LIST}\r\n0\r\n\r\n");
        let server = ScriptedServer::start(Script::in_order([Expect::list().answer([head(), raw(body)])]));
        let (listed, _) = list_now(&source(&server), &Stop::new());
        assert_eq!(listed.is_ok(), read, "{extension}");
        if let Err(error) = listed {
            assert_eq!((error.kind(), error.stage()), (ErrorKind::Decode, Some(Stage::List)));
            assert!(error.chain().to_string().contains("chunk extensions"), "{}", error.chain());
        }
        server.finish();
    }
    for broken in ["zz\r\n", "5;signature=0123456789\r\nabcde\r\n"] {
        let gate = Gate::new("the event has been told");
        let script = [Expect::watch().answer([head(), added(&a()), hold(&gate), raw(broken), stall()])];
        let server = ScriptedServer::start(Script::in_order(script));
        let (source, told) = (source(&server), Transcript::new());
        let tell = told.clone();
        let call = spawn("call", move || {
            let error = watch_into(&tell, &source, LONG, &Stop::new()).unwrap_err();
            assert_eq!((error.kind(), error.stage()), (ErrorKind::Decode, Some(Stage::Watch)), "{broken}");
        })
        .unwrap();
        told.wait_for(2);
        gate.open();
        within("the call", move || call.join()).unwrap();
        assert_eq!(told.text(), "opened\nADDED ns/a@6");
        assert_eq!(server.wait_for_close(0), ClosedBy::Client);
        server.finish();
    }
}

/// No request goes out while the answer to another one is being read: what is given up is closed first.
#[test]
fn d_18_a_watch_that_is_given_up_is_closed_before_the_next_request() {
    let script = [
        Expect::watch().on_connection(0).answer([head(), added(&a()), stall()]),
        Expect::list().on_connection(1).reply(Reply::new(200, LIST)),
    ];
    let server = ScriptedServer::start(Script::in_order(script));
    let source = source(&server);
    let told = Transcript::new().end_after(2);
    watch_into(&told, &source, LONG, &Stop::new()).unwrap();
    assert_eq!(server.wait_for_close(0), ClosedBy::Client);
    assert_eq!(server.connections(), 1);
    list_now(&source, &Stop::new()).0.unwrap();
    server.finish();
}
