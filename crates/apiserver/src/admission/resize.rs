//! PodResizeValidator: a pod that runs is not made larger than its node. NodeDeclaredFeatureValidator: it is changed only in
//! ways that its node says it can follow.

use pilothouse_value::status::Cause;
use pilothouse_value::{Status, Value, object};

use super::{Attributes, Operation, Plugin};
use crate::objects::resources::{self, Part};
use crate::registry::resource;

/// See the module.
pub(super) struct PodResizeValidator;

impl Plugin for PodResizeValidator {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Update
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        if !attributes.resource().is("", "pods") || attributes.subresource() != "resize" {
            return Ok(());
        }
        let (Some(pod), Some(old)) = (&attributes.object, &attributes.old) else { return Ok(()) };
        let name = pod.str_at(&["spec", "nodeName"]).unwrap_or_default();
        if name.is_empty() || object::generation(pod) == object::generation(old) {
            return Ok(());
        }
        let Some(node) = attributes.state().store.get(&resource::key("", "nodes"), "", name) else {
            return Err(attributes.forbidden(&format!("node {name:?} not found")));
        };
        let node = node.value();
        let refuse = |why: &str, reason: &str| {
            let mut status = attributes.forbidden(why);
            if let Some(details) = &mut status.details {
                details.causes.push(Cause { reason: reason.to_owned(), ..Cause::default() });
            }
            Err(status)
        };
        if let Some(os) = object::label(node, "kubernetes.io/os").filter(|os| *os != "linux") {
            let why = format!("pod resize is only supported on linux nodes, node {name:?} is {os:?}");
            return refuse(&why, "UnsupportedPlatform");
        }
        let wanted = resources::of_pod_with_overhead(pod, Part::Requests);
        let there = resources::read(node.at(&["status", "allocatable"]));
        let amount = |of: &resources::Amounts, name: &str, milli: bool| {
            of.get(name).map_or(0, |amount| if milli { amount.milli_value() } else { amount.value() })
        };
        let mut lacking = Vec::new();
        for (name, milli) in [("cpu", true), ("memory", false)] {
            let (wanted, there) = (amount(&wanted, name, milli), amount(&there, name, milli));
            if wanted > there {
                lacking.push(format!("{name}, requested: {wanted}, allocatable: {there}"));
            }
        }
        if lacking.is_empty() {
            return Ok(());
        }
        let why = format!("node didn't have enough allocatable resources: {}", lacking.join("; "));
        refuse(&why, "NodeCapacity")
    }
}

/// See the module.
pub(super) struct NodeDeclaredFeatureValidator;

impl Plugin for NodeDeclaredFeatureValidator {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Update
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        if !attributes.resource().is("", "pods") || !matches!(attributes.subresource(), "" | "resize") {
            return Ok(());
        }
        let (Some(pod), Some(old)) = (&attributes.object, &attributes.old) else { return Ok(()) };
        let name = pod.str_at(&["spec", "nodeName"]).unwrap_or_default();
        if name.is_empty() || object::generation(pod) == object::generation(old) {
            return Ok(());
        }
        let needed = needed_features(pod, old);
        if needed.is_empty() {
            return Ok(());
        }
        let Some(node) = attributes.state().store.get(&resource::key("", "nodes"), "", name) else {
            return Err(attributes.forbidden(&format!("node {name:?} not found")));
        };
        let declared = node.value().items_at(&["status", "declaredFeatures"]);
        let has = |feature: &str| declared.iter().any(|one| one.as_str() == Some(feature));
        let lacking: Vec<&str> = needed.into_iter().filter(|feature| !has(feature)).collect();
        if lacking.is_empty() {
            return Ok(());
        }
        Err(attributes.forbidden(&format!(
            "pod update requires features {} which are not available on node {name:?}",
            lacking.join(", ")
        )))
    }
}

/// What a node must be able to follow a change of a pod.
fn needed_features(pod: &Value, old: &Value) -> Vec<&'static str> {
    let mut needed = Vec::new();
    if pod.at(&["spec", "resources"]) != old.at(&["spec", "resources"]) {
        needed.push("InPlacePodLevelResourcesVerticalScaling");
    }
    let pairs = |list: &'static str| old.items_at(&["spec", list]).iter().zip(pod.items_at(&["spec", list]));
    let before_others = |container: &Value| container.str_at(&["restartPolicy"]) != Some("Always");
    if pairs("initContainers")
        .any(|(old, new)| before_others(old) && old.get("resources") != new.get("resources"))
    {
        needed.push("InPlacePodVerticalScalingInitContainers");
    }
    let size = |volume: &Value| volume.at(&["emptyDir", "sizeLimit"]).and_then(resources::quantity);
    if pairs("volumes").any(|(old, new)| {
        let memory = new.str_at(&["emptyDir", "medium"]) == Some("Memory");
        memory
            && old.get("name") == new.get("name")
            && matches!((size(old), size(new)), (Some(old), Some(new)) if old != new)
    }) {
        needed.push("InPlacePodVerticalScalingMemoryBackedVolumes");
    }
    needed
}
