//! A controller: ConfigMaps that are labelled for it are kept copied into every namespace that is labelled for it.
//!
//! ```text
//! cargo run --release --example controller -- --demo
//! kubectl label configmap settings copy.example.com/source=true       # on a cluster of your own
//! kubectl label namespace team-red copy.example.com/target=true
//! ```
//!
//! Handlers put keys of copies, there or not, on channels; workers make each what it should be. A key says where to
//! look, not what has happened: what was missed, was told twice or has failed is mended by the next look.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, at, never, select, unbounded};
use informer_examples::{About, Program, say};
use informer_factory::kube_core::params::{DeleteParams, PostParams, Preconditions};
use informer_factory::{
    Api, Clock as _, Event, Index, Object, ObjectKey, Result, SharedInformerFactory, Store, SystemClock,
};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};

const ABOUT: &str = "Keeps copies of labelled ConfigMaps in labelled namespaces.";
const SOURCE: &str = "copy.example.com/source";
const TARGET: &str = "copy.example.com/target";
/// An annotation of a copy: the namespace of its source.
const FROM: &str = "copy.example.com/from";
const WORKERS: usize = 2;
const SOON: Duration = Duration::from_millis(100);
const LATEST: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    About::new("controller", ABOUT).run(control)
}

fn control(program: &Program) -> Result<()> {
    let factory = SharedInformerFactory::builder(program.client.clone()).build();
    let (maps, namespaces) = (factory.informer(), factory.informer());
    let sources =
        Index::new("sources", |it: &ConfigMap| it.metadata.name.clone().filter(|_| is_on(it, SOURCE)));
    maps.add_index(&sources)?;
    let copier = Copier { program, maps: maps.store(), namespaces: namespaces.store(), sources };

    let (senders, queues): (Vec<_>, Vec<_>) = (0..WORKERS).map(|_| unbounded()).unzip();
    // A key always goes to the same worker: no two of them work on one copy at once.
    let hasher = RandomState::new();
    let push = Arc::new(move |key| _ = senders[hasher.hash_one(&key) as usize % WORKERS].send(key));
    let (all, to) = (copier.namespaces.clone(), Arc::clone(&push));
    maps.on_event(move |event| {
        to(event.key());
        let before = if let Event::Updated { old, .. } = event { old } else { event.object() };
        if is_on(&**before, SOURCE) || is_on(&**event.object(), SOURCE) {
            all.keys().iter().for_each(|there| to(ObjectKey::new(there.name(), event.meta().name)));
        }
    })?;
    let (sources, store) = (copier.sources.clone(), copier.maps.clone());
    namespaces.on_event(move |event| {
        let names = sources.values(&store).unwrap_or_default();
        names.iter().for_each(|name| push(ObjectKey::new(event.meta().name, name)));
    })?;

    program.sync(&factory)?;
    std::thread::scope(|scope| {
        queues.iter().for_each(|queue| _ = scope.spawn(|| copier.work(queue)));
        program.wait();
        factory.shutdown() // ends what the workers wait for, too
    })
}

struct Copier<'a> {
    program: &'a Program,
    maps: Store<ConfigMap>,
    namespaces: Store<Namespace>,
    sources: Index<ConfigMap, String>,
}

impl Copier<'_> {
    /// Looks at one key of `queue` after the other, until the program ends. What has failed is looked at again later,
    /// and nobody waits for that.
    fn work(&self, queue: &Receiver<ObjectKey>) {
        // Keys, each once however often it was told, with how long to wait if it fails.
        let mut due = BTreeMap::<ObjectKey, Duration>::new();
        let mut later = BTreeMap::<(Instant, ObjectKey), Duration>::new();
        loop {
            let next = later.first_key_value().map_or_else(never, |((when, _), _)| at(*when));
            select! {
                recv(self.program.closed) -> _ => return,
                recv(queue) -> key => due.extend(key.into_iter().chain(queue.try_iter()).map(|key| (key, SOON))),
                recv(next) -> _ => due.extend(later.pop_first().map(|((_, key), delay)| (key, delay))),
            }
            while let Some((key, delay)) = due.pop_first().filter(|_| !self.program.stop.is_set()) {
                later.retain(|(_, waiting), _| *waiting != key); // or each event would add an attempt for ever
                if let Some(error) = self.reconcile(&key).err().filter(|error| !error.is_stopped()) {
                    say!("failed  {key}, again in {delay:?}: {}", error.chain());
                    later.insert((SystemClock.now() + delay, key), LATEST.min(delay * 2));
                }
            }
        }
    }

    /// Makes `key` what it should be: a copy, or nothing of ours.
    fn reconcile(&self, key: &ObjectKey) -> Result<()> {
        let Program { client, stop, .. } = self.program;
        let api = Api::<ConfigMap>::namespaced(client, key.namespace()).stopped_by(stop);
        let there = self.maps.get(key).filter(|map| is_copy(map));
        let Some(source) = self.source_of(key)? else {
            let Some(there) = there else { return Ok(()) };
            let only_it = Preconditions { uid: there.metadata.uid.clone(), resource_version: None };
            api.delete(key.name(), &DeleteParams::default().preconditions(only_it))?;
            say!("removed {key}");
            return self.maps.wait_gone(key, there.meta().uid, TIMEOUT);
        };
        // With the version that we have seen: should there be a newer one, the server says that it is a conflict.
        let metadata = there.as_ref().map(|there| there.metadata.clone()).unwrap_or_default();
        let mut copy = ConfigMap { metadata, ..ConfigMap::clone(&source) };
        copy.metadata.name = Some(key.name().to_owned());
        let notes = copy.metadata.annotations.get_or_insert_default();
        notes.insert(FROM.to_owned(), source.meta().namespace.to_owned());
        let written = match there {
            Some(there) if *there == copy => return Ok(()),
            Some(_) => api.replace(key.name(), &PostParams::default(), &copy)?,
            // Somebody else's of that name is left alone: the server says that it exists.
            None => api.create(&PostParams::default(), &copy)?,
        };
        say!("copied  {key}, from {}", source.meta().namespace);
        // The next look must see this write, or it would make it again.
        let meta = written.meta();
        self.maps.wait_for(key, meta.uid, meta.resource_version, TIMEOUT)
    }

    /// What belongs to `key`: the first source of that name; nothing, if the namespace has one of its own.
    fn source_of(&self, key: &ObjectKey) -> Result<Option<Arc<ConfigMap>>> {
        let is_target = |to: &Namespace| is_on(to, TARGET) && to.metadata.deletion_timestamp.is_none();
        let wanted = self.namespaces.get(key.namespace()).is_some_and(|to| is_target(&to));
        let foreign = |map: &ConfigMap| map.meta().namespace != key.namespace();
        let sources = self.sources.get(&self.maps, key.name())?.into_iter();
        let first = sources.min_by_key(|map| (foreign(map), map.meta().key()));
        Ok(first.filter(|map| wanted && foreign(map)))
    }
}

fn is_on(object: &impl Object, label: &str) -> bool {
    object.meta().labels.get(label) == Some("true")
}

fn is_copy(map: &ConfigMap) -> bool {
    !is_on(map, SOURCE) && map.metadata.annotations.iter().any(|notes| notes.contains_key(FROM))
}
