//! OpenAPI documents as a server publishes them: v3, one for each group version, each group and each page, and Swagger 2.0,
//! one for all. Each is equal to the byte to that of a real server, so it has the same hash. A document is built when it is
//! first asked for.

mod components;
pub mod custom;
mod custom_routes;
pub mod merged;
mod message;
mod operations;
mod pages;
mod parameters;
mod protobuf;
mod routes;
mod upgraded;
mod yaml;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{LazyLock, OnceLock};

use pilothouse_value::{GroupVersion, Map, Value, json};

use crate::builtin;
use components::{Components, OptionsOf};
use custom::Dialect;
use operations::Shared;
use routes::Route;

/// The hashes of the built-in documents of v3, as `conformance/openapi/record.py` writes them: `PATH HASH` a line.
static HASHES: &str = include_str!("openapi/hashes.txt");

/// A version of a custom resource, as its definition declares it.
#[derive(Debug, Clone, Copy)]
pub struct CustomResource<'v> {
    /// The CustomResourceDefinition.
    pub definition: &'v Value,
    /// The element of its `spec.versions`.
    pub version: &'v Value,
}

/// A document in the forms in which it is sent.
#[derive(Debug)]
pub struct Document {
    dialect: Dialect,
    json: String,
    protobuf: OnceLock<Vec<u8>>,
}

impl Document {
    fn new(document: &Value, dialect: Dialect) -> Self {
        let mut json = Vec::with_capacity(64 * 1024);
        message::write_json(document, root(dialect), &mut json);
        // The writer emits UTF-8 only.
        let mut json = String::from_utf8(json).unwrap_or_default();
        if dialect == Dialect::V3 {
            json = escape_for_html(&json);
        }
        Self { dialect, json, protobuf: OnceLock::new() }
    }

    /// The JSON text.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The document as gnostic's message, made when it is first asked for.
    pub fn protobuf(&self) -> &[u8] {
        self.protobuf.get_or_init(|| {
            let document = pilothouse_value::parse::json(self.json.as_bytes()).map(|parsed| parsed.value);
            document.map(|document| protobuf::encode(&document, root(self.dialect))).unwrap_or_default()
        })
    }
}

/// Escapes what a browser could misread, as Go does for documents of the third version.
fn escape_for_html(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 256);
    let mut rest = json;
    while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let mut chars = found.chars();
        if let Some(c) = chars.next() {
            let _infallible = write!(out, "\\u{:04x}", u32::from(c));
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out
}

fn root(dialect: Dialect) -> &'static message::Message {
    match dialect {
        Dialect::V2 => &message::V2_DOCUMENT,
        Dialect::V3 => &message::V3_DOCUMENT,
    }
}

/// The group versions that have built-in resources, in the order of discovery.
pub fn builtin_group_versions() -> &'static [GroupVersion] {
    static ALL: OnceLock<Vec<GroupVersion>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all: Vec<GroupVersion> =
            builtin::resources().iter().map(builtin::Resource::group_version).collect();
        all.dedup();
        all
    })
}

/// The path of a group version below `/openapi/v3/`, and of its resources below `/`: `api/v1`, `apis/apps/v1`.
pub fn path(group_version: &GroupVersion) -> String {
    match group_version.group.as_str() {
        "" => format!("api/{}", group_version.version),
        group => format!("apis/{group}/{}", group_version.version),
    }
}

/// What a built-in document is about.
enum Subject {
    GroupVersion(GroupVersion),
    Group(String),
    Page(&'static str),
}

struct Entry {
    subject: Subject,
    hash: &'static str,
    document: OnceLock<Document>,
}

/// The built-in documents by their paths.
static BUILT_IN: LazyLock<BTreeMap<String, Entry>> = LazyLock::new(|| {
    let group_versions = builtin_group_versions().iter();
    let groups = group_versions.clone().filter(|gv| !gv.group.is_empty()).map(|gv| gv.group.to_string());
    let hashes: BTreeMap<&str, &str> = HASHES.lines().filter_map(|line| line.split_once(' ')).collect();
    group_versions
        .map(|gv| (path(gv), Subject::GroupVersion(gv.clone())))
        .chain(groups.map(|group| (format!("apis/{group}"), Subject::Group(group))))
        .chain(pages::all().into_iter().map(|(path, _)| (path.to_owned(), Subject::Page(path))))
        .map(|(path, subject)| {
            let hash = hashes.get(path.as_str()).copied().unwrap_or_default();
            (path, Entry { subject, hash, document: OnceLock::new() })
        })
        .collect()
});

/// The paths of the built-in documents below `/openapi/v3/`, sorted, each with the hash of its JSON text: SHA-512 in upper
/// case. No document is built for it.
pub fn builtin_hashes() -> impl Iterator<Item = (&'static str, &'static str)> {
    BUILT_IN.iter().map(|(path, entry)| (path.as_str(), entry.hash))
}

/// The built-in document at a path below `/openapi/v3/`, with its hash; built once, then kept.
pub fn builtin_document(path: &str) -> Option<(&'static Document, &'static str)> {
    let entry = BUILT_IN.get(path)?;
    let build = || Document::new(&builtin_value(&entry.subject), Dialect::V3);
    Some((entry.document.get_or_init(build), entry.hash))
}

fn builtin_value(subject: &Subject) -> Value {
    let core = GroupVersion::new("", "v1");
    let (routes, about) = match subject {
        Subject::GroupVersion(group_version) => (routes_of(group_version), group_version),
        Subject::Group(group) => (vec![pages::group(group)], &core),
        Subject::Page(name) => {
            let pages = pages::all().into_iter().filter(|(path, _)| path == name);
            (pages.map(|(_, route)| route).collect(), &core)
        }
    };
    let mut components = Components::new(Dialect::V3);
    add_types(&mut components, &routes);
    let mut document = json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "1.37"}});
    document.set(&["components", "securitySchemes"], security());
    let schemas = components.into_schemas(OptionsOf::One(about));
    if !schemas.is_empty() {
        document.set(&["components", "schemas"], schemas);
    }
    document.set(&["paths"], operations::paths(routes, Dialect::V3, &mut Shared::new()));
    document
}

/// The routes of a group version with built-in resources.
fn routes_of(group_version: &GroupVersion) -> Vec<Route> {
    let resources = builtin::resources().iter();
    let own = resources.filter(|resource| resource.group_version() == *group_version);
    let mut routes: Vec<Route> = own.flat_map(routes::of_resource).collect();
    routes.push(pages::resources_of(group_version));
    routes
}

fn add_types(components: &mut Components, routes: &[Route]) {
    for route in routes {
        let body = route.body.as_ref().map(|(name, _)| name.as_str());
        body.into_iter().chain(route.answer.as_deref()).for_each(|name| components.add(name));
    }
}

fn security() -> Value {
    json!({"BearerToken": {
        "description": "Bearer Token authentication", "type": "apiKey", "name": "authorization", "in": "header",
    }})
}

/// The document of a group version with custom resources. Only versions that are served belong in it.
pub fn custom_document(resources: &[CustomResource<'_>]) -> Document {
    let mut components = Components::new(Dialect::V3);
    let mut routes = Vec::new();
    for resource in resources {
        let own = custom_routes::of_custom(resource);
        add_types(&mut components, &own);
        components.add_custom(resource);
        routes.extend(own);
    }
    let mut document = json!({
        "openapi": "3.0.0", "info": {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"},
    });
    document.set(&["components", "schemas"], components.into_schemas(OptionsOf::Clients));
    document.set(&["paths"], operations::paths(routes, Dialect::V3, &mut Shared::new()));
    Document::new(&document, Dialect::V3)
}

/// What the document of custom resources depends on, as bytes that differ when it may differ. No document is built for it.
pub fn custom_identity(resources: &[CustomResource<'_>]) -> Vec<u8> {
    let mut text = Vec::new();
    for resource in resources {
        for part in [["spec", "group"], ["spec", "names"], ["spec", "scope"]] {
            resource.definition.at(&part).unwrap_or(&Value::Null).write_json(&mut text);
        }
        resource.version.write_json(&mut text);
    }
    text
}

/// The Swagger document: all that is built in, and these custom resources. Only versions that are served belong in it.
pub fn swagger(resources: &[CustomResource<'_>]) -> Document {
    Document::new(&swagger_value(resources), Dialect::V2)
}

/// The Swagger document with what other servers say of their own paths, in the order in which they are wanted.
pub fn swagger_with<'o>(
    resources: &[CustomResource<'_>],
    others: impl IntoIterator<Item = &'o Value>,
) -> Document {
    let mut document = swagger_value(resources);
    for other in others {
        merged::add(&mut document, other.clone());
    }
    Document::new(&document, Dialect::V2)
}

/// The document of the third version of a server that tells only this Swagger document.
pub fn upgraded(swagger: &Value) -> Document {
    Document::new(&upgraded::document(swagger), Dialect::V3)
}

fn swagger_value(resources: &[CustomResource<'_>]) -> Value {
    let mut components = Components::new(Dialect::V2);
    let mut routes: Vec<Route> = pages::all().into_iter().map(|(_, route)| route).collect();
    for group_version in builtin_group_versions() {
        routes.extend(routes_of(group_version));
    }
    let mut groups: Vec<&str> = builtin_group_versions().iter().map(|gv| gv.group.as_str()).collect();
    groups.dedup();
    routes.extend(groups.into_iter().filter(|group| !group.is_empty()).map(pages::group));
    add_types(&mut components, &routes);
    for resource in resources {
        let own = custom_routes::of_custom(resource);
        add_types(&mut components, &own);
        components.add_custom(resource);
        routes.extend(own);
    }
    let mut shared = Shared::new();
    let paths = operations::paths(routes, Dialect::V2, &mut shared);
    let mut document = json!({
        "swagger": "2.0", "info": {"title": "Kubernetes", "version": "1.37"}, "security": [{"BearerToken": []}],
    });
    document.set(&["securityDefinitions"], security());
    document.set(&["definitions"], components.into_schemas(OptionsOf::All));
    document.set(&["parameters"], shared.into_iter().collect::<Map>());
    document.set(&["paths"], paths);
    document
}

/// The answer of `/openapi/v3`: where the document of each path is, by its hash; `others` are paths of other servers with the
/// URLs that they say themselves, and count where no entry has the path.
pub fn index<'e>(
    entries: impl IntoIterator<Item = (&'e str, &'e str)>,
    others: impl IntoIterator<Item = (String, String)>,
) -> String {
    let place = |path: String, url: String| (path, json!({"serverRelativeURL": url}));
    let entry =
        |(path, hash): (&str, &str)| place(path.to_owned(), format!("/openapi/v3/{path}?hash={hash}"));
    let mut paths: BTreeMap<String, Value> = others.into_iter().map(|(path, url)| place(path, url)).collect();
    paths.extend(entries.into_iter().map(entry));
    let paths: Map = paths.into_iter().collect();
    Value::Object(Map::from_iter([("paths", Value::Object(paths))])).to_json()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Value {
        pilothouse_value::parse::json(text.as_bytes()).unwrap().value
    }

    #[test]
    fn patch_operations_tell_kubectl_that_fields_are_validated() {
        for group_version in builtin_group_versions() {
            let document = document(builtin_document(&super::path(group_version)).unwrap().0.json());
            for resource in builtin::resources()
                .iter()
                .filter(|r| r.group_version() == *group_version && r.allows("patch"))
            {
                let scope = if resource.namespaced { "namespaces/{namespace}/" } else { "" };
                let path = format!("/{}/{scope}{}/{{name}}", super::path(group_version), resource.plural);
                let patch = document.at(&["paths", &path, "patch"]).unwrap_or_else(|| panic!("{path}"));
                let gvk =
                    json!({"group": resource.group, "version": resource.version, "kind": resource.kind});
                assert_eq!(patch.get("x-kubernetes-group-version-kind"), Some(&gvk));
                let parameters = patch.items_at(&["parameters"]);
                assert!(parameters.iter().any(|p| p.str_at(&["name"]) == Some("fieldValidation")), "{path}");
            }
        }
    }

    #[test]
    fn every_reference_is_defined() {
        for group_version in builtin_group_versions() {
            let text = builtin_document(&super::path(group_version)).unwrap().0.json();
            let document = document(text);
            let schemas = document.at(&["components", "schemas"]).unwrap();
            for part in text.split("\"#/components/schemas/").skip(1) {
                let name = part.split('"').next().unwrap();
                assert!(schemas.get(name).is_some(), "{group_version}: {name}");
            }
        }
    }

    #[test]
    fn fields_carry_what_merging_and_explaining_need() {
        let document = document(builtin_document("api/v1").unwrap().0.json());
        let schemas = document.at(&["components", "schemas"]).unwrap();
        let containers = schemas.at(&["io.k8s.api.core.v1.PodSpec", "properties", "containers"]).unwrap();
        assert_eq!(containers.str_at(&["x-kubernetes-patch-merge-key"]), Some("name"));
        assert_eq!(containers.get("x-kubernetes-list-map-keys"), Some(&json!(["name"])));
        assert!(containers.str_at(&["description"]).unwrap().starts_with("List of containers"));
        let policy = schemas.at(&["io.k8s.api.core.v1.Container", "properties", "imagePullPolicy"]).unwrap();
        assert_eq!(policy.get("enum"), Some(&json!(["Always", "IfNotPresent", "Never"])));
        let pod = schemas.get("io.k8s.api.core.v1.Pod").unwrap();
        assert_eq!(
            pod.get("x-kubernetes-group-version-kind"),
            Some(&json!([{"group": "", "kind": "Pod", "version": "v1"}]))
        );
    }

    #[test]
    fn no_path_of_a_custom_resource_takes_a_strategic_patch() {
        let definition = json!({"spec": {"group": "demo.dev", "scope": "Namespaced",
            "names": {"plural": "webs", "kind": "Web"}}});
        let version = json!({"name": "v1", "subresources": {"status": {}, "scale": {}}});
        let resources = [CustomResource { definition: &definition, version: &version }];
        let document = document(custom_document(&resources).json());
        let root = "/apis/demo.dev/v1/namespaces/{namespace}/webs/{name}";
        for path in [root.to_owned(), format!("{root}/status"), format!("{root}/scale")] {
            let patch = document.at(&["paths", &path, "patch"]).unwrap();
            let kind = json!({"group": "demo.dev", "version": "v1", "kind": "Web"});
            assert_eq!(patch.get("x-kubernetes-group-version-kind"), Some(&kind), "{path}");
            let types: Vec<_> =
                patch.at(&["requestBody", "content"]).and_then(Value::as_object).unwrap().keys().collect();
            assert_eq!(
                types,
                [
                    "application/apply-patch+yaml",
                    "application/json-patch+json",
                    "application/merge-patch+json"
                ],
                "{path}"
            );
        }
    }

    #[test]
    fn custom_resources_are_published_with_metadata() {
        let definition = json!({"spec": {"group": "demo.dev", "scope": "Namespaced",
            "names": {"plural": "webs", "kind": "Web", "listKind": "WebList"}}});
        let version = json!({"name": "v1", "served": true, "subresources": {"status": {}, "scale": {}}, "schema": {"openAPIV3Schema": {
            "type": "object", "description": "A web.", "properties": {"spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}}}}}});
        let resource = CustomResource { definition: &definition, version: &version };
        let text = custom_document(&[resource]);
        let document = document(text.json());
        let web = document.at(&["components", "schemas", "dev.demo.v1.Web"]).unwrap();
        assert_eq!(web.str_at(&["properties", "spec", "properties", "replicas", "type"]), Some("integer"));
        assert!(web.at(&["properties", "metadata", "allOf"]).is_some());
        assert_eq!(
            web.get("x-kubernetes-group-version-kind"),
            Some(&json!([{"group": "demo.dev", "kind": "Web", "version": "v1"}]))
        );
        let path = "/apis/demo.dev/v1/namespaces/{namespace}/webs/{name}";
        assert!(
            document
                .at(&[
                    "paths",
                    path,
                    "patch",
                    "requestBody",
                    "content",
                    "application/strategic-merge-patch+json"
                ])
                .is_none()
        );
        assert!(document.at(&["paths", &format!("{path}/scale"), "get"]).is_some());
        let other = json!({"name": "v1", "served": true});
        let other = CustomResource { version: &other, ..resource };
        assert_ne!(custom_identity(&[resource]), custom_identity(&[other]));
    }

    #[test]
    fn the_index_names_each_document_by_its_hash() {
        assert_eq!(
            index([("apis/apps/v1", "AB")], []),
            "{\"paths\":{\"apis/apps/v1\":{\"serverRelativeURL\":\"/openapi/v3/apis/apps/v1?hash=AB\"}}}"
        );
    }
}
