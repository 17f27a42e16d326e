//! ActionSet: actions to run once, and how far they are.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::{Deserialize, Serialize};

use super::{API_VERSION, Artifact, ObjectReference, null_is_default, resource};

/// Actions that are run once, each by a Blueprint on an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionSet {
    /// Always [`API_VERSION`].
    #[serde(default)]
    pub api_version: String,
    /// Always `ActionSet`.
    #[serde(default)]
    pub kind: String,
    /// Standard metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// What to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<ActionSetSpec>,
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ActionSetStatus>,
}

resource!(ActionSet, "ActionSet", "actionsets");

impl ActionSet {
    /// An ActionSet that has not been looked at yet.
    pub fn new(name: &str, actions: Vec<ActionSpec>) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "ActionSet".to_owned(),
            metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
            spec: Some(ActionSetSpec { actions }),
            status: None,
        }
    }

    /// The state; `None` before the first look.
    pub fn state(&self) -> Option<State> {
        self.status.as_ref().map(|s| s.state)
    }
}

/// What to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionSetSpec {
    /// The actions; they run side by side.
    #[serde(default, deserialize_with = "null_is_default")]
    pub actions: Vec<ActionSpec>,
}

/// One action on one object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionSpec {
    /// The key of the action in its Blueprint.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// The object to act on.
    #[serde(default, deserialize_with = "null_is_default")]
    pub object: ObjectReference,
    /// The name of a Blueprint in the ActionSet's namespace.
    #[serde(default, deserialize_with = "null_is_default")]
    pub blueprint: String,
    /// What an earlier action made: `.ArtifactsIn`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub artifacts: BTreeMap<String, Artifact>,
    /// ConfigMaps of any namespace: `.ConfigMaps`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub config_maps: BTreeMap<String, ObjectReference>,
    /// Secrets of any namespace: `.Secrets`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, ObjectReference>,
    /// Where artifacts are kept: `.Profile`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ObjectReference>,
    /// Part of a pod's specification that is merged into those of the pods that the action starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_override: Option<serde_json::Map<String, serde_json::Value>>,
    /// `.Options`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// The version of the functions; all that are here are `v0.0.0`, which every version falls back to.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub preferred_version: String,
    /// Labels of the pods that the action starts; the Blueprint's win.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub pod_labels: BTreeMap<String, String>,
    /// Annotations of the pods that the action starts; the Blueprint's win.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub pod_annotations: BTreeMap<String, String>,
}

/// How far an ActionSet, a phase or a deferred phase is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Not started.
    #[default]
    Pending,
    /// At work.
    Running,
    /// Ended with an error. Nothing leads out of this state.
    Failed,
    /// Ended well. Nothing leads out of this state.
    Complete,
    /// The empty text that stands in the deferred phase of an action without one.
    #[serde(rename = "")]
    None,
}

impl State {
    /// Whether nothing follows.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Failed | Self::Complete)
    }
}

/// How far an ActionSet is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionSetStatus {
    /// The state of the whole.
    #[serde(default)]
    pub state: State,
    /// As many as in the specification, in its order.
    #[serde(default, deserialize_with = "null_is_default")]
    pub actions: Vec<ActionStatus>,
    /// Why it failed.
    #[serde(default)]
    pub error: ErrorStatus,
    /// The progress of the whole.
    #[serde(default)]
    pub progress: ActionProgress,
}

/// How far an action is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionStatus {
    /// From the specification.
    #[serde(default)]
    pub name: String,
    /// From the specification.
    #[serde(default)]
    pub object: ObjectReference,
    /// From the specification.
    #[serde(default)]
    pub blueprint: String,
    /// The phases, in order.
    #[serde(default, deserialize_with = "null_is_default")]
    pub phases: Vec<Phase>,
    /// Templates until the action is complete, then what it made.
    #[serde(default, deserialize_with = "null_is_default")]
    pub artifacts: BTreeMap<String, Artifact>,
    /// The deferred phase; an empty name and state where there is none.
    #[serde(default)]
    pub defer_phase: Phase,
}

/// How far a phase is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Phase {
    /// From the Blueprint.
    #[serde(default)]
    pub name: String,
    /// The state.
    #[serde(default)]
    pub state: State,
    /// Why the phase waits or failed.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What the phase gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<serde_json::Map<String, serde_json::Value>>,
    /// The progress.
    #[serde(default)]
    pub progress: PhaseProgress,
}

/// The error of an ActionSet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorStatus {
    /// One text for the whole.
    #[serde(default)]
    pub message: String,
}

/// The progress of an ActionSet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionProgress {
    /// The phase that runs; the last one that was started when several do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub running_phase: String,
    /// A whole number from 0 to 100, as text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub percent_completed: String,
    /// When this was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
}

/// The progress of a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseProgress {
    /// A whole number from 0 to 100, as text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub progress_percent: String,
    /// When the state changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
}
