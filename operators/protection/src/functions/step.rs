//! A step: one call of a function, with what it needs to be taken up again after a crash.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use pilothouse::runtime::{Event, Recorder};
use serde_json::{Map, Value};
use sha2::Digest as _;

use super::args::Call;
use super::{exec, kubeops, pod, scale, wait};
use crate::api::{ActionSet, ActionSpec};
use crate::controller::journal::{Journal, JournalError, request_text};
use crate::params::Subject;

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A phase, in all. Kanister has no such limit; the default is 24 h.
    pub phase: Duration,
    /// Until the pod of a task has started; Kanister's `TIMEOUT_WORKER_POD_READY`, by default 15 min.
    pub pod_ready: Duration,
    /// How long the image of a task may fail to be pulled before that is taken for the end; the default is 2 min.
    pub image_pull: Duration,
    /// The deferred phase of an action that is cancelled; the default is 10 min.
    pub cancelled: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            phase: Duration::from_secs(24 * 3600),
            pod_ready: Duration::from_secs(15 * 60),
            image_pull: Duration::from_secs(120),
            cancelled: Duration::from_secs(600),
        }
    }
}

/// Which phase of its action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseId {
    /// The phase at this place.
    Index(usize),
    /// The deferred phase.
    Deferred,
}

impl std::fmt::Display for PhaseId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Index(index) => write!(f, "{index}"),
            Self::Deferred => f.write_str("defer"),
        }
    }
}

/// Why a step did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The phase has failed.
    #[error("{0}")]
    Failed(String),
    /// The journal cannot be written: the step is neither done nor failed, and is taken up again later.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl StepError {
    /// The phase has failed because a request was refused.
    pub fn request(what: &str, error: &kube::Error) -> Self {
        Self::Failed(format!("cannot {what}: {}", request_text(error)))
    }
}

/// What a function is given.
pub struct Step<'a> {
    /// The client.
    pub client: &'a Client,
    /// Where people are told.
    pub events: &'a Recorder,
    /// The bounds in time.
    pub limits: Limits,
    /// The journal of the ActionSet.
    pub journal: &'a Journal,
    /// The ActionSet as it was when its work was taken up.
    pub set: &'a ActionSet,
    /// The action.
    pub spec: &'a ActionSpec,
    /// The place of the action.
    pub action: usize,
    /// The phase.
    pub phase: PhaseId,
    /// The name of the phase, for people.
    pub name: &'a str,
    /// The object of the action.
    pub subject: &'a Subject,
    /// Where pods run that have no namespace of their own.
    pub default_namespace: &'a str,
    /// When the step was started first.
    pub started: Timestamp,
    /// Whether another life of the operator had started it already.
    pub resumed: bool,
}

impl Step<'_> {
    /// A name that is the same whenever this very step is taken up.
    pub fn unique(&self, prefix: &str) -> String {
        let text = format!("{}/{}/{}", self.journal.uid(), self.action, self.phase);
        let digest: String = sha2::Sha256::digest(text).iter().take(5).map(|b| format!("{b:02x}")).collect();
        format!("{prefix}{digest}")
    }

    /// The mark of this step on what it makes.
    pub fn mark(&self) -> String {
        format!("{}.{}.{}", self.journal.uid(), self.action, self.phase)
    }

    /// What was noted under this name.
    pub async fn noted(&self, key: &str) -> Option<Value> {
        let notes = self.journal.notes().await;
        notes.actions.get(self.action)?.step.as_ref()?.data.get(key).cloned()
    }

    /// Notes something that must not be found out again; durable when this returns.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn note(&self, key: &str, value: Value) -> Result<(), JournalError> {
        let (action, key) = (self.action, key.to_owned());
        self.journal
            .commit(|_, notes| {
                if let Some(step) = notes.actions.get_mut(action).and_then(|a| a.step.as_mut()) {
                    step.data.insert(key, value);
                }
            })
            .await
    }

    /// Tells people why the step waits: in the status of the phase and as an event.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn waits_for(&self, reason: &str, text: &str) -> Result<(), JournalError> {
        let (action, phase) = (self.action, self.phase);
        let full = format!("{reason}: {text}");
        let known = self.journal.status().await;
        let slot = known.actions.get(action).and_then(|a| match phase {
            PhaseId::Index(i) => a.phases.get(i),
            PhaseId::Deferred => Some(&a.defer_phase),
        });
        if slot.is_some_and(|p| p.reason == full) {
            return Ok(());
        }
        if !text.is_empty() {
            self.events.publish(
                self.set,
                Event::warning("PhaseWaiting", format!("phase {} waits: {full}", self.name)),
            );
        }
        self.journal
            .commit(|status, _| {
                let Some(action) = status.actions.get_mut(action) else { return };
                let slot = match phase {
                    PhaseId::Index(i) => action.phases.get_mut(i),
                    PhaseId::Deferred => Some(&mut action.defer_phase),
                };
                if let Some(slot) = slot {
                    slot.reason = full;
                }
            })
            .await
    }
}

/// Runs the function, or goes on with it.
///
/// # Errors
/// [`StepError`]
pub async fn run(step: &Step<'_>, call: &Call) -> Result<Map<String, Value>, StepError> {
    match call {
        Call::KubeTask(task) => pod::run(step, task, "kanister-job-", Vec::new()).await,
        Call::PrepareData(task) => pod::prepare_data(step, task).await,
        Call::Exec(exec) => exec::run(step, exec).await,
        Call::Scale(scale) => scale::run(step, scale).await,
        Call::KubeOps(ops) => kubeops::run(step, ops).await,
        Call::Wait(wait) => wait::run(step, wait).await,
    }
}
