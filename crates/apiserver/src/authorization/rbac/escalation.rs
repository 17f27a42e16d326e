//! Nobody gives away more than they have: the check on writes of roles and bindings.

use super::rules::{covers_resource, covers_url, has};
use super::{Attributes, Authorizer, Rule, quote_all};
use crate::authentication::user::User;
use pilothouse_value::field::quote;
use pilothouse_value::{Status, Value, object};
use std::collections::{BTreeMap, BTreeSet};

const GROUP: &str = "rbac.authorization.k8s.io";
/// What a role can grant grows with the product of its lists. Nothing that people write comes near this.
const MAX_COMBINATIONS: usize = 100_000;

/// Checks a write of a role or binding; any other resource passes. `old` is the object before an update: who only takes
/// finalizers or owners off a role, as the garbage collector does, need not have what it grants.
///
/// # Errors
/// See [`check_role`] and [`check_binding`].
pub fn check(
    authorizer: &Authorizer,
    user: &User,
    (group, plural): (&str, &str),
    new: &Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    let check = match (group, plural) {
        (GROUP, "roles" | "clusterroles") => check_role,
        (GROUP, "rolebindings" | "clusterrolebindings") => check_binding,
        _ => return Ok(()),
    };
    let content = |object: &Value| {
        let mut content = object.clone();
        for field in ["finalizers", "ownerReferences", "managedFields", "resourceVersion"] {
            content.take(&["metadata", field]);
        }
        content
    };
    if old.is_some_and(|old| content(old) == content(new)) {
        return Ok(());
    }
    check(authorizer, user, plural, new)
}

/// Whether `user` may write this Role or ClusterRole (`plural`): they must have all that it allows, or the verb `escalate`.
///
/// # Errors
/// 403 that lists what they do not have.
pub fn check_role(authorizer: &Authorizer, user: &User, plural: &str, role: &Value) -> Result<(), Status> {
    let namespace = object::namespace(role).unwrap_or_default();
    let name = object::name(role);
    let asked = Attributes { name, namespace, ..Attributes::of_resource(user, "escalate", GROUP, plural) };
    if authorizer.authorize(&asked).allowed {
        return Ok(());
    }
    let refuse = |why: &str| Err(Status::forbidden(GROUP, plural, name, why));
    if let Some(missing) = missing(authorizer, user, namespace, &Rule::read_all(role)) {
        return refuse(&missing);
    }
    if !role.items_at(&["aggregationRule", "clusterRoleSelectors"]).is_empty() {
        let all = || vec!["*".to_owned()];
        let everything = [
            Rule { verbs: all(), groups: all(), resources: all(), ..Rule::default() },
            Rule { verbs: all(), urls: all(), ..Rule::default() },
        ];
        if missing(authorizer, user, namespace, &everything).is_some() {
            return refuse("must have cluster-admin privileges to use the aggregationRule");
        }
    }
    Ok(())
}

/// Whether `user` may write this RoleBinding or ClusterRoleBinding (`plural`): they must have all that the role allows,
/// or the verb `bind` on it.
///
/// # Errors
/// 403 that lists what they do not have; 404 if the role is not there.
pub fn check_binding(
    authorizer: &Authorizer,
    user: &User,
    plural: &str,
    binding: &Value,
) -> Result<(), Status> {
    let none = Value::Null;
    let role_ref = binding.get("roleRef").unwrap_or(&none);
    let namespace = object::namespace(binding).unwrap_or_default();
    let role_name = role_ref.str_at(&["name"]).unwrap_or_default();
    let role_plural = match role_ref.str_at(&["kind"]) {
        Some("ClusterRole") => "clusterroles",
        _ => "roles",
    };
    let asked = Attributes {
        name: role_name,
        namespace,
        ..Attributes::of_resource(user, "bind", GROUP, role_plural)
    };
    if authorizer.authorize(&asked).allowed {
        return Ok(());
    }
    let rules = authorizer
        .rules_of(role_ref, namespace)
        // Upstream names the resource of the binding, and the name of the role.
        .ok_or_else(|| Status::not_found(GROUP, plural, role_name))?;
    match missing(authorizer, user, namespace, &rules) {
        None => Ok(()),
        Some(missing) => Err(Status::forbidden(GROUP, plural, object::name(binding), &missing)),
    }
}

/// What `user` lacks of `wanted`, as upstream's text; `None` if nothing.
fn missing(authorizer: &Authorizer, user: &User, namespace: &str, wanted: &[Rule]) -> Option<String> {
    let combinations = wanted.iter().map(count).fold(0usize, usize::saturating_add);
    if combinations > MAX_COMBINATIONS {
        return Some(format!(
            "it grants {combinations} combinations of verbs, resources and names, and at most {MAX_COMBINATIONS} are \
             checked; hint: split it, or let someone write it who may escalate"
        ));
    }
    let (owned, _) = authorizer.rules_for(user, namespace);
    // Rules on resources that differ in the verb only are printed as one; those on paths are not.
    let mut lacking: BTreeMap<[Vec<String>; 4], Rule> = BTreeMap::new();
    for single in
        wanted.iter().flat_map(break_down).filter(|single| !owned.iter().any(|rule| covers(rule, single)))
    {
        let paths = single.urls.iter().chain(if single.urls.is_empty() { &[][..] } else { &single.verbs });
        let kind =
            [single.groups.clone(), single.resources.clone(), single.names.clone(), paths.cloned().collect()];
        match lacking.get_mut(&kind) {
            Some(rule) if rule.urls.is_empty() => rule.verbs.extend(single.verbs),
            Some(_) => {}
            None => {
                lacking.insert(kind, single);
            }
        }
    }
    if lacking.is_empty() {
        return None;
    }
    let lines: BTreeSet<String> = lacking.values().map(print).collect();
    let lines: Vec<String> = lines.into_iter().collect();
    Some(format!(
        "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        quote(&user.name),
        quote_all(&user.groups),
        lines.join("\n")
    ))
}

/// How many rules [`break_down`] makes of a rule.
fn count(rule: &Rule) -> usize {
    let resources =
        rule.groups.len().saturating_mul(rule.resources.len()).saturating_mul(rule.names.len().max(1));
    resources.saturating_add(rule.urls.len()).saturating_mul(rule.verbs.len())
}

/// A rule as rules of one verb, one resource and one name each.
fn break_down(rule: &Rule) -> Vec<Rule> {
    let mut singles = Vec::new();
    let names: Vec<Vec<String>> = match rule.names.as_slice() {
        [] => vec![Vec::new()],
        names => names.iter().map(|name| vec![name.clone()]).collect(),
    };
    for group in &rule.groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                singles.extend(names.iter().map(|names| Rule {
                    verbs: vec![verb.clone()],
                    groups: vec![group.clone()],
                    resources: vec![resource.clone()],
                    names: names.clone(),
                    urls: Vec::new(),
                }));
            }
        }
    }
    for url in &rule.urls {
        for verb in &rule.verbs {
            singles.push(Rule { verbs: vec![verb.clone()], urls: vec![url.clone()], ..Rule::default() });
        }
    }
    singles
}

/// Whether one rule allows all that a rule of one verb, one resource and one name allows.
fn covers(owned: &Rule, single: &Rule) -> bool {
    let all = |wanted: &[String], covered: &dyn Fn(&String) -> bool| wanted.iter().all(covered);
    let names_covered = owned.names.is_empty()
        || (!single.names.is_empty() && single.names.iter().all(|name| owned.names.contains(name)));
    all(&single.verbs, &|verb| has(&owned.verbs, verb))
        && all(&single.groups, &|group| has(&owned.groups, group))
        && all(&single.resources, &|resource| {
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            owned.resources.iter().any(|rule| covers_resource(rule, resource, subresource))
        })
        && all(&single.urls, &|url| owned.urls.iter().any(|rule| covers_url(rule, url)))
        && names_covered
}

fn print(rule: &Rule) -> String {
    let parts = [
        ("APIGroups", &rule.groups),
        ("Resources", &rule.resources),
        ("NonResourceURLs", &rule.urls),
        ("ResourceNames", &rule.names),
        ("Verbs", &rule.verbs),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(_, words)| !words.is_empty())
        .map(|(name, words)| format!("{name}:{}", quote_all(words)))
        .collect();
    format!("{{{}}}", parts.join(", "))
}
