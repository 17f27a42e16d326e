//! Warnings for pods and templates.

use std::collections::{BTreeMap, BTreeSet};

use pilothouse_value::{Map, Value};

use super::{MOST, addresses, claim_spec, fractional, overlaps};

/// Kinds of volumes that do nothing any more.
pub(super) const GONE: [(&str, &str); 9] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// Labels of nodes that have other names now.
const LABELS: [(&str, &str); 5] = [
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
];

/// Annotations that do nothing any more, and the fields that stand for them.
const IDLE: [(&str, &str, &str); 3] = [
    ("scheduler.alpha.kubernetes.io/critical-pod", "v1.16+", "priorityClassName"),
    ("security.alpha.kubernetes.io/sysctls", "v1.11+", "sysctls"),
    ("security.alpha.kubernetes.io/unsafe-sysctls", "v1.11+", "sysctls"),
];

const SECCOMP: &str = "seccomp.security.alpha.kubernetes.io/pod";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

fn renamed(label: &str) -> Option<String> {
    let (_, now) = LABELS.iter().find(|(old, _)| *old == label)?;
    let since =
        if label.contains("instance-type") || label.contains("failure-domain") { "v1.17" } else { "v1.14" };
    Some(format!("deprecated since {since}; use \"{now}\" instead"))
}

/// The warnings of a pod, or of a template that stands at `path`.
pub(super) fn pod(path: &str, pod: &Value, old: Option<&Value>, out: &mut Vec<String>) {
    let at = |field: &str| if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") };
    let Some(spec) = pod.get("spec") else { return };
    // Pods are updated by controllers and nodes, which nobody reads warnings of.
    if path.is_empty() && old.is_some() {
        return;
    }
    let place = at("spec");
    for key in spec.get("nodeSelector").and_then(Value::as_object).into_iter().flat_map(Map::keys) {
        if let Some(why) = renamed(key) {
            out.push(format!("{place}.nodeSelector[{key}]: {why}"));
        }
    }
    for (index, constraint) in spec.items_at(&["topologySpreadConstraints"]).iter().enumerate() {
        let place = format!("{place}.topologySpreadConstraints[{index}]");
        let key = constraint.str_at(&["topologyKey"]).unwrap_or_default();
        if let Some(why) = renamed(key) {
            out.push(format!("{place}.topologyKey: {key} is {why}"));
        }
        if constraint.get("labelSelector").is_none_or(Value::is_null) {
            out.push(format!("{place}.labelSelector: a null labelSelector results in matching no pod"));
        }
    }
    for (key, since, field) in IDLE {
        if pod.at(&["metadata", "annotations", key]).is_some() {
            let place = at("metadata.annotations");
            out.push(format!("{place}[{key}]: non-functional in {since}; use the \"{field}\" field instead"));
        }
    }
    volumes(&place, spec, out);
    aliases_and_secrets(&place, spec, out);
    for resource in ["memory", "ephemeral-storage"] {
        fractional(&format!("{place}.overhead[{resource}]"), spec.at(&["overhead", resource]), out);
    }
    annotations(&at("metadata.annotations"), path.is_empty(), pod, out);
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for (index, container) in spec.items_at(&[list]).iter().enumerate() {
            self::container(&format!("{place}.{list}[{index}]"), container, out);
        }
    }
    ports(&place, spec, out);
    if spec.i64_at(&["terminationGracePeriodSeconds"]).is_some_and(|seconds| seconds < 0) {
        out.push(format!("{place}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"));
    }
    affinity(&place, spec, out);
    addresses::pod(&place, spec, out);
}

fn volumes(place: &str, spec: &Value, out: &mut Vec<String>) {
    for (index, volume) in spec.items_at(&["volumes"]).iter().enumerate() {
        let place = format!("{place}.volumes[{index}]");
        for (kind, why) in GONE {
            if volume.get(kind).is_some() {
                let kind = if kind == "storageos" { "storageOS" } else { kind };
                out.push(format!("{place}.{kind}: {why}"));
            }
        }
        if let Some(template) = volume.at(&["ephemeral", "volumeClaimTemplate", "spec"]) {
            claim_spec(&format!("{place}.ephemeral.volumeClaimTemplate.spec"), Some(template), out);
        }
    }
    spec.items_at(&["volumes"]).iter().for_each(|volume| overlaps::warn(volume, out));
}

fn aliases_and_secrets(place: &str, spec: &Value, out: &mut Vec<String>) {
    let mut twice = |list: &str, field: &str, noun: &str| {
        let mut seen = BTreeSet::new();
        for (index, item) in spec.items_at(&[list]).iter().enumerate() {
            let text = item.str_at(&[field]).unwrap_or_default();
            if !seen.insert(text) && (list == "hostAliases" || !text.is_empty()) {
                out.push(format!("{place}.{list}[{index}].{field}: duplicate {noun} \"{text}\""));
            }
        }
    };
    twice("hostAliases", "ip", "ip");
    twice("imagePullSecrets", "name", "name");
    for (index, secret) in spec.items_at(&["imagePullSecrets"]).iter().enumerate() {
        if secret.str_at(&["name"]).unwrap_or_default().is_empty() {
            out.push(format!("{place}.imagePullSecrets[{index}].name: invalid empty name \"\""));
        }
    }
}

fn annotations(place: &str, is_pod: bool, pod: &Value, out: &mut Vec<String>) {
    let given = pod.at(&["metadata", "annotations"]).and_then(Value::as_object);
    for key in given.into_iter().flat_map(Map::keys) {
        if key == SECCOMP && pod.at(&["spec", "securityContext", "seccompProfile"]).is_none() {
            out.push(format!(
                "{place}[{key}]: non-functional in v1.27+; use the \"seccompProfile\" field instead"
            ));
        }
        if key.starts_with(APP_ARMOR) && !is_pod {
            out.push(format!(
                "{place}[{key}]: deprecated since v1.30; use the \"appArmorProfile\" field instead"
            ));
        }
    }
}

fn container(place: &str, container: &Value, out: &mut Vec<String>) {
    for resource in ["memory", "ephemeral-storage"] {
        for part in ["limits", "requests"] {
            let value = container.at(&["resources", part, resource]);
            fractional(&format!("{place}.resources.{part}[{resource}]"), value, out);
        }
    }
    let mut seen = BTreeSet::new();
    for (index, variable) in container.items_at(&["env"]).iter().enumerate() {
        let name = variable.str_at(&["name"]).unwrap_or_default();
        let before = !seen.insert(name);
        let value = variable.str_at(&["value"]).unwrap_or_default();
        // One that is made of the one before continues it.
        if before && !value.contains(&format!("$({name})")) {
            out.push(format!("{place}.env[{index}]: hides previous definition of \"{name}\", which may be dropped when using apply"));
        }
    }
}

/// Where a port stands, on the host.
struct Placed<'a> {
    place: String,
    host: i64,
    ip: &'a str,
}

/// Ports of all containers, which share one network; then their names, which services look for.
fn ports(place: &str, spec: &Value, out: &mut Vec<String>) {
    let mut seen: BTreeMap<(i64, &str), Vec<Placed<'_>>> = BTreeMap::new();
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    let mut shared_names = Vec::new();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        let containers = spec.items_at(&[list]).iter().enumerate();
        let all = containers.flat_map(|(index, container)| {
            container.items_at(&["ports"]).iter().enumerate().map(move |(at, port)| (index, at, port))
        });
        for (index, at, port) in all {
            let place = format!("{place}.{list}[{index}].ports[{at}]");
            let number = |field: &str| port.i64_at(&[field]).unwrap_or_default();
            let text = |field: &'static str| port.str_at(&[field]).unwrap_or_default();
            let (own, host, ip) = (number("containerPort"), number("hostPort"), text("hostIP"));
            let (name, protocol) = (text("name"), text("protocol"));
            if !ip.is_empty() && host == 0 {
                out.push(format!(
                    "{place}: hostIP set without hostPort: {{Name:{name} HostPort:{host} ContainerPort:{own} Protocol:{protocol} HostIP:{ip}}}"
                ));
            }
            let others = seen.entry((own, protocol)).or_default();
            for other in others.iter() {
                if out.len() > MOST {
                    // Every port with every other: nobody is told of more.
                    break;
                }
                let how = match () {
                    () if host == other.host && ip == other.ip => "duplicate",
                    () if host == 0 || other.host == 0 => "overlapping",
                    () if host == other.host && ip.is_empty() != other.ip.is_empty() => {
                        "dangerously ambiguous"
                    }
                    () => continue,
                };
                out.push(format!("{place}: {how} port definition with {}", other.place));
            }
            match names.get(name) {
                _ if name.is_empty() => {}
                Some(other) => shared_names.push(format!(
                    "{place}: duplicate port name \"{name}\" with {other}, services and probes that select ports by name will use {other}"
                )),
                None => {
                    names.insert(name, place.clone());
                }
            }
            others.push(Placed { place, host, ip });
        }
    }
    out.append(&mut shared_names);
}

fn affinity(place: &str, spec: &Value, out: &mut Vec<String>) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    const NONE: &str = "a null labelSelector results in matching no pod";
    for kind in ["podAffinity", "podAntiAffinity"] {
        for (index, term) in spec.items_at(&["affinity", kind, REQUIRED]).iter().enumerate() {
            if term.get("labelSelector").is_none_or(Value::is_null) {
                out.push(format!("{place}.affinity.{kind}.{REQUIRED}[{index}].labelSelector: {NONE}"));
            }
        }
        for (index, term) in spec.items_at(&["affinity", kind, PREFERRED]).iter().enumerate() {
            if term.at(&["podAffinityTerm", "labelSelector"]).is_none_or(Value::is_null) {
                out.push(format!(
                    "{place}.affinity.{kind}.{PREFERRED}[{index}].podAffinityTerm.labelSelector: {NONE}"
                ));
            }
        }
    }
}
