//! Drives one ActionSet from whatever state it is in to its end.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use kube::ResourceExt as _;
use kube::api::Api;
use pilothouse::runtime::{Context, Event, Key};
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use super::Options;
use super::journal::{Journal, JournalError, is_not_found, request_text};
use super::prepare::{self, PinnedSet, PrepareError};
use super::runner::Runner;
use crate::api::{ActionSet, State};
use crate::functions;

/// The shortest and the longest pause before the work is taken up again after the API server has failed.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// What must happen again later.
#[derive(Debug, thiserror::Error)]
enum DriveError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{0}")]
    Later(String),
    #[error(transparent)]
    Runtime(#[from] pilothouse::runtime::Error),
}

impl From<kube::Error> for DriveError {
    fn from(error: kube::Error) -> Self {
        Self::Later(request_text(&error))
    }
}

/// Objects that are acted on: one ActionSet at a time may act on each.
#[derive(Default)]
pub(super) struct ObjectLocks(Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>);

impl ObjectLocks {
    /// Waits until all objects of the ActionSet are free. They are taken in one order, so that nobody waits in a circle.
    async fn take(&self, set: &ActionSet) -> Vec<OwnedMutexGuard<()>> {
        let objects: BTreeSet<String> = set
            .spec
            .iter()
            .flat_map(|s| &s.actions)
            .map(|a| {
                let o = &a.object;
                let kind = if o.kind.is_empty() { &o.resource } else { &o.kind };
                format!("{}/{}/{}", kind.to_lowercase(), o.namespace, o.name)
            })
            .collect();
        let mut guards = Vec::new();
        for object in objects {
            let lock = {
                let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                locks.retain(|_, lock| lock.strong_count() > 0);
                match locks.get(&object).and_then(Weak::upgrade) {
                    Some(lock) => lock,
                    None => {
                        let lock = Arc::new(tokio::sync::Mutex::new(()));
                        locks.insert(object, Arc::downgrade(&lock));
                        lock
                    }
                }
            };
            guards.push(lock.lock_owned().await);
        }
        guards
    }
}

/// One ActionSet and what drives it.
pub(super) struct Driver {
    pub(super) cx: Context,
    pub(super) options: Options,
    pub(super) locks: Arc<ObjectLocks>,
    pub(super) key: Key,
    pub(super) uid: String,
    /// Is cancelled when the ActionSet is being deleted.
    pub(super) cancel: CancellationToken,
}

impl Driver {
    /// Drives the ActionSet to its end, or until the operator shuts down: then the work is left as the journal has it, and
    /// taken up by the next life of the operator.
    pub(super) async fn run(&self) {
        let mut pause = PAUSES.0;
        loop {
            let result = tokio::select! {
                result = self.drive() => result,
                () = self.cx.shutdown().cancelled() => return,
            };
            match result {
                Ok(()) | Err(DriveError::Journal(JournalError::Gone(_))) => return,
                Err(error) => {
                    tracing::warn!(%error, actionset = %self.key, "the work on an ActionSet is interrupted")
                }
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.cx.shutdown().cancelled() => return,
            }
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    async fn read(&self) -> Result<Option<Arc<ActionSet>>, DriveError> {
        let api: Api<ActionSet> =
            Api::namespaced(self.cx.client().clone(), self.key.namespace().unwrap_or_default());
        match api.get(self.key.name()).await {
            Ok(set) if set.uid().as_deref() == Some(&self.uid) => Ok(Some(Arc::new(set))),
            Ok(_) => Ok(None),
            Err(error) if is_not_found(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn task_namespace(&self) -> String {
        let own = || self.key.namespace().unwrap_or_default().to_owned();
        self.options.task_namespace.clone().unwrap_or_else(own)
    }

    async fn drive(&self) -> Result<(), DriveError> {
        let Some(mut set) = self.read().await? else { return Ok(()) };
        if set.metadata.deletion_timestamp.is_some() {
            self.cancel.cancel();
        }
        if set.state().is_none() {
            if self.cancel.is_cancelled() {
                return self.finish(&set).await;
            }
            set = match self.accept(&set).await? {
                Some(set) => set,
                None => return Ok(()),
            };
        }
        if set.state() == Some(State::Pending) {
            let guards = tokio::select! {
                guards = self.locks.take(&set) => guards,
                () = self.cancel.cancelled() => return self.finish(&set).await,
            };
            if !self.cancel.is_cancelled() {
                let ended = self.begin(&set).await?;
                if ended {
                    return self.end(guards).await;
                }
            }
            let Some(now) = self.read().await? else { return Ok(()) };
            self.work(&now).await?;
            return self.end(guards).await;
        }
        if set.state() == Some(State::Running) {
            let guards = self.locks.take(&set).await;
            self.work(&set).await?;
            return self.end(guards).await;
        }
        self.finish(&set).await
    }

    /// Looks at a new ActionSet: `pending` when it can run, `failed` with everything that is wrong when not.
    async fn accept(&self, set: &Arc<ActionSet>) -> Result<Option<Arc<ActionSet>>, DriveError> {
        let pinned = match prepare::prepare(self.cx.client(), set, &self.task_namespace()).await {
            Ok(pinned) => pinned,
            Err(PrepareError::Later(text)) => return Err(DriveError::Later(text)),
            Err(PrepareError::Invalid(text)) => {
                self.refuse(set, &text).await?;
                return Ok(None);
            }
        };
        let set = self.cx.add_finalizer(set.clone()).await?;
        let status = prepare::initial_status(&set, &pinned);
        Journal::open(self.cx.client().clone(), &set).commit(|now, _| *now = status).await?;
        self.read().await
    }

    async fn refuse(&self, set: &ActionSet, text: &str) -> Result<(), DriveError> {
        Journal::open(self.cx.client().clone(), set)
            .commit(|status, _| {
                status.state = State::Failed;
                status.error.message = text.to_owned();
            })
            .await?;
        self.cx.events().publish(set, Event::warning("ActionSetFailed", text));
        Ok(())
    }

    /// From `pending` to `running`: what the actions keep to is seen anew, since the wait may have been long, and written
    /// down. True when it came to its end instead.
    async fn begin(&self, set: &ActionSet) -> Result<bool, DriveError> {
        let client = self.cx.client();
        let pinned = match prepare::prepare(client, set, &self.task_namespace()).await {
            Ok(pinned) => pinned,
            Err(PrepareError::Later(text)) => return Err(DriveError::Later(text)),
            Err(PrepareError::Invalid(text)) => {
                self.refuse(set, &text).await?;
                return Ok(true);
            }
        };
        prepare::save(client, set, &pinned).await?;
        let mut status = prepare::initial_status(set, &pinned);
        status.state = State::Running;
        status.progress.percent_completed = "0".to_owned();
        Journal::open(client.clone(), set).commit(|now, _| *now = status).await?;
        for action in set.spec.iter().flat_map(|s| &s.actions) {
            let text = format!("Executing action {}", action.name);
            self.cx.events().publish(set, Event::normal("StartedAction", text));
        }
        Ok(false)
    }

    /// Runs what is still to run, and writes how it ended.
    async fn work(&self, set: &ActionSet) -> Result<(), DriveError> {
        if set.state() != Some(State::Running) {
            return Ok(());
        }
        let client = self.cx.client();
        let journal = Journal::open(client.clone(), set);
        let pinned = prepare::load(client, set).await?;
        let count = set.spec.as_ref().map_or(0, |s| s.actions.len());
        let error = match pinned {
            Some(PinnedSet { actions }) if actions.len() == count => {
                let namespace = self.task_namespace();
                let runner = Runner {
                    client,
                    events: self.cx.events(),
                    limits: self.options.limits,
                    default_namespace: &namespace,
                    journal: &journal,
                    set,
                    cancel: &self.cancel,
                };
                runner.run(&actions).await?
            }
            _ => Some(
                "what the actions keep to (the Secret with the Blueprints and objects as they were) is gone; the work cannot be taken up\n\
                 hint: run the action again"
                    .to_owned(),
            ),
        };
        let event = match &error {
            None => Event::normal(
                "ActionSetComplete",
                format!("Updated ActionSet '{}' Status->complete", self.key.name()),
            ),
            Some(text) => Event::warning("ActionSetFailed", text.clone()),
        };
        journal
            .commit(|status, _| {
                status.progress.running_phase.clear();
                match error {
                    None => status.state = State::Complete,
                    Some(text) => {
                        status.state = State::Failed;
                        status.error.message = text;
                        // A phase that was at work when its journal was lost is at work no longer.
                        for phase in status
                            .actions
                            .iter_mut()
                            .flat_map(|a| a.phases.iter_mut().chain([&mut a.defer_phase]))
                        {
                            if phase.state == State::Running {
                                phase.state = State::Failed;
                            }
                        }
                    }
                }
            })
            .await?;
        self.cx.events().publish(set, event);
        Ok(())
    }

    async fn end(&self, guards: Vec<OwnedMutexGuard<()>>) -> Result<(), DriveError> {
        if let Some(set) = self.read().await? {
            self.finish(&set).await?;
        }
        drop(guards);
        Ok(())
    }

    /// Removes everything that the work has left, then lets the ActionSet go.
    async fn finish(&self, set: &ActionSet) -> Result<(), DriveError> {
        let client = self.cx.client();
        let notes = super::journal::read_notes(set);
        functions::remove(client, &self.uid, "", &notes.pods).await?;
        prepare::forget(client, set).await?;
        self.cx.remove_finalizer(set).await?;
        Ok(())
    }
}
