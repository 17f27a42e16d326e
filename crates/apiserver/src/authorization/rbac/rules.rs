//! Rules in the form in which they are matched, found by who they apply to.

use super::{Attributes, RuleKind, RuleSource};
use crate::authentication::user::User;
use pilothouse_value::field::quote;
use pilothouse_value::{Value, object, selector::LabelSelector};
use std::collections::HashMap;
use std::sync::Arc;

/// A `PolicyRule`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// `verbs`
    pub verbs: Vec<String>,
    /// `apiGroups`
    pub groups: Vec<String>,
    /// `resources`
    pub resources: Vec<String>,
    /// `resourceNames`; empty for any.
    pub names: Vec<String>,
    /// `nonResourceURLs`
    pub urls: Vec<String>,
}

impl Rule {
    /// Reads a rule; what is missing or of another type is empty.
    pub fn read(rule: &Value) -> Self {
        let words = |field: &str| {
            let words = rule.items_at(&[field]).iter();
            words.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            verbs: words("verbs"),
            groups: words("apiGroups"),
            resources: words("resources"),
            names: words("resourceNames"),
            urls: words("nonResourceURLs"),
        }
    }

    /// Reads the rules of a role.
    pub fn read_all(role: &Value) -> Vec<Self> {
        role.items_at(&["rules"]).iter().map(Self::read).collect()
    }

    /// Whether the rule allows it.
    pub fn allows(&self, asked: &Attributes<'_>) -> bool {
        if !has(&self.verbs, asked.verb) {
            return false;
        }
        if !asked.is_resource {
            return self.urls.iter().any(|url| covers_url(url, asked.path));
        }
        has(&self.groups, asked.group)
            && self.resources.iter().any(|rule| covers_resource(rule, asked.resource, asked.subresource))
            && (self.names.is_empty() || self.names.iter().any(|name| name == asked.name))
    }
}

/// Whether a list of words has the word or `*`.
pub(super) fn has(words: &[String], wanted: &str) -> bool {
    words.iter().any(|word| word == "*" || word == wanted)
}

pub(super) fn covers_url(rule: &str, path: &str) -> bool {
    rule == "*" || rule == path || rule.strip_suffix('*').is_some_and(|prefix| path.starts_with(prefix))
}

/// `pods` covers pods, `pods/log` their log, `*/log` the log of anything, `*` all of it.
pub(super) fn covers_resource(rule: &str, resource: &str, subresource: &str) -> bool {
    match rule.split_once('/') {
        None => rule == "*" || (subresource.is_empty() && rule == resource),
        Some((rule_resource, rule_subresource)) => {
            !subresource.is_empty()
                && rule_subresource == subresource
                && (rule_resource == "*" || rule_resource == resource)
        }
    }
}

/// What one binding gives to one subject.
#[derive(Debug)]
pub(super) struct Grant {
    /// `None`: the binding names a role that is not there.
    pub(super) rules: Option<Arc<[Rule]>>,
    /// Why the rules apply, or which role is missing.
    pub(super) reason: Arc<str>,
}

/// Grants by user and by group.
#[derive(Debug, Default)]
struct Grants {
    users: HashMap<String, Vec<Grant>>,
    groups: HashMap<String, Vec<Grant>>,
}

/// All grants of one state of the documents.
#[derive(Debug, Default)]
pub(super) struct Index {
    everywhere: Grants,
    by_namespace: HashMap<String, Grants>,
    cluster_roles: HashMap<String, Arc<[Rule]>>,
    roles: HashMap<(String, String), Arc<[Rule]>>,
}

impl Index {
    pub(super) fn compile(source: &dyn RuleSource) -> Self {
        let mut index = Self { cluster_roles: cluster_roles(source), ..Self::default() };
        for role in source.documents(RuleKind::Role) {
            let key =
                (object::namespace(&role).unwrap_or_default().to_owned(), object::name(&role).to_owned());
            index.roles.insert(key, Rule::read_all(&role).into());
        }
        for binding in source.documents(RuleKind::ClusterRoleBinding) {
            let grants = index.grants_of(&binding, "");
            index.everywhere.extend(grants);
        }
        for binding in source.documents(RuleKind::RoleBinding) {
            let namespace = object::namespace(&binding).unwrap_or_default();
            let grants = index.grants_of(&binding, namespace);
            index.by_namespace.entry(namespace.to_owned()).or_default().extend(grants);
        }
        index
    }

    /// The rules of the role that a `roleRef` in this namespace means.
    pub(super) fn role(&self, role_ref: &Value, namespace: &str) -> Option<Arc<[Rule]>> {
        let name = role_ref.str_at(&["name"]).unwrap_or_default();
        match role_ref.str_at(&["kind"]) {
            Some("ClusterRole") => self.cluster_roles.get(name).cloned(),
            Some("Role") => self.roles.get(&(namespace.to_owned(), name.to_owned())).cloned(),
            _ => None,
        }
    }

    /// Everything that applies to a user: what holds everywhere first.
    pub(super) fn grants<'a>(&'a self, user: &'a User, namespace: &str) -> impl Iterator<Item = &'a Grant> {
        let local = if namespace.is_empty() { None } else { self.by_namespace.get(namespace) };
        std::iter::once(&self.everywhere).chain(local).flat_map(move |grants| {
            let own = grants.users.get(&user.name);
            own.into_iter().chain(user.groups.iter().filter_map(|group| grants.groups.get(group))).flatten()
        })
    }

    fn grants_of(&self, binding: &Value, namespace: &str) -> Vec<(Subject, Grant)> {
        let none = Value::Null;
        let role_ref = binding.get("roleRef").unwrap_or(&none);
        let rules = self.role(role_ref, namespace);
        let (kind, name) = (role_ref.str_at(&["kind"]), role_ref.str_at(&["name"]).unwrap_or_default());
        let kind = kind.unwrap_or_default();
        let source = match namespace {
            "" => format!("ClusterRoleBinding {}", quote(object::name(binding))),
            namespace => format!("RoleBinding {}", quote(&format!("{}/{namespace}", object::name(binding)))),
        };
        let subjects = binding.items_at(&["subjects"]).iter();
        let name = quote(name);
        subjects
            .filter_map(|subject| Subject::read(subject, namespace))
            .map(|(subject, text)| {
                let reason = match &rules {
                    Some(_) => format!("RBAC: allowed by {source} of {kind} {name} to {text}"),
                    None => format!("{}.rbac.authorization.k8s.io {name} not found", kind.to_lowercase()),
                };
                (subject, Grant { rules: rules.clone(), reason: reason.into() })
            })
            .collect()
    }
}

enum Subject {
    User(String),
    Group(String),
}

impl Subject {
    /// Who a subject is, and how reasons print it.
    fn read(subject: &Value, binding_namespace: &str) -> Option<(Self, String)> {
        let kind = subject.str_at(&["kind"])?;
        let name = subject.str_at(&["name"])?;
        Some(match kind {
            "User" => (Self::User(name.to_owned()), format!("User {}", quote(name))),
            "Group" => (Self::Group(name.to_owned()), format!("Group {}", quote(name))),
            "ServiceAccount" => {
                let own = subject.str_at(&["namespace"]).filter(|namespace| !namespace.is_empty());
                let namespace = own.unwrap_or(binding_namespace);
                if namespace.is_empty() {
                    return None;
                }
                let user = format!("system:serviceaccount:{namespace}:{name}");
                (Self::User(user), format!("ServiceAccount {}", quote(&format!("{name}/{namespace}"))))
            }
            _ => return None,
        })
    }
}

impl Grants {
    fn extend(&mut self, grants: Vec<(Subject, Grant)>) {
        for (subject, grant) in grants {
            match subject {
                Subject::User(name) => self.users.entry(name).or_default().push(grant),
                Subject::Group(name) => self.groups.entry(name).or_default().push(grant),
            }
        }
    }
}

/// The rules of all cluster roles. A role with an aggregation rule has those of all roles that its selectors match.
fn cluster_roles(source: &dyn RuleSource) -> HashMap<String, Arc<[Rule]>> {
    let documents = source.documents(RuleKind::ClusterRole);
    let plain: Vec<(&Value, Vec<Rule>)> =
        documents.iter().map(|role| (&**role, Rule::read_all(role))).collect();
    let mut roles = HashMap::with_capacity(plain.len());
    let mut aggregated: Vec<(&str, Vec<LabelSelector>)> = Vec::new();
    for (role, rules) in &plain {
        let selectors = role.items_at(&["aggregationRule", "clusterRoleSelectors"]);
        if selectors.is_empty() {
            roles.insert(object::name(role).to_owned(), Arc::from(rules.as_slice()));
        } else {
            let selectors = selectors.iter().filter_map(|selector| LabelSelector::from_object(selector).ok());
            aggregated.push((object::name(role), selectors.collect()));
        }
    }
    // An aggregated role may be part of another one (`view` of `edit` of `admin`): put them together until nothing is
    // added any more, at most once for each role, so that a circle ends.
    for _ in 0..aggregated.len() {
        let mut changed = false;
        for (name, selectors) in &aggregated {
            let mut rules: Vec<Rule> = Vec::new();
            for (role, _) in &plain {
                let labels = object::labels(role);
                let other = object::name(role);
                if other != *name && selectors.iter().any(|selector| selector.matches(labels)) {
                    let known =
                        roles.get(other).map(|rules: &Arc<[Rule]>| rules.to_vec()).unwrap_or_default();
                    for rule in known {
                        if !rules.contains(&rule) {
                            rules.push(rule);
                        }
                    }
                }
            }
            if roles.get(*name).is_none_or(|before| **before != *rules) {
                roles.insert((*name).to_owned(), Arc::from(rules));
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    roles
}
