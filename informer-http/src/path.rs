//! Paths and queries of requests. Pure.
//!
//! Invariant: what is asked for is what is sent; no parameter is dropped or changed because of another.

use informer_core::kube_core::ApiResource;
use informer_core::{ListRequest, WatchRequest};

/// The objects of one resource, in one namespace or in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Collection {
    /// API group; empty for the core group.
    pub group: String,
    /// API version within the group.
    pub version: String,
    /// Plural name in lower case.
    pub plural: String,
    /// The namespace; none is all of them, or a resource of the cluster.
    pub namespace: Option<String>,
}

impl Collection {
    pub(crate) fn new(resource: &ApiResource, namespace: Option<&str>) -> Self {
        Collection {
            group: resource.group.clone(),
            version: resource.version.clone(),
            plural: resource.plural.clone(),
            // As in kubectl, the empty namespace is all of them.
            namespace: namespace.filter(|namespace| !namespace.is_empty()).map(str::to_owned),
        }
    }

    /// `/api/v1/namespaces/default/pods`.
    pub(crate) fn path(&self) -> String {
        let mut path = String::from(if self.group.is_empty() { "/api" } else { "/apis" });
        let group = Some(&self.group).filter(|group| !group.is_empty());
        for segment in group.into_iter().chain([&self.version]) {
            push_segment(&mut path, segment);
        }
        if let Some(namespace) = &self.namespace {
            path.push_str("/namespaces");
            push_segment(&mut path, namespace);
        }
        push_segment(&mut path, &self.plural);
        path
    }

    /// The path of the object `name`, or of its `subresource`.
    pub(crate) fn object_path(&self, name: &str, subresource: Option<&str>) -> String {
        let mut path = self.path();
        push_segment(&mut path, name);
        if let Some(subresource) = subresource {
            push_segment(&mut path, subresource);
        }
        path
    }

    /// `pods`, `widgets.example.com`: what error texts and thread names say.
    pub(crate) fn name(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }
}

/// Which objects of a collection are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    /// `labelSelector`.
    pub labels: Option<String>,
    /// `fieldSelector`.
    pub fields: Option<String>,
    /// Further parameters, sent as they are.
    pub further: Vec<(String, String)>,
}

/// A query string under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    text: String,
}

impl Query {
    /// The query of one page of a list.
    pub(crate) fn list(request: &ListRequest, selection: &Selection) -> Self {
        let mut query = Query::default();
        query.push_some("resourceVersion", &request.resource_version);
        if let Some(limit) = request.limit {
            if !matches!(&*request.resource_version, "" | "0") {
                // Without it a server reads version and limit together as *exactly* that version: a list after a 410
                // would bring the very version that cannot be watched, again and again.
                query.push("resourceVersionMatch", "NotOlderThan");
            }
            query.push("limit", &limit.to_string());
        }
        query.push_some("continue", request.continue_token.as_deref().unwrap_or_default());
        query.select(selection);
        query
    }

    /// The query of a watch.
    pub(crate) fn watch(request: &WatchRequest, selection: &Selection) -> Self {
        let mut query = Query::default();
        query.push("watch", "true");
        query.push_some("resourceVersion", &request.resource_version);
        query.push("allowWatchBookmarks", "true");
        if request.initial_events {
            query.push("sendInitialEvents", "true");
            query.push("resourceVersionMatch", "NotOlderThan");
        }
        if !request.timeout.is_zero() {
            // Zero would be the server's default.
            query.push("timeoutSeconds", &request.timeout.as_secs().max(1).to_string());
        }
        query.select(selection);
        query
    }

    fn select(&mut self, selection: &Selection) {
        self.push_some("labelSelector", selection.labels.as_deref().unwrap_or_default());
        self.push_some("fieldSelector", selection.fields.as_deref().unwrap_or_default());
        for (key, value) in &selection.further {
            self.push(key, value);
        }
    }

    /// Adds a parameter, also one without a value.
    pub(crate) fn push(&mut self, key: &str, value: &str) {
        if !self.text.is_empty() {
            self.text.push('&');
        }
        encode(&mut self.text, key);
        self.text.push('=');
        encode(&mut self.text, value);
    }

    /// Adds a parameter unless its value is empty.
    pub(crate) fn push_some(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.push(key, value);
        }
    }

    /// The query behind `path`.
    pub(crate) fn after(self, mut path: String) -> String {
        if !self.text.is_empty() {
            path.push('?');
            path.push_str(&self.text);
        }
        path
    }
}

/// `name` as one segment of a path.
pub(crate) fn segment(name: &str) -> String {
    let mut path = String::new();
    push_segment(&mut path, name);
    path.split_off(1)
}

fn push_segment(path: &mut String, segment: &str) {
    path.push('/');
    // A segment of dots alone would be taken for a way up.
    if !segment.is_empty() && segment.bytes().all(|byte| byte == b'.') {
        path.push_str(&"%2E".repeat(segment.len()));
    } else {
        encode(path, segment);
    }
}

/// Percent-encodes all but the unreserved characters of RFC 3986.
fn encode(text: &mut String, value: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            text.push(char::from(byte));
        } else {
            text.push('%');
            text.push(char::from(HEX[usize::from(byte >> 4)]));
            text.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn collection(group: &str, version: &str, plural: &str, namespace: Option<&str>) -> Collection {
        let (group, version, plural) = (group.to_owned(), version.to_owned(), plural.to_owned());
        Collection { group, version, plural, namespace: namespace.map(str::to_owned) }
    }

    fn list(request: &ListRequest, selection: &Selection) -> String {
        Query::list(request, selection).after(String::new())
    }

    fn watch() -> WatchRequest {
        WatchRequest {
            resource_version: "403".to_owned(),
            initial_events: false,
            timeout: Duration::from_secs(300),
            idle: Duration::from_secs(90),
        }
    }

    #[test]
    fn paths_of_collections_objects_and_subresources() {
        let pods = collection("", "v1", "pods", Some("wire"));
        assert_eq!(pods.path(), "/api/v1/namespaces/wire/pods");
        assert_eq!(pods.object_path("web-0", Some("status")), "/api/v1/namespaces/wire/pods/web-0/status");
        assert_eq!(pods.name(), "pods");
        let widgets = collection("example.com", "v1", "widgets", None);
        assert_eq!(widgets.path(), "/apis/example.com/v1/widgets");
        assert_eq!(widgets.object_path("a", None), "/apis/example.com/v1/widgets/a");
        assert_eq!(widgets.name(), "widgets.example.com");
    }

    #[test]
    fn names_cannot_leave_their_segment() {
        let roles = collection("rbac.authorization.k8s.io", "v1", "clusterroles", None);
        let path = roles.object_path("system:node", None);
        assert!(path.ends_with("/clusterroles/system%3Anode"), "{path}");
        assert!(roles.object_path("../x?y#z", None).ends_with("/..%2Fx%3Fy%23z"));
        assert_eq!((segment("a/b"), segment("")), ("a%2Fb".to_owned(), String::new()));
        assert!(roles.object_path("..", None).ends_with("/clusterroles/%2E%2E"));
    }

    #[test]
    fn the_empty_namespace_is_all_namespaces() {
        let resource = ApiResource::erase::<k8s_openapi::api::core::v1::Pod>(&());
        assert_eq!(Collection::new(&resource, Some("")).path(), "/api/v1/pods");
    }

    /// One line a parameter; the queries are those of recorded exchanges with a real API server.
    #[test]
    fn every_list_parameter() {
        let none = Selection::default();
        let labels = |text: &str| Selection { labels: Some(text.to_owned()), ..Selection::default() };
        let fields = |text: &str| Selection { fields: Some(text.to_owned()), ..Selection::default() };
        let further = |key: &str, value: &str| Selection {
            further: vec![(key.to_owned(), value.to_owned())],
            ..Selection::default()
        };
        let page = |version: &str, limit: Option<u32>, token: Option<&str>| ListRequest {
            resource_version: version.to_owned(),
            limit,
            continue_token: token.map(str::to_owned),
        };
        let shard = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')";
        let token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NDAxLCJzdGFydCI6Ii9jbS0xXHUwMDAwIn0";
        for (request, selection, want) in [
            (page("", None, None), &none, String::new()),
            (page("", Some(2), None), &none, "?limit=2".to_owned()),
            (page("", Some(2), Some(token)), &none, format!("?limit=2&continue={token}")),
            (page("0", None, None), &none, "?resourceVersion=0".to_owned()),
            (page("0", Some(2), None), &none, "?resourceVersion=0&limit=2".to_owned()),
            (page("403", None, None), &none, "?resourceVersion=403".to_owned()),
            (
                page("403", Some(2), None),
                &none,
                "?resourceVersion=403&resourceVersionMatch=NotOlderThan&limit=2".to_owned(),
            ),
            (page("", None, None), &labels("n=1"), "?labelSelector=n%3D1".to_owned()),
            (page("", None, None), &labels("!!"), "?labelSelector=%21%21".to_owned()),
            (
                page("", None, None),
                &labels("a in (b, c)"),
                "?labelSelector=a%20in%20%28b%2C%20c%29".to_owned(),
            ),
            (
                page("", None, None),
                &fields("metadata.name=cm-3"),
                "?fieldSelector=metadata.name%3Dcm-3".to_owned(),
            ),
            (
                page("", None, None),
                &further("shardSelector", shard),
                "?shardSelector=shardRange%28object.metadata.uid%2C%20%270x0000000000000000%27%2C%20\
                 %270x8000000000000000%27%29"
                    .to_owned(),
            ),
            (
                page("", None, Some("a+b/c=&d")),
                &further("x", "日"),
                "?continue=a%2Bb%2Fc%3D%26d&x=%E6%97%A5".to_owned(),
            ),
        ] {
            assert_eq!(list(&request, selection), want);
        }
    }

    #[test]
    fn r_22_every_watch_parameter() {
        let none = Selection::default();
        let text = |request: &WatchRequest, selection: &Selection| {
            Query::watch(request, selection).after("/api/v1/pods".to_owned())
        };
        assert_eq!(
            text(&watch(), &none),
            "/api/v1/pods?watch=true&resourceVersion=403&allowWatchBookmarks=true&timeoutSeconds=300"
        );
        let zero = WatchRequest { resource_version: "0".to_owned(), ..watch() };
        assert!(text(&zero, &none).contains("&resourceVersion=0&"));
        let streaming = WatchRequest { resource_version: String::new(), initial_events: true, ..watch() };
        assert_eq!(
            text(&streaming, &none),
            "/api/v1/pods?watch=true&allowWatchBookmarks=true&sendInitialEvents=true\
             &resourceVersionMatch=NotOlderThan&timeoutSeconds=300"
        );
        let short = WatchRequest { timeout: Duration::from_millis(1), ..watch() };
        assert!(text(&short, &none).ends_with("timeoutSeconds=1"));
        let selected = Selection {
            labels: Some("n=1".to_owned()),
            fields: Some("spec.nodeName=a".to_owned()),
            further: vec![("k".to_owned(), "v".to_owned())],
        };
        assert!(
            text(&watch(), &selected).ends_with("&labelSelector=n%3D1&fieldSelector=spec.nodeName%3Da&k=v")
        );
    }
}
