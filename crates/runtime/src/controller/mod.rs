//! Controllers: the interface that authors implement, what they are given, and the loop that runs them.

mod context;
mod worker;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

pub use self::context::Context;
pub(crate) use self::worker::{Settings, Worker};
use crate::declaration::Declaration;
use crate::error::Result;
use crate::object::{Key, Object};
use crate::queue::Outcome;

/// What comes after a successful reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Wait for the next change.
    AwaitChange,
    /// Look again after this time, even if nothing has changed.
    RequeueAfter(Duration),
}

impl From<Action> for Outcome {
    fn from(action: Action) -> Self {
        match action {
            Action::AwaitChange => Self::Done,
            Action::RequeueAfter(wait) => Self::After(wait),
        }
    }
}

/// A controller that acts by itself: for run-to-completion work and side effects outside Kubernetes. Prefer
/// [`crate::Controller`], whose plans are guarded and written only where they differ.
///
/// A reconcile must bear to be repeated: it is called again after a restart, after an error (with the key's backoff),
/// and whenever something it declared has changed. Panics are contained; the reconcile is stopped after the declared
/// timeout, so long work belongs into [`Context::spawn`].
pub trait Reconciler: Send + Sync + 'static {
    /// The kind whose objects are reconciled.
    type Resource: Object;

    /// Says what the controller watches and writes.
    fn declare(declaration: &mut Declaration<Self::Resource>);

    /// Called once, when the caches are filled and before the first reconcile: the place to resume what a crash
    /// has interrupted.
    fn start(&self, context: &Context) -> impl Future<Output = Result> + Send {
        let _ = context;
        async { Ok(()) }
    }

    /// Brings the object one step nearer to what it asks for.
    fn reconcile(
        &self,
        object: Arc<Self::Resource>,
        context: &Context,
    ) -> impl Future<Output = Result<Action>> + Send;

    /// The object of this key is gone from the cache.
    fn gone(&self, key: &Key, context: &Context) -> impl Future<Output = Result> + Send {
        let _ = (key, context);
        async { Ok(()) }
    }
}
