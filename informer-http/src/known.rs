//! The resources of core/v1: the same on every server, so nobody has to be asked for them.
//!
//! Invariant: the table agrees with the discovery document of a real API server.

use informer_core::kube_core::{ApiResource, GroupVersionKind};

use crate::discovery::ServedResource;

struct Known {
    plural: &'static str,
    kind: &'static str,
    short: &'static [&'static str],
    namespaced: bool,
}

const fn namespaced(plural: &'static str, kind: &'static str, short: &'static [&'static str]) -> Known {
    Known { plural, kind, short, namespaced: true }
}

const fn cluster(plural: &'static str, kind: &'static str, short: &'static [&'static str]) -> Known {
    Known { plural, kind, short, namespaced: false }
}

const CORE: &[Known] = &[
    namespaced("configmaps", "ConfigMap", &["cm"]),
    namespaced("endpoints", "Endpoints", &["ep"]),
    namespaced("events", "Event", &["ev"]),
    namespaced("limitranges", "LimitRange", &["limits"]),
    cluster("namespaces", "Namespace", &["ns"]),
    cluster("nodes", "Node", &["no"]),
    namespaced("persistentvolumeclaims", "PersistentVolumeClaim", &["pvc"]),
    cluster("persistentvolumes", "PersistentVolume", &["pv"]),
    namespaced("pods", "Pod", &["po"]),
    namespaced("podtemplates", "PodTemplate", &[]),
    namespaced("replicationcontrollers", "ReplicationController", &["rc"]),
    namespaced("resourcequotas", "ResourceQuota", &["quota"]),
    namespaced("secrets", "Secret", &[]),
    namespaced("serviceaccounts", "ServiceAccount", &["sa"]),
    namespaced("services", "Service", &["svc"]),
];

impl Known {
    fn served(&self) -> ServedResource {
        let gvk = GroupVersionKind::gvk("", "v1", self.kind);
        ServedResource {
            resource: ApiResource::from_gvk_with_plural(&gvk, self.plural),
            namespaced: self.namespaced,
            verbs: Vec::new(),
        }
    }
}

/// The resource of that plural, singular or kind, which no other group can take from core/v1.
pub(crate) fn by_name(spelling: &str) -> Option<ServedResource> {
    let spelling = spelling.strip_suffix(".v1").unwrap_or(spelling);
    let has_name = |known: &&Known| {
        known.plural.eq_ignore_ascii_case(spelling) || known.kind.eq_ignore_ascii_case(spelling)
    };
    CORE.iter().find(has_name).map(Known::served)
}

/// The resource of that short name; another group may have a resource that is really called so.
pub(crate) fn by_short_name(spelling: &str) -> Option<ServedResource> {
    CORE.iter().find(|known| known.short.contains(&spelling)).map(Known::served)
}

/// All plural names.
pub(crate) fn plurals<'a>() -> impl Iterator<Item = &'a str> {
    CORE.iter().map(|known| known.plural)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_singulars_and_kinds_are_known_short_names_only_on_request() {
        for spelling in ["pods", "pod", "Pod", "pods.v1"] {
            let pods = by_name(spelling).unwrap();
            assert_eq!(pods.resource.plural, "pods");
            assert_eq!(pods.resource.api_version, "v1");
            assert!(pods.namespaced);
        }
        assert!(by_name("po").is_none());
        assert_eq!(by_short_name("po").unwrap().resource.kind, "Pod");
        assert!(!by_name("nodes").unwrap().namespaced);
        assert!(by_name("deployments").is_none());
        assert!(by_name("pods.metrics.k8s.io").is_none());
    }
}
