//! CustomResourceDefinitions: what makes a document in the store a resource that is served.
//!
//! This module owns the way from a definition to the resources it defines; [`names`] decides who gets which name, and
//! [`lifecycle`] runs when a definition is written or deleted.

use std::sync::{Arc, OnceLock};

use pilothouse_schema::{Schema, structural};
use pilothouse_store::Object;
use pilothouse_value::{Value, object};

use crate::resource::{self, Resource, Rules, Subresource};

pub(crate) mod lifecycle;
pub(crate) mod names;

/// The group of the definitions themselves.
pub(crate) const GROUP: &str = "apiextensions.k8s.io";
/// The plural name of the definitions themselves.
pub(crate) const PLURAL: &str = "customresourcedefinitions";
/// The finalizer that holds a definition until its objects are gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// What a custom resource needs to know of its definition.
#[derive(Debug)]
pub(crate) struct Custom {
    /// The definition as it was when this was made.
    object: Arc<Object>,
    /// The version's place in `spec.versions`.
    index: usize,
    schema: OnceLock<Arc<Schema>>,
    /// The schema of the version that objects are stored in, if that is another one.
    storage_schema: OnceLock<Option<Arc<Schema>>>,
    /// The `apiVersion` that objects are stored with.
    pub(crate) storage_api_version: String,
    /// Objects stored at or after this revision went through this schema.
    pub(crate) valid_from: u64,
    /// Whether other versions may have other schemas.
    pub(crate) one_of_many: bool,
    /// Whether the definition is being deleted.
    pub(crate) terminating: bool,
    /// Whether versions are converted by a webhook.
    pub(crate) webhook: bool,
    /// Where the scale subresource finds its numbers.
    pub(crate) scale: Option<ScalePaths>,
    /// Fields that selectors may name, with their path.
    pub(crate) selectable: Vec<(String, Vec<String>)>,
    /// A warning for everyone who uses this version.
    pub(crate) deprecation: Option<String>,
}

/// Paths of the scale subresource, split at the dots.
#[derive(Clone, Debug)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: Vec<String>,
    pub(crate) status_replicas: Vec<String>,
    pub(crate) selector: Option<Vec<String>>,
    /// The paths as the definition has them.
    pub(crate) declared: Value,
}

impl Custom {
    /// The structural schema of this version. A definition that was accepted has one that can be read.
    pub(crate) fn schema(&self) -> &Schema {
        self.schema.get_or_init(|| structural::parse_stored(&self.open_api()))
    }

    /// The schema of the version that objects are stored in, if that is another one.
    pub(crate) fn storage_schema(&self) -> Option<&Schema> {
        let find = || {
            let definition = self.object.value();
            let storage = pilothouse_schema::crd::storage_version(definition)?;
            let is_this = self.version().str_at(&["name"]) == Some(storage);
            if is_this { None } else { pilothouse_schema::crd::schema(definition, storage) }
        };
        self.storage_schema.get_or_init(find).as_deref()
    }

    /// Whether another state of the definition has the same versions with the same schemas.
    pub(crate) fn same_versions(&self, other: &Object) -> bool {
        self.object.value().at(&["spec", "versions"]) == other.value().at(&["spec", "versions"])
    }

    /// The definition.
    pub(crate) fn definition(&self) -> Arc<Value> {
        self.object.value().clone()
    }

    /// The version as it stands in the definition.
    pub(crate) fn version(&self) -> Value {
        self.object.value().items_at(&["spec", "versions"]).get(self.index).cloned().unwrap_or_default()
    }

    /// The schema as it was written.
    pub(crate) fn open_api(&self) -> Value {
        let value = self.object.value();
        let version = value.items_at(&["spec", "versions"]).get(self.index);
        version.and_then(|version| version.at(&["schema", "openAPIV3Schema"])).cloned().unwrap_or_default()
    }
}

/// Splits `.spec.replicas` into its parts.
fn path(text: &str) -> Vec<String> {
    text.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The resources that a definition defines: one for each served version, none if it may not be served.
/// `valid_from` is the revision from which on stored objects went through the present schemas.
pub(crate) fn resources(definition: &Arc<Object>, valid_from: u64) -> Vec<Resource> {
    let value = definition.value();
    if !object::condition_is_true(value, "NamesAccepted") && !object::condition_is_true(value, "Established")
    {
        return Vec::new();
    }
    let text = |keys: &[&str]| value.str_at(keys).unwrap_or_default().to_owned();
    let list = |keys: &[&str]| -> Vec<String> {
        value.items_at(keys).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let group = text(&["spec", "group"]);
    let names = ["status", "acceptedNames"];
    let name = |key: &str| value.str_at(&[names[0], names[1], key]).unwrap_or_default().to_owned();
    let (plural, kind) = (name("plural"), name("kind"));
    let namespaced = text(&["spec", "scope"]) == "Namespaced";
    let versions = value.items_at(&["spec", "versions"]);
    let storage = versions
        .iter()
        .find(|version| version.get("storage").and_then(Value::as_bool) == Some(true))
        .and_then(|version| version.str_at(&["name"]))
        .unwrap_or_default();
    let terminating = object::deletion_timestamp(value).is_some();
    let mut resources = Vec::new();
    for (index, version) in versions.iter().enumerate() {
        if version.get("served").and_then(Value::as_bool) != Some(true) {
            continue;
        }
        let version_name = version.str_at(&["name"]).unwrap_or_default();
        let status = version.at(&["subresources", "status"]).is_some();
        let scale = version.at(&["subresources", "scale"]).map(|scale| ScalePaths {
            spec_replicas: path(scale.str_at(&["specReplicasPath"]).unwrap_or_default()),
            status_replicas: path(scale.str_at(&["statusReplicasPath"]).unwrap_or_default()),
            selector: scale.str_at(&["labelSelectorPath"]).map(path),
            declared: scale.clone(),
        });
        let mut subresources = Vec::new();
        let verbs = || vec!["get".to_owned(), "patch".to_owned(), "update".to_owned()];
        if status {
            subresources.push(Subresource {
                name: "status".into(),
                group: group.clone(),
                version: version_name.into(),
                kind: kind.clone(),
                verbs: verbs(),
            });
        }
        if scale.is_some() {
            subresources.push(Subresource {
                name: "scale".into(),
                group: "autoscaling".into(),
                version: "v1".into(),
                kind: "Scale".into(),
                verbs: verbs(),
            });
        }
        let api_version = resource::api_version(&group, version_name);
        let deprecation = (version.get("deprecated").and_then(Value::as_bool) == Some(true)).then(|| {
            version
                .str_at(&["deprecationWarning"])
                .map_or_else(|| format!("{api_version} {kind} is deprecated"), str::to_owned)
        });
        let custom = Custom {
            object: definition.clone(),
            index,
            schema: OnceLock::new(),
            storage_schema: OnceLock::new(),
            storage_api_version: resource::api_version(&group, storage),
            valid_from,
            one_of_many: versions.len() > 1,
            terminating,
            webhook: value.str_at(&["spec", "conversion", "strategy"]) == Some("Webhook"),
            scale,
            selectable: version
                .items_at(&["selectableFields"])
                .iter()
                .filter_map(|field| field.str_at(&["jsonPath"]))
                .map(|field| (field.trim_start_matches('.').to_owned(), path(field)))
                .collect(),
            deprecation,
        };
        let verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
        resources.push(Resource::custom(
            Arc::new(custom),
            resource::Names {
                group: group.clone(),
                version: version_name.into(),
                plural: plural.clone(),
                singular: name("singular"),
                kind: kind.clone(),
                list_kind: name("listKind"),
                namespaced,
                short_names: list(&[names[0], names[1], "shortNames"]),
                categories: list(&[names[0], names[1], "categories"]),
                verbs: verbs.map(str::to_owned).to_vec(),
                subresources,
            },
            Rules::custom(status),
        ));
    }
    resources
}
