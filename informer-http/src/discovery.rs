//! From a resource as kubectl spells it to the resource the server has.
//!
//! Invariant: kubectl's precedence: a plural, singular or kind before any short name; the core group first, then
//! the groups in the server's order; the preferred version of a group first. A group whose discovery fails (its
//! API service may be down) is left out, and is named when nothing is found.

use informer_core::kube_core::{ApiResource, GroupVersionKind};
use informer_core::{Error, ErrorKind, Result, Stage, Stop};
use serde::Deserialize;

use crate::client::{Call, Client};
use crate::known;

/// A resource of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServedResource {
    /// Group, version, kind and plural name.
    pub resource: ApiResource,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// What can be done with it (`list`, `watch`, …); empty where the server was not asked.
    pub verbs: Vec<String>,
}

/// Finds the resource that `spelling` means on the server of `client`.
///
/// Spellings are kubectl's: `pods`, `pod`, `po`, `Pod`, `deployments.apps`, `widgets.v1.example.com`. The resources
/// of core/v1 are the same everywhere and need no request. A server without discovery knows those alone.
///
/// # Blocking
/// For one request a group that has to be looked at.
///
/// # Errors
/// [`is_not_found`](Error::is_not_found) when the server has no such resource, with near spellings in the text;
/// else as the network says.
pub fn find_resource(client: &Client, spelling: &str) -> Result<ServedResource> {
    find(client, spelling).map_err(|error| error.at(Stage::Discovery))
}

fn find(client: &Client, spelling: &str) -> Result<ServedResource> {
    if let Some(known) = known::by_name(spelling) {
        return Ok(known);
    }
    let mut survey = Survey { client, seen: Vec::new(), failed: Vec::new() };
    let groups = match survey.groups() {
        Ok(groups) => groups,
        // No discovery here. Whoever is not let in, or not connected, should hear just that.
        Err(error) if !error.is_transport() && !error.is_stopped() && !error.is_unauthorized() => {
            return known::by_short_name(spelling).ok_or_else(|| {
                let text = format!("the server has no discovery, so {spelling:?} is not known");
                Error::new(ErrorKind::NotFound, text).with_source(error)
            });
        }
        Err(error) => return Err(error),
    };
    let wanted = readings(spelling);
    for reading in &wanted {
        if let Some(found) = survey.search(&groups, reading) {
            return Ok(found);
        }
    }
    Err(survey.unknown(spelling))
}

/// One way to read a spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reading {
    /// Lower case.
    name: String,
    group: Option<String>,
    version: Option<String>,
}

/// The ways to read `spelling`, the most specific first: `a.b.c` is version b of group c, or group b.c.
fn readings(spelling: &str) -> Vec<Reading> {
    let reading = |name: &str, group: Option<&str>, version: Option<&str>| Reading {
        name: name.to_ascii_lowercase(),
        group: group.map(str::to_owned),
        version: version.map(str::to_owned),
    };
    let Some((name, rest)) = spelling.split_once('.') else { return vec![reading(spelling, None, None)] };
    let mut readings = Vec::new();
    if let Some((version, group)) = rest.split_once('.') {
        readings.push(reading(name, Some(group), Some(version)));
    }
    readings.push(reading(name, Some(rest), None));
    if rest.starts_with('v') && !rest.contains('.') {
        readings.push(reading(name, Some(""), Some(rest))); // pods.v1: a version of the core group
    }
    readings
}

/// A group and its versions, the preferred one first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    name: String,
    versions: Vec<String>,
}

/// A resource with the names it goes by.
#[derive(Clone, Debug)]
struct Named {
    served: ServedResource,
    singular: String,
    short: Vec<String>,
}

impl Named {
    fn has_name(&self, name: &str) -> bool {
        self.served.resource.plural == name
            || self.singular == name
            || self.served.resource.kind.eq_ignore_ascii_case(name)
    }

    fn has_short_name(&self, name: &str) -> bool {
        self.short.iter().any(|short| short == name)
    }
}

/// What has been learnt of the server.
struct Survey<'a> {
    client: &'a Client,
    /// By group and version.
    seen: Vec<(String, String, Vec<Named>)>,
    failed: Vec<String>,
}

impl Survey<'_> {
    /// All groups in order of precedence.
    fn groups(&self) -> Result<Vec<Group>> {
        #[derive(Deserialize)]
        struct Core {
            versions: Vec<String>,
        }
        let core: Core = self.fetch("/api")?;
        let list: GroupList = self.fetch("/apis")?;
        Ok(list.into_groups(core.versions))
    }

    fn search(&mut self, groups: &[Group], reading: &Reading) -> Option<ServedResource> {
        let candidates = || {
            let groups = groups
                .iter()
                .filter(|group| reading.group.as_ref().is_none_or(|wanted| *wanted == group.name));
            groups
                .flat_map(|group| group.versions.iter().map(|version| (&*group.name, &**version)))
                .filter(|(_, version)| reading.version.as_ref().is_none_or(|wanted| wanted == version))
        };
        for (group, version) in candidates() {
            if let Some(named) =
                self.resources(group, version).iter().find(|named| named.has_name(&reading.name))
            {
                return Some(named.served.clone());
            }
        }
        for (group, version) in candidates() {
            let named =
                self.resources(group, version).iter().find(|named| named.has_short_name(&reading.name));
            if let Some(named) = named {
                return Some(named.served.clone());
            }
        }
        None
    }

    /// The resources of a version of a group, asked for once.
    fn resources(&mut self, group: &str, version: &str) -> &[Named] {
        let at = self.seen.iter().position(|(g, v, _)| g == group && v == version);
        let at = at.unwrap_or_else(|| {
            let path =
                if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
            let resources = match self.fetch::<ResourceList>(&path) {
                Ok(list) => list.into_resources(group, version),
                Err(error) => {
                    log::debug!(target: "informer::http", "discovery of {path} failed: {error}");
                    self.failed.push(path);
                    Vec::new()
                }
            };
            self.seen.push((group.to_owned(), version.to_owned(), resources));
            self.seen.len() - 1
        });
        &self.seen[at].2
    }

    fn fetch<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.client.fetch(&Call::get("discover resources", path), &Stop::new())
    }

    fn unknown(&self, spelling: &str) -> Error {
        let mut text = format!("the server has no resource {spelling:?}");
        let wanted = spelling.split('.').next().unwrap_or(spelling).to_ascii_lowercase();
        let names = self.seen.iter().flat_map(|(_, _, resources)| resources).flat_map(|named| {
            let short = named.short.iter().map(String::as_str);
            [&*named.served.resource.plural, &*named.singular].into_iter().chain(short)
        });
        let near = near(&wanted, names.chain(known::plurals()));
        if !near.is_empty() {
            text.push_str(&format!("; did you mean {}?", near.join(", ")));
        }
        if !self.failed.is_empty() {
            text.push_str(&format!(" (no answer for {})", self.failed.join(", ")));
        }
        Error::new(ErrorKind::NotFound, text)
    }
}

/// Up to three names that a slip of the finger makes of `wanted`.
fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let most = if wanted.len() <= 4 { 1 } else { 2 };
    let mut near: Vec<(usize, &str)> = names
        .filter(|name| !name.is_empty())
        .map(|name| (distance(wanted, name), name))
        .filter(|(distance, _)| *distance <= most)
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// How many characters have to be put in, left out or changed.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let change = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[derive(Deserialize)]
struct GroupList {
    groups: Vec<WireGroup>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireGroup {
    name: String,
    versions: Vec<WireVersion>,
    preferred_version: Option<WireVersion>,
}

#[derive(Deserialize)]
struct WireVersion {
    version: String,
}

impl GroupList {
    fn into_groups(self, core: Vec<String>) -> Vec<Group> {
        let mut groups = vec![Group { name: String::new(), versions: core }];
        for group in self.groups {
            let preferred = group.preferred_version.map(|version| version.version);
            let all = group.versions.into_iter().map(|version| version.version);
            let others = all.filter(|version| Some(version) != preferred.as_ref()).collect::<Vec<_>>();
            let versions = preferred.iter().cloned().chain(others).collect();
            groups.push(Group { name: group.name, versions });
        }
        groups
    }
}

#[derive(Deserialize)]
struct ResourceList {
    resources: Vec<WireResource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireResource {
    name: String,
    #[serde(default)]
    singular_name: String,
    #[serde(default)]
    namespaced: bool,
    kind: String,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
}

impl ResourceList {
    fn into_resources(self, group: &str, version: &str) -> Vec<Named> {
        // `pods/log` and the like are subresources.
        let resources = self.resources.into_iter().filter(|resource| !resource.name.contains('/'));
        resources
            .map(|resource| {
                let gvk = GroupVersionKind::gvk(group, version, &resource.kind);
                Named {
                    served: ServedResource {
                        resource: ApiResource::from_gvk_with_plural(&gvk, &resource.name),
                        namespaced: resource.namespaced,
                        verbs: resource.verbs,
                    },
                    singular: resource.singular_name,
                    short: resource.short_names,
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_are_read_as_kubectl_does() {
        let read = |spelling: &str| {
            let texts = readings(spelling).into_iter().map(|reading| {
                format!(
                    "{}/{}/{}",
                    reading.group.as_deref().unwrap_or("*"),
                    reading.version.as_deref().unwrap_or("*"),
                    reading.name
                )
            });
            texts.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(read("pods"), "*/*/pods");
        assert_eq!(read("Pod"), "*/*/pod");
        assert_eq!(read("deployments.apps"), "apps/*/deployments");
        assert_eq!(read("widgets.v1.example.com"), "example.com/v1/widgets v1.example.com/*/widgets");
        assert_eq!(read("widgets.example.com"), "com/example/widgets example.com/*/widgets");
        assert_eq!(read("pods.v1"), "v1/*/pods /v1/pods");
    }

    #[test]
    fn the_core_group_comes_first_and_the_preferred_version_leads_its_group() {
        let list: GroupList = serde_json::from_str(
            r#"{"groups":[
                {"name":"apps","versions":[{"version":"v1"}],"preferredVersion":{"version":"v1"}},
                {"name":"x.io","versions":[{"version":"v2"},{"version":"v1"}],"preferredVersion":{"version":"v1"}},
                {"name":"y.io","versions":[{"version":"v3"}]}]}"#,
        )
        .unwrap();
        let groups = list.into_groups(vec!["v1".to_owned()]);
        let text: Vec<String> =
            groups.iter().map(|group| format!("{}:{}", group.name, group.versions.join(","))).collect();
        assert_eq!(text, [":v1", "apps:v1", "x.io:v1,v2", "y.io:v3"]);
    }

    #[test]
    fn near_spellings_are_offered() {
        let names = ["pods", "po", "nodes", "deployments", "deploy"];
        assert_eq!(near("podz", names.into_iter()), ["pods"]);
        assert_eq!(near("deploymnts", names.into_iter()), ["deployments"]);
        assert_eq!(near("quux", names.into_iter()), [""; 0]);
    }
}
