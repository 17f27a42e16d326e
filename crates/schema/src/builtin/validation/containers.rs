//! Containers: names, images, ports, environment, probes, resources, mounts.

use std::collections::BTreeSet;

use pilothouse_value::field::Error;
use pilothouse_value::{Quantity, Value, names};

use super::{At, Errors, descending_path, port, port_name, port_number};

/// Checks the containers of a pod of all three sorts.
pub(super) fn all(spec: &At<'_>, errors: &mut Errors) {
    let volumes: BTreeSet<&str> = spec.items("volumes").iter().map(|volume| volume.text("name")).collect();
    let containers = spec.items("containers");
    if containers.is_empty() {
        errors.required(&spec.path.child("containers"), "");
    }
    let mut names = BTreeSet::new();
    for container in &containers {
        container_common(container, &volumes, errors);
        if !names.insert(container.text("name")) {
            errors.0.push(Error::duplicate(&container.path.child("name"), container.text("name")));
        }
        probes(container, errors);
    }
    for container in spec.items("initContainers") {
        container_common(&container, &volumes, errors);
        if !container.text("name").is_empty() && !names.insert(container.text("name")) {
            errors.0.push(Error::duplicate(&container.path.child("name"), container.text("name")));
        }
        if container.text("restartPolicy") == "Always" {
            probes(&container, errors);
            continue;
        }
        for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if container.find(field).is_some() {
                let detail = "may not be set for init containers without restartPolicy=Always";
                errors.forbidden(&container.path.child(field), detail);
            }
        }
    }
    host_ports(&containers, errors);
}

fn container_common(at: &At<'_>, volumes: &BTreeSet<&str>, errors: &mut Errors) {
    let name = at.text("name");
    match name {
        "" => errors.required(&at.path.child("name"), ""),
        _ => errors.complaints(&at.path.child("name"), name, names::dns1123_label(name)),
    }
    if at.text("image").is_empty() {
        errors.required(&at.path.child("image"), "");
    }
    errors.one_of(at, "terminationMessagePolicy", &["File", "FallbackToLogsOnError"], true);
    ports(at, errors);
    environment(at, errors);
    mounts(at, volumes, errors);
    errors.one_of(at, "imagePullPolicy", &["Always", "IfNotPresent", "Never"], true);
    resources(&at.child("resources"), errors);
    security_context(at, errors);
}

fn ports(at: &At<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for one in at.items("ports") {
        let name = one.text("name");
        if !name.is_empty() {
            let complaints = port_name(name);
            if complaints.is_empty() && !seen.insert(name) {
                errors.0.push(Error::duplicate(&one.path.child("name"), name));
            }
            errors.complaints(&one.path.child("name"), name, complaints);
        }
        match one.int("containerPort").unwrap_or_default() {
            0 => errors.required(&one.path.child("containerPort"), ""),
            number => port_number(&one.path.child("containerPort"), number, errors),
        }
        if let Some(number) = one.int("hostPort").filter(|number| *number != 0) {
            port_number(&one.path.child("hostPort"), number, errors);
        }
        errors.one_of(&one, "protocol", &["SCTP", "TCP", "UDP"], true);
    }
}

fn host_ports(containers: &[At<'_>], errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for one in containers.iter().flat_map(|container| container.items("ports")) {
        let Some(number) = one.int("hostPort").filter(|number| *number != 0) else { continue };
        let key = format!("{}/{}/{number}", one.text("protocol"), one.text("hostIP"));
        if !seen.insert(key.clone()) {
            errors.0.push(Error::duplicate(&one.path.child("hostPort"), key));
        }
    }
}

fn environment(at: &At<'_>, errors: &mut Errors) {
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
        match given.len() {
            0 => errors.invalid(
                &at.path.child("envFrom"),
                "",
                "must specify one of: `configMapRef` or `secretRef`",
            ),
            1 => {}
            _ => errors.invalid(
                &at.path.child("envFrom"),
                "",
                "may not have more than one field specified at a time",
            ),
        }
        for reference in given.iter().filter(|reference| reference.text("name").is_empty()) {
            errors.required(&reference.path.child("name"), "");
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

fn value_from(variable: &At<'_>, from: &At<'_>, errors: &mut Errors) {
    let sources = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
    let given: Vec<At<'_>> = sources.iter().filter_map(|source| from.find(source)).collect();
    if given.is_empty() {
        let detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        errors.invalid(&from.path, "", detail);
    } else if !variable.text("value").is_empty() {
        errors.invalid(&from.path, "", "may not be specified when `value` is not empty");
    } else if given.len() > 1 {
        errors.invalid(&from.path, "", "may not have more than one field specified at a time");
    }
    if let Some(reference) = from.find("fieldRef") {
        let field = reference.text("fieldPath");
        let path = reference.path.child("fieldPath");
        let subscript =
            ["metadata.annotations['", "metadata.labels['"].iter().any(|start| field.starts_with(start));
        if field.is_empty() {
            errors.required(&path, "");
        } else if !ENV_FIELDS.contains(&field) && !subscript {
            errors.invalid(
                &path,
                field,
                format!("error converting fieldPath: field label not supported: {field}"),
            );
        }
    }
    if let Some(reference) = from.find("resourceFieldRef") {
        let known = [
            "limits.cpu",
            "limits.ephemeral-storage",
            "limits.memory",
            "requests.cpu",
            "requests.ephemeral-storage",
            "requests.memory",
        ];
        let resource = reference.text("resource");
        if resource.is_empty() {
            errors.required(&reference.path.child("resource"), "");
        } else if !known.contains(&resource) && !resource.contains("hugepages-") {
            errors.unsupported(&reference.path.child("resource"), resource, &known);
        }
    }
    for reference in ["configMapKeyRef", "secretKeyRef"].iter().filter_map(|field| from.find(field)) {
        let (name, key) = (reference.text("name"), reference.text("key"));
        // A reference without a name has been stored by older servers, so only what is said is checked for secrets.
        if reference.path.as_str().ends_with("configMapKeyRef") || !name.is_empty() {
            errors.complaints(&reference.path.child("name"), name, names::dns1123_subdomain(name));
        }
        match key {
            "" => errors.required(&reference.path.child("key"), ""),
            _ => errors.complaints(&reference.path.child("key"), key, names::config_map_key(key)),
        }
    }
}

fn mounts(at: &At<'_>, volumes: &BTreeSet<&str>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    let list = at.path.child("volumeMounts");
    for mount in at.items("volumeMounts") {
        let (name, path) = (mount.text("name"), mount.text("mountPath"));
        if name.is_empty() {
            errors.required(&mount.path.child("name"), "");
        }
        if !volumes.contains(name) {
            errors.0.push(Error::not_found(&mount.path.child("name"), name));
        }
        if path.is_empty() {
            errors.required(&mount.path.child("mountPath"), "");
        }
        if !seen.insert(path) {
            errors.invalid(&mount.path.child("mountPath"), path, "must be unique");
        }
        // Upstream names the list here, not the mount.
        let (sub, expression) = (mount.text("subPath"), mount.text("subPathExpr"));
        descending_path(&list.child("subPath"), sub, errors);
        if !sub.is_empty() && !expression.is_empty() {
            let detail = "subPathExpr and subPath are mutually exclusive";
            errors.invalid(&mount.path.child("subPathExpr"), expression, detail);
        }
        descending_path(&list.child("subPathExpr"), expression, errors);
    }
}

const HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];

fn probes(at: &At<'_>, errors: &mut Errors) {
    for field in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = at.find(field) else { continue };
        handler(&probe, &HANDLERS, errors);
        errors.not_negative(
            &probe,
            &[
                "initialDelaySeconds",
                "timeoutSeconds",
                "periodSeconds",
                "successThreshold",
                "failureThreshold",
            ],
        );
        if let (true, Some(threshold)) =
            (field != "readinessProbe", probe.int("successThreshold").filter(|n| *n != 1))
        {
            errors.invalid(&probe.path.child("successThreshold"), threshold, "must be 1");
        }
        if let Some(seconds) = probe.int("terminationGracePeriodSeconds").filter(|seconds| *seconds <= 0) {
            errors.invalid(
                &probe.path.child("terminationGracePeriodSeconds"),
                seconds,
                "must be greater than 0",
            );
        }
    }
    let lifecycle = at.child("lifecycle");
    for hook in ["postStart", "preStop"].iter().filter_map(|field| lifecycle.find(field)) {
        handler(&hook, &["exec", "httpGet", "tcpSocket", "sleep"], errors);
    }
}

fn handler(at: &At<'_>, kinds: &[&str], errors: &mut Errors) {
    let mut given = 0;
    for handler in kinds.iter().filter_map(|kind| at.find(kind)) {
        given += 1;
        if given > 1 {
            errors.forbidden(&handler.path, "may not specify more than 1 handler type");
            continue;
        }
        if handler.path.as_str().ends_with("exec") && handler.items("command").is_empty() {
            errors.required(&handler.path.child("command"), "");
        }
        if ["httpGet", "tcpSocket"].iter().any(|kind| handler.path.as_str().ends_with(kind)) {
            port(&handler.path.child("port"), handler.child("port").value, errors);
        }
        if handler.path.as_str().ends_with("httpGet") {
            if handler.text("path").is_empty() {
                errors.required(&handler.path.child("path"), "");
            }
            errors.one_of(&handler, "scheme", &["HTTP", "HTTPS"], true);
        }
    }
    if given == 0 {
        errors.required(&at.path, "must specify a handler type");
    }
}

/// The resources that containers may ask for without naming a vendor.
fn is_standard(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-")
}

fn resources(at: &At<'_>, errors: &mut Errors) {
    let quantity = |value: &Value| value.as_str().and_then(|text| text.parse::<Quantity>().ok());
    for part in ["limits", "requests"] {
        for (name, value) in at.map(part) {
            let path = at.path.child(part).key(name);
            if name.contains('/') {
                errors.complaints(&path, name, names::qualified_name(name));
            } else if !is_standard(name) {
                errors.invalid(&path, name, "must be a standard resource type or fully qualified");
                errors.invalid(&path, name, "must be a standard resource for containers");
            }
            if quantity(value).is_some_and(|quantity| quantity.nano() < 0) {
                errors.invalid(&path, value.clone(), super::NOT_NEGATIVE);
            }
        }
    }
    let limits = at.child("limits");
    for (name, value) in at.map("requests") {
        let limit = limits.value.get(name).and_then(quantity);
        match (quantity(value), limit) {
            (Some(request), Some(limit)) if request > limit => {
                let detail = format!("must be less than or equal to {name} limit of {limit}");
                errors.invalid(&at.path.child("requests"), value.clone(), detail);
            }
            (Some(_), None) if name.contains('/') || name.starts_with("hugepages-") => {
                errors
                    .required(&at.path.child("limits"), "Limit must be set for non overcommitable resources");
            }
            _ => {}
        }
    }
}

/// The number of a user or a group.
pub(super) fn user_id(at: &At<'_>, field: &str, errors: &mut Errors) {
    if let Some(id) = at.int(field).filter(|id| !(0..=i64::from(i32::MAX)).contains(id)) {
        errors.invalid(&at.path.child(field), id, "must be between 0 and 2147483647, inclusive");
    }
}

fn security_context(at: &At<'_>, errors: &mut Errors) {
    let Some(context) = at.find("securityContext") else { return };
    for field in ["runAsUser", "runAsGroup"] {
        user_id(&context, field, errors);
    }
    if context.child("allowPrivilegeEscalation").value.as_bool() == Some(false) && context.flag("privileged")
    {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        errors.invalid(&context.path, context.value.clone(), detail);
    }
}
