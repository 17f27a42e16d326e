//! Runs the actions of an ActionSet, from wherever its journal says it is.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use pilothouse::runtime::{Event, Recorder};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::journal::{ActionNotes, Journal, JournalError, Notes, StepNotes, checked_output};
use super::observe::{self, ObserveError};
use super::prepare::PinnedAction;
use crate::api::{ActionSet, ActionSetStatus, ActionSpec, BlueprintAction, BlueprintPhase, Phase, State};
use crate::check::phase_name;
use crate::functions::{self, Limits, PhaseId, Step, StepError, args, registry};
use crate::mask::Mask;
use crate::params::{Params, PhaseParams};
use crate::plan;
use crate::render;

/// What runs an ActionSet.
pub(crate) struct Runner<'a> {
    pub(crate) client: &'a Client,
    pub(crate) events: &'a Recorder,
    pub(crate) limits: Limits,
    pub(crate) default_namespace: &'a str,
    pub(crate) journal: &'a Journal,
    pub(crate) set: &'a ActionSet,
    /// Is cancelled when the ActionSet is being deleted.
    pub(crate) cancel: &'a CancellationToken,
}

/// The state of a phase in the status.
fn slot(status: &mut ActionSetStatus, action: usize, phase: PhaseId) -> Option<&mut Phase> {
    let action = status.actions.get_mut(action)?;
    match phase {
        PhaseId::Index(index) => action.phases.get_mut(index),
        PhaseId::Deferred => Some(&mut action.defer_phase),
    }
}

fn action_notes(notes: &mut Notes, action: usize) -> &mut ActionNotes {
    if notes.actions.len() <= action {
        notes.actions.resize(action + 1, ActionNotes::default());
    }
    // The line above has made room for it.
    &mut notes.actions[action]
}

/// Writes the whole's progress from that of its phases: deferred phases do not count, as in Kanister.
fn progress(status: &mut ActionSetStatus) {
    let phases = status.actions.iter().flat_map(|a| &a.phases);
    let (done, all) = phases.fold((0_usize, 0_usize), |(done, all), phase| {
        (done + usize::from(phase.state == State::Complete), all + 1)
    });
    let percent = (done * 100).checked_div(all).unwrap_or(100);
    status.progress.percent_completed = percent.to_string();
    status.progress.last_transition_time = Some(Time(Timestamp::now()));
}

impl Runner<'_> {
    /// Runs all actions side by side to their ends; `Ok(None)` when all went well, else why not.
    ///
    /// # Errors
    /// When the journal cannot be written: the work is taken up again later.
    pub(crate) async fn run(&self, actions: &[PinnedAction]) -> Result<Option<String>, JournalError> {
        let specs = self.set.spec.iter().flat_map(|s| &s.actions);
        let runs: Vec<_> = specs
            .zip(actions)
            .enumerate()
            .map(|(index, (spec, pinned))| self.action(index, spec, pinned).boxed())
            .collect();
        let mut errors = Vec::new();
        for result in futures::future::join_all(runs).await {
            errors.extend(result?);
        }
        Ok((!errors.is_empty()).then(|| errors.join("\n")))
    }

    async fn action(
        &self,
        index: usize,
        spec: &ActionSpec,
        pinned: &PinnedAction,
    ) -> Result<Option<String>, JournalError> {
        let notes = self.journal.notes().await.actions.get(index).cloned().unwrap_or_default();
        if notes.done {
            return Ok(notes.error);
        }
        let Some(action) = pinned.blueprint.actions.get(&spec.name) else {
            return Ok(Some(format!("action {:?} is not in its Blueprint", spec.name)));
        };
        let blueprint = pinned.blueprint.metadata.name.clone().unwrap_or_default();
        let mut work = Work { runner: self, index, spec, action, blueprint, params: Params::default() };
        let mut error = notes.error;
        match work.observe(pinned).await {
            Ok(()) if error.is_none() => error = work.phases().await?,
            Ok(()) => {}
            Err(text) => error = Some(error.unwrap_or(text)),
        }
        if let Some(text) = &error {
            let text = text.clone();
            self.journal.commit(|_, notes| action_notes(notes, index).error = Some(text)).await?;
        }
        if let Some(deferred) = work.deferred(error.is_some()).await? {
            error = Some(error.map_or(deferred.clone(), |first| format!("{first}\n{deferred}")));
        }
        if error.is_none() {
            match render::artifacts(&action.output_artifacts, &work.params.to_value()) {
                Ok(artifacts) => {
                    self.journal
                        .commit(|status, _| {
                            if let Some(action) = status.actions.get_mut(index) {
                                action.artifacts = artifacts;
                            }
                        })
                        .await?;
                }
                Err(failed) => error = Some(work.say("", &plan::explain(&failed, action, &work.params))),
            }
        }
        let told = error.clone();
        self.journal
            .commit(|_, notes| {
                let notes = action_notes(notes, index);
                (notes.error, notes.done, notes.step) = (told, true, None);
            })
            .await?;
        Ok(error)
    }
}

/// The work on one action.
struct Work<'a> {
    runner: &'a Runner<'a>,
    index: usize,
    spec: &'a ActionSpec,
    action: &'a BlueprintAction,
    blueprint: String,
    params: Params,
}

impl Work<'_> {
    /// A text about a phase, with its place and without secrets.
    fn say(&self, phase: &str, text: &str) -> String {
        let place = if phase.is_empty() { String::new() } else { format!(", phase {phase:?}") };
        let text = format!("blueprint {:?}, action {:?}{place}: {text}", self.blueprint, self.spec.name);
        Mask::of(&self.params).apply(&text)
    }

    /// Looks up what the templates see; again and again while the API server gives no answer.
    async fn observe(&mut self, pinned: &PinnedAction) -> Result<(), String> {
        let namespace = self.runner.journal.namespace();
        let mut pause = Duration::from_millis(200);
        loop {
            match observe::params(self.runner.client, namespace, self.spec, pinned.pinned.clone()).await {
                Ok(params) => {
                    self.params = params;
                    return Ok(());
                }
                Err(ObserveError::Request { .. }) if pause < Duration::from_secs(60) => {}
                Err(error) => return Err(self.say("", &error.to_string())),
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    /// Runs the phases that are still to run; the text of the first failure.
    async fn phases(&mut self) -> Result<Option<String>, JournalError> {
        for (place, phase) in self.action.phases.iter().enumerate() {
            let id = PhaseId::Index(place);
            let known = self.runner.journal.status().await;
            let known =
                known.actions.get(self.index).and_then(|a| a.phases.get(place)).cloned().unwrap_or_default();
            if known.state == State::Failed {
                return Ok(Some(self.say(&phase.name, &known.reason)));
            }
            if known.state == State::Complete {
                // Templates of later phases may use the Secrets of this one as well as its output.
                let seen = match self.objects(phase).await {
                    Ok(seen) => PhaseParams { output: Some(known.output.unwrap_or_default()), ..seen },
                    Err(text) => return Ok(Some(self.say(&phase.name, &text))),
                };
                self.params.phases.insert(phase.name.clone(), seen);
                continue;
            }
            if self.runner.cancel.is_cancelled() && known.state == State::Pending {
                return Ok(Some(self.say(&phase.name, "cancelled: the ActionSet is being deleted")));
            }
            match self
                .phase(phase, id, known.state == State::Running, self.runner.cancel, self.runner.limits.phase)
                .await
            {
                Ok(output) => {
                    if let Some(seen) = self.params.phases.get_mut(&phase.name) {
                        seen.output = Some(output);
                    }
                }
                Err(StepError::Failed(text)) => return Ok(Some(text)),
                Err(StepError::Journal(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Runs the deferred phase, when there is one that is still to run. It is not cancelled: it cleans up.
    async fn deferred(&mut self, failed: bool) -> Result<Option<String>, JournalError> {
        let Some(phase) = &self.action.defer_phase else { return Ok(None) };
        let known = self.runner.journal.status().await;
        let known = known.actions.get(self.index).map(|a| a.defer_phase.clone()).unwrap_or_default();
        if known.state.is_final() {
            let failed = known.state == State::Failed;
            return Ok(failed.then(|| self.say(&phase_name(phase, true), &known.reason)));
        }
        let limits = self.runner.limits;
        let limit = if failed && self.runner.cancel.is_cancelled() { limits.cancelled } else { limits.phase };
        let never = CancellationToken::new();
        match self.phase(phase, PhaseId::Deferred, known.state == State::Running, &never, limit).await {
            Ok(output) => {
                if let Some(seen) = &mut self.params.defer_phase {
                    seen.output = Some(output);
                }
                Ok(None)
            }
            Err(StepError::Failed(text)) => Ok(Some(text)),
            Err(StepError::Journal(error)) => Err(error),
        }
    }

    /// The Secrets and ConfigMaps that a phase uses.
    async fn objects(&self, phase: &BlueprintPhase) -> Result<PhaseParams, String> {
        let data = self.params.to_value();
        let mut seen = PhaseParams::default();
        for (name, reference) in &phase.objects {
            let reference = render::reference(reference, &format!("objects.{name}"), &data, &mut true)
                .map_err(|e| plan::explain(&e, self.action, &self.params))?;
            match reference.kind.to_lowercase().as_str() {
                "secret" => {
                    let secret =
                        observe::secret(self.runner.client, &reference).await.map_err(|e| e.to_string())?;
                    seen.secrets.insert(name.clone(), Some(secret));
                }
                "configmap" => {
                    let map = observe::config_map(self.runner.client, &reference)
                        .await
                        .map_err(|e| e.to_string())?;
                    seen.config_maps.insert(name.clone(), Some(map));
                }
                _ => {}
            }
        }
        Ok(seen)
    }

    /// Runs one phase, or goes on with it, and journals how it ends.
    async fn phase(
        &mut self,
        phase: &BlueprintPhase,
        id: PhaseId,
        resumed: bool,
        cancel: &CancellationToken,
        limit: Duration,
    ) -> Result<Map<String, Value>, StepError> {
        let (runner, index) = (self.runner, self.index);
        let name = phase_name(phase, id == PhaseId::Deferred);
        let deferred = if id == PhaseId::Deferred { "DeferPhase" } else { "Phase" };
        if !resumed {
            let shown = name.clone();
            runner
                .journal
                .commit(|status, notes| {
                    if let Some(slot) = slot(status, index, id) {
                        slot.state = State::Running;
                        slot.reason.clear();
                        slot.progress.progress_percent = "0".to_owned();
                        slot.progress.last_transition_time = Some(Time(Timestamp::now()));
                    }
                    status.progress.running_phase = shown;
                    progress(status);
                    action_notes(notes, index).step =
                        Some(StepNotes { started: Timestamp::now(), data: BTreeMap::new() });
                })
                .await?;
            runner.events.publish(
                runner.set,
                Event::normal(format!("Started{deferred}"), format!("Executing phase {name}")),
            );
        }
        let notes = runner.journal.notes().await;
        let started =
            notes.actions.get(index).and_then(|a| a.step.as_ref()).map_or_else(Timestamp::now, |s| s.started);
        let result = self.call(phase, id, &name, started, resumed, cancel, limit).await;
        let result = match result {
            Ok(output) => checked_output(output).map_err(StepError::Failed),
            other => other,
        };
        match result {
            Ok(output) => {
                let kept = output.clone();
                runner
                    .journal
                    .commit(|status, _| {
                        if let Some(slot) = slot(status, index, id) {
                            slot.state = State::Complete;
                            slot.reason.clear();
                            slot.output = Some(kept);
                            slot.progress.progress_percent = "100".to_owned();
                            slot.progress.last_transition_time = Some(Time(Timestamp::now()));
                        }
                        progress(status);
                    })
                    .await?;
                runner.events.publish(
                    runner.set,
                    Event::normal(format!("Ended{deferred}"), format!("Completed phase {name}")),
                );
                self.clean().await;
                Ok(output)
            }
            Err(StepError::Failed(text)) => {
                // What still runs is stopped before the result is written: there is one truth.
                self.clean().await;
                let reason = Mask::of(&self.params).apply(&text);
                let full = self.say(&name, &text);
                let (reason_kept, full_kept) = (reason, full.clone());
                runner
                    .journal
                    .commit(|status, notes| {
                        if let Some(slot) = slot(status, index, id) {
                            slot.state = State::Failed;
                            slot.reason = reason_kept;
                            slot.progress.last_transition_time = Some(Time(Timestamp::now()));
                        }
                        progress(status);
                        if id != PhaseId::Deferred {
                            action_notes(notes, index).error = Some(full_kept);
                        }
                    })
                    .await?;
                runner.events.publish(runner.set, Event::warning("PhaseFailed", full.clone()));
                Err(StepError::Failed(full))
            }
            Err(journal) => Err(journal),
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one phase, used here and nowhere else")]
    async fn call(
        &mut self,
        phase: &BlueprintPhase,
        id: PhaseId,
        name: &str,
        started: Timestamp,
        resumed: bool,
        cancel: &CancellationToken,
        limit: Duration,
    ) -> Result<Map<String, Value>, StepError> {
        let runner = self.runner;
        let seen = self.objects(phase).await.map_err(StepError::Failed)?;
        if id == PhaseId::Deferred {
            self.params.defer_phase = Some(seen);
        } else {
            self.params.phases.insert(phase.name.clone(), seen);
        }
        let function = registry::find(&phase.func)
            .ok_or_else(|| StepError::Failed(format!("there is no function {}", phase.func)))?;
        let rendered = render::args(&phase.args, function.raw, &self.params.to_value())
            .map_err(|e| StepError::Failed(plan::explain(&e, self.action, &self.params)))?;
        if let Some(missing) = rendered.unknown.iter().next() {
            return Err(StepError::Failed(format!("argument {missing} uses what no phase has given")));
        }
        let call = args::read(&phase.func, &rendered.args).map_err(|e| StepError::Failed(e.to_string()))?;
        let step = Step {
            client: runner.client,
            events: runner.events,
            limits: runner.limits,
            journal: runner.journal,
            set: runner.set,
            spec: self.spec,
            action: self.index,
            phase: id,
            name,
            subject: &self.params.pinned.subject,
            default_namespace: runner.default_namespace,
            started,
            resumed,
        };
        let spent = Timestamp::now().duration_since(started).unsigned_abs();
        tokio::select! {
            biased;
            result = functions::run(&step, &call) => result,
            () = cancel.cancelled() => {
                Err(StepError::Failed("cancelled: the ActionSet is being deleted".to_owned()))
            }
            () = tokio::time::sleep(limit.saturating_sub(spent)) => {
                Err(StepError::Failed(format!("the phase did not end within {} s", limit.as_secs())))
            }
        }
    }

    /// Removes the pods of phases that have ended; what cannot be removed now is removed at the end of the ActionSet.
    async fn clean(&self) {
        let journal = self.runner.journal;
        let prefix = format!("{}.", self.index);
        let pods = journal.notes().await.pods;
        if let Err(error) = functions::remove(self.runner.client, journal.uid(), &prefix, &pods).await {
            tracing::warn!(%error, actionset = journal.name(), "cannot remove the pods of a phase; it is tried again at the end");
        }
    }
}
