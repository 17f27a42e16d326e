//! Turns a [`Controller`] into a [`Reconciler`]: observe, analyze, act.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;

use super::worker::panic_text;
use super::{Action, Cleanup, Context, Controller, Reconciler};
use crate::declaration::{Declaration, ReadIndex};
use crate::error::{Error, Result};
use crate::object::{Key, Kind, Object};
use crate::plan::{Actor, BUDGET, Bounds, Memory, Plan};
use crate::seen::Seen;

/// Leaves an object alone.
const PAUSED: &str = "pilothouse.dev/paused";

/// A controller with what its plans need.
pub(crate) struct Planned<C> {
    controller: C,
    owned: BTreeSet<Kind>,
    budget: usize,
    reads: ReadIndex,
    memory: Memory,
}

impl<C: Controller> Planned<C> {
    pub(crate) fn new(controller: C, declaration: &Declaration<C::Resource>) -> Self {
        Self {
            controller,
            owned: declaration.owned.clone(),
            budget: declaration.removals,
            reads: declaration.reads.clone(),
            memory: Memory::default(),
        }
    }

    fn actor<'a>(
        &'a self,
        object: &'a C::Resource,
        key: &'a Key,
        context: &'a Context,
    ) -> Actor<'a, C::Resource> {
        let kind = Kind::of::<C::Resource>();
        let meta = object.meta();
        let allowed = meta.annotations.as_ref().and_then(|all| all.get(BUDGET)?.parse().ok());
        let owner = OwnerReference {
            api_version: kind.api_version(),
            kind: kind.kind,
            name: key.name().to_owned(),
            uid: meta.uid.clone().unwrap_or_default(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        };
        let bounds = Bounds { owner, key, owned: &self.owned, budget: allowed.unwrap_or(self.budget) };
        Actor { context, memory: &self.memory, object, key, bounds }
    }

    /// Runs the author's logic: panics are contained, undeclared reads are found, reads are remembered.
    async fn ask<T>(
        &self,
        key: &Key,
        seen: Seen<'_>,
        logic: impl AsyncFnOnce(&Seen<'_>) -> Result<T>,
    ) -> Result<T> {
        let answer = AssertUnwindSafe(logic(&seen)).catch_unwind().await;
        let (items, declared) = seen.finish();
        self.reads.replace(key, items);
        let answer = answer
            .map_err(|panic| Error::Panicked { key: key.clone(), message: panic_text(&*panic) })
            .flatten()?;
        declared.map(|()| answer)
    }
}

impl<C: Controller> Reconciler for Planned<C> {
    type Resource = C::Resource;

    fn declare(declaration: &mut Declaration<C::Resource>) {
        C::declare(declaration);
    }

    async fn reconcile(&self, object: Arc<C::Resource>, context: &Context) -> Result<Action> {
        let key = Key::of(&*object);
        if is_paused(&*object) {
            tracing::debug!(controller = context.name(), %key, "paused");
            return Ok(Action::AwaitChange);
        }
        let deleting = object.meta().deletion_timestamp.is_some();
        if deleting && !context.has_finalizer(&*object) {
            // What it owns is removed by Kubernetes.
            return Ok(Action::AwaitChange);
        }
        let object = context.add_finalizer(object).await?;
        let uid = object.meta().uid.clone().unwrap_or_default();
        let seen = Seen::new(context, &key, &uid);
        let controller = &self.controller;
        let plan = if deleting {
            match self.ask(&key, seen, async |seen| controller.cleanup(&object, seen).await).await {
                Ok(Cleanup::Done) => {
                    context.remove_finalizer(&*object).await?;
                    return Ok(Action::AwaitChange);
                }
                Ok(Cleanup::Wait(plan)) => Ok(*plan),
                Err(error) => Err(error),
            }
        } else {
            self.ask(&key, seen, async |seen| controller.analyze(&object, seen).await).await
        };
        let actor = self.actor(&object, &key, context);
        let done = match plan {
            Ok(plan) => {
                let action = plan.action();
                actor.act(plan).await.map(|()| action)
            }
            Err(error) => Err(error),
        };
        if let Err(error) = &done
            && !error.is_conflict()
            && let Err(also) = actor.tell(error).await
        {
            tracing::debug!(controller = context.name(), %key, error = %also, "cannot write the condition either");
        }
        done
    }

    async fn gone(&self, key: &Key, _: &Context) -> Result {
        self.reads.replace(key, Default::default());
        self.memory.forget(key);
        Ok(())
    }
}

impl Plan {
    fn action(&self) -> Action {
        self.requeue_after.map_or(Action::AwaitChange, Action::RequeueAfter)
    }
}

fn is_paused<K: Object>(object: &K) -> bool {
    object.meta().annotations.as_ref().is_some_and(|all| all.get(PAUSED).is_some_and(|value| value == "true"))
}
