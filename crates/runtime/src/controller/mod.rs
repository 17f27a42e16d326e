//! Controllers: the interface that authors implement, what they are given, and the loop that runs them.

mod context;
mod planned;
mod worker;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

pub use self::context::Context;
pub(crate) use self::context::Shared;
pub(crate) use self::planned::Planned;
pub(crate) use self::worker::{Settings, Worker};
use crate::declaration::Declaration;
use crate::error::Result;
use crate::object::{Key, Object};
use crate::plan::Plan;
use crate::queue::Outcome;
use crate::seen::Seen;

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

/// A controller whose logic is a function from what was seen to a plan. The engine observes before and acts after it.
///
/// When `analyze` fails or its plan is refused, nothing is written but the condition `Ready` (false, with the error's
/// reason) and an event, and the object is tried again with its own backoff. An object with the annotation
/// `pilothouse.dev/paused: "true"` is left alone entirely.
pub trait Controller: Send + Sync + 'static {
    /// The kind whose objects are controlled.
    type Resource: Object;

    /// Says what the controller owns, reads and watches.
    fn declare(declaration: &mut Declaration<Self::Resource>);

    /// What should be true, given the object and what was seen. It must not change anything itself.
    fn analyze(&self, object: &Self::Resource, seen: &Seen<'_>) -> impl Future<Output = Result<Plan>> + Send;

    /// What must happen before the object may vanish; called instead of `analyze` once it is being deleted, when the
    /// declaration has a `finalizer`. What the object owns is removed by Kubernetes afterwards.
    fn cleanup(
        &self,
        object: &Self::Resource,
        seen: &Seen<'_>,
    ) -> impl Future<Output = Result<Cleanup>> + Send {
        let _ = (object, seen);
        async { Ok(Cleanup::Done) }
    }
}

impl From<Plan> for Cleanup {
    fn from(plan: Plan) -> Self {
        Self::Wait(Box::new(plan))
    }
}

/// How far a cleanup has come.
#[derive(Debug)]
pub enum Cleanup {
    /// The object may vanish.
    Done,
    /// Carry this out, and ask again when something changes or the plan's time has come.
    Wait(Box<Plan>),
}
