//! Discovery: what is served, told document by document as of old, or all at once where `Accept` asks for it.
//!
//! Everything is told from the registry, in its order.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use serde::Serialize;
use serde_json::json;

use super::exchange::{Call, Whole};
use super::resource::{Registry, Resource};
use super::status::Status;

/// The media type of aggregated discovery.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Answers the paths of discovery; `None` for every other path.
pub(super) fn answer(call: &Call, registry: &Registry, address: &str) -> Option<Whole> {
    let segments: Vec<&str> = call.path.trim_matches('/').split('/').collect();
    if !matches!(segments.as_slice(), ["api" | "apis"] | ["api", "v1"] | ["apis", _] | ["apis", _, _]) {
        return None; // before anything is collected: this is asked for every request
    }
    let all = Catalogue::of(registry);
    let root = |group: &'static str, document: fn(&Catalogue<'_>, &str) -> Vec<u8>| {
        let media = negotiate(call.header("accept"));
        match media {
            None => Status::not_acceptable(false).answer(),
            Some(Media::Legacy) => plain(document(&all, address)),
            Some(Media::Aggregated) => aggregated(call, &all, group),
        }
    };
    let answer = match segments.as_slice() {
        ["api"] => root("", |_, address| versions(address)),
        ["apis"] => root("*", |all, _| all.group_list()),
        ["api", "v1"] => plain(all.resource_list("", "v1")?),
        ["apis", group] if !group.is_empty() => match all.group(group) {
            Some(group) => {
                plain(encode(&Described { kind: "APIGroup", api_version: "v1", rest: group.told() }))
            }
            None => Status::no_page().answer(),
        },
        ["apis", group, version] if !group.is_empty() => match all.resource_list(group, version) {
            Some(list) => plain(list),
            None if all.group(group).is_some() => Status::no_resource().answer(),
            None => Status::no_page().answer(),
        },
        _ => return None,
    };
    Some(if call.method == "GET" { answer } else { Status::method_not_allowed().answer() })
}

/// How discovery is to be told.
#[derive(Debug, PartialEq)]
enum Media {
    Legacy,
    Aggregated,
}

/// The first of the accepted media types that there is.
fn negotiate(accept: Option<&str>) -> Option<Media> {
    let accept = accept.map(str::trim).filter(|accept| !accept.is_empty()).unwrap_or("*/*");
    accept.split(',').find_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        if !matches!(kind, "application/json" | "application/*" | "*/*") {
            return None;
        }
        let parameter = |name: &str| {
            range
                .split(';')
                .skip(1)
                .filter_map(|part| part.trim().split_once('='))
                .find(|(key, _)| *key == name)
        };
        match (parameter("as"), parameter("g"), parameter("v")) {
            (None, ..) => Some(Media::Legacy),
            (Some((_, "APIGroupDiscoveryList")), Some((_, "apidiscovery.k8s.io")), Some((_, "v2"))) => {
                Some(Media::Aggregated)
            }
            _ => None,
        }
    })
}

fn encode(document: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(document).expect("names and lists of names are JSON");
    bytes.push(b'\n');
    bytes
}

fn plain(body: Vec<u8>) -> Whole {
    Whole { status: 200, headers: vec![("Content-Type", "application/json".to_owned())], body }
}

fn versions(address: &str) -> Vec<u8> {
    encode(&json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": address }],
    }))
}

/// All that is served, by group and version.
struct Catalogue<'a> {
    groups: Vec<Group<'a>>,
}

struct Group<'a> {
    name: &'a str,
    /// The preferred one first.
    versions: Vec<(&'a str, Vec<&'a Arc<Resource>>)>,
}

impl<'a> Catalogue<'a> {
    fn of(registry: &'a Registry) -> Self {
        let mut groups: Vec<Group<'a>> = Vec::new();
        for resource in registry.resources() {
            let at = groups.iter().position(|group| group.name == resource.group).unwrap_or_else(|| {
                groups.push(Group { name: &resource.group, versions: Vec::new() });
                groups.len() - 1
            });
            let versions = &mut groups[at].versions;
            match versions.iter_mut().find(|(version, _)| *version == resource.version) {
                Some((_, resources)) => resources.push(resource),
                None => versions.push((&*resource.version, vec![resource])),
            }
        }
        for group in &mut groups {
            group.versions.sort_by_key(|(version, _)| std::cmp::Reverse(priority(version)));
            for (_, resources) in &mut group.versions {
                resources.sort_by(|a, b| a.plural.cmp(&b.plural));
            }
        }
        Catalogue { groups }
    }

    fn group(&self, name: &str) -> Option<&Group<'a>> {
        self.groups.iter().find(|group| group.name == name && !name.is_empty())
    }

    fn group_list(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Groups<'a> {
            groups: Vec<ToldGroup<'a>>,
        }
        let groups = self.groups.iter().filter(|group| !group.name.is_empty()).map(Group::told).collect();
        encode(&Described { kind: "APIGroupList", api_version: "v1", rest: Groups { groups } })
    }

    fn resource_list(&self, group: &str, version: &str) -> Option<Vec<u8>> {
        let found = self.groups.iter().find(|known| known.name == group)?;
        let (_, resources) = found.versions.iter().find(|(known, _)| *known == version)?;
        let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        let resources = resources.iter().flat_map(|resource| told_resource(resource)).collect();
        // The list of core is older than the field.
        let api_version = if group.is_empty() { "" } else { "v1" };
        let rest = ToldResources { group_version, resources };
        Some(encode(&Described { kind: "APIResourceList", api_version, rest }))
    }
}

/// How versions are preferred: `v2`, `v1`, `v2beta1`, `v1beta2`, `v1alpha1`; all others after these.
fn priority(version: &str) -> (u8, u64, u64) {
    let parsed = version.strip_prefix('v').and_then(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let major = rest[..end].parse().ok()?;
        match &rest[end..] {
            "" => Some((3, major, 0)),
            rest => {
                let beta = rest.strip_prefix("beta").map(|minor| (2, minor));
                let (stage, minor) = beta.or_else(|| rest.strip_prefix("alpha").map(|minor| (1, minor)))?;
                Some((stage, major, minor.parse().ok()?))
            }
        }
    });
    parsed.unwrap_or_default()
}

/// A document with its kind.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Described<T> {
    kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    api_version: &'static str,
    #[serde(flatten)]
    rest: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToldVersion<'a> {
    group_version: String,
    version: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToldGroup<'a> {
    name: &'a str,
    versions: Vec<ToldVersion<'a>>,
    preferred_version: Option<ToldVersion<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToldResources<'a> {
    group_version: String,
    resources: Vec<ToldResource<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToldResource<'a> {
    name: String,
    singular_name: &'a str,
    namespaced: bool,
    /// Of its own where its objects are of another group.
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'a str,
    kind: &'a str,
    verbs: &'a [&'a str],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    short_names: &'a [std::borrow::Cow<'static, str>],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    categories: &'a [std::borrow::Cow<'static, str>],
    #[serde(skip_serializing_if = "str::is_empty")]
    storage_version_hash: &'a str,
}

impl<'a> Group<'a> {
    fn told(&self) -> ToldGroup<'a> {
        let told = |(version, _): &(&'a str, Vec<&'a Arc<Resource>>)| ToldVersion {
            group_version: format!("{}/{version}", self.name),
            version,
        };
        ToldGroup {
            name: self.name,
            versions: self.versions.iter().map(told).collect(),
            preferred_version: self.versions.first().map(told),
        }
    }
}

/// A resource and, after it, its subresources.
fn told_resource(resource: &Resource) -> Vec<ToldResource<'_>> {
    let mut told = vec![ToldResource {
        name: resource.plural.to_string(),
        singular_name: &resource.singular,
        namespaced: resource.namespaced,
        group: "",
        version: "",
        kind: &resource.kind,
        verbs: resource.verbs,
        short_names: &resource.short_names,
        categories: &resource.categories,
        storage_version_hash: resource.storage_version_hash,
    }];
    told.extend(subresources(resource).into_iter().map(|subresource| ToldResource {
        name: format!("{}/{}", resource.plural, subresource.name),
        singular_name: "",
        namespaced: resource.namespaced,
        group: subresource.group,
        version: subresource.version,
        kind: subresource.kind,
        verbs: subresource.verbs,
        short_names: &[],
        categories: &[],
        storage_version_hash: "",
    }));
    told
}

/// A subresource as discovery tells of it.
struct Part<'a> {
    name: &'a str,
    /// Empty, as the version: that of the resource.
    group: &'a str,
    version: &'a str,
    kind: &'a str,
    verbs: &'a [&'a str],
}

/// Those that are served and those that are not, by name.
fn subresources(resource: &Resource) -> Vec<Part<'_>> {
    let served = resource.subresources.iter().map(|name| {
        let (group, version, kind) =
            if name == "scale" { ("autoscaling", "v1", "Scale") } else { ("", "", &*resource.kind) };
        Part { name, group, version, kind, verbs: subresource_verbs(name) }
    });
    let others = resource.others.iter().map(|other| Part {
        name: other.name,
        group: other.group,
        version: other.version,
        kind: other.kind,
        verbs: other.verbs,
    });
    let mut parts: Vec<Part<'_>> = served.chain(others).collect();
    parts.sort_by_key(|part| part.name);
    parts
}

fn subresource_verbs(subresource: &str) -> &'static [&'static str] {
    if subresource == "finalize" { &["update"] } else { &["get", "patch", "update"] }
}

/// The core group (`""`), or all others (`"*"`), in one document.
fn aggregated(call: &Call, all: &Catalogue<'_>, group: &str) -> Whole {
    let groups = all.groups.iter().filter(|known| known.name.is_empty() == group.is_empty());
    let items = groups.map(Item::of).collect();
    let document = Described {
        kind: "APIGroupDiscoveryList",
        api_version: "apidiscovery.k8s.io/v2",
        rest: Items { metadata: Named { name: "" }, items },
    };
    let body = encode(&document);
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    let tag = format!("\"{:016X}\"", hasher.finish());
    let known = call.header("if-none-match") == Some(&*tag);
    let headers = vec![
        ("Cache-Control", "public".to_owned()),
        ("Content-Type", AGGREGATED.to_owned()),
        ("Etag", tag),
        ("Vary", "Accept".to_owned()),
    ];
    if known {
        Whole { status: 304, headers, body: Vec::new() }
    } else {
        Whole { status: 200, headers, body }
    }
}

#[derive(Serialize)]
struct Items<'a> {
    metadata: Named<'a>,
    items: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct Named<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
}

#[derive(Serialize)]
struct Item<'a> {
    metadata: Named<'a>,
    versions: Vec<ItemVersion<'a>>,
}

#[derive(Serialize)]
struct ItemVersion<'a> {
    version: &'a str,
    resources: Vec<ItemResource<'a>>,
    freshness: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ItemResource<'a> {
    resource: &'a str,
    response_kind: ResponseKind<'a>,
    scope: &'static str,
    singular_resource: &'a str,
    verbs: &'a [&'a str],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    short_names: &'a [std::borrow::Cow<'static, str>],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    categories: &'a [std::borrow::Cow<'static, str>],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subresources: Vec<ItemSubresource<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ItemSubresource<'a> {
    subresource: &'a str,
    response_kind: ResponseKind<'a>,
    verbs: &'a [&'a str],
}

#[derive(Serialize)]
struct ResponseKind<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

impl<'a> Item<'a> {
    fn of(group: &Group<'a>) -> Self {
        let version = |(version, resources): &(&'a str, Vec<&'a Arc<Resource>>)| ItemVersion {
            version,
            resources: resources.iter().map(|resource| ItemResource::of(resource)).collect(),
            freshness: "Current",
        };
        Item { metadata: Named { name: group.name }, versions: group.versions.iter().map(version).collect() }
    }
}

impl<'a> ItemResource<'a> {
    fn of(resource: &'a Resource) -> Self {
        // Built-in kinds leave group and version to the document.
        let (group, version): (&str, &str) =
            if resource.custom { (&resource.group, &resource.version) } else { ("", "") };
        let subresources = subresources(resource).into_iter().map(|part| ItemSubresource {
            subresource: part.name,
            response_kind: if part.group.is_empty() {
                ResponseKind { group, version, kind: part.kind }
            } else {
                ResponseKind { group: part.group, version: part.version, kind: part.kind }
            },
            verbs: part.verbs,
        });
        ItemResource {
            resource: &resource.plural,
            response_kind: ResponseKind { group, version, kind: &resource.kind },
            scope: if resource.namespaced { "Namespaced" } else { "Cluster" },
            singular_resource: &resource.singular,
            verbs: resource.verbs,
            short_names: &resource.short_names,
            categories: &resource.categories,
            subresources: subresources.collect(),
        }
    }
}
