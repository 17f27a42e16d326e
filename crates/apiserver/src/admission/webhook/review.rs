//! The question that a webhook is asked and the answer that it gives: `AdmissionReview`, in the versions v1 and v1beta1.

use bytes::Bytes;
use pilothouse_value::status::{Cause, Details};
use pilothouse_value::{Gvk, Status, Value, field, json, object};

use super::config::ReviewVersion;
use super::typed;
use crate::admission::Attributes;
use crate::authentication::user::User;
use crate::registry::resource::Resource;
use crate::request::intake;

impl ReviewVersion {
    fn name(self) -> &'static str {
        match self {
            ReviewVersion::V1 => "v1",
            ReviewVersion::V1Beta1 => "v1beta1",
        }
    }
}

/// What a review is about. The documents are borrowed: they are written once and never copied.
#[derive(Debug)]
pub(super) struct Review<'a> {
    pub(super) attributes: &'a Attributes<'a>,
    /// The version that the webhook wants to see.
    pub(super) resource: &'a Resource,
    pub(super) object: Option<&'a Value>,
    pub(super) old: Option<&'a Value>,
}

impl Review<'_> {
    /// Writes it.
    pub(super) fn write(&self, version: ReviewVersion, uid: &str) -> Bytes {
        let mut out = Vec::with_capacity(2048);
        let head = format!(
            r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/{}","request":"#,
            version.name()
        );
        out.extend_from_slice(head.as_bytes());
        let mut request = request(self.attributes, self.resource);
        let mut about = json!({"uid": uid});
        if let (Some(about), Some(request)) = (about.as_object_mut(), request.as_object_mut()) {
            for (key, value) in request.iter_mut() {
                about.insert(key, std::mem::take(value));
            }
        }
        about.write_json(&mut out);
        // The documents go on in the object that was just closed.
        out.pop();
        let mut part = |name: &str, value: Option<&Value>| {
            out.extend_from_slice(name.as_bytes());
            match value {
                Some(value) => value.write_json(&mut out),
                None => out.extend_from_slice(b"null"),
            }
        };
        part(r#","object":"#, self.object);
        part(r#","oldObject":"#, self.old);
        part(r#","dryRun":"#, Some(&self.attributes.dry_run().into()));
        part(r#","options":"#, self.attributes.options_document().as_ref());
        out.extend_from_slice(b"}}");
        out.into()
    }
}

/// The request without its documents: what reviews and conditions are told.
pub(in crate::admission) fn request(attributes: &Attributes<'_>, resource: &Resource) -> Value {
    let own = attributes.resource();
    let sub = attributes.subresource();
    let kind_of = |resource: &Resource| match resource.subresource(sub) {
        Some(sub) => Gvk::new(&*sub.group, &*sub.version, &*sub.kind),
        None => resource.gvk(),
    };
    let kind = |gvk: &Gvk| json!({"group": gvk.group.as_str(), "version": gvk.version.as_str(), "kind": gvk.kind.as_str()});
    let plural = |resource: &Resource| {
        json!({
            "group": resource.group.as_str(), "version": resource.version.as_str(),
            "resource": resource.plural.as_str(),
        })
    };
    let mut request = json!({"kind": kind(&kind_of(resource)), "resource": plural(resource)});
    let unless_empty = |key: &str, text: &str, request: &mut Value| {
        if !text.is_empty() {
            request.set(&[key], text);
        }
    };
    unless_empty("subResource", sub, &mut request);
    request.set(&["requestKind"], kind(&attributes.kind()));
    request.set(&["requestResource"], plural(own));
    unless_empty("requestSubResource", sub, &mut request);
    unless_empty("name", &attributes.name, &mut request);
    unless_empty("namespace", attributes.namespace(), &mut request);
    request.set(&["operation"], attributes.operation.as_str());
    request.set(&["userInfo"], user_info(attributes.user()));
    request
}

fn user_info(user: &User) -> Value {
    let mut info = json!({"username": user.name.as_str()});
    if !user.uid.is_empty() {
        info.set(&["uid"], user.uid.as_str());
    }
    if !user.groups.is_empty() {
        info.set(&["groups"], user.groups.clone());
    }
    for (key, values) in &user.extra {
        info.set(&["extra", key.as_str()], values.clone());
    }
    info
}

/// What a webhook answered.
#[derive(Debug, Default)]
pub(super) struct Response {
    pub(super) allowed: bool,
    pub(super) patch: Vec<u8>,
    pub(super) patch_type: String,
    pub(super) audit_annotations: Vec<(String, String)>,
    pub(super) warnings: Vec<String>,
    /// `status`, a document of the kind `Status`.
    result: Option<Value>,
}

/// Reads the text of an answer.
///
/// # Errors
/// What client-go says of a text that is no `AdmissionReview` of this version.
pub(super) fn read(version: ReviewVersion, bytes: &[u8]) -> Result<Value, String> {
    let review = intake::read_answer(bytes)?;
    let (api_version, kind) = (object::api_version(&review), object::kind(&review));
    let expected = format!("admission.k8s.io/{}", version.name());
    if !kind.is_empty() && kind != "AdmissionReview" {
        return Err(format!(
            "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
            field::quote(kind),
            field::quote(if api_version.is_empty() { &expected } else { api_version })
        ));
    }
    if !api_version.is_empty() && api_version != expected {
        return Err(match api_version.strip_prefix("admission.k8s.io/") {
            Some(other @ ("v1" | "v1beta1")) => {
                let version = version.name();
                format!(
                    "converting ({other}.AdmissionReview) to ({version}.AdmissionReview): unknown conversion"
                )
            }
            _ => format!(
                "no kind \"AdmissionReview\" is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
                field::quote(api_version)
            ),
        });
    }
    typed::check(version.name(), &review)?;
    Ok(review)
}

/// Checks an answer and takes it apart.
///
/// # Errors
/// What is wrong with it.
pub(super) fn verify(
    version: ReviewVersion,
    uid: &str,
    mutating: bool,
    review: Value,
) -> Result<Response, String> {
    let Some(response) = review.get("response").filter(|response| response.as_object().is_some()) else {
        return Err("webhook response was absent".into());
    };
    let text = |key: &str| response.str_at(&[key]);
    let patch = match text("patch") {
        Some(patch) => typed::patch(patch)?,
        None => Vec::new(),
    };
    let mut read = Response {
        allowed: response.get("allowed").and_then(Value::as_bool).unwrap_or_default(),
        audit_annotations: response
            .at(&["auditAnnotations"])
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|map| map.iter())
            .filter_map(|(key, value)| Some((key.to_owned(), value.as_str()?.to_owned())))
            .collect(),
        warnings: response
            .items_at(&["warnings"])
            .iter()
            .filter_map(|warning| warning.as_str().map(str::to_owned))
            .collect(),
        result: response.get("status").filter(|status| status.as_object().is_some()).cloned(),
        ..Response::default()
    };
    if version == ReviewVersion::V1Beta1 {
        // This version never looked at the uid, nor at the type of the patch.
        if mutating && !patch.is_empty() {
            read.patch = patch;
            read.patch_type = "JSONPatch".into();
        }
        return Ok(read);
    }
    let given = text("uid").unwrap_or_default();
    if given != uid {
        return Err(format!("expected response.uid={}, got {}", field::quote(uid), field::quote(given)));
    }
    let (api_version, kind) = (object::api_version(&review), object::kind(&review));
    if api_version.is_empty() || kind.is_empty() {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        return Err(format!(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {group}/{version}, Kind={kind}"
        ));
    }
    let patch_type = text("patchType");
    match (mutating, patch.is_empty(), patch_type) {
        (true, false, None) => Err("webhook returned response.patch but not response.patchType".into()),
        (true, true, Some(_)) => Err("webhook returned response.patchType but not response.patch".into()),
        (true, _, Some("")) => Err("webhook returned invalid response.patchType of \"\"".into()),
        (false, false, _) => Err("validating webhook may not return response.patch".into()),
        (false, _, Some(_)) => Err("validating webhook may not return response.patchType".into()),
        _ => {
            read.patch = patch;
            read.patch_type = patch_type.unwrap_or_default().to_owned();
            Ok(read)
        }
    }
}

impl Response {
    /// What the client is told of a request that a webhook does not let in.
    pub(super) fn denial(&self, webhook: &str) -> Status {
        let empty = Value::object();
        let result = self.result.as_ref().unwrap_or(&empty);
        let text = |key: &str| result.str_at(&[key]).unwrap_or_default();
        let (message, reason) = (text("message"), text("reason"));
        let by = format!("admission webhook {} denied the request", field::quote(webhook));
        let message = match (message, reason) {
            ("", "") => format!("{by} without explanation"),
            ("", reason) => format!("{by}: {reason}"),
            (message, _) => format!("{by}: {message}"),
        };
        let code = result.i64_at(&["code"]).and_then(|code| u16::try_from(code).ok()).unwrap_or_default();
        // Whatever it says, a denial is no success.
        let mut status = Status::new(code.clamp(400, 999), reason, message);
        if let Some(details) = result.get("details").filter(|details| details.as_object().is_some()) {
            status = status.with_details(self::details(details));
        }
        status
    }
}

fn details(value: &Value) -> Details {
    let text = |value: &Value, key: &str| value.str_at(&[key]).unwrap_or_default().to_owned();
    let cause = |cause: &Value| Cause {
        reason: text(cause, "reason"),
        message: text(cause, "message"),
        field: text(cause, "field"),
    };
    let seconds = value.i64_at(&["retryAfterSeconds"]).and_then(|seconds| u32::try_from(seconds).ok());
    Details {
        name: text(value, "name"),
        group: text(value, "group"),
        kind: text(value, "kind"),
        uid: text(value, "uid"),
        causes: value.items_at(&["causes"]).iter().map(cause).collect(),
        retry_after_seconds: seconds.unwrap_or_default(),
    }
}
