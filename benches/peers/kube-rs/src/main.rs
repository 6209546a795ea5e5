//! kube-rs behind the command line and the JSON lines of the `watch` example, so that both can follow one server:
//!
//! ```text
//! watch-kube -kubeconfig FILE [-n NAMESPACE] [-l SELECTOR] RESOURCE.VERSION.GROUP
//! ```
//!
//! Its watcher keeps nothing that tells an addition from a change, so this keeps the versions of what it was told.

use std::collections::HashMap;
use std::io::Write as _;

use futures::{StreamExt as _, pin_mut};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, Config, ResourceExt as _};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run())
}

async fn run() -> Result<(), Failure> {
    let (mut kubeconfig, mut namespace, mut selector, mut resource) = (None, None, None, None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-kubeconfig" => kubeconfig = words.next(),
            "-n" => namespace = words.next(),
            "-l" => selector = words.next(),
            _ => resource = Some(word),
        }
    }
    let resource = resource.ok_or("RESOURCE is missing")?;
    let mut parts = resource.splitn(3, '.');
    let (Some(plural), Some(version), Some(group)) = (parts.next(), parts.next(), parts.next()) else {
        return Err("RESOURCE is resource.version.group".into());
    };
    let kubeconfig = Kubeconfig::read_from(kubeconfig.ok_or("-kubeconfig is missing")?)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    // The kind is not used on the wire.
    let kind = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, plural), plural);
    let api: Api<DynamicObject> = match &namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &kind),
        None => Api::all_with(client, &kind),
    };
    let wanted = selector.iter().fold(watcher::Config::default(), |config, text| config.labels(text));
    let stream = watcher(api, wanted).default_backoff();
    pin_mut!(stream);

    // Key to UID and version: what is known, and what a list that is under way has told so far.
    let mut known: HashMap<String, (String, String)> = HashMap::new();
    let mut listed = None;
    let mut synced = false;
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    loop {
        let next = tokio::select! {
            next = stream.next() => next,
            _ = terminate.recv() => break,
        };
        match next {
            None => break,
            Some(Err(error)) => say(json!({"event": "error", "message": error.to_string()})),
            Some(Ok(watcher::Event::Init)) => listed = Some(HashMap::new()),
            Some(Ok(watcher::Event::InitApply(object))) => {
                let (key, state) = state(&object);
                tell(&known, &key, &state, !synced);
                if let Some(listed) = &mut listed {
                    listed.insert(key, state);
                }
            }
            Some(Ok(watcher::Event::InitDone)) => {
                let fresh = listed.take().unwrap_or_default();
                for (key, (uid, version)) in known.iter().filter(|(key, _)| !fresh.contains_key(*key)) {
                    say(json!({"event": "deleted", "key": key, "uid": uid, "rv": version, "final_state_unknown": true}));
                }
                known = fresh;
                if !synced {
                    synced = true;
                    say(json!({"event": "synced", "objects": known.len()}));
                }
            }
            Some(Ok(watcher::Event::Apply(object))) => {
                let (key, state) = state(&object);
                tell(&known, &key, &state, false);
                known.insert(key, state);
            }
            Some(Ok(watcher::Event::Delete(object))) => {
                let (key, (uid, version)) = state(&object);
                known.remove(&key);
                say(json!({"event": "deleted", "key": key, "uid": uid, "rv": version, "final_state_unknown": false}));
            }
        }
    }
    say(json!({"event": "stopped", "objects": known.len()}));
    Ok(())
}

fn tell(known: &HashMap<String, (String, String)>, key: &str, state: &(String, String), initial: bool) {
    let (uid, version) = state;
    match known.get(key) {
        Some(old) if old == state => {}
        Some((_, old)) => say(json!({"event": "updated", "key": key, "uid": uid, "rv": version, "old_rv": old})),
        None => say(json!({"event": "added", "key": key, "uid": uid, "rv": version, "initial": initial})),
    }
}

fn state(object: &DynamicObject) -> (String, (String, String)) {
    let key = match object.namespace() {
        Some(namespace) => format!("{namespace}/{}", object.name_any()),
        None => object.name_any(),
    };
    (key, (object.uid().unwrap_or_default(), object.resource_version().unwrap_or_default()))
}

fn say(line: Value) {
    let _ = writeln!(std::io::stdout(), "{line}"); // nobody is left to tell
}
