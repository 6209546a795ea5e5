//! What the benches share: the objects that they time things with.
//!
//! Invariant: the same objects on every run, so that numbers of two runs compare.

use std::sync::Arc;

use informer_core::kube_core::ResourceExt as _;
use informer_testkit::config_map;
use k8s_openapi::api::core::v1::ConfigMap;

/// How many objects a namespace of [`objects`] has.
pub const NAMESPACE: usize = 100;

/// `n` ConfigMaps at `version`, 100 to a namespace, with the labels `app` (10 values) and `node` (100 values).
#[must_use]
pub fn objects(n: usize, version: &str) -> Vec<Arc<ConfigMap>> {
    (0..n).map(|at| Arc::new(object(at, version))).collect()
}

/// Object `at` of [`objects`].
#[must_use]
pub fn object(at: usize, version: &str) -> ConfigMap {
    let (namespace, name) = (format!("team-{}", at / NAMESPACE), format!("settings-{at}"));
    let mut map = config_map(&namespace, &name, &format!("uid-{at}"), version);
    map.labels_mut().insert("app".to_owned(), format!("app-{}", at % 10));
    map.labels_mut().insert("node".to_owned(), format!("node-{}", at % 100));
    map
}
