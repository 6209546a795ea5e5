//! Bodies in pieces: wherever a stream is cut, however it is packed and however large it is, it tells the same.

use informer_core::sync::spawn;
use informer_core::{Lazy, ListRequest, ListWatch, Stop, WatchEnd};
use informer_http::{Client, HttpListWatch};
use informer_testkit::script::{
    Action, Expect, Framing, Head, Script, added, chunk, deleted, end, fin, frame, head, hold, modified,
    object, raw, stall,
};
use informer_testkit::{Deadline, Gate, ScriptedServer, Transcript, within, within_limit};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use crate::support::{LONG, a, source, watch_into, watch_now};

/// Answers a watch with pieces; between two of them the client has all the time it wants to trip over the first.
fn in_pieces(pieces: &[&[u8]]) -> (Vec<Action>, Vec<Gate>) {
    let gates: Vec<Gate> = pieces[1..].iter().map(|_| Gate::new("the next piece")).collect();
    let mut actions = vec![raw(pieces[0])];
    for (gate, piece) in gates.iter().zip(&pieces[1..]) {
        actions.extend([hold(gate), raw(*piece)]);
    }
    (actions, gates)
}

/// Opens each gate once the server stands at it.
pub(crate) fn let_through(gates: Vec<Gate>) {
    for gate in gates {
        gate.wait_for_waiting(1);
        gate.open();
    }
}

/// A whole response: events in chunks of their own and together, blank lines, `\r\n`, and a last one without `\n`.
fn response() -> Vec<u8> {
    let accents = object("ns/b", "u", "7").meta("annotations", json!({"k": "é😀"}));
    let mut together = frame("MODIFIED", &accents);
    together.pop();
    together.extend_from_slice(b"\r\n\n");
    together.extend_from_slice(&frame("DELETED", &accents));
    let mut last = frame("ADDED", &object("ns/c", "u", "8"));
    last.pop();
    let mut bytes = Head::new(200, Framing::Chunked).to_bytes();
    for piece in [frame("ADDED", &a()), b"\n".to_vec(), together, last] {
        bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        bytes.extend_from_slice(&piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

const TOLD: &str = "opened\nADDED ns/a@6\nMODIFIED ns/b@7\nDELETED ns/b@7\nADDED ns/c@8";

#[test]
fn f_18_f_19_a_response_cut_at_any_byte_tells_the_same() {
    let response = response();
    let (exchanges, gates): (Vec<_>, Vec<_>) = (1..response.len())
        .map(|at| {
            let (mut actions, gates) = in_pieces(&[&response[..at], &response[at..]]);
            actions.push(end());
            (Expect::watch().on_connection(0).answer(actions), gates)
        })
        .unzip();
    let server = ScriptedServer::start(Script::in_order(exchanges));
    let source = source(&server);
    let opener = spawn("opener", move || gates.into_iter().for_each(let_through)).unwrap();
    for at in 1..response.len() {
        let (watched, text) = watch_now(&source, LONG);
        assert_eq!((watched.unwrap(), text.as_str()), (WatchEnd::Closed, TOLD), "cut at {at}");
    }
    within("the opener", move || opener.join().unwrap());
    server.finish();
}

#[test]
fn f_18_f_19_a_response_byte_by_byte_tells_the_same() {
    let response = response();
    let bytes: Vec<&[u8]> = response.chunks(1).collect();
    let (mut actions, gates) = in_pieces(&bytes);
    actions.push(end());
    let server = ScriptedServer::start(Script::in_order([Expect::watch().answer(actions)]));
    let opener = spawn("opener", move || let_through(gates)).unwrap();
    let (watched, text) = watch_now(&source(&server), LONG);
    assert_eq!((watched.unwrap(), text.as_str()), (WatchEnd::Closed, TOLD));
    within("the opener", move || opener.join().unwrap());
    server.finish();
}

#[test]
fn f_18_the_text_of_a_character_in_pieces_is_whole() {
    let accents = object("ns/a", "u", "6").meta("annotations", json!({"k": "é😀"}));
    let line = frame("ADDED", &accents);
    let accent = line.windows(2).position(|bytes| bytes == "é".as_bytes()).unwrap();
    for cut in [accent + 1, accent + 3, accent + 4, accent + 5] {
        let gate = Gate::new("the rest of the character");
        let actions = [head(), chunk(&line[..cut]), hold(&gate), chunk(&line[cut..]), stall()];
        let server = ScriptedServer::start(Script::in_order([Expect::watch().answer(actions)]));
        let source = HttpListWatch::<Lazy<ConfigMap>>::new(&Client::from_url(&server.url()).unwrap());
        let informer = informer_core::SharedInformer::builder(Listless(source)).build();
        informer.start().unwrap();
        gate.wait_for_waiting(1);
        gate.open();
        let wait = informer.clone();
        within("the object", move || wait.store().wait_until("6", LONG)).unwrap();
        let held = informer.store().get("ns/a").unwrap();
        assert_eq!(held.annotations().unwrap()["k"], "é😀", "cut at {cut}");
        drop(informer);
        server.finish();
    }
}

/// A source whose lists are empty, at version 5.
struct Listless(HttpListWatch<Lazy<ConfigMap>>);

impl ListWatch<Lazy<ConfigMap>> for Listless {
    fn list(
        &self,
        _: &ListRequest,
        _: &Stop,
        _: &mut dyn informer_core::ListSink<Lazy<ConfigMap>>,
    ) -> informer_core::Result<informer_core::ListEnd> {
        Ok(informer_core::ListEnd { resource_version: "5".to_owned(), continue_token: None })
    }

    fn watch(
        &self,
        request: &informer_core::WatchRequest,
        stop: &Stop,
        sink: &mut dyn informer_core::WatchSink<Lazy<ConfigMap>>,
    ) -> informer_core::Result<WatchEnd> {
        self.0.watch(request, stop, sink)
    }

    fn name(&self) -> String {
        self.0.name()
    }

    fn can_stream(&self) -> bool {
        false
    }
}

/// A list of so many items of so many bytes.
pub(crate) fn large(items: usize, each: usize) -> Vec<u8> {
    let mut body =
        br#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":["#.to_vec();
    for item in 0..items {
        let comma = if item == 0 { "" } else { "," };
        body.extend_from_slice(
            format!(r#"{comma}{{"metadata":{{"name":"n{item}","namespace":"ns"}},"data":{{"k":""#).as_bytes(),
        );
        body.resize(body.len() + each, b'x');
        body.extend_from_slice(br#""}}"#);
    }
    body.extend_from_slice(b"]}");
    body
}

#[test]
fn f_96_a_list_of_64_mib_is_a_list() {
    let body = large(64, 1 << 20);
    let script =
        [Expect::list().answer([Head::new(200, Framing::Length(body.len())).into(), chunk(body), end()])];
    let server = ScriptedServer::start(Script::in_order(script));
    let source = HttpListWatch::<Lazy<ConfigMap>>::new(&Client::from_url(&server.url()).unwrap());
    let told = Transcript::new();
    let mut tell = told.clone();
    let limit = Deadline::after(std::time::Duration::from_secs(120));
    let listed = within_limit("the list", limit, move || {
        source.list(&ListRequest::default(), &Stop::new(), &mut tell)
    });
    assert_eq!(listed.unwrap().resource_version, "7");
    assert_eq!(told.lines().len(), 64);
    server.finish();
}

#[test]
fn f_07_everything_that_came_before_an_end_in_one_write_is_told() {
    let mut all = Head::new(200, Framing::Chunked).to_bytes();
    let events: Vec<u8> =
        (6..26).flat_map(|v| frame("ADDED", &object("ns/a", "u", &v.to_string()))).collect();
    all.extend_from_slice(format!("{:x}\r\n", events.len()).as_bytes());
    all.extend_from_slice(&events);
    all.extend_from_slice(b"\r\n0\r\n\r\n");
    let server = ScriptedServer::start(Script::in_order([Expect::watch().answer([raw(all), fin()])]));
    let (watched, text) = watch_now(&source(&server), LONG);
    assert_eq!(watched.unwrap(), WatchEnd::Closed);
    assert!(text.ends_with("ADDED ns/a@25") && text.lines().count() == 21, "{text}");
    server.finish();
}

#[test]
fn w_2_a_watch_cut_short_has_merely_ended() {
    let line = frame("MODIFIED", &object("ns/a", "u", "7"));
    let half = &line[..line.len() / 2];
    for framing in [Framing::Chunked, Framing::Length(10_000), Framing::Close] {
        for closing in [fin(), informer_testkit::script::rst()] {
            let gate = Gate::new("the event has been told");
            let partial =
                if framing == Framing::Chunked { [b"fff\r\n", half].concat() } else { half.to_vec() };
            let actions = [Head::new(200, framing).into(), added(&a()), raw(partial), hold(&gate), closing];
            let server = ScriptedServer::start(Script::in_order([Expect::watch().answer(actions)]));
            let (source, told) = (source(&server), Transcript::new());
            let tell = told.clone();
            let call = spawn("call", move || {
                assert_eq!(watch_into(&tell, &source, LONG, &Stop::new()).unwrap(), WatchEnd::Closed);
            })
            .unwrap();
            told.wait_for(2);
            gate.open();
            within("the call", move || call.join().unwrap());
            assert_eq!(told.text(), "opened\nADDED ns/a@6", "{framing:?}");
            server.finish();
        }
    }
}

/// Between two events, without the chunk that says that the body is over.
#[test]
fn w_2a_a_chunked_watch_that_ends_between_events_without_its_last_chunk_has_merely_ended() {
    for closing in [fin(), informer_testkit::script::rst()] {
        let gate = Gate::new("the event has been told");
        let script = [Expect::watch().answer([head(), added(&a()), hold(&gate), closing])];
        let server = ScriptedServer::start(Script::in_order(script));
        let (source, told) = (source(&server), Transcript::new());
        let tell = told.clone();
        let call = spawn("call", move || {
            assert_eq!(watch_into(&tell, &source, LONG, &Stop::new()).unwrap(), WatchEnd::Closed);
        })
        .unwrap();
        told.wait_for(2);
        gate.open();
        within("the call", move || call.join().unwrap());
        assert_eq!(told.text(), "opened\nADDED ns/a@6");
        server.finish();
    }
}

/// `MODIFIED` and `DELETED` of objects that are never added are told as they are: what they mean is the informer's.
#[test]
fn a_watch_tells_types_as_they_come() {
    let actions = [head(), modified(&a()), deleted(&a()), end()];
    let server = ScriptedServer::start(Script::in_order([Expect::watch().answer(actions)]));
    assert_eq!(watch_now(&source(&server), LONG).1, "opened\nMODIFIED ns/a@6\nDELETED ns/a@6");
    server.finish();
}
