//! Counting threads, alone and by name.

use informer_core::sync::{live_threads, spawn};
use informer_testkit::script::{Script, stall};
use informer_testkit::{Gate, ScriptedServer, ThreadMark, alone, open_sockets, thread_names, within};

use crate::waiting::message_of;

#[test]
fn alone_is_a_process_where_counts_are_exact() {
    alone(|| {
        assert_eq!(live_threads(), 0);
        let mark = ThreadMark::new();
        let gate = Gate::new("end");
        let pass = gate.pass();
        let worker = spawn("worker", move || pass.wait()).unwrap();
        assert_eq!(mark.left(), 1);
        assert!(message_of(|| mark.assert_none_left_now()).contains("1 threads are left"));
        gate.open();
        worker.join().unwrap();
        mark.assert_none_left_now();
    });
}

#[test]
fn alone_passes_a_failure_on() {
    let message = message_of(|| alone(|| panic!("told to fail")));
    // In the process of its own this is the failure itself, outside it is the report.
    assert!(message.contains("told to fail"), "{message}");
    if std::env::var_os("INFORMER_TESTKIT_ALONE").is_some() {
        panic!("{message}");
    }
    assert!(message.contains("alone_passes_a_failure_on, run alone"), "{message}");
}

#[test]
fn a_mark_waits_for_threads_that_are_about_to_end() {
    // Alone: a thread of another test that ends meanwhile can hide its neighbour from a reader of /proc.
    alone(|| {
        let mark = ThreadMark::of("ending-soon");
        let gate = Gate::new("end");
        let pass = gate.pass();
        let worker = spawn("ending-soon-1", move || pass.wait()).unwrap();
        gate.wait_for_waiting(1);
        assert_eq!(mark.left(), 1, "{:?}", thread_names());
        gate.open();
        mark.assert_none_left();
        worker.join().unwrap();
    });
}

#[test]
fn threads_of_the_test_kit_do_not_count() {
    alone(|| {
        let mark = ThreadMark::new();
        let sockets = open_sockets();
        let server = ScriptedServer::start(Script::always([stall()]));
        let client = std::net::TcpStream::connect(server.addr()).unwrap();
        assert_eq!(within("an answer", || 1), 1);
        mark.assert_none_left();
        assert!(sockets < open_sockets());
        drop((server, client));
        assert_eq!(open_sockets(), sockets);
        assert_eq!(live_threads(), 0, "{:?}", thread_names());
    });
}
