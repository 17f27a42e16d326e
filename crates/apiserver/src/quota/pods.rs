//! What pods use.

use std::collections::{BTreeMap, BTreeSet};

use pilothouse_value::{Quantity, Timestamp, Value, object};

use crate::objects::resources::{self, Amounts, Part};

const NAMES: [&str; 11] = [
    "count/pods",
    "pods",
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];

pub(super) fn uses(name: &str) -> bool {
    NAMES.contains(&name)
        || name.starts_with("hugepages-")
        || name
            .strip_prefix("requests.")
            .is_some_and(|rest| rest.starts_with("hugepages-") || is_extended(rest))
}

/// Whether a resource is none of Kubernetes' own: `example.com/dongle`. A class of devices counts as one.
fn is_extended(name: &str) -> bool {
    (name.contains('/') && !name.contains("kubernetes.io/"))
        || name.starts_with("deviceclass.resource.kubernetes.io/")
}

/// What a pod uses. One that has ended, or should have, only counts as an object.
pub(super) fn usage(pod: &Value, now: Timestamp) -> Amounts {
    let mut used = Amounts::from([("count/pods".to_owned(), Quantity::from_i64(1))]);
    if is_over(pod, now) {
        return used;
    }
    let requests = resources::of_pod_with_overhead(pod, Part::Requests);
    let limits = resources::of_pod_with_overhead(pod, Part::Limits);
    used.extend(names_of(&requests, &limits));
    used
}

/// Requests and limits under the names that quotas give them.
fn names_of(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut used = Amounts::from([("pods".to_owned(), Quantity::from_i64(1))]);
    for name in ["cpu", "memory", "ephemeral-storage"] {
        if let Some(amount) = requests.get(name) {
            used.insert(name.to_owned(), *amount);
            used.insert(format!("requests.{name}"), *amount);
        }
        if let Some(amount) = limits.get(name) {
            used.insert(format!("limits.{name}"), *amount);
        }
    }
    for (name, amount) in requests {
        if name.starts_with("hugepages-") {
            used.insert(name.clone(), *amount);
            used.insert(format!("requests.{name}"), *amount);
        } else if is_extended(name) {
            used.insert(format!("requests.{name}"), *amount);
        }
    }
    used
}

fn is_over(pod: &Value, now: Timestamp) -> bool {
    if matches!(pod.str_at(&["status", "phase"]), Some("Succeeded" | "Failed")) {
        return true;
    }
    let (Some(deleted), Some(grace)) =
        (object::deletion_timestamp(pod), pod.i64_at(&["metadata", "deletionGracePeriodSeconds"]))
    else {
        return false;
    };
    Timestamp::parse(deleted).is_ok_and(|end| now.unix_seconds() > end.unix_seconds().saturating_add(grace))
}

/// A quota on processors and memory cannot count containers that do not say what they use.
pub(super) fn check(required: &BTreeSet<&str>, pod: &Value) -> Result<(), String> {
    const CHECKED: [&str; 6] =
        ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];
    // A pod that says it as a whole has said it.
    let whole = pod.at(&["spec", "resources"]);
    if whole.is_some_and(|whole| ["requests", "limits"].iter().any(|part| whole.at(&[part]).is_some())) {
        return Ok(());
    }
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for container in ["containers", "initContainers"].iter().flat_map(|list| pod.items_at(&["spec", list])) {
        let of = |part: Part| resources::read(container.at(&["resources", part.field()]));
        let said = names_of(&of(Part::Requests), &of(Part::Limits));
        for name in CHECKED.into_iter().filter(|name| required.contains(name) && !said.contains_key(*name)) {
            missing.entry(name).or_default().insert(container.str_at(&["name"]).unwrap_or_default());
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let texts = missing.into_iter().map(|(name, containers)| {
        format!("{name} for: {}", containers.into_iter().collect::<Vec<_>>().join(","))
    });
    Err(format!("must specify {}", texts.collect::<Vec<_>>().join("; ")))
}
