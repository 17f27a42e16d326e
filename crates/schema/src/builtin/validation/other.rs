//! Access, autoscaling, disruption budgets, leases, priorities.

use pilothouse_value::{Value, names};

use super::{At, Errors, IMMUTABLE, NOT_NEGATIVE, at_most_all, int_or_percent, label_selector};

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn role(at: &At<'_>, namespaced: bool, errors: &mut Errors) {
    for rule in at.items("rules") {
        if rule.items("verbs").is_empty() {
            errors.required(&rule.path.child("verbs"), "");
        }
        let urls = rule.child("nonResourceURLs");
        if !rule.items("nonResourceURLs").is_empty() {
            if namespaced {
                let detail = "namespaced rules cannot apply to non-resource URLs";
                errors.invalid(&urls.path, urls.value.clone(), detail);
            } else if ["apiGroups", "resources", "resourceNames"]
                .iter()
                .any(|list| !rule.items(list).is_empty())
            {
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                errors.invalid(&urls.path, urls.value.clone(), detail);
            }
            continue;
        }
        if rule.items("apiGroups").is_empty() {
            errors
                .required(&rule.path.child("apiGroups"), "resource rules must supply at least one api group");
        }
        if rule.items("resources").is_empty() {
            errors
                .required(&rule.path.child("resources"), "resource rules must supply at least one resource");
        }
    }
    if let Some(aggregation) = at.find("aggregationRule") {
        let selectors = aggregation.items("clusterRoleSelectors");
        if selectors.is_empty() {
            let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            errors.required(&aggregation.path.child("clusterRoleSelectors"), detail);
        }
        selectors.iter().for_each(|selector| label_selector(selector, errors));
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
        errors.invalid(&role.path, role.value.clone(), IMMUTABLE);
    }
}

fn subject(at: &At<'_>, namespaced: bool, errors: &mut Errors) {
    let (kind, name, group) = (at.text("kind"), at.text("name"), at.text("apiGroup"));
    if name.is_empty() {
        errors.required(&at.path.child("name"), "");
    }
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
}

pub(super) fn autoscaler(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    let (min, max) = (spec.int("minReplicas"), spec.int("maxReplicas").unwrap_or_default());
    let path = spec.path.child("maxReplicas");
    if max == 0 {
        errors.required(&path, "");
    } else if max < 0 {
        errors.invalid(&path, max, "must be greater than 0");
    }
    if min.is_some_and(|min| max < min) {
        errors.invalid(&path, max, "must be greater than or equal to `minReplicas`");
    }
    if let Some(min) = min.filter(|min| *min < 0) {
        errors.invalid(&spec.path.child("minReplicas"), min, NOT_NEGATIVE);
    }
    let target = spec.child("scaleTargetRef");
    for field in ["kind", "name"] {
        match target.text(field) {
            "" => errors.required(&target.path.child(field), ""),
            name => errors.complaints(&target.path.child(field), name, names::path_segment(name)),
        }
    }
    let metrics = spec.items("metrics");
    for metric in &metrics {
        let kind = metric.text("type");
        let mut source = kind.to_owned();
        if let Some(first) = source.get_mut(..1) {
            first.make_ascii_lowercase();
        }
        let known = ["ContainerResource", "External", "Object", "Pods", "Resource"];
        if kind.is_empty() {
            errors.required(&metric.path.child("type"), "must specify a metric source type");
        } else if !known.contains(&kind) {
            errors.unsupported(&metric.path.child("type"), kind, &known);
        } else if metric.find(&source).is_none() {
            let detail = "must populate information for the given metric source";
            errors.required(&metric.path.child(&source), detail);
        }
    }
    let outside = metrics.iter().any(|metric| matches!(metric.text("type"), "Object" | "External"));
    if min == Some(0) && !outside {
        let detail =
            "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.forbidden(&spec.path.child("metrics"), detail);
    }
}

pub(super) fn disruption_budget(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    let (min, max) = (spec.find("minAvailable"), spec.find("maxUnavailable"));
    if min.is_some() && max.is_some() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.invalid(&spec.path, spec.value.clone(), detail);
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

pub(super) fn priority_class(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let value = at.int("value").unwrap_or_default();
    let is_system = at.child("metadata").text("name").starts_with("system-");
    if value > HIGHEST_USER_PRIORITY && !is_system {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}");
        errors.forbidden(&at.path.child("value"), detail);
    }
    errors.one_of(at, "preemptionPolicy", &["PreemptLowerPriority", "Never"], false);
    if old.is_some_and(|old| old.i64_at(&["value"]).unwrap_or_default() != value) {
        errors.forbidden(&at.path.child("value"), "may not be changed in an update.");
    }
}
