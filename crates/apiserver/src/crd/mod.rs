//! CustomResourceDefinitions: what makes a document in the store a resource that is served.
//!
//! This module owns the way from a definition to the resources it defines; [`definition`] is what their versions share,
//! [`convert`] the way of an object between versions, [`names`] decides who gets which name, [`lifecycle`] runs when a
//! definition is written or deleted, and [`cleanup`] deletes its objects at its end.

use std::sync::{Arc, OnceLock};

use pilothouse_schema::{Schema, cel};
use pilothouse_store::Object;
use pilothouse_value::{Value, object};

use crate::registry::resource::{self, Resource, Rules, Subresource};
use definition::{Definition, Version};
use shown::Shown;

mod cleanup;
pub(crate) mod convert;
pub(crate) mod definition;
pub(crate) mod lifecycle;
pub(crate) mod names;
mod review;
mod shown;

/// The group of the definitions themselves.
pub(crate) const GROUP: &str = "apiextensions.k8s.io";
/// The plural name of the definitions themselves.
pub(crate) const PLURAL: &str = "customresourcedefinitions";
/// The finalizer that holds a definition until its objects are gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The verbs of a custom resource.
const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// What a version of a custom resource needs to know of its definition.
#[derive(Debug)]
pub(crate) struct Custom {
    /// What all versions share.
    pub(crate) definition: Arc<Definition>,
    /// The version's place in `spec.versions`.
    index: usize,
    defaults_on_read: OnceLock<bool>,
    /// Whether discovery tells of it. One whose names are accepted is served before.
    pub(crate) established: bool,
    /// Whether it can be converted at all: a webhook has certificates that can be read, or none.
    pub(crate) sound: bool,
    /// Whether the definition is being deleted: nothing new is made.
    pub(crate) terminating: bool,
    /// Whether its objects are being deleted: discovery tells of no verbs that write.
    pub(crate) clearing: bool,
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
    /// The version that is served.
    pub(crate) fn served(&self) -> Option<&Version> {
        self.definition.version(self.index)
    }

    /// What had to be converted to be shown in this version, as far as it is kept.
    pub(crate) fn shown(&self) -> Option<&Shown> {
        self.served().map(|version| &version.shown)
    }

    /// The structural schema of this version.
    pub(crate) fn schema(&self) -> &Schema {
        self.served().map_or(Schema::any(), |version| self.definition.schema(version))
    }

    /// The compiled validation rules of this version, if it has any.
    pub(crate) fn rules(&self) -> Option<&cel::Rules> {
        self.served().and_then(|version| self.definition.rules(version))
    }

    /// Gets ready what a request needs of a large definition; see [`Definition::prepare`].
    pub(crate) async fn prepare(&self, writes: bool) {
        self.definition.prepare(self.index, writes).await;
    }

    /// Whether an object that is stored in this version may lack defaults: those of a status, which no client can set when
    /// the object is made, and all of them if it was written in another version.
    pub(crate) fn defaults_on_read(&self) -> bool {
        *self.defaults_on_read.get_or_init(|| {
            let Some(version) = self.served() else { return false };
            if self.definition.has_many_versions() {
                return self.definition.has_defaults(version);
            }
            let has_status = self.version().at(&["subresources", "status"]).is_some();
            // Defaults of the object itself can make a status, so the whole schema counts.
            has_status && self.definition.has_defaults(version)
        })
    }

    /// Where the number of replicas stands in a version; `None` if there is no such version, an empty path if that one has no
    /// scale.
    pub(crate) fn replicas_in(&self, api_version: &str) -> Option<Vec<String>> {
        let definition = self.definition.value();
        let group = definition.str_at(&["spec", "group"]).unwrap_or_default();
        let name = |version: &&Value| {
            resource::api_version(group, version.str_at(&["name"]).unwrap_or_default()) == api_version
        };
        let version = definition.items_at(&["spec", "versions"]).iter().find(name)?;
        Some(path(version.str_at(&["subresources", "scale", "specReplicasPath"]).unwrap_or_default()))
    }

    /// The definition.
    pub(crate) fn definition(&self) -> Arc<Value> {
        self.definition.value().clone()
    }

    /// The version as it stands in the definition.
    pub(crate) fn version(&self) -> Value {
        self.definition.value().items_at(&["spec", "versions"]).get(self.index).cloned().unwrap_or_default()
    }
}

/// Splits `.spec.replicas` into its parts.
fn path(text: &str) -> Vec<String> {
    text.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The resources that a definition defines: one for each served version, none if it may not be served.
/// `before` is what was served of it until now, and `valid_from` the revision from which on stored objects went through the
/// present schemas, if these are new.
pub(crate) fn resources(object: &Arc<Object>, before: Option<&Custom>, valid_from: u64) -> Vec<Resource> {
    let value = object.value();
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
    let clearing = object::condition_is_true(value, "Terminating");
    let terminating = object::deletion_timestamp(value).is_some() || clearing;
    let established = object::condition_is_true(value, "Established");
    let sound = pilothouse_schema::crd::has_readable_bundle(value);
    let definition = Definition::new(object, before.map(|before| &before.definition), valid_from);
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
        let custom = Custom {
            definition: definition.clone(),
            index,
            defaults_on_read: OnceLock::new(),
            established,
            sound,
            terminating,
            clearing,
            scale,
            selectable: version
                .items_at(&["selectableFields"])
                .iter()
                .filter_map(|field| field.str_at(&["jsonPath"]))
                .map(|field| (field.trim_start_matches('.').to_owned(), path(field)))
                .collect(),
            deprecation: pilothouse_schema::crd::deprecation_warning(value, version_name),
        };
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
                verbs: VERBS.map(str::to_owned).to_vec(),
                subresources,
            },
            Rules::custom(status),
        ));
    }
    resources
}
