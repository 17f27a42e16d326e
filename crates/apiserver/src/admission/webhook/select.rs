//! Which webhooks a request is for, and in which version each wants to see it.

use std::sync::Arc;

use pilothouse_value::selector::LabelSelector;
use pilothouse_value::{Map, Status, Value, object};

use super::config::{Rule, Scope, Webhook};
use crate::admission::Attributes;
use crate::admission::conditions::Verdict;
use crate::registry::resource::{self, Resource};

/// A webhook that is to be asked, and about which version of the resource.
#[derive(Clone, Debug)]
pub(super) struct Invocation {
    pub(super) webhook: Arc<Webhook>,
    pub(super) resource: Arc<Resource>,
}

/// Whether a webhook is to be asked, as far as selectors and rules say; its conditions are still to be looked at.
///
/// # Errors
/// 404 if the namespace is not there, 500 for a selector that cannot be read; only if the webhook is for the request.
pub(super) fn select(
    webhook: &Arc<Webhook>,
    attributes: &Attributes<'_>,
) -> Result<Option<Invocation>, Status> {
    let by_namespace = matches_namespace(webhook, attributes);
    if matches!(by_namespace, Ok(false)) {
        return Ok(None);
    }
    let by_object = matches_object(webhook, attributes);
    if matches!(by_object, Ok(false)) {
        return Ok(None);
    }
    let Some(resource) = matches_rules(webhook, attributes) else { return Ok(None) };
    by_namespace?;
    by_object?;
    Ok(Some(Invocation { webhook: webhook.clone(), resource }))
}

/// What the conditions of a webhook say of a request.
///
/// # Errors
/// 403 if they cannot be evaluated and the webhook fails closed.
pub(super) fn meets_conditions(
    invocation: &Invocation,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<bool, Status> {
    let webhook = &invocation.webhook;
    match webhook.conditions.evaluate(attributes, &invocation.resource, object, old) {
        Verdict::Met => Ok(true),
        Verdict::NotMet => Ok(false),
        Verdict::Failed(_) if webhook.ignores_failure => Ok(false),
        Verdict::Failed(why) => {
            let resource = attributes.resource();
            Err(Status::forbidden(&resource.group, &resource.plural, &attributes.name, &why))
        }
    }
}

fn matches_namespace(webhook: &Webhook, attributes: &Attributes<'_>) -> Result<bool, Status> {
    let name = attributes.namespace();
    let is_namespace = attributes.resource().plural == "namespaces";
    if name.is_empty() && !is_namespace {
        return Ok(true);
    }
    let selector = selector(&webhook.namespace_selector)?;
    if selector.is_everything() {
        return Ok(true);
    }
    // The stored namespace is not yet what this request makes of it.
    if is_namespace
        && attributes.subresource().is_empty()
        && let Some(object) = &attributes.object
    {
        return Ok(selector.matches(object::labels(object)));
    }
    let Some(namespace) = attributes.state().store.get(&resource::key("", "namespaces"), "", name) else {
        return Err(Status::not_found("", "namespaces", name));
    };
    Ok(selector.matches(object::labels(namespace.value())))
}

fn matches_object(webhook: &Webhook, attributes: &Attributes<'_>) -> Result<bool, Status> {
    let selector = selector(&webhook.object_selector)?;
    let matches = |labels: Option<&Map>| selector.matches(labels);
    Ok(selector.is_everything()
        || attributes.object.as_ref().is_some_and(|object| matches(object::labels(object)))
        || attributes.old.as_ref().is_some_and(|old| matches(object::labels(old))))
}

fn selector(selector: &Result<LabelSelector, String>) -> Result<&LabelSelector, Status> {
    selector.as_ref().map_err(Status::internal)
}

/// The resource that a rule is for: that of the request, or else an equivalent one.
fn matches_rules(webhook: &Webhook, attributes: &Attributes<'_>) -> Option<Arc<Resource>> {
    let own = &attributes.target.resource;
    let fits = |rule: &Rule, resource: &Resource| {
        let is = |words: &[String], word: &str| words.iter().any(|own| own == "*" || own == word);
        in_scope(rule.scope, attributes)
            && is(&rule.operations, attributes.operation.as_str())
            && is(&rule.groups, &resource.group)
            && is(&rule.versions, &resource.version)
            && rule.resources.iter().any(|(plural, sub)| {
                (plural == "*" || *plural == resource.plural)
                    && (sub == "*" || sub == attributes.subresource())
            })
    };
    if webhook.rules.iter().any(|rule| fits(rule, own)) {
        return Some(own.clone());
    }
    if !webhook.equivalent {
        return None;
    }
    let others = equivalents(attributes);
    webhook.rules.iter().find_map(|rule| others.iter().find(|other| fits(rule, other)).cloned())
}

/// The other faces of a resource: those that show the same stored objects.
fn equivalents(attributes: &Attributes<'_>) -> Vec<Arc<Resource>> {
    let own = attributes.resource();
    let sub = attributes.subresource();
    let table = attributes.state().registry.table();
    let same = table.iter().filter(|other| {
        other.key == own.key
            && (other.group != own.group || other.version != own.version)
            && (sub.is_empty() || other.subresource(sub).is_some())
    });
    same.cloned().collect()
}

fn in_scope(scope: Scope, attributes: &Attributes<'_>) -> bool {
    // A namespace is an object of the cluster, though the request names it as its namespace.
    let cluster = attributes.resource().is("", "namespaces") || attributes.namespace().is_empty();
    match scope {
        Scope::All => true,
        Scope::Cluster => cluster,
        Scope::Namespaced => !cluster,
        Scope::Other => false,
    }
}
