//! May they? Whether a user may do what a request asks, as the server's mode says; the rules are [`rbac`](crate::rbac)'s.
//!
//! This stage changes nothing.

use std::sync::Arc;

use pilothouse_value::{Status, Value, json};

use crate::rbac::{Attributes, RuleKind, RuleSource, escalation};
use crate::resource::Resource;
use crate::state::{Authorization, Context, State};
use crate::user::{AUTHENTICATED, UNAUTHENTICATED};

/// Lets a request pass, or not.
///
/// # Errors
/// 403 that says what the user may not do.
pub(crate) fn authorize(state: &State, asked: &Attributes<'_>) -> Result<(), Status> {
    match state.authorization {
        Authorization::AlwaysAllow => Ok(()),
        Authorization::Rbac => state.authorizer.require(asked),
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

/// The rules of a server that lets everyone do everything: reviews and `kubectl auth can-i` read them too.
#[derive(Debug)]
pub(crate) struct AllowAll;

impl RuleSource for AllowAll {
    fn stamp(&self) -> u64 {
        0
    }

    fn documents(&self, kind: RuleKind) -> Vec<Arc<Value>> {
        let document = match kind {
            RuleKind::ClusterRole => json!({
                "metadata": {"name": "everything"},
                "rules": [
                    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
                    {"nonResourceURLs": ["*"], "verbs": ["*"]},
                ],
            }),
            RuleKind::ClusterRoleBinding => json!({
                "metadata": {"name": "everyone"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "everything"},
                "subjects": [
                    {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": AUTHENTICATED},
                    {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": UNAUTHENTICATED},
                ],
            }),
            RuleKind::Role | RuleKind::RoleBinding => return Vec::new(),
        };
        vec![Arc::new(document)]
    }
}
