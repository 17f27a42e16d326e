//! What a kubelet says of the containers of a pod, and of the claims that stand for their extended resources.

use std::collections::BTreeSet;

use pilothouse_value::field::Error;
use pilothouse_value::{Value, names};

use super::{At, Errors};

/// The statuses of all containers of a pod.
pub(super) fn all(pod: &At<'_>, errors: &mut Errors) {
    let (spec, status) = (pod.child("spec"), pod.child("status"));
    let is_windows = spec.child("os").text("name") == "windows";
    for (list, containers) in
        [("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")]
    {
        let containers = spec.value.items_at(&[containers]);
        status.items(list).iter().for_each(|one| health(one, containers, &status, errors));
    }
    for one in status.items("ephemeralContainerStatuses") {
        if one.find("allocatedResourcesStatus").is_some() {
            let path = one.path.child("allocatedResourcesStatus");
            errors.forbidden(&path, "must not be specified in container status");
        }
    }
    for list in ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] {
        status.items(list).iter().for_each(|one| user(&one.child("user").child("linux"), is_windows, errors));
    }
    if let Some(claim) = status.find("extendedResourceClaimStatus") {
        extended_claim(&claim, &spec, errors);
    }
}

/// Who a container runs as.
fn user(at: &At<'_>, is_windows: bool, errors: &mut Errors) {
    const GROUPS: std::ops::RangeInclusive<i64> = 0..=2_147_483_647;
    const WRONG_GROUP: &str = "must be between 0 and 2147483647, inclusive";
    if at.value.is_null() {
        return;
    }
    if is_windows {
        errors.forbidden(&at.path, "cannot be set for a windows pod");
        return;
    }
    let number = |field: &str| at.int(field).unwrap_or_default();
    if !(0..=i64::from(u32::MAX)).contains(&number("uid")) {
        let detail = format!("must be between 0 and {}, inclusive", u32::MAX);
        errors.invalid(&at.path.child("uid"), number("uid"), detail);
    }
    if !GROUPS.contains(&number("gid")) {
        errors.invalid(&at.path.child("gid"), number("gid"), WRONG_GROUP);
    }
    for group in at.items("supplementalGroups") {
        if !group.value.as_i64().is_some_and(|id| GROUPS.contains(&id)) {
            errors.invalid(&group.path, group.value.clone(), WRONG_GROUP);
        }
    }
}

/// How the resources are that a container has been given.
fn health(at: &At<'_>, containers: &[Value], status: &At<'_>, errors: &mut Errors) {
    let container =
        containers.iter().find(|one| one.str_at(&["name"]).unwrap_or_default() == at.text("name"));
    for resource in at.items("allocatedResourcesStatus") {
        let name = resource.text("name");
        if let Some(container) = container {
            let is_claim = name.starts_with("claim:");
            let found = match is_claim {
                true => claims(container).any(|claim| claim == name) || stands_for(name, container, status),
                false => container.at(&["resources", "requests", name]).is_some(),
            };
            let detail = match is_claim {
                true => {
                    "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when \
                     container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"
                }
                false => "must match one of the container's resource requests",
            };
            if !found {
                errors.invalid(&resource.path.child("name"), name, detail);
            }
        }
        let mut seen = BTreeSet::new();
        for one in resource.items("resources") {
            errors.one_of_all(&one, "health", &["Healthy", "Unhealthy", "Unknown"]);
            if let Some(message) = one.find("message") {
                match message.value.as_str().unwrap_or_default().len() {
                    0 => errors.required(&message.path, "must be non-empty if specified"),
                    length if length > 1024 => errors.0.push(Error::too_long(&message.path, 1024)),
                    _ => {}
                }
            }
            let id = one.text("resourceID");
            if !seen.insert(id) {
                errors.0.push(Error::duplicate(&one.path.child("resourceID"), id));
            }
        }
    }
}

/// The claims of a container, as its status names them.
fn claims(container: &Value) -> impl Iterator<Item = String> {
    container.items_at(&["resources", "claims"]).iter().map(|claim| {
        let text = |field: &str| claim.str_at(&[field]).unwrap_or_default().to_owned();
        match (text("name"), text("request")) {
            (name, request) if request.is_empty() => format!("claim:{name}"),
            (name, request) => format!("claim:{name}/{request}"),
        }
    })
}

/// Whether a name is that of the claim that stands for extended resources of a container.
fn stands_for(name: &str, container: &Value, status: &At<'_>) -> bool {
    let Some(claim) = status.find("extendedResourceClaimStatus") else { return false };
    let own = container.str_at(&["name"]).unwrap_or_default();
    let mut mappings =
        claim.items("requestMappings").into_iter().filter(|one| one.text("containerName") == own);
    let of_claim = claim.text("resourceClaimName");
    mappings.any(|one| name == format!("claim:{of_claim}/{}", one.text("requestName")))
}

/// The claim that stands for extended resources.
fn extended_claim(at: &At<'_>, spec: &At<'_>, errors: &mut Errors) {
    let mappings = at.items("requestMappings");
    if mappings.is_empty() {
        errors.required(&at.path.child("requestMappings"), "at least one request mapping is required");
    }
    let mut containers = spec.items("containers");
    containers.extend(spec.items("initContainers"));
    let mut seen = BTreeSet::new();
    for mapping in &mappings {
        let [name, resource, request] =
            ["containerName", "resourceName", "requestName"].map(|field| mapping.text(field));
        let text = "must match the name of an entry in spec.initContainers.name or spec.containers.name";
        match containers.iter().find(|container| container.text("name") == name) {
            None => errors.invalid(&mapping.path.child("containerName"), name, text),
            Some(container) if container.value.at(&["resources", "requests", resource]).is_none() => {
                let text = "must match the extended resource name of an entry in \
                            spec.initContainers.resources.requests or spec.containers.resources.requests";
                errors.invalid(&mapping.path.child("resourceName"), resource, text);
            }
            Some(_) => {}
        }
        errors.complaints(&at.path.child("requestName"), request, names::dns1123_label(request));
        if !seen.insert((name, resource, request)) {
            let fields = [("containerName", name), ("resourceName", resource), ("requestName", request)];
            for (field, text) in fields {
                errors.0.push(Error::duplicate(&mapping.path.child(field), text));
            }
        }
    }
    match at.text("resourceClaimName") {
        "" => errors.required(&at.path.child("resourceClaimName"), ""),
        name => errors.complaints(&at.path.child("resourceClaimName"), name, names::dns1123_subdomain(name)),
    }
}
