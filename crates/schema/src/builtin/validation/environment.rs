//! The environment of a container, and the fields of a pod and of its containers that environments and files may show.

use pilothouse_value::{Quantity, names};

use super::{At, Errors};

/// Variables that are read from a file name a volume of the pod that its containers write to.
pub(super) fn files(spec: &At<'_>, errors: &mut Errors) {
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    for variable in lists.iter().flat_map(|list| spec.items(list)).flat_map(|c| c.items("env")) {
        let Some(reference) = variable.child("valueFrom").find("fileKeyRef") else { continue };
        let (name, path) = (reference.text("volumeName"), reference.path.child("volumeName"));
        match spec.items("volumes").iter().rfind(|volume| volume.text("name") == name) {
            None => errors.0.push(pilothouse_value::field::Error::not_found(&path, name)),
            Some(volume) if volume.find("emptyDir").is_none() => {
                errors.invalid(&path, name, "referenced volume must be of type emptyDir");
            }
            Some(_) => {}
        }
    }
}

fn file_key(at: &At<'_>, errors: &mut Errors) {
    for (field, rule) in [
        ("key", names::env_var_name as fn(&str) -> Vec<String>),
        ("volumeName", names::dns1123_label),
        ("path", |_| Vec::new()),
    ] {
        let (text, path) = (at.text(field), at.path.child(field));
        match text {
            "" => errors.required(&path, ""),
            _ if field == "path" => super::no_backsteps(&path, text, errors),
            _ => errors.complaints(&path, text, rule(text)),
        }
    }
}

pub(super) fn environment(at: &At<'_>, errors: &mut Errors) {
    for variable in at.items("env") {
        let name = variable.text("name");
        match name {
            "" => errors.required(&variable.path.child("name"), ""),
            _ => errors.complaints(&variable.path.child("name"), name, names::env_var_name(name)),
        }
        if let Some(from) = variable.find("valueFrom") {
            value_from(&variable, &from, errors);
        }
    }
    for source in at.items("envFrom") {
        let prefix = source.text("prefix");
        if !prefix.is_empty() {
            errors.complaints(&source.path.child("prefix"), prefix, names::env_var_name(prefix));
        }
        let given: Vec<At<'_>> =
            ["configMapRef", "secretRef"].iter().filter_map(|field| source.find(field)).collect();
        for reference in &given {
            match reference.text("name") {
                "" => errors.required(&reference.path.child("name"), ""),
                name => {
                    errors.complaints(&reference.path.child("name"), name, names::dns1123_subdomain(name))
                }
            }
        }
        let path = at.path.child("envFrom");
        match given.len() {
            0 => errors.invalid(&path, "", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => errors.invalid(&path, "", "may not have more than one field specified at a time"),
        }
    }
}

/// The fields of a pod that its environment may show.
const ENV_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// The fields of a pod that files may show.
pub(super) const FILE_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

/// The fields of a pod that can be named at all in version v1.
const PATHS: [&str; 8] = [
    "spec.host",
    "spec.hostNetwork",
    "spec.restartPolicy",
    "spec.schedulerName",
    "status.phase",
    "status.nominatedNodeName",
    "metadata.annotations",
    "metadata.labels",
];

fn value_from(variable: &At<'_>, from: &At<'_>, errors: &mut Errors) {
    let sources = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
    let given: Vec<At<'_>> = sources.iter().filter_map(|source| from.find(source)).collect();
    if let Some(reference) = from.find("fieldRef") {
        object_field(&reference, &ENV_FIELDS, errors);
    }
    if let Some(reference) = from.find("resourceFieldRef") {
        resource_field(&reference, false, errors);
    }
    for reference in ["configMapKeyRef", "secretKeyRef"].iter().filter_map(|field| from.find(field)) {
        let (name, key) = (reference.text("name"), reference.text("key"));
        errors.complaints(&reference.path.child("name"), name, names::dns1123_subdomain(name));
        match key {
            "" => errors.required(&reference.path.child("key"), ""),
            _ => errors.complaints(&reference.path.child("key"), key, names::config_map_key(key)),
        }
    }
    if let Some(reference) = from.find("fileKeyRef") {
        file_key(&reference, errors);
    }
    if given.is_empty() {
        let detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        errors.invalid(&from.path, "", detail);
    } else if !variable.text("value").is_empty() {
        errors.invalid(&from.path, "", "may not be specified when `value` is not empty");
    } else if given.len() > 1 {
        errors.invalid(&from.path, "", "may not have more than one field specified at a time");
    }
}

/// A field of the pod itself.
pub(super) fn object_field(at: &At<'_>, allowed: &[&str], errors: &mut Errors) {
    let (version, field) = (at.text("apiVersion"), at.text("fieldPath"));
    let path = at.path.child("fieldPath");
    if version.is_empty() {
        return errors.required(&at.path.child("apiVersion"), "");
    }
    if field.is_empty() {
        return errors.required(&path, "");
    }
    if version != "v1" {
        return errors.invalid(
            &path,
            field,
            format!("error converting fieldPath: unsupported pod version: {version}"),
        );
    }
    if let Some((parent, key)) = field.strip_suffix("']").and_then(|start| start.split_once("['")) {
        match parent {
            "metadata.annotations" => {
                errors.complaints(&at.path, key, names::qualified_name(&key.to_lowercase()))
            }
            "metadata.labels" => errors.complaints(&at.path, key, names::qualified_name(key)),
            _ => errors.invalid(
                &path,
                field,
                format!("error converting fieldPath: field label does not support subscript: {field}"),
            ),
        }
        return;
    }
    let known = PATHS.contains(&field) || ENV_FIELDS.contains(&field);
    if !known {
        errors.invalid(
            &path,
            field,
            format!("error converting fieldPath: field label not supported: {field}"),
        );
    } else if !allowed.contains(&field) {
        errors.unsupported(&path, field, allowed);
    }
}

const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// A resource of a container: of the one itself, or, in a file of the pod, of one that is named.
pub(super) fn resource_field(at: &At<'_>, of_volume: bool, errors: &mut Errors) {
    if of_volume && at.text("containerName").is_empty() {
        return errors.required(&at.path.child("containerName"), "");
    }
    let resource = at.text("resource");
    if resource.is_empty() {
        return errors.required(&at.path.child("resource"), "");
    }
    let huge = ["limits.hugepages-", "requests.hugepages-"].iter().any(|start| resource.starts_with(start));
    if !RESOURCES.contains(&resource) && !huge {
        return errors.unsupported(&at.path.child("resource"), resource, &RESOURCES);
    }
    let divisor = at.text("divisor").parse::<Quantity>().map(Quantity::nano).unwrap_or_default();
    if divisor == 0 {
        return;
    }
    let unit: i128 = 1_000_000_000;
    let (units, noun): (Vec<i128>, _) = if resource.ends_with(".cpu") {
        (vec![unit / 1000, unit], "1m and 1 are supported with the cpu resource")
    } else {
        let scales = (0..=6).flat_map(|power| [1000_i128.pow(power), 1024_i128.pow(power)]);
        let list = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the";
        let noun = match resource {
            "limits.memory" | "requests.memory" => "memory resource",
            "limits.ephemeral-storage" | "requests.ephemeral-storage" => "local ephemeral storage resource",
            _ => "hugepages resource",
        };
        if !scales.map(|scale| scale * unit).any(|allowed| allowed == divisor) {
            let detail = format!("only divisor's values {list} {noun}");
            errors.invalid(&at.path.child("divisor"), resource, detail);
        }
        return;
    };
    if !units.contains(&divisor) {
        errors.invalid(&at.path.child("divisor"), resource, format!("only divisor's values {noun}"));
    }
}
