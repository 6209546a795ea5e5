//! Ends well: what is in hand is finished, every wait is ended, every thread is joined, and all of it is quick.
//!
//! ```text
//! cargo run --release --example graceful_stop -- --demo      # and then Ctrl-C, or kill
//! ```

use std::process::ExitCode;
use std::time::Duration;

use crossbeam_channel::{Receiver, after, bounded, select, unbounded};
use informer_examples::{About, Program, say, spawn};
use informer_factory::{Clock as _, Event, Lazy, ObjectKey, Result, SharedInformerFactory, SystemClock};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};

/// How long the worker takes for one key.
const WORK: Duration = Duration::from_millis(120);

fn main() -> ExitCode {
    let about = "Follows Pods and ConfigMaps with a worker that takes its time, and ends well: on\n\
                 SIGINT, on SIGTERM, or after the time of --for.";
    About::new("graceful_stop", about).run(work)
}

fn work(program: &Program) -> Result<()> {
    let factory =
        SharedInformerFactory::builder(program.client.clone()).namespace(&program.namespace).build();
    let pods = factory.informer::<Lazy<Pod>>();
    let maps = factory.informer::<ConfigMap>();

    // Handlers do no more than pass keys on: a stop has no handler to wait for.
    let (queue, keys) = unbounded::<ObjectKey>();
    let (pod_keys, map_keys) = (queue.clone(), queue);
    pods.on_event(move |event: &Event<_>| _ = pod_keys.send(event.key()))?;
    maps.on_event(move |event: &Event<_>| _ = map_keys.send(event.key()))?;

    // A channel on which nothing is ever sent: it closes at the stop, and so wakes whoever selects on it. The hook is
    // short; it runs on the thread of the signals.
    let (open, closed) = bounded::<()>(0);
    let _at_stop = program.stop.on_stop(move || drop(open));
    // `stop` of an informer returns at once. It ends the wait for the first list below, should the server be away.
    let (stop_pods, stop_maps) = (pods.clone(), maps.clone());
    let _informers = program.stop.on_stop(move || {
        stop_pods.stop();
        stop_maps.stop();
    });

    let (report, finished) = bounded(1);
    let worker = spawn("worker", move || _ = report.send(handle_until_stop(&keys, &closed)))?;
    factory.start()?;
    let synced = factory.wait_for_cache_sync(Duration::from_secs(30));
    if synced.is_ok() {
        say!("synced: {} pods, {} config maps", pods.store().len(), maps.store().len());
        program.wait();
    }

    let began = SystemClock.now();
    program.stop.set(); // after an error too
    say!("stopping: nothing new is taken in hand");
    factory.shutdown()?; // waits for the threads of the informers: reads, back-offs and handlers have ended
    say!("informers: every thread joined after {:.1} ms", millis(began.elapsed()));
    let (done, left) = finished.recv().unwrap_or_default();
    let _ = worker.join();
    say!("worker: {done} keys done, the last one to its end; {left} left for the next start");
    // Caches can be read after the end.
    say!(
        "caches: {} pods, {} config maps; all done after {:.1} ms",
        pods.store().len(),
        maps.store().len(),
        millis(began.elapsed())
    );
    synced
}

/// Works through `keys` until `closed` closes. Answers how many were done, and how many were left.
fn handle_until_stop(keys: &Receiver<ObjectKey>, closed: &Receiver<()>) -> (usize, usize) {
    let mut done = 0;
    loop {
        // Of two channels that are ready `select!` takes any: the stop comes first.
        if closed.try_recv().is_err_and(|error| error.is_disconnected()) {
            return (done, keys.len());
        }
        select! {
            recv(closed) -> _ => {}
            recv(keys) -> key => match key {
                Ok(_key) => {
                    let _ = after(WORK).recv(); // some work that should not be cut in half
                    done += 1;
                }
                Err(_) => _ = closed.recv(),
            }
        }
    }
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
