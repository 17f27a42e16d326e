//! Blueprint: how actions are done.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Artifact, ObjectReference, null_is_default, resource};

/// How actions are done: the phases of each. It has no `spec`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blueprint {
    /// Always [`super::API_VERSION`].
    #[serde(default)]
    pub api_version: String,
    /// Always `Blueprint`.
    #[serde(default)]
    pub kind: String,
    /// Standard metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The actions by the name that an ActionSet uses.
    #[serde(default, deserialize_with = "null_is_default")]
    pub actions: BTreeMap<String, BlueprintAction>,
}

resource!(Blueprint, "Blueprint", "blueprints");

/// How one action is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlueprintAction {
    /// Not used.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The kind of object that the action is made for; not enforced, as in Kanister.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// ConfigMaps that the ActionSet must give.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub config_map_names: Vec<String>,
    /// Secrets that the ActionSet must give.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub secret_names: Vec<String>,
    /// Artifacts that the ActionSet must give.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub input_artifact_names: Vec<String>,
    /// Templates of what the action makes.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub output_artifacts: BTreeMap<String, Artifact>,
    /// Run one after the other.
    #[serde(default, deserialize_with = "null_is_default")]
    pub phases: Vec<BlueprintPhase>,
    /// Run after the last phase, or after the first that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defer_phase: Option<BlueprintPhase>,
}

/// One call of a function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlueprintPhase {
    /// The function.
    #[serde(default, deserialize_with = "null_is_default")]
    pub func: String,
    /// The name under which others see its output; may be empty for a deferred phase.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// Secrets and ConfigMaps that the arguments use; the references are templates.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub objects: BTreeMap<String, ObjectReference>,
    /// The arguments; every text in them is a template.
    #[serde(default, deserialize_with = "null_is_default")]
    pub args: Map<String, Value>,
}
