//! Nodes.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Value, names};

use super::super::{go, ips};
use super::addresses::{legacy_cidr, nothing_known};
use super::{At, Errors, resources, status};

const AVOID_PODS: &str = "scheduler.alpha.kubernetes.io/preferAvoidPods";
const FIXED: &str = "node updates may not change podCIDR except from \"\" to valid";

pub(super) fn node(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    annotations(at, errors);
    let spec = at.child("spec");
    match old {
        None => {
            taints(&spec, errors);
            amounts(&at.child("status"), errors);
            declared_features(&at.child("status"), errors);
            networks(&spec, errors);
        }
        Some(old) => {
            networks(&spec, errors);
            update(at, old, errors);
        }
    }
}

/// What holds for updates of a node and of its status.
pub(super) fn update(at: &At<'_>, old: &Value, errors: &mut Errors) {
    let (spec, status) = (at.child("spec"), at.child("status"));
    amounts(&status, errors);
    declared_features(&status, errors);
    status::node_addresses(&status, errors);
    let before = old.get("spec").unwrap_or(&Value::Null);
    let networks = before.items_at(&["podCIDRs"]);
    let path = spec.path.child("podCIDRs");
    let new = spec.items("podCIDRs");
    if !networks.is_empty() && networks.len() != new.len() {
        errors.forbidden(&path, FIXED);
    } else {
        for _ in networks.iter().zip(&new).filter(|(old, new)| *old != new.value) {
            errors.forbidden(&path, FIXED);
        }
    }
    let id = |spec: &Value| spec.str_at(&["providerID"]).unwrap_or_default().to_owned();
    match (id(spec.value), id(before)) {
        (new, old) if old.is_empty() || new == old => {}
        (new, _) if new.is_empty() => {
            errors.invalid(&spec.path.child("providerID"), Value::Null, "field cannot be cleared once set");
        }
        _ => errors.invalid(&spec.path.child("providerID"), Value::Null, "field cannot be modified once set"),
    }
    taints(&spec, errors);
    if spec.text("externalID") != before.str_at(&["externalID"]).unwrap_or_default() {
        errors.forbidden(&spec.path.child("externalID"), "may not be updated");
    }
}

fn annotations(at: &At<'_>, errors: &mut Errors) {
    let annotations = at.child("metadata").child("annotations");
    let text = annotations.text(AVOID_PODS);
    if !text.is_empty()
        && let Err(why) = go::check_json(text)
    {
        errors.invalid(&annotations.path.child("AvoidPods"), AVOID_PODS, why);
    }
}

fn taints(spec: &At<'_>, errors: &mut Errors) {
    // Upstream takes them for metadata.
    let list = Path::new("metadata").child("taints");
    let mut seen = BTreeSet::new();
    for (index, taint) in spec.items("taints").iter().enumerate() {
        let path = list.index(index);
        let (key, value, effect) = (taint.text("key"), taint.text("value"), taint.text("effect"));
        errors.complaints(&path.child("key"), key, names::qualified_name(key));
        let complaints = names::label_value(value);
        if !complaints.is_empty() {
            errors.invalid(&path.child("value"), value, complaints.join(";"));
        }
        let at = At { value: taint.value, path: path.clone() };
        errors.one_of(&at, "effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"], true);
        if !seen.insert((key, effect)) {
            let mut error = Error::duplicate(&path, Value::Null).showing(go::show("core.Taint", taint.value));
            error.detail = "taints must be unique by key and effect pair".to_owned();
            errors.0.push(error);
        }
    }
}

/// What a node has and gives; upstream writes the names of resources as fields here.
fn amounts(status: &At<'_>, errors: &mut Errors) {
    for part in ["capacity", "allocatable"] {
        for (name, value) in status.map(part) {
            let path = status.path.child(part).child(name);
            resources::amount(&path, name, value, errors);
        }
    }
}

/// The features that a node says it has: names of segments, in order and without another of the same name.
fn declared_features(status: &At<'_>, errors: &mut Errors) {
    const LONGEST: usize = 253;
    let features = status.items("declaredFeatures");
    for (feature, next) in features.iter().zip(features.iter().skip(1).map(Some).chain([None])) {
        let name = feature.value.as_str().unwrap_or_default();
        let quoted = pilothouse_value::field::quote(name);
        if name.len() > LONGEST {
            let why = format!("invalid feature name {quoted}: must be no more than {LONGEST} characters");
            errors.invalid(&feature.path, name, why);
        } else if !is_feature(name) {
            let why = format!(
                "invalid feature name {quoted}: must start with an UpperCamelCase segment, with subsequent segments \
                 separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric \
                 characters and slashes"
            );
            errors.invalid(&feature.path, name, why);
        }
        let Some(next) = next else { continue };
        let after = next.value.as_str().unwrap_or_default();
        match name.cmp(after) {
            Ordering::Equal => errors.0.push(Error::duplicate(&next.path, after)),
            Ordering::Greater => errors.invalid(&next.path, after, "list must be sorted alphabetically"),
            Ordering::Less => {}
        }
    }
}

fn is_feature(name: &str) -> bool {
    let segment = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphabetic())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    name.starts_with(|first: char| first.is_ascii_uppercase()) && name.split('/').all(segment)
}

fn networks(spec: &At<'_>, errors: &mut Errors) {
    let networks = spec.items("podCIDRs");
    let mut parsed = Vec::new();
    for network in &networks {
        let text = network.value.as_str().unwrap_or_default();
        legacy_cidr(&network.path, text, nothing_known, errors);
        parsed.extend(ips::Network::sloppy(text).map(ips::Network::is_ipv4));
    }
    let both = parsed.contains(&true) && parsed.contains(&false);
    if networks.len() > 1 && (!both || networks.len() > 2) {
        let value = spec.child("podCIDRs").value.clone();
        errors.invalid(
            &spec.path.child("podCIDRs"),
            value,
            "may specify no more than one CIDR for each IP family",
        );
    }
}
