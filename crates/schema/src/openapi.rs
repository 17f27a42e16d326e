//! OpenAPI v3 documents, one for each group version, as kubectl reads them: `explain` (descriptions), `apply` (patch
//! merge keys, and whether PATCH knows `fieldValidation`), `create` and client libraries (schemas by group, version
//! and kind). A document is built when it is first asked for.

mod components;
pub mod custom;
mod paths;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use pilothouse_value::{GroupVersion, Map, Value, json};

use crate::builtin::{self, types};
use components::Components;
use paths::Served;

/// A version of a custom resource, as its definition declares it.
#[derive(Debug, Clone, Copy)]
pub struct CustomResource<'v> {
    /// The CustomResourceDefinition.
    pub definition: &'v Value,
    /// The element of its `spec.versions`.
    pub version: &'v Value,
}

/// What a client of `/openapi/v2` gets: a document without types, in protobuf, the one form that kubectl asks for. kubectl
/// looks there for kinds that no v3 document has (a `List`), and checks nothing of what it does not find.
pub const V2_DOCUMENT: &[u8] = b"\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.37.2\x42\x00";

/// The media type of [`V2_DOCUMENT`].
pub const V2_MEDIA_TYPE: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

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

/// The document of a group version with built-in resources; built once, then kept.
pub fn builtin_document(group_version: &GroupVersion) -> Option<&'static str> {
    static DOCUMENTS: OnceLock<Vec<OnceLock<String>>> = OnceLock::new();
    let all = builtin_group_versions();
    let documents = DOCUMENTS.get_or_init(|| all.iter().map(|_| OnceLock::new()).collect());
    let at = all.iter().position(|one| one == group_version)?;
    documents.get(at).map(|document| document.get_or_init(|| build_builtin(group_version)).as_str())
}

fn build_builtin(group_version: &GroupVersion) -> String {
    let mut components = Components::default();
    let mut paths = Map::new();
    for resource in builtin::resources().iter().filter(|resource| resource.group_version() == *group_version)
    {
        let reference = |gvk: &pilothouse_value::Gvk| builtin::type_name(gvk).map(components::full_name);
        let name = reference(&resource.gvk());
        let list = reference(&resource.group_version().kind(&*resource.list_kind));
        for gvk in [resource.gvk(), resource.group_version().kind(&*resource.list_kind)] {
            components.add_kind(&gvk);
        }
        for sub in &resource.subresources {
            components.add_kind(&pilothouse_value::Gvk::new(sub.group, sub.version, sub.kind));
        }
        let served = Served {
            gvk: resource.gvk(),
            plural: resource.plural,
            namespaced: resource.namespaced,
            verbs: &resource.verbs,
            component: name.as_deref(),
            list_component: list.as_deref(),
            strategic: true,
        };
        served.write(&mut paths);
        for sub in &resource.subresources {
            let gvk = pilothouse_value::Gvk::new(sub.group, sub.version, sub.kind);
            let component = reference(&gvk);
            served.write_subresource(&mut paths, sub.name, &gvk, &sub.verbs, component.as_deref());
        }
    }
    finish(group_version, components, paths)
}

/// The document of a group version with custom resources. Only versions that are served belong in it.
pub fn custom_document(group_version: &GroupVersion, resources: &[CustomResource<'_>]) -> String {
    let mut components = Components::default();
    let mut paths = Map::new();
    for resource in resources {
        let names =
            |path: &[&str]| resource.definition.at(&["spec", "names"]).and_then(|names| names.str_at(path));
        let (Some(plural), Some(kind)) = (names(&["plural"]), names(&["kind"])) else { continue };
        let gvk = group_version.kind(kind);
        let list_kind = names(&["listKind"]).map_or_else(|| format!("{kind}List"), str::to_owned);
        let (name, list) =
            (components::custom_name(&gvk), components::custom_name(&group_version.kind(&*list_kind)));
        components.add_custom(resource.definition, resource.version);
        let namespaced = resource.definition.str_at(&["spec", "scope"]) == Some("Namespaced");
        let verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
        let served = Served {
            gvk: gvk.clone(),
            plural,
            namespaced,
            verbs: &verbs,
            component: Some(&name),
            list_component: Some(&list),
            strategic: false,
        };
        served.write(&mut paths);
        let declared = |sub: &str| resource.version.at(&["subresources", sub]).is_some();
        let verbs = ["get", "patch", "update"];
        if declared("status") {
            served.write_subresource(&mut paths, "status", &gvk, &verbs, Some(&name));
        }
        if declared("scale") {
            let scale = pilothouse_value::Gvk::new("autoscaling", "v1", "Scale");
            components.add_kind(&scale);
            let component = components::full_name("autoscaling.v1.Scale");
            // Told as operations on the kind itself.
            served.write_subresource(&mut paths, "scale", &gvk, &verbs, Some(&component));
        }
    }
    finish(group_version, components, paths)
}

fn finish(group_version: &GroupVersion, mut components: Components, mut paths: Map) -> String {
    let options = group_version.kind("DeleteOptions");
    components.add_kind(&options);
    components.add_kind(&pilothouse_value::Gvk::new("", "v1", "Status"));
    components.add_kind(&pilothouse_value::Gvk::new("", "v1", "APIResourceList"));
    components.add_patch();
    paths.insert(format!("/{}/", path(group_version)), paths::discovery());
    let document = json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "1.37"},
    });
    let mut document = document;
    document.set(&["components", "schemas"], Value::Object(components.into_schemas(group_version)));
    document.set(
        &["components", "securitySchemes"],
        json!({"BearerToken": {"description": "Bearer Token authentication", "in": "header", "name": "authorization", "type": "apiKey"}}),
    );
    document.set(&["paths"], Value::Object(paths));
    document.to_json()
}

/// A hash that changes with the document of a built-in group version, without building the document.
pub fn builtin_hash(group_version: &GroupVersion) -> String {
    static TABLES: OnceLock<u128> = OnceLock::new();
    let tables = TABLES.get_or_init(|| {
        let parts =
            [types::TYPES, builtin::DESCRIPTIONS[0], builtin::DESCRIPTIONS[1], env!("CARGO_PKG_VERSION")];
        parts.iter().fold(0, |hash, part| hash ^ fnv(part.as_bytes()).rotate_left(1))
    });
    hex(*tables ^ fnv(group_version.to_string().as_bytes()))
}

/// A hash that changes with the document of a group version of custom resources, without building the document.
pub fn custom_hash(resources: &[CustomResource<'_>]) -> String {
    let one = |resource: &CustomResource<'_>| {
        let mut text = Vec::new();
        resource.definition.at(&["spec", "names"]).unwrap_or(&Value::Null).write_json(&mut text);
        resource.definition.at(&["spec", "scope"]).unwrap_or(&Value::Null).write_json(&mut text);
        resource.version.write_json(&mut text);
        fnv(&text)
    };
    hex(resources.iter().fold(fnv(b"custom"), |hash, resource| hash.rotate_left(1) ^ one(resource)))
}

/// The answer of `/openapi/v3`: where the document of each path ([`path`]) is, by its hash.
pub fn index<'e>(entries: impl IntoIterator<Item = (String, &'e str)>) -> String {
    let entry = |(path, hash): (String, &str)| {
        let url = format!("/openapi/v3/{path}?hash={hash}");
        (path, json!({"serverRelativeURL": url}))
    };
    let paths: BTreeMap<String, Value> = entries.into_iter().map(entry).collect();
    let paths: Map = paths.into_iter().collect();
    Value::Object(Map::from_iter([("paths", Value::Object(paths))])).to_json()
}

/// FNV-1a over 128 bits: it only has to tell documents apart, not to resist anyone.
fn fnv(bytes: &[u8]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(OFFSET, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

fn hex(hash: u128) -> String {
    let mut text = String::with_capacity(32);
    // Writing to a string cannot fail.
    let _infallible = write!(text, "{hash:032X}");
    text
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
            let document = document(builtin_document(group_version).unwrap());
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
            let text = builtin_document(group_version).unwrap();
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
        let document = document(builtin_document(&GroupVersion::new("", "v1")).unwrap());
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
        let group_version = GroupVersion::new("demo.dev", "v1");
        let resources = [CustomResource { definition: &definition, version: &version }];
        let document = document(&custom_document(&group_version, &resources));
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
        let text = custom_document(&GroupVersion::new("demo.dev", "v1"), &[resource]);
        let document = document(&text);
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
        assert_ne!(custom_hash(&[resource]), custom_hash(&[CustomResource { version: &other, ..resource }]));
    }

    #[test]
    fn the_index_names_each_document_by_its_hash() {
        let hash = builtin_hash(&GroupVersion::new("apps", "v1"));
        assert_ne!(hash, builtin_hash(&GroupVersion::new("batch", "v1")));
        let index = index([(path(&GroupVersion::new("apps", "v1")), hash.as_str())]);
        assert_eq!(
            index,
            format!(
                "{{\"paths\":{{\"apis/apps/v1\":{{\"serverRelativeURL\":\"/openapi/v3/apis/apps/v1?hash={hash}\"}}}}}}"
            )
        );
    }
}
