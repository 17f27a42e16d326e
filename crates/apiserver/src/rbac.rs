//! May they? Role-based access control over the documents of `rbac.authorization.k8s.io`.
//!
//! Rules are compiled once for each state of those documents and looked up by subject, so a decision costs a few table
//! look-ups. Semantics and texts are those of kube-apiserver's RBAC authorizer; `system:masters` pass before any rule.

pub mod escalation;
pub mod reviews;
mod rules;
mod selectors;
mod source;

pub use rules::Rule;
pub use source::StoreRules;

use crate::user::{MASTERS, User};
use parking_lot::Mutex;
use pilothouse_value::{Status, Value, status::Details};
use rules::{Grant, Index};
use std::sync::Arc;

/// The kinds of documents that rules come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// `roles`
    Role,
    /// `rolebindings`
    RoleBinding,
    /// `clusterroles`
    ClusterRole,
    /// `clusterrolebindings`
    ClusterRoleBinding,
}

/// Where the documents are.
pub trait RuleSource: Send + Sync {
    /// A number that is another one whenever a document may have changed.
    fn stamp(&self) -> u64;
    /// All documents of a kind.
    fn documents(&self, kind: RuleKind) -> Vec<Arc<Value>>;
}

/// What is asked for. For a path that is no resource only `user`, `verb` and `path` count.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// Who asks.
    pub user: &'a User,
    /// The verb: `get`, `list`, … or for other paths the method in lower case.
    pub verb: &'a str,
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The version. Rules do not look at it.
    pub version: &'a str,
    /// The plural name of the resource.
    pub resource: &'a str,
    /// The subresource; empty for the object itself.
    pub subresource: &'a str,
    /// The name of the object; empty for all of them, and for a create.
    pub name: &'a str,
    /// The namespace; empty for the whole cluster.
    pub namespace: &'a str,
    /// The path, if this is no resource.
    pub path: &'a str,
    /// Whether a resource is asked for.
    pub is_resource: bool,
}

impl<'a> Attributes<'a> {
    /// A path that is no resource.
    pub fn of_path(user: &'a User, verb: &'a str, path: &'a str) -> Self {
        Attributes { path, is_resource: false, ..Self::of_resource(user, verb, "", "") }
    }

    /// A resource in the whole cluster; fill in the rest with struct update syntax.
    pub fn of_resource(user: &'a User, verb: &'a str, group: &'a str, resource: &'a str) -> Self {
        Attributes {
            user,
            verb,
            group,
            version: "*",
            resource,
            subresource: "",
            name: "",
            namespace: "",
            path: "",
            is_resource: true,
        }
    }
}

/// The answer, with the reason where one is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether they may.
    pub allowed: bool,
    /// Why, or what kept a rule from being found. Empty more often than not.
    pub reason: Arc<str>,
}

/// Decides over the rules of a source.
pub struct Authorizer {
    source: Box<dyn RuleSource>,
    compiled: Mutex<Option<(u64, Arc<Index>)>>,
    no_reason: Arc<str>,
}

impl std::fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authorizer").finish_non_exhaustive()
    }
}

impl Authorizer {
    /// An authorizer over these documents.
    pub fn new(source: impl RuleSource + 'static) -> Self {
        Self { source: Box::new(source), compiled: Mutex::new(None), no_reason: Arc::from("") }
    }

    fn index(&self) -> Arc<Index> {
        // The stamp is read before the documents: what changes in between is compiled again next time.
        let stamp = self.source.stamp();
        let mut compiled = self.compiled.lock();
        match &*compiled {
            Some((of, index)) if *of == stamp => index.clone(),
            _ => {
                let index = Arc::new(Index::compile(&*self.source));
                *compiled = Some((stamp, index.clone()));
                index
            }
        }
    }

    /// Whether the rules allow it. Without a rule the answer is no.
    pub fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        let allow = |reason| Decision { allowed: true, reason };
        if attributes.user.is_in(MASTERS) {
            return allow(self.no_reason.clone());
        }
        let index = self.index();
        let namespace = if attributes.is_resource { attributes.namespace } else { "" };
        let mut missing: Vec<&str> = Vec::new();
        for grant in index.grants(attributes.user, namespace) {
            match &grant.rules {
                Some(rules) if rules.iter().any(|rule| rule.allows(attributes)) => {
                    return allow(grant.reason.clone());
                }
                Some(_) => {}
                None if missing.contains(&&*grant.reason) => {}
                None => missing.push(&grant.reason),
            }
        }
        let reason = match missing.as_slice() {
            [] => self.no_reason.clone(),
            // Upstream says first which of its authorizers speaks, and then which part of that.
            [one] => Arc::from(format!("rbac: RBAC: {one}")),
            many => Arc::from(format!("rbac: RBAC: [{}]", many.join(", "))),
        };
        Decision { allowed: false, reason }
    }

    /// As [`Authorizer::authorize`], with the answer that a refused client gets.
    ///
    /// # Errors
    /// 403 with upstream's text.
    pub fn require(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let decision = self.authorize(attributes);
        if decision.allowed { Ok(()) } else { Err(forbidden(attributes, &decision.reason)) }
    }

    /// All rules that apply to a user in a namespace, and what kept more of them from being found.
    pub fn rules_for(&self, user: &User, namespace: &str) -> (Vec<Rule>, Vec<String>) {
        let index = self.index();
        let (mut rules, mut missing) = (Vec::new(), Vec::new());
        for Grant { rules: granted, reason } in index.grants(user, namespace) {
            match granted {
                Some(granted) => rules.extend(granted.iter().cloned()),
                None => missing.push(reason.to_string()),
            }
        }
        (rules, missing)
    }

    /// The rules of a role, for what binds it. Those of an aggregated role are put together.
    pub(crate) fn rules_of(&self, role_ref: &Value, namespace: &str) -> Option<Vec<Rule>> {
        self.index().role(role_ref, namespace).map(|rules| rules.to_vec())
    }
}

/// 403 as kube-apiserver words it: `pods "a" is forbidden: User "u" cannot get resource "pods" in API group "" in the
/// namespace "n"`.
pub fn forbidden(attributes: &Attributes<'_>, reason: &str) -> Status {
    let Attributes { user, verb, group, resource, subresource, name, namespace, path, .. } = *attributes;
    let user = &user.name;
    let mut text = if attributes.is_resource {
        let resource = match subresource {
            "" => resource.to_owned(),
            subresource => format!("{resource}/{subresource}"),
        };
        let scope = match namespace {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace {namespace:?}"),
        };
        format!("User {user:?} cannot {verb} resource {resource:?} in API group {group:?} {scope}")
    } else {
        format!("User {user:?} cannot {verb} path {path:?}")
    };
    // Browsers may show the text.
    text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    if !reason.is_empty() {
        text = format!("{text}: {reason}");
    }
    if attributes.is_resource {
        Status::forbidden(group, resource, name, &text)
    } else {
        Status::new(403, "Forbidden", format!("forbidden: {text}")).with_details(Details::default())
    }
}

/// A list of strings as Go's `%q` prints it.
pub(crate) fn quote_all(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("[{}]", words.join(" "))
}

#[cfg(test)]
mod tests;
