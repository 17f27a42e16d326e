//! Where a pod may run: affinity, spread over topologies, tolerations.

use std::collections::{BTreeMap, BTreeSet};

use pilothouse_value::field::Error;
use pilothouse_value::{Value, names};

use super::{At, Errors, label_selector};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub(super) fn affinity(at: &At<'_>, errors: &mut Errors) {
    let nodes = at.child("nodeAffinity");
    if let Some(required) = nodes.find(REQUIRED) {
        node_selector(&required, errors);
    }
    for term in nodes.items(PREFERRED) {
        weight(&term, errors);
        node_selector_term(&term.child("preference"), errors, false);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let pods = at.child(kind);
        for term in pods.items(REQUIRED) {
            pod_affinity_term(&term, errors);
        }
        for term in pods.items(PREFERRED) {
            weight(&term, errors);
            pod_affinity_term(&term.child("podAffinityTerm"), errors);
        }
    }
}

fn weight(at: &At<'_>, errors: &mut Errors) {
    let weight = at.int("weight").unwrap_or_default();
    if !(1..=100).contains(&weight) {
        errors.invalid(&at.path.child("weight"), weight, "must be in the range 1-100");
    }
}

/// A selector of nodes, of pods and of volumes.
pub(super) fn node_selector(at: &At<'_>, errors: &mut Errors) {
    let terms = at.items("nodeSelectorTerms");
    if terms.is_empty() {
        errors.required(&at.path.child("nodeSelectorTerms"), "must have at least one node selector term");
    }
    for term in terms {
        node_selector_term(&term, errors, true);
    }
}

fn node_selector_term(term: &At<'_>, errors: &mut Errors, strict: bool) {
    for requirement in term.items("matchExpressions") {
        let values = requirement.items("values");
        let path = requirement.path.child("values");
        match requirement.text("operator") {
            "In" | "NotIn" if values.is_empty() => {
                errors.required(&path, "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                errors.forbidden(&path, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
            }
            "Gt" | "Lt" if values.len() != 1 => {
                errors.required(&path, "must be specified single value when `operator` is 'Lt' or 'Gt'");
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => {
                errors.invalid(&requirement.path.child("operator"), other, "not a valid selector operator")
            }
        }
        let key = requirement.text("key");
        errors.complaints(&requirement.path.child("key"), key, names::qualified_name(key));
        for value in values.iter().filter(|_| strict) {
            let text = value.value.as_str().unwrap_or_default();
            errors.complaints(&value.path, text, names::label_value(text));
        }
    }
    for requirement in term.items("matchFields") {
        let values = requirement.items("values");
        match requirement.text("operator") {
            "In" | "NotIn" if values.len() == 1 => {}
            "In" | "NotIn" => errors.required(
                &requirement.path.child("values"),
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
            ),
            other => {
                errors.invalid(&requirement.path.child("operator"), other, "not a valid selector operator")
            }
        }
        match requirement.text("key") {
            "metadata.name" => {
                for value in values {
                    let text = value.value.as_str().unwrap_or_default();
                    errors.complaints(&value.path, text, names::dns1123_subdomain(text));
                }
            }
            key => errors.invalid(&requirement.path.child("key"), key, "not a valid field selector key"),
        }
    }
}

fn pod_affinity_term(at: &At<'_>, errors: &mut Errors) {
    for selector in ["labelSelector", "namespaceSelector"].iter().filter_map(|field| at.find(field)) {
        label_selector(&selector, errors);
    }
    for namespace in at.items("namespaces") {
        let text = namespace.value.as_str().unwrap_or_default();
        errors.complaints(&at.path.child("namespace"), text, names::dns1123_label(text));
    }
    label_keys(at, "matchLabelKeys", errors);
    label_keys(at, "mismatchLabelKeys", errors);
    keys_selected_twice(at, errors);
    let mismatched: Vec<&str> = texts(at, "mismatchLabelKeys");
    for key in at.items("matchLabelKeys") {
        let text = key.value.as_str().unwrap_or_default();
        if mismatched.contains(&text) {
            errors.invalid(&key.path, text, "exists in both matchLabelKeys and mismatchLabelKeys");
        }
    }
    let key = at.text("topologyKey");
    if key.is_empty() {
        errors.required(&at.path.child("topologyKey"), "can not be empty");
    }
    errors.complaints(&at.path.child("topologyKey"), key, names::qualified_name(key));
}

fn texts<'v>(at: &At<'v>, list: &str) -> Vec<&'v str> {
    at.items(list).iter().filter_map(|one| one.value.as_str()).collect()
}

fn label_keys(at: &At<'_>, list: &str, errors: &mut Errors) {
    let keys = at.items(list);
    if !keys.is_empty() && at.find("labelSelector").is_none() {
        errors.forbidden(&at.path.child(list), "must not be specified when labelSelector is not set");
        return;
    }
    for key in keys {
        let text = key.value.as_str().unwrap_or_default();
        errors.complaints(&key.path, text, names::qualified_name(text));
    }
}

/// A key of a pod's labels has become an expression of the selector already; another one with it is too much.
fn keys_selected_twice(at: &At<'_>, errors: &mut Errors) {
    let selector = at.child("labelSelector");
    let keys = texts(at, "matchLabelKeys");
    let mut seen: BTreeSet<&str> = selector.map("matchLabels").map(|(key, _)| key).collect();
    for expression in selector.items("matchExpressions") {
        let key = expression.text("key");
        if let Some(index) = keys.iter().rposition(|one| *one == key).filter(|_| seen.contains(key)) {
            errors.invalid(&at.path.index(index), key, "exists in both matchLabelKeys and labelSelector");
        }
        seen.insert(key);
    }
}

pub(super) fn topology_spread(spec: &At<'_>, errors: &mut Errors) {
    let constraints = spec.items("topologySpreadConstraints");
    let mut left: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for one in &constraints {
        *left.entry((one.text("topologyKey"), one.text("whenUnsatisfiable"))).or_default() += 1;
    }
    for constraint in &constraints {
        let skew = constraint.int("maxSkew").unwrap_or_default();
        if skew <= 0 {
            errors.invalid(&constraint.path.child("maxSkew"), skew, "must be greater than zero");
        }
        let (key, action) = (constraint.text("topologyKey"), constraint.text("whenUnsatisfiable"));
        if key.is_empty() {
            errors.required(&constraint.path.child("topologyKey"), "can not be empty");
        }
        let actions = ["DoNotSchedule", "ScheduleAnyway"];
        if !actions.contains(&action) {
            errors.unsupported(&constraint.path.child("whenUnsatisfiable"), action, &actions);
        }
        let later = left.entry((key, action)).or_default();
        *later = later.saturating_sub(1);
        if *later > 0 {
            let path = constraint.path.child("{topologyKey, whenUnsatisfiable}");
            errors.0.push(Error::duplicate(&path, format!("{{{key}, {action}}}")));
        }
        if let Some(domains) = constraint.int("minDomains") {
            let path = constraint.path.child("minDomains");
            if domains <= 0 {
                errors.invalid(&path, domains, "must be greater than zero");
            }
            if action != "DoNotSchedule" {
                let detail =
                    format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
                errors.invalid(&path, domains, detail);
            }
        }
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            errors.one_of(constraint, policy, &["Honor", "Ignore"], false);
        }
        label_keys(constraint, "matchLabelKeys", errors);
        keys_selected_twice(constraint, errors);
        if let Some(selector) = constraint.find("labelSelector") {
            label_selector(&selector, errors);
        }
    }
}

pub(super) fn toleration(at: &At<'_>, errors: &mut Errors) {
    let (key, operator, effect) = (at.text("key"), at.text("operator"), at.text("effect"));
    let path = at.path.child("operator");
    if !key.is_empty() {
        errors.complaints(&at.path.child("key"), key, names::qualified_name(key));
    } else if operator != "Exists" {
        let detail =
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.invalid(&path, operator, detail);
    }
    if at.int("tolerationSeconds").is_some() && effect != "NoExecute" {
        errors.invalid(
            &at.path.child("effect"),
            effect,
            "effect must be 'NoExecute' when `tolerationSeconds` is set",
        );
    }
    match operator {
        "Equal" | "" => {
            let value = at.text("value");
            let complaints = names::label_value(value);
            if !complaints.is_empty() {
                errors.invalid(&path, value, complaints.join(";"));
            }
        }
        "Exists" => {
            if !at.text("value").is_empty() {
                errors.invalid(&path, at.text("value"), "value must be empty when `operator` is 'Exists'");
            }
        }
        "Lt" | "Gt" => errors.unsupported(&path, operator, &["Equal", "Exists", "Lt", "Gt"]),
        operator => errors.unsupported(&path, operator, &["Equal", "Exists"]),
    }
    errors.one_of(at, "effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"], false);
}

/// A gated pod may be steered to fewer nodes, not to more.
pub(super) fn steered(spec: &At<'_>, old: &Value, errors: &mut Errors) {
    let selector = spec.child("nodeSelector");
    let before = old.get("nodeSelector").unwrap_or(&Value::Null);
    let lost = before
        .as_object()
        .into_iter()
        .flat_map(|map| map.iter())
        .any(|(key, value)| selector.value.get(key) != Some(value));
    if lost {
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        let value = if selector.value.is_null() { Value::object() } else { selector.value.clone() };
        errors.invalid(&selector.path, value, detail);
    }
    let path = ["affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms"];
    let old_terms = old.items_at(&path);
    let at = path.iter().fold(spec.clone(), |at, field| at.child(field));
    let new_terms = at.value.as_array().map_or(&[][..], Vec::as_slice);
    if !old_terms.is_empty() && old_terms.len() != new_terms.len() {
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        errors.shown_form(&at.path, "[]@core.NodeSelectorTerm", at.value, detail);
        return;
    }
    for (index, (new, old)) in new_terms.iter().zip(old_terms).enumerate() {
        let kept = |list| {
            let (new, old) = (new.items_at(&[list]), old.items_at(&[list]));
            new.len() >= old.len() && new.iter().zip(old).all(|(new, old)| new == old)
        };
        let is_empty = |term: &Value| {
            ["matchExpressions", "matchFields"].iter().all(|list| term.items_at(&[list]).is_empty())
        };
        let widened = is_empty(old) && !is_empty(new);
        if !kept("matchExpressions") || !kept("matchFields") || widened {
            let detail = "only additions are allowed (no mutations or deletions)";
            errors.shown(&at.path.index(index), "core.NodeSelectorTerm", new, detail);
        }
    }
}
