//! PodTopologyLabels: a pod says in which zone and region its node is. LimitPodHardAntiAffinityTopology: pods keep away from
//! others by node only, and not by whole zones.

use pilothouse_value::{Status, Value, object};

use super::{Attributes, Operation, Plugin};
use crate::registry::resource;

/// See the module.
pub(super) struct PodTopologyLabels;

const LABELS: [&str; 2] = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"];

impl Plugin for PodTopologyLabels {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        if !attributes.resource().is("", "pods") {
            return Ok(());
        }
        let node: &[&str] = match attributes.subresource() {
            "" => &["spec", "nodeName"],
            "binding" => &["target", "name"],
            _ => return Ok(()),
        };
        let state = attributes.state();
        let Some(object) = attributes.object.as_mut() else { return Ok(()) };
        let Some(name) = object.str_at(node).filter(|name| !name.is_empty()) else { return Ok(()) };
        let Some(node) = state.store.get(&resource::key("", "nodes"), "", name) else { return Ok(()) };
        copy(node.value(), object);
        Ok(())
    }
}

fn copy(node: &Value, object: &mut Value) {
    for label in LABELS {
        if let Some(value) = object::label(node, label) {
            object.set(&["metadata", "labels", label], value);
        }
    }
}

/// See the module.
pub(super) struct LimitPodHardAntiAffinityTopology;

const HOST: &str = "kubernetes.io/hostname";

impl Plugin for LimitPodHardAntiAffinityTopology {
    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        const TERMS: &[&str] =
            &["spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
        let Some(pod) = attributes.object.as_ref().filter(|_| attributes.is("", "pods")) else {
            return Ok(());
        };
        let mut keys =
            pod.items_at(TERMS).iter().map(|term| term.str_at(&["topologyKey"]).unwrap_or_default());
        let Some(key) = keys.find(|key| *key != HOST) else { return Ok(()) };
        let why = format!(
            "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but only key {HOST} is allowed"
        );
        Err(Status::forbidden("", "pods", object::name(pod), &why))
    }
}
