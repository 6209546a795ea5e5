//! Lists: which version, which page, in which form.
//!
//! Objects are taken under the lock, as references, and written outside it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::engine::Engine;
use super::exchange::{Call, Whole};
use super::get::{json_answer, seen_body, write_value};
use super::options::{ListOptions, Match, version};
use super::representation::{Asked, Representation, tree, type_fields, write_full, write_partial};
use super::resource::Resource;
use super::route::Route;
use super::selector::Selector;
use super::status::{Result, Status};
use super::store::{Key, Object, Page, Store};
use super::table;
use super::token::Token;

/// Answers a list.
pub(super) fn answer(engine: &Engine, call: &Call, route: &Route) -> Result<Whole> {
    let form = Representation::of(call, Asked::Several, &route.resource)?;
    let options = ListOptions::parse(call)?;
    let selector =
        Selector::parse(&route.resource, call.parameter("labelSelector"), call.parameter("fieldSelector"))?;
    let asked = Asking::of(&options, route)?;
    engine.reach(asked.ahead)?;
    let page = {
        let state = engine.lock();
        page(&state.store, route, asked, &selector)?
    };
    let next = next(route, &page);
    let remaining = (selector.is_empty() && page.remaining > 0).then_some(page.remaining);
    Ok(json_answer(200, body(engine, form, &route.resource, &page, &next, remaining)))
}

/// What a list asks for.
struct Asking {
    /// The version that must be there before it can be answered; 0: any.
    ahead: u64,
    /// The exact version; `None`: the newest will do.
    at: Option<u64>,
    /// The last object of the page before.
    after: Option<Key>,
    limit: usize,
}

impl Asking {
    fn of(options: &ListOptions, route: &Route) -> Result<Self> {
        // What is cached is given whole.
        let limit = if options.resource_version == "0" { 0 } else { options.limit };
        let limit = if limit == 0 { usize::MAX } else { limit };
        if options.next.is_empty() {
            let (wanted, exact) = wanted(options)?;
            return Ok(Asking { ahead: wanted, at: exact.then_some(wanted), after: None, limit });
        }
        let token = Token::parse(&options.next, route.namespace.as_deref())?;
        if !matches!(options.resource_version.as_str(), "" | "0") {
            return Err(Status::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        // A version of -1 is of a token that was given for one too old: the rest, as it is now.
        let ahead = token.revision.unwrap_or_default();
        Ok(Asking { ahead, at: token.revision, after: Some(token.after), limit })
    }
}

/// The objects that a list asks for.
fn page(store: &Store, route: &Route, asking: Asking, selector: &Selector) -> Result<Page> {
    let storage = &*route.resource.storage;
    let namespace = route.namespace.as_deref();
    let Asking { at, after, limit, .. } = asking;
    if at.is_some_and(|at| !store.remembers(storage, at)) {
        return Err(match after {
            None => Status::list_too_old(),
            Some(after) => Status::continue_too_old(Token { revision: None, after }.text(namespace)),
        });
    }
    // One name is looked up, and nothing comes after it.
    let single = namespace.is_some() || !route.resource.namespaced;
    let limit = if selector.names_one() && single { usize::MAX } else { limit };
    Ok(store.page(storage, namespace, at, after.as_ref(), limit, |object| selector.matches(object)))
}

/// The version that a list asks for, and whether it is to be exactly that one.
fn wanted(options: &ListOptions) -> Result<(u64, bool)> {
    let text = options.resource_version.as_str();
    if text.is_empty() {
        return Ok((0, false));
    }
    let wanted = version(text).map_err(|why| {
        Status::bad_request(format!(
            "invalid resource version: resourceVersion: Invalid value: {text:?}: {why}"
        ))
    })?;
    // Without a word on how to match, a limited list is one at exactly the version.
    let exact = match options.version_match {
        Some(Match::Exact) => true,
        Some(Match::NotOlderThan) => false,
        None => options.limit > 0 && wanted > 0,
    };
    Ok((wanted, exact))
}

/// The token for what comes after a page; empty after the last.
fn next(route: &Route, page: &Page) -> String {
    match page.objects.last() {
        Some(last) if page.remaining > 0 => {
            let token = Token { revision: Some(page.revision), after: last.key.clone() };
            token.text(route.namespace.as_deref())
        }
        _ => String::new(),
    }
}

/// The keys of everything that a list would give now, for whoever removes it.
pub(super) fn objects(store: &Store, route: &Route, selector: &Selector) -> Vec<Arc<Object>> {
    let namespace = route.namespace.as_deref();
    let all = store
        .page(&route.resource.storage, namespace, None, None::<&Key>, usize::MAX, |o| selector.matches(o));
    all.objects
}

/// A list as JSON.
pub(super) fn body(
    engine: &Engine,
    form: Representation,
    resource: &Resource,
    page: &Page,
    next: &str,
    remaining: Option<usize>,
) -> Vec<u8> {
    let mut metadata = json!({"resourceVersion": page.revision.to_string()});
    if !next.is_empty() {
        metadata["continue"] = next.into();
    }
    if let Some(remaining) = remaining {
        metadata["remainingItemCount"] = remaining.into();
    }
    if let Representation::Table(include) = form {
        let rows: Vec<Value> = page.objects.iter().map(|object| tree(resource, object)).collect();
        let mut out = Vec::new();
        write_value(&table::table(resource, &rows, &metadata, include, &engine.now()), &mut out);
        return out;
    }
    let size: usize = page.objects.iter().map(|object| object.body.len() + 64).sum();
    let mut out = Vec::with_capacity(size + 256);
    let custom = resource.custom && form == Representation::Full;
    if custom {
        // Alphabetical, and always with a token.
        metadata["continue"] = next.into();
        out.extend_from_slice(format!("{{\"apiVersion\":\"{}\",", resource.api_version()).as_bytes());
        write_items(form, resource, &page.objects, &mut out);
        out.extend_from_slice(format!(",\"kind\":\"{}\",\"metadata\":", resource.list_kind).as_bytes());
        write_value(&metadata, &mut out);
        out.push(b'}');
        return out;
    }
    let (kind, api_version) = match form {
        Representation::Metadata => ("PartialObjectMetadataList", "meta.k8s.io/v1".to_owned()),
        _ => (&*resource.list_kind, resource.api_version()),
    };
    let head = format!(
        "{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":{{\"resourceVersion\":\"{}\"",
        page.revision
    );
    out.extend_from_slice(head.as_bytes());
    if !next.is_empty() {
        out.extend_from_slice(format!(",\"continue\":\"{next}\"").as_bytes());
    }
    if let Some(remaining) = remaining {
        out.extend_from_slice(format!(",\"remainingItemCount\":{remaining}").as_bytes());
    }
    out.extend_from_slice(b"},");
    write_items(form, resource, &page.objects, &mut out);
    out.push(b'}');
    out
}

fn write_items(form: Representation, resource: &Resource, objects: &[Arc<Object>], out: &mut Vec<u8>) {
    let types = type_fields(resource);
    if objects.is_empty() && form == Representation::Metadata {
        return out.extend_from_slice(b"\"items\":null"); // as a real server tells it
    }
    // Items of built-in lists leave out what the list says.
    let types = resource.custom.then_some(types.as_str());
    out.extend_from_slice(b"\"items\":[");
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match form {
            Representation::Metadata => write_partial(object.metadata(), out),
            _ => write_full(&seen_body(resource, object), types, out),
        }
    }
    out.push(b']');
}
