//! What is served, for clients that ask: one document for each group and version, or all in one.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use pilothouse_schema::builtin;
use pilothouse_value::{Status, Value, compare_versions, json};
use sha2::{Digest as _, Sha512};

use crate::aggregation;
use crate::answer::negotiate::{self, Format};
use crate::answer::render;
use crate::doors::body::Body;
use crate::registry::Table;
use crate::registry::resource::{self, Resource};
use crate::start::bootstrap;
use crate::state::State;

/// The media type of the document that has everything.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Serves a path below `/api` or `/apis`; `parts` are its segments.
///
/// # Errors
/// 404 for a group or version that is not served; 406 for a form that is not.
pub(crate) fn serve(
    state: &Arc<State>,
    parts: &[&str],
    accept: Option<&str>,
    if_none_match: Option<&str>,
    format: Format,
) -> Result<Response<Body>, Status> {
    let table = state.registry.table();
    if let ["api" | "apis"] = parts
        && let Some(format) = negotiate::aggregated(accept.unwrap_or_default())
    {
        return Ok(aggregated(state, &table, parts == ["api"], format, if_none_match));
    }
    let document = match parts {
        ["api"] => json!({
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{
                "clientCIDR": "0.0.0.0/0",
                "serverAddress": state.network.shown(state.address.get().copied()),
            }],
        }),
        ["apis"] => {
            let groups: Vec<Value> = claimed_groups(state, &table)
                .into_iter()
                .filter(|(name, _)| !name.is_empty())
                .map(|(name, versions)| group(&name, &versions))
                .collect();
            json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        }
        ["apis", name] => {
            let served = claimed_groups(state, &table).into_iter().find(|(own, _)| own == name);
            let Some((name, versions)) = served else { return Ok(render::no_such_page()) };
            let mut document = group(&name, &versions);
            document.set(&["kind"], "APIGroup");
            document.set(&["apiVersion"], "v1");
            document
        }
        ["api", version] => resources(&table, "", version).ok_or_else(Status::no_such_path)?,
        ["apis", group, version] => match resources(&table, group, version) {
            Some(document) => document,
            // The group is served, this version of it is not.
            None if table.iter().any(|own| own.is_built_in() && own.group == *group) => {
                return Err(Status::no_such_path());
            }
            None => return Ok(render::no_such_page()),
        },
        _ => return Err(Status::no_such_path()),
    };
    let accept = accept.unwrap_or_default();
    // The groups are told by the aggregator, which has no router before it.
    if matches!(parts, ["api", ..] | ["apis", _, _]) {
        negotiate::route(accept, &negotiate::MEDIA_TYPES, &[])?;
    }
    let format = match negotiate::plain(accept).ok_or_else(negotiate::not_acceptable)? {
        Format::Json => format,
        format => format,
    };
    Ok(render::value(200, &document, format))
}

/// Groups in the order in which clients should prefer them: the core group, the built-in ones, then the defined ones; each
/// with its versions, the most stable and newest first.
fn groups(state: &State, table: &Table) -> Vec<(String, Vec<String>)> {
    let mut built_in: Vec<(String, Vec<String>)> = Vec::new();
    for resource in builtin::resources() {
        if table.get(resource.group, resource.version, resource.plural).is_some() {
            add(&mut built_in, resource.group, resource.version);
        }
    }
    let mut defined: Vec<(String, Vec<String>)> = Vec::new();
    for resource in table.iter().filter(|resource| !resource.is_built_in() && is_told(resource)) {
        match built_in.iter_mut().find(|(group, _)| *group == resource.group) {
            Some(_) => add(&mut built_in, &resource.group, &resource.version),
            None => add(&mut defined, &resource.group, &resource.version),
        }
    }
    let mut all = built_in;
    all.extend(defined);
    for (_, versions) in &mut all {
        versions.sort_by(|a, b| compare_versions(b, a));
    }
    for theirs in state.aggregator.versions() {
        insert(&mut all, &theirs.claim);
    }
    all
}

/// The groups with those of which somebody says that this server serves them: the older documents tell of them, too.
fn claimed_groups(state: &State, table: &Table) -> Vec<(String, Vec<String>)> {
    let mut all = groups(state, table);
    for claim in state.aggregator.claims() {
        insert(&mut all, &claim);
    }
    all
}

/// Puts a group and version that others serve where it belongs.
fn insert(all: &mut Vec<(String, Vec<String>)>, theirs: &aggregation::Claim) {
    let own = |group: &str, version: &str| {
        bootstrap::priorities(group, version, builtin::resources().iter().any(|one| one.group == group))
    };
    if let Some((group, versions)) = all.iter_mut().find(|(group, _)| *group == theirs.group) {
        if versions.contains(&theirs.version) {
            return;
        }
        let is_before = |other: &String| {
            let (_, priority) = own(group, other);
            (theirs.version_priority, compare_versions(&theirs.version, other)) < (priority, Ordering::Equal)
        };
        let at = versions.iter().position(|other| !is_before(other)).unwrap_or(versions.len());
        versions.insert(at, theirs.version.clone());
        return;
    }
    let goes_after = |(group, versions): &(String, Vec<String>)| {
        let first = versions.first().map(String::as_str).unwrap_or_default();
        let (priority, _) = own(group, first);
        group.is_empty()
            || group == bootstrap::API_REGISTRATION
            || priority > theirs.group_priority
            || (priority == theirs.group_priority && *group < theirs.group)
    };
    let at = all.iter().rposition(goes_after).map_or(0, |last| last + 1);
    all.insert(at, (theirs.group.clone(), vec![theirs.version.clone()]));
}

fn add(groups: &mut Vec<(String, Vec<String>)>, group: &str, version: &str) {
    match groups.iter_mut().find(|(own, _)| own == group) {
        Some((_, versions)) if versions.iter().any(|own| own == version) => {}
        Some((_, versions)) => versions.push(version.to_owned()),
        None => groups.push((group.to_owned(), vec![version.to_owned()])),
    }
}

fn group(name: &str, versions: &[String]) -> Value {
    let entries: Vec<Value> = versions
        .iter()
        .map(|version| json!({"groupVersion": resource::api_version(name, version), "version": version.as_str()}))
        .collect();
    let preferred = entries.first().cloned().unwrap_or_default();
    json!({"name": name, "versions": entries, "preferredVersion": preferred})
}

/// Whether a resource is told of. One of a definition is served before it is established, but not told of.
fn is_told(resource: &Resource) -> bool {
    resource.custom.as_ref().is_none_or(|custom| custom.established)
}

fn of_version<'a>(
    table: &'a Table,
    group: &'a str,
    version: &'a str,
) -> impl Iterator<Item = &'a Arc<Resource>> {
    table
        .iter()
        .filter(move |resource| resource.group == group && resource.version == version && is_told(resource))
}

/// The verbs of a resource. Nothing is made or changed any more while its objects go with its definition.
fn verbs(resource: &Resource) -> Vec<String> {
    let clearing = resource.custom.as_ref().is_some_and(|custom| custom.clearing);
    let stays = |verb: &&String| !clearing || !matches!(verb.as_str(), "create" | "patch" | "update");
    resource.verbs.iter().filter(stays).cloned().collect()
}

/// The resources of a group and version; `None` if there are none.
fn resources(table: &Table, group: &str, version: &str) -> Option<Value> {
    let mut rows: Vec<Value> = Vec::new();
    for resource in of_version(table, group, version) {
        let mut row = json!({
            "name": resource.plural.as_str(),
            "singularName": resource.singular.as_str(),
            "namespaced": resource.namespaced,
            "kind": resource.kind.as_str(),
            "verbs": verbs(resource),
        });
        if !resource.short_names.is_empty() {
            row.set(&["shortNames"], resource.short_names.clone());
        }
        if !resource.categories.is_empty() {
            row.set(&["categories"], resource.categories.clone());
        }
        if let Some(hash) = storage_hash(resource) {
            row.set(&["storageVersionHash"], hash);
        }
        rows.push(row);
        for sub in &resource.subresources {
            let mut row = json!({
                "name": format!("{}/{}", resource.plural, sub.name),
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": sub.kind.as_str(),
                "verbs": sub.verbs.clone(),
            });
            if sub.group != resource.group || sub.version != resource.version {
                row.set(&["group"], sub.group.as_str());
                row.set(&["version"], sub.version.as_str());
            }
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return None;
    }
    let mut list = json!({"kind": "APIResourceList", "groupVersion": resource::api_version(group, version)});
    if !group.is_empty() {
        list.set(&["apiVersion"], "v1");
    }
    list.set(&["resources"], rows);
    Some(list)
}

fn storage_hash(resource: &Resource) -> Option<String> {
    let Some(custom) = &resource.custom else {
        let table =
            pilothouse_schema::builtin::resource(&resource.group, &resource.version, &resource.plural)?;
        return table.storage_version_hash.map(str::to_owned);
    };
    use base64::Engine as _;
    // Clients need not tell a storage version from one that is not served.
    let storage = custom.definition.storage().filter(|storage| storage.served)?;
    let text = format!("{}/{}", storage.api_version, resource.kind);
    let hash = sha2::Sha256::digest(text.as_bytes());
    Some(base64::engine::general_purpose::STANDARD.encode(hash.get(..8)?))
}

/// The document that has everything: the core group for `/api`, all others for `/apis`.
fn aggregated(
    state: &State,
    table: &Table,
    core: bool,
    format: Format,
    if_none_match: Option<&str>,
) -> Response<Body> {
    // What others serve changes whenever they like.
    let changing = (!state.aggregator.is_empty()).then(|| tell(state, table, core));
    let Told { text, tag } = match &changing {
        Some(told) => told,
        None => table.told(core, || tell(state, table, core)),
    };
    let mut response = if if_none_match.is_some_and(|known| tag == known) {
        render::response(304, AGGREGATED, Body::full(""))
    } else if matches!(format, Format::Json | Format::PrettyJson) {
        render::response(200, AGGREGATED, Body::full(text.clone()))
    } else {
        let mut response = render::value(200, &everything(state, table, core), format);
        let (_, parameters) = AGGREGATED.split_once(';').unwrap_or_default();
        let content_type = format!("{};{parameters}", format.content_type());
        if let Ok(content_type) = HeaderValue::from_str(&content_type) {
            response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        }
        response
    };
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
    headers.insert(header::ETAG, tag.clone());
    response
}

/// The document that has everything; it is made once for each state of the registry, as every client asks for it first.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    text: Bytes,
    /// A hash of the text, in quotes.
    tag: HeaderValue,
}

fn tell(state: &State, table: &Table, core: bool) -> Told {
    let mut text = Vec::with_capacity(16 * 1024);
    builtin::write_json(&everything(state, table, core), &mut text);
    let mut tag = String::from("\"");
    for byte in Sha512::digest(&text) {
        // Writing to a string cannot fail.
        let _ = write!(tag, "{byte:02X}");
    }
    tag.push('"');
    text.push(b'\n');
    // Quotes and hexadecimal digits are a header's value.
    let tag = HeaderValue::from_str(&tag).unwrap_or_else(|_| HeaderValue::from_static("\"\""));
    Told { text: text.into(), tag }
}

fn everything(state: &State, table: &Table, core: bool) -> Value {
    let theirs = state.aggregator.versions();
    let items: Vec<Value> = groups(state, table)
        .into_iter()
        .filter(|(group, _)| group.is_empty() == core)
        .map(|(group, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|version| {
                    let told =
                        theirs.iter().find(|one| one.claim.group == group && one.claim.version == *version);
                    told.map_or_else(|| discovered(table, &group, version), |one| one.told.clone())
                })
                .collect();
            let mut metadata = Value::object();
            if !group.is_empty() {
                metadata.set(&["name"], group);
            }
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn discovered(table: &Table, group: &str, version: &str) -> Value {
    // A built-in kind of the same group and version does not repeat them.
    let kind = |resource: &Resource, of_group: &str, of_version: &str, kind: &str| {
        if resource.is_built_in() && of_group == group && of_version == version {
            return json!({"group": "", "version": "", "kind": kind});
        }
        json!({"group": of_group, "version": of_version, "kind": kind})
    };
    let resources: Vec<Value> = of_version(table, group, version)
        .map(|resource| {
            let mut row = json!({
                "resource": resource.plural.as_str(),
                "responseKind": kind(resource, &resource.group, &resource.version, &resource.kind),
                "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
                "singularResource": resource.singular.as_str(),
                "verbs": verbs(resource),
            });
            if !resource.short_names.is_empty() {
                row.set(&["shortNames"], resource.short_names.clone());
            }
            if !resource.categories.is_empty() {
                row.set(&["categories"], resource.categories.clone());
            }
            let subresources: Vec<Value> = resource
                .subresources
                .iter()
                .map(|sub| {
                    json!({
                        "subresource": sub.name.as_str(),
                        "responseKind": kind(resource, &sub.group, &sub.version, &sub.kind),
                        "verbs": sub.verbs.clone(),
                    })
                })
                .collect();
            if !subresources.is_empty() {
                row.set(&["subresources"], subresources);
            }
            row
        })
        .collect();
    json!({"version": version, "freshness": "Current", "resources": resources})
}
