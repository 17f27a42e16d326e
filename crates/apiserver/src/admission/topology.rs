//! PodTopologyLabels: a pod says in which zone and region its node is.

use pilothouse_value::{Status, Value, object};

use super::{Attributes, Operation, Plugin};
use crate::resource;

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
