//! The `Status` object: what every failed request answers, with the codes, reasons and texts of apimachinery's
//! `api/errors`.

use std::collections::HashSet;
use std::fmt;

use crate::{Value, field, json};

/// How much text a failure has at most for all the fields that are wrong, in bytes: more would tell nobody more. An error may show
/// what was sent, or what is allowed, and there may be one for each of many thousand fields.
const MOST_TOLD: usize = 4 << 20;

/// Why a request failed, as metav1.Status says it.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The HTTP code.
    pub code: u16,
    /// The machine-readable reason, such as `NotFound`; empty where upstream leaves it empty.
    pub reason: String,
    /// The text for people.
    pub message: String,
    /// What the failure is about; boxed because most statuses carry none.
    pub details: Option<Box<Details>>,
    /// The token with which a list goes on whose own token has expired.
    pub continue_token: Option<Box<str>>,
}

/// The `details` of a [`Status`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// The object's name.
    pub name: String,
    /// The API group.
    pub group: String,
    /// The resource in plural, or for `Invalid` the kind.
    pub kind: String,
    /// The object's uid.
    pub uid: String,
    /// One entry for each field or conflict.
    pub causes: Vec<Cause>,
    /// When to try again, in seconds; 0 says nothing.
    pub retry_after_seconds: u32,
}

/// One cause in the details of a [`Status`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cause {
    /// The reason, such as `FieldValueRequired`.
    pub reason: String,
    /// The text.
    pub message: String,
    /// The field.
    pub field: String,
}

impl Status {
    /// A failure with code, reason and text.
    pub fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self { code, reason: reason.to_owned(), message: message.into(), details: None, continue_token: None }
    }

    /// The same failure with details.
    #[must_use]
    pub fn with_details(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// The same failure with one more cause.
    #[must_use]
    pub fn with_cause(mut self, reason: &str, message: impl Into<String>, field: &str) -> Self {
        let cause = Cause { reason: reason.to_owned(), message: message.into(), field: field.to_owned() };
        self.details.get_or_insert_default().causes.push(cause);
        self
    }

    /// The same failure with a hint when to try again, in seconds.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u32) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = seconds;
        self
    }

    fn about(self, group: &str, kind: &str, name: &str) -> Self {
        self.with_details(Details {
            name: name.into(),
            group: group.into(),
            kind: kind.into(),
            ..Details::default()
        })
    }

    /// 404: there is no such object.
    pub fn not_found(group: &str, resource: &str, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} {} not found", qualified(group, resource), field::quote(name)))
            .about(group, resource, name)
    }

    /// 404 for a path that names nothing.
    pub fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
            .with_details(Details::default())
    }

    /// 409: an object of this name is there.
    pub fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        Self::new(
            409,
            "AlreadyExists",
            format!("{} {} already exists", qualified(group, resource), field::quote(name)),
        )
        .about(group, resource, name)
    }

    /// 409: the write does not fit what is stored.
    pub fn conflict(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let what = qualified(group, resource);
        Self::new(
            409,
            "Conflict",
            format!("Operation cannot be fulfilled on {what} {}: {why}", field::quote(name)),
        )
        .about(group, resource, name)
    }

    /// 409: the resource version given is not the stored one.
    pub fn modified(group: &str, resource: &str, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(group, resource, name, why)
    }

    /// 422: the object breaks rules of its kind.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[field::Error]) -> Self {
        let (mut all, mut causes, mut told) = (String::new(), Vec::new(), HashSet::new());
        for error in errors {
            let (message, field) = (error.body(), error.path.to_string());
            let text = format!("{field}: {message}");
            if all.len() + text.len() > MOST_TOLD && !all.is_empty() {
                break;
            }
            causes.push(Cause { reason: error.kind.reason().into(), message, field });
            // An aggregate names the same error once.
            if told.contains(&text) {
                continue;
            }
            if !all.is_empty() {
                all.push_str(", ");
            }
            all.push_str(&text);
            told.insert(text);
        }
        if told.len() != 1 {
            all = format!("[{all}]");
        }
        let message = format!("{} {} is invalid: {all}", qualified(group, kind), field::quote(name));
        Self::new(422, "Invalid", message).with_details(Details {
            name: name.into(),
            group: group.into(),
            kind: kind.into(),
            causes,
            ..Details::default()
        })
    }

    /// 403 for a named object (or an empty name).
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let what = qualified(group, resource);
        let message = if name.is_empty() {
            format!("{what} is forbidden: {why}")
        } else {
            format!("{what} {} is forbidden: {why}", field::quote(name))
        };
        Self::new(403, "Forbidden", message).about(group, resource, name)
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 401.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 405 for a resource that does not know this verb.
    pub fn method_not_allowed(group: &str, resource: &str, verb: &str) -> Self {
        let message = format!(
            "{verb} is not supported on resources of kind {}",
            field::quote(&qualified(group, resource))
        );
        Self::new(405, "MethodNotAllowed", message).about(group, resource, "")
    }

    /// 406.
    pub fn not_acceptable(accepted: &[&str]) -> Self {
        Self::new(
            406,
            "NotAcceptable",
            format!("only the following media types are accepted: {}", accepted.join(", ")),
        )
    }

    /// 415.
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let list = accepted.join(", ");
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {list}"
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 410: what was asked for is no longer in the history.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 413.
    pub fn too_large(limit_bytes: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit_bytes}");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// 429 with a hint when to try again.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::new(429, "TooManyRequests", message).with_retry_after(retry_after_seconds)
    }

    /// 500.
    pub fn internal(message: impl fmt::Display) -> Self {
        let text = message.to_string();
        Self::new(500, "InternalError", format!("Internal error occurred: {text}")).with_cause("", text, "")
    }

    /// 501: this server does not do that (yet); the text says what.
    pub fn not_implemented(message: impl Into<String>) -> Self {
        Self::new(501, "NotImplemented", message)
    }

    /// 503.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(503, "ServiceUnavailable", message)
    }

    /// 504.
    pub fn timeout(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::new(504, "Timeout", message).with_retry_after(retry_after_seconds)
    }

    /// Whether this is a 404.
    pub const fn is_not_found(&self) -> bool {
        self.code == 404
    }

    /// Whether this is a 409 with reason `Conflict`.
    pub fn is_conflict(&self) -> bool {
        self.code == 409 && self.reason == "Conflict"
    }

    /// Whether this is a 409 with reason `AlreadyExists`.
    pub fn is_already_exists(&self) -> bool {
        self.code == 409 && self.reason == "AlreadyExists"
    }

    /// The object that goes over the wire.
    pub fn to_value(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "code": self.code,
        });
        if !self.message.is_empty() {
            status.set(&["message"], self.message.as_str());
        }
        if !self.reason.is_empty() {
            status.set(&["reason"], self.reason.as_str());
        }
        if let Some(details) = &self.details {
            status.set(&["details"], details.to_value());
        }
        if let Some(token) = &self.continue_token {
            status.set(&["metadata", "continue"], &**token);
        }
        status
    }
}

impl Details {
    fn to_value(&self) -> Value {
        let mut out = Value::object();
        for (key, text) in
            [("name", &self.name), ("group", &self.group), ("kind", &self.kind), ("uid", &self.uid)]
        {
            if !text.is_empty() {
                out.set(&[key], text.as_str());
            }
        }
        if !self.causes.is_empty() {
            out.set(&["causes"], self.causes.iter().map(Cause::to_value).collect::<Value>());
        }
        if self.retry_after_seconds > 0 {
            out.set(&["retryAfterSeconds"], self.retry_after_seconds);
        }
        out
    }
}

impl Cause {
    fn to_value(&self) -> Value {
        let mut out = Value::object();
        for (key, text) in [("reason", &self.reason), ("message", &self.message), ("field", &self.field)] {
            if !text.is_empty() {
                out.set(&[key], text.as_str());
            }
        }
        out
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

/// `resource.group`, or just the resource for the core group, as messages name it.
pub fn qualified(group: &str, resource: &str) -> String {
    if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") }
}
