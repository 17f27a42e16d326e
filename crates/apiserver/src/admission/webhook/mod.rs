//! The plugins MutatingAdmissionWebhook and ValidatingAdmissionWebhook.
//!
//! [`config`] keeps the configurations that are stored, compiled; [`select`] finds those that a request is for; [`review`]
//! writes the question and reads the answer; [`mutating`] and [`validating`] ask.

mod config;
mod mutating;
mod review;
mod select;
mod typed;
mod validating;

use std::sync::Arc;
use std::time::Duration;

use pilothouse_value::{Status, Value, field};
use tokio::time::Instant;

use self::config::Webhook;
use self::review::{Response, Review};
use self::select::Invocation;
use super::Attributes;
use crate::registry::resource::Resource;
use crate::state::{Context, State, Target};

pub(crate) use config::Configurations;
pub(super) use mutating::{Reinvocation, mutate};
pub(super) use review::request;
pub(super) use validating::validate;

/// Resources that are questions about who may do what: no webhook may come between them and their answer.
const REVIEWS: [(&str, &str); 6] = [
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
];

/// Whether no webhook is asked about a resource.
pub(crate) fn is_review(group: &str, plural: &str) -> bool {
    REVIEWS.contains(&(group, plural))
}

/// Whether a resource is one of the two that say which webhooks there are.
pub(crate) fn configures_webhooks(resource: &Resource) -> bool {
    resource.group == config::GROUP
        && matches!(
            resource.plural.as_str(),
            "mutatingwebhookconfigurations" | "validatingwebhookconfigurations"
        )
}

/// Warns of rules that name what no webhook is asked about.
pub(crate) fn warn(context: &Context, resource: &Resource, configuration: &Value) {
    if !configures_webhooks(resource) {
        return;
    }
    let texts = |rule: &Value, key: &str| -> Vec<String> {
        rule.items_at(&[key]).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    for (hook, webhook) in configuration.items_at(&["webhooks"]).iter().enumerate() {
        for (index, rule) in webhook.items_at(&["rules"]).iter().enumerate() {
            let (groups, resources) = (texts(rule, "apiGroups"), texts(rule, "resources"));
            if groups.iter().chain(&resources).any(|word| word == "*") {
                continue;
            }
            let named = groups.iter().flat_map(|group| resources.iter().map(move |plural| (group, plural)));
            for (group, plural) in named.filter(|(group, plural)| is_review(group, plural)) {
                context.warn(format!(
                    "webhooks[{hook}].rules[{index}]: {plural}.{group} is excluded from admission webhooks; this rule will \
                     have no effect"
                ));
            }
        }
    }
}

/// Whether webhooks may be asked about a target at all. They are not asked about reviews, nor about what configures
/// admission: nobody could mend a cluster whose webhooks are broken.
pub(super) fn may_ask(state: &State, target: &Target) -> bool {
    let resource = &target.resource;
    let configures = resource.group == config::GROUP
        && matches!(
            resource.kind.as_str(),
            "ValidatingWebhookConfiguration"
                | "MutatingWebhookConfiguration"
                | "ValidatingAdmissionPolicy"
                | "ValidatingAdmissionPolicyBinding"
                | "MutatingAdmissionPolicy"
                | "MutatingAdmissionPolicyBinding"
        );
    !configures && !is_review(&resource.group, &resource.plural) && !state.webhooks.get(state).is_empty()
}

/// How a call of a webhook failed.
#[derive(Debug)]
enum Failure {
    /// It gave no answer that can be used: what happens then is the configuration's to say.
    Calling(String),
    /// It said no, or what it said cannot be done.
    Status(Status),
}

impl Failure {
    fn calling(webhook: &Webhook, why: impl std::fmt::Display) -> Failure {
        Failure::Calling(format!("failed calling webhook {}: {why}", field::quote(&webhook.name)))
    }
}

/// Asks one webhook. What it tells the client is told.
async fn ask(
    attributes: &Attributes<'_>,
    invocation: &Invocation,
    review: &Review<'_>,
    mutating: bool,
) -> Result<Response, Failure> {
    let webhook = &invocation.webhook;
    let quoted = field::quote(&webhook.name);
    if attributes.dry_run() && !webhook.without_side_effects {
        return Err(Failure::Status(Status::bad_request(format!(
            "admission webhook {quoted} does not support dry run"
        ))));
    }
    let Some(version) = webhook.review_version else {
        return Err(Failure::calling(
            webhook,
            "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)",
        ));
    };
    let state = attributes.state();
    let hook = state.hooks.get(&webhook.client_config);
    let hook =
        hook.map_err(|error| Failure::calling(webhook, format_args!("could not get REST client: {error}")))?;
    let uid = uuid::Uuid::new_v4().to_string();
    let body = review.write(version, &uid);
    let left = left(attributes);
    // Whoever bounds the whole request is to find out first that its time is over.
    let slack = if left <= webhook.timeout { Duration::from_secs(1) } else { Duration::ZERO };
    let answer = hook.call(state, body, webhook.timeout.min(left), slack).await;
    let answer =
        answer.map_err(|error| Failure::calling(webhook, format_args!("failed to call webhook: {error}")))?;
    let response = review::read(version, &answer)
        .map_err(|error| Failure::calling(webhook, format_args!("failed to call webhook: {error}")))?;
    let response = review::verify(version, &uid, mutating, response)
        .map_err(|why| Failure::calling(webhook, format_args!("received invalid webhook response: {why}")))?;
    for (key, value) in &response.audit_annotations {
        attributes.annotate(&format!("{}/{key}", webhook.name), value);
    }
    for warning in &response.warnings {
        attributes.context.warn(warning.as_str());
    }
    if response.allowed { Ok(response) } else { Err(Failure::Status(response.denial(&webhook.name))) }
}

/// The time that the request has left.
fn left(attributes: &Attributes<'_>) -> Duration {
    attributes.context.deadline.saturating_duration_since(Instant::now())
}

/// 504: the request has no time left.
fn out_of_time() -> Status {
    Status::timeout("Timeout: request did not complete within requested timeout", 0)
}

/// An answer that cannot be used, of a webhook that is asked on pain of failure.
fn fail_closed(why: &str) -> Status {
    Status::internal(why)
}

/// The webhooks of a request's chain, in the order in which they are asked.
type Webhooks = [Arc<Webhook>];
