//! Admission: what the cluster adds to a request's object, and what it does not let in.
//!
//! [`mutate`] runs before an object is prepared and validated, [`validate`] after that and right before it is stored. Both
//! walk the chain in upstream's order: the built-in [`Plugin`]s, then the webhooks, then what counts (quotas).

mod attributes;
mod builtin;

use pilothouse_value::Status;

use crate::state::{Context, Target};

pub(crate) use attributes::{Attributes, Operation, Options};
pub(crate) use builtin::await_account;

/// A plugin that is built in. It is stateless: what it needs to know it finds in the attributes' context.
pub(crate) trait Plugin: Sync {
    /// Whether the plugin has anything to say about operations of this sort.
    fn handles(&self, operation: Operation) -> bool;

    /// Changes the object, or refuses it before it is looked at any further.
    ///
    /// # Errors
    /// What the client is told.
    fn admit(&self, _attributes: &mut Attributes<'_>) -> Result<(), Status> {
        Ok(())
    }

    /// Refuses an object that has been validated otherwise. It runs once more if the write starts over.
    ///
    /// # Errors
    /// What the client is told.
    fn validate(&self, _attributes: &Attributes<'_>) -> Result<(), Status> {
        Ok(())
    }
}

/// The plugins that come before the webhooks, in upstream's order.
const BEFORE_WEBHOOKS: &[&dyn Plugin] = &[
    &builtin::NamespaceLifecycle,
    &builtin::ServiceAccount,
    &builtin::Priority,
    &builtin::DefaultTolerationSeconds,
    &builtin::StorageObjectInUseProtection,
];

/// The plugins that come after the webhooks.
const AFTER_WEBHOOKS: &[&dyn Plugin] = &[];

/// Whether admission is asked about an update of this target. Actions, which change an object on their own, were asked about
/// when they were called.
pub(crate) fn sees_updates(target: &Target) -> bool {
    !matches!(target.subresource.as_deref(), Some("binding" | "eviction"))
}

/// Whether webhooks may be asked about an update of this target.
pub(crate) fn asks_others(_context: &Context, _target: &Target) -> bool {
    false
}

/// Lets the plugins and webhooks change an object.
///
/// # Errors
/// What the first that refuses says.
pub(crate) async fn mutate(attributes: &mut Attributes<'_>) -> Result<(), Status> {
    admit(BEFORE_WEBHOOKS, attributes)?;
    admit(AFTER_WEBHOOKS, attributes)
}

fn admit(plugins: &[&dyn Plugin], attributes: &mut Attributes<'_>) -> Result<(), Status> {
    for plugin in plugins {
        if plugin.handles(attributes.operation) {
            plugin.admit(attributes)?;
        }
    }
    Ok(())
}

/// Lets the plugins and webhooks refuse an object.
///
/// # Errors
/// What the first that refuses says.
pub(crate) async fn validate(attributes: &Attributes<'_>) -> Result<(), Status> {
    check(BEFORE_WEBHOOKS, attributes)?;
    check(AFTER_WEBHOOKS, attributes)
}

fn check(plugins: &[&dyn Plugin], attributes: &Attributes<'_>) -> Result<(), Status> {
    for plugin in plugins {
        if plugin.handles(attributes.operation) {
            plugin.validate(attributes)?;
        }
    }
    Ok(())
}
