//! A resource of one's own: derived, defined in the cluster, and followed lazily.
//!
//! ```text
//! cargo run --release --example custom_resource -- --demo
//! ```

use std::process::ExitCode;
use std::time::Duration;

use crossbeam_channel::bounded;
use informer_examples::{About, Program, say};
use informer_factory::{
    Api, Client, Error, ErrorKind, Event, Index, Lazy, ObjectKey, Result, SharedInformerFactory,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Crd;
use kube_core::CustomResourceExt as _;
use kube_core::params::{DeleteParams, Patch, PatchParams, PostParams};
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What is to be backed up, and when. The derive makes `Backup` of it: metadata and this.
#[derive(Clone, Debug, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Backup", namespaced)]
#[kube(printcolumn(name = "Database", type_ = "string", json_path = ".spec.database"))]
#[kube(crates(kube_core = "::kube_core"))]
struct BackupSpec {
    database: String,
    schedule: String,
    keep: u32,
}

const TIMEOUT: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    let about = "Defines backups.example.com, if it is not there, and follows the Backups.\n\
                 With --demo it makes some, too. The definition stays when it ends.";
    About::new("custom_resource", about).run(follow)
}

fn follow(program: &Program) -> Result<()> {
    define(&program.client)?;
    let factory =
        SharedInformerFactory::builder(program.client.clone()).namespace(&program.namespace).build();
    // Lazy: labels and versions are at hand, and the body is kept as compact JSON until somebody wants it.
    let backups = factory.informer::<Lazy<Backup>>();
    let by_database =
        Index::<Lazy<Backup>, String>::decoded("by-database", |b: &Backup| [b.spec.database.clone()]);
    backups.add_index(&by_database)?;
    backups.on_event(|event| match event {
        Event::Added { object, .. } => say!("new:     {}  {}", event.key(), plan(object)),
        Event::Updated { new, .. } => say!("changed: {}  {}", event.key(), plan(new)),
        Event::Deleted { .. } => say!("gone:    {}", event.key()),
        _ => {}
    })?;
    program.sync(&factory)?;
    say!("synced: {} backups", backups.store().len());

    if program.demo.is_some() {
        let api = Api::<Backup>::namespaced(&program.client, "default").stopped_by(&program.stop);
        for (name, database, schedule) in [
            ("orders-daily", "orders", "@daily"),
            ("orders-hourly", "orders", "@hourly"),
            ("users", "users", "@weekly"),
        ] {
            let spec = BackupSpec { database: database.to_owned(), schedule: schedule.to_owned(), keep: 7 };
            let made = api.create(&PostParams::default(), &Backup::new(name, spec))?;
            let (uid, version) = (made.metadata.uid.unwrap_or_default(), made.metadata.resource_version);
            backups.store().wait_for(("default", name), &uid, &version.unwrap_or_default(), TIMEOUT)?;
        }
        // All three writes have been waited for, so they are there.
        let keys = by_database.keys(&backups.store(), "orders")?;
        let names: Vec<_> = keys.iter().map(ObjectKey::name).collect();
        say!("backups of orders: {}", names.join(", "));
        api.patch("users", &PatchParams::default(), &Patch::Merge(json!({"spec": {"keep": 30}})))?;
        api.delete("orders-hourly", &DeleteParams::default())?;
    }
    program.wait();
    factory.shutdown()
}

/// The one line where an object is decoded.
fn plan(backup: &Lazy<Backup>) -> String {
    match backup.decode() {
        Ok(backup) => {
            format!("{} {}, keeps {}", backup.spec.database, backup.spec.schedule, backup.spec.keep)
        }
        Err(error) => error.to_string(),
    }
}

/// Creates the definition and waits, without asking again and again, until the server serves it.
fn define(client: &Client) -> Result<()> {
    match Api::<Crd>::all(client).create(&PostParams::default(), &Backup::crd()) {
        Err(error) if !error.is_already_exists() => return Err(error),
        _ => {}
    }
    let (tell, established) = bounded(1);
    let factory = SharedInformerFactory::builder(client.clone()).build();
    let definitions = factory.informer_with::<Crd>(|options| {
        options.field_selector(format!("metadata.name={}", Backup::crd_name()));
    })?;
    definitions.on_event(move |event| {
        let status = event.object().status.as_ref();
        let mut conditions = status.and_then(|status| status.conditions.as_deref()).into_iter().flatten();
        if conditions.any(|condition| condition.type_ == "Established" && condition.status == "True") {
            let _ = tell.try_send(()); // once is enough
        }
    })?;
    factory.start()?;
    established
        .recv_timeout(TIMEOUT)
        .map_err(|_| Error::new(ErrorKind::TimedOut, format!("{} is not established", Backup::crd_name())))?;
    say!("{} is established", Backup::crd_name());
    factory.shutdown()
}
