//! May they? Whether a user may do what a request asks, as the server's mode says; the rules are [`rbac`](crate::rbac)'s.
//!
//! This stage changes nothing.

use std::sync::Arc;

use pilothouse_value::{Status, Value, json};

use crate::rbac::{self, RuleKind, RuleSource, escalation};
use crate::resource::Resource;
use crate::state::{Authorization, Context, State};
use crate::user::{AUTHENTICATED, UNAUTHENTICATED, User};

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
    if state.authorization == Authorization::AlwaysAllow {
        return Ok(());
    }
    let asked = if attributes.resource.is_empty() {
        rbac::Attributes::of_path(user, &attributes.verb, &attributes.path)
    } else {
        rbac::Attributes {
            subresource: &attributes.subresource,
            name: &attributes.name,
            namespace: &attributes.namespace,
            ..rbac::Attributes::of_resource(user, &attributes.verb, &attributes.group, &attributes.resource)
        }
    };
    state.authorizer.require(&asked)
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
