//! Compressed answers, asked for or not: whole, flushed event by event, cut anywhere, ended early.

use informer_core::sync::spawn;
use informer_core::{ErrorKind, Stage, Stop, WatchEnd};
use informer_testkit::script::{Action, Expect, Framing, Head, Script, chunk, end, frame, hold, object};
use informer_testkit::{Gate, ScriptedServer, Transcript, within};

use crate::cut::{large, let_through};
use crate::support::{LONG, a, list_now, source, watch_into, watch_now};

#[test]
fn f_96_the_limit_of_convenience_readers_is_none_of_gzip_either() {
    let body = gzip(&[&large(12, 1 << 20)]).concat();
    let head = Head::new(200, Framing::Chunked).header("Content-Encoding", "gzip");
    let server =
        ScriptedServer::start(Script::in_order([Expect::list().answer([head.into(), chunk(body), end()])]));
    let (listed, text) = list_now(&source(&server), &Stop::new());
    assert_eq!(listed.unwrap().resource_version, "7");
    assert_eq!(text.lines().count(), 12);
    server.finish();
}

/// A gzip member as its pieces: the header, each part of the data as stored blocks of its own, the trailer.
fn gzip(parts: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut pieces = vec![vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]];
    let (mut sum, mut length) = (!0u32, 0u32);
    for part in parts {
        let mut piece = Vec::new();
        for block in part.chunks(0xffff) {
            let size = u16::try_from(block.len()).unwrap();
            piece.push(0);
            piece.extend_from_slice(&size.to_le_bytes());
            piece.extend_from_slice(&(!size).to_le_bytes());
            piece.extend_from_slice(block);
            length = length.wrapping_add(u32::from(size));
        }
        for byte in *part {
            sum ^= u32::from(*byte);
            for _ in 0..8 {
                sum = (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
            }
        }
        pieces.push(piece);
    }
    let mut last = vec![1, 0, 0, 0xff, 0xff];
    last.extend_from_slice(&(!sum).to_le_bytes());
    last.extend_from_slice(&length.to_le_bytes());
    pieces.push(last);
    pieces
}

fn gzip_head() -> Action {
    Head::new(200, Framing::Chunked).header("Content-Encoding", "gzip").into()
}

/// Three events, compressed though nobody asked for it; the whole of it and where each event ends.
fn compressed() -> (Vec<Vec<u8>>, &'static str) {
    let b = object("ns/b", "u", "7");
    let lines = [frame("ADDED", &a()), frame("ADDED", &b), frame("DELETED", &b)];
    let parts: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
    (gzip(&parts), "opened\nADDED ns/a@6\nADDED ns/b@7\nDELETED ns/b@7")
}

#[test]
fn f_98_a_flushed_gzip_watch_tells_each_event_as_it_comes() {
    let (pieces, told) = compressed();
    let gates: Vec<Gate> = (0..3).map(|_| Gate::new("the next event")).collect();
    let mut actions = vec![gzip_head(), chunk(pieces[0].clone())];
    for (gate, piece) in gates.iter().zip(&pieces[1..4]) {
        actions.extend([hold(gate), chunk(piece.clone())]);
    }
    actions.extend([chunk(pieces[4].clone()), end()]);
    let asked = Expect::watch().header("Accept-Encoding", "identity");
    let server = ScriptedServer::start(Script::in_order([asked.answer(actions)]));
    let (source, transcript) = (source(&server), Transcript::new());
    let tell = transcript.clone();
    let call = spawn("call", move || {
        assert_eq!(watch_into(&tell, &source, LONG, &Stop::new()).unwrap(), WatchEnd::Closed);
    })
    .unwrap();
    for (count, gate) in gates.into_iter().enumerate() {
        gate.open();
        transcript.wait_for(count + 2); // "opened" and the events so far, while the stream is open
    }
    within("the call", move || call.join().unwrap());
    assert_eq!(transcript.text(), told);
    server.finish();
}

#[test]
fn f_98_a_gzip_watch_cut_anywhere_into_pieces_tells_the_same() {
    let (pieces, told) = compressed();
    let whole = pieces.concat();
    let (exchanges, gates): (Vec<_>, Vec<_>) = (1..whole.len())
        .map(|at| {
            let gate = Gate::new("the second piece");
            let actions = [gzip_head(), chunk(&whole[..at]), hold(&gate), chunk(&whole[at..]), end()];
            (Expect::watch().on_connection(0).answer(actions), gate)
        })
        .unzip();
    let server = ScriptedServer::start(Script::in_order(exchanges));
    let opener = spawn("opener", move || let_through(gates)).unwrap();
    let source = source(&server);
    for at in 1..whole.len() {
        let (watched, text) = watch_now(&source, LONG);
        assert_eq!((watched.unwrap(), text.as_str()), (WatchEnd::Closed, told), "cut at {at}");
    }
    within("the opener", move || opener.join().unwrap());
    server.finish();
}

/// From 1.37 on a server ends a gzip member with every flush: all of them are read, and that they end is no end.
#[test]
fn f_98_d_11_a_watch_of_many_gzip_members_tells_all_their_events() {
    let events: Vec<Vec<u8>> =
        (6..20).map(|version| frame("MODIFIED", &object("ns/a", "u", &version.to_string()))).collect();
    let members: Vec<Vec<u8>> = events.iter().map(|event| gzip(&[event]).concat()).collect();
    let told: Vec<String> = (6..20).map(|version| format!("MODIFIED ns/a@{version}")).collect();
    let told = format!("opened\n{}", told.join("\n"));
    let apart = members.iter().map(|member| chunk(member.clone())).collect::<Vec<_>>();
    for bodies in [apart, vec![chunk(members.concat())]] {
        let actions = [gzip_head()].into_iter().chain(bodies).chain([end()]);
        // Asked for only where it is chosen.
        let asked = Expect::watch().header("Accept-Encoding", "gzip");
        let server = ScriptedServer::start(Script::in_order([asked.answer(actions)]));
        let source = source(&server).compress_watches(true);
        let (watched, text) = watch_now(&source, LONG);
        assert_eq!((watched.unwrap(), text.as_str()), (WatchEnd::Closed, told.as_str()));
        server.finish();
    }
}

/// Damaged, not cut: that is told, in a watch too.
#[test]
fn f_98_w_3_damaged_compression_is_an_error() {
    let mut damaged = gzip(&[&frame("ADDED", &a())]).concat();
    let last = damaged.len() - 6; // in the check sum
    damaged[last] ^= 0xff;
    let actions = || [gzip_head(), chunk(damaged.clone()), end()];
    let script = [Expect::watch().answer(actions()), Expect::list().answer(actions())];
    let server = ScriptedServer::start(Script::in_order(script));
    let source = source(&server);
    let error = watch_now(&source, LONG).0.unwrap_err();
    assert_eq!((error.kind(), error.stage()), (ErrorKind::Decode, Some(Stage::Watch)));
    let error = list_now(&source, &Stop::new()).0.unwrap_err();
    assert_eq!((error.kind(), error.stage()), (ErrorKind::Decode, Some(Stage::List)));
    server.finish();
}

/// An end in the middle: what was whole has been told, and a list is an error.
#[test]
fn f_98_a_gzip_stream_that_ends_early_is_no_clean_list() {
    let body = gzip(&[crate::support::LIST.as_bytes()]).concat();
    for at in 0..body.len() {
        let actions = [gzip_head(), chunk(&body[..at]), end()];
        let server = ScriptedServer::start(Script::in_order([Expect::list().answer(actions)]));
        let (listed, _) = list_now(&source(&server), &Stop::new());
        let error = listed.expect_err(&format!("cut at {at} of {}", body.len()));
        assert!(matches!(error.kind(), ErrorKind::Network | ErrorKind::Decode), "cut at {at}: {error:?}");
        assert_eq!(error.stage(), Some(Stage::List));
        server.finish();
    }
}
