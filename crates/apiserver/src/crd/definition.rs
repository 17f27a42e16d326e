//! A definition as it is served: what the versions of a custom resource share, and the schema of each.

use std::sync::{Arc, OnceLock};

use pilothouse_schema::cel::Rules;
use pilothouse_schema::{Schema, crd as definition};
use pilothouse_store::Object;
use pilothouse_value::Value;

use crate::crd::shown::Shown;
use crate::heavy;
use crate::registry::resource;

/// A definition as it is served. It stays the same as long as the definition's spec and its accepted
/// names do.
#[derive(Debug)]
pub(crate) struct Definition {
    object: Arc<Object>,
    versions: Vec<Version>,
    storage: usize,
    /// Whether objects are converted by a webhook; else only their `apiVersion` is rewritten.
    pub(crate) webhook: bool,
    /// Objects stored at or after this revision went through the present schemas.
    pub(crate) valid_from: u64,
    /// The revision from which on it has been served. What was stored before is of another definition of the same name.
    pub(crate) served_from: u64,
}

/// One version of a definition, served or not.
#[derive(Debug)]
pub(crate) struct Version {
    /// The `apiVersion` of its objects.
    pub(crate) api_version: String,
    /// Whether it is served.
    pub(crate) served: bool,
    /// Objects that had to be converted to be shown in this version.
    pub(crate) shown: Shown,
    index: usize,
    schema: OnceLock<Arc<Schema>>,
    has_defaults: OnceLock<bool>,
    rules: OnceLock<Option<Rules>>,
}

impl Definition {
    /// What is served of a stored definition. What `before` has worked out is kept if nothing has changed; `valid_from` is
    /// the revision from which on stored objects went through the schemas otherwise.
    pub(crate) fn new(
        object: &Arc<Object>,
        before: Option<&Arc<Definition>>,
        valid_from: u64,
    ) -> Arc<Definition> {
        let value = object.value();
        if let Some(before) = before
            && before.object.value().get("spec") == value.get("spec")
            && before.object.value().at(&["status", "acceptedNames"])
                == value.at(&["status", "acceptedNames"])
        {
            return before.clone();
        }
        let served_from = before.map_or(valid_from, |before| before.served_from);
        let same_versions = |before: &&Arc<Definition>| {
            before.object.value().at(&["spec", "versions"]) == value.at(&["spec", "versions"])
        };
        let valid_from = before.filter(same_versions).map_or(valid_from, |before| before.valid_from);
        let group = value.str_at(&["spec", "group"]).unwrap_or_default();
        let versions: Vec<Version> = value
            .items_at(&["spec", "versions"])
            .iter()
            .enumerate()
            .map(|(index, version)| Version {
                api_version: resource::api_version(group, version.str_at(&["name"]).unwrap_or_default()),
                served: version.at(&["served"]).and_then(Value::as_bool) == Some(true),
                shown: Shown::default(),
                index,
                schema: OnceLock::new(),
                has_defaults: OnceLock::new(),
                rules: OnceLock::new(),
            })
            .collect();
        let storage = value
            .items_at(&["spec", "versions"])
            .iter()
            .position(|version| version.at(&["storage"]).and_then(Value::as_bool) == Some(true))
            .unwrap_or_default();
        Arc::new(Definition {
            object: object.clone(),
            versions,
            storage,
            webhook: value.str_at(&["spec", "conversion", "strategy"]) == Some("Webhook"),
            valid_from,
            served_from,
        })
    }

    /// The definition's document. Its status may be of the past.
    pub(crate) fn value(&self) -> &Arc<Value> {
        self.object.value()
    }

    /// The version at a place of `spec.versions`. A definition that was accepted has at least one version.
    pub(crate) fn version(&self, index: usize) -> Option<&Version> {
        self.versions.get(index)
    }

    /// The version whose objects have this `apiVersion`.
    pub(crate) fn version_of(&self, api_version: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.api_version == api_version)
    }

    /// The version that objects are stored in.
    pub(crate) fn storage(&self) -> Option<&Version> {
        self.versions.get(self.storage)
    }

    /// The places of the served versions beside this one.
    pub(crate) fn others(&self, api_version: &str) -> Vec<usize> {
        let others = self.versions.iter().filter(|other| other.served && other.api_version != api_version);
        others.map(|version| version.index).collect()
    }

    /// Whether there are other versions than one.
    pub(crate) fn has_many_versions(&self) -> bool {
        self.versions.len() > 1
    }

    /// The structural schema of a version. A definition that was accepted has one that can be read.
    pub(crate) fn schema<'a>(&'a self, version: &'a Version) -> &'a Schema {
        version.schema.get_or_init(|| {
            let versions = self.value().items_at(&["spec", "versions"]);
            let name = versions.get(version.index).and_then(|version| version.str_at(&["name"]));
            definition::schema(self.value(), name.unwrap_or_default())
                .unwrap_or_else(|| Arc::new(Schema::any().clone()))
        })
    }

    /// The validation rules of a version, compiled when the first object is written; `None` if it has none.
    pub(crate) fn rules<'a>(&'a self, version: &'a Version) -> Option<&'a Rules> {
        version.rules.get_or_init(|| Rules::compile(self.schema(version))).as_ref()
    }

    /// Reads the schema of a version, and of the one that is stored, and compiles the rules if an object is to be written:
    /// where that holds up nobody, if the definition is large and it has not been done.
    pub(crate) async fn prepare(self: &Arc<Self>, index: usize, writes: bool) {
        let is_ready = |version: Option<&Version>| {
            version.is_none_or(|version| {
                version.schema.get().is_some() && (!writes || version.rules.get().is_some())
            })
        };
        if self.object.bytes().len() < heavy::LARGE || is_ready(self.version(index)) {
            return;
        }
        let definition = self.clone();
        heavy::run(move || {
            for version in [definition.storage(), definition.version(index)].into_iter().flatten() {
                definition.schema(version);
            }
            if let Some(version) = definition.version(index).filter(|_| writes) {
                definition.rules(version);
            }
        })
        .await;
    }

    /// Whether the schema of a version fills in anything.
    pub(crate) fn has_defaults(&self, version: &Version) -> bool {
        *version.has_defaults.get_or_init(|| self.schema(version).has_defaults())
    }
}
