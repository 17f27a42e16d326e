//! May they? Whether a user may do what a request asks, as the server's mode says; the rules are [`rbac`](crate::authorization::rbac)'s.
//!
//! This stage changes nothing.

use std::sync::Arc;

use pilothouse_value::{Status, Value};

use crate::audit::Notes;
use crate::authorization::rbac::{self, Attributes, escalation};
use crate::registry::resource::Resource;
use crate::state::{Context, State};

/// Why a request does not pass.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Nobody says that they may: 403 that says what.
    Forbidden(Status),
    /// It could not be found out.
    Failed(Arc<str>),
}

/// Lets a request pass, or not; the audit log is to say why.
///
/// # Errors
/// If the user may not, or nobody could say.
pub(crate) async fn authorize(
    state: &State,
    asked: &Attributes<'_>,
    notes: Option<&Notes>,
) -> Result<(), Refusal> {
    let decision = state.authorizer.authorize_async(asked).await;
    if let Some(notes) = notes {
        let unsure = !decision.allowed && decision.error.is_some();
        if !unsure {
            notes
                .annotate("authorization.k8s.io/decision", if decision.allowed { "allow" } else { "forbid" });
        }
        notes.annotate(
            "authorization.k8s.io/reason",
            if unsure { "internal error" } else { &decision.reason },
        );
    }
    match decision.error {
        _ if decision.allowed => Ok(()),
        Some(error) => Err(Refusal::Failed(error)),
        None => Err(Refusal::Forbidden(rbac::forbidden(asked, &decision.reason))),
    }
}

/// Lets a write of a role or binding pass only if the user has all that it grants.
///
/// # Errors
/// 403 that lists what the user does not have.
pub(crate) fn may_grant(
    context: &Context,
    resource: &Resource,
    new: &Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    let names = (resource.group.as_str(), resource.plural.as_str());
    escalation::check(&context.state.authorizer, &context.user, names, new, old)
}
