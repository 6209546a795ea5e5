//! How a factory ends: from outside, from inside a handler, by a drop; and what is left of it.

use informer_core::sync::Mutex;
use informer_factory::{Event, Object, SharedInformer, SharedInformerFactory};
use informer_testkit::script::{Script, added, stall};
use informer_testkit::{
    ClosedBy, Gate, Probe, Recorder, ScriptedServer, ThreadMark, alone, open_sockets, thread_names, within,
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use crate::logged;
use crate::support::{LONG, MAPS, SECRETS, factory, initial, map, run, streams};

/// One object of each of two types.
fn two() -> ScriptedServer {
    let secret = map("ns/s", "6").of("Secret", "v1");
    ScriptedServer::start(Script::any_order([
        streams(MAPS, "10", &[map("ns/a", "5")]),
        streams(SECRETS, "11", &[secret]),
    ]))
}

#[test]
fn fa_6_after_a_shutdown_nothing_starts_and_everything_reads() {
    let server = two();
    let factory = factory(&server);
    let (maps, _secrets) = (factory.informer::<ConfigMap>(), factory.informer::<Secret>());
    run(&factory);
    factory.shutdown().unwrap();
    factory.shutdown().unwrap();
    let error = factory.start().unwrap_err();
    assert!(error.is_stopped());
    assert_eq!(error.to_string(), "the factory was shut down; build a new one");
    assert_eq!(maps.store().len(), 1);
    assert!(maps.is_stopped());
    assert!(factory.informer::<ConfigMap>().is_same(&maps), "there is nothing new");
    assert_eq!(factory.informer::<ConfigMap>().lister().list().len(), 1);
    // Nobody asked for it before: it is there, stopped, and holds nothing.
    let late = factory.metadata::<ConfigMap>();
    assert!(late.is_same(&factory.metadata::<ConfigMap>()));
    for error in [late.start().unwrap_err(), late.on_event(|_| ()).unwrap_err(), maps.start().unwrap_err()] {
        assert!(error.is_stopped(), "{error:?}");
    }
    assert!(late.is_stopped() && late.store().is_empty());
    assert!(
        factory.informer_with::<ConfigMap>(|options| _ = options.page_size(3)).is_err(),
        "still in conflict"
    );
    server.finish();
}

#[test]
fn i_4_no_thread_and_no_socket_outlives_a_shutdown() {
    alone(|| {
        let mark = ThreadMark::new();
        let server = two();
        let sockets = open_sockets();
        let factory = factory(&server);
        let (maps, _secrets) = (factory.informer::<ConfigMap>(), factory.informer::<Secret>());
        run(&factory);
        let names = thread_names();
        let ours = |name: &&String| name.starts_with("read ") || name.starts_with("pop ");
        assert_eq!(names.iter().filter(ours).count(), 4, "two threads for each informer: {names:?}");
        factory.shutdown().unwrap();
        mark.assert_none_left_now();
        for connection in 0..server.connections() {
            assert_eq!(server.wait_for_close(connection), ClosedBy::Client);
        }
        assert_eq!(open_sockets(), sockets);
        assert_eq!(maps.store().len(), 1);
        server.finish();
    });
}

#[test]
fn d_12_dropping_the_last_handle_of_the_factory_ends_its_threads() {
    alone(|| {
        let mark = ThreadMark::new();
        let server = two();
        let factory = factory(&server);
        // Held by somebody who has forgotten the factory.
        let maps = factory.informer::<ConfigMap>();
        let _secrets = factory.informer::<Secret>();
        run(&factory);
        let other = factory.clone();
        drop(factory);
        assert!(!maps.is_stopped(), "a clone is left");
        within("the drop", move || drop(other));
        mark.assert_none_left_now();
        assert!(maps.is_stopped());
        assert_eq!(maps.store().len(), 1);
        server.finish();
    });
}

/// Shuts the factory down in a handler of `informer`, once the gate is open; tells the answer.
fn shuts_down<T: Object>(
    informer: &SharedInformer<T>,
    factory: &SharedInformerFactory,
    gate: &Gate,
    answers: &Probe<Vec<bool>>,
) {
    let (factory, pass, answers) = (factory.clone(), gate.pass(), answers.clone());
    informer
        .on_event(move |_| {
            pass.wait();
            let would_block = factory.shutdown().unwrap_err().is_would_block();
            answers.update(|all| all.push(would_block));
        })
        .unwrap();
}

#[test]
fn d_12_a_shutdown_in_a_handler_stops_all_and_returns() {
    alone(|| {
        let mark = ThreadMark::new();
        let server = two();
        let factory = factory(&server);
        let (gate, answers) = (Gate::new("the handler"), Probe::new(Vec::new()));
        let secrets = factory.informer::<Secret>();
        shuts_down(&factory.informer::<ConfigMap>(), &factory, &gate, &answers);
        run(&factory);
        gate.open();
        answers.wait("the answer", |answers| *answers == [true]);
        assert!(secrets.is_stopped());
        within("a shutdown from outside", move || factory.shutdown()).unwrap();
        mark.assert_none_left_now();
        server.finish();
    });
}

/// Neither may wait for the other's thread.
#[test]
fn d_12_handlers_of_two_informers_shut_down_at_once() {
    alone(|| {
        let mark = ThreadMark::new();
        let server = two();
        let factory = factory(&server);
        let (gate, answers) = (Gate::new("both handlers"), Probe::new(Vec::new()));
        shuts_down(&factory.informer::<ConfigMap>(), &factory, &gate, &answers);
        shuts_down(&factory.informer::<Secret>(), &factory, &gate, &answers);
        run(&factory);
        gate.wait_for_waiting(2);
        gate.open();
        answers.wait("both answers", |answers| *answers == [true, true]);
        within("a shutdown from outside", move || factory.shutdown()).unwrap();
        mark.assert_none_left_now();
        server.finish();
    });
}

/// The last handle of the factory goes on a thread of one informer while a handler of another one hangs.
#[test]
fn d_12_a_drop_in_a_handler_waits_for_nobody() {
    alone(|| {
        logged::keep();
        let mark = ThreadMark::new();
        let server = two();
        let factory = factory(&server);
        let (hang, ready, done) =
            (Gate::new("the hanging handler"), Gate::new("the drop"), Probe::new(false));
        let stuck = Recorder::new();
        stuck.block_at(1, &hang);
        factory.informer::<Secret>().add_event_handler(stuck).unwrap();
        let (last, pass, told) = (Mutex::new(Some(factory.clone())), ready.pass(), done.clone());
        factory
            .informer::<ConfigMap>()
            .on_event(move |_: &Event<ConfigMap>| {
                pass.wait();
                let last = last.lock().take();
                drop(last);
                told.set(true);
            })
            .unwrap();
        run(&factory);
        hang.wait_for_waiting(1);
        drop(factory);
        ready.open();
        done.wait("the drop", |done| *done);
        hang.open();
        mark.assert_none_left();
        server.finish();
        // One that waited for the handler that hangs would have waited in vain, and said so.
        let said = logged::lines();
        let drops: Vec<_> = said.iter().filter(|line| line.starts_with("dropped without")).collect();
        assert!(drops.len() == 1 && drops[0].contains("waiting for any thread"), "{said:?}");
    });
}

#[test]
fn f_56_a_handler_in_the_middle_of_a_call_delays_the_shutdown_no_longer_than_the_call() {
    let mut actions = initial("10", &[map("ns/a", "5"), map("ns/b", "6")]);
    actions.extend([added(&map("ns/c", "11")), stall()]);
    let script = [informer_testkit::script::Expect::watch().answer(actions)];
    let server = ScriptedServer::start(Script::in_order(script));
    let factory = factory(&server);
    let (gate, seen) = (Gate::new("the first call"), Recorder::new());
    seen.block_at(1, &gate);
    let maps = factory.informer::<ConfigMap>();
    maps.add_event_handler(seen.clone()).unwrap();
    run(&factory);
    gate.wait_for_waiting(1);
    let theirs = factory.clone();
    let ender = informer_core::sync::spawn("ender", move || theirs.shutdown().unwrap()).unwrap();
    within("the stop", {
        let maps = maps.clone();
        move || maps.store().wait_until("99", LONG).unwrap_err()
    });
    assert!(maps.is_stopped());
    gate.open();
    within("the shutdown", move || ender.join().unwrap());
    assert_eq!(seen.trace(), "Added(ns/a@5, initial)", "stop is looked at between two events");
    server.finish();
}
