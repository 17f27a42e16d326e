//! PodSecurity: a namespace's labels say how much a pod may ask of its node. What breaks the enforced standard is refused;
//! what breaks the one to warn of is told. Texts and rules are those of k8s.io/pod-security-admission.

mod checks;
mod policy;
mod standards;

use std::collections::BTreeMap;

use pilothouse_value::{Status, Value, field, object};

use super::{Attributes, Operation, Plugin};
use crate::registry::resource;
use crate::state::State;
use checks::Violation;
use policy::{Level, PREFIX, Policy, Standard};

pub(crate) use standards::Standards;

/// See the module.
pub(super) struct PodSecurity;

/// Most pods of a namespace that are looked at when its standard becomes stricter.
const PODS_TO_CHECK: usize = 3000;

impl Plugin for PodSecurity {
    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let resource = attributes.resource();
        if !resource.is_built_in() {
            return Ok(());
        }
        match (&*resource.group, &*resource.plural) {
            ("", "namespaces") => check_namespace(attributes),
            ("", "pods") => check_pod(attributes),
            ("", "replicationcontrollers" | "podtemplates")
            | ("apps", "deployments" | "replicasets" | "statefulsets" | "daemonsets")
            | ("batch", "jobs" | "cronjobs") => check_template(attributes),
            _ => Ok(()),
        }
    }
}

fn check_namespace(attributes: &Attributes<'_>) -> Result<(), Status> {
    let Some(namespace) = attributes.object.as_ref().filter(|_| attributes.target.subresource.is_none())
    else {
        return Ok(());
    };
    let standards = &attributes.state().plugins.settings.standards;
    let (policy, errors) = Policy::read(object::labels(namespace), standards.defaults);
    let exempt = standards.namespaces.contains(&attributes.name);
    let Some(old) = &attributes.old else {
        if !errors.is_empty() {
            return Err(invalid(attributes, &errors));
        }
        if exempt {
            warn_of_exemption(attributes, namespace, policy);
        }
        return Ok(());
    };
    let (old_policy, old_errors) = Policy::read(object::labels(old), standards.defaults);
    if !errors.is_empty() && errors != old_errors {
        return Err(invalid(attributes, &errors));
    }
    let (new, old) = (policy.enforce, old_policy.enforce);
    let relaxed = new.version == old.version && new.level <= old.level;
    if new == old || new.level == Level::Privileged || relaxed {
        return Ok(());
    }
    if exempt {
        warn_of_exemption(attributes, namespace, policy);
        return Ok(());
    }
    for warning in warn_of_pods(attributes.state(), &attributes.name, new) {
        attributes.context.warn(warning);
    }
    Ok(())
}

/// Labels of a namespace that is exempt say what does not count.
fn warn_of_exemption(attributes: &Attributes<'_>, namespace: &Value, policy: Policy) {
    if policy.allows_all() || policy.equals(&attributes.state().plugins.settings.standards.defaults) {
        return;
    }
    let mut ignored = Vec::new();
    for (name, standard) in [("enforce", policy.enforce), ("audit", policy.audit), ("warn", policy.warn)] {
        let labelled = ["", "-version"]
            .iter()
            .any(|end| object::label(namespace, &format!("{PREFIX}{name}{end}")).is_some());
        if standard.level != Level::Privileged && labelled {
            ignored.push(format!("{name}={standard}"));
        }
    }
    attributes.context.warn(format!(
        "namespace {} is exempt from Pod Security, and the policy ({}) will be ignored",
        field::quote(&attributes.name),
        ignored.join(", ")
    ));
}

fn invalid(attributes: &Attributes<'_>, errors: &[field::Error]) -> Status {
    Status::invalid("", "Namespace", &attributes.name, errors)
}

/// What is to be said of the pods that a namespace has when it becomes stricter.
fn warn_of_pods(state: &State, namespace: &str, standard: Standard) -> Vec<String> {
    let snapshot = state.store.snapshot();
    let exempt = &state.plugins.settings.standards.runtime_classes;
    let pods: Vec<_> = snapshot
        .list(&resource::key("", "pods"), Some(namespace), None)
        .map(|entry| entry.object.value().clone())
        .filter(|pod| !exempt.contains(pod.str_at(&["spec", "runtimeClassName"]).unwrap_or_default()))
        .collect();
    // One pod of each owner goes first: the others are like it.
    let mut owners: Vec<&str> = Vec::new();
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for pod in &pods {
        let owner = object::controller_of(pod).and_then(|owner| owner.str_at(&["uid"]));
        match owner {
            Some(owner) if owners.contains(&owner) => rest.push(pod),
            Some(owner) => {
                owners.push(owner);
                first.push(pod);
            }
            None => first.push(pod),
        }
    }
    let mut bad: BTreeMap<String, (&str, usize)> = BTreeMap::new();
    for pod in first.into_iter().chain(rest).take(PODS_TO_CHECK) {
        let none = Value::Null;
        let violations = checks::run(standard, pod, pod.get("spec").unwrap_or(&none));
        if violations.is_empty() {
            continue;
        }
        let reasons: Vec<&str> = violations.iter().map(|violation| &*violation.reason).collect();
        let name = object::name(pod);
        let entry = bad.entry(reasons.join(", ")).or_insert((name, 0));
        entry.0 = entry.0.min(name);
        entry.1 += 1;
    }
    let mut warnings = Vec::new();
    if pods.len() > PODS_TO_CHECK {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {PODS_TO_CHECK} of {} existing pods",
            pods.len()
        ));
    }
    if bad.is_empty() {
        return warnings;
    }
    warnings.push(format!(
        "existing pods in namespace {} violate the new PodSecurity enforce level {}",
        field::quote(namespace),
        field::quote(&standard.to_string())
    ));
    let mut told: Vec<String> = bad
        .into_iter()
        .map(|(reason, (name, count))| match count {
            1 => format!("{name}: {reason}"),
            2 => format!("{name} (and 1 other pod): {reason}"),
            more => format!("{name} (and {} other pods): {reason}", more - 1),
        })
        .collect();
    told.sort();
    warnings.extend(told);
    warnings
}

/// The policy of the request's namespace, and what of its labels cannot be read; `None` if it allows everything, or the
/// request is exempt.
fn policy_of(attributes: &Attributes<'_>) -> Option<(Policy, Vec<field::Error>)> {
    let standards = &attributes.state().plugins.settings.standards;
    if standards.namespaces.contains(attributes.namespace()) {
        note(attributes, "exempt", || "namespace".into());
        return None;
    }
    if standards.users.contains(&attributes.user().name) {
        note(attributes, "exempt", || "user".into());
        return None;
    }
    let namespace =
        attributes.state().store.get(&resource::key("", "namespaces"), "", attributes.namespace())?;
    let (policy, errors) = Policy::read(object::labels(namespace.value()), standards.defaults);
    Some((policy, errors))
}

/// Notes something for the audit log, if there is one.
fn note(attributes: &Attributes<'_>, key: &str, text: impl FnOnce() -> String) {
    if attributes.is_audited() {
        attributes.annotate(&format!("{PREFIX}{key}"), &text());
    }
}

fn check_pod(attributes: &Attributes<'_>) -> Result<(), Status> {
    if !matches!(attributes.subresource(), "" | "ephemeralcontainers" | "resize") {
        return Ok(());
    }
    let Some(pod) = &attributes.object else { return Ok(()) };
    let Some((policy, errors)) = policy_of(attributes) else { return Ok(()) };
    if errors.is_empty() && policy.allows_all() {
        note(attributes, "enforce-policy", || "privileged:latest".into());
        return Ok(());
    }
    if attributes.old.as_ref().is_some_and(|old| same_images(pod, old)) {
        return Ok(());
    }
    evaluate(attributes, &policy, &errors, pod, true)
}

/// A pod that is to be made later is not refused, only warned of.
fn check_template(attributes: &Attributes<'_>) -> Result<(), Status> {
    let Some(object) = attributes.object.as_ref().filter(|_| attributes.target.subresource.is_none()) else {
        return Ok(());
    };
    let path: &[&str] = match &*attributes.resource().plural {
        "podtemplates" => &["template"],
        "cronjobs" => &["spec", "jobTemplate", "spec", "template"],
        _ => &["spec", "template"],
    };
    let Some((policy, errors)) = policy_of(attributes) else { return Ok(()) };
    let quiet = policy.warn.level == Level::Privileged && policy.audit.level == Level::Privileged;
    if errors.is_empty() && quiet {
        return Ok(());
    }
    let Some(template) = object.at(path).filter(|template| !template.is_null()) else { return Ok(()) };
    evaluate(attributes, &policy, &errors, template, false)
}

/// Refuses what breaks the enforced standard, notes what breaks the one to audit, and tells what breaks the one to warn of.
fn evaluate(
    attributes: &Attributes<'_>,
    policy: &Policy,
    errors: &[field::Error],
    pod: &Value,
    enforce: bool,
) -> Result<(), Status> {
    let none = Value::Null;
    let spec = pod.get("spec").unwrap_or(&none);
    let class = spec.str_at(&["runtimeClassName"]).unwrap_or_default();
    if attributes.state().plugins.settings.standards.runtime_classes.contains(class) {
        note(attributes, "exempt", || "runtimeClass".into());
        return Ok(());
    }
    if !errors.is_empty() {
        note(attributes, "error", || {
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            match texts.as_slice() {
                [one] => format!("Failed to parse policy: {one}"),
                many => format!("Failed to parse policy: [{}]", many.join(", ")),
            }
        });
    }
    let mut seen: Vec<(Standard, Vec<Violation>)> = Vec::new();
    let mut refusal = None;
    if enforce {
        note(attributes, "enforce-policy", || policy.enforce.to_string());
        let violations = checks::run(policy.enforce, pod, spec);
        if !violations.is_empty() {
            let why = format!("violates PodSecurity \"{}\": {}", policy.enforce, details(&violations));
            let resource = attributes.resource();
            refusal = Some(Status::forbidden(&resource.group, &resource.plural, &attributes.name, &why));
        }
        seen.push((policy.enforce, violations));
    }
    let mut breaks = |standard: Standard| -> Option<String> {
        if !seen.iter().any(|(of, _)| *of == standard) {
            seen.push((standard, checks::run(standard, pod, spec)));
        }
        let (_, violations) = seen.iter().find(|(of, _)| *of == standard)?;
        (!violations.is_empty())
            .then(|| format!("would violate PodSecurity \"{standard}\": {}", details(violations)))
    };
    // Nobody would read it otherwise.
    if attributes.is_audited()
        && let Some(text) = breaks(policy.audit)
    {
        note(attributes, "audit-violations", || text);
    }
    match refusal {
        Some(refusal) => Err(refusal),
        None => {
            if let Some(text) = breaks(policy.warn) {
                attributes.context.warn(text);
            }
            Ok(())
        }
    }
}

fn details(violations: &[Violation]) -> String {
    let texts = violations.iter().map(|violation| match &*violation.detail {
        "" => violation.reason.clone(),
        detail => format!("{} ({detail})", violation.reason),
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// Whether an update changes no image and adds no container.
fn same_images(new: &Value, old: &Value) -> bool {
    let images = |pod: &Value, list: &str| -> Vec<String> {
        let containers = pod.items_at(&["spec", list]).iter();
        containers.map(|one| one.str_at(&["image"]).unwrap_or_default().to_owned()).collect()
    };
    let ephemeral = |pod: &Value| -> BTreeMap<String, String> {
        let containers = pod.items_at(&["spec", "ephemeralContainers"]).iter();
        let text = |one: &Value, key: &str| one.str_at(&[key]).unwrap_or_default().to_owned();
        containers.map(|one| (text(one, "name"), text(one, "image"))).collect()
    };
    ["containers", "initContainers"].into_iter().all(|list| images(new, list) == images(old, list)) && {
        let old = ephemeral(old);
        ephemeral(new).iter().all(|(name, image)| old.get(name) == Some(image))
    }
}
