//! Carrying a plan out: only what differs is written.

use std::collections::HashMap;

use kube::api::{DeleteParams, GetParams, Patch, PatchParams, Preconditions, PropagationPolicy};
use kube::core::{PartialObjectMeta, Request};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::guard::{Bounds, Step, check};
use super::{ConditionStatus, Plan, compare, status};
use crate::controller::Context;
use crate::error::{Error, Result};
use crate::events::Event;
use crate::object::{Key, Kind, Object};

/// What was written the last time, for values that the server keeps in another form than they were written.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<HashMap<Key, OfOwner>>);

/// What was written for one main object.
type OfOwner = HashMap<(Kind, Key), Written>;

/// Fingerprints of what was wanted and of what the server made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    wanted: u64,
    result: u64,
}

impl Memory {
    fn is(&self, owner: &Key, kind: &Kind, key: &Key, written: Written) -> bool {
        let memory = self.0.lock();
        memory.get(owner).and_then(|of_owner| of_owner.get(&(kind.clone(), key.clone()))) == Some(&written)
    }

    fn set(&self, owner: &Key, kind: &Kind, key: &Key, written: Written) {
        self.0.lock().entry(owner.clone()).or_default().insert((kind.clone(), key.clone()), written);
    }

    fn has(&self, owner: &Key, kind: &Kind, key: &Key) -> bool {
        let memory = self.0.lock();
        memory.get(owner).is_some_and(|of_owner| of_owner.contains_key(&(kind.clone(), key.clone())))
    }

    /// The owner is gone.
    pub(crate) fn forget(&self, owner: &Key) {
        self.0.lock().remove(owner);
    }
}

/// Carries out the plans for one main object.
pub(crate) struct Actor<'a, K> {
    pub(crate) context: &'a Context,
    pub(crate) memory: &'a Memory,
    pub(crate) object: &'a K,
    pub(crate) key: &'a Key,
    pub(crate) bounds: Bounds<'a>,
}

impl<K: Object> Actor<'_, K> {
    /// Checks the plan and carries it out: objects first, then removals, then the status, then events.
    pub(crate) async fn act(&self, mut plan: Plan) -> Result {
        if let Some(fault) = plan.fault.take() {
            return Err(fault);
        }
        // Stores cannot fail to give JSON of what they have read from JSON; if one does, the object counts as absent
        // and the apply meets the real one.
        let steps = check(&plan, &self.bounds, |kind, key| self.context.store_of(kind)?.json(key)?.ok())?;
        for step in &steps {
            match step {
                Step::Apply { kind, key, wanted, live } => {
                    self.apply(kind, key, wanted, live.as_ref()).await?
                }
                Step::Remove { kind, key, uid } => self.remove(kind, key, uid).await?,
            }
        }
        self.write_status(plan.status.as_ref(), &plan.conditions).await?;
        for event in plan.events {
            self.context.events().publish(self.object, event);
        }
        Ok(())
    }

    /// Tells of an error: the condition `Ready` and an event.
    pub(crate) async fn tell(&self, error: &Error) -> Result {
        let (reason, message) = (error.reason(), error.to_string());
        self.context.events().publish(self.object, Event::warning(reason, &message));
        let ready = ConditionStatus::unmet(reason, message);
        self.write_status(None, &[("Ready".to_owned(), ready)]).await
    }

    async fn apply(&self, kind: &Kind, key: &Key, wanted: &Value, live: Option<&Value>) -> Result {
        let manager = self.context.name();
        if let Some(live) = live {
            let now = Written { wanted: compare::fingerprint(wanted), result: compare::fingerprint(live) };
            if compare::is_applied(live, wanted, manager) || self.memory.is(self.key, kind, key, now) {
                return Ok(());
            }
        }
        if live.is_none() && self.memory.has(self.key, kind, key) {
            self.confirm_owner().await?;
        }
        tracing::debug!(controller = manager, object = %self.key, %kind, %key, "apply");
        // Forced: what a controller declares as owned has no other master.
        let parameters = PatchParams::apply(manager).force();
        let request = Request::new(kind.path(key.namespace()))
            .patch(key.name(), &parameters, &Patch::Apply(wanted))
            .map_err(kube::Error::BuildRequest)?;
        let answer: Value = self
            .context
            .client()
            .request(request)
            .await
            .map_err(|source| Error::Request { action: "apply", object: format!("{kind} {key}"), source })?;
        if let Some(store) = self.context.store_of(kind) {
            store.observe_json(answer);
            // As the cache shows it, which is what the next comparison sees.
            if let Some(Ok(result)) = store.json(key) {
                let written =
                    Written { wanted: compare::fingerprint(wanted), result: compare::fingerprint(&result) };
                self.memory.set(self.key, kind, key, written);
            }
        }
        Ok(())
    }

    /// What was there and has vanished may have been collected because its owner is gone, which a cache that is behind does
    /// not show. Making it again would only be undone, over and over.
    async fn confirm_owner(&self) -> Result {
        let kind = Kind::of::<K>();
        let request = Request::new(kind.path(self.key.namespace()))
            .get(self.key.name(), &GetParams::default())
            .map_err(kube::Error::BuildRequest)?;
        match self.context.client().request::<PartialObjectMeta<K>>(request).await {
            Ok(owner) if owner.metadata.uid.as_deref() == Some(&self.bounds.owner.uid) => {
                match owner.metadata.deletion_timestamp {
                    None => Ok(()),
                    Some(_) => Err(Error::failed("BeingDeleted", "the object is being deleted")),
                }
            }
            Err(kube::Error::Api(status)) if status.code != 404 => Err(kube::Error::Api(status).into()),
            Ok(_) | Err(kube::Error::Api(_)) => {
                Err(Error::failed("Gone", "the object is gone and the cache does not show it yet"))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn remove(&self, kind: &Kind, key: &Key, uid: &str) -> Result {
        tracing::debug!(controller = self.context.name(), object = %self.key, %kind, %key, "remove");
        let parameters = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            preconditions: Some(Preconditions { uid: Some(uid.to_owned()), resource_version: None }),
            ..DeleteParams::default()
        };
        let request = Request::new(kind.path(key.namespace()))
            .delete(key.name(), &parameters)
            .map_err(kube::Error::BuildRequest)?;
        match self.context.client().request::<Value>(request).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Ok(_) => Ok(()),
            Err(source) => Err(Error::Request { action: "remove", object: format!("{kind} {key}"), source }),
        }
    }

    async fn write_status(
        &self,
        planned: Option<&Value>,
        conditions: &[(String, ConditionStatus)],
    ) -> Result {
        if planned.is_none() && conditions.is_empty() {
            return Ok(());
        }
        let kind = Kind::of::<K>();
        let what = || format!("{kind} {}", self.key);
        let live = serde_json::to_value(self.object)
            .map_err(|source| Error::Json { what: what(), source })
            .map(|mut object| compare::without_nulls(object["status"].take()))?;
        let meta = self.object.meta();
        let wanted = status::wanted(&live, planned, conditions, meta.generation, self.context.now());
        let Some(change) = status::merge_patch(&live, &wanted) else { return Ok(()) };
        let written = |result: &Value| Written {
            wanted: compare::status_fingerprint(&wanted),
            result: compare::status_fingerprint(result),
        };
        if self.memory.is(self.key, &kind, self.key, written(&live)) {
            return Ok(());
        }
        // The version says: only if nobody has changed the object since it was looked at.
        let patch = json!({"metadata": {"resourceVersion": meta.resource_version}, "status": change});
        let parameters =
            PatchParams { field_manager: Some(self.context.name().to_owned()), ..Default::default() };
        let request = Request::new(kind.path(self.key.namespace()))
            .patch_subresource("status", self.key.name(), &parameters, &Patch::Merge(&patch))
            .map_err(kube::Error::BuildRequest)?;
        let answer: K = self.context.client().request(request).await.map_err(|source| Error::Request {
            action: "write the status of",
            object: what(),
            source,
        })?;
        if let Ok(mut result) = serde_json::to_value(&answer) {
            let result = compare::without_nulls(result["status"].take());
            self.memory.set(self.key, &kind, self.key, written(&result));
        }
        self.context.observe(answer);
        Ok(())
    }
}
