//! Admission: what the cluster adds to a request's object, and what it does not let in.
//!
//! [`mutate`] runs before an object is prepared and validated, [`validate`] after that and right before it is stored. Both
//! walk the chain in upstream's order: the built-in [`Plugin`]s, then the webhooks, then what counts (quotas).

mod accounts;
mod always;
mod attributes;
mod certificates;
mod chain;
mod conditions;
mod configuration;
mod defaults;
mod events;
mod image_policy;
mod images;
mod lifecycle;
mod limits;
mod node_restriction;
mod node_selectors;
mod nodes;
mod owners;
mod policies;
mod priority;
mod quota;
mod resize;
mod runtime;
mod security;
mod storage;
mod tolerations;
mod topology;
pub(crate) mod webhook;

use pilothouse_merge::managed;
use pilothouse_value::{Status, Value};

use crate::state::Target;

pub(crate) use accounts::await_account;
pub(crate) use attributes::{Attributes, Operation};
pub(crate) use chain::Chain;
pub use chain::{PluginError, plugin_names};
pub(crate) use conditions::check_condition;
pub(crate) use policies::{check_policy, is_policy};

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

/// Whether admission is asked about an update of this target. Actions, which change an object on their own, were asked about
/// when they were called.
pub(crate) fn sees_updates(target: &Target) -> bool {
    !matches!(target.subresource.as_deref(), Some("binding" | "eviction"))
}

/// Lets the plugins and webhooks change an object.
///
/// # Errors
/// What the first that refuses says.
pub(crate) async fn mutate(attributes: &mut Attributes<'_>) -> Result<(), Status> {
    let state = attributes.state();
    let plugins = &state.plugins;
    if !plugins.mutating_webhooks || !webhook::may_ask(state, attributes.target) {
        admit(&plugins.before, attributes)?;
        return admit(&plugins.after, attributes);
    }
    let webhooks = state.webhooks.get(state);
    let managers = managers(attributes);
    let mut round = webhook::Reinvocation::default();
    loop {
        admit(&plugins.before, attributes)?;
        webhook::mutate(attributes, webhooks.mutating(), &mut round).await?;
        admit(&plugins.after, attributes)?;
        if round.again || !round.wanted {
            break;
        }
        round.again = true;
    }
    keep_managers(attributes, managers);
    Ok(())
}

const MANAGED_FIELDS: [&str; 2] = ["metadata", "managedFields"];

fn managers(attributes: &Attributes<'_>) -> Option<Value> {
    attributes.object.as_ref().and_then(|object| object.at(&MANAGED_FIELDS)).cloned()
}

/// Who owns which fields is not a webhook's to say in a form that cannot be read.
fn keep_managers(attributes: &mut Attributes<'_>, before: Option<Value>) {
    let Some(object) = &mut attributes.object else { return };
    if let Err(why) = managed::check(object) {
        match before {
            Some(before) => object.set(&MANAGED_FIELDS, before),
            None => {
                object.take(&MANAGED_FIELDS);
            }
        }
        attributes.context.warn(format!(
            ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated \
             mutating admission controller; please fix your requests: {why}"
        ));
    }
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
    let state = attributes.state();
    let plugins = &state.plugins;
    match &plugins.settings.images {
        None => check(&plugins.before, attributes)?,
        Some(images) => {
            let (first, second) = plugins.before.split_at(plugins.before_images.min(plugins.before.len()));
            check(first, attributes)?;
            images.validate(attributes).await?;
            check(second, attributes)?;
        }
    }
    if plugins.validating_webhooks && webhook::may_ask(state, attributes.target) {
        let webhooks = state.webhooks.get(state);
        webhook::validate(attributes, webhooks.validating()).await?;
    }
    check(&plugins.after, attributes)
}

fn check(plugins: &[&dyn Plugin], attributes: &Attributes<'_>) -> Result<(), Status> {
    for plugin in plugins {
        if plugin.handles(attributes.operation) {
            plugin.validate(attributes)?;
        }
    }
    Ok(())
}

/// Adds an item to a list that may not be there yet.
fn push(value: &mut Value, key: &str, item: Value) {
    let list = value.entry(&[key]);
    if list.as_array().is_none() {
        *list = Value::Array(Vec::new().into());
    }
    if let Some(list) = list.as_array_mut() {
        list.push(item);
    }
}
