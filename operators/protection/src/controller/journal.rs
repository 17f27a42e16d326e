//! What must outlive a crash: how far an ActionSet is, written before it is relied on.
//!
//! One write holds all of it: the status that people read, and in an annotation what only the operator needs (the step
//! at hand, the pods to remove, errors of actions that still have a deferred phase to run). Kanister's kinds have no
//! status subresource, so both go into one request and cannot come apart.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use crate::api::{ActionSet, ActionSetStatus};

/// The annotation that holds the [`Notes`].
pub const ANNOTATION: &str = "protection.pilothouse.dev/journal";
/// How long a write is tried again while the API server does not take it.
const PATIENCE: Duration = Duration::from_secs(120);

/// What only the operator needs to know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Notes {
    /// One for each action, in their order.
    #[serde(default)]
    pub actions: Vec<ActionNotes>,
    /// The pods that were started and must be gone at the end, as `namespace/name`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub pods: BTreeSet<String>,
}

/// What only the operator needs to know of an action.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ActionNotes {
    /// Why it failed, while the deferred phase is still to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The step at hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepNotes>,
    /// Whether everything of the action is done.
    #[serde(default)]
    pub done: bool,
}

/// What must be known of a step to go on with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepNotes {
    /// When it was started first.
    pub started: Timestamp,
    /// What its function has found out and must not find out again.
    #[serde(default)]
    pub data: BTreeMap<String, Value>,
}

/// Why the journal cannot be written. Nothing may be done then; the work goes on from the journal later.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The ActionSet is gone: there is nothing left to do.
    #[error("the ActionSet {0} is gone")]
    Gone(String),
    /// The API server does not take the write.
    #[error(
        "cannot write the status of ActionSet {name}: {source}\nhint: the work goes on from its journal later"
    )]
    Write {
        /// Namespace and name.
        name: String,
        /// Why.
        source: kube::Error,
    },
}

struct State {
    status: ActionSetStatus,
    notes: Notes,
    resource_version: Option<String>,
}

/// The journal of one ActionSet. This process is its only writer.
pub struct Journal {
    api: Api<ActionSet>,
    namespace: String,
    name: String,
    uid: String,
    state: Mutex<State>,
}

impl Journal {
    /// The journal as the ActionSet holds it.
    pub fn open(client: Client, set: &ActionSet) -> Self {
        let namespace = set.namespace().unwrap_or_default();
        Self {
            api: Api::namespaced(client, &namespace),
            name: set.name_any(),
            uid: set.uid().unwrap_or_default(),
            state: Mutex::new(State {
                status: set.status.clone().unwrap_or_default(),
                notes: read_notes(set),
                resource_version: set.resource_version(),
            }),
            namespace,
        }
    }

    /// The uid of the ActionSet.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// The namespace of the ActionSet.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name of the ActionSet.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The status as it was written last.
    pub async fn status(&self) -> ActionSetStatus {
        self.state.lock().await.status.clone()
    }

    /// The notes as they were written last.
    pub async fn notes(&self) -> Notes {
        self.state.lock().await.notes.clone()
    }

    /// Changes the status and the notes. When this returns, the change is durable.
    ///
    /// # Errors
    /// [`JournalError::Gone`] without the ActionSet; [`JournalError::Write`] when the server refuses the write, or
    /// does not answer for two minutes.
    pub async fn commit(
        &self,
        change: impl FnOnce(&mut ActionSetStatus, &mut Notes),
    ) -> Result<(), JournalError> {
        let mut state = self.state.lock().await;
        let (mut status, mut notes) = (state.status.clone(), state.notes.clone());
        change(&mut status, &mut notes);
        let deadline = tokio::time::Instant::now() + PATIENCE;
        let mut pause = Duration::from_millis(50);
        loop {
            let error = match self.write(&status, &notes, state.resource_version.as_deref()).await {
                Ok(written) => {
                    state.resource_version = written.resource_version();
                    (state.status, state.notes) = (status, notes);
                    return Ok(());
                }
                Err(error) => error,
            };
            let conflict = matches!(&error, kube::Error::Api(s) if s.code == 409);
            if conflict {
                // Somebody changed something else of the ActionSet: its labels, its finalizers, its deletion.
                match self.api.get(&self.name).await {
                    Ok(now) if now.uid().as_deref() != Some(&self.uid) => return Err(self.gone()),
                    Ok(now) => state.resource_version = now.resource_version(),
                    Err(error) if is_not_found(&error) => return Err(self.gone()),
                    Err(_) => {}
                }
            } else if is_not_found(&error) {
                return Err(self.gone());
            } else if !is_transient(&error) {
                return Err(JournalError::Write { name: self.full_name(), source: error });
            }
            if tokio::time::Instant::now() + pause > deadline {
                return Err(JournalError::Write { name: self.full_name(), source: error });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }

    async fn write(
        &self,
        status: &ActionSetStatus,
        notes: &Notes,
        resource_version: Option<&str>,
    ) -> Result<ActionSet, kube::Error> {
        let notes = serde_json::to_string(notes).map_err(kube::Error::SerdeError)?;
        let patch = json!({
            "metadata": {"resourceVersion": resource_version, "uid": self.uid, "annotations": {ANNOTATION: notes}},
            "status": status,
        });
        self.api.patch(&self.name, &PatchParams::default(), &Patch::Merge(&patch)).await
    }

    fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    fn gone(&self) -> JournalError {
        JournalError::Gone(self.full_name())
    }
}

/// The notes that an ActionSet carries; none when they cannot be read.
pub fn read_notes(set: &ActionSet) -> Notes {
    set.annotations().get(ANNOTATION).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// Whether the same request may succeed later.
pub fn is_transient(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 429 || status.code >= 500,
        kube::Error::HyperError(_) | kube::Error::Service(_) | kube::Error::ReadEvents(_) => true,
        _ => false,
    }
}

/// Whether the object does not exist.
pub fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// Whether there is such an object already.
pub fn is_already_exists(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409 && status.reason == "AlreadyExists")
}

/// The server's own words, without what the client adds.
pub fn request_text(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

/// An output, with the limit that keeps the ActionSet small enough to be stored.
///
/// # Errors
/// With a text for the user, when the output is too large.
pub fn checked_output(output: Map<String, Value>) -> Result<Map<String, Value>, String> {
    const LIMIT: usize = 256 << 10;
    let size = serde_json::to_string(&output).map_or(0, |text| text.len());
    if size > LIMIT {
        return Err(format!(
            "the output of the phase has {size} bytes; the most is {LIMIT}\nhint: keep large data at the location, and give its path"
        ));
    }
    Ok(output)
}
