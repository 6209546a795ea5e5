//! What the tests share: a factory on a scripted server, and the exchanges most scripts are made of.

use std::time::Duration;

use informer_factory::{
    Client, Config, FactoryBuilder, Kubeconfig, KubeconfigOptions, SharedInformerFactory,
};
pub(crate) use informer_testkit::script::initial_events as initial;
use informer_testkit::script::{Exchange, Expect, Reply, WireObject, object, stall};
use informer_testkit::{ManualClock, ScriptedServer, within};

pub(crate) const LONG: Duration = Duration::from_secs(20);

/// Where `ConfigMap`s are.
pub(crate) const MAPS: &str = "/api/v1/configmaps";
/// Where `Secret`s are.
pub(crate) const SECRETS: &str = "/api/v1/secrets";

/// A client made the way a program makes it.
pub(crate) fn client(server: &ScriptedServer) -> Client {
    let kubeconfig = Kubeconfig::parse(&server.kubeconfig()).unwrap();
    Client::new(Config::from_kubeconfig(&kubeconfig, &KubeconfigOptions::new()).unwrap()).unwrap()
}

pub(crate) fn builder(server: &ScriptedServer) -> FactoryBuilder {
    SharedInformerFactory::builder(client(server))
}

pub(crate) fn factory(server: &ScriptedServer) -> SharedInformerFactory {
    builder(server).build()
}

/// A `ConfigMap`, or another kind by [`WireObject::of`].
pub(crate) fn map(key: &str, version: &str) -> WireObject {
    object(key, &format!("uid-{key}"), version)
}

/// A streaming list at `path` that is asked for once, and a quiet watch after it.
pub(crate) fn streams(path: &str, version: &str, objects: &[WireObject]) -> Exchange {
    let mut actions = initial(version, objects);
    actions.push(stall());
    Expect::watch().path(path).query("sendInitialEvents", "true").answer(actions)
}

/// 403, as the server of a user without the right says it.
pub(crate) fn forbidden(resource: &str) -> Reply {
    let message = format!(
        "{resource} is forbidden: User \"eve\" cannot list resource \"{resource}\" in API group \"\" at the cluster scope"
    );
    Reply::status(403, "Forbidden", &message)
}

/// Starts the factory and waits until every cache is full.
#[track_caller]
pub(crate) fn run(factory: &SharedInformerFactory) {
    factory.start().unwrap();
    synced(factory);
}

#[track_caller]
pub(crate) fn synced(factory: &SharedInformerFactory) {
    let factory = factory.clone();
    within("every cache is full", move || factory.wait_for_cache_sync(LONG)).unwrap();
}

/// Waits for an informer's back-off: the first wait is 0.8 s and more, the watchdog of handlers looks at 0.25 s.
#[track_caller]
pub(crate) fn wait_for_backoff(clock: &ManualClock) -> Duration {
    clock.wait_for_alarm("a back-off", |distance| Duration::from_millis(800) <= distance)
}

/// Waits for an informer's back-off and ends it.
#[track_caller]
pub(crate) fn skip_backoff(clock: &ManualClock) -> Duration {
    let wait = wait_for_backoff(clock);
    clock.advance(wait);
    wait
}

/// Waits for the end of the script, shuts the factory down and asserts that the script was followed.
#[track_caller]
pub(crate) fn finish(factory: &SharedInformerFactory, server: ScriptedServer) {
    server.wait_for_script();
    let theirs = factory.clone();
    within("the shutdown", move || theirs.shutdown()).unwrap();
    server.finish();
}

/// The requests, sorted: what several informers at once have asked for.
pub(crate) fn asked(server: &ScriptedServer) -> Vec<String> {
    let mut asked: Vec<String> =
        server.requests().iter().map(|request| format!("{} {request}", request.path())).collect();
    asked.sort();
    asked
}
