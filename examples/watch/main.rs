//! Watches the objects of one resource come and go.
//!
//! ```text
//! cargo run --release --example watch -- --demo pods
//! cargo run --release --example watch -- --kubeconfig ~/.kube/config -A configmaps
//! cargo run --release --example watch -- -o json -n kube-system -l app=dns pods
//! ```

mod args;
mod print;
mod show;

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use informer_examples::{Cluster, init_log, run, stop_on_signal};
use informer_factory::kube_core::{ApiResource, DynamicObject, PartialObjectMeta, Resource};
use informer_factory::sync::JoinHandle;
use informer_factory::{
    Client, Clock as _, Error, ErrorKind, InformerOptions, Lazy, Recording, Registration, Representation,
    Result, ServedResource, SharedInformer, SharedInformerFactory, Stage, Stop, SystemClock, WeakInformer,
    find_resource,
};

use args::{Args, Parsed};
use print::Printer;
use show::Show;

fn main() -> ExitCode {
    init_log();
    match args::parse(std::env::args_os().skip(1)) {
        Parsed::Run(args) => run(|| watch(&args)),
        Parsed::Help => {
            print::help(&args::usage());
            ExitCode::SUCCESS
        }
        Parsed::Wrong(text) => {
            print::usage_error(&text);
            ExitCode::from(2)
        }
    }
}

fn watch(args: &Args) -> Result<()> {
    let Cluster { client, demo } = args.target.connect()?;
    let found = find_resource(&client, &args.resource)?;
    can_be_followed(&found)?;
    let namespace = match args.namespace.as_deref() {
        _ if !found.namespaced || args.all_namespaces => String::new(),
        Some(namespace) if !namespace.is_empty() => namespace.to_owned(),
        None if demo.is_some() => String::new(), // nobody knows its namespaces yet
        _ => client.default_namespace().to_owned(),
    };
    match (args.metadata_only, args.lazy) {
        (true, _) => follow::<PartialObjectMeta<DynamicObject>>(args, client, &found.resource, &namespace),
        (_, true) => follow::<Lazy<DynamicObject>>(args, client, &found.resource, &namespace),
        _ => follow::<DynamicObject>(args, client, &found.resource, &namespace),
    }
}

/// Some resources can only be created (`tokenreviews`), or listed and not watched (`componentstatuses`): asking again
/// will not change that.
fn can_be_followed(found: &ServedResource) -> Result<()> {
    let lacks = |verb: &&str| !found.verbs.iter().any(|offered| offered == verb);
    let missing: Vec<&str> = ["list", "watch"].into_iter().filter(lacks).collect();
    if found.verbs.is_empty() || missing.is_empty() {
        return Ok(()); // nobody has said what it offers, or all is well
    }
    let text = format!(
        "the server offers no {} of {:?}; kubectl api-resources -o wide lists what can be done with a resource",
        missing.join(" and no "),
        found.resource.plural
    );
    Err(Error::new(ErrorKind::MethodNotAllowed, text).at(Stage::Discovery))
}

/// Follows `resource` until a signal, the end of `--for`, or a failure before anything was heard from the server.
fn follow<T>(args: &Args, client: Client, resource: &ApiResource, namespace: &str) -> Result<()>
where
    T: Representation + Show,
    T::Resource: Resource<DynamicType = ApiResource>,
{
    let stop = Stop::new();
    stop_on_signal(&stop)
        .map_err(|error| Error::new(ErrorKind::Spawn, "cannot listen for signals").with_source(error))?;
    let printer = Arc::new(Printer::new(args.json, &resource.kind, stop.clone()));

    let recording = args.record.as_ref().map(Recording::create).transpose()?;
    let factory = SharedInformerFactory::builder(client).build();
    let (told, myself) = (Arc::clone(&printer), Arc::new(OnceLock::<WeakInformer<T>>::new()));
    let weak = Arc::clone(&myself);
    let informer = factory.dynamic_with::<T>(resource, |options: &mut InformerOptions<T>| {
        options.namespace(namespace).streaming(!args.no_streaming);
        options.on_error(move |report| {
            let informer = weak.get().and_then(WeakInformer::upgrade);
            told.report(report, informer.is_some_and(|informer| informer.status().last_contact.is_some()));
        });
        args.selector.iter().for_each(|selector| _ = options.label_selector(selector));
        args.field_selector.iter().for_each(|selector| _ = options.field_selector(selector));
        args.page_size.iter().for_each(|size| _ = options.page_size(*size));
        args.resync.iter().for_each(|period| _ = options.resync(*period));
        recording.iter().for_each(|recording| _ = options.record(recording));
    })?;
    let _ = myself.set(informer.downgrade()); // the first and only time
    let told = Arc::clone(&printer);
    let registration = informer.on_event(move |event| told.event(event))?;
    factory.start()?;
    let synced = say_when_synced(&printer, &informer, registration)?;

    let until = args.span.and_then(|span| SystemClock.now().checked_add(span));
    wait(&stop, args.status, until, || printer.status(&informer.status()));
    let status = informer.status(); // before its end, which is no news
    factory.shutdown()?;
    let _ = synced.join(); // `stopped` is the last line
    if let Some(error) = printer.fatal() {
        return Err(error);
    }
    if args.status.is_some() {
        printer.status(&status);
    }
    printer.stopped(informer.store().len());
    printer.fatal().map_or(Ok(()), Err) // the last line may be the one that does not fit on the disk
}

/// Waits for the stop or `until`, and calls `tell` each `period` meanwhile.
fn wait(stop: &Stop, period: Option<Duration>, until: Option<Instant>, tell: impl Fn()) {
    let mut next = SystemClock.now();
    while !stop.is_set() {
        next = match period.and_then(|period| next.checked_add(period)) {
            Some(next) if until.is_none_or(|until| next < until) => next,
            _ => {
                stop.wait_until(&SystemClock, until);
                return;
            }
        };
        if !stop.wait_until(&SystemClock, Some(next)) {
            tell();
        }
    }
}

/// Says `synced` once the handler has had every initial event.
fn say_when_synced<T: Representation>(
    printer: &Arc<Printer>,
    informer: &SharedInformer<T>,
    registration: Registration<T>,
) -> Result<JoinHandle<()>> {
    let (printer, store) = (Arc::clone(printer), informer.store());
    informer_factory::sync::spawn("synced", move || {
        if registration.wait_synced(Duration::MAX).is_ok() {
            printer.synced(store.len(), &store.resource_version());
        }
    })
    .map_err(|error| Error::new(ErrorKind::Spawn, "no thread to wait on").with_source(error).at(Stage::Start))
}
