//! Access, disruption budgets, leases, priorities, runtimes.

use std::collections::BTreeSet;

use pilothouse_value::field::Error;
use pilothouse_value::{Value, names};

use super::super::go;
use super::{At, Errors, IMMUTABLE, at_most_all, int_or_percent, label_selector, resources, scheduling};

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn role(at: &At<'_>, namespaced: bool, errors: &mut Errors) {
    for rule in at.items("rules") {
        policy_rule(&rule, namespaced, errors);
    }
    if let Some(aggregation) = at.find("aggregationRule") {
        let selectors = aggregation.items("clusterRoleSelectors");
        if selectors.is_empty() {
            let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            errors.required(&aggregation.path.child("clusterRoleSelectors"), detail);
        }
        for selector in selectors {
            let before = errors.0.len();
            label_selector(&selector, errors);
            if errors.0.len() > before {
                errors.invalid(&selector.path, Value::Null, "invalid label selector.");
            }
        }
    }
}

fn policy_rule(rule: &At<'_>, namespaced: bool, errors: &mut Errors) {
    let urls = rule.child("nonResourceURLs");
    if rule.items("nonResourceURLs").is_empty() {
        if rule.items("apiGroups").is_empty() {
            errors
                .required(&rule.path.child("apiGroups"), "resource rules must supply at least one api group");
        }
        if rule.items("resources").is_empty() {
            errors
                .required(&rule.path.child("resources"), "resource rules must supply at least one resource");
        }
    } else {
        if namespaced {
            let detail = "namespaced rules cannot apply to non-resource URLs";
            errors.invalid(&urls.path, urls.value.clone(), detail);
        }
        if ["apiGroups", "resources", "resourceNames"].iter().any(|list| !rule.items(list).is_empty()) {
            let detail = "rules cannot apply to both regular resources and non-resource URLs";
            errors.invalid(&urls.path, urls.value.clone(), detail);
        }
    }
    if rule.items("verbs").is_empty() {
        errors.required(&rule.path.child("verbs"), "");
    }
}

pub(super) fn binding(at: &At<'_>, old: Option<&Value>, namespaced: bool, errors: &mut Errors) {
    let role = at.child("roleRef");
    if role.text("apiGroup") != RBAC {
        errors.unsupported(&role.path.child("apiGroup"), role.text("apiGroup"), &[RBAC]);
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&role.text("kind")) {
        errors.unsupported(&role.path.child("kind"), role.text("kind"), kinds);
    }
    let name = role.text("name");
    match name {
        "" => errors.required(&role.path.child("name"), ""),
        _ => errors.complaints(&role.path.child("name"), name, names::path_segment(name)),
    }
    for subject in at.items("subjects") {
        self::subject(&subject, namespaced, errors);
    }
    if old.is_some_and(|old| old.get("roleRef") != at.value.get("roleRef")) {
        errors.shown(&role.path, "rbac.RoleRef", role.value, IMMUTABLE);
    }
}

fn subject(at: &At<'_>, namespaced: bool, errors: &mut Errors) {
    let (kind, name, group) = (at.text("kind"), at.text("name"), at.text("apiGroup"));
    match kind {
        "ServiceAccount" => {
            if !name.is_empty() {
                errors.complaints(&at.path.child("name"), name, names::dns1123_subdomain(name));
            }
            if !group.is_empty() {
                errors.unsupported(&at.path.child("apiGroup"), group, &[""]);
            }
            if !namespaced && at.text("namespace").is_empty() {
                errors.required(&at.path.child("namespace"), "");
            }
        }
        "User" | "Group" => {
            if group != RBAC {
                errors.unsupported(&at.path.child("apiGroup"), group, &[RBAC]);
            }
        }
        kind => errors.unsupported(&at.path.child("kind"), kind, &["ServiceAccount", "User", "Group"]),
    }
    if name.is_empty() {
        errors.required(&at.path.child("name"), "");
    }
}

pub(super) fn disruption_budget(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    let (min, max) = (spec.find("minAvailable"), spec.find("maxUnavailable"));
    if min.is_some() && max.is_some() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.shown(&spec.path, "policy.PodDisruptionBudgetSpec", spec.value, detail);
    }
    for one in [min, max].iter().flatten() {
        int_or_percent(one, errors);
        at_most_all(one, errors);
    }
    if let Some(selector) = spec.find("selector") {
        label_selector(&selector, errors);
    }
    errors.one_of(&spec, "unhealthyPodEvictionPolicy", &["AlwaysAllow", "IfHealthyBudget"], false);
}

pub(super) fn lease(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    if let Some(seconds) = spec.int("leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        errors.invalid(&spec.path.child("leaseDurationSeconds"), seconds, "must be greater than 0");
    }
    errors.not_negative(&spec, &["leaseTransitions"]);
}

/// The highest priority that users may declare; those above are the system's.
const HIGHEST_USER_PRIORITY: i64 = 1_000_000_000;

/// The classes of the system, with their values.
const SYSTEM: [(&str, i64); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

pub(super) fn priority_class(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let value = at.int("value").unwrap_or_default();
    let name = at.child("metadata").text("name");
    if name.starts_with("system-") {
        let known = SYSTEM.iter().find(|(known, _)| *known == name);
        let why = match known {
            None => Some(format!("{name} is not a known system priority class")),
            Some((_, expected)) if *expected != value => {
                Some(format!("value of {name} PriorityClass must be {expected}"))
            }
            Some(_) if at.flag("globalDefault") => {
                Some(format!("globalDefault of {name} PriorityClass must be false"))
            }
            Some(_) => None,
        };
        if let Some(why) = why {
            let detail =
                "priority class names with 'system-' prefix are reserved for system use only. error: ";
            errors.forbidden(&at.path.child("metadata").child("name"), format!("{detail}{why}"));
        }
    } else if value > HIGHEST_USER_PRIORITY {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}");
        errors.forbidden(&at.path.child("value"), detail);
    }
    match at.find("preemptionPolicy").map(|policy| policy.value.as_str().unwrap_or_default()) {
        None => {}
        Some("") => errors.required(&at.path.child("preemptionPolicy"), ""),
        Some(_) => errors.one_of_all(at, "preemptionPolicy", &["PreemptLowerPriority", "Never"]),
    }
    let Some(old) = old else { return };
    if old.i64_at(&["value"]).unwrap_or_default() != value {
        errors.forbidden(&at.path.child("value"), "may not be changed in an update.");
    }
    errors.immutable(at, old, "preemptionPolicy");
}

pub(super) fn runtime_class(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let handler = at.text("handler");
    match handler {
        "" => errors.required(&at.path.child("handler"), ""),
        _ => errors.complaints(&at.path.child("handler"), handler, names::dns1123_label(handler)),
    }
    if let Some(overhead) = at.find("overhead") {
        resources::quantities(&At { path: overhead.path.clone(), ..overhead.child("podFixed") }, errors);
    }
    if let Some(scheduling) = at.find("scheduling") {
        super::labels(&scheduling, "nodeSelector", errors);
        let tolerations = scheduling.items("tolerations");
        for toleration in &tolerations {
            scheduling::toleration(toleration, errors);
        }
        let mut seen = BTreeSet::new();
        for toleration in &tolerations {
            if !seen.insert(toleration.value.to_json()) {
                let shown = go::show("core.Toleration", toleration.value);
                errors.0.push(Error::duplicate(&toleration.path, Value::Null).showing(shown));
            }
        }
    }
    if old.is_some_and(|old| old.str_at(&["handler"]) != Some(handler)) {
        // Upstream shows null in place of the value.
        errors.invalid(&at.path.child("handler"), Value::Null, IMMUTABLE);
    }
}
