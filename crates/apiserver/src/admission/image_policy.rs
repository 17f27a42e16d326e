//! ImagePolicyWebhook: somebody outside says which images may run. Answers are kept for a while.

use std::time::Duration;

use pilothouse_value::{Status, Value, json, object};

use super::{Attributes, Operation};
use crate::webhook::{Kept, Remote, typed};

/// Who is asked, and what counts if nobody answers.
#[derive(Debug)]
pub(crate) struct ImagePolicy {
    remote: Remote,
    allow_for: Duration,
    deny_for: Duration,
    default_allow: bool,
    answers: Kept<Value>,
}

/// Answers that are kept.
const ANSWERS: usize = 1024;
const VERSION: &str = "imagepolicy.k8s.io/v1alpha1";
const AUDIT: &str = "imagepolicywebhook.image-policy.k8s.io/";

impl ImagePolicy {
    /// Reads `imagePolicy` of a configuration, and the kubeconfig that it names.
    ///
    /// # Errors
    /// If a time is out of bounds, or the kubeconfig cannot be used.
    pub(super) fn read(told: &Value) -> Result<ImagePolicy, String> {
        let told = told.get("imagePolicy").unwrap_or(told);
        let number = |field: &str| told.i64_at(&[field]).unwrap_or_default();
        let seconds = |field: &str, default: u64| duration(number(field), 1000, 1000, 30 * 60_000, default);
        let backoff = duration(number("retryBackoff"), 1, 1, 5 * 60_000, 500)?;
        Ok(ImagePolicy {
            remote: Remote::of_file(told.str_at(&["kubeConfigFile"]).unwrap_or_default())?.backoff(backoff),
            allow_for: seconds("allowTTL", 5 * 60_000)?,
            deny_for: seconds("denyTTL", 30_000)?,
            default_allow: told.get("defaultAllow").and_then(Value::as_bool).unwrap_or_default(),
            answers: Kept::new(ANSWERS),
        })
    }

    /// Asks about the images of a pod.
    ///
    /// # Errors
    /// 403 for images that may not run.
    pub(super) async fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
        let lists: &[&str] = match attributes.subresource() {
            "" => &["containers", "initContainers"],
            "ephemeralcontainers" => &["ephemeralContainers"],
            _ => return Ok(()),
        };
        let Some(pod) = attributes.object.as_ref() else { return Ok(()) };
        if !writes || !attributes.resource().is("", "pods") {
            return Ok(());
        }
        let containers = lists.iter().flat_map(|list| pod.items_at(&["spec", list]));
        let images: Vec<Value> = containers
            .map(|container| json!({"image": container.str_at(&["image"]).unwrap_or_default()}))
            .collect();
        let mut spec = json!({"namespace": attributes.namespace()});
        if !images.is_empty() {
            spec.set(&["containers"], images);
        }
        for (key, value) in object::annotations(pod).into_iter().flat_map(|all| all.iter()) {
            if key.contains(".image-policy.k8s.io/") {
                spec.set(&["annotations", key], value.clone());
            }
        }
        let status = match self.ask(&spec).await {
            Ok(status) => status,
            Err(_) if self.default_allow => {
                attributes.annotate(&format!("{AUDIT}failed-open"), "true");
                return Ok(());
            }
            Err((403, why)) => {
                // What says itself that it is forbidden is told as it is.
                let status = Status::new(403, "Forbidden", why.clone());
                return Err(status.with_cause("UnexpectedServerResponse", why, ""));
            }
            Err((_, why)) => return Err(attributes.forbidden(&why)),
        };
        let notes = status.get("auditAnnotations").and_then(Value::as_object);
        for (key, value) in notes.into_iter().flat_map(|notes| notes.iter()) {
            attributes.annotate(&format!("{AUDIT}{key}"), value.as_str().unwrap_or_default());
        }
        if status.get("allowed").and_then(Value::as_bool) == Some(true) {
            return Ok(());
        }
        match status.str_at(&["reason"]).filter(|reason| !reason.is_empty()) {
            Some(reason) => Err(attributes
                .forbidden(&format!("image policy webhook backend denied one or more images: {reason}"))),
            None => Err(attributes.forbidden("one or more images rejected by webhook backend")),
        }
    }

    /// What is said of a pod's images.
    ///
    /// # Errors
    /// Why nothing is, with the code of the answer.
    async fn ask(&self, spec: &Value) -> Result<Value, (u16, String)> {
        let key = spec.to_json();
        if let Some(status) = self.answers.get(&key) {
            return Ok(status);
        }
        let mut review = json!({"kind": "ImageReview", "apiVersion": VERSION});
        review.set(&["metadata"], Value::object());
        review.set(&["spec"], spec.clone());
        review.set(&["status", "allowed"], false);
        let answer = self.remote.post_or_code(review.to_json().into()).await?;
        let answer = typed::review(&answer, VERSION, "ImageReview").map_err(|why| (0, why))?;
        if let Some(wrong) = answer.at(&["status", "allowed"]).filter(|allowed| allowed.as_bool().is_none()) {
            return Err((0, typed::wrong(wrong, "ImageReviewStatus.status.allowed", "bool")));
        }
        let status = answer.get("status").cloned().unwrap_or_default();
        let allowed = status.get("allowed").and_then(Value::as_bool) == Some(true);
        self.answers.put(key, status.clone(), if allowed { self.allow_for } else { self.deny_for });
        Ok(status)
    }
}

/// A time of a configuration: -1 is none at all, 0 the default, and all others have bounds. Milliseconds, but `value`.
fn duration(value: i64, scale: u64, least: u64, most: u64, default: u64) -> Result<Duration, String> {
    match value {
        -1 => Ok(Duration::ZERO),
        0 => Ok(Duration::from_millis(default)),
        value => {
            let time = u64::try_from(value).ok().and_then(|value| value.checked_mul(scale));
            let time = time.filter(|time| (least..=most).contains(time));
            time.map(Duration::from_millis).ok_or_else(|| {
                format!("valid value is between {least}ms and {most}ms, got {value} times {scale}ms")
            })
        }
    }
}
