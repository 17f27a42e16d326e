//! Requests and limits, of containers and of whole pods.

use std::collections::BTreeSet;

use pilothouse_value::field::Error;
use pilothouse_value::{Quantity, Value, names};

use super::{At, Errors};

/// The resources that containers may ask for without naming a vendor.
fn is_standard(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-")
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether a resource may be promised to more than there is of it.
fn may_overcommit(name: &str) -> bool {
    is_native(name) && !name.starts_with("hugepages-")
}

fn quantity(value: &Value) -> Option<Quantity> {
    value.as_str().and_then(|text| text.parse::<Quantity>().ok())
}

/// Resources that are counted: vendors' devices, and objects.
fn is_counted(name: &str) -> bool {
    !is_native(name)
        || matches!(
            name,
            "pods"
                | "services"
                | "replicationcontrollers"
                | "resourcequotas"
                | "secrets"
                | "configmaps"
                | "persistentvolumeclaims"
                | "services.nodeports"
                | "services.loadbalancers"
        )
}

/// The amount of one resource; what is counted is whole.
pub(super) fn amount(path: &pilothouse_value::field::Path, name: &str, value: &Value, errors: &mut Errors) {
    let Some((text, amount)) = value.as_str().zip(quantity(value)) else { return };
    // As it was read, which is the canonical form: what is very large has lost digits as an amount.
    if amount.nano() < 0 {
        errors.invalid(path, text, super::NOT_NEGATIVE);
    }
    if is_counted(name) && !Quantity::is_whole(text) {
        errors.invalid(path, text, "must be an integer");
    }
}

/// A name of a resource that has a form at all.
pub(super) fn resource_name(path: &pilothouse_value::field::Path, name: &str, errors: &mut Errors) {
    let complaints = names::qualified_name(name);
    let wrong = !complaints.is_empty();
    errors.complaints(path, name, complaints);
    if !wrong && !name.contains('/') && !is_known(name) {
        errors.invalid(path, name, "must be a standard resource type or fully qualified");
    }
}

/// The resources that have a name without a vendor anywhere: in containers, quotas and nodes.
pub(super) fn is_known(name: &str) -> bool {
    is_standard(name)
        || matches!(
            name,
            "storage"
                | "requests.cpu"
                | "requests.memory"
                | "requests.storage"
                | "requests.ephemeral-storage"
                | "limits.cpu"
                | "limits.memory"
                | "limits.ephemeral-storage"
                | "pods"
                | "resourcequotas"
                | "services"
                | "replicationcontrollers"
                | "secrets"
                | "persistentvolumeclaims"
                | "configmaps"
                | "services.nodeports"
                | "services.loadbalancers"
        )
        || name.starts_with("requests.hugepages-")
}

/// The name of what a quota counts.
pub(super) fn quota_name(path: &pilothouse_value::field::Path, name: &str, errors: &mut Errors) {
    resource_name(path, name, errors);
    if !name.contains('/') && (!is_known(name) || name == "storage" || name.starts_with("hugepages-")) {
        errors.invalid(path, name, "must be a standard resource for quota");
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Container,
    Pod,
}

pub(super) fn of_container(spec: &At<'_>, at: &At<'_>, errors: &mut Errors) {
    requirements(spec, &at.child("resources"), Of::Container, errors);
    let policies = at.items("resizePolicy");
    let path = at.path.child("resizePolicy");
    let mut seen = BTreeSet::new();
    for policy in &policies {
        let (resource, restart) = (policy.text("resourceName"), policy.text("restartPolicy"));
        if !seen.insert(resource) {
            errors.0.push(Error::duplicate(&policy.path, resource));
        }
        match resource {
            "cpu" | "memory" => {}
            "" => errors.required(&path, ""),
            other => errors.unsupported(&path, other, &["cpu", "memory"]),
        }
        match restart {
            "NotRequired" | "RestartContainer" => {}
            "" => errors.required(&path, ""),
            other => errors.unsupported(&path, other, &["NotRequired", "RestartContainer"]),
        }
        if spec.text("restartPolicy") == "Never" && restart != "NotRequired" {
            let detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.invalid(&path, restart, detail);
        }
    }
}

pub(super) fn of_pod(spec: &At<'_>, errors: &mut Errors) {
    let Some(resources) = spec.find("resources") else { return };
    if spec.child("os").text("name") == "windows" {
        errors.forbidden(&resources.path, "may not be set for a windows pod");
        return;
    }
    let claims = resources.path.child("claims");
    if resources.find("claims").is_some() || errors.as_given(&claims).is_some_and(|given| !given.is_null()) {
        errors.forbidden(&claims, "claims may not be set for Resources at pod-level");
    }
    requirements(spec, &resources, Of::Pod, errors);
    let containers = spec.items("containers");
    for (name, value) in resources.map("requests") {
        let sum = containers
            .iter()
            .filter_map(|c| c.child("resources").child("requests").value.get(name).and_then(quantity))
            .reduce(Quantity::plus);
        if let (Some(total), Some(of_pod)) = (sum, quantity(value))
            && total > of_pod
        {
            let detail = format!("must be greater than or equal to aggregate container requests of {total}");
            errors.invalid(&resources.path.child("requests").key(name), value.clone(), detail);
        }
    }
    for (index, container) in containers.iter().enumerate() {
        for (name, value) in container.child("resources").map("limits") {
            let Some(of_pod) = resources.child("limits").value.get(name).and_then(quantity) else { continue };
            if quantity(value).is_some_and(|own| own > of_pod) {
                // Upstream's path names the container behind the resources of the pod.
                let path = resources.path.child("containers").index(index).key(name).child("limits");
                let detail = format!("must be less than or equal to pod limits of {of_pod}");
                errors.invalid(&path, value.clone(), detail);
            }
        }
    }
}

/// Amounts without limits beside them: the overhead of a runtime.
pub(super) fn quantities(at: &At<'_>, errors: &mut Errors) {
    for (name, value) in at.value.as_object().into_iter().flat_map(|map| map.iter()) {
        let path = at.path.child("limits").key(name);
        container_name(&path, name, errors);
        amount(&path, name, value, errors);
    }
}

pub(super) fn container_name(path: &pilothouse_value::field::Path, name: &str, errors: &mut Errors) {
    resource_name(path, name, errors);
    if !name.contains('/') {
        if !is_standard(name) {
            errors.invalid(path, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && name.starts_with("requests.") {
        errors.invalid(path, name, "doesn't follow extended resource name standard");
    }
}

fn requirements(spec: &At<'_>, at: &At<'_>, of: Of, errors: &mut Errors) {
    let mut named = BTreeSet::new();
    for part in ["limits", "requests"] {
        for (name, value) in at.map(part) {
            named.insert(name);
            let path = at.path.child(part).key(name);
            match of {
                Of::Container => container_name(&path, name, errors),
                Of::Pod => {
                    let before = errors.0.len();
                    resource_name(&path, name, errors);
                    let known = matches!(name, "cpu" | "memory") || name.starts_with("hugepages-");
                    if before == errors.0.len() && !known {
                        errors.unsupported(&path, name, &["cpu", "hugepages-", "memory"]);
                    }
                }
            }
            amount(&path, name, value, errors);
            if part == "requests" {
                request_within_limit(at, name, value, errors);
            }
        }
    }
    let computes = ["cpu", "memory"].iter().any(|name| named.contains(name));
    if !computes && named.iter().any(|name| name.starts_with("hugepages-")) {
        errors.forbidden(&at.path, "HugePages require cpu or memory");
    }
    claims(spec, at, errors);
}

fn request_within_limit(at: &At<'_>, name: &str, value: &Value, errors: &mut Errors) {
    let Some(request) = quantity(value) else { return };
    let path = at.path.child("requests");
    match at.child("limits").value.get(name).and_then(quantity) {
        Some(limit) if request != limit && !may_overcommit(name) => {
            errors.invalid(&path, value.clone(), format!("must be equal to {name} limit of {limit}"));
        }
        Some(limit) if request > limit => {
            errors.invalid(
                &path,
                value.clone(),
                format!("must be less than or equal to {name} limit of {limit}"),
            );
        }
        None if !may_overcommit(name) => {
            errors.required(&at.path.child("limits"), "Limit must be set for non overcommitable resources");
        }
        _ => {}
    }
}

/// The claims of the pod that a container uses.
fn claims(spec: &At<'_>, at: &At<'_>, errors: &mut Errors) {
    let mut of_pod: Vec<&str> = spec.items("resourceClaims").iter().map(|claim| claim.text("name")).collect();
    of_pod.sort_unstable();
    of_pod.dedup();
    let unknown = match of_pod.as_slice() {
        [] => "must be one of the names in pod.spec.resourceClaims which is empty".to_owned(),
        names => format!("must be one of the names in pod.spec.resourceClaims: {}", names.join(", ")),
    };
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for claim in at.items("claims") {
        let (name, request) = (claim.text("name"), claim.text("request"));
        if name.is_empty() {
            errors.required(&claim.path, "");
            continue;
        }
        if seen.contains(name) {
            errors.0.push(Error::duplicate(&claim.path, name));
        } else {
            let mut key = name.to_owned();
            if !request.is_empty() {
                errors.complaints(&claim.path.child("request"), request, names::dns1123_label(request));
                key = format!("{name}/{request}");
            }
            let part = format!("{name}/");
            let part_of = seen.range(part.clone()..).next().is_some_and(|one| one.starts_with(&part));
            if seen.contains(&key) {
                errors.0.push(Error::duplicate(&claim.path, key.as_str()));
            } else if request.is_empty() && part_of {
                errors.0.push(Error::duplicate(&claim.path, name));
            }
            seen.insert(key);
        }
        if of_pod.binary_search(&name).is_err() {
            let mut error = Error::not_found(&claim.path, name);
            error.detail.clone_from(&unknown);
            errors.0.push(error);
        }
    }
}
