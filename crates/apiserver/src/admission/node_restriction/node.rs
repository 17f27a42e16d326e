//! What a node may do to nodes.

use std::collections::BTreeSet;

use pilothouse_value::{Status, Value, object};

use super::super::Operation;
use super::Asked;

/// Labels that a kubelet sets.
const KUBELET_LABELS: [&str; 11] = [
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
];

/// Checks what a node asks to do to a node.
pub(super) fn check(asked: &Asked<'_, '_>) -> Result<(), Status> {
    let (node, name) = (asked.node, &asked.attributes.name);
    if name != node {
        return asked.refuse(&format!("node {node:?} is not allowed to modify node {name:?}"));
    }
    let (new, old) = (asked.object(), asked.before());
    let config =
        |node: &Value| node.at(&["spec", "configSource"]).filter(|source| !source.is_null()).cloned();
    match asked.attributes.operation {
        Operation::Create => {
            if config(new).is_some() {
                return asked.refuse(&format!(
                    "node {node:?} is not allowed to create pods with a non-nil configSource"
                ));
            }
            match forbidden_labels(new, old) {
                none if none.is_empty() => Ok(()),
                labels => asked
                    .refuse(&format!("node {node:?} is not allowed to set the following labels: {labels}")),
            }
        }
        Operation::Update => {
            if config(new).is_some() && config(new) != config(old) {
                return asked.refuse(&format!(
                    "node {node:?} is not allowed to update configSource to a new non-nil configSource"
                ));
            }
            let taints = |node: &Value| node.items_at(&["spec", "taints"]).to_vec();
            if taints(new) != taints(old) {
                return asked.refuse(&format!("node {node:?} is not allowed to modify taints"));
            }
            if object::owner_references(new) != object::owner_references(old) {
                return asked.refuse(&format!("node {node:?} is not allowed to modify ownerReferences"));
            }
            match forbidden_labels(new, old) {
                none if none.is_empty() => Ok(()),
                labels => asked.refuse(&format!("is not allowed to modify labels: {labels}")),
            }
        }
        _ => Ok(()),
    }
}

/// The labels that differ and are not a node's to set.
fn forbidden_labels(new: &Value, old: &Value) -> String {
    let keys = |node| object::labels(node).into_iter().flat_map(|labels| labels.keys());
    let differs = |key: &&str| object::label(new, key) != object::label(old, key);
    let forbidden: BTreeSet<&str> =
        keys(new).chain(keys(old)).filter(differs).filter(|key| is_forbidden(key)).collect();
    forbidden.into_iter().collect::<Vec<_>>().join(", ")
}

fn is_forbidden(label: &str) -> bool {
    let domain = label.split_once('/').map_or("", |(domain, _)| domain);
    let within =
        |wide: &str| domain == wide || domain.strip_suffix(wide).is_some_and(|rest| rest.ends_with('.'));
    if within("node-restriction.kubernetes.io") {
        return true;
    }
    let kubelets =
        KUBELET_LABELS.contains(&label) || within("kubelet.kubernetes.io") || within("node.kubernetes.io");
    (within("kubernetes.io") || within("k8s.io")) && !kubelets
}
