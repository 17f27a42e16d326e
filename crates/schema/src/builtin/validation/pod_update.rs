//! What may become of a pod after it was made: by an update, through its subresources, and in its status.

use std::collections::BTreeSet;

use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Value, names};

use super::super::ips;
use super::super::{go, prepare};
use super::addresses::legacy_ip;
use super::{At, Errors, IMMUTABLE, container_statuses, pod, scheduling};

const UPDATABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` \
                         (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if \
                         it was previously negative)";
const NULL: &Value = &Value::Null;

/// A pod is what it was, but for images, deadlines, tolerations and gates.
pub(super) fn update(at: &At<'_>, old: &Value, errors: &mut Errors) {
    let spec = at.child("spec");
    let old = old.get("spec").unwrap_or(NULL);
    pod::containers_of_pods_only(&spec, &["containers", "initContainers"], errors);
    for list in ["containers", "initContainers"] {
        let containers = spec.items(list);
        if containers.len() != old.items_at(&[list]).len() {
            errors.forbidden(&spec.path.child(list), "pod updates may not add or remove containers");
            return;
        }
    }
    let deadline = spec.path.child("activeDeadlineSeconds");
    match (spec.int("activeDeadlineSeconds"), old.i64_at(&["activeDeadlineSeconds"])) {
        (Some(new), _) if !(0..=i64::from(i32::MAX)).contains(&new) => {
            errors.invalid(&deadline, new, "must be between 0 and 2147483647, inclusive");
            return;
        }
        (Some(new), Some(old)) if new > old => {
            errors.invalid(&deadline, new, "must be less than or equal to previous value");
            return;
        }
        (None, Some(_)) => {
            errors.invalid(&deadline, Value::Null, "must not update from a positive integer to nil value");
        }
        _ => {}
    }
    tolerations_only_added(&spec, old, errors);
    let gates: BTreeSet<&str> =
        old.items_at(&["schedulingGates"]).iter().filter_map(|gate| gate.str_at(&["name"])).collect();
    for gate in spec.items("schedulingGates").iter().filter(|gate| !gates.contains(gate.text("name"))) {
        let detail = "only deletion is allowed, but found new scheduling gate";
        errors.forbidden(&gate.path.child("name"), format!("{detail} '{}'", gate.text("name")));
    }
    if !gates.is_empty() {
        scheduling::steered(&spec, old, errors);
    }
    let mut kept = munged(spec.value, old);
    if kept != *old {
        if let Some(given) = errors.as_given(&spec.path) {
            super::put_back_empty(&mut kept, given);
        }
        let (before, after) = (go::show_pretty("core.PodSpec", old), go::show_pretty("core.PodSpec", &kept));
        let difference = go::unified_diff(&before, &after);
        errors.forbidden(
            &spec.path,
            format!("pod updates may not change fields other than {UPDATABLE}\n{difference}"),
        );
    }
}

/// The new spec with everything that may change put back.
fn munged(new: &Value, old: &Value) -> Value {
    let mut spec = new.clone();
    for list in ["containers", "initContainers"] {
        let images: Vec<Value> =
            old.items_at(&[list]).iter().map(|c| c.get("image").cloned().unwrap_or_default()).collect();
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for (container, image) in containers.into_iter().flatten().zip(images) {
            container.set(&["image"], image);
        }
    }
    let mut back = |path: &[&str]| match old.at(path) {
        Some(value) => spec.set(path, value.clone()),
        None => {
            spec.take(path);
        }
    };
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        back(&[field]);
    }
    let grace = |spec: &Value| spec.i64_at(&["terminationGracePeriodSeconds"]);
    if grace(old).is_some_and(|grace| grace < 0) && grace(new) == Some(1) {
        back(&["terminationGracePeriodSeconds"]);
    }
    // A gated pod may still be steered to a node.
    if !old.items_at(&["schedulingGates"]).is_empty() {
        back(&["nodeSelector"]);
        back(&["affinity", "nodeAffinity"]);
        let empty = spec.get("affinity").and_then(Value::as_object).is_some_and(|map| map.is_empty());
        if empty && old.get("affinity").is_none() {
            spec.take(&["affinity"]);
        }
    }
    spec
}

fn tolerations_only_added(spec: &At<'_>, old: &Value, errors: &mut Errors) {
    let without_seconds = |toleration: &Value| {
        let mut toleration = toleration.clone();
        toleration.take(&["tolerationSeconds"]);
        toleration.to_json()
    };
    let new: BTreeSet<String> = spec.items("tolerations").iter().map(|t| without_seconds(t.value)).collect();
    let kept =
        old.items_at(&["tolerations"]).iter().all(|toleration| new.contains(&without_seconds(toleration)));
    if !kept {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.forbidden(&spec.path.child("tolerations"), detail);
    }
}

/// Ephemeral containers come, and stay as they came.
pub(super) fn ephemeral_containers(at: &At<'_>, old: &Value, errors: &mut Errors) {
    pod::metadata_and_spec(at, errors);
    let path = at.path.child("spec").child("ephemeralContainers");
    let new = at.child("spec").items("ephemeralContainers");
    for container in old.items_at(&["spec", "ephemeralContainers"]) {
        let name = container.str_at(&["name"]).unwrap_or_default();
        let quoted = pilothouse_value::field::quote(name);
        match new.iter().find(|one| one.text("name") == name) {
            None => {
                errors
                    .forbidden(&path, format!("existing ephemeral containers {quoted} may not be removed\n"));
            }
            Some(one) if one.value != container => {
                let show = |value| go::show_pretty("core.EphemeralContainer", value);
                let difference = go::unified_diff(&show(container), &show(one.value));
                errors.forbidden(
                    &path,
                    format!("existing ephemeral containers {quoted} may not be changed\n{difference}"),
                );
            }
            Some(_) => {}
        }
    }
}

/// The resources of a pod's containers change while it runs.
pub(super) fn resize(at: &At<'_>, old: &Value, errors: &mut Errors) {
    pod::metadata_and_spec(at, errors);
    let spec = at.child("spec");
    let class = |pod: &Value| pod.str_at(&["status", "qosClass"]).unwrap_or_default().to_owned();
    let before = class(old);
    if before != prepare::pod_qos(at.value) {
        errors.invalid(&spec.path, class(at.value), "Pod QOS Class may not change as a result of resizing");
    }
    let running = old
        .items_at(&["status", "containerStatuses"])
        .iter()
        .find(|status| status.at(&["state", "running"]).is_some());
    if running.is_some_and(|status| status.get("resources").is_none()) {
        errors.forbidden(&spec.path, "Pod running on node without support for resize");
    }
    let old = old.get("spec").unwrap_or(NULL);
    let count = errors.0.len();
    for list in ["containers", "initContainers"] {
        let (containers, before) = (spec.items(list), old.items_at(&[list]));
        if containers.len() != before.len() {
            errors.forbidden(&spec.path.child(list), format!("{list} may not be added or removed on resize"));
            continue;
        }
        for (container, before) in containers.iter().zip(before) {
            if Some(container.text("name")) != before.str_at(&["name"]) {
                let detail = format!("{list} may not be renamed or reordered on resize");
                errors.forbidden(&container.path.child("name"), detail);
            }
        }
    }
    if errors.0.len() > count {
        return;
    }
    let mut kept = spec.value.clone();
    for list in ["initContainers", "containers"] {
        for (container, before) in spec.items(list).iter().zip(old.items_at(&[list])) {
            resized(&container.child("resources"), before, errors);
        }
    }
    for list in ["containers", "initContainers"] {
        let before = old.items_at(&[list]);
        let containers = kept.get_mut(list).and_then(Value::as_array_mut);
        for (index, (container, before)) in containers.into_iter().flatten().zip(before).enumerate() {
            put_back_computes(container, before);
            if container == before {
                continue;
            }
            if list == "containers" {
                errors.forbidden(&spec.path, "only cpu and memory resources are mutable");
            } else {
                let detail = "only cpu and memory resources for init or sidecar containers are mutable";
                errors.forbidden(&spec.path.child(list).index(index), detail);
            }
        }
    }
    put_back_computes(&mut kept, old);
    let empty = kept.get("resources").and_then(Value::as_object).is_some_and(|map| map.is_empty());
    if empty && old.get("resources").is_none() {
        kept.take(&["resources"]);
    }
    if errors.0.is_empty() && kept != *old {
        errors.forbidden(&spec.path, "only cpu and memory resources are mutable");
    }
}

fn resized(at: &At<'_>, before: &Value, errors: &mut Errors) {
    for part in ["requests", "limits"] {
        let old = before.at(&["resources", part]).and_then(Value::as_object);
        let removed =
            old.into_iter().flat_map(|map| map.keys()).any(|name| at.child(part).value.get(name).is_none());
        if removed {
            errors.forbidden(&at.path.child(part), format!("resource {part} cannot be removed"));
        }
    }
}

fn put_back_computes(container: &mut Value, before: &Value) {
    for part in ["requests", "limits"] {
        for name in ["cpu", "memory"] {
            match before.at(&["resources", part, name]) {
                Some(value) => container.set(&["resources", part, name], value.clone()),
                None => {
                    container.take(&["resources", part, name]);
                }
            }
        }
        let empty =
            container.at(&["resources", part]).and_then(Value::as_object).is_some_and(|map| map.is_empty());
        if empty && before.at(&["resources", part]).is_none() {
            container.take(&["resources", part]);
        }
    }
}

/// What a node reports of a pod.
pub(super) fn status(at: &At<'_>, old: &Value, errors: &mut Errors) {
    let status = at.child("status");
    for condition in status.items("conditions") {
        let kind = condition.text("type");
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            errors.complaints(&condition.path.child("Type"), kind, names::qualified_name(kind));
        }
        if let Some(generation) = condition.int("observedGeneration").filter(|n| *n < 0) {
            let path = condition.path.child("observedGeneration");
            errors.invalid(&path, generation, "must be a non-negative integer");
        }
    }
    let node = |pod: &Value| pod.str_at(&["spec", "nodeName"]).unwrap_or_default().to_owned();
    if node(at.value) != node(old) {
        errors.forbidden(&status.path.child("nodeName"), "may not be changed directly");
    }
    let nominated = status.text("nominatedNodeName");
    let path = status.path.child("nominatedNodeName");
    if Some(nominated) != old.str_at(&["status", "nominatedNodeName"]) && !nominated.is_empty() {
        errors.complaints(&path, nominated, names::dns1123_subdomain(nominated));
        if !node(old).is_empty() {
            errors.forbidden(&path, "may not be set on pods that are already bound to a node");
        }
    }
    if let Some(generation) = status.int("observedGeneration").filter(|n| *n < 0) {
        errors.invalid(
            &status.path.child("observedGeneration"),
            generation,
            "must be a non-negative integer",
        );
    }
    let class = |pod: &Value| pod.at(&["status", "qosClass"]).cloned().unwrap_or_default();
    if class(at.value) != class(old) {
        errors.invalid(&status.path.child("qosClass"), class(at.value), IMMUTABLE);
    }
    for (list, containers) in
        [("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")]
    {
        no_resurrection(&status, old, list, containers, errors);
    }
    claim_statuses(at, &status, errors);
    container_statuses::all(at, errors);
    addresses(&status, old, "podIPs", errors);
    if let Some(first) = status.items("hostIPs").first() {
        let ip = first.text("ip");
        if ip != status.text("hostIP") {
            errors.invalid(&first.path.child("ip"), ip, "must be equal to `hostIP`");
        }
    }
    addresses(&status, old, "hostIPs", errors);
}

/// A container that has ended and is not started again stays so.
fn no_resurrection(status: &At<'_>, old: &Value, list: &str, containers: &str, errors: &mut Errors) {
    let policy = old.str_at(&["spec", "restartPolicy"]).unwrap_or_default();
    for (index, before) in old.items_at(&["status", list]).iter().enumerate() {
        let Some(ended) = before.at(&["state", "terminated"]) else { continue };
        let name = before.str_at(&["name"]);
        let spec = old.items_at(&["spec", containers]).iter().find(|c| c.str_at(&["name"]) == name);
        let own = spec.and_then(|spec| spec.str_at(&["restartPolicy"])).unwrap_or(policy);
        let restarts = match own {
            "Always" => true,
            "OnFailure" => ended.i64_at(&["exitCode"]).unwrap_or_default() != 0,
            _ => false,
        };
        let now = status.items(list).into_iter().find(|now| Some(now.text("name")) == name);
        if !restarts && now.is_some_and(|now| now.value.at(&["state", "terminated"]).is_none()) {
            let path = status.path.child(list).index(index).child("state");
            errors.forbidden(&path, "may not be transitioned to non-terminated state");
        }
    }
}

fn claim_statuses(at: &At<'_>, status: &At<'_>, errors: &mut Errors) {
    let claims = at.child("spec").items("resourceClaims");
    let claims: BTreeSet<&str> = claims.iter().map(|claim| claim.text("name")).collect();
    let mut seen = BTreeSet::new();
    for one in status.items("resourceClaimStatuses") {
        let (name, path) = (one.text("name"), one.path.child("name"));
        if !claims.contains(name) {
            errors.invalid(&path, name, "must match the name of an entry in `spec.resourceClaims`");
        }
        if !seen.insert(name) {
            errors.0.push(Error::duplicate(&path, name));
        }
        if let Some(claim) = one.find("resourceClaimName") {
            let text = claim.value.as_str().unwrap_or_default();
            errors.complaints(&claim.path, text, names::dns1123_subdomain(text));
        }
    }
}

fn addresses(status: &At<'_>, old: &Value, list: &str, errors: &mut Errors) {
    let found = status.items(list);
    let path = status.path.child(list);
    if status.child(list).value == old.at(&["status", list]).unwrap_or(NULL) {
        return;
    }
    let known: BTreeSet<&str> =
        old.items_at(&["status", list]).iter().filter_map(|old| old.str_at(&["ip"])).collect();
    let mut parsed = Vec::new();
    for one in &found {
        let was_there = |ip: &str| known.contains(ip);
        legacy_ip(&one.path, one.text("ip"), was_there, errors);
        parsed.extend(ips::sloppy_ip(one.text("ip")));
    }
    if found.len() <= 1 || parsed.len() != found.len() {
        return;
    }
    let form = if list == "podIPs" { "[]@core.PodIP" } else { "[]@core.HostIP" };
    let both = matches!(parsed[..], [a, b] if a.is_ipv4() != b.is_ipv4());
    if !both {
        let detail = "may specify no more than one IP for each IP family";
        errors.shown_form(&path, form, status.child(list).value, detail);
    }
}

/// A node for a pod.
pub(super) fn binding(at: &At<'_>, errors: &mut Errors) {
    let target = at.child("target");
    let (kind, name) = (target.text("kind"), target.text("name"));
    let path = Path::new("target");
    if !matches!(kind, "" | "Node") {
        errors.unsupported(&path.child("kind"), kind, &["Node", "<empty>"]);
    }
    if name.is_empty() {
        errors.required(&path.child("name"), "");
    } else if matches!(kind, "" | "Node") {
        errors.complaints(&path.child("name"), name, names::dns1123_subdomain(name));
    }
}
