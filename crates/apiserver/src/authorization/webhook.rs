//! Mode Webhook: a `SubjectAccessReview` is sent to somebody outside, and what they answer counts for a while.

use std::time::Duration;

use bytes::Bytes;
use pilothouse_value::selector::{FieldSelector, LabelSelector, Operator};
use pilothouse_value::{Value, json};

use super::matching::Conditions;
use super::{Opinion, Verdict};
use crate::authorization::rbac::Attributes;
use crate::webhook::{Kept, Remote, typed};

/// Answers that are kept.
const ANSWERS: usize = 8192;
/// What a caller chooses of a question may be so long if its answer is to be kept.
const LONGEST_KEPT: usize = 10_000;

/// Why a webhook cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// The version of the review.
    #[error("unsupported webhook {what} version {given:?}, supported versions are \"v1\", \"v1beta1\"")]
    Version {
        /// What the webhook does.
        what: &'static str,
        /// The version that was asked for.
        given: String,
    },
    /// The kubeconfig.
    #[error("{0}")]
    Kubeconfig(String),
}

/// Somebody outside who decides.
#[derive(Debug)]
pub struct WebhookAuthorizer {
    remote: Remote,
    version: &'static str,
    allow_for: Duration,
    deny_for: Duration,
    on_error: Opinion,
    conditions: Conditions,
    answers: Kept<Value>,
}

/// A question that is not answered yet.
#[derive(Debug)]
pub(crate) struct Asked {
    body: Bytes,
    /// Under what the answer is kept.
    key: Option<String>,
}

impl WebhookAuthorizer {
    /// The server of a kubeconfig, asked in a version of the review (`v1` or `v1beta1`); how long a yes and a no count.
    ///
    /// # Errors
    /// For another version, and a kubeconfig that cannot be used.
    pub fn new(
        kubeconfig: &str,
        version: &str,
        allow_for: Duration,
        deny_for: Duration,
    ) -> Result<WebhookAuthorizer, WebhookError> {
        let version = match version {
            "v1" => "authorization.k8s.io/v1",
            "v1beta1" => "authorization.k8s.io/v1beta1",
            _ => return Err(WebhookError::Version { what: "authorizer", given: version.to_owned() }),
        };
        Ok(WebhookAuthorizer {
            remote: Remote::of_file(kubeconfig).map_err(WebhookError::Kubeconfig)?,
            version,
            allow_for,
            deny_for,
            on_error: Opinion::None,
            conditions: Conditions::default(),
            answers: Kept::new(ANSWERS),
        })
    }

    /// Waits no longer than this for an answer. Default: 30 seconds.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> WebhookAuthorizer {
        self.remote = self.remote.timeout(timeout);
        self
    }

    /// Denies what the webhook cannot be asked about. Default: others are to say.
    #[must_use]
    pub fn deny_on_failure(mut self) -> WebhookAuthorizer {
        self.on_error = Opinion::Deny;
        self
    }

    /// Asks only about what these conditions are all true of.
    pub(super) fn with_conditions(mut self, conditions: Conditions) -> WebhookAuthorizer {
        self.conditions = conditions;
        self
    }

    /// The verdict that is known without asking, or what is to be asked.
    pub(crate) fn prepare(&self, asked: &Attributes<'_>) -> Result<Verdict, Asked> {
        let spec = spec(asked);
        match self.conditions.matches(&spec) {
            Ok(true) => {}
            Ok(false) => return Ok(Verdict::new(Opinion::None, "")),
            Err(error) => return Ok(self.failed(error)),
        }
        let key = spec.to_json();
        if let Some(status) = self.answers.get(&key) {
            return Ok(verdict(&status));
        }
        let Attributes { verb, group, version, resource, subresource, name, namespace, path, .. } = *asked;
        let long: usize = [verb, group, version, resource, subresource, name, namespace, path]
            .iter()
            .map(|part| part.len())
            .sum();
        let mut spec = spec;
        if self.version.ends_with("beta1")
            && let Some(groups) = spec.take(&["groups"])
        {
            spec.set(&["group"], groups);
        }
        let mut review = json!({"kind": "SubjectAccessReview", "apiVersion": self.version});
        review.set(&["metadata"], Value::object());
        review.set(&["spec"], spec);
        review.set(&["status", "allowed"], false);
        Err(Asked { body: review.to_json().into(), key: (long < LONGEST_KEPT).then_some(key) })
    }

    /// Asks.
    pub(crate) async fn ask(&self, asked: Asked) -> Verdict {
        let answer = self.remote.post(asked.body).await;
        self.read(answer, asked.key)
    }

    /// Asks, for callers that cannot wait otherwise.
    pub(crate) fn ask_blocking(&self, asked: Asked) -> Verdict {
        let answer = self.remote.post_blocking(asked.body);
        self.read(answer, asked.key)
    }

    fn read(&self, answer: Result<Bytes, String>, key: Option<String>) -> Verdict {
        let parsed = answer.and_then(|body| typed::review(&body, self.version, "SubjectAccessReview"));
        let status = match parsed {
            Ok(mut review) => review.take(&["status"]).unwrap_or_default(),
            Err(error) => {
                tracing::warn!(error, "asking the authorization webhook");
                return self.failed(error);
            }
        };
        if let Some(key) = key {
            let allowed = flag(&status, "allowed");
            self.answers.put(key, status.clone(), if allowed { self.allow_for } else { self.deny_for });
        }
        verdict(&status)
    }

    fn failed(&self, error: String) -> Verdict {
        Verdict { opinion: self.on_error, reason: "".into(), error: Some(error.into()) }
    }
}

fn flag(status: &Value, field: &str) -> bool {
    status.get(field).and_then(Value::as_bool) == Some(true)
}

fn verdict(status: &Value) -> Verdict {
    let reason = status.str_at(&["reason"]).unwrap_or_default();
    match (flag(status, "denied"), flag(status, "allowed")) {
        (true, true) => Verdict {
            opinion: Opinion::Deny,
            reason: reason.into(),
            error: Some("webhook subject access review returned both allow and deny response".into()),
        },
        (true, false) => Verdict::new(Opinion::Deny, reason),
        (false, true) => Verdict::new(Opinion::Allow, reason),
        (false, false) => Verdict::new(Opinion::None, reason),
    }
}

/// The spec of the review.
fn spec(asked: &Attributes<'_>) -> Value {
    let mut spec = Value::object();
    if asked.is_resource {
        let mut attributes = Value::object();
        for (field, text) in [
            ("namespace", asked.namespace),
            ("verb", asked.verb),
            ("group", asked.group),
            ("version", asked.version),
            ("resource", asked.resource),
            ("subresource", asked.subresource),
            ("name", asked.name),
        ] {
            if !text.is_empty() {
                attributes.set(&[field], text);
            }
        }
        let selectors = [("fieldSelector", fields(asked)), ("labelSelector", labels(asked))];
        for (field, requirements) in selectors {
            if !requirements.is_empty() {
                attributes.set(&[field, "requirements"], requirements);
            }
        }
        spec.set(&["resourceAttributes"], attributes);
    } else {
        spec.set(&["nonResourceAttributes"], json!({"path": asked.path, "verb": asked.verb}));
    }
    let user = asked.user;
    if !user.name.is_empty() {
        spec.set(&["user"], user.name.as_str());
    }
    if !user.groups.is_empty() {
        spec.set(&["groups"], user.groups.clone());
    }
    if !user.extra.is_empty() {
        spec.set(&["extra"], crate::authentication::tokens::extra(user));
    }
    if !user.uid.is_empty() {
        spec.set(&["uid"], user.uid.as_str());
    }
    spec
}

fn fields(asked: &Attributes<'_>) -> Vec<Value> {
    let selector = FieldSelector::parse(asked.field_selector).unwrap_or_default();
    let one = |one: &pilothouse_value::selector::FieldRequirement| {
        let operator = if one.negated { "NotIn" } else { "In" };
        json!({"key": one.field.as_str(), "operator": operator, "values": vec![one.value.as_str()]})
    };
    selector.requirements.iter().map(one).collect()
}

fn labels(asked: &Attributes<'_>) -> Vec<Value> {
    let Ok(selector) = LabelSelector::parse(asked.label_selector) else { return Vec::new() };
    let one = |one: &pilothouse_value::selector::Requirement| {
        let operator = match one.operator {
            Operator::In => "In",
            Operator::NotIn => "NotIn",
            Operator::Exists => "Exists",
            Operator::DoesNotExist => "DoesNotExist",
            // The review knows no comparisons.
            Operator::GreaterThan | Operator::LessThan => return None,
        };
        let mut requirement = json!({"key": one.key.as_str(), "operator": operator});
        if !one.values.is_empty() {
            requirement.set(&["values"], one.values.clone());
        }
        Some(requirement)
    };
    selector.requirements.iter().filter_map(one).collect()
}
