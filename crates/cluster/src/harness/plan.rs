//! What a controller intends to do. Reconcile functions are pure: they read documents and return a [`Plan`], so that
//! tables can test them; `Api::act` carries a plan out.

use std::time::Duration;

use pilothouse_value::{Gvr, Value, object};

/// The writes that lead from what was seen to what is wanted, in order.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The writes, in order; the first that fails ends the plan.
    pub(crate) intents: Vec<Intent>,
    /// When to look again, although nothing has changed by then.
    pub(crate) again: Option<Duration>,
}

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Intent {
    /// Creates an object.
    Create {
        /// Its resource.
        resource: Gvr,
        /// The whole object; its namespace is in its metadata.
        object: Value,
        /// The event that tells of success or failure.
        tell: Option<Tell>,
    },
    /// Replaces an object, on condition of its resourceVersion.
    Update {
        /// Its resource.
        resource: Gvr,
        /// The whole object.
        object: Value,
    },
    /// Replaces an object's status, on condition of its resourceVersion.
    UpdateStatus {
        /// Its resource.
        resource: Gvr,
        /// The whole object.
        object: Value,
    },
    /// Changes an object by a JSON merge patch. An object that is gone is no failure.
    Patch {
        /// Its resource.
        resource: Gvr,
        /// Namespace; empty for cluster-scoped objects.
        namespace: String,
        /// Name.
        name: String,
        /// The merge patch.
        patch: Value,
    },
    /// Deletes an object on condition of its uid. An object that is gone is no failure.
    Delete {
        /// Its resource.
        resource: Gvr,
        /// Namespace; empty for cluster-scoped objects.
        namespace: String,
        /// Name.
        name: String,
        /// Its uid.
        uid: String,
        /// The event that tells of success or failure.
        tell: Option<Tell>,
    },
    /// Records an event.
    Event {
        /// What the event is about.
        regarding: Value,
        /// `Normal` or `Warning`.
        kind: &'static str,
        /// What was done, for an event of the newer kind ([`Plan::event_of`]).
        action: Option<&'static str>,
        /// Its reason.
        reason: String,
        /// Its message.
        message: String,
    },
}

/// The event that tells of a create or delete. `{}` in a message stands for the object's name, which the server may
/// make up, and `{error}` for the server's message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tell {
    /// What the event is about: the owner.
    pub(crate) regarding: Value,
    /// Reason on success.
    pub(crate) reason: &'static str,
    /// Message on success.
    pub(crate) message: String,
    /// Reason on failure.
    pub(crate) failure: &'static str,
    /// Message on failure.
    pub(crate) failure_message: String,
}

impl Plan {
    /// Adds a create.
    pub(crate) fn create(&mut self, resource: &Gvr, object: Value, tell: Option<Tell>) {
        self.intents.push(Intent::Create { resource: resource.clone(), object, tell });
    }

    /// Adds a replacement.
    pub(crate) fn update(&mut self, resource: &Gvr, object: Value) {
        self.intents.push(Intent::Update { resource: resource.clone(), object });
    }

    /// Adds a status write if `status` differs from the one that `object` has.
    pub(crate) fn status(&mut self, resource: &Gvr, object: &Value, status: Value) {
        if object.get("status") == Some(&status) {
            return;
        }
        let mut object = object.clone();
        object.set(&["status"], status);
        self.intents.push(Intent::UpdateStatus { resource: resource.clone(), object });
    }

    /// Adds a merge patch of `target`.
    pub(crate) fn patch(&mut self, resource: &Gvr, target: &Value, patch: Value) {
        self.intents.push(Intent::Patch {
            resource: resource.clone(),
            namespace: object::namespace(target).unwrap_or_default().to_owned(),
            name: object::name(target).to_owned(),
            patch,
        });
    }

    /// Adds a delete of `target`.
    pub(crate) fn delete(&mut self, resource: &Gvr, target: &Value, tell: Option<Tell>) {
        self.intents.push(Intent::Delete {
            resource: resource.clone(),
            namespace: object::namespace(target).unwrap_or_default().to_owned(),
            name: object::name(target).to_owned(),
            uid: object::uid(target).to_owned(),
            tell,
        });
    }

    /// Adds an event of type `Normal`.
    pub(crate) fn event(&mut self, regarding: &Value, reason: impl Into<String>, message: impl Into<String>) {
        self.push_event(regarding, "Normal", None, reason, message);
    }

    /// Adds an event of type `Normal` (or `Warning`) as the newer API `events.k8s.io` means it: it tells what was done,
    /// and has the time of the event and a series instead of the first time, the last time and a count. Upstream only
    /// the scheduler records such.
    pub(crate) fn event_of(
        &mut self,
        regarding: &Value,
        kind: &'static str,
        action: &'static str,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) {
        self.push_event(regarding, kind, Some(action), reason, message);
    }

    /// Adds an event of type `Warning`.
    pub(crate) fn warning(
        &mut self,
        regarding: &Value,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) {
        self.push_event(regarding, "Warning", None, reason, message);
    }

    fn push_event(
        &mut self,
        regarding: &Value,
        kind: &'static str,
        action: Option<&'static str>,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) {
        self.intents.push(Intent::Event {
            regarding: reference(regarding),
            kind,
            action,
            reason: reason.into(),
            message: message.into(),
        });
    }

    /// Looks again after this time, or sooner if that was asked before.
    pub(crate) fn look_again(&mut self, after: Duration) {
        self.again = Some(self.again.map_or(after, |again| again.min(after)));
    }
}

/// An object reference, as events carry it.
pub(crate) fn reference(target: &Value) -> Value {
    let mut reference = pilothouse_value::json!({
        "apiVersion": object::api_version(target), "kind": object::kind(target),
        "name": object::name(target), "uid": object::uid(target),
        "resourceVersion": object::resource_version(target),
    });
    if let Some(namespace) = object::namespace(target) {
        reference.set(&["namespace"], namespace);
    }
    reference
}
