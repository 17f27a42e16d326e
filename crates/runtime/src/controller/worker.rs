//! The loop of one controller: takes keys in turn, reconciles them side by side, contains what goes wrong.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Action, Context, Reconciler};
use crate::cache::Store;
use crate::error::{Error, Result};
use crate::metrics::ControllerMetrics;
use crate::object::Key;
use crate::queue::{Outcome, Queue};

/// What the loop needs to know of its controller.
pub(crate) struct Settings {
    pub(crate) name: String,
    pub(crate) concurrency: usize,
    pub(crate) timeout: Duration,
}

/// One controller that is ready to run.
pub(crate) struct Worker<R: Reconciler> {
    pub(crate) reconciler: Arc<R>,
    pub(crate) context: Context,
    pub(crate) store: Store<R::Resource>,
    pub(crate) queue: Arc<Queue<Key>>,
    pub(crate) settings: Settings,
    pub(crate) metrics: ControllerMetrics,
    /// Cancelled to stop taking keys.
    pub(crate) shutdown: CancellationToken,
    /// Cancelled when the reconciles that still run must be stopped.
    pub(crate) abort: CancellationToken,
}

type Running = HashMap<Id, (Key, Instant)>;
type Done = std::result::Result<(Id, Result<Action>), JoinError>;

impl<R: Reconciler> Worker<R> {
    /// Runs until the shutdown, and then until the running reconciles have ended or are aborted.
    pub(crate) async fn run(self) {
        let mut tasks = JoinSet::new();
        let mut running = Running::new();
        loop {
            tokio::select! {
                biased;
                () = self.shutdown.cancelled() => break,
                Some(done) = tasks.join_next_with_id(), if !tasks.is_empty() => self.settle(done, &mut running),
                key = self.queue.next(), if tasks.len() < self.settings.concurrency => {
                    let task = tasks.spawn(self.reconcile(key.clone()));
                    running.insert(task.id(), (key, Instant::now()));
                    self.metrics.active.inc();
                }
            }
        }
        while !tasks.is_empty() {
            tokio::select! {
                Some(done) = tasks.join_next_with_id() => self.settle(done, &mut running),
                () = self.abort.cancelled() => {
                    tracing::warn!(
                        controller = self.settings.name, running = tasks.len(),
                        "the grace period is over; stopping the reconciles that still run"
                    );
                    tasks.shutdown().await;
                }
            }
        }
    }

    /// The work on one key, as a task of its own so that a panic ends nothing else.
    fn reconcile(&self, key: Key) -> impl Future<Output = Result<Action>> + Send + use<R> {
        let (reconciler, context) = (self.reconciler.clone(), self.context.clone());
        let (object, limit) = (self.store.get(&key), self.settings.timeout);
        async move {
            let work = async {
                match object {
                    Some(object) => reconciler.reconcile(object, &context).await,
                    None => reconciler.gone(&key, &context).await.map(|()| Action::AwaitChange),
                }
            };
            match tokio::time::timeout(limit, work).await {
                Ok(result) => result,
                Err(_) => Err(Error::TimedOut { key, limit }),
            }
        }
    }

    fn settle(&self, done: Done, running: &mut Running) {
        let (id, result) = match done {
            Ok((id, result)) => (id, Ok(result)),
            Err(error) => (error.id(), Err(error)),
        };
        let Some((key, started)) = running.remove(&id) else { return };
        let result = match result {
            Ok(result) => Some(result),
            Err(error) => error
                .try_into_panic()
                .ok()
                .map(|panic| Err(Error::Panicked { key: key.clone(), message: panic_text(&*panic) })),
        };
        let spent = started.elapsed();
        self.metrics.active.dec();
        self.metrics.durations.observe(spent.as_secs_f64());
        let outcome = match result {
            Some(Ok(action)) => {
                match action {
                    Action::AwaitChange => self.metrics.success.inc(),
                    Action::RequeueAfter(_) => self.metrics.requeue_after.inc(),
                };
                action.into()
            }
            Some(Err(error)) => self.failed(&key, &error),
            // Aborted: the operator is shutting down.
            None => Outcome::Done,
        };
        self.queue.finish(&key, outcome, spent);
    }

    fn failed(&self, key: &Key, error: &Error) -> Outcome {
        let name = &self.settings.name;
        // A lost race against a newer write is no failure: the next try sees the newer object.
        if error.is_conflict() {
            tracing::debug!(controller = name, %key, "the object has changed meanwhile; trying again");
            self.metrics.success.inc();
            return Outcome::Retry;
        }
        self.metrics.error.inc();
        self.metrics.errors.inc();
        match error {
            Error::Panicked { .. } => {
                self.metrics.panics.inc();
            }
            Error::TimedOut { .. } => {
                self.metrics.timeouts.inc();
            }
            _ => {}
        }
        if error.is_retriable() {
            let failures = self.queue.failures(key) + 1;
            tracing::warn!(controller = name, %key, failures, reason = error.reason(), %error, "reconcile failed");
            Outcome::Retry
        } else {
            self.metrics.terminal_errors.inc();
            tracing::error!(
                controller = name, %key, reason = error.reason(), %error,
                "reconcile failed; it is not tried again until the object changes"
            );
            Outcome::Done
        }
    }
}

/// The text of a panic, as far as it has one.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_owned())
}
