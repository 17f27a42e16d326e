//! RuntimeClass: a pod's class says what the runtime needs beside the pod, and on which nodes it is.

use std::sync::Arc;

use pilothouse_value::{Status, Value};

use super::{Attributes, Operation, Plugin, push};
use crate::objects::resources;
use crate::registry::resource;

/// See the module.
pub(super) struct RuntimeClass;

const OVERHEAD: &[&str] = &["spec", "overhead"];

impl Plugin for RuntimeClass {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        if !attributes.is("", "pods") {
            return Ok(());
        }
        let mut pod = attributes.take_object();
        let outcome = class(attributes, &pod).and_then(|class| match class {
            Some(class) => {
                set_overhead(attributes, &mut pod, &class)?;
                set_scheduling(attributes, &mut pod, &class)
            }
            None => Ok(()),
        });
        attributes.object = Some(pod);
        outcome
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let Some(pod) = attributes.object.as_ref().filter(|_| attributes.is("", "pods")) else {
            return Ok(());
        };
        let own = pod.at(OVERHEAD).filter(|overhead| !overhead.is_null());
        if own.is_none() && pod.at(&["spec", "runtimeClassName"]).is_none() {
            return Ok(());
        }
        let class = class(attributes, pod)?;
        match class.as_deref().and_then(fixed) {
            Some(fixed) if resources::read(own) == resources::read(Some(fixed)) => Ok(()),
            Some(_) => Err(attributes.forbidden(MISMATCH)),
            None if own.is_some() => Err(attributes.forbidden(
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
            )),
            None => Ok(()),
        }
    }
}

const MISMATCH: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

fn fixed(class: &Value) -> Option<&Value> {
    class.get("overhead").filter(|overhead| !overhead.is_null())?.get("podFixed")
}

/// The class that a pod names; `None` if it names none.
fn class(attributes: &Attributes<'_>, pod: &Value) -> Result<Option<Arc<Value>>, Status> {
    let Some(name) = pod.str_at(&["spec", "runtimeClassName"]) else { return Ok(None) };
    match attributes.state().store.get(&resource::key("node.k8s.io", "runtimeclasses"), "", name) {
        Some(class) => Ok(Some(class.value().clone())),
        None => Err(attributes.forbidden(&format!("pod rejected: RuntimeClass {name:?} not found"))),
    }
}

fn set_overhead(attributes: &Attributes<'_>, pod: &mut Value, class: &Value) -> Result<(), Status> {
    let Some(fixed) = fixed(class) else { return Ok(()) };
    let own = resources::read(pod.at(OVERHEAD));
    if !own.is_empty() && own != resources::read(Some(fixed)) {
        return Err(attributes.forbidden(MISMATCH));
    }
    pod.set(OVERHEAD, fixed.clone());
    Ok(())
}

fn set_scheduling(attributes: &Attributes<'_>, pod: &mut Value, class: &Value) -> Result<(), Status> {
    let wanted = class.at(&["scheduling", "nodeSelector"]).and_then(Value::as_object);
    for (key, value) in wanted.into_iter().flat_map(|map| map.iter()) {
        let own = pod.at(&["spec", "nodeSelector", key]);
        if let Some(own) = own.filter(|own| *own != value) {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            return Err(attributes.forbidden(&format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; pod.spec.nodeSelector[{key}] = {}",
                text(value),
                text(own)
            )));
        }
        pod.set(&["spec", "nodeSelector", key], value.clone());
    }
    for toleration in class.at(&["scheduling", "tolerations"]).and_then(Value::as_array).into_iter().flatten()
    {
        if !pod.items_at(&["spec", "tolerations"]).contains(toleration) {
            push(pod.entry(&["spec"]), "tolerations", toleration.clone());
        }
    }
    Ok(())
}
