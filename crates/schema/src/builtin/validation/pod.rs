//! Pods and their templates, field by field in the order in which a server checks them.

use std::collections::BTreeSet;

use pilothouse_value::field::Error;
use pilothouse_value::{Value, names};

use super::addresses::{legacy_ip, nothing_known};
use super::{
    At, Errors, containers, environment, labels, pod_update, profiles, resources, scheduling, security,
    volumes,
};

const DEADLINE: &str = "must be between 1 and 2147483647, inclusive";
/// Annotations that say what has become fields.
const MIRROR: &str = "kubernetes.io/config.mirror";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

pub(super) fn pod(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    metadata_and_spec(at, errors);
    match old {
        None => {
            if !spec.items("ephemeralContainers").is_empty() {
                errors.forbidden(&spec.path.child("ephemeralContainers"), "cannot be set on create");
            }
            containers_of_pods_only(&spec, &["containers", "initContainers"], errors);
            if !spec.text("nodeName").is_empty() && !spec.items("schedulingGates").is_empty() {
                let detail = "cannot be set until all schedulingGates have been cleared";
                errors.forbidden(&spec.path.child("nodeName"), detail);
            }
            profiles::match_annotations(at, errors);
        }
        Some(old) => pod_update::update(at, old, errors),
    }
}

/// What holds for pods whatever is done with them.
pub(super) fn metadata_and_spec(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    annotations(&at.child("metadata").child("annotations"), &spec, errors);
    pod_spec(&spec, Some(&at.child("metadata")), errors);
    if spec.text("serviceAccountName").is_empty() {
        for volume in spec.items("volumes") {
            for source in volume.child("projected").items("sources") {
                if let Some(token) = source.find("serviceAccountToken") {
                    errors.forbidden(&token.path, "must not be specified when serviceAccountName is not set");
                }
            }
        }
    }
    errors.not_negative(&spec, &["terminationGracePeriodSeconds"]);
}

/// Images of pods have no space around them; those of templates always had, so they may.
pub(super) fn containers_of_pods_only(spec: &At<'_>, lists: &[&str], errors: &mut Errors) {
    for container in lists.iter().flat_map(|list| spec.items(list)) {
        let image = container.text("image");
        if image.trim() != image {
            errors.invalid(
                &container.path.child("image"),
                image,
                "must not have leading or trailing whitespace",
            );
        }
    }
}

pub(super) fn template(at: &At<'_>, errors: &mut Errors) {
    let metadata = at.child("metadata");
    // Upstream leaves `metadata` out of these paths.
    labels(&At { value: metadata.value, path: at.path.clone() }, "labels", errors);
    let given = At { value: metadata.child("annotations").value, path: at.path.child("annotations") };
    for (key, _) in metadata.map("annotations") {
        errors.complaints(&given.path, key, names::qualified_name(&key.to_lowercase()));
    }
    let spec = at.child("spec");
    annotations(&given, &spec, errors);
    pod_spec(&spec, None, errors);
    if !spec.items("ephemeralContainers").is_empty() {
        errors.forbidden(
            &spec.path.child("ephemeralContainers"),
            "ephemeral containers not allowed in pod template",
        );
    }
}

fn annotations(at: &At<'_>, spec: &At<'_>, errors: &mut Errors) {
    if let Some(mirror) = at.find(MIRROR).filter(|_| spec.text("nodeName").is_empty()) {
        let detail = "must set spec.nodeName if mirror pod annotation is set";
        errors.invalid(&at.path.key(MIRROR), mirror.value.clone(), detail);
    }
    if let Some(cost) = at.find(DELETION_COST) {
        let text = cost.value.as_str().unwrap_or_default();
        let zeros = text.trim_start_matches(['-', '+']);
        let canonical = zeros == "0" || !zeros.starts_with('0');
        if text.starts_with('+') || !canonical || text.parse::<i32>().is_err() {
            errors.invalid(&at.path.key(DELETION_COST), text, "must be a 32bit integer");
        }
    }
    let containers: BTreeSet<&str> = ["initContainers", "containers"]
        .iter()
        .flat_map(|list| spec.items(list))
        .map(|c| c.text("name"))
        .collect();
    for (key, value) in at.value.as_object().into_iter().flat_map(|map| map.iter()) {
        let Some(container) = key.strip_prefix(APP_ARMOR) else { continue };
        let profile = value.as_str().unwrap_or_default();
        if !containers.contains(container) {
            errors.invalid(&at.path.key(key), container, "container not found");
        }
        let known =
            ["", "runtime/default", "unconfined"].contains(&profile) || profile.starts_with("localhost/");
        if !known {
            let detail =
                format!("invalid AppArmor profile name: {}", pilothouse_value::field::quote(profile));
            errors.invalid(&at.path.key(key), profile, detail);
        }
    }
}

/// The spec of a pod, or of the pods that a template is for.
pub(super) fn pod_spec(spec: &At<'_>, metadata: Option<&At<'_>>, errors: &mut Errors) {
    if spec.find("terminationGracePeriodSeconds").is_none() {
        errors.required(&spec.path.child("terminationGracePeriodSeconds"), "");
    }
    let name = metadata.map(|metadata| metadata.text("name")).unwrap_or_default();
    volumes::volumes(spec, name, errors);
    claims(spec, metadata, errors);
    containers::all(spec, errors);
    resources::of_pod(spec, errors);
    host_ports(spec, errors);
    errors.one_of(spec, "restartPolicy", &["Always", "OnFailure", "Never"], true);
    errors.one_of(spec, "dnsPolicy", &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], true);
    labels(spec, "nodeSelector", errors);
    security::of_pod(spec, errors);
    if spec.flag("shareProcessNamespace") && spec.flag("hostPID") {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.invalid(&spec.path.child("shareProcessNamespace"), true, detail);
    }
    scheduling::affinity(&spec.child("affinity"), errors);
    dns_config(spec, errors);
    for gate in spec.items("readinessGates") {
        let kind = gate.text("conditionType");
        errors.complaints(&gate.path.child("conditionType"), kind, names::qualified_name(kind));
    }
    scheduling_gates(spec, errors);
    scheduling::topology_spread(spec, errors);
    security::host_process(spec, errors);
    host_users(spec, errors);
    names_and_times(spec, errors);
    environment::files(spec, errors);
    security::operating_system(spec, errors);
}

fn names_and_times(spec: &At<'_>, errors: &mut Errors) {
    let name = |field: &str, rule: fn(&str) -> Vec<String>, errors: &mut Errors| {
        let name = spec.text(field);
        if !name.is_empty() {
            errors.complaints(&spec.path.child(field), name, rule(name));
        }
    };
    let over = spec.path.child("hostnameOverride");
    if let Some(text) = spec.find("hostnameOverride").map(|at| at.value.as_str().unwrap_or_default()) {
        for field in ["setHostnameAsFQDN", "hostNetwork"] {
            if spec.flag(field) {
                errors.forbidden(&over, format!("may not be specified when {field} is true"));
            }
        }
        if text.len() > 64 {
            errors.0.push(Error::too_long(&over, 64));
        }
        errors.complaints(&over, text, names::dns1123_subdomain(text));
    }
    name("serviceAccountName", names::dns1123_subdomain, errors);
    name("nodeName", names::dns1123_subdomain, errors);
    if let Some(seconds) =
        spec.int("activeDeadlineSeconds").filter(|seconds| !(1..=i64::from(i32::MAX)).contains(seconds))
    {
        errors.invalid(&spec.path.child("activeDeadlineSeconds"), seconds, DEADLINE);
    }
    name("hostname", names::dns1123_label, errors);
    name("subdomain", names::dns1123_label, errors);
    for toleration in spec.items("tolerations") {
        scheduling::toleration(&toleration, errors);
    }
    for alias in spec.items("hostAliases") {
        legacy_ip(&alias.path.child("ip"), alias.text("ip"), nothing_known, errors);
        for host in alias.items("hostnames") {
            let text = host.value.as_str().unwrap_or_default();
            errors.complaints(&host.path, text, names::dns1123_subdomain(text));
        }
    }
    name("priorityClassName", names::dns1123_subdomain, errors);
    if let Some(class) = spec.find("runtimeClassName") {
        let text = class.value.as_str().unwrap_or_default();
        errors.complaints(&class.path, text, names::dns1123_subdomain(text));
    }
    errors.one_of(spec, "preemptionPolicy", &["PreemptLowerPriority", "Never"], false);
    resources::quantities(&spec.child("overhead"), errors);
}

fn host_ports(spec: &At<'_>, errors: &mut Errors) {
    if !spec.flag("hostNetwork") {
        return;
    }
    for port in ["containers", "initContainers"]
        .iter()
        .flat_map(|list| spec.items(list))
        .flat_map(|c| c.items("ports"))
    {
        let (host, own) =
            (port.int("hostPort").unwrap_or_default(), port.int("containerPort").unwrap_or_default());
        if host != own {
            errors.invalid(
                &port.path.child("hostPort"),
                host,
                "must match `containerPort` when `hostNetwork` is true",
            );
        }
    }
}

fn host_users(spec: &At<'_>, errors: &mut Errors) {
    if spec.child("hostUsers").value.as_bool() != Some(false) {
        return;
    }
    for (field, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if spec.flag(field) {
            errors.forbidden(&spec.path.child(shown), "when `hostUsers` is false");
        }
    }
}

fn scheduling_gates(spec: &At<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    let gates = spec.items("schedulingGates");
    for gate in &gates {
        let name = gate.text("name");
        errors.complaints(&gate.path, name, names::qualified_name(name));
        if !seen.insert(name) {
            errors.0.push(Error::duplicate(&gate.path, name));
        }
    }
}

fn dns_config(spec: &At<'_>, errors: &mut Errors) {
    let config = spec.child("dnsConfig");
    if spec.text("dnsPolicy") == "None" {
        if config.value.is_null() {
            errors.required(&config.path, "must provide `dnsConfig` when `dnsPolicy` is None");
            return;
        }
        if config.items("nameservers").is_empty() {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            errors.required(&config.path.child("nameservers"), detail);
            return;
        }
    }
    let servers = config.items("nameservers");
    if servers.len() > 3 {
        let value = config.child("nameservers").value.clone();
        errors.invalid(&config.path.child("nameservers"), value, "must not have more than 3 nameservers");
    }
    for server in servers {
        let text = server.value.as_str().unwrap_or_default();
        legacy_ip(&server.path, text, nothing_known, errors);
    }
    let searches = config.items("searches");
    if searches.len() > 32 {
        let value = config.child("searches").value.clone();
        errors.invalid(&config.path.child("searches"), value, "must not have more than 32 search paths");
    }
    let length: usize = searches.iter().filter_map(|one| one.value.as_str()).map(str::len).sum();
    if length + searches.len().saturating_sub(1) > 2048 {
        let value = config.child("searches").value.clone();
        let detail = "must not have more than 2048 characters (including spaces) in the search list";
        errors.invalid(&config.path.child("searches"), value, detail);
    }
    for search in searches {
        let text = search.value.as_str().unwrap_or_default();
        // The root alone is a search path, and a dot at the end makes one absolute.
        let name = text.strip_suffix('.').unwrap_or(text);
        if text != "." {
            errors.complaints(&search.path, text, names::dns1123_subdomain_with_underscore(name));
        }
    }
    for option in config.items("options") {
        if option.text("name").is_empty() {
            errors.required(&option.path, "must not be empty");
        }
    }
}

/// The resource claims of a pod.
fn claims(spec: &At<'_>, metadata: Option<&At<'_>>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for claim in spec.items("resourceClaims") {
        let name = claim.text("name");
        match name {
            "" => errors.required(&claim.path.child("name"), ""),
            name if !seen.insert(name) => errors.0.push(Error::duplicate(&claim.path.child("name"), name)),
            name => errors.complaints(&claim.path.child("name"), name, names::dns1123_label(name)),
        }
        let (of, template) = (claim.find("resourceClaimName"), claim.find("resourceClaimTemplateName"));
        let shown = |detail: &str, errors: &mut Errors| {
            errors.shown(&claim.path, "core.PodResourceClaim", claim.value, detail);
        };
        match (&of, &template) {
            (Some(_), Some(_)) => shown(
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
                errors,
            ),
            (None, None) => {
                shown("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`", errors);
            }
            _ => {}
        }
        for one in [of, template.clone()].into_iter().flatten() {
            let text = one.value.as_str().unwrap_or_default();
            errors.complaints(&one.path, text, names::dns1123_subdomain(text));
        }
        // The claim that is made from a template is named after the pod.
        let pod = metadata.map(|metadata| metadata.text("name")).unwrap_or_default();
        if template.is_some() && !pod.is_empty() && !name.is_empty() {
            let generated = format!("{pod}-{name}");
            for complaint in names::dns1123_subdomain(&generated) {
                let detail = format!("final ResourceClaim name: {complaint}");
                errors.invalid(&claim.path.child("name"), generated.as_str(), detail);
            }
        }
    }
}
