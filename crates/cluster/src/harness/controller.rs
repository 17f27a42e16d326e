//! The loop of a controller: a key, a look, a plan, the next key. A failure or a panic holds up its own key only.

use std::fmt::Debug;
use std::future::Future;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::api::Failure;
use super::informer::Informer;
use super::queue::Queue;

/// A namespace (empty for cluster-scoped objects) and a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The key of an object.
    pub(crate) fn of(object: &pilothouse_value::Value) -> Self {
        use pilothouse_value::object;
        Self::new(object::namespace(object).unwrap_or_default(), object::name(object))
    }
}

/// What is done for one key.
pub(crate) trait Reconcile: Send + Sync + 'static {
    /// What its queue holds.
    type Key: Clone + Debug + Eq + Hash + Send + Sync + 'static;

    /// Looks, and does what is to be done. Says when to look again although nothing changes.
    fn reconcile(&self, key: &Self::Key) -> impl Future<Output = Result<Option<Duration>, Failure>> + Send;
}

/// Where controllers run until the cluster stops.
#[derive(Clone, Debug)]
pub(crate) struct Runner {
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
}

impl Runner {
    /// Runs a controller once the informers that it reads have seen what there is.
    pub(crate) fn run<C: Reconcile>(
        &self,
        name: &'static str,
        controller: C,
        queue: Arc<Queue<C::Key>>,
        reads: Vec<Arc<Informer>>,
    ) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            let work = async {
                for informer in reads {
                    informer.synced().await;
                }
                loop {
                    let key = queue.next().await;
                    work_on(name, &controller, &queue, &key).await;
                    queue.done(&key);
                }
            };
            stop.run_until_cancelled(work).await;
        });
    }
}

async fn work_on<C: Reconcile>(name: &'static str, controller: &C, queue: &Queue<C::Key>, key: &C::Key) {
    // A controller keeps nothing but caches across looks, so a panic leaves nothing half done behind.
    match AssertUnwindSafe(controller.reconcile(key)).catch_unwind().await {
        Ok(Ok(again)) => {
            queue.forget(key);
            if let Some(after) = again {
                queue.add_after(key.clone(), after);
            }
        }
        Ok(Err(failure)) => {
            if failure.is_conflict() {
                tracing::debug!(controller = name, ?key, %failure, "looking again");
            } else {
                tracing::warn!(controller = name, ?key, %failure, "reconcile failed");
            }
            queue.retry(key.clone());
        }
        Err(_) => {
            tracing::error!(controller = name, ?key, "reconcile panicked");
            queue.retry(key.clone());
        }
    }
}
