//! `/openapi/v3`: what every kind looks like, one document for each group and version, built when it is first asked for.

use http::{HeaderValue, Response, header};
use pilothouse_schema::openapi::{self, CustomResource};
use pilothouse_value::{GroupVersion, Status, Value};

use crate::body::Body;
use crate::registry::Table;
use crate::render;
use crate::request::Query;

/// Serves the index, or the document of a group and version; `parts` are the segments after `/openapi/v3`.
///
/// # Errors
/// 404 for what is not served; 406 if only protobuf is accepted.
pub(crate) fn serve(
    table: &Table,
    parts: &[&str],
    query: &Query,
    accept: Option<&str>,
    if_none_match: Option<&str>,
) -> Result<Response<Body>, Status> {
    let accept = accept.unwrap_or_default();
    let json = accept.is_empty() || accept.contains("json") || accept.contains("*/*");
    if !json {
        return Err(Status::not_acceptable(&["application/json"]));
    }
    let group_versions = group_versions(table);
    if parts.is_empty() {
        let entries: Vec<(String, String)> =
            group_versions.iter().map(|gv| (openapi::path(gv), hash(table, gv))).collect();
        let index = openapi::index(entries.iter().map(|(path, hash)| (path.clone(), hash.as_str())));
        return Ok(render::response(200, "application/json", Body::full(index)));
    }
    let path = parts.join("/");
    let group_version =
        group_versions.into_iter().find(|gv| openapi::path(gv) == path).ok_or_else(Status::no_such_path)?;
    let hash = hash(table, &group_version);
    let tag = format!("\"{hash}\"");
    let asked = query.filled("hash");
    if asked.is_some_and(|asked| asked != hash) {
        let mut response = render::response(301, "application/json", Body::full(""));
        if let Ok(location) = HeaderValue::from_str(&format!("/openapi/v3/{path}?hash={hash}")) {
            response.headers_mut().insert(header::LOCATION, location);
        }
        return Ok(response);
    }
    let mut response = if if_none_match == Some(tag.as_str()) {
        render::response(304, "application/json", Body::full(""))
    } else {
        render::response(200, "application/json", document(table, &group_version))
    };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    if asked.is_some() {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
    }
    Ok(response)
}

/// Serves `/openapi/v2`, which kubectl asks when it meets a kind that no v3 document has.
pub(crate) fn serve_v2() -> Response<Body> {
    render::response(200, openapi::V2_MEDIA_TYPE, Body::full(openapi::V2_DOCUMENT))
}

/// Every group and version that has a document.
fn group_versions(table: &Table) -> Vec<GroupVersion> {
    let mut all = openapi::builtin_group_versions().to_vec();
    for resource in table.iter().filter(|resource| !resource.is_built_in()) {
        let group_version = GroupVersion::new(&*resource.group, &*resource.version);
        if !all.contains(&group_version) {
            all.push(group_version);
        }
    }
    all
}

/// The definitions of a group and version, each with the version's own part.
fn definitions(table: &Table, group_version: &GroupVersion) -> Vec<(std::sync::Arc<Value>, Value)> {
    table
        .iter()
        .filter(|resource| resource.group == group_version.group && resource.version == group_version.version)
        .filter_map(|resource| resource.custom.as_ref())
        .map(|custom| (custom.definition(), custom.version()))
        .collect()
}

fn hash(table: &Table, group_version: &GroupVersion) -> String {
    if openapi::builtin_group_versions().contains(group_version) {
        return openapi::builtin_hash(group_version);
    }
    let definitions = definitions(table, group_version);
    openapi::custom_hash(&resources(&definitions))
}

fn document(table: &Table, group_version: &GroupVersion) -> Body {
    if let Some(document) = openapi::builtin_document(group_version) {
        return Body::full(bytes::Bytes::from_static(document.as_bytes()));
    }
    let definitions = definitions(table, group_version);
    Body::full(openapi::custom_document(group_version, &resources(&definitions)))
}

fn resources(definitions: &[(std::sync::Arc<Value>, Value)]) -> Vec<CustomResource<'_>> {
    definitions.iter().map(|(definition, version)| CustomResource { definition, version }).collect()
}
