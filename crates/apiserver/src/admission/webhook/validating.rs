//! ValidatingAdmissionWebhook: all webhooks are asked at once, about the object as it will be stored.

use std::sync::Arc;

use futures::future;
use pilothouse_value::{Status, Value};

use super::review::Review;
use super::select::{self, Invocation};
use super::{Failure, Webhooks, ask, fail_closed, left, out_of_time};
use crate::admission::Attributes;
use crate::answer::present;
use crate::registry::resource::Resource;

/// The request in one version of its resource.
struct Shown {
    resource: Arc<Resource>,
    /// None: as it is in the attributes.
    converted: Option<(Option<Value>, Option<Value>)>,
}

impl Shown {
    fn object<'a>(&'a self, attributes: &'a Attributes<'_>) -> Option<&'a Value> {
        self.converted.as_ref().map_or(attributes.object.as_ref(), |(object, _)| object.as_ref())
    }

    fn old<'a>(&'a self, attributes: &'a Attributes<'_>) -> Option<&'a Value> {
        self.converted.as_ref().map_or(attributes.old.as_deref(), |(_, old)| old.as_ref())
    }
}

/// Asks the webhooks.
///
/// # Errors
/// What the first in order that does not let the request in says, or what went wrong with one that must be asked.
pub(in crate::admission) async fn validate(
    attributes: &Attributes<'_>,
    webhooks: &Webhooks,
) -> Result<(), Status> {
    let mut versions: Vec<Shown> = Vec::new();
    let mut relevant: Vec<(Invocation, usize)> = Vec::new();
    for webhook in webhooks {
        let Some(invocation) = select::select(webhook, attributes)? else { continue };
        let known = versions.iter().position(|shown| Arc::ptr_eq(&shown.resource, &invocation.resource));
        let version = match known {
            Some(version) => version,
            None => {
                versions.push(show(attributes, &invocation.resource).await?);
                versions.len() - 1
            }
        };
        let Some(shown) = versions.get(version) else { continue };
        let (object, old) = (shown.object(attributes), shown.old(attributes));
        if select::meets_conditions(&invocation, attributes, object, old)? {
            relevant.push((invocation, version));
        }
    }
    if relevant.is_empty() {
        return Ok(());
    }
    if left(attributes).is_zero() {
        return Err(out_of_time());
    }
    let calls = relevant.iter().enumerate().filter_map(|(index, (invocation, version))| {
        let shown = versions.get(*version)?;
        Some(call(attributes, shown, invocation, index))
    });
    future::join_all(calls).await.into_iter().collect()
}

/// Shows the request in another version, if it has to be.
async fn show(attributes: &Attributes<'_>, to: &Arc<Resource>) -> Result<Shown, Status> {
    let own = Arc::ptr_eq(to, &attributes.target.resource);
    // A subresource with a kind of its own is the same for all versions.
    if own || attributes.kind() != attributes.resource().gvk() {
        return Ok(Shown { resource: to.clone(), converted: None });
    }
    let state = attributes.state();
    let internal = |why: Status| Status::internal(why.message);
    let object = match &attributes.object {
        Some(object) => Some(present::to_version(state, to, object.clone()).await.map_err(internal)?),
        None => None,
    };
    let old = match &attributes.old {
        Some(old) => Some(present::to_version(state, to, Value::clone(old)).await.map_err(internal)?),
        None => None,
    };
    Ok(Shown { resource: to.clone(), converted: Some((object, old)) })
}

async fn call(
    attributes: &Attributes<'_>,
    shown: &Shown,
    invocation: &Invocation,
    index: usize,
) -> Result<(), Status> {
    let review = Review {
        attributes,
        resource: &invocation.resource,
        object: shown.object(attributes),
        old: shown.old(attributes),
    };
    match ask(attributes, invocation, &review, false).await {
        Ok(_) => Ok(()),
        Err(Failure::Status(status)) => Err(status),
        Err(Failure::Calling(why)) if invocation.webhook.ignores_failure => {
            let name = &invocation.webhook.name;
            tracing::warn!(webhook = %name, why, "a webhook was not heard");
            let key = format!("failed-open.validating.webhook.admission.k8s.io/round_0_index_{index}");
            attributes.annotate(&key, name);
            Ok(())
        }
        Err(Failure::Calling(why)) => Err(fail_closed(&why)),
    }
}
