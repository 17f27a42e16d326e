//! Plans: what a controller wants to be true, checked by guards before anything is done.

mod act;
mod compare;
mod guard;
mod status;

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

pub(crate) use self::act::{Actor, Memory};
pub use self::guard::Refusal;
pub(crate) use self::guard::{BUDGET, Bounds, is_protected};
pub use self::status::{ConditionStatus, Observed};
use crate::error::{Error, Result};
use crate::events::Event;
use crate::object::{Key, Kind, Object};

/// What a controller wants to be true of an object and of what it owns. A plan does nothing by itself: the engine
/// checks it with guards and then acts, writing only what differs from what exists.
#[derive(Debug, Default)]
#[must_use = "a plan does nothing until it is returned"]
pub struct Plan {
    ensures: Vec<Ensure>,
    removals: Vec<Removal>,
    status: Option<Value>,
    conditions: Vec<(String, ConditionStatus)>,
    events: Vec<Event>,
    pub(crate) requeue_after: Option<Duration>,
    fault: Option<Error>,
}

/// An object as server-side apply wants it: with its type; without nulls, status, and what the server sets.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn intent<K: Object>(object: &K) -> Result<Value> {
    let kind = Kind::of::<K>();
    serde_json::to_value(object)
        .map(|value| compare::intent(value, &kind))
        .map_err(|source| Error::Json { what: format!("{kind} {}", Key::of(object)), source })
}

/// An object that must exist with these fields.
#[derive(Clone, Debug)]
pub(crate) struct Ensure {
    pub(crate) kind: Kind,
    pub(crate) key: Key,
    pub(crate) object: Value,
}

/// An object that must not exist.
#[derive(Clone, Debug)]
pub(crate) struct Removal {
    pub(crate) kind: Kind,
    pub(crate) key: Key,
    /// The author has said that losing what it holds is meant.
    pub(crate) with_data: bool,
}

impl Plan {
    /// A plan that wants nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The object must exist and have the fields that are set here; fields that are not set are left to others, and
    /// fields that an earlier plan had set and this one does not are removed (server-side apply, with the controller's
    /// name as the field manager). The main object becomes its controlling owner; a namespace that is not set is the
    /// main object's.
    ///
    /// Guards: the kind must be declared with `owns`, the namespace must be the main object's, and an object of this
    /// name that exists must already be controlled by the main object.
    pub fn ensure<K: Object>(mut self, object: K) -> Self {
        match intent(&object) {
            Ok(wanted) => {
                self.ensures.push(Ensure { kind: Kind::of::<K>(), key: Key::of(&object), object: wanted })
            }
            Err(error) => self.blame(error),
        }
        self
    }

    /// [`Plan::ensure`] when there is an object.
    pub fn ensure_some<K: Object>(self, object: Option<K>) -> Self {
        match object {
            Some(object) => self.ensure(object),
            None => self,
        }
    }

    /// The object must not exist. Only name and namespace are looked at.
    ///
    /// Guards: it must be controlled by the main object, the plan's removals must be within the budget, and claims,
    /// volumes, secrets, namespaces and custom resource definitions are refused: see [`Plan::remove_with_data`].
    pub fn remove<K: Object>(mut self, object: &K) -> Self {
        self.removals.push(Removal { kind: Kind::of::<K>(), key: Key::of(object), with_data: false });
        self
    }

    /// [`Plan::remove`] for kinds that hold data or on which others depend. Their loss must be what the user asked for.
    /// The controller must declare the verb: `uses::<PersistentVolumeClaim>(&["delete"])`.
    pub fn remove_with_data<K: Object>(mut self, object: &K) -> Self {
        self.removals.push(Removal { kind: Kind::of::<K>(), key: Key::of(object), with_data: true });
        self
    }

    /// The status of the main object. Conditions and `observedGeneration` are added by the engine (see [`Observed`]);
    /// everything is written in one request, and only if it differs.
    pub fn status<S: Serialize>(mut self, status: S) -> Self {
        match serde_json::to_value(status) {
            Ok(status) => self.status = Some(compare::without_nulls(status)),
            Err(source) => self.blame(Error::Json { what: "the status".to_owned(), source }),
        }
        self
    }

    /// A condition of the main object. The time of its last transition changes only with its status.
    pub fn condition(mut self, kind: impl Into<String>, status: impl Into<ConditionStatus>) -> Self {
        let kind = kind.into();
        self.conditions.retain(|(known, _)| *known != kind);
        self.conditions.push((kind, status.into()));
        self
    }

    /// The condition `Ready`, which sums up.
    pub fn ready_when(self, status: impl Into<ConditionStatus>) -> Self {
        self.condition("Ready", status)
    }

    /// An event about the main object, sent after the plan was carried out. Repetitions are counted, not repeated.
    pub fn event(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }

    /// Look again after this time, even if nothing changes; of several, the shortest counts.
    pub fn requeue_after(mut self, wait: Duration) -> Self {
        self.requeue_after = Some(self.requeue_after.map_or(wait, |known| known.min(wait)));
        self
    }

    /// The objects of kind `K` that the plan ensures, as they would be applied (without the owner reference): for tests
    /// of the logic alone.
    ///
    /// # Errors
    /// When one of them lacks what `K` requires.
    pub fn ensured<K: Object>(&self) -> Result<Vec<K>> {
        let kind = Kind::of::<K>();
        self.ensures
            .iter()
            .filter(|ensure| ensure.kind == kind)
            .map(|ensure| {
                serde_json::from_value(ensure.object.clone())
                    .map_err(|source| Error::Json { what: format!("{kind} {}", ensure.key), source })
            })
            .collect()
    }

    /// The planned condition of this type: for tests of the logic alone.
    pub fn planned_condition(&self, kind: &str) -> Option<&ConditionStatus> {
        self.conditions.iter().find(|(known, _)| known == kind).map(|(_, status)| status)
    }

    /// The first error counts.
    pub(crate) fn blame(&mut self, error: Error) {
        self.fault.get_or_insert(error);
    }
}

/// One line for each thing that the plan wants.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Ensure { kind, key, object } in &self.ensures {
            writeln!(f, "ensure {kind} {key} {object}")?;
        }
        for Removal { kind, key, .. } in &self.removals {
            writeln!(f, "remove {kind} {key}")?;
        }
        if let Some(status) = &self.status {
            writeln!(f, "status {status}")?;
        }
        for (kind, status) in &self.conditions {
            writeln!(f, "condition {kind}={status}")?;
        }
        for event in &self.events {
            writeln!(f, "event {}: {}", event.reason(), event.message())?;
        }
        if let Some(wait) = self.requeue_after {
            writeln!(f, "look again after {} s", wait.as_secs_f64())?;
        }
        Ok(())
    }
}
