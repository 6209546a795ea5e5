//! Reads a cache in three ways: through typed indexes, through a lister, and with a selector. None asks the network.
//!
//! ```text
//! cargo run --release --example list_by_index -- --demo
//! ```

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use informer_examples::{About, Program, say};
use informer_factory::kube_core::{Expression, Selector};
use informer_factory::{Index, ObjectKey, Result, SharedInformer, SharedInformerFactory};
use k8s_openapi::api::core::v1::Pod;

/// Each object may have any number of values: a Pod has one node, or none yet, and as many images as containers.
struct Indexes {
    by_node: Index<Pod, String>,
    by_image: Index<Pod, String>,
}

fn main() -> ExitCode {
    let about = "Lists Pods by node and by image, by namespace, and by label.\n\
                 With --for it keeps its cache for that long, and lists them again.";
    About::new("list_by_index", about).run(list)
}

fn list(program: &Program) -> Result<()> {
    let factory =
        SharedInformerFactory::builder(program.client.clone()).namespace(&program.namespace).build();
    let pods = factory.informer::<Pod>();
    let indexes = Indexes {
        by_node: Index::new("by-node", |pod: &Pod| pod.spec.as_ref()?.node_name.clone()),
        by_image: Index::new("by-image", |pod: &Pod| {
            let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
            containers.filter_map(|container| container.image.clone()).collect::<Vec<_>>()
        }),
    };
    pods.add_index(&indexes.by_node)?;
    pods.add_index(&indexes.by_image)?;

    let at_stop = pods.clone();
    let _at_stop = program.stop.on_stop(move || at_stop.stop()); // ends the wait for the first list, too
    factory.start()?;
    factory.wait_for_cache_sync(Duration::from_secs(30))?;
    show(&pods, &indexes)?;
    if program.span.is_some() {
        program.wait();
        say!("");
        show(&pods, &indexes)?; // a store can be read after the end, as it was then
    }
    factory.shutdown()
}

fn show(pods: &SharedInformer<Pod>, indexes: &Indexes) -> Result<()> {
    let store = pods.store();
    say!("{} pods at version {}", store.len(), store.resource_version());

    say!("by node, from an index:");
    for node in sorted(indexes.by_node.values(&store)?) {
        let on_it = indexes.by_node.get(&store, &node)?;
        say!("  {:<28} {:>3}  {}", node, on_it.len(), names(&on_it));
    }
    say!("by image, from another:");
    for image in sorted(indexes.by_image.values(&store)?) {
        let keys = indexes.by_image.keys(&store, &image)?; // keys alone, without the objects
        let first = keys.first().map_or("", ObjectKey::as_str);
        say!("  {:<28} {:>3}  {first}", last_part(&image), keys.len());
    }

    say!("by namespace, from a lister:");
    let lister = pods.lister();
    for namespace in sorted(store.keys().iter().map(|key| key.namespace().to_owned())) {
        let there = lister.in_namespace(&namespace).list();
        say!("  {:<28} {:>3}  {}", namespace, there.len(), names(&there));
    }

    say!("by label, with a selector:");
    let web = Selector::from_iter([("app", "web")]);
    let others = Selector::from_iter([Expression::NotEqual("app".to_owned(), "web".to_owned())]);
    for selector in [web, others] {
        say!("  {:<28} {:>3}", selector.to_string(), lister.select(&selector).len());
    }
    Ok(())
}

fn sorted(values: impl IntoIterator<Item = String>) -> BTreeSet<String> {
    values.into_iter().collect()
}

fn names(pods: &[Arc<Pod>]) -> String {
    let mut names: Vec<&str> = pods.iter().filter_map(|pod| pod.metadata.name.as_deref()).collect();
    names.sort_unstable();
    names.join(" ")
}

fn last_part(image: &str) -> &str {
    image.rsplit('/').next().unwrap_or(image)
}
