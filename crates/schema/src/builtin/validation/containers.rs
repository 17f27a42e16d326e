//! Containers: names, images, ports, and what a sort of container may not have.

use std::collections::BTreeSet;

use pilothouse_value::field::Error;
use pilothouse_value::{Value, names};

use super::{At, Errors, environment, mounts, port_name, port_number, probes, resources, security};

/// Checks the containers of a pod of all three sorts.
pub(super) fn all(spec: &At<'_>, errors: &mut Errors) {
    let containers = spec.items("containers");
    if containers.is_empty() {
        errors.required(&spec.path.child("containers"), "");
    }
    let mut names = BTreeSet::new();
    for container in &containers {
        common(spec, container, errors);
        if !names.insert(container.text("name")) {
            errors.0.push(Error::duplicate(&container.path.child("name"), container.text("name")));
        }
        probes::all(spec, container, errors);
        restart_policy(container, errors);
    }
    host_ports(&containers, errors);
    for container in spec.items("initContainers") {
        init_container(spec, &container, &mut names, errors);
    }
    let all =
        |list: &str| spec.items(list).iter().map(|container| container.text("name")).collect::<Vec<_>>();
    let others = ["containers", "initContainers"].into_iter().flat_map(all).collect();
    ephemeral(spec, &others, errors);
}

fn init_container<'v>(spec: &At<'v>, container: &At<'v>, names: &mut BTreeSet<&'v str>, errors: &mut Errors) {
    common(spec, container, errors);
    let name = container.text("name");
    let always = container.text("restartPolicy") == "Always";
    match container.find("restartPolicy") {
        Some(_) => restart_policy(container, errors),
        None if container.items("restartPolicyRules").is_empty() => {}
        None => errors.required(&container.path.child("restartPolicy"), NO_POLICY),
    }
    if names.contains(name) {
        errors.0.push(Error::duplicate(&container.path.child("name"), name));
    } else if !name.is_empty() {
        names.insert(name);
    }
    host_ports(std::slice::from_ref(container), errors);
    if always {
        probes::all(spec, container, errors);
    } else {
        for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if container.find(field).is_some() {
                let detail = "may not be set for init containers without restartPolicy=Always";
                errors.forbidden(&container.path.child(field), detail);
            }
        }
        for policy in
            container.items("resizePolicy").iter().filter(|p| p.text("restartPolicy") == "RestartContainer")
        {
            let detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
            errors.invalid(&policy.path.child("restartPolicy"), "RestartContainer", detail);
        }
    }
}

/// What an ephemeral container may not have.
const NOT_EPHEMERAL: [&str; 9] = [
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

fn ephemeral(spec: &At<'_>, others: &BTreeSet<&str>, errors: &mut Errors) {
    let containers = spec.items("ephemeralContainers");
    let mut all: BTreeSet<&str> = others.clone();
    for container in &containers {
        common(spec, container, errors);
        let name = container.text("name");
        let image = container.text("image");
        if image.trim() != image {
            errors.invalid(
                &container.path.child("image"),
                image,
                "must not have leading or trailing whitespace",
            );
        }
        if !all.insert(name) {
            errors.0.push(Error::duplicate(&container.path.child("name"), name));
        }
        let target = container.text("targetContainerName");
        if !target.is_empty() && !others.contains(target) {
            errors.0.push(Error::not_found(&container.path.child("targetContainerName"), target));
        }
        const REFUSED: &str = "cannot be set for an Ephemeral Container";
        for field in NOT_EPHEMERAL {
            let path = container.path.child(field);
            let given = match container.child(field).value {
                Value::Object(map) if field == "resources" => !map.is_empty(),
                Value::Array(items) => !items.is_empty(),
                value => !value.is_null(),
            };
            // An empty list is not none.
            let is_list = |value: &Value| matches!(value, Value::Array(_) | Value::Object(_));
            let emptied = |given: &Value| match given {
                Value::Object(map) => field == "resources" && map.values().any(is_list),
                other => other.as_array().is_some(),
            };
            if given || errors.as_given(&path).is_some_and(emptied) {
                errors.forbidden(&path, REFUSED);
            }
        }
        for mount in container.items("volumeMounts") {
            for field in ["subPath", "subPathExpr"] {
                if !mount.text(field).is_empty() {
                    errors.forbidden(&mount.path.child(field), REFUSED);
                }
            }
        }
    }
}

fn common(spec: &At<'_>, at: &At<'_>, errors: &mut Errors) {
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
    environment::environment(at, errors);
    mounts::all(spec, at, errors);
    errors.one_of(at, "imagePullPolicy", &["Always", "IfNotPresent", "Never"], true);
    resources::of_container(spec, at, errors);
    security::of_container(spec, at, errors);
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

const NO_POLICY: &str = "must specify restartPolicy when restart rules are used";

/// When a container of its own is started again, whatever the pod says.
fn restart_policy(at: &At<'_>, errors: &mut Errors) {
    let rules = at.items("restartPolicyRules");
    match at.find("restartPolicy") {
        None if rules.is_empty() => {}
        None => errors.required(&at.path.child("restartPolicy"), NO_POLICY),
        Some(_) => errors.one_of_all(at, "restartPolicy", &["Always", "Never", "OnFailure"]),
    }
    if rules.len() > 20 {
        errors.0.push(Error::too_many(&at.path.child("restartPolicyRules"), rules.len(), 20));
    }
    for rule in rules {
        errors.one_of_all(&rule, "action", &["Restart", "RestartAllContainers"]);
        match rule.find("exitCodes") {
            None => errors.required(&rule.path.child("exitCodes"), "must be specified"),
            Some(codes) => {
                errors.one_of_all(&codes, "operator", &["In", "NotIn"]);
                let count = codes.items("values").len();
                if count > 255 {
                    errors.0.push(Error::too_many(&codes.path.child("values"), count, 255));
                }
            }
        }
    }
}
