//! May they? Whether a user may do what a request asks.
//!
//! This stage changes nothing.

use pilothouse_value::{Status, status};

use crate::state::{Authorization, State};
use crate::user::{MASTERS, User};

/// What a request asks, in the terms that rules are written in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// `get`, `list`, `create`, …
    pub(crate) verb: String,
    /// The API group of the resource.
    pub(crate) group: String,
    /// The plural name; empty for a path that names no resource.
    pub(crate) resource: String,
    /// The subresource; empty for the object itself.
    pub(crate) subresource: String,
    /// Empty at the cluster scope.
    pub(crate) namespace: String,
    /// Empty for all objects.
    pub(crate) name: String,
    /// The path, if it names no resource.
    pub(crate) path: String,
}

/// Lets a request pass, or not.
///
/// # Errors
/// 403 that says what the user may not do.
pub(crate) fn authorize(state: &State, user: &User, attributes: &Attributes) -> Result<(), Status> {
    if state.authorization == Authorization::AlwaysAllow || user.is_in(MASTERS) {
        return Ok(());
    }
    Err(refusal(user, attributes))
}

/// The 403 that Kubernetes answers.
pub(crate) fn refusal(user: &User, attributes: &Attributes) -> Status {
    let name = pilothouse_value::field::quote(&user.name);
    let verb = &attributes.verb;
    if attributes.resource.is_empty() {
        let path = pilothouse_value::field::quote(&attributes.path);
        return Status::new(403, "Forbidden", format!("forbidden: User {name} cannot {verb} path {path}"))
            .with_details(status::Details::default());
    }
    let resource = match attributes.subresource.as_str() {
        "" => attributes.resource.clone(),
        sub => format!("{}/{sub}", attributes.resource),
    };
    let scope = match attributes.namespace.as_str() {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {}", pilothouse_value::field::quote(namespace)),
    };
    let group = &attributes.group;
    let why = format!("User {name} cannot {verb} resource \"{resource}\" in API group \"{group}\" {scope}");
    Status::forbidden(group, &attributes.resource, &attributes.name, &why)
}
