//! TaintNodesByCondition: a new node takes no pods until it is known to be ready. ExtendedResourceToleration: pods that ask
//! for special resources may run on the nodes that are kept for them. DefaultTolerationSeconds: a pod stays a while on a node
//! that is in trouble.

use std::collections::BTreeSet;

use pilothouse_value::{Status, Value, json};

use super::{Attributes, Operation, Plugin, push};
use crate::tuning::Tuning;

/// See the module.
pub(super) struct TaintNodesByCondition;

impl Plugin for TaintNodesByCondition {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        const NOT_READY: &str = "node.kubernetes.io/not-ready";
        if !attributes.is("", "nodes") {
            return Ok(());
        }
        let Some(node) = attributes.object.as_mut() else { return Ok(()) };
        let tainted = node.items_at(&["spec", "taints"]).iter().any(|taint| {
            taint.str_at(&["key"]) == Some(NOT_READY) && taint.str_at(&["effect"]) == Some("NoSchedule")
        });
        if !tainted {
            push(node.entry(&["spec"]), "taints", json!({"key": NOT_READY, "effect": "NoSchedule"}));
        }
        Ok(())
    }
}

/// See the module.
pub(super) struct ExtendedResourceToleration;

impl Plugin for ExtendedResourceToleration {
    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        let Some(pod) = attributes.object.as_mut().filter(|_| attributes.target.subresource.is_none()) else {
            return Ok(());
        };
        if !attributes.target.resource.is("", "pods") {
            return Ok(());
        }
        let lists = ["containers", "initContainers"].into_iter();
        let containers = lists.flat_map(|list| pod.items_at(&["spec", list]));
        let requests =
            containers.filter_map(|container| container.at(&["resources", "requests"])?.as_object());
        let names = requests.flat_map(|requests| requests.keys());
        let extended: BTreeSet<String> = names.filter(|name| is_extended(name)).map(str::to_owned).collect();
        for name in extended {
            let toleration = json!({"key": name, "operator": "Exists", "effect": "NoSchedule"});
            if !pod.items_at(&["spec", "tolerations"]).contains(&toleration) {
                push(pod.entry(&["spec"]), "tolerations", toleration);
            }
        }
        Ok(())
    }
}

/// Whether a resource is none of Kubernetes' own: `example.com/dongle`.
fn is_extended(name: &str) -> bool {
    let domain = name.split_once('/').map(|(domain, _)| domain);
    domain.is_some_and(|domain| !domain.ends_with("kubernetes.io")) && !name.starts_with("requests.")
}

/// DefaultTolerationSeconds: a pod stays five minutes on a node that is in trouble.
pub(super) struct DefaultTolerationSeconds;

impl Plugin for DefaultTolerationSeconds {
    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        let tuning = &attributes.state().tuning;
        if attributes.is("", "pods")
            && let Some(pod) = &mut attributes.object
        {
            tolerations(pod, tuning);
        }
        Ok(())
    }
}

fn tolerations(pod: &mut Value, tuning: &Tuning) {
    for (key, seconds) in [
        ("node.kubernetes.io/not-ready", tuning.not_ready_seconds),
        ("node.kubernetes.io/unreachable", tuning.unreachable_seconds),
    ] {
        let tolerated = pod.items_at(&["spec", "tolerations"]).iter().any(|toleration| {
            let own = toleration.str_at(&["key"]).unwrap_or_default();
            let effect = toleration.str_at(&["effect"]).unwrap_or_default();
            (own == key || own.is_empty()) && (effect == "NoExecute" || effect.is_empty())
        });
        if !tolerated {
            let toleration = json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
            push(pod.entry(&["spec"]), "tolerations", toleration);
        }
    }
}
