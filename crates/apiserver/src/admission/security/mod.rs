//! PodSecurity: a namespace's labels say how much a pod may ask of its node. What breaks the enforced standard is refused;
//! what breaks the one to warn of is told. Texts and rules are those of k8s.io/pod-security-admission.

mod checks;
mod policy;

use std::collections::BTreeMap;

use pilothouse_value::{Status, Value, field, object};

use super::{Attributes, Operation, Plugin};
use crate::resource;
use crate::state::State;
use checks::Violation;
use policy::{Level, Policy, Standard};

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
            | ("batch", "jobs" | "cronjobs") => {
                check_template(attributes);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn check_namespace(attributes: &Attributes<'_>) -> Result<(), Status> {
    let Some(namespace) = attributes.object.as_ref().filter(|_| attributes.target.subresource.is_none())
    else {
        return Ok(());
    };
    let (policy, errors) = Policy::read(object::labels(namespace));
    let Some(old) = &attributes.old else {
        return if errors.is_empty() { Ok(()) } else { Err(invalid(attributes, &errors)) };
    };
    let (old_policy, old_errors) = Policy::read(object::labels(old));
    if !errors.is_empty() && errors != old_errors {
        return Err(invalid(attributes, &errors));
    }
    let (new, old) = (policy.enforce, old_policy.enforce);
    let relaxed = new.version == old.version && new.level <= old.level;
    if new == old || new.level == Level::Privileged || relaxed {
        return Ok(());
    }
    for warning in warn_of_pods(attributes.state(), &attributes.name, new) {
        attributes.context.warn(warning);
    }
    Ok(())
}

fn invalid(attributes: &Attributes<'_>, errors: &[field::Error]) -> Status {
    Status::invalid("", "Namespace", &attributes.name, errors)
}

/// What is to be said of the pods that a namespace has when it becomes stricter.
fn warn_of_pods(state: &State, namespace: &str, standard: Standard) -> Vec<String> {
    let snapshot = state.store.snapshot();
    let pods: Vec<_> = snapshot
        .list(&resource::key("", "pods"), Some(namespace), None)
        .map(|entry| entry.object.value().clone())
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

/// The policy of the request's namespace; `None` if it allows everything.
fn policy_of(attributes: &Attributes<'_>) -> Option<Policy> {
    let namespace =
        attributes.state().store.get(&resource::key("", "namespaces"), "", attributes.namespace())?;
    let (policy, errors) = Policy::read(object::labels(namespace.value()));
    (!errors.is_empty() || !policy.allows_all()).then_some(policy)
}

fn check_pod(attributes: &Attributes<'_>) -> Result<(), Status> {
    if !matches!(attributes.subresource(), "" | "ephemeralcontainers" | "resize") {
        return Ok(());
    }
    let Some(pod) = &attributes.object else { return Ok(()) };
    let Some(policy) = policy_of(attributes) else { return Ok(()) };
    if attributes.old.as_ref().is_some_and(|old| same_images(pod, old)) {
        return Ok(());
    }
    let none = Value::Null;
    let spec = pod.get("spec").unwrap_or(&none);
    let violations = checks::run(policy.enforce, pod, spec);
    if !violations.is_empty() {
        let why = format!("violates PodSecurity \"{}\": {}", policy.enforce, details(&violations));
        let resource = attributes.resource();
        return Err(Status::forbidden(&resource.group, &resource.plural, &attributes.name, &why));
    }
    warn(attributes, &policy, pod, spec);
    Ok(())
}

/// A pod that is to be made later is not refused, only warned of.
fn check_template(attributes: &Attributes<'_>) {
    let Some(object) = attributes.object.as_ref().filter(|_| attributes.target.subresource.is_none()) else {
        return;
    };
    let path: &[&str] = match &*attributes.resource().plural {
        "podtemplates" => &["template"],
        "cronjobs" => &["spec", "jobTemplate", "spec", "template"],
        _ => &["spec", "template"],
    };
    let Some(template) = object.at(path).filter(|template| !template.is_null()) else { return };
    let Some(policy) = policy_of(attributes) else { return };
    let none = Value::Null;
    warn(attributes, &policy, template, template.get("spec").unwrap_or(&none));
}

fn warn(attributes: &Attributes<'_>, policy: &Policy, pod: &Value, spec: &Value) {
    let violations = checks::run(policy.warn, pod, spec);
    if !violations.is_empty() {
        attributes.context.warn(format!(
            "would violate PodSecurity \"{}\": {}",
            policy.warn,
            details(&violations)
        ));
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
